package webmcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"remit.example/oracle"
)

const (
	// DefaultPatience is how long a call of platform-v1 may last once it has begun.
	DefaultPatience = 3 * time.Second
	// maxPages is how many cases run at once, each in a page of its own.
	maxPages = 4
)

// Platform configures how a platform suite is run.
type Platform struct {
	Page     string        // the address of the page whose tools fail
	Timeout  time.Duration // of one case; it ends a call that does not begin
	Patience time.Duration // of a call that has begun; 0: DefaultPatience
	// Progress is told after each case how many are done, one at a time.
	Progress func(done int)
}

// JudgePlatform makes every call of a platform suite, each in a page of its
// own, reads what the browser makes of it, and has the readings judged. The
// error says why nothing is: a browser that cannot be driven, a page that is
// not the sandbox's, or that ctx has ended.
func JudgePlatform(ctx context.Context, b *Browser, s *oracle.Suite, options Platform) (*oracle.Outcome, error) {
	observed, err := b.observeAll(ctx, s, options)
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	for i, o := range observed {
		lines.Write(readingOf(s.Cases[i].Call(), Read(o), o.Begun).Line())
	}
	return s.Judge(&lines)
}

// observeAll gathers the facts of every call.
func (b *Browser) observeAll(ctx context.Context, s *oracle.Suite, options Platform) ([]Observed, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		all     = make([]Observed, len(s.Cases))
		next    atomic.Int64
		done    int
		telling sync.Mutex
		pages   sync.WaitGroup
	)
	one := func(i int) {
		call := s.Cases[i].Call()
		o, err := b.observeCase(ctx, call, options)
		if err != nil {
			cancel(fmt.Errorf("%s: %w", call.Case, err))
			return
		}
		telling.Lock()
		defer telling.Unlock()
		all[i] = o
		done++
		options.Progress(done)
	}
	for range maxPages {
		pages.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				one(int(i))
			}
		})
	}
	pages.Wait()
	return all, context.Cause(ctx)
}

// observeCase makes one call in a page of its own.
func (b *Browser) observeCase(ctx context.Context, call oracle.Call, options Platform) (Observed, error) {
	ctx, cancel := context.WithTimeout(ctx, options.Timeout)
	defer cancel()
	// The page prepares what belongs to one tool by its fragment.
	p, err := b.open(ctx, options.Page+"#"+call.Tool, nil)
	if missing, ok := errors.AsType[*statusError](err); ok && missing.status == http.StatusNotFound {
		return Observed{}, fmt.Errorf("%s is not served; valid: a server that was started as remit serve --sandbox", options.Page)
	}
	if err != nil {
		return Observed{}, err
	}
	defer p.close()
	if _, err := p.registered(ctx, call.Tool); err != nil {
		return Observed{}, err
	}
	if !p.protocol {
		return Observed{}, errors.New("the browser's debugging protocol has no domain WebMCP, which counts executions; valid: Chromium 156 or later")
	}
	return p.observe(ctx, request{
		tool: call.Tool, input: call.Input, protocol: call.Through == "invokeTool",
		stops: call.Caller == "aborts", earlier: call.Caller == "calls a tool of an earlier list",
		patience: cmp.Or(options.Patience, DefaultPatience),
	})
}

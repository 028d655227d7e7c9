package webmcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"remit.example/oracle"
)

// DefaultPatience is how long a call of platform-v1 may last once it has begun.
const DefaultPatience = 3 * time.Second

// Platform configures how platform-v1 is run.
type Platform struct {
	Page     string        // the address of the page whose tools fail
	Timeout  time.Duration // of opening a page and of a call that does not begin
	Patience time.Duration // of a call that has begun; 0: DefaultPatience
	// Progress is told the place of each case, from 1, before it is run.
	Progress func(at int, name string)
}

// JudgePlatform makes every call of a platform suite, each in a page of its
// own, reads what the browser makes of it, and has the readings judged. The
// error says why nothing is: a browser that cannot be driven, a page that is
// not the sandbox's, or that ctx has ended.
func JudgePlatform(ctx context.Context, b *Browser, s *oracle.Suite, options Platform) (*oracle.Outcome, error) {
	var lines bytes.Buffer
	for i := range s.Cases {
		call := s.Cases[i].Call()
		options.Progress(i+1, call.Case)
		r, err := b.reading(ctx, call, options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.Case, err)
		}
		lines.Write(r.Line())
	}
	return s.Judge(&lines)
}

// reading makes one call in a page of its own.
func (b *Browser) reading(ctx context.Context, call oracle.Call, options Platform) (oracle.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, options.Timeout)
	defer cancel()
	// The page prepares what belongs to one tool by its fragment.
	p, err := b.open(ctx, options.Page+"#"+call.Tool, nil)
	if err != nil {
		return oracle.Reading{}, err
	}
	defer p.close()
	if !p.protocol {
		return oracle.Reading{}, errors.New("the browser's debugging protocol has no domain WebMCP, which counts executions; valid: Chromium 156 or later")
	}
	if _, err := p.registered(ctx, call.Tool); err != nil {
		return oracle.Reading{}, err
	}
	o, err := p.observe(ctx, request{
		tool: call.Tool, input: call.Input, protocol: call.Through == "invokeTool",
		stops: call.Caller == "aborts", earlier: call.Caller == "calls a tool of an earlier list",
		patience: cmp.Or(options.Patience, DefaultPatience),
	})
	return readingOf(call, o), err
}

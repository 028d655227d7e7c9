package webmcp

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chromedp/cdproto/webmcp"
	"github.com/go-json-experiment/json/jsontext"
)

// settleTime bounds how long the browser may take to tell how an execution
// ended whose call has ended in the page.
const settleTime = 2 * time.Second

// request is one call of a tool.
type request struct {
	tool     string
	input    jsontext.Value
	protocol bool // through invokeTool
	stops    bool // the caller stops it once it has begun
	earlier  bool // the caller has the tool from an earlier list
	// patience is how long the call may last once it has begun.
	patience time.Duration
}

// given is what a call ended with, in the page or in the protocol.
type given struct {
	Text  *string `json:"text"`
	Error string  `json:"error"`
	err   error   // of the command itself
}

// observe makes one call, once, and gathers its facts. An error says why there
// are none: the browser cannot be asked, or nothing began before ctx ended.
func (p *openPage) observe(ctx context.Context, r request) (Observed, error) {
	if r.earlier {
		if err := p.evaluate(ctx, "keep", nil, r.tool); err != nil {
			return Observed{}, err
		}
	}
	p.events.watch(r.tool)
	called, cancel := context.WithCancel(ctx)
	defer cancel()
	o, err := p.follow(ctx, r, p.start(called, r))
	if err != nil {
		return Observed{}, err
	}
	o.Object = r.input.Kind() == '{'
	o.Begun = p.events.now().begun
	if o.Listed = true; !o.Gone && !o.Late {
		names, err := p.names(ctx)
		if err != nil {
			return Observed{}, err
		}
		o.Listed = slices.Contains(names, r.tool)
	}
	return o, nil
}

// start sends the call. What it ends with comes in once; through the protocol
// that is only a call that was refused.
func (p *openPage) start(ctx context.Context, r request) <-chan given {
	done := make(chan given, 1)
	go func() {
		var g given
		if r.protocol {
			g.err = p.target.Call(ctx, webmcp.CommandInvokeTool, map[string]any{"frameId": p.events.now().frame, "toolName": r.tool, "input": r.input}, nil)
			if g.err == nil {
				return // its events tell the rest
			}
			if isProtocolError(g.err) {
				g = given{Error: "Refused"}
			}
		} else {
			g.err = p.evaluate(ctx, "call", &g, r.tool, r.input)
		}
		done <- g
	}()
	return done
}

// follow waits for the end of a call that was sent.
func (p *openPage) follow(ctx context.Context, r request, done <-chan given) (Observed, error) {
	var o Observed
	var bound <-chan time.Time // from the beginning, and again from the end in the page
	var last *given
	for {
		now := p.events.now()
		switch {
		case now.gone:
			o.Gone = true
			return o, nil
		case last != nil && (now.begun == 0 || now.ended != nil || !p.protocol), r.protocol && now.ended != nil:
			return o.with(last, now.ended), nil
		case now.begun > 0 && bound == nil:
			bound = time.After(r.patience)
		}
		if r.stops && now.begun > 0 && !o.Stopped {
			o.Stopped = true
			if err := p.stop(ctx, r, now.id); err != nil {
				return o, err
			}
		}
		select {
		case <-p.events.changed:
		case g := <-done:
			if g.err != nil && now.begun == 0 && !isProtocolError(g.err) {
				return o, g.err
			}
			last, bound = &g, time.After(settleTime)
			if now.begun == 0 { // what the browser has told until here comes before its next answer
				_, _ = p.names(ctx) // a page that is gone has told so
			}
		case <-bound:
			o.Late = last == nil
			return o.with(last, nil), nil
		case <-ctx.Done():
			return o, fmt.Errorf("the call of %s did not begin: %w", r.tool, ctx.Err())
		}
	}
}

func (p *openPage) stop(ctx context.Context, r request, id string) error {
	if r.protocol {
		return p.target.Call(ctx, webmcp.CommandCancelInvocation, map[string]any{"invocationId": id}, nil)
	}
	return p.evaluate(ctx, "stop", nil)
}

// with adds what a call ended with, and what the browser reports of its
// execution.
func (o Observed) with(g *given, ended *webmcp.EventToolResponded) Observed {
	if ended != nil {
		o.Ended = string(ended.Status)
		if ended.Exception != nil {
			o.Exception = ended.Exception.Description
		}
	}
	if g != nil {
		o.Text, o.Error = g.Text, g.Error
		return o
	}
	if ended != nil && ended.Output != nil {
		text := ended.Output.String()
		if ended.Output.Kind() == '"' {
			raw, _ := jsontext.AppendUnquote(nil, ended.Output) // the browser wrote it
			text = string(raw)
		}
		o.Text = &text
	}
	return o
}

// Package recorder records what an agent does in a browser: for each request in
// a user's words the tool that it selected, the actual parameters, what that
// returned, and its final answer. It judges nothing.
//
// # The agent
//
// The agent is a program, started once. It finds in its environment
//
//	REMIT_CDP   the WebSocket address of the browser's debugging protocol,
//	            ws://127.0.0.1:PORT/devtools/browser/ID
//	REMIT_PAGE  the address of the page, which is open
//
// and reads requests on its standard input, one line each, the next only after
// it has answered the one before:
//
//	{"id","request"}
//
// It calls the tools of the page itself, and writes one line to its standard
// output for each request:
//
//	{"id","answer":{"text","claims":[CLAIM…]}}
//
// After the last answer its input ends, and it must end with status 0. Its
// standard error is its own; the end of it stands in errors.
//
// # What is recorded
//
// Of the calls, the word of the agent is not taken: the recorder has a
// connection of its own to the browser, and attaches to every page and frame
// before it runs. Where the protocol has the domain WebMCP, its events
// toolInvoked and toolResponded tell of each call. Where it has not, a script
// that runs before those of the page wraps what it registers with its
// modelContext; a page could see that.
//
// A call belongs to the request that was asked when it began; one that began
// between an answer and the next request belongs to the next. Tool, parameters
// and result are those of the last call of a request; calls lists all. Only tools
// of the page's origin count: a call of a tool that a document of another origin
// registered stands in calls with that origin, and nowhere else. Parameters are
// recorded as they are, an object or not; what is no JSON, as text. A result
// that is a text with a JSON object in it is recorded as that object, any other
// as it is. A call that returned nothing, because it failed, was canceled, had
// not ended when the agent answered or lost its document, has the result null,
// and its status says why. A page that does not answer once the agent has, so
// that its calls are not known, ends the recording.
//
// A recording is whole, or there is none.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"remit.example/drive/webmcp"
	"remit.example/oracle"
)

// Options are what a recording needs.
type Options struct {
	Page     string         // the address of the page
	Browser  string         // the path of Chromium
	Command  []string       // the agent and its arguments
	Requests []oracle.Asked // at least one, with different ids
	Timeout  time.Duration  // of the page, of each answer, and of the agent's end
	Stderr   io.Writer      // also gets the agent's standard error; nil: nobody
	// Progress is told how many requests are answered; nil: nobody.
	Progress func(done, total int)

	// inPage makes the recorder wrap in the page although the browser's
	// protocol tells of calls.
	inPage bool
}

// Record starts a browser and an agent, and records all requests. Whatever
// happens, neither outlives it.
func Record(ctx context.Context, o Options) ([]oracle.Recorded, error) {
	browser, err := webmcp.Start(ctx, o.Browser, true)
	if err != nil {
		return nil, err
	}
	defer browser.Close()
	address, err := browser.Address()
	if err != nil {
		return nil, fmt.Errorf("the browser does not listen: %w", err)
	}
	watch, err := observe(ctx, address, o.Page, o.inPage)
	if err != nil {
		return nil, err
	}
	defer watch.close()
	if err := watch.open(ctx, o.Page, o.Timeout); err != nil {
		return nil, err
	}
	a, err := startAgent(ctx, &o, watch.address)
	if err != nil {
		return nil, err
	}
	defer a.kill()
	recorded := make([]oracle.Recorded, 0, len(o.Requests))
	for i, asked := range o.Requests {
		if o.Progress != nil {
			o.Progress(i, len(o.Requests))
		}
		r, err := record(ctx, a, watch, asked, o.Timeout)
		if err != nil {
			return nil, err
		}
		recorded = append(recorded, r)
	}
	return recorded, a.end(ctx, o.Timeout)
}

// record asks one request, and notes what is done for it.
func record(ctx context.Context, a *agent, w *observer, asked oracle.Asked, timeout time.Duration) (oracle.Recorded, error) {
	r := oracle.Recorded{ID: asked.ID, Request: asked.Request}
	answer, err := a.ask(ctx, asked, timeout, w.lost)
	if err != nil {
		return r, err
	}
	r.Answer = answer
	if err := w.settle(ctx); err != nil {
		return r, err
	}
	r.Calls = w.takeCalls()
	r.Parameters, r.Result = null, null
	if last := oracle.LastCall(r.Calls); last != nil {
		r.Tool, r.Parameters, r.Result = &last.Tool, last.Parameters, last.Result
	}
	return r, nil
}

var errInterrupted = errors.New("the recording was interrupted")

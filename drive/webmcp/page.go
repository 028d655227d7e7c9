package webmcp

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webmcp"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// registerTime bounds how long a page may take to register its first tool.
	registerTime = 10 * time.Second
	// quietTime is how long its list must stay as it is to be complete.
	quietTime = time.Second
	pollTime  = 20 * time.Millisecond
)

// ErrNoModelContext is the error of a page without WebMCP.
var ErrNoModelContext = errors.New("the page has no document.modelContext that executes tools: the browser lacks WebMCP (Chromium 156 has it behind --enable-features=WebMCP), or the page has no secure origin or forbids tools")

// openPage is one tab with a page in it.
type openPage struct {
	target *chromedp.Target
	ended  context.Context // the tab's
	close  func()
	events *events
	// protocol reports whether the debugging protocol tells of tools.
	protocol bool
}

// open opens a page in a tab of its own, whose requests carry header. The page
// lasts until close.
func (b *Browser) open(ctx context.Context, address string, header http.Header) (*openPage, error) {
	p := &openPage{events: newEvents()}
	p.ended, p.close = chromedp.NewContext(b.ctx, chromedp.WithListener(p.events.take))
	stop := context.AfterFunc(ctx, p.close)
	err := p.load(ctx, address, header)
	stop()
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *openPage) load(ctx context.Context, address string, header http.Header) error {
	if err := chromedp.Do(p.ended); err != nil {
		return fmt.Errorf("no tab: %w", err)
	}
	p.target = chromedp.FromContext(p.ended).Target
	p.events.top = cdp.FrameID(p.target.TargetID)
	if err := p.setHeader(ctx, header); err != nil {
		return err
	}
	// A browser whose protocol has no such domain says so; the page's
	// executeTool may be there all the same.
	p.protocol = p.target.Call(ctx, webmcp.CommandEnable, nil, nil) == nil
	answer, err := chromedp.Run(p.ended, chromedp.NavigateResponse(address))
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not load: %w", address, ctx.Err())
	case err != nil:
		return fmt.Errorf("%s did not load: %w", address, err)
	case answer != nil && answer.Status != http.StatusOK:
		return &statusError{address, answer.Status}
	}
	return nil
}

// statusError is that of a page which the server does not have.
type statusError struct {
	address string
	status  int64
}

// Error says which status would be valid.
func (e *statusError) Error() string {
	return fmt.Sprintf("%s: status %d; valid: 200", e.address, e.status)
}

// setHeader makes every request of the page carry header, and no other besides
// the browser's own.
func (p *openPage) setHeader(ctx context.Context, header http.Header) error {
	values := map[string]string{}
	for name := range header {
		values[name] = header.Get(name)
	}
	return p.target.Call(ctx, "Network.setExtraHTTPHeaders", map[string]any{"headers": values}, nil)
}

//go:embed page.js
var script string

// evaluate calls a function of page.js in the page, and decodes what it
// resolves with.
func (p *openPage) evaluate(ctx context.Context, function string, result any, args ...any) error {
	list, err := json.Marshal(args)
	if err != nil {
		return err
	}
	text, err := json.Marshal(string(list)) // as a text, so that __proto__ is a member like any other
	if err != nil {
		return err
	}
	var answer struct {
		Result struct {
			Value jsontext.Value `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	err = p.target.Call(ctx, "Runtime.evaluate", map[string]any{
		"expression":   "(" + script + ")." + function + "(...JSON.parse(" + string(text) + "))",
		"awaitPromise": true, "returnByValue": true,
	}, &answer)
	switch {
	case err != nil:
		return err
	case answer.Exception != nil:
		return fmt.Errorf("the page's script failed: %.200q", answer.Exception.Text)
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// names lists the tools that the page knows.
func (p *openPage) names(ctx context.Context) ([]string, error) {
	var names []string
	if err := p.evaluate(ctx, "names", &names); err != nil {
		return nil, err
	}
	if names == nil {
		return nil, ErrNoModelContext
	}
	return names, nil
}

// registered waits until the page has registered the tool of a name, or until
// its list stays as it is, and gives the list.
func (p *openPage) registered(ctx context.Context, name string) ([]string, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, registerTime)
	defer cancel()
	var before []string
	since := began
	for {
		names, err := p.names(ctx)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, fmt.Errorf("the page registered no tool within %s", time.Since(began).Round(time.Second))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case slices.Contains(names, name):
			return names, nil
		case !slices.Equal(names, before):
			before, since = names, time.Now()
		case len(names) > 0 && time.Since(since) >= quietTime:
			return names, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollTime):
		}
	}
}

// isProtocolError reports whether the browser itself refused a command.
func isProtocolError(err error) bool {
	_, ok := errors.AsType[*cdproto.Error](err)
	return ok
}

// events are what the browser tells of one tab, in order. Its methods may be
// called at the same time.
type events struct {
	top cdp.FrameID
	state
}

// take notes an event. It is called for each in turn.
func (e *events) take(event any) {
	switch event := event.(type) {
	case *webmcp.EventToolsAdded:
		for _, tool := range event.Tools {
			e.place(tool.Name, tool.FrameID)
		}
	case *webmcp.EventToolInvoked:
		e.begin(event.ToolName, event.InvocationID, event.FrameID)
	case *webmcp.EventToolResponded:
		e.end(event)
	case *page.EventFrameNavigated:
		e.leave(event.Frame.ID, event.Frame.ParentID == "")
	case *page.EventFrameDetached:
		e.leave(event.FrameID, false)
	case *inspector.EventTargetCrashed:
		e.leave("", true)
	}
}

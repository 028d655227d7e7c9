package live

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"remit.example/drive/mcp"
	"remit.example/oracle"
)

// wire is how calls reach tools.
type wire interface {
	// call makes one call, once. Its error says that the tools were not reached.
	call(ctx context.Context, tool string, body []byte, token string) (oracle.Observed, error)
	// lose makes one call whose answer nobody reads, and breaks it off when the
	// request has left and until is closed.
	lose(ctx context.Context, tool string, body []byte, token string, until <-chan struct{}) error
	// takes reports whether a tool has an argument of that name.
	takes(ctx context.Context, tool, argument string) (bool, error)
	// kills reports whether losing an answer ends the process that calls go to.
	kills() bool
	close()
}

// session calls the tools of an MCP server.
type session struct {
	target  string
	options mcp.Options

	mu    sync.Mutex
	tools *mcp.Tools // nil: to be opened
}

// open opens the session where there is none.
func (s *session) open(ctx context.Context) (*mcp.Tools, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil {
		tools, err := mcp.Dial(ctx, s.target, s.options)
		if err != nil {
			return nil, err
		}
		s.tools = tools
	}
	return s.tools, nil
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools != nil {
		_ = s.tools.Close()
		s.tools = nil
	}
}

// kills implements wire.
func (s *session) kills() bool { return s.options.Command != nil || !mcp.IsAddress(s.target) }

// call implements wire. A session that a call has ended is opened again for
// the next one.
func (s *session) call(ctx context.Context, tool string, body []byte, _ string) (oracle.Observed, error) {
	tools, err := s.open(ctx)
	if err != nil {
		return oracle.Observed{}, err
	}
	answer, err := tools.Call(ctx, tool, body, nil, 1)
	if err == nil {
		return oracle.ObservedTool(answer), nil
	}
	if ctx.Err() != nil {
		return oracle.Observed{}, ctx.Err()
	}
	s.close()
	return oracle.Observed{Lost: fmt.Sprintf("there is no answer of the tool: %v", err)}, nil
}

// lose implements wire. The calls that are made meanwhile need another session
// where this one is a process.
func (s *session) lose(ctx context.Context, tool string, body []byte, _ string, until <-chan struct{}) error {
	if !s.kills() {
		tools, err := s.open(ctx)
		if err != nil {
			return err
		}
		return late(ctx, tools.Lose(ctx, tool, body, until))
	}
	tools, err := mcp.Dial(ctx, s.target, s.options)
	if err != nil {
		return err
	}
	return late(ctx, tools.Lose(ctx, tool, body, until))
}

// late is the error of a call that was lost: that it took too long is none.
func late(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// takes implements wire.
func (s *session) takes(ctx context.Context, tool, argument string) (bool, error) {
	tools, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	all, err := tools.Arguments(ctx)
	if err != nil {
		return false, err
	}
	arguments, listed := all[tool]
	if !listed {
		return false, fmt.Errorf("the server lists no tool %s", tool)
	}
	return slices.Contains(arguments, argument), nil
}

// kills implements wire.
func (c *caller) kills() bool { return false }

func (c *caller) close() {}

// takes implements wire: a served contract names no key, so that no argument
// is asked for.
func (c *caller) takes(context.Context, string, string) (bool, error) { return false, nil }

// lose implements wire.
func (c *caller) lose(ctx context.Context, tool string, body []byte, token string, until <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	left, ended := make(chan struct{}), make(chan error, 1)
	gone := sync.OnceFunc(func() { close(left) })
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { gone() }})
	request, err := c.request(traced, tool, body, token)
	if err != nil {
		return err
	}
	go func() {
		response, err := c.client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		ended <- err
	}()
	select {
	case <-left:
	case err := <-ended: // before it had left
		return err
	}
	select {
	case <-until:
		cancel() // which closes the connection
		<-ended
	case <-ended:
	}
	return nil
}

// defaultPatience is how long an effect may take to show in its count.
const defaultPatience = 2 * time.Second

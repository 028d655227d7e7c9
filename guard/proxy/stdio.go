package proxy

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"remit.example/guard"
)

// link is the way to the upstream of one client. What the server says besides
// the responses of call is emitted to the client.
type link interface {
	// call sends a request and returns its response; the request's id is not
	// in use. An error says that none came; see guard.Exec.
	call(ctx context.Context, request []byte) (guard.Response, error)
	// send passes a message on.
	send(ctx context.Context, m *guard.Message)
	// close ends the way.
	close()
}

// client is one client over lines, or one session of several requests.
type client struct {
	guard   *guard.Guard
	caller  guard.Caller
	session *guard.Session
	link    link

	mu    sync.Mutex
	calls map[string]context.CancelFunc // calls of tools that run, by id
}

func newClient(g *guard.Guard, caller guard.Caller) *client {
	return &client{guard: g, caller: caller, session: new(guard.Session), calls: map[string]context.CancelFunc{}}
}

// ServeStdio serves the client at the other end of in and out from a process,
// until in ends. Nothing else may write to out. The error is that of starting
// the process, or of in.
func ServeStdio(ctx context.Context, g *guard.Guard, principal string, in io.Reader, out io.Writer, command Command) error {
	writer := &lineWriter{out: out}
	c := newClient(g, guard.Caller{Principal: principal, Connection: "stdio"})
	p := &process{command: command, limit: MaxMessage, restarted: g.Restarted}
	p.emit = c.emitting(writer)
	p.mu.Lock()
	var err error
	p.running, err = p.start()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	c.link = p
	return c.serve(ctx, in, writer)
}

// emitting writes the server's own messages to the client, which the guard
// hears too.
func (c *client) emitting(out *lineWriter) func([]byte) {
	return func(message []byte) {
		if m, err := guard.ParseMessage(message); err == nil {
			c.guard.Heard(c.caller, c.session, m)
		}
		_ = out.write(message) // a client that has gone reads nothing
	}
}

const (
	// answeringTime bounds how long calls may take once their client has said
	// all that it will.
	answeringTime = 30 * time.Second
	// endingTime bounds how long writes may take to end once the guard has to.
	endingTime = 10 * time.Second
)

// within waits for f, but not longer than d.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// serve handles the lines of a client until they end, or ctx does. What was
// asked before is still answered; once ctx has ended, writes alone are waited
// for, and not for long.
func (c *client) serve(ctx context.Context, in io.Reader, out *lineWriter) error {
	defer c.link.close()
	calling, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	ended := make(chan error, 1)
	go func() {
		err := c.read(calling, in, out, &running)
		within(answeringTime, running.Wait)
		ended <- err
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	within(endingTime, c.guard.Wait)
	return err
}

// read reads the lines of a client.
func (c *client) read(ctx context.Context, in io.Reader, out *lineWriter, running *sync.WaitGroup) error {
	messages := newLines(in, MaxMessage)
	for {
		line, err := messages.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
			_ = out.write(notMessage(err))
			continue
		case err != nil:
			return err
		}
		parts, err := guard.Split(line)
		if err != nil {
			_ = out.write(notMessage(err))
			continue
		}
		for _, raw := range parts {
			m, err := guard.ParseMessage(raw)
			if err != nil {
				_ = out.write(notMessage(err))
				continue
			}
			c.handle(ctx, m, running, func(message []byte) error { return out.write(message) })
		}
	}
}

// handle passes one message on; reply gets the answer of one that the guard
// has to see.
func (c *client) handle(ctx context.Context, m *guard.Message, running *sync.WaitGroup, reply func([]byte) error) {
	switch {
	case m.Method == "tools/call" && m.Request():
		ctx, cancel := context.WithCancel(ctx)
		if !c.begin(m, cancel) {
			cancel()
			_ = reply(guard.ErrorMessage(m.ID, -32600, "The id of this request is in use."))
			return
		}
		running.Go(func() {
			defer cancel()
			// The id is free again before its caller can know that.
			end := sync.OnceFunc(func() { c.end(m) })
			defer end()
			c.call(ctx, m, func(message []byte) error {
				end()
				return reply(message)
			})
		})
	case m.Method == "tools/list" && m.Request():
		running.Go(func() { c.list(ctx, m, reply) })
	case m.Method == "notifications/cancelled" && c.cancel(m):
	default:
		c.link.send(ctx, m)
	}
}

// begin notes a call that runs; false where its id is in use.
func (c *client) begin(m *guard.Message, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.calls[guard.IDKey(m.ID)]; taken {
		return false
	}
	c.calls[guard.IDKey(m.ID)] = cancel
	return true
}

func (c *client) end(m *guard.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, guard.IDKey(m.ID))
}

// cancel ends the wait for a call; what is sent upstream follows from its
// effect. False: it is no call of a tool that runs.
func (c *client) cancel(m *guard.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel, ok := c.calls[guard.IDKey(m.Param("requestId"))]
	if ok {
		cancel()
	}
	return ok
}

// call answers a call of a tool.
func (c *client) call(ctx context.Context, m *guard.Message, reply func([]byte) error) {
	c.guard.Learn(ctx, c.session, m, c.link.call)
	r := c.guard.Call(ctx, c.caller, c.session, m, c.link.call)
	if r.Gone {
		return
	}
	message := r.Message
	if message == nil { // a response that is no message, of an HTTP upstream
		message = guard.ErrorMessage(m.ID, serverEnded, statusSentence(r.Response.Status))
	}
	r.Done(ctx.Err() == nil && reply(message) == nil)
}

// list answers with the tools as the guard lists them.
func (c *client) list(ctx context.Context, m *guard.Message, reply func([]byte) error) {
	response, err := c.link.call(ctx, m.Raw)
	switch {
	case err != nil:
		_ = reply(guard.ErrorMessage(m.ID, serverEnded, "The MCP server did not answer: "+err.Error()+"."))
	case response.Message == nil:
		_ = reply(guard.ErrorMessage(m.ID, serverEnded, statusSentence(response.Status)))
	default:
		_ = reply(c.guard.List(c.session, response.Message))
	}
}

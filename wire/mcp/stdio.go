package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/wire"
)

// ServeStdio speaks with the client at the other end of in and out until in
// ends or ctx does. What was asked before in ended is still answered. Nothing
// else may be written to out.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	locked := &lockedWriter{WriteCloser: out}
	transport := stdio{
		inner:   &sdk.IOTransport{Reader: newLines(in, locked), Writer: locked, MaxLineLength: wire.MaxBody},
		sandbox: s.service.Sandbox(),
	}
	err := s.sdk.Run(wire.WithCaller(ctx, wire.Stdio), transport)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// stdio is the library's transport, whose end of input waits for answers. The
// library itself drops the ones that are not yet written, so that a request
// piped into the program would get none. In a sandbox its calls carry their case.
type stdio struct {
	inner   sdk.Transport
	sandbox bool
}

// Connect connects the library's transport.
func (t stdio) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &stdioConnection{Connection: inner, sandbox: t.sandbox, open: map[jsonrpc.ID]bool{}, changed: make(chan struct{}), closed: make(chan struct{})}, nil
}

type stdioConnection struct {
	sdk.Connection
	sandbox bool

	mu      sync.Mutex
	open    map[jsonrpc.ID]bool // calls without an answer
	changed chan struct{}       // closed and made anew when open shrinks

	once   sync.Once
	closed chan struct{}
}

// Read reads the next message; the end of the input it passes on once every
// call is answered.
func (c *stdioConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.answered(ctx)
	}
	if call, ok := message.(*jsonrpc.Request); ok && err == nil && call.IsCall() {
		c.begin(call)
	}
	return message, err
}

func (c *stdioConnection) begin(call *jsonrpc.Request) {
	if c.sandbox {
		h := http.Header{}
		carry(h, call)
		call.Extra = &sdk.RequestExtra{Header: h}
	}
	if call.Method == "subscriptions/listen" { // has no answer before its end
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[call.ID] = true
}

// answered waits until every call is answered, or nobody waits for that.
func (c *stdioConnection) answered(ctx context.Context) {
	for {
		c.mu.Lock()
		count, changed := len(c.open), c.changed
		c.mu.Unlock()
		if count == 0 {
			return
		}
		select {
		case <-changed:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write writes a message.
func (c *stdioConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if answer, ok := message.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, answer.ID)
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
	}
	return err
}

// Close closes the connection.
func (c *stdioConnection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

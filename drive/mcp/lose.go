package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	driveexec "remit.example/drive/exec"
)

// Arguments lists the arguments of each tool, by the properties of its schema.
func (t *Tools) Arguments(ctx context.Context) (map[string][]string, error) {
	all := map[string][]string{}
	err := t.within(ctx, func(ctx context.Context) error {
		for listed, err := range t.session.Tools(ctx, nil) {
			if err != nil {
				return fmt.Errorf("the list of tools: %w", err)
			}
			all[listed.Name] = nil
			schema, _ := listed.InputSchema.(map[string]any)
			properties, _ := schema["properties"].(map[string]any)
			for name := range properties {
				all[listed.Name] = append(all[listed.Name], name)
			}
		}
		return nil
	})
	return all, err
}

// Lose makes one call whose answer nobody reads. Once the request has left and
// until is closed, the connection to an address is closed, while the session
// goes on; a command is killed with all that it has started, and the session is
// over. An answer that comes, or a loss by itself, ends the call as well.
func (t *Tools) Lose(ctx context.Context, name string, input []byte, until <-chan struct{}) error {
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(input)}
	return t.within(ctx, func(ctx context.Context) error {
		if t.command == nil {
			t.breaker.arm(until)
			defer t.breaker.arm(nil)
			_, err := t.session.CallTool(ctx, params)
			if ctx.Err() != nil {
				return err
			}
			return nil // whatever it was
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = t.session.CallTool(ctx, params)
		}()
		select {
		case <-ctx.Done():
		case <-ended:
		case <-until:
		}
		t.kill()
		<-ended
		return ctx.Err()
	})
}

// Ended reports whether the session is over with the call that was lost.
func (t *Tools) Ended() bool { return t.command != nil }

// kill ends a command in the middle of whatever it does.
func (t *Tools) kill() {
	_ = driveexec.KillGroup(t.command)
	_ = t.session.Close()
}

// breaker sends requests, and breaks off the next call of a tool where it is
// armed.
type breaker struct {
	next http.RoundTripper

	mu    sync.Mutex
	until <-chan struct{}
}

func (b *breaker) arm(until <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = until
}

// RoundTrip sends one request. The client is told of a call that was broken
// off as of an error of JSON-RPC, so that its session goes on.
func (b *breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	until := b.until
	b.mu.Unlock()
	if until == nil || r.Method != http.MethodPost || r.Body == nil {
		return b.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	calls := json.Unmarshal(body, &message) == nil && message.Method == "tools/call"
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !calls {
		return b.next.RoundTrip(r)
	}
	b.arm(nil)
	b.breakOff(r, until)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-31000,"message":"the answer was lost on purpose"}}`, message.ID)
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)),
	}, nil
}

// breakOff sends a request and closes its connection, without an answer.
func (b *breaker) breakOff(r *http.Request, until <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	left, ended := make(chan struct{}), make(chan struct{})
	gone := sync.OnceFunc(func() { close(left) })
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { gone() }})
	go func() {
		defer close(ended)
		response, err := b.next.RoundTrip(r.WithContext(traced))
		if err == nil {
			_ = response.Body.Close()
		}
	}()
	for _, wait := range []<-chan struct{}{left, until} {
		select {
		case <-wait:
		case <-ended:
			return
		case <-ctx.Done():
		}
	}
	cancel() // which closes the connection
	<-ended
}

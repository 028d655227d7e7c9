package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/guard"
	"remit.example/recovery"
)

// reconnectTime is between two streams of a server's own messages.
const reconnectTime = time.Second

// remote is the way of one client over lines to an upstream over HTTP.
type remote struct {
	upstream  *url.URL
	header    http.Header // of every request, such as Authorization
	transport http.RoundTripper
	emit      func(message []byte)
	tools     *guard.Session
	ctx       context.Context // of everything that outlives a request
	end       context.CancelFunc
	running   sync.WaitGroup

	mu       sync.Mutex
	session  string // "" until initialize is answered with one
	revision string // that initialize agreed on
}

// ServeRemote serves the client at the other end of in and out from an
// upstream over HTTP, until in ends. header is sent with each request.
func ServeRemote(ctx context.Context, g *guard.Guard, principal string, in io.Reader, out io.Writer, upstream *url.URL, header http.Header) error {
	writer := &lineWriter{out: out}
	c := newClient(g, guard.Caller{Principal: principal, Connection: "stdio"})
	r := &remote{upstream: upstream, header: header, transport: newTransport(), tools: c.session}
	r.ctx, r.end = context.WithCancel(ctx)
	r.emit = c.emitting(writer)
	c.link = r
	return c.serve(ctx, in, writer)
}

// call implements link.
func (r *remote) call(ctx context.Context, request []byte) (guard.Response, error) {
	m, err := guard.ParseMessage(request)
	if err != nil {
		return guard.Response{}, recovery.NotSent(err)
	}
	return r.post(ctx, m)
}

// post sends a message and returns the response to it, if it is a request.
func (r *remote) post(ctx context.Context, m *guard.Message) (guard.Response, error) {
	var sent recovery.Sent
	ctx, cancel := context.WithCancel(ctx)
	request := r.request(sent.Watch(ctx), http.MethodPost, m.Raw)
	request.Header.Set("Content-Type", "application/json")
	r.describe(request.Header, m)
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		cancel()
		return guard.Response{}, sent.Mark(err)
	}
	defer leave(response.Body, cancel)
	r.opened(m, response.Header)
	out := guard.Response{
		Status: response.StatusCode, Header: response.Header,
		Unreached: response.StatusCode == http.StatusNotFound && request.Header.Get(sessionHeader) != "",
	}
	if mediaType(response.Header) == "text/event-stream" && response.StatusCode == http.StatusOK {
		return r.events(ctx, out, response.Body, m)
	}
	if out.Body, err = io.ReadAll(io.LimitReader(response.Body, MaxMessage+1)); err != nil || len(out.Body) > MaxMessage {
		return guard.Response{}, errors.Join(err, io.ErrUnexpectedEOF)
	}
	if answer, err := guard.ParseMessage(bytes.TrimSpace(out.Body)); err == nil && answers(answer, m) {
		out.Message = answer
	}
	return out, nil
}

// events emits what comes before the response to m, and returns that. A stream
// that ends before it is taken up again where the server permits it.
func (r *remote) events(ctx context.Context, out guard.Response, body io.ReadCloser, m *guard.Message) (guard.Response, error) {
	last := ""
	for {
		in := newEvents(body, MaxMessage)
		for {
			e, err := in.next()
			if err != nil {
				break
			}
			if e.id != "" {
				last = e.id
			}
			answer, err := guard.ParseMessage(e.data)
			if err == nil && m.Request() && answers(answer, m) {
				out.Message, out.Body = answer, e.data
				return out, nil
			}
			if err == nil {
				r.emit(answer.Raw)
			}
		}
		if last == "" || !m.Request() || r.sessionID() == "" {
			return guard.Response{}, io.ErrUnexpectedEOF
		}
		again, err := r.stream(ctx, last)
		if err != nil {
			return guard.Response{}, errors.Join(err, io.ErrUnexpectedEOF)
		}
		defer again.Close()
		body = again
	}
}

// request is a request for the upstream. net/http cannot send its body twice.
func (r *remote) request(ctx context.Context, method string, body []byte) *http.Request {
	request := &http.Request{Method: method, URL: r.upstream, Host: r.upstream.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.header.Clone()}
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("Accept", "application/json, text/event-stream")
	if len(body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != "" {
		request.Header.Set(sessionHeader, r.session)
	}
	if r.revision != "" {
		request.Header.Set("MCP-Protocol-Version", r.revision)
	}
	return request.WithContext(ctx)
}

// named are the methods whose requests name what they are for, and the
// parameter that does (MCP 2026-07-28, streamable HTTP).
var named = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// describe sets the headers that the revisions without sessions ask for.
func (r *remote) describe(header http.Header, m *guard.Message) {
	meta := unquoted(member(m.Param("_meta"), "io.modelcontextprotocol/protocolVersion"))
	if meta == "" {
		return
	}
	header.Set("MCP-Protocol-Version", meta)
	header.Set("Mcp-Method", m.Method)
	name := unquoted(m.Param(named[m.Method]))
	if name == "" {
		return
	}
	header.Set("Mcp-Name", headerText(name))
	if m.Method == "tools/call" {
		paramHeaders(header, r.tools.Schema(name), m.Param("arguments"))
	}
}

// unquoted is the text of a JSON string; "" of anything else.
func unquoted(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// opened notes the session that initialize opened.
func (r *remote) opened(m *guard.Message, header http.Header) {
	if m.Method != "initialize" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = header.Get(sessionHeader)
}

func (r *remote) sessionID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session
}

// send implements link.
func (r *remote) send(ctx context.Context, m *guard.Message) {
	if !m.Request() && m.Method != "notifications/initialized" {
		r.running.Go(func() { _, _ = r.post(r.ctx, m) }) // a notification has no answer to fail
		return
	}
	if m.Method == "initialize" || m.Method == "notifications/initialized" {
		r.answer(ctx, m) // what follows needs the session
		return
	}
	r.running.Go(func() { r.answer(r.ctx, m) })
}

// answer sends a message and emits the response.
func (r *remote) answer(ctx context.Context, m *guard.Message) {
	response, err := r.post(ctx, m)
	switch {
	case !m.Request():
		if err == nil && r.sessionID() != "" {
			r.running.Go(r.listen)
		}
	case err != nil:
		r.emit(guard.ErrorMessage(m.ID, serverEnded, "The MCP server did not answer: "+err.Error()+"."))
	case response.Message == nil:
		r.emit(guard.ErrorMessage(m.ID, serverEnded, statusSentence(response.Status)))
	default:
		if m.Method == "initialize" {
			r.mu.Lock()
			r.revision = unquoted(member(response.Message.Result, "protocolVersion"))
			r.mu.Unlock()
		}
		r.emit(response.Message.Raw)
	}
}

// listen emits what the server says by itself, for as long as it offers that.
func (r *remote) listen() {
	last := ""
	for {
		body, err := r.stream(r.ctx, last)
		if err != nil {
			return
		}
		in := newEvents(body, MaxMessage)
		for {
			e, err := in.next()
			if err != nil {
				break
			}
			if e.id != "" {
				last = e.id
			}
			if m, err := guard.ParseMessage(e.data); err == nil {
				r.emit(m.Raw)
			}
		}
		_ = body.Close()
		select {
		case <-r.ctx.Done():
			return
		case <-time.After(reconnectTime):
		}
	}
}

var errNoStream = errors.New("the server offers no stream")

// stream asks for a stream of the server's messages, from one on.
func (r *remote) stream(ctx context.Context, last string) (io.ReadCloser, error) {
	request := r.request(ctx, http.MethodGet, nil)
	request.Header.Set("Accept", "text/event-stream")
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || mediaType(response.Header) != "text/event-stream" {
		_ = response.Body.Close()
		return nil, errNoStream
	}
	return response.Body, nil
}

// close implements link: it ends the session.
func (r *remote) close() {
	r.end()
	r.running.Wait()
	if r.sessionID() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if response, err := r.transport.RoundTrip(r.request(ctx, http.MethodDelete, nil)); err == nil {
		_ = response.Body.Close()
	}
}

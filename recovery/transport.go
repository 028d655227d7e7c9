package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"remit.example/record"
)

// The bounds of a [Transport].
const (
	// DefaultBodyLimit is how many bytes of a request's body are kept so
	// that it can be sent again.
	DefaultBodyLimit = 1 << 20
	// failureLimit is how many bytes of a failing response are read ahead:
	// for its record, and to free the connection before a wait.
	failureLimit = 64 << 10
)

// Transport is an [http.RoundTripper] that holds its requests to the policy.
// Its zero value is usable. One value may serve any number of goroutines.
//
// A response, failing or not, is returned as it came, so that the caller sees
// what the server said last; an error is an *[Ended]. No request is sent again
// by net/http itself: each execution is one that the policy permitted.
type Transport struct {
	Base http.RoundTripper // nil = http.DefaultTransport; it also adds renewed credentials
	// Effect says whether repeating a request is safe; nil = [MethodEffect].
	Effect func(*http.Request) record.Effect
	// BodyLimit is how many bytes of a body are kept to be sent again; 0 =
	// DefaultBodyLimit. A longer body is streamed, in one execution at most.
	BodyLimit int64
	// Task is the pattern of each request's task; its Effect is not used.
	// Correct needs Arguments here: a request has no JSON.
	Task Task[*http.Request, *http.Response]
}

// MethodEffect is the effect of a request by its method (RFC 9110, section
// 9.2): GET, HEAD, OPTIONS and TRACE are reads, PUT and DELETE idempotent,
// anything else is keyed with an Idempotency-Key header and unsafe without.
func MethodEffect(req *http.Request) record.Effect {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return record.Read
	case http.MethodPut, http.MethodDelete:
		return record.Idempotent
	}
	if req.Header.Get("Idempotency-Key") != "" {
		return record.Keyed
	}
	return record.Unsafe
}

// RoundTrip executes the request until it succeeds or its task ends.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	task := t.Task
	task.Effect = t.effect(req)
	e := exchange{base: t.base(), task: &task, limit: t.bodyLimit()}
	defer e.close()
	if err := e.take(req); err != nil {
		return nil, err
	}
	if e.rest != nil {
		task.Limit = 1
	}
	resp, err := Do(req.Context(), &task, req, e.execute)
	if e.last != resp {
		discard(e.last)
	}
	if err == nil || resp != nil && req.Context().Err() == nil {
		return resp, nil
	}
	discard(resp)
	return nil, err
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

func (t *Transport) effect(req *http.Request) record.Effect {
	if t.Effect != nil {
		return t.Effect(req)
	}
	return MethodEffect(req)
}

func (t *Transport) bodyLimit() int64 {
	if t.BodyLimit > 0 {
		return t.BodyLimit
	}
	return DefaultBodyLimit
}

// exchange is one request's task under way.
type exchange struct {
	base  http.RoundTripper
	task  *Task[*http.Request, *http.Response]
	limit int64
	req   *http.Request // whose body is held
	body  []byte        // its first bytes, at most limit
	rest  io.ReadCloser // what follows them; nil if nothing does
	last  *http.Response
}

// take reads the request's body up to the limit.
func (e *exchange) take(req *http.Request) error {
	e.close()
	e.req, e.body, e.rest = req, nil, nil
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, e.limit+1))
	if err != nil || int64(len(body)) <= e.limit {
		err = errors.Join(err, req.Body.Close())
	} else {
		e.rest = req.Body
	}
	e.body = body
	return err
}

// close closes what is left of the body.
func (e *exchange) close() {
	if e.rest != nil {
		_ = e.rest.Close()
	}
}

// execute sends the request once and reads how it failed.
func (e *exchange) execute(ctx context.Context, req *http.Request) (*http.Response, error) {
	discard(e.last)
	e.last = nil
	if req != e.req {
		if err := e.take(req); err != nil {
			return nil, err
		}
		if e.rest != nil {
			return nil, fmt.Errorf("recovery: a changed request's body has at most %d bytes", e.limit)
		}
	}
	var trace Sent
	_, speaks := e.base.(*http.Transport)
	trace.traced.Store(speaks)
	resp, err := e.base.RoundTrip(e.outgoing(trace.Watch(ctx), req))
	if err != nil {
		return nil, trace.Mark(err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	e.last = resp
	return resp, ClassifyResponse(resp.StatusCode, resp.Header, readAhead(resp), e.task.Effect, clockOf(e.task.Clock).Now())
}

// outgoing is a copy of the request with the body that was kept.
func (e *exchange) outgoing(ctx context.Context, req *http.Request) *http.Request {
	out := req.Clone(ctx)
	out.GetBody = nil
	switch {
	case e.rest != nil:
		out.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(e.body), e.rest), e.rest}
	case len(req.Trailer) > 0:
		out.Body = io.NopCloser(bytes.NewReader(e.body))
	case len(e.body) > 0 || resent(req):
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(e.body)), int64(len(e.body))
	default:
		out.Body, out.ContentLength = http.NoBody, 0
	}
	return out
}

// resent reports whether net/http would send a request without a body again
// by itself when a reused connection is lost. A body that only turns out to be
// empty when it is read keeps it from that.
func resent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
}

// readAhead reads the start of a failing response and leaves the response as
// it was for its reader. A short body is read whole, which frees the connection.
func readAhead(resp *http.Response) []byte {
	start, err := io.ReadAll(io.LimitReader(resp.Body, failureLimit))
	rest := resp.Body
	if err == nil && len(start) < failureLimit {
		_ = rest.Close()
		resp.Body = io.NopCloser(bytes.NewReader(start))
		return start
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), failing(err, rest)), rest}
	return start
}

// failing is the error of a reader that has failed, or what it still holds.
func failing(err error, rest io.Reader) io.Reader {
	if err == nil {
		return rest
	}
	return errorReader{err}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// discard closes a response that nobody reads. What readAhead did not reach
// costs the connection, and not the time to drain it.
func discard(resp *http.Response) {
	if resp != nil {
		_ = resp.Body.Close()
	}
}

// Sent watches whether the request of one attempt has left. A transport that
// does not speak httptrace is taken to have sent it. Its zero value is ready.
type Sent struct{ traced, left atomic.Bool }

// Watch is a context for the attempt's request.
func (s *Sent) Watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { s.traced.Store(true) },
		WroteHeaders:         func() { s.left.Store(true) },
		GotFirstResponseByte: func() { s.left.Store(true) },
	})
}

// Mark says of the attempt's error whether its request had left: it is
// [NotSent] where it had not, and for [Classify] a lost answer where it may have.
func (s *Sent) Mark(err error) error {
	if s.traced.Load() && !s.left.Load() {
		return NotSent(err)
	}
	return &notAnswered{err}
}

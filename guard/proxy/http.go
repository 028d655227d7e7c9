package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"remit.example/guard"
	"remit.example/recovery"
)

// HTTP serves clients over HTTP from an upstream over HTTP.
type HTTP struct {
	guard     *guard.Guard
	upstream  *url.URL
	transport http.RoundTripper
	identify  Identify
	sessions  sessions
	deferred  deferred
}

// NewHTTP serves from the endpoint upstream.
func NewHTTP(g *guard.Guard, upstream *url.URL, identify Identify) *HTTP {
	return &HTTP{guard: g, upstream: upstream, transport: newTransport(), identify: identify}
}

// newTransport sends each request once and follows nothing.
func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 256
	transport.MaxResponseHeaderBytes = 1 << 20
	return transport
}

// ServeHTTP passes a request on.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case isMetadata(r):
		h.metadata(w, r)
	case r.URL.Path != endpoint(h.upstream):
		refuse(w, http.StatusNotFound, fmt.Sprintf("There is nothing here; the guarded server is at %s.", endpoint(h.upstream)))
	case r.Method == http.MethodPost:
		h.post(w, r)
	default:
		h.pass(w, r, nil)
	}
}

// endpoint is the path of the upstream, which is that of the guard too.
func endpoint(upstream *url.URL) string {
	if upstream.Path == "" {
		return "/"
	}
	return upstream.Path
}

// post passes a body of messages on.
func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	parts, err := guard.Split(body)
	if err != nil {
		writeMessage(w, http.StatusBadRequest, notMessage(err))
		return
	}
	if len(parts) > 1 || body[0] == '[' {
		h.batch(w, r, parts)
		return
	}
	m, err := guard.ParseMessage(parts[0])
	if err != nil {
		writeMessage(w, http.StatusBadRequest, notMessage(err))
		return
	}
	h.message(w, r, m)
}

// message passes one message on.
func (h *HTTP) message(w http.ResponseWriter, r *http.Request, m *guard.Message) {
	switch {
	case m.Method == "tools/call" && m.Request():
		h.call(w, r, m)
	case m.Method == "tools/list" && m.Request():
		h.list(w, r, m)
	default:
		h.pass(w, r, m.Raw)
	}
}

// readBody reads a request's body whole; false where it has refused.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // not every writer has deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	if err != nil { // the rest of the body is not waited for
		w.Header().Set("Connection", "close")
	} else {
		_ = control.SetReadDeadline(time.Time{})
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		writeMessage(w, http.StatusRequestEntityTooLarge, notMessage(errTooLong))
		return nil, false
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "The body could not be read.")
		return nil, false
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		refuse(w, http.StatusUnsupportedMediaType, "A body that is compressed is not read; send it as it is.")
		return nil, false
	}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		writeMessage(w, http.StatusBadRequest, notMessage(errors.New("the body is empty")))
		return nil, false
	}
	return body, true
}

// hopHeaders are those of one connection (RFC 9110, section 7.6.1), and those
// that describe the body as the guard writes it.
var hopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
}

func copyHeader(into, from http.Header) {
	for name, values := range from {
		into[name] = values
	}
	for _, list := range from["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			delete(into, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for _, name := range hopHeaders {
		delete(into, name)
	}
}

// request is a request for the upstream. net/http cannot send its body twice.
func (h *HTTP) request(ctx context.Context, r *http.Request, body []byte) *http.Request {
	target := *h.upstream
	if r.URL.Path != endpoint(h.upstream) {
		target.Path, target.RawPath = r.URL.Path, r.URL.RawPath
	}
	if r.URL.RawQuery != "" {
		target.RawQuery = r.URL.RawQuery
	}
	out := &http.Request{Method: r.Method, URL: &target, Host: target.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header, len(r.Header))}
	copyHeader(out.Header, r.Header)
	delete(out.Header, "Accept-Encoding") // the transport asks for what it decodes
	if _, named := r.Header["User-Agent"]; !named {
		out.Header["User-Agent"] = nil
	}
	if len(body) > 0 {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return out.WithContext(ctx)
}

// pass passes a request on that the guard has no word on.
func (h *HTTP) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	response, err := h.transport.RoundTrip(h.request(r.Context(), r, body))
	if err != nil {
		if r.Context().Err() == nil {
			refuse(w, http.StatusBadGateway, "The guarded server did not answer.")
		}
		return
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 599 {
		refuse(w, http.StatusBadGateway, "The guarded server answered with a status that is none of HTTP.")
		return
	}
	h.copyResponseHeader(w, r, response.Header)
	w.WriteHeader(response.StatusCode)
	if r.Method == http.MethodGet && mediaType(response.Header) == "text/event-stream" {
		h.resume(w, r, response.Body)
		return
	}
	stream(w, response.Body)
}

// copyResponseHeader gives the client the upstream's header, in which it is
// the guard that names itself.
func (h *HTTP) copyResponseHeader(w http.ResponseWriter, r *http.Request, header http.Header) {
	copyHeader(w.Header(), header)
	if challenges := header["Www-Authenticate"]; len(challenges) > 0 {
		w.Header()["Www-Authenticate"] = h.renamed(r, challenges)
	}
}

// stream copies a body as it comes. A client that does not read is not waited
// for without end.
func stream(w http.ResponseWriter, from io.Reader) {
	control := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := w.Write(buffer[:n]); err != nil {
				return
			}
			_ = control.Flush() // a writer that cannot flush has written
		}
		if err != nil {
			return
		}
	}
}

// list passes a request for the tools on, and the answer as the guard lists it.
func (h *HTTP) list(w http.ResponseWriter, r *http.Request, m *guard.Message) {
	caller := h.identify(r)
	a := &answering{h: h, w: w, r: r, asked: m}
	response, err := a.exec(r.Context(), m.Raw)
	switch {
	case err != nil && r.Context().Err() == nil:
		writeMessage(w, http.StatusBadGateway, guard.ErrorMessage(m.ID, serverEnded, "The guarded server did not answer."))
	case err != nil:
	case response.Message == nil:
		a.write(response, response.Body)
	default:
		a.write(response, h.guard.List(h.sessions.of(caller), response.Message))
	}
}

// call answers a call of a tool.
func (h *HTTP) call(w http.ResponseWriter, r *http.Request, m *guard.Message) {
	caller := h.identify(r)
	a := &answering{h: h, w: w, r: r, asked: m, resumes: r.Header.Get(sessionHeader) != ""}
	session := h.sessions.of(caller)
	h.guard.Learn(r.Context(), session, m, a.exec)
	a.finish(h.guard.Call(r.Context(), caller, session, m, a.exec))
}

// finish writes the answer.
func (a *answering) finish(reply *guard.Reply) {
	err := a.r.Context().Err() // a client that goes once it has read the answer has it
	switch {
	case reply.Gone:
		a.mu.Lock()
		defer a.mu.Unlock()
		a.over = true // a write that goes on may not write to a client that has its answer elsewhere
		return
	case err != nil:
	case reply.Own:
		err = a.own(reply)
	case reply.Message == nil:
		err = a.write(reply.Response, reply.Response.Body)
	default:
		err = a.write(reply.Response, reply.Message)
	}
	if err == nil && reply.Tracked() {
		err = http.NewResponseController(a.w).Flush() // what is not on its way is not delivered
	}
	reply.Done(err == nil)
}

// answering is one request of a client under way.
type answering struct {
	h     *HTTP
	w     http.ResponseWriter
	r     *http.Request
	asked *guard.Message // the caller's request

	mu      sync.Mutex
	over    bool  // nothing more may be written
	started bool  // events have been written
	last    event // the event that the response came in; raw nil: it was none
	resumes bool  // the answer may come on another stream
}

// exec sends a message upstream and returns the response to it. Events that
// come before it are passed on at once.
func (a *answering) exec(ctx context.Context, body []byte) (guard.Response, error) {
	m := a.asked
	if !bytes.Equal(body, m.Raw) {
		var err error
		if m, err = guard.ParseMessage(body); err != nil {
			return guard.Response{}, recovery.NotSent(err)
		}
	}
	var sent recovery.Sent
	ctx, cancel := context.WithCancel(ctx)
	request := a.h.request(sent.Watch(ctx), a.r, body)
	if m != a.asked {
		if tool := unquoted(m.Param("name")); tool != unquoted(a.asked.Param("name")) {
			rename(request.Header, m.Method, tool)
		}
	}
	a.last = event{}
	response, err := a.h.transport.RoundTrip(request)
	if err != nil {
		cancel()
		return guard.Response{}, sent.Mark(err)
	}
	ends := func() { _ = response.Body.Close(); cancel() }
	defer func() { ends() }()
	if response.StatusCode < 200 || response.StatusCode > 599 {
		return guard.Response{}, errors.Join(fmt.Errorf("the status %d is none of HTTP", response.StatusCode), io.ErrUnexpectedEOF)
	}
	out := guard.Response{
		Status: response.StatusCode, Header: response.Header,
		// MCP, streamable HTTP: so answers a server whose session has ended.
		Unreached: response.StatusCode == http.StatusNotFound && a.r.Header.Get(sessionHeader) != "",
	}
	if mediaType(response.Header) == "text/event-stream" && response.StatusCode == http.StatusOK {
		ends = func() { leave(response.Body, cancel) }
		return a.events(out, response.Body, m)
	}
	if out.Body, err = io.ReadAll(io.LimitReader(response.Body, MaxMessage+1)); err != nil {
		return guard.Response{}, errors.Join(err, io.ErrUnexpectedEOF)
	}
	if len(out.Body) > MaxMessage {
		return guard.Response{}, errors.Join(errTooLong, io.ErrUnexpectedEOF)
	}
	if answer, err := guard.ParseMessage(bytes.TrimSpace(out.Body)); err == nil && answers(answer, m) {
		out.Message = answer
	}
	return out, nil
}

// rename lets the header of a request name what the guard asks in the place of
// its caller's call: another tool, or the list of all.
func rename(header http.Header, method, tool string) {
	if header.Get("Mcp-Method") != "" {
		header.Set("Mcp-Method", method)
	}
	for name := range header {
		if name == "Mcp-Name" && tool == "" || strings.HasPrefix(name, "Mcp-Param-") {
			delete(header, name)
		}
	}
	if header.Get("Mcp-Name") != "" {
		header.Set("Mcp-Name", headerText(tool))
	}
}

// answers reports whether a message is the response to a request. An error
// whose id is null answers the only request that there is.
func answers(answer, request *guard.Message) bool {
	return answer.Response() && (answer.SameID(request) || answer.Error != nil && string(answer.ID) == "null")
}

func mediaType(header http.Header) string {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// events reads a stream up to the response.
func (a *answering) events(out guard.Response, body io.Reader, m *guard.Message) (guard.Response, error) {
	in, resumable := newEvents(body, MaxMessage), false
	for {
		e, err := in.next()
		if errors.Is(err, io.EOF) && resumable && a.resumes {
			return guard.Response{}, a.elsewhere(out, m)
		}
		if err != nil {
			return guard.Response{}, errors.Join(err, io.ErrUnexpectedEOF)
		}
		if said, err := guard.ParseMessage(e.data); err == nil {
			if answers(said, m) {
				a.last, out.Message, out.Body = e, said, e.data
				return out, nil
			}
			a.h.heard(a.r, said)
		}
		resumable = resumable || e.id != "" || e.retry
		a.event(out.Header, e.raw)
	}
}

// heard lets the guard know what the server tells a caller by itself.
func (h *HTTP) heard(r *http.Request, m *guard.Message) {
	if m.Method != "" {
		caller := h.identify(r)
		h.guard.Heard(caller, h.sessions.of(caller), m)
	}
}

// leave lets go of a body whose answer was read. What follows it is read for a
// moment, so that the connection can be used again; a stream that goes on is cut.
func leave(body io.ReadCloser, cancel context.CancelFunc) {
	const enough = 4 << 10
	go func() {
		timer := time.AfterFunc(leaveTime, cancel)
		_, _ = io.CopyN(io.Discard, body, enough)
		timer.Stop()
		cancel()
		_ = body.Close()
	}()
}

// leaveTime is how long the rest of a stream is read.
const leaveTime = 100 * time.Millisecond

// event passes an event on.
func (a *answering) event(header http.Header, raw []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.r.Context().Err() != nil {
		return
	}
	a.start(header)
	_ = a.put(raw) // a client that has gone reads nothing
}

// start begins a stream of events; the caller holds mu.
func (a *answering) start(header http.Header) {
	if a.started {
		return
	}
	a.started = true
	a.h.copyResponseHeader(a.w, a.r, header)
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.WriteHeader(http.StatusOK)
}

func (a *answering) put(bytes []byte) error {
	control := http.NewResponseController(a.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := a.w.Write(bytes)
	if err == nil {
		err = control.Flush()
	}
	return err
}

// write ends the answer with a response, whose message may have changed.
func (a *answering) write(response guard.Response, message []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.last.raw != nil {
		a.start(response.Header)
		if bytes.Equal(message, a.last.data) {
			return a.put(a.last.raw)
		}
		return a.put(a.last.withData(message))
	}
	if a.started {
		return a.put(newEvent(message))
	}
	a.h.copyResponseHeader(a.w, a.r, response.Header)
	return a.whole(response.Status, message)
}

// whole writes an answer that is all there, in one piece.
func (a *answering) whole(status int, message []byte) error {
	a.w.Header().Set("Content-Length", strconv.Itoa(len(message)))
	a.w.WriteHeader(status)
	_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(writeTime)) // not every writer has deadlines
	_, err := a.w.Write(message)
	return err
}

// own ends the answer with a message of the guard's.
func (a *answering) own(reply *guard.Reply) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.started {
		return a.put(newEvent(reply.Message))
	}
	if len(reply.Challenge) > 0 {
		a.w.Header()["Www-Authenticate"] = a.h.renamed(a.r, reply.Challenge)
		return a.message(http.StatusUnauthorized, reply.Message)
	}
	return a.message(http.StatusOK, reply.Message)
}

// message writes a message of the guard's.
func (a *answering) message(status int, message []byte) error {
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("Cache-Control", "no-store")
	return a.whole(status, message)
}

// batch takes a list of messages apart and answers with the list of what comes.
func (h *HTTP) batch(w http.ResponseWriter, r *http.Request, parts [][]byte) {
	var out [][]byte
	for _, raw := range parts {
		m, err := guard.ParseMessage(raw)
		if err != nil {
			out = append(out, notMessage(err))
			continue
		}
		recorder := &bodyWriter{header: http.Header{}}
		h.message(recorder, r, m)
		out = append(out, recorder.messages()...)
	}
	if len(out) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeMessage(w, http.StatusOK, fmt.Appendf(nil, "[%s]", bytes.Join(out, []byte(","))))
}

// bodyWriter keeps what is written to one part of a batch.
type bodyWriter struct {
	header http.Header
	body   bytes.Buffer
}

func (b *bodyWriter) Header() http.Header         { return b.header }
func (b *bodyWriter) WriteHeader(int)             {}
func (b *bodyWriter) Write(p []byte) (int, error) { return b.body.Write(p) }
func (b *bodyWriter) Flush()                      {}

// messages are the JSON-RPC messages that were written.
func (b *bodyWriter) messages() [][]byte {
	if mediaType(b.header) != "text/event-stream" {
		if m, err := guard.ParseMessage(bytes.TrimSpace(b.body.Bytes())); err == nil {
			return [][]byte{m.Raw}
		}
		return nil
	}
	var out [][]byte
	for in := newEvents(&b.body, MaxMessage); ; {
		e, err := in.next()
		if err != nil {
			return out
		}
		if m, err := guard.ParseMessage(e.data); err == nil {
			out = append(out, m.Raw)
		}
	}
}

func writeHeader(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
}

// writeMessage answers with a message of the proxy's own.
func writeMessage(w http.ResponseWriter, status int, message []byte) {
	writeHeader(w, status)
	_, _ = w.Write(message) // a client that has gone needs no answer
}

// refuse answers a request that is no message.
func refuse(w http.ResponseWriter, status int, sentence string) {
	writeMessage(w, status, guard.ErrorMessage(nil, -32600, sentence))
}

// Server serves a handler within the limits of the package.
func Server(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

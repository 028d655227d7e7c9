package proxy

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/guard"
	"remit.example/record"
)

// endpointPath is where a guard serves a process over HTTP.
const endpointPath = "/mcp"

// sessionIdle ends a session that nobody has used for that long.
const sessionIdle = time.Hour

// Bridge serves clients over HTTP from processes: one for each session, and
// one for all requests of a principal that belong to none. The ids and progress
// tokens of these get unique ones, for the server takes them for those of one
// client.
//
// What the server says besides answers goes to the request that it names: by
// its progress token, its subscription or its id. In a session the rest goes to
// the stream that the client listens to, else to the request that came last.
// Without a session it goes to nobody, for it may be about anybody's request.
type Bridge struct {
	guard    *guard.Guard
	command  Command
	identify Identify

	mu       sync.Mutex
	sessions map[sessionKey]*bridged
	closed   bool
}

// bridged is one session and its process. Its client's caller is the one that
// opened it.
type bridged struct {
	*client
	process   *process
	stateless bool
	used      time.Time

	mu        sync.Mutex
	requests  map[string]*asking // that are not answered, by the id that the server sees
	tokens    map[string]*asking // those of them with a progress token, by the one that the server sees
	latest    []*asking          // all of them, the latest last
	listening []chan []byte      // streams of those that listen, the latest last
}

// asking is a request that a client waits for.
type asking struct {
	sent      *guard.Message // as the server sees it
	id, token jsontext.Value // that the client gave it; a token of nil: none
	tokenKey  string         // in tokens; "": it is not there
	passed    chan []byte    // the response, if it passes
	stream    chan []byte    // what the server says before it
}

// NewBridge serves from a command.
func NewBridge(g *guard.Guard, command Command, identify Identify) *Bridge {
	return &Bridge{guard: g, command: command, identify: identify, sessions: map[sessionKey]*bridged{}}
}

// Close ends all processes.
func (b *Bridge) Close() {
	b.mu.Lock()
	b.closed = true
	all := b.sessions
	b.sessions = map[sessionKey]*bridged{}
	b.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range all {
		closing.Go(s.process.close)
	}
	closing.Wait()
}

// ServeHTTP serves one request.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != endpointPath {
		refuse(w, http.StatusNotFound, "There is nothing here; the guarded server is at "+endpointPath+".")
		return
	}
	switch r.Method {
	case http.MethodPost:
		b.post(w, r)
	case http.MethodGet:
		b.listen(w, r)
	case http.MethodDelete:
		b.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, r.Method+" is not served here; valid: GET, POST, DELETE.")
	}
}

func (b *Bridge) post(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	parts, err := guard.Split(body)
	if err != nil {
		writeMessage(w, http.StatusBadRequest, notMessage(err))
		return
	}
	if body[0] == '[' {
		refuse(w, http.StatusBadRequest, "A list of messages is not served here; send one message in each request.")
		return
	}
	m, err := guard.ParseMessage(parts[0])
	if err != nil {
		writeMessage(w, http.StatusBadRequest, notMessage(err))
		return
	}
	s, caller := b.sessionFor(w, r, m)
	if s == nil {
		return
	}
	if !m.Request() {
		s.handle(r.Context(), m, new(sync.WaitGroup), nil) // which answers requests alone
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(w, r, caller, m)
}

// sessionFor is the session of a request, which a first one opens, and who
// sends it; nil where the request was refused.
func (b *Bridge) sessionFor(w http.ResponseWriter, r *http.Request, m *guard.Message) (*bridged, guard.Caller) {
	id, opens := r.Header.Get(sessionHeader), m.Method == "initialize"
	if opens {
		id = rand.Text()
	}
	caller := b.identify(r)
	if opens && caller.Credentials == (guard.Digest{}) {
		caller.Principal, caller.Connection = "session:"+hashed(id), "session:"+hashed(id)
	}
	key := sessionKey{id: id}
	if id == "" {
		key.principal = caller.Principal
	}
	s, err := b.session(key, opens || id == "", caller)
	if err != nil {
		writeMessage(w, http.StatusServiceUnavailable, guard.ErrorMessage(m.ID, serverEnded, "The MCP server cannot be started: "+err.Error()+"."))
		return nil, caller
	}
	if s == nil {
		writeMessage(w, http.StatusNotFound, guard.ErrorMessage(m.ID, -32600, noSession))
		return nil, caller
	}
	if opens {
		w.Header().Set(sessionHeader, id)
	}
	return s, caller
}

const noSession = "There is no such session; open one with initialize."

// of reports whether a session is a caller's: of one that presents the same as
// the one that opened it, or is known by the same name.
func (s *bridged) of(caller guard.Caller) bool {
	return s.caller.Credentials == caller.Credentials || s.caller.Principal == caller.Principal
}

// sessionKey names a session, or the principal of requests without one.
type sessionKey struct{ id, principal string }

// session finds a caller's session, or opens it; nil: there is none.
func (b *Bridge) session(key sessionKey, open bool, caller guard.Caller) (*bridged, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if s, ok := b.sessions[key]; ok {
		if !s.of(caller) {
			return nil, nil
		}
		s.used = now
		return s, nil
	}
	if !open || b.closed {
		return nil, nil
	}
	if len(b.sessions) >= maxSessions && !b.dropIdle(now) {
		return nil, fmt.Errorf("there are %d sessions already", maxSessions)
	}
	s := &bridged{client: newClient(b.guard, caller), stateless: key.id == "", used: now, requests: map[string]*asking{}, tokens: map[string]*asking{}}
	s.process = &process{command: b.command, limit: MaxMessage, emit: s.emit, restarted: b.guard.Restarted}
	s.link = s.process
	s.process.mu.Lock()
	defer s.process.mu.Unlock()
	var err error
	if s.process.running, err = s.process.start(); err != nil {
		return nil, err
	}
	b.sessions[key] = s
	return s, nil
}

// dropIdle ends the sessions that nobody uses; false where there are none. The
// caller holds mu.
func (b *Bridge) dropIdle(now time.Time) bool {
	dropped := false
	for key, s := range b.sessions {
		if now.Sub(s.used) >= sessionIdle {
			delete(b.sessions, key)
			go s.process.close()
			dropped = true
		}
	}
	return dropped
}

func (b *Bridge) delete(w http.ResponseWriter, r *http.Request) {
	key, caller := sessionKey{id: r.Header.Get(sessionHeader)}, b.identify(r)
	b.mu.Lock()
	s, ok := b.sessions[key]
	if ok = ok && s.of(caller); ok {
		delete(b.sessions, key)
	}
	b.mu.Unlock()
	if !ok {
		refuse(w, http.StatusNotFound, "There is no such session.")
		return
	}
	s.process.close()
	w.WriteHeader(http.StatusNoContent)
}

// emit gives a message of the server to whoever it is for.
func (s *bridged) emit(message []byte) {
	m, err := guard.ParseMessage(message)
	if err != nil {
		return
	}
	var to chan []byte
	if m.Response() {
		to, message = s.answered(m)
	} else {
		s.guard.Heard(s.caller, s.session, m)
		to, message = s.said(m)
	}
	if to != nil {
		select {
		case to <- message:
		default: // nobody reads so slowly that the server is kept waiting for it
		}
		return
	}
	if s.stateless && m.Request() { // the server is not left waiting for an answer
		s.process.send(context.Background(), parsed(guard.ErrorMessage(m.ID, -32601, "There is no session, and so nobody to ask.")))
	}
}

// answered is where a response goes, and how it goes there.
func (s *bridged) answered(m *guard.Message) (chan []byte, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.requests[guard.IDKey(m.ID)]
	if a == nil {
		return nil, nil
	}
	if id := member(member(m.Result, "_meta"), subscriptionID); id != nil && guard.IDKey(id) == guard.IDKey(m.ID) {
		return a.passed, replaced(m, id, a.id, "result", "_meta", subscriptionID)
	}
	return a.passed, m.Raw
}

// subscriptionID names the request that a notification, or a result, belongs to
// (MCP 2026-07-28, subscriptions).
const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// said is where what the server says by itself goes, and how it goes there.
func (s *bridged) said(m *guard.Message) (chan []byte, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token := m.Param("progressToken"); token != nil {
		if a := s.tokens[guard.IDKey(token)]; a != nil {
			return a.stream, replaced(m, token, a.token, "params", "progressToken")
		}
	}
	if id := member(m.Param("_meta"), subscriptionID); id != nil {
		if a := s.requests[guard.IDKey(id)]; a != nil {
			return a.stream, replaced(m, id, a.id, "params", "_meta", subscriptionID)
		}
	}
	if s.stateless { // in a session the id may be one of the server's own requests
		id := m.Param("requestId")
		if a := s.requests[guard.IDKey(id)]; a != nil {
			return a.stream, replaced(m, id, a.id, "params", "requestId")
		}
		return nil, nil
	}
	if n := len(s.listening); n > 0 {
		return s.listening[n-1], m.Raw
	}
	if n := len(s.latest); n > 0 {
		return s.latest[n-1].stream, m.Raw
	}
	return nil, nil
}

// replaced is a message with another value in the place of one that it has.
func replaced(m *guard.Message, old, by jsontext.Value, names ...string) []byte {
	if string(old) == string(by) {
		return m.Raw
	}
	message, ok := m.With(by, names...)
	if !ok {
		return m.Raw
	}
	return message
}

// streamed is how many messages of the server one stream may be behind.
const streamed = 256

// enter notes a request, and gives it an id and a progress token that no other
// one has where that has to be; nil: its id is in use.
func (s *bridged) enter(m *guard.Message) *asking {
	a := &asking{
		sent: m, id: m.ID, token: member(m.Param("_meta"), "progressToken"),
		passed: make(chan []byte, 1), stream: make(chan []byte, streamed),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stateless {
		a.sent = renumbered(a.sent)
	}
	key := guard.IDKey(a.sent.ID)
	if s.requests[key] != nil {
		return nil
	}
	s.requests[key] = a
	s.latest = append(s.latest, a)
	if a.token == nil {
		return a
	}
	token := a.token
	if s.stateless || s.tokens[guard.IDKey(token)] != nil {
		token = record.AppendString(nil, rand.Text())
		a.sent = parsed(replaced(a.sent, a.token, token, "params", "_meta", "progressToken"))
	}
	a.tokenKey = guard.IDKey(token)
	s.tokens[a.tokenKey] = a
	return a
}

// leave forgets a request.
func (s *bridged) leave(a *asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, guard.IDKey(a.sent.ID))
	delete(s.tokens, a.tokenKey)
	s.latest = slices.DeleteFunc(s.latest, func(other *asking) bool { return other == a })
}

// answer answers one request: with JSON, or with a stream where the server
// says something before it answers.
func (s *bridged) answer(w http.ResponseWriter, r *http.Request, caller guard.Caller, m *guard.Message) {
	asked := s.enter(m)
	if asked == nil {
		writeMessage(w, http.StatusOK, guard.ErrorMessage(m.ID, -32600, "The id of this request is in use."))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	answered := make(chan []byte, 1)
	done := make(chan error, 1) // of writing the answer
	leave := func() { s.leave(asked) }
	if m.Method == "tools/call" || m.Method == "tools/list" {
		s.begin(asked.sent, cancel) // its id is not in use
		leave = func() { s.end(asked.sent); s.leave(asked) }
		go s.as(caller).handle(ctx, asked.sent, new(sync.WaitGroup), func(message []byte) error {
			answered <- message
			return <-done
		})
	} else {
		answered = asked.passed
		s.link.send(ctx, asked.sent)
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	a := &answering{w: w, r: r}
	for {
		select {
		case message := <-asked.stream:
			a.relay(newEvent(message))
		case message := <-answered:
			leave()                     // the id is free again before its caller can know that
			for len(asked.stream) > 0 { // what the server said before it answered
				a.relay(newEvent(<-asked.stream))
			}
			done <- a.respond(withID(message, asked.id))
			return
		case <-ctx.Done():
			done <- ctx.Err()
			if s.stateless {
				s.process.abandon(asked.sent)
			}
			if r.Context().Err() == nil { // another request of the caller's has cancelled this one
				_ = a.respond(guard.ErrorMessage(asked.id, cancelledCode, "The request was cancelled.")) // nobody waits for it
			}
			return
		}
	}
}

// cancelledCode is LSP's of the answer to a request that was cancelled. Clients
// of MCP ignore such an answer, but over HTTP there has to be one.
const cancelledCode = -32800

// as is the session's client for what one caller of it sends: its credentials
// may be others than those that opened it.
func (s *bridged) as(caller guard.Caller) *client {
	c := newClient(s.guard, caller)
	c.session, c.link = s.session, s.link
	return c
}

// renumbered is a request under an id that no other one has.
func renumbered(m *guard.Message) *guard.Message {
	return parsed(m.WithID(record.AppendString(nil, rand.Text())))
}

// parsed reads a message of which one value has been changed.
func parsed(raw []byte) *guard.Message {
	m, err := guard.ParseMessage(raw)
	if err != nil {
		panic(err)
	}
	return m
}

// withID is a response under another id.
func withID(message []byte, id jsontext.Value) []byte {
	m, err := guard.ParseMessage(message)
	if err != nil || m.ID == nil {
		return message
	}
	return m.WithID(id)
}

// respond ends the answer to a request of a process's client.
func (a *answering) respond(message []byte) error {
	if a.started {
		return a.put(newEvent(message))
	}
	if err := a.message(http.StatusOK, message); err != nil {
		return err
	}
	return http.NewResponseController(a.w).Flush() // what is not on its way is not delivered
}

// relay begins a stream, if need be, and writes an event.
func (a *answering) relay(event []byte) {
	if !a.started {
		a.started = true
		a.w.Header().Set("Content-Type", "text/event-stream")
		a.w.WriteHeader(http.StatusOK)
	}
	_ = a.put(event) // a client that has gone reads nothing
}

func (b *Bridge) listen(w http.ResponseWriter, r *http.Request) {
	caller := b.identify(r)
	b.mu.Lock()
	s, ok := b.sessions[sessionKey{id: r.Header.Get(sessionHeader)}]
	b.mu.Unlock()
	if !ok || !s.of(caller) {
		refuse(w, http.StatusNotFound, noSession)
		return
	}
	stream := s.listen()
	defer s.shut(stream)
	a := &answering{w: w, r: r, started: true}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // the client learns that the stream is there
	for {
		select {
		case message := <-stream:
			a.relay(newEvent(message))
		case <-r.Context().Done():
			return
		}
	}
}

func (s *bridged) listen() chan []byte {
	stream := make(chan []byte, streamed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = append(s.listening, stream)
	return stream
}

func (s *bridged) shut(stream chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = slices.DeleteFunc(s.listening, func(other chan []byte) bool { return other == stream })
}

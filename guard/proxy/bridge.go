package proxy

import (
	"crypto/rand"
	"fmt"
	"net/http"
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
// one for all requests of a principal that belong to none. The ids of these get
// unique ones, for the server takes them for those of one client.
type Bridge struct {
	guard    *guard.Guard
	command  Command
	identify Identify

	mu       sync.Mutex
	sessions map[sessionKey]*bridged
	closed   bool
}

// bridged is one session and its process.
type bridged struct {
	*client
	process   *process
	stateless bool
	used      time.Time

	mu      sync.Mutex
	waiting map[string]chan []byte // of requests that pass, by id
	streams []chan []byte          // of those that hear what the server says by itself, the latest last
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
	s := b.sessionFor(w, r, m)
	if s == nil {
		return
	}
	if !m.Request() {
		s.handle(r.Context(), m, new(sync.WaitGroup), nil) // which answers requests alone
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(w, r, m)
}

// sessionFor is the session of a request, which a first one opens; nil where
// the request was refused.
func (b *Bridge) sessionFor(w http.ResponseWriter, r *http.Request, m *guard.Message) *bridged {
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
		writeMessage(w, http.StatusServiceUnavailable, errorMessage(m.ID, serverEnded, "The MCP server cannot be started: "+err.Error()+"."))
		return nil
	}
	if s == nil || s.caller.Credentials != caller.Credentials && id != "" {
		writeMessage(w, http.StatusNotFound, errorMessage(m.ID, -32600, "There is no such session; open one with initialize."))
		return nil
	}
	if opens {
		w.Header().Set(sessionHeader, id)
	}
	return s
}

// sessionKey names a session, or the principal of requests without one.
type sessionKey struct{ id, principal string }

// session finds a session, or opens it.
func (b *Bridge) session(key sessionKey, open bool, caller guard.Caller) (*bridged, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if s, ok := b.sessions[key]; ok {
		s.used = now
		return s, nil
	}
	if !open || b.closed {
		return nil, nil
	}
	if len(b.sessions) >= maxSessions && !b.dropIdle(now) {
		return nil, fmt.Errorf("there are %d sessions already", maxSessions)
	}
	s := &bridged{client: newClient(b.guard, caller), stateless: key.id == "", used: now, waiting: map[string]chan []byte{}}
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
	key := sessionKey{id: r.Header.Get(sessionHeader)}
	b.mu.Lock()
	s, ok := b.sessions[key]
	delete(b.sessions, key)
	b.mu.Unlock()
	if !ok {
		refuse(w, http.StatusNotFound, "There is no such session.")
		return
	}
	s.process.close()
	w.WriteHeader(http.StatusNoContent)
}

// emit gives a message of the server to whoever it is for: the request that it
// answers, or else the stream that was opened last.
func (s *bridged) emit(message []byte) {
	m, err := guard.ParseMessage(message)
	if err != nil {
		return
	}
	s.mu.Lock()
	to := s.waiting[string(m.ID)]
	if m.Response() {
		delete(s.waiting, string(m.ID))
	} else {
		s.guard.Heard(s.caller, s.session, m)
		to = nil
		if n := len(s.streams); n > 0 {
			to = s.streams[n-1]
		}
	}
	s.mu.Unlock()
	if to == nil {
		return
	}
	select {
	case to <- message:
	default: // nobody reads so slowly that the server is kept waiting for it
	}
}

// streamed is how many messages of the server one stream may be behind.
const streamed = 256

func (s *bridged) open() chan []byte {
	stream := make(chan []byte, streamed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = append(s.streams, stream)
	return stream
}

func (s *bridged) shut(stream chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.streams {
		if other == stream {
			s.streams = append(s.streams[:i:i], s.streams[i+1:]...)
			return
		}
	}
}

// answer answers one request: with JSON, or with a stream where the server
// says something before it answers.
func (s *bridged) answer(w http.ResponseWriter, r *http.Request, m *guard.Message) {
	stream := s.open()
	defer s.shut(stream)
	answered := make(chan []byte, 1)
	done := make(chan error, 1) // of writing the answer
	id := m.ID
	if s.stateless {
		m = renumbered(m)
	}
	if m.Method == "tools/call" || m.Method == "tools/list" {
		go s.handle(r.Context(), m, new(sync.WaitGroup), func(message []byte) error {
			answered <- message
			return <-done
		})
	} else {
		s.mu.Lock()
		s.waiting[string(m.ID)] = answered
		s.mu.Unlock()
		s.link.send(r.Context(), m)
	}
	a := &answering{w: w, r: r}
	for {
		select {
		case message := <-stream:
			a.relay(newEvent(message))
		case message := <-answered:
			for len(stream) > 0 { // what the server said before it answered
				a.relay(newEvent(<-stream))
			}
			done <- a.respond(withID(message, id))
			return
		case <-r.Context().Done():
			done <- r.Context().Err()
			return
		}
	}
}

// renumbered is a request under an id that no other one has.
func renumbered(m *guard.Message) *guard.Message {
	again, err := guard.ParseMessage(m.WithID(record.AppendString(nil, rand.Text())))
	if err != nil { // only its id has changed
		panic(err)
	}
	return again
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
	b.mu.Lock()
	s, ok := b.sessions[sessionKey{id: r.Header.Get(sessionHeader)}]
	b.mu.Unlock()
	if !ok {
		refuse(w, http.StatusNotFound, "There is no such session; open one with initialize.")
		return
	}
	stream := s.open()
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

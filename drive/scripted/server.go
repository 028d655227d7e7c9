package scripted

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

const (
	tool = "delivery_status"
	// success is the tool's answer.
	success = `{"status":"in_transit"}`
	// temporary is the code that asks a caller to wait.
	temporary = "TEMP_UNAVAILABLE"

	maxBody  = 1 << 20  // bytes of a request
	maxCalls = 1000     // of one case
	maxHeld  = 16 << 20 // bytes of the inputs of one case

	// closing bounds how long requests in flight may take when the caller is gone.
	closing = 5 * time.Second
	// fence is the path of the server's own last request.
	fence = "/fence"
)

// server answers the calls of one case.
type server struct {
	script  *oracle.Script
	flooded func() // called when there are too many calls
	web     http.Server
	address string // host and port
	path    string // of the endpoint
	handler http.Handler
	started time.Time

	mu       sync.Mutex
	arrivals []oracle.Arrival
	held     int // bytes of their inputs
	full     bool
	last     oracle.Reply
	refused  int    // requests that were no calls
	lastWord string // what the last of them was told
}

// serve answers by a script on a port of its own, until close.
func serve(wire string, script *oracle.Script, flooded func()) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{script: script, flooded: flooded, address: listener.Addr().String(), started: time.Now()}
	s.path, s.handler = "/v1/tools/"+tool, http.HandlerFunc(s.post)
	if wire == MCP {
		s.path, s.handler = "/mcp", s.mcp()
	}
	s.web.Handler = s
	s.web.ErrorLog = log.New(io.Discard, "", 0)
	go func() { _ = s.web.Serve(listener) }() // it ends with close
	return s, nil
}

func (s *server) url() string { return "http://" + s.address + s.path }

// close ends the server when the requests that the caller has sent are
// answered. The caller has ended. No call is noted after it.
func (s *server) close() {
	s.fence()
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if s.web.Shutdown(ctx) != nil {
		_ = s.web.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = true // whatever Shutdown did not wait for is too late
}

// fence makes a request of its own. Connections are accepted in order, so that
// every one of the caller's has been accepted when it is answered.
func (s *server) fence() {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: closing}
	if response, err := client.Get("http://" + s.address + fence); err == nil { // otherwise the server cannot answer anybody
		_ = response.Body.Close()
	}
}

// ServeHTTP answers what can be a call and refuses everything else.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Host != s.address:
		s.refuse(w, http.StatusForbidden, "the Host is "+r.Host+"; valid: "+s.address)
	case r.URL.Path == fence:
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path != s.path:
		s.refuse(w, http.StatusNotFound, "nothing is served at "+r.URL.Path+"; valid: "+s.path)
	default:
		s.handler.ServeHTTP(w, r)
	}
}

// refuse answers a request that is no call.
func (s *server) refuse(w http.ResponseWriter, status int, why string) {
	s.mu.Lock()
	s.refused++
	why = strings.ToValidUTF8(why, "�")
	s.lastWord = fmt.Sprintf("%d: %s", status, why)
	s.mu.Unlock()
	writeJSON(w, status, mustMarshal(struct {
		Error string `json:"error"`
	}{why}))
}

// noCalls counts the requests that were refused.
func (s *server) noCalls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// refusal says what became of requests that were no calls; "" if there were none.
func (s *server) refusal() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == 0 {
		return ""
	}
	return fmt.Sprintf("; requests that were refused: %d, the last with %s", s.refused, s.lastWord)
}

// answer stamps a call and gives its reply; false if there were too many.
func (s *server) answer(input jsontext.Value) (oracle.Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return oracle.Reply{}, false
	}
	if s.held += len(input); len(s.arrivals) == maxCalls || s.held > maxHeld {
		s.full = true
		s.flooded()
		return oracle.Reply{}, false
	}
	s.arrivals = append(s.arrivals, oracle.Arrival{Input: input, At: time.Since(s.started)})
	s.last = s.script.Answer(input)
	return s.last, true
}

// asksToWait reports whether the last answer asks the caller to wait beyond a
// time. It is for after close.
func (s *server) asksToWait(now time.Time) bool {
	if len(s.arrivals) == 0 || s.last.Code != temporary || s.last.RetryAfterMS == nil {
		return false
	}
	waited := now.Sub(s.started) - s.arrivals[len(s.arrivals)-1].At
	return waited.Milliseconds() < *s.last.RetryAfterMS
}

// inputOf is the input of a call as JSON: what came, without white space. What
// is no JSON becomes a text, and nothing at all becomes null; neither is an
// input that a case has.
func inputOf(body []byte) jsontext.Value {
	text := strings.TrimSpace(string(body))
	if text == "" {
		return jsontext.Value("null")
	}
	valid := strings.ToValidUTF8(text, "�")
	value := jsontext.Value(text)
	if valid == text && value.Compact() == nil {
		return value
	}
	quoted, err := jsontext.AppendQuote(nil, valid)
	if err != nil { // it is valid UTF-8
		panic(err)
	}
	return quoted
}

// record is the failure of one call.
type record struct {
	Code         string  `json:"code"`
	Message      string  `json:"message"`
	Field        *string `json:"field"`
	RetryAfterMS *int64  `json:"retry_after_ms"`
}

// failure is the body of a failing answer.
type failure struct {
	Error     string `json:"error"`
	Code      string `json:"code"`
	Retryable bool   `json:"retryable"`
	Recovery  record `json:"recovery"`
}

// failed reports whether a reply is a failure.
func failed(reply oracle.Reply) bool { return reply.Code != "OK" }

func failureOf(reply oracle.Reply) failure {
	return failure{
		Error: reply.Message, Code: reply.Code, Retryable: reply.Code == temporary,
		Recovery: record(reply),
	}
}

func mustMarshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // texts that were JSON before, or that are valid UTF-8
		panic(err)
	}
	return text
}

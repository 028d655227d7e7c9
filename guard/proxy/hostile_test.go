package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"remit.example/guard"
	"remit.example/operation"
)

// notMessages are bytes that are no message, and what is said of each.
var notMessages = map[string]string{
	`{`:            "not JSON",
	`x`:            "not JSON",
	`7`:            "no JSON object",
	`"tools/call"`: "no JSON object",
	`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}`: `looks like \"method\"`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`: "given twice",
	`{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{}}`:     `looks like \"method\"`,
	`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                      "neither a text nor a number",
	`{"jsonrpc":"2.0","id":1,"method":7}`:                            "the method is no text",
	`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                       `is not \"2.0\"`,
	`{"jsonrpc":"2.0","id":1}`:                                       "neither a request",
	`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`:           "a request and a response at once",
	`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`:                "a result and an error",
	`[]`: "an empty batch",
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}": "not JSON",
	strings.Repeat(`[`, 100_000):                         "not JSON",
	strings.Repeat(`{"a":`, 100_000):                     "not JSON",
}

// notCalls are calls that are refused, and what is said of each.
var notCalls = map[string]string{
	`{}`:         "a call names a tool",
	`{"name":7}`: "a call names a tool",
	`{"name":"get_thing","Name":"set_thing"}`:                      `looks like \"name\"`,
	`{"name":"get_thing","arguments":[]}`:                          "no JSON object",
	`{"name":"get_thing","arguments":{"id":"a","id":"b"}}`:         "given twice",
	`{"name":"get_thing","arguments":{"id":{"x":1,"x":2}}}`:        "given twice",
	`{"name":"get_thing","arguments":{},"_meta":{"remit/task":7}}`: "remit/task is no text",
}

// TestMalformed: what is no message is answered, and the session goes on.
func TestMalformed(t *testing.T) {
	upstream := upstreamHTTP(t, eras[0])
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	check := func(t *testing.T, ask func(string) string) {
		for text, want := range notMessages {
			if got := ask(text); !strings.Contains(got, want) || !strings.Contains(got, `"error"`) {
				t.Errorf("%.60q: %s", text, got)
			}
		}
		for params, want := range notCalls {
			if got := ask(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":` + params + `}`); !strings.Contains(got, want) || !strings.Contains(got, `"id":"x"`) {
				t.Errorf("%.60q: %s", params, got)
			}
		}
		if got := ask(`{"jsonrpc":"2.0","id":9,"method":"ping"}`); !strings.Contains(got, `"id":9,"result":{}`) {
			t.Errorf("the session has ended: %s", got)
		}
	}
	t.Run("HTTP", func(t *testing.T) {
		check(t, func(text string) string {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		})
	})
	t.Run("stdio", func(t *testing.T) {
		ask := overLines(t, newGuard(t, ""))
		ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		check(t, ask)
	})
}

// overLines is a client over lines, of a process: it writes a line and reads one.
func overLines(t *testing.T, g *guard.Guard) func(string) string {
	t.Helper()
	toGuard, fromClient := io.Pipe()
	toClient, fromGuard := io.Pipe()
	serving(t, toGuard, fromGuard, func() error { return ServeStdio(t.Context(), g, "local:0", toGuard, fromGuard, upstreamCommand(t)) })
	t.Cleanup(func() { _ = fromClient.Close() })
	answers := bufio.NewReader(toClient)
	return func(line string) string {
		if _, err := io.WriteString(fromClient, line+"\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

var spaces = bytes.Repeat([]byte{' '}, 64<<10)

// endless is a body of spaces.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), e.left)], spaces)
	e.left -= n
	return n, nil
}

// TestLongMessages: a message of 100 MB is refused, and not held.
func TestLongMessages(t *testing.T) {
	const long = 100 << 20
	before := heap()
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstreamHTTP(t, eras[0]), Identified(nil)))
	defer s.Close()
	response, err := http.Post(s.URL+"/mcp", "application/json", &endless{long})
	if err == nil { // a server that refuses early may close the connection first
		defer response.Body.Close()
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("the status is %d", response.StatusCode)
		}
	}
	toGuard, fromClient := io.Pipe()
	toClient, fromGuard := io.Pipe()
	serving(t, toGuard, fromGuard, func() error {
		return ServeStdio(t.Context(), newGuard(t, ""), "local:0", toGuard, fromGuard, upstreamCommand(t))
	})
	t.Cleanup(func() { _ = fromClient.Close() })
	go func() {
		_, _ = io.Copy(fromClient, io.MultiReader(strings.NewReader("{"), &endless{long}, strings.NewReader("}\n")))
	}()
	if line, err := bufio.NewReader(toClient).ReadString('\n'); err != nil || !strings.Contains(line, "longer than 32 MiB") {
		t.Errorf("%v: %.200s", err, line)
	}
	if grown := heap() - before; grown > MaxMessage {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// lies are upstreams that do not say what is so. Each answers a call of the
// tool that it is named by.
var lies = map[string]func(w http.ResponseWriter, id string){
	"get_longer": func(w http.ResponseWriter, _ string) { // than the body is
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"jsonrpc":`)
	},
	"get_html": func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "<!doctype html><p>It works!")
	},
	"get_other": func(w http.ResponseWriter, _ string) { // the answer to another request
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"another","result":{"content":[]}}`)
	},
	"get_cut": func(w http.ResponseWriter, id string) { // in the middle of an event
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"resu", id)
	},
	"get_nothing": func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
	},
	"get_event": func(w http.ResponseWriter, _ string) { // without an end
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: ")
		_, _ = io.Copy(w, &endless{MaxMessage + 1<<20})
	},
	"get_body": func(w http.ResponseWriter, _ string) { // without an end
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, &endless{MaxMessage + 1<<20})
	},
	"get_gone": func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
	"get_unreadable": func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"content":[]}}`, id)
	},
	"get_list": func(w http.ResponseWriter, id string) { // in the place of a result
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":[]}`, id)
	},
}

// TestLies: an upstream that lies or breaks off loses its answer, and nothing
// else.
func TestLies(t *testing.T) {
	upstream := scripted(t, func(w http.ResponseWriter, tool, id string) { lies[tool](w, id) })
	g := newGuard(t, "")
	s := httptest.NewServer(NewHTTP(g, upstream, Identified(nil)))
	defer s.Close()
	for tool := range lies {
		got := postCall(t, s.URL, tool, `{}`, "")
		if !strings.Contains(got, "No answer came from the server.") || !strings.Contains(got, `"code\":\"TEMP_UNAVAILABLE`) {
			t.Errorf("%s: %.300s", tool, got)
		}
	}
}

// scripted is an upstream that answers calls of tools by a function.
func scripted(t *testing.T, answer func(w http.ResponseWriter, tool, id string)) *url.URL {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		if message.Method == "tools/list" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, message.ID)
			return
		}
		answer(w, message.Params.Name, string(message.ID))
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// postCall is the body of the answer to a call of a tool.
func postCall(t *testing.T, base, tool, arguments, token string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tally counts what reaches an upstream.
type tally struct {
	mu    sync.Mutex
	names []string
}

func (c *tally) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, name)
}

func (c *tally) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

func (c *tally) of(name string) int {
	n := 0
	for _, other := range c.all() {
		if other == name {
			n++
		}
	}
	return n
}

const success = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`

// TestHangingUpstream: a call that hangs holds up no other.
func TestHangingUpstream(t *testing.T) {
	release := make(chan struct{})
	upstream := scripted(t, func(w http.ResponseWriter, tool, id string) {
		if tool == "get_hanging" {
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, success, id)
	})
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	var hanging sync.WaitGroup
	for i := range 50 {
		hanging.Go(func() {
			if got := postCall(t, s.URL, "get_hanging", fmt.Sprintf(`{"n":%d}`, i), ""); !strings.Contains(got, "done") {
				t.Error(got)
			}
		})
	}
	for i := range 50 {
		if got := postCall(t, s.URL, "get_thing", fmt.Sprintf(`{"n":%d}`, i), ""); !strings.Contains(got, "done") {
			t.Error(got)
		}
	}
	close(release)
	hanging.Wait()
}

// TestFlood: an upstream that says very much before it answers is passed on,
// and not held.
func TestFlood(t *testing.T) {
	const notes = 20_000
	upstream := scripted(t, func(w http.ResponseWriter, _, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		note := []byte("data: " + `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 1000) + `"}}` + "\n\n")
		for range notes {
			_, _ = w.Write(note)
		}
		_, _ = fmt.Fprintf(w, "data: "+success+"\n\n", id)
	})
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	before := heap()
	response, err := http.Post(s.URL+"/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_thing"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	in, seen, answered := newEvents(response.Body, MaxMessage), 0, false
	for {
		e, err := in.next()
		if err != nil {
			break
		}
		seen++
		answered = bytes.Contains(e.data, []byte("done"))
	}
	if seen != notes+1 || !answered {
		t.Errorf("%d events, answered: %v", seen, answered)
	}
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// TestIdleConnections: connections that say nothing cost little, and keep
// nobody from being served.
func TestIdleConnections(t *testing.T) {
	const many = 4000 // each has two ends in this process
	upstream := scripted(t, func(w http.ResponseWriter, _, id string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, success, id)
	})
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	before := heap()
	for range many {
		connection, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
	}
	if got := postCall(t, s.URL, "get_thing", `{}`, ""); !strings.Contains(got, "done") {
		t.Error(got)
	}
	if grown := heap() - before; grown > many*(64<<10) {
		t.Errorf("%d bytes for each connection", grown/many)
	}
}

// TestPrincipals: what one caller was refused, and what it has done, another
// neither sees nor is held to.
func TestPrincipals(t *testing.T) {
	var sent tally
	upstream := scripted(t, func(w http.ResponseWriter, tool, id string) {
		sent.add(tool)
		w.Header().Set("Content-Type", "application/json")
		if tool == "end_server" {
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}`, id)
	})
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	operationOf := func(answer string) string {
		_, rest, _ := strings.Cut(answer, `"operation":{"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	var ids []string
	for i, token := range []string{"alice", "bob"} {
		for range 3 {
			postCall(t, s.URL, "get_thing", `{}`, token)
			ids = append(ids, operationOf(postCall(t, s.URL, "end_server", `{}`, token)))
		}
		if sent.of("get_thing") != i+1 || sent.of("end_server") != i+1 {
			t.Errorf("%s: sent %v", token, sent.all())
		}
	}
	for i, c := range []struct{ token, id, want string }{
		{"alice", ids[0], `"state\":\"unknown`},
		{"bob", ids[0], "There is no such operation of yours"},
		{"", ids[0], "There is no such operation of yours"},
		{"bob", ids[3], `"state\":\"unknown`},
		{"bob", "op_none", "There is no such operation of yours"},
	} {
		if got := postCall(t, s.URL, guard.StatusTool, fmt.Sprintf(`{"id":%q}`, c.id), c.token); !strings.Contains(got, c.want) {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// TestAccess: a name that is made to lead here, and a page elsewhere, reach
// nothing.
func TestAccess(t *testing.T) {
	reached := 0
	access := Access{Listen: "127.0.0.1:8081", Hosts: []string{"guard.example"}, Origins: []string{"https://app.example"}}
	handler := access.Limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	for i, c := range []struct {
		host, origin string
		want         int
	}{
		{"127.0.0.1:8081", "", 200},
		{"localhost:8081", "", 200},
		{"[::1]:8081", "", 200},
		{"guard.example", "", 200},
		{"guard.example:443", "https://app.example", 200},
		{"127.0.0.1:8081", "http://127.0.0.1:8081", 200},
		{"evil.example", "", 403},
		{"", "", 403},
		{"127.0.0.1.evil.example", "", 403},
		{"127.0.0.1:8081", "https://evil.example", 403},
		{"127.0.0.1:8081", "null", 403},
		{"127.0.0.1:8081", "http://127.0.0.1:9999", 403},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		before := reached
		handler.ServeHTTP(w, r)
		if w.Code != c.want || (reached > before) != (c.want == 200) {
			t.Errorf("%d: %s from %s: %d", i, c.host, c.origin, w.Code)
		}
	}
}

// brokenStore is a ledger that is not there.
type brokenStore struct{ operation.Store }

func (brokenStore) Claim(context.Context, operation.Claim) (operation.Verdict, error) {
	return operation.Verdict{}, io.ErrUnexpectedEOF
}

// TestWithoutLedger: reads pass, writes are not sent.
func TestWithoutLedger(t *testing.T) {
	var sent tally
	upstream := scripted(t, func(w http.ResponseWriter, tool, id string) {
		sent.add(tool)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, success, id)
	})
	g := newGuardOn(t, "", brokenStore{operation.NewMemory(time.Now)})
	s := httptest.NewServer(NewHTTP(g, upstream, Identified(nil)))
	defer s.Close()
	if got := postCall(t, s.URL, "get_thing", `{}`, ""); !strings.Contains(got, "done") {
		t.Error(got)
	}
	if got := postCall(t, s.URL, "set_thing", `{"id":"a"}`, ""); !strings.Contains(got, "ledger of operations is not available") || !strings.Contains(got, `"outcome\":\"not_applied`) {
		t.Error(got)
	}
	if all := sent.all(); fmt.Sprint(all) != "[get_thing]" {
		t.Errorf("sent: %v", all)
	}
}

// TestOpenStream: a stream that stays open after the answer holds nobody up.
func TestOpenStream(t *testing.T) {
	upstream := scripted(t, func(w http.ResponseWriter, _, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: "+success+"\n\n", id)
		_ = http.NewResponseController(w).Flush()
		<-t.Context().Done()
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	for _, tool := range []string{"get_thing", "set_thing"} {
		if got := postCall(t, s.URL, tool, `{"id":"a"}`, ""); !strings.Contains(got, "done") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// TestAround: there is no way round the guard, and none to another part of the
// upstream's origin.
func TestAround(t *testing.T) {
	var reached tally
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.add(r.Method + " " + r.RequestURI)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	defer upstream.Close()
	at, err := url.Parse(upstream.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(Access{}.Limit(NewHTTP(newGuard(t, ""), at, Identified(nil))))
	defer s.Close()
	raw := func(request string) string {
		connection, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := io.WriteString(connection, request); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(connection).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	for _, target := range []string{
		"/.well-known/../admin", "/.well-known/%2e%2e/admin", "/.well-known/oauth-protected-resource/..%2fadmin",
		"/.well-known/oauth-protected-resource/%2e%2e/%2e%2e/admin", "/.well-known/other", "/admin", "//admin", "/mcp/../admin", "/mcp%2fadmin",
	} {
		if got := raw("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.Contains(got, " 404 ") {
			t.Errorf("%s: %s", target, got)
		}
	}
	raw("DELETE /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	note := `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"set_thing","arguments":{"id":"a"}}}`
	for _, body := range []string{note, "[" + note + "]"} {
		raw(fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	}
	raw("POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 2\r\n\r\n{}")
	if all := reached.all(); len(all) > 0 {
		t.Errorf("reached: %v", all)
	}
	if got := raw("GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.Contains(got, " 200 ") || len(reached.all()) != 1 {
		t.Errorf("%s, reached: %v", got, reached.all())
	}
}

// TestOneCaller: a token is one caller, however its header is written.
func TestOneCaller(t *testing.T) {
	principals := map[string]bool{}
	for _, header := range []string{"Bearer x", "bearer x", "BEARER  x", " Bearer x "} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header["Authorization"] = []string{header}
		principals[Identified(nil)(r).Principal] = true
	}
	if len(principals) != 1 {
		t.Errorf("%v", principals)
	}
}

// TestStatuses: what a write has done is open after a status without a message
// that no rule reads, and after a result that is no end.
func TestStatuses(t *testing.T) {
	answers := map[string]func(http.ResponseWriter, string){
		"odd": func(w http.ResponseWriter, _ string) {
			connection, buffer, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = buffer.WriteString("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n")
			_ = buffer.Flush()
			_ = connection.Close()
		},
		"task": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"task","taskId":"t1","status":"working"}}`, id)
		},
	}
	for _, status := range []int{302, 303, 307, 400, 404, 405, 410, 413, 500, 502} {
		answers[fmt.Sprint(status)] = func(w http.ResponseWriter, _ string) { w.WriteHeader(status) }
	}
	var sent tally
	upstream := scripted(t, func(w http.ResponseWriter, tool, id string) {
		sent.add(tool)
		answers[strings.TrimPrefix(tool, "other_")](w, id)
	})
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for name := range answers {
		for range 3 {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other_%s"}}`, name)
			response, err := client.Post(s.URL+"/mcp", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		}
		if n := sent.of("other_" + name); n != 1 {
			t.Errorf("%s: %d executions", name, n)
		}
	}
}

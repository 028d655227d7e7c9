package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// scriptBridge serves scripts to callers whose tokens name who they are, up to
// a dot; those without one are of a token alone.
func scriptBridge(t *testing.T) string {
	t.Helper()
	b := NewBridge(newGuard(t, ""), scriptCommand(t, ""), Identified(func(r *http.Request) string {
		name, _, named := strings.Cut(r.Header.Get("Authorization"), ".")
		if !named {
			return ""
		}
		return name
	}))
	t.Cleanup(b.Close)
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	return s.URL + endpointPath
}

// asks sends a request to a bridge, as far as its header.
func asks(t *testing.T, ctx context.Context, method, address, session, token, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// whole is a body: messages of a stream, or one, each on a line.
func whole(t *testing.T, response *http.Response) string {
	t.Helper()
	if mediaType(response.Header) != "text/event-stream" {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		return string(body)
	}
	var all []string
	for in := newEvents(response.Body, MaxMessage); ; {
		e, err := in.next()
		if err != nil {
			return strings.Join(all, "\n")
		}
		all = append(all, string(e.data))
	}
}

// says are the orders to write lines.
func says(lines ...string) string {
	text, err := json.Marshal(lines)
	if err != nil {
		panic(err)
	}
	return `"say":` + string(text)
}

const answersItself = `{"jsonrpc":"2.0","id":<id>,"result":{}}`

// TestSessionOwner: a session is its caller's, by whatever it is reached.
// A token that is renewed is the same caller's, where its subject is known.
func TestSessionOwner(t *testing.T) {
	t.Parallel()
	address := scriptBridge(t)
	for _, c := range []struct {
		owner, caller string
		want          int
	}{
		{"alice", "mallory", 404},
		{"alice", "", 404},
		{"", "mallory", 404},
		{"alice.1", "mallory.1", 404},
		{"alice", "alice", 200},
		{"", "", 200},
		{"alice.1", "alice.2", 200},
	} {
		session := asks(t, t.Context(), http.MethodPost, address, "", c.owner, request("0", "initialize", "")).Header.Get(sessionHeader)
		if session == "" {
			t.Fatal("no session")
		}
		ctx, cancel := context.WithCancel(t.Context())
		for method, want := range map[string]int{http.MethodPost: c.want, http.MethodGet: c.want} {
			if got := asks(t, ctx, method, address, session, c.caller, request("1", "ping", "")); got.StatusCode != want {
				t.Errorf("%s of the session of %q by %q: %d, want %d", method, c.owner, c.caller, got.StatusCode, want)
			}
		}
		cancel()
		want := http.StatusNotFound
		if c.want == http.StatusOK {
			want = http.StatusNoContent
		}
		if got := asks(t, t.Context(), http.MethodDelete, address, session, c.caller, ""); got.StatusCode != want {
			t.Errorf("DELETE of the session of %q by %q: %d, want %d", c.owner, c.caller, got.StatusCode, want)
		}
		if got := asks(t, t.Context(), http.MethodPost, address, session, c.owner, request("2", "ping", "")); (got.StatusCode == http.StatusOK) != (c.want == http.StatusNotFound) {
			t.Errorf("the session of %q after a DELETE by %q: %d", c.owner, c.caller, got.StatusCode)
		}
	}
}

// TestRenewedToken: what was refused for want of credentials is asked again with
// others, in a session and without, whoever sent the first request.
func TestRenewedToken(t *testing.T) {
	t.Parallel()
	address := scriptBridge(t)
	opened := asks(t, t.Context(), http.MethodPost, address, "", "alice.0", request("0", "initialize", "")).Header.Get(sessionHeader)
	for _, session := range []string{opened, ""} {
		for i, c := range []struct{ token, want string }{{"alice.1", "1"}, {"alice.1", "1"}, {"alice.2", "2"}, {"alice.2", "2"}} {
			body := request("1", "tools/call", `"name":"get_thing","arguments":{"session":`+fmt.Sprintf("%q", session)+`,`+
				says(`{"jsonrpc":"2.0","id":<id>,"result":{"isError":true,"content":[{"type":"text","text":"call <count tools/call>"}],"_meta":{"remit/recovery":{"code":"AUTH_REQUIRED","message":"call <count tools/call>"}}}}`)+`}`)
			if got := whole(t, asks(t, t.Context(), http.MethodPost, address, session, c.token, body)); !strings.Contains(got, "call "+c.want) {
				t.Errorf("%d with %s: %s, want call %s", i, c.token, got, c.want)
			}
		}
	}
	var together sync.WaitGroup
	for i := range 8 {
		together.Go(func() {
			token, want := fmt.Sprintf("alice.%d", i), fmt.Sprintf(`"id":%d,`, i)
			body := request(fmt.Sprint(i), "tools/call", `"name":"get_thing","arguments":{"n":`+fmt.Sprint(i)+`,`+says(answersItself)+`}`)
			if got := whole(t, asks(t, t.Context(), http.MethodPost, address, opened, token, body)); !strings.Contains(got, want) {
				t.Error(got)
			}
		})
	}
	together.Wait()
}

// sending sends a request in the background, for its whole answer.
func sending(t *testing.T, address, session, body string) <-chan string {
	t.Helper()
	out := make(chan string, 1)
	go func() { out <- whole(t, asks(t, t.Context(), http.MethodPost, address, session, "alice", body)) }()
	return out
}

func note(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{%s}}`, method, params)
}

// TestStateless: requests that one process serves get what is said of them, and
// nothing that is said of others.
func TestStateless(t *testing.T) {
	t.Parallel()
	address := scriptBridge(t)
	token := `"_meta":{"progressToken":7},`
	a := sending(t, address, "", request("1", "tools/call", token+`"name":"get_thing","arguments":{"as":"a"}`))
	b := sending(t, address, "", request("1", "x", token+`"as":"b"`))
	s := sending(t, address, "", request("1", "subscriptions/listen", `"as":"s"`))
	c := sending(t, address, "", request("1", "c", says(
		note("notifications/progress", `"progressToken":<token a>,"of":"a"`),
		note("notifications/progress", `"progressToken":<token b>,"of":"b"`),
		note("notifications/progress", `"progressToken":7,"of":"nobody"`),
		note("notifications/message", `"data":"of nobody"`),
		note("notifications/resources/updated", `"_meta":{"io.modelcontextprotocol/subscriptionId":<id s>}`),
		`{"jsonrpc":"2.0","id":"e","method":"elicitation/create"}`,
		answersItself,
	)))
	if got := soon(t, c); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("c got\n%s", got)
	}
	// The server has asked, and nobody is there to ask.
	d := sending(t, address, "", request("1", "d", says(
		`{"jsonrpc":"2.0","id":<id>,"result":{"asked":<id answer>}}`,
		`{"jsonrpc":"2.0","id":<id a>,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":<id b>,"result":{}}`,
		`{"jsonrpc":"2.0","id":<id s>,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":<id s>}}}`,
	)))
	if got := soon(t, d); got != `{"jsonrpc":"2.0","id":1,"result":{"asked":"e"}}` {
		t.Errorf("d got\n%s", got)
	}
	for _, c := range []struct {
		got  <-chan string
		want string
	}{
		{a, note("notifications/progress", `"progressToken":7,"of":"a"`) + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
		{b, note("notifications/progress", `"progressToken":7,"of":"b"`) + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{s, note("notifications/resources/updated", `"_meta":{"io.modelcontextprotocol/subscriptionId":1}`) + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`},
	} {
		if got := soon(t, c.got); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// TestSaidInSession: what a server says of a request goes there, the rest to
// who listens, else to the request that came last.
func TestSaidInSession(t *testing.T) {
	t.Parallel()
	address := scriptBridge(t)
	session := asks(t, t.Context(), http.MethodPost, address, "", "alice", request("0", "initialize", "")).Header.Get(sessionHeader)
	token := `"_meta":{"progressToken":"t"},`
	a := sending(t, address, session, request("1", "x", token+`"as":"a"`))
	if got := soon(t, sending(t, address, session, request("5", "x", says(`{"jsonrpc":"2.0","id":<id>,"result":<id a>}`)))); !strings.Contains(got, `"result":1}`) {
		t.Errorf("a is not there: %s", got)
	}
	if got := soon(t, sending(t, address, session, request("2", "x", says(note("x", ""), answersItself)))); got != note("x", "")+"\n"+`{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("the latest got\n%s", got)
	}
	// Its token is that of a.
	b := sending(t, address, session, request("3", "x", token+`"as":"b"`))
	if got := soon(t, sending(t, address, session, request("1.0", "x", ""))); !strings.Contains(got, "in use") {
		t.Errorf("an id that is in use: %s", got)
	}
	listener := asks(t, t.Context(), http.MethodGet, address, session, "alice", "")
	got := soon(t, sending(t, address, session, request("4", "x", says(
		note("notifications/message", ""),
		note("notifications/progress", `"progressToken":<token a>,"of":"a"`),
		note("notifications/progress", `"progressToken":<token b>,"of":"b"`),
		`{"jsonrpc":"2.0","id":<id a>,"result":{}}`,
		`{"jsonrpc":"2.0","id":<id b>,"result":{}}`,
		answersItself,
	))))
	if got != `{"jsonrpc":"2.0","id":4,"result":{}}` {
		t.Errorf("the latest got\n%s", got)
	}
	if e, err := newEvents(listener.Body, MaxMessage).next(); err != nil || string(e.data) != note("notifications/message", "") {
		t.Errorf("who listens got %s, %v", e.data, err)
	}
	if got, want := soon(t, a), note("notifications/progress", `"progressToken":"t","of":"a"`)+"\n"+`{"jsonrpc":"2.0","id":1,"result":{}}`; got != want {
		t.Errorf("a got\n%s", got)
	}
	if got, want := soon(t, b), note("notifications/progress", `"progressToken":"t","of":"b"`)+"\n"+`{"jsonrpc":"2.0","id":3,"result":{}}`; got != want {
		t.Errorf("b got\n%s", got)
	}
}

// TestLeft: a client that goes leaves nothing behind, and the server learns that
// nobody waits for a request without a session.
func TestLeft(t *testing.T) {
	t.Parallel()
	b := NewBridge(newGuard(t, ""), scriptCommand(t, ""), Identified(nil))
	t.Cleanup(b.Close)
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, endpointPath, strings.NewReader(request("1", "x", `"as":"a"`)))
	left := make(chan struct{})
	go func() {
		b.ServeHTTP(httptest.NewRecorder(), r)
		close(left)
	}()
	ask := func(say string) string {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, endpointPath, strings.NewReader(request("1", "y", says(say)))))
		return w.Body.String()
	}
	ask(`{"jsonrpc":"2.0","id":<id>,"result":{"there":<id a>}}`)
	cancel()
	soon(t, left)
	if got := ask(`{"jsonrpc":"2.0","id":<id>,"result":{"cancelled":<count notifications/cancelled>}}`); !strings.Contains(got, `"cancelled":1`) {
		t.Error(got)
	}
	for _, s := range b.sessions {
		if len(s.requests)+len(s.tokens)+len(s.latest)+len(s.process.running.asked) > 0 {
			t.Errorf("left: %v %v %v", s.requests, s.latest, s.process.running.asked)
		}
	}
}

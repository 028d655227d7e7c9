package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit.example/record"
	"remit.example/wire"
	"remit.example/wire/wiretest"
)

const (
	anonymous = "expose: {reads: anonymous, rate: 3/min}"
	token     = "0123456789abcdef"
)

// noTransport gives a service its commands where no test calls them.
var noTransport = wiretest.Transport(func(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody is there")
})

func tokens(t *testing.T, lines string) *wire.Tokens {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.txt")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := wire.ReadTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func service(t *testing.T, options wire.Options, services ...wiretest.Service) *wire.Service {
	t.Helper()
	s, err := wire.New(wiretest.Set(t, services...), options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAllow(t *testing.T) {
	const closed = ""
	origins := `expose: {origins: ["https://shop.example"]}`
	cases := []struct {
		name, expose string
		tokens       bool
		tool         string
		caller       wire.Caller
		want         record.Code
	}{
		{"local", closed, false, "hold", wire.Caller{Local: true}, record.OK},
		{"nobody", closed, false, "status", wire.Caller{}, record.AccessDenied},
		{"elsewhere", closed, false, "status", wire.Caller{Address: "192.0.2.1"}, record.AccessDenied},
		{"anonymous read", anonymous, false, "status", wire.Caller{Address: "192.0.2.1"}, record.OK},
		{"anonymous command", anonymous, false, "hold", wire.Caller{Address: "192.0.2.1"}, record.AccessDenied},
		{"anonymous command, tokens", anonymous, true, "hold", wire.Caller{Address: "192.0.2.1"}, record.AuthRequired},
		{"anonymous read, tokens", anonymous, true, "status", wire.Caller{Address: "192.0.2.1"}, record.OK},
		{"local, tokens", closed, true, "status", wire.Caller{Local: true}, record.AuthRequired},
		{"principal", closed, true, "hold", wire.Caller{Principal: "agent"}, record.OK},
		{"bad token", anonymous, true, "status", wire.Caller{BadToken: true, Local: true}, record.AuthRequired},
		{"exposed page", origins, false, "status", wire.Caller{Local: true, Origin: "https://shop.example"}, record.OK},
		{"page of another service", anonymous, false, "status", wire.Caller{Local: true, Origin: "https://shop.example"}, record.AccessDenied},
		{"page with a token", anonymous, true, "status", wire.Caller{Principal: "agent", Origin: "https://shop.example"}, record.AccessDenied},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var options wire.Options
			if c.tokens {
				options.Tokens = tokens(t, "agent "+token)
			}
			s := service(t, options, wiretest.Service{Expose: c.expose, Transport: noTransport})
			called, _ := s.Set().Lookup(c.tool)
			got := record.OK
			if refused := s.Allow(wire.WithCaller(t.Context(), c.caller), called); refused != nil {
				got = refused.Code
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(t, wire.Options{}, wiretest.Service{Expose: anonymous})
		status, _ := s.Set().Lookup("status")
		one := wire.WithCaller(t.Context(), wire.Caller{Address: "192.0.2.1"})
		other := wire.WithCaller(t.Context(), wire.Caller{Address: "192.0.2.2"})
		for range 3 {
			if refused := s.Allow(one, status); refused != nil {
				t.Fatalf("within the rate: %v", refused)
			}
		}
		refused := s.Allow(one, status)
		if refused == nil {
			t.Fatal("a fourth call at once is permitted, want it refused")
		}
		if refused.Code != record.TempUnavailable || refused.WaitKind != record.Throttle || *refused.RetryAfterMS != 20000 {
			t.Fatalf("got %s, %s, %d ms", refused.Code, refused.WaitKind, *refused.RetryAfterMS)
		}
		if refused := s.Allow(other, status); refused != nil {
			t.Fatalf("another caller: %v", refused)
		}
		time.Sleep(5 * time.Second)
		refused = s.Allow(one, status)
		if *refused.RetryAfterMS != 15000 {
			t.Fatalf("after 5 s: %d ms, want 15000", *refused.RetryAfterMS)
		}
		time.Sleep(time.Duration(*refused.RetryAfterMS) * time.Millisecond)
		if refused := s.Allow(one, status); refused != nil {
			t.Fatalf("after the stated wait: %v", refused)
		}
	})
}

// TestWaitIsEnough holds every stated wait to its word, at rates whose
// intervals are no whole number of milliseconds too.
func TestWaitIsEnough(t *testing.T) {
	for _, rate := range []string{"1/s", "7/s", "3/min", "7/min", "11/h", "13/d", "999/s"} {
		t.Run(rate, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := service(t, wire.Options{}, wiretest.Service{Expose: "expose: {reads: anonymous, rate: " + rate + "}"})
				status, _ := s.Set().Lookup("status")
				ctx := wire.WithCaller(t.Context(), wire.Caller{Address: "192.0.2.1"})
				for refusals := 0; refusals < 50; {
					refused := s.Allow(ctx, status)
					if refused == nil {
						continue
					}
					refusals++
					time.Sleep(time.Duration(*refused.RetryAfterMS) * time.Millisecond)
					if again := s.Allow(ctx, status); again != nil {
						t.Fatalf("after a wait of %d ms: another %d ms", *refused.RetryAfterMS, *again.RetryAfterMS)
					}
				}
			})
		})
	}
}

func TestListen(t *testing.T) {
	reads := wiretest.Service{Expose: anonymous}
	mixed := wiretest.Service{Expose: anonymous, Transport: noTransport}
	cases := []struct {
		listen string
		tokens bool
		serve  wiretest.Service
		want   string // in the error; "" for none
	}{
		{"127.0.0.1:8080", false, mixed, ""},
		{"[::1]:8080", false, mixed, ""},
		{"localhost:8080", false, mixed, ""},
		{"", false, mixed, ""},
		{"0.0.0.0:8080", false, reads, ""},
		{"0.0.0.0:8080", true, mixed, ""},
		{":8080", false, mixed, "hold of parcels"},
		{"0.0.0.0:8080", false, mixed, "--token-file"},
		{"192.0.2.7:8080", false, mixed, "127.0.0.1:8080"},
		{"shop.example:8080", false, wiretest.Service{}, "reads: anonymous"},
	}
	for _, c := range cases {
		options := wire.Options{Listen: c.listen}
		if c.tokens {
			options.Tokens = tokens(t, "agent "+token)
		}
		_, err := wire.New(wiretest.Set(t, c.serve), options)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.listen, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want an error with %q", c.listen, err, c.want)
		}
	}
}

func TestReplaceRefuses(t *testing.T) {
	s := service(t, wire.Options{Listen: "0.0.0.0:8080"}, wiretest.Service{Expose: anonymous})
	before, told := s.Set(), 0
	s.OnChange(func() { told++ })
	if err := s.Replace(wiretest.Set(t, wiretest.Service{})); err == nil {
		t.Fatal("a set that others may not call is served on a public address")
	}
	if s.Set() != before || told != 1 {
		t.Errorf("the old set must stay, and nobody be told; told %d times", told)
	}
}

func TestTokens(t *testing.T) {
	cases := []struct {
		name, text string
		mode       os.FileMode
		want       []string // in the error; nil for none
	}{
		{"good", "# who\n\nagent " + token + "\nother\t" + token + "2==\n", 0o600, nil},
		{"group", "agent " + token, 0o640, nil},
		{"world", "agent " + token, 0o644, []string{"chmod 600 "}},
		{"short", "agent 0123456789", 0o600, []string{":1: ", "10 characters", "at least 16"}},
		{"words", "agent\nagent a b", 0o600, []string{":1: 1 words", ":2: 3 words"}},
		{"name", "a:b " + token, 0o600, []string{"letters, digits"}},
		{"character", "agent " + token + "é", 0o600, []string{"character"}},
		{"twice", "a " + token + "\nb " + token, 0o600, []string{":2: ", "another name"}},
		{"none", "# nobody\n", 0o600, []string{"names no token"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tokens.txt")
			if err := os.WriteFile(file, []byte(c.text), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, c.mode); err != nil {
				t.Fatal(err)
			}
			_, err := wire.ReadTokens(file)
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want an error with %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("the error shows a token: %v", err)
			}
		})
	}
}

// request makes a request as a test of Guard needs it; header lines are "Name: value".
func request(method, target, peer, host string, body io.Reader, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.RemoteAddr, r.Host = peer, host
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

const loopback = "127.0.0.1:5555"

func TestGuard(t *testing.T) {
	exposed := `expose: {origins: ["https://shop.example"], hosts: [tools.shop.example]}`
	cases := []struct {
		name, method, path, host string
		header                   []string
		want                     int
	}{
		{"loopback name", "GET", "/", "localhost:8080", nil, 200},
		{"loopback address", "GET", "/", "127.0.0.1:8080", nil, 200},
		{"loopback IPv6", "GET", "/", "[::1]:8080", nil, 200},
		{"trailing dot", "GET", "/", "localhost.:8080", nil, 200},
		{"exposed host", "GET", "/", "Tools.Shop.Example", nil, 200},
		{"exposed host with a port", "GET", "/", "tools.shop.example:8443", nil, 200},
		{"rebound name", "GET", "/", "evil.example", nil, 403},
		{"loopback as a label", "GET", "/", "127.0.0.1.evil.example", nil, 403},
		{"no host", "GET", "/", "", nil, 403},
		{"own page", "POST", "/v1/tools/status", "localhost:8080", []string{"Origin: http://localhost:8080"}, 200},
		{"own page behind TLS", "POST", "/v1/tools/status", "tools.shop.example", []string{"Origin: https://tools.shop.example"}, 200},
		{"other port", "POST", "/v1/tools/status", "localhost:8080", []string{"Origin: http://localhost:3000"}, 403},
		{"exposed page", "POST", "/v1/tools/status", "localhost:8080", []string{"Origin: https://shop.example"}, 200},
		{"exposed page at MCP", "POST", "/mcp", "localhost:8080", []string{"Origin: https://shop.example"}, 200},
		{"exposed page at the index", "GET", "/", "localhost:8080", []string{"Origin: https://shop.example"}, 403},
		{"exposed page at the metrics", "GET", "/metrics", "localhost:8080", []string{"Origin: https://shop.example"}, 403},
		{"exposed name by http", "POST", "/mcp", "localhost:8080", []string{"Origin: http://shop.example"}, 403},
		{"suffix of an exposed name", "POST", "/mcp", "localhost:8080", []string{"Origin: https://evil-shop.example"}, 403},
		{"other page", "POST", "/mcp", "localhost:8080", []string{"Origin: https://evil.example"}, 403},
		{"null", "POST", "/mcp", "localhost:8080", []string{"Origin: null"}, 403},
		{"two origins", "POST", "/mcp", "localhost:8080", []string{"Origin: https://shop.example", "Origin: https://evil.example"}, 403},
		{"other page that hides", "POST", "/mcp", "localhost:8080", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"link from another page", "GET", "/", "localhost:8080", []string{"Sec-Fetch-Site: cross-site"}, 200},
		{"preflight", "OPTIONS", "/mcp", "localhost:8080", []string{"Origin: https://shop.example", "Access-Control-Request-Method: POST"}, 204},
		{"preflight of another page", "OPTIONS", "/mcp", "localhost:8080", []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, 403},
	}
	s := service(t, wire.Options{Listen: "127.0.0.1:8080"}, wiretest.Service{Expose: exposed})
	handler := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, request(c.method, c.path, loopback, c.host, nil, c.header...))
			if w.Code != c.want {
				t.Errorf("got %d, want %d: %s", w.Code, c.want, w.Body)
			}
			if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("content security policy %q", policy)
			}
			permitted := w.Header().Get("Access-Control-Allow-Origin")
			if cross := w.Code < 300 && strings.Contains(strings.Join(c.header, ""), "Origin: https://shop.example"); cross != (permitted != "") {
				t.Errorf("Access-Control-Allow-Origin is %q", permitted)
			}
		})
	}
}

func TestPrivateNetworkPreflight(t *testing.T) {
	s := service(t, wire.Options{}, wiretest.Service{Expose: `expose: {origins: ["https://shop.example"]}`})
	w := httptest.NewRecorder()
	s.Guard(http.NotFoundHandler()).ServeHTTP(w, request("OPTIONS", "/v1/tools/status", loopback, "localhost", nil,
		"Origin: https://shop.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Private-Network: true"))
	for name, want := range map[string]string{
		"Access-Control-Allow-Private-Network": "true",
		"Access-Control-Allow-Origin":          "https://shop.example",
		"Access-Control-Allow-Credentials":     "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestCaller(t *testing.T) {
	const peer6 = "[2001:db8:1:2:3:4:5:6]:5555"
	cases := []struct {
		name, peer, host string
		header           []string
		want             wire.Caller
	}{
		{"local", loopback, "localhost", nil, wire.Caller{Local: true, Address: "127.0.0.1"}},
		{"local, mapped", "[::ffff:127.0.0.1]:5555", "localhost", nil, wire.Caller{Local: true, Address: "127.0.0.1"}},
		{"proxy", loopback, "tools.shop.example", nil, wire.Caller{Address: "127.0.0.1"}},
		{"proxy that keeps the name", loopback, "localhost", []string{"X-Forwarded-For: 198.51.100.1, 192.0.2.9"}, wire.Caller{Address: "192.0.2.9"}},
		{"two proxies", loopback, "localhost", []string{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 192.0.2.9"}, wire.Caller{Address: "192.0.2.9"}},
		{"forged", "192.0.2.1:5555", "tools.shop.example", []string{"X-Forwarded-For: 198.51.100.1"}, wire.Caller{Address: "192.0.2.1"}},
		{"elsewhere by a loopback name", "192.0.2.1:5555", "localhost", nil, wire.Caller{Address: "192.0.2.1"}},
		{"IPv6", peer6, "tools.shop.example", nil, wire.Caller{Address: "2001:db8:1:2::/64"}},
		{"token", "192.0.2.1:5555", "tools.shop.example", []string{"Authorization: bearer " + token}, wire.Caller{Address: "192.0.2.1", Principal: "agent"}},
		{"bad token", loopback, "localhost", []string{"Authorization: Bearer " + token + "x"}, wire.Caller{Local: true, Address: "127.0.0.1", BadToken: true}},
		{"forged caller", "192.0.2.1:5555", "tools.shop.example", []string{`remit caller: {"local":true}`}, wire.Caller{Address: "192.0.2.1"}},
	}
	s := service(t, wire.Options{Tokens: tokens(t, "agent "+token)}, wiretest.Service{Expose: "expose: {hosts: [tools.shop.example]}"})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var inContext, inHeader wire.Caller
			handler := s.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				inContext = wire.CallerFrom(r.Context())
				inHeader, _ = wire.CallerFromHeader(r.Header)
			}))
			handler.ServeHTTP(httptest.NewRecorder(), request("GET", "/", c.peer, c.host, nil, c.header...))
			if inContext != c.want || inHeader != c.want {
				t.Errorf("got %+v and %+v, want %+v", inContext, inHeader, c.want)
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	s := service(t, wire.Options{}, wiretest.Service{})
	handler := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || len(body) != wire.MaxBody {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	}))
	for size, want := range map[int]int{wire.MaxBody: 200, wire.MaxBody + 1: 413} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request("POST", "/v1/tools/status", loopback, "localhost", bytes.NewReader(make([]byte, size))))
		if w.Code != want {
			t.Errorf("%d bytes: got %d, want %d", size, w.Code, want)
		}
	}
}

// call makes a local call.
func call(ctx context.Context, t *testing.T, s *wire.Service, name string) (record.Code, string) {
	t.Helper()
	called, _ := s.Set().Lookup(name)
	a := s.Call(wire.WithCaller(ctx, wire.Stdio), called, []byte(`{"reference":"OK001"}`), 0)
	if a.Failure == nil {
		return record.OK, string(a.Body)
	}
	return a.Failure.Code, string(a.Body)
}

func TestBrokenTool(t *testing.T) {
	breaks := wiretest.Transport(func(*http.Request) (*http.Response, error) { panic("the transport broke") })
	var log bytes.Buffer
	s := service(t, wire.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, wiretest.Service{Transport: breaks})
	for name, want := range map[string]record.Code{"read": wire.Internal, "hold": record.OutcomeUnknown} {
		if code, body := call(t.Context(), t, s, name); code != want || !strings.Contains(body, `"retryable":false`) {
			t.Errorf("%s: got %s in %s, want %s", name, code, body, want)
		}
	}
	if !strings.Contains(log.String(), "a tool broke") || strings.Contains(log.String(), "OK001") {
		t.Errorf("the log must say that a tool broke, without its input:\n%s", &log)
	}
}

func TestCallerGone(t *testing.T) {
	var ended error
	s := service(t, wire.Options{}, wiretest.Service{Transport: wiretest.Transport(func(r *http.Request) (*http.Response, error) {
		ended = r.Context().Err()
		return nil, errors.New("nobody is there")
	})})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	call(gone, t, s, "hold")
	if ended != nil {
		t.Errorf("a command must go on when its caller goes away: %v", ended)
	}
}

func TestLog(t *testing.T) {
	var log bytes.Buffer
	s := service(t, wire.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, wiretest.Service{})
	call(t.Context(), t, s, "status")
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "tool=status code=OK") || strings.Contains(text, "OK001") {
		t.Errorf("one line a call, without its input; got:\n%s", text)
	}
}

func TestDrain(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := service(t, wire.Options{}, wiretest.Service{Transport: wiretest.Transport(func(*http.Request) (*http.Response, error) {
		close(started)
		<-release
		return nil, errors.New("nobody is there")
	})})
	done := make(chan struct{})
	go func() { defer close(done); call(t.Context(), t, s, "hold") }()
	<-started
	idle := s.Drain()
	select {
	case <-idle:
		t.Error("idle while a call runs")
	default:
	}
	if code, _ := call(t.Context(), t, s, "status"); code != record.TempUnavailable {
		t.Errorf("a call that begins too late is %s", code)
	}
	close(release)
	<-done
	<-idle
	if <-s.Drain(); !s.Draining() {
		t.Error("not draining")
	}
}

func TestMetrics(t *testing.T) {
	s := service(t, wire.Options{}, wiretest.Service{Transport: wiretest.Transport(func(*http.Request) (*http.Response, error) { panic(1) })})
	call(t.Context(), t, s, "status")
	call(t.Context(), t, s, "read")
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`remit_calls_total{code="OK",tool="status"} 1`,
		`remit_calls_total{code="UNKNOWN",tool="read"} 1`,
		`remit_call_seconds_count{tool="status"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}

// pipes is a listener whose connections are made in memory, so that their
// deadlines follow the clock of a test.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{made: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.made <- server
	return client
}

// TestTimes holds slow callers to the limits of the package comment.
func TestTimes(t *testing.T) {
	const head = "POST /v1/tools/status HTTP/1.1\r\nHost: localhost\r\n"
	for _, c := range []struct {
		name, sent string
		after      time.Duration
		want       string // how the answer begins; "" for a connection that is closed
	}{
		{"a head that does not end", head, 10 * time.Second, ""},
		{"a body that does not come", head + "Content-Length: 10\r\n\r\n{", 30 * time.Second, "HTTP/1.1 408"},
		{"an idle connection", head + "Content-Length: 2\r\n\r\n{}", 2 * time.Minute, "HTTP/1.1 200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := service(t, wire.Options{}, wiretest.Service{})
				server := s.Server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }))
				listener := newPipes()
				go func() { _ = server.Serve(listener) }()
				connection := listener.dial()
				start := time.Now()
				if _, err := io.WriteString(connection, c.sent); err != nil {
					t.Fatal(err)
				}
				got, _ := io.ReadAll(connection) // until the server closes it
				if took := time.Since(start); took < c.after || took > c.after+time.Second {
					t.Errorf("closed after %v, want %v", took, c.after)
				}
				if !strings.HasPrefix(string(got), c.want) || (c.want == "" && len(got) > 0) {
					t.Errorf("got %q, want %q", got, c.want)
				}
				_ = server.Close()
			})
		})
	}
}

package recovery_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"remit.example/record"
	"remit.example/recovery"
)

type httpTask = recovery.Task[*http.Request, *http.Response]

// atOnce is the pattern of tasks that never sleep.
func atOnce() httpTask {
	return httpTask{Clock: new(recovery.Simulated), MinDelay: recovery.None, Jitter: recovery.None}
}

// roundTrip is a base transport in one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// closing is a body that knows whether it was closed.
type closing struct {
	io.Reader
	closed *atomic.Int32
}

func (c closing) Close() error {
	c.closed.Add(1)
	return nil
}

func respond(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestMethodEffect(t *testing.T) {
	for method, want := range map[string][2]record.Effect{ // without a key, with one
		"":        {record.Read, record.Read},
		"GET":     {record.Read, record.Read},
		"HEAD":    {record.Read, record.Read},
		"OPTIONS": {record.Read, record.Read},
		"TRACE":   {record.Read, record.Read},
		"PUT":     {record.Idempotent, record.Idempotent},
		"DELETE":  {record.Idempotent, record.Idempotent},
		"POST":    {record.Unsafe, record.Keyed},
		"PATCH":   {record.Unsafe, record.Keyed},
		"LOCK":    {record.Unsafe, record.Keyed},
		"get":     {record.Unsafe, record.Keyed},
	} {
		req := &http.Request{Method: method, Header: http.Header{}}
		if got := recovery.MethodEffect(req); got != want[0] {
			t.Errorf("%s is %s, want %s", method, got, want[0])
		}
		req.Header.Set("Idempotency-Key", "k")
		if got := recovery.MethodEffect(req); got != want[1] {
			t.Errorf("%s with a key is %s, want %s", method, got, want[1])
		}
	}
}

// committing is a server that executes each request and, from the second on a
// connection, drops the connection without an answer.
func committing(t *testing.T) (url string, executions *atomic.Int32, keys *[]string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	executions, keys = new(atomic.Int32), new([]string)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			commit(conn, executions, keys)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String(), executions, keys
}

// commit serves one connection: an answer, then an execution without one.
func commit(conn net.Conn, executions *atomic.Int32, keys *[]string) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	for n := range 2 {
		req, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		*keys = append(*keys, req.Header.Get("Idempotency-Key"))
		executions.Add(1)
		if n == 0 {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}
}

// TestOneExecutionForOneCall: net/http by itself sends a request again when a
// reused connection is lost; here each execution is one that the policy permitted.
func TestOneExecutionForOneCall(t *testing.T) {
	for _, tt := range []struct {
		method, body, key string // key is the header that holds one
	}{
		{"POST", "pay", "Idempotency-Key"},
		{"POST", "", "Idempotency-Key"},
		{"POST", "", "X-Idempotency-Key"},
		{"PATCH", "", "Idempotency-Key"},
		{"DELETE", "", "Idempotency-Key"},
		{"POST", "pay", ""},
		{"POST", "", ""},
		{"PUT", "set", ""},
		{"GET", "", ""},
		{"HEAD", "", ""},
		{"OPTIONS", "", ""},
	} {
		t.Run(tt.method+" "+tt.body+" "+tt.key, func(t *testing.T) {
			url, executions, _ := committing(t)
			base := new(http.Transport)
			defer base.CloseIdleConnections()
			task := atOnce()
			task.Limit = 1
			client := http.Client{Transport: &recovery.Transport{Base: base, Task: task}}
			resp, err := client.Do(request(t, "GET", url, ""))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()

			req := request(t, tt.method, url, tt.body)
			if tt.key != "" {
				req.Header.Set(tt.key, "k-1")
			}
			_, err = client.Do(req)
			want := record.RetryExhausted
			if recovery.MethodEffect(req) == record.Unsafe {
				want = record.UnknownOutcome
			}
			wantEnd(t, err, want, 1)
			if n := executions.Load() - 1; n != 1 {
				t.Errorf("one call was executed %d times", n)
			}
		})
	}
}

func TestAKeyedWriteIsRepeatedWithTheSameKey(t *testing.T) {
	url, executions, keys := committing(t)
	base := new(http.Transport)
	defer base.CloseIdleConnections()
	client := http.Client{Transport: &recovery.Transport{Base: base, Task: atOnce()}}
	for range 2 {
		req := request(t, "POST", url, "pay")
		req.Header.Set("Idempotency-Key", "k-1")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if n := executions.Load(); n != 3 { // the second is lost after its execution, the third is its repetition
		t.Errorf("executed %d times", n)
	}
	if got := strings.Join(*keys, " "); got != "k-1 k-1 k-1" {
		t.Errorf("the keys are %s", got)
	}
}

func TestTheBodyIsSentAgainAndCannotBeRewound(t *testing.T) {
	for _, body := range []string{"", "pay 5"} {
		var sent []string
		task := atOnce()
		transport := &recovery.Transport{Task: task, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.GetBody != nil {
				t.Error("the body can be rewound")
			}
			if req.ContentLength != int64(len(body)) {
				t.Errorf("the length is %d", req.ContentLength)
			}
			if body == "" && req.Body != http.NoBody {
				t.Error("the empty body is of unknown length")
			}
			content, _ := io.ReadAll(req.Body)
			sent = append(sent, string(content))
			if len(sent) < 3 {
				return respond(503, ""), nil
			}
			return respond(200, "done"), nil
		})}
		req := request(t, "POST", "http://x.example", body)
		resp, err := transport.RoundTrip(req)
		if err != nil || resp.StatusCode != 200 || strings.Join(sent, "|") != strings.Join([]string{body, body, body}, "|") {
			t.Errorf("%v, %v, %q", resp, err, sent)
		}
		if req.Body != nil && req.GetBody == nil {
			t.Error("the caller's request was changed")
		}
	}
}

func TestAStreamThatIsKeptIsSentAgainWithItsLength(t *testing.T) {
	const body = "0123456789"
	calls := 0
	transport := &recovery.Transport{BodyLimit: int64(len(body)), Task: atOnce(), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
		calls++
		if content, _ := io.ReadAll(req.Body); string(content) != body || req.ContentLength != int64(len(body)) {
			t.Errorf("%q was sent with the length %d", content, req.ContentLength)
		}
		return respond(503, "busy"), nil
	})}
	req := request(t, "PUT", "http://x.example", "")
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), -1
	if _, err := transport.RoundTrip(req); err != nil || calls != 3 {
		t.Errorf("%v, %d calls", err, calls)
	}
}

func TestABodyBeyondTheLimitIsSentOnce(t *testing.T) {
	var closed atomic.Int32
	body := strings.Repeat("x", 100)
	calls := 0
	transport := &recovery.Transport{BodyLimit: 10, Task: atOnce(), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
		calls++
		if content, _ := io.ReadAll(req.Body); string(content) != body {
			t.Errorf("%d bytes were sent", len(content))
		}
		return respond(503, "busy"), nil
	})}
	req := request(t, "PUT", "http://x.example", "")
	req.Body, req.ContentLength = closing{strings.NewReader(body), &closed}, 100
	resp, err := transport.RoundTrip(req)
	if err != nil || resp.StatusCode != 503 || calls != 1 || closed.Load() == 0 {
		t.Errorf("%v, %v, %d calls, closed %d times", resp, err, calls, closed.Load())
	}
}

func TestABodyThatCannotBeReadIsNotSent(t *testing.T) {
	broken := errors.New("the disk is gone")
	transport := &recovery.Transport{Base: roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a broken body was sent")
		return nil, broken
	})}
	var closed atomic.Int32
	req := request(t, "PUT", "http://x.example", "")
	req.Body = closing{io.MultiReader(strings.NewReader("a"), failingReader{broken}), &closed}
	if _, err := transport.RoundTrip(req); !errors.Is(err, broken) || closed.Load() != 1 {
		t.Errorf("%v, closed %d times", err, closed.Load())
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func TestDiscardedResponsesAreClosedAndTheLastIsReturnedWhole(t *testing.T) {
	for _, size := range []int{0, 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		var closed atomic.Int32
		body := strings.Repeat("x", size)
		transport := &recovery.Transport{Task: atOnce(), Base: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: closing{strings.NewReader(body), &closed}}, nil
		})}
		resp, err := transport.RoundTrip(request(t, "GET", "http://x.example", ""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if string(got) != body || err != nil {
			t.Errorf("%d bytes of %d, %v", len(got), size, err)
		}
		_ = resp.Body.Close()
		if closed.Load() != 3 {
			t.Errorf("%d of three bodies are closed", closed.Load())
		}
	}
}

func TestAStatusFailsFrom400(t *testing.T) {
	for status, want := range map[int]record.Code{399: record.OK, 400: record.InvalidArgument} {
		task := atOnce()
		var seen []record.Code
		task.Observe = func(s recovery.Step) { seen = append(seen, s.Code) }
		transport := &recovery.Transport{Task: task, Base: roundTrip(func(*http.Request) (*http.Response, error) { return respond(status, ""), nil })}
		resp, err := transport.RoundTrip(request(t, "GET", "http://x.example", ""))
		if err != nil || resp.StatusCode != status || len(seen) != 1 || seen[0] != want {
			t.Errorf("%d: %v, %v, seen as %v", status, resp, err, seen)
		}
	}
}

func TestABrokenFailureKeepsItsError(t *testing.T) {
	transport := &recovery.Transport{Base: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 403, Body: io.NopCloser(io.MultiReader(strings.NewReader("den"), failingReader{io.ErrUnexpectedEOF}))}, nil
	})}
	resp, err := transport.RoundTrip(request(t, "GET", "http://x.example", ""))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.Body); string(got) != "den" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheServersWaitIsHonoured(t *testing.T) {
	task := atOnce()
	calls := 0
	transport := &recovery.Transport{Task: task, Base: roundTrip(func(*http.Request) (*http.Response, error) {
		if calls++; calls > 1 {
			return respond(204, ""), nil
		}
		resp := respond(429, "")
		resp.Header.Set("Retry-After", "Thu, 01 Jan 1970 00:00:07 GMT")
		return resp, nil
	})}
	if _, err := transport.RoundTrip(request(t, "POST", "http://x.example", "")); err != nil {
		t.Fatal(err)
	}
	if now := task.Clock.Now(); !now.Equal(time.Unix(7, 0)) {
		t.Errorf("the clock stands at %v", now)
	}
}

func TestRenewedCredentialsAreTheBases(t *testing.T) {
	token := "old"
	task := atOnce()
	task.Authenticate = func(context.Context, *record.Record) (bool, error) {
		token = "new"
		return true, nil
	}
	transport := &recovery.Transport{Task: task, Base: roundTrip(func(*http.Request) (*http.Response, error) {
		if token == "old" {
			return respond(401, ""), nil
		}
		return respond(200, ""), nil
	})}
	if resp, err := transport.RoundTrip(request(t, "POST", "http://x.example", "a")); err != nil || resp.StatusCode != 200 {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestARefreshedRequestIsSentWithItsOwnBody(t *testing.T) {
	for body, want := range map[string]int{"short": 2, "longer than the limit": 1} {
		calls := 0
		task := atOnce()
		task.Refresh = func(ctx context.Context, req *http.Request, _ *record.Record) (*http.Request, bool, error) {
			changed := req.Clone(ctx)
			changed.Header.Set("If-Match", `"2"`)
			changed.Body = io.NopCloser(strings.NewReader(body))
			return changed, true, nil
		}
		transport := &recovery.Transport{BodyLimit: 10, Task: task, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				return respond(412, ""), nil
			}
			if content, _ := io.ReadAll(req.Body); string(content) != body || req.Header.Get("If-Match") != `"2"` {
				t.Errorf("%q, %v", content, req.Header)
			}
			return respond(200, ""), nil
		})}
		_, err := transport.RoundTrip(request(t, "PUT", "http://x.example", "first"))
		if calls != want || (err == nil) != (want == 2) {
			t.Errorf("%q: %d calls, %v", body, calls, err)
		}
	}
}

func TestADeadServerWasNotExecuted(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var last recovery.Step
	task := atOnce()
	task.Observe = func(s recovery.Step) { last = s }
	_, err := (&recovery.Transport{Base: new(http.Transport), Task: task}).RoundTrip(request(t, "POST", server.URL, "pay"))
	wantEnd(t, err, record.RetryExhausted, 3)
	if last.Code != record.TempUnavailable || last.Record.Outcome != record.NotApplied {
		t.Errorf("the last step is %+v", last)
	}
}

func TestAConnectionLostBeforeTheRequestLeftWasNotExecuted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // within the TLS handshake
		}
	}()
	for _, url := range []string{"https://" + listener.Addr().String(), "odd://no.such.scheme"} {
		_, err = (&recovery.Transport{Base: new(http.Transport), Task: atOnce()}).RoundTrip(request(t, "POST", url, "pay"))
		if end := wantEnd(t, err, record.RetryExhausted, 3); end.Record.Outcome != record.NotApplied {
			t.Errorf("%s: %+v", url, end.Record)
		}
	}
}

func TestAFailureWhoseStatusIsSettledIsClosed(t *testing.T) {
	var closed atomic.Int32
	task := atOnce()
	task.Status = func(context.Context, *http.Request, *record.Record) (*http.Response, error) {
		return respond(200, "paid"), nil
	}
	transport := &recovery.Transport{Task: task, Base: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 504, Body: closing{bytes.NewReader(make([]byte, 1<<20)), &closed}}, nil
	})}
	resp, err := transport.RoundTrip(request(t, "POST", "http://x.example", "pay"))
	if err != nil || resp.StatusCode != 200 || closed.Load() != 1 {
		t.Errorf("%v, %v, closed %d times", resp, err, closed.Load())
	}
}

func TestABaseThatDoesNotTraceMayHaveSent(t *testing.T) {
	odd := errors.New("the tunnel collapsed")
	transport := &recovery.Transport{Task: atOnce(), Base: roundTrip(func(*http.Request) (*http.Response, error) { return nil, odd })}
	_, err := transport.RoundTrip(request(t, "POST", "http://x.example", "pay"))
	if wantEnd(t, err, record.UnknownOutcome, 1); !errors.Is(err, odd) {
		t.Errorf("the error is %v", err)
	}
	_, err = transport.RoundTrip(request(t, "GET", "http://x.example", ""))
	wantEnd(t, err, record.RetryExhausted, 3)
}

func TestACancelledRequestIsNotRetried(t *testing.T) {
	for method, want := range map[string]record.Disposition{"GET": record.Cancelled, "POST": record.UnknownOutcome} {
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
		}))
		base := new(http.Transport)
		client := http.Client{Transport: &recovery.Transport{Base: base}}
		_, err := client.Do(request(t, method, server.URL, "").WithContext(ctx))
		if wantEnd(t, err, want, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", method, err)
		}
		base.CloseIdleConnections()
		server.Close()
	}
}

func TestACancelledWaitReturnsAnErrorAndNoResponse(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var closed atomic.Int32
	task := atOnce()
	task.Clock = &expiring{cancel: cancel}
	transport := &recovery.Transport{Task: task, Base: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Body: closing{bytes.NewReader(make([]byte, 1<<20)), &closed}}, nil
	})}
	resp, err := transport.RoundTrip(request(t, "GET", "http://x.example", "").WithContext(ctx))
	if wantEnd(t, err, record.Cancelled, 1); resp != nil || closed.Load() == 0 {
		t.Errorf("%v, closed %d times", resp, closed.Load())
	}
}

func TestTheEffectIsTheOperators(t *testing.T) {
	calls := 0
	transport := &recovery.Transport{
		Task:   atOnce(),
		Effect: func(*http.Request) record.Effect { return record.Read },
		Base: roundTrip(func(*http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				return nil, io.EOF
			}
			return respond(200, ""), nil
		}),
	}
	if resp, err := transport.RoundTrip(request(t, "POST", "http://x.example/search", "q")); err != nil || resp.StatusCode != 200 {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestTrailersAreKept(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if got := r.Trailer.Get("Checksum"); got != "abc" {
			t.Errorf("the trailer is %q", got)
		}
	}))
	defer server.Close()
	req := request(t, "PUT", server.URL, "")
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader("content")), -1
	req.Trailer = http.Header{"Checksum": {"abc"}}
	resp, err := (&recovery.Transport{Base: server.Client().Transport}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

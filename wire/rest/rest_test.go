package rest_test

import (
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"remit.example/tool"
	"remit.example/wire"
	"remit.example/wire/rest"
	"remit.example/wire/wiretest"
)

const token = "0123456789abcdef"

var noTransport = wiretest.Transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody is there") })

func serve(t *testing.T, options wire.Options, services ...wiretest.Service) (*wire.Service, http.Handler) {
	t.Helper()
	service, err := wire.New(wiretest.Set(t, services...), options)
	if err != nil {
		t.Fatal(err)
	}
	return service, service.Guard(rest.New(service, rest.Options{Version: "test", Paths: []string{"/shop/contract.yaml"}}))
}

func withTokens(t *testing.T) wire.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.txt")
	if err := os.WriteFile(file, []byte("agent "+token), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := wire.ReadTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Options{Tokens: read}
}

// ask sends one request from this machine; header lines are "Name: value".
func ask(handler http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:5555", "localhost:8080"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestList(t *testing.T) {
	service, handler := serve(t, wire.Options{}, wiretest.Service{Transport: noTransport})
	w := ask(handler, "GET", "/v1/tools", "")
	var list struct {
		Tools []struct {
			Name, Service, Promise, Effect, Description string
			InputSchema                                 json.RawMessage `json:"input_schema"`
			OutputSchema                                json.RawMessage `json:"output_schema"`
			Example                                     json.RawMessage
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	for i, want := range service.Set().Tools() {
		got := list.Tools[i]
		if got.Name != want.Name || got.Service != "parcels" || got.Promise != string(want.Promise) || got.Effect != string(want.Effect) || got.Description != want.Description {
			t.Errorf("got %+v", got)
		}
		if string(got.InputSchema) != string(want.InputSchema) || string(got.OutputSchema) != string(want.OutputSchema) || string(got.Example) != string(want.Example) {
			t.Errorf("%s: the schemas and the example must have their bytes", got.Name)
		}
	}
}

// TestCall checks body, status and headers of each kind of answer.
func TestCall(t *testing.T) {
	service, handler := serve(t, wire.Options{}, wiretest.Service{})
	status, _ := service.Set().Lookup("status")
	for _, c := range []struct {
		input      string
		want       int
		retryAfter string
		challenge  string
	}{
		{`{"reference":"OK001"}`, 200, "", ""},
		{`{"reference":"AU001"}`, 401, "", `Bearer realm="remit"`},
		{`{"reference":"AD001"}`, 403, "", ""},
		{`{"reference":"TE001"}`, 503, "2", ""},
		{`{"reference":"XX001"}`, 500, "", ""},
		{`{"reference":"NO404"}`, 400, "", ""},
		{`{"reference":"OK001","reference":"OK001"}`, 400, "", ""},
		{`not JSON`, 400, "", ""},
		{``, 400, "", ""},
	} {
		w := ask(handler, "POST", "/v1/tools/status", c.input)
		want := string(status.Call(t.Context(), tool.Call{Input: []byte(c.input)}).Body) + "\n"
		if w.Code != c.want || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want %d %s", c.input, w.Code, w.Body, c.want, want)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
			"Retry-After": c.retryAfter, "WWW-Authenticate": c.challenge,
		} {
			if got := w.Header().Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", c.input, name, got, value)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	_, handler := serve(t, wire.Options{}, wiretest.Service{Transport: noTransport})
	for _, c := range []struct {
		method, path, header string
		status               int
		want                 string
		allow                string
	}{
		{"POST", "/v1/tools/statuses", "", 404, "valid: status", ""},
		{"POST", "/v1/tools/" + strings.Repeat("x", 5000), "", 404, "…", ""},
		{"GET", "/v1/tools/status", "", 405, "valid: POST", "POST"},
		{"DELETE", "/v1/tools", "", 405, "valid: GET", "GET, HEAD"},
		{"POST", "/healthz", "", 405, "valid: GET", "GET, HEAD"},
		{"POST", "/v1/tools/status", "Content-Type: text/plain", 415, "application/json", ""},
		{"POST", "/v1/tools/status", "Content-Type: application/json; charset=latin1", 415, "UTF-8", ""},
		{"POST", "/v1/tools/status", "Content-Encoding: gzip", 415, "not compressed", ""},
		{"POST", "/v1/tools/status", "Origin: https://evil.example", 403, "expose.origins", ""},
		{"GET", "/tools", "", 404, "valid: /", ""},
		{"PUT", "/tools/status", "", 405, "valid: GET, HEAD, POST", "GET, HEAD, POST"},
		{"GET", "/tools/status?reference=%zz", "", 400, "hexadecimal", ""},
		{"GET", "/assets/index.html", "", 404, "nothing", ""},
		{"GET", "/assets/..%2frest.go", "", 404, "nothing", ""},
	} {
		var header []string
		if c.header != "" {
			header = append(header, c.header)
		}
		w := ask(handler, c.method, c.path, "{}", header...)
		var body map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Errorf("%s %s: %v in %s", c.method, c.path, err, w.Body)
		}
		if w.Code != c.status || !strings.Contains(body["error"], c.want) || len(body["error"]) > 600 || w.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: got %d %v, Allow %q", c.method, c.path, w.Code, body, w.Header().Get("Allow"))
		}
	}
}

func TestTokens(t *testing.T) {
	_, handler := serve(t, withTokens(t), wiretest.Service{})
	const good = "Authorization: Bearer " + token
	for _, c := range []struct {
		header    string
		status    int
		challenge string
	}{
		{"X-Nothing: at all", 401, `Bearer realm="remit"`},
		{good + "x", 401, `Bearer realm="remit", error="invalid_token"`},
		{"Authorization: Basic " + token, 401, `Bearer realm="remit"`},
		{good, 200, ""},
	} {
		w := ask(handler, "POST", "/v1/tools/status", `{"reference":"OK001"}`, c.header)
		if got := w.Header().Get("WWW-Authenticate"); w.Code != c.status || got != c.challenge {
			t.Errorf("%s: got %d, %q", c.header, w.Code, got)
		}
	}
}

func TestState(t *testing.T) {
	service, handler := serve(t, wire.Options{}, wiretest.Service{})
	for _, path := range []string{"/healthz", "/readyz"} {
		if w := ask(handler, "GET", path, ""); w.Code != 200 {
			t.Errorf("%s is %d", path, w.Code)
		}
	}
	service.Drain()
	if w := ask(handler, "GET", "/readyz", ""); w.Code != 503 {
		t.Errorf("draining, /readyz is %d", w.Code)
	}
	if w := ask(handler, "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("draining, /healthz is %d", w.Code)
	}
	if w := ask(handler, "POST", "/v1/tools/status", `{"reference":"OK001"}`); w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("draining, a call is %d", w.Code)
	}
}

func TestMetrics(t *testing.T) {
	_, handler := serve(t, withTokens(t), wiretest.Service{})
	ask(handler, "POST", "/v1/tools/status", `{"reference":"OK001"}`, "Authorization: Bearer "+token)
	ask(handler, "POST", "/v1/tools/nobody", `{}`)
	w := ask(handler, "GET", "/metrics", "")
	if text := w.Body.String(); !strings.Contains(text, `remit_calls_total{code="OK",tool="status"} 1`) || strings.Contains(text, "nobody") {
		t.Error(text)
	}
	if w := ask(handler, "GET", "/metrics", "", "X-Forwarded-For: 192.0.2.1"); w.Code != 403 {
		t.Errorf("from elsewhere: %d", w.Code)
	}
	if w := ask(handler, "GET", "/metrics", "", "X-Forwarded-For: 192.0.2.1", "Authorization: Bearer "+token); w.Code != 200 {
		t.Errorf("with a token: %d", w.Code)
	}
}

// TestIndex checks what the index shows, and that nothing of it is markup but ours.
func TestIndex(t *testing.T) {
	service, handler := serve(t, wire.Options{}, wiretest.Service{Transport: noTransport})
	page := ask(handler, "GET", "/", "").Body.String()
	text := html.UnescapeString(page)
	for _, want := range []string{
		"The one entry with the identifier", "Only reads: repeating a call is safe.", "Has an effect each time",
		`"url": "http://localhost:8080/mcp"`, `"/shop/contract.yaml"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, tool := range service.Set().Tools() {
		if !strings.Contains(text, `href="/tools/`+tool.Name+`"`) {
			t.Errorf("no link to %s", tool.Name)
		}
	}
	checkPage(t, page)
	if elsewhere := ask(handler, "GET", "/", "", "X-Forwarded-For: 192.0.2.1").Body.String(); strings.Contains(elsewhere, "/shop/contract.yaml") {
		t.Error("callers elsewhere see a path of this machine")
	}
}

var (
	inline   = regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<])|<style|\sstyle=|\son[a-z]+=|javascript:`)
	external = regexp.MustCompile(`(?i)(?:src|href|action)="(?:[a-z]+:|//)`)
)

// checkPage holds a page to the content security policy.
func checkPage(t *testing.T, page string) {
	t.Helper()
	for _, pattern := range []*regexp.Regexp{inline, external} {
		if found := pattern.FindString(page); found != "" {
			t.Errorf("the page has %s", found)
		}
	}
}

// page asks for a page and holds it to the content security policy.
func page(t *testing.T, handler http.Handler, path string) string {
	t.Helper()
	w := ask(handler, "GET", path, "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	checkPage(t, w.Body.String())
	return w.Body.String()
}

// TestFollow follows links, as a browser without scripts does.
func TestFollow(t *testing.T) {
	_, handler := serve(t, wire.Options{}, wiretest.Service{})
	for _, c := range []struct{ query, want string }{
		{"", "Nothing has been asked yet"},
		{"?reference=OK001", "<dd><bdi>&lt;b&gt;in transit&lt;/b&gt; &amp; &#34;due&#34; – é 😀</bdi></dd>"},
		{"?reference=", "Failure INVALID_ARGUMENT"},
		{"?reference=", `<a href="#field-reference">reference</a>`},
		{"?reference=", "{}</pre>"},
		{"?request=%7B%22reference%22%3A%22%22%7D", "{&#34;reference&#34;:&#34;&#34;}</pre>"},
		{"?reference=TE001", `data-wait="1500">2 seconds</span>`},
		{"?reference=TE001", `<a class="repeat" href="/tools/status?reference=TE001">`},
		{"?reference=AU001", "then call once more"},
		{"?reference=AD001", "The task ends as refused."},
		{"?reference=XX001", "No contract says what this code permits"},
		{"?reference=TE001", "2 of 3 executions of this task are left."},
		{"?reference=x", "Change the marked field and ask again."},
		{"?request=%7B%22reference%22%3A7%7D", "<bdi>A number was given: 7</bdi></p>"},
		{"?reference=OK001&colour=red", "Change what is wrong and ask again."},
		{"?reference=x", `aria-describedby="field-reference-hint field-reference-error-0" aria-invalid="true"`},
		{"?reference=x", `<a href="#field-reference">reference</a>`},
		{"?reference=OK001&colour=red", "There is no argument colour"},
		{"?reference=OK001&filters.colour=red", "There is no argument filters"},
		{"?reference=OK001&reference=OK001", "Failure INVALID_ARGUMENT"},
		{"?request=%3C%2Fpre%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E", "There is no argument request"},
		{"?request=%7B%3Cscript%3E", "{&lt;script&gt;</pre>"},
		{"?request=%7B%22reference%22%3A7%7D", `<a href="/tools/status?request=%7B%22reference%22%3A7%7D" id="share">`},
	} {
		if text := page(t, handler, "/tools/status"+c.query); !strings.Contains(text, c.want) {
			t.Errorf("%s: no %s in\n%s", c.query, c.want, text[strings.Index(text, "<main"):])
		}
	}
	for _, query := range []string{"?reference=XX001", "?reference=AD001"} {
		if text := page(t, handler, "/tools/status"+query); strings.Contains(text, "executions of this task") {
			t.Errorf("%s: a budget is shown where nothing may be repeated", query)
		}
	}
	if text := page(t, handler, "/tools/status?request=%7B%3Cscript%3E"); strings.Contains(text, "<code><bdi></bdi>") || strings.Contains(text, "<li>") {
		t.Errorf("a fault of the whole request is listed without a name\n%s", text[strings.Index(text, "<main"):])
	}
	if w := ask(handler, "GET", "/tools/statuses", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "valid: status") || !strings.Contains(w.Body.String(), `<a href="/tools/status">status</a>`) {
		t.Errorf("no such tool: %d %s", w.Code, w.Body)
	}
}

// TestEffects checks that no link calls a tool with an effect, and its form does.
func TestEffects(t *testing.T) {
	calls := 0
	_, handler := serve(t, wire.Options{}, wiretest.Service{Transport: wiretest.Transport(func(*http.Request) (*http.Response, error) {
		calls++
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"status":"held"}`))}, nil
	})})
	for _, query := range []string{"?reference=OK001", "?request=%7B%22reference%22%3A%22OK001%22%7D"} {
		text := page(t, handler, "/tools/hold"+query)
		if calls != 0 || !strings.Contains(text, "Nothing was called") || !strings.Contains(text, `value="OK001"`) || !strings.Contains(text, `method="post"`) {
			t.Errorf("%s: %d calls\n%s", query, calls, text)
		}
	}
	form := func(header ...string) *httptest.ResponseRecorder {
		return ask(handler, "POST", "/tools/hold", "reference=OK001", append(header, "Content-Type: application/x-www-form-urlencoded")...)
	}
	if w := form("Origin: https://evil.example"); w.Code != 403 || calls != 0 {
		t.Errorf("a form of another page: %d, %d calls", w.Code, calls)
	}
	if w := form("Origin: http://localhost:8080", "Sec-Fetch-Site: same-origin"); w.Code != 200 || calls != 1 || !strings.Contains(w.Body.String(), "<dd><bdi>held</bdi></dd>") {
		t.Errorf("its form: %d, %d calls\n%s", w.Code, calls, w.Body)
	}
}

func TestAssets(t *testing.T) {
	_, handler := serve(t, wire.Options{}, wiretest.Service{})
	page := ask(handler, "GET", "/", "").Body.String()
	for _, asset := range regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		w := ask(handler, "GET", asset[1], "")
		if body, err := io.ReadAll(w.Body); err != nil || w.Code != 200 || len(body) == 0 {
			t.Errorf("%s: %d, %v", asset[1], w.Code, err)
		}
	}
}

package webmcp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"remit.example/tool"
	"remit.example/wire"
	"remit.example/wire/webmcp"
	"remit.example/wire/wiretest"
)

// handler serves a set behind its Guard, and beside its paths texts of the
// test.
func handler(t *testing.T, set *tool.Set, texts map[string]string) http.Handler {
	t.Helper()
	service, err := wire.New(set, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	webmcp.Mount(mux, service)
	for path, text := range texts {
		mux.HandleFunc(path, page(path, text))
	}
	return service.Guard(mux)
}

func page(path, text string) http.HandlerFunc {
	kind := "text/html; charset=utf-8"
	if strings.HasSuffix(path, ".js") {
		kind = "text/javascript; charset=utf-8"
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}

func start(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// plainContext is a model context that keeps each tool, for a browser without one.
const plainContext = `
Object.defineProperty(document, "modelContext", {value: {
	tools: {},
	async registerTool(tool, {signal}) { this.tools[tool.name] = tool; },
}});`

func navigate(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
}

// evaluate is the value of an async function's body in the page.
func evaluate[T any](t *testing.T, ctx context.Context, body string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T]("(async () => {"+body+"\n})()", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	return value
}

// failed is what a call resolves with that has no answer.
type failed struct {
	Error     string
	Code      string
	Retryable bool
	IsError   bool
	Content   []struct{ Type, Text string }
	Recovery  struct {
		Code, Next, Stop, Outcome string
		Wait                      *int64 `json:"retry_after_ms"`
	}
}

// TestFailures makes each way in which a call can end without an answer of its
// tool, on a tool that reads and on one that has an effect.
func TestFailures(t *testing.T) {
	set := wiretest.Set(t, wiretest.Service{Transport: wiretest.Transport(func(*http.Request) (*http.Response, error) {
		return nil, io.ErrUnexpectedEOF
	})})
	url := start(t, handler(t, set, map[string]string{
		"/{$}":      `<!doctype html><script src="/plain.js"></script><script src="/remit.js"></script>`,
		"/plain.js": plainContext,
	}))
	ctx := wiretest.Chromium(t, false)
	navigate(t, ctx, url)
	const valid = `{reference: "OK001"}`
	responds := func(status int, kind, body, headers string) string {
		return fmt.Sprintf(`async () => new Response(%q, {status: %d, headers: {"Content-Type": %q, %s}})`, body, status, kind, headers)
	}
	const html = "<h1>Sorry</h1>"
	for _, c := range []struct {
		name, fetch, input, options string
		read, unsafe                string // code, outcome and wait
	}{
		{"lost", `async () => { throw new TypeError("Failed to fetch") }`, valid, `{}`, "TEMP_UNAVAILABLE  1000", "OUTCOME_UNKNOWN unknown -"},
		{"thrown at once", `() => { throw null }`, valid, `undefined`, "TEMP_UNAVAILABLE  1000", "OUTCOME_UNKNOWN unknown -"},
		{"never sent", `() => sent()`, valid, `{signal: AbortSignal.abort()}`, "CANCELLED  -", "CANCELLED not_applied -"},
		{
			"cancelled", `(url, {signal}) => new Promise((_, reject) => { signal.onabort = () => reject(signal.reason); cancel.abort(); })`,
			valid, `{signal: (window.cancel = new AbortController()).signal}`, "CANCELLED  -", "OUTCOME_UNKNOWN unknown -",
		},
		{"page of a gateway", responds(502, "text/html", html, ""), valid, `{}`, "TEMP_UNAVAILABLE  1000", "OUTCOME_UNKNOWN unknown -"},
		{"page of a portal", responds(200, "text/html", html, ""), valid, `{}`, "TEMP_UNAVAILABLE  1000", "OUTCOME_UNKNOWN unknown -"},
		{"cut off", responds(200, "application/json", `{"status":"in tr`, ""), valid, `{}`, "TEMP_UNAVAILABLE  1000", "OUTCOME_UNKNOWN unknown -"},
		{"a list", responds(200, "application/json", `[]`, ""), valid, `{}`, "TEMP_UNAVAILABLE  1000", "OUTCOME_UNKNOWN unknown -"},
		{"broken server", responds(500, "text/html", html, ""), valid, `{}`, "INTERNAL  -", "OUTCOME_UNKNOWN unknown -"},
		{"busy", responds(503, "text/html", html, ""), valid, `{}`, "TEMP_UNAVAILABLE  1000", "TEMP_UNAVAILABLE not_applied 1000"},
		{"busy for long", responds(429, "text/html", html, `"Retry-After": " 7 "`), valid, `{}`, "TEMP_UNAVAILABLE  7000", "TEMP_UNAVAILABLE not_applied 7000"},
		{"busy for ever", responds(503, "text/html", html, `"Retry-After": "99999999999999999999999"`), valid, `{}`, "TEMP_UNAVAILABLE  9007199254740991", "TEMP_UNAVAILABLE not_applied 9007199254740991"},
		{"busy till then", responds(503, "text/html", html, `"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"`), valid, `{}`, "TEMP_UNAVAILABLE  1000", "TEMP_UNAVAILABLE not_applied 1000"},
		{"busy for nonsense", responds(503, "text/html", html, `"Retry-After": "-5"`), valid, `{}`, "TEMP_UNAVAILABLE  1000", "TEMP_UNAVAILABLE not_applied 1000"},
		{"no such tool", responds(404, "application/json", `{"error":"No tool is named status."}`, ""), valid, `{}`, "NOT_A_CALL  -", "NOT_A_CALL not_applied -"},
		{"no token", responds(401, "text/html", html, ""), valid, `{}`, "AUTH_REQUIRED  -", "AUTH_REQUIRED  -"},
		{"not exposed", responds(403, "application/json", `{"error":"No."}`, ""), valid, `{}`, "ACCESS_DENIED  -", "ACCESS_DENIED  -"},
		{"broken page", `() => ({text: async () => ({replace: null})})`, valid, `{}`, "INTERNAL  -", "OUTCOME_UNKNOWN unknown -"},
		{"no JSON", `() => sent()`, `{reference: 1n}`, `{}`, "INVALID_ARGUMENT  -", "INVALID_ARGUMENT  -"},
		{"a function", `() => sent()`, `() => 1`, `{}`, "INVALID_ARGUMENT  -", "INVALID_ARGUMENT  -"},
	} {
		for name, want := range map[string]string{"status": c.read, "hold": c.unsafe} {
			got := evaluate[failed](t, ctx, fmt.Sprintf(`
				await remit.ready;
				const real = window.fetch;
				window.fetch = %s;
				try { return await document.modelContext.tools[%q].execute(%s, %s) } finally { window.fetch = real }`, c.fetch, name, c.input, c.options))
			wait := "-"
			if got.Recovery.Wait != nil {
				wait = fmt.Sprint(*got.Recovery.Wait)
			}
			if summary := got.Code + " " + got.Recovery.Outcome + " " + wait; summary != want {
				t.Errorf("%s, %s: got %q, want %q", c.name, name, summary, want)
			}
			checkFailed(t, c.name, got)
		}
	}
}

// checkFailed holds a failure to what every consumer looks for.
func checkFailed(t *testing.T, name string, f failed) {
	t.Helper()
	retryable := f.Recovery.Next == "wait_and_retry"
	if f.Error == "" || f.Recovery.Code != f.Code || f.Retryable != retryable || !f.IsError || len(f.Content) != 2 || f.Content[0].Text != f.Error {
		t.Errorf("%s: not a whole failure: %+v", name, f)
		return
	}
	var body failed
	if err := json.Unmarshal([]byte(f.Content[1].Text), &body); err != nil || body.Error != f.Error || body.IsError {
		t.Errorf("%s: the second content is %s", name, f.Content[1].Text)
	}
}

// TestCancel cancels a call through the browser: the server's work ends.
func TestCancel(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	set := wiretest.Set(t, wiretest.Service{Transport: wiretest.Transport(func(r *http.Request) (*http.Response, error) {
		close(begun)
		<-r.Context().Done()
		close(ended)
		return nil, r.Context().Err()
	})})
	url := start(t, handler(t, set, map[string]string{"/{$}": `<!doctype html><script src="/remit.js"></script>`}))
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, url)
	evaluate[chromedp.Void](t, ctx, `
		await remit.ready;
		const tool = (await document.modelContext.getTools()).find(t => t.name === "read");
		window.cancel = new AbortController();
		window.outcome = document.modelContext.executeTool(tool, {reference: "OK001"}, {signal: cancel.signal}).then(() => "answered", error => error.name);`)
	<-begun
	if name := evaluate[string](t, ctx, `cancel.abort(); return await outcome`); name != "AbortError" {
		t.Errorf("the browser says %s", name)
	}
	<-ended
}

// TestList lists every tool with what a browser takes.
func TestList(t *testing.T) {
	set := wiretest.Set(t, wiretest.Service{Transport: wiretest.Transport(nil)})
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "http://localhost/v1/webmcp", nil)
	h := handler(t, set, nil)
	h.ServeHTTP(recorder, request)
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
			Annotations       map[string]bool
			Failures          int
		}
		Failures []map[string]string
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"status": "map[readOnlyHint:true untrustedContentHint:true] 0",
		"hold":   "map[consequentialHint:true untrustedContentHint:true] 1",
		"read":   "map[readOnlyHint:true untrustedContentHint:true] 0",
	}
	for _, got := range list.Tools {
		served, _ := set.Lookup(got.Name)
		if summary := fmt.Sprint(got.Annotations, got.Failures); summary != want[got.Name] || got.Description != served.Description || string(got.InputSchema) != string(served.InputSchema) {
			t.Errorf("%s: got %s", got.Name, summary)
		}
	}
	if len(list.Tools) != len(want) || len(list.Failures) != 2 {
		t.Errorf("got %d tools with %d kinds of failures", len(list.Tools), len(list.Failures))
	}
	request.Header.Set("Accept-Encoding", "br, gzip")
	packed := httptest.NewRecorder()
	h.ServeHTTP(packed, request)
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(data, recorder.Body.Bytes()) {
		t.Errorf("under gzip the list is another: %v", err)
	}
	request.Header.Del("Accept-Encoding")
	request.Header.Set("If-None-Match", recorder.Header().Get("ETag"))
	again := httptest.NewRecorder()
	h.ServeHTTP(again, request)
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("asked whether it changed, the server answers %d", again.Code)
	}
}

// TestExposure asks for the script and the tools as browsers do for pages of
// each origin.
func TestExposure(t *testing.T) {
	set := wiretest.Set(t,
		wiretest.Service{Name: "open", Prefix: "open_", Expose: `expose: {origins: ["https://shop.example"]}`},
		wiretest.Service{Name: "closed", Prefix: "closed_"})
	h := handler(t, set, nil)
	for _, c := range []struct {
		name, path, headers string
		status              int
		policy              string // Cross-Origin-Resource-Policy
		tools               string
	}{
		{"a program", "/remit.js", "", 200, "same-origin", ""},
		{"the server's own page", "/remit.js", "Sec-Fetch-Site: same-origin\nReferer: http://localhost/", 200, "same-origin", ""},
		{"an exposed page", "/remit.js", "Sec-Fetch-Site: cross-site\nReferer: https://shop.example/lamps?x=1", 200, "cross-origin", ""},
		{"an exposed page, origin alone", "/remit.js", "Sec-Fetch-Site: cross-site\nReferer: https://shop.example/", 200, "cross-origin", ""},
		{"an exposed page with crossorigin", "/remit.js", "Sec-Fetch-Site: cross-site\nOrigin: https://shop.example", 200, "same-origin", ""},
		{"an exposed page that says nothing", "/remit.js", "Sec-Fetch-Site: cross-site", 403, "same-origin", ""},
		{"another page", "/remit.js", "Sec-Fetch-Site: cross-site\nReferer: https://other.example/", 403, "same-origin", ""},
		{"a neighbour", "/remit.js", "Sec-Fetch-Site: same-site\nReferer: http://localhost:99/", 403, "same-origin", ""},
		{"a name that contains it", "/remit.js", "Sec-Fetch-Site: cross-site\nReferer: https://shop.example.other.example/", 403, "same-origin", ""},
		{"a user of that name", "/remit.js", "Sec-Fetch-Site: cross-site\nReferer: https://shop.example@other.example/", 403, "same-origin", ""},
		{"another page with crossorigin", "/remit.js", "Sec-Fetch-Site: cross-site\nOrigin: https://other.example", 403, "same-origin", ""},
		{"an old browser's other page", "/remit.js", "Referer: https://other.example/", 200, "same-origin", ""}, // which the policy keeps from it
		{"the types, for an exposed page", "/remit.d.ts", "Origin: https://shop.example", 403, "same-origin", ""},
		{"the list, for a program", "/v1/webmcp", "", 200, "same-origin", "open_status closed_status"},
		{"the list, for an exposed page", "/v1/webmcp", "Origin: https://shop.example", 200, "same-origin", "open_status"},
		{"the list, for another page", "/v1/webmcp", "Origin: https://other.example", 403, "same-origin", ""},
	} {
		request := httptest.NewRequest(http.MethodGet, "http://localhost"+c.path, nil)
		for line := range strings.Lines(c.headers) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			request.Header.Set(name, value)
		}
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, request)
		header := recorder.Header()
		if policy := header.Get("Cross-Origin-Resource-Policy"); recorder.Code != c.status || policy != c.policy {
			t.Errorf("%s: got %d under %s, want %d under %s", c.name, recorder.Code, policy, c.status, c.policy)
		}
		allowed := header.Get("Access-Control-Allow-Origin")
		if origin := request.Header.Get("Origin"); (c.status == 200 && allowed != origin) || (c.status != 200 && allowed != "") {
			t.Errorf("%s: allows the origin %q", c.name, allowed)
		}
		if header.Get("Permissions-Policy") != "tools=(self)" || strings.Contains(header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: got the header %v", c.name, header)
		}
		if c.path == "/remit.js" && c.status == 200 && (header.Get("Cache-Control") != "no-cache" || header.Get("ETag") == "") {
			t.Errorf("%s: got the header %v", c.name, header)
		}
		if c.tools != "" && strings.Join(listedNames(t, recorder.Body.Bytes()), " ") != c.tools {
			t.Errorf("%s: got %s", c.name, recorder.Body)
		}
	}
}

func listedNames(t *testing.T, body []byte) (names []string) {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	for _, listed := range list.Tools {
		names = append(names, listed.Name)
	}
	return names
}

// TestOrigins opens pages of other origins in a browser: one that is exposed
// to, which registers and calls, and one that is not.
func TestOrigins(t *testing.T) {
	var remit string
	element := func(attributes string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			page("/", `<!doctype html><title>Shop</title><script src="`+remit+`/remit.js"`+attributes+`></script>`)(w, r)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/plain", element(""))
	mux.HandleFunc("/crossorigin", element(" crossorigin"))
	mux.HandleFunc("/silent", element(` referrerpolicy="no-referrer"`))
	shop, other := start(t, mux), start(t, mux)
	set := wiretest.Set(t,
		wiretest.Service{Name: "open", Prefix: "open_", Expose: `expose: {origins: ["` + shop + `"]}`},
		wiretest.Service{Name: "closed", Prefix: "closed_"})
	remit = start(t, handler(t, set, nil))
	ctx := wiretest.Chromium(t, true)
	for _, path := range []string{"/plain", "/crossorigin"} {
		navigate(t, ctx, shop+path)
		got := evaluate[[]string](t, ctx, `
			await remit.ready;
			const tools = await document.modelContext.getTools();
			return [...tools.map(t => t.name), await document.modelContext.executeTool(tools[0], {reference: "OK001"})];`)
		served, _ := set.Lookup("open_status")
		answer := served.Call(t.Context(), tool.Call{Input: []byte(`{"reference":"OK001"}`)})
		if want := []string{"open_status", string(answer.Body)}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for _, at := range []string{other + "/plain", other + "/crossorigin", shop + "/silent"} {
		navigate(t, ctx, at)
		if got := evaluate[string](t, ctx, `return typeof window.remit + (await document.modelContext.getTools()).length`); got != "undefined0" {
			t.Errorf("%s has the script: %s", at, got)
		}
	}
	navigate(t, ctx, other+"/plain")
	for _, path := range []string{"/remit.js", "/v1/webmcp", "/v1/webmcp/open_status"} {
		for _, options := range []string{`{}`, `{method: "POST", body: "{}"}`, `{method: "POST", body: "{}", headers: {"Content-Type": "application/json"}}`} {
			if got := evaluate[string](t, ctx, fmt.Sprintf(`return await fetch(%q, %s).then(r => r.text(), () => "kept from the page")`, remit+path, options)); got != "kept from the page" {
				t.Errorf("%s of a page that is not exposed to: got %s", path, got)
			}
		}
	}
}

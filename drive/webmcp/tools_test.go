package webmcp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/drive"
	"remit.example/oracle"
)

// toolsPage registers tools that answer with what only the page's executeTool
// keeps, and some that do not answer.
const toolsPage = `<!doctype html><script>
const context = document.modelContext;
const add = (name, execute) => context.registerTool({ name, description: name, execute });
add("literal", () => ' {"price":1.0, "id":"A"}');
add("echo", (input) => JSON.stringify(input));
add("fails", () => ({ status: "invalid_input", error: "no", recovery: { code: "X" }, isError: true, content: [] }));
add("asks", async () => (await fetch("/conditions", { method: "POST" })).text());
add("leaves", () => { location.assign("/other"); return new Promise(() => {}); });
add("crashes", () => Symbol());
add("hangs", () => new Promise(() => {}));
add("tells", async () => { await fetch("/begun", { method: "POST" }); return new Promise(() => {}); });
add("rejects", () => Promise.reject(new Error("transient")));
add("prose", () => "Sorry.");
</script>`

// pageServer serves the page, its promises, what headers a call carried, and
// calls begun when a tool tells that it has.
func pageServer(t *testing.T, begun func()) string {
	t.Helper()
	mux := http.NewServeMux()
	page := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(text))
		}
	}
	mux.HandleFunc("/{$}", page(toolsPage))
	mux.HandleFunc("/other", page("<!doctype html>"))
	mux.HandleFunc("/v1/tools", page(`{"tools":[{"name":"echo","promise":"search"},{"name":"gone","promise":"search"}]}`))
	mux.HandleFunc("/conditions", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"said":"` + strings.ReplaceAll(r.Header.Get("Remit-Case")+r.Header.Get("Remit-Execution"), `"`, `'`) + `"}`))
	})
	mux.HandleFunc("/begun", func(http.ResponseWriter, *http.Request) { begun() })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func toolsOf(t *testing.T, b *Browser, address string, timeout time.Duration) *Tools {
	t.Helper()
	tools, err := b.NewTools(address, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tools.Close)
	return tools
}

// TestTools lists and calls the tools of a page; after a call without an answer
// the next one has a page again.
func TestTools(t *testing.T) {
	tools := toolsOf(t, browser(t), pageServer(t, nil), 0)
	listed, err := tools.List(t.Context())
	promises := map[string]string{}
	for _, tool := range listed {
		promises[tool.Name] = tool.Promise
	}
	if err != nil || len(listed) != 10 || promises["echo"] != "search" || promises["literal"] != "" {
		t.Errorf("got %v, %v", listed, err)
	}
	condition := &oracle.Condition{Case: "é", AuthOK: true, Response: jsontext.Value(`"OK"`)}
	for _, c := range []struct {
		name, input string
		condition   *oracle.Condition
		want        string // the body, or a part of the error
		failed      bool
	}{
		{"literal", `{}`, nil, ` {"price":1.0, "id":"A"}`, false},
		{"echo", ` {"__proto__":"x","n":1.5,"t":"\u2028'\\"}`, nil, `{"__proto__":"x","n":1.5,"t":"` + "\u2028" + `'\\"}`, false},
		{"echo", `{"isError":true,"a":1,"content":[{"text":"no"},{"text":"{\"a\":1.0}"}]}`, nil, `{"a":1.0}`, false},
		{"echo", `{"error":"No.","a":1.5,"isError":true,"content":[{"type":"text","text":"No."}]}`, nil, `{"error":"No.","a":1.5}`, true},
		{"echo", `{"isError":true,"a":1,"content":[{"text":"{\"a\":2}"}]}`, nil, `{"isError":true,"a":1,"content":[{"text":"{\"a\":2}"}]}`, true},
		{"echo", `{"a":1,"content":[{"text":"{\"a\":1}"}]}`, nil, `{"a":1,"content":[{"text":"{\"a\":1}"}]}`, false},
		{"fails", `{}`, nil, `{"status":"invalid_input","error":"no","recovery":{"code":"X"},"isError":true,"content":[]}`, true},
		{"asks", `{}`, condition, `{"said":"{'case':'\u00e9','auth_ok':true,'allowed':false,'response':'OK'}2"}`, false},
		{"asks", `{}`, nil, `{"said":""}`, false},
		{"rejects", `{}`, nil, "no answer: rejected_callback (UnknownError, Error)", false},
		{"literal", `{}`, nil, ` {"price":1.0, "id":"A"}`, false},
		{"leaves", `{}`, nil, "no answer: unloaded_document", false},
		{"literal", `{}`, nil, ` {"price":1.0, "id":"A"}`, false},
		{"crashes", `{}`, nil, "no answer: unloaded_document", false},
		{"literal", `{}`, nil, ` {"price":1.0, "id":"A"}`, false},
		{"gone", `{}`, nil, "no answer: tool_not_found (NotFound)", false},
		{"echo", `"{"`, nil, "no answer: unreadable_input (TypeError)", false},
		{"prose", `{}`, nil, `the body is not JSON: "Sorry."`, false},
	} {
		answer, err := tools.Call(t.Context(), c.name, []byte(c.input), c.condition, 2)
		got := string(answer.Body)
		if err != nil {
			got = err.Error()
		}
		if got != c.want || answer.Failed != c.failed {
			t.Errorf("%s %s: got %s, failed %v, record %s, want %s", c.name, c.input, got, answer.Failed, answer.Record, c.want)
		}
	}
}

// TestToolsHang: a call has its time, and a caller that leaves waits for none.
func TestToolsHang(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b, address := browser(t), pageServer(t, cancel)
	tools := toolsOf(t, b, address, 3*time.Second)
	if _, err := tools.Call(t.Context(), "hangs", []byte("{}"), nil, 1); err == nil || err.Error() != "no answer within 3s" {
		t.Errorf("got %v", err)
	}
	tools = toolsOf(t, b, address, time.Minute)
	if _, err := tools.Call(ctx, "tells", []byte("{}"), nil, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestNoTools: a page without WebMCP and one without tools say so.
func TestNoTools(t *testing.T) {
	path, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(t.TempDir(), "chromium")
	if err := os.WriteFile(without, []byte("#!/bin/sh\nexec "+path+" \"$@\" --disable-features=WebMCP\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := Start(t.Context(), without, false)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := toolsOf(t, b, pageServer(t, nil), 0).List(t.Context()); !errors.Is(err, ErrNoModelContext) {
		t.Errorf("got %v", err)
	}
	if _, err := toolsOf(t, b, "http://127.0.0.1:1/", 0).List(t.Context()); err == nil || !strings.Contains(err.Error(), "did not load") {
		t.Errorf("got %v", err)
	}
	for _, address := range []string{"", "localhost:1", "file:///tmp", "http://a@b/", "http://"} {
		if _, err := b.NewTools(address, 0); err == nil || !strings.Contains(err.Error(), "is no address of a page; valid: ") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

// TestBrowserEnds: the browser's processes and profile go with Close, with the
// end of its context, and where it never started.
func TestBrowserEnds(t *testing.T) {
	path, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	b, err := Start(ctx, path, true)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := b.Address(); err != nil || !strings.HasPrefix(at, "127.0.0.1:") {
		t.Errorf("got %q, %v", at, err)
	}
	if !runs(t, b.profile) {
		t.Error("no process has the profile")
	}
	cancel()
	b.Close()
	if runs(t, b.profile) {
		t.Error("a process is left")
	}
	if _, err := Start(t.Context(), "/bin/false", false); err == nil || !strings.Contains(err.Error(), "/bin/false does not start") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := Find("no-such-browser"); !errors.Is(err, ErrNoBrowser) {
		t.Errorf("got %v", err)
	}
}

// runs reports whether a process was started with the profile.
func runs(t *testing.T, profile string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), profile) { // others end meanwhile
			return true
		}
	}
	return false
}

// TestCarried: what JavaScript would change is not sent.
func TestCarried(t *testing.T) {
	for input, want := range map[string]bool{
		` { "a" : [1, -1, 0, 1.5, 1e+21, 9007199254740992], "b": "1.0" } `: true,
		`{"a":1.0}`: false, `{"a":[1e3]}`: false, `{"a":-0}`: false, `{"a":9007199254740993}`: false,
		`{"a":1E400}`: false, `{"a":1,"a":1}`: false, `{"a":`: false, `"{\"a\":1.0}"`: true,
	} {
		if got := carried(jsontext.Value(input)); got != want {
			t.Errorf("%s: got %v", input, got)
		}
	}
	_, err := (&Tools{}).Call(t.Context(), "a", []byte(`{"a":1.0}`), nil, 1)
	if !errors.Is(err, drive.ErrNotCarried) {
		t.Errorf("got %v", err)
	}
}

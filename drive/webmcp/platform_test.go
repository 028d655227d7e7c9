package webmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"remit.example/oracle"
)

// update records anew what Chromium makes of each case.
var update = flag.Bool("update", false, "rewrite testdata")

// recorded is what Chromium 156 made of each case of platform-v1, one a line.
const recorded = "testdata/chromium-156.jsonl"

// browser starts Chromium for one test.
func browser(t *testing.T) *Browser {
	t.Helper()
	path, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(t.Context(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// serve serves pages: paths to HTML.
func serve(t *testing.T, pages map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, known := pages[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		}
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func platformSuite(t *testing.T) *oracle.Suite {
	t.Helper()
	s, err := oracle.Builtin("platform-v1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPlatform runs platform-v1 in the real browser, with the script of the
// sandbox's page.
func TestPlatform(t *testing.T) {
	script, err := os.ReadFile("../../web/dist/platform.js")
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, map[string]string{
		"/sandbox/platform":       `<!doctype html><script src="/platform.js"></script><iframe src="/sandbox/platform/frame"></iframe>`,
		"/sandbox/platform/frame": `<!doctype html><script src="/platform.js"></script>`,
		"/platform.js":            string(script),
	})
	s, b := platformSuite(t), browser(t)
	done := 0
	observed, err := b.observeAll(t.Context(), s, Platform{
		Page: address + "/sandbox/platform", Timeout: time.Minute, Progress: func(n int) { done = n },
	})
	if err != nil {
		t.Fatal(err)
	}
	if done != len(s.Cases) {
		t.Errorf("told of %d cases, want %d", done, len(s.Cases))
	}
	if *update {
		record(t, s, observed, address)
	}
	for name, rule := range failedBy(t, s, observed, signs) {
		i := slices.IndexFunc(s.Cases, func(c oracle.Case) bool { return c.Name == name })
		t.Errorf("%s: %s: %+v", name, rule, observed[i])
	}
}

// failedBy is the rule by which each case fails whose facts are read by signs.
func failedBy(t *testing.T, s *oracle.Suite, observed []Observed, signs []sign) map[string]string {
	t.Helper()
	var lines bytes.Buffer
	for i, o := range observed {
		lines.Write(readingOf(s.Cases[i].Call(), readBy(signs, o), o.Begun).Line())
	}
	outcome, err := s.Judge(&lines)
	if err != nil || len(outcome.Void) > 0 {
		t.Fatal(err, outcome.Void)
	}
	rules := map[string]string{}
	for _, failure := range outcome.Failures {
		rules[failure.Case] = failure.Findings[0].Rule
	}
	return rules
}

// fact is one line of what was recorded.
type fact struct {
	Case     string
	Observed Observed
}

func record(t *testing.T, s *oracle.Suite, observed []Observed, address string) {
	t.Helper()
	var lines bytes.Buffer
	for i, o := range observed {
		o.Exception = strings.ReplaceAll(o.Exception, address, "http://127.0.0.1")
		if err := json.NewEncoder(&lines).Encode(fact{s.Cases[i].Name, o}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(recorded, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readRecorded is what was recorded of each case of the suite.
func readRecorded(t *testing.T, s *oracle.Suite) []Observed {
	t.Helper()
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var all []Observed
	for line := range bytes.Lines(text) {
		var f fact
		if err := json.Unmarshal(line, &f); err != nil || f.Case != s.Cases[len(all)].Name {
			t.Fatalf("%s: %v: run the test with -update", f.Case, err)
		}
		all = append(all, f.Observed)
	}
	return all
}

// TestPlatformErrors: what cannot be judged says why.
func TestPlatformErrors(t *testing.T) {
	b := browser(t)
	address := serve(t, map[string]string{"/bare": "<!doctype html>"})
	called, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		what, page, says string
		ctx              context.Context
		timeout          time.Duration
	}{
		{"no such page", "/sandbox/platform", "is not served; valid: a server that was started as remit serve --sandbox", t.Context(), time.Minute},
		{"no tools", "/bare", "the page registered no tool within", t.Context(), 8 * time.Second}, // a busy machine takes a while to open a tab,
		{"called off", "/bare", "context canceled", called, time.Minute},
	} {
		_, err := JudgePlatform(c.ctx, b, platformSuite(t), Platform{Page: address + c.page, Timeout: c.timeout, Progress: func(int) {}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s", c.what, err, c.says)
		}
	}
}

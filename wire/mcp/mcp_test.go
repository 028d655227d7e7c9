package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/record"
	"remit.example/tool"
	"remit.example/wire"
	"remit.example/wire/mcp"
	"remit.example/wire/wiretest"
)

var (
	noTransport = wiretest.Transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody is there") })
	breaks      = wiretest.Transport(func(*http.Request) (*http.Response, error) { panic("the transport broke") })
)

const rate = "expose: {reads: anonymous, rate: 1/min}"

// server serves the tools of one service at the endpoint /mcp.
func server(t *testing.T, options wire.Options, services ...wiretest.Service) (*wire.Service, *mcp.Server, string) {
	t.Helper()
	service, err := wire.New(wiretest.Set(t, services...), options)
	if err != nil {
		t.Fatal(err)
	}
	speaks := mcp.New(service, "test")
	mux := http.NewServeMux()
	mux.Handle("/mcp", speaks)
	web := httptest.NewServer(service.Guard(mux))
	t.Cleanup(func() {
		speaks.Close()
		web.Close()
	})
	return service, speaks, web.URL + "/mcp"
}

// eras are the newest revision and the newest of the ones with initialize.
var eras = []string{"2026-07-28", "2025-11-25"}

// connect connects the official client in an era.
func connect(t *testing.T, era string, transport sdk.Transport, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("the session speaks %s, want %s", got, era)
	}
	return session
}

// stdio is a client's transport to a server over a pair of pipes.
func stdio(t *testing.T, s *mcp.Server) sdk.Transport {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(ctx, fromClient, toClient) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return &sdk.IOTransport{Reader: fromServer, Writer: toServer}
}

// everywhere runs a test with the official client on every transport in every era.
func everywhere(t *testing.T, s wiretest.Service, test func(t *testing.T, service *wire.Service, session *sdk.ClientSession)) {
	for _, era := range eras {
		t.Run("stdio/"+era, func(t *testing.T) {
			service, speaks, _ := server(t, wire.Options{}, s)
			test(t, service, connect(t, era, stdio(t, speaks), nil))
		})
		t.Run("http/"+era, func(t *testing.T) {
			service, _, url := server(t, wire.Options{}, s)
			test(t, service, connect(t, era, &sdk.StreamableClientTransport{Endpoint: url}, nil))
		})
	}
}

func TestList(t *testing.T) {
	everywhere(t, wiretest.Service{Transport: noTransport}, func(t *testing.T, service *wire.Service, session *sdk.ClientSession) {
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		tools := service.Set().Tools()
		if len(list.Tools) != len(tools) {
			t.Fatalf("%d tools, want %d", len(list.Tools), len(tools))
		}
		for i, got := range list.Tools {
			want := tools[i]
			if got.Name != want.Name || got.Description != want.Description {
				t.Errorf("tool %d is %s: %s", i, got.Name, got.Description)
			}
			if got.Meta["remit/promise"] != string(want.Promise) {
				t.Errorf("%s: _meta %v, want the promise %s", got.Name, got.Meta, want.Promise)
			}
			same(t, got.InputSchema, want.InputSchema)
			same(t, got.OutputSchema, want.OutputSchema)
			a := got.Annotations
			read := want.Effect == record.Read
			if a.ReadOnlyHint != read || a.IdempotentHint != read || *a.DestructiveHint == read || *a.OpenWorldHint != (want.Name != "status") {
				t.Errorf("%s: annotations %+v", got.Name, a)
			}
		}
	})
}

// same compares a decoded value with JSON.
func same(t *testing.T, got any, want []byte) {
	t.Helper()
	var value any
	if err := json.Unmarshal(want, &value); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, value) {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestCall(t *testing.T) {
	everywhere(t, wiretest.Service{Transport: noTransport}, func(t *testing.T, service *wire.Service, session *sdk.ClientSession) {
		status, _ := service.Set().Lookup("status")
		for _, reference := range []string{"OK001", "AU001", "AD001", "TE001", "XX001", "NO404", "bad"} {
			input := fmt.Sprintf(`{"reference":%q}`, reference)
			want := status.Call(t.Context(), tool.Call{Input: []byte(input), Characters: tool.AgentCharacters})
			got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "status", Arguments: json.RawMessage(input)})
			if err != nil {
				t.Fatalf("%s: %v", reference, err)
			}
			check(t, got, want)
		}
	})
}

// check holds what a client got to the answer of the tool.
func check(t *testing.T, got *sdk.CallToolResult, want tool.Answer) {
	t.Helper()
	texts := []string{string(want.Body)}
	if want.Failure != nil {
		texts = []string{want.Failure.Error(), string(want.Body)}
		recovery, err := json.Marshal(got.Meta["remit/recovery"])
		if err != nil {
			t.Fatal(err)
		}
		var decoded any
		if err := json.Unmarshal(recovery, &decoded); err != nil {
			t.Fatal(err)
		}
		same(t, decoded, want.Failure.Append(nil))
	}
	if got.IsError != (want.Failure != nil) || len(got.Content) != len(texts) {
		t.Fatalf("isError %v with %d contents, want %d", got.IsError, len(got.Content), len(texts))
	}
	for i, text := range texts {
		if is := got.Content[i].(*sdk.TextContent).Text; is != text {
			t.Errorf("content %d is %s, want %s", i, is, text)
		}
	}
	same(t, got.StructuredContent, want.Body)
}

func TestUnknownTool(t *testing.T) {
	everywhere(t, wiretest.Service{}, func(t *testing.T, _ *wire.Service, session *sdk.ClientSession) {
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "statuses", Arguments: map[string]any{}})
		var protocol *jsonrpc.Error
		if !errors.As(err, &protocol) || protocol.Code != jsonrpc.CodeInvalidParams || !strings.Contains(protocol.Message, "valid: status") {
			t.Errorf("got %v, want -32602 that names status", err)
		}
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Errorf("the session must go on: %v", err)
		}
	})
}

// TestAbsentFeatures checks that what is not declared is not answered either.
func TestAbsentFeatures(t *testing.T) {
	everywhere(t, wiretest.Service{}, func(t *testing.T, _ *wire.Service, session *sdk.ClientSession) {
		c := session.InitializeResult().Capabilities
		if c.Tools == nil || c.Prompts != nil || c.Resources != nil || c.Completions != nil {
			t.Errorf("capabilities %+v", c)
		}
		_, err := session.ListPrompts(t.Context(), nil)
		var protocol *jsonrpc.Error
		if !errors.As(err, &protocol) || protocol.Code != jsonrpc.CodeMethodNotFound {
			t.Errorf("prompts/list: %v", err)
		}
	})
}

func TestBrokenTool(t *testing.T) {
	everywhere(t, wiretest.Service{Transport: breaks}, func(t *testing.T, _ *wire.Service, session *sdk.ClientSession) {
		for name, code := range map[string]record.Code{"read": wire.Internal, "hold": record.OutcomeUnknown} {
			got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: map[string]any{"reference": "OK001"}})
			if err != nil {
				t.Fatal(err)
			}
			if body := got.StructuredContent.(map[string]any); !got.IsError || body["code"] != string(code) {
				t.Errorf("%s: got %v, want %s", name, body, code)
			}
		}
		got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "status", Arguments: map[string]any{"reference": "OK001"}})
		if err != nil || got.IsError {
			t.Errorf("the server must go on: %v, %v", got, err)
		}
	})
}

// TestListChanged checks that sessions hear of a change and see it whole.
func TestListChanged(t *testing.T) {
	before, after := wiretest.Service{}, wiretest.Service{Prefix: "parcel_"}
	test := func(t *testing.T, service *wire.Service, era string, transport sdk.Transport) {
		changed := make(chan struct{}, 8)
		session := connect(t, era, transport, &sdk.ClientOptions{
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
		})
		for _, next := range []wiretest.Service{before, after} { // the first changes nothing
			if err := service.Replace(wiretest.Set(t, next)); err != nil {
				t.Fatal(err)
			}
		}
		<-changed
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "parcel_status" {
			t.Errorf("got %v, %v", list, err)
		}
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "status"}); err == nil {
			t.Error("a tool that is gone can be called")
		}
	}
	for _, era := range eras {
		t.Run("stdio/"+era, func(t *testing.T) {
			service, speaks, _ := server(t, wire.Options{}, before)
			test(t, service, era, stdio(t, speaks))
		})
		t.Run("http/"+era, func(t *testing.T) {
			service, _, url := server(t, wire.Options{}, before)
			test(t, service, era, &sdk.StreamableClientTransport{Endpoint: url})
		})
	}
}

// post sends one message as bytes and gives the answer's bytes.
func post(t *testing.T, url, message string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// callMessage calls status with arguments as they stand.
func callMessage(arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":` + arguments + `}}`
}

// TestBytes checks the bytes of requests and answers, which a client's decoder hides.
func TestBytes(t *testing.T) {
	service, _, url := server(t, wire.Options{}, wiretest.Service{})
	status, _ := service.Set().Lookup("status")
	for _, arguments := range []string{
		`{"reference":"OK001"}`,
		`{"reference":"TE001"}`,
		`{"reference":"OK001","reference":"OK001"}`,
		`{ "reference" : "OK\u003001" }`,
		`{"reference":1e0}`,
		`{"reference":9007199254740993}`,
		`{"reference":"\ud800"}`,
		`["OK001"]`,
	} {
		want := status.Call(t.Context(), tool.Call{Input: []byte(arguments), Characters: tool.AgentCharacters})
		_, got := post(t, url, callMessage(arguments))
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(got) // the library's own escapes
		if !strings.Contains(plain, `"structuredContent":`+string(want.Body)) {
			t.Errorf("%s: the structured content must have the bytes\n%s\ngot\n%s", arguments, want.Body, got)
		}
		var message struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(got), &message); err != nil {
			t.Fatal(err)
		}
		content := message.Result.Content
		if text := content[len(content)-1].Text; text != string(want.Body) {
			t.Errorf("%s: the text must be\n%s\ngot\n%s", arguments, want.Body, text)
		}
	}
}

func TestAbsentArguments(t *testing.T) {
	service, _, url := server(t, wire.Options{}, wiretest.Service{})
	status, _ := service.Set().Lookup("status")
	want := status.Call(t.Context(), tool.Call{Input: []byte("{}"), Characters: tool.AgentCharacters})
	_, got := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status"}}`)
	if !strings.Contains(got, string(want.Body)) {
		t.Errorf("got %s, want %s", got, want.Body)
	}
}

// TestSchemaBytes checks that schemas are listed to the byte.
func TestSchemaBytes(t *testing.T) {
	service, _, url := server(t, wire.Options{}, wiretest.Service{})
	_, got := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, listed := range service.Set().Tools() {
		for _, schema := range []json.RawMessage{listed.InputSchema, listed.OutputSchema} {
			if !strings.Contains(got, string(schema)) {
				t.Errorf("no %s in\n%s", schema, got)
			}
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// TestPrincipalOfEachRequest checks that a session permits nothing: each
// request of it stands for its own caller.
func TestPrincipalOfEachRequest(t *testing.T) {
	const token = "0123456789abcdef"
	_, _, url := server(t, wire.Options{Tokens: tokens(t, "agent "+token)}, wiretest.Service{})
	authorization := "Authorization: Bearer " + token
	opened, _ := post(t, url, initialize, authorization)
	session := "Mcp-Session-Id: " + opened.Header.Get("Mcp-Session-Id")
	if session == "Mcp-Session-Id: " {
		t.Fatal("no session")
	}
	post(t, url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, authorization)
	for _, c := range []struct {
		header string
		code   record.Code
	}{
		{authorization, ""},
		{"X-Nothing: at all", record.AuthRequired},
		{authorization + "x", record.AuthRequired},
	} {
		response, got := post(t, url, callMessage(`{"reference":"OK001"}`), session, c.header)
		if response.StatusCode != http.StatusOK || strings.Contains(got, `"isError":true`) != (c.code != "") || !strings.Contains(got, string(c.code)) {
			t.Errorf("%s: %d %s", c.header, response.StatusCode, got)
		}
	}
}

func TestRate(t *testing.T) {
	_, _, url := server(t, wire.Options{}, wiretest.Service{Expose: rate})
	proxied := "X-Forwarded-For: 192.0.2.1"
	if _, got := post(t, url, callMessage(`{"reference":"OK001"}`), proxied); strings.Contains(got, "isError") {
		t.Fatal(got)
	}
	_, got := post(t, url, callMessage(`{"reference":"OK001"}`), proxied)
	if !strings.Contains(got, `"code":"TEMP_UNAVAILABLE"`) || !strings.Contains(got, `"wait_kind":"throttle"`) {
		t.Error(got)
	}
}

// TestManySessions checks that clients beyond the limit are served without a
// session.
func TestManySessions(t *testing.T) {
	_, _, url := server(t, wire.Options{}, wiretest.Service{})
	mcp.SetMaxSessions(t, 2)
	for i, want := range []bool{true, true, false} {
		response, got := post(t, url, initialize)
		if has := response.Header.Get("Mcp-Session-Id") != ""; has != want || !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
			t.Errorf("client %d: session %v, want %v: %s", i, has, want, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	_, _, url := server(t, wire.Options{}, wiretest.Service{})
	large := callMessage(`{"reference":"` + strings.Repeat("x", wire.MaxBody) + `"}`)
	for _, c := range []struct {
		name, message, header string
		want                  int
	}{
		{"not JSON", "{", "X-Nothing: at all", 400},
		{"form", callMessage("{}"), "Content-Type: application/x-www-form-urlencoded", 415},
		{"large", large, "X-Nothing: at all", 413},
		{"other page", callMessage("{}"), "Origin: https://evil.example", 403},
		{"unknown session", callMessage("{}"), "Mcp-Session-Id: nobody", 404},
	} {
		if response, got := post(t, url, c.message, c.header); response.StatusCode != c.want {
			t.Errorf("%s: got %d %s, want %d", c.name, response.StatusCode, got, c.want)
		}
	}
}

// TestStdioOutput checks that nothing but messages is written, one a line.
func TestStdioOutput(t *testing.T) {
	_, speaks, _ := server(t, wire.Options{}, wiretest.Service{})
	in := strings.NewReader(initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + strings.Replace(callMessage(`{"reference":"OK001"}`), `"id":1`, `"id":2`, 1) + "\n")
	var out bytes.Buffer
	if err := speaks.ServeStdio(t.Context(), io.NopCloser(in), closer{&out}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want the 2 answers:\n%s", len(lines), &out)
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no message: %s", line)
		}
	}
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/contract"
	"remit.example/guard"
	"remit.example/operation"
)

// asServer makes the test binary run as an MCP server over its standard input
// and output.
const asServer = "REMIT_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	restartPause = 20 * time.Millisecond
	os.Exit(m.Run())
}

// newServer has a read that counts its calls, one that fails, one that tells
// how far it is, a write, and one that ends the process.
func newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "upstream", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}`)
	var calls atomic.Int64
	add := func(name string, schema json.RawMessage, handler sdk.ToolHandler) {
		server.AddTool(&sdk.Tool{Name: name, Description: "Returns " + name + ".", InputSchema: schema}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			calls.Add(1)
			return handler(ctx, r)
		})
	}
	text := func(format string, args ...any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
	}
	add("get_thing", object, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text("thing %s", r.Params.Arguments)
	})
	add("get_status", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(`{"state":"set"}`)
	})
	add("get_calls", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text("%d calls", calls.Load())
	})
	add("get_missing", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		result, err := text("There is no such thing.")
		result.IsError = true
		return result, err
	})
	add("get_slowly", object, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3})
			if err != nil {
				return nil, err
			}
		}
		return text("done")
	})
	keyed := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"key":{"type":"string"}},"required":["id","key"],"additionalProperties":false}`)
	add("set_thing", keyed, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var arguments struct{ Key string }
		if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil || arguments.Key == "" {
			return nil, fmt.Errorf("no key in %s", r.Params.Arguments)
		}
		if strings.Contains(string(r.Params.Arguments), "lost") {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "Who knows"}}}, nil
		}
		return text("set, as call %d", calls.Load())
	})
	add("end_server", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(7)
		return nil, nil
	})
	return server
}

const declared = `remit: 1
service: things
upstream: {stdio: [things]}
tools:
  get_*: {effect: read}
  set_thing: {effect: keyed, key: {argument: key, by: guard}, identity: [id], status: {tool: get_status, with: {id: id}, applied: {/state: set}}}
  end_server: {effect: unsafe}
  other_*: {effect: unsafe}
`

// eras are the newest revision and the newest of the ones with initialize.
var eras = []string{"2026-07-28", "2025-11-25"}

func newGuard(t *testing.T, mode contract.Mode) *guard.Guard {
	t.Helper()
	return newGuardOn(t, mode, operation.NewMemory(time.Now))
}

func newGuardOn(t *testing.T, mode contract.Mode, store operation.Store) *guard.Guard {
	t.Helper()
	c, err := contract.Parse("things.yaml", []byte(declared))
	if err != nil {
		t.Fatal(err)
	}
	g := guard.New(guard.Options{Contract: c, Upstream: "things", Mode: mode, Store: store})
	t.Cleanup(g.Wait)
	return g
}

// upstreamHTTP serves newServer over HTTP.
func upstreamHTTP(t *testing.T, era string) *url.URL {
	t.Helper()
	server := newServer()
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: era == eras[0]}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func upstreamCommand(t *testing.T) Command {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Args: []string{program}, Env: append(os.Environ(), asServer+"=1"), Stderr: t.Output()}
}

// pipes are a client's and a guard's ends of standard input and output.
func pipes() (client *sdk.IOTransport, in io.ReadCloser, out io.WriteCloser) {
	toGuard, fromClient := io.Pipe()
	toClient, fromGuard := io.Pipe()
	return &sdk.IOTransport{Reader: toClient, Writer: fromClient}, toGuard, fromGuard
}

// forms are the ways in which a client may stand before an upstream.
var forms = map[string]func(t *testing.T, g *guard.Guard, era string) sdk.Transport{
	"stdio to process": func(t *testing.T, g *guard.Guard, _ string) sdk.Transport {
		client, in, out := pipes()
		serving(t, in, out, func() error { return ServeStdio(t.Context(), g, "local:0", in, out, upstreamCommand(t)) })
		return client
	},
	"stdio to HTTP": func(t *testing.T, g *guard.Guard, era string) sdk.Transport {
		client, in, out := pipes()
		serving(t, in, out, func() error { return ServeRemote(t.Context(), g, "local:0", in, out, upstreamHTTP(t, era), nil) })
		return client
	},
	"HTTP to process": func(t *testing.T, g *guard.Guard, _ string) sdk.Transport {
		bridge := NewBridge(g, upstreamCommand(t), Identified(nil))
		t.Cleanup(bridge.Close)
		s := httptest.NewServer(Access{Listen: "127.0.0.1:0"}.Limit(bridge))
		t.Cleanup(s.Close)
		return &sdk.StreamableClientTransport{Endpoint: s.URL + "/mcp"}
	},
	"HTTP to HTTP": func(t *testing.T, g *guard.Guard, era string) sdk.Transport {
		s := httptest.NewServer(Access{Listen: "127.0.0.1:0"}.Limit(NewHTTP(g, upstreamHTTP(t, era), Identified(nil))))
		t.Cleanup(s.Close)
		return &sdk.StreamableClientTransport{Endpoint: s.URL + "/mcp"}
	},
}

// serving runs a guard over lines until the test ends.
func serving(t *testing.T, in io.Closer, out io.Closer, serve func() error) {
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	t.Cleanup(func() {
		_ = in.Close()
		_ = out.Close()
		if err := <-ended; err != nil && err != io.ErrClosedPipe {
			t.Error(err)
		}
	})
}

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

// called is the first text of a call's answer, with ! before one that failed.
func called(t *testing.T, session *sdk.ClientSession, name string, arguments map[string]any) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		return "!" + text
	}
	return text
}

// inEveryForm runs a test for each form and era.
func inEveryForm(t *testing.T, test func(t *testing.T, era string, stand func(*guard.Guard) sdk.Transport)) {
	for name, form := range forms {
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				test(t, era, func(g *guard.Guard) sdk.Transport { return form(t, g, era) })
			})
		}
	}
}

// TestForms lists and calls with the official client, in every form: a refused
// call is sent once, a write gets a key that the list does not show.
func TestForms(t *testing.T) {
	inEveryForm(t, func(t *testing.T, era string, stand func(*guard.Guard) sdk.Transport) {
		session := connect(t, era, stand(newGuard(t, "")), nil)
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]string{}
		for _, tool := range list.Tools {
			schema, err := json.Marshal(tool.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			names[tool.Name] = string(schema)
		}
		if len(names) != 8 || names[guard.StatusTool] == "" || strings.Contains(names["set_thing"], "key") {
			t.Errorf("listed: %v", names)
		}
		if got := called(t, session, "get_thing", map[string]any{"id": "a"}); got != `thing {"id":"a"}` {
			t.Error(got)
		}
		for range 10 {
			if got := called(t, session, "get_missing", map[string]any{"id": "a"}); !strings.HasPrefix(got, "!There is no such thing.") {
				t.Error(got)
			}
		}
		if got := called(t, session, "get_missing", map[string]any{"it": 1}); !strings.Contains(got, "do not fit the tool's schema. it: unknown argument") {
			t.Error(got)
		}
		if got := called(t, session, "set_thing", map[string]any{"id": "a"}); got != "set, as call 3" {
			t.Error(got)
		}
		if got := called(t, session, "get_calls", nil); got != "4 calls" {
			t.Error(got)
		}
	})
}

// TestProgress: what a server tells on its way to an answer reaches the client.
func TestProgress(t *testing.T) {
	inEveryForm(t, func(t *testing.T, era string, stand func(*guard.Guard) sdk.Transport) {
		told := make(chan struct{}, 3)
		session := connect(t, era, stand(newGuard(t, "")), &sdk.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { told <- struct{}{} },
		})
		params := &sdk.CallToolParams{Name: "get_slowly"}
		params.SetProgressToken("here")
		result, err := session.CallTool(t.Context(), params)
		if err != nil || result.IsError {
			t.Fatal(result, err)
		}
		for range 3 {
			select {
			case <-told:
			case <-time.After(30 * time.Second):
				t.Fatal("the client was not told")
			}
		}
	})
}

// TestServerEnds: a server that ends in a write leaves it unknown, and the next
// call starts it again.
func TestServerEnds(t *testing.T) {
	for name, form := range forms {
		if !strings.HasSuffix(name, "process") {
			continue
		}
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				session := connect(t, era, form(t, newGuard(t, ""), era), nil)
				for _, want := range []string{"!No answer came from the server. Whether the call took effect is not known.", "!Whether operation"} {
					if got := called(t, session, "end_server", nil); !strings.HasPrefix(got, want) {
						t.Error(got)
					}
				}
				got := ""
				for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
					if got = called(t, session, "get_thing", map[string]any{"id": fmt.Sprint(time.Now().UnixNano())}); !strings.HasPrefix(got, "!") {
						return
					}
				}
				t.Errorf("the server does not come back: %s", got)
			})
		}
	}
}

// TestObserved: a guard that observes changes nothing, to the byte.
func TestObserved(t *testing.T) {
	upstream := upstreamHTTP(t, eras[0])
	s := httptest.NewServer(NewHTTP(newGuard(t, contract.Observe), upstream, Identified(nil)))
	defer s.Close()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_missing","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_missing","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		direct, guarded := posted(t, upstream.String(), body), posted(t, s.URL+"/mcp", body)
		if direct != guarded {
			t.Errorf("direct\n%s\nguarded\n%s", direct, guarded)
		}
	}
}

// posted is the status, the header that counts and the body of an answer.
func posted(t *testing.T, address, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var message struct {
		Method string
		Params struct{ Name string }
	}
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
		"Mcp-Method": message.Method, "Mcp-Name": message.Params.Name,
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, response.Header.Get("Content-Type"), "\n", string(text))
}

// TestBatch: a list of messages is taken apart, each held to the contract, and
// answered with a list.
func TestBatch(t *testing.T) {
	upstream := scripted(t, func(w http.ResponseWriter, tool, id string) {
		w.Header().Set("Content-Type", "application/json")
		if id == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":%q}]}}`, id, tool)
	})
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	call := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_missing"}}`, id)
	}
	note := `{"jsonrpc":"2.0","method":"notifications/x"}`
	response, err := http.Post(s.URL+"/mcp", "application/json", strings.NewReader("["+call(1)+","+note+","+call(2)+",7]"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var got []struct {
		ID     any
		Result struct{ Content []struct{ Text string } }
		Error  *struct{ Code int }
	}
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Result.Content[0].Text != "get_missing" || !strings.Contains(got[1].Result.Content[0].Text, "nothing was sent") || got[1].ID != 2.0 || got[2].Error == nil {
		t.Errorf("%+v", got)
	}
	response, err = http.Post(s.URL+"/mcp", "application/json", strings.NewReader("["+note+"]"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		t.Errorf("notifications alone: %s", response.Status)
	}
}

// TestSameIDs: clients that call a process over HTTP without sessions may use
// one id at a time, and get their own answers.
func TestSameIDs(t *testing.T) {
	bridge := NewBridge(newGuard(t, ""), upstreamCommand(t), Identified(nil))
	t.Cleanup(bridge.Close)
	s := httptest.NewServer(bridge)
	t.Cleanup(s.Close)
	var calling sync.WaitGroup
	for i := range 20 {
		calling.Go(func() {
			meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
			got := posted(t, s.URL+"/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_thing","arguments":{"id":"n%d"},%s}}`, i, meta))
			if want := fmt.Sprintf(`thing {\"id\":\"n%d\"}`, i); !strings.Contains(got, want) || !strings.Contains(got, `"id":1,`) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	calling.Wait()
}

// TestStatusOverForms: in every form the guard asks the contract's status tool
// for a write whose answer was lost.
func TestStatusOverForms(t *testing.T) {
	inEveryForm(t, func(t *testing.T, era string, stand func(*guard.Guard) sdk.Transport) {
		store := operation.NewMemory(time.Now)
		session := connect(t, era, stand(newGuardOn(t, "", store)), nil)
		if got := called(t, session, "set_thing", map[string]any{"id": "lost"}); !strings.HasPrefix(got, "!") {
			t.Fatal(got)
		}
		all, err := store.List(t.Context(), operation.Filter{}, "", 10)
		if err != nil || len(all) != 1 || all[0].State != operation.Unknown {
			t.Fatal(all, err)
		}
		if got := called(t, session, guard.StatusTool, map[string]any{"id": all[0].ID}); !strings.Contains(got, `"state":"confirmed","message":"The operation took effect. Nothing was sent again."`) {
			t.Error(got)
		}
	})
}

// TestLearned: a client that never asked for the tools is held to their schemas
// and hints all the same.
func TestLearned(t *testing.T) {
	inEveryForm(t, func(t *testing.T, era string, stand func(*guard.Guard) sdk.Transport) {
		session := connect(t, era, stand(newGuard(t, "")), nil)
		if got := called(t, session, "get_missing", map[string]any{"it": 1}); !strings.Contains(got, "it: unknown argument") {
			t.Error(got)
		}
		if got := called(t, session, "get_calls", nil); got != "1 calls" {
			t.Error(got)
		}
	})
}

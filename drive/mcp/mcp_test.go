package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/drive"
	"remit.example/oracle"
)

// eras are the newest revision and the newest of the ones with initialize.
var eras = []string{"2026-07-28", "2025-11-25"}

// asServer makes this test binary a server on its standard input and output.
const asServer = "DRIVE_MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "":
		os.Exit(m.Run())
	case "dies":
		fmt.Fprintln(os.Stderr, "no licence was found")
		os.Exit(1)
	case "dies later":
		s := newServer(oracle.RecoveryV1, func(*sdk.CallToolResult) (*sdk.CallToolResult, error) {
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(2)
			return nil, nil
		})
		_ = s.Run(context.Background(), &sdk.StdioTransport{})
	default:
		_ = newServer(oracle.Contract(os.Getenv(asServer)), asItIs).Run(context.Background(), &sdk.StdioTransport{})
	}
}

// change makes a right answer wrong.
type change func(*sdk.CallToolResult) (*sdk.CallToolResult, error)

func asItIs(r *sdk.CallToolResult) (*sdk.CallToolResult, error) { return r, nil }

// newServer answers as every built-in suite of a contract demands; its tools
// are listed one a page.
func newServer(contract oracle.Contract, change change) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{PageSize: 1})
	suites := suitesOf(contract)
	for name, promise := range map[string]string{
		"delivery_status": "lookup", "find": "search", "rank_preferences": "rank_preferences", "assess_suitability": "assess_suitability",
	} {
		s.AddTool(&sdk.Tool{
			Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Meta: sdk.Meta{"remit/promise": promise},
		}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			right := correct(suites, r)
			if right == nil {
				return nil, fmt.Errorf("nobody asked for %s with %v", r.Params.Arguments, r.Params.Meta)
			}
			return change(right)
		})
	}
	return s
}

// suitesOf are the built-in suites of a contract.
func suitesOf(contract oracle.Contract) []*oracle.Suite {
	var suites []*oracle.Suite
	for _, name := range oracle.Names() {
		suite, err := oracle.Builtin(name)
		if err != nil {
			panic(err)
		}
		if suite.Contract == contract {
			suites = append(suites, suite)
		}
	}
	return suites
}

// correct is the answer that a suite demands; nil where none asks for it.
func correct(suites []*oracle.Suite, r *sdk.CallToolRequest) *sdk.CallToolResult {
	for _, suite := range suites {
		for i := range suite.Cases {
			c := &suite.Cases[i]
			if suite.Contract == oracle.CatalogueV1 {
				if _, request := c.Request(); string(request) == string(r.Params.Arguments) && r.Params.Meta["remit/case"] == nil {
					return catalogueAnswer(string(c.Oracle[0]))
				}
			} else if record := recordOf(c, r); record != nil {
				return recoveryAnswer(record)
			}
		}
	}
	return nil
}

// recordOf is what must be answered to an execution of a case; nil if the call
// is none.
func recordOf(c *oracle.Case, r *sdk.CallToolRequest) []byte {
	got, err := json.Marshal(r.Params.Meta["remit/case"])
	if err != nil {
		panic(err)
	}
	if !strings.Contains(string(got), `"case":"`+c.Name+`"`) {
		return nil
	}
	for n, e := range c.Executions() {
		var decoded any // as the server's library has it
		want, err := json.Marshal(e.Condition)
		if err == nil {
			err = json.Unmarshal(want, &decoded)
		}
		if err == nil {
			want, err = json.Marshal(decoded)
		}
		if err != nil {
			panic(err)
		}
		if string(got) == string(want) && r.Params.Meta["remit/execution"] == float64(n+1) && string(e.Input) == string(r.Params.Arguments) {
			return c.Records[n]
		}
	}
	return nil
}

func success(body string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: body}}, StructuredContent: json.RawMessage(body)}
}

func failure(leading, record string) *sdk.CallToolResult {
	r := success(leading + `"error":"No.","code":"INVALID_ARGUMENT","retryable":false,"recovery":` + record + `}`)
	r.IsError = true
	r.Content = slices.Insert(r.Content, 0, sdk.Content(&sdk.TextContent{Text: "No."}))
	r.Meta = sdk.Meta{"remit/recovery": json.RawMessage(record)}
	return r
}

// catalogueAnswer is a literal as a server answers it.
func catalogueAnswer(literal string) *sdk.CallToolResult {
	if !strings.Contains(literal, `"status":"invalid_input"`) {
		return success(literal)
	}
	return failure(strings.TrimSuffix(literal, "}")+",", `{"code":"INVALID_ARGUMENT","message":"No.","field":`+fieldOf(literal)+`,"retry_after_ms":null}`)
}

// fieldOf is the JSON of a literal's field.
func fieldOf(literal string) string {
	var answer struct {
		Field json.RawMessage `json:"field"`
	}
	if err := json.Unmarshal([]byte(literal), &answer); err != nil {
		panic(err)
	}
	return string(answer.Field)
}

// recoveryAnswer is what a record demands.
func recoveryAnswer(line []byte) *sdk.CallToolResult {
	var want struct {
		Record struct {
			Code  string
			Field json.RawMessage
			Wait  json.RawMessage `json:"retry_after_ms"`
		}
		Names []string `json:"message_names"`
	}
	if err := json.Unmarshal(line, &want); err != nil {
		panic(err)
	}
	if want.Record.Code == "OK" {
		return success(`{"status":"in_transit"}`)
	}
	code, err := json.Marshal(want.Record.Code)
	if err != nil {
		panic(err)
	}
	return failure("{", fmt.Sprintf(`{"code":%s,"message":"No. %s","field":%s,"retry_after_ms":%s}`,
		code, strings.Join(want.Names, " "), want.Record.Field, want.Record.Wait))
}

func builtin(t *testing.T, name string) *oracle.Suite {
	t.Helper()
	s, err := oracle.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve serves over HTTP, and dials.
func serve(t *testing.T, s *sdk.Server, era string) *Tools {
	t.Helper()
	served := httptest.NewServer(handler(s, era))
	t.Cleanup(served.Close)
	return dial(t, served.URL, era)
}

func handler(s *sdk.Server, era string) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: era == eras[0]})
}

func dial(t *testing.T, target, era string) *Tools {
	t.Helper()
	tools, err := Dial(t.Context(), target, Options{Revision: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tools.Close() })
	if tools.Revision() != era {
		t.Fatalf("the session speaks %s, want %s", tools.Revision(), era)
	}
	return tools
}

func judge(t *testing.T, suite string, tools *Tools) *oracle.Outcome {
	t.Helper()
	o, err := drive.JudgeTools(t.Context(), builtin(t, suite), tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// self is the command line of this test binary.
func self(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "'" + program + "' -test.run '^$'"
}

// TestConforms: every case of every built-in suite passes where the answers are
// right, in both eras, over HTTP and over standard input and output.
func TestConforms(t *testing.T) {
	for _, era := range eras {
		for _, name := range oracle.Names() {
			suite := builtin(t, name)
			t.Setenv(asServer, string(suite.Contract))
			for wire, tools := range map[string]*Tools{
				"http": serve(t, newServer(suite.Contract, asItIs), era), "stdio": dial(t, self(t), era),
			} {
				if o := judge(t, name, tools); o.Failed > 0 || len(o.Void) > 0 || o.Passed != len(suite.Cases) {
					t.Errorf("%s, %s, %s: %d passed, %+v, %q", era, wire, name, o.Passed, o.Failures, o.Void)
				}
			}
		}
	}
}

// TestList reads every page.
func TestList(t *testing.T) {
	for _, era := range eras {
		tools, err := serve(t, newServer(oracle.RecoveryV1, asItIs), era).List(t.Context())
		const want = "[{assess_suitability assess_suitability} {delivery_status lookup} {find search} {rank_preferences rank_preferences}]"
		if got := fmt.Sprint(tools); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", era, got, err, want)
		}
	}
}

// replaced changes the texts of an answer, and the record beside.
func replaced(from, to string) change {
	return func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
		for _, content := range r.Content {
			text := content.(*sdk.TextContent)
			text.Text = strings.Replace(text.Text, from, to, 1)
		}
		if record, ok := r.Meta["remit/recovery"].(json.RawMessage); ok {
			r.Meta["remit/recovery"] = json.RawMessage(strings.Replace(string(record), from, to, 1))
		}
		return r, nil
	}
}

// TestWrong: an answer that breaks a rule fails its case by that rule.
func TestWrong(t *testing.T) {
	for _, c := range []struct {
		what, suite string
		change      change
		rule        string
		failed      int
	}{
		{"another code", "recovery-v1", replaced(`{"code":"ACCESS_DENIED"`, `{"code":"AUTH_REQUIRED"`), "record-code", 1},
		{"another wait", "recovery-v1", replaced(`"retry_after_ms":1000`, `"retry_after_ms":999`), "record-wait", 2},
		{"no record at all", "recovery-v1", func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
			r.Meta = nil
			return replaced(`"recovery"`, `"recover"`)(r)
		}, "no-record", 8},
		{"a sentence alone", "recovery-v1", func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
			r.Meta, r.Content, r.StructuredContent = nil, []sdk.Content{&sdk.TextContent{Text: "It failed."}}, nil
			r.IsError = true
			return r, nil
		}, "no-record", 9},
		{"records that differ", "recovery-v1", func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
			if r.IsError {
				r.Meta["remit/recovery"] = json.RawMessage(`{"code":"OK"}`)
			}
			return r, nil
		}, "no-record", 8},
		{"one item too many", "catalogue-v1", replaced(`["A","B","D"],"basis"`, `["A","B","D","E"],"basis"`), "admits-non-match", 1},
		{"another order of members", "catalogue-v1", replaced(`"request_id":"S1","status":"matches"`, `"status":"matches","request_id":"S1"`), "form", 1},
		{"a failure that says it is none", "catalogue-v1", func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
			r.IsError = true
			return r, nil
		}, "wire-failure", 5},
	} {
		o := judge(t, c.suite, serve(t, newServer(builtin(t, c.suite).Contract, c.change), eras[0]))
		if o.ByRule[c.rule] != c.failed || o.Failed != c.failed || len(o.Void) > 0 {
			t.Errorf("%s: got %v and %q, want %s %d times", c.what, o.ByRule, o.Void, c.rule, c.failed)
		}
	}
}

// TestRight: a record in one of the two places will do, and an error that is
// only told by a member of the body.
func TestRight(t *testing.T) {
	for what, change := range map[string]change{
		"no _meta":    func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) { r.Meta = nil; return r, nil },
		"_meta alone": replaced(`,"recovery":`, `,"recovered":`),
		"no isError": func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
			if r.IsError {
				r.IsError, r.Content, r.StructuredContent = false, r.Content[1:], nil
			}
			return r, nil
		},
		"the error in structuredContent": func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
			r.IsError = false
			return r, nil
		},
	} {
		if o := judge(t, "recovery-v1", serve(t, newServer(oracle.RecoveryV1, change), eras[0])); o.Failed > 0 || len(o.Void) > 0 {
			t.Errorf("%s: got %+v, %q", what, o.Failures, o.Void)
		}
	}
}

// TestNoAnswer: what is no answer fails no case and makes the run void.
func TestNoAnswer(t *testing.T) {
	for _, era := range eras {
		for want, change := range map[string]change{
			`the body is not JSON: "three lights"`: func(*sdk.CallToolResult) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "three lights"}}}, nil
			},
			"the answer has no text content": func(r *sdk.CallToolResult) (*sdk.CallToolResult, error) { r.Content = nil; return r, nil },
			"no such luck": func(*sdk.CallToolResult) (*sdk.CallToolResult, error) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such luck"}
			},
		} {
			o := judge(t, "catalogue-v1", serve(t, newServer(oracle.CatalogueV1, change), era))
			if o.Passed+o.Failed > 0 || len(o.Void) != 4 || !strings.HasPrefix(o.Void[0], "S1, execution 1: ") || !strings.Contains(o.Void[0], want) {
				t.Errorf("%s: got %d passed, %d failed, %q", want, o.Passed, o.Failed, o.Void)
			}
		}
	}
}

// TestTooLong: a text has a bound.
func TestTooLong(t *testing.T) {
	if _, err := read(success(`"` + strings.Repeat("a", 1<<20) + `"`)); err == nil || err.Error() != "a text of the answer is longer than 1048576 bytes" {
		t.Errorf("got %v", err)
	}
}

// TestInput: a server that asks for more input has not answered.
func TestInput(t *testing.T) {
	tools := serve(t, newServer(oracle.RecoveryV1, func(*sdk.CallToolResult) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"a": &sdk.ElicitParams{Message: "Which?"}}}, nil
	}), eras[0])
	o := judge(t, "recovery-v1", tools)
	if len(o.Void) == 0 || !strings.Contains(o.Void[0], "asks for more input") {
		t.Errorf("got %+v", o)
	}
}

// TestHangs: a server that does not answer is a fault once the time is over.
func TestHangs(t *testing.T) {
	for _, era := range eras {
		released := make(chan struct{})
		s := newServer(oracle.RecoveryV1, asItIs)
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				if strings.HasPrefix(method, "tools/") {
					<-released // the library does not tell a handler that its client has gone
				}
				return next(ctx, method, r)
			}
		})
		tools := serve(t, s, era)
		t.Cleanup(func() { close(released) })
		tools.timeout = 20 * time.Millisecond
		if _, err := tools.List(t.Context()); err == nil || err.Error() != "no answer within 20ms" {
			t.Errorf("%s: got %v", era, err)
		}
		if _, err := tools.Call(t.Context(), "find", []byte(`{}`), nil, 1); err == nil || err.Error() != "no answer within 20ms" {
			t.Errorf("%s: got %v", era, err)
		}
	}
}

// TestDial: why there is no session.
func TestDial(t *testing.T) {
	legacy := httptest.NewServer(handler(newServer(oracle.RecoveryV1, asItIs), eras[1]))
	defer legacy.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer page.Close()
	released := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && strings.Contains(string(body), "notifications/cancelled") {
			w.WriteHeader(http.StatusAccepted) // the library waits for as long as 5 s to say that it has given up
			return
		}
		<-released
	}))
	defer hanging.Close()
	defer close(released)
	t.Setenv(asServer, "dies")
	for _, c := range []struct{ target, revision, want string }{
		{legacy.URL, "2024-01-01", `speaks the revision "2025-11-25", and 2024-01-01 was asked for`},
		{page.URL, "", "no session"},
		{"http://user@127.0.0.1", "", "is no address of a server"},
		{"HTTPS://", "", "is no address of a server"},
		{"", "", "no target; valid: an http or https address, or a command"},
		{`remit serve "--stdio`, "", `the quote " is not closed`},
		{"/nowhere/at-all --stdio", "", "no session: fork/exec /nowhere/at-all: no such file or directory"},
		{self(t), "", "its standard error ends with:\nno licence was found"},
	} {
		_, err := Dial(t.Context(), c.target, Options{Revision: c.revision})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.target, err, c.want)
		}
	}
	if _, err := Dial(t.Context(), hanging.URL, Options{Timeout: 20 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "no session: no answer within 20ms") {
		t.Errorf("hanging: got %v", err)
	}
}

// TestDies: the end of a command is a fault, with what it said last.
func TestDies(t *testing.T) {
	t.Setenv(asServer, "dies later")
	o := judge(t, "recovery-v1", dial(t, self(t), eras[0]))
	if o.Passed+o.Failed > 0 || len(o.Void) == 0 || !strings.Contains(o.Void[0], "its standard error ends with:\nout of memory") {
		t.Errorf("got %+v", o)
	}
}

// TestToken: a token goes along with every request.
func TestToken(t *testing.T) {
	next := handler(newServer(oracle.RecoveryV1, asItIs), eras[0])
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer abc" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
	defer served.Close()
	tools, err := Dial(t.Context(), served.URL, Options{Token: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	if list, err := tools.List(t.Context()); err != nil || len(list) != 4 {
		t.Errorf("got %v, %v", list, err)
	}
	if _, err := Dial(t.Context(), served.URL, Options{}); err == nil {
		t.Error("a session without a token")
	}
}

// TestBytes: arguments reach the server to the byte.
func TestBytes(t *testing.T) {
	const input = `{"n":6000.0,"e":6e3,"t":"<&> \u00fc ü","big":12345678901234567890}`
	for _, era := range eras {
		var got string
		s := newServer(oracle.CatalogueV1, asItIs)
		s.AddTool(&sdk.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			got = string(r.Params.Arguments)
			return success(got), nil
		})
		answer, err := serve(t, s, era).Call(t.Context(), "echo", []byte(input), nil, 1)
		if err != nil || got != input || string(answer.Body) != input {
			t.Errorf("%s: the server got %s, and answered %s, %v", era, got, answer.Body, err)
		}
	}
}

// TestSplit takes command lines apart.
func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"remit serve --stdio":            {"remit", "serve", "--stdio"},
		" remit\t'a folder'  \"it's\"\n": {"remit", "a folder", "it's"},
		`a"b c"d '' C:\x`:                {"ab cd", "", `C:\x`},
		`x 'say "it"' --name="a b"`:      {"x", `say "it"`, "--name=a b"},
		`ünï cödé`:                       {"ünï", "cödé"},
	} {
		got, err := split(line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"a 'b", `a "b'`, "", "  ", "''"} {
		if got, err := split(line); err == nil {
			t.Errorf("%q: got %q", line, got)
		}
	}
}

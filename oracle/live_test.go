package oracle_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.example/oracle"
)

// answered is what an application did with one call.
func answered(status int, body string) oracle.Observed {
	return oracle.Observed{Status: status, Body: []byte(body)}
}

// refusal is the body of a right failure.
func refusal(code, field, wait string) string {
	return `{"error":"It failed.","code":"` + code + `","retryable":` + strconv.FormatBool(code == "TEMP_UNAVAILABLE") + `,"recovery":{"code":"` + code + `","message":"Why it failed.","field":` + field + `,"retry_after_ms":` + wait + `}}`
}

// TestLive: what is right of an application, and the difference otherwise.
func TestLive(t *testing.T) {
	baseline := oracle.Provocation{Rule: "live-baseline"}
	malformed := oracle.Provocation{Rule: "live-malformed", Codes: []string{"INVALID_ARGUMENT"}, Field: "ref"}
	unnamed := oracle.Provocation{Rule: "live-malformed", Codes: []string{"INVALID_ARGUMENT"}}
	outage := oracle.Provocation{Rule: "live-dependency", Codes: []string{"TEMP_UNAVAILABLE", "OUTCOME_UNKNOWN"}}
	invalid, waits := refusal("INVALID_ARGUMENT", `"ref"`, "null"), refusal("TEMP_UNAVAILABLE", "null", "1000")
	for _, c := range []struct {
		name   string
		p      oracle.Provocation
		o      oracle.Observed
		differ string
	}{
		{"an answer", baseline, answered(200, `{}`), ""},
		{"an answer of another status", baseline, answered(299, `{}`), ""},
		{"no answer", baseline, oracle.Observed{Status: 200, Body: []byte(`{}`), Lost: "it was broken off"}, "it was broken off"},
		{"a status below", baseline, answered(199, `{}`), "the application answered with the status 199"},
		{"a status above", baseline, answered(300, `{}`), "the application answered with the status 300"},
		{"a list", baseline, answered(200, `[]`), "the body is no JSON object without the member error"},
		{"an error in an answer", baseline, answered(200, `{"error":null}`), "the body is no JSON object without the member error"},
		{"a failure for an answer", baseline, answered(400, invalid), "the application answered with the failure INVALID_ARGUMENT"},
		{"a record without a code", baseline, answered(400, strings.ReplaceAll(invalid, `"code":"INVALID_ARGUMENT",`, "")), "the application answered with the status 400"},

		{"a failure", malformed, answered(400, invalid), ""},
		{"a failure with a good status", malformed, answered(200, invalid), ""},
		{"a failure that may be repeated", malformed, answered(400, strings.Replace(invalid, "false", "true", 1)), "retryable is true beside INVALID_ARGUMENT"},
		{"a failure after a wait", malformed, answered(400, strings.Replace(invalid, `ms":null`, `ms":0`, 1)), ""},
		{"a failure of no field", unnamed, answered(400, refusal("INVALID_ARGUMENT", "null", "null")), ""},
		{"lost", malformed, oracle.Observed{Status: 400, Body: []byte(invalid), Lost: "it was broken off"}, "it was broken off"},
		{"a redirect", malformed, answered(399, invalid), "status 399 is a redirect, which nobody follows with a call"},
		{"no JSON", malformed, answered(400, `<p>`), "the body: it is no JSON object"},
		{"no failure", outage, answered(200, `{}`), "the application answered without a failure, expected TEMP_UNAVAILABLE or OUTCOME_UNKNOWN"},
		{"no record", malformed, answered(400, `{"error":"It failed."}`), "the failure carries no record"},
		{"another code", malformed, answered(400, refusal("ACCESS_DENIED", "null", "null")), `code is "ACCESS_DENIED", expected INVALID_ARGUMENT`},
		{"a number as the code", malformed, answered(400, strings.ReplaceAll(invalid, `"INVALID_ARGUMENT"`, `1`)), `code is 1, expected INVALID_ARGUMENT`},
		{"another field", malformed, answered(400, refusal("INVALID_ARGUMENT", `"count"`, "null")), `field is "count", expected ref`},
		{"no field", malformed, answered(400, refusal("INVALID_ARGUMENT", `null`, "null")), `field is null, expected ref`},
		{"a field too many", unnamed, answered(400, invalid), `field is "ref", expected null`},
		{"a number as the field", unnamed, answered(400, refusal("INVALID_ARGUMENT", `1`, "null")), `field is 1; valid: a text or null`},
		{"a wait below 0", malformed, answered(400, refusal("INVALID_ARGUMENT", `"ref"`, "-1")), `retry_after_ms is -1; valid: a whole number of at least 0, or null`},
		{"half a wait", malformed, answered(400, refusal("INVALID_ARGUMENT", `"ref"`, "0.5")), `retry_after_ms is 0.5; valid: a whole number of at least 0, or null`},
		{"two faults", malformed, answered(400, refusal("INVALID_ARGUMENT", `"count"`, "-1")), `field is "count", expected ref; retry_after_ms is -1; valid: a whole number of at least 0, or null`},
		{"no error", malformed, answered(400, strings.Replace(invalid, `"error":"It failed.",`, "", 1)), "error is no text"},
		{"an empty error", malformed, answered(400, strings.Replace(invalid, `It failed.`, "", 1)), "error is no text"},
		{"two codes", malformed, answered(400, strings.Replace(invalid, `"code":"INVALID_ARGUMENT"`, `"code":"OTHER"`, 1)), "code is not that of the record"},
		{"no retryable", malformed, answered(400, strings.Replace(invalid, `"retryable":false,`, "", 1)), "retryable is no Boolean"},

		{"a wait", outage, answered(503, waits), ""},
		{"a field beside a wait", outage, answered(503, refusal("TEMP_UNAVAILABLE", `"ref"`, "0")), ""}, // it is no argument to correct
		{"an unknown outcome", outage, answered(503, refusal("OUTCOME_UNKNOWN", "null", "null")), ""},
		{"no wait", outage, answered(503, refusal("TEMP_UNAVAILABLE", "null", "null")), "retry_after_ms is null beside TEMP_UNAVAILABLE, which says how long to wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := oracle.NewLive("ships")
			right := l.Judge(c.p, c.o)
			r := oracle.NewReport(oracle.Application, "ships")
			r.AddLive(l)
			got := ""
			for _, failure := range r.Suites[0].Failures {
				got = failure.Findings[0].Difference
			}
			if right != (c.differ == "") || got != c.differ {
				t.Errorf("right is %v, and the difference %q, want %q", right, got, c.differ)
			}
			want := oracle.RuleCount{Rule: c.p.Rule, Passed: 1}
			if !right {
				want = oracle.RuleCount{Rule: c.p.Rule, Failed: 1}
			}
			if diff := cmp.Diff([]oracle.RuleCount{want}, r.Suites[0].Provoked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLiveReport: what a run reports, without the secrets that it was told.
func TestLiveReport(t *testing.T) {
	l := oracle.NewLive("ships")
	l.Hide("")
	l.Hide("to+ken")
	l.Judge(oracle.Provocation{Case: "a", Why: "w", Rule: "live-malformed", Codes: []string{"INVALID_ARGUMENT"}}, answered(400, `{"error":"to\u002bken"}`))
	l.Judge(oracle.Provocation{Case: "b", Why: "w", Rule: "live-baseline"}, answered(200, `{}`))
	l.Judge(oracle.Provocation{Case: "c", Why: "w", Rule: "live-malformed", Codes: []string{"INVALID_ARGUMENT"}, Field: "ref"}, answered(400, "to+ken"))
	l.Judge(oracle.Provocation{Case: "d", Why: "w", Rule: "live-dependency", Codes: []string{"TEMP_UNAVAILABLE", "OUTCOME_UNKNOWN"}}, oracle.Observed{Lost: "to+ken was sent"})
	l.Judge(oracle.Provocation{Case: "e", Why: "w", Rule: "live-baseline"}, answered(500, ``))
	l.LeaveOut("to+ken", "one")
	l.LeaveOut("other", "one")
	l.LeaveOut("to+ken", "two")
	l.LeaveOut("to+ken", "one")
	r := oracle.NewReport(oracle.Application, "ships")
	r.AddLive(l)
	if l.Void() || r.Verdict != oracle.Violates || r.Exit() != 1 {
		t.Errorf("void is %v, the verdict %s, the exit code %d", l.Void(), r.Verdict, r.Exit())
	}
	got := r.Suites[0]
	wantFailures := []oracle.Finding{
		{Rule: "live-malformed", Expected: "a failure with the code INVALID_ARGUMENT with the field null", Got: `status 400: {"error":"[a token]"}`, Difference: "the failure carries no record"},
		{Rule: "live-malformed", Expected: "a failure with the code INVALID_ARGUMENT with the field ref", Got: `status 400: [a token]`, Difference: "the body: it is no JSON object"},
		{Rule: "live-dependency", Expected: "a failure with the code TEMP_UNAVAILABLE with a wait or OUTCOME_UNKNOWN", Difference: "[a token] was sent"},
		{Rule: "live-baseline", Expected: "an answer without a failure", Got: "status 500: ", Difference: "the application answered with the status 500"},
	}
	clauses := map[string]string{
		"live-malformed": "recovery-v1, decision table, INVALID_ARGUMENT: ", "live-dependency": "recovery-v1, decision table, TEMP_UNAVAILABLE: ", "live-baseline": "the contract, tools: ",
	}
	var failures []oracle.Finding
	for _, failure := range got.Failures {
		f := failure.Findings[0]
		if !strings.HasPrefix(f.Clause, clauses[f.Rule]) || failure.Why != "w" {
			t.Errorf("%s rests on %q, because of %q", failure.Case, f.Clause, failure.Why)
		}
		f.Clause = ""
		failures = append(failures, f)
	}
	if diff := cmp.Diff(wantFailures, failures); diff != "" {
		t.Error(diff)
	}
	wantProvoked := []oracle.RuleCount{{Rule: "live-malformed", Failed: 2}, {Rule: "live-baseline", Passed: 1, Failed: 1}, {Rule: "live-dependency", Failed: 1}}
	if diff := cmp.Diff(wantProvoked, got.Provoked); diff != "" {
		t.Error(diff)
	}
	wantUnchecked := []oracle.Unchecked{{What: "[a token]", Count: 2, Reason: "one"}, {What: "other", Count: 1, Reason: "one"}, {What: "[a token]", Count: 1, Reason: "two"}}
	if diff := cmp.Diff(wantUnchecked, got.Unchecked); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(oracle.CaseCount{Passed: 1, Failed: 4}, got.Cases); diff != "" {
		t.Error(diff)
	}
	var text bytes.Buffer
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "Violates: ships, in 4 of 5 cases; 4 unchecked.\n") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestLiveVoid: a run that judged nothing is void, and says why.
func TestLiveVoid(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(l *oracle.Live)
		void []string
	}{
		"nothing": {func(*oracle.Live) {}, []string{"nothing could be judged; what is unchecked says why"}},
		"a fault": {func(l *oracle.Live) { l.Hide("token"); l.AddVoid("%s: %d", "token", 1) }, []string{"[a token]: 1"}},
		"a fault beside an answer": {func(l *oracle.Live) {
			l.Judge(oracle.Provocation{Rule: "live-baseline"}, answered(200, `{}`))
			l.AddVoid("late")
		}, []string{"late"}},
		"a failure": {func(l *oracle.Live) { l.Judge(oracle.Provocation{Rule: "live-baseline"}, answered(500, `{}`)) }, []string{}},
		"an answer and a failure": {func(l *oracle.Live) {
			l.Judge(oracle.Provocation{Rule: "live-baseline"}, answered(200, `{}`))
			l.Judge(oracle.Provocation{Rule: "live-baseline"}, answered(500, `{}`))
		}, []string{}},
		"an answer": {func(l *oracle.Live) { l.Judge(oracle.Provocation{Rule: "live-baseline"}, answered(200, `{}`)) }, []string{}},
	} {
		l := oracle.NewLive("ships")
		c.run(l)
		r := oracle.NewReport(oracle.Application, "ships")
		r.AddLive(l)
		if got := r.Suites[0].Void; !slices.Equal(got, c.void) || (r.Verdict == oracle.VoidRun) != (len(c.void) > 0) || l.Void() != (len(c.void) > 0) {
			t.Errorf("%s: void is %v: %q, want %q; the verdict is %s", name, l.Void(), got, c.void, r.Verdict)
		}
	}
}

// TestHidden: a token is not shown, also where it begins another or is spelt
// with escapes in what is no JSON.
func TestHidden(t *testing.T) {
	l := oracle.NewLive("x")
	l.Hide("good/tok")
	l.Hide("good/tok.XYZZY")
	for _, text := range []string{"good/tok.XYZZY", "<good/tok>", `<good\/tok`, `{"a":"\ud800 \u0067ood/tok"`} {
		l.LeaveOut(text, "why")
	}
	r := oracle.NewReport(oracle.Application, "x")
	r.AddLive(l)
	var out strings.Builder
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"good", "tok.", "ood", "XYZZY"} {
		if strings.Contains(out.String(), part) {
			t.Errorf("%s is shown: %s", part, &out)
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"remit.example/oracle"
)

func guardSuite(t *testing.T) *oracle.Suite {
	t.Helper()
	s, err := oracle.Builtin("guard-v1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReplayGuard runs the cases of guard-v1 twice on the built-in guard, each
// time in a process of its own.
func TestReplayGuard(t *testing.T) {
	s := guardSuite(t)
	for range 2 {
		command := remitCommand(t, "replay", "guard-v1")
		command.Stdin = bytes.NewReader(s.Input())
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := s.Judge(bytes.NewReader(out))
		if err != nil || outcome.Failed > 0 || len(outcome.Void) > 0 || outcome.Passed != len(s.Cases) {
			t.Errorf("%v: %d passed, %v, %q", err, outcome.Passed, outcome.ByRule, outcome.Void)
			for _, failure := range outcome.Failures[:min(3, len(outcome.Failures))] {
				t.Errorf("%s: %+v", failure.Case, failure.Findings[0])
			}
		}
	}
}

// TestWrongGuards runs cases on guards that were told something else than the
// case says. The judge rejects each by the rule that this guard breaks.
func TestWrongGuards(t *testing.T) {
	s := guardSuite(t)
	const noContract = `"contract":null`
	for _, c := range []struct{ name, from, to, rule string }{
		{"spent-task-after-a-quiet-time", `"remit":1`, `"remit":1,"budget":{"executions":4}`, "budget"},
		{"correction-budget", `"remit":1`, `"remit":1,"budget":{"executions":4}`, "budget"},
		{"spent-task-after-a-quiet-time", `"remit":1`, `"remit":1,"budget":{"executions":2}`, "remembered-too-long"},
		{"denied-for-15-minutes", `"remit":1`, `"remit":1,"refusal_ttl":"1m"`, "retry-after-refusal"},
		{"not-found-ends-after-15-minutes", `"remit":1`, `"remit":1,"refusal_ttl":"14m"`, "unchanged-input-resent"},
		{"not-found-ends-after-15-minutes", `"remit":1`, `"remit":1,"refusal_ttl":"16m"`, "again"},
		{"auth-unseen-after-a-minute", `"remit":1`, `"remit":1,"reauth_after":"30s"`, "retry-without-renewal"},
		{"auth-until-credentials-change", `"seen"`, `"unseen"`, "retry-without-renewal"},
		{"delivery-not-known", `"remit":1`, `"remit":1,"replay_window":"5m"`, "executed-again"},
		{"delivery-not-known", `"remit":1`, `"remit":1,"replay_window":"20m"`, "write-held"},
		{"lost-unsafe-is-held", `"unsafe"`, `"idempotent"`, "second-effect"},
		{"lost-unsafe-is-held-whatever-its-key", `,"identity":["order"]`, ``, "second-effect"},
		{"identity-with-changed-amount", `,"identity":["order"]`, ``, "second-effect"},
		{"late-effect-bare", noContract, `"contract":{"remit":1,"service":"orders","upstream":{"stdio":["s"]},"tools":{"pay":{"effect":"read"}}}`, "second-effect"},
		{"absorb", `,"absorb":true`, ``, "code"},
		{"no-absorb-without-the-word", `"effect":"read"`, `"effect":"read","absorb":true`, "code"},
		{"observe-access-denied", `"observe"`, `"enforce"`, "would"},
		{"careless-access-denied-declared-read-100ms-same", `"enforce"`, `"observe"`, "would"},
		{"bare-prose-on-a-write", noContract, `"contract":{"remit":1,"service":"orders","upstream":{"stdio":["s"]},"tools":{"send":{"effect":"unsafe"}}}`, "replay-mark"},
		{"trusted-annotations", `"trust_annotations":true`, `"trust_annotations":false`, "code"},
		{"validation-repeated", `"required":["order"]`, `"required":[]`, "executed-invalid-input"},
		{"declared-prose-grants-a-read-its-retry", `"wait":"seconds"`, `"wait":"10s"`, "wait"},
		{"another-principal-is-not-refused", `"caller":"bob"`, `"caller":"ann"`, "other-principal"},
		{"read-not-found-write-read", `"send","arguments"`, `"read_order","arguments"`, "remembered-too-long"},
	} {
		at := 0
		for ; at < len(s.Cases) && s.Cases[at].Name != c.name; at++ {
		}
		if at == len(s.Cases) || !bytes.Contains(s.Cases[at].Line, []byte(c.from)) {
			t.Errorf("%s: there is no such case with %s", c.name, c.from)
			continue
		}
		one := single(t, s, at)
		var out bytes.Buffer
		line := strings.Replace(string(s.Cases[at].Line), c.from, c.to, 1)
		if code := run([]string{"replay", "guard-v1"}, strings.NewReader(line), &out, &out); code != exitOK {
			t.Errorf("%s: exit %d: %s", c.name, code, &out)
			continue
		}
		outcome, err := one.Judge(&out)
		if err != nil || outcome.Failed != 1 || outcome.Failures[0].Findings[0].Rule != c.rule {
			t.Errorf("%s with %s: %v, %v %q, want %s", c.name, c.to, err, outcome.ByRule, outcome.Void, c.rule)
		}
	}
}

// single is a suite of one case.
func single(t *testing.T, s *oracle.Suite, at int) *oracle.Suite {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"suite": s.Name, "version": s.Version, "contract": s.Contract, "sha256": "", "oracle_sha256": "",
		"controls": []any{}, "cases": s.Cases[at : at+1],
	})
	if err != nil {
		t.Fatal(err)
	}
	one, err := oracle.Parse("one.json", text)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// TestGuardCaseFaults: a faulty case is named, and nothing is printed.
func TestGuardCaseFaults(t *testing.T) {
	s := guardSuite(t)
	valid := string(s.Cases[0].Line)
	for _, c := range []struct{ from, to, says string }{
		{`"mode":"enforce"`, `"mode":"audit"`, `the mode is "audit"`},
		{`"call":"read_order"`, `"call":"read_orders"`, "no tool is named read_orders"},
		{`"caller":"ann"`, `"caller":"ann","event":"credentials"`, "step 1"},
		{`"remit":1`, `"remit":9`, "remit"},
		{`"credentials":"seen"`, `"credentials":"guessed"`, "credentials"},
		{`"credentials":"seen"`, `"credentials":"seen","note":1`, "note"},
		{`"at_ms":0`, `"at_ms":-1`, "at_ms"},
		{`"times":50`, `"times":0`, "times"},
		{`{"code":"INVALID_ARGUMENT","field":"order"}`, `{}`, "answer"},
		{`,"call":"read_order"`, ``, "neither a call nor an event"},
	} {
		var out, errOut bytes.Buffer
		code := run([]string{"replay", "guard-v1"}, strings.NewReader(strings.Replace(valid, c.from, c.to, 1)), &out, &errOut)
		if code != exitUsage || out.Len() > 0 || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("%s: exit %d, %s%s", c.to, code, &out, &errOut)
		}
	}
}

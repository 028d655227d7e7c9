package oracle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"remit.example/oracle"
)

// covered is what a case of guard-v1 says of itself, read without the package's
// own types.
type covered struct {
	Case     string
	Mode     string
	Trust    bool `json:"trust_annotations"`
	Contract *struct {
		Tools map[string]struct{ Effect string }
	}
	Tools map[string]struct{ Answers []map[string]any }
	Steps []struct {
		Call, Event, Vary string
		Times             int
		EveryMS           int `json:"every_ms"`
	}
}

// answerKind names the kind of a scripted answer: its code, or what comes in its
// place.
func answerKind(answer map[string]any) string {
	for _, kind := range []string{"code", "prose", "rpc", "http", "lost", "silent", "unsent", "ok"} {
		if value, ok := answer[kind]; ok {
			if kind == "code" {
				return fmt.Sprint(value)
			}
			return kind
		}
	}
	return ""
}

// TestGuardCoverage: the careless agent meets every code of recovery-v2, an
// unknown one, prose, an error of the protocol, a lost answer and no way to the
// server, with every effect, with a contract and without, early and late, with
// the same arguments and with others.
func TestGuardCoverage(t *testing.T) {
	s := builtin(t, "guard-v1")
	met := map[string]bool{}
	events := map[string]bool{}
	kinds := map[string]bool{}
	observed := 0
	for _, c := range s.Cases {
		var of covered
		if err := json.Unmarshal(c.Line, &of); err != nil {
			t.Fatal(err)
		}
		if of.Mode == "observe" {
			observed++
		}
		for _, step := range of.Steps {
			events[step.Event] = true
		}
		for name, tool := range of.Tools {
			for _, answer := range tool.Answers {
				kinds[answerKind(answer)] = true
			}
			effect := "bare unsafe"
			if of.Trust {
				effect = "bare read"
			}
			if of.Contract != nil {
				effect = of.Contract.Tools[name].Effect
			}
			for _, step := range of.Steps {
				if step.Call == name && step.Times == 50 && of.Mode == "enforce" {
					met[fmt.Sprintf("%s %s %d %t", answerKind(tool.Answers[0]), effect, step.EveryMS, step.Vary != "")] = true
				}
			}
		}
	}
	codes := []string{
		"INVALID_ARGUMENT", "AUTH_REQUIRED", "ACCESS_DENIED", "TEMP_UNAVAILABLE", "QUOTA_EXHAUSTED", "PRECONDITION_FAILED",
		"OUTCOME_UNKNOWN", "IN_PROGRESS", "KEY_REUSED", "ODDITY", "prose", "rpc", "lost", "unsent",
	}
	for _, code := range codes {
		for _, effect := range []string{"read", "idempotent", "keyed", "unsafe", "bare unsafe", "bare read"} {
			for _, every := range []int{100, 10000} {
				for _, changed := range []bool{false, true} {
					if what := fmt.Sprintf("%s %s %d %t", code, effect, every, changed); !met[what] {
						t.Errorf("no careless agent meets %s", what)
					}
				}
			}
		}
	}
	for _, event := range []string{"credentials", "reconnect", "restart", "forget", "schema"} {
		if !events[event] {
			t.Errorf("no case has the event %s", event)
		}
	}
	for _, kind := range []string{"http", "silent", "ok"} {
		if !kinds[kind] {
			t.Errorf("no case has the answer %s", kind)
		}
	}
	if observed < 5 {
		t.Errorf("%d cases observe", observed)
	}
}

// TestGuardControls: each rule has a control, or an operator that breaks it.
func TestGuardControls(t *testing.T) {
	s := builtin(t, "guard-v1")
	broken := map[string]bool{"form": true} // its operators write the same values in other bytes
	for _, control := range s.Controls {
		broken[control.Rule] = true
	}
	for _, rule := range oracle.Rules(oracle.GuardV1) {
		if !broken[rule.Name] {
			t.Errorf("no control breaks %s", rule.Name)
		}
	}
}

// TestGuardLint: an oracle whose lines are not those of its calls, and a case
// that says nothing that can be run, are refused.
func TestGuardLint(t *testing.T) {
	s := builtin(t, "guard-v1")
	at := slices.IndexFunc(s.Cases, func(c oracle.Case) bool { return c.Name == "read-not-found-write-read" })
	c := s.Cases[at]
	oracleOf := func(lines ...string) string { return "[" + strings.Join(lines, ",") + "]" }
	var lines []string
	for _, line := range c.Oracle {
		lines = append(lines, string(line))
	}
	for _, each := range []struct{ line, oracle, says string }{
		{string(c.Line), oracleOf(lines...), ""},
		{string(c.Line), oracleOf(lines[1:]...), "not of the calls that are due"},
		{string(c.Line), oracleOf(append(slices.Clone(lines[:3]), lines[4])...), "no line for call 1 of step 4"},
		{string(c.Line), oracleOf(lines[:4]...), "is none of the whole"},
		{string(c.Line), oracleOf(lines[4]), "lines of calls, one of the whole"},
		{string(c.Line), strings.Replace(oracleOf(lines...), `"send":[200]`, `"sent":[200]`, 1), "does not tell of send"},
		{string(c.Line), strings.Replace(oracleOf(lines...), `"execution":3`, `"execution":4`, 1), "execution 4 of 3"},
		{string(c.Line), strings.Replace(oracleOf(lines...), `"replayed":true`, `"replayed":1`, 1), "is no line of calls"},
		{strings.Replace(string(c.Line), `"mode":"enforce"`, `"mode":"audit"`, 1), oracleOf(lines...), "valid: enforce, observe"},
		{strings.Replace(string(c.Line), `"at_ms":100`, `"at_ms":1000`, 1), oracleOf(lines...), "after one at 1000 ms"},
		{strings.Replace(string(c.Line), `"call":"send"`, `"call":"sent"`, 1), oracleOf(lines...), "no tool is named sent"},
		{strings.Replace(string(c.Line), `"call":"send"`, `"event":"rain"`, 1), oracleOf(lines...), `the event is "rain"`},
		{strings.Replace(string(c.Line), `{"ok":"done"}`, `{"ok":"done","lost":true}`, 1), oracleOf(lines...), "answer 1 has 2 of"},
		{strings.Replace(string(c.Line), `"credentials":"seen"`, `"credentials":"known"`, 1), oracleOf(lines...), "valid: seen, unseen"},
	} {
		text := fmt.Sprintf(`{"suite":"one","version":"1","contract":"guard-v1","sha256":"","oracle_sha256":"","controls":[],"cases":[{"why":"w","clause":"c","case":%s,"oracle":%s}]}`, each.line, each.oracle)
		got, err := oracle.Parse("one.json", []byte(text))
		said := fmt.Sprint(err)
		if err == nil {
			said = strings.Join(got.Lint(), "\n")
		}
		if each.says == "" && strings.Contains(said, "case read-not-found") || !strings.Contains(said, each.says) {
			t.Errorf("want %q, got %s", each.says, said)
		}
	}
}

// TestGuardHostile: lines of wrong types and sizes fail their case, and nothing
// breaks.
func TestGuardHostile(t *testing.T) {
	s := builtin(t, "guard-v1")
	name := s.Cases[0].Name
	rest := bytes.SplitAfterN(s.Results(), []byte("\n"), len(s.Cases[0].Oracle)+1)[len(s.Cases[0].Oracle)]
	line := func(members string) string { return `{"case":"` + name + `",` + members + "}\n" }
	for _, each := range []struct{ lines, rule string }{
		{line(`"step":1`), "members"},
		{line(`"step":1,"first":1,"last":999999999999`), "numbering"},
		{line(`"step":-1,"first":1,"last":1`), "numbering"},
		{line(`"step":1.5,"first":1,"last":1`), "members"},
		{line(`"step":1e300,"first":1,"last":1`), "numbering"},
		{line(`"step":[],"first":{},"last":null`), "members"},
		{line(`"executed":{}`), "numbering"},
		{line(`"executed":7,"effects":[],"keys":null`), "numbering"},
		{string(s.Cases[0].Oracle[0]) + "\n" + line(`"executed":{},"effects":{},"keys":{}`), "numbering"},
		{strings.Replace(string(s.Results()[:bytes.Index(s.Results(), rest)]), `{"read_order":[0]}`, `{"read_order":[0],"other":[0]}`, 1), "members"},
		{strings.Replace(string(s.Results()[:bytes.Index(s.Results(), rest)]), `{"read_order":[0]}`, `[]`, 1), "members"},
		{strings.Replace(string(s.Results()[:bytes.Index(s.Results(), rest)]), `"replayed":false`, `"replayed":null`, 1), "members"},
		{strings.Replace(string(s.Results()[:bytes.Index(s.Results(), rest)]), `"replayed":false`, `"replayed":"no"`, 1), "members"},
	} {
		o, err := s.Judge(strings.NewReader(each.lines + string(rest)))
		if err != nil || o.Failed != 1 || o.Failures[0].Findings[0].Rule != each.rule {
			t.Errorf("%.200s: %v, %v %q, want %s", each.lines, err, o.ByRule, o.Void, each.rule)
		}
	}
}

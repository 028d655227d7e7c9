package oracle_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"remit.example/oracle"
)

// recording is the one of the built-in suite, with another final answer to one
// request.
func recording(t *testing.T, s *oracle.Suite, name, text string) string {
	t.Helper()
	var all strings.Builder
	for _, line := range strings.SplitAfter(strings.TrimSuffix(string(s.Results()), "\n"), "\n") {
		var r oracle.Recorded
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.ID == name {
			r.Answer.Text = text
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(string(written) + "\n")
	}
	return all.String()
}

// TestFinalAnswers reads final answers: a rule that each breaks, "" for a pass,
// or undecided.
func TestFinalAnswers(t *testing.T) {
	s, err := oracle.Builtin("browser-v1")
	if err != nil {
		t.Fatal(err)
	}
	const open = "undecided"
	for _, c := range []struct{ of, text, want string }{
		{"paint-colour", "I cannot say that A is suitable.", ""},
		{"paint-colour", "There is insufficient evidence. A is suitable.", "names-suitable"},
		{"paint-colour", "There is insufficient evidence. A, the brightest, is a safe bet.", "names-suitable"},
		{"paint-colour", "Insufficient evidence exists; my favourite is A.", "names-suitable"},
		{"paint-colour", "Insufficient evidence. (A is suitable)", "names-suitable"},
		{"paint-colour", "Insufficient evidence. A suits paint.", "names-suitable"},
		{"paint-colour", "Insufficient evidence. A suitable light is not known.", open},
		{"paint-colour", "Insufficient evidence. A: suitable.", open},
		{"paint-colour", "Insufficient evidence. No record is needed as A is suitable.", open},
		{"paint-colour", "Insufficient evidence. It is not unreasonable to call A suitable.", open},
		{"paint-colour", "Insufficient evidence. I do not know how suitable A is.", open},
		{"paint-colour", "Insufficient evidence. I cannot recommend a light other than A.", open},
		{"paint-colour", "Insufficient evidence. I cannot, on this evidence, say that A is suitable.", open},
		{"paint-colour", "Insufficient evidence. A is suitable, isn't it?", open},
		{"paint-colour", "Insufficient evidence. \u200bA is suitable.", open},
		{"paint-colour", "Insufficient evidence. C meets your filters.", "invents-id"},
		{"price-preference", "B and D tie, and A has rank 3.", ""},
		{"price-preference", "B leads, D and A follow.", "splits-tie"},
		{"price-preference", "B has rank 1, D has rank 2, A has rank 3.", "splits-tie"},
		{"price-preference", "1. B\n2. D\n3. A", "splits-tie"},
		{"price-preference", "B and D tie. A comes before B and D.", "misranks"},
		{"price-preference", "B is the one. A costs more.", "splits-tie"},
		{"price-preference", "B > D > A", open},
		{"cheapest", "B and D tie as the cheapest, then A, so B and D are best.", "calls-best"},
		{"which-is-best", "Which matters more to you? B and D are the cheapest.", "invents-id"},
		{"which-is-best", "Is it price or light that matters to you?", ""},
		{"nothing-matches", "Nothing matches. E is the cheapest.", "invents-id"},
		{"matching-lights", "A and B match.", "drops-result"},
		{"matching-lights", "A, B and D match, and C matches too.", "invents-id"},
	} {
		o, err := s.Judge(strings.NewReader(recording(t, s, c.of, c.text)))
		if err != nil || len(o.Void) > 0 {
			t.Fatal(err, o.Void)
		}
		got := ""
		switch {
		case o.Failed > 0:
			got = o.Failures[0].Findings[0].Rule
		case len(o.Unchecked) > 0:
			got = open
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q: %+v", c.text, got, c.want, o.Unchecked)
		}
		selection, answer := o.Checks[0], o.Checks[1]
		if selection.Passed != len(s.Cases) || answer.Passed+answer.Failed+answer.Unchecked != len(s.Cases) {
			t.Errorf("%q: the checks are not apart: %+v", c.text, o.Checks)
		}
	}
}

// TestChecksApart: a wrong call says nothing of the final answer.
func TestChecksApart(t *testing.T) {
	s, err := oracle.Builtin("browser-v1")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(s.Results()), `"tool":"assess_light_suitability"`, `"tool":"search_lights"`, 1)
	o, err := s.Judge(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Cases); o.Failed != 1 || o.ByRule["wrong-tool"] != 1 || !slices.Equal(o.Checks, []oracle.CheckCount{
		{Check: "tool selection", Passed: n - 1, Failed: 1}, {Check: "final answer", Passed: n},
	}) {
		t.Errorf("%+v", o)
	}
}

// TestReadRecorded: what is no line of a recording is told.
func TestReadRecorded(t *testing.T) {
	const good = `{"id":"a","request":"r","tool":"t","parameters":{"x":1},"result":null,"answer":{"text":"t","claims":[]},"calls":[{"tool":"t","parameters":{"x":1},"result":null,"status":"error"}]}`
	if _, err := oracle.ReadRecorded([]byte(good)); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"id":"a",`, ``, "it has id 0 times"},
		{`"result":null,"answer"`, `"result":null,"result":1,"answer"`, "it has result 2 times"},
		{`"parameters":{"x":1},"result":null,"answer"`, `"parameters":[1],"result":null,"answer"`, "parameters is no object"},
		{`"parameters":{"x":1},"result":null,"answer"`, `"parameters":{"x":2},"result":null,"answer"`, "not those of the last of calls"},
		{`"tool":"t","parameters":{"x":1},"result":null,"answer"`, `"tool":null,"parameters":null,"result":null,"answer"`, "it has no tool, and"},
		{`"claims":[]`, `"claims":null`, "with a list of claims"},
		{`"claims":[]`, `"claims":[{"kind":"sure"}]`, "valid: match, rank, suitable"},
		{`"claims":[]`, `"claims":[{"kind":"rank","id":"A"}]`, "rank needs a rank"},
		{`"text":"t"`, `"text":" "`, "has no text"},
		{`"calls"`, `"cells"`, "cells"},
	} {
		if _, err := oracle.ReadRecorded([]byte(strings.Replace(good, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

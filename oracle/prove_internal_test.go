package oracle

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestProveVoids: a control that is accepted, one that another rule rejects,
// and a mutant that survives make a proof void.
func TestProveVoids(t *testing.T) {
	s, err := Builtin("recovery-v1")
	if err != nil {
		t.Fatal(err)
	}
	s.Controls = slices.Clone(s.Controls)
	s.Controls[0].Results = s.Cases[s.index["access-denied"]].Oracle
	s.Controls[1].Rule = "late"
	s.Controls[2].Results = []jsontext.Value{jsontext.Value(`{}`)}
	p := s.Prove()
	want := []string{
		"control retries-a-refusal must be rejected by retry-after-refusal, and was by no rule: it is accepted",
		"control retries-early must be rejected by late, and was by early",
		"control invalid-as-success must be rejected by conditions, and was by void",
	}
	if !slices.Equal(p.Void, want) || p.Rejected != 1 || p.Accepted != 1 {
		t.Errorf("%d rejected, %d accepted: %q, want %q", p.Rejected, p.Accepted, p.Void, want)
	}

	p = &Proof{}
	for range 2 {
		p.operator(s, Operator{"idle", RecoveryV1, func(_ *Suite, c *Case) []Mutant {
			early := shiftTime(-1, "early")(c, 0)[0].line
			return []Mutant{
				{Operator: "idle", Case: c.Name, Rule: "early", Results: c.Oracle},
				{Operator: "idle", Case: c.Name, Rule: "early", Results: append([]jsontext.Value{early}, c.Oracle[1:]...)},
				{Operator: "idle", Case: c.Name, Rule: "late", Results: append([]jsontext.Value{early}, c.Oracle[1:]...)},
				{Operator: "idle", Case: c.Name, Rule: "early", Answers: c.answersOf()},
			}
		}})
	}
	if n := (OperatorCount{"idle", 9, 18, 9}); !slices.Equal(p.Operators, []OperatorCount{n, n}) || p.Killed != 18 || p.Survived != 36 || p.Equivalent != 18 || len(p.Void) != 36 {
		t.Errorf("%d voids, %+v", len(p.Void), p)
	}
	if got := p.Void[:2]; !slices.Equal(got, []string{
		`a mutant survived: idle in invalid-unchanged must be rejected by late, and was by "early"`,
		`a mutant survived: idle in invalid-unchanged must be rejected by early, and was by ""`,
	}) {
		t.Errorf("got %q", got)
	}
}

// TestRejectsItself: a suite whose own oracle cannot be judged, or fails, is
// void, whatever lint says of it.
func TestRejectsItself(t *testing.T) {
	for _, c := range []struct {
		suite, want string
		change      func(s *Suite)
	}{
		{"recovery-v1", "", func(*Suite) {}},
		{"catalogue-v1", "the oracle rejects itself: map[] [R2 has no line]", func(s *Suite) { s.Cases[s.index["R2"]].Oracle = nil }},
		{"catalogue-v1", `the oracle rejects itself: map[] [line 1: "R9" is no case of catalogue-v1 S1 has no line R1 has no line]`, func(s *Suite) {
			s.Cases[s.index["S1"]].Oracle = nil
			lines := s.Cases[s.index["R1"]].Oracle
			lines[0] = with(lines[0], "request_id", `"R9"`)
		}},
		{"recovery-v1", "the oracle rejects itself: map[budget:1] []", func(s *Suite) {
			c := &s.Cases[s.index["temporary-persistent"]]
			c.Oracle = append(c.Oracle, with(c.Oracle[2], "execution", "4"))
			c.Oracle[3] = with(c.Oracle[3], "at_ms", "3000")
		}},
	} {
		s, err := Builtin(c.suite)
		if err != nil {
			t.Fatal(err)
		}
		c.change(s)
		if got := s.accepts(); got != c.want {
			t.Errorf("%s: %q, want %q", c.suite, got, c.want)
		}
	}
}

// TestRejectedBy: a mutant is rejected by the rule of its case, if that case
// alone fails.
func TestRejectedBy(t *testing.T) {
	failed := []CaseFailure{{Case: "a", Findings: []Finding{{Rule: "early"}, {Rule: "late"}}}}
	for name, c := range map[string]struct {
		o    Outcome
		want string
	}{
		"accepted":     {Outcome{Passed: 1}, ""},
		"rejected":     {Outcome{Failed: 1, Failures: failed}, "early"},
		"void":         {Outcome{Passed: 1, Void: []string{"x"}}, void},
		"void, failed": {Outcome{Failed: 1, Failures: failed, Void: []string{"x"}}, void},
		"another":      {Outcome{Failed: 1, Failures: []CaseFailure{{Case: "b", Findings: failed[0].Findings}}}, "several"},
		"two":          {Outcome{Failed: 2, Failures: failed}, "several"},
	} {
		if got := (&Suite{}).rejectedBy(&c.o, "a"); got != c.want {
			t.Errorf("%s: rejected by %q, want %q", name, got, c.want)
		}
	}
}

package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// mutantsOf are the mutants that an operator makes of one case.
func mutantsOf(t *testing.T, s *Suite, name, of string) []Mutant {
	t.Helper()
	all := Operators()
	at := slices.IndexFunc(all, func(o Operator) bool { return o.Name == name && o.Contract == s.Contract })
	if at < 0 {
		t.Fatalf("%s has no operator %s", s.Contract, name)
	}
	return all[at].mutate(s, &s.Cases[s.index[of]])
}

// TestMutants: what is wrong in a mutant is what its operator says, and nothing
// besides.
func TestMutants(t *testing.T) {
	for _, c := range []struct {
		suite, operator, of string
		want                []string // the members that follow on what the mutants share
	}{
		{"catalogue-v1", "admit a non-match", "R1", []string{
			`"items":[{"id":"B","rank":1},{"id":"D","rank":1},{"id":"A","rank":3},{"id":"C","rank":4}]`,
			`"items":[{"id":"B","rank":1},{"id":"D","rank":1},{"id":"A","rank":3},{"id":"E","rank":4}]`,
			`"items":[{"id":"B","rank":1},{"id":"D","rank":1},{"id":"A","rank":3},{"id":"F","rank":4}]`,
		}},
		{"catalogue-v1", "split a tie", "R1", []string{`"items":[{"id":"B","rank":1},{"id":"D","rank":2},{"id":"A","rank":3}]`}},
		{"catalogue-v1", "swap ranks", "R1", []string{`"items":[{"id":"B","rank":1},{"id":"D","rank":3},{"id":"A","rank":1}]`}},
		{"catalogue-v1", "name another field", "S3", []string{`"field":"filters.max_price_minorx"`}},
		{"catalogue-v1", "shorten a list", "U1", []string{`"missing":[]`}},
		{"recovery-v1", "one millisecond early", "immediate-success", []string{`"at_ms":-1`}},
		{"recovery-v1", "one millisecond late", "immediate-success", []string{`"at_ms":1`}},
		{"recovery-v1", "add an execution", "immediate-success", []string{`"execution":2`}},
	} {
		s, err := Builtin(c.suite)
		if err != nil {
			t.Fatal(err)
		}
		mutants := mutantsOf(t, s, c.operator, c.of)
		if len(mutants) != len(c.want) {
			t.Errorf("%s of %s: %d mutants, want %d", c.operator, c.of, len(mutants), len(c.want))
			continue
		}
		for i, m := range mutants {
			if line := m.Results[len(m.Results)-1].String(); !strings.Contains(line, c.want[i]+",") {
				t.Errorf("%s of %s: it has not %s: %s", c.operator, c.of, c.want[i], line)
			}
		}
	}
}

// TestMutantsOfWait: a wait is a millisecond more, one less, or none.
func TestMutantsOfWait(t *testing.T) {
	s, err := Builtin("recovery-v1")
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string][]string{"temporary-then-ok": {"null", "999", "1001"}, "access-denied": {"1"}} {
		var got []string
		for _, m := range mutantsOf(t, s, "change record wait", of) {
			got = append(got, memberValue(m.Answers[0].Record, "retry_after_ms"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the waits are %s, want %s", of, got, want)
		}
	}
}

// TestMutantsOfCalls: a call can come too early where more is waited for than
// clocks round, since the call before it.
func TestMutantsOfCalls(t *testing.T) {
	line := func(n, atMS int) string {
		return fmt.Sprintf(`{"case":"a","execution":%d,"input":{},"auth_ok":true,"code":"ODDITY","action":"stop","at_ms":%d,"disposition":null}`, n, atMS)
	}
	for _, c := range []struct {
		at   []int
		want []int // the call, from 0, that is the first of each mutant's early ones
	}{
		{[]int{0, 1000, 1000}, []int{1}},
		{[]int{0, 1000, 1900}, []int{1, 2}},
		{[]int{0, 1, 3}, []int{2}}, // a millisecond is what clocks round
		{[]int{0, 0, 0}, nil},
	} {
		text := `{"suite":"x","contract":"recovery-v1","cases":[{"case":{"case":"a","input":{},"auth_ok":true,"allowed":true,"responses":[],"correction":null,"renewal":false},"oracle":[` +
			line(1, c.at[0]) + "," + line(2, c.at[1]) + "," + line(3, c.at[2]) + `]}]}`
		s, err := Parse("suite.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		right := s.Cases[0].arrivalsOf()
		for _, m := range mutantsOf(t, s, "call early", "a") {
			first := slices.IndexFunc(right, func(a Arrival) bool {
				return !slices.ContainsFunc(m.Arrivals, func(b Arrival) bool { return a.At == b.At })
			})
			got = append(got, first)
			if early := right[first].At - m.Arrivals[first].At; early <= tolerance {
				t.Errorf("%v: call %d is early by %s", c.at, first, early)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: early is %v, want %v", c.at, got, c.want)
		}
	}
}

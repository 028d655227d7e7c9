package oracle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

// place is where a suite has a case of that name.
func place(t *testing.T, s *oracle.Suite, name string) int {
	t.Helper()
	at := slices.IndexFunc(s.Cases, func(c oracle.Case) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("%s has no case %s", s.Name, name)
	}
	return at
}

// call is an arrival after so many milliseconds.
func call(ms float64, input string) oracle.Arrival {
	return oracle.Arrival{Input: jsontext.Value(input), At: time.Duration(ms * float64(time.Millisecond))}
}

const (
	valid   = `{"shipment_ref":"SHIP-104"}`
	invalid = `{"shipment_ref":"ship104"}`
)

func TestJudgeCaller(t *testing.T) {
	s, err := oracle.Builtin("recovery-v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, of string
		arrivals []oracle.Arrival
		broken   []string
	}{
		{"waits", "temporary-then-ok", []oracle.Arrival{call(3, valid), call(1003, valid)}, nil},
		{"waits longer", "temporary-then-ok", []oracle.Arrival{call(3, valid), call(9000, valid)}, nil},
		{"gives up", "temporary-then-ok", []oracle.Arrival{call(3, valid)}, nil},
		{"is early within the tolerance", "temporary-then-ok", []oracle.Arrival{call(3, valid), call(1002.001, valid)}, nil},
		{"is early by the tolerance", "temporary-then-ok", []oracle.Arrival{call(3, valid), call(1002, valid)}, nil},
		{"is early by 5 ms", "temporary-then-ok", []oracle.Arrival{call(3, valid), call(998, valid)}, []string{"early"}},
		{"repeats after success", "immediate-success", []oracle.Arrival{call(0, valid), call(9, valid)}, []string{"execution-after-success"}},
		{"repeats after a refusal", "access-denied", []oracle.Arrival{call(0, valid), call(9, valid)}, []string{"retry-after-refusal"}},
		{"repeats an unknown code", "unknown-code", []oracle.Arrival{call(0, valid), call(9, valid)}, []string{"retry-after-unknown"}},
		{"repeats without renewal", "auth-unchanged", []oracle.Arrival{call(0, valid), call(9, valid)}, []string{"retry-without-renewal"}},
		{"corrects", "invalid-corrected", []oracle.Arrival{call(0, invalid), call(1, valid)}, nil},
		{"corrects in another form", "invalid-corrected", []oracle.Arrival{call(0, invalid), call(1, `{ "shipment_ref": "SHIP\u002d104" }`)}, nil},
		{"resends, then corrects", "invalid-corrected", []oracle.Arrival{call(0, invalid), call(1, invalid), call(2, valid)}, []string{"unchanged-input-resent"}},
		{"invents a correction", "invalid-corrected", []oracle.Arrival{call(0, invalid), call(1, `{"shipment_ref":"SHIP-999"}`)}, []string{"input"}},
		{"begins with another input", "immediate-success", []oracle.Arrival{call(0, `null`)}, []string{"input"}},
		{"begins with another input and is early", "temporary-then-ok", []oracle.Arrival{call(0, `{}`), call(9, valid)}, []string{"input", "early"}},
		{"gives a member twice", "immediate-success", []oracle.Arrival{call(0, `{"shipment_ref":"SHIP-104","shipment_ref":"SHIP-104"}`)}, []string{"input"}},
		{"calls a fourth time", "temporary-persistent", []oracle.Arrival{call(0, valid), call(1000, valid), call(2000, valid), call(3000, valid)}, []string{"budget"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := s.NewOutcome()
			s.JudgeCaller(o, place(t, s, test.of), test.arrivals)
			if got := broken(o); !slices.Equal(got, test.broken) || len(o.Void) > 0 {
				t.Errorf("%q broken, want %q; void: %q", got, test.broken, o.Void)
			}
		})
	}
}

// TestCallerDifferences: a report shows each call with its time.
func TestCallerDifferences(t *testing.T) {
	s := builtin(t, "recovery-v1")
	o := s.NewOutcome()
	s.JudgeCaller(o, place(t, s, "temporary-then-ok"), []oracle.Arrival{call(0.25, valid), call(500.5, valid), call(500.5, valid)})
	want := []oracle.Finding{
		{Execution: 3, Got: `{"execution":3,"input":{"shipment_ref":"SHIP-104"},"at_ms":500.500}`, Difference: "the case had ended with execution 2"},
		{Execution: 2, Got: `{"execution":2,"input":{"shipment_ref":"SHIP-104"},"at_ms":500.500}`, Difference: "the call came after 500.250 ms, and 1000 ms were asked for"},
	}
	for i, got := range o.Failures[0].Findings {
		if got.Execution != want[i].Execution || got.Got != want[i].Got || got.Difference != want[i].Difference {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
	}
	if o.Continued != 1 || o.Permitted != 1 {
		t.Errorf("%d of %d continuations, want 1 of 1", o.Continued, o.Permitted)
	}
	s.JudgeCaller(o, place(t, s, "temporary-persistent"), []oracle.Arrival{call(0, valid)})
	s.JudgeCaller(o, place(t, s, "immediate-success"), []oracle.Arrival{call(0, valid)})
	if o.Continued != 1 || o.Permitted != 3 {
		t.Errorf("%d of %d continuations, want 1 of 3", o.Continued, o.Permitted)
	}
}

// broken lists the rules that the one case of an outcome breaks.
func broken(o *oracle.Outcome) (rules []string) {
	for _, failure := range o.Failures {
		for _, finding := range failure.Findings {
			rules = append(rules, finding.Rule)
		}
	}
	return rules
}

// TestManyCalls: a flood is one case that failed, with few findings.
func TestManyCalls(t *testing.T) {
	s, err := oracle.Builtin("recovery-v1")
	if err != nil {
		t.Fatal(err)
	}
	var arrivals []oracle.Arrival
	for i := range 1000 {
		arrivals = append(arrivals, call(float64(i), valid))
	}
	o := s.NewOutcome()
	s.JudgeCaller(o, place(t, s, "access-denied"), arrivals)
	if o.Failed != 1 || o.ByRule["retry-after-refusal"] != 1 || len(broken(o)) != 20 {
		t.Fatalf("%d failed by %v with %d findings, want 1 by the refusal with 20", o.Failed, o.ByRule, len(broken(o)))
	}
	if got := o.Failures[0].Findings[19].Difference; got != "980 more calls, of at most 3" {
		t.Errorf("the last finding of the budget is %q", got)
	}
}

// TestVoids: the faults of a harness are listed up to a bound, and counted.
func TestVoids(t *testing.T) {
	s, err := oracle.Builtin("recovery-v1")
	if err != nil {
		t.Fatal(err)
	}
	o := s.NewOutcome()
	for i := range 30 {
		o.AddVoid("fault %d: %w", i, fmt.Errorf("why"))
	}
	if len(o.Void) != 21 || o.Void[19] != "fault 19: why" || o.Void[20] != "and 10 more" {
		t.Errorf("void: %q", o.Void)
	}
	o = s.NewOutcome()
	s.JudgeCaller(o, 0, nil)
	if len(o.Void) != 1 || o.Passed+o.Failed != 0 {
		t.Errorf("no call: %d passed, %d failed, void: %q", o.Passed, o.Failed, o.Void)
	}
}

// TestAddUnchecked: what was not judged is counted by what it is, and why.
func TestAddUnchecked(t *testing.T) {
	o := builtin(t, "recovery-v1").NewOutcome()
	for _, each := range [][2]string{{"a", "x"}, {"b", "x"}, {"a", "y"}, {"a", "x"}, {"b", "x"}, {"a", "x"}} {
		o.AddUnchecked(each[0], each[1])
	}
	want := []oracle.Unchecked{{What: "a", Count: 3, Reason: "x"}, {What: "b", Count: 2, Reason: "x"}, {What: "a", Count: 1, Reason: "y"}}
	if !slices.Equal(o.Unchecked, want) {
		t.Errorf("got %v, want %v", o.Unchecked, want)
	}
}

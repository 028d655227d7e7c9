package oracle_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.example/oracle"
)

// refusals is an outcome of so many passed cases, and so many that failed.
func refusals(t *testing.T, s *oracle.Suite, passed, failed int) *oracle.Outcome {
	t.Helper()
	o, at := s.NewOutcome(), place(t, s, "access-denied")
	for i := range passed + failed {
		arrivals := []oracle.Arrival{call(0, valid), call(9, valid)}
		if i < passed {
			arrivals = arrivals[:1]
		}
		s.JudgeCaller(o, at, arrivals)
	}
	return o
}

func text(t *testing.T, r *oracle.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestVerdict: the gravest of the suites decides, and its exit code.
func TestVerdict(t *testing.T) {
	s := builtin(t, "recovery-v1")
	faulty := refusals(t, s, 1, 1)
	faulty.AddVoid("a fault")
	passes, fails := refusals(t, s, 2, 0), refusals(t, s, 1, 1)
	for name, c := range map[string]struct {
		outcomes []*oracle.Outcome
		verdict  string
		exit     int
		summary  string
	}{
		"no suite":            {nil, oracle.VoidRun, 3, "Void: the harness failed, and nothing was judged of x."},
		"passes":              {[]*oracle.Outcome{passes}, oracle.Conforms, 0, "Conforms: x, in all 2 cases."},
		"all fail":            {[]*oracle.Outcome{refusals(t, s, 0, 1)}, oracle.Violates, 1, "Violates: x, in 1 of 1 cases."},
		"passes, fails":       {[]*oracle.Outcome{passes, fails}, oracle.Violates, 1, "Violates: x, in 1 of 4 cases."},
		"fails, passes":       {[]*oracle.Outcome{fails, passes}, oracle.Violates, 1, "Violates: x, in 1 of 4 cases."},
		"fails, is void":      {[]*oracle.Outcome{fails, faulty}, oracle.VoidRun, 3, "Void: the harness failed, and nothing was judged of x."},
		"passes, has no case": {[]*oracle.Outcome{passes, s.NewOutcome()}, oracle.VoidRun, 3, "Void: the harness failed, and nothing was judged of x."},
		"passes, was not run": {[]*oracle.Outcome{passes, nil}, oracle.VoidRun, 3, "Void: the harness failed, and nothing was judged of x."},
	} {
		r := oracle.NewReport(oracle.Implementation, "x")
		for _, o := range c.outcomes {
			r.Add(s, nil, o)
		}
		if r.Verdict != c.verdict || r.Exit() != c.exit || !strings.Contains(text(t, r), c.summary+"\n") {
			t.Errorf("%s: %s with the exit code %d, want %s with %d: %s", name, r.Verdict, r.Exit(), c.verdict, c.exit, text(t, r))
		}
	}
}

// TestUndecided: what could not be decided of a recording is no pass, and no
// violation.
func TestUndecided(t *testing.T) {
	s := builtin(t, "recovery-v1")
	for _, c := range []struct {
		subject                   oracle.Subject
		passed, failed, undecided int
		verdict                   string
		exit                      int
		summary                   string
	}{
		{oracle.Recording, 1, 0, 0, oracle.Conforms, 0, "Conforms: x, in all 1 cases."},
		{oracle.Recording, 1, 0, 2, oracle.Undecided, 3, "Undecided: x breaks no rule, and not all final answers could be read; 2 unchecked."},
		{oracle.Recording, 0, 0, 1, oracle.Undecided, 3, "Undecided: x breaks no rule, and not all final answers could be read; 1 unchecked."},
		{oracle.Recording, 1, 1, 1, oracle.Violates, 1, "Violates: x, in 1 of 2 cases; 1 unchecked."},
		{oracle.Recording, 0, 0, 0, oracle.VoidRun, 3, "Void: the harness failed, and nothing was judged of x."},
		{oracle.Implementation, 1, 0, 1, oracle.Conforms, 0, "Conforms: x, in all 1 cases."},
		{oracle.Implementation, 0, 0, 1, oracle.VoidRun, 3, "Void: the harness failed, and nothing was judged of x."},
	} {
		o := refusals(t, s, c.passed, c.failed)
		for i := range c.undecided {
			o.Unchecked = append(o.Unchecked, oracle.Unchecked{What: "an answer", Count: 1, Reason: "reason " + string(rune('a'+i))})
		}
		r := oracle.NewReport(c.subject, "x")
		r.Add(s, nil, o)
		if r.Verdict != c.verdict || r.Exit() != c.exit || !strings.Contains(text(t, r), c.summary+"\n") {
			t.Errorf("%+v: %s with the exit code %d: %s", c, r.Verdict, r.Exit(), text(t, r))
		}
	}
}

// TestText: what people read of a run is bounded, and counts the rest.
func TestText(t *testing.T) {
	s := builtin(t, "recovery-v1")
	for _, c := range []struct {
		failed, voids int
		shown         int    // FAIL
		also          string // the sentence that counts other failures
		void          int    // VOID
		alsoVoid      string
	}{
		{failed: 1, shown: 1},
		{failed: 20, shown: 20},
		{failed: 21, shown: 20, also: "and 1 more failed cases of recovery-v1; --report json lists the first 1000\n"},
		{failed: 1, shown: 1, voids: 6, void: 6},
		{failed: 1, shown: 1, voids: 7, void: 7, alsoVoid: "VOID recovery-v1: and 1 more such lines; --report json lists more\n"},
	} {
		o := refusals(t, s, 0, c.failed)
		for i := range c.voids {
			o.AddVoid("fault %d", i)
		}
		r := oracle.NewReport(oracle.Implementation, "x")
		r.Add(s, nil, o)
		got := text(t, r)
		if strings.Count(got, "FAIL ") != c.shown || !strings.Contains(got, c.also) || (c.also == "") == strings.Contains(got, "more failed cases") {
			t.Errorf("%d failed: %s", c.failed, got)
		}
		if strings.Count(got, "VOID ") != c.void || !strings.Contains(got, c.alsoVoid) || (c.alsoVoid == "") == strings.Contains(got, "more such lines") {
			t.Errorf("%d faults: %s", c.voids, got)
		}
		if strings.Contains(got, "mutants by operator") {
			t.Errorf("the operators of one suite are added up: %s", got)
		}
	}
}

// TestTextOfFailure: a failure with the rule that it fails by, and the others
// once each.
func TestTextOfFailure(t *testing.T) {
	s := builtin(t, "recovery-v1")
	o := s.NewOutcome()
	s.JudgeCaller(o, place(t, s, "temporary-persistent"), []oracle.Arrival{call(0, valid), call(1, valid), call(2, valid), call(3, `{"a":"\u001b"}`), call(3, "{}")})
	s.JudgeTool(o, place(t, s, "access-denied"), []oracle.ToolAnswer{{Failed: true}})
	r := oracle.NewReport(oracle.Caller, "x\x1b")
	r.Add(s, nil, o)
	got := text(t, r)
	for _, want := range []string{
		"FAIL recovery-v1 temporary-persistent: budget\n  expected    nothing\n  got         {\"execution\":4,",
		"\n  difference  execution 4: the case had ended with execution 3\n  clause      recovery-v1, budget and time",
		"\n  also        early\n",
		"FAIL recovery-v1 access-denied: no-record\n  expected    {\"case\":",
		"\n  got         nothing\n  difference  execution 1: the failure carries no record\n",
		"Violates: x\ufffd, in 2 of 2 cases.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q: %s", want, got)
		}
	}
	if strings.Count(got, "also ") != 1 {
		t.Errorf("rules are named again: %s", got)
	}
}

// TestTextOfAnswers: an answer has no execution.
func TestTextOfAnswers(t *testing.T) {
	s := builtin(t, "catalogue-v1")
	r := oracle.NewReport(oracle.Implementation, "x")
	r.Add(s, nil, judged(t, s, "S2", string(s.Cases[place(t, s, "S2")].Oracle[0])+" "))
	if got := text(t, r); !strings.Contains(got, "\n  difference  the values are right, and") || len(r.Suites[0].Unchecked) > 0 {
		t.Error(got)
	}
}

// TestOperatorsAddUp: the mutants of several suites by their operator.
func TestOperatorsAddUp(t *testing.T) {
	s := builtin(t, "recovery-v1")
	r := oracle.NewReport(oracle.Implementation, "x")
	for range 2 {
		r.Add(s, &oracle.Proof{Rejected: 7, Accepted: 8, Killed: 9, Survived: 10, Equivalent: 11, Operators: []oracle.OperatorCount{
			{Operator: "drop", Killed: 1, Survived: 2, Equivalent: 3}, {Operator: "repeat", Killed: 10, Survived: 20, Equivalent: 30},
		}}, refusals(t, s, 1, 0))
	}
	got := text(t, r)
	for _, want := range []string{
		"mutants by operator          killed survived equivalent\n" +
			"drop                              2        4          6\n" +
			"repeat                           20       40         60\n\n",
		"cases 1 passed, 0 failed; the judge: controls 7 rejected, 8 accepted; mutants 9 killed, 10 survived, 11 equivalent\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q: %s", want, got)
		}
	}
}

// TestUnchecked: what a run left open, by what was judged.
func TestUnchecked(t *testing.T) {
	s := builtin(t, "recovery-v1")
	for subject, want := range map[oracle.Subject][]int{oracle.Implementation: nil, oracle.Tools: {14, 14}, oracle.Caller: {2}} {
		o := s.NewOutcome()
		s.JudgeCaller(o, place(t, s, "temporary-persistent"), []oracle.Arrival{call(0, valid)})
		s.JudgeCaller(o, place(t, s, "temporary-then-ok"), []oracle.Arrival{call(0, valid), call(1000, valid)})
		r := oracle.NewReport(subject, "x")
		r.Add(s, nil, o)
		var got []int
		for _, u := range r.Suites[0].Unchecked {
			got = append(got, u.Count)
		}
		if !slices.Equal(got, want) || strings.Contains(text(t, r), "cases;") {
			t.Errorf("%s: %v is unchecked, want %v: %s", subject, got, want, text(t, r))
		}
		r = oracle.NewReport(subject, "x")
		r.Add(s, nil, nil)
		if len(r.Suites[0].Unchecked) > 0 {
			t.Errorf("%s: without a run, %+v is unchecked", subject, r.Suites[0].Unchecked)
		}
	}
}

// TestPrintable: no character that moves a cursor, or turns the direction of
// what follows, reaches a terminal.
func TestPrintable(t *testing.T) {
	for _, r := range "\x00\t\n\x1b\x1f\x7f\u0080\u009f\u2028\u2029\u202a\u202c\u202e\u2066\u2067\u2069\u206a\u200f\U000e0041" {
		if got := text(t, oracle.NewReport(oracle.Tools, "<"+string(r)+">")); !strings.Contains(got, "of <\ufffd>.") {
			t.Errorf("%U is printed: %q", r, got)
		}
	}
	for _, r := range " ~\u00a0é\u2027\u202f語" {
		if got := text(t, oracle.NewReport(oracle.Tools, "<"+string(r)+">")); !strings.Contains(got, "of <"+string(r)+">.") {
			t.Errorf("%U is not printed: %q", r, got)
		}
	}
}

// TestDetailed: the first 1000 failed cases are kept, and all are counted.
func TestDetailed(t *testing.T) {
	s := builtin(t, "recovery-v1")
	for failed, unlisted := range map[int]int{1000: 0, 1001: 1} {
		r := oracle.NewReport(oracle.Caller, "x")
		r.Add(s, nil, refusals(t, s, 1, failed))
		got := r.Suites[0]
		if got.Cases.Failed != failed || len(got.Failures) != 1000 || got.Unlisted != unlisted || got.FailedBy["retry-after-refusal"] != failed {
			t.Errorf("%d failed: %+v, %d listed, %d not, by %v", failed, got.Cases, len(got.Failures), got.Unlisted, got.FailedBy)
		}
	}
	l := oracle.NewLive("ships")
	for range 1002 {
		l.Judge(oracle.Provocation{Rule: "live-baseline"}, answered(500, ""))
	}
	r := oracle.NewReport(oracle.Application, "x")
	r.AddLive(l)
	if got := r.Suites[0]; got.Unlisted != 2 {
		t.Errorf("%d failures of an application are not listed, want 2", got.Unlisted)
	}
}

// TestSARIF: a result for each finding, a rule once, and a void run as an
// invocation that was not successful.
func TestSARIF(t *testing.T) {
	type log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Invocations []struct {
				ExecutionSuccessful        bool
				ExitCode                   int
				ToolExecutionNotifications []struct{ Message struct{ Text string } }
			}
			Results []struct{ RuleID string }
		}
	}
	s := builtin(t, "recovery-v1")
	for _, c := range []struct {
		passed, failed int
		void           []string
		exit           int
	}{{1, 0, nil, 0}, {1, 2, nil, 1}, {0, 2, []string{"a", "b"}, 3}} {
		r := oracle.NewReport(oracle.Caller, "x")
		r.Add(s, nil, refusals(t, s, c.passed, c.failed), c.void...)
		var b bytes.Buffer
		if err := r.SARIF(&b); err != nil {
			t.Fatal(err)
		}
		var got log
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		run := got.Runs[0]
		var rules, want, void, wantVoid []string
		for _, rule := range run.Tool.Driver.Rules {
			rules = append(rules, rule.ID)
		}
		if c.failed > 0 {
			want = []string{"retry-after-refusal"}
		}
		for _, n := range run.Invocations[0].ToolExecutionNotifications {
			void = append(void, n.Message.Text)
		}
		for _, fault := range c.void {
			wantVoid = append(wantVoid, "recovery-v1: "+fault)
		}
		if diff := cmp.Diff(want, rules) + cmp.Diff(wantVoid, void); diff != "" || len(run.Results) != c.failed {
			t.Errorf("%+v: %d results: %s", c, len(run.Results), diff)
		}
		if i := run.Invocations[0]; i.ExecutionSuccessful != (c.exit != 3) || i.ExitCode != c.exit {
			t.Errorf("%+v: got %+v", c, i)
		}
	}
}

// TestEstablishes: what a verdict establishes of each subject, and what not.
func TestEstablishes(t *testing.T) {
	s := builtin(t, "recovery-v1")
	for _, c := range []struct {
		subject oracle.Subject
		failed  int
		begins  string
	}{
		{oracle.Implementation, 0, "On these authored cases the results are"},
		{oracle.Tools, 0, "On these authored cases the tools answered"},
		{oracle.Caller, 0, "On these authored cases the caller did"},
		{oracle.Application, 0, "To these provocations"},
		{oracle.Caller, 1, "On the authored cases listed as failed"},
		{oracle.Application, 1, "To the provocations listed as failed"},
	} {
		r := oracle.NewReport(c.subject, "x")
		if !strings.HasPrefix(r.Establishes[0], "Nothing:") {
			t.Errorf("%s: before any run it establishes %q", c.subject, r.Establishes)
		}
		r.Add(s, nil, refusals(t, s, 1, c.failed))
		if !strings.HasPrefix(r.Establishes[0], c.begins) {
			t.Errorf("%s with %d failed: it establishes %q", c.subject, c.failed, r.Establishes)
		}
		ofProvocations := strings.Contains(strings.Join(r.DoesNotEstablish, "\n"), "These are counts of provocations")
		if ofProvocations != (c.subject == oracle.Application) {
			t.Errorf("%s: it does not establish %q", c.subject, r.DoesNotEstablish)
		}
	}
}

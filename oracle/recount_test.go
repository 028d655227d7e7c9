package oracle_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"remit.example/oracle"
)

// line is one line of a trace.
func line(of string, execution int, input string, authOK bool, action, disposition string) string {
	return fmt.Sprintf(`{"case":%q,"execution":%d,"input":%s,"auth_ok":%v,"code":"OK","action":%q,"at_ms":0,"disposition":%s}`+"\n",
		of, execution, input, authOK, action, disposition)
}

// TestRecount: the frozen suite has 9 cases with 14 executions; see its lines.
func TestRecount(t *testing.T) {
	got, err := oracle.Recount("traces", bytes.NewReader(builtin(t, "recovery-v1").Results()))
	if err != nil {
		t.Fatal(err)
	}
	want := &oracle.Totals{
		Executions: 14, Initial: 9, Subsequent: 5, AvailabilityRetries: 3, Corrections: 1, Authentications: 1, Succeeded: 4, EndedOtherwise: 5,
		Dispositions: map[string]int{"success": 4, "needs_input": 1, "needs_auth": 1, "retry_exhausted": 1, "refused": 1, "unknown": 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRecountKinds: what an execution after another counts as.
func TestRecountKinds(t *testing.T) {
	for _, c := range []struct {
		action        string
		input         string
		before, after bool
		want          oracle.Totals
	}{
		{"wait_and_retry", `{"a":1}`, true, true, oracle.Totals{AvailabilityRetries: 1}},
		{"wait_and_retry", `{ "a":1.0 }`, false, false, oracle.Totals{AvailabilityRetries: 1}},
		{"wait_and_retry", `{"a":2}`, true, true, oracle.Totals{Unexplained: 1}},
		{"wait_and_retry", `{"a":1}`, false, true, oracle.Totals{Unexplained: 1}},
		{"request_correction", `{"a":2}`, true, true, oracle.Totals{Corrections: 1}},
		{"request_correction", `{"a":1}`, true, true, oracle.Totals{Unexplained: 1}},
		{"request_correction", `{"a":2}`, false, true, oracle.Totals{Unexplained: 1}},
		{"request_authentication", `{"a":1}`, false, true, oracle.Totals{Authentications: 1}},
		{"request_authentication", `{"a":2}`, false, true, oracle.Totals{Unexplained: 1}},
		{"request_authentication", `{"a":1}`, false, false, oracle.Totals{Unexplained: 1}},
		{"request_authentication", `{"a":1}`, true, true, oracle.Totals{Unexplained: 1}},
		{"stop", `{"a":1}`, true, true, oracle.Totals{Unexplained: 1}},
	} {
		traces := line("a", 1, `{"a":1}`, c.before, c.action, "null") + line("a", 2, c.input, c.after, "stop", "null") + line("b", 1, `{}`, true, "complete", `"success"`)
		want := c.want
		want.Executions, want.Initial, want.Subsequent, want.Unfinished, want.Succeeded = 3, 2, 1, 1, 1
		want.Dispositions = map[string]int{"success": 1}
		got, err := oracle.Recount("traces", strings.NewReader(traces))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// TestRecountFaults: each faulty line is named with its place, up to a bound.
func TestRecountFaults(t *testing.T) {
	first, second := line("a", 1, `{}`, true, "wait_and_retry", "null"), line("a", 2, `{}`, true, "complete", `"success"`)
	other := line("b", 1, `{}`, true, "complete", `"success"`)
	for name, c := range map[string]struct {
		traces string
		want   []string // how the lines of the error begin
	}{
		"nothing":            {"", []string{"traces: it has no traces"}},
		"no object":          {first + "[]\n", []string{"traces:2: not a trace line"}},
		"no case":            {strings.Replace(first, `"case":"a",`, "", 1), []string{"traces:1: not a trace line"}},
		"a member twice":     {strings.Replace(first, `"case":"a",`, `"case":"a","case":"a",`, 1), []string{"traces:1: not a trace line"}},
		"a text as a number": {strings.Replace(first, `"at_ms":0`, `"at_ms":"0"`, 1), []string{"traces:1: not a trace line"}},
		"another member":     {strings.Replace(first, `"case":`, `"note":1,"case":`, 1), []string{"traces:1: not a trace line"}},
		"begins with 2":      {second, []string{"traces:1: case \"a\": execution 2 is out of order"}},
		"leaves out 2":       {first + strings.Replace(second, "2", "3", 1), []string{"traces:2: case \"a\": execution 3 is out of order"}},
		"1 again":            {first + first, []string{"traces:2: case \"a\": execution 1 is out of order"}},
		"apart":              {first + other + second, []string{"traces:3: the lines of case \"a\" do not stand together"}},
		"a long line":        {first + second + strings.Repeat(" ", 1<<20+1), []string{"traces:3: a trace line has at most 1048576 bytes"}},
		"20 faulty lines":    {strings.Repeat("x\n", 20), faulty(20, "")},
		"21 faulty lines":    {strings.Repeat("x\n", 21), faulty(20, "and 1 more faulty lines")},
	} {
		totals, err := oracle.Recount("traces", strings.NewReader(c.traces))
		if err == nil || totals != nil {
			t.Errorf("%s: it is counted: %+v", name, totals)
			continue
		}
		got := strings.Split(err.Error(), "\n")
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
			continue
		}
		for i, begins := range c.want {
			if !strings.HasPrefix(got[i], begins) {
				t.Errorf("%s: got %q, want %q", name, got[i], begins)
			}
		}
	}
	if _, err := oracle.Recount("traces", iotest.ErrReader(iotest.ErrTimeout)); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("the error of the reader is %v", err)
	}
}

// faulty is how the errors of so many faulty lines begin, and the last.
func faulty(n int, last string) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("traces:%d: not a trace line", i+1))
	}
	if last != "" {
		all = append(all, last)
	}
	return all
}

package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.example/oracle"
)

// decision is one line of a guard's trace.
func decision(of, execution, input, action, disposition, from string, more ...string) string {
	rest := ""
	for _, member := range more {
		rest += "," + member
	}
	return fmt.Sprintf(`{"case":%q,"execution":%s,"input":{"digest":%q},"auth_ok":null,"code":"OK","action":%q,"at_ms":1,"disposition":%s,"answered_from":%q,"at":"1970-01-01T00:00:00.001Z","caller":"a","upstream":"b","tool":"t","effect":"read"%s,"mode":"enforce","took_ms":1}`+"\n",
		of, execution, input, action, disposition, from, rest)
}

// TestRecountGuard: cases interleave, what was answered without an execution
// is counted apart, and a file may begin in the middle of a case.
func TestRecountGuard(t *testing.T) {
	traces := decision("a", "1", "x", "wait_and_retry", "null", "tool", `"message":"Wait."`, `"again":true`) +
		decision("b", "1", "x", "correct_input", "null", "tool") +
		decision("c", "null", "x", "correct_input", "null", "validation") +
		decision("a", "3", "x", "complete", `"success"`, "tool") + // beside the next one
		decision("a", "2", "x", "wait_and_retry", "null", "tool") +
		decision("b", "null", "x", "correct_input", "null", "memory", `"replayed":true`) +
		decision("b", "2", "y", "stop", `"needs_input"`, "tool") +
		decision("d", "2", "x", "check_status", "null", "tool", `"operation":"op_1"`, `"state":"unknown"`) +
		decision("d", "3", "x", "complete", `"success"`, "tool") +
		decision("e", "1", "x", "refresh_state", "null", "tool") +
		decision("e", "2", "z", "complete", "null", "tool", `"asks":true`) +
		decision("e", "2", "z", "authenticate", "null", "tool") +
		decision("e", "3", "z", "wait_and_retry", "null", "tool") +
		decision("e", "4", "y", "stop", `"refused"`, "tool", `"why":"budget"`, `"would":"memory"`, `"would_code":"X"`) +
		decision("f", "null", "x", "stop", `"refused"`, "ledger") +
		decision("f", "null", "x", "wait_and_retry", "null", "tool")
	want := &oracle.Totals{
		Executions: 12, Initial: 3, Subsequent: 9, AvailabilityRetries: 2, Corrections: 1, Authentications: 1, Refreshes: 1, Checks: 1, Replies: 1,
		BegunBefore: 1, Unexplained: 1, Succeeded: 2, EndedOtherwise: 2, Dispositions: map[string]int{"success": 2, "needs_input": 1, "refused": 1},
		Calls: 15, Answered: map[string]int{"memory": 1, "ledger": 1, "validation": 1, "tool": 1},
	}
	got, err := oracle.Recount("trace", strings.NewReader(traces))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecountGuardFaults(t *testing.T) {
	first, second := decision("a", "1", "x", "wait_and_retry", "null", "tool"), decision("a", "2", "x", "complete", `"success"`, "tool")
	for name, c := range map[string]struct {
		traces string
		want   []string // how the lines of the error begin
	}{
		"cut":            {first + second[:100], []string{"trace:2: not a line of a guard's trace: it is no valid JSON"}},
		"of recovery-v1": {first + line("a", 2, `{}`, true, "complete", `"success"`), []string{"trace:2: not a line of a guard's trace: answered_from is absent"}},
		"in recovery-v1": {line("a", 1, `{}`, true, "wait_and_retry", "null") + second, []string{"trace:2: not a trace line: answered_from is no member of it"}},
		"another member": {first + strings.Replace(second, `{`, `{"note":1,`, 1), []string{"trace:2: not a line of a guard's trace: note is no member of it"}},
		"a member twice": {first + strings.Replace(second, `{`, `{"case":"a",`, 1), []string{"trace:2: not a line of a guard's trace: case stands twice"}},
		"absent":         {first + strings.Replace(second, `"code":"OK",`, ``, 1), []string{"trace:2: not a line of a guard's trace: code is absent"}},
		"a type":         {first + strings.Replace(second, `"at_ms":1`, `"at_ms":"1"`, 1), []string{"trace:2: not a line of a guard's trace: at_ms is"}},
		"a null":         {first + strings.Replace(second, `"tool":"t"`, `"tool":null`, 1), []string{"trace:2: not a line of a guard's trace: tool is null"}},
		"a disposition":  {first + strings.Replace(second, `"success"`, `"fine"`, 1), []string{`trace:2: not a line of a guard's trace: "fine" is no disposition`}},
		"a source":       {first + strings.Replace(second, `"answered_from":"tool"`, `"answered_from":"me"`, 1), []string{`trace:2: not a line of a guard's trace: answered_from is "me"`}},
		"from memory":    {first + strings.Replace(second, `"answered_from":"tool"`, `"answered_from":"memory"`, 1), []string{`trace:2: not a line of a guard's trace: case "a": an execution is answered from memory`}},
		"execution 0":    {first + decision("a", "0", "x", "stop", "null", "tool"), []string{`trace:2: not a line of a guard's trace: case "a": execution 0`}},
		"twice":          {second + first + first + second, []string{`trace:3: case "a": execution 1 is out of order`, `trace:4: case "a": execution 2 is out of order`}},
		"left out":       {first + decision("a", "3", "x", "stop", "null", "tool"), []string{`trace:2: case "a": execution 3 is out of order`}},
		"21 faulty": {first + strings.Repeat("x\n", 21), append(func() (all []string) {
			for i := range 20 {
				all = append(all, fmt.Sprintf("trace:%d: not a line", i+2))
			}
			return all
		}(), "and 1 more faulty lines")},
	} {
		totals, err := oracle.Recount("trace", strings.NewReader(c.traces))
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
}

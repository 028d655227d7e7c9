package oracle_test

import (
	"slices"
	"testing"

	"remit.example/oracle"
)

// TestOperatorCounts: each operator makes every mutant that its definition
// gives for a frozen suite. recovery-v1 has 9 cases with 14 lines of 8 members,
// and 10 of its executions fail, 2 of them by their input; catalogue-v1 has 6
// answers with 29 members in all, of which S1, R1 and U1 list 3 of 6 items.
func TestOperatorCounts(t *testing.T) {
	for name, want := range map[string][]oracle.OperatorCount{
		"recovery-v1": {
			{Operator: "drop", Killed: 14},
			{Operator: "duplicate", Killed: 14},
			{Operator: "reorder", Killed: 14 - 9},
			{Operator: "add an execution", Killed: 9},
			{Operator: "one millisecond early", Killed: 14},
			{Operator: "one millisecond late", Killed: 14},
			{Operator: "change code", Killed: 14*6 - 13}, // the own code of one line is none of the six
			{Operator: "change action", Killed: 14 * 4},
			{Operator: "change disposition", Killed: 14 * 6},
			{Operator: "change authentication", Killed: 14},
			{Operator: "change input", Killed: 14 + 1}, // one line has a refused input before it
			{Operator: "change case", Killed: 14},
			{Operator: "extra member", Killed: 14},
			{Operator: "duplicate member", Killed: 14 * 7},
			{Operator: "absent member", Killed: 14 * 8},
			{Operator: "non-canonical number", Killed: 14 * 2 * 2},
			{Operator: "white space", Killed: 14 * 3},
			{Operator: "member order", Killed: 14 * 7},
			{Operator: "change record code", Killed: 10*6 - 9},
			{Operator: "change record field", Killed: 8 + 2*2},
			{Operator: "change record wait", Killed: 6 + 4*3}, // four ask for a wait
			{Operator: "forget the format", Killed: 2},
			{Operator: "drop the record", Killed: 10 * 5},
			{Operator: "answer as a success", Killed: 10},
			{Operator: "call early", Killed: 3},
			{Operator: "call with another input", Killed: 14},
			{Operator: "call after the end", Killed: 9},
		},
		"catalogue-v1": {
			{Operator: "drop", Killed: 6},
			{Operator: "duplicate", Killed: 6},
			{Operator: "change status", Killed: 6 * 5},
			{Operator: "admit a non-match", Killed: 3*3 + 6}, // S2 lists none
			{Operator: "omit a match", Killed: 3 * 3},
			{Operator: "repeat an item", Killed: 3 * 3},
			{Operator: "reorder", Killed: 3 * 2},
			{Operator: "split a tie", Killed: 1},
			{Operator: "swap ranks", Killed: 1},
			{Operator: "affirm without evidence", Killed: 3},
			{Operator: "recommend", Killed: 6},
			{Operator: "name another field", Killed: 1},
			{Operator: "name another basis", Killed: 3},
			{Operator: "shorten a list", Killed: 1 + 4 + 1},
			{Operator: "change case", Killed: 6},
			{Operator: "extra member", Killed: 6},
			{Operator: "duplicate member", Killed: 29 - 6},
			{Operator: "absent member", Killed: 29},
			{Operator: "non-canonical number", Killed: 3 * 2},
			{Operator: "white space", Killed: 6 * 3},
			{Operator: "member order", Killed: 29 - 6},
		},
	} {
		p := builtin(t, name).Prove()
		if !slices.Equal(p.Operators, want) {
			t.Errorf("%s: got %v, want %v", name, p.Operators, want)
		}
		killed := 0
		for _, n := range want {
			killed += n.Killed
		}
		if p.Killed != killed || p.Survived+p.Equivalent != 0 {
			t.Errorf("%s: %d killed, %d survived, %d equivalent, want %d killed", name, p.Killed, p.Survived, p.Equivalent, killed)
		}
	}
}

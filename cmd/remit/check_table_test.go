package main

import (
	"bytes"
	"slices"
	"testing"

	"remit.example/oracle"
	"remit.example/record"
	"remit.example/recovery"
)

// The rows and columns of the decision table of recovery-v1. The code "" is
// the row of any other code.
var (
	tableCodes   = []record.Code{record.OK, record.InvalidArgument, record.AuthRequired, record.AccessDenied, record.TempUnavailable, ""}
	tableActions = []record.Next{"", record.CorrectInput, record.Authenticate, record.WaitAndRetry, record.CheckStatus, record.RefreshState, record.Stop}
	tableEnds    = []record.Disposition{
		record.Success, record.NeedsInput, record.NeedsAuth, record.RetryExhausted, record.RetryLater,
		record.QuotaSpent, record.Refused, record.Unknown, record.UnknownOutcome, record.Cancelled,
	}
)

// repeated is the rule that an execution breaks which a wrong cell permits, by
// the row. A wrong action that leads to none is told by the rule action.
var repeated = map[record.Code]string{
	record.InvalidArgument: "unchanged-input-resent",
	record.AuthRequired:    "retry-without-renewal", record.AccessDenied: "retry-after-refusal",
	record.TempUnavailable: "budget", "": "retry-after-unknown",
}

// TestDecisionTableMutants replaces every cell of the decision table by every
// other action, and by every other disposition, and replays the suites: each
// mutant is rejected, by the rule that it breaks alone, and only in cases that
// meet its code. The row of OK is equivalent: the runner returns what a call
// gave before it asks the policy anything, so that nothing reads the row.
func TestDecisionTableMutants(t *testing.T) {
	killed, equivalent := 0, 0
	for _, code := range tableCodes {
		cell := recovery.V1.Rule(code, record.Read)
		for _, next := range tableActions {
			if next == cell.Next {
				continue
			}
			byRule := replayMutant(t, code, recovery.Rule{Next: next, Stop: cell.Stop})
			if code == record.OK && len(byRule) == 0 {
				equivalent++
				continue
			}
			for rule := range byRule {
				if rule != "action" && rule != repeated[code] {
					t.Errorf("%q → %q: rejected by %s", code, next, rule)
				}
			}
			killed += kill(t, byRule, code, string(next))
		}
		for _, end := range tableEnds {
			if end == cell.Stop {
				continue
			}
			byRule := replayMutant(t, code, recovery.Rule{Next: cell.Next, Stop: end})
			if code == record.OK && len(byRule) == 0 {
				equivalent++
				continue
			}
			for rule := range byRule {
				if rule != "disposition" {
					t.Errorf("%q ends as %q: rejected by %s", code, end, rule)
				}
			}
			killed += kill(t, byRule, code, string(end))
		}
	}
	t.Logf("mutants of the decision table: %d killed, %d equivalent", killed, equivalent)
	row := len(tableActions) - 1 + len(tableEnds) - 1
	if want := (len(tableCodes) - 1) * row; killed != want || equivalent != row {
		t.Errorf("%d mutants killed and %d equivalent, want %d and %d", killed, equivalent, want, row)
	}
}

func kill(t *testing.T, byRule map[string]int, code record.Code, cell string) int {
	if len(byRule) == 0 {
		t.Errorf("%q → %q survived", code, cell)
		return 0
	}
	return 1
}

// replayMutant replays the recovery suites, case by case, by a table with one
// wrong cell, and counts the cases that fail by their rules. A wrong policy may
// ask a scripted dependency more often than the script answers: that is an
// execution beyond the last.
func replayMutant(t *testing.T, code record.Code, cell recovery.Rule) map[string]int {
	t.Helper()
	replay, err := replayUnder(recovery.V1.With(code, record.Read, cell))
	if err != nil {
		t.Fatal(err)
	}
	byRule := map[string]int{}
	for _, name := range []string{"recovery-v1", "recovery-v1-extended"} {
		s, err := oracle.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		var results bytes.Buffer
		for _, c := range s.Cases {
			lines, err := replay(t.Context(), c.Line)
			if err != nil { // the script ran out
				byRule[repeated[code]]++
				lines = literal(c)
			}
			if !bytes.Equal(lines, literal(c)) && !meets(c, code) {
				t.Errorf("%q → %+v changes %s, which does not meet the code", code, cell, c.Name)
			}
			results.Write(lines)
		}
		outcome, err := s.Judge(&results)
		if err != nil || len(outcome.Void) > 0 {
			t.Fatal(err, outcome.Void)
		}
		for rule, n := range outcome.ByRule {
			byRule[rule] += n
		}
	}
	return byRule
}

func literal(c oracle.Case) []byte {
	var lines []byte
	for _, line := range c.Oracle {
		lines = append(append(lines, line...), '\n')
	}
	return lines
}

// meets reports whether an execution of a case has the code; "" is any code
// that the table does not name.
func meets(c oracle.Case, code record.Code) bool {
	return slices.ContainsFunc(c.Codes(), func(got string) bool {
		return record.Code(got) == code || code == "" && !record.Code(got).V1()
	})
}

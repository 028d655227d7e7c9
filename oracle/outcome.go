package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

const (
	// maxDetailed bounds the failed cases of one run that are kept with their
	// findings; all are counted.
	maxDetailed = 1000
	// maxVoid bounds the faults of a harness that are reported one by one.
	maxVoid = 20
	// maxFindings bounds the rules that one case is said to break.
	maxFindings = 50
	// maxShown bounds what a report shows of one line, in code points.
	maxShown = 2000
)

// Finding is one rule that a result breaks.
type Finding struct {
	Rule       string `json:"rule"`
	Execution  int    `json:"execution"` // from 1; 0: the case as a whole
	Expected   string `json:"expected"`  // the literal line; "" where none was due
	Got        string `json:"got"`       // "" where there was none
	Difference string `json:"difference"`
	Clause     string `json:"clause"`
}

// CaseFailure is a case that failed, with every rule that it breaks, the one
// that it fails by first.
type CaseFailure struct {
	Case     string    `json:"case"`
	Why      string    `json:"why"`
	Findings []Finding `json:"findings"`
}

// How two runs of a program compare.
const (
	Identical = "identical"
	Differ    = "differ"
)

// Outcome is what a run came to.
type Outcome struct {
	Passed, Failed int
	// Failures are the first 1000 cases that failed.
	Failures []CaseFailure
	// ByRule counts the failed cases by the rule that each failed by.
	ByRule map[string]int
	// Replays says whether the results of two runs were the same bytes; "" where
	// there was one run.
	Replays string
	// Continued counts the calls after the first that a caller made in its
	// cases, and Permitted those that it might have made.
	Continued, Permitted int
	// NoCalls counts a caller's requests that were no calls of the tool.
	NoCalls int
	// Checks are the verdicts of the checks that one case is held to apart from
	// each other; nil where a case is one check.
	Checks []CheckCount
	// Unchecked is what could not be decided. A case with something undecided,
	// which does not fail, has no verdict.
	Unchecked []Unchecked
	// Void says why the run judges nothing; empty where it does. The last entry
	// counts those that are not listed.
	Void []string

	contract Contract
	voids    int
}

func newOutcome(contract Contract) *Outcome {
	o := &Outcome{ByRule: map[string]int{}, contract: contract}
	for _, check := range apart[contract] {
		o.Checks = append(o.Checks, CheckCount{Check: check.name})
	}
	return o
}

// AddVoid notes a fault of the harness, by which the run judges nothing. The
// first 20 are kept one by one, and an entry after them counts the rest.
func (o *Outcome) AddVoid(format string, args ...any) {
	if o.voids++; o.voids <= maxVoid {
		o.Void = append(o.Void, fmt.Errorf(format, args...).Error())
		return
	}
	o.Void = append(o.Void[:maxVoid], fmt.Sprintf("and %d more", o.voids-maxVoid))
}

// AddUnchecked notes one thing more that was not judged, and why.
func (o *Outcome) AddUnchecked(what, reason string) {
	at := slices.IndexFunc(o.Unchecked, func(u Unchecked) bool { return u.What == what && u.Reason == reason })
	if at < 0 {
		at = len(o.Unchecked)
		o.Unchecked = append(o.Unchecked, Unchecked{What: what, Reason: reason})
	}
	o.Unchecked[at].Count++
}

// count notes the verdict of one case.
func (o *Outcome) count(c *Case, f *findings) {
	o.countChecks(f)
	for _, reason := range f.undecided {
		o.Unchecked = append(o.Unchecked, Unchecked{"the final answer to " + c.Name, 1, reason})
	}
	switch {
	case len(f.list) == 0 && len(f.undecided) > 0:
		return
	case len(f.list) == 0:
		o.Passed++
		return
	}
	o.Failed++
	list := f.sorted()
	o.ByRule[list[0].Rule]++
	if len(o.Failures) < maxDetailed {
		o.Failures = append(o.Failures, CaseFailure{Case: c.Name, Why: c.Why, Findings: list})
	}
}

// findings collects what one case breaks.
type findings struct {
	contract Contract
	list     []Finding
	// undecided says why a final answer that breaks no rule has no verdict.
	undecided []string
}

// add notes a rule that is broken. Beyond maxFindings a case has failed often
// enough.
func (f *findings) add(rule string, execution int, expected, got []byte, format string, args ...any) {
	if len(f.list) == maxFindings {
		return
	}
	f.list = append(f.list, Finding{
		Rule: rule, Execution: execution, Expected: clip(string(expected)), Got: clip(string(got)),
		Difference: fmt.Sprintf(format, args...), Clause: clause(f.contract, rule),
	})
}

// has reports whether an execution breaks a rule.
func (f *findings) has(execution int) bool {
	return slices.ContainsFunc(f.list, func(each Finding) bool { return each.Execution == execution })
}

// sorted is the list with the rule that the case fails by first: lines that
// cannot be told apart, then what was done after the end, then the first line
// that differs.
func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(gravity(a), gravity(b)),
			cmp.Compare(a.Execution, b.Execution),
			cmp.Compare(rank(f.contract, a.Rule), rank(f.contract, b.Rule)),
		)
	})
	return f.list
}

func gravity(f Finding) int {
	switch {
	case f.Rule == "numbering":
		return 0
	case f.Execution > 0 && f.Expected == "":
		return 1
	}
	return 2
}

// clip bounds a text that comes from what is judged.
func clip(text string) string {
	if len(text) <= maxShown || utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown]) + "…"
}

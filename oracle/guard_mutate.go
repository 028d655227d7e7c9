package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var guardOperators = []Operator{
	{"drop", GuardV1, func(_ *Suite, c *Case) []Mutant {
		return eachLine(c, "drop", func(i int) []jsontext.Value { return slices.Delete(slices.Clone(c.Oracle), i, i+1) })
	}},
	{"duplicate", GuardV1, func(_ *Suite, c *Case) []Mutant {
		return eachLine(c, "duplicate", func(i int) []jsontext.Value { return slices.Insert(slices.Clone(c.Oracle), i, c.Oracle[i]) })
	}},
	{"split a run", GuardV1, splitRun},
	lineOperator("shorten a run", GuardV1, shortenRun),
	lineOperator("execute what was answered", GuardV1, executeAnswered),
	lineOperator("change who answered", GuardV1, changeAnswerer),
	lineOperator("change code", GuardV1, ofCalls(changeGuardCode)),
	lineOperator("change content", GuardV1, ofCalls(changeContent)),
	lineOperator("change the mark", GuardV1, ofCalls(others("replayed", "replay-mark", []string{"true", "false"}))),
	lineOperator("change an execution", GuardV1, ofCalls(plusOne("execution", "execution"))),
	lineOperator("one millisecond early", GuardV1, ofCalls(shiftNumber("retry_at_ms", -1, "wait"))),
	lineOperator("one millisecond late", GuardV1, ofCalls(plusOne("retry_at_ms", "wait"))),
	lineOperator("change an age", GuardV1, ofCalls(plusOne("since_ms", "age"))),
	lineOperator("change when it executes again", GuardV1, ofCalls(plusOne("again_at_ms", "again"))),
	lineOperator("change who would have answered", GuardV1, ofCalls(changeText("would", "would", byTool, byMemory, byLedger, byValidation))),
	lineOperator("change state", GuardV1, ofCalls(changeText("state", "state", "sent", "confirmed", "refused", "unknown"))),
	lineOperator("add an effect", GuardV1, ofTotals("effects", "second-effect", func(moments []int64) []int64 { return append(slices.Clone(moments), 1) })),
	lineOperator("take an effect away", GuardV1, ofTotals("effects", "lost-effect", withoutLast)),
	lineOperator("add an execution", GuardV1, ofTotals("executed", "executions", func(moments []int64) []int64 { return append(slices.Clone(moments), 1) })),
	lineOperator("take an execution away", GuardV1, ofTotals("executed", "executions", withoutLast)),
	lineOperator("shift an execution", GuardV1, ofTotals("executed", "moment", shiftLast)),
	lineOperator("shift an effect", GuardV1, ofTotals("effects", "moment", shiftLast)),
	lineOperator("change a key", GuardV1, ofTotals("keys", "key", shiftLast)),
	lineOperator("change case", GuardV1, others("case", void, []string{`"no-such-case"`})),
	lineOperator("extra member", GuardV1, atEnds(extraMember)),
	lineOperator("duplicate member", GuardV1, atEnds(duplicateMember)),
	lineOperator("absent member", GuardV1, atEnds(absentMember("case"))),
	lineOperator("non-canonical number", GuardV1, atEnds(nonCanonical)),
	lineOperator("white space", GuardV1, atEnds(whiteSpace)),
	lineOperator("member order", GuardV1, atEnds(memberOrder)),
}

func eachLine(c *Case, operator string, change func(i int) []jsontext.Value) []Mutant {
	var mutants []Mutant
	for i := range c.Oracle {
		mutants = append(mutants, Mutant{Operator: operator, Case: c.Name, Rule: "numbering", Results: change(i)})
	}
	return mutants
}

// callAt is a line of calls; false of the line of the whole.
func callAt(c *Case, i int) (guardCall, bool) {
	var l guardCall
	if i == len(c.Oracle)-1 {
		return l, false
	}
	if err := json.Unmarshal(c.Oracle[i], &l); err != nil { // lint has decoded it
		panic(err)
	}
	return l, true
}

// ofCalls applies to lines of calls alone.
func ofCalls(change func(*Case, int) []changed) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		if _, ok := callAt(c, i); !ok {
			return nil
		}
		return change(c, i)
	}
}

// atEnds applies to the first line of calls and the line of the whole, of which
// all others have the form.
func atEnds(change func(*Case, int) []changed) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		if i > 0 && i < len(c.Oracle)-1 {
			return nil
		}
		return change(c, i)
	}
}

// splitRun tells of a run of calls on two lines.
func splitRun(_ *Suite, c *Case) []Mutant {
	var mutants []Mutant
	for i := range c.Oracle {
		l, ok := callAt(c, i)
		if !ok || l.First == l.Last {
			continue
		}
		rest := l.at(l.First+1, c.guarded.Steps[l.Step-1].EveryMS)
		rest.Last = l.Last
		lines := slices.Clone(c.Oracle)
		lines[i] = with(c.Oracle[i], "last", strconv.FormatInt(l.First, 10))
		lines = slices.Insert(lines, i+1, jsontext.Value(encode(rest)))
		mutants = append(mutants, Mutant{Operator: "split a run", Case: c.Name, Rule: "form", Results: lines})
	}
	return mutants
}

func shortenRun(c *Case, i int) []changed {
	l, ok := callAt(c, i)
	if !ok || l.First == l.Last {
		return nil
	}
	return []changed{{with(c.Oracle[i], "last", strconv.FormatInt(l.Last-1, 10)), "numbering"}}
}

// repeated is the rule that executing a call breaks which has been answered,
// by who answered and the code.
var repeated = map[string]string{
	"validation INVALID_ARGUMENT": "executed-invalid-input",
	"memory ACCESS_DENIED":        "retry-after-refusal", "memory KEY_REUSED": "retry-after-refusal",
	"memory QUOTA_EXHAUSTED": "early",
	"ledger IN_PROGRESS":     "executed-in-flight", "ledger OUTCOME_UNKNOWN": "executed-while-unknown",
	"ledger KEY_REUSED": "executed-reused-key", "ledger OK": "executed-again",
	"memory ODDITY": "retry-after-unknown", "memory UNDECLARED_FAILURE": "retry-after-unknown", "memory RPC_-32603": "retry-after-unknown",
}

// executeAnswered says of a call that was answered that the tool was asked. What depends
// on the budget besides is left to the controls.
func executeAnswered(c *Case, i int) []changed {
	l, ok := callAt(c, i)
	rule := repeated[textOr(l.AnsweredFrom)+" "+textOr(l.Code)]
	if !ok || rule == "" || c.guarded.Steps[l.Step-1].Call == statusTool {
		return nil
	}
	return []changed{{with(with(c.Oracle[i], "answered_from", `"tool"`), "replayed", "false"), rule}}
}

// changeAnswerer exchanges those who answer without the tool.
func changeAnswerer(c *Case, i int) []changed {
	l, ok := callAt(c, i)
	if from := textOr(l.AnsweredFrom); !ok || from == "" || from == byTool {
		return nil
	}
	return others("answered_from", "answered-from", []string{`"memory"`, `"ledger"`, `"validation"`})(c, i)
}

func changeGuardCode(c *Case, i int) []changed {
	if l, _ := callAt(c, i); l.Code == nil {
		return nil
	}
	return others("code", "code", []string{`"OK"`, `"TEMP_UNAVAILABLE"`, `"OUTCOME_UNKNOWN"`, `"NO_SUCH_CODE"`})(c, i)
}

func changeContent(c *Case, i int) []changed {
	return []changed{{with(c.Oracle[i], "content", `"what nobody said"`), "content"}}
}

// changeText replaces a text by every other; null stays.
func changeText(name, rule string, values ...string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		if memberValue(c.Oracle[i], name) == "null" {
			return nil
		}
		var quoted []string
		for _, value := range values {
			quoted = append(quoted, strconv.Quote(value))
		}
		return others(name, rule, quoted)(c, i)
	}
}

func plusOne(name, rule string) func(*Case, int) []changed { return shiftNumber(name, 1, rule) }

// shiftNumber changes a number; null stays.
func shiftNumber(name string, by int64, rule string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		n, ok := wholeNumber(jsontext.Value(memberValue(c.Oracle[i], name)))
		if !ok {
			return nil
		}
		return []changed{{with(c.Oracle[i], name, strconv.FormatInt(n+by, 10)), rule}}
	}
}

// ofTotals changes the list of each tool in one member of the line of the whole.
func ofTotals(name, rule string, change func([]int64) []int64) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		if i != len(c.Oracle)-1 {
			return nil
		}
		var lists map[string][]int64
		if json.Unmarshal([]byte(memberValue(c.Oracle[i], name)), &lists) != nil {
			return nil // keys that are null
		}
		var all []changed
		for _, tool := range slices.Sorted(maps.Keys(lists)) {
			list := change(lists[tool])
			if list == nil {
				continue
			}
			all = append(all, changed{with(c.Oracle[i], name, with(jsontext.Value(memberValue(c.Oracle[i], name)), tool, numbers(list)).String()), rule})
		}
		return all
	}
}

func numbers(list []int64) string {
	text := []byte("[")
	for i, n := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Append(text, n)
	}
	return string(append(text, ']'))
}

func withoutLast(list []int64) []int64 {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list[:len(list)-1])
}

func shiftLast(list []int64) []int64 {
	if len(list) == 0 {
		return nil
	}
	shifted := slices.Clone(list)
	shifted[len(shifted)-1]++
	return shifted
}

package oracle

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// guarding compares the lines of one case, call by call.
type guarding struct {
	f    *findings
	c    *Case
	want []guardCall
	next int // the call that the next line begins with
}

// compareGuarded notes what the lines of one case break.
func compareGuarded(f *findings, c *Case, results []jsontext.Value) {
	g := &guarding{f: f, c: c, want: c.guarded.calls}
	for i, line := range results {
		m, _ := membersOf(line) // it was attributed by its members
		ok := false
		if m.totals() {
			ok = g.total(i, len(results), line, m)
		} else {
			ok = g.line(i, line, m)
		}
		if !ok {
			return
		}
	}
	if last, _ := membersOf(results[len(results)-1]); !last.totals() {
		f.add("numbering", len(g.want)+1, c.Oracle[len(c.Oracle)-1], nil, "the line of the whole case is missing")
		return
	}
	if len(f.list) == 0 {
		g.form(results)
	}
}

// form notes the first bytes that differ where all values are right.
func (g *guarding) form(results []jsontext.Value) {
	for i, line := range results {
		if i >= len(g.c.Oracle) || !bytes.Equal(line, g.c.Oracle[i]) {
			var want jsontext.Value
			if i < len(g.c.Oracle) {
				want = g.c.Oracle[i]
			}
			g.f.add("form", 0, want, line, "the values are right, and line %d differs from %s", i+1, firstByte(want, line))
			return
		}
	}
}

// line compares a line of calls; false where what follows cannot be told apart.
func (g *guarding) line(i int, line jsontext.Value, m members) bool {
	at := g.next + 1
	broken := len(g.f.list)
	for _, fault := range m.compare(guardCallForm) {
		g.f.add("members", at, g.due(), line, "%s", fault)
	}
	step, isStep := wholeNumber(m.get("step"))
	first, isFirst := wholeNumber(m.get("first"))
	last, isLast := wholeNumber(m.get("last"))
	if !isStep || !isFirst || !isLast {
		if len(g.f.list) == broken {
			g.f.add("members", at, g.due(), line, "step, first or last is no whole number")
		}
		return false
	}
	if g.next == len(g.want) {
		g.f.add("numbering", at, nil, line, "every call has its line")
		return false
	}
	due := g.want[g.next]
	if step != due.Step || first != due.First || last < first || last > g.c.guarded.Steps[step-1].times() {
		g.f.add("numbering", at, g.due(), line, "calls %d to %d of step %d, where call %d of step %d is due", first, last, step, due.First, due.Step)
		return false
	}
	got := guardCall{}
	mark := m.get("replayed")
	if err := json.Unmarshal(canonical(line), &got, jsontext.AllowDuplicateNames(true)); err != nil || mark.Kind() == 'n' {
		if len(g.f.list) == broken {
			g.f.add("members", at, g.due(), line, "a member is of the wrong type: replayed is %s, %v", mark, err)
		}
		g.next += int(last - first + 1)
		return true
	}
	told := len(g.f.list) > broken
	for call := first; call <= last; call++ {
		value, want := got.at(call, g.c.guarded.Steps[step-1].EveryMS), g.want[g.next]
		if !told && !value.sameAnswer(want) {
			rule, difference := g.rule(want, value)
			g.f.add(rule, g.next+1, g.due(), line, "step %d, call %d: %s", step, call, difference)
			told = true
		}
		g.next++
	}
	return true
}

// due is the literal line of the next call.
func (g *guarding) due() jsontext.Value {
	if g.next < len(g.want) {
		return g.c.guarded.literal[g.next]
	}
	return g.c.Oracle[len(g.c.Oracle)-1]
}

// rule is the first rule that a call breaks.
func (g *guarding) rule(want, got guardCall) (rule, difference string) {
	wanted, answered := textOr(want.AnsweredFrom), textOr(got.AnsweredFrom)
	difference = fmt.Sprintf("answered from %s, expected %s", orNull(got.AnsweredFrom), orNull(want.AnsweredFrom))
	switch {
	case answered == byTool && (wanted == byMemory || wanted == byLedger || wanted == byValidation):
		return g.executed(want), difference
	case wanted == byTool && answered != byTool && answered != "":
		return g.kept(want, answered), difference
	}
	for _, each := range []struct {
		rule      string
		same      bool
		got, want string
	}{
		{"replay-mark", got.Replayed == want.Replayed, fmt.Sprint(got.Replayed), fmt.Sprint(want.Replayed)},
		{"answered-from", answered == wanted, orNull(got.AnsweredFrom), orNull(want.AnsweredFrom)},
		{"code", sameText(got.Code, want.Code), orNull(got.Code), orNull(want.Code)},
		{"content", sameText(got.Content, want.Content), orNull(got.Content), orNull(want.Content)},
		{"execution", sameWait(got.Execution, want.Execution), numberOrNull(got.Execution), numberOrNull(want.Execution)},
		{"wait", sameWait(got.RetryAtMS, want.RetryAtMS), numberOrNull(got.RetryAtMS), numberOrNull(want.RetryAtMS)},
		{"age", sameWait(got.SinceMS, want.SinceMS), numberOrNull(got.SinceMS), numberOrNull(want.SinceMS)},
		{"again", sameWait(got.AgainAtMS, want.AgainAtMS), numberOrNull(got.AgainAtMS), numberOrNull(want.AgainAtMS)},
		{"would", sameText(got.Would, want.Would), orNull(got.Would), orNull(want.Would)},
	} {
		if !each.same {
			return each.rule, fmt.Sprintf("%s is %s, expected %s", each.rule, each.got, each.want)
		}
	}
	return "state", fmt.Sprintf("state is %s, expected %s", orNull(got.State), orNull(want.State))
}

func orNull(text *string) string {
	if text == nil {
		return "null"
	}
	return *text
}

func numberOrNull(n *int64) string {
	if n == nil {
		return "null"
	}
	return fmt.Sprint(*n)
}

// executed is the rule that a call breaks which reached the tool, and should
// have been answered before.
func (g *guarding) executed(want guardCall) string {
	code := textOr(want.Code)
	switch textOr(want.AnsweredFrom) {
	case byValidation:
		return "executed-invalid-input"
	case byLedger:
		if rule := map[string]string{"IN_PROGRESS": "executed-in-flight", "OUTCOME_UNKNOWN": "executed-while-unknown", "KEY_REUSED": "executed-reused-key"}[code]; rule != "" {
			return rule
		}
		return "executed-again"
	}
	if g.spent(want) {
		return "budget"
	}
	if rule := afterRefusal[code]; rule != "" {
		return rule
	}
	return "retry-after-unknown"
}

// afterRefusal is the rule that repeating a remembered call breaks, by its
// code; of any other code it is retry-after-unknown.
var afterRefusal = map[string]string{
	codeDenied: "retry-after-refusal", "KEY_REUSED": "retry-after-refusal",
	codeInvalid: "unchanged-input-resent", "PRECONDITION_FAILED": "unchanged-input-resent",
	codeAuth: "retry-without-renewal",
	codeWait: "early", "QUOTA_EXHAUSTED": "early", "IN_PROGRESS": "early", "OUTCOME_UNKNOWN": "early",
}

// spent reports whether a call is kept back by the budget of its task: three
// executions of its caller and tool came before, since the last that ended a task.
func (g *guarding) spent(want guardCall) bool {
	step := g.c.guarded.Steps[want.Step-1]
	executions := 0
	var last guardCall
	for _, call := range g.want[:g.next] {
		of := g.c.guarded.Steps[call.Step-1]
		if of.Call != step.Call || of.Caller != step.Caller || call.Execution == nil {
			continue
		}
		executions++
		last = call
		if textOr(call.Code) == codeOK {
			executions = 0
		}
	}
	switch code := textOr(want.Code); code {
	case codeWait:
		return executions >= limit && !sameWait(last.RetryAtMS, want.RetryAtMS)
	case codeInvalid, codeAuth, "PRECONDITION_FAILED", "OUTCOME_UNKNOWN", "IN_PROGRESS":
		return executions >= limit
	}
	return false
}

// kept is the rule that a call breaks which should have reached the tool, and
// was answered before.
func (g *guarding) kept(want guardCall, answered string) string {
	steps := g.c.guarded.Steps
	step := steps[want.Step-1]
	switch {
	case g.c.guarded.Mode == observeMode:
		return "acted-while-observing"
	case answered == byValidation:
		return "valid-input-refused"
	}
	own, others, same := false, false, -1
	for i, before := range steps[:want.Step-1] {
		if before.Call != step.Call {
			continue
		}
		if before.Caller != step.Caller {
			others = true
			continue
		}
		own = true
		if before.Vary == step.Vary && canonicalText(before.Arguments) == canonicalText(step.Arguments) {
			same = i
		}
	}
	changed := func(s guardStep) bool {
		return s.Event != "" || s.Call != step.Call && g.c.guarded.Tools[s.Call].Acts
	}
	switch {
	case !own && want.First == 1 && others:
		return "other-principal"
	case answered == byLedger:
		return "write-held"
	case same < 0 && (own || step.Vary != ""):
		return "correction-refused"
	case same >= 0 && slices.ContainsFunc(steps[same+1:want.Step-1], changed):
		return "remembered-after-change"
	}
	return "remembered-too-long"
}

func canonicalText(value jsontext.Value) string { return string(canonical(value)) }

// total compares the line of the whole case; false where it comes too early.
func (g *guarding) total(i, lines int, line jsontext.Value, m members) bool {
	literal := g.c.Oracle[len(g.c.Oracle)-1]
	at := len(g.want) + 1
	if g.next < len(g.want) || i != lines-1 {
		g.f.add("numbering", at, g.due(), line, "the line of the whole case is not its last, after every call")
		return false
	}
	broken := len(g.f.list)
	for _, fault := range m.compare(guardTotalForm) {
		g.f.add("members", at, literal, line, "%s", fault)
	}
	var got, want guardTotal
	if err := json.Unmarshal(literal, &want); err != nil { // lint has decoded it
		panic(err)
	}
	if err := json.Unmarshal(canonical(line), &got, jsontext.AllowDuplicateNames(true)); err != nil || len(g.f.list) > broken {
		if len(g.f.list) == broken {
			g.f.add("members", at, literal, line, "a member is of the wrong type: %v", err)
		}
		return true
	}
	g.counts(want, got, literal, line)
	return true
}

// counts notes what the line of the whole tells otherwise.
func (g *guarding) counts(want, got guardTotal, literal, line jsontext.Value) {
	at := len(g.want) + 1
	add := func(rule string, at int, tool string, got, want any) {
		g.f.add(rule, at, literal, line, "%s: %s is %v, expected %v", rule, tool, got, want)
	}
	for tool, moments := range got.Effects {
		if len(moments) > len(want.Effects[tool]) {
			add("second-effect", 0, tool, moments, want.Effects[tool])
		}
	}
	for tool, moments := range want.Effects {
		switch {
		case len(got.Effects[tool]) < len(moments):
			add("lost-effect", at, tool, got.Effects[tool], moments)
		case len(got.Effects[tool]) == len(moments) && !slices.Equal(got.Effects[tool], moments):
			add("moment", at, tool, got.Effects[tool], moments)
		}
		switch times := want.Executed[tool]; {
		case len(got.Executed[tool]) != len(times):
			add("executions", at, tool, got.Executed[tool], times)
		case !slices.Equal(got.Executed[tool], times):
			add("moment", at, tool, got.Executed[tool], times)
		}
	}
	for tool, numbers := range want.Keys {
		if !slices.EqualFunc(got.Keys[tool], numbers, sameWait) {
			add("key", at, tool, len(got.Keys[tool]), len(numbers))
		}
	}
	for tool := range got.Executed {
		if want.Executed[tool] == nil {
			add("members", at, tool, "told of", "none")
		}
	}
	if len(got.Executed) != len(want.Executed) || len(got.Effects) != len(want.Effects) || len(got.Keys) != len(want.Keys) {
		add("members", at, "the list of tools", len(got.Executed), len(want.Executed))
	}
}

package oracle

import (
	"fmt"
	"strings"
)

// Replayed reports whether an answer is marked as that of an earlier execution.
func (o Observed) Replayed() bool {
	body, err := membersOf(o.Body)
	return o.Tool != nil && o.Tool.Replayed || err == nil && kind(body.get("replayed")) == 'f' && body.get("replayed").Kind() == 't'
}

// Operation is the operation that a failure names, and the tool that tells of
// it; "" where it names none.
func (o Observed) Operation() (id, statusTool string) {
	value := o.Body
	if o.Tool != nil && o.Tool.Record != nil {
		value = o.Tool.Record
	} else if body, err := membersOf(o.Body); err == nil {
		value = body.get("recovery")
	}
	record, err := membersOf(value)
	if err != nil {
		return "", ""
	}
	named, err := membersOf(record.get("operation"))
	if err != nil {
		return "", ""
	}
	id, _ = named.text("id")
	statusTool, _ = named.text("status_tool")
	return id, statusTool
}

// Count is how many effects calls may have had, and did have.
type Count struct {
	Least, Most, Effects int
	Of                   string // what was counted, such as /orders of get_order
}

// JudgeCount holds the effects of what was sent under a case to how many there
// may be, and reports whether they are that many.
func (l *Live) JudgeCount(p Provocation, c Count) bool {
	right := c.Effects >= c.Least && c.Effects <= c.Most
	due := counted(c.Most)
	if c.Least < c.Most {
		due = "at most " + due
	}
	return l.judged(p, right, due, counted(c.Effects), fmt.Sprintf("%s shows %s, expected %s", c.Of, counted(c.Effects), due))
}

func counted(n int) string {
	if n == 1 {
		return "1 effect"
	}
	return fmt.Sprintf("%d effects", n)
}

// JudgeStatus holds what a status says of a write to whether it took effect.
func (l *Live) JudgeStatus(p Provocation, o Observed, applied, took bool) bool {
	words := map[bool]string{true: "applied", false: "not applied"}
	return l.judged(p, applied == took, words[took], words[applied]+": "+o.shown(),
		fmt.Sprintf("the status says %s, and the count says %s", words[applied], words[took]))
}

// judged counts what was found of a case.
func (l *Live) judged(p Provocation, right bool, expected, got, difference string) bool {
	f := &findings{}
	if !right {
		f.list = []Finding{{Rule: p.Rule, Expected: expected, Got: clip(l.hidden(got)), Difference: clip(l.hidden(strings.ToValidUTF8(difference, "�"))), Clause: liveClause(p.Rule)}}
	}
	l.outcome.count(&Case{Name: p.Case, Why: p.Why}, f)
	l.tally(p.Rule, right)
	return right
}

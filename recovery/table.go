package recovery

import (
	"maps"

	"remit.example/record"
)

// Rule is one cell of a decision table: what one failure permits for one effect.
type Rule struct {
	Next record.Next        // the permitted next action; "" only for OK
	Stop record.Disposition // how the task ends if nothing changes
	Key  record.Key         // what the caller does with its operation key; "" where it has none
}

// Table is a decision table, failure × effect. Its two values are [V1] and
// [V2]; both are read only.
type Table struct {
	rows  map[record.Code]row
	other row
	// capped tables end a task whose wait exceeds the cap or the deadline as
	// retry_later; the others know no cap.
	capped bool
}

// row holds the cells of one failure. Read stands for idempotent too.
type row struct{ read, keyed, unsafe Rule }

// cell is the row's rule for an effect; an effect that is not declared is unsafe.
func (r row) cell(effect record.Effect) Rule {
	switch effect {
	case record.Read, record.Idempotent:
		return r.read
	case record.Keyed:
		return r.keyed
	}
	return r.unsafe
}

// with is the row with another rule for an effect.
func (r row) with(effect record.Effect, rule Rule) row {
	switch effect {
	case record.Read, record.Idempotent:
		r.read = rule
	case record.Keyed:
		r.keyed = rule
	default:
		r.unsafe = rule
	}
	return r
}

// Rule is the cell of a code and an effect. A code that the table does not
// name exactly is unknown and stops; an effect that record does not define is
// unsafe.
func (t *Table) Rule(code record.Code, effect record.Effect) Rule {
	if named, ok := t.rows[code]; ok {
		return named.cell(effect)
	}
	return t.other.cell(effect)
}

// With is a copy of the table with another rule in one cell; the code "" names
// the row of every code that the table does not. It serves to show that a
// check notices a wrong cell.
func (t *Table) With(code record.Code, effect record.Effect, rule Rule) *Table {
	changed := *t
	changed.rows = maps.Clone(t.rows)
	if code == "" {
		changed.other = t.other.with(effect, rule)
		return &changed
	}
	named, ok := t.rows[code]
	if !ok {
		named = t.other
	}
	changed.rows[code] = named.with(effect, rule)
	return &changed
}

// Fill writes the cell of r.Code and effect into r's next, stop and key. The
// next action is stop where r.Retry is forbidden, and where it would need an
// execution that r.Budget no longer has.
func (t *Table) Fill(r *record.Record, effect record.Effect) {
	rule := t.Rule(r.Code, effect)
	r.Next, r.Stop, r.Key = rule.Next, rule.Stop, rule.Key
	spent := r.Budget != nil && r.Budget.Left == 0
	if r.Code != record.OK && (r.Retry == record.Forbidden || spent && executes(r.Code, rule.Next)) {
		r.Next = record.Stop
	}
}

// executes reports whether the action ends in another execution: a status
// check does not, and an operation in progress is asked for, not repeated.
func executes(code record.Code, next record.Next) bool {
	switch next {
	case record.CorrectInput, record.Authenticate, record.RefreshState:
		return true
	case record.WaitAndRetry:
		return code != record.InProgress
	}
	return false
}

// V1 is the decision table of recovery-v1: five codes, the same for every
// effect, and no cap on a wait.
var V1 = &Table{
	rows: map[record.Code]row{
		record.OK:              same("", record.Success),
		record.InvalidArgument: same(record.CorrectInput, record.NeedsInput),
		record.AuthRequired:    same(record.Authenticate, record.NeedsAuth),
		record.TempUnavailable: same(record.WaitAndRetry, record.RetryExhausted),
		record.AccessDenied:    same(record.Stop, record.Refused),
	},
	other: same(record.Stop, record.Unknown),
}

// V2 is the decision table of recovery-v2.
var V2 = &Table{
	rows: map[record.Code]row{
		record.OK:                 same("", record.Success),
		record.InvalidArgument:    keyed(record.CorrectInput, record.NeedsInput, record.MustRotate),
		record.AuthRequired:       keyed(record.Authenticate, record.NeedsAuth, record.MustReuse),
		record.AccessDenied:       same(record.Stop, record.Refused),
		record.TempUnavailable:    keyed(record.WaitAndRetry, record.RetryExhausted, record.MustReuse),
		record.QuotaExhausted:     same(record.Stop, record.QuotaSpent),
		record.PreconditionFailed: keyed(record.RefreshState, record.NeedsInput, record.MustRotate),
		record.OutcomeUnknown: {
			read:   Rule{record.WaitAndRetry, record.RetryExhausted, ""},
			keyed:  Rule{record.CheckStatus, record.UnknownOutcome, record.MustReuse},
			unsafe: Rule{record.CheckStatus, record.UnknownOutcome, ""},
		},
		record.InProgress: {
			read:   Rule{record.WaitAndRetry, record.RetryExhausted, ""},
			keyed:  Rule{record.WaitAndRetry, record.RetryExhausted, record.MustReuse},
			unsafe: Rule{record.WaitAndRetry, record.UnknownOutcome, ""},
		},
		record.KeyReused: {
			read:   Rule{record.Stop, record.Unknown, ""},
			keyed:  Rule{record.Stop, record.Refused, record.MustRotate},
			unsafe: Rule{record.Stop, record.Refused, record.MustRotate},
		},
	},
	other: row{
		read:   Rule{record.Stop, record.Unknown, ""},
		keyed:  Rule{record.Stop, record.Unknown, ""},
		unsafe: Rule{record.Stop, record.UnknownOutcome, ""},
	},
	capped: true,
}

// same is a row whose cells agree.
func same(next record.Next, stop record.Disposition) row {
	return row{Rule{next, stop, ""}, Rule{next, stop, ""}, Rule{next, stop, ""}}
}

// keyed is a row whose cells agree but for the key.
func keyed(next record.Next, stop record.Disposition, key record.Key) row {
	return row{Rule{next, stop, ""}, Rule{next, stop, key}, Rule{next, stop, ""}}
}

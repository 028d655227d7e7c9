package catalogue

import (
	"context"
	"fmt"
	"strings"

	"remit.example/contract"
)

// rank answers with the order that the caller's preferences give. Where none
// are named, it asks: no rule is chosen silently.
func (t *Tool) rank(ctx context.Context, r request, q Query, characters int) (Answer, error) {
	if len(r.preferences) == 0 {
		return t.clarify(r), nil
	}
	result, err := t.Engine.Select(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	if rejected := t.rejected(r, result); rejected != nil {
		return *rejected, nil
	}
	if result.Total == 0 {
		return t.noMatches(r, result, characters), nil
	}
	render := func(rows []Row, fit fitting) []byte { return t.order(r, result, rows, fit) }
	body, rows := t.fit(result.Rows, characters, render)
	return Answer{Body: body, Prose: t.words.order(r, rows, result.Total)}, nil
}

func (t *Tool) clarify(r request) Answer {
	o := t.begin(r, "clarify_preferences")
	o.texts("missing", []string{"preferences"})
	o.texts("accepted", names(t.preferences))
	if !t.v1() {
		t.closing(o, r, nil, noCursor)
	}
	return Answer{Body: o.end(), Prose: t.words.clarify(t.preferences)}
}

// rejected is the failure of an order that was asked to hold no unknown value
// and would.
func (t *Tool) rejected(r request, result Result) *Answer {
	for i, p := range r.preferences {
		if p.key.Unknown != Reject || result.UnknownKeys[i] == 0 {
			continue
		}
		answer := t.invalid(r, []Fault{{
			Path: []string{"preferences"}, Reason: "unknown_values",
			Accepted: "unknown: last, exclude; or a preference on another field",
			Message: fmt.Sprintf("The %s of %d matching %s is not known, and the order was to reject unknown values.",
				t.words.name(p.preference.Column), result.UnknownKeys[i], verb(result.UnknownKeys[i], "record", "records")),
		}})
		return &answer
	}
	return nil
}

func (t *Tool) order(r request, result Result, rows []Row, fit fitting) []byte {
	o := t.begin(r, "preference_order")
	shown := t.shown()
	list(o, "items", rows, func(o *objectWriter, row Row) {
		o.text("id", row.ID)
		o.integer("rank", row.Rank)
		if t.v1() {
			return
		}
		o.integer("tied", row.Tied)
		o.raw("key", t.key(r, row))
		o.nullable("decided_by", decidedBy(r, row))
		t.fieldsOf(o, row, shown, fit)
	})
	basis := strings.Join(names(asked(r)), "_then_")
	if t.v1() {
		o.text("basis", basis)
		return o.end()
	}
	cutTie(o, result, rows)
	o.total(result.Total)
	o.text("basis", basis)
	t.unknowns(o, r, result)
	t.filtered(o, r, result, fit)
	t.closing(o, r, t.measured(r, shown), t.cursorAfter(r, rows, result.More || fit.cut))
	return o.end()
}

func asked(r request) []contract.Preference {
	list := make([]contract.Preference, len(r.preferences))
	for i, p := range r.preferences {
		list[i] = p.preference
	}
	return list
}

// key is the row's values of the preferred fields.
func (t *Tool) key(r request, row Row) string {
	cells := make([]string, len(r.preferences))
	for i, p := range r.preferences {
		cells[i] = cell(t.schema.Columns[p.key.Column], row.Values[p.key.Column])
	}
	return "[" + strings.Join(cells, ",") + "]"
}

func decidedBy(r request, row Row) string {
	if row.DecidedBy < 0 {
		return ""
	}
	return r.preferences[row.DecidedBy].preference.Name
}

// cutTie says that the page ends within a tie, so that nobody takes the last
// items for the whole of their rank.
func cutTie(o *objectWriter, result Result, rows []Row) {
	last := rows[len(rows)-1]
	shown := 0
	for i := len(rows) - 1; i >= 0 && rows[i].Rank == last.Rank; i-- {
		shown++
	}
	if !endsWithin(result, len(rows)) {
		return
	}
	o.object("cut_tie", func(o *objectWriter) {
		o.integer("rank", last.Rank)
		o.integer("tied", last.Tied)
		o.integer("shown", shown)
	})
}

// endsWithin reports whether the tie of a page's last row goes on after it.
func endsWithin(result Result, rows int) bool {
	if rows < len(result.Rows) {
		return result.Rows[rows].Rank == result.Rows[rows-1].Rank
	}
	return result.TieGoesOn
}

var policyNames = map[Policy]contract.UnknownPolicy{
	Last: contract.UnknownLast, Exclude: contract.UnknownExclude, Reject: contract.UnknownReject,
}

// unknowns writes what became of unknown values and how many there are, per
// preferred field that may be unknown. by_field names the fields whose
// preference asked for another policy than the tool's.
func (t *Tool) unknowns(o *objectWriter, r request, result Result) {
	o.object("unknown", func(o *objectWriter) {
		o.text("policy", string(policyNames[t.unknown]))
		differing := 0
		o.object("counts", func(o *objectWriter) {
			for i, p := range r.preferences {
				if column := t.schema.Columns[p.key.Column]; column.mayBeUnknown(r.stale) {
					o.integer(column.Member, result.UnknownKeys[i])
				}
				if p.key.Unknown != t.unknown {
					differing++
				}
			}
		})
		if differing == 0 {
			return
		}
		o.object("by_field", func(o *objectWriter) {
			for _, p := range r.preferences {
				if p.key.Unknown != t.unknown {
					o.text(t.schema.Columns[p.key.Column].Member, string(policyNames[p.key.Unknown]))
				}
			}
		})
	})
}

package catalogue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"remit.example/contract"
)

// decision is what the evidence says of one criterion.
type decision string

// The decisions. Only met and not_met decide; the rest say why nothing does.
const (
	met         decision = "met"
	notMet      decision = "not_met"
	missing     decision = "missing"      // no active record has the property
	expired     decision = "expired"      // past its validity, or older than accepted
	outOfScope  decision = "out_of_scope" // the method says nothing about such an item
	indirect    decision = "indirect"     // by a level, method or scope that is not accepted
	conflicting decision = "conflicting"  // valid records decide differently
	undecided   decision = "undecided"    // the uncertainty straddles the limit
)

// finding is a decision with the record that it rests on.
type finding struct {
	decision decision
	value    *Measurement
	record   *EvidenceRecord
	against  []*EvidenceRecord // of conflicting: the others
}

// limit is an inclusive interval; a nil bound is none.
type limit struct {
	property   string
	least      *Number
	most       *Number
	asContract string // as the contract writes it: ">= 90"
}

func limitOf(c contract.Criterion) limit {
	switch {
	case c.AtLeast != nil:
		return limit{c.Property, c.AtLeast, nil, ">= " + c.AtLeast.String()}
	case c.AtMost != nil:
		return limit{c.Property, nil, c.AtMost, "<= " + c.AtMost.String()}
	}
	return between(c.Property, c.Between)
}

func between(property string, bounds []Number) limit {
	return limit{property, &bounds[0], &bounds[1], fmt.Sprintf("between %s and %s", bounds[0], bounds[1])}
}

// holds decides the limit for a measurement whose true value lies within its
// uncertainty, inclusive.
func (l limit) holds(m Measurement) decision {
	low, high := m.Value.Rat(), m.Value.Rat()
	if m.Uncertainty != nil {
		low.Sub(low, m.Uncertainty.Rat())
		high.Add(high, m.Uncertainty.Rat())
	}
	switch {
	case l.least != nil && high.Cmp(l.least.Rat()) < 0, l.most != nil && low.Cmp(l.most.Rat()) > 0:
		return notMet
	case l.least != nil && low.Cmp(l.least.Rat()) < 0, l.most != nil && high.Cmp(l.most.Rat()) > 0:
		return undecided
	}
	return met
}

// assessor decides the criteria of one purpose at one time.
type assessor struct {
	purpose *contract.Purpose
	now     time.Time
	scope   *limit // nil where the purpose has none
	limits  []limit
}

func newAssessor(purpose *contract.Purpose, now time.Time) assessor {
	a := assessor{purpose: purpose, now: now}
	if purpose.Scope != nil {
		scope := between(purpose.Scope.Property, purpose.Scope.Between)
		a.scope = &scope
	}
	for _, criterion := range purpose.Criteria {
		a.limits = append(a.limits, limitOf(criterion))
	}
	return a
}

// accepts reports whether a record counts at all, whatever its age.
func (a assessor) accepts(r *EvidenceRecord) bool {
	accepted := a.purpose.Accepts
	if accepted == nil {
		return true
	}
	return (accepted.AssessorLevel == nil || slices.Contains(accepted.AssessorLevel, contract.AssessorLevel(r.AssessorLevel))) &&
		(accepted.Method == nil || slices.Contains(accepted.Method, r.Method)) &&
		(accepted.Scope == nil || slices.Contains(accepted.Scope, contract.EvidenceScope(r.Scope)))
}

// current reports whether a record is within its validity and the accepted age.
func (a assessor) current(r *EvidenceRecord) bool {
	if !r.ValidUntil.IsZero() && a.now.After(r.ValidUntil) {
		return false
	}
	if a.purpose.Accepts == nil || a.purpose.Accepts.MaxAge.Limit == 0 {
		return true
	}
	return !r.PerformedAt.IsZero() && a.now.Sub(r.PerformedAt) <= a.purpose.Accepts.MaxAge.Limit
}

// find decides one limit from an item's records.
func (a assessor) find(records []EvidenceRecord, l limit) finding {
	var active, accepted, current []*EvidenceRecord
	for i := range records {
		r := &records[i]
		if _, has := r.Properties[l.property]; !has || r.Status != "" && r.Status != "active" {
			continue
		}
		active = append(active, r)
		if a.accepts(r) {
			accepted = append(accepted, r)
			if a.current(r) {
				current = append(current, r)
			}
		}
	}
	switch {
	case len(current) > 0:
		return decide(current, l)
	case len(accepted) > 0:
		return cite(expired, newest(accepted), l)
	case len(active) > 0:
		return cite(indirect, newest(active), l)
	}
	return finding{decision: missing}
}

func cite(d decision, r *EvidenceRecord, l limit) finding {
	value := r.Properties[l.property]
	return finding{decision: d, value: &value, record: r}
}

// newest is the record performed last; among equals the first of the file.
func newest(records []*EvidenceRecord) *EvidenceRecord {
	return slices.MaxFunc(records, func(a, b *EvidenceRecord) int { return a.PerformedAt.Compare(b.PerformedAt) })
}

// decide weighs the valid records: those that decide must agree, and one that
// does not decide contradicts none that does.
func decide(records []*EvidenceRecord, l limit) finding {
	by := map[decision][]*EvidenceRecord{}
	for _, r := range records {
		d := l.holds(r.Properties[l.property])
		by[d] = append(by[d], r)
	}
	switch {
	case len(by[met]) > 0 && len(by[notMet]) > 0:
		f := cite(conflicting, newest(by[met]), l)
		f.against = by[notMet]
		return f
	case len(by[met]) > 0:
		return cite(met, newest(by[met]), l)
	case len(by[notMet]) > 0:
		return cite(notMet, newest(by[notMet]), l)
	}
	return cite(undecided, newest(by[undecided]), l)
}

// assessment is one item's verdict with what it rests on.
type assessment struct {
	row     Row
	verdict string
	scope   *finding // nil where the purpose has none
	found   []decided
}

// decided is one limit and what was found of it.
type decided struct {
	limit
	finding
	// byScope says that the records decide the limit, and that the decision is
	// the scope's because the method is not established to speak of the item.
	byScope bool
}

// The verdicts of an item.
const (
	suitable     = "suitable"
	unsuitable   = "unsuitable"
	insufficient = "insufficient_evidence"
)

func (a assessor) assess(row Row, records []EvidenceRecord) assessment {
	result := assessment{row: row}
	if a.scope != nil {
		scope := a.find(records, *a.scope)
		if scope.decision == notMet {
			scope.decision = outOfScope
		}
		result.scope = &scope
	}
	for _, l := range a.limits {
		found := decided{l, a.find(records, l), false}
		if d, outside := beyond(result.scope); outside && slices.Contains(ofFigures, found.decision) {
			found.decision, found.byScope = d, true
		}
		result.found = append(result.found, found)
	}
	result.verdict = verdict(result.found)
	return result
}

// ofFigures are the decisions that rest on figures of the method.
var ofFigures = []decision{met, notMet, undecided, conflicting}

// beyond reports whether an item is not established to lie within the
// method's scope, and what that makes of a criterion.
func beyond(scope *finding) (decision, bool) {
	if scope == nil || scope.decision == met {
		return "", false
	}
	return scope.decision, true
}

func verdict(found []decided) string {
	all := len(found) > 0
	for _, f := range found {
		if f.decision == notMet {
			return unsuitable
		}
		all = all && f.decision == met
	}
	if all {
		return suitable
	}
	return insufficient
}

// counts are the verdicts over all matches.
type counts struct{ suitable, unsuitable, insufficient int }

func (c *counts) add(verdict string) {
	switch verdict {
	case suitable:
		c.suitable++
	case unsuitable:
		c.unsuitable++
	default:
		c.insufficient++
	}
}

// assess answers whether evidence supports a purpose, for each match.
func (t *Tool) assess(ctx context.Context, r request, q Query, characters int) (Answer, error) {
	after := q.After
	q.Limit, q.After = All, ""
	result, err := t.Engine.Select(ctx, q)
	switch {
	case err != nil:
		return Answer{}, err
	case result.Total == 0:
		return t.noMatches(r, result, characters), nil
	}
	a := newAssessor(r.purpose.Value, r.now)
	page, more := pageAfter(result.Rows, after, r.limit)
	assessed := make(map[string]assessment, len(page))
	for _, row := range page {
		assessed[row.ID] = assessment{} // of the others the counts are enough
	}
	var counts counts
	lacking := lacks{purpose: r.purpose.Value}
	for _, row := range result.Rows {
		one := a.assess(row, t.Evidence[row.ID])
		if _, shown := assessed[row.ID]; shown {
			assessed[row.ID] = one
		}
		counts.add(one.verdict)
		lacking.note(one)
	}
	prose := t.words.assessed(r, result.Total, counts)
	if t.v1() {
		return Answer{Body: t.insufficientV1(r, result.Rows, lacking.list()), Prose: prose}, nil
	}
	render := func(rows []Row, fit fitting) []byte {
		var items []assessment
		for _, row := range rows {
			items = append(items, assessed[row.ID])
		}
		return t.assessment(r, result, items, counts, lacking.list(), more, fit)
	}
	body, _ := t.fit(page, characters, render)
	return Answer{Body: body, Prose: prose}, nil
}

// pageAfter is the page of rows, in ascending order of ids, that follows an id.
func pageAfter(rows []Row, after string, limit int) (page []Row, more bool) {
	start := 0
	for after != "" && start < len(rows) && rows[start].ID <= after {
		start++
	}
	rows = rows[start:]
	return rows[:min(limit, len(rows))], len(rows) > limit
}

func (t *Tool) insufficientV1(r request, rows []Row, lacking []string) []byte {
	o := t.begin(r, insufficient)
	o.texts("ids", ids(rows))
	o.texts("missing", lacking)
	return o.end()
}

func (t *Tool) assessment(r request, result Result, items []assessment, counts counts, lacking []string, more bool, fit fitting) []byte {
	var rows []Row
	var affirmed []string
	for _, item := range items {
		rows = append(rows, item.row)
		if item.verdict == suitable {
			affirmed = append(affirmed, item.row.ID)
		}
	}
	var o *objectWriter
	if counts.suitable+counts.unsuitable > 0 {
		o = t.begin(r, "assessed")
	} else {
		o = t.begin(r, insufficient)
		o.texts("ids", ids(rows))
		o.texts("missing", lacking)
	}
	o.object("purpose", func(o *objectWriter) {
		o.text("name", r.purpose.Name)
		o.text("version", r.purpose.Value.Version)
		o.text("method", r.purpose.Value.Method)
	})
	o.texts("suitable", affirmed)
	o.object("counts", func(o *objectWriter) {
		o.integer(suitable, counts.suitable)
		o.integer(unsuitable, counts.unsuitable)
		o.integer(insufficient, counts.insufficient)
	})
	shown := t.shown()
	list(o, "items", items, func(o *objectWriter, item assessment) { t.verdict(o, r, item, shown, fit) })
	if !fit.brief {
		list(o, "evidence", cited(items), writeEvidence)
	}
	o.texts("not_assessed", r.purpose.Value.NotAssessed)
	o.total(result.Total)
	t.filtered(o, r, result, fit)
	t.closing(o, r, t.measured(r, shown), t.cursorAfter(r, rows, more || fit.cut))
	return o.end()
}

func (t *Tool) verdict(o *objectWriter, r request, item assessment, shown []int, fit fitting) {
	o.text("id", item.row.ID)
	o.text("verdict", item.verdict)
	if _, outside := beyond(item.scope); outside {
		scope := r.purpose.Value.Scope
		o.object("scope", func(o *objectWriter) {
			writeFinding(o, decided{between(scope.Property, scope.Between), *item.scope, false})
		})
	}
	writeCriteria(o, item, fit.lean)
	t.fieldsOf(o, item.row, shown, fit)
}

// inOrder are the decisions as unlisted writes them.
var inOrder = []decision{met, notMet, missing, expired, outOfScope, indirect, conflicting, undecided}

// writeCriteria writes an item's criteria. What is left of them under a budget
// is their names by decision, and the ids of the records that they rest on.
func writeCriteria(o *objectWriter, item assessment, lean lean) {
	listed := func(f decided) bool { return lean == whole || lean == misses && f.decision == notMet }
	list(o, "criteria", slices.DeleteFunc(slices.Clone(item.found), func(f decided) bool { return !listed(f) }), writeFinding)
	if lean == whole || !slices.ContainsFunc(item.found, func(f decided) bool { return !listed(f) }) {
		return
	}
	o.object("unlisted", func(o *objectWriter) {
		for _, d := range inOrder {
			var names []string
			for _, f := range item.found {
				if f.decision == d && !listed(f) {
					names = append(names, f.property)
				}
			}
			if names != nil {
				o.texts(string(d), names)
			}
		}
	})
	var records []string
	for _, r := range cited([]assessment{item}) {
		records = append(records, r.ID)
	}
	o.texts("evidence", records)
}

// lacks collects what would be needed where nothing was decided.
type lacks struct {
	purpose    *contract.Purpose
	properties []string
}

func (l *lacks) note(a assessment) {
	add := func(name string) {
		if !slices.Contains(l.properties, name) {
			l.properties = append(l.properties, name)
		}
	}
	switch d, outside := beyond(a.scope); {
	case outside && d == outOfScope:
		add("a method that applies outside " + scopeText(l.purpose.Scope))
		return
	case outside:
		add(l.purpose.Scope.Property)
	}
	for _, f := range a.found {
		if f.decision != met && f.decision != notMet && !f.byScope {
			add(f.property)
		}
	}
}

func scopeText(s *contract.Scope) string {
	return fmt.Sprintf("%s %s", s.Property, between(s.Property, s.Between).asContract)
}

// list is what the contract says is needed, then what was found to be.
func (l *lacks) list() []string { return slices.Concat(l.purpose.Needs, l.properties) }

// cited lists the records that the items rest on, each once.
func cited(items []assessment) []*EvidenceRecord {
	var records []*EvidenceRecord
	add := func(r *EvidenceRecord) {
		if r != nil && !slices.Contains(records, r) {
			records = append(records, r)
		}
	}
	for _, item := range items {
		found := make([]finding, 0, len(item.found)+1)
		if _, outside := beyond(item.scope); outside {
			found = append(found, *item.scope)
		}
		for _, f := range item.found {
			found = append(found, f.finding)
		}
		for _, f := range found {
			add(f.record)
			for _, other := range f.against {
				add(other)
			}
		}
	}
	return records
}

func writeFinding(o *objectWriter, f decided) {
	o.text("property", f.property)
	o.text("decision", string(f.decision))
	if f.value == nil {
		o.raw("value", "null")
	} else {
		o.raw("value", f.value.Value.String())
		if f.value.Uncertainty != nil {
			o.raw("uncertainty", f.value.Uncertainty.String())
		}
		if f.value.Unit != "" {
			o.text("unit", f.value.Unit)
		}
	}
	o.text("limit", f.asContract)
	if f.record == nil {
		o.raw("evidence", "null")
		return
	}
	o.text("evidence", f.record.ID)
	if len(f.against) > 0 {
		var against []string
		for _, r := range f.against {
			against = append(against, r.ID)
		}
		o.texts("conflicts_with", against)
	}
}

func writeEvidence(o *objectWriter, r *EvidenceRecord) {
	o.text("id", r.ID)
	o.text("product", r.Product)
	o.text("method", r.Method)
	o.text("performed_by", r.PerformedBy)
	o.text("assessor_level", r.AssessorLevel)
	o.nullable("performed_at", instant(r.PerformedAt))
	o.nullable("valid_until", instant(r.ValidUntil))
	for _, optional := range []struct{ name, text string }{
		{"scope", r.Scope}, {"source", r.Source}, {"source_sha256", r.SourceSHA256}, {"licence", r.Licence},
	} {
		if optional.text != "" {
			o.text(optional.name, optional.text)
		}
	}
}

// Package catalogue answers requests over a catalogue of records: which of
// them meet some filters, how they stand under declared preferences, whether
// evidence supports a purpose, and what is recorded of one.
//
// These are different questions with different promises. A filter promises an
// exact match against one snapshot. An order promises the preferences that the
// caller named and nothing else: equal records share a rank, no weights, no
// scores. An assessment promises a verdict per criterion of a declared
// purpose, from evidence records, under a cited method. No answer recommends:
// recommendation is false in every one.
//
// Two answer formats exist. catalogue-v1 is exactly these members in this
// order; catalogue-v2 is a superset (SPEC.md prints its literals):
//
//	{"request_id","status":"matches","ids","basis":"filters_only","recommendation":false}
//	{"request_id","status":"preference_order","items":[{"id","rank"}],"basis","recommendation":false}
//	{"request_id","status":"clarify_preferences","missing","accepted","recommendation":false}
//	{"request_id","status":"insufficient_evidence","ids","missing","recommendation":false}
//	{"request_id","status":"no_matches","ids":[],"basis":"filters_only","recommendation":false}
//	{"request_id","status":"invalid_input","field","recommendation":false}
//
// The checks stand in this order: invalid_input (known arguments in the
// schema's order, then unknown ones), clarify_preferences, no_matches.
//
// Filters are inclusive. An unknown value satisfies no filter; where no known
// value excludes a record, excluded_unknown counts it.
package catalogue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"remit.example/contract"
	"remit.example/record"
)

// Source is what the tools of one catalogue answer from. It is immutable.
type Source struct {
	Contract *contract.Contract
	Engine   Engine
	Evidence Evidence
	// CursorKey authenticates cursors; at least 16 bytes.
	CursorKey []byte
	// Now is the clock that tells whether data is stale and evidence is valid.
	Now func() time.Time
}

// Tool is one tool over a catalogue. It may be used by several goroutines at
// once.
type Tool struct {
	Source
	name        string
	declared    *contract.Tool
	schema      Schema
	arguments   []argument
	filters     []contract.FilterArgument
	preferences []contract.Preference
	purposes    contract.Ordered[*contract.Purpose]
	unknown     Policy
	words       words
}

// New makes a tool that a valid contract declares without a backend.
func New(source Source, name string) *Tool {
	declared, ok := source.Contract.Tools.Get(name)
	if !ok {
		panic("catalogue: the contract declares no tool " + name)
	}
	t := &Tool{
		Source: source, name: name, declared: declared, schema: source.Engine.Schema(),
		filters: source.Contract.FilterArguments(declared), unknown: policies[declared.Unknown],
		words: words{source.Contract},
	}
	switch declared.Promise {
	case contract.RankPreferences:
		t.preferences = source.Contract.PreferencesOf(declared)
	case contract.AssessSuitability:
		t.purposes = source.Contract.PurposesOf(declared)
	}
	t.arguments = t.allArguments()
	return t
}

func (t *Tool) v1() bool { return t.declared.Format == contract.CatalogueV1 }

// allArguments lists the arguments in the order of the schema.
func (t *Tool) allArguments() []argument {
	list := []argument{t.requestIDArgument()}
	if t.declared.Promise == contract.Lookup {
		return append(list, t.keyArgument(t.declared.By))
	}
	list = append(list, t.filtersArgument())
	for _, filter := range t.filters {
		list = append(list, t.filterArgument(filter))
	}
	switch t.declared.Promise {
	case contract.RankPreferences:
		list = append(list, t.preferencesArgument())
	case contract.AssessSuitability:
		list = append(list, t.purposeArgument())
	}
	if t.v1() {
		return list
	}
	if t.declared.Promise == contract.RankPreferences {
		list = append(list, tiesArgument())
	}
	return append(list, limitArgument(), cursorArgument())
}

// Answer is what one request gave.
type Answer struct {
	// Body is one JSON object: the whole answer, or, where Failure is set, the
	// leading members of a failed one.
	Body []byte
	// Failure holds code, message, field, fields and wait of a failed answer.
	Failure *record.Record
	// Prose says what the answer establishes, never more.
	Prose string
}

// Answer answers one request. Where characters is not 0, a catalogue-v2 answer
// has at most that many code points if one item at the least fits.
func (t *Tool) Answer(ctx context.Context, input []byte, characters int) Answer {
	r, faults := t.decode(input)
	if len(faults) > 0 {
		return t.invalid(r, faults)
	}
	r.now = t.Now()
	r.stale = t.staleAt(r.now)
	q := t.query(r)
	if f := t.resume(r, &q); f != nil {
		return *f
	}
	answer, err := t.answers()(ctx, r, q, characters)
	if err != nil {
		return t.unavailable(r, err)
	}
	if r.stale {
		answer.Prose += " " + t.words.stale()
	}
	return answer
}

type answerer func(ctx context.Context, r request, q Query, characters int) (Answer, error)

func (t *Tool) answers() answerer {
	return map[contract.Promise]answerer{
		contract.Search: t.search, contract.RankPreferences: t.rank,
		contract.AssessSuitability: t.assess, contract.Lookup: t.lookup,
	}[t.declared.Promise]
}

// staleAt reports whether the data is older at a time than the contract
// permits; data whose age is not known is stale where a bound is declared.
func (t *Tool) staleAt(now time.Time) bool {
	maxAge := time.Duration(t.Contract.Data.MaxAge)
	return maxAge > 0 && now.Sub(t.Engine.Info().AsOf) > maxAge
}

func (t *Tool) query(r request) Query {
	q := Query{Stale: r.stale, Limit: r.limit, KeepTies: len(r.preferences) > 0 && !r.cutTies}
	if t.v1() {
		q.Limit, q.KeepTies = All, false
	}
	for _, filter := range r.filters {
		q.Where = append(q.Where, filter.predicate)
	}
	for _, p := range r.preferences {
		q.Order = append(q.Order, p.key)
	}
	return q
}

// invalid is the answer to a request that is not understood: no evidence
// about the catalogue.
func (t *Tool) invalid(r request, faults []Fault) Answer {
	return t.fail(r, faults[0].Field(), "invalid_input", &record.Record{
		Code: record.InvalidArgument, Message: faults[0].Message, Field: faults[0].Field(), Fields: Fields(faults),
	})
}

func (t *Tool) fail(r request, field, status string, failure *record.Record) Answer {
	o := t.begin(r, status)
	o.nullable("field", field)
	return Answer{Body: o.end(), Failure: failure, Prose: failure.Message}
}

// unavailable is the answer where the engine could not finish: nothing was
// changed, and asking again is safe.
func (t *Tool) unavailable(r request, err error) Answer {
	wait := int64(1000)
	o := t.begin(r, "unavailable")
	message := fmt.Sprintf("The catalogue could not be read: %v.", err)
	return Answer{Body: o.end(), Prose: message, Failure: &record.Record{
		Code: record.TempUnavailable, Message: message, RetryAfterMS: &wait, WaitKind: record.Outage,
	}}
}

// begin starts an answer; end, which closes it, says that it recommends nothing.
func (t *Tool) begin(r request, status string) *objectWriter {
	o := &objectWriter{}
	if r.hasID {
		o.text("request_id", r.id)
	} else {
		o.raw("request_id", "null")
	}
	o.text("status", status)
	return o
}

// noMatches is the answer of every promise where nothing meets the filters.
func (t *Tool) noMatches(r request, result Result, characters int) Answer {
	render := func(_ []Row, fit fitting) []byte {
		o := t.begin(r, "no_matches")
		o.texts("ids", nil)
		if !t.v1() {
			o.total(0)
		}
		o.text("basis", filtersOnly)
		if !t.v1() {
			if len(r.preferences) > 0 {
				t.unknowns(o, r, result)
			}
			t.filtered(o, r, result, fit)
			t.closing(o, r, nil, "")
		}
		return o.end()
	}
	body, _ := t.fit(nil, characters, render)
	return Answer{Body: body, Prose: t.words.noMatches(r, result)}
}

const filtersOnly = "filters_only"

func (t *Tool) search(ctx context.Context, r request, q Query, characters int) (Answer, error) {
	result, err := t.Engine.Select(ctx, q)
	switch {
	case err != nil:
		return Answer{}, err
	case result.Total == 0:
		return t.noMatches(r, result, characters), nil
	}
	shown := t.shown()
	render := func(rows []Row, fit fitting) []byte {
		o := t.begin(r, "matches")
		o.texts("ids", ids(rows))
		if t.v1() {
			o.text("basis", filtersOnly)
			return o.end()
		}
		if len(shown) > 0 {
			list(o, "items", rows, func(o *objectWriter, row Row) { t.item(o, row, shown, fit) })
		}
		o.total(result.Total)
		o.text("basis", filtersOnly)
		t.filtered(o, r, result, fit)
		t.closing(o, r, t.measured(r, shown), t.cursorAfter(r, rows, result.More || fit.cut))
		return o.end()
	}
	body, rows := t.fit(result.Rows, characters, render)
	return Answer{Body: body, Prose: t.words.matches(r, rows, result.Total)}, nil
}

func (t *Tool) lookup(ctx context.Context, r request, q Query, characters int) (Answer, error) {
	row, found, err := t.Engine.Lookup(ctx, r.key, q.Stale)
	if err != nil {
		return Answer{}, err
	}
	if !found {
		return t.notFound(r, characters), nil
	}
	shown := t.shown()
	render := func(rows []Row, fit fitting) []byte {
		o := t.begin(r, "found")
		t.item(o, rows[0], shown, fit)
		t.closing(o, r, t.measured(r, shown), noCursor)
		return o.end()
	}
	body, _ := t.fit([]Row{row}, characters, render)
	return Answer{Body: body, Prose: fmt.Sprintf("This is what the catalogue records of %s.", Clip(row.ID))}, nil
}

func (t *Tool) notFound(r request, characters int) Answer {
	render := func(_ []Row, fit fitting) []byte {
		o := t.begin(r, "not_found")
		id, short := fit.shorten(r.key)
		o.text("id", id)
		if short {
			o.texts("shortened", []string{"id"})
		}
		t.closing(o, r, nil, noCursor)
		return o.end()
	}
	body, _ := t.fit(nil, characters, render)
	return Answer{Body: body, Prose: fmt.Sprintf("No record has the %s %s.", t.declared.By, Clip(r.key))}
}

// shown lists the columns that every item carries.
func (t *Tool) shown() []int {
	var list []int
	for i, column := range t.schema.Columns {
		if column.Show && i != t.schema.ID {
			list = append(list, i)
		}
	}
	return list
}

func ids(rows []Row) []string {
	list := make([]string, len(rows))
	for i, row := range rows {
		list[i] = row.ID
	}
	return list
}

// measured lists the columns whose values the answer holds and that have a
// unit or a currency.
func (t *Tool) measured(r request, shown []int) []int {
	held := slices.Clone(shown)
	for _, filter := range r.filters {
		held = append(held, filter.predicate.Column)
	}
	for _, p := range r.preferences {
		held = append(held, p.key.Column)
	}
	slices.Sort(held)
	return slices.DeleteFunc(slices.Compact(held), func(i int) bool { return t.unit(i) == "" })
}

func (t *Tool) unit(i int) string {
	column := t.schema.Columns[i]
	if column.Kind == Money {
		return column.Currency
	}
	declared, _ := t.Contract.Columns.Get(column.Name)
	return declared.Unit
}

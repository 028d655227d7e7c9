package rest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit.example/contract"
	"remit.example/tool"
)

// answerView is one answer as a person reads it, with what an agent reads.
type answerView struct {
	Heading  string
	Boundary string // what the answer does not establish, beside its sentence
	Sentence string
	Failed   bool
	Stale    string // "" for data that holds

	Failure    *failureView
	Table      *tableView
	Ranks      *rankView
	Question   []link
	Assessment *assessmentView
	Record     []pair
	Missing    []string

	Facts []pair
	Next  string // address of the next page; "" where there is none
	Link  string // address of this request

	Request string // the exact bytes of the call
	Body    string // the exact bytes of the answer over plain HTTP
	Agent   string // of the answer as an agent in a browser or over MCP reads it
}

type link struct{ Href, Words string }

// pair is a name and a value.
type pair struct {
	Name  string
	Value cell
}

// cell is one value.
type cell struct {
	Text    string
	Unknown bool
}

type tableView struct {
	Columns []string
	Rows    []row
}

// row is one record: its id and values.
type row struct {
	ID    string
	Cells []labelled
}

// labelled is a cell that bears its column's name, for narrow screens.
type labelled struct {
	Label string
	cell
}

// rankView is an order in which equal records stand together.
type rankView struct {
	Columns []string
	Groups  []rankGroup
	Order   string // the preferences, in words
	Decides bool   // whether the answer says what decided each place
}

type rankGroup struct {
	Rank   int
	Shared string // "" for a rank that one record has
	Cut    string // that the page ends within the tie
	Rows   []rankRow
}

type rankRow struct {
	row
	Decided string
}

// answerBody is what any catalogue answer holds. A member that is absent is
// its zero value.
type answerBody struct {
	Status string
	ID     string
	IDs    []string
	Items  []itemBody
	Fields map[string]json.RawMessage
	Total  *struct {
		Value    int
		Relation string
	}
	Basis           string
	Filters         map[string]json.RawMessage
	ExcludedUnknown map[string]int `json:"excluded_unknown"`
	Units           map[string]string
	Unknown         *struct {
		Policy  contract.UnknownPolicy
		Counts  map[string]int
		ByField map[string]contract.UnknownPolicy `json:"by_field"`
	}
	CutTie *struct {
		Rank, Tied, Shown int
	} `json:"cut_tie"`
	Snapshot string
	AsOf     *time.Time `json:"as_of"`
	Stale    bool
	Cursor   *string
	Missing  []string
	Accepted []string

	Purpose     *struct{ Name, Version, Method string }
	Counts      map[string]int
	Evidence    []evidenceBody
	NotAssessed []string `json:"not_assessed"`
}

type itemBody struct {
	ID        string
	Rank      int
	Tied      int
	Key       []json.RawMessage
	DecidedBy *string `json:"decided_by"`
	Fields    map[string]json.RawMessage
	Verdict   string
	Criteria  []criterionBody
	Scope     *criterionBody
}

// reader makes a view of one answer.
type reader struct {
	tool    *tool.Tool
	form    *form
	request []byte
	body    answerBody
	shown   []shownColumn
}

// shownColumn is a column that every item carries.
type shownColumn struct{ name, member, label string }

// view reads an answer; the reader is nil where there is no catalogue's.
func view(t *tool.Tool, f *form, request []byte, a tool.Answer) (*answerView, *reader) {
	v := &answerView{Sentence: a.Prose, Request: string(request), Body: string(a.Body), Link: f.link(request)}
	if a.Failure != nil {
		v.Failed, v.Heading, v.Sentence = true, "Failure "+string(a.Failure.Code), ""
		v.Failure = failureOf(t, f, request, a.Failure)
		return v, nil
	}
	if f.declared.Backend != nil {
		v.Heading, v.Record = "Answer", membersView(f, a.Body)
		return v, nil
	}
	r := &reader{tool: t, form: f, request: request}
	if err := json.Unmarshal(a.Body, &r.body); err != nil {
		v.Heading = "Answer" // its bytes stand beside
		return v, nil
	}
	for _, column := range f.contract.Columns {
		if column.Value.Show && !column.Value.ID {
			r.shown = append(r.shown, shownColumn{column.Name, column.Value.Member(column.Name), r.label(column.Name)})
		}
	}
	r.read(v)
	return v, r
}

// headings say what kind of answer a status is, and what it leaves open.
var headings = map[string]struct{ heading, boundary string }{
	"matches":               {"Matches", "They stand in the order of their ids, which means nothing."},
	"no_matches":            {"Nothing matches", ""},
	"preference_order":      {"Order by your preferences", "Among records of one rank the order means nothing."},
	"clarify_preferences":   {"A question first", "Nothing was ordered."},
	"assessed":              {"What the evidence establishes", ""},
	"insufficient_evidence": {"The evidence is insufficient", "These records match the filters. None of them is affirmed, and none is ruled out."},
	"found":                 {"The record", ""},
	"not_found":             {"No such record", ""},
}

func (r *reader) read(v *answerView) {
	words := headings[r.body.Status]
	v.Heading, v.Boundary, v.Missing = words.heading, words.boundary, nil
	switch r.body.Status {
	case "matches":
		v.Table = r.table()
	case "preference_order":
		v.Ranks = r.ranks()
	case "clarify_preferences":
		v.Question = r.question()
	case "assessed", "insufficient_evidence":
		v.Missing = r.body.Missing
		if r.body.Purpose == nil { // catalogue-v1
			v.Table = r.table()
			break
		}
		v.Assessment = r.assessment()
	case "found":
		v.Record = r.record()
	}
	if r.body.Stale {
		v.Stale = "Stale: the data is older than the contract permits, and what changes quickly counts as unknown."
	}
	v.Facts = r.facts()
	if r.body.Cursor != nil {
		v.Next = r.form.linkToAnswer(with(r.request, "cursor", quoted(*r.body.Cursor)))
	}
}

// label is a column's noun with its unit.
func (r *reader) label(column string) string {
	words := columnWords(r.form.contract, column)
	declared, _ := r.form.contract.Columns.Get(column)
	if sign := unitWords(declared.Unit); sign != "" {
		words += " (" + sign + ")"
	}
	return words
}

func (r *reader) idLabel() string { return columnWords(r.form.contract, r.form.contract.IDColumn()) }

// value shows one JSON value of a column: money in its currency, truth as yes
// or no, everything else as it was written.
func (r *reader) value(column string, raw json.RawMessage) cell {
	declared, ok := r.form.contract.Columns.Get(column)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return cell{Text: "unknown", Unknown: true}
	case ok && declared.Type == contract.Boolean && string(raw) == "true":
		return cell{Text: "yes"}
	case ok && declared.Type == contract.Boolean:
		return cell{Text: "no"}
	case ok && declared.Type == contract.Money:
		return cell{Text: moneyWords(declared, string(raw))}
	}
	return cell{Text: plain(raw)}
}

// moneyWords writes an amount of minor units in its currency.
func moneyWords(column *contract.Column, minor string) string {
	exponent, known := contract.Exponent(column.Currency)
	n, err := strconv.ParseInt(minor, 10, 64)
	if !known || exponent == contract.NoMinorUnit || err != nil {
		return minor + " " + column.Currency
	}
	return contract.FormatScaled(n, exponent) + " " + column.Currency
}

// plain is a text's content, of any other value its JSON.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func (r *reader) cells(fields map[string]json.RawMessage) []labelled {
	var list []labelled
	for _, column := range r.shown {
		list = append(list, labelled{column.label, r.value(column.name, fields[column.member])})
	}
	return list
}

func (r *reader) labels() []string {
	labels := []string{r.idLabel()}
	for _, column := range r.shown {
		labels = append(labels, column.label)
	}
	return labels
}

// table shows ids with the fields that the contract shows, if any.
func (r *reader) table() *tableView {
	if r.body.Items == nil {
		t := &tableView{Columns: []string{r.idLabel()}}
		for _, id := range r.body.IDs {
			t.Rows = append(t.Rows, row{ID: id})
		}
		return t
	}
	t := &tableView{Columns: r.labels()}
	for _, item := range r.body.Items {
		t.Rows = append(t.Rows, row{ID: item.ID, Cells: r.cells(item.Fields)})
	}
	return t
}

// ranks puts the records of one rank together. An answer of catalogue-v1 holds
// every match, so that its ties are those that it lists.
func (r *reader) ranks() *rankView {
	asked := r.asked()
	v := &rankView{Columns: []string{r.idLabel()}, Order: basisWords(r.form, r.body.Basis)}
	var keyed []string
	for _, item := range r.body.Items {
		v.Decides = v.Decides || item.Key != nil
	}
	if v.Decides {
		for _, p := range asked {
			keyed = append(keyed, p.Column)
			v.Columns = append(v.Columns, r.label(p.Column))
		}
	}
	r.shown = slices.DeleteFunc(r.shown, func(c shownColumn) bool { return slices.Contains(keyed, c.name) })
	for _, column := range r.shown {
		v.Columns = append(v.Columns, column.label)
	}
	for i, item := range r.body.Items {
		if i == 0 || item.Rank != r.body.Items[i-1].Rank {
			v.Groups = append(v.Groups, rankGroup{Rank: item.Rank, Shared: r.shared(i)})
		}
		group := &v.Groups[len(v.Groups)-1]
		one := rankRow{row: row{ID: item.ID}, Decided: r.decided(item)}
		for j, column := range keyed {
			if j < len(item.Key) {
				one.Cells = append(one.Cells, labelled{r.label(column), r.value(column, item.Key[j])})
			}
		}
		one.Cells = append(one.Cells, r.cells(item.Fields)...)
		group.Rows = append(group.Rows, one)
	}
	if c := r.body.CutTie; c != nil {
		v.Groups[len(v.Groups)-1].Cut = "The page ends within this tie: " + itoa(c.Shown) + " of " + itoa(c.Tied) + " are shown."
	}
	return v
}

// shared says how many records share the rank of an item; "" for one alone.
func (r *reader) shared(i int) string {
	tied := r.body.Items[i].Tied
	if tied == 0 {
		for _, other := range r.body.Items {
			if other.Rank == r.body.Items[i].Rank {
				tied++
			}
		}
	}
	if tied < 2 {
		return ""
	}
	return count(tied, "record", "records")
}

func (r *reader) decided(item itemBody) string {
	if item.DecidedBy == nil {
		return "comes first"
	}
	if p := r.form.preference(*item.DecidedBy); p != nil {
		return columnWords(r.form.contract, p.Column)
	}
	return spaced(*item.DecidedBy)
}

// asked are the preferences of the request, by the answer's basis.
func (r *reader) asked() []contract.Preference {
	var list []contract.Preference
	for _, name := range strings.Split(r.body.Basis, "_then_") {
		if p := r.form.preference(name); p != nil {
			list = append(list, *p)
		}
	}
	return list
}

// wishWords names a preference, or repeats a name that is none.
func (f *form) wishWords(name string) string {
	if p := f.preference(name); p != nil {
		return preferenceWords(f.contract, *p)
	}
	return spaced(name)
}

func basisWords(f *form, basis string) string {
	var wishes []string
	for _, name := range strings.Split(basis, "_then_") {
		wishes = append(wishes, f.wishWords(name))
	}
	return strings.Join(wishes, "; then ")
}

// question offers the preferences that the tool accepts: each choice is the
// same request with it.
func (r *reader) question() []link {
	var choices []link
	for _, name := range r.body.Accepted {
		asked := with(r.request, preferencesIn, slices.Concat([]byte("["), quoted(name), []byte("]")))
		choices = append(choices, link{r.form.linkToAnswer(asked), capital(r.form.wishWords(name))})
	}
	return choices
}

func (r *reader) record() []pair {
	list := []pair{{capital(r.idLabel()), cell{Text: r.body.ID}}}
	for _, c := range r.cells(r.body.Fields) {
		list = append(list, pair{capital(c.Label), c.cell})
	}
	return list
}

// membersView shows the answer of a backend in the order of the contract.
func membersView(f *form, body []byte) []pair {
	var list []pair
	members := map[string]json.RawMessage{}
	for _, m := range membersOf(body) {
		members[m.name] = json.RawMessage(m.value)
	}
	for _, output := range f.declared.Answer {
		value := cell{Text: plain(members[output.Name])}
		if raw, has := members[output.Name]; !has || string(raw) == "null" {
			value = cell{Text: "not given", Unknown: true}
		}
		list = append(list, pair{capital(spaced(output.Name)), value})
	}
	return list
}

// facts are what the answer says about itself.
func (r *reader) facts() []pair {
	var list []pair
	add := func(name, text string) { list = append(list, pair{name, cell{Text: text}}) }
	if total := r.body.Total; total != nil {
		words := map[string]string{"exact": "counted exactly", "at_least": "at least"}[total.Relation]
		add("Matches", itoa(total.Value)+", "+words)
		if n := len(r.body.Items); n > 0 && n < total.Value {
			add("On this page", itoa(n))
		}
	}
	if filters := r.filters(); filters != "" {
		add("Filters applied", filters)
	}
	for _, member := range sorted(r.body.ExcludedUnknown) {
		add("Left out, "+r.memberWords(member)+" unknown", itoa(r.body.ExcludedUnknown[member]))
	}
	if u := r.body.Unknown; u != nil && len(u.Counts) > 0 {
		for _, member := range sorted(u.Counts) {
			policy := u.Policy
			if other, differs := u.ByField[member]; differs {
				policy = other
			}
			add("Unknown "+r.memberWords(member), itoa(u.Counts[member])+"; they "+unknownWords[policy])
		}
	}
	if r.body.Snapshot != "" {
		as := "not known"
		if r.body.AsOf != nil {
			as = r.body.AsOf.UTC().Format("2 January 2006, 15:04 UTC")
		}
		add("Data as of", as)
		add("Snapshot", r.body.Snapshot)
	}
	return list
}

func (r *reader) memberWords(member string) string {
	for _, column := range r.form.contract.Columns {
		if column.Value.Member(column.Name) == member {
			return columnWords(r.form.contract, column.Name)
		}
	}
	return spaced(member)
}

func (r *reader) filters() string {
	var parts []string
	for _, argument := range r.form.contract.FilterArguments(r.form.declared) {
		raw, has := r.body.Filters[argument.Name]
		if !has {
			continue
		}
		value := r.value(argument.Column, raw).Text
		if column, _ := r.form.contract.Columns.Get(argument.Column); unitWords(column.Unit) != "" {
			value += " " + unitWords(column.Unit)
		}
		parts = append(parts, columnWords(r.form.contract, argument.Column)+" "+opWords[argument.Op]+" "+clip(value))
	}
	return strings.Join(parts, "; ")
}

func itoa(n int) string { return strconv.Itoa(n) }

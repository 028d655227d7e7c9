package rest

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/tool"
)

// kind is how a field is filled in.
type kind string

const (
	plainText      kind = "text"
	wholeNumber    kind = "integer"
	decimalNumber  kind = "decimal"
	choice         kind = "choice"  // one of Options
	threeWay       kind = "boolean" // true, false or, where it is not required, neither
	preferenceList kind = "preferences"
	unseen         kind = "unseen" // a cursor: links carry it, the form does not
)

// The bounds of a request of catalogue-v2, and what is taken where it says
// nothing.
const (
	maxPreferences = 5
	maxLimit       = "100"
	defaultLimit   = "20"
)

// form is the form of one tool, made from its contract.
type form struct {
	Action    string
	Post      bool // the tool has an effect: nothing is called by a link
	fields    []*field
	declared  *contract.Tool
	contract  *contract.Contract
	preferred []contract.Preference
	purposes  contract.Ordered[*contract.Purpose]
}

// field is one argument.
type field struct {
	Param    string // its name in the form and in addresses
	Kind     kind
	Label    string
	Unit     string // after the box
	Hint     string
	Required bool
	Options  []option
	Group    string // heading of the fields that stand together

	// Of one page.
	Value  string
	Rows   []preferenceRow
	Errors []string
}

type option struct {
	Value, Words string
	Chosen       bool
}

// preferenceRow is one place in the order of preferences.
type preferenceRow struct {
	Label   string
	Number  int // from 1
	Param   string
	Options []option
	Unknown []option // nil where no preferred value can be unknown
}

func formOf(t *tool.Tool) *form {
	declared, _ := t.Service.Tools.Get(t.Name) // a tool is bound from its contract
	f := &form{Action: "/tools/" + t.Name, Post: t.Effect != record.Read, declared: declared, contract: t.Service}
	if declared.Backend != nil {
		f.fromBackend()
		return f
	}
	f.add(&field{Param: "request_id", Kind: plainText, Label: "Request id", Hint: "Your name for this request; the answer repeats it.", Required: true})
	if declared.Promise == contract.Lookup {
		f.add(&field{Param: declared.By, Kind: plainText, Label: capital(columnWords(f.contract, declared.By)), Hint: "Exactly as it is recorded.", Required: true})
		return f
	}
	for _, argument := range f.contract.FilterArguments(declared) {
		f.add(f.filter(argument))
	}
	f.fromPromise()
	return f
}

func (f *form) add(added *field) { f.fields = append(f.fields, added) }

// fromPromise adds what a promise asks for besides filters.
func (f *form) fromPromise() {
	paged := f.declared.Format != contract.CatalogueV1
	switch f.declared.Promise {
	case contract.RankPreferences:
		f.preferred = f.contract.PreferencesOf(f.declared)
		f.add(&field{
			Param: preferencesIn, Kind: preferenceList, Label: "What matters to you",
			Hint: "The first decides first; a later one speaks only where the earlier ones tie. Leave all empty to be asked.",
		})
		if paged {
			f.add(&field{
				Param: "ties", Kind: choice, Label: "A tie at the end of the page", Group: "Page",
				Options: []option{{Value: "", Words: "is shown whole"}, {Value: "cut", Words: "may be cut, and the answer says so"}},
			})
		}
	case contract.AssessSuitability:
		f.purposes = f.contract.PurposesOf(f.declared)
		purpose := &field{Param: "purpose", Kind: choice, Label: "Purpose", Hint: "The declared use to assess for.", Required: true}
		for _, entry := range f.purposes {
			purpose.Options = append(purpose.Options, option{Value: entry.Name, Words: purposeWords(entry.Name, entry.Value)})
		}
		f.add(purpose)
	}
	if paged {
		f.add(&field{Param: "limit", Kind: wholeNumber, Label: "Most records on one page", Hint: "1 to " + maxLimit + "; empty: " + defaultLimit + ".", Group: "Page"})
		f.add(&field{Param: "cursor", Kind: unseen})
	}
}

var opWords = map[contract.FilterOp]string{
	contract.Max: "at most", contract.Min: "at least", contract.Equals: "exactly", contract.Words: "with the words",
}

func (f *form) filter(a contract.FilterArgument) *field {
	column, _ := f.contract.Columns.Get(a.Column)
	made := &field{
		Param: filterPrefix + a.Name, Kind: plainText, Group: "Filters",
		Label: capital(columnWords(f.contract, a.Column)) + ", " + opWords[a.Op],
	}
	switch column.Kind() {
	case contract.Money:
		made.Kind, made.Unit = wholeNumber, column.Currency
		made.Hint = minorHint(column)
	case contract.Integer:
		made.Kind, made.Unit = wholeNumber, unitWords(column.Unit)
	case contract.Decimal:
		made.Kind, made.Unit = decimalNumber, unitWords(column.Unit)
	case contract.Boolean:
		made.Kind, made.Label = threeWay, capital(columnWords(f.contract, a.Column))
		made.Options = []option{{Value: "", Words: "any"}, {Value: "true", Words: "yes"}, {Value: "false", Words: "no"}}
	}
	return made
}

// minorHint says what an amount is counted in, by an example.
func minorHint(column *contract.Column) string {
	exponent, known := contract.Exponent(column.Currency)
	if !known || exponent <= 0 {
		return "A whole number of minor units."
	}
	return fmt.Sprintf("A whole number of minor units: 6000 is %s %s.", contract.FormatScaled(6000, exponent), column.Currency)
}

func (f *form) fromBackend() {
	for _, entry := range f.declared.Input {
		f.add(inputField(entry.Name, entry.Value))
	}
}

func inputField(name string, input *contract.Input) *field {
	made := &field{Param: name, Kind: plainText, Label: capital(spaced(name)), Hint: input.Description, Required: !input.Optional}
	none := option{Value: "", Words: "not given"}
	if !input.Optional {
		none.Words = "choose"
	}
	switch {
	case input.Values != nil:
		made.Kind, made.Options = choice, []option{none}
		for _, value := range input.Values {
			made.Options = append(made.Options, option{Value: value, Words: value})
		}
	case input.Type == "boolean":
		made.Kind = threeWay
		made.Options = []option{none, {Value: "true", Words: "yes"}, {Value: "false", Words: "no"}}
	case input.Type == "integer":
		made.Kind = wholeNumber
	}
	if made.Hint == "" {
		made.Hint = acceptedWords(input)
	}
	return made
}

// acceptedWords say what an argument accepts; "" for anything of its type.
func acceptedWords(input *contract.Input) string {
	switch {
	case input.Accepts != "":
		return capital(input.Accepts) + "."
	case input.Minimum != nil && input.Maximum != nil:
		return fmt.Sprintf("%s to %s.", input.Minimum, input.Maximum)
	case input.Minimum != nil:
		return fmt.Sprintf("At least %s.", input.Minimum)
	case input.Maximum != nil:
		return fmt.Sprintf("At most %s.", input.Maximum)
	}
	return ""
}

func (f *form) field(param string) *field {
	for _, known := range f.fields {
		if known.Param == param {
			return known
		}
	}
	return nil
}

func (f *form) lastFilter() *field {
	var last *field
	for _, known := range f.fields {
		if strings.HasPrefix(known.Param, filterPrefix) {
			last = known
		}
	}
	return last
}

func (f *form) preference(name string) *contract.Preference {
	for i := range f.preferred {
		if f.preferred[i].Name == name {
			return &f.preferred[i]
		}
	}
	return nil
}

// preferenceOn names the preference on a field in a direction; "" where none is.
func (f *form) preferenceOn(column, direction string) string {
	for _, p := range f.preferred {
		if p.Column == column && string(p.Direction) == direction {
			return p.Name
		}
	}
	return ""
}

// value is a field's text as JSON. What is no number goes as a text, which the
// tool refuses in its own words.
func (f *field) value(text string) []byte {
	switch {
	case (f.Kind == wholeNumber || f.Kind == decimalNumber) && number.MatchString(text),
		f.Kind == threeWay && (text == "true" || text == "false"):
		return []byte(text)
	}
	return quoted(text)
}

// Groups are the fields that a person fills in, those of one heading together.
func (f *form) Groups() []fieldGroup {
	var groups []fieldGroup
	for _, shown := range f.fields {
		if shown.Kind == unseen {
			continue
		}
		i := slices.IndexFunc(groups, func(g fieldGroup) bool { return g.Name == shown.Group && shown.Group != "" })
		if i < 0 {
			groups = append(groups, fieldGroup{Name: shown.Group})
			i = len(groups) - 1
		}
		groups[i].Fields = append(groups[i].Fields, shown)
	}
	return groups
}

type fieldGroup struct {
	Name   string
	Fields []*field
}

// fill shows parameters in the form.
func (f *form) fill(parameters url.Values) {
	for _, shown := range f.fields {
		if values := parameters[shown.Param]; len(values) > 0 && shown.Kind != preferenceList {
			shown.Value = values[0]
		}
		shown.choose()
		if shown.Kind == preferenceList {
			shown.Rows = f.preferenceRows(parameters)
		}
	}
}

// choose marks the option of the field's value; one that is not offered is
// offered, so that the form says what was asked.
func (f *field) choose() {
	if f.Options == nil {
		return
	}
	for i := range f.Options {
		f.Options[i].Chosen = f.Options[i].Value == f.Value
	}
	if f.Value != "" && !slices.ContainsFunc(f.Options, func(o option) bool { return o.Chosen }) {
		f.Options = append(f.Options, option{Value: f.Value, Words: f.Value, Chosen: true})
	}
}

var placeWords = []string{"First", "Then", "Then", "Then", "Then"}

func (f *form) preferenceRows(parameters url.Values) []preferenceRow {
	columns := map[string]bool{}
	for _, p := range f.preferred {
		columns[p.Column] = true
	}
	asked := 0
	for place := range maxPreferences {
		if parameters.Get(preferenceAt(place+1)) != "" {
			asked = place + 1
		}
	}
	var rows []preferenceRow
	for i := range max(min(len(columns), maxPreferences), asked) {
		row := preferenceRow{Label: placeWords[i], Number: i + 1, Param: preferenceAt(i + 1), Options: []option{{Value: "", Words: "nothing"}}}
		for _, p := range f.preferred {
			row.Options = append(row.Options, option{Value: p.Name, Words: preferenceWords(f.contract, p)})
		}
		chosen := field{Options: row.Options, Value: parameters.Get(row.Param)}
		chosen.choose()
		row.Options, row.Unknown = chosen.Options, f.unknownOptions(parameters.Get(unknownAt(i+1)))
		rows = append(rows, row)
	}
	return rows
}

// unknownOptions offers what becomes of unknown values, where there can be any.
func (f *form) unknownOptions(asked string) []option {
	if f.declared.Format == contract.CatalogueV1 || !slices.ContainsFunc(f.preferred, f.mayBeUnknown) {
		return nil
	}
	policy := f.declared.Unknown
	if policy == "" {
		policy = contract.UnknownLast
	}
	chosen := field{Options: []option{
		{Value: "", Words: "unknown values: " + unknownWords[policy]},
		{Value: "last", Words: unknownWords[contract.UnknownLast]},
		{Value: "exclude", Words: unknownWords[contract.UnknownExclude]},
		{Value: "reject", Words: unknownWords[contract.UnknownReject]},
	}, Value: asked}
	chosen.choose()
	return chosen.Options
}

func (f *form) mayBeUnknown(p contract.Preference) bool {
	column, _ := f.contract.Columns.Get(p.Column)
	return column.Unknown != nil || column.Volatile
}

// mark writes a failure's faults at the fields that they are about.
func (f *form) mark(failure *record.Record, request []byte) {
	for _, fault := range faultsOf(failure, request) {
		if at := f.field(fault.Param); at != nil {
			at.Errors = append(at.Errors, fault.Message)
			if fault.Given != "" {
				at.Errors = append(at.Errors, fault.Given)
			}
		}
	}
}

// ID names the field's element.
func (f *field) ID() string { return "field-" + f.Param }

// Describes lists the elements that describe the field, "" for none.
func (f *field) Describes() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	for i := range f.Errors {
		ids = append(ids, f.ID()+"-error-"+strconv.Itoa(i))
	}
	return strings.Join(ids, " ")
}

// Tip says to an agent that fills in the form what the field is.
func (f *field) Tip() string {
	tip := f.Label
	if f.Unit != "" {
		tip += ", in " + f.Unit
	}
	return strings.TrimSpace(tip + ". " + f.Hint)
}

// Numeric reports whether the box is for a number.
func (f *field) Numeric() bool { return f.Kind == wholeNumber || f.Kind == decimalNumber }

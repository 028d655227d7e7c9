package rest

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/record"
)

// Parameters of a page's address and of its form. Each names an argument by
// its dotted path, such as filters.max_price_minor; a preference by its place,
// such as preferences.1.
const (
	filterPrefix  = "filters."
	preferencesIn = "preferences"
)

// preferenceAt is the parameter of the preference in one place, from 1, and
// unknownAt that of what becomes of its unknown values, "" for the tool's own.
func preferenceAt(place int) string { return preferencesIn + "." + strconv.Itoa(place) }
func unknownAt(place int) string    { return preferenceAt(place) + ".unknown" }

// Whole is the parameter of a whole request, as JSON: one that no argument of
// the tool has for its name.
func (f *form) Whole() string {
	if f.field("request") == nil {
		return "request"
	}
	return "request.json" // no argument's name has a dot
}

// requestOf is the request that parameters hold, and whether they hold any. A
// whole request that stands alone is taken as it is, to the byte; otherwise it
// is made from the arguments. What the tool does not know is in it too, so that
// the tool refuses it: nothing that a person asks for is left out silently.
func (f *form) requestOf(parameters url.Values) (request []byte, asked bool) {
	whole := parameters[f.Whole()]
	if len(parameters) == 1 && len(whole) == 1 && strings.HasPrefix(strings.TrimSpace(whole[0]), "{") {
		return []byte(whole[0]), true
	}
	return f.build(parameters), len(parameters) > 0
}

// build writes parameters as JSON, in the order of the schema and unknown
// arguments after it. An empty parameter is an absent argument, which the tool
// refuses where it is required; preferences that are all absent are null.
func (f *form) build(parameters url.Values) []byte {
	o := &record.Object{}
	inner := &record.Object{}
	for _, field := range f.fields {
		switch {
		case field.Kind == preferenceList:
			o.Add(field.Param, f.preferences(parameters))
		case strings.HasPrefix(field.Param, filterPrefix):
			for _, text := range given(parameters, field) {
				inner.Add(strings.TrimPrefix(field.Param, filterPrefix), field.value(text))
			}
			if field == f.lastFilter() {
				f.closeFilters(o, inner, parameters)
			}
		default:
			for _, text := range given(parameters, field) {
				o.Add(field.Param, field.value(text))
			}
		}
	}
	if f.lastFilter() == nil {
		f.closeFilters(o, inner, parameters)
	}
	for _, name := range f.strangers(parameters, false) {
		for _, text := range parameters[name] {
			o.Add(name, quoted(text))
		}
	}
	return o.JSON()
}

func (f *form) closeFilters(o, inner *record.Object, parameters url.Values) {
	for _, name := range f.strangers(parameters, true) {
		for _, text := range parameters[name] {
			inner.Add(strings.TrimPrefix(name, filterPrefix), quoted(text))
		}
	}
	if inner.Len() > 0 {
		o.Add("filters", inner.JSON())
	}
}

func given(parameters url.Values, f *field) []string {
	return slices.DeleteFunc(slices.Clone(parameters[f.Param]), func(text string) bool { return text == "" })
}

// strangers are the parameters that name no argument of the tool, in order.
func (f *form) strangers(parameters url.Values, filters bool) []string {
	var names []string
	for name := range parameters {
		if f.field(name) == nil && !f.ofPreference(name) && strings.HasPrefix(name, filterPrefix) == filters {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ofPreference reports whether a parameter is about one of the preferences.
func (f *form) ofPreference(name string) bool {
	if f.preferred == nil {
		return false
	}
	for place := range maxPreferences {
		if name == preferenceAt(place+1) || name == unknownAt(place+1) {
			return true
		}
	}
	return false
}

// preferences writes the preferences that were chosen, each with what becomes
// of unknown values where that was chosen too; null where none was.
func (f *form) preferences(parameters url.Values) []byte {
	var list [][]byte
	for place := range maxPreferences {
		unknown := parameters.Get(unknownAt(place + 1))
		names := slices.DeleteFunc(slices.Clone(parameters[preferenceAt(place+1)]), func(name string) bool { return name == "" })
		if len(names) == 0 && unknown != "" {
			names = []string{""} // it belongs to no preference, which the tool says
		}
		for _, name := range names {
			list = append(list, f.wish(name, unknown))
		}
	}
	if list == nil {
		return []byte("null")
	}
	return slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
}

// wish writes one preference: its name, or, where something is said of unknown
// values, an object.
func (f *form) wish(name, unknown string) []byte {
	declared := f.preference(name)
	if unknown == "" || declared == nil && name != "" {
		return quoted(name)
	}
	o := &record.Object{}
	if declared != nil {
		o.Add("field", quoted(declared.Column))
		o.Add("prefer", quoted(string(declared.Direction)))
	}
	o.Add("unknown", quoted(unknown))
	return o.JSON()
}

// parametersOf are the parameters that come nearest to a request, for the form
// to show. Whatever no parameter can say is left out.
func (f *form) parametersOf(request []byte) url.Values {
	parameters := url.Values{}
	for _, m := range membersOf(request) {
		switch {
		case m.name == preferencesIn:
			f.preferenceParameters(parameters, m.value)
		case m.value.Kind() == '{':
			for _, inner := range membersOf(m.value) {
				addScalar(parameters, m.name+"."+inner.name, inner.value)
			}
		default:
			addScalar(parameters, m.name, m.value)
		}
	}
	return parameters
}

func (f *form) preferenceParameters(parameters url.Values, list jsontext.Value) {
	for i, item := range itemsOf(list) {
		switch item.Kind() {
		case '"':
			addScalar(parameters, preferenceAt(i+1), item)
		case '{':
			wish := map[string]string{}
			for _, m := range membersOf(item) {
				wish[m.name] = textOf(m.value)
			}
			parameters.Set(preferenceAt(i+1), f.preferenceOn(wish["field"], wish["prefer"]))
			if wish["unknown"] != "" {
				parameters.Set(unknownAt(i+1), wish["unknown"])
			}
		}
	}
}

func addScalar(parameters url.Values, name string, value jsontext.Value) {
	switch value.Kind() {
	case '"', '0', 't', 'f':
		parameters.Add(name, textOf(value))
	}
}

// link is the address of a page that holds a request: as parameters where they
// say the same to the byte, else as the whole request.
func (f *form) link(request []byte) string {
	parameters := f.parametersOf(request)
	if same, asked := f.requestOf(parameters); !asked || !bytes.Equal(same, request) {
		parameters = url.Values{f.Whole(): {string(request)}}
	}
	return f.Action + "?" + f.ordered(parameters)
}

// linkToAnswer is the address of a request that a person goes on with: it leads
// to the heading of the answer.
func (f *form) linkToAnswer(request []byte) string { return f.link(request) + "#answer-title" }

// ordered writes parameters in the order of the form.
func (f *form) ordered(parameters url.Values) string {
	var parts []string
	take := func(name string) {
		for _, text := range parameters[name] {
			parts = append(parts, url.QueryEscape(name)+"="+url.QueryEscape(text))
		}
	}
	for _, field := range f.fields {
		take(field.Param)
		for place := range maxPreferences {
			if field.Kind == preferenceList {
				take(preferenceAt(place + 1))
				take(unknownAt(place + 1))
			}
		}
	}
	for _, name := range slices.Concat(f.strangers(parameters, true), f.strangers(parameters, false)) {
		take(name)
	}
	return strings.Join(parts, "&")
}

// with is a request in which one member has another value; it stands where it
// stood, or last.
func with(request []byte, name string, value []byte) []byte {
	o := &record.Object{}
	found := false
	for _, m := range membersOf(request) {
		if m.name == name {
			o.Add(name, value)
			found = true
			continue
		}
		o.Add(m.name, m.value)
	}
	if !found {
		o.Add(name, value)
	}
	return o.JSON()
}

// number is a JSON number, which a form field of one is sent as.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// member is one member of a JSON object, as it was written.
type member struct {
	name  string
	value jsontext.Value
}

// membersOf reads an object in its order, duplicates included; nothing of
// anything else.
func membersOf(text []byte) []member {
	var list []member
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return nil
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		list = append(list, member{name, value.Clone()})
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil
	}
	return list
}

// itemsOf reads a list; nothing of anything else.
func itemsOf(text []byte) []jsontext.Value {
	var list []jsontext.Value
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '[' {
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		list = append(list, value.Clone())
	}
	return list
}

// textOf is a text's content, of any other value its JSON.
func textOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return string(value)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil { // the decoder has read it
		return ""
	}
	return string(text)
}

func quoted(text string) []byte { return record.AppendString(nil, text) }

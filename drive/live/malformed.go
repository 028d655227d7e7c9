package live

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fault is an input with one fault.
type fault struct {
	name  string // within its tool
	why   string
	field string // the argument at fault, "" for the whole input
	body  []byte
}

// unknownArgument is a name that no schema is taken to have.
const unknownArgument = "remit_check_unknown"

// outside is a text that no enumeration or pattern is taken to accept.
const outside = "remit-check-outside"

// longestText bounds the texts that are made to be too long, in characters.
const longestText = 1 << 16

// malformed lists what a schema refuses: an example with one fault each. unread
// are the arguments that none was found for.
func malformed(text, example []byte) (faults []fault, unread []string, err error) {
	s, err := readSchema(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the schema of its input: %w", err)
	}
	input, err := readObject(example)
	if err != nil {
		return nil, nil, fmt.Errorf("its example: %w", err)
	}
	m := &maker{input: input}
	m.object(nil, s)
	m.faults = append(
		m.faults,
		fault{name: "list", why: "An input is an object, no list.", body: []byte("[]")},
		fault{name: "no-json", why: "An input is JSON.", body: []byte(`{"`)},
	)
	return m.faults, m.unread, nil
}

// maker makes faulty inputs.
type maker struct {
	input  object
	faults []fault
	unread []string
}

// object makes the faults of the members of the input, or of those one level
// down.
func (m *maker) object(path []string, s *schema) {
	for _, p := range s.properties {
		at := append(slices.Clone(path), p.name)
		before := len(m.faults)
		m.value(at, p.schema)
		if slices.Contains(s.Required, p.name) {
			m.add(at, "missing", "A required argument is missing.", m.input.without(at))
		}
		if len(path) == 0 && p.schema.properties != nil {
			m.object(at, p.schema)
		}
		switch field := strings.Join(at, "."); {
		case len(m.faults) == before:
			m.unread = append(m.unread, field)
		case p.schema.Pattern != "" && p.schema.unmatched() == "":
			m.unread = append(m.unread, "form of "+field)
		}
	}
	if s.closed() {
		at := append(slices.Clone(path), unknownArgument)
		m.set(at, "unknown", "There is no such argument.", "true")
	}
}

func (m *maker) add(path []string, name, why string, input object) {
	field := strings.Join(path, ".")
	m.faults = append(m.faults, fault{name: field + "/" + name, why: why, field: field, body: input.json()})
}

func (m *maker) set(path []string, name, why, value string) {
	m.add(path, name, why, m.input.with(path, jsontext.Value(value)))
}

// value makes the faults of one argument.
func (m *maker) value(path []string, s *schema) {
	for _, w := range s.wrong() {
		m.set(path, w.name, w.why, w.value)
	}
	if s.items == nil || s.types != nil && !slices.Contains(s.types, "array") {
		return
	}
	if wrong := s.items.wrong(); len(wrong) > 0 {
		m.set(path, "item", "An item of the list is not accepted.", "["+wrong[0].value+"]")
	}
}

// wrongValue is a value that a schema refuses.
type wrongValue struct{ name, why, value string }

// wrong lists values that the schema refuses, those of another kind last.
func (s *schema) wrong() []wrongValue {
	var all []wrongValue
	try := func(name, why, value string) {
		if s.refuses(value) && !slices.ContainsFunc(all, func(w wrongValue) bool { return w.value == value }) {
			all = append(all, wrongValue{name, why, value})
		}
	}
	if s.Enum != nil || s.Const != nil {
		try("outside", "The value is outside the enumeration.", s.outside())
	}
	if s.Pattern != "" {
		try("form", "The text does not have the required form.", s.unmatched())
	}
	if s.MinLength > 1 {
		try("short", "The text is shorter than the least length.", quoted(strings.Repeat("x", min(s.MinLength-1, longestText))))
	}
	if s.MaxLength != nil && *s.MaxLength >= 0 && *s.MaxLength < longestText {
		try("long", "The text is longer than the greatest length.", quoted(strings.Repeat("x", *s.MaxLength+1)))
	}
	for _, b := range s.beyond() {
		try(b.name, b.why, b.value)
	}
	try("empty", "The text is empty.", `""`)
	try("type", "The value is of another type.", s.otherType())
	if slices.Contains(s.types, "integer") && !slices.Contains(s.types, "number") {
		try("fraction", "A fraction is no whole number.", "0.5")
	}
	try("null", "Null is no value of the argument.", "null")
	return all
}

// otherType is a value of a type that the schema does not have. Where a number
// or a Boolean is due it is that in quotation marks, as a caller may write it.
func (s *schema) otherType() string {
	if len(s.types) == 0 {
		return ""
	}
	first := map[string]string{"integer": `"7"`, "number": `"7"`, "boolean": `"true"`, "object": "[]", "array": "{}"}[s.types[0]]
	for _, candidate := range []string{first, "7", `"7"`, "true", "[]", "{}"} {
		if candidate != "" && !s.hasType(candidate) {
			return candidate
		}
	}
	return ""
}

// outside is a value of the schema's type that its enumeration does not have.
func (s *schema) outside() string {
	if !slices.Contains(s.types, "integer") && !slices.Contains(s.types, "number") {
		return quoted(outside)
	}
	for n := 0; ; n++ {
		if value := strconv.Itoa(n); s.refuses(value) {
			return value
		}
	}
}

// unmatched is a text that the pattern does not match, "" where none is found.
func (s *schema) unmatched() string {
	for _, text := range []string{outside, "REMIT", "0", "~", " ", "\t"} {
		if value := quoted(text); s.refuses(value) {
			return value
		}
	}
	return ""
}

// beyond are the values next to the bounds of a number.
func (s *schema) beyond() []wrongValue {
	var all []wrongValue
	for _, b := range []struct {
		bound *float64
		step  float64
		name  string
		why   string
	}{
		{s.Minimum, -1, "low", "The number is below the lowest."},
		{s.ExclusiveMinimum, 0, "low", "The number is below the lowest."},
		{s.Maximum, 1, "high", "The number is above the highest."},
		{s.ExclusiveMaximum, 0, "high", "The number is above the highest."},
	} {
		if b.bound == nil {
			continue
		}
		n := *b.bound + b.step
		if n == *b.bound && b.step != 0 { // a bound so large that 1 is nothing beside it
			n = math.Nextafter(n, n*2*b.step)
		}
		if text := strconv.FormatFloat(n, 'f', -1, 64); len(text) < 40 {
			all = append(all, wrongValue{b.name, b.why, text})
		}
	}
	return all
}

func quoted(text string) string {
	value, err := jsontext.AppendQuote(nil, text)
	if err != nil { // the texts here are UTF-8
		panic(err)
	}
	return string(value)
}

// refuses reports whether the schema refuses a value, by the keywords that are
// read here. It refuses no value that is "".
func (s *schema) refuses(text string) bool {
	value := jsontext.Value(text)
	switch {
	case text == "":
		return false
	case s.types != nil && !s.hasType(text):
		return true
	case s.Enum != nil && !slices.ContainsFunc(s.Enum, func(v jsontext.Value) bool { return equal(v, value) }),
		s.Const != nil && !equal(s.Const, value):
		return true
	}
	switch value.Kind() {
	case '"':
		return s.refusesText(text)
	case '0':
		return s.refusesNumber(text)
	}
	return false
}

func (s *schema) refusesText(value string) bool {
	var text string
	if err := json.Unmarshal([]byte(value), &text); err != nil {
		return false
	}
	n := utf8.RuneCountInString(text)
	return n < s.MinLength || s.MaxLength != nil && n > *s.MaxLength || s.matches != nil && !s.matches.MatchString(text)
}

func (s *schema) refusesNumber(value string) bool {
	n, err := strconv.ParseFloat(value, 64)
	return err == nil && (s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum ||
		s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum || s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum)
}

// hasType reports whether a value is of one of the schema's types.
func (s *schema) hasType(text string) bool {
	types := map[jsontext.Kind][]string{
		'"': {"string"}, 't': {"boolean"}, 'f': {"boolean"}, 'n': {"null"}, '[': {"array"}, '{': {"object"},
	}[jsontext.Value(text).Kind()]
	if types == nil {
		types = []string{"number"}
		if n, err := strconv.ParseFloat(text, 64); err == nil && n == math.Trunc(n) {
			types = append(types, "integer")
		}
	}
	return slices.ContainsFunc(types, func(t string) bool { return slices.Contains(s.types, t) })
}

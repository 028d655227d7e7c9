package live

import (
	"bytes"
	"errors"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schema is what is read of a JSON Schema: the keywords by which a single value
// can be refused. Others, such as anyOf, are not looked at: they can only
// refuse more.
type schema struct {
	Type                               jsontext.Value
	Properties                         jsontext.Value
	AdditionalProperties               jsontext.Value
	Required                           []string
	Enum                               []jsontext.Value
	Const                              jsontext.Value
	Pattern                            string
	MinLength                          int
	MaxLength                          *int
	Minimum, Maximum                   *float64
	ExclusiveMinimum, ExclusiveMaximum *float64
	Items                              jsontext.Value

	types      []string // of Type; nil: any
	properties []property
	items      *schema
	matches    *regexp.Regexp // of Pattern; nil where it is none of RE2
}

// property is one member that a schema describes, in its order.
type property struct {
	name   string
	schema *schema
}

// closed reports whether an object may have no other members.
func (s *schema) closed() bool { return s.AdditionalProperties.Kind() == 'f' }

func readSchema(text jsontext.Value) (*schema, error) {
	s := &schema{}
	if k := text.Kind(); k == 't' || k == 'f' { // true accepts anything; false has no example
		return s, nil
	}
	if err := json.Unmarshal(text, s, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, err
	}
	switch s.Type.Kind() {
	case '"':
		s.types = make([]string, 1)
		if err := json.Unmarshal(s.Type, &s.types[0]); err != nil {
			return nil, err
		}
	case '[':
		if err := json.Unmarshal(s.Type, &s.types); err != nil {
			return nil, err
		}
	}
	if s.Pattern != "" {
		s.matches, _ = regexp.Compile(s.Pattern) // ECMA 262 has more than RE2
	}
	if s.Properties != nil {
		members, err := readObject(s.Properties)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			each, err := readSchema(m.value)
			if err != nil {
				return nil, err
			}
			s.properties = append(s.properties, property{m.name, each})
		}
	}
	var err error
	if k := s.Items.Kind(); k == '{' {
		s.items, err = readSchema(s.Items)
	}
	return s, err
}

// object is a JSON object, its members in their order.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

func readObject(text []byte) (object, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if decoder.PeekKind() != '{' {
		return nil, errors.New("it is no JSON object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	o := object{}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()} // before the next read, which takes its bytes
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		o = append(o, m)
	}
	_, err := decoder.ReadToken()
	return o, err
}

func (o object) at(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// inner is the object at a member; empty where there is none.
func (o object) inner(name string) object {
	if i := o.at(name); i >= 0 {
		if inner, err := readObject(o[i].value); err == nil {
			return inner
		}
	}
	return object{}
}

// with is a copy that has a value at a path.
func (o object) with(path []string, value jsontext.Value) object {
	if len(path) > 1 {
		value = o.inner(path[0]).with(path[1:], value).json()
	}
	changed := slices.Clone(o)
	if i := o.at(path[0]); i >= 0 {
		changed[i].value = value
		return changed
	}
	return append(changed, member{path[0], value})
}

// without is a copy that has nothing at a path.
func (o object) without(path []string) object {
	if len(path) > 1 {
		return o.with(path[:1], o.inner(path[0]).without(path[1:]).json())
	}
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == path[0] })
}

func (o object) json() jsontext.Value {
	text := []byte("{")
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, quoted(m.name)...), ':'), m.value...)
	}
	return append(text, '}')
}

// equal reports whether two values are the same but for their form (RFC 8785).
func equal(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

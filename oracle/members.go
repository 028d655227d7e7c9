package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one member of an object, its value as it was written.
type member struct {
	name  string
	value jsontext.Value
}

// members are those of one object in the order in which they stand,
// duplicates included.
type members []member

// membersOf takes one JSON object apart. Nothing may stand beside it.
func membersOf(text []byte) (members, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if decoder.PeekKind() != '{' {
		return nil, errors.New("it is no JSON object")
	}
	all, err := readMembers(decoder)
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, fmt.Errorf("it is no valid JSON at byte %d: %w", syntactic.ByteOffset+1, syntactic.Err)
	}
	return all, err
}

// readMembers reads an object that stands alone.
func readMembers(decoder *jsontext.Decoder) (members, error) {
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	all := make(members, 0, 8)
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		all = append(all, m)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return all, nil
}

// get is the value of the first member of that name; nil if there is none.
func (m members) get(name string) jsontext.Value {
	for _, each := range m {
		if each.name == name {
			return each.value
		}
	}
	return nil
}

// text is the member's value if the member stands once and is a text.
func (m members) text(name string) (string, bool) {
	if m.count(name) != 1 {
		return "", false
	}
	return textOf(m.get(name))
}

func (m members) count(name string) int {
	n := 0
	for _, each := range m {
		if each.name == name {
			n++
		}
	}
	return n
}

func textOf(value jsontext.Value) (string, bool) {
	if value.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err == nil
}

// compare names the members that got has and want has not, those that it
// lacks, and those that stand more than once.
func (m members) compare(want members) []string {
	var faults []string
	for i, each := range m {
		switch {
		case want.get(each.name) == nil:
			faults = append(faults, fmt.Sprintf("%s is no member of it", each.name))
		case m[:i].get(each.name) != nil:
			faults = append(faults, fmt.Sprintf("%s stands twice", each.name))
		}
	}
	for _, each := range want {
		if m.get(each.name) == nil {
			faults = append(faults, fmt.Sprintf("%s is absent", each.name))
		}
	}
	return faults
}

// same reports whether two values are equal but for their form: white space,
// the order of members, how texts and numbers are written (RFC 8785).
func same(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return string(canonical(a)) == string(canonical(b))
}

// canonical is a value in its canonical form (RFC 8785); an invalid one, such
// as an object with duplicate members, stays as it is.
func canonical(value jsontext.Value) jsontext.Value {
	c := value.Clone()
	if err := c.Canonicalize(); err != nil {
		return value
	}
	return c
}

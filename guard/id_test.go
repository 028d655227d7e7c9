package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestSameID: ids are the same by what they say, not by how they are spelled.
func TestSameID(t *testing.T) {
	groups := [][]string{
		{"7", "7.0", "7e0", "70E-1", "0.7e+1", "7.00"},
		{"70", "7e1", "7.0e01"},
		{"-7", "-7.0"},
		{"0", "-0", "0.0", "0e9"},
		{"9007199254740992"},
		{"9007199254740993", "9007199254740993.0"},
		{"0.1", "1e-1"},
		{"1e" + strings.Repeat("9", 90)},
		{"1e" + strings.Repeat("9", 200)},
		{"-1e" + strings.Repeat("9", 200)},
		{`"7"`},
		{`"a"`, `"\u0061"`},
		{`"é"`, `"\u00e9"`},
		{`""`},
		{"null"},
	}
	parse := func(id string) *Message {
		m, err := ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for i, group := range groups {
		for j, other := range groups {
			for _, a := range group {
				for _, b := range other {
					if got := parse(a).SameID(parse(b)); got != (i == j) {
						t.Errorf("%.40s and %.40s: the same %v", a, b, got)
					}
				}
			}
		}
	}
	if note := (&Message{}); note.SameID(note) {
		t.Error("two messages without an id have one")
	}
}

// TestWith: a value is replaced where it is, and nothing else changes.
func TestWith(t *testing.T) {
	m, err := ParseMessage([]byte(`{"jsonrpc":"2.0", "method":"a", "params": {"b":[1], "_meta" : {"progressToken" : "x" , "c":1}}, "d":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := m.With(jsontext.Value("7"), "params", "_meta", "progressToken"); !ok ||
		string(got) != `{"jsonrpc":"2.0", "method":"a", "params": {"b":[1], "_meta" : {"progressToken" : 7 , "c":1}}, "d":1}` {
		t.Errorf("%s", got)
	}
	for _, names := range [][]string{{"params", "_meta", "e"}, {"params", "b", "c"}, {"result"}} {
		if got, ok := m.With(jsontext.Value("7"), names...); ok {
			t.Errorf("%v: %s", names, got)
		}
	}
	twice, err := ParseMessage([]byte(`{"jsonrpc":"2.0","method":"a","params":{"_meta":{},"_meta":{"progressToken":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := twice.With(jsontext.Value("7"), "params", "_meta", "progressToken"); ok {
		t.Errorf("%s", got)
	}
}

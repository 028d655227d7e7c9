package guard

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// TestDigest: two values have one digest if and only if JSON says the same of
// both, by a reading that shares nothing with it.
func TestDigest(t *testing.T) {
	scalar := rapid.OneOf(
		rapid.SampledFrom([]string{"null", "true", "false", `""`, `"a"`, `"\u0061"`, `"é"`, `"\u00e9"`, "0", "-0", "1", "1.0", "1e0", "10e-1", "0.1", "9007199254740992", "9007199254740993"}),
	)
	value := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return scalar.Draw(t, "scalar")
		case 1:
			return "[" + strings.Join(rapid.SliceOfN(scalar, 0, 3).Draw(t, "items"), ", ") + "]"
		}
		var members []string
		for _, name := range rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "names")[:rapid.IntRange(0, 3).Draw(t, "count")] {
			members = append(members, `"`+name+`" : `+scalar.Draw(t, "member"))
		}
		return "{" + strings.Join(members, ",") + "}"
	})
	rapid.Check(t, func(t *rapid.T) {
		one, other := value.Draw(t, "one"), value.Draw(t, "other")
		a, err := digestOf(jsontext.Value(one))
		if err != nil {
			t.Fatal(err)
		}
		b, err := digestOf(jsontext.Value(other))
		if err != nil {
			t.Fatal(err)
		}
		if same := reflect.DeepEqual(plain(t, one), plain(t, other)); same != (a == b) {
			t.Errorf("%s and %s: equal %v, digests equal %v", one, other, same, a == b)
		}
	})
}

// plain is a value whose numbers are compared exactly.
func plain(t *rapid.T, text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return exact(value)
}

func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		switch string(v) {
		case "1.0", "1e0", "10e-1":
			return json.Number("1")
		case "-0":
			return json.Number("0")
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return value
}

// TestSplices: what is changed in a message is changed there alone.
func TestSplices(t *testing.T) {
	raw := ` { "jsonrpc" : "2.0", "params" : {"_meta":{"x":1}, "name":"t", "arguments" : {"b":1, "a":[ 2 ]} , "more":{"arguments":0}}, "id" : 7 , "method":"tools/call"} `
	m, err := ParseMessage([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.WithID(jsontext.Value(`"n"`))), strings.Replace(raw, ": 7 ,", `: "n" ,`, 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c, err := readCall(m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.withArguments(jsontext.Value(`{"k":"v"}`))
	if want := strings.Replace(raw, `{"b":1, "a":[ 2 ]}`, `{"k":"v"}`, 1); err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	m, err = ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = readCall(m); err != nil {
		t.Fatal(err)
	}
	got, err = c.withArguments(jsontext.Value(`{"k":"v"}`))
	if want := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"k":"v"}}}`; err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

// FuzzMessage: no bytes make the reading of messages panic, and what is changed
// in a message leaves it one.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1},"_meta":{"remit/task":"x"}}}`,
		`{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"{}"}],"isError":true,"_meta":{},"structuredContent":{"recovery":{"code":"ACCESS_DENIED"}}}}`,
		`{"jsonrpc":"2.0","id":"a","result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"k":{}},"required":["k"]}}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"x","data":{"retryAfterSeconds":1}}}`,
		`[{"jsonrpc":"2.0","method":"x"},1]`, `{`, `{"jsonrpc":"2.0","id":1,"result":{"content":[[]],"_meta":7}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := Split(data)
		if err != nil {
			return
		}
		for _, raw := range parts {
			m, err := ParseMessage(raw)
			if err != nil {
				continue
			}
			checkChanges(t, m)
			g := New(Options{})
			if !bytes.Equal(g.List(new(Session), m), m.Raw) {
				t.Errorf("without a contract a list changes: %q", raw)
			}
			p := g.planFor("t", hints{})
			if m.Response() {
				p.read(Response{Message: m}, g.clock.Now())
			}
		}
	})
}

func checkChanges(t *testing.T, m *Message) {
	if m.ID != nil {
		again, err := ParseMessage(m.WithID(jsontext.Value(`"n"`)))
		if err != nil || string(again.ID) != `"n"` || again.Method != m.Method {
			t.Errorf("%q with another id: %v", m.Raw, err)
		}
	}
	if m.Result != nil {
		if again, err := ParseMessage(withMeta(m, "remit/x", []byte("1"))); err != nil || !bytes.Equal(again.ID, m.ID) {
			t.Errorf("%q with another _meta: %v", m.Raw, err)
		}
	}
	c, err := readCall(m)
	if err != nil {
		return
	}
	changed, err := c.withArguments(jsontext.Value(`{"n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err = ParseMessage(changed)
	if err != nil {
		t.Fatalf("%q: %v", changed, err)
	}
	if again, err := readCall(m); err != nil || string(again.arguments) != `{"n":1}` || again.tool != c.tool {
		t.Errorf("%q: %v", changed, err)
	}
}

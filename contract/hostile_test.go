package contract

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestHostile reads files that are made to break a reader: each is refused at
// a place, soon, with a message that people can read.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":              strings.Repeat("[", 500_000),
		"braces":                strings.Repeat("{a: ", 200_000),
		"dashes":                strings.Repeat("- ", 500_000),
		"question marks":        strings.Repeat("? ", 500_000),
		"tags":                  "a: " + strings.Repeat("!a ", 300_000),
		"anchors":               "a: " + strings.Repeat("&a ", 300_000),
		"a bomb of aliases":     "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
		"keys":                  strings.Repeat("a: 1\n", 200_000),
		"different keys":        strings.Repeat("k", 1) + manyKeys(4_500),
		"unknown filters":       "remit: 1\nservice: a\ndata: {file: a.csv}\ncolumns:\n  id: {id: true}\ntools:\n  find:\n    promise: search\n    filters:\n" + manyFilters(2_000),
		"an indented staircase": staircase(1000),
		"an open text":          "a: \"" + strings.Repeat("x\n", 400_000),
		"a long key":            strings.Repeat("x", 900_000) + ": 1",
		"a long text":           "service: " + strings.Repeat("é", 400_000),
		"a huge file":           strings.Repeat("# x\n", 300_000),
		"a NUL":                 "remit: 1\x00",
		"half a character":      "remit: 1\nservice: \xc3",
		"UTF-16":                "\xff\xfer\x00e\x00m\x00i\x00t\x00",
		"tabs":                  "remit: 1\n\tservice: a\n",
		"only a tab":            "\t",
		"a flow that ends":      "{remit: 1, service: a, tools: {a: ",
		"a literal at the end":  "service: |",
		"a directive alone":     "%YAML 1.2\n---\n",
		"an unknown directive":  "%FOO bar\n---\nremit: 1\n",
		"markers":               "---\n---\n---\n",
		"JSON with a comment":   "{\"remit\": 1, // one\n}",
	} {
		for _, file := range []string{"contract.yaml", "contract.json"} {
			start := time.Now()
			if len(problemsOf(t, file, text)) == 0 {
				t.Errorf("%s as %s: accepted", name, file)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%s as %s: took %v", name, file, took)
			}
		}
	}
}

func manyKeys(count int) string {
	var b strings.Builder
	for i := range count {
		b.WriteString(": 1\nk" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i%11))
	}
	return b.String() + ": 1\n"
}

func manyFilters(count int) string {
	var b strings.Builder
	for i := range count {
		b.WriteString("      f" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + ": max\n")
	}
	return b.String()
}

func staircase(count int) string {
	var b strings.Builder
	for i := range count {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestJSONFaults are faults of the JSON notation at their exact places.
func TestJSONFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "contract.json:1:1: the file is empty; a contract begins with: remit: 1"},
		{" \n", "contract.json:1:1: the file is empty; a contract begins with: remit: 1"},
		{"{\"remit\": 1", "contract.json:1:12: not JSON: the file ends within a value"},
		{"{\"remit\": 1,}", "contract.json:1:12: not JSON: invalid character ',' at start of value"},
		{"{\n  \"ü\": [1, ]\n}", "contract.json:2:10: not JSON: invalid character ',' at start of value"},
		{"{\"a\": 017}", "contract.json:1:8: not JSON: invalid character '1' after object value (expecting ',' or '}')"},
		{"{\"a\": tru}", "contract.json:1:10: not JSON: invalid character '}' in literal true (expecting 'e')"},
		{"{a: 1}", "contract.json:1:2: not JSON: invalid character 'a' at start of value"},
		{"{\"a\": \"\\ud800\"}", "contract.json:1:8: not JSON: invalid surrogate pair `\\ud800\"}` in string"},
		{"{} {}", "contract.json:1:4: something follows the document; a contract is one JSON value"},
		{"{1: 2}", "contract.json:1:2: not JSON: object member name must be a string"},
	} {
		_, err := Parse("contract.json", []byte(c.text))
		if err == nil || strings.Split(err.Error(), "\n")[0] != c.want {
			t.Errorf("%q\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// FuzzParse reads anything: it never panics, and every problem has a place
// inside the file and one line of text.
func FuzzParse(f *testing.F) {
	for _, name := range examples {
		f.Add(example(f, name), false)
	}
	for _, c := range problemCases {
		f.Add(apply(f, example(f, c.file), c.edits...), false)
	}
	for _, text := range []string{"a: &x 1", "- - a", "? a", "{a, b}", "[a: 1]", "a:\n- b\n-", "!", "&", "*", "|", "a: |2\n   x", "\"\\x", "{", "a\t: b", "- \t", "a: {b: }", "\r-\r-EEEE-\r -8", "2a  \n  \n:r x", "a: 0.0\t054"} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Add(`{"remit": 1, "tools": {"a": {"promise": "search"}}}`, true)
	f.Fuzz(func(t *testing.T, text string, json bool) {
		name := "contract.yaml"
		if json {
			name = "contract.json"
		}
		slow := time.AfterFunc(10*time.Second, func() { panic(fmt.Sprintf("%s: over 10 s for %q", name, text)) })
		defer slow.Stop()
		if problemsOf(t, name, text) == nil {
			c := mustParse(t, name, text)
			for _, advice := range c.Advice() {
				wellFormed(t, text, advice)
			}
		}
		placed(t, name, text)
	})
}

// placed checks that every key and scalar stands at the place given for it.
func placed(t testing.TB, name, text string) {
	t.Helper()
	root, problem := parse(Source{Name: name, Bytes: []byte(text)})
	if problem != nil {
		return
	}
	text = strings.TrimPrefix(text, "\ufeff")
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	var check func(n *node)
	at := func(what string, p position) {
		if p.line < 1 || p.line > len(lines) || p.column < 1 || p.column > len([]rune(lines[p.line-1]))+1 {
			t.Fatalf("%q at %d:%d is outside of %q", what, p.line, p.column, text)
		}
		rest := string([]rune(lines[p.line-1])[p.column-1:])
		first, _, _ := strings.Cut(what, "\n")
		first, _, _ = strings.Cut(strings.Trim(first, " \t"), " ") // a plain text over lines is folded
		if !strings.HasPrefix(rest, first) && !strings.ContainsAny(rest[:min(1, len(rest))], "\"'|>") {
			t.Fatalf("%q is not at %d:%d: %q of %q", what, p.line, p.column, rest, text)
		}
	}
	check = func(n *node) {
		at(n.text, n.at)
		for _, item := range n.items {
			check(item)
		}
		for _, e := range n.entries {
			at(e.key, e.at)
			check(e.value)
		}
	}
	check(root)
}

// TestPlaces checks the places of every key and scalar of the examples, and
// of mutants of them.
func TestPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"\n", " ", "\t", "  ", "'", "\"", "#", ":", ": ", "-", "- ", "[", "]", "{", "}", ",", "é", "a", "|", ">", "\r\n", "~", "0", "…", "\u2028", "\u0085"}
	for _, name := range examples {
		text := example(t, name)
		placed(t, name, text)
		for range 1000 {
			mutant := []byte(text)
			for range 1 + random.IntN(3) {
				i := random.IntN(len(mutant))
				piece := pieces[random.IntN(len(pieces))]
				mutant = append(mutant[:i:i], append([]byte(piece), mutant[min(len(mutant), i+random.IntN(4)):]...)...)
			}
			problemsOf(t, name, string(mutant))
			placed(t, name, string(mutant))
		}
	}
}

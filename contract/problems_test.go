package contract

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nrun with -update to accept it", file, firstDifference(got, string(want)))
	}
}

// firstDifference shows the lines about the first that differs.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d: %s\nwant:   %s", i+1, a[i], strings.Join(b[min(i, len(b)):min(i+1, len(b))], ""))
		}
	}
	return "less than wanted"
}

func example(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An edit replaces a text of an example contract, once.
type edit struct{ old, new string }

func apply(t testing.TB, text string, edits ...edit) string {
	t.Helper()
	for _, e := range edits {
		if e.old == wholeFile {
			return e.new
		}
		if !strings.Contains(text, e.old) {
			t.Fatalf("the example has no %q", e.old)
		}
		text = strings.Replace(text, e.old, e.new, 1)
	}
	return text
}

// TestProblems is the golden list of every rule: what is written, and the
// exact text and place of what is said about it, in both notations.
func TestProblems(t *testing.T) {
	var out strings.Builder
	names := map[string]bool{}
	for _, c := range problemCases {
		if names[c.name] {
			t.Fatalf("two cases are named %s", c.name)
		}
		names[c.name] = true
		text := apply(t, example(t, c.file), c.edits...)
		fmt.Fprintf(&out, "# %s\n", c.name)
		for _, e := range c.edits {
			if e.old == wholeFile {
				fmt.Fprintf(&out, "+ %s\n", oneLine(e.new))
				continue
			}
			fmt.Fprintf(&out, "- %s\n+ %s\n", oneLine(e.old), oneLine(e.new))
		}
		problems := problemsOf(t, c.file, text)
		if len(problems) == 0 {
			t.Errorf("%s: accepted", c.name)
		}
		for _, problem := range problems {
			fmt.Fprintln(&out, problem)
		}
		inBothNotations(t, c.name, text, problems)
		out.WriteString("\n")
	}
	golden(t, "problems.golden", out.String())
}

func oneLine(text string) string {
	return strings.NewReplacer("\n", "⏎", "\x1b", "␛").Replace(strings.ToValidUTF8(text, "�"))
}

// problemsOf parses a contract and checks that every problem is well formed.
func problemsOf(t testing.TB, name, text string) Problems {
	t.Helper()
	_, err := Parse(name, []byte(text))
	if err == nil {
		return nil
	}
	var problems Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("%s: the error is %T: %v", name, err, err)
	}
	for i, problem := range problems {
		wellFormed(t, text, problem)
		if i > 0 && (problem.Line < problems[i-1].Line || problem.Line == problems[i-1].Line && problem.Column < problems[i-1].Column) {
			t.Errorf("%s: the problems are not in the order of the file:\n%v", name, err)
		}
	}
	return problems
}

func wellFormed(t testing.TB, text string, p *Problem) {
	t.Helper()
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "").Replace(text), "\n")
	switch {
	case p.Line < 1 || p.Line > len(lines):
		t.Errorf("%v: line %d of %d", p, p.Line, len(lines))
	case p.Column < 1 || utf8.ValidString(text) && p.Column > utf8.RuneCountInString(lines[p.Line-1])+1:
		t.Errorf("%v: column %d of %q", p, p.Column, lines[p.Line-1])
	}
	if p.Message == "" || strings.ContainsAny(p.Error(), "\n\r\x00\x1b") {
		t.Errorf("%q is not one line", p.Error())
	}
	if len(p.Message) > 4000 {
		t.Errorf("a message of %d bytes", len(p.Message))
	}
}

// inBothNotations checks that the same contract in JSON has the same problems.
func inBothNotations(t *testing.T, name, text string, want Problems) {
	t.Helper()
	root, problem := parse(Source{Name: "contract.yaml", Bytes: []byte(text)})
	if problem != nil {
		return // a problem of the notation itself
	}
	var b strings.Builder
	if !appendJSON(&b, root, "") {
		return // a scalar that JSON cannot write
	}
	got := map[string]int{}
	for _, p := range problemsOf(t, "contract.json", b.String()) {
		got[said(p)]++
	}
	for _, p := range want {
		got[said(p)]--
	}
	for what, count := range got {
		if count != 0 {
			t.Errorf("%s: the JSON notation differs by %d of: %s", name, count, what)
		}
	}
}

// said is a problem without its place; the line of a repeated key is one too.
func said(p *Problem) string {
	before, _, repeated := strings.Cut(p.Message, " stands already in line ")
	if repeated {
		return p.Path + ": " + before
	}
	return p.Path + ": " + p.Message
}

// appendJSON writes a node as JSON; false where JSON has no such scalar.
func appendJSON(b *strings.Builder, n *node, indent string) bool {
	switch n.kind {
	case nullKind:
		b.WriteString("null")
	case boolKind:
		b.WriteString(strings.ToLower(n.text))
		return n.text == strings.ToLower(n.text)
	case intKind, floatKind:
		b.WriteString(n.text)
		return json.Valid([]byte(n.text))
	case stringKind:
		quoted, err := json.Marshal(n.text)
		b.Write(quoted)
		return err == nil
	case listKind:
		return appendAll(b, "[", "]", indent, len(n.items), func(i int) bool { return appendJSON(b, n.items[i], indent+"  ") })
	case mapKind:
		return appendAll(b, "{", "}", indent, len(n.entries), func(i int) bool {
			quoted, err := json.Marshal(n.entries[i].key)
			b.Write(quoted)
			b.WriteString(": ")
			return appendJSON(b, n.entries[i].value, indent+"  ") && err == nil
		})
	}
	return true
}

func appendAll(b *strings.Builder, first, last, indent string, count int, item func(i int) bool) bool {
	b.WriteString(first)
	all := true
	for i := range count {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n" + indent + "  ")
		all = item(i) && all
	}
	b.WriteString("\n" + indent + last)
	return all
}

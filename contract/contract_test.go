package contract

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var examples = []string{lamps, parcels, charges}

func mustParse(t testing.TB, name, text string) *Contract {
	t.Helper()
	c, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExamples(t *testing.T) {
	for _, name := range examples {
		c := mustParse(t, name, example(t, name))
		if advice := c.Advice(); len(advice) > 0 {
			t.Errorf("%s: advice on an example:\n%v", name, advice)
		}
	}
}

func TestRead(t *testing.T) {
	c, err := Read(filepath.Join("testdata", lamps))
	if err != nil || c.Service != "lamp-shop" || c.Source.Name != filepath.Join("testdata", lamps) {
		t.Errorf("service %q from %q, %v", c.Service, c.Source.Name, err)
	}
	if _, err := Read("testdata/none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file gives %v", err)
	}
}

// TestDecoded reads the lamp shop and compares what follows from it.
func TestDecoded(t *testing.T) {
	c := mustParse(t, lamps, example(t, lamps))
	if got, want := c.Columns.Names(), []string{"sku", "title", "link", "price", "lumens", "in_stock"}; !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	if got := time.Duration(c.Data.MaxAge); got != 24*time.Hour {
		t.Errorf("max_age %v", got)
	}
	if *c.Expose.Rate != (Rate{30, time.Minute}) || c.Expose.Reads != Anonymous {
		t.Errorf("expose %+v, rate %+v", c.Expose, c.Expose.Rate)
	}
	search, _ := c.Tools.Get("search_lamps")
	var filters []string
	for _, argument := range c.FilterArguments(search) {
		filters = append(filters, fmt.Sprint(argument.Name, " ", argument.Op, " ", argument.Column))
	}
	if want := []string{"title words title", "max_price_minor max price", "min_lumens min lumens", "in_stock equals in_stock"}; !slices.Equal(filters, want) {
		t.Errorf("filters %q, want %q", filters, want)
	}
	rank, _ := c.Tools.Get("rank_lamps_by_preference")
	var preferences []string
	for _, preference := range c.PreferencesOf(rank) {
		preferences = append(preferences, preference.Name)
	}
	if want := []string{"price_ascending", "lumens_descending"}; !slices.Equal(preferences, want) {
		t.Errorf("preferences %q, want %q", preferences, want)
	}
	assess, _ := c.Tools.Get("assess_lamp_suitability")
	if got := c.PurposesOf(assess).Names(); !slices.Equal(got, []string{"colour_matching"}) {
		t.Errorf("purposes %q", got)
	}
	if got := c.Properties(); !slices.Equal(got, []string{"duv", "ra", "r1"}) {
		t.Errorf("properties %q", got)
	}
	if c.IDColumn() != "sku" || c.Limit() != DefaultExecutions {
		t.Errorf("id %q, limit %d", c.IDColumn(), c.Limit())
	}
	scope := c.Purposes[0].Value.Scope
	if got := scope.Between[0]; got.String() != "-0.0054" || got.Cmp(scope.Between[1]) >= 0 {
		t.Errorf("scope %v", scope.Between)
	}
}

// TestScalars reads the scalars that YAML 1.1 and YAML 1.2 read differently:
// as a text of the file, and as a text that must be one.
func TestScalars(t *testing.T) {
	for _, c := range []struct{ written, token, problem string }{
		{`yes`, "yes", ""},
		{`no`, "no", ""},
		{`on`, "on", ""},
		{`0017`, "0017", `0017 is a whole number; write a text in quotes: "0017"`},
		{`1_000`, "1_000", ""},
		{`1e3`, "1e3", `1e3 is a number; write a text in quotes: "1e3"`},
		{`0x1F`, "0x1F", `0x1F is a whole number; write a text in quotes: "0x1F"`},
		{`0b11`, "0b11", ""},
		{`0o17`, "0o17", `0o17 is a whole number; write a text in quotes: "0o17"`},
		{`"1:30"`, "1:30", ""},
		{`2026-01-31`, "2026-01-31", ""},
		{`.5`, ".5", `.5 is a number; write a text in quotes: ".5"`},
		{`.inf`, ".inf", `.inf is a number; write a text in quotes: ".inf"`},
		{`-0`, "-0", `-0 is a whole number; write a text in quotes: "-0"`},
		{`+1.50`, "+1.50", `+1.50 is a number; write a text in quotes: "+1.50"`},
		{`true`, "true", `true is true or false; write a text in quotes: "true"`},
		{`"true"`, "true", ""},
		{`'0017'`, "0017", ""},
		{`"\u00e9\n"`, "é\n", ""},
		{`'it''s'`, "it's", ""},
		{`-`, "-", ""},
		{`n/a`, "n/a", ""},
		{`a#b`, "a#b", ""},
		{`""`, "", "the text is empty; write one or leave the key out"},
	} {
		text := apply(t, example(t, lamps), edit{`unknown: [""]`, `unknown: [` + c.written + `]`})
		column := new(Column)
		if shop, err := Parse(lamps, []byte(text)); err != nil {
			t.Errorf("%s: %v", c.written, err)
		} else {
			column, _ = shop.Columns.Get("lumens")
		}
		if got := column.Unknown; len(got) != 1 || string(got[0]) != c.token {
			t.Errorf("%s as a text of the file is %q, want %q", c.written, got, c.token)
		}
		text = apply(t, example(t, lamps), edit{`needs: [colour_accuracy_evidence]`, `needs: [` + c.written + `]`})
		_, err := Parse(lamps, []byte(text))
		if got := messageOf(err); got != c.problem {
			t.Errorf("%s as a text: %q, want %q", c.written, got, c.problem)
		}
	}
}

func messageOf(err error) string {
	var problems Problems
	if errors.As(err, &problems) {
		return problems[0].Message
	}
	return ""
}

// TestVariants reads the same contract as editors and systems write it.
func TestVariants(t *testing.T) {
	text := example(t, lamps)
	want := mustParse(t, lamps, text)
	for name, variant := range map[string]string{
		"CRLF":           strings.ReplaceAll(text, "\n", "\r\n"),
		"CR":             strings.ReplaceAll(text, "\n", "\r"),
		"BOM":            "\ufeff" + text,
		"a document":     "---\n" + text + "...\n",
		"a version":      "%YAML 1.2\n---\n" + text,
		"comments":       "# one\n\n" + text + "\n# two\n",
		"no end of line": strings.TrimSuffix(text, "\n"),
		"tabs between":   strings.ReplaceAll(text, "remit: 1", "remit:\t1\t# one"),
	} {
		if diff := difference(want, mustParse(t, lamps, variant)); diff != "" {
			t.Errorf("%s gives another contract:\n%s", name, diff)
		}
	}
}

func difference(a, b *Contract) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(Number{}), cmpopts.IgnoreUnexported(Contract{}, FailureRule{}), cmpopts.IgnoreFields(Contract{}, "Source"),
		cmp.Comparer(func(a, b Number) bool { return a.String() == b.String() && a.Cmp(b) == 0 }))
}

// TestNotations reads every example as JSON, which gives the same contract.
func TestNotations(t *testing.T) {
	for _, name := range examples {
		text := example(t, name)
		root, _ := parse(Source{Name: name, Bytes: []byte(text)})
		var b strings.Builder
		if !appendJSON(&b, root, "") {
			t.Fatalf("%s cannot be written as JSON", name)
		}
		want := mustParse(t, name, text)
		for _, notation := range []string{"contract.json", "contract.yaml"} { // JSON is YAML too
			if diff := difference(want, mustParse(t, notation, b.String())); diff != "" {
				t.Errorf("%s as %s gives another contract:\n%s", name, notation, diff)
			}
		}
	}
}

// TestOneFaultOneProblem replaces each value of the examples by one of a wrong
// kind: that alone is reported, and at its place.
func TestOneFaultOneProblem(t *testing.T) {
	for _, name := range examples {
		root, _ := parse(Source{Name: name, Bytes: []byte(example(t, name))})
		for path, value := range leaves(root, "") {
			was := *value
			*value = node{kind: mapKind, entries: []entry{{key: "x", value: &node{kind: nullKind}}}}
			if was.kind == mapKind {
				*value = node{kind: boolKind, text: "true"}
			}
			var b strings.Builder
			appendJSON(&b, root, "")
			*value = was
			problems := problemsOf(t, "contract.json", b.String())
			if len(problems) == 0 || !strings.HasPrefix(problems[0].Path, path) {
				t.Errorf("%s: a wrong kind at %s gives:\n%v", name, path, problems)
			}
			for _, p := range problems[min(1, len(problems)):] {
				if !strings.HasPrefix(p.Path, path) && !follows[path+" → "+p.Path] {
					t.Errorf("%s: a wrong kind at %s also gives: %s → %s: %s", name, path, path, p.Path, p.Message)
				}
			}
		}
	}
}

// follows lists the second problems that a wrong kind rightly has.
var follows = map[string]bool{}

// leaves are the values of a contract that have no keys of the operator's own.
func leaves(n *node, path string) map[string]*node {
	all := map[string]*node{}
	for _, e := range n.entries {
		inner := join(path, e.key)
		maps.Copy(all, leaves(e.value, inner))
		if strings.Count(inner, ".") != 0 || len(e.value.entries) == 0 {
			all[inner] = e.value
		}
	}
	for i, item := range n.items {
		maps.Copy(all, leaves(item, fmt.Sprintf("%s[%d]", path, i)))
	}
	return all
}

func TestAdvice(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct {
		file  string
		edits []edit
	}{
		{lamps, []edit{{"rank_lamps_by_preference:", "rank_lamps_by_declared_preferences:"}}},
		{lamps, []edit{{", max_age: 24h", ""}}},
		{lamps, []edit{{"  rank_lamps_by_preference: {promise: rank_preferences, filters: {price: max, in_stock: equals}, unknown: last}\n", ""}}},
		{lamps, []edit{{"  assess_lamp_suitability: {promise: assess_suitability, filters: {price: [min, max]}, purposes: [colour_matching]}\n", ""}}},
		{lamps, []edit{{"  sku:    {id: true}\n", "  sku:    {id: true}\n  colour: {type: text}\n"}}},
		{parcels, []edit{{"  try_delivery:", manyTools() + "  try_delivery:"}}},
		{charges, []edit{{", identity: [invoice_id], status", ", status"}, {", identity: [invoice_id, email]}", "}\n  set_address: {effect: idempotent}\n  cancel_a_subscription_at_its_end: {}"}}},
	} {
		text := apply(t, example(t, c.file), c.edits...)
		for _, advice := range mustParse(t, c.file, text).Advice() {
			wellFormed(t, text, advice)
			fmt.Fprintln(&out, advice)
		}
	}
	golden(t, "advice.golden", out.String())
}

func manyTools() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "  try_%d: {promise: command, input: {a: {type: text}}, answer: {b: {type: text}}, backend: {fixture: {file: a.csv, by: a}}}\n", i)
	}
	return b.String()
}

func TestNearest(t *testing.T) {
	names := []string{"promise", "description", "filters", "format"}
	for _, c := range []struct {
		word string
		want []string
	}{
		{"filter", []string{"filters"}},
		{"promis", []string{"promise"}},
		{"zzzzzz", names},
		{strings.Repeat("x", 1_000_000), names},
		{"", names},
	} {
		if got := Nearest(c.word, names); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%.20q) = %q, want %q", c.word, got, c.want)
		}
	}
	if got := len(Nearest("a", slices.Repeat([]string{"far away"}, 1000))); got != maxListed {
		t.Errorf("lists %d names", got)
	}
}

func TestFormatScaled(t *testing.T) {
	for _, c := range []struct {
		value  int64
		digits int
		want   string
	}{
		{4999, 2, "49.99"},
		{5, 2, "0.05"},
		{-5, 2, "-0.05"},
		{0, 2, "0.00"},
		{7, 0, "7"},
		{-9223372036854775808, 3, "-9223372036854775.808"},
	} {
		if got := FormatScaled(c.value, c.digits); got != c.want {
			t.Errorf("FormatScaled(%d, %d) = %s, want %s", c.value, c.digits, got, c.want)
		}
		number, err := ParseNumber(c.want)
		if back, exact := number.Scaled(c.digits); err != nil || !exact || back != c.value {
			t.Errorf("%s is read back as %d, %v, %v", c.want, back, exact, err)
		}
	}
}

func TestExponents(t *testing.T) {
	for code, want := range map[string]int{"EUR": 2, "JPY": 0, "KWD": 3, "CLF": 4, "XTS": NoMinorUnit} {
		if got, ok := Exponent(code); !ok || got != want {
			t.Errorf("%s has %d digits, %v", code, got, ok)
		}
	}
	if _, ok := Exponent("eur"); ok {
		t.Error("eur is a code")
	}
}

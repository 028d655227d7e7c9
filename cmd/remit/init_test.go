package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
	"remit.example/contract"
)

// answers are valid answers to every question that init asks.
var answers = strings.NewReplacer("id: ASK", "id: true", "max_age: ASK", "max_age: 24h", "currency: ASK", "currency: EUR", "from: ASK", "from: decimal", "scale: ASK", "scale: 3")

// draftOf drafts a contract and checks what holds for every draft.
func draftOf(t testing.TB, name, data string) (text string, ok bool) {
	t.Helper()
	s, err := survey(name, strings.NewReader(data), func(int) {})
	if err != nil {
		if strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%q is not one line", err)
		}
		return "", false
	}
	d := newDraft(s, name)
	text = d.String()
	if len(d.loaded()) == 0 {
		return text, false
	}
	onlyQuestionsOpen(t, d, text)
	if _, err := contract.Parse("contract.yaml", []byte(answers.Replace(text))); err != nil && len(d.which(func(c *drafted) bool { return c.id != "" })) > 0 {
		t.Fatalf("answered, the draft of %q is not valid: %v\n%s", data, err, text)
	}
	return text, true
}

// onlyQuestionsOpen checks that validation points at every question whose
// answer is due, and at nothing else.
func onlyQuestionsOpen(t testing.TB, d *draft, text string) {
	t.Helper()
	_, err := contract.Parse("contract.yaml", []byte(text))
	var problems contract.Problems
	if err == nil && len(d.asks) > 0 || err != nil && !errors.As(err, &problems) {
		t.Fatalf("with the questions %v open: %v\n%s", d.asks, err, text)
	}
	open := map[string]bool{}
	for _, p := range problems {
		if !strings.HasPrefix(p.Message, "a question is open here; ") && d.which(func(c *drafted) bool { return c.id != "" }) != nil {
			t.Errorf("%v\n%s", p, text)
		}
		open[p.Path] = true
	}
	for _, path := range d.asks {
		if !open[path] {
			t.Errorf("nothing points at %s:\n%v\n%s", path, err, text)
		}
	}
}

// cells are values as shops write them, by what a column may hold.
var cells = [][]string{
	{"0", "1", "17", "800"},
	{"0017", "12"},
	{"49.99", "5", "0.5"},
	{"1.200", "3.500"},
	{"49,99", "1.299,00"},
	{"49.99 EUR", "EUR 5"},
	{"5 EUR", "5 USD"},
	{"yes", "no"},
	{"Yes", "yes"},
	{"in stock", "sold out"},
	{"https://shop.example/a", "https://shop.example/b?c=d"},
	{"a lamp", "a, \"b\"\nc", "ä"},
	{"", "n/a", "-", "3"},
	{"", "", "x"},
	{" 5", "5 "},
	{"9007199254740993", "123456789012345678901"},
	{"-5", "-0", "+5"},
	{"1e3", "NaN", "0x1F"},
	{"true", "false", "TRUE"},
}

var titles = []string{"SKU", "id", "Title", "Price", "Preis (EUR)", "price_usd", "stock", "Verfügbar", "Weight (g)", "Link", "", "true", "request_id", "no", "a: b", "x # y", "\"q\"", "2nd", "日本", "best_price", "EAN", "cost", "Price", strings.Repeat("long", 40)}

// TestDraftsLoad drafts contracts from random tables: with its questions
// answered and nothing to mend, each is valid and loads its file.
func TestDraftsLoad(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	loaded := 0
	for round := range 1000 {
		table, separator := randomTable(random)
		data := writeTable(table, separator)
		text, ok := draftOf(t, "products.csv", data)
		if !ok || strings.Contains(text, "FIX:") {
			continue
		}
		c, err := contract.Parse("contract.yaml", []byte(answers.Replace(text)))
		if err != nil {
			continue // no column could be the id
		}
		source := snapshot.Source{Name: "products.csv", Delimiter: []rune(separator)[0]}
		if _, err := snapshot.Load(strings.NewReader(data), source, catalogue.SchemaOf(c)); err != nil {
			t.Fatalf("round %d: %v\n%s\n%s", round, err, data, text)
		}
		loaded++
	}
	if loaded < 100 {
		t.Errorf("only %d drafts were loaded", loaded)
	}
}

func randomTable(random *rand.Rand) (table [][]string, separator string) {
	columns, rows := 1+random.IntN(6), 1+random.IntN(6)
	header := make([]string, columns)
	kinds := make([][]string, columns)
	for i := range columns {
		header[i], kinds[i] = titles[random.IntN(len(titles))], cells[random.IntN(len(cells))]
	}
	table = append(table, header)
	for row := range rows {
		line := make([]string, columns)
		for i := range columns {
			line[i] = kinds[i][random.IntN(len(kinds[i]))]
		}
		line[0] = fmt.Sprintf("%s%d", []string{"", "0", "x"}[columns%3], row+1)
		table = append(table, line)
	}
	return table, []string{",", ";", "\t"}[random.IntN(3)]
}

func writeTable(table [][]string, separator string) string {
	var out strings.Builder
	for _, line := range table {
		for i, cell := range line {
			if i > 0 {
				out.WriteString(separator)
			}
			out.WriteString(`"` + strings.ReplaceAll(cell, `"`, `""`) + `"`)
		}
		out.WriteString("\r\n")
	}
	return out.String()
}

func FuzzInit(f *testing.F) {
	for _, data := range []string{"sku,price\n1,2.50\n", "a;b\n1,5;\n", "\ufeffa\tb\n\t\n", "a,a\n1\n", "\"a\nb\",c\n\"x\ny\",\n"} {
		f.Add(data, 0)
	}
	f.Add(`{"a": 1, "b": null, "c": [], "d": "5 EUR", "e": true}`, 1)
	f.Add(`[{"a": "\u0000"}, {"": 1e400}]`, 2)
	f.Fuzz(func(t *testing.T, data string, kind int) {
		draftOf(t, []string{"a.csv", "a.jsonl", "a.json"}[uint(kind)%3], data)
	})
}

// TestShopIsTheSame guards the fixture that other tests count in.
func TestShopIsTheSame(t *testing.T) {
	text := shopExport()
	if text != shopExport() {
		t.Fatal("the export differs between runs")
	}
	s, err := survey("products.csv", strings.NewReader(text), func(int) {})
	if err != nil || s.rows != shopRows || s.delimiter != ',' || len(s.uneven) > 0 {
		t.Fatalf("%d rows, %v", s.rows, err)
	}
	for _, want := range []string{"\ufeff", "\r\n", ",,", `""night"" blue`, ".\r\nIt says"} {
		if !strings.Contains(text, want) {
			t.Errorf("the export has no %q", want)
		}
	}
}

// TestSurveyStreams reads a file that would not fit its profile.
func TestSurveyStreams(t *testing.T) {
	const rows = 50_000
	reader := &endless{rows: rows}
	ticks := 0
	s, err := survey("products.csv", reader, func(int) { ticks++ })
	if err != nil || s.rows != rows || ticks != rows {
		t.Fatalf("%d rows, %d ticks, %v", s.rows, ticks, err)
	}
	for _, c := range s.columns[1:] {
		if c.seen != nil || len(c.distinct) > maxDistinct {
			t.Errorf("the profile of %s grows with the file", c.header)
		}
	}
}

// endless writes rows as they are read.
type endless struct {
	rows, next int
	left       []byte
}

func (e *endless) Read(p []byte) (int, error) {
	for len(e.left) < len(p) && e.next <= e.rows {
		if e.next == 0 {
			e.left = append(e.left, "sku,title,group\n"...)
		} else {
			e.left = fmt.Appendf(e.left, "%d,lamp %d,%d\n", e.next, e.next/2, e.next%7)
		}
		e.next++
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestRefusedFiles(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a.csv", "a,b\n1,\xfc\n", "a.csv:2: the file is not UTF-8 here; save it as UTF-8, which spreadsheets call CSV UTF-8"},
		{"a.csv", "\xff\xfea\x00", "a.csv: the file is UTF-16; save it as UTF-8"},
		{"a.csv", "", "a.csv: the file is empty; a file with its header and at least one row is valid"},
		{"a.csv", "a,b\n", "a.csv: no row to draft from; a file with its header and at least one row is valid"},
		{"a.csv", "a\n\"x\n", "a.csv:2:4: extraneous or missing \" in quoted-field; a quote within a quoted field is written twice"},
		{"a.jsonl", "{}\n[]\n", "a.jsonl: row 2 is no object; every row is one, {…}"},
		{"a.json", "{}", "a.json: a JSON file holds a list of objects, [{…}, …]; one object a line is JSON Lines, .jsonl"},
		{"a.json", "[", "a.json: row 1: unexpected EOF after offset 1"},
		{"a.csv", "a,b\n1," + strings.Repeat("x", 70000) + "\xc3", "a.csv:2: the file is not UTF-8 here; save it as UTF-8, which spreadsheets call CSV UTF-8"},
	} {
		_, err := survey(c.name, strings.NewReader(c.data), func(int) {})
		if err == nil || err.Error() != c.want {
			t.Errorf("%.20q: %v, want %s", c.data, err, c.want)
		}
	}
}

// TestProgress checks that only a terminal sees it.
func TestProgress(t *testing.T) {
	var plain bytes.Buffer
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range []*progress{newProgress(&plain), newProgress(file)} {
		if p.w != nil {
			t.Error("progress is written to what is no terminal")
		}
		p.next = p.next.Add(-1000000000000)
		p.tick(4096)
		p.done()
	}
	p := &progress{w: &plain}
	p.tick(1_000_000)
	p.tick(8192)
	p.done()
	if got, want := plain.String(), "\r\x1b[Kread 8,192 rows\r\x1b[K"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

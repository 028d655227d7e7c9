package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
)

// products is a schema with every kind of column.
func products() catalogue.Schema {
	blank := []string{"", "n/a"}
	return catalogue.Schema{Columns: []catalogue.Column{
		{Name: "sku", Header: "SKU", Kind: catalogue.Text},
		{Name: "title", Header: "title", Kind: catalogue.Text, Unknown: blank},
		{Name: "page", Header: "page", Kind: catalogue.URL, Unknown: blank},
		{Name: "lumens", Header: "lumens", Kind: catalogue.Integer, Unknown: blank},
		{Name: "watts", Header: "watts", Kind: catalogue.Decimal, Scale: 2, Unknown: blank},
		{Name: "price", Header: "price", Kind: catalogue.Money, Currency: "EUR", Scale: 2, FromDecimal: true, Unknown: blank},
		{Name: "cost", Header: "cost", Kind: catalogue.Money, Currency: "EUR", Scale: 2, Unknown: blank},
		{Name: "stock", Header: "stock", Kind: catalogue.Boolean, True: []string{"yes", "1"}, False: []string{"no", "0"}, Unknown: blank},
	}}
}

// only is the schema of products with the id and one other column.
func only(name string) catalogue.Schema {
	schema := products()
	for _, column := range schema.Columns {
		if column.Name == name {
			schema.Columns = append(schema.Columns[:1:1], column)
		}
	}
	return schema
}

// everything is every row of a snapshot, without the id's value.
func everything(t *testing.T, s *snapshot.Snapshot) map[string][]catalogue.Value {
	t.Helper()
	result, err := s.Select(t.Context(), catalogue.Query{Limit: catalogue.All})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]catalogue.Value{}
	for _, row := range result.Rows {
		rows[row.ID] = row.Values[1:]
	}
	return rows
}

func TestFormats(t *testing.T) {
	text := func(s string) catalogue.Value { return catalogue.Value{Known: true, Text: s} }
	want := map[string][]catalogue.Value{
		"0017": {text("Caf\u00e9 \"S\"\r\n5, 6"), text("https://example.com/a?b=1"), known(-9007199254740991), known(1999), known(4999), known(5), known(1)},
		"A":    {{}, {}, {}, {}, {}, {}, {}},
	}
	for name, data := range map[string]string{
		"a.csv": "\ufefftitle,note,SKU,page,lumens,watts,price,cost,stock\r\n" +
			"\"Cafe\u0301 \"\"S\"\"\r\n5, 6\",\x00not loaded,0017,https://example.com/a?b=1,-9007199254740991,19.99,EUR 49.99,005,yes\r\n" +
			",,A,n/a,,,,,",
		"a.JSONL": "{\"SKU\":\"0017\",\"title\":\"Cafe\u0301 \\\"S\\\"\\r\\n5, 6\",\"page\":\"https://example.com/a?b=1\",\"lumens\":-9007199254740991,\"watts\":19.99,\"price\":\"49.99 EUR\",\"cost\":5,\"stock\":true,\"note\":{\"x\":[1e999]}}\n" +
			" {\"SKU\":\"A\",\"title\":null,\"lumens\":\"n/a\",\"watts\":\"\"}\t\r\n",
		"a.json": "\ufeff\n[ {\"SKU\":\"0017\",\"title\":\"Cafe\u0301 \\\"S\\\"\\r\\n5, 6\",\"page\":\"https:\\/\\/example.com/a?b=1\",\"lumens\":\"-9007199254740991\",\"watts\":\"19.99\",\"price\":49.99,\"cost\":\"5\",\"stock\":1,\"note\":\"\\\"]},\\\\\"}\n\t, {\n\"SKU\":\"A\"}] \n",
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(want, everything(t, load(t, name, data, products()))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDelimiter(t *testing.T) {
	for delimiter, data := range map[rune]string{
		';':  "SKU;watts\n1;1.5\n",
		'\t': "SKU\twatts\n1\t1.5\n",
		'¦':  "SKU¦watts\n1¦1.5\n",
	} {
		s, err := snapshot.Load(strings.NewReader(data), snapshot.Source{Name: "a.txt", Format: snapshot.CSV, Delimiter: delimiter}, only("watts"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string][]catalogue.Value{"1": {known(150)}}, everything(t, s)); d != "" {
			t.Error(d)
		}
	}
}

// TestQuotes: fields in quotes that are empty, hold quotes or end the file.
func TestQuotes(t *testing.T) {
	text := func(s string) []catalogue.Value { return []catalogue.Value{{Known: true, Text: s}} }
	want := map[string][]catalogue.Value{"1": {{}}, "2": text(`"`), "3": text(`a"`), "4": text("b,\n"), "5": text("c")}
	data := "\"SKU\",title\n1,\"\"\n2,\"\"\"\"\n3,\"a\"\"\"\n\"4\",\"b,\n\"\n5,\"c\""
	if d := cmp.Diff(want, everything(t, load(t, "a.csv", data, only("title")))); d != "" {
		t.Error(d)
	}
}

func TestEmptyCatalogue(t *testing.T) {
	for name, data := range map[string]string{"a.csv": "SKU,watts\n", "b.csv": "watts,SKU", "c.json": " [ ] "} {
		s := load(t, name, data, only("watts"))
		result, err := s.Select(t.Context(), catalogue.Query{Limit: 1, Order: []catalogue.Key{{Column: 1}}, Where: []catalogue.Predicate{{Column: 1, Value: known(1)}}})
		if err != nil || result.Total != 0 || len(result.Rows) != 0 || result.More || s.Info().Rows != 0 {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// TestBadCells has one bad cell a row; each row says what its message is.
func TestBadCells(t *testing.T) {
	const (
		watts = `a number such as 49.99, with at most 2 digits after the point, is valid, or "", "n/a" where it is unknown`
		price = `an amount such as 49.99, 49.99 EUR or EUR 49.99 is valid, or "", "n/a" where it is unknown`
		whole = `a whole number within ±9007199254740991, such as 800, is valid, or "", "n/a" where it is unknown`
		minor = `a whole number of minor units, such as 4999, is valid, or "", "n/a" where it is unknown`
		stock = `one of "yes", "1", "no", "0" is valid, or "", "n/a" where it is unknown`
		page  = `a URL such as https://example.com/a is valid, or "", "n/a" where it is unknown`
		title = `a text without NUL is valid, or "", "n/a" where it is unknown`
	)
	for _, test := range []struct{ column, cell, wrong, valid string }{
		{"lumens", "1,000", `"1,000" has a comma`, whole},
		{"lumens", "1 000", `"1 000" has a space or another separator`, whole},
		{"lumens", "1\u202f000", `"1\u202f000" has a space or another separator`, whole},
		{"lumens", "1'000", `"1'000" has a space or another separator`, whole},
		{"lumens", " 5", `" 5" has a space or another separator`, whole},
		{"lumens", "+5", `"+5" has a plus sign`, whole},
		{"lumens", "6e3", `"6e3" has an exponent`, whole},
		{"lumens", "6000.0", `"6000.0" is not a whole number`, whole},
		{"lumens", "-", `"-" is not a number`, whole},
		{"lumens", "0x10", `"0x10" is not a number`, whole},
		{"lumens", "１", `"１" is not a number`, whole},
		{"lumens", "9007199254740992", `"9007199254740992" is out of range`, whole},
		{"lumens", "-99999999999999999999999", `"-99999999999999999999999" is out of range`, whole},
		{"watts", "19.999", `"19.999" has 3 digits after the point`, watts},
		{"watts", "19.990", `"19.990" has 3 digits after the point`, watts},
		{"watts", "19,99", `"19,99" has a comma`, watts},
		{"watts", ".5", `".5" has no digit on one side of the point`, watts},
		{"watts", "5.", `"5." has no digit on one side of the point`, watts},
		{"watts", "1.2.3", `"1.2.3" is not a number`, watts},
		{"watts", "NaN", `"NaN" is not a number`, watts},
		{"watts", "-Inf", `"-Inf" is not a number`, watts},
		{"watts", "46116860184273879.04", `"46116860184273879.04" is out of range`, watts},
		{"price", "49.99 USD", `"49.99 USD" is not in EUR`, price},
		{"price", "USD 49.99", `"USD 49.99" is not in EUR`, price},
		{"price", "ZAR 49.99", `"ZAR 49.99" is not in EUR`, price},
		{"price", "49.99 eur", `"49.99 eur" is not a number`, price},
		{"price", "€49.99", `"€49.99" is not a number`, price},
		{"price", "49.99  EUR", `"49.99  EUR" is not a number`, price},
		{"price", "49.99EUR", `"49.99EUR" is not a number`, price},
		{"price", "EUR 49.99 EUR", `"EUR 49.99 EUR" is not a number`, price},
		{"price", "EUR", `"EUR" is not a number`, price},
		{"price", "1.299,00", `"1.299,00" has a comma`, price},
		{"price", "49.995", `"49.995" has 3 digits after the point`, price},
		{"price", "90071992547409.92", `"90071992547409.92" is out of range`, price},
		{"cost", "49.99", `"49.99" is not a whole number`, minor},
		{"cost", "49 EUR", `"49 EUR" is not a number`, minor},
		{"stock", "true", `"true" is not one of the declared texts`, stock},
		{"stock", "Yes", `"Yes" is not one of the declared texts`, stock},
		{"page", "example.com/a", `"example.com/a" is not an absolute http or https URL`, page},
		{"page", "ftp://example.com", `"ftp://example.com" is not an absolute http or https URL`, page},
		{"page", "https:///a", `"https:///a" is not an absolute http or https URL`, page},
		{"page", "https://example.com/a b", `"https://example.com/a b" is not an absolute http or https URL`, page},
		{"page", "javascript:alert(1)", `"javascript:alert(1)" is not an absolute http or https URL`, page},
		{"title", "\x00b", `"\x00b" has a NUL`, title},
		{"title", "a\x00b", `"a\x00b" has a NUL`, title},
		{"title", "a\xffb", `"a\xffb" is not UTF-8`, title},
		{"title", strings.Repeat("é", 41) + "\xff", `"` + strings.Repeat("é", 40) + `"… is not UTF-8`, title},
	} {
		t.Run(test.column+" "+test.cell, func(t *testing.T) {
			data := "SKU," + test.column + "\nÄ1,\"" + test.cell + "\"\n"
			_, err := snapshot.Load(strings.NewReader(data), snapshot.Source{Name: "a.csv"}, only(test.column))
			want := "a.csv: refused, nothing was loaded; problems: 1\na.csv:2:4: " + test.column + ": " + test.wrong + "; " + test.valid
			wantError(t, err, want)
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %s", want)
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); d != "" {
		t.Error(d)
	}
}

func TestBadFiles(t *testing.T) {
	every := products()
	for i := range every.Columns {
		every.Columns[i].Unknown = nil
	}
	tests := []struct {
		name   string
		file   string
		data   string
		schema catalogue.Schema
		want   []string
	}{
		{"no file", "a.csv", "", only("watts"), []string{"1:1: the file is empty; a header with the names of the columns is valid"}},
		{"no lines", "a.jsonl", "", only("watts"), []string{"1:1: the file is empty; one JSON object on every line is valid"}},
		{"no array", "a.json", "", only("watts"), []string{"1:1: the file is empty; one array of objects is valid"}},
		{
			"headers", "a.csv", "sku,Watts,title,title,note\n1,2,3,4,5\n", only("watts"), []string{
				`1:1: SKU: no header has this name; nearest: "sku", "note", "Watts"`,
				`1:1: watts: no header has this name; nearest: "Watts", "note", "title"`,
				"1:17: title: columns 3 and 4 have this header; headers that differ are valid",
			},
		},
		{
			"members", "a.jsonl", "{\"SKU\":\"1\",\"Watts\":2}\n", only("watts"), []string{
				`1:1: watts: no object has this name; nearest: "Watts", "SKU"`,
			},
		},
		{
			"members of an array", "a.json", "[{\"SKU\":\"1\",\"Watts\":2}]", only("watts"), []string{
				`1:1: watts: no object has this name; nearest: "Watts", "SKU"`,
			},
		},
		{"delimiter", "a.csv", "SKU;watts\n1;2\n", only("watts"), []string{`1:1: the header is one field; declare delimiter: ";", which it seems to use`}},
		{
			"delimiter of no use", "a.csv", "SKU;watts\n1\n", catalogue.Schema{Columns: products().Columns[:1]}, []string{
				`1:1: SKU: no header has this name; nearest: "SKU;watts"`,
			},
		},
		{
			"rows", "a.csv", "SKU,watts\n1,2,3\n\n2\n3,4\n", only("watts"), []string{
				"2:1: the row has 3 fields, the header 2; a row of 2 fields is valid",
				"3:1: the line is empty; a row of 2 fields is valid",
				"4:1: the row has 1 field, the header 2; a row of 2 fields is valid",
			},
		},
		{
			"quotes", "a.csv", "SKU,watts\n5\" lamp,1\n\"a\"b,1\nc\rd,1\n\re,1\n\"\nf,1\n", only("watts"), []string{
				`2:2: a quote stands in a field that does not begin with one; quotes around the field and "" for the quote are valid`,
				"3:4: text follows a closing quote; a delimiter or the end of the row is valid there",
				"4:2: a carriage return stands outside quotes; LF or CRLF at the end of a row is valid",
				"5:1: a carriage return stands outside quotes; LF or CRLF at the end of a row is valid",
				"6:1: the quote that begins here is not closed; a field that ends in a quote is valid",
			},
		},
		{
			"duplicate ids", "a.csv", "SKU,watts\nB,1\n\"A\",x\nB,2\nC,1\nB,3\n", only("watts"), []string{
				`3:5: watts: "x" is not a number; a number such as 49.99, with at most 2 digits after the point, is valid, or "", "n/a" where it is unknown`,
				`4:1: SKU: the id "B" is that of line 2 too; ids that differ are valid`,
				`6:1: SKU: the id "B" is that of line 4 too; ids that differ are valid`,
			},
		},
		{
			"duplicate ids by composition", "a.csv", "SKU\n\u00e9\ne\u0301\n", catalogue.Schema{Columns: products().Columns[:1]}, []string{
				`3:1: SKU: the id "é" is that of line 2 too; ids that differ are valid`,
			},
		},
		{
			"empty cells", "a.csv", "SKU,title,page,lumens,watts,price,cost,stock\n,,,,,,,\n", every, []string{
				`2:1: SKU: the cell is empty; a text without NUL is valid; every row has an id`,
				`2:2: title: the cell is empty; a text without NUL is valid; where values may be missing, declare unknown: [""]`,
				`2:3: page: the cell is empty; a URL such as https://example.com/a is valid; where values may be missing, declare unknown: [""]`,
				`2:4: lumens: the cell is empty; a whole number within ±9007199254740991, such as 800, is valid; where values may be missing, declare unknown: [""]`,
				`2:5: watts: the cell is empty; a number such as 49.99, with at most 2 digits after the point, is valid; where values may be missing, declare unknown: [""]`,
				`2:6: price: the cell is empty; an amount such as 49.99, 49.99 EUR or EUR 49.99 is valid; where values may be missing, declare unknown: [""]`,
				`2:7: cost: the cell is empty; a whole number of minor units, such as 4999, is valid; where values may be missing, declare unknown: [""]`,
				`2:8: stock: the cell is empty; one of "yes", "1", "no", "0" is valid; where values may be missing, declare unknown: [""]`,
			},
		},
		{
			"lines of a multiline field", "a.csv", "SKU,title,watts\n\"a\n\nb\",\"c\nd\",x\n1,2,y\n", catalogue.Schema{Columns: append(products().Columns[:1:1], catalogue.Column{Header: "watts", Kind: catalogue.Integer, Unknown: []string{}})}, []string{
				`5:4: watts: "x" is not a number; a whole number within ±9007199254740991, such as 800, is valid, or null in JSON where it is unknown`,
				`6:5: watts: "y" is not a number; a whole number within ±9007199254740991, such as 800, is valid, or null in JSON where it is unknown`,
			},
		},
		{"not UTF-8", "a.csv", "SKU,watts,\xe9\n", only("watts"), []string{`1:11: "\xe9" is not UTF-8; a file in UTF-8 is valid`}},
		{
			"JSON Lines", "a.jsonl", strings.Join([]string{
				`{"SKU":"1","watts":1,"SKU":"2"}`,
				`{"SKU":"2","x":{"a":1,"a":2}}`,
				`[]`,
				``,
				`{"SKU":"3","watts":1e3} {}`,
				`{"SKU":"4","watts":1`,
				`{"SKU":"5","watts":NaN}`,
				`{"SKU":"é","watts":[1]}`,
				`{"SKU":"7","watts":1e3}`,
				`{"SKU":"8","watts":true}`,
				`{"SKU":null,"watts":1}`,
				`{"watts":1}`,
				`{"SKU":true,"watts":1}`,
				`{"SKU":"9","watts":"1 "}`,
			}, "\n"), only("watts"), []string{
				"1:22: SKU: the member occurs twice in its object; a JSON object in which no member repeats is valid",
				"2:23: a: the member occurs twice in its object; a JSON object in which no member repeats is valid",
				`3:1: the row is not a JSON object; an object such as {"id":"A"} is valid`,
				"4:1: the line is empty; one JSON object on every line is valid",
				"5:25: more follows the object; one object a row is valid",
				"6:21: the JSON ends within the row; a JSON object in which no member repeats is valid",
				"7:20: not JSON: invalid character 'N' at start of value; a JSON object in which no member repeats is valid",
				`8:20: watts: the value is an object or array; a number such as 49.99, with at most 2 digits after the point, is valid, or "", "n/a" where it is unknown`,
				`9:20: watts: "1e3" has an exponent; a number such as 49.99, with at most 2 digits after the point, is valid, or "", "n/a" where it is unknown`,
				`10:20: watts: "true" is not a number; a number such as 49.99, with at most 2 digits after the point, is valid, or "", "n/a" where it is unknown`,
				`11:8: SKU: the value is null; a text without NUL is valid; every row has an id`,
				`12:1: SKU: the object has no such member; a text without NUL is valid; every row has an id`,
				`13:8: SKU: true is not a text; a text without NUL is valid; every row has an id`,
				`14:20: watts: "1 " has a space or another separator; a number such as 49.99, with at most 2 digits after the point, is valid, or "", "n/a" where it is unknown`,
			},
		},
		{
			"JSON", "a.json", "[\n{\"SKU\":\"1\",\n \"watts\":\"é\"}, {\"SKU\":\"2\",\"watts\":1,\"watts\":2},\n 5]", only("watts"), []string{
				`3:10: watts: "é" is not a number; a number such as 49.99, with at most 2 digits after the point, is valid, or "", "n/a" where it is unknown`,
				"3:37: watts: the member occurs twice in its object; a JSON object in which no member repeats is valid",
				`4:2: the row is not a JSON object; an object such as {"id":"A"} is valid`,
			},
		},
		{"JSON ends", "a.json", `[{"SKU":"1","watts":1}`, only("watts"), []string{"1:23: the file ends before its array does; one array of objects is valid"}},
		{"JSON is cut", "a.json", `[{"SKU":"1","watts`, only("watts"), []string{"1:19: the file ends before its array does; one array of objects is valid"}},
		{"JSON goes on", "a.json", `[{"SKU":"1","watts":1}] 1`, only("watts"), []string{"1:25: more follows the array; one array of objects is valid"}},
		{"JSON object", "a.json", `{"SKU":"1"}`, only("watts"), []string{"1:1: the file is not an array; one array of objects is valid"}},
		{"JSON commas", "a.json", `[{"SKU":"1","watts":1} {"SKU":"2"}]`, only("watts"), []string{"1:24: no comma stands between two elements; one array of objects is valid"}},
		{"JSON comma at the end", "a.json", `[{"SKU":"1","watts":1},]`, only("watts"), []string{"1:24: no object stands before the next comma or bracket; one array of objects is valid"}},
		{"long row", "a.csv", "SKU,watts\n1,1\n\"" + strings.Repeat("a", 1<<20) + "\",1\n", only("watts"), []string{"3:1: the row has over 1 MiB; a row of at most 1 MiB is valid"}},
		{"long line", "a.jsonl", "{\"SKU\":\"" + strings.Repeat("a", 1<<20) + "\"}", only("watts"), []string{"1:1: the row has over 1 MiB; a row of at most 1 MiB is valid"}},
		{"long element", "a.json", "[ {\"SKU\":\"" + strings.Repeat("a", 1<<20) + "\"}]", only("watts"), []string{"1:3: the row has over 1 MiB; a row of at most 1 MiB is valid"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := snapshot.Load(strings.NewReader(test.data), snapshot.Source{Name: test.file}, test.schema)
			var bad *snapshot.BadRows
			if !errors.As(err, &bad) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, problem := range bad.Problems {
				got = append(got, problem.String())
			}
			if d := cmp.Diff(test.want, got); d != "" || bad.Total != len(test.want) || bad.File != test.file {
				t.Error(d)
			}
		})
	}
}

func TestManyProblems(t *testing.T) {
	var data, want strings.Builder
	data.WriteString("SKU,stock\n")
	want.WriteString("a.csv: refused, nothing was loaded; problems: 12345")
	for i := range 12345 {
		fmt.Fprintf(&data, "%d,maybe\n", i)
		if i < 20 {
			column := 3 + len(fmt.Sprint(i)) - 1
			fmt.Fprintf(&want, "\na.csv:%d:%d: stock: \"maybe\" is not one of the declared texts; one of \"yes\", \"1\", \"no\", \"0\" is valid, or \"\", \"n/a\" where it is unknown", i+2, column)
		}
	}
	want.WriteString("\nand 12325 more")
	_, err := snapshot.Load(strings.NewReader(data.String()), snapshot.Source{Name: "a.csv"}, only("stock"))
	wantError(t, err, want.String())
	var bad *snapshot.BadRows
	if errors.As(err, &bad); len(bad.Problems) != 10_000 || bad.Total != 12345 {
		t.Errorf("%d problems are kept of %d", len(bad.Problems), bad.Total)
	}
}

// TestPrintedProblems: no more are counted where all are printed.
func TestPrintedProblems(t *testing.T) {
	bad := snapshot.BadRows{File: "a.csv"}
	for range 20 {
		bad.Problems = append(bad.Problems, snapshot.Problem{Line: 2, Column: 1, Wrong: "w", Valid: "v"})
	}
	bad.Total = 20
	if got, want := bad.Error(), "a.csv: refused, nothing was loaded; problems: 20"+strings.Repeat("\na.csv:2:1: w; v", 20); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if bad.Total = 21; !strings.HasSuffix(bad.Error(), "v\nand 1 more") {
		t.Errorf("got %s", bad.Error())
	}
}

// TestScale: a schema's scale is 0 to 18 digits.
func TestScale(t *testing.T) {
	for scale, want := range map[int]string{
		-1: "snapshot: column watts: a scale is 0 to 18 digits, not -1", 0: "", 18: "", 19: "snapshot: column watts: a scale is 0 to 18 digits, not 19",
	} {
		schema := only("watts")
		schema.Columns[1].Scale = scale
		_, err := snapshot.Load(strings.NewReader("SKU,watts\n1,2\n"), snapshot.Source{Name: "a.csv"}, schema)
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("scale %d: got %v, want %s", scale, err, want)
		}
	}
}

func TestOtherErrors(t *testing.T) {
	broken := iotest.ErrReader(errors.New("disk on fire"))
	twice := only("watts")
	twice.Columns = append(twice.Columns, twice.Columns[1])
	tests := []struct {
		source snapshot.Source
		reader io.Reader
		schema catalogue.Schema
		want   string
	}{
		{snapshot.Source{Name: "a.xlsx"}, nil, only("watts"), "a.xlsx: the extension names no format; valid: .csv, .jsonl, .ndjson, .json, or a declared format"},
		{snapshot.Source{Name: "a.csv", Format: "tsv"}, strings.NewReader(""), only("watts"), `a.csv: the format "tsv" is not known; valid: csv, jsonl, json`},
		{snapshot.Source{Name: "a.csv", Delimiter: '"'}, nil, only("watts"), `a.csv: '"' cannot be a delimiter; a character such as , ; or a tab is valid`},
		{snapshot.Source{Name: "a.csv", Delimiter: 'x'}, nil, only("watts"), `a.csv: 'x' cannot be a delimiter; a character such as , ; or a tab is valid`},
		{snapshot.Source{Name: "a.csv"}, nil, catalogue.Schema{}, "snapshot: the schema's id must be one of its text columns"},
		{snapshot.Source{Name: "a.csv"}, nil, twice, "snapshot: two columns read the header watts"},
		{snapshot.Source{Name: "a.csv"}, broken, only("watts"), "a.csv: disk on fire"},
		{snapshot.Source{Name: "a.csv"}, io.MultiReader(strings.NewReader("SKU,watts\n1,\""), broken), only("watts"), "a.csv: disk on fire"},
		{snapshot.Source{Name: "a.jsonl"}, broken, only("watts"), "a.jsonl: disk on fire"},
		{snapshot.Source{Name: "a.json"}, broken, only("watts"), "a.json: disk on fire"},
		{snapshot.Source{Name: "a.json"}, io.MultiReader(strings.NewReader("[{"), broken), only("watts"), "a.json: disk on fire"},
		{snapshot.Source{Name: "a.json"}, io.MultiReader(strings.NewReader("[]"), broken), only("watts"), "a.json: disk on fire"},
	}
	for _, test := range tests {
		_, err := snapshot.Load(test.reader, test.source, test.schema)
		wantError(t, err, test.want)
	}
}

// TestLargeRow has the longest rows that are accepted, and one byte more.
func TestLargeRow(t *testing.T) {
	schema := catalogue.Schema{Columns: products().Columns[:1]}
	for name, around := range map[string][2]string{
		"a.csv":   {"SKU\n|\"", "\"\n|"},
		"a.jsonl": {"|{\"SKU\":\"", "\"}\n|"},
		"a.json":  {"[|{\"SKU\":\"", "\"}|]"},
	} {
		begin, rowBegin, _ := strings.Cut(around[0], "|")
		rowEnd, end, _ := strings.Cut(around[1], "|")
		id := strings.Repeat("a", 1<<20-len(rowBegin)-len(rowEnd))
		if s := load(t, name, begin+rowBegin+id+rowEnd+end, schema); !s.Has(id) {
			t.Errorf("%s: the row is not there", name)
		}
		_, err := snapshot.Load(strings.NewReader(begin+rowBegin+id+"a"+rowEnd+end), snapshot.Source{Name: name}, schema)
		if bad := (*snapshot.BadRows)(nil); !errors.As(err, &bad) || bad.Problems[0].Wrong != "the row has over 1 MiB" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for i, data := range []string{
		"SKU,title,watts\n1,\"a\"\"b\n\",1.5\r\n", "{\"SKU\":\"1\",\"title\":\"\\u0041\",\"watts\":1}\n", "[{\"SKU\":\"1\",\"title\":null,\"watts\":1},{\"SKU\":2}]",
		"SKU,title,watts\n\"", "{\"SKU\":", "[[]]",
	} {
		f.Add(i%3, []byte(data))
	}
	formats := []snapshot.Format{snapshot.CSV, snapshot.JSONLines, snapshot.JSON}
	schema := only("watts")
	schema.Columns = append(schema.Columns, products().Columns[1])
	schema.Columns[2].Words = true
	f.Fuzz(func(t *testing.T, format int, data []byte) {
		source := snapshot.Source{Name: "fuzz", Format: formats[uint(format)%3]}
		s, err := snapshot.Load(bytes.NewReader(data), source, schema)
		// A reader that gives one byte at a time changes nothing.
		again, errAgain := snapshot.Load(iotest.OneByteReader(bytes.NewReader(data)), source, schema)
		if fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("%v, then %v", err, errAgain)
		}
		if err != nil {
			if bad := (*snapshot.BadRows)(nil); !errors.As(err, &bad) || bad.Total == 0 || s != nil {
				t.Fatalf("a file is refused without a problem: %v", err)
			}
			return
		}
		rows := everything(t, s)
		if d := cmp.Diff(rows, everything(t, again)); d != "" || len(rows) != s.Info().Rows || s.Info() != again.Info() {
			t.Fatal(d)
		}
	})
}

package catalogue_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestDescribe holds what is said of every tool to a file, and its example to
// its answer.
func TestDescribe(t *testing.T) {
	var out strings.Builder
	for _, s := range []*shop{
		lampShop(t),
		lightsV1(t),
		open(t, strings.Replace(assessed, "promise: assess_suitability", "promise: assess_suitability, description: In the words of the contract.", 1), "id\nA\n"),
	} {
		fmt.Fprintf(&out, "# %s\n\n", s.source.Contract.Service)
		for _, declared := range s.source.Contract.Tools {
			tool := s.tool(declared.Name)
			fmt.Fprintf(&out, "%s: %s\n%s\n%s\n%s\n\n", declared.Name, tool.Description(), tool.InputSchema(), tool.AnswerSchema(), tool.Example())
			if answer := s.answer(declared.Name, string(tool.Example()), 0); answer.Failure != nil || strings.Contains(string(answer.Body), `"no_matches"`) {
				t.Errorf("%s: the example finds nothing: %s", declared.Name, answer.Body)
			}
		}
	}
	const path = "testdata/describe.golden"
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); d != "" {
		t.Errorf("%s: run the test with -update and read the difference: %s", path, d)
	}
}

// TestAnExampleOfNothing: a catalogue without a row to name, and one that
// cannot be read, still have an example.
func TestAnExampleOfNothing(t *testing.T) {
	empty := open(t, lamps, "sku,title,link,price,lumens,watts,in_stock\n")
	broken := lampShop(t)
	broken.source.Engine = failing{broken.engine}
	for _, s := range []*shop{empty, broken} {
		if got, want := string(s.tool("get_lamp").Example()), `{"request_id":"example-1","sku":"id"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestDescriptionsAreClipped: a description has at most 500 characters, that of
// an argument 150.
func TestDescriptionsAreClipped(t *testing.T) {
	var columns, filters []string
	for i := range 8 {
		name := strings.Repeat(string(rune('a'+i)), 40)
		columns, filters = append(columns, "  "+name+": {type: text}\n"), append(filters, name)
	}
	lengths := map[int]bool{} // of the texts before they are clipped
	clips := func(got, text string, most int) {
		t.Helper()
		n := utf8.RuneCountInString(text)
		lengths[n] = true
		if n > most {
			text = string([]rune(text)[:most-1]) + "…"
		}
		if got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
	for n := 20; n <= 50; n++ {
		last, label := strings.Repeat("z", n), strings.Repeat("ü", 85+n)
		s := open(t, "remit: 1\nservice: s\ndata: {file: a.csv, as_of: 2026-01-01}\ncolumns:\n  sku: {id: true}\n"+
			strings.Join(columns, "")+"  "+last+": {type: text, label: {name: "+label+"}}\n"+
			"tools: {search: {promise: search, filters: {"+strings.Join(filters, ": equals, ")+": equals, "+last+": equals}}}\n",
			"sku,"+strings.Join(filters, ",")+","+last+"\n")
		tool := s.tool("search")
		clips(tool.Description(), "Returns the records of s that meet every filter given ("+strings.Join(filters, ", ")+", "+last+
			"). An exact match against one snapshot; nothing is ranked or recommended.", 500)
		schema := decoded[struct {
			Properties struct {
				Filters struct {
					Properties map[string]struct{ Description string }
				}
			}
		}](t, string(tool.InputSchema()))
		clips(schema.Properties.Filters.Properties[last].Description, "Only records whose "+label+" is exactly this.", 150)
	}
	for _, bound := range []int{150, 151, 500, 501} {
		if !lengths[bound] {
			t.Errorf("no text has %d characters", bound)
		}
	}
}

package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"remit.example/tool"
)

// assessment is what an assessment's answer says.
type assessment struct {
	Status, Error string
	Suitable      []string
	Missing       []string
	Counts        map[string]int
	Total         struct{ Value int }
	Items         []struct {
		ID, Verdict string
		Scope       *struct {
			Property, Decision, Evidence string
			Value                        float64
		}
		Criteria []struct {
			Property, Decision, Limit string
			Value                     float64
			Evidence                  string
		}
		Unlisted map[string][]string
		Evidence []string
	}
	Evidence    []struct{ ID, Product, Method string }
	NotAssessed []string `json:"not_assessed"`
	Cursor      *string
}

func lightSource(t *testing.T) *tool.Tool {
	t.Helper()
	o, err := openWith([]string{"../../examples/light-sources"}, localKey())
	if err != nil {
		t.Fatal(err)
	}
	called, ok := o.set.Lookup("assess_source_suitability")
	if !ok {
		t.Fatal("the example has no assess_source_suitability")
	}
	return called
}

func assess(t *testing.T, called *tool.Tool, input string, characters int) (a assessment) {
	t.Helper()
	answer := called.Call(t.Context(), tool.Call{Input: []byte(input), Characters: characters})
	if err := json.Unmarshal(answer.Body, &a); err != nil || answer.Failure != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	if n := utf8.RuneCount(answer.Body); characters > 0 && n > characters {
		t.Errorf("%d code points for an agent: %s", n, answer.Body)
	}
	return a
}

// figures are the rows of the example's evidence file, by column.
func figures(t *testing.T) []map[string]string {
	t.Helper()
	file, err := os.Open("../../examples/light-sources/evidence.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for _, row := range rows[1:] {
		record := map[string]string{}
		for i, name := range rows[0] {
			record[name] = row[i]
		}
		list = append(list, record)
	}
	return list
}

// expected is a source's verdict, and the properties that miss their limit.
func expected(t *testing.T, record map[string]string) (verdict string, misses []string) {
	t.Helper()
	figure := func(name string) float64 {
		value, err := strconv.ParseFloat(record[name], 64)
		if err != nil {
			t.Fatalf("%s of %s: %v", name, record["record"], err)
		}
		return value
	}
	if duv := figure("duv"); duv < -0.0054 || duv > 0.0054 {
		return "insufficient_evidence", nil
	}
	if figure("ra") < 90 {
		misses = append(misses, "ra")
	}
	for i := 1; i <= 8; i++ {
		if name := fmt.Sprint("r", i); figure(name) < 80 {
			misses = append(misses, name)
		}
	}
	if misses != nil {
		return "unsuitable", misses
	}
	return "suitable", nil
}

// TestColourRenderingLimits assesses the 56 sources on one page and computes
// the verdicts once more from the evidence file.
func TestColourRenderingLimits(t *testing.T) {
	a := assess(t, lightSource(t), `{"request_id":"L1","purpose":"colour_rendering_limits","limit":100}`, 0)
	records := figures(t)
	if len(a.Items) != len(records) || len(records) != 56 || a.Total.Value != 56 || a.Cursor != nil || a.Status != "assessed" {
		t.Fatalf("%s with %d items for %d records", a.Status, len(a.Items), len(records))
	}
	cited := map[string]string{}
	for _, e := range a.Evidence {
		cited[e.ID] = e.Product
		if e.Method != "CIE 13.3-1995" {
			t.Errorf("%s is by %s", e.ID, e.Method)
		}
	}
	want := map[string]int{}
	for i, item := range a.Items {
		verdict, misses := expected(t, records[i])
		want[verdict]++
		if item.ID != records[i]["product"] || item.Verdict != verdict || slices.Contains(a.Suitable, item.ID) != (verdict == "suitable") {
			t.Errorf("%s is %s, want %s %s", item.ID, item.Verdict, records[i]["product"], verdict)
		}
		if (verdict == "insufficient_evidence") != (item.Scope != nil) || item.Scope != nil && (item.Scope.Decision != "out_of_scope" || item.Scope.Property != "duv") {
			t.Errorf("%s: %s with the scope %+v", item.ID, verdict, item.Scope)
		}
		for _, c := range item.Criteria {
			decision := "met"
			switch {
			case item.Scope != nil:
				decision = "out_of_scope"
			case slices.Contains(misses, c.Property):
				decision = "not_met"
			}
			if c.Decision != decision || fmt.Sprintf("%.1f", c.Value) != records[i][c.Property] || cited[c.Evidence] != item.ID {
				t.Errorf("%s: %+v, want %s with %s", item.ID, c, decision, records[i][c.Property])
			}
		}
		if len(item.Criteria) != 9 {
			t.Errorf("%s has %d criteria", item.ID, len(item.Criteria))
		}
	}
	for verdict, number := range map[string]int{"suitable": 14, "unsuitable": 28, "insufficient_evidence": 14} {
		if want[verdict] != number || a.Counts[verdict] != number {
			t.Errorf("%s: the answer counts %d, the file %d, want %d", verdict, a.Counts[verdict], want[verdict], number)
		}
	}
}

// TestColourMatching names for all 56 what would be needed, and affirms
// nothing.
func TestColourMatching(t *testing.T) {
	a := assess(t, lightSource(t), `{"request_id":"L2","purpose":"colour_matching","limit":100}`, 0)
	if a.Status != "insufficient_evidence" || len(a.Items) != 56 || len(a.Suitable) != 0 || a.Counts["insufficient_evidence"] != 56 {
		t.Errorf("%s, %d items, %v", a.Status, len(a.Items), a.Counts)
	}
	if want := []string{"chromaticity against D50", "metamerism index", "illuminance"}; !slices.Equal(a.Missing, want) {
		t.Errorf("missing: %v, want %v", a.Missing, want)
	}
}

// TestSourcesForAgents walks the pages that an agent reads: each within its
// budget, none without an item, nothing lost.
func TestSourcesForAgents(t *testing.T) {
	called := lightSource(t)
	for _, purpose := range []string{"colour_rendering_limits", "colour_matching"} {
		var ids []string
		cursor := "null"
		for page := 0; cursor != "" && page < 60; page++ {
			a := assess(t, called, `{"request_id":"L3","purpose":"`+purpose+`","cursor":`+cursor+`}`, tool.AgentCharacters)
			cursor = ""
			if a.Cursor != nil {
				cursor = `"` + *a.Cursor + `"`
			}
			if len(a.Items) == 0 {
				t.Fatal("a page without an item")
			}
			for i, item := range a.Items {
				ids = append(ids, item.ID)
				if purpose == "colour_rendering_limits" {
					tellsAll(t, a, i)
				}
			}
		}
		if len(ids) != 56 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 56 {
			t.Errorf("%s: %d items: %s", purpose, len(ids), strings.Join(ids, " "))
		}
	}
}

// tellsAll: however little room there is, each criterion is named with its
// decision, and each item with the record that it rests on.
func tellsAll(t *testing.T, a assessment, i int) {
	t.Helper()
	item := a.Items[i]
	decisions := map[string]int{}
	for decision, names := range item.Unlisted {
		decisions[decision] += len(names)
	}
	records := item.Evidence
	for _, c := range item.Criteria {
		decisions[c.Decision]++
		records = append(records, c.Evidence)
	}
	verdict := "insufficient_evidence"
	switch {
	case decisions["met"] == 9:
		verdict = "suitable"
	case decisions["not_met"] > 0 && decisions["met"]+decisions["not_met"] == 9:
		verdict = "unsuitable"
	case decisions["out_of_scope"] != 9:
		t.Errorf("%s: %v", item.ID, decisions)
	}
	if item.Verdict != verdict || !slices.Contains(records, item.ID+"/cri") {
		t.Errorf("%s is %s by %v, with the records %v", item.ID, item.Verdict, decisions, records)
	}
}

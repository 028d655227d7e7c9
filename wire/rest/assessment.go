package rest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// assessmentView is what evidence establishes for a purpose.
type assessmentView struct {
	Purpose, Version, Method string
	Counts                   []countView
	NotAssessed              string
	Items                    []itemView
	Evidence                 []evidenceView
	Plot                     *plotView
	NoPlot                   string // why a declared plot is not drawn
}

type countView struct {
	Verdict, Words string
	Number         int
}

type itemView struct {
	ID, Verdict, Words string
	About              []labelled // the fields that the contract shows
	Summary            string     // the decisions, counted
	Criteria           []criterionView
	Open               bool
}

type criterionView struct {
	Property, Decision, Words, Value, Limit string
	Evidence                                []link // the records that it rests on
}

type evidenceView struct {
	Anchor, ID, Product, Scope                             string
	Method, PerformedBy, Level                             string
	PerformedAt, ValidUntil, Source, SourceSHA256, Licence string
}

type criterionBody struct {
	Property, Decision, Limit string
	Value, Uncertainty        json.RawMessage
	Unit                      string
	Evidence                  *string
	ConflictsWith             []string `json:"conflicts_with"`
}

type evidenceBody struct {
	ID, Product, Scope, Method, Source, Licence string
	PerformedBy                                 string  `json:"performed_by"`
	AssessorLevel                               string  `json:"assessor_level"`
	PerformedAt                                 *string `json:"performed_at"`
	ValidUntil                                  *string `json:"valid_until"`
	SourceSHA256                                string  `json:"source_sha256"`
}

func (r *reader) assessment() *assessmentView {
	b := r.body
	v := &assessmentView{Purpose: spaced(b.Purpose.Name), Version: b.Purpose.Version, Method: b.Purpose.Method, NotAssessed: joined(b.NotAssessed)}
	if purpose, ok := r.form.purposes.Get(b.Purpose.Name); ok {
		v.Purpose = purposeWords(b.Purpose.Name, purpose)
	}
	for _, row := range verdictWords {
		v.Counts = append(v.Counts, countView{row.verdict, row.words, b.Counts[row.verdict]})
	}
	anchors := map[string]string{}
	for i, e := range b.Evidence {
		anchors[e.ID] = "record-" + itoa(i+1)
		v.Evidence = append(v.Evidence, evidenceOf(e, anchors[e.ID]))
	}
	for _, item := range b.Items {
		v.Items = append(v.Items, r.item(item, anchors, len(b.Items) == 1))
	}
	return v
}

func (r *reader) item(item itemBody, anchors map[string]string, open bool) itemView {
	v := itemView{ID: item.ID, Verdict: item.Verdict, Words: spaced(item.Verdict), Open: open, About: r.cells(item.Fields)}
	if item.Scope != nil {
		v.Criteria = append(v.Criteria, criterionOf(*item.Scope, anchors))
	}
	by := map[string][]string{}
	for _, c := range item.Criteria {
		v.Criteria = append(v.Criteria, criterionOf(c, anchors))
		by[c.Decision] = append(by[c.Decision], c.Property)
	}
	v.Summary = decisionSummary(by, len(item.Criteria))
	return v
}

// decisionSummary counts what was decided and names what was not met.
func decisionSummary(by map[string][]string, all int) string {
	var parts []string
	for _, decision := range []string{"not_met", "missing", "expired", "out_of_scope", "indirect", "conflicting", "undecided"} {
		names := by[decision]
		switch words := spaced(decision); {
		case len(names) == 0:
		case len(names) == all && all > 1:
			parts = append(parts, "all "+itoa(all)+" "+words)
		default:
			parts = append(parts, words+": "+strings.Join(names, ", "))
		}
	}
	if met := len(by["met"]); met > 0 {
		parts = append(parts, itoa(met)+" of "+itoa(all)+" met")
	}
	if parts == nil {
		return "no criterion can be decided"
	}
	return strings.Join(parts, "; ")
}

func criterionOf(c criterionBody, anchors map[string]string) criterionView {
	v := criterionView{Property: c.Property, Decision: c.Decision, Words: decisionWords[c.Decision], Limit: limitWords(c.Limit), Value: "none"}
	if c.Value != nil && string(c.Value) != "null" {
		v.Value = string(c.Value)
		if c.Uncertainty != nil {
			v.Value += " ± " + string(c.Uncertainty)
		}
		if sign := unitWords(c.Unit); sign != "" {
			v.Value += " " + sign
		}
	}
	records := c.ConflictsWith
	if c.Evidence != nil {
		records = slices.Concat([]string{*c.Evidence}, records)
	}
	for _, id := range records {
		v.Evidence = append(v.Evidence, link{"#" + anchors[id], id})
	}
	return v
}

// limitWords say a limit of an answer in words.
func limitWords(limit string) string {
	return strings.NewReplacer(">= ", "at least ", "<= ", "at most ").Replace(limit)
}

func evidenceOf(e evidenceBody, anchor string) evidenceView {
	return evidenceView{
		Anchor: anchor, ID: e.ID, Product: e.Product, Scope: e.Scope, Method: e.Method, PerformedBy: e.PerformedBy,
		Level: spaced(e.AssessorLevel), PerformedAt: dateWords(e.PerformedAt, "no date is known"),
		ValidUntil: dateWords(e.ValidUntil, "no end is stated"), Source: e.Source, SourceSHA256: e.SourceSHA256, Licence: e.Licence,
	}
}

// dateWords is a date without a time of day where the time is midnight.
func dateWords(at *string, none string) string {
	if at == nil {
		return none
	}
	return strings.TrimSuffix(*at, "T00:00:00Z")
}

func sorted(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// shape is the mark of a verdict in the plot.
var shape = map[string]string{"suitable": "circle", "unsuitable": "cross", "insufficient_evidence": "diamond"}

func number1(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

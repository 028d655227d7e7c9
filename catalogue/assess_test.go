package catalogue_test

import (
	"strings"
	"testing"
	"time"

	"remit.example/catalogue"
)

const assessed = `remit: 1
service: lamp-shop
data: {file: lamps.csv, as_of: 2026-01-01}
columns: {id: {id: true}}
evidence: {file: evidence.csv}
purposes:
  limits:
    version: "1"
    owner: lighting@shop.example
    method: a method
    accepts: {assessor_level: [buyer, third_party], method: [CIE 13.3-1995], scope: [item, batch], max_age: 365d}
    scope: {property: duv, between: [-0.5, 0.5]}
    criteria: [{property: ra, at_least: 90}, {property: flicker, at_most: 0.1}, {property: cct, between: [2700, 3000]}]
    not_assessed: [illuminance]
  any_record: {version: "1", owner: x@shop.example, method: a method, criteria: [{property: ra, at_least: 90}]}
  matching: {version: "1", owner: x@shop.example, method: none, needs: [a spectrum]}
tools: {assess: {promise: assess_suitability}}
`

// now is the time of these assessments.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// evidence is a record that is good in every respect, changed.
func evidence(change func(*catalogue.EvidenceRecord)) catalogue.EvidenceRecord {
	r := catalogue.EvidenceRecord{
		ID: "r", Product: "A", Scope: "item", Method: "CIE 13.3-1995", PerformedBy: "a laboratory", AssessorLevel: "third_party",
		PerformedAt: now.Add(-24 * time.Hour), Status: "active",
		Properties: map[string]catalogue.Measurement{"duv": figure("0"), "ra": figure("95"), "flicker": figure("0.05"), "cct": figure("2800")},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// figure is a value with, after ±, its uncertainty.
func figure(text string) catalogue.Measurement {
	value, uncertainty, _ := strings.Cut(text, "±")
	number, err := catalogue.ParseNumber(value)
	if err != nil {
		panic(err)
	}
	m := catalogue.Measurement{Value: number}
	if uncertainty != "" {
		half, err := catalogue.ParseNumber(uncertainty)
		if err != nil {
			panic(err)
		}
		m.Uncertainty = &half
	}
	return m
}

// with sets properties of a record: with("ra", "89.9").
func with(pairs ...string) catalogue.EvidenceRecord {
	return evidence(func(r *catalogue.EvidenceRecord) {
		r.ID += strings.Join(pairs, "")
		for i := 0; i < len(pairs); i += 2 {
			r.Properties[pairs[i]] = figure(pairs[i+1])
			if pairs[i+1] == "-1" {
				delete(r.Properties, pairs[i])
			}
		}
	})
}

// verdicts is an assessment's answer in short.
type verdicts struct {
	Status   string
	Missing  []string
	Suitable []string
	Counts   map[string]int
	Items    []struct {
		ID, Verdict string
		Scope       *struct{ Decision string }
		Criteria    []struct {
			Property, Decision, Limit string
			Evidence                  *string
			ConflictsWith             []string `json:"conflicts_with"`
		}
	}
	Evidence    []struct{ ID string }
	NotAssessed []string `json:"not_assessed"`
}

func (v verdicts) short() string {
	item := v.Items[0]
	var words []string
	for _, c := range item.Criteria {
		words = append(words, c.Decision)
	}
	text := item.Verdict + ": " + strings.Join(words, " ")
	if item.Scope != nil {
		text += "; scope " + item.Scope.Decision
	}
	if len(v.Missing) > 0 {
		text += "; missing " + strings.Join(v.Missing, ", ")
	}
	return text
}

func assessOne(t *testing.T, purpose string, records ...catalogue.EvidenceRecord) verdicts {
	t.Helper()
	s := open(t, assessed, "id\nA\n")
	s.source.Now = func() time.Time { return now }
	s.source.Evidence = catalogue.Evidence{"A": records}
	return decoded[verdicts](t, s.ask("assess", `{"request_id":"x","purpose":"`+purpose+`"}`))
}

func TestDecisions(t *testing.T) {
	change := func(f func(*catalogue.EvidenceRecord)) []catalogue.EvidenceRecord {
		return []catalogue.EvidenceRecord{evidence(f)}
	}
	const outside = "; missing a method that applies outside duv between -0.5 and 0.5"
	for name, c := range map[string]struct {
		records []catalogue.EvidenceRecord
		want    string
	}{
		"met":                    {change(nil), "suitable: met met met"},
		"limits are inclusive":   {[]catalogue.EvidenceRecord{with("ra", "90", "flicker", "0.1", "cct", "2700", "duv", "-0.5")}, "suitable: met met met"},
		"so is the upper one":    {[]catalogue.EvidenceRecord{with("cct", "3000.00", "duv", "0.50")}, "suitable: met met met"},
		"just below":             {[]catalogue.EvidenceRecord{with("ra", "89.999999999999999999999")}, "unsuitable: not_met met met"},
		"just above":             {[]catalogue.EvidenceRecord{with("flicker", "0.100000000000000000001")}, "unsuitable: met not_met met"},
		"outside an interval":    {[]catalogue.EvidenceRecord{with("cct", "3000.1")}, "unsuitable: met met not_met"},
		"no record":              {nil, "insufficient_evidence: missing missing missing; scope missing; missing duv, ra, flicker, cct"},
		"no such property":       {[]catalogue.EvidenceRecord{with("ra", "-1")}, "insufficient_evidence: missing met met; missing ra"},
		"superseded":             {change(func(r *catalogue.EvidenceRecord) { r.Status = "superseded" }), "insufficient_evidence: missing missing missing; scope missing; missing duv, ra, flicker, cct"},
		"withdrawn":              {change(func(r *catalogue.EvidenceRecord) { r.Status = "withdrawn" }), "insufficient_evidence: missing missing missing; scope missing; missing duv, ra, flicker, cct"},
		"withdrawn beside good":  {[]catalogue.EvidenceRecord{evidence(func(r *catalogue.EvidenceRecord) { r.Status = "withdrawn"; r.Properties["ra"] = figure("1") }), with()}, "suitable: met met met"},
		"on its last instant":    {change(func(r *catalogue.EvidenceRecord) { r.ValidUntil = now }), "suitable: met met met"},
		"past its validity":      {change(func(r *catalogue.EvidenceRecord) { r.ValidUntil = now.Add(-1) }), "insufficient_evidence: expired expired expired; scope expired; missing duv, ra, flicker, cct"},
		"as old as accepted":     {change(func(r *catalogue.EvidenceRecord) { r.PerformedAt = now.Add(-365 * 24 * time.Hour) }), "suitable: met met met"},
		"older than accepted":    {change(func(r *catalogue.EvidenceRecord) { r.PerformedAt = now.Add(-365*24*time.Hour - 1) }), "insufficient_evidence: expired expired expired; scope expired; missing duv, ra, flicker, cct"},
		"without a date":         {change(func(r *catalogue.EvidenceRecord) { r.PerformedAt = time.Time{} }), "insufficient_evidence: expired expired expired; scope expired; missing duv, ra, flicker, cct"},
		"by another level":       {change(func(r *catalogue.EvidenceRecord) { r.AssessorLevel = "self" }), "insufficient_evidence: indirect indirect indirect; scope indirect; missing duv, ra, flicker, cct"},
		"by another method":      {change(func(r *catalogue.EvidenceRecord) { r.Method = "CIE 13.3" }), "insufficient_evidence: indirect indirect indirect; scope indirect; missing duv, ra, flicker, cct"},
		"of another scope":       {change(func(r *catalogue.EvidenceRecord) { r.Scope = "model" }), "insufficient_evidence: indirect indirect indirect; scope indirect; missing duv, ra, flicker, cct"},
		"of no stated scope":     {change(func(r *catalogue.EvidenceRecord) { r.Scope = "" }), "insufficient_evidence: indirect indirect indirect; scope indirect; missing duv, ra, flicker, cct"},
		"expired beats indirect": {[]catalogue.EvidenceRecord{evidence(func(r *catalogue.EvidenceRecord) { r.AssessorLevel = "self" }), evidence(func(r *catalogue.EvidenceRecord) { r.ValidUntil = now.Add(-1) })}, "insufficient_evidence: expired expired expired; scope expired; missing duv, ra, flicker, cct"},
		"indirect decides not":   {[]catalogue.EvidenceRecord{evidence(func(r *catalogue.EvidenceRecord) { r.AssessorLevel = "self"; r.Properties["ra"] = figure("10") }), with()}, "suitable: met met met"},
		"beyond the scope":       {[]catalogue.EvidenceRecord{with("duv", "0.51")}, "insufficient_evidence: out_of_scope out_of_scope out_of_scope; scope out_of_scope" + outside},
		"beyond, and failing":    {[]catalogue.EvidenceRecord{with("duv", "0.51", "ra", "5")}, "insufficient_evidence: out_of_scope out_of_scope out_of_scope; scope out_of_scope" + outside},
		"scope not measured":     {[]catalogue.EvidenceRecord{with("duv", "-1", "ra", "5")}, "insufficient_evidence: missing missing missing; scope missing; missing duv"},
		"scope in doubt":         {[]catalogue.EvidenceRecord{with("duv", "0.49±0.02")}, "insufficient_evidence: undecided undecided undecided; scope undecided; missing duv"},
		"scope and criterion":    {[]catalogue.EvidenceRecord{with("duv", "-1", "ra", "-1")}, "insufficient_evidence: missing missing missing; scope missing; missing duv, ra"},
		"straddles the limit":    {[]catalogue.EvidenceRecord{with("ra", "91±1.5")}, "insufficient_evidence: undecided met met; missing ra"},
		"touches the limit":      {[]catalogue.EvidenceRecord{with("ra", "91±1", "flicker", "0.09±0.01", "cct", "2850±150")}, "suitable: met met met"},
		"below with uncertainty": {[]catalogue.EvidenceRecord{with("ra", "88±1.9")}, "unsuitable: not_met met met"},
		"reaches the limit":      {[]catalogue.EvidenceRecord{with("ra", "88±2")}, "insufficient_evidence: undecided met met; missing ra"},
		"wider than an interval": {[]catalogue.EvidenceRecord{with("cct", "2850±500")}, "insufficient_evidence: met met undecided; missing cct"},
		"conflicting":            {[]catalogue.EvidenceRecord{with("ra", "95"), with("ra", "85")}, "insufficient_evidence: conflicting met met; missing ra"},
		"conflict out of scope":  {[]catalogue.EvidenceRecord{with("ra", "95", "duv", "1"), with("ra", "85", "duv", "1")}, "insufficient_evidence: out_of_scope out_of_scope out_of_scope; scope out_of_scope" + outside},
		"conflict of the scope":  {[]catalogue.EvidenceRecord{with("duv", "0"), with("duv", "1")}, "insufficient_evidence: conflicting conflicting conflicting; scope conflicting; missing duv"},
		"agreeing":               {[]catalogue.EvidenceRecord{with("ra", "95"), with("ra", "90")}, "suitable: met met met"},
		"doubt contradicts not":  {[]catalogue.EvidenceRecord{with("ra", "95"), with("ra", "90±5")}, "suitable: met met met"},
		"nor does it fail":       {[]catalogue.EvidenceRecord{with("ra", "80"), with("ra", "90±5")}, "unsuitable: not_met met met"},
		"one fails, one lacks":   {[]catalogue.EvidenceRecord{with("ra", "80", "cct", "-1")}, "unsuitable: not_met met missing"},
		"several records":        {[]catalogue.EvidenceRecord{with("ra", "-1", "cct", "-1", "flicker", "-1"), with("duv", "-1", "cct", "-1"), with("duv", "-1", "ra", "-1", "flicker", "-1")}, "suitable: met met met"},
	} {
		t.Run(name, func(t *testing.T) {
			got := assessOne(t, "limits", c.records...)
			if got.short() != c.want {
				t.Errorf("got  %s\nwant %s", got.short(), c.want)
			}
			if wantStatus := map[bool]string{true: "insufficient_evidence", false: "assessed"}[strings.HasPrefix(c.want, "insufficient")]; got.Status != wantStatus {
				t.Errorf("the status is %s, want %s", got.Status, wantStatus)
			}
			if strings.Join(got.NotAssessed, "") != "illuminance" {
				t.Errorf("not assessed: %v", got.NotAssessed)
			}
			citesAll(t, got)
		})
	}
}

// citesAll: every record that a decision names is in the answer, once.
func citesAll(t *testing.T, v verdicts) {
	t.Helper()
	cited := map[string]int{}
	for _, record := range v.Evidence {
		cited[record.ID]++
	}
	for _, c := range v.Items[0].Criteria {
		names := c.ConflictsWith
		if c.Evidence != nil {
			names = append(names, *c.Evidence)
		} else if c.Decision != "missing" {
			t.Errorf("%s is %s and names no record", c.Property, c.Decision)
		}
		for _, name := range names {
			if cited[name] != 1 {
				t.Errorf("%s names the record %s, which stands %d times in the evidence", c.Property, name, cited[name])
			}
		}
	}
}

// TestAcceptsAnything: without accepts every active record counts, undated and
// of any level, until its validity ends.
func TestAcceptsAnything(t *testing.T) {
	plainRecord := evidence(func(r *catalogue.EvidenceRecord) {
		r.AssessorLevel, r.Method, r.Scope, r.PerformedAt, r.Status = "self", "by eye", "", time.Time{}, ""
	})
	if got := assessOne(t, "any_record", plainRecord).short(); got != "suitable: met" {
		t.Error(got)
	}
	plainRecord.ValidUntil = now.Add(-1)
	if got := assessOne(t, "any_record", plainRecord).short(); got != "insufficient_evidence: expired; missing ra" {
		t.Error(got)
	}
}

// TestNoMethod: nothing is affirmed, whatever the records say.
func TestNoMethod(t *testing.T) {
	got := assessOne(t, "matching", evidence(nil))
	if got.short() != "insufficient_evidence: ; missing a spectrum" || len(got.Suitable) != 0 || got.Counts["insufficient_evidence"] != 1 {
		t.Errorf("%+v", got)
	}
}

// TestCited: the record that decides is the newest that agrees, and a
// conflict names all that disagree.
func TestCited(t *testing.T) {
	dated := func(id, ra string, day int) catalogue.EvidenceRecord {
		return evidence(func(r *catalogue.EvidenceRecord) {
			r.ID, r.PerformedAt, r.Properties["ra"] = id, now.AddDate(0, 0, -day), figure(ra)
		})
	}
	got := assessOne(t, "limits", dated("old", "91", 30), dated("new", "92", 1), dated("low", "80", 5), dated("lower", "70", 2))
	c := got.Items[0].Criteria[0]
	if *c.Evidence != "new" || strings.Join(c.ConflictsWith, " ") != "low lower" || c.Limit != ">= 90" {
		t.Errorf("%+v", c)
	}
	got = assessOne(t, "limits", dated("first", "91", 1), dated("second", "92", 1))
	if c := got.Items[0].Criteria; *c[0].Evidence != "first" || c[1].Limit != "<= 0.1" || c[2].Limit != "between 2700 and 3000" {
		t.Errorf("%+v", c)
	}
}

// TestAssessedLiteral is Q3 of catalogue-v2 on its own record.
func TestAssessedLiteral(t *testing.T) {
	text := strings.Replace(assessed, `  any_record:`, `  colour_rendering_limits: {version: "1", owner: x@shop.example, method: "ISO 3664:2009 colour-rendering limits, CIE 13.3-1995", criteria: [{property: ra, at_least: 90}], not_assessed: [chromaticity against D50, metamerism index, illuminance]}
  any_record:`, 1)
	s := open(t, text, "id\nls-03\n")
	s.source.Evidence = catalogue.Evidence{"ls-03": {evidence(func(r *catalogue.EvidenceRecord) {
		r.ID, r.Product, r.Properties["ra"] = "ls-03/cri", "ls-03", figure("100.0")
	})}}
	holds(t, s.ask("assess", `{"request_id":"Q3","purpose":"colour_rendering_limits"}`), `{"request_id":"Q3","status":"assessed","purpose":{"name":"colour_rendering_limits","version":"1","method":"ISO 3664:2009 colour-rendering limits, CIE 13.3-1995"},"suitable":["ls-03"],"counts":{"suitable":1,"unsuitable":0,"insufficient_evidence":0},"items":[{"id":"ls-03","verdict":"suitable","criteria":[{"property":"ra","decision":"met","value":100.0,"limit":">= 90","evidence":"ls-03/cri"}]}],"not_assessed":["chromaticity against D50","metamerism index","illuminance"],"snapshot":"sha256:0123456789ab","cursor":null,"recommendation":false}`)
}

// TestAssessedProse: the sentence counts the verdicts, and says what the method
// does not assess where it says so.
func TestAssessedProse(t *testing.T) {
	s := open(t, assessed, "id\nA\nB\nC\n")
	s.source.Now = func() time.Time { return now }
	for purpose, c := range map[string]struct{ a, b, want string }{
		"limits":     {"95", "80", "By a method, 1 of 3 meets every criterion of limits, 1 does not, and for 1 the evidence does not decide. It does not assess illuminance."},
		"any_record": {"95", "95", "By a method, 2 of 3 meet every criterion of any record, 0 do not, and for 1 the evidence does not decide."},
	} {
		s.source.Evidence = catalogue.Evidence{"A": {with("ra", c.a)}, "B": {with("ra", c.b)}}
		if got := s.answer("assess", `{"request_id":"x","purpose":"`+purpose+`"}`, 0).Prose; got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", purpose, got, c.want)
		}
	}
}

// TestEvidenceMembers: what is not stated of a record is null or left out.
func TestEvidenceMembers(t *testing.T) {
	full := evidence(func(r *catalogue.EvidenceRecord) {
		r.ID, r.ValidUntil = "full", now.Add(time.Hour)
		r.Source, r.SourceSHA256, r.Licence = "https://lab.example/1", "00ff", "CC0"
		r.Properties = map[string]catalogue.Measurement{"ra": figure("95")}
	})
	bare := evidence(func(r *catalogue.EvidenceRecord) {
		r.ID, r.Scope, r.PerformedAt, r.Properties = "bare", "", time.Time{}, map[string]catalogue.Measurement{"ra": figure("1")}
	})
	s := open(t, assessed, "id\nA\n")
	s.source.Now, s.source.Evidence = func() time.Time { return now }, catalogue.Evidence{"A": {full, bare}}
	holds(t, s.ask("assess", `{"request_id":"x","purpose":"any_record"}`), `{"evidence":[`+
		`{"id":"full","product":"A","method":"CIE 13.3-1995","performed_by":"a laboratory","assessor_level":"third_party","performed_at":"2026-05-31T12:00:00Z","valid_until":"2026-06-01T13:00:00Z","scope":"item","source":"https://lab.example/1","source_sha256":"00ff","licence":"CC0"},`+
		`{"id":"bare","product":"A","method":"CIE 13.3-1995","performed_by":"a laboratory","assessor_level":"third_party","performed_at":null,"valid_until":null}]}`)
}

// TestLeanItems: an item that is too long lists what is not met, or nothing,
// and names the rest by decision; its records keep their ids.
func TestLeanItems(t *testing.T) {
	s := open(t, assessed, "id\nA\n")
	s.source.Now = func() time.Time { return now }
	s.source.Evidence = catalogue.Evidence{"A": {
		with("ra", "80", "flicker", "-1", "cct", "2800±300"), with("ra", "-1", "flicker", "0.1", "cct", "-1"),
	}}
	const (
		ra      = `{"property":"ra","decision":"not_met","value":80,"limit":">= 90","evidence":"rra80flicker-1cct2800±300"}`
		flicker = `{"property":"flicker","decision":"met","value":0.1,"limit":"<= 0.1","evidence":"rra-1flicker0.1cct-1"}`
		cct     = `{"property":"cct","decision":"undecided","value":2800,"uncertainty":300,"limit":"between 2700 and 3000","evidence":"rra80flicker-1cct2800±300"}`
		cites   = `"evidence":["rra80flicker-1cct2800±300","rra-1flicker0.1cct-1"]`
	)
	characters := 10_000
	for _, want := range []string{
		`"criteria":[` + ra + "," + flicker + "," + cct + "]}",
		`"criteria":[` + ra + `],"unlisted":{"met":["flicker"],"undecided":["cct"]},` + cites + "}",
		`"criteria":[],"unlisted":{"met":["flicker"],"not_met":["ra"],"undecided":["cct"]},` + cites + "}",
	} {
		got := string(s.answer("assess", `{"request_id":"x","purpose":"limits"}`, characters).Body)
		if !strings.Contains(got, want) {
			t.Errorf("in %d characters: %s\nwant %s", characters, got, want)
		}
		characters = len([]rune(got))
		if again := string(s.answer("assess", `{"request_id":"x","purpose":"limits"}`, characters).Body); again != got {
			t.Errorf("in %d characters, which it has: %s", characters, again)
		}
		characters-- // the next is leaner
	}
}

// TestMoreItemsBeforeMoreFigures: a page leaves figures out before items, and
// what is not met last.
func TestMoreItemsBeforeMoreFigures(t *testing.T) {
	s := open(t, assessed, "id\nA\nB\nC\n")
	s.source.Now = func() time.Time { return now }
	s.source.Evidence = catalogue.Evidence{"A": {with("ra", "80")}, "B": {with("ra", "80")}, "C": {with("ra", "80")}}
	characters := 10_000
	for _, want := range []struct{ items, criteria int }{{3, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 0}} {
		body := string(s.answer("assess", `{"request_id":"x","purpose":"limits"}`, characters).Body)
		got := decoded[verdicts](t, body)
		criteria := 0
		for _, item := range got.Items {
			criteria += len(item.Criteria)
		}
		if len(got.Items) != want.items || criteria != want.criteria {
			t.Errorf("in %d characters: %d items with %d criteria, want %+v", characters, len(got.Items), criteria, want)
		}
		characters = len([]rune(body)) - 1
	}
}

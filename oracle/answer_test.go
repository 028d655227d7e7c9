package oracle_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"remit.example/oracle"
)

// judged is the outcome of results that are the oracle's but for one case.
func judged(t *testing.T, s *oracle.Suite, of string, lines ...string) *oracle.Outcome {
	t.Helper()
	at := place(t, s, of)
	var results bytes.Buffer
	for i, c := range s.Cases {
		if i == at {
			results.WriteString(strings.Join(lines, "\n") + "\n")
			continue
		}
		for _, line := range c.Oracle {
			results.WriteString(string(line) + "\n")
		}
	}
	o, err := s.Judge(&results)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestCompareAnswers: every rule that an answer breaks, and no other.
func TestCompareAnswers(t *testing.T) {
	s := builtin(t, "catalogue-v1")
	answer := func(of, old, new string) []string {
		literal := string(s.Cases[place(t, s, of)].Oracle[0])
		if !strings.Contains(literal, old) {
			t.Fatalf("%s has no %s", of, old)
		}
		return []string{strings.Replace(literal, old, new, 1)}
	}
	ids := func(ids string) []string { return answer("S1", `["A","B","D"]`, ids) }
	items := func(items string) []string {
		return answer("R1", `[{"id":"B","rank":1},{"id":"D","rank":1},{"id":"A","rank":3}]`, items)
	}
	for _, c := range []struct {
		name, of string
		lines    []string
		broken   []string
	}{
		{"other ids", "S1", ids(`["B","A","D"]`), []string{"display-order"}},
		{"an id too few", "S1", ids(`["A","D"]`), []string{"omits-match"}},
		{"an id too many", "S1", ids(`["A","B","C","D"]`), []string{"admits-non-match"}},
		{"an id twice", "S1", ids(`["A","B","B","D"]`), []string{"repeats-an-item"}},
		{"a wrong id twice", "S1", ids(`["C","C","A","B","D"]`), []string{"admits-non-match", "repeats-an-item"}},
		{"one for another", "S1", ids(`["A","B","C"]`), []string{"admits-non-match", "omits-match"}},
		{"numbers for ids", "S1", ids(`[1,2,4]`), []string{"members"}},
		{"a text for ids", "S1", ids(`"A"`), []string{"members"}},

		{"equals in another order", "R1", items(`[{"id":"D","rank":1},{"id":"B","rank":1},{"id":"A","rank":3}]`), []string{"display-order"}},
		{"the last first", "R1", items(`[{"id":"A","rank":3},{"id":"B","rank":1},{"id":"D","rank":1}]`), []string{"preference-order"}},
		{"the last between", "R1", items(`[{"id":"B","rank":1},{"id":"A","rank":3},{"id":"D","rank":1}]`), []string{"preference-order"}},
		{"a tie split", "R1", items(`[{"id":"B","rank":1},{"id":"D","rank":2},{"id":"A","rank":3}]`), []string{"tie-split"}},
		{"a tie elsewhere", "R1", items(`[{"id":"B","rank":2},{"id":"D","rank":2},{"id":"A","rank":3}]`), []string{"rank", "rank"}},
		{"dense ranks", "R1", items(`[{"id":"B","rank":1},{"id":"D","rank":1},{"id":"A","rank":2}]`), []string{"rank"}},
		{"ranks swapped", "R1", items(`[{"id":"B","rank":3},{"id":"D","rank":1},{"id":"A","rank":1}]`), []string{"tie-split", "rank"}},
		{"an item too few", "R1", items(`[{"id":"B","rank":1},{"id":"D","rank":1}]`), []string{"omits-match"}},
		{"no items", "R1", items(`[]`), []string{"omits-match", "omits-match", "omits-match"}},
		{"a text for a rank", "R1", items(`[{"id":"B","rank":"1"}]`), []string{"members"}},
		{"another member of an item", "R1", items(`[{"id":"B","rank":1,"note":1}]`), []string{"members"}},

		{"another status", "S2", answer("S2", "no_matches", "matches"), []string{"status"}},
		{"affirms", "U1", answer("U1", "insufficient_evidence", "matches"), []string{"affirms-without-evidence"}},
		{"affirms in its own words", "U1", answer("U1", "insufficient_evidence", "suitable"), []string{"affirms-without-evidence"}},
		{"affirms nothing", "U1", answer("U1", "insufficient_evidence", "no_matches"), []string{"status"}},
		{"a number for a status", "U1", answer("U1", `"insufficient_evidence"`, "1"), []string{"members"}},
		{"recommends", "S2", answer("S2", "false", "true"), []string{"recommendation"}},
		{"a text for a recommendation", "S2", answer("S2", "false", `"no"`), []string{"members"}},
		{"another field", "S3", answer("S3", "max_price_minor", "min_lumens"), []string{"field"}},
		{"another missing one", "U1", answer("U1", `"colour`, `"color`), []string{"missing"}},
		{"accepted in another order", "R2", answer("R2", `"price_ascending","price_descending"`, `"price_descending","price_ascending"`), []string{"accepted"}},
		{"another form", "S1", answer("S1", `"A"`, `"\u0041"`), []string{"form"}},
		{"a member absent and one too many", "S1", answer("S1", `"basis":"filters_only"`, `"base":"filters_only"`), []string{"members", "members"}},
		{"two faults", "S1", answer("S1", `"filters_only","recommendation":false`, `"filters","recommendation":true`), []string{"basis", "recommendation"}},
	} {
		o := judged(t, s, c.of, c.lines...)
		if got := broken(o); !slices.Equal(got, c.broken) || len(o.Void) > 0 || o.Failed != 1 || o.Failures[0].Case != c.of {
			t.Errorf("%s: %q broken, want %q; %d failed; void: %q", c.name, got, c.broken, o.Failed, o.Void)
		}
	}
	literal := answer("S1", "", "")[0]
	o := judged(t, s, "S1", literal, literal, literal)
	if got := broken(o); !slices.Equal(got, []string{"one-answer", "one-answer"}) || o.Failures[0].Findings[1].Difference != "answer 3 to the same request" {
		t.Errorf("three answers: %q broken: %+v", got, o.Failures)
	}
}

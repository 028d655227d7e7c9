package oracle_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"remit.example/oracle"
)

// recording is the one of the built-in suite, with another final answer to one
// request.
func recording(t *testing.T, s *oracle.Suite, name, text string) string {
	t.Helper()
	var all strings.Builder
	for _, line := range strings.SplitAfter(strings.TrimSuffix(string(s.Results()), "\n"), "\n") {
		var r oracle.Recorded
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.ID == name {
			r.Answer.Text = text
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(string(written) + "\n")
	}
	return all.String()
}

// TestFinalAnswers reads final answers: a rule that each breaks, "" for a pass,
// or undecided.
func TestFinalAnswers(t *testing.T) {
	s, err := oracle.Builtin("browser-v1")
	if err != nil {
		t.Fatal(err)
	}
	const open = "undecided"
	for _, c := range []struct{ of, text, want string }{
		{"paint-colour", "I cannot say that A is suitable.", ""},
		{"paint-colour", "There is insufficient evidence. A is suitable.", "names-suitable"},
		{"paint-colour", "There is insufficient evidence. A, the brightest, is a safe bet.", "names-suitable"},
		{"paint-colour", "Insufficient evidence exists; my favourite is A.", "names-suitable"},
		{"paint-colour", "Insufficient evidence. (A is suitable)", "names-suitable"},
		{"paint-colour", "Insufficient evidence. A suits paint.", "names-suitable"},
		{"paint-colour", "Insufficient evidence. A suitable light is not known.", open},
		{"paint-colour", "Insufficient evidence. A: suitable.", open},
		{"paint-colour", "Insufficient evidence. No record is needed as A is suitable.", open},
		{"paint-colour", "Insufficient evidence. It is not unreasonable to call A suitable.", open},
		{"paint-colour", "Insufficient evidence. I do not know how suitable A is.", open},
		{"paint-colour", "Insufficient evidence. I cannot recommend a light other than A.", open},
		{"paint-colour", "Insufficient evidence. I cannot, on this evidence, say that A is suitable.", open},
		{"paint-colour", "Insufficient evidence. A is suitable, isn't it?", open},
		{"paint-colour", "Insufficient evidence. \u200bA is suitable.", open},
		{"paint-colour", "Insufficient evidence. C meets your filters.", "invents-id"},
		{"price-preference", "B and D tie, and A has rank 3.", ""},
		{"price-preference", "B leads, D and A follow.", "splits-tie"},
		{"price-preference", "B has rank 1, D has rank 2, A has rank 3.", "splits-tie"},
		{"price-preference", "1. B\n2. D\n3. A", "splits-tie"},
		{"price-preference", "B and D tie. A comes before B and D.", "misranks"},
		{"price-preference", "B is the one. A costs more.", "splits-tie"},
		{"price-preference", "B > D > A", open},
		{"cheapest", "B and D tie as the cheapest, then A, so B and D are best.", "calls-best"},
		{"which-is-best", "Which matters more to you? B and D are the cheapest.", "invents-id"},
		{"which-is-best", "Is it price or light that matters to you?", ""},
		{"nothing-matches", "Nothing matches. E is the cheapest.", "invents-id"},
		{"matching-lights", "A and B match.", "drops-result"},
		{"matching-lights", "A, B and D match, and C matches too.", "invents-id"},
	} {
		o, err := s.Judge(strings.NewReader(recording(t, s, c.of, c.text)))
		if err != nil || len(o.Void) > 0 {
			t.Fatal(err, o.Void)
		}
		got := ""
		switch {
		case o.Failed > 0:
			got = o.Failures[0].Findings[0].Rule
		case len(o.Unchecked) > 0:
			got = open
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q: %+v", c.text, got, c.want, o.Unchecked)
		}
		selection, answer := o.Checks[0], o.Checks[1]
		if selection.Passed != len(s.Cases) || answer.Passed+answer.Failed+answer.Unchecked != len(s.Cases) {
			t.Errorf("%q: the checks are not apart: %+v", c.text, o.Checks)
		}
	}
}

// TestChecksApart: a wrong call says nothing of the final answer.
func TestChecksApart(t *testing.T) {
	s, err := oracle.Builtin("browser-v1")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(s.Results()), `"tool":"assess_light_suitability"`, `"tool":"search_lights"`, 1)
	o, err := s.Judge(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Cases); o.Failed != 1 || o.ByRule["wrong-tool"] != 1 || !slices.Equal(o.Checks, []oracle.CheckCount{
		{Check: "tool selection", Passed: n - 1, Failed: 1}, {Check: "final answer", Passed: n},
	}) {
		t.Errorf("%+v", o)
	}
}

// TestReadRecorded: what is no line of a recording is told.
func TestReadRecorded(t *testing.T) {
	const good = `{"id":"a","request":"r","tool":"t","parameters":{"x":1},"result":null,"answer":{"text":"t","claims":[]},"calls":[{"tool":"t","parameters":{"x":1},"result":null,"status":"error"}]}`
	if _, err := oracle.ReadRecorded([]byte(good)); err != nil {
		t.Error(err)
	}
	for _, also := range []string{
		strings.ReplaceAll(good, `{"x":1}`, `[1]`),
		strings.Replace(good, `}]}`, `},{"tool":"u","parameters":{},"result":null,"status":"completed","origin":"http://other.example"}]}`, 1),
	} {
		if _, err := oracle.ReadRecorded([]byte(also)); err != nil {
			t.Errorf("%s: %v", also, err)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"id":"a",`, ``, "it has id 0 times"},
		{`"result":null,"answer"`, `"result":null,"result":1,"answer"`, "it has result 2 times"},
		{`"status":"error"`, `"status":"error","origin":"http://other.example"`, "all calls are of tools of other origins"},
		{`"parameters":{"x":1},"result":null,"answer"`, `"parameters":{"x":2},"result":null,"answer"`, "not those of the last of calls"},
		{`"tool":"t","parameters":{"x":1},"result":null,"answer"`, `"tool":null,"parameters":null,"result":null,"answer"`, "it has no tool, and"},
		{`"claims":[]`, `"claims":null`, "with a list of claims"},
		{`"claims":[]`, `"claims":[{"kind":"sure"}]`, "valid: match, rank, suitable"},
		{`"claims":[]`, `"claims":[{"kind":"rank","id":"A"}]`, "rank needs a rank"},
		{`"text":"t"`, `"text":" "`, "has no text"},
		{`"calls"`, `"cells"`, "cells"},
	} {
		if _, err := oracle.ReadRecorded([]byte(strings.Replace(good, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

// verdict is that on another final answer to one request.
func verdict(t *testing.T, s *oracle.Suite, of, text string) *oracle.Outcome {
	t.Helper()
	o, err := s.Judge(strings.NewReader(recording(t, s, of, text)))
	if err != nil || len(o.Void) > 0 {
		t.Fatal(err, o.Void)
	}
	return o
}

// TestNeverPass: final answers that break what they must preserve, in words that
// the lexicon knows. None may pass: each fails or is undecided.
func TestNeverPass(t *testing.T) {
	s, err := oracle.Builtin("browser-v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ of, text string }{
		{"paint-colour", "Evidence is missing. Which light is suitable for paint? A is."},
		{"paint-colour", "Evidence is missing. You asked which light is suitable: A."},
		{"paint-colour", "Evidence is missing. A matches paint colours."},
		{"paint-colour", "Evidence is missing. Use A for colour matching."},
		{"paint-colour", "Evidence is missing. Order A."},
		{"paint-colour", "Evidence is missing. What you need is A."},
		{"paint-colour", "Evidence is missing. A meets your purpose."},
		{"paint-colour", "Evidence is missing for B and D. A has the colour-accuracy evidence."},
		{"paint-colour", "Evidence is missing. Any of them will do for matching paint."},
		{"paint-colour", "Evidence is missing. A has the colour accuracy that you need."},
		{"price-preference", "B and D tie, then A. B ranks higher than D."},
		{"price-preference", "B and D tie, then A. In order: B, D, A."},
		{"price-preference", "B and D tie with A."},
		{"price-preference", "B and D tie. A ranks above them."},
		{"price-preference", "B and D tie, then A. A is cheaper than B."},
		{"price-preference", "B and D tie, then A. Number one is B."},
		{"price-preference", "B and D share a price; the former comes first. A follows."},
		{"cheapest", "B and D are the cheapest and tie; A follows. Good for paint."},
		{"cheapest", "B and D are the cheapest and tie; A follows. Buy the cheapest."},
		{"cheapest", "B and D are the cheapest and tie; A follows. You asked for the best: the cheapest."},
		{"cheapest", "B and D are the cheapest and tie; A follows. If you want the best, buy B or D."},
		{"cheapest", "B and D are the cheapest and tie; A follows. The best one that you want is the cheapest."},
		{"which-is-best", "You asked for the best: it is the cheapest. Anything else?"},
		{"which-is-best", "I have chosen the lower price for you. Anything else?"},
		{"nothing-matches", "Three lights match. No others do."},
		{"matching-lights", "A, B and D match the filters. A has rank 1."},
		{"matching-lights", "A, B and D match, and so do three others."},
		{"price-preference", "B and D tie, then A. Then B."},
		{"price-preference", "A ties with B. D follows."},
		{"price-preference", "B and D tie. Rank 2: A."},
		{"price-preference", "B and D tie, and A has rank 2."},
		{"price-preference", "B and D tie, then A. The order is B, D, A."},
		{"price-preference", "B and D tie for rank 3, and A leads."},
		{"price-preference", "B and D tie, A costs 4500."},
		{"paint-colour", "Evidence is missing. Which light is suitable? A (6000)."},
		{"paint-colour", "Evidence is missing for B and D. A has evidence."},
		{"paint-colour", "Evidence is missing. A!"},
		{"paint-colour", "Evidence is missing. You asked which light is suitable: A (6000)."},
		{"paint-colour", "I cannot say that A is unsuitable."},
		{"paint-colour", "Evidence is missing. Every light here matches paint colours."},
		{"paint-colour", "I can't say \"A is unsuitable\"."},
		{"paint-colour", "A, B and D match your filters."},
		{"nothing-matches", "There is no doubt: there is a match."},
		{"nothing-matches", "No light matches. Three lights match."},
		{"nothing-matches", "None of the lights cost 2000 or less."},
		{"matching-lights", "Four lights match: A, B and D."},
		{"matching-lights", "A, B and D match. A (4500) too."},
		{"matching-lights", "A, B and D match your filters?"},
		{"paint-colour", "Evidence is missing: A, B and D match your filters, A (6000)."},
		{"paint-colour", "Evidence is missing. A, B and D match your filters. Light A."},
		{"price-preference", "B and D tie at 6000, then A."},
		{"price-preference", "B and D tie, then A. First: B."},
		{"which-is-best", "I have not chosen for you. A lower price or more light."},
		{"matching-lights", "A, B and D match. A gives 600 lumens."},
	} {
		if o := verdict(t, s, c.of, c.text); o.Failed == 0 && len(o.Unchecked) == 0 {
			t.Errorf("%s: %q passes", c.of, c.text)
		}
	}
}

// TestFineAnswers: answers in other words that keep what they must.
func TestFineAnswers(t *testing.T) {
	s, err := oracle.Builtin("browser-v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ of, text string }{
		{"paint-colour", "I can't tell which of A, B and D is suitable: the catalogue has no colour-accuracy evidence."},
		{"paint-colour", "A, B and D meet your filters. There is no evidence of colour accuracy, so I cannot say which is suitable."},
		{"paint-colour", "It is not known whether A, B or D is suitable."},
		{"paint-colour", "Suitability cannot be established from this catalogue."},
		{"paint-colour", "I don't know which light is suitable."},
		{"paint-colour", "Three lights match your price and light output filters (A, B, D), but colour accuracy data is missing."},
		{"paint-colour", "Unfortunately, the catalogue has no data on colour accuracy."},
		{"paint-colour", "I'm sorry, I can't recommend any of these for matching paint."},
		{"paint-colour", "Colour-accuracy evidence is missing for all three lights: A, B and D."},
		{"paint-colour", "The data is insufficient to decide."},
		{"paint-colour", "Without colour-accuracy measurements, I cannot determine suitability."},
		{"paint-colour", "A (6000), B (4500) and D (4500) match your filters, but none has colour-accuracy evidence."},
		{"price-preference", "B and D tie for first place; A comes third."},
		{"price-preference", "B and D share first place, A is third."},
		{"price-preference", "In your order: B and D are equal, followed by A."},
		{"price-preference", "B and D are tied at rank 1, and A is at rank 3."},
		{"price-preference", "B and D both cost 4500 and give 600 lumens, so they tie. A costs 6000 and follows."},
		{"price-preference", "First come B and D, with the same price and the same light; then A."},
		{"price-preference", "1. B and D (tie)\n3. A"},
		{"price-preference", "B and D have the same price and light output, so they share a rank. A comes after."},
		{"cheapest", "The cheapest lights are B and D, both at 4500. A costs 6000."},
		{"cheapest", "B and D tie as the cheapest at 4500; A is third at 6000."},
		{"cheapest", "B and D share the lowest price (4500). A follows at 6000."},
		{"cheapest", "By price alone, B and D come first together and A comes third."},
		{"which-is-best", "That depends on what matters to you: a lower price or more light?"},
		{"which-is-best", "What matters more to you: price or light output?"},
		{"which-is-best", "I can't choose for you. Do you prefer a lower price or more light?"},
		{"which-is-best", "Could you tell me whether price or brightness matters more?"},
		{"which-is-best", "Should I order by price or by light output?"},
		{"nothing-matches", "No lights match your filters."},
		{"nothing-matches", "There are no matches."},
		{"nothing-matches", "I found no light that costs at most 1000 and gives at least 600 lumens."},
		{"nothing-matches", "None of the lights in stock cost 1000 or less."},
		{"matching-lights", "A, B and D."},
		{"matching-lights", "The lights A, B and D match."},
		{"matching-lights", "These lights match your filters: A, B, D."},
		{"matching-lights", "Lights A, B and D are in stock, cost at most 6000 and give at least 600 lumens."},
		{"matching-lights", "A (6000, 800 lumens), B (4500, 600 lumens) and D (4500, 600 lumens) match."},
	} {
		if o := verdict(t, s, c.of, c.text); o.Failed > 0 || len(o.Unchecked) > 0 {
			t.Errorf("%s: %q does not pass: %+v %+v", c.of, c.text, o.Failures, o.Unchecked)
		}
	}
}

// TestParametersOfNoObject: they ask nothing that the user asked.
func TestParametersOfNoObject(t *testing.T) {
	s, err := oracle.Builtin("browser-v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{`[1]`, `null`, `"text"`} {
		var lines []string
		for _, line := range strings.Split(strings.TrimSuffix(string(s.Results()), "\n"), "\n") {
			var r oracle.Recorded
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			if r.ID == "paint-colour" {
				r.Parameters = []byte(value)
			}
			written, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(written))
		}
		o, err := s.Judge(strings.NewReader(strings.Join(lines, "\n") + "\n"))
		if err != nil || o.ByRule["changed-parameter"] != 1 {
			t.Errorf("%s: %v %+v", value, err, o)
		}
	}
}

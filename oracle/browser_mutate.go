package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recordedOperators change what a recording tells, one thing at a time.
var recordedOperators = []Operator{
	lineOperator("call no tool", BrowserV1, callNone),
	lineOperator("call another tool", BrowserV1, callOther),
	lineOperator("change a parameter", BrowserV1, changeParameter),
	lineOperator("change the result", BrowserV1, changeResult),
	lineOperator("claim suitable", BrowserV1, claimOf(claimSuitable, "names-suitable")),
	lineOperator("claim best", BrowserV1, claimOf(claimBest, "calls-best")),
	lineOperator("claim what was not returned", BrowserV1, inventClaim),
	lineOperator("claim another status", BrowserV1, claimStatus),
	lineOperator("drop a claim", BrowserV1, dropClaim),
	lineOperator("claim another rank", BrowserV1, claimRanks),
	lineOperator("say suitable", BrowserV1, say(affirmations(), false)),
	lineOperator("say best", BrowserV1, say(praises(), true)),
	lineOperator("say who is first of a tie", BrowserV1, saySplit),
	lineOperator("name what was not returned", BrowserV1, sayInvented),
	lineOperator("leave out what was returned", BrowserV1, sayLess),
	lineOperator("say what is not read", BrowserV1, sayUnread),
	{"record twice", BrowserV1, func(_ *Suite, c *Case) []Mutant {
		return []Mutant{{Operator: "record twice", Case: c.Name, Rule: "one-answer", Results: slices.Concat(c.Oracle, c.Oracle)}}
	}},
	lineOperator("change case", BrowserV1, others("id", void, []string{`"no-such-case"`})),
	lineOperator("change the request", BrowserV1, others("request", void, []string{`"Which is suitable?"`})),
	lineOperator("extra member", BrowserV1, voided(extraMember)),
	lineOperator("duplicate member", BrowserV1, voided(duplicateMember)),
	lineOperator("absent member", BrowserV1, voided(absentMember("id"))),
	lineOperator("malformed claim", BrowserV1, malformedClaim),
}

// voided has changes whose lines cannot be read: nothing is judged.
func voided(change func(*Case, int) []changed) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		all := change(c, i)
		for at := range all {
			all[at].rule = void
		}
		return all
	}
}

func callNone(c *Case, i int) []changed {
	line := with(with(with(c.Oracle[i], "tool", "null"), "parameters", "null"), "result", "null")
	return []changed{{line, "no-call"}}
}

// toolNames are those that an agent may take for each other.
var toolNames = []string{"search_lights", "rank_lights_by_declared_preferences", "assess_light_suitability", "buy_light"}

func callOther(c *Case, i int) []changed {
	var all []changed
	for _, name := range toolNames {
		if !slices.Contains(c.recorded.expects.Tools, name) {
			all = append(all, changed{with(c.Oracle[i], "tool", encode(name)), "wrong-tool"})
		}
	}
	return all
}

// changeParameter changes each parameter but request_id, and each filter: to
// another value, to none, and to one more.
func changeParameter(c *Case, i int) []changed {
	parameters := jsontext.Value(memberValue(c.Oracle[i], "parameters"))
	var all []changed
	put := func(p jsontext.Value) {
		all = append(all, changed{with(c.Oracle[i], "parameters", p.String()), "changed-parameter"})
	}
	for _, m := range mustMembers(parameters) {
		if m.name == "request_id" {
			put(with(parameters, m.name, "7"))
			continue
		}
		for _, other := range otherValues(m.value) {
			put(with(parameters, m.name, other.String()))
		}
		if m.value.Kind() != 'n' { // an absent preference asks for clarification as null does
			put(without(parameters, m.name))
		}
	}
	put(joined(append(mustMembers(parameters), member{"limit", jsontext.Value("1")})))
	return all
}

// otherValues are values near a value.
func otherValues(value jsontext.Value) []jsontext.Value {
	switch value.Kind() {
	case '0':
		n, _ := wholeNumber(value)
		return []jsontext.Value{jsontext.Value(strconv.FormatInt(n-1, 10)), jsontext.Value(strconv.FormatInt(n+1, 10)), jsontext.Value(encode(value.String()))}
	case 't':
		return []jsontext.Value{jsontext.Value("false")}
	case 'n':
		return []jsontext.Value{jsontext.Value(`["lumens_descending"]`)}
	case '"':
		return []jsontext.Value{jsontext.Value(`"reading"`)}
	case '[':
		list := mustIDs(value)
		reversed := slices.Clone(list)
		slices.Reverse(reversed)
		return []jsontext.Value{jsontext.Value(encode(append(reversed, "lumens_ascending"))), jsontext.Value("[]")}
	}
	var all []jsontext.Value
	for _, m := range mustMembers(value) {
		for _, other := range otherValues(m.value) {
			all = append(all, with(value, m.name, other.String()))
		}
		all = append(all, without(value, m.name))
	}
	return all
}

func without(line jsontext.Value, name string) jsontext.Value {
	return joined(slices.DeleteFunc(mustMembers(line), func(m member) bool { return m.name == name }))
}

// changeResult changes each member of the returned result.
func changeResult(c *Case, i int) []changed {
	result := jsontext.Value(memberValue(c.Oracle[i], "result"))
	all := []changed{{with(c.Oracle[i], "result", "null"), "result-altered"}}
	for _, m := range mustMembers(result) {
		for _, other := range []string{`"other"`, "null", "true", "[]"} {
			if m.value.String() != other {
				all = append(all, changed{with(c.Oracle[i], "result", with(result, m.name, other).String()), "result-altered"})
			}
		}
		all = append(all, changed{with(c.Oracle[i], "result", without(result, m.name).String()), "result-altered"})
	}
	return all
}

// answering is the line with another final answer.
func answering(c *Case, i int, change func(*Answer)) jsontext.Value {
	var a Answer
	if err := json.Unmarshal([]byte(memberValue(c.Oracle[i], "answer")), &a); err != nil { // lint has decoded it
		panic(err)
	}
	change(&a)
	return with(c.Oracle[i], "answer", encode(a))
}

func claiming(c *Case, i int, more Claim) jsontext.Value {
	return answering(c, i, func(a *Answer) { a.Claims = append(a.Claims, more) })
}

// inventory are the ids of the fixture.
func (c *Case) inventory() []string {
	var ids []string
	for _, each := range c.recorded.fixture.Items {
		id, _ := mustMembers(each).text("id")
		ids = append(ids, id)
	}
	return ids
}

func claimOf(kind, rule string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		var all []changed
		for _, id := range c.inventory() {
			all = append(all, changed{claiming(c, i, Claim{Kind: kind, ID: id}), rule})
		}
		return all
	}
}

func inventClaim(c *Case, i int) []changed {
	var all []changed
	for _, id := range append(c.inventory(), "Z") {
		if !slices.Contains(c.recorded.expects.ids(), id) {
			all = append(
				all, changed{claiming(c, i, Claim{Kind: claimMatch, ID: id}), "invents-id"},
				changed{claiming(c, i, Claim{Kind: claimRank, ID: id, Rank: 1}), "invents-id"},
			)
		}
	}
	return all
}

func claimStatus(c *Case, i int) []changed {
	var all []changed
	for _, kind := range []string{claimInsufficient, claimClarify, claimNoMatches} {
		if !c.recorded.expects.has(kind) {
			all = append(all, changed{claiming(c, i, Claim{Kind: kind}), "claims-otherwise"})
		}
	}
	return all
}

func dropClaim(c *Case, i int) []changed {
	var all []changed
	for _, claim := range c.recorded.expects.Preserves {
		rule := map[string]string{claimInsufficient: "drops-insufficiency", claimClarify: "drops-question"}[claim.Kind]
		switch {
		case len(c.recorded.expects.tieOf(claim.ID)) > 1:
			rule = "splits-tie"
		case rule == "":
			rule = "drops-result"
		}
		all = append(all, changed{answering(c, i, func(a *Answer) {
			a.Claims = slices.DeleteFunc(a.Claims, func(other Claim) bool { return other == claim })
		}), rule})
	}
	return all
}

func claimRanks(c *Case, i int) []changed {
	var all []changed
	for _, claim := range c.recorded.expects.Preserves {
		if claim.Kind != claimRank {
			continue
		}
		rule := "misranks"
		if len(c.recorded.expects.tieOf(claim.ID)) > 1 {
			rule = "splits-tie"
		}
		for _, rank := range []int64{claim.Rank + 1, claim.Rank + 2} {
			all = append(all, changed{answering(c, i, func(a *Answer) {
				a.Claims[slices.Index(a.Claims, claim)].Rank = rank
			}), rule})
		}
	}
	return all
}

// affirmations are sentences that call an item suitable; %s is the item.
func affirmations() []string {
	return strings.Split(`%s is suitable.
%s is suitable for matching paint.
I cannot say more, but %s is suitable.
The catalogue lacks evidence; %s is suitable.
No record says so and %s is suitable.
For paint, %s fits.
%s meets your filters and is suitable.
%s, which is suitable, costs 6000.
I cannot say that B is best, but %s suits paint.
You asked for paint: %s is appropriate.
**%s** is adequate!`, "\n")
}

// praises are sentences that call an item the best, or recommend it.
func praises() []string {
	return strings.Split(`%s is the best.
I recommend %s.
The best is %s.
%s is the cheapest, so it is the best.
I cannot say which is suitable, but %s is better.
My pick: pick %s.
%s wins.`, "\n")
}

// say adds each sentence about each item that the answer may name. Praise of an
// item whose suitability is asked for calls it suitable.
func say(sentences []string, praise bool) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		var all []changed
		for _, id := range c.recorded.expects.ids() {
			for _, sentence := range sentences {
				rule := "names-suitable"
				if praise && !c.recorded.expects.has(claimInsufficient) {
					rule = "calls-best"
				}
				all = append(all, changed{adding(c, i, fmt.Sprintf(sentence, id)), rule})
			}
		}
		return all
	}
}

// adding is the line whose answer says one sentence more.
func adding(c *Case, i int, sentence string) jsontext.Value {
	return answering(c, i, func(a *Answer) { a.Text += " " + sentence })
}

// saySplit says of each of the items that tie that it stands alone in a place.
func saySplit(c *Case, i int) []changed {
	var all []changed
	for _, id := range c.recorded.expects.ids() {
		for _, other := range c.recorded.expects.tieOf(id) {
			if other == id {
				continue
			}
			for _, sentence := range []string{
				"%s comes first.", "%s is the cheapest.", "%[1]s comes before %[2]s.", "%[1]s first, then %[2]s.", "%[2]s follows %[1]s.",
				"%[1]s has rank 1, %[2]s has rank 2.", "%[1]s and %[2]s do not tie.", "%[1]s leads.",
			} {
				text := strings.Split(fmt.Sprintf(sentence, id, other), "%!(EXTRA")[0]
				all = append(all, changed{adding(c, i, text), "splits-tie"})
			}
		}
	}
	return all
}

func sayInvented(c *Case, i int) []changed {
	var all []changed
	for _, id := range c.inventory() {
		if !slices.Contains(c.recorded.expects.ids(), id) {
			all = append(all, changed{adding(c, i, id+" meets your filters."), "invents-id"}, changed{adding(c, i, "Light "+id+" costs 4500."), "invents-id"})
		}
	}
	return all
}

// sayLess names all items but one.
func sayLess(c *Case, i int) []changed {
	var all []changed
	var ids []string
	for _, claim := range c.recorded.expects.Preserves {
		if claim.ID != "" {
			ids = append(ids, claim.ID)
		}
	}
	for at := range ids {
		if len(ids) == 1 {
			break
		}
		rule := "drops-result"
		if len(c.recorded.expects.tieOf(ids[at])) > 1 {
			rule = "splits-tie"
		}
		text := strings.Join(slices.Delete(slices.Clone(ids), at, at+1), " and ") + " match your filters."
		all = append(all, changed{answering(c, i, func(a *Answer) { a.Text = text }), rule})
	}
	return all
}

// sayUnread adds sentences that are not decided: they affirm nothing in so many
// words, and it is not certain that they do not.
func sayUnread(c *Case, i int) []changed {
	var all []changed
	sentences := []string{"The brightest one is suitable.", "Дa is suitable.", "It is not unreasonable to call that suitable, I cannot deny."}
	for _, id := range c.recorded.expects.ids() {
		sentences = append(
			sentences, id+" does the job.", id+" may be suitable.", "I cannot recommend "+id+" enough.", "Is "+id+" not suitable?",
			id+" is not unsuitable.", "I would say \""+id+" is suitable\".", "There is no doubt that "+id+" is suitable.",
		)
	}
	for _, sentence := range sentences {
		all = append(all, changed{adding(c, i, sentence), undecided})
	}
	return all
}

func malformedClaim(c *Case, i int) []changed {
	var all []changed
	for _, claim := range []Claim{{Kind: "certain"}, {Kind: claimRank, ID: "B"}, {Kind: claimMatch}, {Kind: claimBest, ID: "B", Rank: 1}, {Kind: claimNoMatches, ID: "B"}} {
		all = append(all, changed{claiming(c, i, claim), void})
	}
	return append(all, changed{answering(c, i, func(a *Answer) { a.Text = " " }), void})
}

package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// compareAnswers notes what the answer to one request breaks.
func compareAnswers(f *findings, c *Case, results []jsontext.Value) {
	for i := range results[1:] {
		f.add("one-answer", 0, nil, results[i+1], "answer %d to the same request", i+2)
	}
	compareAnswer(f, comparison{want: c.Oracle[0], got: results[0]})
}

// answerRules are the rules of the members that decide by their value alone.
var answerRules = map[string]string{
	"basis": "basis", "missing": "missing", "accepted": "accepted", "field": "field", "recommendation": "recommendation",
}

// compareAnswer compares one answer, member by member, with its literal.
func compareAnswer(f *findings, p comparison) {
	if string(p.got) == string(p.want) {
		return
	}
	got, err := membersOf(p.got)
	if err != nil {
		p.add(f, "members", "%s", err)
		return
	}
	want, _ := membersOf(p.want) // lint has decoded it
	before := len(f.list)
	for _, fault := range got.compare(want) {
		p.add(f, "members", "%s", fault)
	}
	for _, m := range want {
		value := got.get(m.name)
		if value == nil || same(value, m.value) {
			continue
		}
		if kind(value) != kind(m.value) {
			p.add(f, "members", "%s is %s, which is of another type than %s", m.name, clip(value.String()), m.value)
			continue
		}
		if rule, known := answerRules[m.name]; known {
			p.add(f, rule, "%s is %s, expected %s", m.name, clip(value.String()), m.value)
			continue
		}
		compareMember(f, p, m, value)
	}
	if len(f.list) == before {
		p.add(f, "form", "the values are right, and the bytes differ from %s", firstByte(p.want, p.got))
	}
}

// compareMember compares the members whose rules depend on what differs.
func compareMember(f *findings, p comparison, want member, value jsontext.Value) {
	switch want.name {
	case "status":
		literal, _ := textOf(want.value)
		given, _ := textOf(value)
		rule := "status"
		if literal == statusInsufficient && !slices.Contains(affirmNothing, given) {
			rule = "affirms-without-evidence"
		}
		p.add(f, rule, "status is %s, expected %s", clip(value.String()), want.value)
	case "ids":
		var ids []string
		if err := json.Unmarshal(value, &ids); err != nil {
			p.add(f, "members", "ids is %s; valid: a list of texts", clip(value.String()))
			return
		}
		compareIDs(f, p, mustIDs(want.value), ids)
	case "items":
		items, ok := readItems(value)
		if !ok {
			p.add(f, "members", "items is %s; valid: a list of {id, rank}", clip(value.String()))
			return
		}
		compareItems(f, p, mustItems(want.value), items)
	default:
		p.add(f, "members", "%s is %s, expected %s", want.name, clip(value.String()), want.value)
	}
}

const statusInsufficient = "insufficient_evidence"

// affirmNothing are the statuses that affirm no suitability.
var affirmNothing = []string{statusInsufficient, "clarify_preferences", "no_matches", "invalid_input"}

// item is one place of an order.
type item struct {
	ID   string `json:"id"`
	Rank int64  `json:"rank"`
}

// readItems decodes the items of an answer, and reports whether each has an id
// and a rank, and nothing else.
func readItems(value jsontext.Value) ([]item, bool) {
	var raw []jsontext.Value
	if err := json.Unmarshal(value, &raw); err != nil {
		return nil, false
	}
	items := make([]item, len(raw))
	for i, each := range raw {
		m, err := membersOf(each)
		if err != nil || len(m.compare(itemForm)) > 0 {
			return nil, false
		}
		id, isText := m.text("id")
		rank, whole := wholeNumber(m.get("rank"))
		if !isText || !whole {
			return nil, false
		}
		items[i] = item{id, rank}
	}
	return items, true
}

var itemForm = mustMembers([]byte(`{"id":"","rank":1}`))

// mustIDs decodes a list that lint has accepted.
func mustIDs(value jsontext.Value) (ids []string) {
	if err := json.Unmarshal(value, &ids); err != nil {
		panic(err)
	}
	return ids
}

// mustItems decodes a list that lint has accepted.
func mustItems(value jsontext.Value) []item {
	items, ok := readItems(value)
	if !ok {
		panic("oracle: no list of items: " + value.String())
	}
	return items
}

// compareIDs notes which ids are too many, too few or in another order.
func compareIDs(f *findings, p comparison, want, got []string) {
	if compareSets(f, p, want, got) && !slices.Equal(want, got) {
		p.add(f, "display-order", "the ids stand as %s, expected %s", list(got), list(want))
	}
}

// compareSets reports whether both lists hold the same ids, each once.
func compareSets(f *findings, p comparison, want, got []string) bool {
	before := len(f.list)
	seen := map[string]bool{}
	for _, id := range got {
		switch {
		case seen[id]:
			p.add(f, "repeats-an-item", "%s stands twice", clip(id))
		case !slices.Contains(want, id):
			p.add(f, "admits-non-match", "%s does not meet the filters", clip(id))
		}
		seen[id] = true
	}
	for _, id := range want {
		if !seen[id] {
			p.add(f, "omits-match", "%s meets the filters and is left out", id)
		}
	}
	return len(f.list) == before
}

// compareItems notes what differs in an order: which items, their order, their
// ranks.
func compareItems(f *findings, p comparison, want, got []item) {
	if !compareSets(f, p, idsOf(want), idsOf(got)) {
		return
	}
	rankOf := map[string]int64{}
	for _, each := range want {
		rankOf[each.ID] = each.Rank
	}
	for i := range got[1:] {
		first, second := got[i], got[i+1]
		switch {
		case rankOf[first.ID] > rankOf[second.ID]:
			p.add(f, "preference-order", "%s stands before %s, which the preferences put first", first.ID, second.ID)
		case rankOf[first.ID] == rankOf[second.ID] && !slices.IsSortedFunc([]item{first, second}, byPlace(want)):
			p.add(f, "display-order", "%s stands before %s, its equal", first.ID, second.ID)
		}
	}
	compareRanks(f, p, rankOf, got)
}

func byPlace(want []item) func(a, b item) int {
	at := func(id string) int { return slices.IndexFunc(want, func(i item) bool { return i.ID == id }) }
	return func(a, b item) int { return at(a.ID) - at(b.ID) }
}

// compareRanks notes ties that are split, and any other rank that differs.
func compareRanks(f *findings, p comparison, want map[string]int64, got []item) {
	for i, each := range got {
		if each.Rank == want[each.ID] {
			continue
		}
		rule := "rank"
		for _, other := range slices.Concat(got[:i], got[i+1:]) {
			if want[other.ID] == want[each.ID] && other.Rank != each.Rank {
				rule = "tie-split"
			}
		}
		p.add(f, rule, "%s has rank %d, expected %d", each.ID, each.Rank, want[each.ID])
	}
}

func idsOf(items []item) []string {
	ids := make([]string, len(items))
	for i, each := range items {
		ids[i] = each.ID
	}
	return ids
}

// list shows ids, which may come from what is judged.
func list(ids []string) string {
	return clip(fmt.Sprintf("[%s]", strings.Join(ids, ", ")))
}

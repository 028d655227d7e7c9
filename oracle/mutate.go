package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// void is the rule of a mutant that cannot be attributed to a case: the run
// judges nothing.
const void = "void"

// Mutant is a wrong result, made from the correct one by an operator. Rule
// must reject it.
type Mutant struct {
	Operator string
	Case     string
	Rule     string
	// One of these stands in the place of what is correct: the case's lines,
	// what a tool answered, or the calls that a caller made.
	Results  []jsontext.Value
	Answers  []ToolAnswer
	Arrivals []Arrival
}

// Operator changes correct results in one way.
type Operator struct {
	Name     string
	Contract Contract
	// mutate gives every mutant of one case.
	mutate func(s *Suite, c *Case) []Mutant
}

// Operators lists the operators of all contracts.
func Operators() []Operator {
	return slices.Concat(traceOperators, toolOperators, callerOperators, answerOperators, guardOperators, platformOperators, recordedOperators)
}

// lineOperator changes one line at a time: change gives the results of a line
// and the rule that each breaks.
func lineOperator(name string, contract Contract, change func(c *Case, i int) []changed) Operator {
	return Operator{name, contract, func(_ *Suite, c *Case) []Mutant {
		var mutants []Mutant
		for i := range c.Oracle {
			for _, one := range change(c, i) {
				lines := slices.Clone(c.Oracle)
				lines[i] = one.line
				mutants = append(mutants, Mutant{Operator: name, Case: c.Name, Rule: one.rule, Results: lines})
			}
		}
		return mutants
	}}
}

// changed is one line, changed, and the rule that it breaks.
type changed struct {
	line jsontext.Value
	rule string
}

var traceOperators = []Operator{
	{"drop", RecoveryV1, dropLine},
	{"duplicate", RecoveryV1, duplicateLine},
	{"reorder", RecoveryV1, reorderLines},
	{"add an execution", RecoveryV1, addExecution},
	lineOperator("one millisecond early", RecoveryV1, shiftTime(-1, "early")),
	lineOperator("one millisecond late", RecoveryV1, shiftTime(+1, "late")),
	lineOperator("change code", RecoveryV1, others("code", "conditions", codes)),
	lineOperator("change action", RecoveryV1, others("action", "action", actions)),
	lineOperator("change disposition", RecoveryV1, others("disposition", "disposition", dispositions)),
	lineOperator("change authentication", RecoveryV1, others("auth_ok", "authentication", []string{"true", "false"})),
	lineOperator("change input", RecoveryV1, changeInput),
	lineOperator("change case", RecoveryV1, others("case", void, []string{`"no-such-case"`})),
	lineOperator("extra member", RecoveryV1, extraMember),
	lineOperator("duplicate member", RecoveryV1, duplicateMember),
	lineOperator("absent member", RecoveryV1, absentMember("case")),
	lineOperator("non-canonical number", RecoveryV1, nonCanonical),
	lineOperator("white space", RecoveryV1, whiteSpace),
	lineOperator("member order", RecoveryV1, memberOrder),
}

// What each member is changed to, as JSON.
var (
	codes        = []string{`"OK"`, `"INVALID_ARGUMENT"`, `"AUTH_REQUIRED"`, `"ACCESS_DENIED"`, `"TEMP_UNAVAILABLE"`, `"ODDITY"`}
	actions      = []string{`"complete"`, `"request_correction"`, `"request_authentication"`, `"wait_and_retry"`, `"stop"`}
	dispositions = []string{`null`, `"success"`, `"needs_input"`, `"needs_auth"`, `"retry_exhausted"`, `"refused"`, `"unknown"`}
)

func dropLine(_ *Suite, c *Case) []Mutant {
	var mutants []Mutant
	for i := range c.Oracle {
		rule := "numbering"
		switch {
		case len(c.Oracle) == 1:
			rule = void
		case i == len(c.Oracle)-1:
			rule = "missing-execution"
		}
		mutants = append(mutants, Mutant{Operator: "drop", Case: c.Name, Rule: rule, Results: slices.Delete(slices.Clone(c.Oracle), i, i+1)})
	}
	return mutants
}

func duplicateLine(_ *Suite, c *Case) []Mutant {
	var mutants []Mutant
	for i, line := range c.Oracle {
		mutants = append(mutants, Mutant{Operator: "duplicate", Case: c.Name, Rule: "numbering", Results: slices.Insert(slices.Clone(c.Oracle), i, line)})
	}
	return mutants
}

func reorderLines(_ *Suite, c *Case) []Mutant {
	var mutants []Mutant
	for i := range c.Oracle[1:] {
		lines := slices.Clone(c.Oracle)
		lines[i], lines[i+1] = lines[i+1], lines[i]
		mutants = append(mutants, Mutant{Operator: "reorder", Case: c.Name, Rule: "numbering", Results: lines})
	}
	return mutants
}

// addExecution repeats the last execution after the end of the case.
func addExecution(_ *Suite, c *Case) []Mutant {
	last := c.Oracle[len(c.Oracle)-1]
	n := len(c.Oracle) + 1
	rule := "budget"
	if n <= limit {
		rule = map[string]string{
			codeOK: "execution-after-success", codeInvalid: "unchanged-input-resent",
			codeAuth: "retry-without-renewal", codeDenied: "retry-after-refusal",
		}[readTrace(last).Code]
	}
	if rule == "" {
		rule = "retry-after-unknown"
	}
	again := with(last, "execution", strconv.Itoa(n))
	return []Mutant{{Operator: "add an execution", Case: c.Name, Rule: rule, Results: append(slices.Clone(c.Oracle), again)}}
}

func shiftTime(ms int64, rule string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		at := readTrace(c.Oracle[i]).AtMS + ms
		return []changed{{with(c.Oracle[i], "at_ms", strconv.FormatInt(at, 10)), rule}}
	}
}

// others replaces a member by every value but its own.
func others(name, rule string, values []string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		var all []changed
		own := memberValue(c.Oracle[i], name)
		for _, value := range values {
			if value != own {
				all = append(all, changed{with(c.Oracle[i], name, value), rule})
			}
		}
		return all
	}
}

// changeInput gives another reference, and the one that was refused before.
func changeInput(c *Case, i int) []changed {
	line := readTrace(c.Oracle[i])
	all := []changed{{with(c.Oracle[i], "input", `{"shipment_ref":"SHIP-999x"}`), "input"}}
	for _, literal := range c.Oracle[:i] {
		if before := readTrace(literal); before.Code == codeInvalid && !same(before.Input, line.Input) {
			all = append(all, changed{with(c.Oracle[i], "input", before.Input.String()), "unchanged-input-resent"})
		}
	}
	return all
}

func extraMember(c *Case, i int) []changed {
	return []changed{{joined(append(mustMembers(c.Oracle[i]), member{"note", jsontext.Value("null")})), "members"}}
}

// duplicateMember repeats each member but the one that identifies the case.
func duplicateMember(c *Case, i int) []changed {
	var all []changed
	m := mustMembers(c.Oracle[i])
	for _, each := range m[1:] {
		all = append(all, changed{joined(append(slices.Clone(m), each)), "members"})
	}
	return all
}

// absentMember leaves out each member; without the identity, nothing can be
// judged.
func absentMember(identity string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		var all []changed
		m := mustMembers(c.Oracle[i])
		for at, each := range m {
			rule := "members"
			if each.name == identity {
				rule = void
			}
			all = append(all, changed{joined(slices.Delete(slices.Clone(m), at, at+1)), rule})
		}
		return all
	}
}

// nonCanonical writes each number of the line with a fraction and with an
// exponent.
func nonCanonical(c *Case, i int) []changed {
	var all []changed
	for _, each := range mustMembers(c.Oracle[i]) {
		if each.value.Kind() == '0' {
			for _, suffix := range []string{".0", "e0"} {
				all = append(all, changed{with(c.Oracle[i], each.name, each.value.String()+suffix), "form"})
			}
		}
	}
	return all
}

func whiteSpace(c *Case, i int) []changed {
	line := c.Oracle[i].String()
	return []changed{
		{jsontext.Value("{ " + line[1:]), "form"},
		{jsontext.Value(line + " "), "form"},
		{jsontext.Value(line + "\r"), "form"},
	}
}

func memberOrder(c *Case, i int) []changed {
	var all []changed
	m := mustMembers(c.Oracle[i])
	for at := range m[1:] {
		swapped := slices.Clone(m)
		swapped[at], swapped[at+1] = swapped[at+1], swapped[at]
		all = append(all, changed{joined(swapped), "form"})
	}
	return all
}

var answerOperators = []Operator{
	{"drop", CatalogueV1, func(_ *Suite, c *Case) []Mutant {
		return []Mutant{{Operator: "drop", Case: c.Name, Rule: void, Results: nil}}
	}},
	{"duplicate", CatalogueV1, func(_ *Suite, c *Case) []Mutant {
		return []Mutant{{Operator: "duplicate", Case: c.Name, Rule: "one-answer", Results: slices.Concat(c.Oracle, c.Oracle)}}
	}},
	lineOperator("change status", CatalogueV1, changeStatus),
	{"admit a non-match", CatalogueV1, admitNonMatch},
	lineOperator("omit a match", CatalogueV1, omitMatch),
	lineOperator("repeat an item", CatalogueV1, repeatItem),
	lineOperator("reorder", CatalogueV1, reorderItems),
	lineOperator("split a tie", CatalogueV1, splitTie),
	lineOperator("swap ranks", CatalogueV1, swapRanks),
	lineOperator("affirm without evidence", CatalogueV1, affirm),
	lineOperator("recommend", CatalogueV1, recommend),
	lineOperator("name another field", CatalogueV1, renameText("field", "field")),
	lineOperator("name another basis", CatalogueV1, renameText("basis", "basis")),
	lineOperator("shorten a list", CatalogueV1, shortenLists),
	lineOperator("change case", CatalogueV1, others("request_id", void, []string{`"no-such-request"`})),
	lineOperator("extra member", CatalogueV1, extraMember),
	lineOperator("duplicate member", CatalogueV1, duplicateMember),
	lineOperator("absent member", CatalogueV1, absentMember("request_id")),
	lineOperator("non-canonical number", CatalogueV1, nonCanonicalRank),
	lineOperator("white space", CatalogueV1, whiteSpace),
	lineOperator("member order", CatalogueV1, memberOrder),
}

var statuses = []string{
	`"matches"`, `"preference_order"`, `"clarify_preferences"`, `"no_matches"`, `"invalid_input"`, `"insufficient_evidence"`,
}

// changeStatus gives every other status; matches in the place of missing
// evidence affirms.
func changeStatus(c *Case, i int) []changed {
	all := others("status", "status", statuses)(c, i)
	if memberValue(c.Oracle[i], "status") != `"insufficient_evidence"` {
		return all
	}
	for at, one := range all {
		if status := memberValue(one.line, "status"); status == `"matches"` || status == `"preference_order"` {
			all[at].rule = "affirms-without-evidence"
		}
	}
	return all
}

// affirm calls what has no evidence suitable.
func affirm(c *Case, i int) []changed {
	if memberValue(c.Oracle[i], "status") != `"insufficient_evidence"` {
		return nil
	}
	var all []changed
	for _, status := range []string{`"suitable"`, `"assessed"`, `"recommended"`} {
		all = append(all, changed{with(c.Oracle[i], "status", status), "affirms-without-evidence"})
	}
	return all
}

func recommend(c *Case, i int) []changed {
	return []changed{{with(c.Oracle[i], "recommendation", "true"), "recommendation"}}
}

func renameText(name, rule string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		own := memberValue(c.Oracle[i], name)
		if own == "" {
			return nil
		}
		return []changed{{with(c.Oracle[i], name, own[:len(own)-1]+`x"`), rule}}
	}
}

// shortenLists takes each entry out of missing and accepted.
func shortenLists(c *Case, i int) []changed {
	var all []changed
	for _, name := range []string{"missing", "accepted"} {
		value := memberValue(c.Oracle[i], name)
		if value == "" {
			continue
		}
		entries := mustIDs(jsontext.Value(value))
		for at := range entries {
			all = append(all, changed{with(c.Oracle[i], name, encode(slices.Delete(slices.Clone(entries), at, at+1))), name})
		}
	}
	return all
}

// entries are the ids or the items of an answer, as raw values, and which.
func entries(line jsontext.Value) (name string, list []jsontext.Value) {
	for _, name := range []string{"ids", "items"} {
		if value := memberValue(line, name); value != "" {
			if err := json.Unmarshal([]byte(value), &list); err != nil {
				panic(err)
			}
			return name, list
		}
	}
	return "", nil
}

// withEntries is the answer with other ids or items.
func withEntries(line jsontext.Value, list []jsontext.Value) jsontext.Value {
	name, _ := entries(line)
	texts := make([]string, len(list))
	for i, each := range list {
		texts[i] = each.String()
	}
	return with(line, name, "["+strings.Join(texts, ",")+"]")
}

// admitNonMatch adds each item of the fixture that is none of the answer's.
func admitNonMatch(s *Suite, c *Case) []Mutant {
	name, list := entries(c.Oracle[0])
	if name == "" {
		return nil
	}
	var mutants []Mutant
	for _, each := range s.Fixture.Items {
		id := memberValue(each, "id")
		entry := id
		if name == "items" {
			entry = fmt.Sprintf(`{"id":%s,"rank":%d}`, id, len(list)+1)
		}
		if strings.Contains(memberValue(c.Oracle[0], name), id) {
			continue
		}
		admitted := append(slices.Clone(list), jsontext.Value(entry))
		mutants = append(mutants, Mutant{Operator: "admit a non-match", Case: c.Name, Rule: "admits-non-match", Results: []jsontext.Value{withEntries(c.Oracle[0], admitted)}})
	}
	return mutants
}

func omitMatch(c *Case, i int) []changed {
	var all []changed
	_, list := entries(c.Oracle[i])
	for at := range list {
		all = append(all, changed{withEntries(c.Oracle[i], slices.Delete(slices.Clone(list), at, at+1)), "omits-match"})
	}
	return all
}

func repeatItem(c *Case, i int) []changed {
	var all []changed
	_, list := entries(c.Oracle[i])
	for at, each := range list {
		all = append(all, changed{withEntries(c.Oracle[i], slices.Insert(slices.Clone(list), at, each)), "repeats-an-item"})
	}
	return all
}

// reorderItems exchanges neighbours: between equals that is a matter of
// display, between others one of preference.
func reorderItems(c *Case, i int) []changed {
	var all []changed
	name, list := entries(c.Oracle[i])
	for at := 1; at < len(list); at++ {
		rule := "display-order"
		if name == "items" && memberValue(list[at-1], "rank") != memberValue(list[at], "rank") {
			rule = "preference-order"
		}
		swapped := slices.Clone(list)
		swapped[at-1], swapped[at] = swapped[at], swapped[at-1]
		all = append(all, changed{withEntries(c.Oracle[i], swapped), rule})
	}
	return all
}

// splitTie gives the second of two equals a rank of its own.
func splitTie(c *Case, i int) []changed {
	var all []changed
	name, list := entries(c.Oracle[i])
	for at := 1; name == "items" && at < len(list); at++ {
		if memberValue(list[at-1], "rank") == memberValue(list[at], "rank") {
			split := slices.Clone(list)
			split[at] = with(list[at], "rank", strconv.Itoa(at+1))
			all = append(all, changed{withEntries(c.Oracle[i], split), "tie-split"})
		}
	}
	return all
}

// swapRanks exchanges the ranks of neighbours that are not equal. That splits
// a tie in which either stands.
func swapRanks(c *Case, i int) []changed {
	var all []changed
	name, list := entries(c.Oracle[i])
	for at := 1; name == "items" && at < len(list); at++ {
		first, second := memberValue(list[at-1], "rank"), memberValue(list[at], "rank")
		if first == second {
			continue
		}
		rule := "rank"
		if tied(list, first) || tied(list, second) {
			rule = "tie-split"
		}
		swapped := slices.Clone(list)
		swapped[at-1], swapped[at] = with(list[at-1], "rank", second), with(list[at], "rank", first)
		all = append(all, changed{withEntries(c.Oracle[i], swapped), rule})
	}
	return all
}

func tied(list []jsontext.Value, rank string) bool {
	n := 0
	for _, each := range list {
		if memberValue(each, "rank") == rank {
			n++
		}
	}
	return n > 1
}

// nonCanonicalRank writes each rank with a fraction and with an exponent.
func nonCanonicalRank(c *Case, i int) []changed {
	var all []changed
	name, list := entries(c.Oracle[i])
	for at := 0; name == "items" && at < len(list); at++ {
		for _, suffix := range []string{".0", "e0"} {
			written := slices.Clone(list)
			written[at] = with(list[at], "rank", memberValue(list[at], "rank")+suffix)
			all = append(all, changed{withEntries(c.Oracle[i], written), "form"})
		}
	}
	return all
}

// with is an object in which a member has another value.
func with(line jsontext.Value, name, value string) jsontext.Value {
	m := mustMembers(line)
	for i := range m {
		if m[i].name == name {
			m[i].value = jsontext.Value(value)
		}
	}
	return joined(m)
}

// memberValue is the JSON of a member; "" if there is none.
func memberValue(line jsontext.Value, name string) string {
	return string(mustMembers(line).get(name))
}

// mustMembers takes apart a line that lint has accepted.
func mustMembers(line jsontext.Value) members {
	m, err := membersOf(line)
	if err != nil {
		panic(err)
	}
	return m
}

func joined(m members) jsontext.Value {
	out := []byte{'{'}
	for i, each := range m {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := jsontext.AppendQuote(nil, each.name)
		if err != nil { // it was read as a name
			panic(err)
		}
		out = append(append(append(out, name...), ':'), each.value...)
	}
	return append(out, '}')
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // lists of texts
		panic(err)
	}
	return string(text)
}

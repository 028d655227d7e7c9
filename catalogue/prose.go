package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"remit.example/contract"
)

// words makes the bounded prose: sentences from the request, the contract's
// labels and the typed answer, which never say more than the answer does.
type words struct{ contract *contract.Contract }

func (w words) label(column string) contract.Label {
	declared, ok := w.contract.Columns.Get(column)
	if !ok || declared.Label == nil {
		return contract.Label{}
	}
	return *declared.Label
}

// spaced is a name of the contract as words.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// name is the noun of a column.
func (w words) name(column string) string {
	if label := w.label(column).Name; label != "" {
		return label
	}
	return spaced(column)
}

// wish is what preferring a column in a direction asks for.
func (w words) wish(column string, direction contract.Direction) string {
	if wish := w.declaredWish(column, direction); wish != "" {
		return wish
	}
	switch direction {
	case contract.Lowest:
		return "a lower " + w.name(column)
	case contract.Highest:
		return "a higher " + w.name(column)
	}
	return w.name(column)
}

func (w words) declaredWish(column string, direction contract.Direction) string {
	label := w.label(column)
	switch direction {
	case contract.Lowest:
		return label.Lowest
	case contract.Highest:
		return label.Highest
	}
	return label.True
}

// preference names one preference: lower-price-first.
func (w words) preference(p contract.Preference) string {
	wish := strings.TrimPrefix(strings.TrimPrefix(w.wish(p.Column, p.Direction), "a "), "an ")
	return strings.ReplaceAll(wish, " ", "-") + "-first"
}

// Joined is "A", "A and B", "A, B and C".
func Joined(texts []string, conjunction string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " " + conjunction + " " + texts[last]
}

// maxNamed bounds the ids in a sentence.
const maxNamed = 10

// named lists ids, of which there are total.
func named(ids []string, total int) string {
	known := len(ids)
	ids = slices.Clone(ids[:min(known, maxNamed)])
	for i := range ids {
		ids[i] = Clip(ids[i])
	}
	if total <= maxNamed && known == total {
		return Joined(ids, "and")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids, ", "), total-len(ids))
}

func verb(count int, one, several string) string {
	if count == 1 {
		return one
	}
	return several
}

// filters names the columns of the request's filters; "" where it has none.
func (w words) filters(r request) string {
	var columns []string
	for _, filter := range r.filters {
		if name := w.name(filter.argument.Column); !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	if len(columns) == 0 {
		return ""
	}
	return fmt.Sprintf("the %s %s", Joined(columns, "and"), verb(len(columns), "filter", "filters"))
}

func (w words) matches(r request, rows []Row, total int) string {
	filters := w.filters(r)
	if filters == "" {
		return fmt.Sprintf("No filter was given: the catalogue holds %s.", named(ids(rows), total))
	}
	return fmt.Sprintf("%s %s %s.", named(ids(rows), total), verb(total, "matches", "match"), filters)
}

// noMatches tells apart what no record meets, what none is known to meet, and
// what has no place in an order.
func (w words) noMatches(r request, result Result) string {
	for i, p := range r.preferences {
		if p.key.Unknown == Exclude && result.UnknownKeys[i] > 0 {
			return fmt.Sprintf("Nothing is in the order: the %s of %d matching %s is not known, and unknown values were to be left out.",
				w.name(p.preference.Column), result.UnknownKeys[i], verb(result.UnknownKeys[i], "record", "records"))
		}
	}
	filters := w.filters(r)
	switch {
	case filters == "":
		return "The catalogue holds no record to answer with."
	case slices.Max(result.ExcludedUnknown) > 0:
		return fmt.Sprintf("No record is known to meet %s.", filters)
	}
	return fmt.Sprintf("No record meets %s.", filters)
}

// order tells the first places and the preferences that decided them.
func (w words) order(r request, rows []Row, total int) string {
	preferences := w.deciding(r, rows, len(rows) < total)
	var parts []string
	told := 0
	groups := ranks(rows)
	for _, group := range groups[:min(len(groups), 3)] {
		parts = append(parts, named(ids(group), group[0].Tied))
		told += len(group)
	}
	if left := len(rows) - told; left > 0 {
		parts[2] += fmt.Sprintf(", then %d more", left)
		if len(rows) < total {
			parts[2] += " on this page"
		}
	}
	first := groups[0]
	sentence := fmt.Sprintf("%s %s under your %s", parts[0], placed(first[0]), preferences)
	switch {
	case len(parts) == 2:
		sentence += fmt.Sprintf("; %s %s", parts[1], verb(groups[1][0].Tied, "follows", "follow"))
	case len(parts) > 2:
		sentence += fmt.Sprintf("; %s, then %s follow", parts[1], parts[2])
	}
	if shown := len(rows); shown < total {
		sentence += fmt.Sprintf(" (%d of %d are shown)", shown, total)
	}
	return sentence + ". " + w.boundary()
}

// placed says where a row's rank stands.
func placed(row Row) string {
	switch {
	case row.Rank == 1 && row.Tied > 1:
		return "tie"
	case row.Rank == 1:
		return "comes first"
	case row.Tied > 1:
		return fmt.Sprintf("share rank %d", row.Rank)
	}
	return fmt.Sprintf("has rank %d", row.Rank)
}

// deciding names the preferences that decided a place among the rows, or all
// of them where none did, or where rows are left out that they placed too.
func (w words) deciding(r request, rows []Row, more bool) string {
	decided := map[int]bool{}
	for _, row := range rows {
		if row.DecidedBy >= 0 {
			decided[row.DecidedBy] = true
		}
	}
	var texts []string
	for i, p := range r.preferences {
		if decided[i] || more || len(decided) == 0 {
			texts = append(texts, w.preference(p.preference))
		}
	}
	return Joined(texts, "and") + verb(len(texts), " preference", " preferences")
}

// stale says what old data no longer establishes.
func (w words) stale() string {
	var volatile []string
	for _, column := range w.contract.Columns {
		if column.Value.Volatile {
			volatile = append(volatile, w.name(column.Name))
		}
	}
	const old = "The data is older than the contract permits"
	if len(volatile) == 0 {
		return old + "."
	}
	return fmt.Sprintf("%s, so that the %s of every record %s as unknown.", old, Joined(volatile, "and"), verb(len(volatile), "counts", "count"))
}

// ranks splits rows into runs of one rank.
func ranks(rows []Row) [][]Row {
	var groups [][]Row
	for i, row := range rows {
		if i == 0 || rows[i-1].Rank != row.Rank {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], row)
	}
	return groups
}

// boundary says what an order does not establish.
func (w words) boundary() string {
	if len(w.contract.Purposes) == 0 {
		return "This order does not assess suitability for any purpose."
	}
	var purposes []string
	for _, purpose := range w.contract.Purposes {
		purposes = append(purposes, w.purpose(purpose.Name, purpose.Value))
	}
	return fmt.Sprintf("This order does not assess %s.", Joined(purposes, "or"))
}

func (w words) purpose(name string, p *contract.Purpose) string {
	if p.Label != "" {
		return p.Label
	}
	return spaced(name)
}

// clarify asks for a preference. It offers the directions that the labels
// have words for, and of a column without such words its first.
func (w words) clarify(preferences []contract.Preference) string {
	var wishes []string
	for i, p := range preferences {
		offered := w.declaredWish(p.Column, p.Direction) != ""
		if !w.worded(p.Column) {
			offered = i == 0 || preferences[i-1].Column != p.Column
		}
		if offered {
			wishes = append(wishes, w.wish(p.Column, p.Direction))
		}
	}
	const boundary = " I have not chosen for you."
	switch len(wishes) {
	case 1:
		return fmt.Sprintf("Does %s matter to you?", wishes[0]) + boundary
	case 2:
		return fmt.Sprintf("Which matters more to you, %s?", Joined(wishes, "or")) + boundary
	}
	return fmt.Sprintf("Which matters most to you: %s?", Joined(wishes, "or")) + boundary
}

func (w words) worded(column string) bool {
	label := w.label(column)
	return label.Lowest != "" || label.Highest != "" || label.True != ""
}

// assessed tells how many of the matches have each verdict.
func (w words) assessed(r request, total int, counts counts) string {
	purpose := w.purpose(r.purpose.Name, r.purpose.Value)
	if counts.suitable+counts.unsuitable == 0 {
		subject := "These items match your filters"
		if len(r.filters) == 0 {
			subject = "These items are in the catalogue"
		}
		return fmt.Sprintf("%s, but this catalogue cannot establish which is suitable for %s.", subject, purpose)
	}
	sentence := fmt.Sprintf("By %s, %d of %d %s every criterion of %s, %d %s not, and for %d the evidence does not decide.",
		r.purpose.Value.Method, counts.suitable, total, verb(counts.suitable, "meets", "meet"), purpose,
		counts.unsuitable, verb(counts.unsuitable, "does", "do"), counts.insufficient)
	if len(r.purpose.Value.NotAssessed) == 0 {
		return sentence
	}
	return sentence + fmt.Sprintf(" It does not assess %s.", Joined(r.purpose.Value.NotAssessed, "or"))
}

// mustBe says what a filter's value must be.
func (w words) mustBe(f contract.FilterArgument) string {
	column, _ := w.contract.Columns.Get(f.Column)
	noun := map[contract.FilterOp]string{contract.Max: "ceiling", contract.Min: "floor"}[f.Op]
	if noun == "" {
		noun = "filter"
	}
	sentence := fmt.Sprintf("The %s %s must be %s", w.name(f.Column), noun, w.typed(column, f.Op))
	if column.Example != "" && column.Kind() != contract.Boolean {
		sentence += fmt.Sprintf(", such as %s", column.Example)
	}
	return sentence + "."
}

func (w words) typed(column *contract.Column, op contract.FilterOp) string {
	switch column.Kind() {
	case contract.Money:
		return "a whole number of minor units"
	case contract.Integer:
		return "a whole number"
	case contract.Decimal:
		return fmt.Sprintf("a number with at most %d decimals", column.Scale)
	case contract.Boolean:
		return "true or false"
	}
	if op == contract.Words {
		return "a text with at least one word"
	}
	return "a text that is not empty"
}

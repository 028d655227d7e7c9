package oracle

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// # What counts as an affirmation in the text of an answer
//
// The grammar is small, and errs on the side of not deciding. What it cannot
// decide is unchecked, never a pass.
//
// A text is sentences; a sentence is clauses, which end at a comma, a
// semicolon, a colon, a dash, a parenthesis, a line, and before and, but,
// however, although, though, while, whereas, so, because, since. Items are
// named by their id, as a whole word in its own case, or by their name. Ids that
// commas, and, or, / and & join are one group, and end no clause. A at the
// beginning of a clause is the article before a word such as light or lower. A
// clause that begins with is, are, they, it or which goes on about the items
// that its sentence named before.
//
// A clause is covered from where it states a limit of knowledge: a negation and,
// within five words, a word of knowing (cannot say, no record shows, not
// established), or a word such as insufficient or unknown. A clause that begins
// with whether, which or evidence and is covered later is covered whole. Words
// that turn a limit around (only, enough, doubt, other than) or a second negation
// leave a covered clause undecided.
//
//	affirms      an uncovered word of suitability or preference, in a clause
//	             about items, with no negation before it: the answer breaks
//	             names-suitable or calls-best
//	undecided    the same after a negation, under would or may, in quotes or in
//	             a question; a word of that kind in a clause about no item,
//	             unless a question or a user's wish holds it; any word in a
//	             clause that names items which the lexicon does not have
//	invents-id   an uncovered clause names an item that the answer may not name
//	splits-tie   of items that tie, a clause names some and gives them a place
//	             (first, then, before, rank 2), or says that they do not tie
//	misranks     a clause gives a place that is not the item's
//	drops-result the text names some of what was returned and leaves out others
//
// Besides, every clause must be of a form that passes (browser_forms.go), and
// a clause must say what the answer has to preserve, or the answer is undecided:
// a form that states a limit of knowledge where evidence is missing; the items of
// a tie in one group with a word such as tie or first; a form that asks for the
// preference where one is missing; a form that denies any match where nothing
// matches.

// word is one word of a text, or a group of items.
type word struct {
	text   string // small letters
	is     class
	group  []string // ids; of a word that names items
	quoted bool
	number bool
	full   bool // a group whose last item came after and, or or
}

// phrase is a clause, a part of a sentence.
type phrase struct {
	words    []word
	about    []string // ids of an earlier clause of its sentence that it goes on about
	question bool
	sentence int
	text     string // for the report
}

// lexicon is what a text is read by.
type lexicon struct {
	expects  *expectation
	names    [][2]string // of an item: a name or an id, and the id; longest first
	mayName  []string
	ties     [][]string
	mustSay  string             // the kind of claim that the text must state; "" if none
	suitable string             // the rule of words of preference
	figures  map[string][]int64 // the price and the light output of each item
	limits   []int64            // the numbers of the filters
}

// lexiconOf is that of a case.
func lexiconOf(c *Case) *lexicon {
	e := &c.recorded.expects
	l := &lexicon{expects: e, mayName: e.ids(), suitable: "calls-best", figures: map[string][]int64{}}
	for _, item := range c.recorded.fixture.Items {
		m := mustMembers(item)
		id, _ := m.text("id")
		l.names = append(l.names, [2]string{id, id})
		if name, ok := m.text("name"); ok {
			l.names = append(l.names, [2]string{name, id})
		}
		l.figures[id] = numbersOf(m)
	}
	for _, p := range e.Parameters {
		if filters := mustMembers(p).get("filters"); filters.Kind() == '{' {
			l.limits = append(l.limits, numbersOf(mustMembers(filters))...)
		}
	}
	slices.SortStableFunc(l.names, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	for _, id := range l.mayName {
		tie := e.tieOf(id)
		if len(tie) > 1 && tie[0] == id {
			l.ties = append(l.ties, tie)
		}
	}
	for _, kind := range []string{claimInsufficient, claimClarify, claimNoMatches} {
		if e.has(kind) {
			l.mustSay = kind
		}
	}
	if l.mustSay == claimInsufficient {
		l.suitable = "names-suitable"
	}
	return l
}

// numbersOf are the whole numbers among the members of an object.
func numbersOf(m members) (all []int64) {
	for _, each := range m {
		if n, ok := wholeNumber(each.value); ok {
			all = append(all, n)
		}
	}
	return all
}

// reading collects what a text breaks and what cannot be decided.
type reading struct {
	*lexicon
	faults    []fault
	undecided []string
	named     []string // ids
	said      bool     // what the text must state
	tied      int      // ties that it states
}

func (r *reading) breaks(rule string, c *phrase, format string, args ...any) {
	r.faults = append(r.faults, fault{rule, fmt.Sprintf(format, args...) + ": " + clip(c.text)})
}

func (r *reading) leaves(c *phrase, format string, args ...any) {
	r.undecided = append(r.undecided, "text: "+fmt.Sprintf(format, args...)+": "+clip(c.text))
}

// read judges a text.
func (l *lexicon) read(text string) (faults []fault, undecided []string) {
	r := &reading{lexicon: l}
	if strange := strings.IndexFunc(text, unreadable); strange >= 0 {
		return nil, []string{"text: it has characters that the grammar does not read: " + clip(text)}
	}
	all := phrases(text, l.names)
	for i := range all {
		all[i].about = carried(all[:i], all[i])
		r.clause(all[:i], &all[i])
	}
	r.hold(all)
	r.whole(text)
	return r.faults, r.undecided
}

// unreadable reports whether a character is of another script than Latin, or
// is not seen.
func unreadable(r rune) bool {
	return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || r == unicode.ReplacementChar
}

// carried are the items that a clause goes on about.
func carried(before []phrase, c phrase) []string {
	if len(before) == 0 || len(c.words) == 0 || c.words[0].is&continues == 0 {
		return nil
	}
	last := before[len(before)-1]
	first := c.words[0].text
	if last.sentence != c.sentence || len(last.words) == 0 {
		return nil
	}
	if (first == "which" || first == "who") && last.words[len(last.words)-1].group == nil {
		return nil
	}
	for i := len(before) - 1; i >= 0 && before[i].sentence == c.sentence; i-- {
		if ids := before[i].ids(); len(ids) > 0 {
			return ids
		}
	}
	return nil
}

// ids are those that a clause names, outside quotes.
func (c *phrase) ids() (ids []string) {
	for _, w := range c.words {
		if w.group != nil && !w.quoted {
			ids = append(ids, w.group...)
		}
	}
	return ids
}

// first is the place of the first unquoted word of a class at or after a place;
// -1 if there is none.
func (c *phrase) first(is class, from int) int {
	for i := from; i < len(c.words); i++ {
		if c.words[i].is&is != 0 && !c.words[i].quoted {
			return i
		}
	}
	return -1
}

// reach is how many words after a negation a word of knowing may stand.
const reach = 5

// limit is the place where a clause begins to state a limit of knowledge;
// len(words) if it states none.
func (c *phrase) limit() int {
	from := len(c.words)
	for i, w := range c.words {
		if w.quoted {
			continue
		}
		if w.is&lacks != 0 && c.lacking(i) || w.is&negates != 0 && c.knowsAfter(i) {
			from = i
			break
		}
	}
	if from == len(c.words) {
		return from
	}
	open := c.first(opens, 0)
	if open >= 0 && open < from && !slices.ContainsFunc(c.words[:open], func(w word) bool { return w.group != nil }) {
		return open
	}
	return from
}

// lacking reports whether a word such as unknown or insufficient is said of
// what is known: it follows a form of to be, or a word of knowing follows.
func (c *phrase) lacking(at int) bool {
	if at > 0 && slices.Contains([]string{"is", "are", "was", "were", "be", "remains", "remain", "still"}, c.words[at-1].text) {
		return true
	}
	return slices.ContainsFunc(c.words[at+1:min(len(c.words), at+3)], func(w word) bool { return w.is&knows != 0 && !w.quoted })
}

// knowsAfter reports whether a word of knowing follows a negation. Items may
// stand between them only after none and neither.
func (c *phrase) knowsAfter(at int) bool {
	over := slices.Contains([]string{"none", "neither", "nothing", "nobody"}, c.words[at].text)
	for i := at + 1; i < len(c.words) && i <= at+reach; i++ {
		w := c.words[i]
		if w.quoted || w.group != nil && !over || w.group == nil && w.is == 0 {
			return false
		}
		if w.is&knows != 0 {
			return true
		}
	}
	return false
}

// turned reports whether something in a covered clause may turn its limit
// around.
func (c *phrase) turned() bool {
	negations := 0
	for i, w := range c.words {
		harmless := w.text == "enough" && i > 0 && c.words[i-1].is&negates != 0 || // not enough evidence
			w.text == "as" && i+1 < len(c.words) && c.words[i+1].is&(suits|best) != 0 || // none is known as suitable
			w.text == "than" && i > 2 && c.words[i-1].text == "better" && c.words[i-3].group != nil // that B is better than D
		if w.is&escapes != 0 && !harmless {
			return true
		}
		if w.is&(negates|disputes) != 0 {
			negations++
		}
	}
	return negations > 1
}

// clause judges one clause.
func (r *reading) clause(before []phrase, c *phrase) {
	from := c.limit()
	covered := from < len(c.words)
	ids := c.ids()
	r.named = append(r.named, ids...)
	worth := c.first(suits|best|disputes, 0)
	if covered && c.turned() && (worth >= 0 || len(ids) > 0) {
		r.leaves(c, "what it denies may be turned around")
		return
	}
	r.worth(before, c, from)
	r.quotes(c, covered)
	if len(ids) > 0 || len(c.about) > 0 {
		r.items(c, from)
	}
}

// worth judges the words of suitability and preference before the place from
// which a clause is covered.
func (r *reading) worth(before []phrase, c *phrase, from int) {
	about := len(c.ids()) > 0 || len(c.about) > 0
	for i := range c.words[:from] {
		w := c.words[i]
		if w.quoted || w.is&(suits|best|disputes) == 0 {
			continue
		}
		wish := c.first(asks, 0)
		switch {
		case !about && (c.question || wish >= 0 || w.is&weak != 0):
		case !about:
			r.leaves(c, "%s is said of something that the grammar does not follow", w.text)
		case c.question || w.is&disputes != 0 || c.first(hedges, 0) >= 0 || c.negated(before, i):
			r.leaves(c, "whether it affirms %s cannot be decided", w.text)
		default:
			rule := "names-suitable"
			if w.is&best != 0 {
				rule = r.suitable
			}
			r.breaks(rule, c, "it affirms %s", w.text)
			return
		}
	}
}

// negated reports whether a negation stands before a word, in its clause or in
// an earlier one of the sentence that names no item.
func (c *phrase) negated(before []phrase, at int) bool {
	if i := c.first(negates|opens, 0); i >= 0 && i < at && !(i == 0 && len(c.about) > 0 && c.words[0].is&negates == 0) {
		return true
	}
	for i := len(before) - 1; i >= 0 && before[i].sentence == c.sentence; i-- {
		if len(before[i].ids()) == 0 && before[i].first(negates, 0) >= 0 && before[i].limit() == len(before[i].words) {
			return true
		}
	}
	return false
}

// quotes leaves undecided what a quotation affirms, unless the clause around
// it is covered or a question.
func (r *reading) quotes(c *phrase, covered bool) {
	for _, w := range c.words {
		if w.quoted && w.is&(suits|best|disputes) != 0 && !covered && !c.question && c.first(asks, 0) < 0 {
			r.leaves(c, "it quotes %s", w.text)
			return
		}
	}
}

// items judges what a clause says of the items that it names.
func (r *reading) items(c *phrase, from int) {
	negated := c.first(negates, 0)
	about := c.ids() // of what was named before, only the words are judged
	for _, w := range c.words[:from] {
		switch {
		case w.quoted || w.number:
		case w.group != nil:
			r.allowed(c, w.group, negated >= 0)
		case w.is == 0:
			r.leaves(c, "the word %s is not in the lexicon", clip(w.text))
			return
		case w.is&hedges != 0:
			r.leaves(c, "%s leaves open what it says of items", w.text)
			return
		}
	}
	if len(about) == 0 {
		return
	}
	if from < len(c.words) {
		if place := c.first(leads|follows, 0); place >= 0 && place < from {
			r.leaves(c, "it gives a place and denies something")
		}
		return
	}
	tie := c.first(ties, 0)
	apart := tie > 0 && c.words[tie-1].is&negates != 0
	if negated >= 0 && !apart {
		r.leaves(c, "what it denies of items cannot be decided")
		return
	}
	r.places(c, apart)
}

// allowed judges whether items may be named.
func (r *reading) allowed(c *phrase, group []string, negated bool) {
	for _, id := range group {
		switch {
		case slices.Contains(r.mayName, id):
		case negated:
			r.leaves(c, "it denies something of %s", id)
		default:
			r.breaks("invents-id", c, "it names %s, which was not returned", id)
		}
	}
}

// places judges the order that a clause gives items.
func (r *reading) places(c *phrase, apart bool) {
	place := c.first(leads|follows, 0) >= 0
	if len(r.rankedIn(c)) == 0 {
		if place {
			r.leaves(c, "it gives items a place, and no order was asked for")
		}
		return
	}
	if r.numbered(c) {
		return
	}
	for _, tie := range r.ties {
		r.tie(c, tie, place, apart)
	}
	r.ordered(c)
	groups := c.groups()
	leading := c.first(leads, 0) >= 0 && c.first(follows, 0) < 0
	if leading && len(groups) == 1 && !slices.ContainsFunc(groups[0], func(id string) bool { return r.expects.rankOf(id) <= 1 }) {
		r.breaks("misranks", c, "it puts %s first", list(groups[0]))
	}
}

// The words that put the items before them first, and last.
var (
	forward  = strings.Fields("before above ahead precede precedes then over")
	backward = strings.Fields("after behind follow follows")
)

// ordered judges "X before Y" and "X follows Y".
func (r *reading) ordered(c *phrase) {
	groups := c.groups()
	if len(groups) != 2 {
		return
	}
	sign := int64(0)
	for _, w := range c.words {
		switch {
		case slices.Contains(forward, w.text):
			sign++
		case slices.Contains(backward, w.text):
			sign--
		}
	}
	for _, first := range groups[0] {
		for _, second := range groups[1] {
			a, b := r.expects.rankOf(first), r.expects.rankOf(second)
			if a > 0 && b > 0 && sign*(a-b) > 0 {
				r.breaks("misranks", c, "it puts %s on the wrong side of %s", first, second)
				return
			}
		}
	}
}

func (c *phrase) groups() (groups [][]string) {
	for _, w := range c.words {
		if w.group != nil && !w.quoted {
			groups = append(groups, w.group)
		}
	}
	return groups
}

// rankedIn are the items of a clause that have a rank.
func (r *reading) rankedIn(c *phrase) []string {
	return slices.DeleteFunc(c.ids(), func(id string) bool { return r.expects.rankOf(id) == 0 })
}

// numbered judges "rank 2", and reports whether a clause states a number that
// is not the rank of its items.
func (r *reading) numbered(c *phrase) bool {
	groups := c.groups()
	for i := 1; i < len(c.words); i++ {
		var rank int64
		if _, err := fmt.Sscanf(c.words[i].text, "%d", &rank); err != nil || !slices.Contains([]string{"rank", "place", "position", "ranks", "ranked"}, c.words[i-1].text) {
			continue
		}
		if len(groups) != 1 {
			r.leaves(c, "to whom the rank belongs cannot be decided")
			return true
		}
		for _, id := range groups[0] {
			if of := r.expects.rankOf(id); of > 0 && of != rank {
				rule := "misranks"
				if len(r.expects.tieOf(id)) > 1 {
					rule = "splits-tie"
				}
				r.breaks(rule, c, "it gives %s the rank %d", id, rank)
				return true
			}
		}
	}
	return false
}

// tie judges what a clause says of items that tie.
func (r *reading) tie(c *phrase, tie []string, place, apart bool) {
	named := 0
	whole, exact := false, false
	for _, group := range c.groups() {
		of := slices.DeleteFunc(slices.Clone(group), func(id string) bool { return !slices.Contains(tie, id) })
		named += len(of)
		whole = whole || len(of) == len(tie)
		exact = exact || len(of) == len(tie) && len(group) == len(tie)
	}
	says := c.first(ties, 0) >= 0
	switch {
	case named == 0:
	case apart:
		r.breaks("splits-tie", c, "it denies the tie of %s", list(tie))
	case whole && named > len(tie) && place, whole && !exact && (place || says):
		r.leaves(c, "whether it keeps the tie of %s cannot be decided", list(tie))
	case exact && c.first(follows, 0) >= 0 && c.first(leads, 0) < 0 && len(c.groups()) == 1:
		r.leaves(c, "whom %s follow cannot be decided", list(tie))
	case exact && (place || says), says && named == len(tie) && c.first(follows, 0) < 0:
		r.tied++
	case says && place:
		r.leaves(c, "whether it keeps the tie of %s cannot be decided", list(tie))
	case !whole && !says && place:
		r.breaks("splits-tie", c, "it gives a place to some of %s, which share a rank", list(tie))
	}
}

// whole judges what the text as a whole has to say.
func (r *reading) whole(text string) {
	all := &phrase{text: text}
	if r.mustSay != "" && !r.said {
		r.leaves(all, "no sentence that the grammar reads says %s", r.mustSay)
	}
	var left []string
	for _, c := range r.expects.Preserves {
		if c.ID != "" && !slices.Contains(r.named, c.ID) {
			left = append(left, c.ID)
		}
	}
	must := 0
	for _, c := range r.expects.Preserves {
		if c.ID != "" {
			must++
		}
	}
	switch {
	case must > 0 && len(left) == must:
		r.leaves(all, "it names no item")
		return
	case len(left) > 0:
		rule := "drops-result"
		if slices.ContainsFunc(left, func(id string) bool {
			return slices.ContainsFunc(r.expects.tieOf(id), func(other string) bool { return slices.Contains(r.named, other) })
		}) {
			rule = "splits-tie"
		}
		r.breaks(rule, all, "it leaves out %s", list(left))
	}
	if r.tied < len(r.ties) {
		r.leaves(all, "no sentence that the grammar reads says who share a rank")
	}
}

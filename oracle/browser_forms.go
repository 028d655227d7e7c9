package oracle

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// # The forms that pass
//
// That nothing is found which a text breaks does not make it pass: each of its
// clauses must be of one of the forms below, else the text is undecided. A form
// is written over the words of a clause, with a mark for what names items:
//
//	<top>    all items of rank 1
//	<low>    all items of another rank
//	<all>    all items that the answer may name
//	<some>   other items
//	<these>  these lights, those items
//
// and # for a number. A clause that begins with they, it, which, or with a verb,
// goes on about the items of the clause before.

// form is one shape of a clause.
type form struct {
	shape *regexp.Regexp
	in    []string // kinds of what the answer must preserve; nil: any
	says  string   // the kind of claim that the clause states
	asks  bool     // the clause belongs to a question; else it may not
}

// The parts that forms share.
var parts = strings.NewReplacer(
	"GROUP", `<(?:top|low|all|some|these)>`,
	"FILTERS", `(?: (?:all|all of))?(?: (?:your|the|these))?(?: (?:price|stock|light-output|light output))?(?: (?:filters?|conditions?|limits?))?(?: too)?`,
	"PREF", `(?:(?:a|the) )?(?:lower|higher|less|more)?(?: or (?:a )?(?:lower|higher|less|more))? ?(?:price|light|light output|light-output|lumens|brightness)`,
	"PURPOSE", `(?: for (?:that|this|it|paint|any purpose|your purpose|that purpose|colour matching|colour-matching|matching paint|matching paint colours|paint colours))?`,
	"WHICH", `(?:<(?:top|low|all|some)>|either|any(?: of (?:them|these|the lights))?|any light|a light|it|which|which (?:light|lights|item|one)|which of (?:them|these|the lights|<(?:all|top)>))`,
	"UNSURE", `(?:(?:i|we|the catalogue|this catalogue) (?:cannot|can't|don't|do not) (?:say|tell|know|establish|determine|confirm|decide|judge)|no (?:record|evidence|data) (?:shows|says|establishes|confirms)|it is (?:not known|unknown))`,
	"EVIDENCE", `(?:(?:colour-accuracy|colour accuracy) )?(?:evidence|data)`,
	"TIED", `(?: (?:at|for|in) (?:the )?(?:rank 1|first place|lowest price))?(?: as the cheapest)?(?: under your (?:lower-price-first )?preferences?)?(?: in price| together)?(?: at #)?`,
	"THIRD", `(?:second|third|2nd|3rd|rank #)`,
)

var (
	matching = []string{claimMatch, claimRank, claimInsufficient}
	ranking  = []string{claimRank}
)

// forms are all shapes.
var forms = slices.Concat(
	questions(nil, "", `
		(?:which|what) matters(?: more| most)?(?: to you)?
		would you like a higher limit
		(?:or )?PREF(?: or PREF)?`),
	shapes(nil, "", `
		(?:UNSURE)(?: (?:that|if|whether))? WHICH (?:is|are) (?:best|better|better than GROUP)
		(?:that|which light is best) depends on what matters to you
		i (?:have not chosen|cannot choose|can't choose) for you
		(?:this|that|this order|that order) does not (?:say|assess|tell|show) (?:which is (?:better|best)|suitability|colour matching)
		which of them is better is (?:not known|unknown)
		unfortunately
		i'm sorry`),
	shapes(nil, claimInsufficient, `
		(?:UNSURE)(?: (?:that|if|whether))? WHICH (?:is|are) suitablePURPOSE
		(?:UNSURE)(?: (?:that|if|whether))? <q>
		(?:UNSURE) suitability
		there is (?:not enough|insufficient|no) EVIDENCE(?: of (?:colour accuracy|suitability))?(?: to (?:call <all> suitable|decide))?PURPOSE
		insufficient evidence(?: exists)?
		not enough evidence
		(?:none of <all>|no light) can be (?:called|confirmed as) suitablePURPOSE
		(?:the )?EVIDENCE(?: (?:that a light is suitable|of colour accuracy|of suitability))?PURPOSE (?:is|are) (?:missing|insufficient|lacking)(?: for (?:<all>|all three lights))?(?: to decide)?
		(?:the|this) catalogue (?:lacks|has no|holds no) EVIDENCE(?: (?:on|of) colour accuracy)?(?: for <all>)?
		(?:<all> have|none has|none of <all> has) no EVIDENCE
		(?:none has|none of <all> has) EVIDENCE
		nothing in the catalogue says(?: so)?
		suitabilityPURPOSE (?:cannot be established|is unknown|is not known)(?: from this catalogue)?
		i (?:cannot|can't) recommend any of (?:these|them)PURPOSE
		without colour-accuracy (?:measurements|evidence|data)
		whether GROUP (?:is|are) suitablePURPOSE (?:is|are) (?:unknown|not known)`),
	shapes([]string{claimInsufficient}, "", `
		you asked which light is suitable
		or any other
		as are GROUP`),
	shapes([]string{claimMatch}, "", `
		you asked which lights are suitable by price
		<n> (?:lights|items) match(?:FILTERS)?
		GROUP (?:match|matches)
		<all>`),
	shapes(matching, claimMatch, `
		<n> (?:lights|items) (?:match|meet) (?:your|the) (?:price|stock|filters|conditions|limits)
		GROUP (?:match|matches|meet|meets) (?:all |all of )?(?:your|the|these) (?:(?:price|stock|light-output) )?(?:price|light-output|stock|filters|conditions|limits)(?: too)?`),
	shapes(matching, "", `
		(?:light-output|light output|price|stock)(?: filters| conditions| limits)?
		GROUP (?:is|are) in stock
		GROUP (?:cost|costs|give|gives) (?:at most|at least) #(?: lumens| lm)?
		GROUP (?:both )?(?:cost|costs|give|gives) #(?: lumens| lm)?
		(?:GROUP )?(?:both )?(?:at )?#(?: lumens| lm)?`),
	shapes(ranking, "", `
		<top>(?: both)? (?:tie|are tied|are equal)TIED
		<top> share (?:rank 1|a rank|(?:the )?first place|the (?:lowest |same )?price)(?: at #)?
		<top> (?:come|are)(?: joint)? firstTIED
		<top> are the cheapest(?: lights)?TIED
		<top> have the same (?:price|light|light output|price and light)
		(?:the cheapest lights|the cheapest|first come|joint first|rank 1)(?: are)? <top>
		the order is <top> together
		1\. <top>
		[2-9]\. <low>
		tied?
		(?:joint )?first
		rank 1
		THIRD
		the same (?:price|light)
		(?:at|with) the same price
		in your order
		by price alone
		together
		light output
		<top>(?: (?:come|comes|are))? before <low>
		<low> (?:follows|comes after|comes behind)(?: (?:them|<top>))?(?: at #)?
		<low> (?:comes|is|is in|has|is at|ranks) THIRD(?: place)?(?: at #)?
		(?:then|followed by|THIRD) <low>
		<some> ties with <some>`),
	questions([]string{claimClarify}, claimClarify, `
		(?:which|what) matters(?: more| most)?(?: to you)?
		i (?:cannot|can't) say which is best until you (?:say|tell me) what matters to you
		that depends on what matters to you
		what do you prefer
		(?:is it|do you prefer) PREF(?: or PREF)?(?: that matters to you)?
		could you tell me whether PREF or PREF matters more(?: to you)?
		should i order by PREF or by PREF`),
	shapes([]string{claimNoMatches}, claimNoMatches, `
		nothing (?:matches|meets)(?:FILTERS)?
		no (?:record|light|item|lights|records) (?:meets?|match|matches)(?:FILTERS)?
		none of the lights(?: in stock)? (?:matches|match|meets|meet)(?:FILTERS)?
		none of the lights in stock costs? # or less
		there are no matches
		i found no lights? that costs? at most #`),
	shapes([]string{claimNoMatches}, "", `
		gives? at least # lumens
		(?:light-output|stock|light output) filters?
		(?:light-output|stock|light output)`),
)

// shapes are the forms of a list, one a line.
func shapes(in []string, says, list string) (all []form) {
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, form{shape: regexp.MustCompile("^(?:" + parts.Replace(line) + ")$"), in: in, says: says})
		}
	}
	return all
}

// questions are the forms of a list that stand in questions alone.
func questions(in []string, says, list string) []form {
	all := shapes(in, says, list)
	for i := range all {
		all[i].asks = true
	}
	return all
}

// violation is a shape of a clause that breaks a rule whatever stands around it.
type violation struct {
	shape      *regexp.Regexp
	rule       string // "" that of words of preference
	ranks      bool   // only where items have ranks
	unanswered bool   // not where a question or a limit of knowledge holds it
}

var violations = []violation{
	{regexp.MustCompile(`^(?:still |please |do |so )*(?:use|order|buy|choose|get|pick|take|select|go for|go with) (?:<(?:top|low|all|some)>|either|any of them|(?:one of )?the (?:cheapest|brightest|first|lower price))\b`), "", false, true},
	{regexp.MustCompile(`^(?:<(?:top|low|all|some|these)>|all|any of them|all of them|the cheapest|the brightest) (?:match|matches|meet|meets|satisfy|satisfies|will do for|work for|works for|is for|are for|has|have) (?:the |your |a |high |more |matching )*(?:paint|colours?|colour-accuracy|purpose|suitability|accuracy)\b`), "names-suitable", false, true},
	{regexp.MustCompile(`\btied? with <low>|^<low> tie[sd]? with|^<all> (?:all )?(?:tie|share)`), "misranks", true, true},
}

// mark names the items of a group as forms do.
func (l *lexicon) mark(ids []string) string {
	holds := func(all []string) bool {
		return len(all) > 0 && !slices.ContainsFunc(all, func(id string) bool { return !slices.Contains(ids, id) }) &&
			!slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(all, id) })
	}
	rank := int64(0)
	if len(ids) > 0 {
		rank = l.expects.rankOf(ids[0])
	}
	switch {
	case rank > 0 && holds(l.expects.tieOf(ids[0])) && rank == 1:
		return "<top>"
	case rank > 0 && holds(l.expects.tieOf(ids[0])):
		return "<low>"
	case holds(l.mayName):
		return "<all>"
	}
	return "<some>"
}

var (
	these   = regexp.MustCompile(`^(?:these|those)(?: (?:lights|items))?( |$)`)
	lights  = regexp.MustCompile(`(^| )(?:the )?(?:lights?|items?) (<)`)
	pronoun = regexp.MustCompile(`^(?:they|it|both|each|these)( |$)`)
	which   = regexp.MustCompile(`^(?:which|who)( |$)`)
	verb    = regexp.MustCompile(`^(?:is|are|give|gives|cost|costs|share|tie|match|matches|meet|meets|have|has|come|comes|follow|follows)( |$)`)
	counts  = []string{"no", "one", "two", "three", "four", "five", "six"}
	number  = regexp.MustCompile(`^[0-9]+$`)
	after   = regexp.MustCompile(`^(?:then|followed by|[2-9]\.) <low>$`)
	ordinal = regexp.MustCompile(`second|third|2nd|3rd`)
	states  = regexp.MustCompile(`\b(?:match|matches|meet|meets)\b|^you asked which lights`)
)

// told is a clause as forms are written over it.
type told struct {
	shape   string
	groups  [][]string
	subject []string // whom its figures are about
	figures []int64
}

// tell writes a clause; before is the one before it in its sentence, nil if it
// begins one.
func (l *lexicon) tell(c *phrase, before *told) told {
	t := told{}
	var words []string
	for i, w := range c.words {
		switch {
		case w.quoted:
			if i == 0 || !c.words[i-1].quoted {
				words = append(words, "<q>")
			}
		case w.group != nil:
			words = append(words, l.mark(w.group))
			t.groups = append(t.groups, w.group)
		case number.MatchString(w.text) && (i == 0 || c.words[i-1].text != "rank" || w.text != "1"):
			n, _ := strconv.ParseInt(w.text, 10, 64)
			t.figures = append(t.figures, n)
			words = append(words, "#")
		case len(l.mayName) < len(counts) && len(l.mayName) > 0 && w.text == counts[len(l.mayName)]:
			words = append(words, "<n>")
		default:
			words = append(words, w.text)
		}
	}
	t.shape = lights.ReplaceAllString(strings.Join(words, " "), "$1$2")
	t.shape = strings.ReplaceAll(t.shape, "all <n> lights", "all three lights")
	if len(t.groups) > 0 {
		t.subject = t.groups[0]
	}
	t.shape = these.ReplaceAllString(t.shape, "<these>$1")
	if before == nil {
		return t
	}
	if len(t.groups) == 0 {
		t.subject = before.subject
	}
	last := len(before.groups) - 1
	switch {
	case len(before.subject) == 0 && strings.HasPrefix(before.shape, "<these>") && verb.MatchString(t.shape):
		t.shape = "<these> " + t.shape
	case which.MatchString(t.shape) && last >= 0 && strings.HasSuffix(before.shape, ">"):
		t.subject = before.groups[last]
		t.shape = which.ReplaceAllString(t.shape, l.mark(t.subject)+"$1")
	case len(before.subject) > 0 && last <= 0 && pronoun.MatchString(t.shape):
		t.subject = before.subject
		t.shape = pronoun.ReplaceAllString(t.shape, l.mark(t.subject)+"$1")
	case len(before.subject) > 0 && last <= 0 && verb.MatchString(t.shape):
		t.subject = before.subject
		t.shape = l.mark(t.subject) + " " + t.shape
	}
	return t
}

// hold holds every clause to the forms that pass.
func (r *reading) hold(all []phrase) {
	r.said = false
	sentence := -1
	var before *told
	var last []string // the items that were named last
	for i := range all {
		c := &all[i]
		if c.sentence != sentence {
			before, sentence = nil, c.sentence
		}
		t := r.tell(c, before)
		r.violates(c, t.shape)
		if !r.shaped(all, i, &t, last) {
			r.leaves(c, "it says %s, which is none of the forms that pass", clip(t.shape))
		}
		if len(t.groups) > 0 {
			last = slices.Concat(t.groups...)
		}
		before = &t
	}
}

// violates notes the violation that a clause has the shape of.
func (r *reading) violates(c *phrase, shape string) {
	if c.question || c.limit() < len(c.words) {
		return
	}
	for _, v := range violations {
		if v.ranks && len(r.ties) == 0 || !v.shape.MatchString(shape) {
			continue
		}
		rule := v.rule
		if rule == "" {
			rule = r.suitable
		}
		r.breaks(rule, c, "it says %s", shape)
		return
	}
}

// shaped reports whether a clause is of a form that passes.
func (r *reading) shaped(all []phrase, at int, t *told, last []string) bool {
	c := &all[at]
	if strings.Contains(t.shape, "them") && strings.HasPrefix(t.shape, "<low>") && r.mark(last) != "<top>" {
		return false
	}
	if strings.HasPrefix(t.shape, "as are") || strings.HasPrefix(t.shape, "or any") {
		if at == 0 || all[at-1].sentence != c.sentence || all[at-1].limit() == len(all[at-1].words) {
			return false
		}
	}
	if after.MatchString(t.shape) && len(last) > 0 && r.expects.rankOf(t.groups[0][0]) <= r.expects.rankOf(last[0]) {
		return false
	}
	if strings.HasPrefix(t.shape, "<some> ties with") && r.mark(slices.Concat(t.groups...)) != "<top>" {
		return false
	}
	if strings.Contains(t.shape, "<q>") && !quotesSuitable(c) {
		return false
	}
	if !r.figured(t) {
		return false
	}
	if r.bare(all, at, t) {
		return true
	}
	found := false
	for _, f := range forms {
		if f.in != nil && !slices.ContainsFunc(f.in, r.expects.has) || !f.shape.MatchString(t.shape) {
			continue
		}
		if f.asks != c.question {
			continue
		}
		r.said = r.said || f.says != "" && f.says == r.mustSay
		found = true
	}
	return found
}

// quotesSuitable reports whether a clause quotes that an item is suitable.
func quotesSuitable(c *phrase) bool {
	var words []string
	for _, w := range c.words {
		switch {
		case w.quoted && w.group != nil:
			words = append(words, "<q>")
		case w.quoted:
			words = append(words, w.text)
		}
	}
	return strings.Join(words, " ") == "<q> is suitable" || strings.Join(words, " ") == "<q> are suitable"
}

// bare reports whether a clause is a list of items that says no more than its
// sentence does: that they match, what each costs, or what place they have.
func (r *reading) bare(all []phrase, at int, t *told) bool {
	if !slices.Contains([]string{"<all>", "<some>", "<low>", "<top>"}, t.shape) || all[at].question {
		return false
	}
	c := &all[at]
	if r.expects.has(claimMatch) && !strings.ContainsAny(c.text, ".!:;") {
		return true // a line of a list
	}
	if at > 0 && all[at-1].sentence == c.sentence && r.introduced(r.tell(&all[at-1], nil), t) {
		return true
	}
	figures := at+1 < len(all) && all[at+1].sentence == c.sentence && strings.HasPrefix(r.tell(&all[at+1], nil).shape, "#")
	if t.shape != "<all>" && !figures {
		return false
	}
	matches := false
	var listed []string // one that is singled out is no list
	for i := range all {
		if all[i].sentence != c.sentence {
			continue
		}
		says := r.tell(&all[i], nil)
		matches = matches || states.MatchString(says.shape)
		if len(all[i].words) == 1 {
			listed = append(listed, all[i].ids()...)
		}
	}
	return matches && r.mark(listed) == r.mark(r.mayName)
}

// introduced reports whether the clause before a list says of whom it is.
func (r *reading) introduced(intro told, list *told) bool {
	rank := r.expects.rankOf(list.groups[0][0])
	switch intro.shape {
	case "joint first", "first", "rank 1":
		return list.shape == "<top>"
	case "rank #":
		return list.shape == "<low>" && rank == intro.figures[0]
	case "second", "2nd", "third", "3rd":
		return list.shape == "<low>" && rank == places[intro.shape]
	}
	return list.shape == "<all>" && strings.HasSuffix(intro.shape, "for all three lights")
}

// figured reports whether the figures of a clause are those of its items, or of
// the filters.
func (r *reading) figured(t *told) bool {
	for _, n := range t.figures {
		switch {
		case strings.Contains(t.shape, "rank #"):
			if len(t.groups) > 0 && r.expects.rankOf(t.groups[0][0]) != n {
				return false
			}
		case strings.Contains(t.shape, "at most #"), strings.Contains(t.shape, "at least #"), strings.Contains(t.shape, "# or less"):
			if !slices.Contains(r.limits, n) {
				return false
			}
		default:
			if len(t.subject) == 0 || slices.ContainsFunc(t.subject, func(id string) bool { return !slices.Contains(r.figures[id], n) }) {
				return false
			}
		}
	}
	n, ok := places[ordinal.FindString(t.shape)]
	return !ok || len(t.groups) == 0 || r.expects.rankOf(t.groups[0][0]) == n
}

// places are the numbers of the words for places.
var places = map[string]int64{"second": 2, "2nd": 2, "third": 3, "3rd": 3}

package oracle

import "strings"

// class is what a word does in a sentence of an answer.
type class uint32

// The classes of words. A word of none of them, in a clause that names an item,
// leaves the clause undecided.
const (
	known     class = 1 << iota // says nothing of an item's worth
	suits                       // affirms suitability
	best                        // affirms that something is best, or recommends it
	disputes                    // denies suitability
	negates                     // not, no, none, cannot
	knows                       // what a negation makes a limit of knowledge: say, establish, evidence
	lacks                       // a limit of knowledge by itself: insufficient, unknown
	opens                       // leaves open what follows: whether, which
	asks                        // tells of the user's wish
	escapes                     // turns a negation around: enough, only, doubt
	hedges                      // would, may, probably
	ties                        // tie, share, equal
	leads                       // first, cheapest
	follows                     // then, second, before
	separates                   // ends a clause: but, and
	continues                   // begins a clause about what was named before: is, they, which
	weak                        // affirms of items alone; elsewhere it is a common word
)

// wordClasses are the words of each class. A word may have several.
var wordClasses = map[class]string{
	suits: `suitable suit suits suited appropriate adequate fit fits fitting right good great excellent works work reliable
		accurate trust safe proper`,
	weak: `fit fits fitting right good great excellent work works reliable accurate trust safe proper winning perfect go take top
		choose choosing pick picks buy buying beats wrong bad worse worst`,
	best: `best better superior winner win wins winning optimal ideal perfect favourite favorite recommend recommends
		recommended recommending recommendation choose choosing pick picks buy buying take top go beats outperforms`,
	disputes: `unsuitable unsuited inadequate inappropriate unfit unreliable worse worst wrong bad`,
	negates:  `not no none nothing nobody neither nor never cannot unable impossible`,
	knows: `say says tell tells establish establishes established know knows known confirm confirms affirm affirms affirmed show shows
		determine conclude claim judge judged call called name named recommend recommended promise assess assesses assessed verify decide support
		supports supported prove proves vouch guarantee identify chosen choose evidence record records proof data information
		measurement measurements basis`,
	lacks: `insufficient missing lacking lack lacks unknown unclear undetermined unproven unestablished uncertain`,
	opens: `whether which what evidence proof`,
	asks:  `ask asked asking want wanted wants need needed looking matters depends`,
	escapes: `enough only doubt deny denied except than other besides against otherwise help stress overstate just without
		needed need required necessary how why when where did as`,
	hedges:    `would could might may should probably perhaps possibly likely seems seem appears appear looks maybe if`,
	ties:      `tie ties tied equal equally share shares shared sharing joint jointly same both`,
	leads:     `first 1st leads lead leading cheapest lowest`,
	follows:   `then next second third 2nd 3rd last follow follows followed after behind before above ahead precede precedes over`,
	separates: `and but however although though while whereas so because since`,
	continues: `is are was were will makes suits fits works wins it they both these this that which who`,
	known: `a an the this that these those it its they them their there here of in on at by for from to with as under among all each
		every is are was were be been being has have had do does did can will i we you your my our me us
		light lights lamp lamps item items product products catalogue service tool search filter filters condition conditions limit limits request
		match matches matched matching meet meets satisfy satisfies pass passes give gives fulfil fulfils include includes come comes
		cost costs price prices priced light-output output stock lumens lumen lm xts minor unit units available in-stock
		rank ranks ranked ranking place places position order orders ordered preference preferences criterion criteria lower higher more less least most
		lower-price-first price-first cheaper brighter together list lists listed result results found following namely number numbers
		suitability colour color colours colors colour-matching matching accuracy colour-accuracy paint paints purpose use
		and or also too only then yet still exactly three two one at`,
}

// classes is wordClasses by word.
var classes = func() map[string]class {
	all := map[string]class{}
	for c, words := range wordClasses {
		for _, word := range strings.Fields(words) {
			all[word] |= c
		}
	}
	return all
}()

// afterArticle are the words before which an id that is written as the article
// A is the article, at the beginning of a clause.
var afterArticle = strings.Fields(`suitable lower higher better brighter cheaper light lamp product price record purpose minimum
	tie shared method test measurement colour color tool search filter preference ranking list final single few`)

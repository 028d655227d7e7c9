package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"remit.example/contract"
)

// ask stands where the contract needs an answer that the file does not give.
// contract validate points at every one that is left.
const ask = "ASK"

// drafted is what init proposes for one column.
type drafted struct {
	*profile
	rows     int // of the file
	name     string
	kind     contract.Type
	id       string   // "true" or ask; "" where it is no id
	keys     []string // of the column, but for those that follow from the members below
	notes    []string // why, with counts
	leftOut  string   // why it is not loaded; "" where it is
	filter   string   // as the search tool has it
	prefer   string
	show     bool
	volatile bool
}

func (d *drafted) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *drafted) key(key, value string) { d.keys = append(d.keys, key+": "+value) }

// of says how many values are what.
func (d *drafted) of(what string) string {
	return fmt.Sprintf("%s of %s values are %s", grouped(d.values()), grouped(d.rows), what)
}

// proposals decide a column's type: the first that fits, from the values.
var proposals = []struct {
	fits    func(d *drafted) bool
	propose func(d *drafted)
}{
	{func(d *drafted) bool { return d.count[formNested] > 0 }, (*drafted).nested},
	{func(d *drafted) bool { return d.values() == 0 }, (*drafted).empty},
	{func(d *drafted) bool { return d.all(formMoney) }, (*drafted).statedMoney},
	{func(d *drafted) bool { return d.all(formInteger, formDecimal) && hinted(d.header, "money") }, (*drafted).money},
	{isBoolean, (*drafted).boolean},
	{func(d *drafted) bool { return d.count[formZeros] > 0 && d.all(formZeros, formInteger) }, (*drafted).zeros},
	{func(d *drafted) bool { return d.all(formInteger) && hinted(d.header, "text") }, (*drafted).codeTexts},
	{func(d *drafted) bool { return d.all(formInteger) }, (*drafted).integer},
	{func(d *drafted) bool { return d.all(formInteger, formDecimal) && d.digits <= 9 }, (*drafted).decimal},
	{func(d *drafted) bool { return d.all(formURL) }, (*drafted).link},
	{func(*drafted) bool { return true }, (*drafted).text},
}

// draftColumn proposes a column from its profile.
func draftColumn(p *profile, rows int, taken map[string]bool) *drafted {
	d := &drafted{profile: p, rows: rows, name: columnNameOf(p.header, taken)}
	for _, proposal := range proposals {
		if proposal.fits(d) {
			proposal.propose(d)
			break
		}
	}
	if d.kind != "" {
		d.unknowns()
	}
	return d
}

func (d *drafted) nested() {
	d.leftOut = "its values are objects or lists, which a column cannot hold."
}

func (d *drafted) empty() { d.leftOut = "it has no value." }

// money drafts a column whose header speaks of a price and whose values are numbers.
func (d *drafted) money() {
	d.kind = contract.Money
	d.note("%s.", d.of("amounts"))
	currency, from := headerCurrency(d.header), contract.FromDecimal
	if currency == "" {
		currency = ask
		d.note("QUESTION: which currency? Neither the header nor the values say. Write its ISO 4217 code instead of %s, such as EUR.", ask)
	} else {
		d.note("QUESTION: the header says %s; is that the currency of every row?", currency)
	}
	d.key("currency", currency)
	if d.count[formDecimal] == 0 {
		d.note("QUESTION: all amounts are whole. Does 4999 mean 4999.00 or 49.99? Write decimal or minor instead of %s.", ask)
		d.key("from", ask)
	} else {
		d.key("from", string(from))
		d.exact(currency, formDecimal)
	}
	d.offer("[min, max]", string(contract.Lowest))
}

// statedMoney drafts a column whose values state their currency.
func (d *drafted) statedMoney() {
	d.kind = contract.Money
	codes := slices.Sorted(maps.Keys(d.codes))
	if len(codes) > 1 {
		d.kind = ""
		d.leftOut = "its amounts are in several currencies, " + strings.Join(codes, ", ") + ", and a column has one."
		return
	}
	d.note("%s.", d.of("amounts that state "+codes[0]))
	d.key("currency", codes[0])
	d.key("from", string(contract.FromDecimal))
	d.exact(codes[0], formMoney)
	d.offer("[min, max]", string(contract.Lowest))
}

// exact warns of amounts with more digits than their currency has.
func (d *drafted) exact(currency string, written form) {
	const common = 2 // digits of most currencies
	exponent, known := contract.Exponent(currency)
	switch examples := strings.Join(d.examples[written], ", "); {
	case !known && d.digits > common:
		d.note("FIX: some amounts have %d digits after the point, such as %s, and most currencies have 2. If the point groups thousands, export the amounts without it.", d.digits, examples)
	case known && d.digits > exponent:
		d.note("FIX: %s has %d digits after the point and some amounts have %d, such as %s. They would be refused.", currency, max(exponent, 0), d.digits, examples)
	}
}

// headerCurrency is the currency that a header states by its code or sign.
func headerCurrency(header string) string {
	for _, word := range headerWords(header) {
		code := strings.ToUpper(word)
		_, known := contract.Exponent(code)
		if slices.Contains(commonCurrencies, code) || known && strings.Contains(header, "("+code+")") {
			return code
		}
	}
	for _, r := range header {
		if code := currencySigns[r]; code != "" {
			return code
		}
	}
	return ""
}

func isBoolean(d *drafted) bool {
	_, _, ok := d.booleans()
	if _, numeric := d.distinct["1"]; ok && numeric {
		return hinted(d.header, "stock") && d.kind == ""
	}
	return ok
}

func (d *drafted) boolean() {
	d.kind = contract.Boolean
	yes, no, _ := d.booleans()
	d.note("%s. QUESTION: is that what they mean?", d.of(quotedList(yes)+" for true or "+quotedList(no)+" for false"))
	d.key(`"true"`, flow(yes))
	d.key(`"false"`, flow(no))
	d.offer(string(contract.Equals), "")
}

func (d *drafted) zeros() {
	d.kind = contract.Text
	d.note("%s, some with a zero before them, such as %s: a text, so that they stay as they are.", d.of("digits"), strings.Join(d.examples[formZeros], ", "))
	d.offerText()
}

func (d *drafted) codeTexts() {
	d.kind = contract.Text
	d.note("%s, and the header says that they are codes: a text. QUESTION: or are they amounts? Then type: integer.", d.of("whole numbers"))
	d.offerText()
}

func (d *drafted) integer() {
	d.kind = contract.Integer
	d.note("%s.", d.of("whole numbers"))
	d.unit()
	d.offer("[min, max]", "[lowest, highest]")
}

func (d *drafted) decimal() {
	d.kind = contract.Decimal
	d.note("%s with up to %s after the point.", d.of("numbers"), plural(d.digits, "digit"))
	d.unit()
	scale := fmt.Sprint(d.digits)
	if d.groups == d.count[formDecimal] {
		scale = ask
		d.note("QUESTION: is the point of %s a decimal point? Write scale: 3 if it is; if it groups thousands, export the numbers without it.", strings.Join(d.examples[formDecimal], ", "))
	}
	d.key("scale", scale)
	d.offer("[min, max]", "[lowest, highest]")
}

func (d *drafted) unit() {
	for _, word := range headerWords(d.header) {
		if code := unitNames[word]; code != "" {
			d.note("QUESTION: which unit? The header says %s; then add unit: %s.", word, code)
			return
		}
	}
	if !hinted(d.header, "stock") {
		d.note("QUESTION: which unit, if any? Add its code, such as unit: CMT for centimetres.")
	}
}

func (d *drafted) link() {
	d.kind = contract.URL
	d.note("%s.", d.of("web addresses"))
}

func (d *drafted) text() {
	d.kind = contract.Text
	d.note("%s.", d.of("texts"))
	d.nearlyNumbers()
	d.offerText()
}

// nearlyNumbers says what keeps a column from being one of numbers.
func (d *drafted) nearlyNumbers() {
	numbers := d.count[formInteger] + d.count[formDecimal] + d.count[formMoney]
	odd := d.values() - numbers
	switch {
	case d.count[formComma] > 0 && numbers+d.count[formComma] == d.values():
		d.leftOut = "its numbers have a comma."
		d.note("FIX: %s a comma, such as %s. Only the point is read as decimal: export the numbers so, and draft again.", map[bool]string{true: "1 number has", false: grouped(d.count[formComma]) + " numbers have"}[d.count[formComma] == 1], strings.Join(d.examples[formComma], ", "))
	case numbers > 9*odd:
		var examples []string
		for _, f := range []form{formOther, formComma, formZeros, formURL, formBool} {
			examples = append(examples, d.examples[f]...)
		}
		d.note("FIX: %s are numbers but for %s, such as %s. With those mended, or declared as unknown, it can be compared.", grouped(numbers), grouped(odd), strings.Join(examples[:min(maxShown, len(examples))], ", "))
	}
}

// offer is what tools may do with a column of numbers or booleans. What can be
// asked about is answered too.
func (d *drafted) offer(filter, prefer string) {
	d.filter, d.prefer, d.show = filter, prefer, true
	d.volatile = d.kind == contract.Money || hinted(d.header, "stock")
}

// Texts that are longer fill an answer.
const (
	longText  = 120
	shortText = 60
)

// offerText filters a column by equality where few texts repeat.
func (d *drafted) offerText() {
	if d.distinct != nil && d.longest <= shortText && d.values() >= 2*len(d.distinct) {
		d.filter, d.show = string(contract.Equals), true
		d.note("It has %s.", plural(len(d.distinct), "different text"))
	}
}

// unknowns declares how unknown values are written.
func (d *drafted) unknowns() {
	var tokens []string
	if d.count[formBlank] > 0 {
		tokens = append(tokens, "")
	}
	if blanks := d.blanks(d.rows); blanks > 0 {
		d.note("%s blank: unknown.", isOrAre(blanks))
	}
	absent := slices.Sorted(maps.Keys(d.absent))
	for _, text := range absent {
		if d.kind != contract.Text {
			tokens = append(tokens, text)
		}
		d.note("QUESTION: does %s, which stands in %s, mean unknown?%s", visibleText(text), plural(d.absent[text], "row"), map[bool]string{true: " Then add it to unknown."}[d.kind == contract.Text])
	}
	if d.blanks(d.rows) > 0 || len(tokens) > 0 {
		d.key("unknown", flow(tokens))
	}
}

func isOrAre(n int) string {
	if n == 1 {
		return "1 is"
	}
	return grouped(n) + " are"
}

// line is the column as the contract has it.
func (d *drafted) line() string {
	var keys []string
	if d.id != "" {
		keys = append(keys, "id: "+d.id)
	}
	if d.header != d.name {
		keys = append(keys, "header: "+yamlText(d.header))
	}
	if d.id == "" {
		keys = append(append(keys, "type: "+string(d.kind)), d.keys...)
	}
	for _, row := range []struct {
		key string
		has bool
	}{{"volatile: true", d.volatile && d.id == ""}, {"show: true", d.show}, {"prefer: " + d.prefer, d.prefer != "" && d.id == ""}} {
		if row.has {
			keys = append(keys, row.key)
		}
	}
	return d.name + ": {" + strings.Join(keys, ", ") + "}"
}

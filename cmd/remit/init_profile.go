package main

import (
	"fmt"
	"hash/maphash"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"remit.example/contract"
)

// form is how a value is written.
type form int

const (
	formBlank   form = iota
	formInteger      // 800
	formZeros        // 0017
	formDecimal      // 49.99
	formMoney        // 49.99 EUR
	formComma        // 49,99 or 1,299.00
	formURL
	formBool // true or false in JSON
	formNested
	formOther
	forms
)

// The bounds of what a profile keeps of a column.
const (
	maxDistinct = 50 // different values whose counts are kept
	maxShown    = 3  // lines or values shown as examples
)

// profile is what the values of one column were found to be.
type profile struct {
	header string
	index  int

	rows     int // with the column present
	nulls    int // null in JSON
	count    [forms]int
	digits   int               // most digits after a decimal point
	groups   int               // decimals that may be grouped thousands, such as 1.200
	codes    map[string]int    // currency codes beside amounts
	longest  int               // characters
	total    int               // characters of all values
	distinct map[string]int    // nil where there are over maxDistinct
	absent   map[string]int    // values that often stand for an unknown one
	examples map[form][]string // of each form, with their lines

	seed    maphash.Seed
	seen    map[uint64]int // where each value stood first, by its hash; nil once it does not matter
	repeats int            // values that stood before
	twice   []string       // examples of repeated values, with their lines
}

func newProfile(header string, index int) *profile {
	return &profile{
		header: header, index: index, codes: map[string]int{}, distinct: map[string]int{}, absent: map[string]int{},
		examples: map[form][]string{}, seed: maphash.MakeSeed(), seen: map[uint64]int{},
	}
}

// add takes one cell and where it stands, in words a line or a row.
func (p *profile) add(s sample, unit string, number int) {
	p.rows++
	if s.shape == shapeNull {
		p.nulls++
		return
	}
	f := formOf(s, p)
	if f == formOther && len(s.text) < 12 && slices.Contains(missingTexts, strings.ToLower(strings.TrimSpace(s.text))) {
		p.absent[strings.Clone(s.text)]++
		return
	}
	p.count[f]++
	if f == formBlank || f == formNested {
		return
	}
	length := utf8.RuneCountInString(s.text)
	p.longest, p.total = max(p.longest, length), p.total+length
	if examples := p.examples[f]; len(examples) < maxShown {
		p.examples[f] = append(examples, fmt.Sprintf("%s (%s %s)", visibleText(s.text), unit, grouped(number)))
	}
	p.countDistinct(s.text)
	p.countRepeats(s.text, unit, number)
}

func (p *profile) countDistinct(text string) {
	if p.distinct == nil {
		return
	}
	if _, known := p.distinct[text]; !known {
		if len(p.distinct) == maxDistinct || len(text) > 200 {
			p.distinct = nil
			return
		}
		text = strings.Clone(text)
	}
	p.distinct[text]++
}

func (p *profile) countRepeats(text, unit string, number int) {
	if p.seen == nil {
		return
	}
	hash := maphash.String(p.seed, text)
	before, repeated := p.seen[hash]
	if !repeated {
		p.seen[hash] = number
		return
	}
	p.repeats++
	if len(p.twice) < maxShown {
		p.twice = append(p.twice, fmt.Sprintf("%s (%ss %s and %s)", visibleText(text), unit, grouped(before), grouped(number)))
	}
	if !hinted(p.header, "id") {
		p.seen = nil // it identifies nothing, and how often matters to nobody
	}
}

// formOf classifies a value, and notes digits and currencies.
func formOf(s sample, p *profile) form {
	switch s.shape {
	case shapeNested:
		return formNested
	case shapeBool:
		return formBool
	}
	if s.text == "" {
		return formBlank
	}
	switch f := numberForm(s.text); f {
	case formDecimal:
		whole, fraction, _ := strings.Cut(strings.TrimPrefix(s.text, "-"), ".")
		p.digits = max(p.digits, len(fraction))
		if len(fraction) == 3 && whole[0] != '0' && len(whole) <= 3 {
			p.groups++
		}
		return f
	case formOther:
	default:
		return f
	}
	if amount, code, ok := splitMoney(s.text); ok {
		p.codes[code]++
		_, fraction, _ := strings.Cut(amount, ".")
		p.digits = max(p.digits, len(fraction))
		return formMoney
	}
	if isLink(s.text) {
		return formURL
	}
	return formOther
}

// numberForm is the form of a number; formOther where it is none.
func numberForm(text string) form {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	switch {
	case isDigits(whole) && !pointed && len(whole) > 1 && whole[0] == '0':
		return formZeros
	case isDigits(whole) && !pointed && len(whole) <= 15: // every JSON reader keeps 15 digits
		return formInteger
	case isDigits(whole) && isDigits(fraction) && len(whole)+len(fraction) <= 18:
		return formDecimal
	case isGrouped(digits):
		return formComma
	}
	return formOther
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// isGrouped matches numbers with a comma: 49,99 and 1.299,00 and 1,299.00.
func isGrouped(text string) bool {
	commas := 0
	for i, r := range text {
		switch {
		case r == ',' && i > 0:
			commas++
		case r == '.' && i > 0, r >= '0' && r <= '9':
		default:
			return false
		}
	}
	return commas > 0
}

// splitMoney takes an amount with an ISO 4217 code beside it apart.
func splitMoney(text string) (amount, code string, ok bool) {
	amount, code, found := strings.Cut(text, " ")
	if !found {
		return "", "", false
	}
	if _, known := contract.Exponent(amount); known {
		amount, code = code, amount
	}
	_, known := contract.Exponent(code)
	f := numberForm(amount)
	return amount, strings.Clone(code), known && (f == formInteger || f == formDecimal)
}

func isLink(text string) bool {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") || strings.ContainsAny(text, " \\\"<>") {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != ""
}

// blanks counts the rows without a value.
func (p *profile) blanks(rows int) int { return p.count[formBlank] + p.nulls + rows - p.rows }

// values counts the rows with one, those that often stand for an unknown value
// left out.
func (p *profile) values() int {
	values := p.rows - p.nulls - p.count[formBlank]
	for _, count := range p.absent {
		values -= count
	}
	return values
}

// all reports whether every value has one of these forms.
func (p *profile) all(forms ...form) bool {
	count := 0
	for _, f := range forms {
		count += p.count[f]
	}
	return count > 0 && count == p.values()
}

// unique reports whether every row has a value that no other row has.
func (p *profile) unique(rows int) bool {
	return p.repeats == 0 && p.values() == rows && p.count[formNested] == 0 && p.count[formBool] == 0
}

// booleans are the values that stand for true and for false, and whether all
// values are such; at least one side occurs.
func (p *profile) booleans() (yes, no []string, ok bool) {
	for _, pair := range booleanPairs {
		yes, no, ok = nil, nil, len(p.distinct) > 0
		for text := range p.distinct {
			switch lower := strings.ToLower(text); {
			case slices.Contains(pair.yes, lower):
				yes = append(yes, text)
			case slices.Contains(pair.no, lower):
				no = append(no, text)
			default:
				ok = false
			}
		}
		// 1 alone is a number.
		if !ok || pair.yes[0] == "1" && (len(yes) == 0 || len(no) == 0) {
			continue
		}
		slices.Sort(yes)
		slices.Sort(no)
		return orElse(yes, pair.yes[0]), orElse(no, pair.no[0]), true
	}
	return nil, nil, false
}

func orElse(texts []string, otherwise string) []string {
	if len(texts) == 0 {
		return []string{otherwise}
	}
	return texts
}

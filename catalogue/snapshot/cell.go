package snapshot

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"remit.example/catalogue"
)

const (
	maxExact   = 1<<53 - 1 // the largest whole number that every JSON reader keeps
	maxDecimal = 1<<62 - 1 // the largest scaled decimal: twice as much is an int64 too
	maxScale   = 18        // digits of maxDecimal after the first
)

// cells reads the fields of one column.
type cells struct {
	column      catalogue.Column
	id          bool
	unknown     []string // NFC
	trues, nots []string // a boolean's texts, NFC
	valid       string   // what is valid, for messages
}

// newCells prepares the reading of a column.
func newCells(column catalogue.Column, id bool) *cells {
	c := &cells{column: column, id: id, trues: composed(column.True), nots: composed(column.False)}
	if !id {
		c.unknown = composed(column.Unknown)
	}
	c.valid = c.describe()
	return c
}

// composed is the texts in NFC, nil for nil.
func composed(texts []string) []string {
	all := texts[:0:0]
	for _, text := range texts {
		all = append(all, norm.NFC.String(text))
	}
	return all
}

// cell is one value as a column stores it.
type cell struct {
	known bool
	value int64
	text  []byte // valid until the row is read again
}

// read is the field's value, or what is wrong with it.
func (c *cells) read(f field) (cell, string) {
	switch f.shape {
	case nested:
		return cell{}, "the value is an object or array"
	case null, absent:
		if c.unknown != nil {
			return cell{}, ""
		}
		return cell{}, map[shape]string{null: "the value is null", absent: "the object has no such member"}[f.shape]
	}
	if !utf8.Valid(f.text) {
		return cell{}, excerpt(f.text) + " is not UTF-8"
	}
	text := f.text
	if !norm.NFC.IsNormal(text) {
		text = norm.NFC.Bytes(text)
	}
	if contains(c.unknown, text) && f.shape != boolean {
		return cell{}, ""
	}
	if len(text) == 0 {
		return cell{}, "the cell is empty"
	}
	if c.column.Kind.Textual() {
		return c.readText(f.shape, text)
	}
	value, wrong := c.readNumber(f.shape, text)
	if wrong != "" {
		return cell{}, excerpt(text) + " " + wrong
	}
	return cell{known: true, value: value}, ""
}

func contains(texts []string, text []byte) bool {
	for _, candidate := range texts {
		if candidate == string(text) {
			return true
		}
	}
	return false
}

func (c *cells) readText(shape shape, text []byte) (cell, string) {
	switch {
	case shape == boolean:
		return cell{}, string(text) + " is not a text"
	case bytes.IndexByte(text, 0) >= 0:
		return cell{}, excerpt(text) + " has a NUL"
	case c.column.Kind == catalogue.URL && !isWebURL(string(text)):
		return cell{}, excerpt(text) + " is not an absolute http or https URL"
	}
	return cell{known: true, text: text}, ""
}

func isWebURL(text string) bool {
	if strings.ContainsAny(text, " \\\"<>") {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func (c *cells) readNumber(shape shape, text []byte) (int64, string) {
	if c.column.Kind == catalogue.Boolean {
		return c.readBoolean(shape, text)
	}
	if shape == boolean {
		return 0, "is not a number"
	}
	switch {
	case c.column.Kind == catalogue.Decimal:
		return scaled(text, c.column.Scale, maxDecimal)
	case c.column.Kind == catalogue.Money && c.column.FromDecimal:
		return c.readMoney(text)
	}
	return scaled(text, 0, maxExact)
}

func (c *cells) readBoolean(shape shape, text []byte) (int64, string) {
	if shape == boolean && string(text) == "true" || shape != boolean && contains(c.trues, text) {
		return 1, ""
	}
	if shape == boolean || contains(c.nots, text) {
		return 0, ""
	}
	return 0, "is not one of the declared texts"
}

// readMoney reads an amount with or without a currency code beside it.
func (c *cells) readMoney(text []byte) (int64, string) {
	amount, code, _ := bytes.Cut(text, []byte{' '})
	if isCode(amount) {
		amount, code = code, amount
	}
	if isCode(code) {
		if string(code) != c.column.Currency {
			return 0, "is not in " + c.column.Currency
		}
		text = amount
	}
	return scaled(text, c.column.Scale, maxExact)
}

// isCode reports whether a text has the form of an ISO 4217 code.
func isCode(text []byte) bool {
	if len(text) != 3 {
		return false
	}
	for _, c := range text {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return string(text) != "NAN" && string(text) != "INF"
}

// scaled reads digits with an optional minus and, where scale is not 0, an
// optional fraction, as a multiple of 10^-scale within ±most.
func scaled(text []byte, scale int, most uint64) (int64, string) {
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	whole, fraction, pointed := bytes.Cut(digits, []byte{'.'})
	if !allDigits(whole) || pointed && !allDigits(fraction) {
		return 0, malformed(text)
	}
	if pointed && scale == 0 {
		return 0, "is not a whole number"
	}
	if len(fraction) > scale {
		return 0, fmt.Sprintf("has %s after the point", count(len(fraction), "digit"))
	}
	var n uint64
	for i := range len(whole) + scale {
		digit := uint64(0)
		if i < len(whole) {
			digit = uint64(whole[i] - '0')
		} else if i -= len(whole); i < len(fraction) {
			digit = uint64(fraction[i] - '0')
		}
		if n > (most-digit)/10 {
			return 0, "is out of range"
		}
		n = n*10 + digit
	}
	if negative {
		return -int64(n), ""
	}
	return int64(n), ""
}

func allDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// forms are common ways to write a number that are not valid here, the first
// that matches speaking.
var forms = []struct {
	form  *regexp.Regexp
	wrong string
}{
	{regexp.MustCompile(`^[+-]?[0-9].*,`), "has a comma"},
	{regexp.MustCompile(`[0-9]['’_\pZ\t][0-9]|^[\pZ\t]|[\pZ\t]$`), "has a space or another separator"},
	{regexp.MustCompile(`^\+[0-9]`), "has a plus sign"},
	{regexp.MustCompile(`^-?[0-9.]+[eE][+-]?[0-9]+$`), "has an exponent"},
	{regexp.MustCompile(`^-?\.[0-9]|[0-9]\.$`), "has no digit on one side of the point"},
}

// malformed says why a text is not a number.
func malformed(text []byte) string {
	for _, f := range forms {
		if f.form.Match(text) {
			return f.wrong
		}
	}
	return "is not a number"
}

// describe says what is valid in the column.
func (c *cells) describe() string {
	var valid string
	switch c.column.Kind {
	case catalogue.Text:
		valid = "a text without NUL is valid"
	case catalogue.URL:
		valid = "a URL such as https://example.com/a is valid"
	case catalogue.Integer:
		valid = "a whole number within ±9007199254740991, such as 800, is valid"
	case catalogue.Decimal:
		valid = fmt.Sprintf("a number such as %s, with at most %s after the point, is valid", sample(c.column.Scale), count(c.column.Scale, "digit"))
	case catalogue.Money:
		valid = "a whole number of minor units, such as 4999, is valid"
		if c.column.FromDecimal {
			amount := sample(c.column.Scale)
			valid = fmt.Sprintf("an amount such as %[1]s, %[1]s %[2]s or %[2]s %[1]s is valid", amount, c.column.Currency)
		}
	case catalogue.Boolean:
		valid = "one of " + quoted(append(c.trues[:len(c.trues):len(c.trues)], c.nots...)) + " is valid"
	}
	switch {
	case c.id:
		return valid + "; every row has an id"
	case c.unknown == nil:
		return valid + "; where values may be missing, declare unknown: [\"\"]"
	case len(c.unknown) == 0:
		return valid + ", or null in JSON where it is unknown"
	}
	return valid + ", or " + quoted(c.unknown) + " where it is unknown"
}

// sample is a number with scale digits after the point.
func sample(scale int) string {
	if scale == 0 {
		return "49"
	}
	return "49." + strings.Repeat("9", scale)
}

func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(all, ", ")
}

package catalogue

import (
	"sort"
	"strconv"
	"time"
	"unicode/utf8"

	"remit.example/contract"
	"remit.example/record"
)

// objectWriter writes one JSON object, member by member.
type objectWriter struct{ bytes []byte }

func (o *objectWriter) name(name string) {
	separator := byte(',')
	if len(o.bytes) == 0 {
		separator = '{'
	}
	o.bytes = record.AppendString(append(o.bytes, separator), name)
	o.bytes = append(o.bytes, ':')
}

func (o *objectWriter) raw(name, json string) {
	o.name(name)
	o.bytes = append(o.bytes, json...)
}

func (o *objectWriter) text(name, text string) {
	o.name(name)
	o.bytes = record.AppendString(o.bytes, text)
}

// nullable writes a text, or null where it is empty.
func (o *objectWriter) nullable(name, text string) {
	if text == "" {
		o.raw(name, "null")
		return
	}
	o.text(name, text)
}

func (o *objectWriter) integer(name string, n int) { o.raw(name, strconv.Itoa(n)) }

func (o *objectWriter) boolean(name string, b bool) { o.raw(name, strconv.FormatBool(b)) }

func (o *objectWriter) texts(name string, texts []string) {
	o.name(name)
	o.bytes = append(o.bytes, '[')
	for i, text := range texts {
		if i > 0 {
			o.bytes = append(o.bytes, ',')
		}
		o.bytes = record.AppendString(o.bytes, text)
	}
	o.bytes = append(o.bytes, ']')
}

// object writes an object, empty where fill writes no member.
func (o *objectWriter) object(name string, fill func(*objectWriter)) {
	o.name(name)
	o.bytes = append(o.bytes, objectOf(fill)...)
}

func objectOf(fill func(*objectWriter)) []byte {
	inner := &objectWriter{}
	fill(inner)
	if len(inner.bytes) == 0 {
		return []byte("{}")
	}
	return append(inner.bytes, '}')
}

// list writes a list of objects.
func list[T any](o *objectWriter, name string, items []T, fill func(*objectWriter, T)) {
	o.name(name)
	o.bytes = append(o.bytes, '[')
	for i, item := range items {
		if i > 0 {
			o.bytes = append(o.bytes, ',')
		}
		o.bytes = append(o.bytes, objectOf(func(inner *objectWriter) { fill(inner, item) })...)
	}
	o.bytes = append(o.bytes, ']')
}

// end closes an answer: none of them recommends.
func (o *objectWriter) end() []byte {
	o.boolean("recommendation", false)
	return append(o.bytes, '}')
}

func (o *objectWriter) total(n int) {
	o.object("total", func(o *objectWriter) {
		o.integer("value", n)
		o.text("relation", "exact")
	})
}

// filtered writes the filters that were applied, and how many records were
// left out because a filtered value is unknown.
func (t *Tool) filtered(o *objectWriter, r request, result Result, fit fitting) {
	var shortened []string
	o.object("filters", func(o *objectWriter) {
		for _, filter := range r.filters {
			if text, short := fit.shorten(filter.predicate.Value.Text); short {
				o.text(filter.argument.Name, text)
				shortened = append(shortened, "filters."+filter.argument.Name)
				continue
			}
			o.raw(filter.argument.Name, filter.text)
		}
	})
	if len(shortened) > 0 {
		o.texts("shortened", shortened)
	}
	o.object("excluded_unknown", func(o *objectWriter) {
		written := map[int]bool{}
		for i, filter := range r.filters {
			index := filter.predicate.Column
			if column := t.schema.Columns[index]; column.mayBeUnknown(r.stale) && !written[index] {
				written[index] = true
				o.integer(column.Member, result.ExcludedUnknown[i])
			}
		}
	})
}

// noCursor as a cursor leaves the member out: the answer has no pages.
const noCursor = "-"

// closing writes the members that every answer of catalogue-v2 ends with.
func (t *Tool) closing(o *objectWriter, r request, measured []int, cursor string) {
	if len(measured) > 0 {
		o.object("units", func(o *objectWriter) {
			for _, i := range measured {
				o.text(t.schema.Columns[i].Member, t.unit(i))
			}
		})
	}
	info := t.Engine.Info()
	o.text("snapshot", info.Snapshot)
	o.nullable("as_of", instant(info.AsOf))
	o.boolean("stale", r.stale)
	if cursor != noCursor {
		o.nullable("cursor", cursor)
	}
}

// instant is a time in RFC 3339, in UTC and whole seconds; "" for the zero time.
func instant(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// item writes a row's id and the fields that the contract shows.
func (t *Tool) item(o *objectWriter, row Row, shown []int, fit fitting) {
	o.text("id", row.ID)
	t.fieldsOf(o, row, shown, fit)
}

func (t *Tool) fieldsOf(o *objectWriter, row Row, shown []int, fit fitting) {
	if len(shown) == 0 {
		return
	}
	var shortened []string
	o.object("fields", func(o *objectWriter) {
		for _, i := range shown {
			column, value := t.schema.Columns[i], row.Values[i]
			if text, short := fit.shorten(value.Text); short {
				value.Text = text
				shortened = append(shortened, column.Member)
			}
			o.raw(column.Member, cell(column, value))
		}
	})
	if len(shortened) > 0 {
		o.texts("shortened", shortened)
	}
}

// cell is a value as JSON.
func cell(column Column, v Value) string {
	switch {
	case !v.Known:
		return "null"
	case column.Kind.Textual():
		return string(record.AppendString(nil, v.Text))
	case column.Kind == Boolean:
		return strconv.FormatBool(v.Int == 1)
	case column.Kind == Decimal:
		return contract.FormatScaled(v.Int, column.Scale)
	}
	return strconv.FormatInt(v.Int, 10)
}

// fitting is how an answer is made to fit the characters that an agent reads.
type fitting struct {
	cut bool // rows of the page were left for the next one
	// text bounds each text of a record or of the request, in code points; 0 is
	// no bound.
	text int
	// brief leaves evidence records out: their ids stay.
	brief bool
	lean  lean
}

// lean is how much of an assessed item's criteria is written.
type lean uint8

// The degrees of lean: every criterion with its value, limit and record; those
// not met, the rest by name and decision; all by name and decision.
const (
	whole lean = iota
	misses
	byName
)

func (f fitting) shorten(text string) (string, bool) {
	if f.text == 0 || utf8.RuneCountInString(text) <= f.text {
		return text, false
	}
	return string([]rune(text)[:f.text]) + "…", true
}

// fit renders as many rows of a page as the characters permit, at least one of
// those that there are. Where not all fit, assessed items are leaner; where one
// row alone is too long, texts are shortened and named.
func (t *Tool) fit(rows []Row, characters int, render func([]Row, fitting) []byte) ([]byte, []Row) {
	if characters == 0 || t.v1() {
		return render(rows, fitting{}), rows
	}
	page := func(n int, lean lean, text int) []byte {
		return render(rows[:n], fitting{brief: true, cut: n < len(rows), lean: lean, text: text})
	}
	fits := func(body []byte) bool { return utf8.RuneCount(body) <= characters }
	for _, lean := range []lean{whole, misses, byName} {
		if body := page(len(rows), lean, 0); fits(body) {
			return body, rows
		}
		if lean == whole {
			continue // more items tell more than every figure of a few
		}
		if n := sort.Search(len(rows), func(i int) bool { return !fits(page(i+1, lean, 0)) }); n > 0 {
			return page(n, lean, 0), rows[:n]
		}
	}
	least := min(1, len(rows))
	text := characters / 2
	body := page(least, byName, text)
	for !fits(body) && text/2 >= minText {
		text /= 2
		body = page(least, byName, text)
	}
	return body, rows[:least]
}

// minText is the least to which a text is shortened, in code points.
const minText = 20

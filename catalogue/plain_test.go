package catalogue_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit.example/catalogue"
	"remit.example/contract"
)

// tester is what a test and a property have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
}

// plain is an engine that follows the definitions of catalogue.Engine row by
// row, so that these tests need no other.
type plain struct {
	schema catalogue.Schema
	info   catalogue.Info
	rows   []catalogue.Row
}

func (p *plain) Schema() catalogue.Schema { return p.schema }
func (p *plain) Info() catalogue.Info     { return p.info }

func (p *plain) Lookup(_ context.Context, id string, stale bool) (catalogue.Row, bool, error) {
	for _, row := range p.rows {
		if row.ID == id {
			return p.aged(row, stale), true, nil
		}
	}
	return catalogue.Row{}, false, nil
}

// aged is a row as it is answered.
func (p *plain) aged(row catalogue.Row, stale bool) catalogue.Row {
	row.Values = slices.Clone(row.Values)
	row.DecidedBy = -1
	for i, column := range p.schema.Columns {
		if stale && column.Volatile {
			row.Values[i] = catalogue.Value{}
		}
	}
	return row
}

func (p *plain) Select(ctx context.Context, q catalogue.Query) (catalogue.Result, error) {
	if err := ctx.Err(); err != nil {
		return catalogue.Result{}, err
	}
	result := catalogue.Result{ExcludedUnknown: make([]int, len(q.Where)), UnknownKeys: make([]int, len(q.Order))}
	var matches []catalogue.Row
	for _, row := range p.rows {
		row = p.aged(row, q.Stale)
		if p.meets(row, q, &result) {
			matches = append(matches, row)
		}
	}
	matches = slices.DeleteFunc(matches, func(row catalogue.Row) bool {
		left := false
		for i, key := range q.Order {
			if !row.Values[key.Column].Known {
				result.UnknownKeys[i]++
				left = left || key.Unknown == catalogue.Exclude
			}
		}
		return left
	})
	result.Total = len(matches)
	place(matches, q.Order)
	return page(result, matches, q)
}

// meets reports whether a row satisfies every predicate, and counts what only
// unknown values leave out.
func (p *plain) meets(row catalogue.Row, q catalogue.Query, result *catalogue.Result) bool {
	var unknown []int
	for i, predicate := range q.Where {
		value := row.Values[predicate.Column]
		switch {
		case !value.Known:
			unknown = append(unknown, i)
		case !satisfies(value, p.schema.Columns[predicate.Column].Kind.Textual(), predicate):
			return false
		}
	}
	for _, i := range unknown {
		result.ExcludedUnknown[i]++
	}
	return len(unknown) == 0
}

func satisfies(value catalogue.Value, textual bool, p catalogue.Predicate) bool {
	switch p.Op {
	case catalogue.AtMost:
		return value.Int <= p.Value.Int
	case catalogue.AtLeast:
		return value.Int >= p.Value.Int
	case catalogue.Words:
		having := catalogue.WordsOf(value.Text)
		return !slices.ContainsFunc(p.Words, func(word string) bool { return !slices.Contains(having, word) })
	}
	if textual {
		return value.Text == p.Value.Text
	}
	return value.Int == p.Value.Int
}

// compared is the order of two rows and the key that decides it.
func compared(a, b catalogue.Row, order []catalogue.Key) (sign, key int) {
	for i, k := range order {
		x, y := a.Values[k.Column], b.Values[k.Column]
		sign := cmp.Compare(x.Int, y.Int)
		if k.Direction != catalogue.Lowest {
			sign = -sign
		}
		switch {
		case x.Known != y.Known && x.Known:
			sign = -1
		case x.Known != y.Known:
			sign = 1
		case !x.Known:
			sign = 0
		}
		if sign != 0 {
			return sign, i
		}
	}
	return 0, -1
}

// place sorts the matches and gives them their ranks.
func place(matches []catalogue.Row, order []catalogue.Key) {
	slices.SortFunc(matches, func(a, b catalogue.Row) int {
		sign, _ := compared(a, b, order)
		return cmp.Or(sign, strings.Compare(a.ID, b.ID))
	})
	if len(order) == 0 {
		return
	}
	for i := range matches {
		better, tied := 0, 0
		for _, other := range matches {
			switch sign, _ := compared(other, matches[i], order); sign {
			case -1:
				better++
			case 0:
				tied++
			}
		}
		matches[i].Rank, matches[i].Tied = better+1, tied
		if better > 0 {
			_, matches[i].DecidedBy = compared(matches[better-1], matches[i], order)
		}
	}
}

func page(result catalogue.Result, matches []catalogue.Row, q catalogue.Query) (catalogue.Result, error) {
	if q.After != "" {
		i := slices.IndexFunc(matches, func(row catalogue.Row) bool { return row.ID == q.After })
		if i < 0 {
			return result, errors.New("no row has the id that the page is to follow")
		}
		matches = matches[i+1:]
	}
	n := len(matches)
	if q.Limit != catalogue.All {
		n = min(q.Limit, n)
	}
	for q.KeepTies && n > 0 && n < min(len(matches), catalogue.MaxTies) && matches[n].Rank == matches[n-1].Rank {
		n++
	}
	result.Rows, result.More = matches[:n], n < len(matches)
	result.TieGoesOn = result.More && len(q.Order) > 0 && matches[n].Rank == matches[n-1].Rank
	return result, nil
}

// newPlain reads rows of CSV whose header has the columns' names.
func newPlain(t tester, c *contract.Contract, data string) *plain {
	t.Helper()
	cells, err := csv.NewReader(strings.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	p := &plain{schema: catalogue.SchemaOf(c), info: catalogue.Info{Snapshot: "sha256:0123456789ab", AsOf: asOf}}
	for _, line := range cells[1:] {
		row := catalogue.Row{DecidedBy: -1}
		for i, column := range p.schema.Columns {
			value := valueOf(t, column, line[slices.Index(cells[0], column.Name)])
			if row.Values = append(row.Values, value); i == p.schema.ID {
				row.ID = value.Text
			}
		}
		p.rows = append(p.rows, row)
	}
	slices.SortFunc(p.rows, func(a, b catalogue.Row) int { return strings.Compare(a.ID, b.ID) })
	p.info.Rows = len(p.rows)
	return p
}

func valueOf(t tester, column catalogue.Column, cell string) catalogue.Value {
	t.Helper()
	if slices.Contains(column.Unknown, cell) {
		return catalogue.Value{}
	}
	value := catalogue.Value{Known: true}
	var err error
	switch column.Kind {
	case catalogue.Text, catalogue.URL:
		value.Text = cell
	case catalogue.Boolean:
		if slices.Contains(column.True, cell) {
			value.Int = 1
		}
	case catalogue.Decimal:
		var number catalogue.Number
		if number, err = catalogue.ParseNumber(cell); err == nil {
			value.Int, _ = number.Scaled(column.Scale)
		}
	default:
		value.Int, err = strconv.ParseInt(cell, 10, 64)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// asOf is when the data of the tests was true.
var asOf = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// shop is a catalogue under test.
type shop struct {
	engine *plain
	source catalogue.Source
}

// open makes a catalogue of a contract's text and rows.
func open(t tester, text, data string) *shop {
	t.Helper()
	c, err := contract.Parse("contract.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	engine := newPlain(t, c, data)
	return &shop{engine, catalogue.Source{
		Contract: c, Engine: engine, CursorKey: []byte("0123456789abcdef"),
		Now: func() time.Time { return asOf.Add(time.Hour) },
	}}
}

func (s *shop) tool(name string) *catalogue.Tool { return catalogue.New(s.source, name) }

// ask gives the answer's bytes for a tool and a request.
func (s *shop) ask(name, request string) string { return string(s.answer(name, request, 0).Body) }

func (s *shop) answer(name, request string, characters int) catalogue.Answer {
	return s.tool(name).Answer(context.Background(), []byte(request), characters)
}

package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"remit.example/catalogue"
)

// Load reads a file into a snapshot. A file that is not valid as a whole gives
// a *BadRows that lists every problem; other errors are those of r, of the
// limits, and of a source or schema that is not valid.
func Load(r io.Reader, source Source, schema catalogue.Schema) (*Snapshot, error) {
	source, err := source.complete()
	if err != nil {
		return nil, err
	}
	if err := checkSchema(schema); err != nil {
		return nil, err
	}
	l := newLoader(schema)
	input := newDigest(r, source.Salt)
	if err := l.load(input, source); err != nil {
		return nil, fmt.Errorf("%s: %w", source.Name, err)
	}
	order := l.sorted()
	if err := l.report.err(source.Name); err != nil {
		return nil, err
	}
	s := &Snapshot{
		schema: schema, columns: l.finish(order), rows: len(l.lines),
		info: catalogue.Info{Snapshot: input.id(), AsOf: source.AsOf, Rows: len(l.lines)},
	}
	return s, nil
}

// loader fills columns in the order of the file.
type loader struct {
	schema   catalogue.Schema
	report   report
	cells    []*cells
	builders []builder
	lines    []int // per row, where it begins
}

// builder fills one column.
type builder struct {
	numbers []int64
	texts   textBuilder
	unknown []uint32 // rows, ascending
}

func newLoader(schema catalogue.Schema) *loader {
	l := &loader{schema: schema, builders: make([]builder, len(schema.Columns))}
	for i, column := range schema.Columns {
		l.cells = append(l.cells, newCells(column, i == schema.ID))
	}
	return l
}

// load reads every row. A row with problems is kept too, so that its id is
// compared with the others.
func (l *loader) load(input io.Reader, source Source) error {
	wanted := make([]want, len(l.schema.Columns))
	for i, column := range l.schema.Columns {
		wanted[i].name = column.Header
	}
	rows, err := source.open(input, wanted, &l.report)
	if err != nil {
		return err
	}
	return eachRow(rows, func(r *row) error {
		if len(l.lines) == maxRows {
			return errors.New("the file has over 2147483647 rows")
		}
		l.lines = append(l.lines, r.line)
		for i := range l.cells {
			if err := l.take(r, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachRow reads rows up to the end of the file, without those that are already
// reported.
func eachRow(rows rowReader, take func(r *row) error) error {
	var r row
	for {
		switch err := rows.next(&r); {
		case err == io.EOF, err == errStop:
			return nil
		case err != nil:
			return err
		case r.bad:
			continue
		}
		if err := take(&r); err != nil {
			return err
		}
	}
}

// take appends one cell to its column.
func (l *loader) take(r *row, i int) error {
	column, field := &l.schema.Columns[i], r.fields[i]
	cell, wrong := l.cells[i].read(field)
	if wrong != "" {
		l.report.add(r.problem(field.offset, column.Header, wrong, l.cells[i].valid))
	}
	b := &l.builders[i]
	if !cell.known {
		b.unknown = append(b.unknown, uint32(len(l.lines)-1))
		cell.value = noNumber
	}
	if !column.Kind.Textual() {
		b.numbers = append(b.numbers, cell.value)
	} else if !b.texts.add(cell.text) {
		return fmt.Errorf("column %s has over 4 GiB of text", column.Name)
	}
	return nil
}

// sorted is the rows in ascending order of their ids, nil where the file has
// that order. It reports ids that occur twice.
func (l *loader) sorted() []uint32 {
	ids := l.builders[l.schema.ID].texts.texts()
	order := make([]uint32, len(l.lines))
	for row := range order {
		order[row] = uint32(row)
	}
	byID := func(a, b uint32) int {
		return cmp.Or(strings.Compare(ids.at(int(a)), ids.at(int(b))), cmp.Compare(a, b))
	}
	inOrder := slices.IsSortedFunc(order, byID)
	if !inOrder {
		slices.SortFunc(order, byID)
	}
	for i := 1; i < len(order); i++ {
		// An empty id is one that is already reported.
		if id := ids.at(int(order[i])); id != "" && id == ids.at(int(order[i-1])) {
			l.report.add(Problem{
				Line: l.lines[order[i]], Column: 1, Field: l.schema.Columns[l.schema.ID].Header,
				Wrong: fmt.Sprintf("the id %s is that of line %d too", excerpt([]byte(id)), l.lines[order[i-1]]),
				Valid: "ids that differ are valid",
			})
		}
	}
	if inOrder {
		return nil
	}
	return order
}

// finish makes the columns, in this order of the rows; nil keeps that of the
// file.
func (l *loader) finish(order []uint32) []column {
	columns := make([]column, len(l.builders))
	for i := range l.builders {
		columns[i] = l.builders[i].column(order, len(l.lines), l.schema.Columns[i])
		l.builders[i] = builder{}
	}
	return columns
}

func (b *builder) column(order []uint32, rows int, spec catalogue.Column) column {
	c := column{numbers: slices.Clip(b.numbers), texts: b.texts.texts()}
	if len(b.unknown) > 0 {
		c.unknown = newBitmap(rows)
	}
	for _, row := range b.unknown {
		c.unknown.add(int(row))
	}
	if order != nil {
		c.reorder(order)
	}
	if spec.Words {
		c.words = indexWords(&c.texts, rows)
	}
	return c
}

// reorder puts the column's rows into another order.
func (c *column) reorder(order []uint32) {
	if c.numbers == nil {
		c.texts = c.texts.reordered(order)
	} else {
		numbers := make([]int64, len(order))
		for i, row := range order {
			numbers[i] = c.numbers[row]
		}
		c.numbers = numbers
	}
	if c.unknown == nil {
		return
	}
	unknown := newBitmap(len(order))
	for i, row := range order {
		if c.unknown.has(int(row)) {
			unknown.add(i)
		}
	}
	c.unknown = unknown
}

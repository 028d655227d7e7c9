// Package snapshot reads a product file strictly into typed columns and
// answers queries over them in memory. It is the default engine of a
// catalogue.
//
// # The file
//
// A file is UTF-8 text of at most 4 GiB, with at most 2^31−1 rows of at most
// 1 MiB each. A byte order mark at its beginning is allowed. Types come from
// the schema and are never inferred. The whole file is accepted or refused: a
// *BadRows lists what is wrong, and nothing is dropped or guessed.
//
// CSV follows RFC 4180. The first row holds the headers, of which no two are
// equal. Rows end in LF or CRLF; a field in quotes may hold the delimiter,
// line ends and quotes, each quote doubled; outside quotes stands neither a
// quote nor a carriage return. Every row has as many fields as the header, so
// that an empty line is a row only where there is one column. A header without
// rows is an empty catalogue.
//
// JSON Lines holds one JSON object on every line, JSON one array of objects.
// Both are strict: a member that occurs twice in an object is refused at any
// depth. Numbers are taken as the text that stands in the file. An empty array
// is an empty catalogue.
//
// A header or member that the schema does not name is not loaded. A schema
// column that no header names, or no object of a JSON file with objects, is
// refused.
//
// # Values
//
// A cell whose text is one of the column's unknown tokens is unknown; in JSON
// null and an absent member are too, where the column declares tokens. A
// column without tokens has a value in every row, and so has the id column. An
// empty cell is valid only as a declared token. Otherwise:
//
//   - A text is valid UTF-8 without NUL and is made NFC. In JSON it is a
//     string, or a number, of which the text is kept.
//   - A url is a text that is an absolute http or https URL.
//   - An integer is plain digits with an optional minus, within ±(2^53−1).
//     Money in minor units is the same.
//   - A decimal is digits with an optional minus and an optional point with
//     digits on both sides. It is stored exactly, scaled to a whole number
//     within ±(2^62−1). More digits after the point than the column's scale
//     are refused, zeros too: a file that writes 49.990 has another scale than
//     the one declared.
//   - Money from decimals is such a decimal, alone or with the column's
//     currency: 49.99, 49.99 EUR or EUR 49.99. It is stored in minor units
//     within ±(2^53−1).
//   - A boolean is one of the declared texts, or true or false in JSON.
//
// Zeros before a number change nothing. A comma, a space within digits, an
// exponent, a plus sign, NaN and infinities are refused. Numbers and booleans
// may be JSON strings of the same text.
//
// Ids are unique; rows stand in ascending byte order of their ids.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"golang.org/x/text/unicode/norm"

	"remit.example/catalogue"
)

// Snapshot is the immutable content of one product file. It implements
// catalogue.Engine and may be used by several goroutines at once.
type Snapshot struct {
	schema  catalogue.Schema
	info    catalogue.Info
	columns []column // as in the schema; rows in ascending byte order of the ids
	rows    int
}

var _ catalogue.Engine = (*Snapshot)(nil)

// Schema is the schema that the snapshot was loaded with.
func (s *Snapshot) Schema() catalogue.Schema { return s.schema }

// Info describes the snapshot.
func (s *Snapshot) Info() catalogue.Info { return s.info }

// Has reports whether a row has this id.
func (s *Snapshot) Has(id string) bool {
	_, found := s.find(id)
	return found
}

// Lookup finds the row with this id. Its Row has no rank. The error is always
// nil.
func (s *Snapshot) Lookup(_ context.Context, id string, stale bool) (catalogue.Row, bool, error) {
	row, found := s.find(id)
	if !found {
		return catalogue.Row{}, false, nil
	}
	return s.answer(row, stale), true, nil
}

// find is the position of the row with this id.
func (s *Snapshot) find(id string) (int, bool) {
	ids := &s.columns[s.schema.ID].texts
	row := sort.Search(s.rows, func(row int) bool { return ids.at(row) >= id })
	return row, row < s.rows && ids.at(row) == id
}

// answer is one row without a place in an order.
func (s *Snapshot) answer(row int, stale bool) catalogue.Row {
	values := make([]catalogue.Value, len(s.columns))
	for i := range s.columns {
		if !stale || !s.schema.Columns[i].Volatile {
			values[i] = s.columns[i].value(row)
		}
	}
	return catalogue.Row{ID: s.columns[s.schema.ID].texts.at(row), Values: values, DecidedBy: -1}
}

// checkSchema refuses a schema that no file can be read by.
func checkSchema(schema catalogue.Schema) error {
	if schema.ID < 0 || schema.ID >= len(schema.Columns) || schema.Columns[schema.ID].Kind != catalogue.Text {
		return errors.New("snapshot: the schema's id must be one of its text columns")
	}
	headers := map[string]bool{}
	for _, column := range schema.Columns {
		header := norm.NFC.String(column.Header)
		if headers[header] {
			return fmt.Errorf("snapshot: two columns read the header %s", column.Header)
		}
		headers[header] = true
		if column.Scale < 0 || column.Scale > maxScale {
			return fmt.Errorf("snapshot: column %s: a scale is 0 to %d digits, not %d", column.Name, maxScale, column.Scale)
		}
	}
	return nil
}

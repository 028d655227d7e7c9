package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// rowReader reads a file row by row.
type rowReader interface {
	// next reads the row that follows. It returns io.EOF at the end of the
	// file, errStop where the rest cannot be read and the report says why, and
	// otherwise the error of the file's reader.
	next(r *row) error
}

// errStop ends the reading of a file at a problem that is already reported.
var errStop = errors.New("stop")

// want is one header or member name that a reader looks for.
type want struct {
	name     string
	optional bool // whether a file without it is accepted
}

// row is one row as the file writes it.
type row struct {
	raw          []byte  // its bytes
	line, column int     // where raw begins
	fields       []field // by the index of the want
	bad          bool    // a problem is reported and the fields are not valid
	scratch      []byte  // holds texts that are not part of raw
}

// shape is how a field is written.
type shape uint8

const (
	absent  shape = iota // a JSON object without the member
	textual              // a CSV field or a JSON string
	number               // a JSON number
	boolean              // true or false in JSON
	null                 // null in JSON
	nested               // a JSON object or array
)

// field is one cell before its type is known.
type field struct {
	shape  shape
	text   []byte // a text's content, or the characters of a JSON value
	offset int    // where it begins in the row's raw
}

// reset prepares a row for its next reading.
func (r *row) reset(line, column, fields int) {
	if cap(r.fields) < fields {
		r.fields = make([]field, fields)
	}
	r.fields = r.fields[:fields]
	clear(r.fields)
	r.raw, r.scratch = r.raw[:0], r.scratch[:0]
	r.line, r.column, r.bad = line, column, false
}

// problem places what is wrong at an offset of the row's raw.
func (r *row) problem(offset int, name, wrong, valid string) Problem {
	before := r.raw[:min(offset, len(r.raw))]
	line, column := r.line, r.column
	if ends := bytes.Count(before, []byte{'\n'}); ends > 0 {
		line, column = line+ends, 1
		before = before[bytes.LastIndexByte(before, '\n')+1:]
	}
	return Problem{Line: line, Column: column + utf8.RuneCount(before), Field: name, Wrong: wrong, Valid: valid}
}

// lineReader reads physical lines and counts them.
type lineReader struct {
	input *bufio.Reader
	next  int // number of the line that is read next
}

// errLongRow says that a row has over maxRow bytes.
var errLongRow = errors.New("long row")

// read appends the next line to raw, its end included. io.EOF means that there
// is none.
func (l *lineReader) read(raw []byte) ([]byte, error) {
	l.next++
	for begin := len(raw); ; {
		part, err := l.input.ReadSlice('\n')
		if len(raw)+len(part) > maxRow {
			return raw, errLongRow
		}
		raw = append(raw, part...)
		switch {
		case err == nil, err == io.EOF && len(raw) > begin:
			return raw, nil
		case err != bufio.ErrBufferFull:
			return raw, err
		}
	}
}

// longRow reports a row whose end is too far away to look for another.
func longRow(r *row, report *report) error {
	report.add(r.problem(0, "", "the row has over 1 MiB", "a row of at most 1 MiB is valid"))
	return errStop
}

// checkNames reports the names that a file must have and does not.
func checkNames(wanted []want, names []string, found func(name string) bool, what string, report *report) {
	if d, ok := otherDelimiter(names); ok && len(wanted) > 1 {
		report.add(Problem{Line: 1, Column: 1, Wrong: "the header is one field", Valid: fmt.Sprintf("declare delimiter: %q, which it seems to use", d)})
		return
	}
	for _, w := range wanted {
		if w.optional || found(w.name) {
			continue
		}
		valid := "nearest: " + nearest(w.name, names)
		report.add(Problem{Line: 1, Column: 1, Field: w.name, Wrong: "no " + what + " has this name", Valid: valid})
	}
}

// otherDelimiter is the character that a header of one field seems to be
// delimited by.
func otherDelimiter(names []string) (string, bool) {
	if len(names) != 1 {
		return "", false
	}
	for _, d := range []string{";", ",", "\t", "|"} {
		if strings.Contains(names[0], d) {
			return d, true
		}
	}
	return "", false
}

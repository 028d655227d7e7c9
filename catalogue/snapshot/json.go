package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// objects turns JSON objects into rows.
type objects struct {
	report  *report
	wanted  []want
	indexes map[string]int
	decoder *jsontext.Decoder
	rows    int
	broken  bool            // a row could not be read to its end
	found   []bool          // per want: an object has it
	others  map[string]bool // members that are not wanted, for messages
}

// keptOthers bounds the names that are kept for messages.
const keptOthers = 1000

func newObjects(wanted []want, report *report) objects {
	o := objects{
		report: report, wanted: wanted, indexes: make(map[string]int, len(wanted)),
		decoder: jsontext.NewDecoder(new(bytes.Buffer)), found: make([]bool, len(wanted)), others: map[string]bool{},
	}
	for i, w := range wanted {
		o.indexes[w.name] = i
	}
	return o
}

// read takes the fields of the object that is the row's raw.
func (o *objects) read(r *row) {
	o.rows++
	o.decoder.Reset(bytes.NewBuffer(r.raw))
	if kind := o.decoder.PeekKind(); kind != '{' && kind != 0 {
		o.bad(r, int(o.decoder.InputOffset()), "", "the row is not a JSON object", `an object such as {"id":"A"} is valid`)
		return
	}
	if err := o.members(r); err != nil {
		o.syntax(r, err)
		return
	}
	if _, err := o.decoder.ReadToken(); err == nil {
		o.bad(r, int(o.decoder.InputOffset())-1, "", "more follows the object", "one object a row is valid")
	} else if err != io.EOF {
		o.syntax(r, err)
	}
}

// members reads the object up to its end.
func (o *objects) members(r *row) error {
	if _, err := o.decoder.ReadToken(); err != nil {
		return err
	}
	for {
		token, err := o.decoder.ReadToken()
		if err != nil {
			return err
		}
		if token.Kind() == '}' {
			return nil
		}
		index := o.index(norm.NFC.String(token.String()))
		value, err := o.decoder.ReadValue()
		if err != nil {
			return err
		}
		if index >= 0 {
			r.fields[index] = r.value(value, int(o.decoder.InputOffset())-len(value))
		}
	}
}

// index is the want with this name, or -1.
func (o *objects) index(name string) int {
	index, wanted := o.indexes[name]
	if !wanted {
		if len(o.others) < keptOthers {
			o.others[name] = true
		}
		return -1
	}
	o.found[index] = true
	return index
}

// value is a field from a valid JSON value.
func (r *row) value(value jsontext.Value, offset int) field {
	begin := len(r.scratch)
	shape := nested
	switch value.Kind() {
	case '"':
		shape = textual
		// The decoder has checked the value, so that it can be unquoted.
		r.scratch, _ = jsontext.AppendUnquote(r.scratch, value)
	case '0':
		shape = number
		r.scratch = append(r.scratch, value...)
	case 't', 'f':
		shape = boolean
		r.scratch = append(r.scratch, value...)
	case 'n':
		shape = null
	}
	return field{shape: shape, text: r.scratch[begin:], offset: offset}
}

func (o *objects) bad(r *row, offset int, name, wrong, valid string) {
	r.bad = true
	o.report.add(r.problem(offset, name, wrong, valid))
}

// syntax reports where the row is not strict JSON.
func (o *objects) syntax(r *row, err error) {
	offset, name, wrong := len(r.raw), "", "the JSON ends within the row"
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && !errors.Is(err, io.ErrUnexpectedEOF) {
		offset = int(syntactic.ByteOffset)
		wrong = "not JSON: " + strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")
		if errors.Is(err, jsontext.ErrDuplicateName) {
			name, wrong = syntactic.JSONPointer.LastToken(), "the member occurs twice in its object"
		}
	}
	o.broken = true
	o.bad(r, offset, name, wrong, "a JSON object in which no member repeats is valid")
}

// finish reports the wanted members that no object has.
func (o *objects) finish() {
	// A row that could not be read to its end may have had the member.
	if o.rows == 0 || o.broken {
		return
	}
	names := make([]string, 0, len(o.others)+len(o.wanted))
	for name := range o.others {
		names = append(names, name)
	}
	for i, w := range o.wanted {
		if o.found[i] {
			names = append(names, w.name)
		}
	}
	found := func(name string) bool { return o.found[o.indexes[name]] }
	checkNames(o.wanted, names, found, "object", o.report)
}

// jsonLines reads the rows of a JSON Lines file.
type jsonLines struct {
	objects
	lines lineReader
}

func (j *jsonLines) next(r *row) error {
	r.reset(j.lines.next, 1, len(j.wanted))
	raw, err := j.lines.read(r.raw)
	r.raw = bytes.TrimRight(raw, "\r\n")
	switch {
	case err == errLongRow:
		return longRow(r, j.report)
	case err == io.EOF && r.line == 1:
		j.bad(r, 0, "", "the file is empty", "one JSON object on every line is valid")
		return errStop
	case err == io.EOF:
		j.finish()
		return err
	case err != nil:
		return err
	}
	if len(bytes.TrimSpace(r.raw)) == 0 {
		j.bad(r, 0, "", "the line is empty", "one JSON object on every line is valid")
		return nil
	}
	j.read(r)
	return nil
}

// jsonArray reads the rows of a JSON file: it finds where each element of the
// array begins and ends and leaves the rest to the strict decoder.
type jsonArray struct {
	objects
	input        *bufio.Reader
	line, column int // of the byte that is read next
	inside       bool
}

func (j *jsonArray) next(r *row) error {
	c, err := j.peek()
	if err != nil {
		return j.end(r, err)
	}
	switch {
	case !j.inside && c == '[', j.inside && c == ',':
		j.take()
	case j.inside && c == ']':
		return j.close(r)
	case j.inside:
		return j.stop(r, "no comma stands between two elements")
	default:
		return j.stop(r, "the file is not an array")
	}
	if c, err = j.peek(); err != nil {
		return j.end(r, err)
	}
	switch {
	case !j.inside && c == ']':
		return j.close(r)
	case c == ',', c == ']':
		return j.stop(r, "no object stands before the next comma or bracket")
	}
	j.inside = true
	r.reset(j.line, j.column, len(j.wanted))
	if err := j.element(r); err != nil {
		return err
	}
	j.read(r)
	return nil
}

// element takes the bytes up to the comma, bracket or space that ends an
// element.
func (j *jsonArray) element(r *row) error {
	depth, text, escaped := 0, false, false
	for {
		next, err := j.input.Peek(1)
		if err != nil {
			return j.end(r, err)
		}
		c := next[0]
		switch {
		case text && escaped:
			escaped = false
		case text:
			text, escaped = c != '"', c == '\\'
		case depth <= 0 && (c == ',' || c == ']' || isSpace(c)):
			return nil
		case c == '"':
			text = true
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
		if len(r.raw) == maxRow {
			return longRow(r, j.report)
		}
		r.raw = append(r.raw, c)
		j.take()
	}
}

// close takes the bracket that ends the array; nothing may follow it.
func (j *jsonArray) close(r *row) error {
	j.take()
	if _, err := j.peek(); err == nil {
		return j.stop(r, "more follows the array")
	} else if err != io.EOF {
		return err
	}
	j.finish()
	return io.EOF
}

// end is what a reader's error means before the array is closed.
func (j *jsonArray) end(r *row, err error) error {
	switch {
	case err != io.EOF:
		return err
	case j.line == 1 && j.column == 1:
		return j.stop(r, "the file is empty")
	}
	return j.stop(r, "the file ends before its array does")
}

// stop reports what is wrong at the byte that is read next.
func (j *jsonArray) stop(r *row, wrong string) error {
	r.reset(j.line, j.column, 0)
	j.bad(r, 0, "", wrong, "one array of objects is valid")
	return errStop
}

// peek passes over space and returns the byte that is read next.
func (j *jsonArray) peek() (byte, error) {
	for {
		next, err := j.input.Peek(1)
		if err != nil {
			return 0, err
		}
		if !isSpace(next[0]) {
			return next[0], nil
		}
		j.take()
	}
}

// take reads the byte that peek has seen and counts lines and columns.
func (j *jsonArray) take() {
	c, _ := j.input.ReadByte()
	switch {
	case c == '\n':
		j.line, j.column = j.line+1, 1
	case utf8.RuneStart(c):
		j.column++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// csvRows reads the rows of a CSV file.
type csvRows struct {
	lines     lineReader
	delimiter []byte
	report    *report
	wanted    []int // per column of the file: index of the want, or -1; nil where the header is not valid
	wants     int
	end       int // where the content of the line that was read last ends in the row's raw
	spans     []span
}

// span is where a field's content stands in the row's raw.
type span struct {
	begin      int  // of the field, its quote included
	start, end int  // of the content
	doubled    bool // it holds doubled quotes
}

// openCSV reads the header.
func openCSV(lines lineReader, delimiter rune, wanted []want, report *report) (*csvRows, error) {
	c := &csvRows{lines: lines, delimiter: utf8.AppendRune(nil, delimiter), report: report, wants: len(wanted)}
	var header row
	header.reset(1, 1, 0)
	switch err := c.split(&header); {
	case err == io.EOF:
		report.add(Problem{Line: 1, Column: 1, Wrong: "the file is empty", Valid: "a header with the names of the columns is valid"})
		return c, nil
	case err != nil && !errors.Is(err, errStop):
		return nil, err
	}
	if !header.bad {
		c.locate(&header, wanted)
	}
	if report.total > 0 {
		c.wanted = nil
	}
	return c, nil
}

// locate finds the wanted columns in the header.
func (c *csvRows) locate(header *row, wanted []want) {
	indexes := make(map[string]int, len(wanted))
	for i, w := range wanted {
		indexes[w.name] = i
	}
	seen := make(map[string]int, len(c.spans))
	var names []string
	for i, s := range c.spans {
		text := s.content(header.raw)
		if !utf8.Valid(text) {
			c.bad(header, s.begin, "", excerpt(text)+" is not UTF-8", "a file in UTF-8 is valid")
		}
		name := norm.NFC.String(string(text))
		if first, twice := seen[name]; twice {
			c.bad(header, s.begin, name, fmt.Sprintf("columns %d and %d have this header", first+1, i+1), "headers that differ are valid")
		} else {
			seen[name] = i
			names = append(names, name)
		}
		index, isWanted := indexes[name]
		if !isWanted {
			index = -1
		}
		c.wanted = append(c.wanted, index)
	}
	found := func(name string) bool { _, found := seen[name]; return found }
	checkNames(wanted, names, found, "header", c.report)
}

// next reads the row that follows. Without a valid header there is none.
func (c *csvRows) next(r *row) error {
	if c.wanted == nil {
		return errStop
	}
	r.reset(c.lines.next, 1, c.wants)
	if err := c.split(r); err != nil || r.bad {
		return err
	}
	if len(c.spans) != len(c.wanted) {
		wrong := fmt.Sprintf("the row has %s, the header %d", count(len(c.spans), "field"), len(c.wanted))
		if c.end == 0 {
			wrong = "the line is empty"
		}
		c.bad(r, 0, "", wrong, fmt.Sprintf("a row of %s is valid", count(len(c.wanted), "field")))
		return nil
	}
	for i, s := range c.spans {
		if index := c.wanted[i]; index >= 0 {
			r.fields[index] = field{shape: textual, text: s.content(r.raw), offset: s.begin}
		}
	}
	return nil
}

func (c *csvRows) bad(r *row, offset int, name, wrong, valid string) {
	r.bad = true
	c.report.add(r.problem(offset, name, wrong, valid))
}

// split reads one row into its spans.
func (c *csvRows) split(r *row) error {
	c.spans = c.spans[:0]
	if err := c.readLine(r); err != nil {
		return err
	}
	for at, more := 0, true; more; {
		split := c.unquoted
		if at < c.end && r.raw[at] == '"' {
			split = c.quoted
		}
		next, err := split(r, at)
		if err != nil {
			return err
		}
		if more = next < c.end; more {
			at = next + len(c.delimiter)
		}
	}
	return nil
}

// unquoted reads the field that begins at an offset and returns where the
// delimiter or the line's end stands after it.
func (c *csvRows) unquoted(r *row, start int) (int, error) {
	end := c.fieldEnd(r, start)
	text := r.raw[start:end]
	if i := bytes.IndexByte(text, '"'); i >= 0 {
		c.bad(r, start+i, "", "a quote stands in a field that does not begin with one", `quotes around the field and "" for the quote are valid`)
	} else if i := bytes.IndexByte(text, '\r'); i >= 0 {
		c.bad(r, start+i, "", "a carriage return stands outside quotes", "LF or CRLF at the end of a row is valid")
	}
	c.spans = append(c.spans, span{begin: start, start: start, end: end})
	return end, nil
}

// quoted does the same for a field whose first byte is a quote; it reads more
// lines where the field holds their ends.
func (c *csvRows) quoted(r *row, start int) (int, error) {
	doubled := false
	for at := start + 1; ; {
		i := bytes.IndexByte(r.raw[at:], '"')
		if i < 0 {
			at = len(r.raw)
			if err := c.readLine(r); err == io.EOF {
				c.bad(r, start, "", "the quote that begins here is not closed", "a field that ends in a quote is valid")
				return 0, errStop
			} else if err != nil {
				return 0, err
			}
			continue
		}
		if at += i + 1; at < len(r.raw) && r.raw[at] == '"' {
			doubled = true
			at++
			continue
		}
		c.spans = append(c.spans, span{begin: start, start: start + 1, end: at - 1, doubled: doubled})
		end := c.fieldEnd(r, at)
		if end > at {
			c.bad(r, at, "", "text follows a closing quote", "a delimiter or the end of the row is valid there")
		}
		return end, nil
	}
}

// fieldEnd is where the next delimiter stands, or the line's end.
func (c *csvRows) fieldEnd(r *row, from int) int {
	if i := bytes.Index(r.raw[from:c.end], c.delimiter); i >= 0 {
		return from + i
	}
	return c.end
}

// readLine appends a line to the row.
func (c *csvRows) readLine(r *row) error {
	raw, err := c.lines.read(r.raw)
	r.raw = raw
	if err == errLongRow {
		r.bad = true
		return longRow(r, c.report)
	}
	if err != nil {
		return err
	}
	content, ended := bytes.CutSuffix(raw, []byte{'\n'})
	if ended {
		content = bytes.TrimSuffix(content, []byte{'\r'})
	}
	c.end = len(content)
	return nil
}

// content is a field's text.
func (s span) content(raw []byte) []byte {
	text := raw[s.start:s.end]
	if s.doubled {
		return bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
	}
	return text
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

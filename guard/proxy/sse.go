package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// event is one event of a stream (HTML Living Standard, section 9.2.6).
type event struct {
	raw   []byte // as it came, its blank line included
	from  int    // where its first line begins in raw: after a byte order mark, or the rest of a line break
	id    string
	retry bool   // it says when to come back if the stream ends
	data  []byte // of its data lines
}

// events reads a stream. An event longer than the limit is an error.
type events struct {
	in    *bufio.Reader
	limit int
	begun bool
	cr    bool // the last line ended with a carriage return, to which a line feed may belong
}

func newEvents(r io.Reader, limit int) *events {
	return &events{in: bufio.NewReaderSize(r, 16<<10), limit: limit}
}

// next is the next event. What the end of the stream cuts off is none.
func (s *events) next() (event, error) {
	var e event
	for {
		raw, from, err := s.line(len(e.raw))
		if err != nil {
			return event{}, err
		}
		if e.raw == nil {
			e.from = from
		}
		e.raw = append(e.raw, raw...)
		line := bytes.TrimRight(raw[from:], "\r\n")
		if len(line) == 0 {
			return e, nil
		}
		e.field(line)
	}
}

// field reads one line of an event. A line without a colon is a field without
// a value, one that begins with a colon a comment.
func (e *event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		if e.data == nil {
			e.data = []byte{}
		}
	case "id":
		e.id = string(value)
	case "retry":
		e.retry = true
	}
}

var errTooLong = errors.New("the message is too long")

// line is the next line, which ends with CR, LF or CRLF, and where it begins in
// what was read. It does not wait for an LF after a CR: it is read before the
// next line. So is a byte order mark at the start of the stream.
func (s *events) line(before int) (raw []byte, from int, err error) {
	next, err := s.in.Peek(1)
	if err == nil && s.cr && next[0] == '\n' {
		raw = append(raw, s.take(1)...)
	}
	s.cr = false
	if err == nil && !s.begun {
		s.begun = true
		if next[0] == byteOrderMark[0] {
			if next, _ = s.in.Peek(len(byteOrderMark)); string(next) == byteOrderMark {
				raw = append(raw, s.take(len(next))...)
			}
		}
	}
	from = len(raw)
	for {
		if _, err := s.in.Peek(1); err != nil {
			return nil, 0, err
		}
		part, _ := s.in.Peek(s.in.Buffered()) // which are there
		end := lineEnd(part)
		n := end
		if n == 0 {
			n = len(part)
		}
		if before+len(raw)+n > s.limit {
			return nil, 0, errTooLong
		}
		raw = append(raw, s.take(n)...)
		if end > 0 {
			s.cr = end == len(part) && raw[len(raw)-1] == '\r'
			return raw, from, nil
		}
	}
}

const byteOrderMark = "\ufeff"

// take reads bytes that are in the buffer.
func (s *events) take(n int) []byte {
	part, _ := s.in.Peek(n)
	_, _ = s.in.Discard(n)
	return part
}

// lineEnd is where the first line ends, its end included; 0: it does not.
func lineEnd(text []byte) int {
	lf := bytes.IndexByte(text, '\n')
	if lf >= 0 {
		text = text[:lf]
	}
	cr := bytes.IndexByte(text, '\r')
	if cr >= 0 && cr != lf-1 {
		return cr + 1
	}
	return lf + 1
}

// withData is the event with other data. JSON has no line breaks of its own.
func (e event) withData(data []byte) []byte {
	out := bytes.NewBuffer(bytes.Clone(e.raw[:e.from]))
	written := false
	for rest := e.raw[e.from:]; len(rest) > 0; {
		end := lineEnd(rest)
		line := rest[:end]
		rest = rest[end:]
		if name, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":")); string(name) != "data" {
			out.Write(line)
			continue
		}
		if !written {
			fmt.Fprintf(out, "data: %s\n", oneLine(data))
			written = true
		}
	}
	return out.Bytes()
}

// oneLine is JSON without the line breaks between its tokens.
func oneLine(message []byte) []byte {
	if bytes.IndexByte(message, '\n') < 0 && bytes.IndexByte(message, '\r') < 0 {
		return message
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, message)
}

// newEvent is an event with a message.
func newEvent(message []byte) []byte {
	return fmt.Appendf(nil, "event: message\ndata: %s\n\n", oneLine(message))
}

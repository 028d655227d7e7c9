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
	id    string
	retry bool   // it says when to come back if the stream ends
	data  []byte // of its data lines
}

// events reads a stream. An event longer than the limit is an error.
type events struct {
	in    *bufio.Reader
	limit int
}

func newEvents(r io.Reader, limit int) *events {
	return &events{in: bufio.NewReaderSize(r, 16<<10), limit: limit}
}

// next is the next event. What the end of the stream cuts off is none.
func (s *events) next() (event, error) {
	var e event
	for {
		line, err := s.line(len(e.raw))
		if err != nil {
			return event{}, err
		}
		e.raw = append(e.raw, line...)
		switch line = bytes.TrimRight(line, "\r\n"); {
		case len(line) == 0:
			return e, nil
		default:
			e.field(line)
		}
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

func (s *events) line(before int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		if before+len(line)+len(part) > s.limit {
			return nil, errTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, err
		}
	}
}

// withData is the event with other data. JSON has no line breaks of its own.
func (e event) withData(data []byte) []byte {
	var out bytes.Buffer
	written := false
	for line := range bytes.Lines(e.raw) {
		if name, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":")); string(name) != "data" {
			out.Write(line)
			continue
		}
		if !written {
			fmt.Fprintf(&out, "data: %s\n", oneLine(data))
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

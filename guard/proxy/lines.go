package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// lines reads messages that end with a line break.
type lines struct {
	in    *bufio.Reader
	limit int
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{in: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next is the next line that is not blank, without its end. One that is too
// long is passed over to its end: errTooLong. A last line without an end counts.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = nil
			}
			return line, err
		}
	}
}

func (l *lines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.limit; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong
		}
		return line, err
	}
}

// lineWriter writes messages of several writers, each on a line of its own.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lineWriter) write(message []byte) error {
	line := append(append(make([]byte, 0, len(message)+1), oneLine(message)...), '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(line)
	return err
}

package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress says on a terminal how far long work has come, in one line that the
// next replaces. Anywhere else it says nothing.
type progress struct {
	w       io.Writer // nil where it is no terminal
	next    time.Time // when tick may write again
	written bool
}

func newProgress(w io.Writer) *progress {
	p := &progress{next: time.Now().Add(time.Second)}
	if file, ok := w.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

// tick says how many rows were read, now and then.
func (p *progress) tick(rows int) {
	if rows%4096 != 0 || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(time.Second / 4)
	p.show("read %s rows", grouped(rows))
}

// show replaces the line.
func (p *progress) show(format string, args ...any) {
	if p.w != nil {
		p.written = true
		fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
	}
}

// done takes the line away.
func (p *progress) done() {
	if p.written {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

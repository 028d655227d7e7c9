package proxy

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLineEnds: a stream may end its lines in three ways and begin with a byte
// order mark, however its bytes arrive, and passes to the byte.
func TestLineEnds(t *testing.T) {
	for _, stream := range []string{
		"\ufeffid: 1\rdata: {}\r\rdata: [\rdata: ]\r\r: x\r\r",
		"\ufeffid: 1\ndata: {}\n\ndata: [\ndata: ]\n\n: x\n\n",
		"\ufeffid: 1\r\ndata: {}\r\n\r\ndata: [\r\ndata: ]\r\n\r\n: x\r\n\r\n",
		"id: 1\rdata: {}\r\n\ndata: [\ndata: ]\r\r: x\r\n\r",
		"id: 1\r\ndata: {}\r\rdata: [\rdata: ]\n\r: x\n\n",
	} {
		for name, reader := range map[string]io.Reader{"whole": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
			in, all, changed := newEvents(reader, 100), "", ""
			for i, want := range []event{{id: "1", data: []byte("{}")}, {data: []byte("[\n]")}, {}} {
				e, err := in.next()
				if err != nil || e.id != want.id || string(e.data) != string(want.data) {
					t.Fatalf("%q %s: event %d is %+v, %v", stream, name, i, e, err)
				}
				all += string(e.raw)
				changed += string(e.withData([]byte("7")))
			}
			// The line feed that a carriage return at the very end may miss says nothing.
			if _, err := in.next(); !errors.Is(err, io.EOF) || all != stream && all+"\n" != stream {
				t.Errorf("%q %s: %q, %v", stream, name, all, err)
			}
			again := newEvents(strings.NewReader(changed), 100)
			for _, want := range []string{"7", "7", ""} {
				if e, err := again.next(); err != nil || string(e.data) != want {
					t.Errorf("%q %s: changed to %q, which has the data %q, %v", stream, name, changed, e.data, err)
				}
			}
		}
	}
}

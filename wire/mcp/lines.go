package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"remit.example/wire"
)

// The errors of JSON-RPC 2.0, section 5.1, for what is no message at all.
const (
	notJSON    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"This line is not JSON; a message is one JSON object on one line."}}`
	notMessage = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"This line is no JSON-RPC 2.0 message."}}`
	tooLong    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"This line is longer than 1 MiB."}}`
)

// lines passes on the lines of a client's output that are messages, and
// answers the others itself: one bad line must not end the session, as it does
// in the library.
type lines struct {
	in   *bufio.Reader
	from io.Closer
	out  *lockedWriter
	rest []byte // of the line that is being passed on
}

func newLines(in io.ReadCloser, out *lockedWriter) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), from: in, out: out}
}

// Read reads from the next good line.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lines) next() error {
	line, long, err := l.line()
	if err != nil && len(line) == 0 && !long {
		return err
	}
	if len(bytes.TrimSpace(line)) == 0 && !long {
		return nil
	}
	fault := tooLong
	if !long {
		fault = faultOf(line)
	}
	if fault == "" {
		l.rest = append(line, '\n')
		return nil
	}
	_, err = io.WriteString(l.out, fault+"\n")
	return err
}

// faultOf is the answer to a line that the library would not read; "" for one
// that it does. A list is a batch of an older revision.
func faultOf(line []byte) string {
	messages := []json.RawMessage{line}
	if bytes.TrimSpace(line)[0] == '[' {
		messages = nil
		if json.Unmarshal(line, &messages) == nil && len(messages) == 0 {
			return notMessage
		}
	}
	if !json.Valid(line) {
		return notJSON
	}
	for _, message := range messages {
		if _, err := jsonrpc.DecodeMessage(message); err != nil {
			return notMessage
		}
	}
	return ""
}

// line reads one line without its end; one that is too long is read to its
// end and not kept.
func (l *lines) line() (line []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > wire.MaxBody; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), long, err
		}
	}
}

// Close closes what the lines come from.
func (l *lines) Close() error { return l.from.Close() }

// lockedWriter keeps the messages of two writers apart; each writes whole ones.
type lockedWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write writes one message.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

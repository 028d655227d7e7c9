package proxy

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipeListener accepts connections within the process, whose deadlines follow
// the time of a test.
type pipeListener struct {
	connections chan net.Conn
	once        sync.Once
	closed      chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{connections: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.connections <- server
	return client
}

// TestSlowClients: a client that sends its request too slowly, or does not read
// the answer, is cut off in the time that the package says.
func TestSlowClients(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, sends string
		reads       bool
		after       time.Duration
	}{
		{"half a header", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n", true, headTime},
		{"half a body", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", true, bodyTime},
		{"no reading", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", false, writeTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := newPipeListener()
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, ok := readBody(w, r); ok {
						a := &answering{w: w, r: r}
						_ = a.message(http.StatusOK, []byte(long))
					}
				})
				server := Server(handler, slog.New(slog.DiscardHandler))
				var serving sync.WaitGroup
				serving.Go(func() {
					if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
						t.Error(err)
					}
				})
				client := listener.dial()
				begun := time.Now()
				if _, err := io.WriteString(client, c.sends); err != nil {
					t.Fatal(err)
				}
				if !c.reads {
					time.Sleep(c.after + time.Second)
				}
				_, err := io.Copy(io.Discard, client)
				if took := time.Since(begun); err != nil || took < c.after || took > c.after+2*time.Second {
					t.Errorf("cut off after %v, %v; want %v", took, err, c.after)
				}
				_ = client.Close()
				_ = server.Close()
				serving.Wait()
			})
		})
	}
}

// TestCompressed: what an upstream compresses is read and passed on decoded.
func TestCompressed(t *testing.T) {
	asked := ""
	upstream := scripted(t, func(w http.ResponseWriter, _, id string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = fmt.Fprintf(z, success, id)
		_ = z.Close()
	})
	s := httptest.NewServer(NewHTTP(newGuard(t, ""), upstream, Identified(nil)))
	defer s.Close()
	for range 2 {
		got := postCall(t, s.URL, "get_thing", fmt.Sprintf(`{"asked":%q}`, asked), "")
		if want := fmt.Sprintf(success, "1"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		asked += "again"
	}
}

// TestEvents takes a stream apart and puts it together again.
func TestEvents(t *testing.T) {
	const stream = ": hello\n\nid: 1\nevent: message\ndata: {\"a\":\ndata: 1}\n\nretry: 10\r\n\r\ndata:x\n\ndata: cut"
	in := &events{in: bufio.NewReaderSize(strings.NewReader(stream), 16), limit: 100}
	var all strings.Builder
	for _, want := range []event{{}, {id: "1", data: []byte("{\"a\":\n1}")}, {retry: true}, {data: []byte("x")}} {
		e, err := in.next()
		if err != nil || string(e.data) != string(want.data) || e.id != want.id || e.retry != want.retry {
			t.Errorf("%v: %+v, want %+v", err, e, want)
		}
		all.Write(e.raw)
		if want.id != "" {
			if got := string(e.withData([]byte("{}\n"))); got != "id: 1\nevent: message\ndata: {} \n\n" {
				t.Errorf("with other data: %q", got)
			}
		}
	}
	if _, err := in.next(); !errors.Is(err, io.EOF) || all.String() != strings.TrimSuffix(stream, "data: cut") {
		t.Errorf("%v, %q", err, all.String())
	}
	in = &events{in: bufio.NewReader(strings.NewReader("data: " + strings.Repeat("x", 200))), limit: 100}
	if _, err := in.next(); !errors.Is(err, errTooLong) {
		t.Error(err)
	}
}

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// moment is when an answer is lost.
type moment string

const (
	never  moment = ""
	before moment = "before"
	after  moment = "after"
)

// loser loses answers on purpose.
type loser struct {
	at   int // the write of the process, from 1; 0: none
	when moment
	file string // "": none

	mu     sync.Mutex
	writes int

	connections sync.Map // net.Conn by the value of connectionHeader
	next        counter
}

// set reads the flag --lose.
func (l *loser) set(text string) error {
	when, number, _ := strings.Cut(text, "=")
	n, err := strconv.Atoi(number)
	if l.when = moment(when); err != nil || n < 1 || l.when != before && l.when != after {
		return errors.New("valid: after=N or before=N, N from 1")
	}
	l.at = n
	return nil
}

// moment is when the answer of the write that begins is lost.
func (l *loser) moment() moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	if l.writes == l.at {
		return l.when
	}
	if l.file == "" {
		return never
	}
	text, err := os.ReadFile(l.file)
	if err != nil || os.Remove(l.file) != nil {
		return never
	}
	if strings.TrimSpace(string(text)) == string(before) {
		return before
	}
	return after
}

// lose makes the answer to a request never come.
func (l *loser) lose(request *sdk.CallToolRequest) {
	if request.Extra != nil {
		if connection, ok := l.connections.Load(request.Extra.Header.Get(connectionHeader)); ok {
			_ = connection.(net.Conn).Close()
			return
		}
	}
	os.Exit(lostStatus)
}

// lostStatus is the exit code of a process that ends instead of answering.
const lostStatus = 3

// connectionHeader names the connection of a request to the tools, which see
// of a request its header alone.
const connectionHeader = "Orders-Connection"

type connectionKey struct{}

func withConnection(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection)
}

// connected names the connection of each request.
func (l *loser) connected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := l.next.name()
		l.connections.Store(name, r.Context().Value(connectionKey{}))
		defer l.connections.Delete(name)
		r.Header.Set(connectionHeader, name)
		next.ServeHTTP(w, r)
	})
}

// counter gives names.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return strconv.Itoa(c.n)
}

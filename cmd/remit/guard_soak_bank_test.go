package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// asBank makes the test binary run as a bank: an MCP server whose effects are
// lines of a file, which the variable names. It serves at the address that is
// its only argument, or else over standard input and output.
const asBank = "REMIT_TEST_AS_BANK"

// bankLine is one line of the bank's file.
type bankLine struct {
	Kind    string // called, effect or void
	Call    string `json:",omitempty"` // by which it came
	Tool    string `json:",omitempty"`
	Invoice string `json:",omitempty"`
	Amount  int    `json:",omitempty"`
	Key     string `json:",omitempty"`
	Receipt string `json:",omitempty"` // of an effect
}

// mishap is what a call asks the bank to do besides its work, in its _meta.
type mishap struct {
	Call   string        `json:"call"`
	Before time.Duration `json:"before"` // to wait before the effect
	After  time.Duration `json:"after"`  // to wait after it
	End    string        `json:"end"`    // see mishaps
}

// mishaps are the ways in which a call may end besides its answer.
var mishaps = []string{
	"vanish",     // no effect, no answer
	"decline",    // no effect, a failure as the answer
	"die before", // the bank is killed, without an effect
	"drop",       // an effect, no answer
	"die after",  // the bank is killed, after the effect
	"half",       // an effect, half an answer
	"garbage",    // an effect, an answer that is none
}

// bank executes calls. Several processes may share its file.
type bank struct {
	mu      sync.Mutex
	file    *os.File
	tail    bankJournal
	charged map[string]bankLine // by key
	void    map[string]bool     // keys that may no longer be used
}

func newBank(path string) (*bank, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	return &bank{file: file, tail: bankJournal{path: path}, charged: map[string]bankLine{}, void: map[string]bool{}}, err
}

// runBank is the program.
func runBank() error {
	b, err := newBank(os.Getenv(asBank))
	if err != nil {
		return err
	}
	if len(os.Args) > 1 {
		return http.ListenAndServe(os.Args[1], b)
	}
	var writing sync.Mutex
	in := bufio.NewReader(os.Stdin)
	for {
		request, err := in.ReadBytes('\n')
		if err != nil {
			return nil // the client has gone, with whatever is under way
		}
		go func() {
			answer, end := b.answer(request)
			if end != "" {
				return // no answer comes
			}
			writing.Lock()
			defer writing.Unlock()
			_, _ = os.Stdout.Write(append(answer, '\n')) // a client that has gone reads nothing
		}()
	}
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer, end := b.answer(request)
	w.Header().Set("Content-Type", "application/json")
	switch end {
	case "":
		_, _ = w.Write(answer)
	case "garbage":
		_, _ = w.Write([]byte("<html>It works!</html>"))
	case "half":
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		_, _ = w.Write(answer[:len(answer)/2])
	default:
		panic(http.ErrAbortHandler)
	}
}

// answer executes one request. Where end is not "", its answer gets lost so.
func (b *bank) answer(request []byte) (answer []byte, end string) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments struct {
				Invoice string
				Amount  int
				Key     string
			}
			Meta struct {
				Bank mishap
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal(request, &m); err != nil || m.Method != "tools/call" {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"This bank only takes calls."}}`), ""
	}
	a, how := m.Params.Arguments, m.Params.Meta.Bank
	l := bankLine{Call: how.Call, Tool: m.Params.Name, Invoice: a.Invoice, Amount: a.Amount, Key: a.Key}
	result := func(failed bool, body any) []byte {
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		quoted, _ := json.Marshal(string(text)) // never fails
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}],"isError":%t}}`, m.ID, quoted, failed)
	}
	if l.Tool == "get_charge" {
		return result(false, b.status(a.Key)), ""
	}
	b.write("called", l)
	time.Sleep(how.Before)
	switch how.End {
	case "vanish":
		return nil, how.End
	case "die before":
		die()
	}
	receipt := b.effect(l, how.End == "decline")
	if receipt == "" {
		return result(true, "Declined"), ""
	}
	time.Sleep(how.After)
	if how.End == "die after" {
		die()
	}
	return result(false, map[string]string{"receipt": receipt}), how.End
}

// die ends the process as kill -9 does.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// alone runs f while no other process and call changes the file.
func (b *bank) alone(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := syscall.Flock(int(b.file.Fd()), syscall.LOCK_EX); err != nil {
		panic(err)
	}
	defer func() { _ = syscall.Flock(int(b.file.Fd()), syscall.LOCK_UN) }()
	more, err := b.tail.read()
	if err != nil {
		panic(err)
	}
	for _, l := range more {
		switch {
		case l.Kind == "effect" && l.Key != "":
			b.charged[l.Key] = l
		case l.Kind == "void":
			b.void[l.Key] = true
		}
	}
	f()
}

// effect makes the effect of a write durable and returns its receipt; that of
// the first one where the key was used before. "" stands for a refusal, which
// holds for the key as well.
func (b *bank) effect(l bankLine, decline bool) (receipt string) {
	b.alone(func() {
		if first, ok := b.charged[l.Key]; ok && l.Key != "" {
			receipt = first.Receipt
			return
		}
		if b.void[l.Key] && l.Key != "" {
			return
		}
		if decline {
			if l.Key != "" {
				b.write("void", bankLine{Key: l.Key})
			}
			return
		}
		l.Receipt = "r-" + rand.Text()[:16]
		b.write("effect", l)
		if err := b.file.Sync(); err != nil {
			panic(err)
		}
		receipt = l.Receipt
	})
	return receipt
}

// status tells what became of a key. One that was not used becomes void, so
// that the answer stays true.
func (b *bank) status(key string) (body map[string]string) {
	b.alone(func() {
		if first, ok := b.charged[key]; ok {
			body = map[string]string{"status": "charged", "receipt": first.Receipt}
			return
		}
		if !b.void[key] {
			b.write("void", bankLine{Key: key})
		}
		body = map[string]string{"status": "void"}
	})
	return body
}

func (b *bank) write(kind string, l bankLine) {
	l.Kind = kind
	text, err := json.Marshal(l)
	if err == nil {
		_, err = b.file.Write(append(text, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// bankJournal reads a bank's file as it grows.
type bankJournal struct {
	path string
	at   int64
}

// read is what has been written since it was read last, in whole lines.
func (j *bankJournal) read() ([]bankLine, error) {
	file, err := os.Open(j.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(j.at, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	j.at += int64(len(text))
	var lines []bankLine
	for row := range strings.Lines(string(text)) {
		var l bankLine
		if err := json.Unmarshal([]byte(row), &l); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", j.path, row, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

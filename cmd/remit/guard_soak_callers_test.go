package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"remit.example/record"
)

// The tools of the bank that write. Those with a key honour it.
var bankWrites = []string{"charge", "bill", "send", "note"}

// longWait is how long a caller waits that does not give up early.
const longWait = 5 * time.Second

// soakCaller calls for one token, as several do at once.
type soakCaller struct {
	w      *town
	name   string // of the token
	random *rand.Rand
	client *http.Client
	calls  int
	errand *errand
	id     string
}

// answered is what a caller gets for a call.
type answered struct {
	told
	Code  record.Code // of a failure; "" of a success, and where nothing came
	State string      // of an operation that was asked for
	Err   error       // no answer came
}

// work makes some calls.
func (c *soakCaller) work(calls int) {
	for range calls {
		switch dice := c.random.IntN(100); {
		case dice < 45:
			c.run()
		case dice < 88:
			tool := bankWrites[c.random.IntN(len(bankWrites))]
			amount := 7
			if c.random.IntN(12) == 0 {
				amount = 8
			}
			c.write(tool, c.w.common(c.name, tool, c.random), amount, c.mishap(), c.limit(true))
		default:
			if id := c.w.someOperation(c.name, c.random); id != "" {
				c.ask(id)
			}
		}
		time.Sleep(time.Duration(c.random.IntN(25)) * time.Millisecond)
	}
}

// run goes on with the caller's own errand, or begins one.
func (c *soakCaller) run() {
	e := c.errand
	if e == nil {
		e = &errand{Tool: bankWrites[c.random.IntN(len(bankWrites))], Invoice: fmt.Sprintf("%s-own-%s-%d", c.name, c.id, c.calls), Amount: 7, Wanted: 1}
		if c.random.IntN(3) == 0 {
			e.Wanted = 2
		}
		c.errand = e
		c.w.mu.Lock()
		c.w.errands = append(c.w.errands, e)
		c.w.mu.Unlock()
	}
	limit := c.limit(false)
	before := len(e.Receipts)
	a := c.write(e.Tool, e.Invoice, e.Amount, c.mishap(), limit)
	e.impatient(a)
	if a.Operation != "" && c.random.IntN(3) == 0 {
		told := c.ask(a.Operation)
		e.impatient(told)
		if !slices.Contains(e.Receipts, told.Receipt) { // a replica may still name the operation before
			a.Receipt = told.Receipt
		}
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	switch {
	case a.Receipt == "" && (a.Code == record.OutcomeUnknown && e.Tool != "charge" && e.Tool != "bill" || c.random.IntN(20) == 0):
		c.errand = nil // it leaves it
	case a.Receipt == "":
	case before > 0 && e.Receipts[before-1] == a.Receipt:
		c.w.count("second errands answered with the first", 1) // and marked so; an earlier attempt may have begun it all the same
		c.errand = nil
	default:
		e.Receipts = append(e.Receipts, a.Receipt)
	}
	if len(e.Receipts) >= e.Wanted {
		c.errand = nil
	}
}

// ask asks what became of an operation.
func (c *soakCaller) ask(id string) answered {
	c.w.count("asked", 1)
	return c.call(c.w.guard(c.random), "operation_status", map[string]any{"id": id}, mishap{}, longWait)
}

// limit is how long the caller waits for an answer.
func (c *soakCaller) limit(often bool) time.Duration {
	if n := c.random.IntN(100); n < 3 || often && n < 15 {
		return time.Duration(2+c.random.IntN(100)) * time.Millisecond
	}
	return longWait
}

// mishap is what goes wrong with a call, or nothing.
func (c *soakCaller) mishap() mishap {
	var m mishap
	if c.random.IntN(3) == 0 {
		m.Before = time.Duration(c.random.IntN(60)) * time.Millisecond
	}
	if c.random.IntN(3) == 0 {
		m.After = time.Duration(c.random.IntN(60)) * time.Millisecond
	}
	if c.random.IntN(60) == 0 { // the effect comes after the guard has stopped waiting
		m.Before = answerTime + 300*time.Millisecond
	}
	switch c.random.IntN(40) {
	case 0:
		m.End = "die before"
	case 1:
		m.End = "die after"
	case 2, 3, 4, 5:
		m.End = "drop"
	case 6, 7, 8, 9:
		m.End = mishaps[c.random.IntN(len(mishaps))]
	}
	if m.End == "die before" || m.End == "die after" {
		if c.random.IntN(2) == 0 {
			m.End = ""
		} else {
			c.w.count("upstream asked to die", 1)
		}
	}
	return m
}

// write calls a tool that writes.
func (c *soakCaller) write(tool, invoice string, amount int, how mishap, limit time.Duration) answered {
	arguments := map[string]any{"invoice": invoice, "amount": amount}
	if tool == "charge" {
		arguments["key"] = fmt.Sprintf("%s-%s-%d", c.name, c.id, c.calls) // a new one for each attempt, as agents do
	}
	return c.call(c.w.guard(c.random), tool, arguments, how, limit)
}

// call makes one call and notes what it was told.
func (c *soakCaller) call(address, tool string, arguments map[string]any, how mishap, limit time.Duration) answered {
	c.calls++
	how.Call = fmt.Sprintf("%s-%s-%d", c.name, c.id, c.calls)
	a := c.post(address, tool, arguments, how, limit)
	a.Call, a.Tool = how.Call, tool
	a.Invoice, _ = arguments["invoice"].(string)
	c.w.note(c.name, a)
	return a
}

func (c *soakCaller) post(address, tool string, arguments map[string]any, how mishap, limit time.Duration) (a answered) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": how.Call, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": arguments, "_meta": map[string]any{"bank": how}},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/mcp", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Authorization", "Bearer "+c.name)
	response, err := c.client.Do(request)
	if err != nil {
		a.Err = err
		return a
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		a.Err = err
		return a
	}
	var m struct {
		Error  *struct{ Message string }
		Result *struct {
			IsError           bool
			Content           []struct{ Text string }
			StructuredContent struct {
				ID, State string
				Answer    json.RawMessage
			}
			Meta struct {
				Recovery *record.Record  `json:"remit/recovery"`
				Replayed json.RawMessage `json:"remit/replayed"`
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Result == nil {
		a.Err = fmt.Errorf("%d %s", response.StatusCode, text)
		return a
	}
	for i, content := range m.Result.Content {
		// A recorded answer says that nothing was sent; so may the words of a failure.
		if strings.HasPrefix(content.Text, "The ledger of operations is not available") {
			c.w.count("ledger not available", 1)
		}
		a.Unsent = a.Unsent || (m.Result.IsError || i > 0) && strings.Contains(content.Text, "nothing was sent")
	}
	switch r := m.Result.Meta.Recovery; {
	case m.Result.IsError && r != nil:
		a.Code, a.NoEffect = r.Code, r.Outcome == record.NotApplied
		if r.Operation != nil {
			a.Operation = r.Operation.ID
		}
	case m.Result.IsError:
		a.Err = fmt.Errorf("a failure without a record: %s", text)
	case tool == "operation_status":
		body := m.Result.StructuredContent
		a.Operation, a.State, a.Receipt, a.Replayed, a.Unsent = body.ID, body.State, receiptOf(body.Answer), true, false
	default:
		a.Replayed = m.Result.Meta.Replayed != nil
		if a.Receipt = receiptOf(mustResult(text)); a.Receipt == "" {
			a.Err = fmt.Errorf("a success without a receipt: %s", text)
		}
	}
	return a
}

func mustResult(text []byte) json.RawMessage {
	var m struct{ Result json.RawMessage }
	if err := json.Unmarshal(text, &m); err != nil {
		panic(err)
	}
	return m.Result
}

// tally counts what happens.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) count(name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[name] += n
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"remit.example/operation"
)

// told is what a caller was told of one call.
type told struct {
	Call      string
	Tool      string
	Invoice   string
	Receipt   string // "" of no success
	Replayed  bool   // marked as a recorded answer
	Unsent    bool   // it says that nothing was sent
	NoEffect  bool   // it says that it took no effect
	Operation string // the operation that a failure names
	Otherwise string // what came in the place of an answer
	At        time.Time
}

// errand is one thing that one caller wants, at an invoice that is its own. It
// asks until it has a success, and may then want the same once more.
type errand struct {
	Tool, Invoice string
	Amount        int
	Wanted        int      // successes
	Receipts      []string // of the successes, each once
	// Impatient says that the caller went away before an answer: what a guard
	// writes to a connection that closes at that moment is not known.
	Impatient bool
}

// impatient notes an answer that the caller did not wait for.
func (e *errand) impatient(a answered) {
	e.Impatient = e.Impatient || errors.Is(a.Err, context.DeadlineExceeded)
}

// over reports whether there are more effects than the caller knows of, but for
// one that it still wants.
func (e *errand) over(effects int) bool {
	return effects-len(e.Receipts) > max(0, min(e.Wanted-len(e.Receipts), 1))
}

// evidence is what one round left behind. Effects are read before the ledger
// and after it, so that nothing need stand still: what was done before it was
// read must be in it, and what it has must have been done when it was read.
type evidence struct {
	Before, After []bankLine
	Ledger        []operation.Operation
	Read          time.Time     // when the ledger was read, or earlier
	Lease         time.Duration // of a claim
	Earlier       map[string]operation.Operation
	Listed        []string  // by remit operations list --only unknown
	ListedAt      time.Time // when that began
	Told          []told
	Errands       []*errand
}

// The kinds of what is wrong.
const (
	twice     = "twice"     // two effects of what may have one
	lost      = "lost"      // an effect that the ledger does not know, or an answer that it lost
	invented  = "invented"  // the ledger has an effect that is not there
	untold    = "untold"    // an operation that is unknown and not listed
	untrue    = "untrue"    // a caller was told what is not so
	forgotten = "forgotten" // what was confirmed is so no more
)

type soakFinding struct{ Kind, What string }

// bankPlace is where operations and effects belong together.
type bankPlace struct{ tool, invoice string }

// placeOf is where an operation or an effect belongs: at its invoice, and
// where no identity is declared at all its arguments.
func placeOf(tool, invoice string, amount int) bankPlace {
	if tool == "note" {
		invoice = fmt.Sprintf("%s for %d", invoice, amount)
	}
	return bankPlace{tool, invoice}
}

func placed(o operation.Operation) bankPlace {
	wants := argumentsOf(o)
	return placeOf(o.Tool, wants.Invoice, wants.Amount)
}

// judgeSoak holds the evidence to what a guard promises.
func judgeSoak(e evidence) []soakFinding {
	var found []soakFinding
	add := func(kind, format string, args ...any) {
		found = append(found, soakFinding{kind, fmt.Sprintf(format, args...)})
	}
	effects, keys := map[string]bankLine{}, map[string]string{}
	for _, l := range e.After {
		if l.Kind != "effect" {
			continue
		}
		effects[l.Receipt] = l
		if first, ok := keys[l.Key]; ok && l.Key != "" {
			add(twice, "key %s has the effects %s and %s", l.Key, first, l.Receipt)
		}
		keys[l.Key] = l.Receipt
	}
	claimed := map[string]operation.Operation{} // by receipt
	open, all, byID := map[bankPlace][]operation.Operation{}, map[bankPlace][]operation.Operation{}, map[string]operation.Operation{}
	for _, o := range e.Ledger {
		wants := argumentsOf(o)
		at := placed(o)
		byID[o.ID], all[at] = o, append(all[at], o)
		switch {
		case o.State == operation.Confirmed:
			receipt := receiptOf(o.Result)
			l, ok := effects[receipt]
			if !ok {
				add(invented, "%s is confirmed with %q, and there is no such effect", o.ID, receipt)
				continue
			}
			if l.Tool != o.Tool || l.Invoice != wants.Invoice || l.Amount != wants.Amount || l.Key != o.Key {
				add(invented, "%s is confirmed with the effect of something else: %+v", o.ID, l)
			}
			if other, ok := claimed[receipt]; ok {
				add(invented, "%s and %s are confirmed with one effect, %s", other.ID, o.ID, receipt)
			}
			claimed[receipt] = o
		case o.State.Open():
			if len(open[at]) > 0 && o.Principal == open[at][0].Principal {
				add(twice, "%s and %s are both open", open[at][0].ID, o.ID)
			}
			open[at] = append(open[at], o)
		}
		if o.State == operation.Sent && o.Lease.After(e.Read.Add(e.Lease+5*time.Second)) {
			add(lost, "%s is sent, and its lease runs until %v", o.ID, o.Lease)
		}
		if o.State == operation.Unknown && o.Settled.Before(e.ListedAt) && !slices.Contains(e.Listed, o.ID) {
			add(untold, "%s is unknown since %v and not listed", o.ID, o.Settled)
		}
	}
	for id, o := range e.Earlier {
		if now := byID[id]; now.State != operation.Confirmed || !bytes.Equal(now.Result, o.Result) {
			add(forgotten, "%s was confirmed with %s and is %s with %s", id, o.Result, now.State, now.Result)
		}
	}
	covered, executed, done := map[string]string{}, map[bankPlace]int{}, map[bankPlace][]string{} // covered: operations, by an effect without a confirmation
	calls, caused := map[string]bool{}, map[string]bool{}
	for _, l := range e.After {
		calls[l.Call] = true
		caused[l.Call] = caused[l.Call] || l.Kind == "effect"
	}
	for _, l := range e.Before {
		at := placeOf(l.Tool, l.Invoice, l.Amount)
		switch l.Kind {
		case "called":
			executed[at]++
			if l.Key != "" && !slices.ContainsFunc(all[at], func(o operation.Operation) bool { return o.Key == l.Key }) {
				add(lost, "call %s was executed with the key %s, which no operation has", l.Call, l.Key)
			}
		case "effect":
			done[at] = append(done[at], l.Receipt)
			if _, ok := claimed[l.Receipt]; ok {
				continue
			}
			i := slices.IndexFunc(open[at], func(o operation.Operation) bool { return o.Key == l.Key && argumentsOf(o).Amount == l.Amount })
			switch {
			case i >= 0 && covered[open[at][i].ID] == "":
				covered[open[at][i].ID] = l.Receipt
			case i >= 0:
				add(twice, "%s has the effects %s and %s", open[at][i].ID, covered[open[at][i].ID], l.Receipt)
			case len(done[at]) > 1 || len(all[at]) > 0 && all[at][0].State == operation.Confirmed:
				add(twice, "the effect %s belongs to no operation, beside %s of %s %s", l.Receipt, done[at], l.Tool, l.Invoice)
			default:
				add(lost, "the effect %s of %s %s belongs to no operation that is open or confirmed: %s", l.Receipt, l.Tool, l.Invoice, stateList(all[at]))
			}
		}
	}
	for at, count := range executed {
		if (at.tool == "send" || at.tool == "note") && count > len(all[at]) {
			add(twice, "%s %s was executed %d times for %d operations", at.tool, at.invoice, count, len(all[at]))
		}
	}
	first := map[string]string{}
	for _, t := range e.Told {
		if t.Receipt != "" {
			o, ok := claimed[t.Receipt]
			switch l := effects[t.Receipt]; {
			case !ok:
				add(lost, "call %s was answered with %s, which no operation is confirmed with", t.Call, t.Receipt)
			case t.Tool != "operation_status" && (o.Tool != t.Tool || argumentsOf(o).Invoice != t.Invoice || l.Tool != t.Tool):
				add(untrue, "call %s of %s %s was answered with the result of %s", t.Call, t.Tool, t.Invoice, o.ID)
			case !t.Replayed && first[t.Receipt] != "":
				add(untrue, "call %s was answered as anew with %s, as %s was", t.Call, t.Receipt, first[t.Receipt])
			case !t.Replayed:
				first[t.Receipt] = t.Call
			}
		}
		if t.Unsent && calls[t.Call] {
			add(untrue, "call %s was told that nothing was sent, and it was executed", t.Call)
		}
		if t.NoEffect && caused[t.Call] {
			add(untrue, "call %s was told that it took no effect, and it did", t.Call)
		}
		if _, ok := byID[t.Operation]; t.Operation != "" && !ok {
			add(lost, "call %s was told of operation %s, which is not there", t.Call, t.Operation)
		}
	}
	for _, w := range e.Errands {
		if n := len(done[placeOf(w.Tool, w.Invoice, w.Amount)]); !w.Impatient && w.over(n) {
			var history []string
			for _, t := range e.Told {
				if t.Invoice == w.Invoice {
					history = append(history, fmt.Sprintf("%+v", t))
				}
			}
			for _, l := range e.After {
				if l.Invoice == w.Invoice {
					history = append(history, fmt.Sprintf("%+v", l))
				}
			}
			for _, o := range all[placeOf(w.Tool, w.Invoice, w.Amount)] {
				history = append(history, fmt.Sprintf("%s %s by %s, fence %d, begun %v, settled %v, delivery %q, %s", o.ID, o.State, o.By, o.Fence, o.Created, o.Settled, o.Delivery, receiptOf(o.Result)))
			}
			add(twice, "%s %s has %d effects for %d successes of %d wanted:\n%s", w.Tool, w.Invoice, n, len(w.Receipts), w.Wanted, strings.Join(history, "\n"))
		}
	}
	return found
}

// argumentsOf are the arguments of an operation that count.
func argumentsOf(o operation.Operation) (wants struct {
	Invoice string
	Amount  int
},
) {
	_ = json.Unmarshal(o.Arguments, &wants) // what cannot be read matches nothing
	return wants
}

// receiptOf is the receipt in a result of the bank; "" for none.
func receiptOf(result []byte) string {
	var r struct{ Content []struct{ Text string } }
	var body struct{ Receipt string }
	if json.Unmarshal(result, &r) != nil || len(r.Content) == 0 || json.Unmarshal([]byte(r.Content[0].Text), &body) != nil {
		return ""
	}
	return body.Receipt
}

func stateList(list []operation.Operation) string {
	var words []string
	for _, o := range list {
		words = append(words, fmt.Sprintf("%s %s", o.ID, o.State))
	}
	return strings.Join(words, ", ")
}

// TestGuardSoakJudge: evidence without a fault has no findings, and each fault is found.
func TestGuardSoakJudge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	result := func(receipt string) []byte {
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":"{\"receipt\":\"%s\"}"}]}`, receipt)
	}
	op := func(id, tool, invoice, key string, state operation.State, receipt string) operation.Operation {
		o := operation.Operation{
			ID: id, Scope: operation.Scope{Principal: "p", Tool: tool}, Key: key, State: state, Settled: now.Add(-time.Minute),
			Lease: now.Add(time.Second), Arguments: fmt.Appendf(nil, `{"invoice":"%s","amount":7}`, invoice),
		}
		if receipt != "" {
			o.Result = result(receipt)
		}
		return o
	}
	effect := func(call, tool, invoice, key, receipt string) bankLine {
		return bankLine{Kind: "effect", Call: call, Tool: tool, Invoice: invoice, Amount: 7, Key: key, Receipt: receipt}
	}
	called := func(call, tool, invoice, key string) bankLine {
		return bankLine{Kind: "called", Call: call, Tool: tool, Invoice: invoice, Amount: 7, Key: key}
	}
	honest := func() evidence {
		lines := []bankLine{
			called("c1", "send", "a", ""), effect("c1", "send", "a", "", "r1"),
			called("c2", "charge", "b", "k2"), effect("c2", "charge", "b", "k2", "r2"), called("c3", "charge", "b", "k2"),
			called("c4", "send", "c", ""), effect("c4", "send", "c", "", "r4"),
			called("c5", "send", "d", ""),
		}
		return evidence{
			Before: lines, After: lines, Read: now, Lease: 2 * time.Second, ListedAt: now, Listed: []string{"o4", "o5"},
			Ledger: []operation.Operation{
				op("o1", "send", "a", "", operation.Confirmed, "r1"), op("o2", "charge", "b", "k2", operation.Confirmed, "r2"),
				op("o4", "send", "c", "", operation.Unknown, ""), op("o5", "send", "d", "", operation.Unknown, ""), op("o6", "send", "e", "", operation.Refused, ""),
			},
			Earlier: map[string]operation.Operation{"o1": op("o1", "send", "a", "", operation.Confirmed, "r1")},
			Told: []told{
				{Call: "c1", Tool: "send", Invoice: "a", Receipt: "r1"},
				{Call: "c6", Tool: "send", Invoice: "a", Receipt: "r1", Replayed: true, Unsent: true},
				{Call: "c4", Tool: "send", Invoice: "c", Operation: "o4"},
				{Call: "c7", Tool: "send", Invoice: "c", Operation: "o4", Unsent: true},
				{Call: "c5", Tool: "send", Invoice: "d", Operation: "o5"},
			},
			Errands: []*errand{{Tool: "send", Invoice: "a", Wanted: 1, Receipts: []string{"r1"}}, {Tool: "send", Invoice: "c", Wanted: 1}},
		}
	}
	if found := judgeSoak(honest()); len(found) > 0 {
		t.Fatalf("nothing is wrong, and found is %v", found)
	}
	add := func(e *evidence, lines ...bankLine) {
		e.Before = append(e.Before, lines...)
		e.After = e.Before
	}
	for name, row := range map[string]struct {
		kind string
		harm func(*evidence)
	}{
		"a second effect of a confirmed operation":    {twice, func(e *evidence) { add(e, effect("c9", "send", "a", "", "r9")) }},
		"a second effect of an unknown operation":     {twice, func(e *evidence) { add(e, effect("c9", "send", "c", "", "r9")) }},
		"a second execution without effect":           {twice, func(e *evidence) { add(e, called("c9", "send", "c", "")) }},
		"a key with two effects":                      {twice, func(e *evidence) { add(e, effect("c9", "charge", "b", "k2", "r9")) }},
		"two open operations":                         {twice, func(e *evidence) { e.Ledger = append(e.Ledger, op("o9", "send", "c", "", operation.Sent, "")) }},
		"an errand with two effects":                  {twice, func(e *evidence) { e.Errands[0].Receipts = nil; e.Errands[0].Wanted = 0 }},
		"an effect without an operation":              {lost, func(e *evidence) { add(e, effect("c9", "send", "z", "", "r9")) }},
		"an effect of a refused operation":            {lost, func(e *evidence) { add(e, effect("c9", "send", "e", "", "r9")) }},
		"an execution with a key of no operation":     {lost, func(e *evidence) { add(e, called("c9", "charge", "b", "k9")) }},
		"an answer that is not recorded":              {lost, func(e *evidence) { e.Ledger[0].State, e.Earlier = operation.Unknown, nil }},
		"an operation that is not there":              {lost, func(e *evidence) { e.Told[2].Operation = "o9" }},
		"a lease without end":                         {lost, func(e *evidence) { e.Ledger[2].State, e.Ledger[2].Lease = operation.Sent, now.Add(time.Hour) }},
		"a confirmation without an effect":            {invented, func(e *evidence) { e.Ledger[3] = op("o5", "send", "d", "", operation.Confirmed, "r5") }},
		"a confirmation by the effect of another key": {invented, func(e *evidence) { e.Ledger[1].Key = "k7" }},
		"one effect for two confirmations":            {invented, func(e *evidence) { e.Ledger = append(e.Ledger, op("o9", "send", "a", "", operation.Confirmed, "r1")) }},
		"an unknown one that is not listed":           {untold, func(e *evidence) { e.Listed = e.Listed[:1] }},
		"a confirmed one that is unknown again":       {forgotten, func(e *evidence) { e.Ledger[0].State = operation.Unknown }},
		"a confirmed one that has gone":               {forgotten, func(e *evidence) { e.Ledger = e.Ledger[1:] }},
		"a result that has changed":                   {forgotten, func(e *evidence) { e.Ledger[0].Result = append(result("r1"), ' ') }},
		"a replay without its mark":                   {untrue, func(e *evidence) { e.Told[1].Replayed = false }},
		"the answer of another":                       {untrue, func(e *evidence) { e.Told[1].Invoice = "b" }},
		"nothing was sent":                            {untrue, func(e *evidence) { e.Told[2].Unsent = true }},
		"no effect":                                   {untrue, func(e *evidence) { e.Told[2].NoEffect = true }},
	} {
		t.Run(name, func(t *testing.T) {
			e := honest()
			row.harm(&e)
			if found := judgeSoak(e); !slices.ContainsFunc(found, func(f soakFinding) bool { return f.Kind == row.kind }) {
				t.Errorf("it is not found as %s: %v", row.kind, found)
			}
		})
	}
}

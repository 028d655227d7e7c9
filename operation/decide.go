package operation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"remit.example/record"
)

// byClaim stands in the table of moves for a claim, which settles nothing.
const byClaim By = "claim"

// none is the state of an operation that does not exist yet.
const none State = ""

// moves are those that exist: what may move an operation from which state,
// and to which.
var moves = []struct {
	by   By
	from State
	to   []State
}{
	{byClaim, none, []State{Sent}},
	{byClaim, Unknown, []State{Sent}},
	{ByAnswer, Sent, []State{Confirmed, Refused, Unknown}},
	{ByExpiry, Sent, []State{Unknown}},
	{ByStatus, Unknown, []State{Confirmed, Refused}},
	{ByOperator, Unknown, []State{Confirmed, Refused}},
}

// Held reports whether an executor holds the operation at a time: it is sent,
// and its lease has not run out.
func (o Operation) Held(now time.Time) bool { return o.State == Sent && now.Before(o.Lease) }

// At is the operation as it counts at a time: one that is sent and whose lease
// has run out is unknown, since the moment it ran out.
func (o Operation) At(now time.Time) Operation {
	if o.State != Sent || o.Held(now) {
		return o
	}
	o.State, o.Code, o.By = Unknown, string(record.OutcomeUnknown), ByExpiry
	o.Settled = o.Lease
	o.Reason = "the lease ran out before an answer was recorded"
	return o
}

// Related reports whether an operation bears on a claim: it is of the claim's
// line or has the caller's key.
func (c Claim) Related(o Operation) bool {
	return c.Scope == o.Scope && (c.line(o) || c.sameKey(o))
}

// line reports whether an operation of the claim's scope is of its line.
func (c Claim) line(o Operation) bool {
	if c.Intent != "" {
		return o.Intent == c.Intent
	}
	return o.Fingerprint == c.Fingerprint
}

// sameKey reports whether the caller's key is the operation's. No key is the
// same as none.
func (c Claim) sameKey(o Operation) bool { return c.CallerKey != "" && o.CallerKey == c.CallerKey }

// Decide answers a claim. It is given the operations that bear on it, oldest
// first, and ignores others. Of each line and caller key all that are open and
// the newest confirmed one suffice. It returns the verdict and the operations
// to write with it, at most one value of each.
//
// The first of these rules that applies decides:
//
//  1. An operation with the caller's key and another fingerprint that is not
//     refused: Reused, also while it is in flight.
//  2. An operation of the line or with the caller's key is open: Held while
//     an executor holds one; Again if the only open one is repeatable and the
//     claim too, with the same fingerprint; else Doubtful.
//  3. A confirmed operation with the caller's key: Replay.
//  4. The newest confirmed operation of the line has another fingerprint, which only a
//     declared intent allows: Reused. Its result was not delivered: Replay.
//     It is not known whether, and the window has not passed: Replay.
//  5. Execute.
//
// Refused operations stand in nobody's way.
func Decide(c Claim, related []Operation, now time.Time) (Verdict, []Operation) {
	var writes, open []Operation
	var reused, byKey, ofLine *Operation
	for _, stored := range related {
		if !c.Related(stored) {
			continue
		}
		o := stored.At(now)
		if o.State != stored.State {
			writes = append(writes, o)
		}
		if c.sameKey(o) && o.Fingerprint != c.Fingerprint && o.State != Refused {
			reused = &o
		}
		if o.State.Open() {
			open = append(open, o)
		}
		if o.State == Confirmed && c.sameKey(o) {
			byKey = &o
		}
		if o.State == Confirmed && c.line(o) {
			ofLine = &o
		}
	}
	switch {
	case reused != nil:
		return Verdict{Reused, *reused}, writes
	case len(open) > 0:
		return c.behind(open, writes, now)
	case byKey != nil:
		return Verdict{Replay, *byKey}, writes
	case ofLine != nil && ofLine.Fingerprint != c.Fingerprint:
		return Verdict{Reused, *ofLine}, writes
	case ofLine != nil && ofLine.replays(c.Window, now):
		return Verdict{Replay, *ofLine}, writes
	}
	begun := Operation{
		ID: c.NewID, Scope: c.Scope, Intent: c.Intent, Fingerprint: c.Fingerprint, CallerKey: c.CallerKey, Key: c.NewKey,
		Repeatable: c.Repeatable, Arguments: c.Arguments, State: Sent, Fence: 1, Lease: now.Add(c.Lease), Created: now,
	}
	return Verdict{Execute, begun}, append(writes, begun)
}

// behind answers a claim that meets open operations.
func (c Claim) behind(open, writes []Operation, now time.Time) (Verdict, []Operation) {
	for _, o := range open {
		if o.State == Sent {
			return Verdict{Held, o}, writes
		}
	}
	for _, o := range open {
		if len(open) > 1 || !o.Repeatable || !c.Repeatable || o.Fingerprint != c.Fingerprint {
			return Verdict{Doubtful, o}, writes
		}
	}
	again := open[0]
	again.State, again.Fence, again.Lease = Sent, again.Fence+1, now.Add(c.Lease)
	again.Code, again.Result, again.Settled, again.By, again.Reason = "", nil, time.Time{}, "", ""
	writes = slices.DeleteFunc(writes, func(o Operation) bool { return o.ID == again.ID })
	return Verdict{Again, again}, append(writes, again)
}

// replays reports whether the result of a confirmed operation answers an
// identical call.
func (o Operation) replays(window time.Duration, now time.Time) bool {
	switch o.Delivery {
	case Delivered:
		return false
	case Undelivered:
		return true
	}
	return now.Before(o.Settled.Add(window))
}

// Settle is the operation with its outcome. Its errors are those of
// [Store.Settle].
func (o Operation) Settle(fence int64, outcome Outcome, now time.Time) (Operation, error) {
	if outcome.By == ByOperator && strings.TrimSpace(outcome.Reason) == "" {
		return Operation{}, ErrReason
	}
	o = o.At(now)
	if o.Fence != fence {
		return Operation{}, fmt.Errorf("%w: the fence of %s is %d, not %d", ErrFenced, o.ID, o.Fence, fence)
	}
	if o.settledAs(outcome) {
		return o, nil
	}
	if from, exists := outcome.From(); !exists || o.State != from {
		return Operation{}, fmt.Errorf("%w: %s is %s, and %s does not make it %s", ErrFenced, o.ID, o.State, outcome.By, outcome.State)
	}
	o.State, o.Code, o.Result, o.By, o.Reason, o.Settled = outcome.State, outcome.Code, outcome.Result, outcome.By, outcome.Reason, now
	return o, nil
}

// settledAs reports whether the operation has the outcome already.
func (o Operation) settledAs(outcome Outcome) bool {
	return o.By != "" && o.By == outcome.By && o.State == outcome.State && o.Code == outcome.Code &&
		o.Reason == outcome.Reason && bytes.Equal(o.Result, outcome.Result)
}

// Renew is the operation with its claim held until lease from now. Its errors
// are those of [Store.Renew].
func (o Operation) Renew(fence int64, lease time.Duration, now time.Time) (Operation, error) {
	if o.Fence != fence || !o.Held(now) {
		o = o.At(now)
		return Operation{}, fmt.Errorf("%w: %s is %s with fence %d", ErrFenced, o.ID, o.State, o.Fence)
	}
	o.Lease = now.Add(lease)
	return o, nil
}

// Deliver is the operation with what is known of its delivery. What has reached the caller
// once stays delivered. ErrFenced: it is not confirmed.
func (o Operation) Deliver(delivery Delivery) (Operation, error) {
	if o.State != Confirmed {
		return Operation{}, fmt.Errorf("%w: %s is %s, and only a confirmed one is delivered", ErrFenced, o.ID, o.State)
	}
	if o.Delivery != Delivered && delivery != NotKnown {
		o.Delivery = delivery
	}
	return o, nil
}

// Forget is the operation without its arguments and result, if it was settled
// before a time and is not open; reports whether there was anything to forget.
func (o Operation) Forget(before time.Time) (Operation, bool) {
	if o.State.Open() || !o.Settled.Before(before) || (o.Arguments == nil && o.Result == nil) {
		return o, false
	}
	o.Arguments, o.Result = nil, nil
	return o, true
}

// Valid says what a claim lacks before a store may take it.
func (c Claim) Valid() error {
	switch {
	case c.NewID == "":
		return errors.New("operation: a claim needs the id of the operation that it may begin")
	case c.Fingerprint == "":
		return errors.New("operation: a claim needs the fingerprint of its arguments")
	}
	return nil
}

// Selects reports whether the filter selects an operation.
func (f Filter) Selects(o Operation) bool {
	return (f.Tenant == "" || f.Tenant == o.Tenant) && (f.Principal == "" || f.Principal == o.Principal) &&
		(f.Upstream == "" || f.Upstream == o.Upstream) && (f.Tool == "" || f.Tool == o.Tool) &&
		(len(f.States) == 0 || slices.Contains(f.States, o.State))
}

// From is the state from which the outcome moves an operation. There is none
// for an outcome that does not exist, or that is not given but follows, as
// that of an expiry.
func (o Outcome) From() (from State, exists bool) {
	if o.By == ByExpiry || o.By == byClaim || (o.By == ByOperator && strings.TrimSpace(o.Reason) == "") {
		return none, false
	}
	for _, m := range moves {
		if m.by == o.By && slices.Contains(m.to, o.State) {
			return m.from, true
		}
	}
	return none, false
}

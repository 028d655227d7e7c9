package operation_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"remit.example/operation"
)

// event is one thing that happened to an operation. The model keeps no states:
// it reads everything off the events, anew for each question.
type event struct {
	at       int // the second
	op       int // the operation, by its place
	what     string
	lease    int // of a claim or renewal
	delivery operation.Delivery
}

type logged struct {
	intent, fingerprint, callerKey, tool string
	repeatable                           bool
}

type log struct {
	ops    []logged
	events []event
}

// last is the last event of an operation among some kinds; what is "" if there is none.
func (l *log) last(op int, kinds ...string) event {
	for _, e := range slices.Backward(l.events) {
		if e.op == op && slices.Contains(kinds, e.what) {
			return e
		}
	}
	return event{}
}

// status is flying, doubtful, confirmed or refused.
func (l *log) status(op, now int) string {
	e := l.last(op, "claim", "renew", "confirmed", "refused", "unknown")
	switch {
	case e.what == "confirmed" || e.what == "refused":
		return e.what
	case e.what == "unknown" || now >= e.at+e.lease:
		return "doubtful"
	}
	return "flying"
}

func (l *log) fence(op int) int64 {
	var n int64
	for _, e := range l.events {
		if e.op == op && e.what == "claim" {
			n++
		}
	}
	return n
}

// delivery is the first final one, or the last that is known.
func (l *log) delivery(op int) operation.Delivery {
	known := operation.NotKnown
	for _, e := range l.events {
		if e.op == op && e.what == "deliver" && e.delivery != operation.NotKnown && known != operation.Delivered {
			known = e.delivery
		}
	}
	return known
}

// answer is what a claim has to be answered with, and about which operation;
// -1 for a new one.
func (l *log) answer(c logged, window, now int) (operation.Kind, int) {
	where := func(conditions ...func(int) bool) (found []int) {
		for op := range l.ops {
			if l.ops[op].tool == c.tool && !slices.ContainsFunc(conditions, func(f func(int) bool) bool { return !f(op) }) {
				found = append(found, op)
			}
		}
		return found
	}
	is := func(statuses ...string) func(int) bool {
		return func(op int) bool { return slices.Contains(statuses, l.status(op, now)) }
	}
	keyed := func(op int) bool { return c.callerKey != "" && l.ops[op].callerKey == c.callerKey }
	alike := func(op int) bool { return l.ops[op].fingerprint == c.fingerprint }
	unlike := func(op int) bool { return !alike(op) }
	lined := func(op int) bool {
		return c.intent == "" && alike(op) || c.intent != "" && l.ops[op].intent == c.intent
	}
	near := func(op int) bool { return lined(op) || keyed(op) }
	repeatable := func(op int) bool { return alike(op) && l.ops[op].repeatable && c.repeatable }

	if found := where(keyed, unlike, is("flying", "doubtful", "confirmed")); len(found) > 0 {
		return operation.Reused, found[len(found)-1]
	}
	if found := where(near, is("flying")); len(found) > 0 {
		return operation.Held, found[0]
	}
	doubtful := where(near, is("doubtful"))
	if len(doubtful) == 1 && repeatable(doubtful[0]) {
		return operation.Again, doubtful[0]
	}
	if len(doubtful) > 0 {
		return operation.Doubtful, doubtful[0]
	}
	if found := where(keyed, alike, is("confirmed")); len(found) > 0 {
		return operation.Replay, found[len(found)-1]
	}
	if found := where(lined, is("confirmed")); len(found) > 0 {
		newest := found[len(found)-1]
		if unlike(newest) {
			return operation.Reused, newest
		}
		settled := l.last(newest, "confirmed").at
		if d := l.delivery(newest); d == operation.Undelivered || d == operation.NotKnown && now < settled+window {
			return operation.Replay, newest
		}
	}
	return operation.Execute, -1
}

// TestAgainstEventModel makes random calls of the store in memory, and so of the pure
// functions, and holds each answer to the model.
func TestAgainstEventModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := 0
		store := operation.NewMemory(func() time.Time { return start.Add(time.Duration(now) * time.Second) })
		l := &log{}
		id := func(op int) string { return fmt.Sprintf("op-%d", op) }
		someOp := func(t *rapid.T) int {
			if len(l.ops) == 0 {
				t.Skip("no operation yet")
			}
			return len(l.ops) - 1 - rapid.IntRange(0, min(len(l.ops)-1, 4)).Draw(t, "back")
		}
		actions := map[string]func(*rapid.T){
			"pass": func(t *rapid.T) { now += rapid.SampledFrom([]int{1, 10, 59, 60, 600}).Draw(t, "seconds") },
			"claim": func(t *rapid.T) {
				c := logged{
					intent: rapid.SampledFrom([]string{"", "I", "J"}).Draw(t, "intent"), fingerprint: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "fingerprint"),
					callerKey: rapid.SampledFrom([]string{"", "", "K", "L"}).Draw(t, "key"), tool: rapid.SampledFrom([]string{"pay", "pay", "send"}).Draw(t, "tool"),
					repeatable: rapid.Bool().Draw(t, "repeatable"),
				}
				lease, window := rapid.SampledFrom([]int{0, 60}).Draw(t, "lease"), rapid.SampledFrom([]int{0, 600}).Draw(t, "window")
				kind, about := l.answer(c, window, now)
				v, err := store.Claim(t.Context(), operation.Claim{
					Scope: operation.Scope{Tool: c.tool}, Intent: c.intent, Fingerprint: c.fingerprint, CallerKey: c.callerKey, Repeatable: c.repeatable,
					NewID: id(len(l.ops)), Lease: time.Duration(lease) * time.Second, Window: time.Duration(window) * time.Second,
				})
				if about < 0 {
					about = len(l.ops)
					l.ops = append(l.ops, c)
				}
				if err != nil || v.Kind != kind || v.Operation.ID != id(about) {
					t.Fatalf("the answer is %s of %s, %v, not %s of %s", v.Kind, v.Operation.ID, err, kind, id(about))
				}
				if v.Executes() {
					l.events = append(l.events, event{at: now, op: about, what: "claim", lease: lease})
				}
				if v.Operation.Fence != l.fence(about) {
					t.Fatalf("the fence is %d, not %d", v.Operation.Fence, l.fence(about))
				}
			},
			"settle": func(t *rapid.T) {
				op := someOp(t)
				by := rapid.SampledFrom([]operation.By{operation.ByAnswer, operation.ByAnswer, operation.ByStatus, operation.ByOperator}).Draw(t, "by")
				to := rapid.SampledFrom([]operation.State{operation.Confirmed, operation.Refused, operation.Unknown}).Draw(t, "to")
				fence := l.fence(op) - rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(t, "late")
				status := l.status(op, now)
				may := fence == l.fence(op) && (by == operation.ByAnswer && status == "flying" || by != operation.ByAnswer && status == "doubtful" && to != operation.Unknown)
				before, err := store.Get(t.Context(), id(op))
				if err != nil {
					t.Fatal(err)
				}
				repeated := fence == l.fence(op) && before.State == to && before.By == by
				_, err = store.Settle(t.Context(), id(op), fence, operation.Outcome{State: to, By: by, Reason: "why"})
				if (may || repeated) != (err == nil) || err != nil && !errors.Is(err, operation.ErrFenced) {
					t.Fatalf("%s settles %s, which is %s, as %s under fence %d: %v", by, id(op), status, to, fence, err)
				}
				if may {
					l.events = append(l.events, event{at: now, op: op, what: string(to)})
				}
			},
			"renew": func(t *rapid.T) {
				op := someOp(t)
				flying := l.status(op, now) == "flying"
				err := store.Renew(t.Context(), id(op), l.fence(op), time.Minute)
				if flying != (err == nil) {
					t.Fatalf("renewing %s: %v", id(op), err)
				}
				if flying {
					l.events = append(l.events, event{at: now, op: op, what: "renew", lease: 60})
				}
			},
			"deliver": func(t *rapid.T) {
				op := someOp(t)
				d := rapid.SampledFrom([]operation.Delivery{operation.NotKnown, operation.Delivered, operation.Undelivered}).Draw(t, "delivery")
				confirmed := l.status(op, now) == "confirmed"
				err := store.Deliver(t.Context(), id(op), d)
				if confirmed != (err == nil) {
					t.Fatalf("delivering %s: %v", id(op), err)
				}
				if confirmed {
					l.events = append(l.events, event{at: now, op: op, what: "deliver", delivery: d})
				}
			},
			"": func(t *rapid.T) { // after each: the store says what the log says
				for op := range l.ops {
					o, err := store.Get(t.Context(), id(op))
					status := map[operation.State]string{operation.Sent: "flying", operation.Unknown: "doubtful", operation.Confirmed: "confirmed", operation.Refused: "refused"}[o.State]
					if err != nil || status != l.status(op, now) || o.Fence != l.fence(op) || o.Delivery != l.delivery(op) {
						t.Fatalf("%s is %+v, %v; by the log it is %s, fence %d, delivery %q", id(op), o, err, l.status(op, now), l.fence(op), l.delivery(op))
					}
				}
			},
		}
		actions["claim again"] = actions["claim"]
		actions["settle again"] = actions["settle"]
		t.Repeat(actions)
	})
}

// TestPausedWorld lets executors pause anywhere, lose their answers and end,
// and counts at an upstream what was really executed. Whatever happens, no
// call that is not repeatable is sent while an earlier one of its line may
// have an effect that nobody knows of.
func TestPausedWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := 0
		store := operation.NewMemory(func() time.Time { return start.Add(time.Duration(now) * time.Second) })
		type executor struct {
			op   operation.Operation
			sent bool
		}
		var executors []*executor
		effects := map[string]int{} // by operation
		ids := 0
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) { now += rapid.IntRange(1, 90).Draw(t, "seconds") },
			"call": func(t *rapid.T) {
				ids++
				c := payment(fmt.Sprint("key-", ids))
				c.NewID, c.Lease = fmt.Sprint("op-", ids), time.Minute
				v, err := store.Claim(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if v.Executes() {
					for _, other := range executors {
						if o, _ := store.Get(t.Context(), other.op.ID); o.State.Open() {
							t.Fatalf("%s executes while %s is %s", v.Operation.ID, o.ID, o.State)
						}
					}
					executors = append(executors, &executor{op: v.Operation})
				}
			},
			"send": func(t *rapid.T) { // perhaps long after the lease
				for _, e := range executors {
					if !e.sent && rapid.Bool().Draw(t, "this") {
						e.sent = true
						effects[e.op.ID]++
						return
					}
				}
			},
			"answer": func(t *rapid.T) {
				for _, e := range executors {
					if e.sent && rapid.Bool().Draw(t, "this") {
						_, err := store.Settle(t.Context(), e.op.ID, e.op.Fence, operation.Outcome{State: operation.Confirmed, By: operation.ByAnswer})
						if err == nil && rapid.Bool().Draw(t, "arrives") {
							_ = store.Deliver(t.Context(), e.op.ID, operation.Delivered)
						}
						return
					}
				}
			},
			"": func(t *rapid.T) {
				for id, n := range effects {
					if o, _ := store.Get(t.Context(), id); n > 1 || o.State == operation.Refused {
						t.Fatalf("%s has %d effects and is %s", id, n, o.State)
					}
				}
			},
		})
	})
}

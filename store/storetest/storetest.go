// Package storetest is the suite that every store of operations passes.
//
// It holds a store to [operation.Decide] and the pure functions beside it: by
// literal cases, by random sequences beside a store in memory, and by
// histories of concurrent calls, with calls that fail half way, for each of which an
// order must exist in which the pure functions give the same answers
// (linearizability). A racy store is in its own tests, so that the suite is known to find one.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.example/operation"
)

// Subject is the store under test.
type Subject struct {
	// Open opens a store whose place has this name, empty at first. The suite closes it.
	Open func(t *testing.T, name string) operation.Store
	// Pass lets time pass for an open store: it moves its clock, or what it has
	// written.
	Pass func(t *testing.T, s operation.Store, d time.Duration)
	// Durable says that what was written is there after Close and Open.
	Durable bool
	// Fault, if any, disturbs an open store once, as by dropping its connections.
	Fault func(t *testing.T, s operation.Store)
}

// Clock is a clock that only Pass moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock is a clock that stands at some time.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Pass moves the clock.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Run runs the suite.
func Run(t *testing.T, subject Subject) {
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"life", life},
		{"values", values},
		{"expiry", expiry},
		{"repetition", repetition},
		{"renewal", renewal},
		{"by hand", byHand},
		{"other payload", otherPayload},
		{"delivery", delivery},
		{"scopes", scopes},
		{"list", list},
		{"purge", purge},
		{"forget", forget},
		{"nothing there", nothingThere},
		{"one id", oneID},
		{"cancelled", cancelled},
		{"one of many", oneOfMany},
		{"reopened", reopened},
		{"beside the model", besideModel},
		{"linearizable", linearizable},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{T: t, subject: subject}
			s.open()
			c.run(s)
		})
	}
}

// suite is one case on one open store.
type suite struct {
	*testing.T
	operation.Store
	subject Subject
	ids     int
}

func (s *suite) open() {
	s.Helper()
	s.Store = s.subject.Open(s.T, "case")
	opened := s.Store
	s.Cleanup(func() { _ = opened.Close() })
}

func (s *suite) pass(d time.Duration) {
	s.Helper()
	s.subject.Pass(s.T, s.Store, d)
}

// write is a claim in a scope of its own test.
func write(intent, fingerprint, callerKey string) operation.Claim {
	return operation.Claim{
		Scope:  operation.Scope{Tenant: "shop", Principal: "agent", Upstream: "bank", Tool: "pay"},
		Intent: intent, Fingerprint: fingerprint, CallerKey: callerKey, Arguments: []byte(`{"amount": 42}`),
		Lease: time.Minute, Window: 10 * time.Minute,
	}
}

func (s *suite) claim(c operation.Claim, want operation.Kind) operation.Operation {
	s.Helper()
	s.ids++
	c.NewID, c.NewKey = fmt.Sprintf("op-%d", s.ids), fmt.Sprintf("key-%d", s.ids)
	v, err := s.Claim(s.Context(), c)
	if err != nil {
		s.Fatalf("claim: %v", err)
	}
	if v.Kind != want {
		s.Fatalf("the answer to the claim is %s, not %s; it is about %+v", v.Kind, want, v.Operation)
	}
	return v.Operation
}

func (s *suite) settle(o operation.Operation, state operation.State, by operation.By, want error) operation.Operation {
	s.Helper()
	settled, err := s.Settle(s.Context(), o.ID, o.Fence, operation.Outcome{State: state, By: by, Code: "OK", Result: []byte(`{"done": true}`), Reason: "seen"})
	if !errors.Is(err, want) {
		s.Fatalf("settling %s as %s by %s: the error is %v, not %v", o.ID, state, by, err, want)
	}
	return settled
}

func (s *suite) get(id string) operation.Operation {
	s.Helper()
	o, err := s.Get(s.Context(), id)
	if err != nil {
		s.Fatalf("get %s: %v", id, err)
	}
	return o
}

// is holds an operation to the one that the store has now.
func (s *suite) is(want operation.Operation) {
	s.Helper()
	if diff := cmp.Diff(want, s.get(want.ID)); diff != "" {
		s.Errorf("the store has another operation (-returned +stored):\n%s", diff)
	}
}

func (s *suite) deliver(id string, delivery operation.Delivery, want error) {
	s.Helper()
	if err := s.Deliver(s.Context(), id, delivery); !errors.Is(err, want) {
		s.Fatalf("delivering %s: the error is %v, not %v", id, err, want)
	}
}

func life(s *suite) {
	o := s.claim(write("", "A", ""), operation.Execute)
	s.is(o)
	s.claim(write("", "A", ""), operation.Held)
	s.claim(write("", "A", "another key"), operation.Held)
	s.claim(write("", "B", ""), operation.Execute)
	confirmed := s.settle(o, operation.Confirmed, operation.ByAnswer, nil)
	if confirmed.State != operation.Confirmed || confirmed.By != operation.ByAnswer || confirmed.Settled.IsZero() || string(confirmed.Result) != `{"done": true}` {
		s.Errorf("settled: %+v", confirmed)
	}
	s.is(confirmed)
	if again := s.settle(o, operation.Confirmed, operation.ByAnswer, nil); !cmp.Equal(again, confirmed) {
		s.Errorf("the same outcome again changes it: %s", cmp.Diff(confirmed, again))
	}
	s.settle(o, operation.Refused, operation.ByAnswer, operation.ErrFenced)
	s.settle(o, operation.Refused, operation.ByOperator, operation.ErrFenced)
	s.is(confirmed)
	if replayed := s.claim(write("", "A", ""), operation.Replay); !cmp.Equal(replayed, confirmed) {
		s.Errorf("the replay is of another operation: %s", cmp.Diff(confirmed, replayed))
	}
	refused := s.claim(write("", "C", "key"), operation.Execute)
	s.settle(refused, operation.Refused, operation.ByAnswer, nil)
	s.claim(write("", "C", "key"), operation.Execute)
}

func values(s *suite) {
	c := write("intent \x01 „ä“", "fingerprint", "caller's \"key\"")
	c.Tenant, c.Repeatable, c.Arguments = "", true, []byte("{\"n\": 1.50,\n \"text\": \"ä\\u0000\"}")
	o := s.claim(c, operation.Execute)
	want := operation.Operation{
		ID: o.ID, Scope: c.Scope, Intent: c.Intent, Fingerprint: c.Fingerprint, CallerKey: c.CallerKey, Key: "key-1", Repeatable: true,
		Arguments: c.Arguments, State: operation.Sent, Fence: 1, Created: o.Created, Lease: o.Created.Add(time.Minute),
	}
	if diff := cmp.Diff(want, o); diff != "" {
		s.Errorf("a claimed operation (-want +got):\n%s", diff)
	}
	s.is(want)
	without := s.claim(operation.Claim{Fingerprint: "F", Lease: time.Minute}, operation.Execute)
	if without.Arguments != nil || without.Result != nil || !without.Settled.IsZero() {
		s.Errorf("an operation without arguments: %+v", without)
	}
	s.is(without)
}

func expiry(s *suite) {
	o := s.claim(write("I", "A", "key"), operation.Execute)
	s.pass(59 * time.Second)
	s.claim(write("I", "A", "other"), operation.Held)
	s.pass(2 * time.Second)
	unknown := s.get(o.ID)
	if unknown.State != operation.Unknown || unknown.By != operation.ByExpiry || !unknown.Settled.Equal(unknown.Lease) {
		s.Errorf("an operation whose lease has run out: %+v", unknown)
	}
	s.settle(o, operation.Confirmed, operation.ByAnswer, operation.ErrFenced)
	if err := s.Renew(s.Context(), o.ID, o.Fence, time.Minute); !errors.Is(err, operation.ErrFenced) {
		s.Errorf("renewing a lease that has run out: %v", err)
	}
	doubtful := s.claim(write("I", "A", ""), operation.Doubtful)
	if diff := cmp.Diff(unknown, doubtful); diff != "" {
		s.Errorf("what Get and Claim say of it differs:\n%s", diff)
	}
	s.is(unknown)
	s.settle(o, operation.Confirmed, operation.ByAnswer, operation.ErrFenced)
	confirmed := s.settle(o, operation.Confirmed, operation.ByStatus, nil)
	s.is(confirmed)
	s.claim(write("I", "A", ""), operation.Replay)
	// Nothing has written the expiry of this one when it is settled.
	other := s.claim(write("J", "A", ""), operation.Execute)
	s.pass(61 * time.Second)
	s.settle(other, operation.Refused, operation.ByOperator, nil)
}

func repetition(s *suite) {
	c := write("I", "A", "key")
	c.Repeatable = true
	first := s.claim(c, operation.Execute)
	s.settle(first, operation.Unknown, operation.ByAnswer, nil)
	c.CallerKey = "other"
	second := s.claim(c, operation.Again)
	want := first
	want.Fence, want.Lease = 2, second.Lease
	if diff := cmp.Diff(want, second); diff != "" {
		s.Errorf("the repetition is not the same operation under the next fence:\n%s", diff)
	}
	s.is(second)
	s.settle(first, operation.Confirmed, operation.ByAnswer, operation.ErrFenced)
	s.claim(c, operation.Held)
	s.pass(61 * time.Second)
	third := s.claim(c, operation.Again)
	if third.Fence != 3 || third.ID != first.ID || third.Key != first.Key {
		s.Errorf("the second repetition: %+v", third)
	}
	c.Fingerprint = "B"
	s.claim(c, operation.Held)
	s.settle(second, operation.Confirmed, operation.ByAnswer, operation.ErrFenced)
	s.settle(third, operation.Unknown, operation.ByAnswer, nil)
	s.claim(c, operation.Doubtful)
}

func renewal(s *suite) {
	o := s.claim(write("", "A", ""), operation.Execute)
	for range 3 {
		s.pass(50 * time.Second)
		if err := s.Renew(s.Context(), o.ID, o.Fence, time.Minute); err != nil {
			s.Fatal(err)
		}
	}
	s.claim(write("", "A", ""), operation.Held)
	if err := s.Renew(s.Context(), o.ID, o.Fence+1, time.Minute); !errors.Is(err, operation.ErrFenced) {
		s.Errorf("renewing under another fence: %v", err)
	}
	s.settle(o, operation.Confirmed, operation.ByAnswer, nil)
	if err := s.Renew(s.Context(), o.ID, o.Fence, time.Minute); !errors.Is(err, operation.ErrFenced) {
		s.Errorf("renewing a confirmed operation: %v", err)
	}
}

func byHand(s *suite) {
	o := s.claim(write("", "A", ""), operation.Execute)
	s.settle(o, operation.Confirmed, operation.ByOperator, operation.ErrFenced)
	s.settle(o, operation.Unknown, operation.ByAnswer, nil)
	outcome := operation.Outcome{State: operation.Confirmed, By: operation.ByOperator, Reason: " \t"}
	if _, err := s.Settle(s.Context(), o.ID, o.Fence, outcome); !errors.Is(err, operation.ErrReason) {
		s.Errorf("without a reason: %v", err)
	}
	s.settle(o, operation.Unknown, operation.ByOperator, operation.ErrFenced)
	other := o
	other.Fence++
	s.settle(other, operation.Refused, operation.ByOperator, operation.ErrFenced)
	refused := s.settle(o, operation.Refused, operation.ByOperator, nil)
	if refused.Reason != "seen" {
		s.Errorf("the reason is %q", refused.Reason)
	}
	s.is(refused)
}

func otherPayload(s *suite) {
	o := s.claim(write("I", "A", "key"), operation.Execute)
	s.claim(write("I", "B", "other"), operation.Held)
	s.claim(write("J", "C", "key"), operation.Reused)
	s.settle(o, operation.Unknown, operation.ByAnswer, nil)
	s.claim(write("I", "B", "other"), operation.Doubtful)
	s.settle(o, operation.Confirmed, operation.ByStatus, nil)
	s.claim(write("I", "B", "other"), operation.Reused)
	s.claim(write("J", "A", "key"), operation.Replay)
	s.deliver(o.ID, operation.Delivered, nil)
	s.claim(write("I", "A", "key"), operation.Replay)
	s.claim(write("I", "A", "new"), operation.Execute)
}

func delivery(s *suite) {
	o := s.claim(write("", "A", ""), operation.Execute)
	s.deliver(o.ID, operation.Delivered, operation.ErrFenced)
	s.settle(o, operation.Confirmed, operation.ByAnswer, nil)
	s.pass(9 * time.Minute)
	s.claim(write("", "A", ""), operation.Replay)
	s.deliver(o.ID, operation.Undelivered, nil)
	s.pass(2 * time.Minute)
	if replayed := s.claim(write("", "A", ""), operation.Replay); replayed.Delivery != operation.Undelivered {
		s.Errorf("the delivery is %q", replayed.Delivery)
	}
	s.deliver(o.ID, operation.Delivered, nil)
	s.deliver(o.ID, operation.Undelivered, nil)
	if got := s.get(o.ID).Delivery; got != operation.Delivered {
		s.Errorf("what was delivered is now %q", got)
	}
	second := s.claim(write("", "A", ""), operation.Execute)
	s.settle(second, operation.Confirmed, operation.ByAnswer, nil)
	s.pass(11 * time.Minute)
	s.claim(write("", "A", ""), operation.Execute)
}

func scopes(s *suite) {
	first := s.claim(write("I", "A", "key"), operation.Execute)
	for i := range 4 {
		c := write("I", "A", "key")
		*[]*string{&c.Tenant, &c.Principal, &c.Upstream, &c.Tool}[i] += "2"
		if o := s.claim(c, operation.Execute); o.ID == first.ID {
			s.Error("an operation of another scope")
		}
	}
	// The parts are not run together.
	c := write("I", "A", "key")
	c.Tenant, c.Principal = "shopa", "gent"
	s.claim(c, operation.Execute)
}

func ids(list []operation.Operation) []string {
	got := []string{}
	for _, o := range list {
		got = append(got, o.ID)
	}
	return got
}

func list(s *suite) {
	var all []operation.Operation
	for i := range 6 {
		c := write("", fmt.Sprint(i), "")
		c.Tool = []string{"pay", "send"}[i%2]
		all = append(all, s.claim(c, operation.Execute))
	}
	s.settle(all[0], operation.Confirmed, operation.ByAnswer, nil)
	s.settle(all[1], operation.Refused, operation.ByAnswer, nil)
	s.settle(all[2], operation.Unknown, operation.ByAnswer, nil)
	s.pass(30 * time.Second)
	if err := s.Renew(s.Context(), all[5].ID, 1, time.Minute); err != nil {
		s.Fatal(err)
	}
	s.pass(31 * time.Second)
	want := func(filter operation.Filter, before string, limit int, want ...string) {
		s.Helper()
		got, err := s.List(s.Context(), filter, before, limit)
		if err != nil {
			s.Fatal(err)
		}
		if !slices.Equal(ids(got), want) {
			s.Errorf("%+v before %q, at most %d: %v, not %v", filter, before, limit, ids(got), want)
		}
		for _, o := range got {
			s.is(o)
		}
	}
	want(operation.Filter{}, "", 10, "op-6", "op-5", "op-4", "op-3", "op-2", "op-1")
	want(operation.Filter{}, "", 2, "op-6", "op-5")
	want(operation.Filter{}, "op-5", 2, "op-4", "op-3")
	want(operation.Filter{}, "op-1", 2)
	want(operation.Filter{}, "", 0)
	want(operation.Filter{Tool: "send"}, "", 10, "op-6", "op-4", "op-2")
	want(operation.Filter{Tenant: "shop", Principal: "agent", Upstream: "bank", Tool: "pay"}, "", 10, "op-5", "op-3", "op-1")
	want(operation.Filter{Principal: "nobody"}, "", 10)
	want(operation.Filter{States: []operation.State{operation.Sent}}, "", 10, "op-6")
	want(operation.Filter{States: []operation.State{operation.Unknown}}, "", 10, "op-5", "op-4", "op-3")
	want(operation.Filter{States: []operation.State{operation.Sent, operation.Unknown}}, "op-6", 2, "op-5", "op-4")
	want(operation.Filter{States: []operation.State{operation.Confirmed, operation.Unknown}, Tool: "pay"}, "", 10, "op-5", "op-3", "op-1")
	want(operation.Filter{States: []operation.State{operation.Refused}}, "", 10, "op-2")
	if _, err := s.List(s.Context(), operation.Filter{}, "op-99", 10); !errors.Is(err, operation.ErrNotFound) {
		s.Errorf("before an operation that is not there: %v", err)
	}
}

func purge(s *suite) {
	confirmed := s.settle(s.claim(write("", "A", ""), operation.Execute), operation.Confirmed, operation.ByAnswer, nil)
	refused := s.settle(s.claim(write("", "B", ""), operation.Execute), operation.Refused, operation.ByAnswer, nil)
	unknown := s.settle(s.claim(write("", "C", ""), operation.Execute), operation.Unknown, operation.ByAnswer, nil)
	sent := s.claim(write("", "D", ""), operation.Execute)
	if n, err := s.Purge(s.Context(), confirmed.Settled); n != 0 || err != nil {
		s.Errorf("it forgot %d operations, %v", n, err)
	}
	if n, err := s.Purge(s.Context(), sent.Created.Add(time.Hour)); n != 2 || err != nil {
		s.Errorf("it forgot %d operations, %v; valid: 2", n, err)
	}
	confirmed.Arguments, confirmed.Result = nil, nil
	refused.Arguments, refused.Result = nil, nil
	for _, o := range []operation.Operation{confirmed, refused, unknown, sent} {
		s.is(o)
	}
	if n, err := s.Purge(s.Context(), sent.Created.Add(time.Hour)); n != 0 || err != nil {
		s.Errorf("it forgot %d operations again, %v", n, err)
	}
	s.claim(write("", "A", ""), operation.Replay)
}

func forget(s *suite) {
	at := func(upstream, tool string) time.Time {
		s.Helper()
		at, err := s.Forgotten(s.Context(), upstream, tool)
		if err != nil {
			s.Fatal(err)
		}
		return at
	}
	forget := func(upstream, tool string) {
		s.Helper()
		if err := s.Forget(s.Context(), upstream, tool); err != nil {
			s.Fatal(err)
		}
	}
	if !at("bank", "pay").IsZero() || !at("bank", "").IsZero() {
		s.Error("refusals are forgotten from the beginning")
	}
	forget("bank", "pay")
	first := at("bank", "pay")
	if first.IsZero() || !at("bank", "send").IsZero() || !at("other", "pay").IsZero() {
		s.Error("refusals of one tool were to be forgotten")
	}
	s.pass(time.Second)
	forget("bank", "")
	if all := at("bank", "send"); all.IsZero() || !at("bank", "pay").Equal(all) || !all.After(first.Add(-time.Second)) || !at("other", "pay").IsZero() {
		s.Error("refusals of all tools of one upstream were to be forgotten")
	}
}

func nothingThere(s *suite) {
	_, get := s.Get(s.Context(), "none")
	_, settle := s.Settle(s.Context(), "none", 1, operation.Outcome{State: operation.Confirmed, By: operation.ByAnswer})
	for i, err := range []error{get, settle, s.Renew(s.Context(), "none", 1, time.Minute), s.Deliver(s.Context(), "none", operation.Delivered)} {
		if !errors.Is(err, operation.ErrNotFound) {
			s.Errorf("call %d: the error is %v", i, err)
		}
	}
	for _, c := range []operation.Claim{{Fingerprint: "A"}, {NewID: "a"}} {
		if _, err := s.Claim(s.Context(), c); err == nil {
			s.Errorf("%+v is accepted", c)
		}
	}
}

func oneID(s *suite) {
	o := s.claim(write("", "A", ""), operation.Execute)
	c := write("", "B", "")
	c.NewID = o.ID
	if v, err := s.Claim(s.Context(), c); err == nil {
		s.Errorf("an id is given twice: %+v", v)
	}
	s.is(o)
}

func cancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	c := write("", "A", "")
	c.NewID = "cancelled"
	if _, err := s.Claim(ctx, c); !errors.Is(err, context.Canceled) {
		s.Errorf("the error is %v", err)
	}
	if _, err := s.Get(s.Context(), "cancelled"); !errors.Is(err, operation.ErrNotFound) {
		s.Errorf("a cancelled claim was written: %v", err)
	}
}

// oneOfMany: of many that claim one line at once, one executes; each line.
func oneOfMany(s *suite) {
	const callers, lines = 16, 8
	for line := range lines {
		verdicts := make([]operation.Verdict, callers)
		errs := make([]error, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				c := write(fmt.Sprint("I", line), fmt.Sprint("F", i%2), fmt.Sprintf("key-%d-%d", line, i))
				c.NewID = fmt.Sprintf("op-%d-%d", line, i)
				verdicts[i], errs[i] = s.Claim(s.Context(), c)
			})
		}
		wg.Wait()
		executed := ""
		for i, v := range verdicts {
			if errs[i] != nil {
				s.Fatal(errs[i])
			}
			if v.Kind == operation.Execute {
				if executed != "" {
					s.Errorf("line %d: %s and %s execute", line, executed, v.Operation.ID)
				}
				executed = v.Operation.ID
			}
		}
		for _, v := range verdicts {
			if v.Operation.ID != executed || v.Kind != operation.Execute && v.Kind != operation.Held {
				s.Errorf("line %d: %s is executed, and a claim is answered with %s of %s", line, executed, v.Kind, v.Operation.ID)
			}
		}
	}
}

func reopened(s *suite) {
	if !s.subject.Durable {
		return
	}
	sent := s.claim(write("", "A", ""), operation.Execute)
	confirmed := s.settle(s.claim(write("", "B", ""), operation.Execute), operation.Confirmed, operation.ByAnswer, nil)
	s.deliver(confirmed.ID, operation.Delivered, nil)
	confirmed.Delivery = operation.Delivered
	if err := s.Forget(s.Context(), "bank", "pay"); err != nil {
		s.Fatal(err)
	}
	if err := s.Close(); err != nil {
		s.Fatal(err)
	}
	s.open()
	s.is(sent)
	s.is(confirmed)
	s.claim(write("", "A", ""), operation.Held)
	if at, err := s.Forgotten(s.Context(), "bank", "pay"); at.IsZero() || err != nil {
		s.Errorf("what was forgotten is not kept: %v, %v", at, err)
	}
	s.settle(sent, operation.Confirmed, operation.ByAnswer, nil)
}

package operation_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"remit.example/operation"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// desk is a store in memory at a time that the test sets, in seconds.
type desk struct {
	*testing.T
	*operation.Memory
	second *int
	ids    int
}

func newDesk(t *testing.T) *desk {
	second := new(int)
	return &desk{T: t, second: second, Memory: operation.NewMemory(func() time.Time { return start.Add(time.Duration(*second) * time.Second) })}
}

// claim makes a claim at a second and holds its answer to the kind.
func (d *desk) claim(second int, c operation.Claim, want operation.Kind) operation.Operation {
	d.Helper()
	*d.second = second
	d.ids++
	c.NewID = fmt.Sprintf("op-%d", d.ids)
	c.NewKey = fmt.Sprintf("key-%d", d.ids)
	v, err := d.Claim(d.Context(), c)
	if err != nil {
		d.Fatal(err)
	}
	if v.Kind != want {
		d.Fatalf("second %d: the answer is %s, not %s", second, v.Kind, want)
	}
	return v.Operation
}

func (d *desk) settle(second int, o operation.Operation, state operation.State, want error) {
	d.Helper()
	*d.second = second
	_, err := d.Settle(d.Context(), o.ID, o.Fence, operation.Outcome{State: state, By: operation.ByAnswer, Code: "OK"})
	if !errors.Is(err, want) {
		d.Fatalf("second %d: the error is %v, not %v", second, err, want)
	}
}

// payment is a claim of a tool whose identity is the invoice.
func payment(callerKey string) operation.Claim {
	return operation.Claim{
		Scope:  operation.Scope{Principal: "agent", Upstream: "bank", Tool: "pay"},
		Intent: "invoice-7", Fingerprint: "invoice-7, 42.00 EUR", CallerKey: callerKey,
		Lease: 120 * time.Second, Window: 600 * time.Second,
	}
}

// TestImpatientClient: the client gives up at 60 s, the effect comes at 70 s,
// and the client has tried with a new key at 61 s and tries at 80 s. One
// execution.
func TestImpatientClient(t *testing.T) {
	d := newDesk(t)
	o := d.claim(0, payment("A"), operation.Execute)
	d.claim(61, payment("B"), operation.Held)
	d.settle(70, o, operation.Confirmed, nil)
	if err := d.Deliver(t.Context(), o.ID, operation.Undelivered); err != nil {
		t.Fatal(err)
	}
	replayed := d.claim(80, payment("C"), operation.Replay)
	if replayed.ID != o.ID || replayed.Fence != 1 {
		t.Errorf("the replay is of %s with fence %d, not of the one execution", replayed.ID, replayed.Fence)
	}
}

// TestTwoDeliberateWrites: the first one's result was delivered, so the second
// is meant.
func TestTwoDeliberateWrites(t *testing.T) {
	d := newDesk(t)
	first := d.claim(0, payment("A"), operation.Execute)
	d.settle(1, first, operation.Confirmed, nil)
	if err := d.Deliver(t.Context(), first.ID, operation.Delivered); err != nil {
		t.Fatal(err)
	}
	second := d.claim(2, payment("B"), operation.Execute)
	if second.ID == first.ID {
		t.Error("the second write is the first operation")
	}
	d.settle(3, second, operation.Confirmed, nil)
	d.claim(4, payment("A"), operation.Replay)
}

// TestUnknownDelivery: the window decides, to the second.
func TestUnknownDelivery(t *testing.T) {
	for second, want := range map[int]operation.Kind{600: operation.Replay, 601: operation.Execute} {
		d := newDesk(t)
		o := d.claim(0, payment(""), operation.Execute)
		d.settle(1, o, operation.Confirmed, nil)
		d.claim(second, payment(""), want)
	}
}

// TestPausedExecutor has three executors, of which the first is paused beyond
// its lease.
func TestPausedExecutor(t *testing.T) {
	t.Run("unsafe", func(t *testing.T) {
		d := newDesk(t)
		first := d.claim(0, payment("A"), operation.Execute)
		d.claim(119, payment("B"), operation.Held)
		d.claim(120, payment("C"), operation.Doubtful)
		d.settle(121, first, operation.Confirmed, operation.ErrFenced)
		if err := d.Renew(t.Context(), first.ID, first.Fence, time.Minute); !errors.Is(err, operation.ErrFenced) {
			t.Errorf("the first renews a lease that has run out: %v", err)
		}
		d.claim(100_000, payment("D"), operation.Doubtful)
	})
	t.Run("repeatable", func(t *testing.T) {
		d := newDesk(t)
		keyed := func(key string) operation.Claim {
			c := payment(key)
			c.Repeatable = true
			return c
		}
		first := d.claim(0, keyed("A"), operation.Execute)
		second := d.claim(120, keyed("B"), operation.Again)
		if second.ID != first.ID || second.Key != first.Key || second.Fence != 2 || second.CallerKey != "A" {
			t.Errorf("the repetition is %+v", second)
		}
		d.settle(121, first, operation.Refused, operation.ErrFenced)
		d.claim(122, keyed("C"), operation.Held)
		d.settle(123, second, operation.Confirmed, nil)
		d.settle(124, second, operation.Confirmed, nil)
		d.settle(125, first, operation.Refused, operation.ErrFenced)
		d.claim(126, keyed("C"), operation.Replay)
	})
}

// TestOtherPayload: one invoice, another amount.
func TestOtherPayload(t *testing.T) {
	other := payment("B")
	other.Fingerprint = "invoice-7, 43.00 EUR"
	d := newDesk(t)
	o := d.claim(0, payment("A"), operation.Execute)
	d.claim(1, other, operation.Held)
	sameKey := other
	sameKey.CallerKey = "A"
	d.claim(2, sameKey, operation.Reused)
	d.settle(3, o, operation.Unknown, nil)
	d.claim(4, other, operation.Doubtful)
	if _, err := d.Settle(t.Context(), o.ID, 1, operation.Outcome{State: operation.Confirmed, By: operation.ByOperator, Reason: " "}); !errors.Is(err, operation.ErrReason) {
		t.Errorf("without a reason: %v", err)
	}
	if _, err := d.Settle(t.Context(), o.ID, 1, operation.Outcome{State: operation.Confirmed, By: operation.ByOperator, Reason: "seen at the bank"}); err != nil {
		t.Fatal(err)
	}
	d.claim(5, other, operation.Reused)
}

// TestRefusedStandsInNobodysWay also for the same key with other arguments.
func TestRefusedStandsInNobodysWay(t *testing.T) {
	d := newDesk(t)
	o := d.claim(0, payment("A"), operation.Execute)
	d.settle(1, o, operation.Refused, nil)
	other := payment("A")
	other.Fingerprint = "invoice-7, 43.00 EUR"
	d.claim(2, other, operation.Execute)
}

// TestRefusedHidesNothing: behind a refused operation the confirmed one still counts.
func TestRefusedHidesNothing(t *testing.T) {
	d := newDesk(t)
	first := d.claim(0, payment("A"), operation.Execute)
	d.settle(1, first, operation.Confirmed, nil)
	if err := d.Deliver(t.Context(), first.ID, operation.Delivered); err != nil {
		t.Fatal(err)
	}
	d.settle(3, d.claim(2, payment("B"), operation.Execute), operation.Refused, nil)
	other := payment("C")
	other.Fingerprint = "invoice-7, 43.00 EUR"
	if o := d.claim(4, other, operation.Reused); o.ID != first.ID {
		t.Errorf("it names %s, not the confirmed one", o.ID)
	}
}

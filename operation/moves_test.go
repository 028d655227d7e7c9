package operation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// existing are the moves that exist, as the package comment lists them; what a
// claim does is held to it in TestClaimMoves.
var existing = map[string]bool{
	"answer sent confirmed": true, "answer sent refused": true, "answer sent unknown": true,
	"status unknown confirmed": true, "status unknown refused": true,
	"operator unknown confirmed": true, "operator unknown refused": true,
}

// TestEveryMove settles an operation of each state by everything, to every
// state, under the right fence and under others.
func TestEveryMove(t *testing.T) {
	states := []State{"", Sent, Confirmed, Refused, Unknown, "partial"}
	count := 0
	for _, from := range states {
		for _, expired := range []bool{false, true} {
			for _, by := range []By{"", ByAnswer, ByExpiry, ByStatus, ByOperator, "claim", "other"} {
				for _, to := range states {
					for _, fence := range []int64{2, 3, 4} {
						o := Operation{ID: "o", State: from, Fence: 3, Lease: noon.Add(time.Second)}
						counts := from // as what it counts
						if expired {
							o.Lease = noon
							if from == Sent {
								counts = Unknown
							}
						}
						got, err := o.Settle(fence, Outcome{State: to, By: by, Code: "X", Result: []byte("{}"), Reason: "why"}, noon)
						exists := fence == 3 && existing[fmt.Sprintf("%s %s %s", by, counts, to)]
						if exists != (err == nil) || err != nil && !errors.Is(err, ErrFenced) {
							t.Errorf("%s (expired %v) by %s to %s, fence %d: %v", from, expired, by, to, fence, err)
						}
						if err != nil {
							continue
						}
						count++
						if got.State != to || got.By != by || got.Code != "X" || string(got.Result) != "{}" || got.Reason != "why" || !got.Settled.Equal(noon) || got.Fence != 3 {
							t.Errorf("%s by %s to %s: %+v", from, by, to, got)
						}
						if again, err := got.Settle(fence, Outcome{State: to, By: by, Code: "X", Result: []byte("{}"), Reason: "why"}, noon.Add(time.Hour)); err != nil || !again.Settled.Equal(noon) {
							t.Errorf("%s by %s to %s once more: %+v, %v", from, by, to, again, err)
						}
						for _, other := range []Outcome{
							{State: to, By: by, Code: "Y", Result: []byte("{}"), Reason: "why"},
							{State: to, By: by, Code: "X", Result: []byte("[]"), Reason: "why"},
							{State: to, By: by, Code: "X", Result: []byte("{}"), Reason: "because"},
						} {
							if _, err := got.Settle(fence, other, noon); !errors.Is(err, ErrFenced) {
								t.Errorf("%s by %s to %s, then %+v: %v", from, by, to, other, err)
							}
						}
					}
				}
			}
		}
	}
	if count != 3+3*4 { // sent; and sent with an expired lease, and unknown with any
		t.Errorf("%d moves exist", count)
	}
}

// TestOutcomeFrom: the state that a store asks for is the one that Settle takes.
func TestOutcomeFrom(t *testing.T) {
	for _, by := range []By{"", ByAnswer, ByExpiry, ByStatus, ByOperator, "claim"} {
		for _, to := range []State{"", Sent, Confirmed, Refused, Unknown} {
			var want []State
			for _, from := range []State{"", Sent, Confirmed, Refused, Unknown} {
				if existing[fmt.Sprintf("%s %s %s", by, from, to)] {
					want = append(want, from)
				}
			}
			from, exists := Outcome{State: to, By: by, Reason: "why"}.From()
			if exists != (len(want) == 1) || exists && from != want[0] {
				t.Errorf("by %s to %s: from %q, %v; valid: %v", by, to, from, exists, want)
			}
		}
	}
	if _, exists := (Outcome{State: Refused, By: ByOperator, Reason: "\n"}).From(); exists {
		t.Error("an operator without a reason moves something")
	}
}

// TestClaimMoves claims beside one operation of each state.
func TestClaimMoves(t *testing.T) {
	for _, state := range []State{Sent, Confirmed, Refused, Unknown} {
		for _, repeatable := range []bool{false, true} {
			for _, claims := range []bool{false, true} {
				for _, same := range []bool{false, true} {
					c := Claim{Intent: "I", Fingerprint: "A", Repeatable: claims, NewID: "new", NewKey: "new key", Lease: time.Minute}
					o := Operation{ID: "old", Key: "old key", Intent: "I", Fingerprint: "A", State: state, Fence: 3, Repeatable: repeatable, Lease: noon.Add(time.Second), Delivery: Delivered}
					if !same {
						o.Fingerprint = "B"
					}
					want := map[State]Kind{Sent: Held, Confirmed: Execute, Refused: Execute, Unknown: Doubtful}[state]
					if state == Confirmed && !same {
						want = Reused
					}
					if state == Unknown && repeatable && claims && same {
						want = Again
					}
					v, writes := Decide(c, []Operation{o}, noon)
					if v.Kind != want {
						t.Errorf("%s, repeatable %v, claim repeatable %v, same arguments %v: %s, not %s", state, repeatable, claims, same, v.Kind, want)
					}
					wantWrites, fence, id, key := 0, int64(3), "old", "old key"
					switch want {
					case Execute:
						wantWrites, fence, id, key = 1, 1, "new", "new key"
					case Again:
						wantWrites, fence = 1, 4
					}
					if len(writes) != wantWrites || v.Operation.Fence != fence || v.Operation.ID != id || v.Operation.Key != key {
						t.Errorf("%s: %d writes, %+v", want, len(writes), v.Operation)
					}
					if v.Executes() && (v.Operation.State != Sent || !v.Operation.Lease.Equal(noon.Add(time.Minute))) {
						t.Errorf("%s: %+v", want, v.Operation)
					}
				}
			}
		}
	}
}

// TestLeaseEnd: a lease holds until its end and not at it.
func TestLeaseEnd(t *testing.T) {
	o := Operation{ID: "o", State: Sent, Fence: 1, Lease: noon}
	if got := o.At(noon.Add(-1)); got.State != Sent || !o.Held(noon.Add(-1)) {
		t.Errorf("before: %+v", got)
	}
	got := o.At(noon)
	if got.State != Unknown || got.By != ByExpiry || got.Code != "OUTCOME_UNKNOWN" || !got.Settled.Equal(noon) || got.Reason == "" || o.Held(noon) {
		t.Errorf("at its end: %+v", got)
	}
	if renewed, err := o.Renew(1, time.Minute, noon.Add(-1)); err != nil || !renewed.Lease.Equal(noon.Add(time.Minute-1)) {
		t.Errorf("renewing before: %+v, %v", renewed, err)
	}
	if _, err := o.Renew(1, time.Minute, noon); !errors.Is(err, ErrFenced) {
		t.Errorf("renewing at its end: %v", err)
	}
	_, writes := Decide(Claim{Fingerprint: "A", NewID: "new"}, []Operation{{ID: "o", Fingerprint: "A", State: Sent, Fence: 1, Lease: noon}}, noon)
	if len(writes) != 1 || writes[0].By != ByExpiry {
		t.Errorf("a claim does not write the expiry: %+v", writes)
	}
	expired := Operation{ID: "o", Fingerprint: "A", State: Sent, Repeatable: true, Fence: 1, Lease: noon}
	v, writes := Decide(Claim{Fingerprint: "A", Repeatable: true, NewID: "new", Lease: time.Minute}, []Operation{expired}, noon)
	if v.Kind != Again || len(writes) != 1 || writes[0].State != Sent || writes[0].Fence != 2 || writes[0].By != "" {
		t.Errorf("a claim that repeats it: %s, %+v", v.Kind, writes)
	}
}

// TestSeveralOpen: which only a changed declaration of intents brings about.
func TestSeveralOpen(t *testing.T) {
	c := Claim{Intent: "I", Fingerprint: "A", CallerKey: "K", Repeatable: true, NewID: "new"}
	ofLine := Operation{ID: "line", Intent: "I", Fingerprint: "A", State: Unknown, Repeatable: true, Fence: 1}
	ofKey := Operation{ID: "key", Intent: "", Fingerprint: "A", CallerKey: "K", State: Unknown, Repeatable: true, Fence: 1}
	if v, _ := Decide(c, []Operation{ofKey}, noon); v.Kind != Again {
		t.Errorf("an open one with the caller's key: %s", v.Kind)
	}
	if v, _ := Decide(c, []Operation{ofLine, ofKey}, noon); v.Kind != Doubtful {
		t.Errorf("two whose outcome is unknown: %s", v.Kind)
	}
	ofKey.State, ofKey.Lease = Sent, noon.Add(1)
	if v, _ := Decide(c, []Operation{ofLine, ofKey}, noon); v.Kind != Held || v.Operation.ID != "key" {
		t.Errorf("one of two is in flight: %s of %s", v.Kind, v.Operation.ID)
	}
}

// TestKeys: no two different values of a scope have one key.
func TestKeys(t *testing.T) {
	seen := map[Key]string{}
	values := []string{"", "a", "b", "ab", "\x01a"}
	for _, tenant := range values {
		for _, principal := range values {
			for _, value := range values {
				scope := Scope{Tenant: tenant, Principal: principal}
				o := Operation{Scope: scope, Intent: value, Fingerprint: value, CallerKey: value}
				keys := o.Keys()
				if (keys.Intent == nil) != (value == "") || (keys.Caller == nil) != (value == "") {
					t.Errorf("%q has the keys %+v", value, keys)
				}
				for i, k := range []*Key{keys.Intent, &keys.Fingerprint, keys.Caller} {
					if k == nil {
						continue
					}
					if other, taken := seen[*k]; taken {
						t.Errorf("%q, %q, %q as %d has the key of %s", tenant, principal, value, i, other)
					}
					seen[*k] = fmt.Sprintf("%q, %q, %q as %d", tenant, principal, value, i)
				}
			}
		}
	}
}

// TestMovesAreDocumented: the package comment and the table say the same.
func TestMovesAreDocumented(t *testing.T) {
	var got []string
	for _, m := range moves {
		for _, to := range m.to {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", m.by, m.from, to)))
		}
	}
	want := []string{"claim  sent", "claim unknown sent", "expiry sent unknown"}
	for m := range existing {
		want = append(want, m)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the moves are %q, not %q", got, want)
	}
}

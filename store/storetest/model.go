package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit.example/operation"
)

// besideModel makes the same random calls of the store and of one in memory.
// Leases and windows are of minutes, so that the time that passes by itself
// changes no answer; the times themselves are not compared.
func besideModel(s *suite) {
	const steps = 400
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	clock := NewClock()
	model := operation.NewMemory(clock.Now)
	timeless := cmpopts.IgnoreFields(operation.Operation{}, "Created", "Lease", "Settled")
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	known := []operation.Operation{{ID: "none", Fence: 1}}
	for step := range steps {
		target := known[max(0, len(known)-1-random.IntN(4))]
		if random.IntN(8) == 0 {
			target.Fence += random.Int64N(3) - 1
		}
		var call func(operation.Store) (any, error)
		what := ""
		switch n := random.IntN(20); {
		case n < 9:
			c := write(pick("", "I", "J"), pick("A", "B"), pick("", "", "K", "L", "M"))
			c.Repeatable = random.IntN(3) > 0
			c.Lease = []time.Duration{-time.Minute, 5 * time.Minute}[random.IntN(2)]
			c.Window = []time.Duration{0, 15 * time.Minute}[random.IntN(2)]
			c.NewID, c.NewKey = fmt.Sprint("op-", step), fmt.Sprint("key-", step)
			what = fmt.Sprintf("claim %+v", c)
			call = func(store operation.Store) (any, error) { return store.Claim(s.Context(), c) }
		case n < 15:
			outcome := operation.Outcome{
				State: operation.State(pick("confirmed", "confirmed", "refused", "unknown")), By: operation.By(pick("answer", "answer", "status", "operator", "expiry")),
				Code: pick("OK", "X"), Reason: pick("", "seen"), Result: []byte(pick("{}", "[]")),
			}
			what = fmt.Sprintf("settle %s at fence %d: %+v", target.ID, target.Fence, outcome)
			call = func(store operation.Store) (any, error) {
				return store.Settle(s.Context(), target.ID, target.Fence, outcome)
			}
		case n < 16:
			what = fmt.Sprintf("renew %s at fence %d", target.ID, target.Fence)
			call = func(store operation.Store) (any, error) {
				return nil, store.Renew(s.Context(), target.ID, target.Fence, 5*time.Minute)
			}
		case n < 18:
			delivery := operation.Delivery(pick("", "delivered", "undelivered"))
			what = fmt.Sprintf("deliver %s: %q", target.ID, delivery)
			call = func(store operation.Store) (any, error) {
				return nil, store.Deliver(s.Context(), target.ID, delivery)
			}
		case n < 19:
			what = "list"
			call = func(store operation.Store) (any, error) {
				return store.List(s.Context(), operation.Filter{States: []operation.State{operation.Unknown, operation.Confirmed}}, "", 8)
			}
		default:
			d := time.Duration(random.IntN(4)) * 3 * time.Minute
			s.pass(d)
			clock.Pass(d)
			continue
		}
		want, wantErr := call(model)
		got, err := call(s.Store)
		for _, kind := range []error{operation.ErrFenced, operation.ErrNotFound, operation.ErrReason, nil} {
			if errors.Is(err, kind) != errors.Is(wantErr, kind) {
				s.Fatalf("seed %d, step %d: %s: the error is %v, not %v", seed, step, what, err, wantErr)
			}
		}
		if diff := cmp.Diff(want, got, timeless, cmpopts.EquateEmpty()); diff != "" {
			s.Fatalf("seed %d, step %d: %s (-model +store):\n%s", seed, step, what, diff)
		}
		if v, ok := got.(operation.Verdict); ok && err == nil && v.Executes() {
			known = append(known, v.Operation)
		}
	}
}

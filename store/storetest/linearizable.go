package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"remit.example/operation"
)

// call is one call of a history. Of claim, settle, deliver and get, the one
// that is set was called.
type call struct {
	tool    string
	claim   *operation.Claim
	settle  *operation.Outcome
	deliver operation.Delivery
	id      string
	fence   int64
}

// reply is what a call returned. Lost says that it failed half way: it may
// have been carried out, then or later, or not.
type reply struct {
	lost  bool
	err   error // one of operation, or nil
	kind  operation.Kind
	id    string
	fence int64
	state operation.State
	given operation.Delivery
}

// moment is the time of every step of the model. Leases in a history have
// either run out when they are claimed or outlast it.
var moment = time.Unix(1, 0)

// step carries a call out on the operations of one tool, oldest first, by the pure functions.
func step(state []operation.Operation, c call) ([]operation.Operation, reply) {
	put := func(o operation.Operation) {
		next := append([]operation.Operation(nil), state...)
		for i := range next {
			if next[i].ID == o.ID {
				next[i], state = o, next
				return
			}
		}
		state = append(next, o)
	}
	if c.claim != nil {
		verdict, writes := operation.Decide(*c.claim, state, moment)
		for _, o := range writes {
			put(o)
		}
		o := verdict.Operation
		return state, reply{kind: verdict.Kind, id: o.ID, fence: o.Fence, state: o.State, given: o.Delivery}
	}
	var found *operation.Operation
	for i := range state {
		if state[i].ID == c.id {
			found = &state[i]
		}
	}
	if found == nil {
		return state, reply{err: operation.ErrNotFound}
	}
	changed, err := found.At(moment), error(nil)
	switch {
	case c.settle != nil:
		changed, err = found.Settle(c.fence, *c.settle, moment)
	case c.deliver != "":
		changed, err = found.Deliver(c.deliver)
	}
	if err != nil {
		return state, reply{err: sentinel(err)}
	}
	if c.settle != nil || c.deliver != "" {
		put(changed)
	}
	if c.deliver != "" {
		return state, reply{}
	}
	return state, reply{id: changed.ID, fence: changed.Fence, state: changed.State, given: changed.Delivery}
}

// sentinel is the error of the package operation that err is; nil for another.
func sentinel(err error) error {
	for _, known := range []error{operation.ErrFenced, operation.ErrNotFound, operation.ErrReason} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

// world is one state that the store may be in, with a text that is equal for
// equal states.
type world struct {
	operations []operation.Operation
	text       string
}

func newWorld(operations []operation.Operation) world {
	var text strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&text, "%s %s %d %s %s %s %s\n", o.ID, o.State, o.Fence, o.By, o.Code, o.Delivery, o.Lease)
	}
	return world{operations, text.String()}
}

var model = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, o := range history {
			tool := o.Input.(call).tool
			parts[tool] = append(parts[tool], o)
		}
		var list [][]porcupine.Operation
		for _, part := range parts {
			list = append(list, part)
		}
		return list
	},
	Init: func() []any { return []any{newWorld(nil)} },
	Step: func(state, input, output any) []any {
		before, got := state.(world), output.(reply)
		next, want := step(before.operations, input.(call))
		if got.lost {
			return []any{before, newWorld(next)}
		}
		if got != want {
			return nil
		}
		return []any{newWorld(next)}
	},
	Equal: func(a, b any) bool { return a.(world).text == b.(world).text },
}).ToModel()

// History makes calls of a store from several callers at once and records
// them. Some calls are given up half way, and fault, if any, is called again
// and again meanwhile.
func History(ctx context.Context, store operation.Store, seed uint64, callers, calls int, fault func()) []porcupine.Operation {
	begin := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	shared := []operation.Operation{{ID: "none", Fence: 1}} // what any caller may settle
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(caller)))
			for n := range calls {
				mu.Lock()
				target := shared[max(0, len(shared)-1-random.IntN(6))]
				mu.Unlock()
				c := randomCall(random, target, fmt.Sprintf("op-%d-%d", caller, n))
				callCtx, cancel := ctx, context.CancelFunc(func() {})
				if random.IntN(10) == 0 {
					callCtx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(1500))*time.Microsecond)
				}
				called := time.Since(begin).Nanoseconds()
				r, o := c.of(callCtx, store)
				returned := time.Since(begin).Nanoseconds()
				cancel()
				if r.lost {
					returned = math.MaxInt64
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: caller, Input: c, Call: called, Output: r, Return: returned})
				if r.kind == operation.Execute || r.kind == operation.Again {
					shared = append(shared, o)
				}
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	for fault != nil {
		select {
		case <-done:
			return history
		default:
			fault()
		}
	}
	<-done
	return history
}

func randomCall(random *rand.Rand, target operation.Operation, id string) call {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	tool := target.Tool
	if tool == "" {
		tool = "pay"
	}
	switch n := random.IntN(10); {
	case n < 5:
		c := write(pick("I", "J"), pick("A", "B"), pick("", "K", "L"))
		c.Tool = pick("pay", "send", "move")
		c.Repeatable = random.IntN(3) > 0
		c.Lease = []time.Duration{-time.Hour, time.Hour, time.Hour}[random.IntN(3)]
		c.Window = 0
		c.NewID = id
		return call{tool: c.Tool, claim: &c}
	case n < 8:
		outcome := operation.Outcome{State: operation.State(pick("confirmed", "refused", "unknown")), By: operation.By(pick("answer", "answer", "status")), Code: pick("OK", "X")}
		return call{tool: tool, id: target.ID, fence: target.Fence, settle: &outcome}
	case n < 9:
		return call{tool: tool, id: target.ID, deliver: operation.Delivery(pick("delivered", "undelivered"))}
	}
	return call{tool: tool, id: target.ID}
}

// of makes the call of a store.
func (c call) of(ctx context.Context, store operation.Store) (reply, operation.Operation) {
	var o operation.Operation
	var r reply
	var err error
	switch {
	case c.claim != nil:
		var v operation.Verdict
		v, err = store.Claim(ctx, *c.claim)
		r.kind, o = v.Kind, v.Operation
	case c.settle != nil:
		o, err = store.Settle(ctx, c.id, c.fence, *c.settle)
	case c.deliver != "":
		err = store.Deliver(ctx, c.id, c.deliver)
	default:
		o, err = store.Get(ctx, c.id)
	}
	if err != nil {
		known := sentinel(err)
		return reply{err: known, lost: known == nil}, operation.Operation{}
	}
	r.id, r.fence, r.state, r.given = o.ID, o.Fence, o.State, o.Delivery
	return r, o
}

// Explainable reports whether an order of the calls exists in which the pure
// functions give the same answers.
func Explainable(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model, history, 20*time.Second)
}

func linearizable(s *suite) {
	const callers, calls = 6, 40
	seed := rand.Uint64()
	var fault func()
	if s.subject.Fault != nil {
		fault = func() { s.subject.Fault(s.T, s.Store) }
	}
	history := History(s.Context(), s.Store, seed, callers, calls, fault)
	kinds := map[operation.Kind]int{}
	lost := 0
	for _, o := range history {
		r := o.Output.(reply)
		kinds[r.kind]++
		if r.lost {
			lost++
		}
	}
	s.Logf("seed %d: %d calls, %d of them lost; %v", seed, len(history), lost, kinds)
	switch Explainable(history) {
	case porcupine.Illegal:
		for _, o := range history {
			s.Logf("caller %d: %+v → %+v", o.ClientId, o.Input, o.Output)
		}
		s.Errorf("seed %d: no order of the calls explains their answers", seed)
	case porcupine.Unknown:
		s.Errorf("seed %d: the check did not end", seed)
	}
}

package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"remit.example/operation"
)

func TestMemory(t *testing.T) {
	clock := NewClock()
	Run(t, Subject{
		Open: func(*testing.T, string) operation.Store { return operation.NewMemory(clock.Now) },
		Pass: func(_ *testing.T, _ operation.Store, d time.Duration) { clock.Pass(d) },
	})
}

// racy is a store that checks and then acts: it looks under a lock and writes
// under a lock, and lets go of it in between. With one caller it is right.
type racy struct {
	operation.Store // of which nothing else is called
	mu              sync.Mutex
	all             []operation.Operation
}

func (r *racy) look() []operation.Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func (r *racy) put(o operation.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.place(o.ID); i >= 0 {
		r.all[i] = o
		return
	}
	r.all = append(r.all, o)
}

func (r *racy) place(id string) int {
	return slices.IndexFunc(r.all, func(o operation.Operation) bool { return o.ID == id })
}

// Claim is the fault.
func (r *racy) Claim(_ context.Context, c operation.Claim) (operation.Verdict, error) {
	verdict, writes := operation.Decide(c, r.look(), moment)
	time.Sleep(100 * time.Microsecond) // here another claim reads the same
	for _, o := range writes {
		r.put(o)
	}
	return verdict, nil
}

func (r *racy) change(id string, f func(operation.Operation) (operation.Operation, error)) (operation.Operation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.place(id)
	if i < 0 {
		return operation.Operation{}, operation.ErrNotFound
	}
	o, err := f(r.all[i])
	if err != nil {
		return operation.Operation{}, err
	}
	r.all[i] = o
	return o, nil
}

func (r *racy) Settle(_ context.Context, id string, fence int64, outcome operation.Outcome) (operation.Operation, error) {
	return r.change(id, func(o operation.Operation) (operation.Operation, error) { return o.Settle(fence, outcome, moment) })
}

func (r *racy) Deliver(_ context.Context, id string, delivery operation.Delivery) error {
	_, err := r.change(id, func(o operation.Operation) (operation.Operation, error) { return o.Deliver(delivery) })
	return err
}

func (r *racy) Get(_ context.Context, id string) (operation.Operation, error) {
	for _, o := range r.look() {
		if o.ID == id {
			return o.At(moment), nil
		}
	}
	return operation.Operation{}, operation.ErrNotFound
}

// TestCheckerRejectsRacyStore shows that the check is able to fail, and that
// it is the race which it finds.
func TestCheckerRejectsRacyStore(t *testing.T) {
	if got := Explainable(History(t.Context(), &racy{}, 1, 1, 240, nil)); got != porcupine.Ok {
		t.Fatalf("with one caller the store is right, and the check says %s", got)
	}
	for seed := range uint64(20) {
		if Explainable(History(t.Context(), &racy{}, seed, 6, 40, nil)) == porcupine.Illegal {
			t.Logf("rejected with seed %d", seed)
			return
		}
	}
	t.Error("no history of a store that checks and then acts is rejected")
}

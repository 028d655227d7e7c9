package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// steppedClock is a clock that moves by its owner's word alone. Any number of
// goroutines wait by it, each until the owner releases it.
type steppedClock struct {
	mu      sync.Mutex
	elapsed int64 // milliseconds
	waiters []*waiter
	added   int
}

// waiter is what happens at a time: a wait that ends, or a function that the
// owner calls.
type waiter struct {
	atMS  int64
	order int
	call  *guardedCall // whose it is; nil of an effect
	do    func()       // nil of a wait
	ended func()       // called once when the wait ends, the clock locked; nil of nothing
	done  chan struct{}
}

func newSteppedClock() *steppedClock { return &steppedClock{} }

// Now is the epoch and the time that has passed.
func (c *steppedClock) Now() time.Time { return time.UnixMilli(c.nowMS()).UTC() }

func (c *steppedClock) nowMS() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

// Wait waits until the owner has moved the clock on by d. The guard waits to
// renew the lease of a write that is under way, or before it repeats a read.
func (c *steppedClock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	call, _ := ctx.Value(callOf{}).(*guardedCall)
	var w *waiter
	if call == nil {
		c.mu.Lock()
		w = c.add(c.elapsed+d.Milliseconds(), nil)
		c.mu.Unlock()
		return c.until(ctx, w)
	}
	call.change(func() {
		call.renewing, call.resting = call.renews, !call.renews
		w = c.add(c.elapsed+d.Milliseconds(), call)
		w.ended = func() { call.renewing, call.resting = false, false }
	})
	return c.until(ctx, w)
}

// add notes a wait; the clock is locked.
func (c *steppedClock) add(atMS int64, call *guardedCall) *waiter {
	c.added++
	w := &waiter{atMS: atMS, order: c.added, call: call, done: make(chan struct{})}
	c.waiters = append(c.waiters, w)
	return w
}

// at notes what the owner does at a time.
func (c *steppedClock) at(atMS int64, call *guardedCall, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(atMS, call).do = do
}

// until waits for the owner, or for the end of ctx.
func (c *steppedClock) until(ctx context.Context, w *waiter) error {
	select {
	case <-w.done:
		return ctx.Err()
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(w)
	return ctx.Err()
}

// end takes a waiter away, if it is still there; the clock is locked.
func (c *steppedClock) end(w *waiter) {
	i := slices.Index(c.waiters, w)
	if i < 0 {
		return
	}
	c.waiters = slices.Delete(c.waiters, i, i+1)
	if w.ended != nil {
		w.ended()
	}
}

// next is what happens first; nil for nothing. What is due at the same time
// happens in the order in which it was noted.
func (c *steppedClock) next() *waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiters) == 0 {
		return nil
	}
	return slices.MinFunc(c.waiters, func(a, b *waiter) int {
		if a.atMS != b.atMS {
			return int(a.atMS - b.atMS)
		}
		return a.order - b.order
	})
}

// set moves the clock to a time.
func (c *steppedClock) set(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed = max(c.elapsed, ms)
}

// release ends a wait. Until what waited goes on, it counts as moving.
func (c *steppedClock) release(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(w)
	close(w.done)
}

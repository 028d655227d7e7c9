package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] that is not durable: with the process all operations are
// gone, also those that are in flight. It serves where nothing depends on it,
// as when a guard only observes.
type Memory struct {
	now func() time.Time

	mu        sync.Mutex
	all       []*Operation // oldest first
	places    map[string]int
	lines     map[Key]*line
	forgotten map[[2]string]time.Time
}

var _ Store = (*Memory)(nil)

// NewMemory is an empty store that reads the time from now.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, places: map[string]int{}, lines: map[Key]*line{}, forgotten: map[[2]string]time.Time{}}
}

// Claim implements [Store].
func (m *Memory) Claim(ctx context.Context, c Claim) (Verdict, error) {
	if err := errors.Join(ctx.Err(), c.Valid()); err != nil {
		return Verdict{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	verdict, writes := Decide(c, m.related(c), m.now())
	if verdict.Kind == Execute {
		if _, taken := m.places[c.NewID]; taken {
			return Verdict{}, fmt.Errorf("operation: there is an operation %s already", c.NewID)
		}
	}
	for _, o := range writes {
		m.write(clone(o))
	}
	return Verdict{verdict.Kind, clone(verdict.Operation)}, nil
}

// line is what Decide needs of one line or caller key.
type line struct {
	open      []int // places in all
	confirmed int   // of the newest one; -1 for none
}

// related is what bears on a claim, oldest first: of its line and of its
// caller key each all that are open, and the newest confirmed one.
func (m *Memory) related(c Claim) []Operation {
	keys := []Key{c.Line()}
	if caller := c.Keys().Caller; caller != nil {
		keys = append(keys, *caller)
	}
	var places []int
	for _, key := range keys {
		if l := m.lines[key]; l != nil {
			places = append(places, l.open...)
			if l.confirmed >= 0 {
				places = append(places, l.confirmed)
			}
		}
	}
	slices.Sort(places)
	var related []Operation
	for _, i := range slices.Compact(places) {
		related = append(related, *m.all[i])
	}
	return related
}

// write puts an operation in its place, or at the end.
func (m *Memory) write(o Operation) {
	place, known := m.places[o.ID]
	if known {
		m.all[place] = &o
	} else {
		place = len(m.all)
		m.all, m.places[o.ID] = append(m.all, &o), place
	}
	keys := o.Keys()
	for _, key := range []*Key{keys.Intent, &keys.Fingerprint, keys.Caller} {
		if key == nil {
			continue
		}
		l := m.lines[*key]
		if l == nil {
			l = &line{confirmed: -1}
			m.lines[*key] = l
		}
		l.open = slices.DeleteFunc(l.open, func(i int) bool { return i == place })
		if o.State.Open() {
			l.open = append(l.open, place)
		}
		if o.State == Confirmed {
			l.confirmed = max(l.confirmed, place)
		}
	}
}

// change replaces one operation by what f makes of it.
func (m *Memory) change(ctx context.Context, id string, f func(Operation) (Operation, error)) (Operation, error) {
	if err := ctx.Err(); err != nil {
		return Operation{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.places[id]
	if !known {
		return Operation{}, ErrNotFound
	}
	changed, err := f(*m.all[i])
	if err != nil {
		return Operation{}, err
	}
	m.write(clone(changed))
	return clone(changed), nil
}

// Renew implements [Store].
func (m *Memory) Renew(ctx context.Context, id string, fence int64, lease time.Duration) error {
	_, err := m.change(ctx, id, func(o Operation) (Operation, error) { return o.Renew(fence, lease, m.now()) })
	return err
}

// Settle implements [Store].
func (m *Memory) Settle(ctx context.Context, id string, fence int64, outcome Outcome) (Operation, error) {
	return m.change(ctx, id, func(o Operation) (Operation, error) { return o.Settle(fence, outcome, m.now()) })
}

// Deliver implements [Store].
func (m *Memory) Deliver(ctx context.Context, id string, delivery Delivery) error {
	_, err := m.change(ctx, id, func(o Operation) (Operation, error) { return o.Deliver(delivery) })
	return err
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, id string) (Operation, error) {
	if err := ctx.Err(); err != nil {
		return Operation{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.places[id]
	if !known {
		return Operation{}, ErrNotFound
	}
	return clone(m.all[i].At(m.now())), nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, filter Filter, before string, limit int) ([]Operation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	end := len(m.all)
	if before != "" {
		i, known := m.places[before]
		if !known {
			return nil, ErrNotFound
		}
		end = i
	}
	var list []Operation
	now := m.now()
	for _, stored := range slices.Backward(m.all[:end]) {
		if len(list) >= limit {
			break
		}
		if o := stored.At(now); filter.Selects(o) {
			list = append(list, clone(o))
		}
	}
	return list, nil
}

// Purge implements [Store].
func (m *Memory) Purge(ctx context.Context, before time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	count := 0
	for i, stored := range m.all {
		if o, forgot := stored.Forget(before); forgot {
			m.all[i] = &o
			count++
		}
	}
	return count, nil
}

// Forget implements [Store].
func (m *Memory) Forget(ctx context.Context, upstream, tool string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten[[2]string{upstream, tool}] = m.now()
	return nil
}

// Forgotten implements [Store].
func (m *Memory) Forgotten(ctx context.Context, upstream, tool string) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ofTool, ofAll := m.forgotten[[2]string{upstream, tool}], m.forgotten[[2]string{upstream, ""}]
	if ofAll.After(ofTool) {
		return ofAll, nil
	}
	return ofTool, nil
}

// Close implements [Store].
func (m *Memory) Close() error { return nil }

// clone is the operation with bytes of its own.
func clone(o Operation) Operation {
	o.Arguments, o.Result = slices.Clone(o.Arguments), slices.Clone(o.Result)
	return o
}

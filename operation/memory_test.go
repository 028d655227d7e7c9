package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func claimIn(tool, fingerprint, id string) Claim {
	return Claim{Scope: Scope{Tenant: "shop", Principal: "agent", Upstream: "bank", Tool: tool}, Fingerprint: fingerprint, NewID: id, Arguments: []byte("{}"), Lease: time.Minute}
}

// TestMemoryLists: the newest before one, at most so many, of those selected.
func TestMemoryLists(t *testing.T) {
	m := NewMemory(func() time.Time { return noon })
	for i := range 4 {
		if _, err := m.Claim(t.Context(), claimIn([]string{"pay", "send"}[i%2], fmt.Sprint(i), fmt.Sprint("op-", i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Settle(t.Context(), "op-1", 1, Outcome{State: Refused, By: ByAnswer}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter Filter
		before string
		limit  int
		want   []string
	}{
		{Filter{}, "", 9, []string{"op-3", "op-2", "op-1", "op-0"}},
		{Filter{}, "op-3", 2, []string{"op-2", "op-1"}},
		{Filter{}, "", 0, nil},
		{Filter{Tenant: "shop", Principal: "agent", Upstream: "bank", Tool: "pay"}, "", 9, []string{"op-2", "op-0"}},
		{Filter{Tenant: "other"}, "", 9, nil},
		{Filter{Principal: "other"}, "", 9, nil},
		{Filter{Upstream: "other"}, "", 9, nil},
		{Filter{Tool: "other"}, "", 9, nil},
		{Filter{States: []State{Refused, Unknown}}, "", 9, []string{"op-1"}},
	} {
		list, err := m.List(t.Context(), c.filter, c.before, c.limit)
		var got []string
		for _, o := range list {
			got = append(got, o.ID)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v before %q, at most %d: %v, %v; valid: %v", c.filter, c.before, c.limit, got, err, c.want)
		}
	}
	if _, err := m.List(t.Context(), Filter{}, "none", 9); !errors.Is(err, ErrNotFound) {
		t.Errorf("before one that is not there: %v", err)
	}
}

// TestMemoryForgets arguments and results of what was settled before a time,
// and refusals of tools.
func TestMemoryForgets(t *testing.T) {
	now := noon
	m := NewMemory(func() time.Time { return now })
	for i, state := range []State{Confirmed, Refused, Unknown, Sent} {
		id := fmt.Sprint("op-", i)
		if _, err := m.Claim(t.Context(), claimIn("pay", id, id)); err != nil {
			t.Fatal(err)
		}
		if state != Sent {
			if _, err := m.Settle(t.Context(), id, 1, Outcome{State: state, By: ByAnswer, Result: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		before time.Time
		want   int
	}{{noon, 0}, {noon.Add(1), 2}, {noon.Add(time.Hour), 0}} {
		if n, err := m.Purge(t.Context(), c.before); n != c.want || err != nil {
			t.Errorf("before %v: %d, %v; valid: %d", c.before, n, err, c.want)
		}
	}
	if kept, err := m.Get(t.Context(), "op-2"); err != nil || kept.Arguments == nil || kept.Result == nil {
		t.Errorf("one whose outcome is unknown: %+v, %v", kept, err)
	}
	// What has a result alone, or arguments alone, is forgotten as well.
	for _, o := range []Operation{{State: Confirmed, Arguments: []byte("{}")}, {State: Confirmed, Result: []byte("{}")}} {
		if got, forgot := o.Forget(noon); !forgot || got.Arguments != nil || got.Result != nil {
			t.Errorf("%+v becomes %+v, %v", o, got, forgot)
		}
	}
	for _, tool := range []string{"pay", ""} {
		now = now.Add(time.Minute)
		if err := m.Forget(t.Context(), "bank", tool); err != nil {
			t.Fatal(err)
		}
		if at, err := m.Forgotten(t.Context(), "bank", "pay"); !at.Equal(now) || err != nil {
			t.Errorf("refusals of pay are forgotten until %v, %v; valid: %v", at, err, now)
		}
	}
	if at, _ := m.Forgotten(t.Context(), "bank", "send"); !at.Equal(now) {
		t.Errorf("refusals of send are forgotten until %v; valid: %v", at, now)
	}
	now = now.Add(time.Minute)
	if err := m.Forget(t.Context(), "bank", "pay"); err != nil {
		t.Fatal(err)
	}
	if at, _ := m.Forgotten(t.Context(), "bank", "pay"); !at.Equal(now) {
		t.Errorf("refusals of pay are forgotten until %v; valid: %v", at, now)
	}
	if at, _ := m.Forgotten(t.Context(), "other", "pay"); !at.IsZero() {
		t.Errorf("refusals of another upstream are forgotten until %v", at)
	}
}

// TestMemoryRefuses what no store takes.
func TestMemoryRefuses(t *testing.T) {
	m := NewMemory(func() time.Time { return noon })
	for _, c := range []Claim{claimIn("pay", "", "op"), claimIn("pay", "A", "")} {
		if v, err := m.Claim(t.Context(), c); err == nil {
			t.Errorf("%+v is answered with %s", c, v.Kind)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, claim := m.Claim(ctx, claimIn("pay", "A", "op"))
	_, get := m.Get(ctx, "op")
	_, list := m.List(ctx, Filter{}, "", 1)
	_, purge := m.Purge(ctx, noon)
	_, forgotten := m.Forgotten(ctx, "bank", "pay")
	for i, err := range []error{claim, get, list, purge, forgotten, m.Renew(ctx, "op", 1, 1), m.Deliver(ctx, "op", Delivered), m.Forget(ctx, "bank", "pay")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d after the context has ended: %v", i, err)
		}
	}
	for _, taken := range []bool{false, true} {
		_, err := m.Claim(t.Context(), claimIn("pay", fmt.Sprint(taken), "op"))
		if (err != nil) != taken {
			t.Errorf("the id op, taken %v: %v", taken, err)
		}
	}
	if m.Close() != nil {
		t.Error("it does not close")
	}
}

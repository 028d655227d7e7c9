package wire

import (
	"testing"
	"time"

	"remit.example/contract"
)

// TestTableIsBounded fills the table and checks that only the quietest callers
// are forgotten.
func TestTableIsBounded(t *testing.T) {
	r := newRates(2)
	limit := contract.Rate{Count: 1, Per: time.Hour}
	now := time.Unix(0, 0)
	for _, step := range []struct {
		address   string
		permitted bool
	}{
		{"a", true},
		{"b", true},
		{"a", false},
		{"c", true}, // forgets b, which has been quiet for longest
		{"a", false},
		{"b", true}, // forgets c
		{"a", false},
	} {
		if wait := r.take(caller{"parcels", step.address}, limit, now); (wait == 0) != step.permitted {
			t.Errorf("%s: wait %v", step.address, wait)
		}
	}
	if len(r.known) != 2 || r.recent.Len() != 2 {
		t.Errorf("%d and %d callers, want 2", len(r.known), r.recent.Len())
	}
}

// TestNewRate gives a caller a new bucket when a reload changes the rate.
func TestNewRate(t *testing.T) {
	r := newRates(2)
	now := time.Unix(0, 0)
	c := caller{"parcels", "a"}
	r.take(c, contract.Rate{Count: 1, Per: time.Hour}, now)
	if wait := r.take(c, contract.Rate{Count: 2, Per: time.Hour}, now); wait != 0 {
		t.Errorf("wait %v after the rate has changed", wait)
	}
}

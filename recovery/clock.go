package recovery

import (
	"context"
	"math"
	"time"
)

// Clock is the time that a runner waits by.
type Clock interface {
	// Now is the time; differences between two readings are monotonic.
	Now() time.Time
	// Wait returns nil after d, or ctx.Err() if ctx ends first
	// or has ended by then. It returns at once where d is 0 or below.
	Wait(ctx context.Context, d time.Duration) error
}

// clockOf is a clock, or the machine's where there is none.
func clockOf(clock Clock) Clock {
	if clock != nil {
		return clock
	}
	return realClock{}
}

// realClock is the machine's clock.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	return ctx.Err()
}

// Simulated is a clock that starts at the Unix epoch and advances by each
// wait, at once: nothing sleeps. It is for one goroutine.
type Simulated struct{ elapsed time.Duration }

// Now is the epoch and all waits since.
func (s *Simulated) Now() time.Time { return time.Unix(0, 0).Add(s.elapsed) }

// Wait advances the clock by d, unless ctx has ended.
func (s *Simulated) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.elapsed += min(max(0, d), math.MaxInt64-s.elapsed)
	return nil
}

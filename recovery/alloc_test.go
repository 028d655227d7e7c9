package recovery_test

import (
	"context"
	"errors"
	"testing"

	"remit.example/record"
	"remit.example/recovery"
)

type reading struct{ ID, Unit int }

var readingTask = recovery.Task[reading, int]{Effect: record.Read, MinDelay: recovery.None, Jitter: recovery.None}

func succeed(_ context.Context, in reading) (int, error) { return in.ID, nil }

// flaky fails the first of every two executions.
type flaky struct {
	executions int
	failure    error
}

func (f *flaky) call(_ context.Context, in reading) (int, error) {
	f.executions++
	if f.executions%2 == 1 {
		return 0, f.failure
	}
	return in.ID, nil
}

func TestASuccessAndARetryWithoutAWaitAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("allocations cannot be counted under the race detector")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tool := &flaky{failure: unavailable(0)}
	retried := tool.call
	for name, call := range map[string]func(context.Context, reading) (int, error){"success": succeed, "retry": retried} {
		if n := testing.AllocsPerRun(1000, func() {
			if out, err := recovery.Do(ctx, &readingTask, reading{ID: 7}, call); out != 7 || err != nil {
				t.Fatal(out, err)
			}
		}); n != 0 {
			t.Errorf("a %s allocates %v times", name, n)
		}
	}
}

func TestThePolicyAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("allocations cannot be counted under the race detector")
	}
	limit := recovery.Limits{Executions: 3, MinDelayMS: 1, CapMS: 1000, DeadlineMS: 5000}
	failure := &record.Record{Code: record.TempUnavailable, RetryAfterMS: ms(10)}
	if n := testing.AllocsPerRun(1000, func() {
		h, _ := recovery.Decide(recovery.V2, record.Keyed, limit, recovery.History{}, 0, recovery.Event{Kind: recovery.Started})
		recovery.Decide(recovery.V2, record.Keyed, limit, h, 5, recovery.Failure(failure))
	}); n != 0 {
		t.Errorf("the policy allocates %v times", n)
	}
}

func BenchmarkDo(b *testing.B) {
	for name, failure := range map[string]error{
		"success": nil,
		"retry":   unavailable(0),
		"wrapped": errors.Join(unavailable(0)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			call := succeed
			if failure != nil {
				call = (&flaky{failure: failure}).call
			}
			for b.Loop() {
				if _, err := recovery.Do(b.Context(), &readingTask, reading{ID: 7}, call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	b.ReportAllocs()
	limit := recovery.Limits{Executions: 3, MinDelayMS: 1, CapMS: 1000}
	history := recovery.History{Executions: 1}
	event := recovery.Event{Kind: recovery.Failed, Code: record.TempUnavailable, WaitMS: 10}
	for b.Loop() {
		recovery.Decide(recovery.V2, record.Read, limit, history, 5, event)
	}
}

func BenchmarkRetryAfter(b *testing.B) {
	for name, value := range map[string]string{"seconds": "120", "date": "Sun, 01 Mar 2026 12:02:00 GMT"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				recovery.RetryAfter(value, noon)
			}
		})
	}
}

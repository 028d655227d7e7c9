package wire

import (
	"sync"

	"remit.example/record"
)

// running counts the calls that have started and not ended.
type running struct {
	mu       sync.Mutex
	count    int
	draining bool
	idle     chan struct{} // closed once draining and without a call
}

// begin counts a call, unless the server is about to end.
func (r *running) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.draining {
		r.count++
	}
	return !r.draining
}

func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count--
	r.signal()
}

func (r *running) signal() {
	if r.draining && r.count == 0 {
		close(r.idle)
	}
}

// Drain says that the server is about to end: a call that has not started is
// TEMP_UNAVAILABLE from now on. The channel closes when those that have are
// done.
func (s *Service) Drain() <-chan struct{} {
	r := &s.running
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.draining {
		r.draining = true
		r.signal()
	}
	return r.idle
}

// Draining reports whether the server is about to end.
func (s *Service) Draining() bool {
	s.running.mu.Lock()
	defer s.running.mu.Unlock()
	return s.running.draining
}

// endingWait is a guess at the time until a successor answers, in milliseconds.
const endingWait = 1000

// ending is the record of a call that came too late.
func ending() *record.Record {
	return &record.Record{
		Code: record.TempUnavailable, WaitKind: record.Outage, RetryAfterMS: new(int64(endingWait)),
		Message: "The server is about to end; the call was not executed.",
	}
}

package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"remit.example/record"
)

// The values of a [Task]'s zero members.
const (
	DefaultLimit    = 3                      // executions in all
	DefaultMinDelay = 100 * time.Millisecond // before an unchanged repetition
	DefaultJitter   = 100 * time.Millisecond // at most added to a wait
	DefaultCap      = time.Minute            // the longest wait
)

// None turns a MinDelay, a Jitter or a Cap off, as a simulation must.
const None time.Duration = -1

// Task is one intent of a caller: what repeating means, how long and how
// often, and what the caller can do when it is asked. The zero value is
// usable and the strictest: an unsafe effect under [V2] that asks nobody. A
// Task holds no state; one value may serve any number of concurrent [Do].
type Task[In, Out any] struct {
	Effect record.Effect // whether repeating is safe; "" = record.Unsafe
	Table  *Table        // nil = V2
	// Limit is how many executions the task has in all, shared by retries,
	// corrections and renewals; 0 = DefaultLimit, below 0 = 1. There are at
	// most as many status checks.
	Limit    int
	MinDelay time.Duration // the shortest wait before an unchanged repetition; 0 = DefaultMinDelay, None = none
	Jitter   time.Duration // at most this much is added to a wait, never taken; 0 = DefaultJitter, None = none
	Cap      time.Duration // a longer wait ends the task as retry_later; 0 = DefaultCap, None = none; V1 has none
	Clock    Clock         // nil = the machine's monotonic clock

	// Classify turns the tool's error into a record, or returns nil to leave
	// that to the package's function Classify. It serves contracts that give
	// a meaning to errors of their own.
	Classify func(error) *record.Record

	// Correct is asked for another input after INVALID_ARGUMENT; false or an
	// error ends the task as needs_input. An input that was refused before
	// is never sent again, even if it is offered. A new input of a keyed
	// task has a new operation key.
	Correct func(ctx context.Context, in In, failure *record.Record) (In, bool, error)
	// Arguments is the part of an input by which Correct's offers are
	// compared, as JSON; nil = all of it. It leaves an operation key out.
	Arguments func(In) any
	// Authenticate is asked, at most once, to re-establish authentication
	// through the application's approved flow; false or an error ends the
	// task as needs_auth.
	Authenticate func(ctx context.Context, failure *record.Record) (bool, error)
	// Refresh is asked to read the state again after PRECONDITION_FAILED and
	// to return the input that fits it; false or an error ends the task as
	// needs_input.
	Refresh func(ctx context.Context, in In, failure *record.Record) (In, bool, error)
	// Status is asked what became of an execution whose outcome is not known
	// or that is still in progress: the tool's result, or a failure. It is a
	// read and no execution; IN_PROGRESS and TEMP_UNAVAILABLE ask again later.
	Status func(ctx context.Context, in In, failure *record.Record) (Out, error)

	// Observe sees each execution once, after all that followed from it.
	Observe func(Step)
}

// Step is one execution and what the policy made of it.
type Step struct {
	Execution int            // from 1
	AtMS      int64          // when it started, milliseconds after the task did
	Code      record.Code    // OK for a success
	Record    *record.Record // what the tool's error stands for; nil where it returned none
	Action    record.Next    // what was permitted; "" = complete
	WaitMS    int64          // the wait before the action, milliseconds
	// Disposition is how the task ended with this execution; "" while it goes on.
	Disposition record.Disposition
}

// Ended is the error of a task that did not succeed. The tool's last error,
// and the context's where that ended the task, are found in it by errors.Is
// and errors.As.
type Ended struct {
	Disposition record.Disposition
	Record      *record.Record // the last failure; nil where nothing was executed
	Executions  int            // started in all
	Err         error          // the tool's last error, joined with what else ended the task
}

// Error says how the task ended, after how many executions, and why.
func (e *Ended) Error() string {
	return fmt.Sprintf("%s (executions: %d): %v", e.Disposition, e.Executions, e.Err)
}

// Unwrap is the tool's last error.
func (e *Ended) Unwrap() error { return e.Err }

// Do executes call with in until it succeeds or the policy ends the task, and
// returns the result of the last execution. task may be nil. Every failing
// end is an *[Ended].
//
// call says how it failed by its error: a *[record.Record] anywhere in the
// error's tree is decided on, anything else is classified (see [Classify]).
// An error that holds an *Ended is final: one task has one budget, and a task
// within a task does not multiply it.
//
// A caller's cancellation is never retried: before the first execution and
// while waiting it ends the task as cancelled, and once a write had started
// as outcome_unknown unless the tool said what became of it. A success and a
// repetition without a wait allocate nothing.
func Do[In, Out any](ctx context.Context, task *Task[In, Out], in In, call func(context.Context, In) (Out, error)) (Out, error) {
	if task == nil {
		task = new(Task[In, Out])
	}
	r := run[In, Out]{task: task, in: in}
	if task.Observe != nil {
		r.begin()
	}
	if ctx.Err() != nil {
		return r.out, &Ended{Disposition: record.Cancelled, Err: ended(ctx)}
	}
	for {
		r.start()
		var err error
		r.out, err = call(ctx, r.in)
		if err == nil {
			r.observe(nil, Decision{Disposition: record.Success})
			return r.out, nil
		}
		if done, err := r.failed(ctx, err); done {
			return r.out, err
		}
	}
}

// run is one task under way.
type run[In, Out any] struct {
	task    *Task[In, Out]
	in      In
	out     Out
	history History
	begun   bool
	origin  time.Time // the task's time 0
	limits  Limits
	atMS    int64 // when the current execution started
	inDoubt bool  // an execution may have had an effect
}

// begin reads the clock for the first time. A task that nobody observes has
// no need to before its first failure.
func (r *run[In, Out]) begin() {
	r.begun, r.origin = true, r.clock().Now()
}

func (r *run[In, Out]) clock() Clock { return clockOf(r.task.Clock) }

func (r *run[In, Out]) table() *Table {
	if r.task.Table != nil {
		return r.task.Table
	}
	return V2
}

func (r *run[In, Out]) nowMS() int64 {
	if !r.begun {
		return 0
	}
	return max(0, r.clock().Now().Sub(r.origin).Milliseconds())
}

// decide tells the policy what happened.
func (r *run[In, Out]) decide(event Event) (d Decision) {
	r.history, d = Decide(r.table(), r.task.Effect, r.limits, r.history, r.nowMS(), event)
	return d
}

func (r *run[In, Out]) start() {
	r.decide(Event{Kind: Started})
	r.atMS = r.history.LastMS - r.history.FirstMS
}

// failed decides on the tool's error and does what is permitted. It reports
// whether the task is over, with the error of its end.
func (r *run[In, Out]) failed(ctx context.Context, err error) (bool, error) {
	if !r.begun {
		r.begin()
	}
	r.limits = limitsOf(ctx, r.origin, r.task.Limit, r.task.MinDelay, r.task.Cap)
	if inner, ok := errors.AsType[*Ended](err); ok {
		return true, r.end(inner.Record, Decision{Action: record.Stop, Disposition: inner.Disposition}, err)
	}
	failure, settled := r.classifyAs(r.task.Effect, err)
	if ctx.Err() != nil && !settled {
		// What the error says is the cancellation, not what became of the execution.
		failure = lost(r.task.Effect, err)
		r.doubt(failure)
		return true, r.end(failure, r.interrupted(Decision{Action: record.Stop}), errors.Join(err, ended(ctx)))
	}
	r.doubt(failure)
	event := Failure(failure)
	event.JitterMS = jitterMS(r.task.Jitter)
	d, also := r.act(ctx, failure, r.decide(event))
	switch d.Disposition {
	case "":
		r.observe(failure, d)
		return false, nil
	case record.Success:
		r.observe(failure, d)
		return true, nil
	}
	return true, r.end(failure, d, joined(err, also))
}

// act does what the decision permits and returns what came of it: the
// decision on that, and a further error where it ended the task.
func (r *run[In, Out]) act(ctx context.Context, failure *record.Record, d Decision) (Decision, error) {
	switch {
	case d.Disposition != "":
		return d, nil
	case d.OnStatus:
		return r.check(ctx, failure, d)
	case d.Action == record.WaitAndRetry:
		return r.wait(ctx, d)
	}
	event, err := r.ask(ctx, failure, d.Action)
	if d = r.decide(event); d.Disposition == "" && ctx.Err() != nil {
		return r.interrupted(d), ended(ctx)
	}
	return d, err
}

// wait waits; a context that ends meanwhile ends the task.
func (r *run[In, Out]) wait(ctx context.Context, d Decision) (Decision, error) {
	if r.clock().Wait(ctx, milliseconds(d.WaitMS)) != nil || ctx.Err() != nil {
		return r.interrupted(d), ended(ctx)
	}
	return d, nil
}

// ask asks the caller for what has to change; the event is its answer.
func (r *run[In, Out]) ask(ctx context.Context, failure *record.Record, action record.Next) (Event, error) {
	declined := Event{Kind: Declined, Code: failure.Code}
	switch {
	case action == record.CorrectInput && r.task.Correct != nil:
		return r.correct(ctx, failure, declined)
	case action == record.RefreshState && r.task.Refresh != nil:
		return r.refresh(ctx, failure, declined)
	case action == record.Authenticate && r.task.Authenticate != nil:
		return r.authenticate(ctx, failure, declined)
	}
	return declined, nil
}

func (r *run[In, Out]) correct(ctx context.Context, failure *record.Record, declined Event) (Event, error) {
	refused, err := r.digest(r.in) // before Correct, which may change what in points to
	if err != nil {
		return declined, err
	}
	offered, ok, err := r.task.Correct(ctx, r.in, failure)
	if !ok || err != nil {
		return declined, err
	}
	replacement, err := r.digest(offered)
	if err != nil {
		return declined, err
	}
	r.in = offered
	return Event{Kind: Corrected, Code: failure.Code, Input: refused, Replacement: replacement}, nil
}

func (r *run[In, Out]) digest(in In) (Digest, error) {
	if r.task.Arguments != nil {
		return DigestJSON(r.task.Arguments(in))
	}
	return DigestJSON(in)
}

func (r *run[In, Out]) refresh(ctx context.Context, failure *record.Record, declined Event) (Event, error) {
	in, ok, err := r.task.Refresh(ctx, r.in, failure)
	if !ok || err != nil {
		return declined, err
	}
	r.in = in
	return Event{Kind: Refreshed, Code: failure.Code}, nil
}

func (r *run[In, Out]) authenticate(ctx context.Context, failure *record.Record, declined Event) (Event, error) {
	renewed, err := r.task.Authenticate(ctx, failure)
	if !renewed || err != nil {
		return declined, err
	}
	return Event{Kind: Renewed, Code: failure.Code}, nil
}

// check asks for the status until it is settled, the task is over, or the
// checks are spent.
func (r *run[In, Out]) check(ctx context.Context, failure *record.Record, d Decision) (Decision, error) {
	if r.task.Status == nil {
		return r.decide(Event{Kind: Declined, Code: failure.Code}), nil
	}
	for {
		var err error
		if d, err = r.wait(ctx, d); d.Disposition != "" {
			return d, err
		}
		var out Out
		if out, err = r.task.Status(ctx, r.in, failure); err == nil {
			r.out = out
			return Decision{Action: d.Action, WaitMS: d.WaitMS, Disposition: record.Success}, nil
		}
		if ctx.Err() != nil {
			return r.interrupted(d), errors.Join(err, ended(ctx))
		}
		status, _ := r.classifyAs(record.Read, err)
		event := Failure(status)
		event.Kind, event.Of, event.JitterMS = Checked, failure.Code, jitterMS(r.task.Jitter)
		if d = r.decide(event); d.Disposition != "" {
			return d, err
		}
	}
}

// classifyAs is the failure that the tool's error stands for, and whether the
// error itself says what became of the execution.
func (r *run[In, Out]) classifyAs(effect record.Effect, err error) (*record.Record, bool) {
	if r.task.Classify != nil {
		if failure := r.task.Classify(err); failure != nil {
			return failure, true
		}
	}
	return Classify(err, effect), settled(err)
}

// doubt remembers that an execution of the task may have had an effect.
func (r *run[In, Out]) doubt(failure *record.Record) {
	open := failure.Code == record.OutcomeUnknown || failure.Code == record.InProgress || failure.Outcome == record.NotKnown
	r.inDoubt = r.inDoubt || open && r.task.Effect != record.Read
}

// interrupted is the end of a task that the caller cancels: a write that may
// have had an effect is not known, whatever was being waited for.
func (r *run[In, Out]) interrupted(d Decision) Decision {
	d.Disposition = record.Cancelled
	if r.inDoubt {
		d.Disposition = record.UnknownOutcome
	}
	return d
}

func (r *run[In, Out]) end(failure *record.Record, d Decision, err error) error {
	r.observe(failure, d)
	return &Ended{Disposition: d.Disposition, Record: failure, Executions: r.history.Executions, Err: err}
}

func (r *run[In, Out]) observe(failure *record.Record, d Decision) {
	if r.task.Observe == nil {
		return
	}
	step := Step{
		Execution: r.history.Executions, AtMS: r.atMS, Code: record.OK, Record: failure,
		Action: d.Action, WaitMS: d.WaitMS, Disposition: d.Disposition,
	}
	if failure != nil {
		step.Code = failure.Code
	}
	r.task.Observe(step)
}

// ended is the context's error, with its cause where that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return errors.Join(cause, err)
}

// joined is both errors, or the one there is.
func joined(err, also error) error {
	if also == nil {
		return err
	}
	return errors.Join(err, also)
}

// limitsOf turns a task's members, and the context's deadline as time since
// the task's origin, into the policy's limits.
func limitsOf(ctx context.Context, origin time.Time, limit int, minDelay, longest time.Duration) Limits {
	limits := Limits{
		Executions: max(1, orDefault(limit, DefaultLimit)),
		MinDelayMS: max(0, orDefault(minDelay, DefaultMinDelay)).Milliseconds(),
		CapMS:      max(0, orDefault(longest, DefaultCap)).Milliseconds(),
	}
	if deadline, ok := ctx.Deadline(); ok {
		limits.DeadlineMS = max(1, deadline.Sub(origin).Milliseconds())
	}
	return limits
}

func orDefault[N int | time.Duration](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return n
}

// jitterMS draws a jitter of up to longest.
func jitterMS(longest time.Duration) int64 {
	ms := orDefault(longest, DefaultJitter).Milliseconds()
	if ms <= 0 {
		return 0
	}
	return rand.Int64N(ms + 1)
}

// milliseconds is a duration, saturating.
func milliseconds(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// DigestJSON is the digest of a value's JSON. Values that differ only where
// their JSON does not show it have one digest; one without a JSON form is an
// error.
func DigestJSON(value any) (Digest, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return 0, fmt.Errorf("recovery: the input cannot be compared: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return Digest(max(1, binary.BigEndian.Uint64(sum[:]))), nil
}

package recovery_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit.example/record"
	"remit.example/recovery"
)

// simulated is a task without delays of its own, on a clock that never sleeps.
func simulated(effect record.Effect) *recovery.Task[string, string] {
	return &recovery.Task[string, string]{
		Effect: effect, Clock: new(recovery.Simulated), MinDelay: recovery.None, Jitter: recovery.None,
	}
}

// script is a tool that fails with each error in turn and then succeeds.
type script struct {
	errs   []error
	inputs []string
}

func failing(errs ...error) *script { return &script{errs: errs} }

func (s *script) call(_ context.Context, in string) (string, error) {
	s.inputs = append(s.inputs, in)
	if len(s.inputs) <= len(s.errs) {
		return "", s.errs[len(s.inputs)-1]
	}
	return "done", nil
}

func code(c record.Code) error { return &record.Record{Code: c} }

func unavailable(waitMS int64) error {
	return &record.Record{Code: record.TempUnavailable, RetryAfterMS: &waitMS}
}

// endOf is the end of a task that must have failed.
func endOf(t *testing.T, err error) *recovery.Ended {
	t.Helper()
	end, ok := errors.AsType[*recovery.Ended](err)
	if !ok {
		t.Fatalf("the error is %v, want an *Ended", err)
	}
	return end
}

func wantEnd(t *testing.T, err error, how record.Disposition, executions int) *recovery.Ended {
	t.Helper()
	end := endOf(t, err)
	if end.Disposition != how || end.Executions != executions {
		t.Errorf("ended as %s after %d executions, want %s after %d", end.Disposition, end.Executions, how, executions)
	}
	return end
}

// Time and waiting.

func TestAWaitLongerThanTheCapEndsTheTaskNow(t *testing.T) {
	task, tool := simulated(record.Read), failing(unavailable(60_001))
	_, err := recovery.Do(t.Context(), task, "", tool.call)
	end := wantEnd(t, err, record.RetryLater, 1)
	if *end.Record.RetryAfterMS != 60_001 {
		t.Errorf("the server's wait became %d", *end.Record.RetryAfterMS)
	}
	if now := task.Clock.Now(); !now.Equal(time.Unix(0, 0)) {
		t.Errorf("the task waited until %v", now)
	}
}

func TestAWaitOfTheCapIsWaited(t *testing.T) {
	task := simulated(record.Read)
	if _, err := recovery.Do(t.Context(), task, "", failing(unavailable(60_000)).call); err != nil {
		t.Error(err)
	}
}

func TestV1HasNoCap(t *testing.T) {
	task := simulated(record.Read)
	task.Table, task.Cap = recovery.V1, time.Second
	if _, err := recovery.Do(t.Context(), task, "", failing(unavailable(86_400_000)).call); err != nil {
		t.Error(err)
	}
	if now := task.Clock.Now(); !now.Equal(time.Unix(86_400, 0)) {
		t.Errorf("the clock stands at %v", now)
	}
}

func TestAWaitThatReachesTheDeadlineEndsTheTaskNow(t *testing.T) {
	for name, tt := range map[string]struct {
		table  *recovery.Table
		waitMS int64
		want   record.Disposition
	}{
		"beyond":    {recovery.V2, 3000, record.RetryLater},
		"exactly":   {recovery.V2, 2000, record.RetryLater},
		"before":    {recovery.V2, 1999, ""},
		"v1 beyond": {recovery.V1, 3000, record.RetryExhausted},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			task := &recovery.Task[string, string]{Effect: record.Read, Table: tt.table, Jitter: recovery.None}
			begin := time.Now()
			_, err := recovery.Do(ctx, task, "", failing(unavailable(tt.waitMS)).call)
			waited := time.Since(begin).Milliseconds()
			switch {
			case tt.want == "" && (err != nil || waited != tt.waitMS):
				t.Errorf("%s: %v after %d ms", name, err, waited)
			case tt.want != "":
				wantEnd(t, err, tt.want, 1)
				if waited != 0 {
					t.Errorf("%s: waited %d ms for a known failure", name, waited)
				}
			}
		})
	}
}

func TestJitterIsPositiveAndStaysBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := &recovery.Task[string, string]{Effect: record.Read, Jitter: 50 * time.Millisecond}
		waits := map[time.Duration]bool{}
		for range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), 1020*time.Millisecond)
			begin := time.Now()
			if _, err := recovery.Do(ctx, task, "", failing(unavailable(1000)).call); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begin); waited < time.Second || waited >= 1020*time.Millisecond {
				t.Fatalf("waited %v", waited)
			} else {
				waits[waited] = true
			}
			cancel()
		}
		if len(waits) < 5 {
			t.Errorf("the only waits are %v", waits)
		}
	})
}

func TestJitterOfAMillisecondIsNoneOrAll(t *testing.T) {
	waits := map[int64]bool{}
	for range 200 {
		task := simulated(record.Read)
		task.Jitter = time.Millisecond
		if _, err := recovery.Do(t.Context(), task, "", failing(unavailable(1000)).call); err != nil {
			t.Fatal(err)
		}
		waits[task.Clock.Now().UnixMilli()] = true
	}
	if len(waits) != 2 || !waits[1000] || !waits[1001] {
		t.Errorf("the waits are %v", waits)
	}
}

func TestTheDefaultJitterIsUpTo100Milliseconds(t *testing.T) {
	waits := map[int64]bool{}
	for range 1000 {
		task := simulated(record.Read)
		task.Jitter = 0
		if _, err := recovery.Do(t.Context(), task, "", failing(unavailable(1000)).call); err != nil {
			t.Fatal(err)
		}
		waited := task.Clock.Now().UnixMilli()
		if waited < 1000 || waited > 1100 {
			t.Fatalf("waited %d ms", waited)
		}
		waits[waited] = true
	}
	if len(waits) < 50 {
		t.Errorf("the only waits are %v", waits)
	}
}

func TestTheMinimumDelayIsTheShortestWait(t *testing.T) {
	for name, tt := range map[string]struct {
		failure error
		want    time.Duration
	}{
		"no wait stated": {code(record.TempUnavailable), 100 * time.Millisecond},
		"no wait at all": {unavailable(0), 100 * time.Millisecond},
		"a negative one": {unavailable(-5), 100 * time.Millisecond},
		"a shorter one":  {unavailable(99), 100 * time.Millisecond},
		"a longer one":   {unavailable(101), 101 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			task := &recovery.Task[string, string]{Effect: record.Read, Jitter: recovery.None}
			if _, err := recovery.Do(t.Context(), task, "", failing(tt.failure).call); err != nil {
				t.Error(err)
			}
			if waited := time.Since(begin); waited != tt.want {
				t.Errorf("%s: waited %v, want %v", name, waited, tt.want)
			}
		})
	}
}

func TestAWaitOfAnyLengthSaturates(t *testing.T) {
	task := simulated(record.Read)
	task.Cap = recovery.None
	tool := failing(unavailable(math.MaxInt64), unavailable(1))
	if _, err := recovery.Do(t.Context(), task, "", tool.call); err != nil {
		t.Error(err)
	}
	if task.Clock.Now().Before(time.Unix(0, 0).Add(math.MaxInt64 - time.Hour)) {
		t.Errorf("the clock stands at %v", task.Clock.Now())
	}
}

func TestTheLongestExactWaitIsExact(t *testing.T) {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	task := simulated(record.Read)
	task.Cap = recovery.None
	if _, err := recovery.Do(t.Context(), task, "", failing(unavailable(longest)).call); err != nil {
		t.Error(err)
	}
	if now := task.Clock.Now(); !now.Equal(time.UnixMilli(longest)) {
		t.Errorf("the clock stands at %v", now)
	}
}

// expiring is a clock whose wait ends just as its context does.
type expiring struct {
	recovery.Simulated
	cancel context.CancelFunc
}

func (e *expiring) Wait(context.Context, time.Duration) error {
	e.cancel()
	return nil
}

func TestTheContextIsCheckedAfterTheTimer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	task, tool := simulated(record.Read), failing(unavailable(10))
	task.Clock = &expiring{cancel: cancel}
	_, err := recovery.Do(ctx, task, "", tool.call)
	wantEnd(t, err, record.Cancelled, 1)
}

func TestTheMachinesClockChecksTheContextAfterTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tool := failing(unavailable(1000))
		time.AfterFunc(time.Second, cancel) // the same instant as the timer
		task := &recovery.Task[string, string]{Effect: record.Read, Jitter: recovery.None}
		_, err := recovery.Do(ctx, task, "", tool.call)
		if err != nil {
			wantEnd(t, err, record.Cancelled, len(tool.inputs))
		}
	})
}

// backwards is a clock that loses an hour at every reading.
type backwards struct{ reading time.Duration }

func (b *backwards) Now() time.Time {
	b.reading -= time.Hour
	return time.Unix(0, 0).Add(b.reading)
}

func (b *backwards) Wait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func TestElapsedTimeIsClampedAtZero(t *testing.T) {
	task := simulated(record.Read)
	task.Clock = new(backwards)
	task.Observe = func(s recovery.Step) {
		if s.AtMS != 0 {
			t.Errorf("execution %d at %d ms", s.Execution, s.AtMS)
		}
	}
	if _, err := recovery.Do(t.Context(), task, "", failing(unavailable(1), unavailable(1)).call); err != nil {
		t.Error(err)
	}
}

// ticking is a clock that gains a second at every reading.
type ticking struct{ recovery.Simulated }

func (c *ticking) Now() time.Time {
	_ = c.Wait(context.Background(), time.Second)
	return c.Simulated.Now()
}

func TestTheTaskStartsWithItsFirstExecution(t *testing.T) {
	task := simulated(record.Read)
	task.Clock = new(ticking)
	var at []int64
	task.Observe = func(s recovery.Step) { at = append(at, s.AtMS) }
	if _, err := recovery.Do(t.Context(), task, "", failing(unavailable(1)).call); err != nil {
		t.Error(err)
	}
	if want := []int64{0, 2001}; !slices.Equal(at, want) { // read when it fails and when it starts again
		t.Errorf("the executions started at %v ms, want %v", at, want)
	}
}

// unread is a clock that may not be read.
type unread struct{}

func (unread) Now() time.Time                            { panic("the clock was read") }
func (unread) Wait(context.Context, time.Duration) error { panic("the clock was waited for") }

func TestASuccessReadsNoClock(t *testing.T) {
	if _, err := recovery.Do(t.Context(), &recovery.Task[string, string]{Clock: unread{}}, "", failing().call); err != nil {
		t.Error(err)
	}
}

// The budget, and what may be sent again.

func TestTheBudgetIsSharedByAllReasons(t *testing.T) {
	task := simulated(record.Read)
	task.Authenticate = func(context.Context, *record.Record) (bool, error) { return true, nil }
	task.Correct = func(context.Context, string, *record.Record) (string, bool, error) {
		t.Error("a correction was asked for with no budget to send it")
		return "B", true, nil
	}
	tool := failing(unavailable(1), code(record.AuthRequired), code(record.InvalidArgument))
	_, err := recovery.Do(t.Context(), task, "A", tool.call)
	wantEnd(t, err, record.NeedsInput, 3)
}

func TestARefusedInputIsNeverSentAgain(t *testing.T) {
	for _, tt := range []struct {
		offers string // in turn
		sent   string
	}{
		{"A", "A"},
		{"BA", "AB"},
		{"BB", "AB"},
		{"BCA", "ABC"},
		{"BCDEFGH", "ABCDEFGH"},
		{"BCDEFGHA", "ABCDEFGH"},
		{"BCDEFGHIJ", "ABCDEFGHI"}, // eight refusals are remembered, a ninth correction is not taken
	} {
		task := simulated(record.Read)
		task.Limit = 20
		offers := strings.Split(tt.offers, "")
		task.Correct = func(context.Context, string, *record.Record) (string, bool, error) {
			if len(offers) == 0 {
				return "", false, nil
			}
			offer := offers[0]
			offers = offers[1:]
			return offer, true, nil
		}
		tool := &script{errs: slices.Repeat([]error{code(record.InvalidArgument)}, 20)}
		_, err := recovery.Do(t.Context(), task, "A", tool.call)
		wantEnd(t, err, record.NeedsInput, len(tt.sent))
		if sent := strings.Join(tool.inputs, ""); sent != tt.sent {
			t.Errorf("offered %s, sent %s, want %s", tt.offers, sent, tt.sent)
		}
	}
}

func TestAnInputChangedInPlaceIsACorrection(t *testing.T) {
	type input struct{ Ref string }
	task := &recovery.Task[*input, string]{
		Effect: record.Read,
		Correct: func(_ context.Context, in *input, _ *record.Record) (*input, bool, error) {
			in.Ref = "SHIP-104"
			return in, true, nil
		},
	}
	_, err := recovery.Do(t.Context(), task, &input{"ship104"}, func(_ context.Context, in *input) (string, error) {
		if in.Ref == "ship104" {
			return "", code(record.InvalidArgument)
		}
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestANewKeyAloneIsNoCorrection(t *testing.T) {
	type payment struct {
		Key    string
		Amount int
	}
	task := &recovery.Task[payment, string]{
		Effect:    record.Keyed,
		Arguments: func(in payment) any { return in.Amount },
		Correct: func(_ context.Context, in payment, _ *record.Record) (payment, bool, error) {
			in.Key += "-2"
			return in, true, nil
		},
	}
	_, err := recovery.Do(t.Context(), task, payment{"k", -1}, func(context.Context, payment) (string, error) {
		return "", code(record.InvalidArgument)
	})
	wantEnd(t, err, record.NeedsInput, 1)
}

func TestAnInputWithoutJSONCannotBeCorrected(t *testing.T) {
	task := &recovery.Task[chan int, string]{
		Correct: func(context.Context, chan int, *record.Record) (chan int, bool, error) { return nil, true, nil },
	}
	_, err := recovery.Do(t.Context(), task, make(chan int), func(context.Context, chan int) (string, error) {
		return "", code(record.InvalidArgument)
	})
	wantEnd(t, err, record.NeedsInput, 1)
	if !strings.Contains(err.Error(), "cannot be compared") {
		t.Errorf("the error is %v", err)
	}
}

func TestUnseenSequences(t *testing.T) {
	invalid, auth, denied := code(record.InvalidArgument), code(record.AuthRequired), code(record.AccessDenied)
	for _, tt := range []struct {
		name       string
		errs       []error
		want       record.Disposition
		executions int
	}{
		{"authentication, then correction", []error{auth, invalid}, record.Success, 3},
		{"correction, then authentication", []error{invalid, auth}, record.Success, 3},
		{"renewed but refused", []error{auth, denied}, record.Refused, 2},
		{"renewed, and again", []error{auth, auth}, record.NeedsAuth, 2},
		{"corrected, and still wrong", []error{invalid, invalid}, record.Success, 3},
		{"corrected twice, and still wrong", []error{invalid, invalid, invalid}, record.NeedsInput, 3},
		{"unavailable, then authentication", []error{unavailable(1), auth}, record.Success, 3},
		{"unavailable, authentication, unavailable", []error{unavailable(1), auth, unavailable(1)}, record.RetryExhausted, 3},
		{"a familiar look", []error{code("temp_unavailable")}, record.Unknown, 1},
		{"a trailing space", []error{code("TEMP_UNAVAILABLE ")}, record.Unknown, 1},
		{"no code", []error{code("")}, record.Unknown, 1},
		{"a familiar message", []error{&record.Record{Code: "ODD", Message: "Please retry.", RetryAfterMS: ms(1)}}, record.Unknown, 1},
		{"plain prose", []error{errors.New("temporarily unavailable, retry")}, record.Unknown, 1},
		{"a wrapped record", []error{errors.Join(io.EOF, denied)}, record.Refused, 1},
		{"a nil record", []error{(*record.Record)(nil)}, record.Unknown, 1},
		{"forbidden", []error{&record.Record{Code: record.TempUnavailable, Retry: record.Forbidden}}, record.RetryExhausted, 1},
		{"the server says stop", []error{&record.Record{Code: record.TempUnavailable, Next: record.Stop}}, record.RetryExhausted, 1},
		{"OK with text", []error{&record.Record{Code: record.OK, Message: "Error: none."}}, record.Success, 1},
	} {
		for _, table := range []*recovery.Table{recovery.V1, recovery.V2} {
			task, tool := simulated(record.Read), failing(tt.errs...)
			task.Table = table
			task.Authenticate = func(context.Context, *record.Record) (bool, error) { return true, nil }
			task.Correct = func(_ context.Context, in string, _ *record.Record) (string, bool, error) { return in + "'", true, nil }
			_, err := recovery.Do(t.Context(), task, "A", tool.call)
			if tt.want == record.Success {
				if err != nil || len(tool.inputs) != tt.executions {
					t.Errorf("%s: %v after %d executions", tt.name, err, len(tool.inputs))
				}
				continue
			}
			t.Run(tt.name, func(t *testing.T) { wantEnd(t, err, tt.want, tt.executions) })
		}
	}
}

func TestTheZeroTaskIsUnsafeAndAsksNobody(t *testing.T) {
	for _, failure := range []record.Code{record.InvalidArgument, record.AuthRequired, record.PreconditionFailed, record.OutcomeUnknown, record.InProgress, "ODD"} {
		tool := failing(code(failure))
		_, err := recovery.Do(t.Context(), nil, "", tool.call)
		wantEnd(t, err, recovery.V2.Rule(failure, record.Unsafe).Stop, 1)
	}
}

func TestAnUnsafeUnknownOutcomeIsNeverExecutedAgain(t *testing.T) {
	for name, answers := range map[string][]error{
		"refused":         {code(record.AccessDenied)},
		"unavailable":     {unavailable(1), unavailable(1), unavailable(1)},
		"not applied":     {&record.Record{Code: "CARD_DECLINED", Outcome: record.NotApplied}},
		"again not known": {code(record.OutcomeUnknown)},
	} {
		task, tool := simulated(record.Unsafe), failing(code(record.OutcomeUnknown))
		checks := 0
		task.Status = func(context.Context, string, *record.Record) (string, error) {
			checks++
			return "", answers[checks-1]
		}
		_, err := recovery.Do(t.Context(), task, "", tool.call)
		wantEnd(t, err, record.UnknownOutcome, 1)
		if checks != len(answers) {
			t.Errorf("%s: %d checks", name, checks)
		}
	}
}

func TestAStatusThatIsSettledIsTheResult(t *testing.T) {
	task, tool := simulated(record.Unsafe), failing(code(record.OutcomeUnknown))
	answers := failing(&record.Record{Code: record.InProgress, Operation: &record.Operation{PollAfterMS: ms(700)}})
	task.Status = func(ctx context.Context, in string, _ *record.Record) (string, error) { return answers.call(ctx, in) }
	out, err := recovery.Do(t.Context(), task, "", tool.call)
	if out != "done" || err != nil || len(tool.inputs) != 1 || len(answers.inputs) != 2 {
		t.Errorf("%q, %v; executions %d, checks %d", out, err, len(tool.inputs), len(answers.inputs))
	}
	if now := task.Clock.Now(); !now.Equal(time.Unix(0, 700e6)) {
		t.Errorf("the clock stands at %v", now)
	}
}

func TestAStatusThatSaysNotAppliedEndsAsItsCode(t *testing.T) {
	task := simulated(record.Unsafe)
	task.Status = func(context.Context, string, *record.Record) (string, error) {
		return "", &record.Record{Code: record.AccessDenied, Outcome: record.NotApplied}
	}
	_, err := recovery.Do(t.Context(), task, "", failing(code(record.OutcomeUnknown)).call)
	wantEnd(t, err, record.Refused, 1)
}

func TestAnUnknownOutcomeStaysUnknownWhenTheStatusIsTooLate(t *testing.T) {
	for _, failure := range []record.Code{record.OutcomeUnknown, record.InProgress} {
		task := simulated(record.Unsafe)
		task.Status = func(context.Context, string, *record.Record) (string, error) {
			t.Error("the status was asked for")
			return "", nil
		}
		_, err := recovery.Do(t.Context(), task, "", failing(&record.Record{Code: failure, RetryAfterMS: ms(60_001)}).call)
		wantEnd(t, err, record.UnknownOutcome, 1)
	}
}

func TestARefreshedInputIsSent(t *testing.T) {
	task, tool := simulated(record.Idempotent), failing(code(record.PreconditionFailed))
	task.Refresh = func(context.Context, string, *record.Record) (string, bool, error) { return "etag-2", true, nil }
	if _, err := recovery.Do(t.Context(), task, "etag-1", tool.call); err != nil || !slices.Equal(tool.inputs, []string{"etag-1", "etag-2"}) {
		t.Errorf("%v, %v", tool.inputs, err)
	}
}

func TestATaskWithinATaskDoesNotMultiplyTheBudget(t *testing.T) {
	tool := &script{errs: slices.Repeat([]error{unavailable(1)}, 20)}
	_, err := recovery.Do(t.Context(), simulated(record.Read), "", func(ctx context.Context, in string) (string, error) {
		return recovery.Do(ctx, simulated(record.Read), in, tool.call)
	})
	wantEnd(t, err, record.RetryExhausted, 1)
	if len(tool.inputs) != 3 {
		t.Errorf("%d executions", len(tool.inputs))
	}
}

// Errors.

func TestTheToolsErrorSurvives(t *testing.T) {
	cause := &net.AddrError{Err: "odd"}
	_, err := recovery.Do(t.Context(), simulated(record.Read), "", failing(cause).call)
	found, ok := errors.AsType[*net.AddrError](err)
	if !errors.Is(err, cause) || !ok || found != cause {
		t.Errorf("the tool's error is lost in %v", err)
	}
	if end := endOf(t, err); end.Record.Code != recovery.Unclassified {
		t.Errorf("the record is %+v", end.Record)
	}
}

func TestACallbacksErrorSurvivesBesideTheTools(t *testing.T) {
	denied, broken := code(record.AuthRequired), errors.New("the flow is broken")
	task := simulated(record.Read)
	task.Authenticate = func(context.Context, *record.Record) (bool, error) { return true, broken }
	_, err := recovery.Do(t.Context(), task, "", failing(denied).call)
	if wantEnd(t, err, record.NeedsAuth, 1); !errors.Is(err, denied) || !errors.Is(err, broken) {
		t.Errorf("an error is lost in %v", err)
	}
}

func TestClassifyOfTheTaskComesFirst(t *testing.T) {
	busy := errors.New("busy")
	task := simulated(record.Unsafe)
	task.Classify = func(err error) *record.Record {
		if errors.Is(err, busy) {
			return &record.Record{Code: record.TempUnavailable}
		}
		return nil
	}
	_, err := recovery.Do(t.Context(), task, "", failing(busy, io.EOF).call)
	wantEnd(t, err, record.UnknownOutcome, 2)
}

// Cancellation.

func TestACancelledTaskIsNotBegun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user left")
	cancel(cause)
	tool := failing()
	_, err := recovery.Do(ctx, nil, "", tool.call)
	wantEnd(t, err, record.Cancelled, 0)
	if len(tool.inputs) != 0 || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("%d executions, %v", len(tool.inputs), err)
	}
}

func TestACancellationDuringTheCallIsNotRetried(t *testing.T) {
	outcomeUnknown := code(record.OutcomeUnknown)
	for _, tt := range []struct {
		effect record.Effect
		err    error
		want   record.Disposition
	}{
		{record.Read, context.Canceled, record.Cancelled},
		{record.Read, errors.New("interrupted"), record.Cancelled},
		{record.Idempotent, context.Canceled, record.UnknownOutcome},
		{record.Keyed, context.Canceled, record.UnknownOutcome},
		{record.Unsafe, context.Canceled, record.UnknownOutcome},
		{"", errors.New("interrupted"), record.UnknownOutcome},
		{record.Unsafe, recovery.NotSent(context.Canceled), record.Cancelled},
		{record.Unsafe, unavailable(0), record.Cancelled},
		{record.Unsafe, code(record.AccessDenied), record.Refused},
		{record.Unsafe, outcomeUnknown, record.UnknownOutcome},
	} {
		for _, table := range []*recovery.Table{recovery.V1, recovery.V2} {
			ctx, cancel := context.WithCancel(t.Context())
			task := simulated(tt.effect)
			task.Table = table
			var steps []recovery.Step
			task.Observe = func(s recovery.Step) { steps = append(steps, s) }
			_, err := recovery.Do(ctx, task, "", func(context.Context, string) (string, error) {
				cancel()
				return "", tt.err
			})
			if table == recovery.V1 && errors.Is(tt.err, outcomeUnknown) {
				continue // no code of v1
			}
			wantEnd(t, err, tt.want, 1)
			if len(steps) != 1 || steps[0].Disposition != tt.want {
				t.Errorf("the steps are %+v", steps)
			}
		}
	}
}

func TestASuccessOutrunsTheCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, err := recovery.Do(ctx, nil, "", func(context.Context, string) (string, error) {
		cancel()
		return "done", nil
	})
	if out != "done" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestACancellationDuringTheWait(t *testing.T) {
	lost := error(&record.Record{Code: record.TempUnavailable, Outcome: record.NotKnown, RetryAfterMS: ms(1000)})
	for _, tt := range []struct {
		name   string
		effect record.Effect
		errs   []error
		want   record.Disposition
	}{
		{"a read", record.Read, []error{unavailable(1000)}, record.Cancelled},
		{"a read whose answer was lost", record.Read, []error{lost}, record.Cancelled},
		{"a write that was not executed", record.Keyed, []error{unavailable(1000)}, record.Cancelled},
		{"a write whose answer was lost", record.Keyed, []error{lost}, record.UnknownOutcome},
		{"lost first, then not executed", record.Idempotent, []error{code(record.OutcomeUnknown), unavailable(1000)}, record.UnknownOutcome},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(500*time.Millisecond, cancel)
			begin := time.Now()
			task := &recovery.Task[string, string]{Effect: tt.effect, Jitter: recovery.None}
			_, err := recovery.Do(ctx, task, "", failing(tt.errs...).call)
			wantEnd(t, err, tt.want, len(tt.errs))
			if waited := time.Since(begin); waited != 500*time.Millisecond || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v after %v", tt.name, err, waited)
			}
		})
	}
}

func TestACancellationDuringAnAnswerOfTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	task, tool := simulated(record.Read), failing(code(record.AuthRequired))
	task.Authenticate = func(context.Context, *record.Record) (bool, error) {
		cancel()
		return true, nil
	}
	_, err := recovery.Do(ctx, task, "", tool.call)
	wantEnd(t, err, record.Cancelled, 1)
}

func TestACancellationDuringAStatusCheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	task := simulated(record.Unsafe)
	task.Status = func(context.Context, string, *record.Record) (string, error) {
		cancel()
		return "", ctx.Err()
	}
	_, err := recovery.Do(ctx, task, "", failing(code(record.InProgress)).call)
	wantEnd(t, err, record.UnknownOutcome, 1)
}

func TestAnAttemptsOwnTimeoutIsNoCancellation(t *testing.T) {
	_, err := recovery.Do(t.Context(), simulated(record.Read), "", failing(context.DeadlineExceeded).call)
	if err != nil {
		t.Error(err)
	}
}

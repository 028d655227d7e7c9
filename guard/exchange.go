package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/time/rate"

	"remit.example/contract"
	"remit.example/operation"
	"remit.example/record"
	"remit.example/recovery"
)

// Exec sends one request upstream and returns its response. The request has
// the caller's id, or one of the guard's own; the response has the same. An
// error says that no response came; see [recovery.NotSent].
type Exec func(ctx context.Context, request []byte) (Response, error)

// Elsewhere is the error of an [Exec] whose response comes on another of the
// caller's streams, as where an upstream ends the stream of a call early
// (MCP 2025-11-25, streamable HTTP). The call's own request has no answer.
type Elsewhere struct {
	// Wait returns the response once it comes.
	Wait func(context.Context) (Response, error)
	// Recorded lets the response pass on, which waits for it from Wait on.
	Recorded func()
	// Drop says that nobody waits for the response: it passes as it comes.
	Drop func()
}

// drop lets a response pass that comes elsewhere; nil came here.
func (e *Elsewhere) drop() {
	if e != nil {
		e.Drop()
	}
}

// Error says so.
func (*Elsewhere) Error() string { return "the response comes on another stream" }

// Reply is the answer to a call.
type Reply struct {
	// Own says that the guard made the answer: Message is all there is of it.
	Own      bool
	Message  []byte   // the response, as the caller gets it; nil: Response is passed as it is
	Response Response // of the upstream
	// Challenge is the WWW-Authenticate of the remembered response with the
	// status 401 that the answer repeats, so that a client over HTTP learns where
	// to authenticate; nil: it repeats none.
	Challenge []string
	// Gone says that nobody reads an answer here: the caller gave up, or gets
	// it on another stream.
	Gone      bool
	delivered func(operation.Delivery)
}

// Tracked reports whether it matters that the answer reaches the caller.
func (r *Reply) Tracked() bool { return r.delivered != nil }

// Done says whether the answer reached the caller, as far as the proxy can
// tell. It must be called once, and does not wait for the ledger.
func (r *Reply) Done(delivered bool) {
	switch {
	case r.delivered == nil:
	case delivered:
		r.delivered(operation.Delivered)
	default:
		r.delivered(operation.Undelivered)
	}
}

// unknown says that nobody can tell whether the answer reached the caller.
func (r *Reply) unknown() {
	if r.delivered != nil {
		r.delivered(operation.NotKnown)
	}
}

// exchange is one call under way.
type exchange struct {
	guard     *Guard
	caller    Caller
	call      *call
	plan      *plan
	listed    *listed
	exec      Exec
	principal *principal
	began     time.Time

	challenge []string  // of the refusal that answers
	recalled  *recalled // of an answer from memory

	since       moment            // when the call was sent
	reservation *rate.Reservation // of the tenant's rate; nil: none

	parted chan struct{} // of a write: closed when its answer comes elsewhere

	task *task // as far as it is known
	id   string
	used int // executions of the task, this call's included

	why   Why                 // the memory answers
	about operation.Operation // the write, as far as there is one
}

// Call answers one tools/call.
func (g *Guard) Call(ctx context.Context, caller Caller, s *Session, m *Message, exec Exec) *Reply {
	c, err := readCall(m)
	if err != nil {
		return &Reply{Own: true, Message: ErrorMessage(m.ID, invalidParams, err.Error())}
	}
	l := s.tool(c.tool)
	x := &exchange{guard: g, caller: caller, call: c, listed: l, exec: exec, principal: g.memory.of(caller.Principal), began: g.clock.Now()}
	if c.tool == StatusTool && l == nil && g.offersStatus() {
		return x.status(ctx)
	}
	h := hints{}
	if l != nil {
		h = l.hints
	}
	x.plan = g.planFor(c.tool, h)
	if x.plan.key != nil {
		if err := c.withoutKey(x.plan.key.Argument); err != nil {
			return &Reply{Own: true, Message: ErrorMessage(m.ID, invalidParams, err.Error())}
		}
	}
	refusal, from := x.refusal()
	switch {
	case x.plan.observe:
		return x.observe(ctx, refusal, from)
	case refusal != nil:
		return x.answer(refusal, from)
	case x.plan.writes():
		return x.write(ctx)
	}
	return x.read(ctx)
}

// key is the call as it is remembered.
func (x *exchange) key() callKey { return callKey{x.call.tool, x.call.digest, x.call.continues} }

// taskKey is where the call's task lives.
func (x *exchange) taskKey() taskKey {
	if x.call.task != "" {
		return taskKey{tool: x.call.tool, name: x.call.task}
	}
	return taskKey{connection: x.caller.Connection, tool: x.call.tool}
}

// taskID names the task in decisions. A name that its caller gives it may
// serve for many, one after another, and at several tools.
func (x *exchange) taskID() string {
	if x.task != nil {
		return x.task.id
	}
	if x.id == "" {
		x.id = fmt.Sprintf("t%d", x.guard.tasks.Add(1))
		if x.call.task != "" {
			x.id += " " + x.call.task
		}
	}
	return x.id
}

// schema is the digest of the tool's schema as far as it is known.
func (x *exchange) schema() Digest {
	if x.listed == nil {
		return Digest{}
	}
	return x.listed.digest
}

// refusal is the failure that keeps the call from being executed, and whose
// word it is; nil where nothing does.
func (x *exchange) refusal() (*record.Record, From) {
	ownKey := ""
	if x.plan.guardKeyed() {
		ownKey = x.plan.key.Argument
	}
	if fields := x.listed.refused(x.call.arguments, ownKey); len(fields) > 0 {
		return x.fill(invalid(fields)), FromValidation
	}
	now := x.guard.clock.Now()
	p := x.principal
	p.mu.Lock()
	defer p.mu.Unlock()
	x.since = p.moment
	corrections := x.guard.options.Contract != nil
	x.task = p.taskOf(x.taskKey(), x.call, corrections, now, x.guard.limits.quiet)
	if x.task != nil {
		x.used = x.task.executions
	}
	if held, ok := p.recall(x.key(), x.call.key, now, x.caller.Credentials, x.schema(), x.forgotten); ok {
		x.challenge = held.challenge
		return x.remembered(held, now), FromMemory
	}
	if x.task != nil && x.task.executions >= x.guard.limits.executions {
		p.released(x.key())
		x.why = Budget
		return x.spent(now), FromMemory
	}
	if wait := x.throttled(now); wait > 0 {
		p.released(x.key())
		x.why = Rate
		return x.fill(&record.Record{
			Code: record.TempUnavailable, WaitKind: record.Throttle, RetryAfterMS: new(ceilMS(wait)), Outcome: x.notApplied(),
			Message: "The rate that the contract permits is used up; nothing was sent.",
		}), FromMemory
	}
	return nil, FromTool
}

// notApplied is the outcome of a call that was not sent.
func (x *exchange) notApplied() record.Outcome {
	if !x.plan.writes() {
		return ""
	}
	return record.NotApplied
}

// forgottenTime bounds the question whether an operator let refusals be forgotten.
const forgottenTime = time.Second

// forgotten is up to when an operator let refusals be forgotten.
func (x *exchange) forgotten() time.Time {
	if x.guard.options.Store == nil {
		return time.Time{}
	}
	// A ledger that does not answer may not keep the caller's other calls waiting.
	ctx, cancel := context.WithTimeout(context.Background(), forgottenTime)
	defer cancel()
	at, err := x.guard.options.Store.Forgotten(ctx, x.guard.options.Upstream, x.call.tool)
	if err != nil {
		return time.Time{} // what cannot be read forgets nothing
	}
	return at
}

// throttled is how long the rate of the tool's tenant lets nothing through; 0
// where it lets this call through.
func (x *exchange) throttled(now time.Time) time.Duration {
	if x.plan.bucket == nil {
		return 0
	}
	reservation := x.plan.bucket.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
		return wait
	}
	x.reservation = reservation
	return 0
}

// unreserved gives back what a call that was not sent took of the rate.
func (x *exchange) unreserved() {
	if x.reservation != nil {
		x.reservation.CancelAt(x.guard.clock.Now())
	}
}

// remembered is what a refusal answers now: itself, with its age and when
// asking again will execute.
func (x *exchange) remembered(held refusal, now time.Time) *record.Record {
	r := *held.record
	r.Replayed = true
	until := held.until
	if over := x.budgetOver(); !until.IsZero() && over.After(until) {
		until = over
	}
	if !until.IsZero() && waits(r.Code) {
		r.RetryAfterMS = new(max(0, ceilMS(until.Sub(now))))
	}
	if x.task == nil && r.Budget != nil {
		x.used = r.Budget.Used // of the task that it ended
	}
	x.recalled = newRecalled(held.at, until, now)
	r.Message = fmt.Sprintf("%s (Remembered for %s; nothing was sent. %s)", r.Message, ageOf(now.Sub(held.at)), whenAgain(held, until, now))
	return x.fill(&r)
}

// recalled says of an answer from memory how old it is, and in which time
// asking again executes; nil: not by time alone.
type recalled struct {
	ageMS   int64
	afterMS *int64
}

func newRecalled(at, until, now time.Time) *recalled {
	r := &recalled{ageMS: max(0, now.Sub(at).Milliseconds())}
	if !until.IsZero() {
		r.afterMS = new(max(0, ceilMS(until.Sub(now))))
	}
	return r
}

// budgetOver is when a task that has used its executions ends; zero where the
// call's has not.
func (x *exchange) budgetOver() time.Time {
	if x.task == nil || x.task.executions < x.guard.limits.executions {
		return time.Time{}
	}
	return x.task.last.Add(x.guard.limits.quiet)
}

// whenAgain says what makes the same call execute again.
func whenAgain(held refusal, until, now time.Time) string {
	e := held.ends
	switch {
	case held.probing:
		return "The same call is being executed; ask again for its answer."
	case !until.IsZero() && e.write:
		return fmt.Sprintf("Asking again executes after %s, or once something that you change has succeeded.", lengthOf(until.Sub(now)))
	case !until.IsZero():
		return fmt.Sprintf("Asking again executes after %s.", lengthOf(until.Sub(now)))
	case e.credentials:
		return "Asking again executes with other credentials."
	}
	return "Asking again executes with other arguments."
}

// spent is the failure of a task that has used its executions.
func (x *exchange) spent(now time.Time) *record.Record {
	r := *x.task.failure
	r.Replayed = true
	over := x.budgetOver()
	x.recalled = newRecalled(x.task.last, over, now)
	if waits(r.Code) {
		r.RetryAfterMS = new(max(0, ceilMS(over.Sub(now))))
	}
	r.Message = fmt.Sprintf("%s (The task has used its %d executions; nothing was sent. Asking again executes after %s.)", r.Message, x.guard.limits.executions, lengthOf(over.Sub(now)))
	return x.fill(&r)
}

// ageOf is a length of time that has passed, for people: not more than it is.
func ageOf(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Second:
		return lengthOf(d)
	case d < 2*time.Minute:
		return lengthOf(d.Truncate(time.Second))
	}
	return lengthOf(d.Truncate(time.Minute))
}

// lengthOf is a length of time that is ahead, for people: not less than it is.
func lengthOf(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int64((d+time.Second-1)/time.Second))
	}
	return fmt.Sprintf("%d min", int64((d+time.Minute-1)/time.Minute))
}

// fill completes a failure as the contract's policy reads it.
func (x *exchange) fill(r *record.Record) *record.Record {
	r.Contract, r.Domain = record.V2, x.guard.service
	r.Budget = new(record.NewBudget(x.guard.limits.executions, x.used))
	recovery.V2.Fill(r, x.plan.effect)
	if x.plan.guardKeyed() {
		r.Key = "" // which is the guard's to keep
	}
	if !x.plan.isDeclared && r.Stop == record.UnknownOutcome && x.stateOf(r) == operation.Refused {
		r.Stop = record.Unknown
	}
	return r
}

// read executes a tool without effect, and again as the contract permits.
func (x *exchange) read(ctx context.Context) *Reply {
	request := x.call.message.Raw
	deadline := x.guard.clock.Now().Add(defaultAbsorb)
	for {
		response, r := x.execute(ctx, request)
		if ctx.Err() != nil || r.elsewhere != nil {
			return x.abandoned(r)
		}
		failure := x.settle(r)
		wait := absorbable(x.plan, failure)
		if wait <= 0 || x.guard.clock.Now().Add(wait).After(deadline) {
			return x.pass(response, r, failure)
		}
		d := x.executed(r).failed(failure)
		d.Again = true
		x.decide(d)
		if x.guard.clock.Wait(ctx, wait) != nil {
			return x.abandoned(reading{unsent: true})
		}
		request = x.call.message.WithID(jsontext.Value(`"` + newID("remit-", x.guard.clock.Now()) + `"`))
	}
}

// absorbable is the wait after which the guard itself repeats a read; 0 where
// it does not.
func absorbable(p *plan, failure *record.Record) time.Duration {
	if !p.absorb || failure == nil || failure.Code != record.TempUnavailable || !failure.Retryable() || failure.RetryAfterMS == nil {
		return 0
	}
	return time.Duration(max(1, min(*failure.RetryAfterMS, defaultAbsorb.Milliseconds()+1))) * time.Millisecond
}

// execute sends a request once and reads its response.
func (x *exchange) execute(ctx context.Context, request []byte) (Response, reading) {
	if x.plan.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, x.plan.timeout)
		defer cancel()
	}
	response, err := x.exec(ctx, request)
	elsewhere, ok := errors.AsType[*Elsewhere](err)
	if ok && x.parted == nil {
		return Response{}, reading{elsewhere: elsewhere}
	}
	if ok {
		close(x.parted)
		response, err = elsewhere.Wait(ctx)
	}
	if err != nil {
		return Response{}, reading{failure: x.plan.lost(err, contract.NoAnswer), unsent: recovery.Unsent(err), elsewhere: elsewhere}
	}
	r := x.plan.read(response, x.guard.clock.Now())
	r.elsewhere = elsewhere
	if response.Status == http.StatusUnauthorized {
		r.challenge = response.Header["Www-Authenticate"]
	}
	return response, r
}

// settle notes what an execution came to; it completes the failure.
func (x *exchange) settle(r reading) *record.Record {
	now := x.guard.clock.Now()
	p := x.principal
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.unsent && !r.apart {
		x.used++
		if x.task != nil {
			x.used = max(x.used, x.task.executions+1) // others of the task may run beside it
		}
	}
	switch {
	case r.failure == nil && r.asks:
		p.released(x.key())
		return nil
	case r.failure == nil:
		p.succeeded(x.key(), x.plan.effect == record.Read)
		p.ended(x.taskKey(), x.task)
		return nil
	}
	failure := x.fill(r.failure)
	ends := endsOf(failure.Code, x.plan.effect)
	if r.apart {
		p.released(x.key())
		return failure
	}
	if !r.unsent {
		id := x.taskID()
		x.task = p.failed(x.taskKey(), x.task, x.call, failure, ends, now, x.guard.limits.quiet)
		x.task.id = id
		if recovery.V2.Rule(failure.Code, x.plan.effect).Next == record.Stop {
			p.ended(x.taskKey(), x.task)
		}
	}
	if !x.inLedger(failure) {
		p.remember(x.key(), failure, ends, now, x.since, x.caller.Credentials, x.schema(), x.guard.limits).note(r.challenge, x.call.key)
	} else {
		delete(p.refusals, x.key())
	}
	return failure
}

// inLedger reports whether the ledger, and not the memory, says what becomes
// of the same call: where a write's outcome is unknown, and it may not be sent
// again. The memory would say when asking again executes, which it never does.
func (x *exchange) inLedger(failure *record.Record) bool {
	return x.plan.writes() && x.stateOf(failure) == operation.Unknown && !x.repeatable()
}

// released says that the call ended without a word on what it asked.
func (x *exchange) released() {
	x.principal.mu.Lock()
	defer x.principal.mu.Unlock()
	x.principal.released(x.key())
}

// pass is the upstream's response as the caller gets it: where it is a
// failure, with its record.
func (x *exchange) pass(response Response, r reading, failure *record.Record) *Reply {
	d := x.executed(r)
	if failure == nil {
		x.decide(d)
		return x.passed(response, nil)
	}
	x.decide(d.failed(failure))
	if r.unreadable || response.Message == nil && response.Status == 0 {
		return &Reply{Own: true, Message: x.failureMessage(failure)}
	}
	return x.passed(response, failure)
}

// executed is the decision on a call that was passed on.
func (x *exchange) executed(r reading) Decision {
	d := Decision{From: FromTool, Execution: x.used, Asks: r.asks}
	if r.unsent || r.apart {
		d.Execution = 0
	}
	return d
}

// abandoned ends a call whose caller gave it up while it was executed.
func (x *exchange) abandoned(r reading) *Reply {
	r.elsewhere.drop()
	x.principal.mu.Lock()
	x.principal.released(x.key())
	if !r.unsent && !r.apart {
		x.used++
		if x.task != nil {
			x.task.executions = max(x.used, x.task.executions+1)
			x.used = x.task.executions
		}
	}
	x.principal.mu.Unlock()
	d := x.executed(r)
	d.Asks, d.Code, d.Next, d.Stop = false, Cancelled, record.Stop, record.Cancelled
	x.decide(d)
	return &Reply{Gone: true}
}

// passed is a response under the caller's id. A failed result gets its record.
func (x *exchange) passed(response Response, failure *record.Record) *Reply {
	reply := &Reply{Response: response}
	m := response.Message
	if m == nil {
		return reply
	}
	reply.Message = m.Raw
	if failure != nil && m.Result != nil {
		reply.Message = withMeta(m, "remit/recovery", failure.Append(nil))
	}
	if string(m.ID) == string(x.call.message.ID) {
		return reply
	}
	if again, err := ParseMessage(reply.Message); err == nil {
		reply.Message = again.WithID(x.call.message.ID)
	}
	return reply
}

// answer is a failure that the guard itself answers with.
func (x *exchange) answer(failure *record.Record, from From) *Reply {
	x.decide(Decision{From: from}.failed(failure))
	return &Reply{Own: true, Message: x.failureMessage(failure), Challenge: x.challenge}
}

// observe sends a call whatever would have answered it.
func (x *exchange) observe(ctx context.Context, refusal *record.Record, from From) *Reply {
	would, code := from, record.Code("")
	if refusal != nil {
		code = refusal.Code
	}
	var held *holding
	if refusal == nil && x.plan.writes() {
		held, would, code = x.shadowed()
	}
	response, r := x.execute(ctx, x.call.message.Raw)
	if ctx.Err() != nil || r.elsewhere != nil {
		held.lose()
		return x.abandoned(r)
	}
	failure := x.settle(r)
	delivered := held.settle(failure, r)
	d := x.executed(r)
	if failure != nil {
		d = d.failed(failure)
	}
	d.Would, d.WouldCode = would, code
	x.decide(d)
	if response.Message == nil && response.Status == 0 {
		return &Reply{Own: true, Message: x.failureMessage(failure)}
	}
	reply := x.passed(response, nil)
	reply.delivered = delivered
	return reply
}

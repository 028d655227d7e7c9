package guard

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/operation"
	"remit.example/record"
)

const (
	defaultLease = 30 * time.Second
	// pollMS is after how many milliseconds an operation may be asked for.
	pollMS = 1000
	// storeTime bounds one use of the store.
	storeTime = 10 * time.Second
	// maxShadow is how many writes an observing guard remembers.
	maxShadow = 10_000
)

// write executes a tool with an effect as one operation.
func (x *exchange) write(ctx context.Context) *Reply {
	claim, err := x.claim()
	if err != nil {
		return x.answer(x.fill(&record.Record{Code: record.InvalidArgument, Message: err.Error(), Outcome: record.NotApplied}), FromValidation)
	}
	// The caller may go away meanwhile; what is claimed is then sent and settled.
	claiming, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	verdict, err := x.guard.options.Store.Claim(claiming, claim)
	if err == nil && verdict.Kind == operation.Replay && x.guard.delivery(claiming, verdict.Operation.ID) {
		verdict, err = x.guard.options.Store.Claim(claiming, claim)
	}
	if err != nil {
		x.released()
		x.unreserved()
		x.guard.running.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), storeTime)
			defer cancel()
			x.unclaim(ctx, claim.NewID, "Its claim failed, and it was never sent.")
		})
		return x.answer(x.fill(&record.Record{
			Code: record.TempUnavailable, RetryAfterMS: new(int64(defaultWaitMS)), WaitKind: record.Outage, Outcome: record.NotApplied,
			Message: "The ledger of operations is not available, so that nothing was sent.",
		}), FromLedger)
	}
	if verdict.Kind == operation.Execute {
		if o, ok := x.owed(claiming); ok {
			x.unclaim(claiming, claim.NewID, "It was never sent: the call was owed the answer of operation "+o.ID+".")
			verdict = operation.Verdict{Kind: operation.Replay, Operation: o}
		}
	}
	if !verdict.Executes() {
		x.released()
		x.unreserved()
		return x.kept(verdict)
	}
	request, err := x.keyed(verdict.Operation)
	if err != nil {
		x.released()
		return &Reply{Own: true, Message: ErrorMessage(x.call.message.ID, invalidParams, err.Error())}
	}
	return x.send(ctx, verdict.Operation, request)
}

// unclaim settles an operation that was claimed, or may have been, and is not
// sent. Where that fails, it ends with its lease as unknown.
func (x *exchange) unclaim(ctx context.Context, id, why string) {
	_, _ = x.guard.options.Store.Settle(ctx, id, 1, operation.Outcome{
		State: operation.Refused, Code: string(record.TempUnavailable), By: operation.ByAnswer, Reason: why,
	})
}

// claim is what the call asks of the ledger.
func (x *exchange) claim() (operation.Claim, error) {
	p, c := x.plan, x.call
	now := x.guard.clock.Now()
	claim := operation.Claim{
		Scope:       operation.Scope{Principal: x.caller.Principal, Upstream: x.guard.options.Upstream, Tool: c.tool},
		Fingerprint: c.digest.String(),
		Arguments:   c.arguments,
		Repeatable:  x.repeatable(),
		NewID:       newID("op_", now),
		Lease:       x.guard.options.Lease,
		Window:      x.guard.limits.replayWindow,
	}
	if x.guard.options.Contract != nil {
		claim.Tenant = x.guard.options.Contract.Tenant
	}
	switch {
	case p.guardKeyed():
		claim.NewKey = newID("key_", now)
	case c.key != "":
		claim.CallerKey, claim.NewKey = c.key, c.key
	}
	if len(p.identity) > 0 {
		identity := record.Object{}
		for _, name := range p.identity {
			value := c.argument(name)
			if value == nil {
				value = jsontext.Value("null")
			}
			identity.Add(name, value)
		}
		digest, err := digestOf(identity.JSON())
		if err != nil {
			return claim, err
		}
		claim.Intent = digest.String()
	}
	return claim, nil
}

// repeatable reports whether the same request may be sent again where its
// outcome is unknown.
func (x *exchange) repeatable() bool {
	if x.plan.key != nil {
		return x.plan.guardKeyed() || x.call.key != ""
	}
	return x.plan.effect == record.Idempotent
}

// keyed is the request that is sent for an operation: with its key, whatever
// key the caller gave.
func (x *exchange) keyed(o operation.Operation) ([]byte, error) {
	if x.plan.key == nil || o.Key == "" {
		return x.call.message.Raw, nil
	}
	name := x.plan.key.Argument
	if !x.plan.guardKeyed() && x.call.key == o.Key {
		return x.call.message.Raw, nil
	}
	arguments, err := without(x.call.arguments, name)
	if err != nil {
		return nil, err
	}
	arguments.Add(name, record.AppendString(nil, o.Key))
	return x.call.withArguments(arguments.JSON())
}

// send executes an operation that was claimed. It no longer depends on the
// caller: whoever waits or not, the outcome is recorded.
func (x *exchange) send(ctx context.Context, o operation.Operation, request []byte) *Reply {
	done, gone := make(chan *Reply), make(chan struct{})
	x.parted = make(chan struct{})
	x.guard.running.Go(func() {
		reply, elsewhere := x.conclude(context.WithoutCancel(ctx), o, request)
		if elsewhere != nil {
			elsewhere.Recorded()
			reply.unknown() // who reads the other stream, nobody tells
			return
		}
		select {
		case done <- reply:
		case <-gone:
			reply.Done(false)
		}
	})
	select {
	case reply := <-done:
		return reply
	case <-x.parted:
		return &Reply{Gone: true}
	case <-ctx.Done():
		close(gone)
		return &Reply{Gone: true}
	}
}

// conclude sends the request, records the outcome, and makes the answer.
func (x *exchange) conclude(ctx context.Context, o operation.Operation, request []byte) (*Reply, *Elsewhere) {
	x.about = o
	stop := x.renew(ctx, o)
	limit := x.plan.timeout
	if limit == 0 {
		limit = defaultWriteTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	response, r := x.execute(ctx, request)
	stop()
	x.concerning(o, r)
	failure := x.settle(r)
	settled, err := x.record(ctx, o, r, failure)
	if settled.ID != "" {
		x.about = settled
	}
	if err != nil {
		return x.unrecorded(o, settled, err), r.elsewhere
	}
	if x.owe(settled); !settled.State.Open() {
		x.paid()
	}
	reply := x.pass(response, r, failure)
	if settled.State == operation.Confirmed {
		reply.delivered = x.guard.delivering(x.guard.options.Store, o.ID)
	}
	return reply, r.elsewhere
}

// concerning completes a failure with the operation, before anybody else sees
// it. Where an earlier attempt may have taken effect, it does not say that the
// operation did not.
func (x *exchange) concerning(o operation.Operation, r reading) {
	if r.failure == nil {
		return
	}
	if o.State = x.stateOf(r.failure); o.State == operation.Refused && o.Fence > 1 {
		o.State, r.failure.Outcome = operation.Unknown, record.NotKnown
	}
	r.failure.Operation = x.named(o)
}

// renew holds the claim until the function that it returns is called.
func (x *exchange) renew(ctx context.Context, o operation.Operation) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		lease := x.guard.options.Lease
		for x.guard.clock.Wait(ctx, lease/3) == nil {
			if errors.Is(x.guard.options.Store.Renew(ctx, o.ID, o.Fence, lease), operation.ErrFenced) {
				return
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// record makes the outcome of an operation durable.
func (x *exchange) record(ctx context.Context, o operation.Operation, r reading, failure *record.Record) (operation.Operation, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	settled, err := x.guard.options.Store.Settle(ctx, o.ID, o.Fence, x.outcome(o, r, failure))
	if errors.Is(err, operation.ErrFenced) {
		if now, readErr := x.guard.options.Store.Get(ctx, o.ID); readErr == nil {
			settled = now
		}
	}
	return settled, err
}

// outcome is what the ledger keeps of a reading. No failure of an attempt
// after the first says that the operation took no effect.
func (x *exchange) outcome(o operation.Operation, r reading, failure *record.Record) operation.Outcome {
	out := operation.Outcome{By: operation.ByAnswer, Code: string(record.OK)}
	switch {
	case failure != nil:
		out.Code, out.Reason = string(failure.Code), failure.Message
		out.State = x.stateOf(failure)
	case r.answer.runs:
		out.State, out.Code, out.Reason = operation.Unknown, string(record.InProgress), "The server goes on with it as a task of its own."
	case r.asks:
		out.State, out.Code, out.Reason = operation.Refused, "INPUT_REQUIRED", "The server asked something back before it did anything."
	default:
		out.State = operation.Confirmed
		out.Result = r.result
	}
	if out.State == operation.Refused && o.Fence > 1 {
		out.State = operation.Unknown
	}
	return out
}

// stateOf is what a failure says of a write's effect. A failure that no
// contract reads leaves it open where the contract declares the tool;
// elsewhere it is the server's refusal.
func (x *exchange) stateOf(failure *record.Record) operation.State {
	switch failure.Outcome {
	case record.Applied:
		return operation.Confirmed
	case record.NotApplied:
		return operation.Refused
	case record.NotKnown, record.Partial:
		return operation.Unknown
	}
	return operation.Refused
}

// delivering notes later whether a result reached its caller. Until it is
// noted, the operation answers no other call; see [Guard.delivery].
func (g *Guard) delivering(store operation.Store, id string) func(operation.Delivery) {
	noted := make(chan struct{})
	g.deliveries.Store(id, noted)
	return func(d operation.Delivery) {
		if d == operation.NotKnown {
			g.deliveries.CompareAndDelete(id, noted)
			close(noted)
			return
		}
		g.running.Go(func() {
			defer close(noted)
			defer g.deliveries.CompareAndDelete(id, noted)
			ctx, cancel := context.WithTimeout(context.Background(), storeTime)
			defer cancel()
			_ = store.Deliver(ctx, id, d) // a delivery that is not noted is not known, and treated so
		})
	}
}

// isDelivering reports whether a result is on its way to its caller.
func (g *Guard) isDelivering(id string) bool {
	_, ok := g.deliveries.Load(id)
	return ok
}

// delivery waits until it is noted whether the result of an operation was
// delivered; false: nobody is delivering it. A caller may ask again before the
// ledger knows that it has its answer.
func (g *Guard) delivery(ctx context.Context, id string) bool {
	noted, ok := g.deliveries.Load(id)
	if !ok {
		return false
	}
	select {
	case <-noted.(chan struct{}):
		return true
	case <-ctx.Done():
		return false
	}
}

// unrecorded is the answer where an outcome could not be recorded: because the
// ledger is not there, or because the claim holds no more.
func (x *exchange) unrecorded(o, now operation.Operation, err error) *Reply {
	if errors.Is(err, operation.ErrFenced) && now.State == operation.Confirmed {
		return x.replay(now, Decision{From: FromTool, Execution: x.used}, "the answer to this call came after its claim had run out")
	}
	r := &record.Record{
		Code: record.OutcomeUnknown, Outcome: record.NotKnown, Operation: x.named(o),
		Message: "The call was sent, but what became of it could not be recorded.",
	}
	if errors.Is(err, operation.ErrFenced) {
		r.Message = "The answer came after the claim on the operation had run out; what became of it is not known."
	}
	x.decide(Decision{From: FromTool, Execution: x.used}.failed(x.fill(r)))
	return &Reply{Own: true, Message: x.failureMessage(r)}
}

// named is the operation as a failure names it.
func (x *exchange) named(o operation.Operation) *record.Operation {
	named := &record.Operation{ID: o.ID}
	if x.guard.offersStatus() {
		named.StatusTool = StatusTool
	}
	if o.State.Open() {
		named.PollAfterMS = new(int64(pollMS))
	}
	return named
}

// kept is the answer of the ledger to a call that may not execute.
func (x *exchange) kept(v operation.Verdict) *Reply {
	o := v.Operation
	x.about = o
	if v.Kind == operation.Replay {
		return x.replay(o, Decision{From: FromLedger}, "nothing was sent")
	}
	r := &record.Record{Operation: x.named(o)}
	switch age := ageOf(x.guard.clock.Now().Sub(o.Created)); v.Kind {
	case operation.Held:
		r.Code, r.Outcome, r.WaitKind, r.RetryAfterMS = record.InProgress, record.NotKnown, record.InFlight, new(int64(pollMS))
		r.Message = fmt.Sprintf("Operation %s, which %s, was sent %s ago and is in flight; nothing was sent again.%s", o.ID, x.likeness(o), age, x.whatNext(o))
	case operation.Doubtful:
		r.Code, r.Outcome = record.OutcomeUnknown, record.NotKnown
		r.Message = fmt.Sprintf("Whether operation %s, which %s and was sent %s ago, took effect is not known; nothing was sent again.%s", o.ID, x.likeness(o), age, x.whatNext(o))
	case operation.Reused:
		r.Code, r.Outcome = record.KeyReused, record.NotApplied
		r.Message = fmt.Sprintf("Operation %s, sent %s ago, has the same %s and other arguments; nothing was sent.", o.ID, age, x.shared(o))
	}
	x.owe(o)
	return x.answer(x.fill(r), FromLedger)
}

// likeness says how an operation is like the call.
func (x *exchange) likeness(o operation.Operation) string {
	if o.Fingerprint == x.call.digest.String() {
		return "does the same"
	}
	return "has the same " + x.shared(o)
}

// whatNext says how to find out what became of an operation.
func (x *exchange) whatNext(o operation.Operation) string {
	if !x.guard.offersStatus() {
		return ""
	}
	return fmt.Sprintf(" Ask %s for %s.", StatusTool, o.ID)
}

// owedKey is a call on one connection.
type owedKey struct {
	connection string
	call       callKey
}

// owe notes that the caller did not learn how an operation ended that does the
// same as its call. When it asks again it is answered with that, even if
// somebody else had the answer meanwhile.
func (x *exchange) owe(o operation.Operation) {
	if !o.State.Open() || o.Fingerprint != x.call.digest.String() {
		return
	}
	p := x.principal
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owed == nil || len(p.owed) >= maxRefusals {
		p.owed = map[owedKey]string{}
	}
	p.owed[x.owedKey()] = o.ID
}

func (x *exchange) owedKey() owedKey { return owedKey{x.caller.Connection, x.key()} }

// owed is the confirmed operation that the call is owed the answer of.
func (x *exchange) owed(ctx context.Context) (operation.Operation, bool) {
	p := x.principal
	p.mu.Lock()
	id, ok := p.owed[x.owedKey()]
	p.mu.Unlock()
	if !ok {
		return operation.Operation{}, false
	}
	o, err := x.guard.options.Store.Get(ctx, id)
	return o, err == nil && o.State == operation.Confirmed
}

// paid notes that the caller learns how the operation ended.
func (x *exchange) paid() {
	x.principal.mu.Lock()
	defer x.principal.mu.Unlock()
	delete(x.principal.owed, x.owedKey())
}

// shared is what two calls have in common that have one key or intent.
func (x *exchange) shared(o operation.Operation) string {
	if o.CallerKey != "" && o.CallerKey == x.call.key {
		return x.plan.key.Argument
	}
	return strings.Join(x.plan.identity, ", ")
}

// replay answers with the recorded result of an operation, marked, and says
// what became of the call itself.
func (x *exchange) replay(o operation.Operation, d Decision, itself string) *Reply {
	d.Operation, d.State, d.Replayed = o.ID, o.State, true
	x.decide(d)
	x.paid()
	reply := &Reply{Own: true, Message: x.replayed(o, itself)}
	reply.delivered = x.guard.delivering(x.guard.options.Store, o.ID)
	return reply
}

func (x *exchange) replayed(o operation.Operation, itself string) []byte {
	sentence := fmt.Sprintf("This is the recorded answer of operation %s, given %s ago; %s.", o.ID, ageOf(x.guard.clock.Now().Sub(o.Settled)), itself)
	switch {
	case o.By == operation.ByOperator:
		sentence = fmt.Sprintf("A person settled operation %s %s ago: it took effect; %s.", o.ID, ageOf(x.guard.clock.Now().Sub(o.Settled)), itself)
	case o.By == operation.ByStatus:
		sentence = fmt.Sprintf("Operation %s took effect, as its status tool said %s ago in this answer; %s.", o.ID, ageOf(x.guard.clock.Now().Sub(o.Settled)), itself)
	case o.Delivery == operation.NotKnown:
		sentence += " Whether it had reached you is not known."
	}
	mark := record.Object{}
	mark.Add("operation", record.AppendString(nil, o.ID))
	mark.Add("age_ms", strconv.AppendInt(nil, max(0, x.guard.clock.Now().Sub(o.Settled).Milliseconds()), 10))
	mark.Add("delivery", record.AppendString(nil, deliveryWord(o.Delivery)))
	if result, err := addText(o.Result, sentence); err == nil && len(o.Result) > 0 {
		if result, err = addMeta(result, "remit/replayed", mark.JSON()); err == nil {
			return response(x.call.message.ID, "result", result)
		}
	}
	meta := record.Object{}
	meta.Add("remit/replayed", mark.JSON())
	return x.result([]string{sentence + " No answer of the server is kept."}, nil, false, meta)
}

func deliveryWord(d operation.Delivery) string {
	if d == operation.NotKnown {
		return "unknown"
	}
	return string(d)
}

// holding is an operation of the shadow ledger, of a call that is only
// observed; nil where the call would not have been sent.
type holding struct {
	x         *exchange
	store     operation.Store
	operation operation.Operation
}

// shadowed claims in the shadow ledger, and says what a guard that acts would
// have answered.
func (x *exchange) shadowed() (*holding, From, record.Code) {
	claim, err := x.claim()
	if err != nil {
		return nil, FromTool, ""
	}
	store := x.guard.shadowStore()
	v, err := store.Claim(context.Background(), claim)
	switch {
	case err != nil:
		return nil, FromTool, ""
	case v.Executes():
		return &holding{x, store, v.Operation}, FromTool, ""
	case v.Kind == operation.Replay && x.guard.isDelivering(v.Operation.ID):
		return nil, FromTool, "" // its answer is on its way; nobody waits for that here
	}
	codes := map[operation.Kind]record.Code{
		operation.Held: record.InProgress, operation.Doubtful: record.OutcomeUnknown, operation.Reused: record.KeyReused, operation.Replay: record.OK,
	}
	return nil, FromLedger, codes[v.Kind]
}

// settle ends what was claimed. It returns what notes whether the answer was
// delivered; nil where there is nothing to note.
func (h *holding) settle(failure *record.Record, r reading) func(operation.Delivery) {
	if h == nil {
		return nil
	}
	settled, err := h.store.Settle(context.Background(), h.operation.ID, h.operation.Fence, h.x.outcome(h.operation, r, failure))
	if err != nil || settled.State != operation.Confirmed {
		return nil
	}
	return h.x.guard.delivering(h.store, h.operation.ID)
}

// lose ends what was claimed by a caller that went away.
func (h *holding) lose() {
	if h == nil {
		return
	}
	_, _ = h.store.Settle(context.Background(), h.operation.ID, h.operation.Fence, // a lease that has run out says the same
		operation.Outcome{State: operation.Unknown, Code: string(record.OutcomeUnknown), By: operation.ByAnswer})
}

// shadowStore is the ledger of what is only observed. It begins anew before it
// grows without bound.
func (g *Guard) shadowStore() operation.Store {
	g.shadowMu.Lock()
	defer g.shadowMu.Unlock()
	if g.shadows%maxShadow == 0 {
		g.shadow = operation.NewMemory(g.clock.Now)
	}
	g.shadows++
	return g.shadow
}

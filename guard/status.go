package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/operation"
	"remit.example/record"
)

// statusSchema is that of the tool that asks for operations.
var statusSchema = &listed{name: StatusTool, schema: memberOf(jsontext.Value(statusDefinition), "inputSchema")}

// status answers from the ledger what became of an operation. Where that is
// not known, it first asks the tool that the contract names.
func (x *exchange) status(ctx context.Context) *Reply {
	x.plan = &plan{effect: record.Read, isDeclared: true}
	if fields := statusSchema.refused(x.call.arguments, ""); len(fields) > 0 {
		return x.answer(x.fill(invalid(fields)), FromValidation)
	}
	id := textOf(x.call.argument("id"))
	o, err := x.guard.options.Store.Get(ctx, id)
	switch {
	case errors.Is(err, operation.ErrNotFound), err == nil && !x.owns(o):
		return x.answer(x.fill(&record.Record{
			Code: record.InvalidArgument, Field: "id",
			Fields:  []record.Field{{Pointer: "/id", Reason: "not_found", Accepted: "the id of an operation of yours"}},
			Message: "There is no such operation of yours; valid: the id that a failure names under recovery.operation.",
		}), FromLedger)
	case err != nil:
		return x.answer(x.fill(&record.Record{
			Code: record.TempUnavailable, WaitKind: record.Outage, RetryAfterMS: new(int64(defaultWaitMS)),
			Message: "The ledger of operations is not available.",
		}), FromLedger)
	}
	if o.State == operation.Unknown {
		o = x.asked(ctx, o)
	}
	d := Decision{From: FromLedger, Operation: o.ID, State: o.State}
	x.decide(d)
	reply := &Reply{Own: true, Message: x.statusMessage(o)}
	if o.State == operation.Confirmed && o.Result != nil {
		reply.delivered = x.guard.delivering(x.guard.options.Store, o.ID)
	}
	return reply
}

// owns reports whether an operation is the caller's.
func (x *exchange) owns(o operation.Operation) bool {
	tenant := ""
	if c := x.guard.options.Contract; c != nil {
		tenant = c.Tenant
	}
	return o.Tenant == tenant && o.Principal == x.caller.Principal && o.Upstream == x.guard.options.Upstream
}

// asked is the operation after the contract's status tool was asked for it.
// Where that settles nothing, it is as it was.
func (x *exchange) asked(ctx context.Context, o operation.Operation) operation.Operation {
	p := x.guard.planFor(o.Tool, hints{})
	if p.status == nil || len(o.Arguments) == 0 {
		return o
	}
	m, err := ParseMessage(x.statusRequest(p, o))
	if err != nil { // statusRequest has written it
		panic(err)
	}
	c, err := readCall(m)
	if err != nil {
		panic(err)
	}
	asking := &exchange{
		guard: x.guard, caller: x.caller, call: c, plan: x.guard.planFor(c.tool, hints{}), exec: x.exec,
		principal: x.principal, began: x.guard.clock.Now(),
	}
	if refusal, _ := asking.refusal(); refusal != nil {
		return o // it would be answered from memory, and that says nothing new
	}
	_, r := asking.execute(ctx, m.Raw)
	if ctx.Err() != nil || r.elsewhere != nil {
		asking.abandoned(r)
		return o
	}
	failure := asking.settle(r)
	d := asking.executed(r)
	if failure != nil {
		d = d.failed(failure)
	}
	asking.decide(d)
	if failure != nil || r.asks {
		return o
	}
	outcome := operation.Outcome{By: operation.ByStatus, Reason: fmt.Sprintf("%s said so.", p.status.Tool)}
	switch body := r.answer.body(); {
	case holds(p.status.Applied, body):
		outcome.State, outcome.Code, outcome.Result = operation.Confirmed, string(record.OK), r.result
	case holds(p.status.NotApplied, body):
		outcome.State, outcome.Code = operation.Refused, "NOT_APPLIED"
	default:
		return o
	}
	settled, err := x.guard.options.Store.Settle(ctx, o.ID, o.Fence, outcome)
	if err != nil {
		return o
	}
	return settled
}

// statusRequest is the call of an operation's status tool, under an id of the
// guard's own. It carries what the caller's call says of the protocol.
func (x *exchange) statusRequest(p *plan, o operation.Operation) []byte {
	write := call{arguments: o.Arguments}
	arguments := record.Object{}
	for _, name := range slices.Sorted(maps.Keys(p.status.With)) {
		given := p.status.With[name]
		value := write.argument(given)
		if p.key != nil && given == p.key.Argument && o.Key != "" {
			value = record.AppendString(nil, o.Key) // which the guard may have made
		}
		if value != nil {
			arguments.Add(name, value)
		}
	}
	params := record.Object{}
	params.Add("name", record.AppendString(nil, p.status.Tool))
	params.Add("arguments", arguments.JSON())
	if meta := memberOf(x.call.message.Params, "_meta"); meta != nil {
		params.Add("_meta", meta)
	}
	message := record.Object{}
	message.Add("jsonrpc", []byte(`"2.0"`))
	message.Add("id", record.AppendString(nil, newID("remit-", x.guard.clock.Now())))
	message.Add("method", []byte(`"tools/call"`))
	message.Add("params", params.JSON())
	return message.JSON()
}

// statusMessage says what is known of an operation, with the answer of one
// that is confirmed.
func (x *exchange) statusMessage(o operation.Operation) []byte {
	body := record.Object{}
	text := func(name, value string) { body.Add(name, record.AppendString(nil, value)) }
	text("id", o.ID)
	text("tool", o.Tool)
	text("state", string(o.State))
	text("message", statusSentences[o.State]+" Nothing was sent again.")
	text("created", o.Created.UTC().Format(time.RFC3339Nano))
	if !o.Settled.IsZero() {
		text("settled", o.Settled.UTC().Format(time.RFC3339Nano))
		text("code", o.Code)
		text("by", string(o.By))
	}
	if o.Reason != "" {
		text("reason", o.Reason)
	}
	if o.State == operation.Sent {
		body.Add("poll_after_ms", strconv.AppendInt(nil, pollMS, 10))
	}
	if o.State == operation.Confirmed && len(o.Result) > 0 {
		body.Add("answer", o.Result)
	}
	return x.result([]string{string(body.JSON())}, body.JSON(), false, record.Object{})
}

var statusSentences = map[operation.State]string{
	operation.Sent:      "The operation is in flight.",
	operation.Confirmed: "The operation took effect.",
	operation.Refused:   "The operation did not take effect.",
	operation.Unknown:   "Whether the operation took effect is not known; a person has to find out.",
}

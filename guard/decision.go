package guard

import (
	"time"

	"remit.example/operation"
	"remit.example/record"
)

// From says who answered a call.
type From string

// Who may answer.
const (
	FromTool       From = "tool"       // the upstream was asked
	FromMemory     From = "memory"     // a refusal that still holds, or a budget that is used up
	FromLedger     From = "ledger"     // the record of a write
	FromValidation From = "validation" // the schema that the server listed
)

// Decision is one call and what became of it. It has none of the call's
// arguments and no result.
type Decision struct {
	At        time.Time
	Task      string
	Caller    string // the principal
	Upstream  string
	Tool      string
	Effect    record.Effect
	Arguments Digest
	// Execution counts the executions of the task; 0: nothing was executed.
	Execution int
	From      From
	Code      record.Code // OK of a success
	Next      record.Next // "" of a success
	Stop      record.Disposition
	Message   string // the failure's sentence; may hold what the upstream said
	Operation string // id; "" where there is none
	State     operation.State
	Replayed  bool
	Asks      bool // the upstream asked something back: the call goes on
	Observed  bool // the guard did not act
	Would     From // Observed: who would have answered; FromTool: nobody else
	WouldCode record.Code
	Took      time.Duration // from the call to its answer
}

// decide tells of a decision.
func (x *exchange) decide(d Decision) {
	if x.guard.options.Observed == nil {
		return
	}
	now := x.guard.clock.Now()
	d.At, d.Task, d.Caller, d.Upstream = now, x.taskID(), x.caller.Principal, x.guard.options.Upstream
	d.Tool, d.Effect, d.Arguments, d.Observed = x.call.tool, x.plan.effect, x.call.digest, x.plan.observe
	d.Took = now.Sub(x.began)
	if d.Code == "" {
		d.Code = record.OK
		d.Stop = record.Success
	}
	x.guard.options.Observed(d)
}

// failed fills in what a failure says.
func (d Decision) failed(r *record.Record) Decision {
	d.Code, d.Next, d.Stop, d.Message, d.Replayed = r.Code, r.Next, r.Stop, r.Message, r.Replayed
	if r.Next != record.Stop {
		d.Stop = ""
	}
	if r.Operation != nil {
		d.Operation = r.Operation.ID
	}
	return d
}

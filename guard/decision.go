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

// Why says more than a code why the memory answered.
type Why string

// The reasons besides the same call's refusal.
const (
	Budget Why = "budget" // the task has used its executions
	Rate   Why = "rate"   // the tenant has used the rate of the tool
)

// Cancelled is the code of a call whose caller gave it up.
const Cancelled record.Code = "CANCELLED"

// Decision is one call and what became of it. It has none of the call's
// arguments and no result.
type Decision struct {
	At        time.Time
	Task      string // of this guard; with the name that the caller gave it
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
	Asks      bool // the upstream asked something back: the task goes on
	Again     bool // the guard itself repeats it: the call is not answered yet
	Why       Why  // of an answer from memory; Observed: of what it would have been
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
	d.Took, d.Why = now.Sub(x.began), x.why
	if d.Operation == "" {
		d.Operation = x.about.ID
	}
	if d.Operation == x.about.ID && d.State == "" {
		d.State = x.about.State
	}
	if d.Code == "" {
		d.Code = record.OK
		if !d.Asks {
			d.Stop = record.Success
		}
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

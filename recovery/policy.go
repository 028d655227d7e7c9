package recovery

import (
	"slices"

	"remit.example/record"
)

// maxRefused is how many refused inputs a history remembers. A task that
// would need more takes no further correction.
const maxRefused = 8

// Digest identifies an input's arguments; 0 identifies none. See [DigestJSON].
type Digest uint64

// History is all that the policy remembers of a task. Its zero value is a
// task that has not begun.
type History struct {
	Executions int   `json:"executions"` // started so far
	Renewals   int   `json:"renewals"`   // authentications confirmed as renewed
	Checks     int   `json:"checks"`     // status checks asked for; no executions
	FirstMS    int64 `json:"first_ms"`   // when the first execution started
	LastMS     int64 `json:"last_ms"`    // when the last event happened; never decreases
	// Refused holds the digests of the inputs that were refused, oldest
	// first, then zeros. It stays empty until INVALID_ARGUMENT.
	Refused [maxRefused]Digest `json:"refused,omitzero"`
}

// Limits bound a task. Times are milliseconds on the clock of now_ms.
type Limits struct {
	Executions int   `json:"executions"`   // executions in all, at least 1
	MinDelayMS int64 `json:"min_delay_ms"` // the shortest wait before an unchanged repetition, at least 0
	CapMS      int64 `json:"cap_ms"`       // the longest wait; 0 = none
	DeadlineMS int64 `json:"deadline_ms"`  // when the task must be over; 0 = none
}

// Kind says what happened.
type Kind string

// The kinds of event.
const (
	Started   Kind = "started"   // an execution started
	Failed    Kind = "failed"    // it ended with Code; OK is a success
	Corrected Kind = "corrected" // Replacement is offered for the input Input
	Renewed   Kind = "renewed"   // authentication is confirmed as re-established
	Refreshed Kind = "refreshed" // the state was read again, a new input is ready
	Checked   Kind = "checked"   // the status of the operation that failed with Of could not be settled: Code
	Declined  Kind = "declined"  // what Code permits was not, or could not be, done
)

// Event is what happened last, as typed members alone: no message is read.
type Event struct {
	Kind        Kind        `json:"kind"`
	Code        record.Code `json:"code,omitempty"`        // of the failure, or of the status check's failure
	Of          record.Code `json:"of,omitempty"`          // Checked: the code that led to the check
	WaitMS      int64       `json:"wait_ms,omitempty"`     // the server's wait, at least 0; 0 where none is stated
	JitterMS    int64       `json:"jitter_ms,omitempty"`   // is added to a wait; a negative one counts as 0
	Forbidden   bool        `json:"forbidden,omitempty"`   // the record forbids any retry
	NotApplied  bool        `json:"not_applied,omitempty"` // the record says that the write had no effect
	Input       Digest      `json:"input,omitempty"`       // Corrected: the refused input
	Replacement Digest      `json:"replacement,omitempty"` // Corrected: the input offered in its place
}

// Failure is the Failed event of a record.
func Failure(r *record.Record) Event {
	event := Event{
		Kind:       Failed,
		Code:       r.Code,
		Forbidden:  r.Retry == record.Forbidden || r.Next == record.Stop,
		NotApplied: r.Outcome == record.NotApplied,
	}
	if r.Operation != nil && r.Operation.PollAfterMS != nil {
		event.WaitMS = max(0, *r.Operation.PollAfterMS)
	}
	if r.RetryAfterMS != nil {
		event.WaitMS = max(0, *r.RetryAfterMS)
	}
	return event
}

// Decision is what the policy permits.
type Decision struct {
	Action record.Next `json:"action"`  // "" = complete
	WaitMS int64       `json:"wait_ms"` // before the action, milliseconds
	// OnStatus: what follows the wait is a status check, not an execution.
	OnStatus bool `json:"on_status"`
	// Disposition is how the task ended; "" while it goes on.
	Disposition record.Disposition `json:"disposition"`
}

// Decide is the policy. It is pure: the same arguments give the same history
// and decision, and nothing else is read. A decision without a disposition
// permits its action: after correct_input, authenticate, refresh_state and
// anything OnStatus the caller reports what came of it as the next event, and
// a decision on that event without a disposition permits the next execution
// (or, OnStatus, the next check). A clock that goes backwards stands still.
func Decide(t *Table, effect record.Effect, limit Limits, h History, nowMS int64, event Event) (History, Decision) {
	nowMS = max(nowMS, h.LastMS)
	h.LastMS = nowMS
	rule := t.Rule(event.Code, effect)
	switch event.Kind {
	case Started:
		if h.Executions == 0 {
			h.FirstMS = nowMS
		}
		h.Executions++
		return h, Decision{}
	case Failed:
		return fail(t, rule, limit, h, event)
	case Corrected:
		return correct(rule, h, event)
	case Renewed:
		h.Renewals++
		return h, Decision{Action: rule.Next}
	case Refreshed:
		return h, Decision{Action: rule.Next}
	case Checked:
		return check(t, effect, limit, h, event)
	}
	return h, Decision{Action: rule.Next, Disposition: rule.Stop}
}

// fail decides on an execution's end.
func fail(t *Table, rule Rule, limit Limits, h History, event Event) (History, Decision) {
	switch {
	case event.Code == record.OK:
		return h, Decision{Disposition: rule.Stop}
	case event.Forbidden, rule.Next == record.Stop,
		executes(event.Code, rule.Next) && h.Executions >= limit.Executions,
		rule.Next == record.Authenticate && h.Renewals > 0:
		return h, stop(rule)
	case rule.Next == record.CheckStatus, event.Code == record.InProgress:
		return poll(t, rule, limit, h, event)
	case rule.Next == record.WaitAndRetry:
		return h, wait(t, rule, limit, h, event)
	}
	return h, Decision{Action: rule.Next}
}

// stop ends a task as the code's own disposition says.
func stop(rule Rule) Decision { return Decision{Action: record.Stop, Disposition: rule.Stop} }

// correct accepts an input that was never refused in this task.
func correct(rule Rule, h History, event Event) (History, Decision) {
	free := slices.Index(h.Refused[:], 0)
	if free < 0 {
		return h, Decision{Action: rule.Next, Disposition: rule.Stop}
	}
	h.Refused[free] = event.Input
	if slices.Contains(h.Refused[:free+1], event.Replacement) {
		return h, Decision{Action: rule.Next, Disposition: rule.Stop}
	}
	return h, Decision{Action: rule.Next}
}

// check decides on a status that is not settled yet. The check itself is a
// read; a check that fails otherwise leaves a write as unknown as it was.
func check(t *Table, effect record.Effect, limit Limits, h History, event Event) (History, Decision) {
	origin := t.Rule(event.Of, effect)
	again := t.Rule(event.Code, record.Read).Next == record.WaitAndRetry && event.Code != record.OutcomeUnknown
	if again && !event.Forbidden && h.Checks < limit.Executions {
		return poll(t, origin, limit, h, event)
	}
	ended := origin.Stop
	if !again && (effect == record.Read || event.NotApplied) {
		ended = t.Rule(event.Code, effect).Stop
	}
	return h, Decision{Action: origin.Next, Disposition: ended}
}

// poll permits one more status check after the operation's wait.
func poll(t *Table, rule Rule, limit Limits, h History, event Event) (History, Decision) {
	d := wait(t, rule, limit, h, event)
	if d.Disposition == "" {
		h.Checks++
		d.Action, d.OnStatus = rule.Next, true
	}
	return h, d
}

// wait permits the rule's action after the server's wait, or ends the task
// now if the wait exceeds the cap or reaches the deadline.
func wait(t *Table, rule Rule, limit Limits, h History, event Event) Decision {
	waitMS := max(event.WaitMS, limit.MinDelayMS, 0)
	roomMS := remaining(limit, h.LastMS)
	if t.capped && limit.CapMS > 0 && waitMS > limit.CapMS || waitMS > roomMS {
		return late(t, rule)
	}
	waitMS += min(max(0, event.JitterMS), roomMS-waitMS)
	return Decision{Action: rule.Next, WaitMS: waitMS}
}

// late ends a task that would have to wait too long. A write whose effect is
// not known stays that, whenever one may ask again.
func late(t *Table, rule Rule) Decision {
	if !t.capped || rule.Stop == record.UnknownOutcome {
		return stop(rule)
	}
	return Decision{Action: record.Stop, Disposition: record.RetryLater}
}

// remaining is the longest wait that ends before the deadline; negative where
// there is none.
func remaining(limit Limits, nowMS int64) int64 {
	const none = 1<<63 - 1
	if limit.DeadlineMS == 0 {
		return none
	}
	return limit.DeadlineMS - nowMS - 1
}

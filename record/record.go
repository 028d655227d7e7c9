// Package record defines the typed failure that every tool of a contract
// answers with: its codes, the effects that a tool may have, the next action
// that a failure permits, the dispositions in which a task ends, and the
// record's form on each wire.
//
// A record states which condition must change before the next execution can
// plausibly end differently: wait, change the input, restore access, or end.
// A policy decides on the typed members alone and never on the message.
//
// Two forms exist. recovery-v1 has exactly four members, always present:
//
//	{"code":"INVALID_ARGUMENT","message":"…","field":"shipment_ref","retry_after_ms":null}
//
// recovery-v2 keeps these four with the same meaning and adds contract,
// domain, next, stop and budget, and, where they apply, fields, wait_kind,
// outcome, operation, key, retry and replayed. A v1 reader meets a v2 code as
// an unknown one and stops.
//
// The failure answer that every consumer understands is the record under
// "recovery" beside a sentence, the code and whether an unchanged repetition
// is permitted:
//
//	{"error":"…","code":"…","retryable":false,"recovery":{…}}
//
// The package uses the standard library only.
package record

import (
	"fmt"
	"slices"
)

// Code names the condition that made an execution fail. A code is unique
// within its domain; one that this package does not define stops the task.
type Code string

// The codes of recovery-v1.
const (
	// OK is the code of an execution without a failure.
	OK Code = "OK"
	// InvalidArgument asks for a corrected value of the record's field.
	InvalidArgument Code = "INVALID_ARGUMENT"
	// AuthRequired asks for authentication through the application's approved flow.
	AuthRequired Code = "AUTH_REQUIRED"
	// AccessDenied ends the task: the principal may not do this, and no
	// renewed authentication changes that.
	AccessDenied Code = "ACCESS_DENIED"
	// TempUnavailable says that the work was definitely not executed and may
	// be repeated, unchanged, after the record's wait.
	TempUnavailable Code = "TEMP_UNAVAILABLE"
)

// The codes that recovery-v2 adds.
const (
	// QuotaExhausted ends the task; the record's wait tells when the quota resets.
	QuotaExhausted Code = "QUOTA_EXHAUSTED"
	// PreconditionFailed asks to read the state again before anything else.
	PreconditionFailed Code = "PRECONDITION_FAILED"
	// OutcomeUnknown says that the work may have taken effect.
	OutcomeUnknown Code = "OUTCOME_UNKNOWN"
	// InProgress says that the same operation is being executed.
	InProgress Code = "IN_PROGRESS"
	// KeyReused says that the operation key was used with other arguments.
	KeyReused Code = "KEY_REUSED"
)

// Codes lists every code that this package defines, OK first.
func Codes() []Code {
	return []Code{
		OK, InvalidArgument, AuthRequired, AccessDenied, TempUnavailable,
		QuotaExhausted, PreconditionFailed, OutcomeUnknown, InProgress, KeyReused,
	}
}

// Known reports whether the package defines c. Comparison is exact: a code
// that only looks familiar, such as "temp_unavailable", is unknown.
func (c Code) Known() bool { return slices.Contains(Codes(), c) }

// V1 reports whether c is one of the five codes of recovery-v1.
func (c Code) V1() bool {
	switch c {
	case OK, InvalidArgument, AuthRequired, AccessDenied, TempUnavailable:
		return true
	}
	return false
}

// Effect says whether repeating a tool's work is safe.
type Effect string

// The effects, from the safest to the default.
const (
	// Read has no effect.
	Read Effect = "read"
	// Idempotent has one effect however often the same arguments are sent.
	Idempotent Effect = "idempotent"
	// Keyed has one effect per operation key, which the upstream honours.
	Keyed Effect = "keyed"
	// Unsafe is anything else.
	Unsafe Effect = "unsafe"
)

// Effects lists the effects in the order above.
func Effects() []Effect { return []Effect{Read, Idempotent, Keyed, Unsafe} }

// ParseEffect reads an effect by its exact name. The error lists the names.
func ParseEffect(name string) (Effect, error) {
	if effect := Effect(name); slices.Contains(Effects(), effect) {
		return effect, nil
	}
	return "", fmt.Errorf("record: %q is no effect; the effects are read, idempotent, keyed and unsafe", name)
}

// Next is the one action that a failure permits.
type Next string

// The permitted next actions.
const (
	CorrectInput Next = "correct_input"
	Authenticate Next = "authenticate"
	WaitAndRetry Next = "wait_and_retry"
	CheckStatus  Next = "check_status"
	RefreshState Next = "refresh_state"
	Stop         Next = "stop"
)

// V1 is the action's name in recovery-v1; the empty action is "complete".
func (n Next) V1() string {
	switch n {
	case "":
		return "complete"
	case CorrectInput:
		return "request_correction"
	case Authenticate:
		return "request_authentication"
	}
	return string(n)
}

// Disposition is how a task ended.
type Disposition string

// The dispositions; the list is closed.
const (
	Success        Disposition = "success"
	NeedsInput     Disposition = "needs_input"
	NeedsAuth      Disposition = "needs_auth"
	RetryExhausted Disposition = "retry_exhausted"
	// RetryLater ends a task whose next wait exceeds the cap or the deadline.
	RetryLater Disposition = "retry_later"
	// QuotaSpent ends a task whose quota is exhausted.
	QuotaSpent Disposition = "quota_exhausted"
	Refused    Disposition = "refused"
	// Unknown ends a task that met an unknown code.
	Unknown Disposition = "unknown"
	// UnknownOutcome ends a write whose effect is not known.
	UnknownOutcome Disposition = "outcome_unknown"
	Cancelled      Disposition = "cancelled"
)

// WaitKind says what a wait is for.
type WaitKind string

// The kinds of wait.
const (
	Throttle WaitKind = "throttle"
	Outage   WaitKind = "outage"
	InFlight WaitKind = "in_flight"
	Quota    WaitKind = "quota"
)

// Outcome says what is known of a write's effect.
type Outcome string

// The outcomes of a write.
const (
	NotApplied Outcome = "not_applied"
	Applied    Outcome = "applied"
	NotKnown   Outcome = "unknown"
	Partial    Outcome = "partial"
)

// Key says what a caller does with its operation key.
type Key string

// What to do with an operation key.
const (
	MustReuse  Key = "must_reuse"
	MustRotate Key = "must_rotate"
)

// Forbidden is the value of Record.Retry that beats every permission.
const Forbidden = "forbidden"

// V2 is the value of Record.Contract in the second form; "" selects the first.
const V2 = "recovery-v2"

// Budget counts a task's executions.
type Budget struct {
	Limit int `json:"limit"` // executions permitted in all, at least 1
	Used  int `json:"used"`  // executions started so far
	Left  int `json:"left"`  // Limit - Used, never below 0
}

// NewBudget is the budget of a task that has used some of limit.
func NewBudget(limit, used int) Budget {
	return Budget{Limit: limit, Used: used, Left: max(0, limit-used)}
}

// Field says what is wrong with one argument.
type Field struct {
	Pointer  string `json:"pointer"`           // RFC 6901 pointer into the input
	Reason   string `json:"reason"`            // a stable word, such as wrong_type
	Accepted string `json:"accepted"`          // what would be valid
	In       string `json:"in,omitempty"`      // where, if not in the input: header, query
	Message  string `json:"message,omitempty"` // a sentence about this field
}

// Operation identifies one write whose outcome can be asked for.
type Operation struct {
	ID          string `json:"id"`
	StatusTool  string `json:"status_tool,omitempty"`
	PollAfterMS *int64 `json:"poll_after_ms,omitempty"` // milliseconds, at least 0
	ExpiresAt   string `json:"expires_at,omitempty"`    // RFC 3339
}

// Record is one typed failure, or, with the code OK, the absence of one.
type Record struct {
	Contract string // V2, or "" for recovery-v1
	Domain   string // the service; v2 only
	Code     Code
	Message  string // one sentence for people; never decided on
	Field    string // the first argument at fault as a dotted path; "" where none is
	// RetryAfterMS is the wait in milliseconds, at least 0; nil where none is stated.
	RetryAfterMS *int64

	// The members of recovery-v2.
	Next      Next        // "" in an OK record
	Stop      Disposition // how the task ends if nothing changes
	Budget    *Budget
	Fields    []Field
	WaitKind  WaitKind
	Outcome   Outcome
	Operation *Operation
	Key       Key
	Retry     string // Forbidden, or ""
	Replayed  bool
}

// Error is the record's message, or its code where it has none, so that a
// record travels as an error. A nil record is the error "no record".
func (r *Record) Error() string {
	switch {
	case r == nil:
		return "no record"
	case r.Message == "":
		return string(r.Code)
	}
	return r.Message
}

// Retryable reports whether an unchanged repetition is permitted, after the
// record's wait: the convention of Google's WebMCP guidance.
func (r *Record) Retryable() bool {
	return r.Next == WaitAndRetry && r.Retry != Forbidden
}

// Package operation is the life of one write: who may begin it, what became of
// it, and what a repetition of it is answered with. The decisions are pure
// functions of values; a [Store] makes them durable.
//
// # States
//
//	sent       claimed by one executor, which may have sent the request
//	confirmed  the effect is there
//	refused    the effect is certainly not there
//	unknown    the effect may be there
//
// These moves exist, and no others:
//
//	claim     nothing    → sent        durable before the first byte leaves
//	claim     unknown    → sent        of a repeatable operation alone, with the same key
//	answer    sent       → confirmed | refused | unknown
//	expiry    sent       → unknown     when the lease has run out
//	status    unknown    → confirmed | refused
//	operator  unknown    → confirmed | refused, with a reason that is kept
//
// # Lines
//
// Operations of one scope that are about the same thing form a line: those
// with one intent, where the contract declares which arguments make it, else
// those with one fingerprint. While an operation of a line is sent or unknown,
// no other one of the line begins, whatever key, amount or id a call brings.
//
// # Fences
//
// Each claim of an operation gets the next fence, and an answer counts only
// under the fence that it was claimed with. A fence does not stop a request
// that a paused executor sends late, unless the upstream checks it; it keeps
// the late answer from changing what is recorded.
package operation

import (
	"context"
	"errors"
	"time"
)

// State is what is known of an operation's effect.
type State string

// The states.
const (
	Sent      State = "sent"
	Confirmed State = "confirmed"
	Refused   State = "refused"
	Unknown   State = "unknown"
)

// Open reports whether the operation keeps others of its line from beginning.
func (s State) Open() bool { return s == Sent || s == Unknown }

// Delivery says whether the result of a confirmed operation reached the caller.
type Delivery string

// What is known of a delivery.
const (
	NotKnown    Delivery = "" // the executor ended in between
	Delivered   Delivery = "delivered"
	Undelivered Delivery = "undelivered"
)

// By says what settled an operation.
type By string

// What may settle an operation.
const (
	ByAnswer   By = "answer"   // the upstream's answer, or its loss
	ByExpiry   By = "expiry"   // the lease ran out
	ByStatus   By = "status"   // the contract's status tool
	ByOperator By = "operator" // a person, with a reason
)

// Scope is where an operation lives: nothing is shared between two scopes.
type Scope struct {
	Tenant    string // "" where the contract names none
	Principal string // whose operation it is
	Upstream  string
	Tool      string
}

// Operation is one write.
type Operation struct {
	ID string
	Scope
	Intent      string // digest of the arguments that make the intent; "" where none are declared
	Fingerprint string // digest of the canonical arguments without the key
	CallerKey   string // the key that the caller gave; "" for none
	Key         string // the key that is sent upstream; "" for none
	Repeatable  bool   // the same request may be sent again: idempotent, or keyed
	Arguments   []byte // as they were given, JSON; nil once forgotten
	State       State
	Fence       int64     // of the last claim, from 1
	Lease       time.Time // until when the executor of that claim holds it
	Code        string    // the code that it settled with, such as OK
	Result      []byte    // the answer of a confirmed operation, JSON; nil once forgotten
	Delivery    Delivery
	Created     time.Time
	Settled     time.Time // zero while it was never settled
	By          By        // "" while it was never settled
	Reason      string    // why, in words
}

// Claim asks whether a call may execute.
type Claim struct {
	Scope
	Intent      string
	Fingerprint string
	CallerKey   string
	Arguments   []byte
	Repeatable  bool
	NewID       string        // of the operation that begins, if one does
	NewKey      string        // the key that it sends upstream; "" for none
	Lease       time.Duration // how long the claim holds without renewal
	Window      time.Duration // how long a result whose delivery is not known is replayed
}

// Kind is the answer to a claim.
type Kind string

// The answers.
const (
	Execute  Kind = "execute"  // a new operation is sent
	Again    Kind = "again"    // the same operation is sent again, with its key
	Replay   Kind = "replay"   // answer with the result of the operation
	Held     Kind = "held"     // it is in flight
	Doubtful Kind = "doubtful" // its outcome is unknown, and it may not be repeated
	Reused   Kind = "reused"   // it is confirmed, or has the caller's key, with other arguments
)

// Verdict is the answer to a claim, with the operation that it is about: the
// one to execute, or the one that stands in the way.
type Verdict struct {
	Kind      Kind
	Operation Operation
}

// Executes reports whether the caller of Claim now has to send the request.
func (v Verdict) Executes() bool { return v.Kind == Execute || v.Kind == Again }

// Outcome settles an operation.
type Outcome struct {
	State  State // Confirmed, Refused or Unknown
	Code   string
	Result []byte
	By     By
	Reason string
}

// Filter selects operations of a list; "" and nil select all.
type Filter struct {
	Tenant, Principal, Upstream, Tool string
	States                            []State
}

// The errors of a store.
var (
	// ErrFenced says that the claim is no longer the operation's last, or that
	// its state permits no such move. Nothing was changed.
	ErrFenced = errors.New("operation: the claim no longer holds the operation")
	// ErrNotFound says that there is no such operation.
	ErrNotFound = errors.New("operation: no such operation")
	// ErrReason says that an operator gave no reason.
	ErrReason = errors.New("operation: settling by hand needs a reason")
)

// Store keeps operations. Every method is atomic, and durable once it returns;
// Deliver alone may be lost in a crash, after which the delivery is not known.
// Concurrent claims, also of several processes, are decided one after another.
type Store interface {
	// Claim decides by [Decide] and writes what it decides.
	Claim(context.Context, Claim) (Verdict, error)
	// Renew holds a claim until lease from now. ErrFenced: it no longer holds.
	Renew(ctx context.Context, id string, fence int64, lease time.Duration) error
	// Settle ends a claim, or, by status and operator, an unknown operation,
	// for which fence is that of the operation as it was read. The same
	// outcome again, under the same fence, is no error. ErrFenced, ErrReason.
	Settle(ctx context.Context, id string, fence int64, outcome Outcome) (Operation, error)
	// Deliver notes whether the result of a confirmed operation reached the caller.
	Deliver(ctx context.Context, id string, delivery Delivery) error
	// Get is one operation; one whose lease has run out is unknown. ErrNotFound.
	Get(ctx context.Context, id string) (Operation, error)
	// List is the newest operations before one, at most limit; before "" begins
	// at the newest.
	List(ctx context.Context, filter Filter, before string, limit int) ([]Operation, error)
	// Purge forgets the arguments and results of operations that were settled
	// before a time; identity and state stay. Open ones are kept whole. It
	// returns how many it forgot.
	Purge(ctx context.Context, before time.Time) (int, error)
	// Forget makes the executors of an upstream forget its refusals of a tool,
	// "" for all tools, up to now.
	Forget(ctx context.Context, upstream, tool string) error
	// Forgotten is the last time up to which refusals of a tool are forgotten;
	// zero: never.
	Forgotten(ctx context.Context, upstream, tool string) (time.Time, error)
	// Close ends the use of the store.
	Close() error
}

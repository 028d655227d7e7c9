package recovery

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"remit.example/record"
)

// lostBackoffMS is the wait after an answer that was lost, milliseconds: the
// execution may still be under way.
const lostBackoffMS = 1000

// Unclassified is the code of an error that says nothing a policy may decide
// on. It is in no table, and so it stops.
const Unclassified record.Code = "UNCLASSIFIED"

// NotSent marks an error that ended an attempt before its request left: the
// work was definitely not executed.
func NotSent(err error) error { return &notSent{err} }

type notSent struct{ err error }

func (n *notSent) Error() string { return n.err.Error() }
func (n *notSent) Unwrap() error { return n.err }

// notAnswered marks an error that ended an attempt whose request may have left.
type notAnswered struct{ err error }

func (n *notAnswered) Error() string { return n.err.Error() }
func (n *notAnswered) Unwrap() error { return n.err }

// Classify turns an error that a caller sees itself into a record:
//
//   - a *[record.Record] in the error's tree is the record;
//   - a name that cannot be resolved, a connection that cannot be made and
//     [NotSent] are TEMP_UNAVAILABLE, for every effect;
//   - a connection that is reset or ends, and an attempt's own timeout, leave
//     the outcome open: TEMP_UNAVAILABLE with a wait of a second where
//     repeating is safe (for keyed: with the same key), else OUTCOME_UNKNOWN;
//   - anything else is [Unclassified].
func Classify(err error, effect record.Effect) *record.Record {
	if failure, ok := errors.AsType[*record.Record](err); ok && failure != nil {
		return failure
	}
	switch {
	case Unsent(err):
		return &record.Record{Code: record.TempUnavailable, Message: err.Error(), WaitKind: record.Outage, Outcome: notApplied(effect)}
	case answerLost(err):
		return lost(effect, err)
	}
	return &record.Record{Code: Unclassified, Message: err.Error(), Outcome: notKnown(effect)}
}

// settled reports whether an error says what became of the execution.
func settled(err error) bool {
	failure, ok := errors.AsType[*record.Record](err)
	return ok && failure != nil || Unsent(err)
}

// Unsent reports whether err says that its request cannot have left, so that
// nothing was executed.
func Unsent(err error) bool {
	if _, ok := errors.AsType[*notSent](err); ok {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && (operation.Op == "dial" || operation.Op == "proxyconnect" || operation.Op == "socks connect") ||
		errors.Is(err, syscall.ECONNREFUSED)
}

// answerLost reports whether err ended an attempt that may have been executed.
func answerLost(err error) bool {
	if _, ok := errors.AsType[*notAnswered](err); ok {
		return true
	}
	for _, sign := range []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		os.ErrDeadlineExceeded, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, sign) {
			return true
		}
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// lost is the failure of an execution whose answer did not arrive.
func lost(effect record.Effect, err error) *record.Record {
	failure := &record.Record{Code: record.OutcomeUnknown, Message: err.Error(), Outcome: notKnown(effect)}
	if repeatable(effect) {
		backoff := int64(lostBackoffMS)
		failure.Code, failure.RetryAfterMS, failure.WaitKind = record.TempUnavailable, &backoff, record.Outage
	}
	return failure
}

// repeatable reports whether the same arguments, with the same key where
// there is one, may be sent twice.
func repeatable(effect record.Effect) bool {
	return effect == record.Read || effect == record.Idempotent || effect == record.Keyed
}

// notKnown and notApplied are outcomes of writes; a read has none.
func notKnown(effect record.Effect) record.Outcome {
	if effect == record.Read {
		return ""
	}
	return record.NotKnown
}

func notApplied(effect record.Effect) record.Outcome {
	if effect == record.Read {
		return ""
	}
	return record.NotApplied
}

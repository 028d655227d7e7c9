package webmcp

import (
	"remit.example/record"
	"remit.example/tool"
	"remit.example/wire"
)

// cancelled is the code of a call that its caller no longer wants and that has
// had no effect. No reader defines it, so it ends the task.
const cancelled record.Code = "CANCELLED"

// notTaken is the code of a request that the server did not take for a call.
const notTaken record.Code = "NOT_A_CALL"

// waitMS is a guess at the time until a server answers again, in milliseconds.
const waitMS = 1000

// failures are the bytes of the failures that the page makes itself, where
// there is no answer: they are the same for all tools of a service that have
// one effect.
type failures struct {
	Lost         string `json:"lost"`
	Unreadable   string `json:"unreadable"`
	Unsent       string `json:"unsent"`
	Cancelled    string `json:"cancelled"`
	Broken       string `json:"broken"`
	Busy         string `json:"busy"`
	Authenticate string `json:"authenticate"`
	Denied       string `json:"denied"`
	Refused      string `json:"refused"`
}

func failuresOf(t *tool.Tool) failures {
	body := func(a tool.Answer) string { return string(a.Body) }
	f := failures{
		Unreadable: body(t.Ended(&record.Record{
			Code: record.InvalidArgument, Message: "The input must be one JSON object; it cannot be written as JSON.",
			Fields: []record.Field{{Reason: "malformed", Accepted: "object"}},
		})),
		Unsent: body(t.Fail(&record.Record{Code: cancelled, Outcome: notApplied(t), Message: "The caller cancelled the call; it was not sent."})),
		Busy: body(t.Ended(&record.Record{
			Code: record.TempUnavailable, RetryAfterMS: new(int64(waitMS)), WaitKind: record.Outage, Outcome: notApplied(t),
			Message: "The server takes no calls now; the same call may be repeated after the stated wait.",
		})),
		Authenticate: body(t.Ended(&record.Record{Code: record.AuthRequired, Message: "The server asks for credentials that the page does not have."})),
		Denied:       body(t.Ended(&record.Record{Code: record.AccessDenied, Message: "The server does not let this page call."})),
		Refused:      body(t.Ended(&record.Record{Code: notTaken, Outcome: notApplied(t), Message: "The server did not take the request for a call; the page may be older than the server."})),
	}
	if t.Effect == record.Read {
		f.Lost = body(t.Ended(&record.Record{
			Code: record.TempUnavailable, RetryAfterMS: new(int64(waitMS)), WaitKind: record.Outage,
			Message: "No answer arrived; the same call may be repeated after the stated wait.",
		}))
		f.Cancelled = body(t.Ended(&record.Record{Code: cancelled, Message: "The caller cancelled the call."}))
		f.Broken = body(t.Ended(&record.Record{Code: wire.Internal, Message: "The page or the server broke while it made the answer."}))
		return f
	}
	f.Lost = body(t.Ended(unknown("No answer arrived; whether the tool took effect is not known.")))
	f.Cancelled = body(t.Ended(unknown("The caller cancelled the call after it was sent; whether the tool took effect is not known.")))
	f.Broken = body(t.Ended(unknown("The page or the server broke; whether the tool took effect is not known.")))
	return f
}

func unknown(message string) *record.Record {
	return &record.Record{Code: record.OutcomeUnknown, Outcome: record.NotKnown, Message: message}
}

// notApplied is the outcome of a call that was not executed: none on a read.
func notApplied(t *tool.Tool) record.Outcome {
	if t.Effect == record.Read {
		return ""
	}
	return record.NotApplied
}

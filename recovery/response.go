package recovery

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"remit.example/record"
)

// statusCodes is what the statuses of RFC 9110, RFC 6585 (428, 429) and
// RFC 8470 (425) mean whatever the effect.
var statusCodes = map[int]record.Code{
	http.StatusBadRequest:           record.InvalidArgument,
	http.StatusUnauthorized:         record.AuthRequired,
	http.StatusForbidden:            record.AccessDenied,
	http.StatusPreconditionFailed:   record.PreconditionFailed,
	http.StatusPreconditionRequired: record.PreconditionFailed,
	http.StatusRequestTimeout:       record.TempUnavailable,
	http.StatusTooEarly:             record.TempUnavailable,
	http.StatusTooManyRequests:      record.TempUnavailable,
	http.StatusServiceUnavailable:   record.TempUnavailable,
}

// keyedStatusCodes is what further statuses mean on a keyed write.
var keyedStatusCodes = map[int]record.Code{
	http.StatusConflict:            record.InProgress,
	http.StatusUnprocessableEntity: record.KeyReused,
}

// ClassifyResponse turns an HTTP response into a record; nil is a success.
//
// A body that carries a Remit record, under "recovery" or as a bare
// recovery-v1 envelope, is that record, whatever the status: an application's
// code is not its transport's. Otherwise a status below 400 is a success, and
// the statuses above are read as [Classify] reads errors: 408, 425, 429 and
// 503 as TEMP_UNAVAILABLE; 502 and 504 as an answer that was lost; 500 as
// unknown on a read and OUTCOME_UNKNOWN on a write; 409 and 422 as
// IN_PROGRESS and KEY_REUSED on a keyed write; 400, 401, 403, 412 and 428 by
// their names; the rest as unknown. A Retry-After that the header states at
// the wall time now is kept where the record states no wait.
func ClassifyResponse(status int, header http.Header, body []byte, effect record.Effect, now time.Time) *record.Record {
	failure := recordIn(body)
	if failure != nil && failure.Code == record.OK && status < http.StatusBadRequest {
		return nil
	}
	if failure == nil || failure.Code == record.OK {
		failure = classifyStatus(status, effect)
	}
	if failure != nil && failure.RetryAfterMS == nil {
		failure.RetryAfterMS = headerWait(header, now)
	}
	if failure != nil && failure.RetryAfterMS == nil && answerless(status) && failure.Code == record.TempUnavailable {
		backoff := int64(lostBackoffMS)
		failure.RetryAfterMS = &backoff
	}
	return failure
}

// answerless reports whether a gateway says that it has no answer.
func answerless(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}

// classifyStatus is the record of a status alone; nil below 400.
func classifyStatus(status int, effect record.Effect) *record.Record {
	if status < http.StatusBadRequest {
		return nil
	}
	failure := &record.Record{Code: statusCode(status, effect), Message: statusText(status)}
	switch {
	case failure.Code == record.TempUnavailable && answerless(status):
		failure.WaitKind, failure.Outcome = record.Outage, notKnown(effect)
	case failure.Code == record.TempUnavailable:
		failure.WaitKind, failure.Outcome = waitKind(status), notApplied(effect)
	case failure.Code == record.OutcomeUnknown, !failure.Code.Known():
		failure.Outcome = notKnown(effect)
	}
	return failure
}

// statusCode is the code that a failing status stands for.
func statusCode(status int, effect record.Effect) record.Code {
	if code, ok := statusCodes[status]; ok {
		return code
	}
	if code, ok := keyedStatusCodes[status]; ok && effect == record.Keyed {
		return code
	}
	switch {
	case answerless(status) && repeatable(effect):
		return record.TempUnavailable
	case answerless(status), status == http.StatusInternalServerError && effect != record.Read:
		return record.OutcomeUnknown
	}
	return record.Code("HTTP_" + strconv.Itoa(status))
}

func statusText(status int) string {
	return "The server answered " + strconv.Itoa(status) + " " + http.StatusText(status) + "."
}

func waitKind(status int) record.WaitKind {
	if status == http.StatusTooManyRequests {
		return record.Throttle
	}
	return record.Outage
}

// headerWait is the Retry-After of a header in milliseconds, rounded up; nil
// where none is stated.
func headerWait(header http.Header, now time.Time) *int64 {
	wait, ok := RetryAfter(header.Get("Retry-After"), now)
	if !ok {
		return nil
	}
	ms := wait.Milliseconds()
	if wait%time.Millisecond != 0 {
		ms++
	}
	return &ms
}

// recordIn finds the Remit record in a JSON object: under "recovery", or the
// object itself where it has the four members of recovery-v1 and no others.
func recordIn(body []byte) *record.Record {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 || body[0] != '{' {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	found, ok := members["recovery"]
	if !ok && bareV1(members) {
		found, ok = body, true
	}
	failure := new(record.Record)
	if !ok || json.Unmarshal(found, failure) != nil {
		return nil
	}
	return failure
}

func bareV1(members map[string]json.RawMessage) bool {
	for _, name := range []string{"code", "message", "field", "retry_after_ms"} {
		if _, ok := members[name]; !ok {
			return false
		}
	}
	return len(members) == 4
}

package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// MarshalJSON writes the record in its form: the four members of recovery-v1,
// or recovery-v2 where Contract is set. It never fails.
func (r *Record) MarshalJSON() ([]byte, error) { return r.Append(nil), nil }

// Append appends the record's JSON to dst, in its form and member order.
func (r *Record) Append(dst []byte) []byte {
	if r.Contract == "" {
		return append(r.appendFour(append(dst, '{')), '}')
	}
	dst = append(dst, `{"contract":`...)
	dst = AppendString(dst, r.Contract)
	dst = append(dst, `,"domain":`...)
	dst = AppendString(dst, r.Domain)
	dst = r.appendFour(append(dst, ','))
	dst = appendMember(dst, "next", string(r.Next))
	dst = appendMember(dst, "stop", string(r.Stop))
	dst = appendObject(dst, "budget", r.Budget != nil, r.Budget)
	dst = appendObject(dst, "fields", len(r.Fields) > 0, r.Fields)
	dst = appendMember(dst, "wait_kind", string(r.WaitKind))
	dst = appendMember(dst, "outcome", string(r.Outcome))
	dst = appendObject(dst, "operation", r.Operation != nil, r.Operation)
	dst = appendMember(dst, "key", string(r.Key))
	dst = appendMember(dst, "retry", r.Retry)
	if r.Replayed {
		dst = append(dst, `,"replayed":true`...)
	}
	return append(dst, '}')
}

// appendFour appends the members of recovery-v1, without braces.
func (r *Record) appendFour(dst []byte) []byte {
	dst = append(dst, `"code":`...)
	dst = AppendString(dst, string(r.Code))
	dst = append(dst, `,"message":`...)
	dst = appendNullable(dst, r.Message)
	dst = append(dst, `,"field":`...)
	dst = appendNullable(dst, r.Field)
	dst = append(dst, `,"retry_after_ms":`...)
	if r.RetryAfterMS == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, *r.RetryAfterMS, 10)
}

func appendNullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}

func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return AppendString(dst, value)
}

func appendObject(dst []byte, name string, present bool, value any) []byte {
	if !present {
		return dst
	}
	encoded, err := encode(value)
	if err != nil { // the types above hold only strings and integers
		panic(err)
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return append(dst, encoded...)
}

// AppendFailure appends the members of a failed answer, without braces: the
// sentence, the code, whether an unchanged repetition is permitted, and the
// record under "recovery".
func (r *Record) AppendFailure(dst []byte) []byte {
	dst = append(dst, `"error":`...)
	dst = AppendString(dst, r.Error())
	dst = append(dst, `,"code":`...)
	dst = AppendString(dst, string(r.Code))
	dst = append(dst, `,"retryable":`...)
	dst = strconv.AppendBool(dst, r.Retryable())
	dst = append(dst, `,"recovery":`...)
	return r.Append(dst)
}

// AppendString appends s as a JSON string that escapes only what RFC 8259
// requires: the quotation mark, the reverse solidus and the controls below
// U+0020. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		dst = appendASCII(dst, c)
		i++
	}
	return append(dst, '"')
}

func appendASCII(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if c < ' ' {
		return fmt.Appendf(dst, `\u%04x`, c)
	}
	return append(dst, c)
}

// HTTPStatus is the status that carries a code (RFC 9110; the table stands in
// SPEC.md). An unknown code is 500.
func (c Code) HTTPStatus() int {
	switch c {
	case OK:
		return 200
	case InvalidArgument:
		return 400
	case AuthRequired:
		return 401
	case AccessDenied:
		return 403
	case InProgress:
		return 409
	case KeyReused:
		return 422
	case PreconditionFailed:
		return 412
	case TempUnavailable:
		return 503
	case QuotaExhausted:
		return 429
	case OutcomeUnknown:
		return 504
	}
	return 500
}

// RetryAfter is the value of the Retry-After header (RFC 9110, section
// 10.2.3): the record's wait in whole seconds, rounded up; "" where none is
// stated.
func (r *Record) RetryAfter() string {
	if r.RetryAfterMS == nil {
		return ""
	}
	ms := max(0, *r.RetryAfterMS)
	seconds := ms / 1000
	if ms%1000 != 0 {
		seconds++
	}
	return strconv.FormatInt(seconds, 10)
}

// wire is a record as a reader meets it. Unknown members are ignored.
type wire struct {
	Contract     string       `json:"contract"`
	Domain       string       `json:"domain"`
	Code         *Code        `json:"code"`
	Message      *string      `json:"message"`
	Field        *string      `json:"field"`
	RetryAfterMS *json.Number `json:"retry_after_ms"`
	Next         Next         `json:"next"`
	Stop         Disposition  `json:"stop"`
	Budget       *Budget      `json:"budget"`
	Fields       []Field      `json:"fields"`
	WaitKind     WaitKind     `json:"wait_kind"`
	Outcome      Outcome      `json:"outcome"`
	Operation    *Operation   `json:"operation"`
	Key          Key          `json:"key"`
	Retry        string       `json:"retry"`
	Replayed     bool         `json:"replayed"`
}

// UnmarshalJSON reads either form; members that neither defines are ignored,
// as a reader of a later version must. An object without a code is an error,
// so is a wait that is not a whole number of milliseconds, at least 0.
func (r *Record) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if w.Code == nil || *w.Code == "" {
		return fmt.Errorf("record: no code; a record names one, such as %s", TempUnavailable)
	}
	*r = Record{
		Contract: w.Contract, Domain: w.Domain, Code: *w.Code,
		Next: w.Next, Stop: w.Stop, Budget: w.Budget, Fields: w.Fields, WaitKind: w.WaitKind,
		Outcome: w.Outcome, Operation: w.Operation, Key: w.Key, Retry: w.Retry, Replayed: w.Replayed,
	}
	if w.Message != nil {
		r.Message = *w.Message
	}
	if w.Field != nil {
		r.Field = *w.Field
	}
	if w.RetryAfterMS == nil {
		return nil
	}
	ms, err := wholeMS(string(*w.RetryAfterMS))
	if err != nil {
		return err
	}
	r.RetryAfterMS = &ms
	return nil
}

// wholeMS reads a wait; one beyond the range of an int64 saturates.
func wholeMS(text string) (int64, error) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("record: retry_after_ms is %s; it is a whole number of milliseconds, at least 0, or null", text)
		}
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return math.MaxInt64, nil
	}
	return ms, nil
}

// encode is json.Marshal without the escaping of <, > and &.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

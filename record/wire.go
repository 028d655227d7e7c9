package record

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MarshalJSON writes the record as Append does. It never fails; json.Marshal
// escapes the characters of HTML in what it returns, Append does not.
func (r *Record) MarshalJSON() ([]byte, error) { return r.Append(nil), nil }

// Append appends the record's JSON to dst in its form and member order: the
// four members of recovery-v1, or recovery-v2 where Contract is set.
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
	if r.Budget != nil {
		dst = r.Budget.append(append(dst, `,"budget":`...))
	}
	dst = appendFields(dst, r.Fields)
	dst = appendMember(dst, "wait_kind", string(r.WaitKind))
	dst = appendMember(dst, "outcome", string(r.Outcome))
	if r.Operation != nil {
		dst = r.Operation.append(append(dst, `,"operation":`...))
	}
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
	return strconv.AppendInt(dst, max(0, *r.RetryAfterMS), 10)
}

func (b *Budget) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"limit":`...), int64(b.Limit), 10)
	dst = strconv.AppendInt(append(dst, `,"used":`...), int64(b.Used), 10)
	dst = strconv.AppendInt(append(dst, `,"left":`...), int64(b.Left), 10)
	return append(dst, '}')
}

// appendFields appends the fields, which the form leaves out where there are none.
func appendFields(dst []byte, fields []Field) []byte {
	if len(fields) == 0 {
		return dst
	}
	dst = append(dst, `,"fields":`...)
	separator := byte('[')
	for i := range fields {
		dst = fields[i].append(append(dst, separator))
		separator = ','
	}
	return append(dst, ']')
}

func (f *Field) append(dst []byte) []byte {
	dst = AppendString(append(dst, `{"pointer":`...), f.Pointer)
	dst = AppendString(append(dst, `,"reason":`...), f.Reason)
	dst = AppendString(append(dst, `,"accepted":`...), f.Accepted)
	dst = appendMember(dst, "in", f.In)
	dst = appendMember(dst, "message", f.Message)
	return append(dst, '}')
}

func (o *Operation) append(dst []byte) []byte {
	dst = AppendString(append(dst, `{"id":`...), o.ID)
	dst = appendMember(dst, "status_tool", o.StatusTool)
	if o.PollAfterMS != nil {
		dst = strconv.AppendInt(append(dst, `,"poll_after_ms":`...), max(0, *o.PollAfterMS), 10)
	}
	dst = appendMember(dst, "expires_at", o.ExpiresAt)
	return append(dst, '}')
}

func appendNullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}

// appendMember appends a member that the form leaves out where it is empty.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return AppendString(dst, value)
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

// HTTPStatus is the status that carries a code (RFC 9110, section 15). An unknown code is 500.
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

package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"remit.example/record"
	"remit.example/recovery"
)

// verdict is what a policy decides on: the code, and the wait where there is one.
type verdict struct {
	code   record.Code
	waitMS int64 // -1 = none stated
}

func verdictOf(r *record.Record) verdict {
	v := verdict{r.Code, -1}
	if r.RetryAfterMS != nil {
		v.waitMS = *r.RetryAfterMS
	}
	return v
}

func TestClassifyOfErrors(t *testing.T) {
	notSent := verdict{record.TempUnavailable, -1}
	lost := verdict{record.TempUnavailable, 1000}
	open := verdict{record.OutcomeUnknown, -1}
	prose := verdict{recovery.Unclassified, -1}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, tt := range []struct {
		name           string
		err            error
		repeat, unsafe verdict
	}{
		{"connection refused", refused, notSent, notSent},
		{"connection refused, as a client reports it", &url.Error{Op: "Post", URL: "http://x", Err: refused}, notSent, notSent},
		{"connection timed out while dialling", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, notSent, notSent},
		{"proxy unreachable", &net.OpError{Op: "proxyconnect", Err: io.EOF}, notSent, notSent},
		{"a bare refusal", syscall.ECONNREFUSED, notSent, notSent},
		{"no such host", &net.DNSError{Err: "no such host", IsNotFound: true}, notSent, notSent},
		{"lost before the request left", recovery.NotSent(io.EOF), notSent, notSent},
		{"reset", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, lost, open},
		{"broken pipe", &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, lost, open},
		{"EOF", io.EOF, lost, open},
		{"a cut answer", fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), lost, open},
		{"closed", net.ErrClosed, lost, open},
		{"the attempt's own timeout", context.DeadlineExceeded, lost, open},
		{"a timeout beside another error", errors.Join(&net.AddrError{}, context.DeadlineExceeded), lost, open},
		{"a read timeout", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, lost, open},
		{"a timeout of another kind", &url.Error{Op: "Get", Err: timeout{}}, lost, open},
		{"prose", errors.New("503 Service Unavailable, please retry"), prose, prose},
		{"a record", fmt.Errorf("call: %w", &record.Record{Code: "ODD"}), verdict{"ODD", -1}, verdict{"ODD", -1}},
		{"a record about a lost connection", errors.Join(io.EOF, unavailable(7)), verdict{record.TempUnavailable, 7}, verdict{record.TempUnavailable, 7}},
	} {
		for _, effect := range append(record.Effects(), "") {
			want := tt.repeat
			if effect == record.Unsafe || effect == "" {
				want = tt.unsafe
			}
			if got := verdictOf(recovery.Classify(tt.err, effect)); got != want {
				t.Errorf("%s × %q is %+v, want %+v", tt.name, effect, got, want)
			}
		}
	}
}

type timeout struct{}

func (timeout) Error() string   { return "too slow" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestClassifySaysWhatIsKnownOfAWrite(t *testing.T) {
	for _, tt := range []struct {
		err    error
		effect record.Effect
		want   record.Outcome
	}{
		{io.EOF, record.Read, ""},
		{io.EOF, record.Keyed, record.NotKnown},
		{io.EOF, record.Unsafe, record.NotKnown},
		{syscall.ECONNREFUSED, record.Read, ""},
		{syscall.ECONNREFUSED, record.Unsafe, record.NotApplied},
		{errors.New("odd"), record.Unsafe, record.NotKnown},
	} {
		if got := recovery.Classify(tt.err, tt.effect).Outcome; got != tt.want {
			t.Errorf("%v × %s: %q, want %q", tt.err, tt.effect, got, tt.want)
		}
	}
}

func TestClassifySaysWhatAStatusLeavesKnown(t *testing.T) {
	for _, tt := range []struct {
		status  int
		effect  record.Effect
		kind    record.WaitKind
		outcome record.Outcome
	}{
		{403, record.Unsafe, "", ""},
		{404, record.Read, "", ""},
		{404, record.Unsafe, "", record.NotKnown},
		{429, record.Read, record.Throttle, ""},
		{429, record.Unsafe, record.Throttle, record.NotApplied},
		{500, record.Unsafe, "", record.NotKnown},
		{502, record.Read, record.Outage, ""},
		{502, record.Keyed, record.Outage, record.NotKnown},
		{502, record.Unsafe, "", record.NotKnown},
		{503, record.Keyed, record.Outage, record.NotApplied},
		{504, record.Idempotent, record.Outage, record.NotKnown},
	} {
		got := recovery.ClassifyResponse(tt.status, nil, nil, tt.effect, noon)
		if got.WaitKind != tt.kind || got.Outcome != tt.outcome {
			t.Errorf("%d × %s: %q, %q, want %q, %q", tt.status, tt.effect, got.WaitKind, got.Outcome, tt.kind, tt.outcome)
		}
	}
}

func TestClassifyOfStatuses(t *testing.T) {
	all := func(c record.Code) [3]record.Code { return [3]record.Code{c, c, c} }
	for status, want := range map[int][3]record.Code{ // read and idempotent, keyed, unsafe
		400: all(record.InvalidArgument),
		401: all(record.AuthRequired),
		403: all(record.AccessDenied),
		404: all("HTTP_404"),
		408: all(record.TempUnavailable),
		409: {"HTTP_409", record.InProgress, "HTTP_409"},
		412: all(record.PreconditionFailed),
		418: all("HTTP_418"),
		422: {"HTTP_422", record.KeyReused, "HTTP_422"},
		425: all(record.TempUnavailable),
		428: all(record.PreconditionFailed),
		429: all(record.TempUnavailable),
		501: all("HTTP_501"),
		502: {record.TempUnavailable, record.TempUnavailable, record.OutcomeUnknown},
		503: all(record.TempUnavailable),
		504: {record.TempUnavailable, record.TempUnavailable, record.OutcomeUnknown},
	} {
		for effect, i := range map[record.Effect]int{record.Read: 0, record.Idempotent: 0, record.Keyed: 1, record.Unsafe: 2, "": 2} {
			if got := recovery.ClassifyResponse(status, nil, nil, effect, noon); got == nil || got.Code != want[i] {
				t.Errorf("%d × %q is %v, want %s", status, effect, got, want[i])
			}
		}
	}
	for effect, want := range map[record.Effect]record.Code{
		record.Read: "HTTP_500", record.Idempotent: record.OutcomeUnknown, record.Keyed: record.OutcomeUnknown, record.Unsafe: record.OutcomeUnknown,
	} {
		if got := recovery.ClassifyResponse(500, nil, nil, effect, noon); got.Code != want {
			t.Errorf("500 × %s is %s, want %s", effect, got.Code, want)
		}
	}
	for _, status := range []int{101, 200, 204, 304, 399} {
		if got := recovery.ClassifyResponse(status, nil, nil, record.Read, noon); got != nil {
			t.Errorf("%d is %v", status, got)
		}
	}
}

func TestClassifyKeepsTheServersWait(t *testing.T) {
	for _, tt := range []struct {
		status int
		header string
		body   string
		want   verdict
	}{
		{503, "120", "", verdict{record.TempUnavailable, 120_000}},
		{429, "Sun, 01 Mar 2026 12:02:00 GMT", "", verdict{record.TempUnavailable, 120_000}},
		{503, "Sun, 01 Mar 2026 11:00:00 GMT", "", verdict{record.TempUnavailable, 0}},
		{503, "-5", "", verdict{record.TempUnavailable, -1}},
		{503, "", "", verdict{record.TempUnavailable, -1}},
		{502, "", "", verdict{record.TempUnavailable, 1000}},
		{504, "3", "", verdict{record.TempUnavailable, 3000}},
		{503, "9", `{"code":"TEMP_UNAVAILABLE","message":null,"field":null,"retry_after_ms":1500}`, verdict{record.TempUnavailable, 1500}},
		{503, "9", `{"code":"TEMP_UNAVAILABLE","message":null,"field":null,"retry_after_ms":null}`, verdict{record.TempUnavailable, 9000}},
		{429, "60", `{"error":"x","recovery":{"contract":"recovery-v2","domain":"d","code":"QUOTA_EXHAUSTED"}}`, verdict{record.QuotaExhausted, 60_000}},
	} {
		header := http.Header{}
		if tt.header != "" {
			header.Set("Retry-After", tt.header)
		}
		if got := verdictOf(recovery.ClassifyResponse(tt.status, header, []byte(tt.body), record.Read, noon)); got != tt.want {
			t.Errorf("%d, %q, %s is %+v, want %+v", tt.status, tt.header, tt.body, got, tt.want)
		}
	}
}

func TestAHeadersWaitIsRoundedUp(t *testing.T) {
	header := http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:02:00 GMT"}}
	for late, want := range map[time.Duration]int64{0: 120_000, 1: 120_000, time.Millisecond: 119_999, time.Millisecond + 1: 119_999} {
		got := verdictOf(recovery.ClassifyResponse(503, header, nil, record.Read, noon.Add(late)))
		if got != (verdict{record.TempUnavailable, want}) {
			t.Errorf("%v after noon: %+v, want a wait of %d ms", late, got, want)
		}
	}
}

func TestClassifyUsesTheRecordInTheBody(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   record.Code // "" = success
	}{
		{500, ` {"code":"ACCESS_DENIED","message":"No.","field":null,"retry_after_ms":null}`, record.AccessDenied},
		{200, `{"code":"TEMP_UNAVAILABLE","message":null,"field":null,"retry_after_ms":5}`, record.TempUnavailable},
		{200, `{"code":"OK","message":"Error: none.","field":null,"retry_after_ms":null}`, ""},
		{399, `{"code":"OK","message":null,"field":null,"retry_after_ms":null}`, ""},
		{400, `{"code":"OK","message":null,"field":null,"retry_after_ms":null}`, record.InvalidArgument},
		{503, `{"code":"OK","message":null,"field":null,"retry_after_ms":null}`, record.TempUnavailable},
		{409, `{"error":"x","recovery":{"code":"KEY_REUSED"}}`, record.KeyReused},
		{403, `{"code":"TEMP_UNAVAILABLE","message":"x"}`, record.AccessDenied},
		{403, `{"code":"TEMP_UNAVAILABLE","message":null,"field":null,"retry_after_ms":5,"more":1}`, record.AccessDenied},
		{403, `{"recovery":null}`, record.AccessDenied},
		{403, `{"recovery":{"code":"TEMP_UNAVAILABLE","code":"OK"}}`, record.AccessDenied},
		{403, `{"Recovery":{"code":"TEMP_UNAVAILABLE"}}`, record.AccessDenied},
		{403, `[{"recovery":{"code":"TEMP_UNAVAILABLE"}}]`, record.AccessDenied},
		{403, `{"recovery":`, record.AccessDenied},
		{200, `{"code":"INVALID"}`, ""},
	} {
		got := recovery.ClassifyResponse(tt.status, nil, []byte(tt.body), record.Read, noon)
		if tt.want == "" && got != nil || tt.want != "" && (got == nil || got.Code != tt.want) {
			t.Errorf("%d, %s is %v, want %q", tt.status, tt.body, got, tt.want)
		}
	}
}

func TestARecordInTheBodyIsReadWhole(t *testing.T) {
	want := &record.Record{Contract: record.V2, Domain: "d", Code: record.TempUnavailable, RetryAfterMS: ms(5), Retry: record.Forbidden}
	body := append(want.AppendFailure([]byte("{")), '}')
	if got := recovery.ClassifyResponse(503, nil, body, record.Read, noon); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

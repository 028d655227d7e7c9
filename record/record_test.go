package record_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
	"remit.example/record"
)

func ms(n int64) *int64 { return &n }

// goldenV2 is the failing answer Q4 of catalogue-v2, from "error" on.
const goldenV2 = `"error":"The price ceiling must be a whole number of minor units, such as 6000.","code":"INVALID_ARGUMENT","retryable":false,"recovery":{"contract":"recovery-v2","domain":"task-lights","code":"INVALID_ARGUMENT","message":"The price ceiling must be a whole number of minor units, such as 6000.","field":"filters.max_price_minor","retry_after_ms":null,"next":"correct_input","stop":"needs_input","budget":{"limit":3,"used":1,"left":2},"fields":[{"pointer":"/filters/max_price_minor","reason":"wrong_type","accepted":"integer"}]}`

func goldenRecord() *record.Record {
	budget := record.NewBudget(3, 1)
	return &record.Record{
		Contract: record.V2, Domain: "task-lights", Code: record.InvalidArgument,
		Message: "The price ceiling must be a whole number of minor units, such as 6000.",
		Field:   "filters.max_price_minor",
		Next:    record.CorrectInput, Stop: record.NeedsInput, Budget: &budget,
		Fields: []record.Field{{Pointer: "/filters/max_price_minor", Reason: "wrong_type", Accepted: "integer"}},
	}
}

func TestTheBytesOfV2(t *testing.T) {
	if got := string(goldenRecord().AppendFailure(nil)); got != goldenV2 {
		t.Errorf("got  %s\nwant %s", got, goldenV2)
	}
}

func TestTheBytesOfEveryMember(t *testing.T) {
	budget := record.NewBudget(3, 5)
	r := &record.Record{
		Contract: record.V2, Domain: "orders", Code: record.InProgress, Message: "Busy.", RetryAfterMS: ms(250),
		Next: record.WaitAndRetry, Stop: record.UnknownOutcome, Budget: &budget,
		Fields: []record.Field{
			{Pointer: "/a", Reason: "missing", Accepted: "string"},
			{Pointer: "/b", Reason: "wrong", Accepted: "x", In: "header", Message: "Why."},
		},
		WaitKind: record.InFlight, Outcome: record.NotKnown,
		Operation: &record.Operation{ID: "op-1", StatusTool: "order_status", PollAfterMS: ms(0), ExpiresAt: "2026-01-02T03:04:05Z"},
		Key:       record.MustReuse, Retry: record.Forbidden, Replayed: true,
	}
	want := `{"contract":"recovery-v2","domain":"orders","code":"IN_PROGRESS","message":"Busy.","field":null,"retry_after_ms":250,` +
		`"next":"wait_and_retry","stop":"outcome_unknown","budget":{"limit":3,"used":5,"left":0},` +
		`"fields":[{"pointer":"/a","reason":"missing","accepted":"string"},{"pointer":"/b","reason":"wrong","accepted":"x","in":"header","message":"Why."}],` +
		`"wait_kind":"in_flight","outcome":"unknown","operation":{"id":"op-1","status_tool":"order_status","poll_after_ms":0,"expires_at":"2026-01-02T03:04:05Z"},` +
		`"key":"must_reuse","retry":"forbidden","replayed":true}`
	if got := string(r.Append(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheBytesOfV1(t *testing.T) {
	for _, tt := range []struct {
		record record.Record
		want   string
	}{
		{record.Record{Code: record.OK}, `{"code":"OK","message":null,"field":null,"retry_after_ms":null}`},
		{
			record.Record{Code: record.InvalidArgument, Message: "Give SHIP- and three digits.", Field: "shipment_ref"},
			`{"code":"INVALID_ARGUMENT","message":"Give SHIP- and three digits.","field":"shipment_ref","retry_after_ms":null}`,
		},
		{
			record.Record{Code: record.TempUnavailable, RetryAfterMS: ms(1000), Next: record.WaitAndRetry, Domain: "d", Replayed: true},
			`{"code":"TEMP_UNAVAILABLE","message":null,"field":null,"retry_after_ms":1000}`,
		},
		{record.Record{Code: "STATUS_SERVICE_ODDITY", RetryAfterMS: ms(-5)}, `{"code":"STATUS_SERVICE_ODDITY","message":null,"field":null,"retry_after_ms":0}`},
	} {
		if got := string(tt.record.Append(nil)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestStringsEscapeOnlyWhatJSONRequires(t *testing.T) {
	for in, want := range map[string]string{
		`a"b\c`:           `"a\"b\\c"`,
		"\b\f\n\r\t":      `"\b\f\n\r\t"`,
		"\x00\x1f\x7f":    "\"\\u0000\\u001f\x7f\"",
		"<&>\u2028\u2029": "\"<&>\u2028\u2029\"",
		"é/日𝄞":            `"é/日𝄞"`,
		"a\xffb\xc3":      "\"a\ufffdb\ufffd\"",
		"\x80":            "\"\ufffd\"",
		"":                `""`,
	} {
		if got := string(record.AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestNestedStringsEscapeOnlyWhatJSONRequires(t *testing.T) {
	r := record.Record{Contract: record.V2, Code: record.OK, Fields: []record.Field{{Message: "<\u2028>"}}}
	if got := string(r.Append(nil)); !strings.Contains(got, "\"message\":\"<\u2028>\"") {
		t.Errorf("the field's message is escaped: %s", got)
	}
}

func TestUnmarshalReadsBothForms(t *testing.T) {
	var r record.Record
	if err := json.Unmarshal([]byte(`{"code":"OK","message":null,"field":null,"retry_after_ms":null}`), &r); err != nil || !reflect.DeepEqual(r, record.Record{Code: record.OK}) {
		t.Errorf("v1: %+v, %v", r, err)
	}
	failure := "{" + goldenV2 + "}"
	var body struct{ Recovery record.Record }
	if err := json.Unmarshal([]byte(failure), &body); err != nil || !reflect.DeepEqual(&body.Recovery, goldenRecord()) {
		t.Errorf("v2: %+v, %v", body.Recovery, err)
	}
}

func TestUnmarshalIgnoresUnknownMembers(t *testing.T) {
	var r record.Record
	err := json.Unmarshal([]byte(`{"code":"OK","Message":"other","later":{"code":["x"]},"budget":{"limit":1,"used":1,"left":0,"later":2}}`), &r)
	want := record.Record{Code: record.OK, Budget: &record.Budget{Limit: 1, Used: 1}}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                        "not a JSON object",
		`[]`:                          "not a JSON object",
		`{}`:                          "no code",
		`{"code":""}`:                 "no code",
		`{"code":null,"message":"x"}`: "no code",
		`{"CODE":"OK"}`:               "no code",
		`{"code":"TEMP_UNAVAILABLE","code":"OK"}`:                 "given twice",
		`{"code":"OK","x":1,"x":2}`:                               "given twice",
		`{"code":1}`:                                              "code",
		`{"code":"OK","retry_after_ms":-1}`:                       "whole number",
		`{"code":"OK","retry_after_ms":1.5}`:                      "whole number",
		`{"code":"OK","retry_after_ms":1e3}`:                      "whole number",
		`{"code":"OK","retry_after_ms":"1000"}`:                   "whole number",
		`{"code":"OK","retry_after_ms":true}`:                     "whole number",
		`{"code":"OK","fields":[null]}`:                           "not a JSON object",
		`{"code":"OK","budget":{"left":1,"left":2}}`:              "given twice",
		`{"code":"OK","operation":{"id":"a","poll_after_ms":-1}}`: "whole number",
	} {
		r := record.Record{Code: "KEPT"}
		err := json.Unmarshal([]byte(in), &r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Unmarshal(%s) = %v, want an error with %q", in, err, want)
		}
		if r.Code != "KEPT" {
			t.Errorf("Unmarshal(%s) changed the record", in)
		}
	}
	var r record.Record
	if err := r.UnmarshalJSON([]byte(`{"code":"OK"} {}`)); err == nil {
		t.Error("two values are read as one")
	}
}

func TestAWaitBeyondInt64Saturates(t *testing.T) {
	var r record.Record
	if err := json.Unmarshal([]byte(`{"code":"OK","retry_after_ms":99999999999999999999}`), &r); err != nil || *r.RetryAfterMS != math.MaxInt64 {
		t.Errorf("got %v, %v", r.RetryAfterMS, err)
	}
}

// TestEveryRecordSurvivesTheWire: what Append writes, UnmarshalJSON reads.
func TestEveryRecordSurvivesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecord(t)
		wire := want.Append(nil)
		if !utf8.Valid(wire) || !json.Valid(wire) {
			t.Fatalf("not JSON: %q", wire)
		}
		var got record.Record
		if err := json.Unmarshal(wire, &got); err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\ngot  %+v\nwant %+v", wire, got, want)
		}
	})
}

// drawRecord draws any record of either form.
func drawRecord(t *rapid.T) record.Record {
	text := func(label string) string { return rapid.String().Draw(t, label) }
	r := record.Record{
		Code:         record.Code(rapid.OneOf(rapid.StringMatching(`[A-Z_]{1,12}`), rapid.StringN(1, 8, 32)).Draw(t, "code")),
		Message:      text("message"),
		Field:        text("field"),
		RetryAfterMS: rapid.Ptr(rapid.Int64Min(0), true).Draw(t, "wait"),
	}
	if !rapid.Bool().Draw(t, "v2") {
		return r
	}
	r.Contract, r.Domain = record.V2, text("domain")
	r.Next, r.Stop = record.Next(text("next")), record.Disposition(text("stop"))
	r.WaitKind, r.Outcome = record.WaitKind(text("kind")), record.Outcome(text("outcome"))
	r.Key, r.Retry, r.Replayed = record.Key(text("key")), text("retry"), rapid.Bool().Draw(t, "replayed")
	r.Budget = rapid.Ptr(rapid.Map(rapid.IntRange(0, 9), func(n int) record.Budget { return record.NewBudget(5, n) }), true).Draw(t, "budget")
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		r.Fields = append(r.Fields, record.Field{
			Pointer: text("pointer"), Reason: text("reason"), Accepted: text("accepted"), In: text("in"), Message: text("note"),
		})
	}
	if rapid.Bool().Draw(t, "operation") {
		r.Operation = &record.Operation{
			ID: text("id"), StatusTool: text("status tool"), ExpiresAt: text("expires"),
			PollAfterMS: rapid.Ptr(rapid.Int64Min(0), true).Draw(t, "poll"),
		}
	}
	return r
}

func FuzzUnmarshalJSON(f *testing.F) {
	f.Add([]byte("{" + goldenV2 + "}"))
	f.Add(goldenRecord().Append(nil))
	f.Add([]byte(`{"code":"TEMP_UNAVAILABLE","message":null,"field":null,"retry_after_ms":1000}`))
	f.Add([]byte(`{"code":"OK","operation":{"id":"x","poll_after_ms":99999999999999999999}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second record.Record
		if first.UnmarshalJSON(data) != nil {
			return
		}
		if first.Code == "" {
			t.Fatal("a record without a code was read")
		}
		wire := first.Append(nil)
		if err := second.UnmarshalJSON(wire); err != nil {
			t.Fatalf("%s does not read back: %v", wire, err)
		}
		if again := second.Append(nil); string(again) != string(wire) {
			t.Fatalf("%s became %s", wire, again)
		}
	})
}

func TestHTTPStatus(t *testing.T) {
	want := map[record.Code]int{
		record.OK: 200, record.InvalidArgument: 400, record.AuthRequired: 401, record.AccessDenied: 403,
		record.TempUnavailable: 503, record.QuotaExhausted: 429, record.PreconditionFailed: 412,
		record.OutcomeUnknown: 504, record.InProgress: 409, record.KeyReused: 422, "temp_unavailable": 500,
	}
	for code, status := range want {
		if got := code.HTTPStatus(); got != status {
			t.Errorf("%s is %d, want %d", code, got, status)
		}
	}
	if len(want) != len(record.Codes())+1 {
		t.Error("a code is without its status")
	}
}

func TestRetryAfterIsSecondsRoundedUp(t *testing.T) {
	for in, want := range map[int64]string{0: "0", 1: "1", 999: "1", 1000: "1", 1001: "2", -1: "0", math.MaxInt64: "9223372036854776"} {
		if got := (&record.Record{RetryAfterMS: &in}).RetryAfter(); got != want {
			t.Errorf("%d ms is %q, want %q", in, got, want)
		}
	}
	if got := new(record.Record).RetryAfter(); got != "" {
		t.Errorf("no wait is %q", got)
	}
}

func TestKnownIsExact(t *testing.T) {
	for _, code := range record.Codes() {
		if !code.Known() || record.Code(strings.ToLower(string(code))).Known() || (code + " ").Known() {
			t.Errorf("%s is not compared exactly", code)
		}
	}
}

func TestV1Names(t *testing.T) {
	var v1 []record.Code
	for _, code := range record.Codes() {
		if code.V1() {
			v1 = append(v1, code)
		}
	}
	if want := []record.Code{"OK", "INVALID_ARGUMENT", "AUTH_REQUIRED", "ACCESS_DENIED", "TEMP_UNAVAILABLE"}; !slices.Equal(v1, want) {
		t.Errorf("the codes of v1 are %v", v1)
	}
	for next, want := range map[record.Next]string{
		"": "complete", record.CorrectInput: "request_correction", record.Authenticate: "request_authentication",
		record.WaitAndRetry: "wait_and_retry", record.Stop: "stop",
	} {
		if got := next.V1(); got != want {
			t.Errorf("%q is %q in v1, want %q", next, got, want)
		}
	}
}

func TestParseEffect(t *testing.T) {
	for _, effect := range record.Effects() {
		if got, err := record.ParseEffect(string(effect)); got != effect || err != nil {
			t.Errorf("ParseEffect(%q) = %q, %v", effect, got, err)
		}
	}
	for _, name := range []string{"", "Read", "write"} {
		if got, err := record.ParseEffect(name); got != "" || err == nil {
			t.Errorf("ParseEffect(%q) = %q, %v", name, got, err)
		}
	}
}

func TestRetryable(t *testing.T) {
	if !(&record.Record{Next: record.WaitAndRetry}).Retryable() ||
		(&record.Record{Next: record.WaitAndRetry, Retry: record.Forbidden}).Retryable() ||
		(&record.Record{Next: record.CorrectInput}).Retryable() {
		t.Error("only a wait_and_retry that is not forbidden is retryable")
	}
}

// TestImports: the package imports the standard library alone.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "remit.example/record").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
			t.Errorf("record imports %s", path)
		}
	}
}

func ExampleRecord() {
	wait := int64(1000)
	var failure error = &record.Record{
		Code:         record.TempUnavailable,
		Message:      "The shipment service is restarting.",
		RetryAfterMS: &wait,
	}
	fmt.Println(failure)
	wire, _ := json.Marshal(failure)
	fmt.Println(string(wire))
	// Output:
	// The shipment service is restarting.
	// {"code":"TEMP_UNAVAILABLE","message":"The shipment service is restarting.","field":null,"retry_after_ms":1000}
}

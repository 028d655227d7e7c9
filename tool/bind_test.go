package tool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/tool"
)

// bind makes the only tool of a contract.
func bind(t testing.TB, text string, backing tool.Backing) (*tool.Tool, error) {
	t.Helper()
	c, err := contract.Parse("contract.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.Bind(c, backing)
	if err != nil {
		return nil, err
	}
	return tools[0], nil
}

func mustBind(t testing.TB, text string, backing tool.Backing) *tool.Tool {
	t.Helper()
	bound, err := bind(t, text, backing)
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

// call calls a tool and holds the answer to what is true of every one.
func call(t testing.TB, called *tool.Tool, c tool.Call) tool.Answer {
	t.Helper()
	answer := called.Call(t.Context(), c)
	checkAnswer(t, called, answer)
	return answer
}

func checkAnswer(t testing.TB, called *tool.Tool, answer tool.Answer) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(answer.Body, &body); err != nil || !utf8.Valid(answer.Body) {
		t.Fatalf("%v: %q", err, answer.Body)
	}
	if answer.Prose == "" || strings.HasPrefix(answer.Prose, "Error") {
		t.Errorf("the prose is %q", answer.Prose)
	}
	if err := compiled(t, called.OutputSchema).Validate(body); err != nil {
		t.Errorf("%s: %v", answer.Body, err)
	}
	_, hasError := body["error"]
	if answer.Failure == nil {
		if hasError || body["isError"] != nil || body["ok"] == false || body["success"] == false {
			t.Errorf("a success that looks like a failure: %s", answer.Body)
		}
		return
	}
	checkFailure(t, answer, body)
}

// checkFailure holds a failed answer to the form that every consumer reads.
func checkFailure(t testing.TB, answer tool.Answer, body map[string]any) {
	t.Helper()
	r := answer.Failure
	if body["error"] != r.Error() || body["code"] != string(r.Code) {
		t.Errorf("error or code is not that of the record: %s", answer.Body)
	}
	if repeat := r.Next == record.WaitAndRetry; body["retryable"] != repeat {
		t.Errorf("retryable is %v and the next action %s: %s", body["retryable"], r.Next, answer.Body)
	}
	got, err := json.Marshal(body["recovery"])
	if err != nil {
		t.Fatal(err)
	}
	members := []string{"code", "field", "message", "retry_after_ms"}
	if r.Contract == record.V2 {
		members = []string{"contract", "domain", "code", "message", "field", "retry_after_ms", "next", "stop", "budget"}
	}
	var recovery map[string]any
	if err := json.Unmarshal(got, &recovery); err != nil {
		t.Fatal(err)
	}
	for _, name := range members {
		if _, ok := recovery[name]; !ok {
			t.Errorf("the record has no %s: %s", name, answer.Body)
		}
	}
	if r.Contract == "" && len(recovery) != 4 {
		t.Errorf("a record of recovery-v1 has four members: %s", answer.Body)
	}
}

func compiled(t testing.TB, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	return s
}

const deliveries = `remit: 1
service: deliveries
tools:
  delivery_status:
    promise: lookup
    RECORD
    input:
      shipment_ref: {type: text, pattern: "SHIP-[0-9]{3}", accepts: SHIP- followed by exactly three digits, example: SHIP-104}
      days: {type: integer, minimum: 1, maximum: 30, optional: true}
      carrier: {type: text, values: [air, road], optional: true}
      urgent: {type: boolean, optional: true, example: false}
      note: {type: text, optional: true}
    answer: {status: {type: text, values: [in_transit, "Error: lost"]}, pieces: {type: integer}, late: {type: boolean}}
    backend: {fixture: {file: shipments.csv, by: shipment_ref}}
`

const shipments = `shipment_ref,code,retry_after_ms,status,pieces,late
SHIP-104,OK,,in_transit,2,false
SHIP-105,OK,,Error: lost,-0,true
SHIP-400,INVALID_ARGUMENT,,,,
SHIP-401,AUTH_REQUIRED,,,,
SHIP-403,ACCESS_DENIED,,,,
SHIP-429,QUOTA_EXHAUSTED,3600000,,,
SHIP-503,TEMP_UNAVAILABLE,1500,,,
SHIP-504,TEMP_UNAVAILABLE,0,,,
SHIP-599,temp_unavailable,1500,,,
`

func fixtureTool(t testing.TB, version string) *tool.Tool {
	text := strings.Replace(deliveries, "RECORD", "record: "+version, 1)
	return mustBind(t, text, tool.Backing{Files: fstest.MapFS{"shipments.csv": {Data: []byte("\ufeff" + shipments)}}})
}

// TestFixture reads every kind of row, in both forms of the record.
func TestFixture(t *testing.T) {
	for _, c := range []struct{ ref, v1, v2 string }{
		{"SHIP-104", `{"status":"in_transit","pieces":2,"late":false}`, ""},
		{"SHIP-105", `{"status":"Error: lost","pieces":0,"late":true}`, ""},
		{"SHIP-400", "INVALID_ARGUMENT shipment_ref -", "correct_input needs_input"},
		{"SHIP-401", "AUTH_REQUIRED  -", "authenticate needs_auth"},
		{"SHIP-403", "ACCESS_DENIED  -", "stop refused"},
		{"SHIP-429", "QUOTA_EXHAUSTED  3600000", "stop quota_exhausted"},
		{"SHIP-503", "TEMP_UNAVAILABLE  1500", "wait_and_retry retry_exhausted"},
		{"SHIP-504", "TEMP_UNAVAILABLE  0", "wait_and_retry retry_exhausted"},
		{"SHIP-599", "temp_unavailable  1500", "stop unknown"},
		{"SHIP-999", "INVALID_ARGUMENT shipment_ref -", "correct_input needs_input"},
		{"ship104", "INVALID_ARGUMENT shipment_ref -", "correct_input needs_input"},
	} {
		for _, version := range []string{"recovery-v1", "recovery-v2"} {
			answer := call(t, fixtureTool(t, version), tool.Call{Input: []byte(`{"shipment_ref":"` + c.ref + `"}`)})
			if r := answer.Failure; r == nil {
				if string(answer.Body) != c.v1 {
					t.Errorf("%s: got %s, want %s", c.ref, answer.Body, c.v1)
				}
			} else if got := inShort(r); got != c.v1 || version == "recovery-v2" && string(r.Next)+" "+string(r.Stop) != c.v2 {
				t.Errorf("%s: got %s, %s %s; want %s, %s", c.ref, got, r.Next, r.Stop, c.v1, c.v2)
			}
		}
	}
}

// inShort is a record's code, field and wait.
func inShort(r *record.Record) string {
	wait := "-"
	if r.RetryAfterMS != nil {
		text, _ := json.Marshal(*r.RetryAfterMS)
		wait = string(text)
	}
	return string(r.Code) + " " + r.Field + " " + wait
}

// TestInput names every argument at fault, the first one in the contract's
// order as the field.
func TestInput(t *testing.T) {
	bound := fixtureTool(t, "recovery-v2")
	for input, want := range map[string]string{
		``:                              `: malformed`,
		`[]`:                            `: malformed`,
		`{"shipment_ref":"SHIP-104"`:    `: malformed`,
		`{}`:                            `/shipment_ref: missing`,
		`{"shipment_ref":null}`:         `/shipment_ref: wrong_type`,
		`{"shipment_ref":""}`:           `/shipment_ref: empty`,
		`{"shipment_ref":104}`:          `/shipment_ref: wrong_type`,
		`{"shipment_ref":"SHIP-1040"}`:  `/shipment_ref: malformed`,
		`{"shipment_ref":"SHIP-104\n"}`: `/shipment_ref: malformed`,
		`{"shipment_ref":"\nSHIP-104"}`: `/shipment_ref: malformed`,
		`{"shipment_ref":" SHIP-104"}`:  `/shipment_ref: malformed`,
		`{"shipment_ref":"SHIP-١٠٤"}`:   `/shipment_ref: malformed`,
		`{"shipment_ref":"SHIP-１０４"}`:   `/shipment_ref: malformed`,
		`{"shipment_ref":"SHIP-104","shipment_ref":"SHIP-104"}`:   `/shipment_ref: duplicate`,
		`{"shipment_ref":"SHIP-104","days":1.0}`:                  `/days: wrong_type`,
		`{"shipment_ref":"SHIP-104","days":"1"}`:                  `/days: wrong_type`,
		`{"shipment_ref":"SHIP-104","days":null}`:                 `/days: wrong_type`,
		`{"shipment_ref":"SHIP-104","days":0}`:                    `/days: out_of_range`,
		`{"shipment_ref":"SHIP-104","days":31}`:                   `/days: out_of_range`,
		`{"shipment_ref":"SHIP-104","days":99999999999999999999}`: `/days: out_of_range`,
		`{"shipment_ref":"SHIP-104","carrier":"sea"}`:             `/carrier: not_declared`,
		`{"shipment_ref":"SHIP-104","urgent":"true"}`:             `/urgent: wrong_type`,
		`{"x/~y":1,"urgent":1,"shipment_ref":"SHIP-104"}`:         `/urgent: wrong_type, /x~1~0y: unknown_argument`,
		`{"note":"","days":0,"shipment_ref":7}`:                   `/shipment_ref: wrong_type, /days: out_of_range, /note: empty`,
	} {
		answer := call(t, bound, tool.Call{Input: []byte(input)})
		var got []string
		for _, field := range answer.Failure.Fields {
			got = append(got, field.Pointer+": "+field.Reason)
		}
		first, _, _ := strings.Cut(want, ":")
		if strings.Join(got, ", ") != want || answer.Failure.Field != strings.TrimPrefix(first, "/") || answer.Failure.Code != record.InvalidArgument {
			t.Errorf("%s: got %v, field %q; want %s", input, got, answer.Failure.Field, want)
		}
	}
}

// TestInvalidArgument is the failure of recovery-v2 to the byte, and its four
// members alone in recovery-v1.
func TestInvalidArgument(t *testing.T) {
	const message = `"The shipment_ref must be SHIP- followed by exactly three digits, such as SHIP-104."`
	for version, want := range map[string]string{
		"recovery-v1": `{"error":` + message + `,"code":"INVALID_ARGUMENT","retryable":false,"recovery":{"code":"INVALID_ARGUMENT","message":` + message + `,"field":"shipment_ref","retry_after_ms":null}}`,
		"recovery-v2": `{"error":` + message + `,"code":"INVALID_ARGUMENT","retryable":false,"recovery":{"contract":"recovery-v2","domain":"deliveries","code":"INVALID_ARGUMENT","message":` + message + `,"field":"shipment_ref","retry_after_ms":null,"next":"correct_input","stop":"needs_input","budget":{"limit":3,"used":1,"left":2},"fields":[{"pointer":"/shipment_ref","reason":"malformed","accepted":"SHIP- followed by exactly three digits"}]}}`,
	} {
		answer := call(t, fixtureTool(t, version), tool.Call{Input: []byte(`{"shipment_ref":"ship104"}`)})
		if string(answer.Body) != want {
			t.Errorf("got  %s\nwant %s", answer.Body, want)
		}
	}
}

// TestManyFaults: a failure that an agent reads names as many fields as fit.
func TestManyFaults(t *testing.T) {
	var input strings.Builder
	input.WriteString(`{"shipment_ref":7`)
	for range 10_000 {
		input.WriteString(`,"` + strings.Repeat("é", 100) + `":1`)
	}
	input.WriteString(`}`)
	bound := fixtureTool(t, "recovery-v2")
	all := call(t, bound, tool.Call{Input: []byte(input.String())})
	some := call(t, bound, tool.Call{Input: []byte(input.String()), Characters: tool.AgentCharacters})
	n := utf8.RuneCount(some.Body)
	if len(all.Failure.Fields) != 50 || n > tool.AgentCharacters || len(some.Failure.Fields) < 2 || some.Failure.Fields[0].Pointer != "/shipment_ref" {
		t.Errorf("%d fields; %d fields in %d characters", len(all.Failure.Fields), len(some.Failure.Fields), n)
	}
}

// TestSchemas: what is described is what is accepted and answered, in words
// that a browser knows.
func TestSchemas(t *testing.T) {
	bound := fixtureTool(t, "recovery-v2")
	want := `{"type":"object","properties":{` +
		`"shipment_ref":{"type":"string","pattern":"^(?:SHIP-[0-9]{3})$","description":"SHIP- followed by exactly three digits."},` +
		`"days":{"type":"integer","minimum":1,"maximum":30,"description":"A whole number, at least 1, at most 30."},` +
		`"carrier":{"type":"string","enum":["air","road"],"description":"One of: air, road."},` +
		`"urgent":{"type":"boolean","description":"True or false."},` +
		`"note":{"type":"string","minLength":1,"description":"A text that is not empty."}},` +
		`"required":["shipment_ref"],"additionalProperties":false}`
	if got := string(bound.InputSchema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(bound.Example); got != `{"shipment_ref":"SHIP-104","urgent":false}` {
		t.Error(got)
	}
	if answer := call(t, bound, tool.Call{Input: bound.Example}); answer.Failure != nil {
		t.Errorf("the example fails: %s", answer.Body)
	}
}

// TestFixtureFaults: an error says which file, line and cell is at fault.
func TestFixtureFaults(t *testing.T) {
	const header = "shipment_ref,code,retry_after_ms,status,pieces,late\n"
	for data, want := range map[string]string{
		"":                                            "shipments.csv:1: EOF; the first line names the columns: shipment_ref,code,retry_after_ms,status,pieces,late",
		"ref,code\n":                                  "shipments.csv:1: the columns are ref,code; valid: shipment_ref,code,retry_after_ms,status,pieces,late",
		header + "a\"b,OK,,in_transit,1,true\n":       `shipments.csv: parse error on line 2, column 2: bare " in non-quoted-field`,
		header + "\"a,OK,,in_transit,1,true\n":        "shipments.csv: parse error on line 2, column 26: extraneous or missing \" in quoted-field",
		header + "SHIP-104,OK\n":                      "shipments.csv: record on line 2: wrong number of fields",
		header + "SHIP-104,,,,,\n":                    "shipments.csv:2: no code; valid: OK or the code of a failure",
		header + "SHIP-104,X,soon,,,\n":               `shipments.csv:2: retry_after_ms is "soon"; valid: a whole number of milliseconds, at least 0, or nothing`,
		header + "SHIP-104,X,-1,,,\n":                 `shipments.csv:2: retry_after_ms is "-1"; valid: a whole number of milliseconds, at least 0, or nothing`,
		header + "SHIP-104,OK,,lost,1,true\n":         `shipments.csv:2: status: "lost" is not one of: in_transit, Error: lost`,
		header + "SHIP-104,OK,,in_transit,1.5,true\n": "shipments.csv:2: pieces: it is not a whole number",
		header + "SHIP-104,OK,,in_transit,,true\n":    "shipments.csv:2: pieces: it is not a whole number",
		header + "SHIP-104,OK,,in_transit,1,yes\n":    "shipments.csv:2: late: it is not true or false",
		header + "\"SHIP\n-104\",OK,,in_transit,1,yes\nA,X,,,,\nA,X,,,,\n": "shipments.csv:2: late: it is not true or false\nshipments.csv:5: A stands twice; keep one",
	} {
		_, err := bind(t, strings.Replace(deliveries, "RECORD", "effect: read", 1), tool.Backing{Files: fstest.MapFS{"shipments.csv": {Data: []byte(data)}}})
		if err == nil || err.Error() != "contract.yaml: tool delivery_status: "+want {
			t.Errorf("%q:\ngot  %v\nwant %s", data, err, want)
		}
	}
	_, err := bind(t, strings.Replace(deliveries, "RECORD", "effect: read", 1), tool.Backing{Files: fstest.MapFS{}})
	if err == nil || !strings.Contains(err.Error(), "shipments.csv") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// FuzzFixture: whatever the bytes of a fixture, it is read or refused, and
// what it answers is JSON.
func FuzzFixture(f *testing.F) {
	for _, seed := range []string{"", shipments, "\ufeff" + shipments, "shipment_ref,code,retry_after_ms,status,pieces,late\na\"b", "\"", "shipment_ref,code,retry_after_ms,status,pieces,late\r\nSHIP-104,OK,,\"in_transit\",9e9,true"} {
		f.Add([]byte(seed))
	}
	text := strings.Replace(deliveries, "RECORD", "record: recovery-v2", 1)
	f.Fuzz(func(t *testing.T, data []byte) {
		bound, err := bind(t, text, tool.Backing{Files: fstest.MapFS{"shipments.csv": {Data: data}}})
		if err != nil {
			return
		}
		call(t, bound, tool.Call{Input: []byte(`{"shipment_ref":"SHIP-104"}`)})
	})
}

// TestSet: tools stand in order, and one name is one tool.
func TestSet(t *testing.T) {
	one := fixtureTool(t, "recovery-v1")
	set, err := tool.NewSet([]*tool.Tool{one}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := set.Lookup("delivery_status"); !ok || found != one || !slices.Equal(set.Tools(), []*tool.Tool{one}) {
		t.Error("the tool is not in the set")
	}
	if _, ok := set.Lookup("Delivery_status"); ok {
		t.Error("a name is compared exactly")
	}
	_, err = tool.NewSet([]*tool.Tool{one}, []*tool.Tool{one})
	if want := "tool delivery_status is declared by both deliveries and deliveries; one server needs different names"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestConditions are checked in their order after the input, and the
// dependency is asked last or not at all.
func TestConditions(t *testing.T) {
	const valid, invalid = `{"shipment_ref":"SHIP-403"}`, `{"shipment_ref":"ship104"}`
	ok := tool.Scripted(record.OK)
	for _, c := range []struct {
		input         string
		auth, allowed bool
		response      tool.Response
		want          string
		asked         int
	}{
		{invalid, false, false, ok, "INVALID_ARGUMENT shipment_ref -", 0},
		{valid, false, false, ok, "AUTH_REQUIRED  -", 0},
		{valid, true, false, ok, "ACCESS_DENIED  -", 0},
		{valid, true, true, ok, "", 1},
		{valid, true, true, tool.Response{Code: "OK", RetryAfterMS: new(int64(250))}, "", 1},
		{valid, true, true, tool.Scripted("TEMP_UNAVAILABLE"), "TEMP_UNAVAILABLE  1000", 1},
		{valid, true, true, tool.Response{Code: "TEMP_UNAVAILABLE", RetryAfterMS: new(int64(250))}, "TEMP_UNAVAILABLE  250", 1},
		{valid, true, true, tool.Response{Code: "TEMP_UNAVAILABLE"}, "TEMP_UNAVAILABLE  -", 1},
		{valid, true, true, tool.Scripted("STATUS_SERVICE_ODDITY"), "STATUS_SERVICE_ODDITY  -", 1},
		{valid, true, true, tool.Scripted("ok"), "ok  -", 1},
	} {
		asked := 0
		answer := call(t, fixtureTool(t, "recovery-v1"), tool.Call{Input: []byte(c.input), Conditions: &tool.Conditions{
			AuthOK: c.auth, Allowed: c.allowed, Respond: func() tool.Response { asked++; return c.response },
		}})
		got := ""
		if answer.Failure != nil {
			got = inShort(answer.Failure)
		}
		if got != c.want || asked != c.asked {
			t.Errorf("%+v: got %s, asked %d times", c, got, asked)
		}
	}
}

// TestFail is the answer of a call that was never executed.
func TestFail(t *testing.T) {
	wait := int64(250)
	bound := fixtureTool(t, "recovery-v2")
	answer := bound.Fail(&record.Record{Code: record.TempUnavailable, Message: "Too many calls.", RetryAfterMS: &wait, WaitKind: record.Throttle})
	checkAnswer(t, bound, answer)
	want := `{"error":"Too many calls.","code":"TEMP_UNAVAILABLE","retryable":true,"recovery":{"contract":"recovery-v2","domain":"deliveries","code":"TEMP_UNAVAILABLE","message":"Too many calls.","field":null,"retry_after_ms":250,"next":"wait_and_retry","stop":"retry_exhausted","budget":{"limit":3,"used":0,"left":3},"wait_kind":"throttle"}}`
	if d := cmp.Diff(want, string(answer.Body)); d != "" {
		t.Error(d)
	}
}

package recovery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"remit.example/record"
	"remit.example/recovery"
)

// v1Case is one frozen case of recovery-v1: conditions without expectations.
type v1Case struct {
	Case       string        `json:"case"`
	Input      v1Input       `json:"input"`
	AuthOK     bool          `json:"auth_ok"`
	Allowed    bool          `json:"allowed"`
	Responses  []record.Code `json:"responses"`
	Correction *v1Input      `json:"correction"`
	Renewal    bool          `json:"renewal"`
}

type v1Input struct {
	ShipmentRef string `json:"shipment_ref"`
}

// v1Trace is one line of the frozen oracle.
type v1Trace struct {
	Case        string              `json:"case"`
	Execution   int                 `json:"execution"`
	Input       v1Input             `json:"input"`
	AuthOK      bool                `json:"auth_ok"`
	Code        record.Code         `json:"code"`
	Action      string              `json:"action"`
	AtMS        int64               `json:"at_ms"`
	Disposition *record.Disposition `json:"disposition"`
}

var shipmentRef = regexp.MustCompile(`^SHIP-[0-9]{3}$`)

// delivery is the task under test, with its injected conditions.
type delivery struct {
	authOK, allowed bool
	responses       []record.Code
	inputs          []v1Input
	authOKs         []bool
}

// status is one execution: input, authentication, access, dependency.
func (d *delivery) status(_ context.Context, in v1Input) (string, error) {
	d.inputs, d.authOKs = append(d.inputs, in), append(d.authOKs, d.authOK)
	switch {
	case !shipmentRef.MatchString(in.ShipmentRef):
		return "", &record.Record{Code: record.InvalidArgument, Field: "shipment_ref", Message: "The reference is SHIP- and three digits."}
	case !d.authOK:
		return "", &record.Record{Code: record.AuthRequired}
	case !d.allowed:
		return "", &record.Record{Code: record.AccessDenied}
	}
	code := d.responses[0]
	d.responses = d.responses[1:]
	switch code {
	case record.OK:
		return "in_transit", nil
	case record.TempUnavailable:
		return "", &record.Record{Code: code, RetryAfterMS: ms(1000)}
	}
	return "", &record.Record{Code: code}
}

func ms(n int64) *int64 { return &n }

// v1Record is what the envelope of one execution must be.
type v1Record struct {
	Case      string `json:"case"`
	Execution int    `json:"execution"`
	Record    struct {
		Code         record.Code `json:"code"`
		Field        *string     `json:"field"`
		RetryAfterMS *int64      `json:"retry_after_ms"`
	} `json:"record"`
	MessageNames []string `json:"message_names"`
}

// steps runs one case through the real runner with a clock that starts at 0.
func steps(c v1Case) ([]recovery.Step, *delivery) {
	d := &delivery{authOK: c.AuthOK, allowed: c.Allowed, responses: c.Responses}
	var seen []recovery.Step
	task := recovery.Task[v1Input, string]{
		Effect: record.Read, Table: recovery.V1,
		MinDelay: recovery.None, Jitter: recovery.None, Clock: new(recovery.Simulated),
		Correct: func(context.Context, v1Input, *record.Record) (v1Input, bool, error) {
			if c.Correction == nil {
				return v1Input{}, false, nil
			}
			return *c.Correction, true, nil
		},
		Authenticate: func(context.Context, *record.Record) (bool, error) {
			d.authOK = d.authOK || c.Renewal
			return c.Renewal, nil
		},
		Observe: func(s recovery.Step) { seen = append(seen, s) },
	}
	_, _ = recovery.Do(context.Background(), &task, c.Input, d.status)
	return seen, d
}

// replay is the trace of one case.
func replay(c v1Case) []v1Trace {
	steps, d := steps(c)
	lines := make([]v1Trace, len(steps))
	for i, s := range steps {
		lines[i] = v1Trace{c.Case, s.Execution, d.inputs[i], d.authOKs[i], s.Code, s.Action.V1(), s.AtMS, nil}
		if s.Disposition != "" {
			lines[i].Disposition = &s.Disposition
		}
	}
	return lines
}

// readLines reads a file of JSON lines.
func readLines[T any](t *testing.T, path string) (lines []T) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, v)
	}
	return lines
}

func TestReplayOfTheNineCasesIsTheOracle(t *testing.T) {
	want, err := os.ReadFile("testdata/recovery-v1.traces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	for _, c := range readLines[v1Case](t, "testdata/recovery-v1.cases.jsonl") {
		for _, trace := range replay(c) {
			if err := encoder.Encode(trace); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got.String() != string(want) {
		t.Errorf("the trace is\n%s\nwant\n%s", got.String(), want)
	}
}

func TestObserveSeesTheRecordsOfTheNineCases(t *testing.T) {
	want := readLines[v1Record](t, "testdata/recovery-v1.records.jsonl")
	for _, c := range readLines[v1Case](t, "testdata/recovery-v1.cases.jsonl") {
		seen, _ := steps(c)
		for _, s := range seen {
			var got v1Record
			got.Case, got.Execution, got.Record.Code = c.Case, s.Execution, s.Code
			if s.Record != nil {
				got.Record.RetryAfterMS = s.Record.RetryAfterMS
				if s.Record.Field != "" {
					got.Record.Field = &s.Record.Field
				}
			}
			for _, name := range want[0].MessageNames {
				if s.Record == nil || !strings.Contains(s.Record.Message, name) {
					t.Errorf("%s %d: the message does not name %q", c.Case, s.Execution, name)
				}
			}
			got.MessageNames = want[0].MessageNames
			if !reflect.DeepEqual(got, want[0]) {
				t.Errorf("%s %d: got %+v, want %+v", c.Case, s.Execution, got, want[0])
			}
			want = want[1:]
		}
	}
	if len(want) != 0 {
		t.Errorf("%d executions are missing", len(want))
	}
}

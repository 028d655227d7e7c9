package recovery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
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

// replay runs one case through the real runner with a clock that starts at 0.
func replay(c v1Case) []v1Trace {
	d := &delivery{authOK: c.AuthOK, allowed: c.Allowed, responses: c.Responses}
	var steps []recovery.Step
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
		Observe: func(s recovery.Step) { steps = append(steps, s) },
	}
	_, _ = recovery.Do(context.Background(), &task, c.Input, d.status)
	lines := make([]v1Trace, len(steps))
	for i, s := range steps {
		lines[i] = v1Trace{c.Case, s.Execution, d.inputs[i], d.authOKs[i], s.Code, s.Action.V1(), s.AtMS, nil}
		if s.Disposition != "" {
			lines[i].Disposition = &s.Disposition
		}
	}
	return lines
}

func TestReplayOfTheNineCasesIsTheOracle(t *testing.T) {
	want, err := os.ReadFile("testdata/recovery-v1.traces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile("testdata/recovery-v1.cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	for line := range strings.Lines(string(cases)) {
		var c v1Case
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
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

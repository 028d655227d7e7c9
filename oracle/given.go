package oracle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// given is what a recovery case says, in either form.
type given struct {
	Case        string           `json:"case"`
	Input       jsontext.Value   `json:"input"`
	AuthOK      *bool            `json:"auth_ok"`
	Allowed     *bool            `json:"allowed"`
	Responses   []jsontext.Value `json:"responses"`
	Correction  jsontext.Value   `json:"correction,omitempty"`
	Corrections []jsontext.Value `json:"corrections,omitempty"`
	Renewal     *bool            `json:"renewal"`
}

func readGiven(line []byte) (given, error) {
	var g given
	if err := json.Unmarshal(line, &g, json.RejectUnknownMembers(true)); err != nil {
		return g, fmt.Errorf("not a case of recovery-v1: %w", err)
	}
	switch {
	case g.Input.Kind() != '{', g.AuthOK == nil, g.Allowed == nil, g.Responses == nil, g.Renewal == nil:
		return g, fmt.Errorf("case %s: input, auth_ok, allowed, responses and renewal are required", g.Case)
	case (g.Correction == nil) == (g.Corrections == nil):
		return g, fmt.Errorf("case %s: valid: either correction or corrections", g.Case)
	}
	for _, response := range g.Responses {
		if !hasCode(response) || (response.Kind() == '{') != (g.Corrections != nil) {
			return g, fmt.Errorf("case %s: the response %s; valid: a code beside correction, {code, retry_after_ms} beside corrections", g.Case, response)
		}
	}
	return g, nil
}

// response is what the scripted dependency answers beside corrections; beside
// correction it is the code alone.
type response struct {
	Code         string `json:"code"`
	RetryAfterMS *int64 `json:"retry_after_ms"`
}

// hasCode reports whether a response can be read, in either form, and has a code.
func hasCode(raw jsontext.Value) bool {
	var r response
	into := any(&r)
	if raw.Kind() == '"' {
		into = &r.Code
	}
	return json.Unmarshal(raw, into, json.RejectUnknownMembers(true)) == nil && r.Code != ""
}

// Condition is what one execution of a case meets, besides its input.
type Condition struct {
	Case    string `json:"case"`
	AuthOK  bool   `json:"auth_ok"`
	Allowed bool   `json:"allowed"`
	// Response is the entry of responses that answers the execution; null for
	// one that does not reach the dependency.
	Response jsontext.Value `json:"response"`
}

// Execution is one execution of a recovery case as its oracle has it.
type Execution struct {
	Input     jsontext.Value
	Condition Condition
}

// Executions lists what a driver sends to a tool under test, in order. An
// execution reaches the dependency unless its input, its authentication or its
// access fails first.
func (c *Case) Executions() []Execution {
	executions := make([]Execution, len(c.Oracle))
	asked := 0
	for i, line := range c.Oracle {
		t := readTrace(line)
		condition := Condition{Case: c.Name, AuthOK: t.AuthOK, Allowed: *c.given.Allowed, Response: jsontext.Value("null")}
		stopped := t.Code == codeInvalid || t.Code == codeAuth && !t.AuthOK || t.Code == codeDenied && !condition.Allowed
		if !stopped && asked < len(c.given.Responses) {
			condition.Response = c.given.Responses[asked]
			asked++
		}
		executions[i] = Execution{Input: t.Input, Condition: condition}
	}
	return executions
}

// The codes that recovery-v1 defines.
const (
	codeOK      = "OK"
	codeInvalid = "INVALID_ARGUMENT"
	codeAuth    = "AUTH_REQUIRED"
	codeWait    = "TEMP_UNAVAILABLE"
	codeDenied  = "ACCESS_DENIED"
)

// trace is one line of a recovery oracle.
type trace struct {
	Case        string         `json:"case"`
	Execution   int64          `json:"execution"`
	Input       jsontext.Value `json:"input"`
	AuthOK      bool           `json:"auth_ok"`
	Code        string         `json:"code"`
	Action      string         `json:"action"`
	AtMS        int64          `json:"at_ms"`
	Disposition *string        `json:"disposition"`
}

// readTrace decodes a line that lint has accepted.
func readTrace(line []byte) trace {
	t, err := parseTrace(line)
	if err != nil {
		panic(err)
	}
	return t
}

// traceForm has the members of a trace line, with values of their types.
var traceForm = mustMembers([]byte(`{"case":"","execution":1,"input":{},"auth_ok":true,"code":"","action":"","at_ms":0,"disposition":null}`))

// strictTrace decodes a line that has each member once, of its type, and no
// other.
func strictTrace(line []byte) (trace, error) {
	m, err := membersOf(line)
	if err != nil {
		return trace{}, err
	}
	if faults := m.compare(traceForm); len(faults) > 0 {
		return trace{}, errors.New(strings.Join(faults, ", "))
	}
	for _, each := range traceForm {
		if value := m.get(each.name); !typeFits(each, value) {
			return trace{}, fmt.Errorf("%s is %s, which is of the wrong type", each.name, clip(value.String()))
		}
	}
	return parseTrace(line)
}

func parseTrace(line []byte) (trace, error) {
	var t trace
	err := json.Unmarshal(line, &t, json.RejectUnknownMembers(true))
	return t, err
}

// Codes lists the codes of a recovery case's executions, in order.
func (c *Case) Codes() []string {
	codes := make([]string, len(c.Oracle))
	for i, line := range c.Oracle {
		codes[i] = readTrace(line).Code
	}
	return codes
}

package tool

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/record"
)

// Conditions stand in for a backend's world in one execution of a simulated
// case: they are checked in this order, after the input.
type Conditions struct {
	AuthOK  bool // false: AUTH_REQUIRED
	Allowed bool // false: ACCESS_DENIED
	// Respond is what the dependency answers; it is asked only by an execution
	// that reaches it.
	Respond func() Response
}

// Response is one answer of a simulated dependency.
type Response struct {
	Code record.Code // OK: the example answer
	// RetryAfterMS is the wait that a failure states, nil where it states none.
	RetryAfterMS *int64
}

// scriptedWait is the delay of TEMP_UNAVAILABLE in the fixture of recovery-v1,
// in milliseconds: a test input, no recommendation.
const scriptedWait = 1000

// Scripted is the response that a case means by a code alone: TEMP_UNAVAILABLE
// states a wait of 1000 ms, any other code none.
func Scripted(code record.Code) Response {
	if code == record.TempUnavailable {
		return Response{Code: code, RetryAfterMS: new(int64(scriptedWait))}
	}
	return Response{Code: code}
}

// ResponseForms says how a response is written, as messages show it.
const ResponseForms = `a code, or {"code":"CODE","retry_after_ms":MILLISECONDS or null}`

// ParseResponse reads a response: a text is a scripted one, an object has
// exactly code and retry_after_ms, a whole number of milliseconds, at least 0,
// or null. Its error ends with ResponseForms.
func ParseResponse(text []byte) (Response, error) {
	value := jsontext.Value(text)
	if value.Kind() == '"' {
		var code record.Code
		if err := json.Unmarshal(value, &code); err != nil || code == "" {
			return Response{}, errResponse
		}
		return Scripted(code), nil
	}
	var read struct {
		Code record.Code    `json:"code"`
		Wait jsontext.Value `json:"retry_after_ms"`
	}
	if err := json.Unmarshal(value, &read, json.RejectUnknownMembers(true)); err != nil || read.Code == "" || read.Wait == nil {
		return Response{}, errResponse
	}
	var wait *int64
	if err := json.Unmarshal(read.Wait, &wait); err != nil || wait != nil && (*wait < 0 || *wait > maxWait) {
		return Response{}, errResponse
	}
	return Response{Code: read.Code, RetryAfterMS: wait}, nil
}

// maxWait is the largest whole number that every reader of JSON keeps exactly.
const maxWait = 1<<53 - 1

var errResponse = errors.New("not a response; valid: " + ResponseForms)

func (c *Conditions) outcome(answer []byte) outcome {
	response := c.response()
	if response.Code == record.OK {
		return outcome{body: answer, prose: "This is a simulated answer."}
	}
	r := &record.Record{Code: response.Code, Message: sentence(response.Code), RetryAfterMS: response.RetryAfterMS}
	return outcome{failure: r, prose: r.Message}
}

func (c *Conditions) response() Response {
	switch {
	case !c.AuthOK:
		return Response{Code: record.AuthRequired}
	case !c.Allowed:
		return Response{Code: record.AccessDenied}
	}
	return c.Respond()
}

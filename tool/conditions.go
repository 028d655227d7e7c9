package tool

import "remit.example/record"

// Conditions stand in for a backend's world in one execution of a simulated
// case: they are checked in this order, after the input.
type Conditions struct {
	AuthOK  bool // false: AUTH_REQUIRED
	Allowed bool // false: ACCESS_DENIED
	// Response is what the dependency answers; it is asked only by an execution
	// that reaches it. OK is the example answer.
	Response func() record.Code
}

// simulatedWait is the delay of TEMP_UNAVAILABLE in the fixture of
// recovery-v1, in milliseconds: a test input, no recommendation.
const simulatedWait = 1000

func (c *Conditions) outcome(answer []byte) outcome {
	code := c.code()
	if code == record.OK {
		return outcome{body: answer, prose: "This is a simulated answer."}
	}
	r := &record.Record{Code: code, Message: sentence(code)}
	if code == record.TempUnavailable {
		wait := int64(simulatedWait)
		r.RetryAfterMS = &wait
	}
	return outcome{failure: r, prose: r.Message}
}

func (c *Conditions) code() record.Code {
	switch {
	case !c.AuthOK:
		return record.AuthRequired
	case !c.Allowed:
		return record.AccessDenied
	}
	return c.Response()
}

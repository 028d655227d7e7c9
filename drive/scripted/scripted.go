// Package scripted judges callers. A tool server whose answers are scripted
// starts the client or agent once for each recovery case, notes when each of
// its calls arrives, and holds the calls to what the failures permitted.
//
// # What a caller is told
//
// Its environment is this program's, and
//
//	REMIT_URL          where to call: the complete address to POST to, or the MCP endpoint
//	REMIT_INPUT        the input, a JSON object
//	REMIT_CORRECTION   the first input that may replace one that was refused, or null
//	REMIT_CORRECTIONS  all of them, a JSON list, to be offered in this order
//	REMIT_RENEWAL      true or false: whether authentication is confirmed as re-established when it is asked for
//
// The address is also its last argument. Its standard input is empty, its
// standard output goes nowhere. It runs in a process group of its own, of which
// nothing is left running when it has ended. Its exit status is not judged.
//
// # What it meets
//
// The one tool is delivery_status, a read with the input shipment_ref. Nothing
// but the script validates what it is called with; beyond the script the last
// answer repeats. Each case has a listener of its own on 127.0.0.1.
//
// Over plain HTTP a call is a POST to /v1/tools/delivery_status. A success is
// {"status":"in_transit"}, a failure {"error","code","retryable","recovery"},
// where recovery is the record and retryable is true for TEMP_UNAVAILABLE alone:
//
//	OK                200
//	INVALID_ARGUMENT  400
//	AUTH_REQUIRED     401 with WWW-Authenticate
//	ACCESS_DENIED     403
//	TEMP_UNAVAILABLE  503 with Retry-After, in seconds rounded up
//	any other         500
//
// The record's retry_after_ms is exact, and it is what a caller is held to.
// Another path, method or Host, and a body over 1 MiB, are refused with a
// status of 4xx and {"error"} alone, and are no call. A body that is no JSON is
// a call all the same, with the body as a text for its input, and an empty one
// is a call with null.
//
// Over MCP the endpoint is /mcp, streamable HTTP without sessions, in the
// revision 2026-07-28 and in those that open with initialize. A failure has
// isError, the sentence as content[0], the body as content[1] and as
// structuredContent, and the record as _meta["remit/recovery"]. Absent
// arguments are {}. A call of another tool is a protocol error, and no call.
//
// # The verdict
//
// Each call is stamped before it is answered, so that a caller that waits from
// the answer on is never early. After 1000 calls of one case, or 16 MiB of
// inputs, the caller is killed and judged by those. A caller that makes no call
// voids the run. One that does not end in time is killed; it voids the run, and
// no further case is run, unless it still waits as the last failure asked it to:
// then it is judged by what it did.
package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"remit.example/oracle"
)

// The wires that a caller can be judged on.
const (
	HTTP = "http"
	MCP  = "mcp"
)

// DefaultTimeout bounds one case.
const DefaultTimeout = time.Minute

// Options is how callers are started.
type Options struct {
	Wire    string   // HTTP or MCP
	Command []string // the program and its arguments, to which the address is added
	// Timeout is how long the caller may take for one case, waits included; 0 = DefaultTimeout.
	Timeout time.Duration
	Stderr  io.Writer // gets what callers write to their standard error; nil = nobody
	// Progress is told after each case how many are done, of how many, and its
	// name; nil = nobody.
	Progress func(done, total int, name string)
}

func (o *Options) check(suite *oracle.Suite) error {
	switch {
	case suite.Contract != oracle.RecoveryV1:
		return fmt.Errorf("%s is a suite of %s; valid for a caller: a suite of %s", suite.Name, suite.Contract, oracle.RecoveryV1)
	case o.Wire != HTTP && o.Wire != MCP:
		return fmt.Errorf("a caller is served over %q; valid: %s, %s", o.Wire, HTTP, MCP)
	case len(o.Command) == 0:
		return errors.New("no caller is named; valid: a program and its arguments")
	case o.Timeout < 0:
		return fmt.Errorf("the caller has %s for each case; valid: a time above 0", o.Timeout)
	}
	return nil
}

// Judge runs the caller once for each case of a suite that its lint accepts,
// one after another. It returns an error where the caller cannot be started or
// ctx ends; what a caller does wrong stands in the outcome.
func Judge(ctx context.Context, suite *oracle.Suite, options Options) (*oracle.Outcome, error) {
	if err := options.check(suite); err != nil {
		return nil, err
	}
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	outcome := suite.NewOutcome()
	for at := range suite.Cases {
		ended, err := judgeCase(ctx, suite, at, &options, outcome)
		if err != nil {
			return nil, err
		}
		if options.Progress != nil {
			options.Progress(at+1, len(suite.Cases), suite.Cases[at].Name)
		}
		if !ended {
			break
		}
	}
	return outcome, nil
}

// errFlood and errTimeout are why a caller was killed.
var (
	errFlood   = errors.New("it makes calls without end")
	errTimeout = errors.New("its time is over")
)

// judgeCase runs the caller for one case. It reports whether the caller ended
// in time or was waiting as it should.
func judgeCase(ctx context.Context, suite *oracle.Suite, at int, options *Options, outcome *oracle.Outcome) (bool, error) {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	s, err := serve(options.Wire, suite.ScriptOf(at), func() { end(errFlood) })
	if err != nil {
		return false, err
	}
	running, stop := context.WithTimeoutCause(running, options.Timeout, errTimeout)
	defer stop()
	c := caller{options: options, url: s.url(), inputs: suite.Cases[at].Inputs()}
	err = c.run(running)
	s.close()
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return false, err
	}
	return verdict(suite, at, &c, s, outcome), nil
}

// verdict judges what a caller did that has ended. It reports what judgeCase
// does.
func verdict(suite *oracle.Suite, at int, c *caller, s *server, outcome *oracle.Outcome) bool {
	name := suite.Cases[at].Name
	outcome.NoCalls += s.noCalls()
	switch {
	case c.killed(errTimeout) && !s.asksToWait(c.killedAt):
		outcome.AddVoid("%s: the caller did not end within %s, and no further case was run%s", name, seconds(c.options.Timeout), &c.stderr)
		addFailure(suite, at, s.arrivals, outcome)
		return false
	case len(s.arrivals) == 0:
		outcome.AddVoid("%s: the caller made no call, so that nothing was judged (%s%s)%s", name, c.status, s.refusal(), &c.stderr)
	default:
		suite.JudgeCaller(outcome, at, s.arrivals)
	}
	return true
}

// addFailure counts a case whose caller did not end only if it fails by what
// the caller did until then.
func addFailure(suite *oracle.Suite, at int, arrivals []oracle.Arrival, outcome *oracle.Outcome) {
	alone := suite.NewOutcome()
	if suite.JudgeCaller(alone, at, arrivals); alone.Failed > 0 {
		suite.JudgeCaller(outcome, at, arrivals)
	}
}

// seconds is a time as messages show it.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%g s", d.Seconds())
}

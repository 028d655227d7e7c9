// Package drive judges tools over a wire: it sends them the cases of a suite
// and hands what they answer to package oracle. Packages drive/http and
// drive/mcp know the wires.
//
// # Which tool
//
// A case calls its tool by a logical name: delivery_status in a recovery
// suite, the case's member tool in a catalogue suite. That is
//
//   - the tool that the name is mapped to,
//   - or else the tool of exactly that name,
//   - or else, in a catalogue suite, the only tool with the promise of that name.
//
// Where several or none fit, no call is made. A server that lists no tools is
// taken at the mapping, or else at the logical name.
//
// # What is sent
//
// Recovery: the literal input of each execution, with the conditions that it
// meets, which a server in a sandbox sets. Catalogue: the case line without
// its member tool, the other bytes as they stand. One call is made after
// another, in the order of the suite, and none is repeated.
//
// # What is no answer
//
// A tool that cannot be reached, is late, breaks its protocol or answers with
// what is not JSON is a fault of the harness, and so is a server whose answers
// no conditions change. It fails no case: it makes the
// run void, and the rest of its case is not sent. After three faults in a row
// no other case is sent either. A case whose input a wire cannot carry as it is
// written is not sent and is unchecked.
package drive

import (
	"context"
	"errors"
	"time"

	"remit.example/oracle"
)

const (
	// DefaultTimeout bounds one call.
	DefaultTimeout = 30 * time.Second
	// MaxAnswer bounds the body of one answer, in bytes.
	MaxAnswer = 1 << 20
	// MaxList bounds one message that lists tools, in bytes.
	MaxList = 16 << 20

	// maxFaults bounds the faults in a row before a run is given up: a server
	// that hangs would take the timeout of every call.
	maxFaults = 3
)

// Tool is a tool as its server lists it.
type Tool struct {
	Name    string
	Promise string // what kind of answer it gives; "" where it does not say
}

// ErrNoList is the error of a server that answers calls and lists no tools.
var ErrNoList = errors.New("the server lists no tools")

// ErrNotCarried is the error of a call that was not made, because its input
// would not reach the tool as it is written. The case is unchecked.
var ErrNotCarried = errors.New("the input does not reach a tool as it is written")

// Tools are those of one server.
type Tools interface {
	// List lists them all. The error is or wraps ErrNoList where there is no list.
	List(ctx context.Context) ([]Tool, error)
	// Call makes one call, once. c and execution, from 1, are the conditions of
	// a sandbox; c is nil where there are none. An error is a fault of the
	// harness: whatever the tool itself answers, failures too, is no error.
	Call(ctx context.Context, name string, input []byte, c *oracle.Condition, execution int) (oracle.ToolAnswer, error)
}

// JudgeTools judges tools by a suite that can be trusted. names maps logical
// names to tools; those that the suite does not call by are not looked at. The
// error says why nothing was sent, a *NamesError which tools to choose, or that
// ctx has ended; what goes wrong later is in the outcome's Void.
func JudgeTools(ctx context.Context, suite *oracle.Suite, tools Tools, names map[string]string) (*oracle.Outcome, error) {
	bound, err := bind(ctx, suite, tools, names)
	if err != nil {
		return nil, err
	}
	r := &run{suite: suite, tools: tools, bound: bound, outcome: suite.NewOutcome(), got: map[string]map[string]bool{}, due: map[string]map[string]bool{}}
	for at := range suite.Cases {
		if r.faults == maxFaults {
			r.outcome.AddVoid("%d cases were not sent: %d calls in a row had no answer", len(suite.Cases)-at, maxFaults)
			break
		}
		r.send(ctx, at)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if r.ignored() {
		r.outcome.AddVoid("the server answers the same whatever conditions a call sets, so that it seems to ignore them; start it so that it honours Remit-Case, as remit serve --sandbox does")
	}
	return r.outcome, nil
}

// run is one suite on its way to the tools of a server.
type run struct {
	suite   *oracle.Suite
	tools   Tools
	bound   map[string]string // the tool behind each logical name
	outcome *oracle.Outcome
	faults  int // in a row
	// What each input was answered with, whatever the conditions, and what it
	// should have been.
	got, due map[string]map[string]bool
}

// ignored reports whether conditions made no difference: no input had two
// answers, and some should have had several.
func (r *run) ignored() bool {
	several := false
	for input, due := range r.due {
		if len(r.got[input]) > 1 {
			return false
		}
		several = several || len(due) > 1
	}
	return several
}

// note remembers the answers to the executions of a case.
func (r *run) note(c *oracle.Case, answers []oracle.ToolAnswer) {
	codes := c.Codes()
	for i, e := range c.Executions() {
		input := string(e.Input)
		if r.due[input] == nil {
			r.due[input], r.got[input] = map[string]bool{}, map[string]bool{}
		}
		r.due[input][codes[i]] = true
		answer := string(answers[i].Record)
		if answer == "" && answers[i].Failed {
			answer = codes[i] // it says nothing that could be compared
		}
		r.got[input][answer] = true
	}
}

// send makes the calls of one case, and has their answers judged.
func (r *run) send(ctx context.Context, at int) {
	c := &r.suite.Cases[at]
	if r.suite.Contract == oracle.CatalogueV1 {
		name, request := c.Request()
		if answer, ok := r.call(ctx, c, r.bound[name], request, nil, 1); ok {
			r.suite.JudgeAnswer(r.outcome, at, answer)
		}
		return
	}
	var answers []oracle.ToolAnswer
	for i, e := range c.Executions() {
		answer, ok := r.call(ctx, c, r.bound[recoveryTool], e.Input, &e.Condition, i+1)
		if !ok {
			return
		}
		answers = append(answers, answer)
	}
	r.note(c, answers)
	r.suite.JudgeTool(r.outcome, at, answers)
}

// call makes one call, and reports whether it had an answer.
func (r *run) call(ctx context.Context, c *oracle.Case, name string, input []byte, condition *oracle.Condition, execution int) (oracle.ToolAnswer, bool) {
	answer, err := r.tools.Call(ctx, name, input, condition, execution)
	if errors.Is(err, ErrNotCarried) {
		r.outcome.AddUnchecked("cases that were not sent", err.Error())
		return answer, false
	}
	if err != nil {
		r.faults++
		r.outcome.AddVoid("%s, execution %d: %w", c.Name, execution, err)
		return answer, false
	}
	r.faults = 0
	return answer, true
}

// Package tool binds a contract to its backends: it describes each tool and
// calls it. How a tool is spoken, and who may call it, is decided elsewhere.
//
// One call is one execution: it is counted when it starts, validation
// included. Every call gives an Answer; a failure is an answer too, with a
// typed record, and no call panics or returns nothing.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/recovery"
)

// Tool is one served tool. It is immutable and may be called by several
// goroutines at once.
type Tool struct {
	Service     *contract.Contract
	Name        string
	Description string // at most 500 code points
	Promise     contract.Promise
	Effect      record.Effect
	// InputSchema is a JSON Schema within the subset that browsers accept.
	InputSchema json.RawMessage
	// OutputSchema is {"type":"object","anyOf":[answer, failure]}.
	OutputSchema json.RawMessage
	Example      json.RawMessage // an input to try

	recordV1 bool // whether failures have the form of recovery-v1
	run      func(ctx context.Context, call Call) outcome
}

// Call is one call of a tool.
type Call struct {
	Input []byte // the request, one JSON object
	// Characters bounds the code points of the answer where it is not 0: a
	// page holds what fits, at least one item, and a failure names as many
	// fields as fit, at least one. It does not bound an answer of catalogue-v1.
	Characters int
	// Conditions, where they are not nil, answer in the place of a tool's
	// backend. A tool over a catalogue has none.
	Conditions *Conditions
}

// AgentCharacters is the budget for text that an agent reads in one call, in
// code points.
const AgentCharacters = 1500

// Answer is what one call gave.
type Answer struct {
	// Body is one JSON object without a newline at its end: the exact bytes of
	// the answer on every wire.
	Body []byte
	// Failure is nil for an answer that is none.
	Failure *record.Record
	// Prose says in one or two sentences what the answer establishes, never more.
	Prose string
}

// Set is the tools that one server serves, in order. Names are unique.
type Set struct {
	tools  []*Tool
	byName map[string]*Tool
}

// NewSet joins the tools of several services. A name taken twice is an error
// that names both services.
func NewSet(services ...[]*Tool) (*Set, error) {
	set := &Set{byName: map[string]*Tool{}}
	for _, tools := range services {
		for _, t := range tools {
			if other, taken := set.byName[t.Name]; taken {
				return nil, fmt.Errorf("tool %s is declared by both %s and %s; one server needs different names", t.Name, other.Service.Service, t.Service.Service)
			}
			set.byName[t.Name] = t
			set.tools = append(set.tools, t)
		}
	}
	return set, nil
}

// Tools lists the tools in order.
func (s *Set) Tools() []*Tool { return s.tools }

// Lookup finds a tool by its exact name.
func (s *Set) Lookup(name string) (*Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// outcome is what an execution gave, before what follows from code, effect and
// budget is filled in.
type outcome struct {
	// body is one JSON object: the whole answer, or the leading members of a
	// failed one, nil where it has none.
	body    []byte
	failure *record.Record // of a failed one: code, message, field, fields, wait
	prose   string
}

// Call executes the tool once.
func (t *Tool) Call(ctx context.Context, call Call) Answer {
	o := t.run(ctx, call)
	if o.failure == nil {
		return Answer{Body: o.body, Prose: o.prose}
	}
	answer := t.failed(o, 1)
	for r := o.failure; call.Characters > 0 && len(r.Fields) > 1 && utf8.RuneCount(answer.Body) > call.Characters; {
		r.Fields = r.Fields[:len(r.Fields)-1] // the first are mended first
		answer = t.failed(o, 1)
	}
	return answer
}

// Fail is the answer of a call that was refused before it was executed, such
// as one over a rate: r needs a code, a message and, where it applies, a wait.
func (t *Tool) Fail(r *record.Record) Answer {
	return t.failed(outcome{failure: r, prose: r.Error()}, 0)
}

// Ended is the answer of a call that may have been executed and whose own
// answer nobody has, such as one that was lost on its way: r as for Fail.
func (t *Tool) Ended(r *record.Record) Answer {
	return t.failed(outcome{failure: r, prose: r.Error()}, 1)
}

// failed completes a failure. executions is how many of a task one call is
// known to have used: the caller counts its task, a server sees one call.
func (t *Tool) failed(o outcome, executions int) Answer {
	r := o.failure
	table := recovery.V2
	if t.recordV1 {
		table = recovery.V1
	} else {
		r.Contract, r.Domain = record.V2, t.Service.Service
		budget := record.NewBudget(t.Service.Limit(), executions)
		r.Budget = &budget
	}
	table.Fill(r, t.Effect)
	body := append(bytes.TrimSuffix(o.body, []byte("}")), ',')
	if o.body == nil {
		body = []byte("{")
	}
	return Answer{Body: append(r.AppendFailure(body), '}'), Failure: r, Prose: o.prose}
}

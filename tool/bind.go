package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"remit.example/catalogue"
	"remit.example/contract"
	"remit.example/record"
)

// Backing is what the tools of one contract answer from.
type Backing struct {
	// Catalogue is nil where the contract has no data.
	Catalogue *catalogue.Source
	// Files holds the files that the contract names, relative to it.
	Files fs.FS
	// Client sends the requests of http backends; nil: one that follows no
	// redirect and repeats nothing.
	Client *http.Client
	// Getenv reads an environment variable and whether it is set.
	Getenv func(name string) (string, bool)
	// Now tells how long a Retry-After date is away; nil: time.Now.
	Now func() time.Time
}

// Bind makes the tools of a valid contract, in its order. An error says which
// file, row or environment variable is at fault, or that the contract guards
// the tools of another server.
func Bind(c *contract.Contract, backing Backing) ([]*Tool, error) {
	if c.Upstream != nil {
		return nil, fmt.Errorf("%s: the contract guards the tools of its upstream and serves none; run: remit guard --contract %s", c.Source.Name, c.Source.Name)
	}
	var tools []*Tool
	for _, entry := range c.Tools {
		t, err := bind(c, entry.Name, entry.Value, backing)
		if err != nil {
			return nil, fmt.Errorf("%s: tool %s: %w", c.Source.Name, entry.Name, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func bind(c *contract.Contract, name string, declared *contract.Tool, backing Backing) (*Tool, error) {
	t := &Tool{
		Service: c, Name: name, Promise: declared.Promise, Effect: effectOf(declared),
		recordV1: declared.Record == contract.RecoveryV1,
	}
	if declared.Backend == nil {
		t.fromCatalogue(catalogue.New(*backing.Catalogue, name))
		return t, nil
	}
	return t, t.fromBackend(declared, backing)
}

// effectOf is the declared effect; what only reads says so by its promise.
func effectOf(declared *contract.Tool) record.Effect {
	switch {
	case declared.Effect != "":
		return record.Effect(declared.Effect)
	case declared.Promise == contract.Command:
		return record.Unsafe
	}
	return record.Read
}

func (t *Tool) fromCatalogue(c *catalogue.Tool) {
	t.Description, t.InputSchema, t.Example = c.Description(), c.InputSchema(), c.Example()
	t.OutputSchema = outputSchema(c.AnswerSchema())
	t.run = func(ctx context.Context, call Call) outcome {
		answer := c.Answer(ctx, call.Input, call.Characters)
		return outcome{answer.Body, answer.Failure, answer.Prose}
	}
}

func (t *Tool) fromBackend(declared *contract.Tool, backing Backing) error {
	ask, err := backendOf(t, declared, backing)
	if err != nil {
		return err
	}
	t.Description = declared.Description
	if t.Description == "" {
		t.Description = fmt.Sprintf("Returns %s for one %s.", catalogue.Joined(declared.Answer.Names(), "and"), catalogue.Joined(declared.Input.Names(), "and"))
	}
	t.InputSchema, t.Example = inputSchema(declared), example(declared)
	t.OutputSchema = outputSchema(answerSchema(declared))
	arguments, answer := argumentsOf(declared), exampleAnswer(declared)
	t.run = func(ctx context.Context, call Call) outcome {
		given, faults := arguments.decode(call.Input)
		if len(faults) > 0 {
			return refused(faults)
		}
		if call.Conditions != nil {
			return call.Conditions.outcome(answer)
		}
		return ask(ctx, given)
	}
	return nil
}

// refused is the outcome of an input that the contract does not accept.
func refused(faults []catalogue.Fault) outcome {
	return outcome{prose: faults[0].Message, failure: &record.Record{
		Code: record.InvalidArgument, Message: faults[0].Message,
		Field: faults[0].Field(), Fields: catalogue.Fields(faults),
	}}
}

func backendOf(t *Tool, declared *contract.Tool, backing Backing) (backend, error) {
	if declared.Backend.Fixture != nil {
		return fixture(declared, backing.Files)
	}
	s, err := newService(t, declared, backing)
	if err != nil {
		return nil, err
	}
	return s.ask, nil
}

// backend answers one execution whose input is valid.
type backend func(ctx context.Context, given arguments) outcome

// failureSchema is the JSON Schema of a failed answer.
const failureSchema = `{"type":"object","properties":{"error":{"type":"string"},"code":{"type":"string"},"retryable":{"type":"boolean"},"recovery":{"type":"object"}},"required":["error","code","retryable","recovery"]}`

// outputSchema admits an answer and a failure: some clients hold the result of
// a failed call against the schema too.
func outputSchema(answer []byte) json.RawMessage {
	return slices.Concat([]byte(`{"type":"object","anyOf":[`), answer, []byte(","+failureSchema+"]}"))
}

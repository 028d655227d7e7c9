package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"remit.example/catalogue"
	"remit.example/record"
	"remit.example/recovery"
	"remit.example/tool"
)

const replayLong = `Run the built-in implementation as a program under test: case lines on standard
input, result lines on standard output.

recovery-v1 reads cases with the members case, input, auth_ok, allowed,
responses, correction and renewal, and writes one line for each execution.
Where corrections, a list, stands in the place of correction, each response
is {"code", "retry_after_ms"}. Time is simulated: it starts at 0 for each
case, and nothing sleeps.

catalogue-v1 reads typed requests whose tool is search, rank_preferences or
assess_suitability, and writes one answer for each, over the six task lights.

guard-v1 reads calls and events at exact times with a server that answers by a
script, and writes what became of each call, and when the server was asked. The
time is that of the case.

A faulty line is an error that names it; then nothing is printed, exit 2.`

const replayExample = `  remit replay recovery-v1 < recovery/testdata/recovery-v1.cases.jsonl
  remit replay catalogue-v1 < catalogue/testdata/catalogue-v1.cases.jsonl`

// replays are the suites that the built-in implementation can be run for.
var replays = map[string]func() (replayer, error){
	"recovery-v1":  newRecoveryReplay,
	"catalogue-v1": newCatalogueReplay,
	"guard-v1":     newGuardReplay,
}

// replayer answers one case with its result lines.
type replayer func(ctx context.Context, line []byte) ([]byte, error)

func newReplay() *cobra.Command {
	return &cobra.Command{
		Use:       "replay recovery-v1|catalogue-v1|guard-v1",
		Short:     "Run the built-in implementation on case lines",
		Long:      replayLong,
		Example:   replayExample,
		ValidArgs: []string{"recovery-v1", "catalogue-v1", "guard-v1"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || replays[args[0]] == nil {
				return usage("replay takes one suite; valid: recovery-v1, catalogue-v1, guard-v1")
			}
			replay, err := replays[args[0]]()
			if err != nil {
				return err
			}
			return replayAll(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), replay)
		},
	}
}

// maxCase bounds one case line, in bytes.
const maxCase = 1 << 20

// maxFaults bounds the faulty lines that are reported one by one.
const maxFaults = 20

// replayAll answers every line, or none where one is faulty.
func replayAll(ctx context.Context, in io.Reader, out io.Writer, replay replayer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxCase)
	var results bytes.Buffer
	var faults []error
	number, faulty := 0, 0
	for lines.Scan() {
		number++
		result, err := replay(ctx, lines.Bytes())
		results.Write(result)
		if err == nil {
			continue
		}
		if faulty++; faulty <= maxFaults {
			faults = append(faults, fmt.Errorf("line %d: %w", number, err))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		faults = append(faults, fmt.Errorf("line %d: a case has at most %d bytes", number+1, maxCase))
	case err != nil:
		return err
	case number == 0:
		faults = append(faults, errors.New("no case on standard input; give one a line"))
	}
	if faulty > maxFaults {
		faults = append(faults, fmt.Errorf("and %d more faulty lines", faulty-maxFaults))
	}
	if len(faults) > 0 {
		return badInput(errors.Join(faults...))
	}
	_, err := out.Write(results.Bytes())
	return err
}

// recoveryCase is one case of recovery-v1: conditions without expectations. It
// has either Correction, and responses that are codes, or Corrections, and
// responses that state their waits.
type recoveryCase struct {
	Case        string           `json:"case"`
	Input       jsontext.Value   `json:"input"`
	AuthOK      *bool            `json:"auth_ok"`
	Allowed     *bool            `json:"allowed"`
	Responses   []jsontext.Value `json:"responses"`
	Correction  jsontext.Value   `json:"correction"`
	Corrections []jsontext.Value `json:"corrections"`
	Renewal     *bool            `json:"renewal"`

	script []tool.Response // Responses, decoded
}

// traceLine is one execution of a case.
type traceLine struct {
	Case        string              `json:"case"`
	Execution   int                 `json:"execution"`
	Input       jsontext.Value      `json:"input"`
	AuthOK      bool                `json:"auth_ok"`
	Code        record.Code         `json:"code"`
	Action      string              `json:"action"`
	AtMS        int64               `json:"at_ms"`
	Disposition *record.Disposition `json:"disposition"`
}

// newRecoveryReplay runs cases against the tool of examples/delivery-status.
func newRecoveryReplay() (replayer, error) { return replayUnder(recovery.V1) }

// replayUnder runs them by a decision table.
func replayUnder(table *recovery.Table) (replayer, error) {
	t, err := builtinTool("delivery-status", "delivery_status")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, line []byte) ([]byte, error) {
		c, err := readRecoveryCase(line)
		if err != nil {
			return nil, err
		}
		return (&simulation{tool: t, table: table, recoveryCase: c, authOK: *c.AuthOK}).run(ctx)
	}, nil
}

func readRecoveryCase(line []byte) (recoveryCase, error) {
	var c recoveryCase
	if err := json.Unmarshal(line, &c, json.RejectUnknownMembers(true)); err != nil {
		return c, fmt.Errorf("not a case of recovery-v1: %w", err)
	}
	if c.Correction != nil && c.Corrections != nil {
		return c, errors.New("not a case of recovery-v1: it has correction and corrections; valid: one of them")
	}
	var missing []string
	for _, member := range []struct {
		name   string
		absent bool
	}{
		{"case", c.Case == ""},
		{"input", c.Input.Kind() != '{'},
		{"auth_ok", c.AuthOK == nil},
		{"allowed", c.Allowed == nil},
		{"responses", c.readScript() != nil},
		{"correction", c.Corrections == nil && c.Correction.Kind() != '{' && c.Correction.Kind() != 'n'},
		{"corrections", slices.ContainsFunc(c.Corrections, notObject)},
		{"renewal", c.Renewal == nil},
	} {
		if member.absent {
			missing = append(missing, member.name)
		}
	}
	if len(missing) > 0 {
		return c, fmt.Errorf("not a case of recovery-v1: missing or of the wrong type: %s", strings.Join(missing, ", "))
	}
	return c, c.compact()
}

func notObject(value jsontext.Value) bool { return value.Kind() != '{' }

// readScript decodes the responses: codes beside correction, and codes with
// their waits beside corrections.
func (c *recoveryCase) readScript() error {
	if c.Responses == nil {
		return errors.New("there are no responses")
	}
	for _, response := range c.Responses {
		if (response.Kind() == '{') != (c.Corrections != nil) {
			return errors.New("a response has the other form")
		}
		read, err := tool.ParseResponse(response)
		if err != nil {
			return err
		}
		c.script = append(c.script, read)
	}
	return nil
}

// compact takes white space out of what the trace shows.
func (c *recoveryCase) compact() error {
	faults := []error{c.Input.Compact()}
	if c.Correction != nil {
		faults = append(faults, c.Correction.Compact())
	}
	for i := range c.Corrections {
		faults = append(faults, c.Corrections[i].Compact())
	}
	return errors.Join(faults...)
}

// simulation is one case as it runs.
type simulation struct {
	recoveryCase
	tool   *tool.Tool
	table  *recovery.Table
	authOK bool
	asked  int // executions that reached the dependency
	// corrected is how many of Corrections were supplied.
	corrected int
	starts    []started
	steps     []recovery.Step
}

// started is what an execution began with.
type started struct {
	input  jsontext.Value
	authOK bool
}

func (s *simulation) run(ctx context.Context) ([]byte, error) {
	_, err := recovery.Do(ctx, &recovery.Task[jsontext.Value, struct{}]{
		Effect: record.Read, Table: s.table, Clock: &recovery.Simulated{},
		MinDelay: recovery.None, Jitter: recovery.None, Arguments: canonical,
		Correct: func(context.Context, jsontext.Value, *record.Record) (jsontext.Value, bool, error) {
			correction, ok := s.correct()
			return correction, ok, nil
		},
		Authenticate: func(context.Context, *record.Record) (bool, error) {
			s.authOK = s.authOK || *s.Renewal
			return *s.Renewal, nil
		},
		Observe: func(step recovery.Step) { s.steps = append(s.steps, step) },
	}, s.Input, s.execute)
	if s.asked > len(s.script) {
		return nil, fmt.Errorf("case %s: execution %d reaches the dependency and responses has no entry %d for it", s.Case, len(s.starts), s.asked)
	}
	if _, ended := errors.AsType[*recovery.Ended](err); err != nil && !ended {
		return nil, err
	}
	return s.trace()
}

// correct is the replacement that the caller supplies: the one correction each
// time, or the next of several until they are used up.
func (s *simulation) correct() (jsontext.Value, bool) {
	if s.Corrections == nil {
		return s.Correction, s.Correction.Kind() == '{'
	}
	if s.corrected == len(s.Corrections) {
		return nil, false
	}
	s.corrected++
	return s.Corrections[s.corrected-1], true
}

// canonical is an input without what makes no difference: the order of its
// members and how its texts and numbers are written.
func canonical(input jsontext.Value) any {
	plain := input.Clone()
	if err := plain.Canonicalize(); err != nil { // it was read from a case
		panic(err)
	}
	return plain
}

// execute is one execution of the tool under the case's conditions.
func (s *simulation) execute(ctx context.Context, input jsontext.Value) (struct{}, error) {
	s.starts = append(s.starts, started{input, s.authOK})
	answer := s.tool.Call(ctx, tool.Call{Input: input, Conditions: &tool.Conditions{
		AuthOK: s.authOK, Allowed: *s.Allowed, Respond: s.respond,
	}})
	if failure := answer.Failure; failure != nil {
		// recovery-v1 has these four members: what else the tool knows, such as
		// the next action, must not decide in the place of the policy.
		return struct{}{}, &record.Record{Code: failure.Code, Message: failure.Message, Field: failure.Field, RetryAfterMS: failure.RetryAfterMS}
	}
	return struct{}{}, nil
}

// respond is the dependency's next answer. A script that runs out gives no
// answer at all: run reports the case as faulty.
func (s *simulation) respond() tool.Response {
	s.asked++
	if s.asked > len(s.script) {
		return tool.Response{}
	}
	return s.script[s.asked-1]
}

func (s *simulation) trace() ([]byte, error) {
	var lines bytes.Buffer
	for i, step := range s.steps {
		line := traceLine{
			Case: s.Case, Execution: step.Execution, Input: s.starts[i].input, AuthOK: s.starts[i].authOK,
			Code: step.Code, Action: step.Action.V1(), AtMS: step.AtMS,
		}
		if step.Disposition != "" {
			line.Disposition = &step.Disposition
		}
		if err := json.MarshalWrite(&lines, line, json.FormatNilSliceAsNull(true)); err != nil {
			return nil, err
		}
		lines.WriteByte('\n')
	}
	return lines.Bytes(), nil
}

// newCatalogueReplay answers requests from the tools of examples/task-lights.
func newCatalogueReplay() (replayer, error) {
	source, err := builtinCatalogue("task-lights")
	if err != nil {
		return nil, err
	}
	tools := map[string]*catalogue.Tool{}
	for _, declared := range source.Contract.Tools {
		tools[string(declared.Value.Promise)] = catalogue.New(*source, declared.Name)
	}
	return func(ctx context.Context, line []byte) ([]byte, error) {
		promise, request, err := readCatalogueCase(line)
		if err != nil {
			return nil, err
		}
		t, ok := tools[promise]
		if !ok {
			return nil, fmt.Errorf("no tool is named %q; valid: search, rank_preferences, assess_suitability", promise)
		}
		// The body of a failed answer ends here with its v1 members: the rest
		// belongs to a wire.
		return append(t.Answer(ctx, request, 0).Body, '\n'), nil
	}, nil
}

// readCatalogueCase takes the member tool out of a typed request; the rest
// stays as it was written, duplicates and numbers included.
func readCatalogueCase(line []byte) (promise string, request []byte, err error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return "", nil, errors.New("not a case of catalogue-v1: it is no JSON object")
	}
	request = []byte("{")
	tools := 0
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadValue()
		if err != nil {
			return "", nil, fmt.Errorf("not a case of catalogue-v1: %w", err)
		}
		name = name.Clone()
		plainName, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return "", nil, fmt.Errorf("not a case of catalogue-v1: %w", err)
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return "", nil, fmt.Errorf("not a case of catalogue-v1: %w", err)
		}
		if string(plainName) == "tool" {
			tools++
			if value.Kind() != '"' {
				return "", nil, fmt.Errorf("not a case of catalogue-v1: the tool is %s; valid: a text", value)
			}
			text, _ := jsontext.AppendUnquote(nil, value) // a text that was read is valid
			promise = string(text)
			continue
		}
		if len(request) > 1 {
			request = append(request, ',')
		}
		request = append(append(append(request, name...), ':'), value...)
	}
	if tools != 1 {
		return "", nil, fmt.Errorf("not a case of catalogue-v1: it names %d tools; valid: one member tool", tools)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return "", nil, fmt.Errorf("not a case of catalogue-v1: %w", err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return "", nil, errors.New("not a case of catalogue-v1: something follows the object")
	}
	return promise, append(request, '}'), nil
}

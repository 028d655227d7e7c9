package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/record"
	"remit.example/recovery"
)

const (
	service     = "orders"
	orderPrefix = "ord_"
	keyArgument = "idempotency_key"
)

// argument is one argument of a tool.
type argument struct {
	name, about string
	pattern     string // of a text; "": any of 1 to most characters
	most        int    // characters of a text without a pattern; or the greatest of a number
	values      []string
	isNumber    bool // from 1
	optional    bool
}

var (
	orderArgument    = argument{name: "order", about: "the id of an order, such as ord_1", pattern: `^ord_[1-9][0-9]{0,15}$`}
	customerArgument = argument{name: "customer", about: "the id of a customer, such as C1", pattern: `^C[0-9]{1,9}$`}
	keyOfWrite       = argument{name: keyArgument, about: "a new text for each write, and the same one to ask for its answer again", most: 128}
	reference        = argument{name: "reference", about: "the customer's own reference of the order, such as PO-7", pattern: `^[A-Z0-9-]{1,32}$`}
)

// optional is an argument that may be absent.
func optional(a argument) argument {
	a.optional = true
	return a
}

// call makes one call of a tool. An error is none of the caller's.
type call func(ctx context.Context, in input) (answer []byte, failure *record.Record, err error)

// tool is one tool of the server.
type tool struct {
	name, about string
	effect      record.Effect
	arguments   []argument
	call        call
	inProse     bool // failures are sentences alone
}

// newServer is the service as an MCP server.
func newServer(s *shop, l *loser) *sdk.Server {
	keyed := func(name string, do func(input) work) call {
		return func(ctx context.Context, in input) ([]byte, *record.Record, error) {
			return s.once(ctx, name, in.text(keyArgument), in.without(keyArgument), do(in))
		}
	}
	server := sdk.NewServer(&sdk.Implementation{Name: service, Version: "1"}, nil)
	for _, t := range []*tool{
		{
			name: "place_order", about: "Places an order and charges the customer for it.", effect: record.Keyed, call: keyed("place_order", place),
			arguments: []argument{
				customerArgument, reference,
				{name: "item", about: "what is ordered", values: []string{"lamp", "shade", "bulb"}},
				{name: "quantity", about: "how many of it", isNumber: true, most: 99},
				keyOfWrite,
			},
		},
		{
			name: "cancel_order", about: "Cancels an order that is placed.", effect: record.Keyed, call: keyed("cancel_order", cancel),
			arguments: []argument{orderArgument, keyOfWrite},
		},
		{
			name: "refund_order", about: "Pays back what a cancelled order had cost.", effect: record.Keyed, call: keyed("refund_order", refund),
			arguments: []argument{orderArgument, keyOfWrite},
		},
		{
			name: "notify_customer", about: "Sends the customer of an order a message, each time that it is called.", effect: record.Unsafe, inProse: true,
			arguments: []argument{orderArgument, {name: "text", about: "the message", most: 500}},
			call: func(ctx context.Context, in input) ([]byte, *record.Record, error) {
				known, err := s.notify(ctx, in)
				if err == nil && !known {
					return nil, &record.Record{Code: record.InvalidArgument, Message: "No order " + in.text("order") + " is known."}, nil
				}
				return []byte(`{"queued":true}`), nil, err
			},
		},
		{
			name: "get_order", about: "Reads one order by its id, or those of a customer, all or with one reference. The state is that of the newest, none where there is no order.",
			effect: record.Read, arguments: []argument{optional(orderArgument), optional(customerArgument), optional(reference)},
			call: func(ctx context.Context, in input) ([]byte, *record.Record, error) {
				switch {
				case !in.has("order") && !in.has("customer"):
					return nil, invalid("order", "missing", "order or customer", "One of order and customer is needed."), nil
				case in.has("order") && in.has("customer"):
					return nil, invalid("customer", "excluded", "order or customer", "Only one of order and customer can be asked for."), nil
				case in.has("order") && in.has("reference"):
					return nil, invalid("reference", "excluded", "a reference beside customer", "A reference is one of a customer; leave it out beside order."), nil
				}
				answer, err := s.get(ctx, in)
				return answer, nil, err
			},
		},
	} {
		server.AddTool(t.definition(), func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return t.handle(ctx, request, l)
		})
	}
	return server
}

// workTime bounds one call.
const workTime = 30 * time.Second

// handle makes one call. What was begun no longer depends on the caller.
func (t *tool) handle(ctx context.Context, request *sdk.CallToolRequest, l *loser) (*sdk.CallToolResult, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer stop()
	in, failure := t.read(request.Params.Arguments)
	if failure != nil {
		return t.failed(failure), nil
	}
	lost := never
	if t.effect != record.Read {
		lost = l.moment()
	}
	if lost == before {
		l.lose(request)
		return &sdk.CallToolResult{}, nil // to nobody
	}
	answer, failure, err := t.call(ctx, in)
	if lost == after {
		l.lose(request)
	}
	if err != nil {
		failure = t.refused(&record.Record{Code: record.TempUnavailable, RetryAfterMS: new(int64(1000)), WaitKind: record.Outage, Message: "The orders cannot be reached."})
		if errors.Is(err, errUncertain) {
			failure = &record.Record{Code: record.OutcomeUnknown, Outcome: record.NotKnown, Message: "Whether this took effect is not known."}
		}
	}
	if failure != nil {
		return t.failed(failure), nil
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(answer)}}, StructuredContent: json.RawMessage(answer)}, nil
}

// failed is a failure as the protocol carries it: the sentence, the body, the
// record.
func (t *tool) failed(r *record.Record) *sdk.CallToolResult {
	if t.inProse {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: r.Error()}}}
	}
	r.Contract, r.Domain = record.V2, service
	r.Budget = new(record.NewBudget(recovery.DefaultLimit, 1)) // it does not know of earlier ones
	recovery.V2.Fill(r, t.effect)
	body := append(r.AppendFailure([]byte("{")), '}')
	return &sdk.CallToolResult{
		IsError: true,
		Content: []sdk.Content{&sdk.TextContent{Text: r.Error()}, &sdk.TextContent{Text: string(body)}},
		Meta:    sdk.Meta{"remit/recovery": json.RawMessage(r.Append(nil))}, StructuredContent: json.RawMessage(body),
	}
}

// invalid is the failure of one argument.
func invalid(name, reason, accepted, message string) *record.Record {
	return &record.Record{
		Code: record.InvalidArgument, Field: name, Message: message, Outcome: record.NotApplied,
		Fields: []record.Field{{Pointer: "/" + name, Reason: reason, Accepted: accepted}},
	}
}

// input is the arguments of a call, which were read.
type input map[string]jsontext.Value

func (in input) has(name string) bool { return in[name] != nil }

// text is the value of a text; "" where it is absent.
func (in input) text(name string) string {
	text, _ := jsontext.AppendUnquote(nil, in[name])
	return string(text)
}

// number is the value of a number.
func (in input) number(name string) int {
	n, _ := strconv.Atoi(string(in[name]))
	return n
}

// order is the number of the order that is named; 0 where none is.
func (in input) order() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(in.text("order"), orderPrefix))
	return n
}

// without is the JSON of all arguments but one.
func (in input) without(name string) jsontext.Value {
	rest := record.Object{}
	for other, value := range in {
		if other != name {
			rest.Add(other, value)
		}
	}
	return rest.JSON()
}

// read reads the arguments of a call; a failure names all that are at fault.
func (t *tool) read(text []byte) (input, *record.Record) {
	in, names, err := members(text)
	if err != nil {
		return nil, t.refused(&record.Record{Code: record.InvalidArgument, Message: "The arguments are no JSON object with each member once."})
	}
	var fields []record.Field
	for _, a := range t.arguments {
		switch value := in[a.name]; {
		case value == nil && a.optional:
		case value == nil:
			fields = append(fields, record.Field{Pointer: "/" + a.name, Reason: "missing", Accepted: a.accepts()})
		case !a.takes(value):
			fields = append(fields, record.Field{Pointer: "/" + a.name, Reason: "not_accepted", Accepted: a.accepts()})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(t.arguments, func(a argument) bool { return a.name == name }) {
			fields = append(fields, record.Field{Pointer: "/" + pointer.Replace(name), Reason: "unknown", Accepted: "one of: " + t.names()})
		}
	}
	if len(fields) == 0 {
		return in, nil
	}
	first := fields[0]
	name := unpointer.Replace(strings.TrimPrefix(first.Pointer, "/"))
	return nil, t.refused(&record.Record{
		Code: record.InvalidArgument, Field: name, Fields: fields,
		Message: fmt.Sprintf("%s is %s; valid: %s.", name, strings.ReplaceAll(first.Reason, "_", " "), first.Accepted),
	})
}

var (
	pointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unpointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// refused adds that a write was not begun.
func (t *tool) refused(r *record.Record) *record.Record {
	if t.effect != record.Read {
		r.Outcome = record.NotApplied
	}
	return r
}

func (t *tool) names() string {
	var names []string
	for _, a := range t.arguments {
		names = append(names, a.name)
	}
	return strings.Join(names, ", ")
}

// members are those of a JSON object, and their names in order. No arguments
// are none.
func members(text []byte) (input, []string, error) {
	in, names := input{}, []string(nil)
	if len(text) == 0 {
		return in, nil, nil
	}
	if value := jsontext.Value(text); !value.IsValid() || value.Kind() != '{' {
		return nil, nil, errors.New("no object")
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, nil, err
	}
	for decoder.PeekKind() == '"' {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		name := token.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		in[name], names = value.Clone(), append(names, name)
	}
	return in, names, nil
}

// takes reports whether a value is one of the argument's.
func (a argument) takes(value jsontext.Value) bool {
	if a.isNumber {
		n, err := strconv.Atoi(string(value))
		return err == nil && n >= 1 && n <= a.most && value.Kind() == '0'
	}
	if value.Kind() != '"' {
		return false
	}
	text := input{a.name: value}.text(a.name)
	switch {
	case a.values != nil:
		return slices.Contains(a.values, text)
	case a.pattern != "":
		return regexp.MustCompile(a.pattern).MatchString(text)
	}
	return text != "" && utf8.RuneCountInString(text) <= a.most
}

// accepts says which values are.
func (a argument) accepts() string {
	switch {
	case a.isNumber:
		return fmt.Sprintf("a whole number from 1 to %d", a.most)
	case a.values != nil:
		return "one of: " + strings.Join(a.values, ", ")
	case a.pattern != "":
		return a.about
	}
	return fmt.Sprintf("a text of 1 to %d characters", a.most)
}

func (a argument) schema() map[string]any {
	s := map[string]any{"type": "string", "description": a.about}
	switch {
	case a.isNumber:
		s["type"], s["minimum"], s["maximum"] = "integer", 1, a.most
	case a.values != nil:
		s["enum"] = a.values
	case a.pattern != "":
		s["pattern"] = a.pattern
	default:
		s["minLength"], s["maxLength"] = 1, a.most
	}
	return s
}

// definition is the tool as it is listed.
func (t *tool) definition() *sdk.Tool {
	properties, required := map[string]any{}, []string{}
	for _, a := range t.arguments {
		properties[a.name] = a.schema()
		if !a.optional {
			required = append(required, a.name)
		}
	}
	reads := t.effect == record.Read
	return &sdk.Tool{
		Name: t.name, Description: t.about,
		InputSchema: map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false},
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads, IdempotentHint: reads, DestructiveHint: new(!reads), OpenWorldHint: new(false)},
	}
}

package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"remit.example/catalogue"
	"remit.example/contract"
	"remit.example/record"
)

// arguments is an input that was understood: each argument's JSON, in the
// order of the contract.
type arguments []given

type given struct {
	name string
	json string
	text string // of a text its content, of any other its JSON
}

// text is an argument's text, "" where it is absent.
func (a arguments) text(name string) string {
	for _, g := range a {
		if g.name == name {
			return g.text
		}
	}
	return ""
}

// object is the input as JSON, in the order of the contract.
func (a arguments) object() []byte {
	object := []byte("{")
	for i, g := range a {
		if i > 0 {
			object = append(object, ',')
		}
		object = append(record.AppendString(object, g.name), ':')
		object = append(object, g.json...)
	}
	return append(object, '}')
}

// acceptor is what a tool with a backend accepts.
type acceptor struct {
	inputs   contract.Ordered[*contract.Input]
	patterns map[string]*regexp.Regexp
}

func argumentsOf(declared *contract.Tool) acceptor {
	a := acceptor{declared.Input, map[string]*regexp.Regexp{}}
	for _, input := range declared.Input {
		if input.Value.Pattern != "" {
			pattern, err := input.Value.Regexp()
			if err != nil { // validation compiled it before
				panic(err)
			}
			a.patterns[input.Name] = pattern
		}
	}
	return a
}

// decode reads an input: the faults of known arguments in the order of the
// contract, then those of unknown ones.
func (a acceptor) decode(input []byte) (arguments, []catalogue.Fault) {
	object, err := catalogue.ParseNode(input)
	if err == nil && object.Kind != '{' {
		err = fmt.Errorf("it is something else")
	}
	if err != nil {
		return nil, []catalogue.Fault{{Reason: "malformed", Accepted: "object", Message: fmt.Sprintf("The input must be one JSON object; %v.", err)}}
	}
	var accepted arguments
	var faults []catalogue.Fault
	for _, input := range a.inputs {
		node, times := object.Get(input.Name)
		if times == 0 && input.Value.Optional {
			continue
		}
		reason := a.check(input.Name, input.Value, node, times)
		if reason != "" {
			faults = append(faults, a.fault(input.Name, input.Value, reason))
			continue
		}
		accepted = append(accepted, givenBy(input.Name, node))
	}
	return accepted, append(faults, catalogue.UnknownMembers(object, a.inputs.Names())...)
}

func givenBy(name string, node *catalogue.Node) given {
	switch node.Kind {
	case '"':
		return given{name, string(record.AppendString(nil, node.Text)), node.Text}
	case 't':
		return given{name, "true", "true"}
	case 'f':
		return given{name, "false", "false"}
	}
	text := node.Text
	if n, whole := catalogue.WholeNumber(node); whole { // -0 is 0
		text = strconv.FormatInt(n, 10)
	}
	return given{name, text, text}
}

// check says why an argument is not accepted, "" where it is.
func (a acceptor) check(name string, input *contract.Input, node *catalogue.Node, times int) string {
	switch {
	case times == 0:
		return "missing"
	case times > 1:
		return "duplicate"
	}
	switch input.Type {
	case "integer":
		return checkInteger(input, node)
	case "boolean":
		if node.Kind != 't' && node.Kind != 'f' {
			return "wrong_type"
		}
		return ""
	}
	switch {
	case node.Kind != '"':
		return "wrong_type"
	case node.Text == "":
		return "empty"
	case a.patterns[name] != nil && !a.patterns[name].MatchString(node.Text):
		return "malformed"
	case input.Values != nil && !slices.Contains(input.Values, node.Text):
		return "not_declared"
	}
	return ""
}

func checkInteger(input *contract.Input, node *catalogue.Node) string {
	n, whole := catalogue.WholeNumber(node)
	if !whole {
		return "wrong_type"
	}
	least, most := bound(input.Minimum, -1<<53+1), bound(input.Maximum, 1<<53-1)
	if !catalogue.Safe(n) || n < least || n > most {
		return "out_of_range"
	}
	return ""
}

func bound(declared *contract.Number, otherwise int64) int64 {
	if declared == nil {
		return otherwise
	}
	n, _ := declared.Scaled(0)
	return n
}

func (a acceptor) fault(name string, input *contract.Input, reason string) catalogue.Fault {
	message := fmt.Sprintf("The %s must be %s", name, accepts(input))
	if input.Example != "" {
		message += fmt.Sprintf(", such as %s", input.Example)
	}
	return catalogue.Fault{Path: []string{name}, Reason: reason, Accepted: accepts(input), Message: message + "."}
}

// accepts says in words what an argument must be.
func accepts(input *contract.Input) string {
	switch {
	case input.Accepts != "":
		return input.Accepts
	case input.Values != nil:
		return "one of: " + strings.Join(input.Values, ", ")
	case input.Type == "boolean":
		return "true or false"
	case input.Type == "integer":
		return integerRange(input)
	}
	return "a text that is not empty"
}

func integerRange(input *contract.Input) string {
	text := "a whole number"
	if input.Minimum != nil {
		text += fmt.Sprintf(", at least %s", input.Minimum)
	}
	if input.Maximum != nil {
		text += fmt.Sprintf(", at most %s", input.Maximum)
	}
	return text
}

var jsonTypes = map[contract.InputType]string{"text": "string", "integer": "integer", "boolean": "boolean"}

// inputSchema is the JSON Schema of an input, within the subset that browsers
// accept.
func inputSchema(declared *contract.Tool) json.RawMessage {
	var required []string
	properties := record.Object{}
	for _, input := range declared.Input {
		properties.Add(input.Name, schemaOf(input.Value))
		if !input.Value.Optional {
			required = append(required, input.Name)
		}
	}
	schema := record.Object{}
	schema.Add("type", quoted("object"))
	schema.Add("properties", properties.JSON())
	schema.Add("required", list(required))
	schema.Add("additionalProperties", []byte("false"))
	return schema.JSON()
}

func schemaOf(input *contract.Input) []byte {
	schema := record.Object{}
	schema.Add("type", quoted(jsonTypes[input.Type]))
	if input.Type == "text" && input.Pattern == "" && input.Values == nil {
		schema.Add("minLength", []byte("1"))
	}
	if input.Pattern != "" {
		schema.Add("pattern", quoted("^(?:"+input.Pattern+")$"))
	}
	if input.Values != nil {
		schema.Add("enum", list(input.Values))
	}
	for _, limit := range []struct {
		name  string
		bound *contract.Number
	}{{"minimum", input.Minimum}, {"maximum", input.Maximum}} {
		if limit.bound != nil {
			schema.Add(limit.name, []byte(limit.bound.String()))
		}
	}
	schema.Add("description", quoted(description(input)))
	return schema.JSON()
}

func description(input *contract.Input) string {
	if input.Description != "" {
		return input.Description
	}
	words := accepts(input)
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

func answerSchema(declared *contract.Tool) []byte {
	properties := record.Object{}
	for _, output := range declared.Answer {
		member := record.Object{}
		member.Add("type", quoted(jsonTypes[output.Value.Type]))
		if output.Value.Values != nil {
			member.Add("enum", list(output.Value.Values))
		}
		if output.Value.Description != "" {
			member.Add("description", quoted(output.Value.Description))
		}
		properties.Add(output.Name, member.JSON())
	}
	schema := record.Object{}
	schema.Add("type", quoted("object"))
	schema.Add("properties", properties.JSON())
	schema.Add("required", list(declared.Answer.Names()))
	return schema.JSON()
}

// example is an input to try: every argument that is required or has an example.
func example(declared *contract.Tool) json.RawMessage {
	input := record.Object{}
	for _, entry := range declared.Input {
		if !entry.Value.Optional || entry.Value.Example != "" {
			input.Add(entry.Name, exampleOf(entry.Value))
		}
	}
	return input.JSON()
}

// exampleAnswer is an answer that the contract permits.
func exampleAnswer(declared *contract.Tool) []byte {
	answer := record.Object{}
	for _, output := range declared.Answer {
		answer.Add(output.Name, exampleOf(&contract.Input{Type: output.Value.Type, Values: output.Value.Values}))
	}
	return answer.JSON()
}

func exampleOf(input *contract.Input) []byte {
	text := string(input.Example)
	switch {
	case input.Type == "boolean" && text == "":
		return []byte("true")
	case input.Type == "integer" && text == "":
		return strconv.AppendInt(nil, bound(input.Minimum, 1), 10)
	case input.Type != "text":
		return []byte(text)
	case text == "" && input.Values != nil:
		text = input.Values[0]
	case text == "":
		text = "text"
	}
	return quoted(text)
}

func quoted(text string) []byte { return record.AppendString(nil, text) }

func list(texts []string) []byte {
	items := []byte("[")
	for i, text := range texts {
		if i > 0 {
			items = append(items, ',')
		}
		items = record.AppendString(items, text)
	}
	return append(items, ']')
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/tool"
)

// The headers that set a case over plain HTTP.
const (
	caseHeader      = "Remit-Case"
	executionHeader = "Remit-Execution"
)

// Case is what one request says in a sandbox about its execution: two texts,
// each as often as it is given. The zero Case says nothing.
type Case struct {
	Conditions []string // JSON texts
	Executions []string // numbers
	// ConditionsName and ExecutionName are what messages call the two.
	ConditionsName, ExecutionName string
	// ASCII says that the conditions may hold nothing else.
	ASCII bool
}

// HeaderCase is what the header of a request over plain HTTP says.
func HeaderCase(h http.Header) Case {
	return Case{
		Conditions: h.Values(caseHeader), Executions: h.Values(executionHeader),
		ConditionsName: "The header " + caseHeader, ExecutionName: "The header " + executionHeader, ASCII: true,
	}
}

// Sandbox reports whether requests may set a case.
func (s *Service) Sandbox() bool { return s.options.Sandbox }

// CallCase is Call under the conditions that the request sets. It refuses
// what the package comment does, with an error that tells the caller what is
// wrong and what would be valid, and no answer. Outside a sandbox, what the
// request sets is as if it were absent.
func (s *Service) CallCase(ctx context.Context, t *tool.Tool, input []byte, characters int, set Case) (tool.Answer, error) {
	if !s.options.Sandbox || len(set.Conditions)+len(set.Executions) == 0 {
		return s.Call(ctx, t, input, characters), nil
	}
	e, err := set.read()
	if err != nil {
		return tool.Answer{}, err
	}
	answer := s.call(ctx, t, tool.Call{Input: input, Characters: characters, Conditions: &tool.Conditions{
		AuthOK: e.authOK, Allowed: e.allowed, Respond: e.respond,
	}})
	if e.unanswered {
		return tool.Answer{}, fmt.Errorf("%s: execution %d reaches the dependency, and response is null; valid: %s", set.ConditionsName, e.number, responseForms)
	}
	return answer, nil
}

// execution is one execution of a case.
type execution struct {
	number          int64
	authOK, allowed bool
	response        *tool.Response // nil: it is to reach no dependency
	unanswered      bool           // it reached one all the same
}

// respond is the dependency's answer. Where there is none, CallCase discards
// what the tool makes of it.
func (e *execution) respond() tool.Response {
	if e.response == nil {
		e.unanswered = true
		return tool.Response{}
	}
	return *e.response
}

// The valid forms, as messages show them.
const (
	conditionsForm = `{"case":"NAME","auth_ok":true,"allowed":true,"response":"OK"}`
	responseForms  = tool.ResponseForms + ", or null for an execution that reaches no dependency"
)

// read checks the two texts.
func (c Case) read() (*execution, error) {
	conditions, err := once(c.ConditionsName, c.Conditions)
	if err != nil {
		return nil, err
	}
	number, err := once(c.ExecutionName, c.Executions)
	if err != nil {
		return nil, err
	}
	if c.ASCII && strings.ContainsFunc(conditions, func(r rune) bool { return r > unicode.MaxASCII }) {
		return nil, fmt.Errorf(`%s has bytes outside ASCII; valid: other characters written as \u and four hexadecimal digits`, c.ConditionsName)
	}
	e, err := readConditions(conditions)
	if err != nil {
		return nil, fmt.Errorf("%s %w", c.ConditionsName, err)
	}
	var ok bool
	if e.number, ok = executionNumber(number); !ok {
		return nil, fmt.Errorf("%s is %q; valid: a whole number in decimal digits, at least 1", c.ExecutionName, clip(number))
	}
	return e, nil
}

// once is the only one of texts.
func once(name string, texts []string) (string, error) {
	if len(texts) != 1 {
		return "", fmt.Errorf("%s is given %d times; valid: the case and the number of its execution once each, or neither", name, len(texts))
	}
	return texts[0], nil
}

// readConditions reads an execution but its number.
func readConditions(text string) (*execution, error) {
	members, err := membersOf([]byte(text), "case", "auth_ok", "allowed", "response")
	if err != nil {
		return nil, fmt.Errorf("%w; valid: %s", err, conditionsForm)
	}
	e := &execution{authOK: members["auth_ok"].Kind() == 't', allowed: members["allowed"].Kind() == 't'}
	switch {
	case textOf(members["case"]) == "":
		return nil, errors.New("has a wrong case; valid: a text that is not empty")
	case !isBoolean(members["auth_ok"]):
		return nil, errors.New("has a wrong auth_ok; valid: true or false")
	case !isBoolean(members["allowed"]):
		return nil, errors.New("has a wrong allowed; valid: true or false")
	case members["response"].Kind() == 'n':
		return e, nil
	}
	response, err := tool.ParseResponse(members["response"])
	if err != nil {
		return nil, fmt.Errorf("has a wrong response; valid: %s", responseForms)
	}
	e.response = &response
	return e, nil
}

// membersOf reads an object that has each of the named members once, and no
// other. Its error goes on with a sentence about the object.
func membersOf(text []byte, names ...string) (map[string]jsontext.Value, error) {
	var members map[string]jsontext.Value
	err := json.Unmarshal(text, &members) // strict: duplicates at any depth are an error
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, errors.New("has a member twice")
	case err != nil || members == nil:
		return nil, errors.New("is no JSON object")
	}
	for _, name := range names {
		if _, given := members[name]; !given {
			return nil, fmt.Errorf("has no member %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("has the unknown member %q", clip(name))
		}
	}
	return members, nil
}

func isBoolean(value jsontext.Value) bool { return value.Kind() == 't' || value.Kind() == 'f' }

// textOf is a JSON text, "" for any other value.
func textOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, value) // it was read from an object
	return string(text)
}

// maxExact is the largest whole number that every reader of JSON keeps exactly.
const maxExact = 1<<53 - 1

// executionNumber reads a whole number, at least 1, that is written in decimal
// digits alone, and reports whether it is one.
func executionNumber(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 1 && n <= maxExact && strconv.FormatInt(n, 10) == text
}

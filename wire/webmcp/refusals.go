package webmcp

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"remit.example/record"
	"remit.example/tool"
)

// refusals say which inputs a tool refuses, and with which bytes, as far as
// the page can tell from the class of each argument's value. They are found by
// trying values of each class, one argument at a time, in the tool's example;
// a class whose values do not all give the same is left out.
type refusals struct {
	// Classes has, by the argument's JSON Pointer and the class, accepted or an
	// index into Bodies.
	Classes map[string]map[string]int `json:"classes"`
	// Bodies are the bytes of refusals, in parts between which the request's id
	// stands.
	Bodies [][]string `json:"bodies"`
}

// accepted is the verdict on a class of values that are not refused.
const accepted = -1

// id is the request's id in an input that is tried.
const id = "id-of-the-request"

// schema is a JSON Schema, as far as it tells values apart.
type schema struct {
	Type       string             `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Enum       []string           `json:"enum"`
	Minimum    *json.Number       `json:"minimum"`
	Maximum    *json.Number       `json:"maximum"`
	MinLength  int                `json:"minLength"`
	MaxLength  *int               `json:"maxLength"`
	Pattern    string             `json:"pattern"`
}

// prober tries inputs of one tool.
type prober struct {
	tool    *tool.Tool
	example map[string]json.RawMessage
	extra   string // the name of an argument that there is not
	found   refusals
}

func refusalsOf(t *tool.Tool) refusals {
	p := &prober{tool: t, extra: "no-argument", found: refusals{Classes: map[string]map[string]int{}, Bodies: [][]string{}}}
	var root schema
	if json.Unmarshal(t.InputSchema, &root) != nil || json.Unmarshal(t.Example, &p.example) != nil || root.Properties == nil {
		return p.found // what is not known is asked
	}
	for root.Properties[p.extra] != nil {
		p.extra += "-"
	}
	if root.Properties["request_id"] != nil {
		p.example["request_id"] = quoted(id)
	}
	if body, known := p.try(p.example); known && body == accepted {
		p.walk(&root, nil)
	}
	return p.found
}

// walk tries the arguments below an object, which path leads to.
func (p *prober) walk(object *schema, path []string) {
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		inner, at := object.Properties[name], append(slices.Clone(path), name)
		classes := map[string]int{}
		tried := valuesOf(inner, p.given(at))
		for _, class := range slices.Sorted(maps.Keys(tried)) { // in order, so that the list stays the same
			if verdict, known := p.verdict(at, tried[class]); known {
				classes[class] = verdict
			}
		}
		if slices.Contains(object.Required, name) {
			if verdict, known := p.try(replaced(p.example, at, nil)); known {
				classes["missing"] = verdict
			}
		}
		p.found.Classes[pointer(at)] = classes
		if inner.Properties != nil {
			p.walk(inner, at)
		}
	}
}

// verdict is what the tool makes of each of the values at a place.
func (p *prober) verdict(at []string, values []json.RawMessage) (verdict int, known bool) {
	for i, value := range values {
		next, ok := p.try(replaced(p.example, at, value))
		if !ok || i > 0 && next != verdict {
			return 0, false
		}
		verdict = next
	}
	return verdict, len(values) > 0
}

// try finds what the tool makes of an input that has one fault at most. An
// argument that there is not is added to it first: its fault comes last, so
// that an input without another is not executed.
func (p *prober) try(input map[string]json.RawMessage) (verdict int, known bool) {
	failure := p.call(replaced(input, []string{p.extra}, json.RawMessage("0"))).Failure
	if failure == nil || failure.Code != record.InvalidArgument || len(failure.Fields) == 0 {
		return 0, false
	}
	if len(failure.Fields) == 1 {
		return accepted, failure.Fields[0].Pointer == "/"+p.extra
	}
	answer := p.call(input)
	if answer.Failure == nil || len(answer.Failure.Fields) != 1 {
		return 0, false
	}
	return p.body(strings.Split(string(answer.Body), string(quoted(id)))), true
}

func (p *prober) call(input map[string]json.RawMessage) tool.Answer {
	return p.tool.Call(context.Background(), tool.Call{
		Input: encoded(input), Characters: tool.AgentCharacters,
		Conditions: &tool.Conditions{AuthOK: true, Allowed: true, Respond: func() tool.Response { return tool.Scripted(record.OK) }},
	})
}

// body is the index of the bytes of a refusal.
func (p *prober) body(parts []string) int {
	i := slices.IndexFunc(p.found.Bodies, func(other []string) bool { return slices.Equal(parts, other) })
	if i < 0 {
		i = len(p.found.Bodies)
		p.found.Bodies = append(p.found.Bodies, parts)
	}
	return i
}

// given is the example's value at a place, nil where it has none.
func (p *prober) given(at []string) json.RawMessage {
	object := p.example
	for _, name := range at[:len(at)-1] {
		var inner map[string]json.RawMessage
		if json.Unmarshal(object[name], &inner) != nil {
			return nil
		}
		object = inner
	}
	return object[at[len(at)-1]]
}

// replaced is an object with another value at a place, or without one if
// value is nil.
func replaced(object map[string]json.RawMessage, at []string, value json.RawMessage) map[string]json.RawMessage {
	changed := map[string]json.RawMessage{}
	maps.Copy(changed, object)
	switch {
	case len(at) > 1:
		var inner map[string]json.RawMessage
		if json.Unmarshal(object[at[0]], &inner) != nil { // the example leaves it out
			inner = nil
		}
		changed[at[0]] = encoded(replaced(inner, at[1:], value))
	case value == nil:
		delete(changed, at[0])
	default:
		changed[at[0]] = value
	}
	return changed
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// pointer is a place as an RFC 6901 pointer.
func pointer(at []string) string {
	var text strings.Builder
	for _, name := range at {
		text.WriteString("/" + pointerEscape.Replace(name))
	}
	return text.String()
}

func encoded(object map[string]json.RawMessage) json.RawMessage {
	text, err := json.Marshal(object)
	if err != nil { // its values are JSON
		panic(err)
	}
	return text
}

func quoted(text string) json.RawMessage { return record.AppendString(nil, text) }

// The bounds of the classes; web/src/remit-judge.ts has the same.
const (
	maxText  = 100
	maxSmall = 999_999
)

// The values that are tried, by class.
var (
	others = map[string][]string{
		"null":     {`null`},
		"boolean":  {`true`, `false`},
		"exponent": {`1e+21`, `1.5e-7`, `-2.5e+30`},
		"fraction": {`0.5`, `-1.25`, `123.456789`, `0.0000015`},
		"huge":     {`9007199254740992`, `-9007199254740992`, `123456789012345680000`},
		"none":     {`[]`},
		"list":     {`[1]`, `["a"]`, `[null]`, `[{}]`, `[[]]`},
		"object":   {`{}`, `{"a":1}`, `{"a":{"b":[]}}`},
		"empty":    {`""`},
	}
	integers = []int64{0, 1, -1, 7, maxSmall, -maxSmall, maxSmall + 1, -maxSmall - 1, 1<<53 - 1, -1<<53 + 1}
	texts    = []string{"a", "1", "Zz 9", "é1", "0x", "!", " ", "é", "…", strings.Repeat("a", maxText), strings.Repeat("a", maxText+1), strings.Repeat("1", 2*maxText), strings.Repeat("a ", 20*maxText), strings.Repeat("…", maxText+1), strings.Repeat("!é", maxText)}
)

// valuesOf are the values of each class to try where s stands; given is the
// example's value. A class is left out where those that are tried could not
// stand for all.
func valuesOf(s *schema, given json.RawMessage) map[string][]json.RawMessage {
	classes := map[string][]json.RawMessage{}
	for class, values := range others {
		if s.Type == "number" && (class == "exponent" || class == "fraction" || class == "huge") || class == "object" && s.Properties != nil {
			continue
		}
		for _, value := range values {
			classes[class] = append(classes[class], json.RawMessage(value))
		}
	}
	if len(given) > 0 && given[0] == '[' {
		classes["list"] = append(classes["list"], given)
	}
	numbers(s, classes)
	s.texts(given, classes)
	return classes
}

// numbers adds the classes of whole numbers that every reader keeps.
func numbers(s *schema, classes map[string][]json.RawMessage) {
	least, most := s.bound(s.Minimum, -1<<53+1), s.bound(s.Maximum, 1<<53-1)
	for _, n := range slices.Concat(integers, []int64{least, most, least - 1, most + 1}) {
		class := "large"
		switch {
		case n < -1<<53+1 || n > 1<<53-1:
			continue
		case n < least:
			class = "below"
		case n > most:
			class = "above"
		case -maxSmall <= n && n <= maxSmall:
			class = "small"
		}
		classes[class] = append(classes[class], json.RawMessage(strconv.FormatInt(n, 10)))
	}
}

func (s *schema) bound(declared *json.Number, otherwise int64) int64 {
	if declared == nil {
		return otherwise
	}
	n, err := declared.Int64()
	if err != nil { // bounds of arguments are whole
		return otherwise
	}
	return n
}

// texts adds the classes of texts that are not empty.
func (s *schema) texts(given json.RawMessage, classes map[string][]json.RawMessage) {
	matches := func(string) bool { return false }
	if s.Pattern != "" {
		if !plain(s.Pattern) {
			return
		}
		matches = regexp.MustCompile(s.Pattern).MatchString
	}
	if s.MinLength > 1 || s.MaxLength != nil || s.Pattern != "" && s.Enum != nil {
		return
	}
	for _, text := range s.Enum {
		classes["listed"] = append(classes["listed"], quoted(text))
	}
	tried := texts
	var example string
	if json.Unmarshal(given, &example) == nil && example != "" {
		tried = append(slices.Clone(texts), example, example+"!", "!"+example)
	}
	for _, text := range tried {
		class := textClass(text, matches)
		if s.Pattern != "" && utf8.RuneCountInString(text) > maxText || slices.Contains(s.Enum, text) {
			continue
		}
		classes[class] = append(classes[class], quoted(text))
	}
}

func textClass(text string, matches func(string) bool) string {
	worded := strings.ContainsFunc(text, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' })
	long := utf8.RuneCountInString(text) > maxText
	switch {
	case long && worded:
		return "long"
	case long:
		return "long-odd"
	case matches(text):
		return "match"
	case worded:
		return "text"
	}
	return "odd"
}

// plainPattern are the patterns that mean the same in Go and in browsers:
// characters, classes of them, groups, alternatives and repetitions.
var plainPattern = regexp.MustCompile(`^(?:[A-Za-z0-9 _:@#%&=~,;!"'<>/-]|\\[dw.\-/+*?()[\]{}|^$\\]|\[\^?(?:[A-Za-z0-9 _:@#%=~,;!"'<>/.+*?(){}|$-]|\\[dw.\-/\\\]\[^])+\]|[*+?]|\{\d+(?:,\d*)?\}|\(\?:|\(|\)|\||\^|\$)*$`)

// repeatedGroup is a group that is repeated. A browser's matcher can take
// time that grows exponentially with a text for it, Go's cannot.
var repeatedGroup = regexp.MustCompile(`\)[*+{]`)

// plain reports whether the page can tell what matches a pattern.
func plain(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil && plainPattern.MatchString(pattern) && !repeatedGroup.MatchString(pattern)
}

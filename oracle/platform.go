package oracle

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What a case of platform-v1 may say, member by member.
var (
	throughs = []string{"executeTool", "invokeTool"}
	effects  = []string{"read", "unsafe"}
	callers  = []string{"waits", "aborts", "calls a tool of an earlier list"}
)

// What a reading may say.
var (
	readings = []string{
		answered, "application_failure", "tool_not_found", "unreadable_input", "rejected_callback",
		"unserializable_result", "unloaded_document", "aborted", "hung", "unknown",
	}
	origins  = []string{"", "platform", "application"} // "" is null: no failure
	readEnds = []string{"", success, "needs_input", "cancelled", "unknown", outcomeUnknown}
)

const (
	answered       = "answered"
	success        = "success"
	outcomeUnknown = "outcome_unknown"
)

// The rules of a reading, in the order in which one line is held to them.
var platformRules = []Rule{
	{"one-reading", "platform-v1, the reading: one of each call"},
	{"members", "platform-v1, the reading: case, reading, failure, disposition and executions, each once and of its type"},
	{"executed-again", "platform-v1, the reading: no failure of the platform permits another execution, whatever words it comes in"},
	{"execution-missed", "platform-v1, the reading: executions are those that the browser began, a failed one included"},
	{"failure-as-success", "platform-v1, the readings: what the platform made of a call that did not answer is no success"},
	{"failure-origin", "recovery-v1, boundaries: application failure ≠ platform failure; an application failure travels inside the answer"},
	{"reading", "platform-v1, the readings: a closed list; what none of them explains is unknown"},
	{"write-outcome", "platform-v1, dispositions: a write that began and did not answer is outcome_unknown"},
	{"disposition", "platform-v1, dispositions: by the reading and the effect; null where the application's record decides"},
	{"form", "platform-v1, the reading: compact JSON in this member order, numbers in their shortest form"},
}

// Call is what a case of platform-v1 has a driver do.
type Call struct {
	Case    string         `json:"case"`
	Through string         `json:"through"` // executeTool, of the page, or invokeTool, of the debugging protocol
	Tool    string         `json:"tool"`
	Effect  string         `json:"effect"` // read or unsafe
	Does    string         `json:"does"`   // what the tool does, for whoever reads the case
	Caller  string         `json:"caller"` // what the caller does meanwhile
	Input   jsontext.Value `json:"input"`
}

// Call is what the case has a driver do; only for a platform suite.
func (c *Case) Call() Call {
	call, err := parseCall(c.Line)
	if err != nil { // Parse has read it
		panic(err)
	}
	return call
}

func parseCall(line []byte) (Call, error) {
	var call Call
	if err := json.Unmarshal(line, &call, json.RejectUnknownMembers(true)); err != nil {
		return call, err
	}
	switch {
	case !slices.Contains(throughs, call.Through) || !slices.Contains(effects, call.Effect) || !slices.Contains(callers, call.Caller):
		return call, fmt.Errorf("through, effect and caller are %q, %q and %q; valid: one of %q, of %q, of %q", call.Through, call.Effect, call.Caller, throughs, effects, callers)
	case call.Tool == "" || call.Does == "" || call.Input == nil:
		return call, errors.New("it needs tool, does and input")
	}
	return call, nil
}

func (c *Case) readCall(members) error {
	_, err := parseCall(c.Line)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.Name, err)
	}
	return nil
}

// Reading is what a driver makes of one call.
type Reading struct {
	Case        string  `json:"case"`
	Reading     string  `json:"reading"`     // of the closed list
	Failure     *string `json:"failure"`     // platform or application; nil: none
	Disposition *string `json:"disposition"` // nil where the application's record decides
	Executions  int     `json:"executions"`  // that the browser began, until after the reading
}

// Line is the result line of a reading.
func (r Reading) Line() []byte { return []byte(encode(r) + "\n") }

// readingMembers are those of a result line, in order.
var readingMembers = []string{"case", "reading", "failure", "disposition", "executions"}

func parseReading(line []byte) (Reading, error) {
	var r Reading
	if err := json.Unmarshal(line, &r, json.RejectUnknownMembers(true)); err != nil {
		return r, err
	}
	switch {
	case !slices.Contains(readings, r.Reading) || !slices.Contains(origins, textOr(r.Failure)) || !slices.Contains(readEnds, textOr(r.Disposition)):
		return r, errors.New("reading, failure or disposition is none of its list")
	case (r.Failure == nil) != (r.Reading == answered), (textOr(r.Failure) == "application") != (r.Reading == "application_failure"):
		return r, errors.New("failure is null for an answer, application for an application failure, else platform")
	case (r.Disposition == nil) != (r.Reading == "application_failure"), (textOr(r.Disposition) == success) != (r.Reading == answered):
		return r, errors.New("disposition is null for an application failure, and success for an answer alone")
	case r.Executions < 0 || r.Executions > 1:
		return r, errors.New("executions is not 0 or 1")
	}
	return r, nil
}

func textOr(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (l *lint) checkReading(c *Case) {
	l.checkName(c)
	if len(c.Oracle) != 1 || len(c.Records) != 0 {
		l.fault("case %s: a platform case has one reading and no records", c.Name)
		return
	}
	m, err := membersOf(c.Oracle[0])
	if err != nil || len(m) != len(readingMembers) || slices.ContainsFunc(readingMembers, func(name string) bool { return m.count(name) != 1 }) {
		l.fault("case %s: its oracle has not each of the members %s once", c.Name, strings.Join(readingMembers, ", "))
		return
	}
	if r, err := parseReading(c.Oracle[0]); err != nil || r.Case != c.Name {
		l.fault("case %s: its oracle is no reading of it: %v", c.Name, err)
	}
}

// compareReadings notes what the reading of one call breaks.
func compareReadings(f *findings, c *Case, results []jsontext.Value) {
	for i := range results[1:] {
		f.add("one-reading", 0, nil, results[i+1], "reading %d of the same call", i+2)
	}
	if string(results[0]) == string(c.Oracle[0]) {
		return
	}
	p := comparison{want: c.Oracle[0], got: results[0]}
	got, _ := membersOf(p.got)   // it was attributed by its members
	want, _ := membersOf(p.want) // lint has decoded it
	before := len(f.list)
	for _, fault := range got.compare(want) {
		p.add(f, "members", "%s", fault)
	}
	for _, m := range want {
		if value := got.get(m.name); value != nil && !same(value, m.value) {
			p.add(f, readingRule(m, value), "%s is %s, expected %s", m.name, clip(value.String()), m.value)
		}
	}
	if len(f.list) == before {
		p.add(f, "form", "the values are right, and the bytes differ from %s", firstByte(p.want, p.got))
	}
}

// readingRule is the rule of a member that has another value than its literal.
func readingRule(literal member, value jsontext.Value) string {
	text, isText := textOf(value)
	switch literal.name {
	case "executions":
		n, whole := wholeNumber(value)
		expected, _ := wholeNumber(literal.value)
		switch {
		case !whole:
			return "members"
		case n > expected:
			return "executed-again"
		}
		return "execution-missed"
	case "failure", "disposition":
		if !isText && value.Kind() != 'n' {
			return "members"
		}
	default:
		if !isText {
			return "members"
		}
	}
	expected, _ := textOf(literal.value)
	switch {
	case literal.name == "failure" && value.Kind() == 'n', literal.name == "disposition" && text == success, literal.name == "reading" && text == answered:
		return "failure-as-success"
	case literal.name == "failure":
		return "failure-origin"
	case literal.name == "disposition" && expected == outcomeUnknown:
		return "write-outcome"
	}
	return literal.name
}

var platformOperators = []Operator{
	{"drop", PlatformV1, func(_ *Suite, c *Case) []Mutant {
		return []Mutant{{Operator: "drop", Case: c.Name, Rule: void}}
	}},
	{"duplicate", PlatformV1, func(_ *Suite, c *Case) []Mutant {
		return []Mutant{{Operator: "duplicate", Case: c.Name, Rule: "one-reading", Results: slices.Concat(c.Oracle, c.Oracle)}}
	}},
	lineOperator("change reading", PlatformV1, otherTexts("reading", readings)),
	lineOperator("change origin", PlatformV1, otherTexts("failure", origins)),
	lineOperator("change disposition", PlatformV1, otherTexts("disposition", readEnds)),
	lineOperator("execute again", PlatformV1, addExecutions(+1, "executed-again")),
	lineOperator("miss an execution", PlatformV1, addExecutions(-1, "execution-missed")),
	lineOperator("change case", PlatformV1, others("case", void, []string{`"no-such-case"`})),
	lineOperator("extra member", PlatformV1, extraMember),
	lineOperator("duplicate member", PlatformV1, duplicateMember),
	lineOperator("absent member", PlatformV1, absentMember("case")),
	lineOperator("non-canonical number", PlatformV1, nonCanonical),
	lineOperator("white space", PlatformV1, whiteSpace),
	lineOperator("member order", PlatformV1, memberOrder),
}

// breaks are the rules that a value breaks wherever it is wrong.
var breaks = map[string]string{"reading " + answered: "failure-as-success", "failure ": "failure-as-success", "disposition " + success: "failure-as-success"}

// otherTexts replaces a member by every value but its own; "" is null.
func otherTexts(name string, values []string) func(*Case, int) []changed {
	rule := map[string]string{"failure": "failure-origin"}[name]
	if rule == "" {
		rule = name
	}
	return func(c *Case, i int) []changed {
		var all []changed
		own := memberValue(c.Oracle[i], name)
		for _, value := range values {
			broken, literal := rule, "null"
			if value != "" {
				literal = strconv.Quote(value)
			}
			if always := breaks[name+" "+value]; always != "" {
				broken = always
			} else if own == strconv.Quote(outcomeUnknown) {
				broken = "write-outcome"
			}
			if literal != own {
				all = append(all, changed{with(c.Oracle[i], name, literal), broken})
			}
		}
		return all
	}
}

// addExecutions counts one more, or one less where there was one.
func addExecutions(n int, rule string) func(*Case, int) []changed {
	return func(c *Case, i int) []changed {
		r, err := parseReading(c.Oracle[i])
		if err != nil { // lint has decoded it
			panic(err)
		}
		if r.Executions+n < 0 {
			return nil
		}
		return []changed{{with(c.Oracle[i], "executions", strconv.Itoa(r.Executions+n)), rule}}
	}
}

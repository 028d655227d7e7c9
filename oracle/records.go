package oracle

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// envelope is what the failure of one execution must be.
type envelope struct {
	Case      string `json:"case"`
	Execution int    `json:"execution"`
	Record    struct {
		Code         string  `json:"code"`
		Field        *string `json:"field"`
		RetryAfterMS *int64  `json:"retry_after_ms"`
	} `json:"record"`
	MessageNames []string `json:"message_names"`
}

func parseEnvelope(line []byte) (envelope, error) {
	var e envelope
	err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true))
	return e, err
}

// The members of an envelope line, and of the record in it.
var (
	envelopeForm   = mustMembers([]byte(`{"case":"","execution":1,"record":{},"message_names":[]}`))
	envelopeRecord = mustMembers([]byte(`{"code":"","field":null,"retry_after_ms":null}`))
)

// recordOf are the members of the record in an envelope line.
func recordOf(line jsontext.Value) members {
	m, _ := membersOf(mustMembers(line).get("record"))
	return m
}

// ToolAnswer is what a tool answered one execution with.
type ToolAnswer struct {
	Failed bool
	Body   jsontext.Value // of an answer without a failure, or of a failed one: the whole object
	// Record is the typed failure; nil where a failed answer carries none.
	Record jsontext.Value
	// Replayed says that the wire marks it as the answer of an earlier execution.
	Replayed bool
}

// JudgeTool holds the answers of a tool to the executions of one recovery case
// to its records: the four members of recovery-v1. Action, time and
// disposition are those of a policy, which a tool has not.
func (s *Suite) JudgeTool(o *Outcome, at int, answers []ToolAnswer) {
	c := &s.Cases[at]
	f := &findings{contract: s.Contract}
	for i, line := range c.Records {
		want, err := parseEnvelope(line)
		if err != nil { // lint has decoded it
			panic(err)
		}
		compareRecord(f, comparison{line, answers[i].shown(), i + 1}, want, answers[i])
	}
	o.count(c, f)
}

func (a ToolAnswer) shown() jsontext.Value {
	if a.Record != nil {
		return a.Record
	}
	return a.Body
}

// NewOutcome is an outcome that nothing is counted in yet.
func (s *Suite) NewOutcome() *Outcome { return newOutcome(s.Contract) }

func compareRecord(f *findings, p comparison, want envelope, answer ToolAnswer) {
	if !answer.Failed {
		if want.Record.Code != codeOK {
			p.add(f, "record-code", "the tool answered without a failure, expected %s", want.Record.Code)
		}
		return
	}
	record, err := v1Members(answer.Record)
	if err != nil {
		p.add(f, "no-record", "%s", err)
		return
	}
	if want.Record.Code == codeOK {
		p.add(f, "record-code", "the tool answered with a failure, expected OK")
		return
	}
	for _, member := range []struct {
		rule, name string
		expected   any
	}{
		{"record-code", "code", want.Record.Code},
		{"record-field", "field", want.Record.Field},
		{"record-wait", "retry_after_ms", want.Record.RetryAfterMS},
	} {
		literal, err := json.Marshal(member.expected)
		if err != nil { // texts, numbers and null
			panic(err)
		}
		if got := record.get(member.name); !same(got, literal) {
			p.add(f, member.rule, "%s is %s, expected %s", member.name, clip(got.String()), literal)
		}
	}
	message, _ := record.text("message")
	for _, word := range want.MessageNames {
		if !strings.Contains(message, word) {
			p.add(f, "record-message", "the message %q does not name %s", clip(message), word)
		}
	}
}

// recordMembers are the members of recovery-v1; a superset has others besides.
var recordMembers = []string{"code", "message", "field", "retry_after_ms"}

func v1Members(record jsontext.Value) (members, error) {
	if record == nil {
		return nil, errors.New("the failure carries no record")
	}
	m, err := membersOf(record)
	if err != nil {
		return nil, err
	}
	for _, name := range recordMembers {
		if n := m.count(name); n != 1 {
			return nil, errors.New("the record has " + name + " not exactly once")
		}
	}
	if message, ok := m.text("message"); !ok || message == "" {
		return nil, errors.New("the record's message is no text")
	}
	return m, nil
}

// JudgeAnswer holds the answer of a served tool to one request of a catalogue
// case to its literal. A failed answer begins with the literal members; a
// valid failure follows and repeats none of them. Everything else is compared
// whole.
func (s *Suite) JudgeAnswer(o *Outcome, at int, answer ToolAnswer) {
	c := &s.Cases[at]
	f := &findings{contract: s.Contract}
	literal := c.Oracle[0]
	body := answer.Body
	switch want, _ := membersOf(literal); {
	case mustText(want, "status") == statusInvalid:
		body = s.leading(f, literal, answer)
	case answer.Failed:
		f.add("wire-failure", 0, literal, answer.Body, "the answer is marked as a failure, and %s is none", mustText(want, "status"))
	}
	if len(f.list) == 0 {
		compareAnswer(f, comparison{want: literal, got: body})
	}
	o.count(c, f)
}

func mustText(m members, name string) string {
	text, _ := m.text(name) // lint has read it
	return text
}

// leading checks the failure at the end of a failed answer, and gives the
// answer without it.
func (s *Suite) leading(f *findings, literal jsontext.Value, answer ToolAnswer) jsontext.Value {
	p := comparison{want: literal, got: answer.Body}
	if !answer.Failed {
		p.add(f, "wire-failure", "the answer is no failure")
		return answer.Body
	}
	body, ok := strings.CutPrefix(string(answer.Body), string(literal[:len(literal)-1])+",")
	if !ok {
		p.add(f, "wire-failure", "the answer does not begin with the literal members")
		return answer.Body
	}
	rest, err := membersOf([]byte("{" + body))
	if err != nil {
		p.add(f, "wire-failure", "%s", err)
		return answer.Body
	}
	for _, fault := range rest.compare(failureForm) {
		p.add(f, "wire-failure", "%s", fault)
	}
	sentence, _ := rest.text("error")
	code, _ := rest.text("code")
	if sentence == "" || code == "" || rest.get("retryable").Kind() != 'f' {
		p.add(f, "wire-failure", "error and code are not texts, or retryable is not false")
	}
	record, err := v1Members(answer.Record)
	if err != nil {
		p.add(f, "wire-failure", "%s", err)
		return literal
	}
	want, _ := membersOf(literal)
	for _, member := range []struct {
		name     string
		expected jsontext.Value
	}{
		{"code", jsontext.Value(`"` + codeInvalid + `"`)}, {"field", want.get("field")}, {"retry_after_ms", jsontext.Value("null")},
	} {
		if got := record.get(member.name); !same(got, member.expected) {
			p.add(f, "wire-failure", "%s of the record is %s, expected %s", member.name, clip(got.String()), member.expected)
		}
	}
	if code != codeInvalid {
		p.add(f, "wire-failure", "the code is %s, expected %s", clip(code), codeInvalid)
	}
	return literal
}

// failureForm has the members that a failed answer goes on with, and no other:
// each would claim something besides.
var failureForm = mustMembers([]byte(`{"error":"","code":"","retryable":false,"recovery":{}}`))

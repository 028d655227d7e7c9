package oracle

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// The operators on what a tool answers, and on the calls of a caller. They
// break the rules that a trace has not.
var (
	toolOperators = []Operator{
		toolOperator("change record code", "record-code", recordMember("code", codes)),
		toolOperator("change record field", "record-field", recordMember("field", []string{"null", `"order_id"`})),
		toolOperator("change record wait", "record-wait", changeWait),
		toolOperator("forget the format", "record-message", forgetFormat),
		toolOperator("drop the record", "no-record", dropRecord),
		toolOperator("answer as a success", "record-code", answerAsSuccess),
	}
	callerOperators = []Operator{
		{"call early", RecoveryV1, callEarly},
		{"call with another input", RecoveryV1, callWithAnother},
		{"call after the end", RecoveryV1, callAfterTheEnd},
	}
)

// answersOf is what a tool must answer to the executions of a case.
func (c *Case) answersOf() []ToolAnswer {
	answers := make([]ToolAnswer, len(c.Records))
	for i, line := range c.Records {
		want, err := parseEnvelope(line)
		if err != nil { // lint has decoded it
			panic(err)
		}
		if want.Record.Code == codeOK {
			answers[i] = ToolAnswer{Body: jsontext.Value(`{"status":"in_transit"}`)}
			continue
		}
		message := "The input is refused."
		for _, word := range want.MessageNames {
			message += " " + word
		}
		answers[i] = ToolAnswer{Failed: true, Record: jsontext.Value(`{"code":` + encode(want.Record.Code) +
			`,"message":` + encode(message) + `,"field":` + encode(want.Record.Field) +
			`,"retry_after_ms":` + encode(want.Record.RetryAfterMS) + `}`)}
	}
	return answers
}

// toolOperator changes one answer at a time; change gives the answers that
// break the rule.
func toolOperator(name, rule string, change func(ToolAnswer) []ToolAnswer) Operator {
	return Operator{name, RecoveryV1, func(_ *Suite, c *Case) []Mutant {
		var mutants []Mutant
		for i, answer := range c.answersOf() {
			for _, wrong := range change(answer) {
				answers := c.answersOf()
				answers[i] = wrong
				mutants = append(mutants, Mutant{Operator: name, Case: c.Name, Rule: rule, Answers: answers})
			}
		}
		return mutants
	}}
}

// recordMember replaces a member of a record by every value but its own.
func recordMember(name string, values []string) func(ToolAnswer) []ToolAnswer {
	return func(a ToolAnswer) []ToolAnswer {
		if !a.Failed {
			return nil
		}
		var all []ToolAnswer
		for _, value := range values {
			if value != memberValue(a.Record, name) {
				all = append(all, ToolAnswer{Failed: true, Record: with(a.Record, name, value)})
			}
		}
		return all
	}
}

// changeWait asks for a millisecond more, one less, none, or one where none is
// due.
func changeWait(a ToolAnswer) []ToolAnswer {
	waits := []string{"null", "1"}
	if a.Failed {
		if ms, whole := wholeNumber(jsontext.Value(memberValue(a.Record, "retry_after_ms"))); whole {
			waits = []string{"null", strconv.FormatInt(ms-1, 10), strconv.FormatInt(ms+1, 10)}
		}
	}
	return recordMember("retry_after_ms", waits)(a)
}

func forgetFormat(a ToolAnswer) []ToolAnswer {
	if !a.Failed || memberValue(a.Record, "code") != `"INVALID_ARGUMENT"` {
		return nil
	}
	return recordMember("message", []string{`"The input is refused."`})(a)
}

// dropRecord leaves out the record, and each of its members.
func dropRecord(a ToolAnswer) []ToolAnswer {
	if !a.Failed {
		return nil
	}
	all := []ToolAnswer{{Failed: true, Body: jsontext.Value(`{"error":"It failed."}`)}}
	m := mustMembers(a.Record)
	for i := range m {
		all = append(all, ToolAnswer{Failed: true, Record: joined(slices.Delete(slices.Clone(m), i, i+1))})
	}
	return all
}

func answerAsSuccess(a ToolAnswer) []ToolAnswer {
	if !a.Failed {
		return nil
	}
	return []ToolAnswer{{Body: jsontext.Value(`{"status":"in_transit"}`)}}
}

// arrivalsOf are the calls of a caller that does all that a case permits.
func (c *Case) arrivalsOf() []Arrival {
	arrivals := make([]Arrival, len(c.Oracle))
	for i, line := range c.Oracle {
		t := readTrace(line)
		arrivals[i] = Arrival{Input: t.Input, At: time.Duration(t.AtMS) * time.Millisecond}
	}
	return arrivals
}

// callEarly makes a call, and those after it, more than the tolerance too
// early.
func callEarly(_ *Suite, c *Case) []Mutant {
	var mutants []Mutant
	for i := 1; i < len(c.Oracle); i++ {
		if readTrace(c.Oracle[i]).AtMS-readTrace(c.Oracle[i-1]).AtMS <= tolerance.Milliseconds() {
			continue
		}
		arrivals := c.arrivalsOf()
		for j := i; j < len(arrivals); j++ {
			arrivals[j].At -= tolerance + time.Microsecond
		}
		mutants = append(mutants, Mutant{Operator: "call early", Case: c.Name, Rule: "early", Arrivals: arrivals})
	}
	return mutants
}

func callWithAnother(_ *Suite, c *Case) []Mutant {
	var mutants []Mutant
	for i := range c.Oracle {
		arrivals := c.arrivalsOf()[:i+1]
		arrivals[i].Input = jsontext.Value(`{"shipment_ref":"SHIP-999x"}`)
		mutants = append(mutants, Mutant{Operator: "call with another input", Case: c.Name, Rule: "input", Arrivals: arrivals})
	}
	return mutants
}

// callAfterTheEnd repeats the last call of a case.
func callAfterTheEnd(s *Suite, c *Case) []Mutant {
	mutants := addExecution(s, c)
	arrivals := c.arrivalsOf()
	last := arrivals[len(arrivals)-1]
	last.At += time.Minute
	mutants[0].Operator, mutants[0].Results, mutants[0].Arrivals = "call after the end", nil, append(arrivals, last)
	return mutants
}

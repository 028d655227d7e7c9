package oracle

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// limit is how many executions a case has in all.
const limit = 3

// compareTraces notes what the trace of one case breaks.
func compareTraces(f *findings, c *Case, results []jsontext.Value) {
	want := make([]trace, len(c.Oracle))
	for i, line := range c.Oracle {
		want[i] = readTrace(line)
	}
	for i, line := range results {
		got, err := membersOf(line)
		if err != nil { // it was attributed by its members
			panic(err)
		}
		n := i + 1
		if number := got.get("execution"); number.Kind() == '0' && string(canonical(number)) != strconv.Itoa(n) {
			f.add("numbering", n, c.oracleAt(i), line, "execution is %s, expected %d", number, n)
		}
		if i >= len(want) {
			f.add(beyond(want, codeBefore(results, i), n, got.get("input")), n, nil, line, "the case had ended with execution %d", len(want))
			continue
		}
		compareLine(f, comparison{c.Oracle[i], line, n}, want[:i+1], got)
	}
	for i := len(results); i < len(want); i++ {
		f.add("missing-execution", i+1, c.Oracle[i], nil, "execution %d is missing", i+1)
	}
}

func (c *Case) oracleAt(i int) jsontext.Value {
	if i < len(c.Oracle) {
		return c.Oracle[i]
	}
	return nil
}

// codeBefore is the code of the execution before one; "" where it has none that
// could end a case.
func codeBefore(results []jsontext.Value, i int) string {
	before, _ := membersOf(results[i-1]) // it was attributed by its members
	code, _ := before.text("code")
	if code == codeWait {
		return ""
	}
	return code
}

// beyond is the rule that an execution breaks which comes after a case has
// ended: by the code that it comes after, or else by the last one of the case.
func beyond(want []trace, code string, n int, input jsontext.Value) string {
	if code == "" {
		code = want[len(want)-1].Code
	}
	switch {
	case n > limit, code == codeWait: // a case ends unavailable at its limit alone
		return "budget"
	case code == codeOK:
		return "execution-after-success"
	case code == codeDenied:
		return "retry-after-refusal"
	case code == codeAuth:
		return "retry-without-renewal"
	case code == codeInvalid && refused(want, input):
		return "unchanged-input-resent"
	case code == codeInvalid:
		return "input"
	}
	return "retry-after-unknown"
}

// refused reports whether an input was answered with INVALID_ARGUMENT before.
func refused(before []trace, input jsontext.Value) bool {
	return slices.ContainsFunc(before, func(t trace) bool { return t.Code == codeInvalid && same(t.Input, input) })
}

// comparison is one result line beside its literal.
type comparison struct {
	want, got jsontext.Value
	execution int
}

func (p comparison) add(f *findings, rule, format string, args ...any) {
	f.add(rule, p.execution, p.want, p.got, format, args...)
}

// traceRules are the rules of the members that decide by their value alone.
var traceRules = map[string]string{
	"auth_ok": "authentication", "code": "conditions", "action": "action", "disposition": "disposition",
}

// compareLine compares one line, member by member, with the last of want.
func compareLine(f *findings, p comparison, want []trace, got members) {
	literal, _ := membersOf(p.want) // lint has decoded it
	for _, fault := range got.compare(literal) {
		p.add(f, "members", "%s", fault)
	}
	for _, m := range literal {
		value := got.get(m.name)
		if value == nil || same(value, m.value) {
			continue
		}
		if !typeFits(m, value) {
			p.add(f, "members", "%s is %s, which is of another type than %s", m.name, clip(value.String()), m.value)
			continue
		}
		if rule := traceRule(m.name, want, value); rule != "" {
			p.add(f, rule, "%s is %s, expected %s", m.name, clip(value.String()), m.value)
		}
	}
	if !f.has(p.execution) && string(p.got) != string(p.want) {
		p.add(f, "form", "the values are right, and the bytes differ from %s", firstByte(p.want, p.got))
	}
}

// traceRule is the rule of a member that has another value than its literal.
func traceRule(name string, want []trace, value jsontext.Value) string {
	switch name {
	case "execution":
		return "" // numbering has spoken
	case "input":
		if refused(want[:len(want)-1], value) {
			return "unchanged-input-resent"
		}
		return "input"
	case "at_ms":
		if atMS, _ := wholeNumber(value); atMS < want[len(want)-1].AtMS {
			return "early"
		}
		return "late"
	}
	return traceRules[name]
}

// typeFits reports whether a value has the type of its literal. A disposition
// is a text or null.
func typeFits(literal member, value jsontext.Value) bool {
	switch literal.name {
	case "disposition":
		return value.Kind() == '"' || value.Kind() == 'n'
	case "execution", "at_ms":
		_, whole := wholeNumber(value)
		return whole
	}
	return kind(value) == kind(literal.value)
}

// kind is the type of a value; true and false are of one.
func kind(value jsontext.Value) jsontext.Kind {
	if value.Kind() == 't' {
		return 'f'
	}
	return value.Kind()
}

// wholeNumber reads a number without a fraction, however it is written. One
// that is out of range is the largest or smallest there is.
func wholeNumber(value jsontext.Value) (int64, bool) {
	if value.Kind() != '0' {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(canonical(value)), 10, 64); err == nil {
		return n, true
	}
	large, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), large != math.Trunc(large):
		return 0, false
	case large < 0:
		return math.MinInt64, true
	}
	return math.MaxInt64, true
}

// firstByte shows both lines from the first byte in which they differ.
func firstByte(want, got []byte) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	return "byte " + strconv.Itoa(i+1) + " on: got " + strconv.Quote(excerpt(got, i)) + ", expected " + strconv.Quote(excerpt(want, i))
}

func excerpt(line []byte, from int) string {
	return string(line[from:min(len(line), from+24)])
}

package oracle

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Arrival is one call that a caller really made.
type Arrival struct {
	Input jsontext.Value
	// At is when the call arrived, before it was answered, on a monotonic clock
	// that started before the first.
	At time.Duration
}

// tolerance is how much earlier than it should a caller may be: what clocks
// and schedulers round.
const tolerance = time.Millisecond

// maxCalls is how many calls of one case are judged one by one; all beyond
// break the budget, and one finding counts them.
const maxCalls = 20

// Script is what a scripted server answers a caller with, one case at a time.
// It decides nothing about the caller: [Suite.JudgeCaller] does.
type Script struct {
	lines []trace
	wants []envelope
	next  int
}

// ScriptOf is the script of one recovery case.
func (s *Suite) ScriptOf(at int) *Script {
	c := &s.Cases[at]
	script := &Script{}
	for i, line := range c.Oracle {
		want, err := parseEnvelope(c.Records[i])
		if err != nil { // lint has decoded it
			panic(err)
		}
		script.lines = append(script.lines, readTrace(line))
		script.wants = append(script.wants, want)
	}
	return script
}

// Reply is one answer of a scripted server. OK is a success.
type Reply struct {
	Code         string
	Message      string
	Field        *string
	RetryAfterMS *int64
}

// Answer is the reply to a call with this input: the next of the script if the
// input is the one that the script expects, and the last one again otherwise,
// and beyond the script.
func (s *Script) Answer(input jsontext.Value) Reply {
	if s.next < len(s.lines) && (s.next == 0 || same(s.lines[s.next].Input, input)) {
		s.next++
	}
	r := s.wants[s.next-1]
	reply := Reply{Code: r.Record.Code, Field: r.Record.Field, RetryAfterMS: r.Record.RetryAfterMS, Message: "OK"}
	switch {
	case reply.Code == codeOK:
	case len(r.MessageNames) > 0:
		refused := "input"
		if reply.Field != nil {
			refused = *reply.Field
		}
		reply.Message = fmt.Sprintf("The %s is refused; a valid one contains %s.", refused, strings.Join(r.MessageNames, ", "))
	default:
		reply.Message = fmt.Sprintf("The scripted dependency answered with %s.", reply.Code)
	}
	return reply
}

// Inputs is what a caller is told of a case: its input, the corrections that
// it may make, and whether authentication is confirmed as re-established when
// it is asked for.
type Inputs struct {
	Input       jsontext.Value
	Corrections []jsontext.Value
	Renewal     bool
}

// Inputs is what a caller is told of the case.
func (c *Case) Inputs() Inputs {
	g := c.given
	in := Inputs{Input: g.Input, Corrections: g.Corrections, Renewal: *g.Renewal}
	if g.Correction.Kind() == '{' {
		in.Corrections = []jsontext.Value{g.Correction}
	}
	return in
}

// JudgeCaller holds the calls of one recovery case to what its failures
// permitted: never early, never again after a stop, never an input that nobody
// supplied. Doing less than is permitted conforms.
func (s *Suite) JudgeCaller(o *Outcome, at int, arrivals []Arrival) {
	c := &s.Cases[at]
	if len(arrivals) == 0 {
		o.AddVoid("%s: the caller made no call, so that nothing was judged", c.Name)
		return
	}
	f := &findings{contract: s.Contract}
	want := make([]trace, len(c.Oracle))
	for i, line := range c.Oracle {
		want[i] = readTrace(line)
	}
	on := 0 // how much of the script has been followed
	for i, arrival := range arrivals {
		n := i + 1
		if n > maxCalls {
			f.add("budget", n, nil, nil, "%d more calls, of at most %d", len(arrivals)-maxCalls, limit)
			break
		}
		shown := fmt.Appendf(nil, `{"execution":%d,"input":%s,"at_ms":%.3f}`, n, arrival.Input, arrival.At.Seconds()*1000)
		if on >= len(want) {
			f.add(beyond(want, "", n, arrival.Input), n, nil, shown, "the case had ended with execution %d", len(want))
			continue
		}
		p := comparison{c.Oracle[on], shown, n}
		if n > limit {
			p.add(f, "budget", "call %d of at most %d", n, limit)
		}
		if !same(arrival.Input, want[on].Input) {
			p.add(f, traceRule("input", want[:on+1], arrival.Input), "the input is %s, expected %s", clip(arrival.Input.String()), want[on].Input)
			if on > 0 {
				continue // the script stays where it is
			}
		}
		if on > 0 {
			due := time.Duration(want[on].AtMS-want[on-1].AtMS) * time.Millisecond
			if waited := arrival.At - arrivals[i-1].At; waited < due-tolerance {
				p.add(f, "early", "the call came after %.3f ms, and %d ms were asked for", waited.Seconds()*1000, due.Milliseconds())
			}
		}
		on++
	}
	o.Continued += max(0, on-1)
	o.Permitted += len(want) - 1
	o.count(c, f)
}

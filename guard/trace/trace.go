// Package trace shows people what a guard decides: one JSON line for each
// decision (a [Writer]), counts ([Metrics]), and one line in words (a
// [Printer]). Secrets are redacted in all three; see [Redact].
//
// # A line
//
// A trace is UTF-8 text with one JSON object a line, a superset of a trace line of
// recovery-v2, compact, its members in this order. A member whose condition
// does not hold is absent; all others are always there.
//
//	case           the task: the random id of this run of the guard, "-", and the
//	               task's number in it, followed by the name that its caller gave
//	               it. No two tasks have one name, over restarts and files
//	execution      the number of the execution in its task, from 1; null where
//	               nothing was executed
//	input          {"digest": the first 32 hexadecimal digits of the SHA-256 of the
//	               canonical arguments}; arguments and results are in no trace
//	auth_ok        null: a guard does not know
//	code           OK, the failure's code, or CANCELLED where the caller gave up
//	action         complete after a success, else the permitted next action
//	at_ms          when it was decided, in milliseconds since the Unix epoch
//	disposition    how the task ended; null while it goes on
//	answered_from  tool, memory, ledger or validation
//	at             at_ms as RFC 3339, in UTC, with milliseconds
//	caller         the principal: a digest, or local: and a user's number
//	upstream       its name in the ledger
//	tool           its name
//	effect         read, idempotent, keyed or unsafe
//	message        the failure's sentence, at most 2000 characters; of failures
//	operation      the id of the write's operation; where there is one
//	state          its state then: sent, confirmed, refused or unknown; where it
//	               is known
//	replayed       true: a failure or result that was given before
//	asks           true: the upstream asked something back; the task goes on, and
//	               the action is complete
//	again          true: the guard itself repeats the call; it is not answered yet
//	why            budget (the task has used its executions) or rate (of the tool
//	               and tenant); where that kept or would have kept it from executing
//	mode           enforce, or observe: the guard did not act
//	would          observe: who would have answered, if not the tool
//	would_code     observe: the code of that answer
//	took_ms        from the call to its answer, in whole milliseconds
//
// # A call
//
// A call has one line, and one before it with again for each execution that
// the guard repeats by itself. Lines of different tasks interleave, and those of
// one task may where its caller calls side by side. A call that was refused by the protocol has none.
package trace

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"remit.example/guard"
	"remit.example/record"
)

const (
	maxMessage = 2000 // characters of a message
	maxName    = 256  // characters of any other text
	digestText = 32   // digits of a digest
)

// The modes of a line.
const (
	enforces = "enforce"
	observes = "observe"
)

// timeForm is the form of at.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// Form makes the lines of one run of a guard. It is not safe for concurrent use.
type Form struct {
	run  string
	seen map[string]string // names, redacted
}

// NewForm begins a run.
func NewForm() *Form {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	return &Form{run: hex.EncodeToString(id[:]), seen: map[string]string{}}
}

// maxSeen bounds the names that are kept redacted.
const maxSeen = 10_000

// name is a short text, redacted.
func (f *Form) name(text string) string {
	redacted, ok := f.seen[text]
	if !ok {
		redacted = clip(Redact(text), maxName)
		if len(f.seen) >= maxSeen {
			clear(f.seen)
		}
		f.seen[strings.Clone(text)] = redacted
	}
	return redacted
}

// Append appends the line of a decision, with its end.
func (f *Form) Append(dst []byte, d guard.Decision) []byte {
	var o record.Object
	null := []byte("null")
	text := func(name, value string) { o.Add(name, record.AppendString(nil, value)) }
	given := func(name, value string) {
		if value != "" {
			text(name, value)
		}
	}
	set := func(name string, value bool) {
		if value {
			o.Add(name, []byte("true"))
		}
	}
	text("case", f.run+"-"+clip(Redact(d.Task), maxName))
	execution := null
	if d.Execution > 0 {
		execution = strconv.AppendInt(nil, int64(d.Execution), 10)
	}
	o.Add("execution", execution)
	o.Add("input", []byte(`{"digest":"`+d.Arguments.String()[:digestText]+`"}`))
	o.Add("auth_ok", null)
	text("code", f.name(string(d.Code)))
	text("action", action(d))
	o.Add("at_ms", strconv.AppendInt(nil, d.At.UnixMilli(), 10))
	if d.Stop == "" {
		o.Add("disposition", null)
	} else {
		text("disposition", string(d.Stop))
	}
	text("answered_from", string(d.From))
	text("at", d.At.UTC().Format(timeForm))
	text("caller", f.name(d.Caller))
	text("upstream", f.name(d.Upstream))
	text("tool", f.name(d.Tool))
	text("effect", string(d.Effect))
	given("message", clip(Redact(d.Message), maxMessage))
	given("operation", f.name(d.Operation))
	given("state", string(d.State))
	set("replayed", d.Replayed)
	set("asks", d.Asks)
	set("again", d.Again)
	given("why", string(d.Why))
	if d.Observed {
		text("mode", observes)
		if d.Would != "" && d.Would != guard.FromTool {
			text("would", string(d.Would))
			given("would_code", f.name(string(d.WouldCode)))
		}
	} else {
		text("mode", enforces)
	}
	o.Add("took_ms", strconv.AppendInt(nil, max(0, d.Took.Milliseconds()), 10))
	return append(append(dst, o.JSON()...), '\n')
}

// action is what the decision permits next.
func action(d guard.Decision) string {
	switch {
	case d.Next != "":
		return string(d.Next)
	case d.Code == record.OK:
		return "complete"
	}
	return string(record.Stop)
}

// clip is a text of at most so many characters; one that is cut ends in "…".
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := 0
	for i := range text {
		if n == most-1 {
			return strings.Clone(text[:i]) + "…"
		}
		n++
	}
	return text
}

// Line is a line that was read.
type Line struct {
	Case         string  `json:"case"`
	Execution    *int    `json:"execution"`
	Input        Input   `json:"input"`
	AuthOK       *bool   `json:"auth_ok"`
	Code         string  `json:"code"`
	Action       string  `json:"action"`
	AtMS         int64   `json:"at_ms"`
	Disposition  *string `json:"disposition"`
	AnsweredFrom string  `json:"answered_from"`
	At           string  `json:"at"`
	Caller       string  `json:"caller"`
	Upstream     string  `json:"upstream"`
	Tool         string  `json:"tool"`
	Effect       string  `json:"effect"`
	Message      string  `json:"message"`
	Operation    string  `json:"operation"`
	State        string  `json:"state"`
	Replayed     bool    `json:"replayed"`
	Asks         bool    `json:"asks"`
	Again        bool    `json:"again"`
	Why          string  `json:"why"`
	Mode         string  `json:"mode"`
	Would        string  `json:"would"`
	WouldCode    string  `json:"would_code"`
	TookMS       int64   `json:"took_ms"`
}

// Input is the digest of a call's arguments.
type Input struct {
	Digest string `json:"digest"`
}

// Time is when it was decided.
func (l *Line) Time() time.Time { return time.UnixMilli(l.AtMS).UTC() }

// Executed reports whether the line is an execution.
func (l *Line) Executed() bool { return l.Execution != nil }

// sources are those that answer.
var sources = []string{string(guard.FromTool), string(guard.FromMemory), string(guard.FromLedger), string(guard.FromValidation)}

// Parse reads a line. A member that stands twice, that has another type or
// that no line has is an error.
func Parse(text []byte) (*Line, error) {
	l := new(Line)
	if err := json.Unmarshal(text, l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not a line of a guard's trace: %w", err)
	}
	for name, value := range map[string]string{"case": l.Case, "code": l.Code, "action": l.Action, "at": l.At, "tool": l.Tool, "input.digest": l.Input.Digest} {
		if value == "" {
			return nil, fmt.Errorf("not a line of a guard's trace: it has no %s", name)
		}
	}
	switch {
	case !slices.Contains(sources, l.AnsweredFrom):
		return nil, fmt.Errorf("answered_from is %.40q; valid: %s", l.AnsweredFrom, strings.Join(sources, ", "))
	case l.Mode != enforces && l.Mode != observes:
		return nil, fmt.Errorf("mode is %.40q; valid: %s, %s", l.Mode, enforces, observes)
	case l.Would != "" && !slices.Contains(sources, l.Would):
		return nil, fmt.Errorf("would is %.40q; valid: %s", l.Would, strings.Join(sources, ", "))
	case l.Execution != nil && *l.Execution < 1:
		return nil, errors.New("execution is below 1; they are numbered 1, 2, 3")
	}
	return l, nil
}

// Avoided reports whether a call was answered without the execution that it
// asked for. The guard's own tool never asks for one.
func (l *Line) Avoided() bool {
	return l.Execution == nil && l.AnsweredFrom != string(guard.FromTool) && l.Tool != guard.StatusTool
}

// WouldAvoid reports whether a call was executed that a guard which acts
// answers itself.
func (l *Line) WouldAvoid() bool { return l.Mode == observes && l.Would != "" && l.Executed() }

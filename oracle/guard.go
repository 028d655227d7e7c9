package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Who answers a call, in the lines of guard-v1.
const (
	byTool       = "tool"
	byMemory     = "memory"
	byLedger     = "ledger"
	byValidation = "validation"
)

// The rules of a guard, in the order in which one call is held to them.
var guardRules = []Rule{
	{"second-effect", "guard-v1, the ledger: at most one effect of each operation"},
	{"members", "guard-v1, the lines: each member once and of its type"},
	{"numbering", "guard-v1, the lines: every call once, in the order of steps and calls, then the whole"},
	{"executed-invalid-input", "guard-v1, validation: arguments that do not fit the listed schema are not sent"},
	{"retry-after-refusal", "guard-v1, memory: ACCESS_DENIED and KEY_REUSED hold until what refused has changed"},
	{"unchanged-input-resent", "guard-v1, memory: INVALID_ARGUMENT and PRECONDITION_FAILED hold while nothing has changed"},
	{"retry-without-renewal", "guard-v1, memory: AUTH_REQUIRED holds until credentials change, the server restarts, or a minute where they are not seen"},
	{"early", "guard-v1, memory: an early repeat is answered with the remaining wait"},
	{"retry-after-unknown", "guard-v1, memory: an unknown code or prose holds 5 s, doubling to 60 s"},
	{"budget", "guard-v1, tasks: three executions, corrections included"},
	{"executed-in-flight", "guard-v1, the ledger: while an operation of the line is in flight, none begins"},
	{"executed-while-unknown", "guard-v1, the ledger: an operation that is unknown and not repeatable is never executed again"},
	{"executed-reused-key", "guard-v1, the ledger: a key or an identity is not used for other arguments"},
	{"executed-again", "guard-v1, the ledger: a result that was not delivered is replayed"},
	{"acted-while-observing", "guard-v1, modes: who observes decides and changes nothing"},
	{"other-principal", "guard-v1, memory and the ledger: nothing of one principal is shown to another"},
	{"correction-refused", "guard-v1, tasks: a call with other arguments than the refused is executed, within the budget"},
	{"remembered-after-change", "guard-v1, memory: it ends with the evidence of change"},
	{"write-held", "guard-v1, the ledger: a write is executed where nothing of its line stands in the way"},
	{"remembered-too-long", "guard-v1, memory: when it has ended, the call is executed"},
	{"valid-input-refused", "guard-v1, validation: arguments that fit are sent"},
	{"replay-mark", "guard-v1, the lines: what an earlier execution answered is marked, and nothing else is"},
	{"answered-from", "guard-v1, the lines: who answered"},
	{"code", "recovery-v2, failure and effect: what the answer of the tool, or of the guard, stands for"},
	{"content", "guard-v1, the lines: a success has the content that the tool gave"},
	{"execution", "guard-v1, the lines: executions are numbered in the order in which they began"},
	{"wait", "guard-v1, the lines: the wait that is stated is the one that remains"},
	{"age", "guard-v1, memory: every answer from memory states its age"},
	{"again", "guard-v1, memory: every answer from memory states when asking again executes"},
	{"would", "guard-v1, modes: who observes says who would have answered"},
	{"state", "guard-v1, the ledger: what became of an operation, by what is known"},
	{"executions", "guard-v1, the lines: the tool is executed as often as the calls permit, and no more"},
	{"moment", "guard-v1, the lines: executions and effects at their times"},
	{"lost-effect", "guard-v1, the ledger: a write that is permitted takes effect"},
	{"key", "guard-v1, the ledger: an operation is repeated with its own key"},
	{"form", "guard-v1, the lines: compact JSON in this member order, calls that are answered alike on one line"},
}

// guardCase is a case of guard-v1.
type guardCase struct {
	Case             string               `json:"case"`
	Contract         jsontext.Value       `json:"contract"`
	Mode             string               `json:"mode"`
	TrustAnnotations bool                 `json:"trust_annotations"`
	Credentials      string               `json:"credentials"`
	Tools            map[string]guardTool `json:"tools"`
	Steps            []guardStep          `json:"steps"`

	// calls are the values of each call by the oracle, and literal the line of
	// each; nil where lint refuses the oracle.
	calls   []guardCall
	literal []jsontext.Value
}

// guardTool is a tool of the scripted server.
type guardTool struct {
	Schema   jsontext.Value   `json:"schema"`
	ReadOnly bool             `json:"read_only"`
	Acts     bool             `json:"acts"`
	OncePer  []string         `json:"once_per"`
	Answers  []jsontext.Value `json:"answers"`
}

// guardStep is a call, or calls at even distances, or an event.
type guardStep struct {
	AtMS      int64          `json:"at_ms"`
	Caller    string         `json:"caller"`
	Call      string         `json:"call"`
	Arguments jsontext.Value `json:"arguments"`
	Task      string         `json:"task"`
	Times     *int64         `json:"times"`
	EveryMS   int64          `json:"every_ms"`
	Vary      string         `json:"vary"`
	GivesUpMS *int64         `json:"gives_up_ms"`
	Delivered jsontext.Value `json:"delivered"`
	Event     string         `json:"event"`
	Tool      string         `json:"tool"`
	Schema    jsontext.Value `json:"schema"`
}

// times is how many calls the step makes.
func (s guardStep) times() int64 {
	switch {
	case s.Call == "":
		return 0
	case s.Times == nil:
		return 1
	}
	return *s.Times
}

const (
	maxTimes    = 1000
	statusTool  = "operation_status"
	observeMode = "observe"
)

var (
	guardEvents  = []string{"credentials", "reconnect", "restart", "forget", "schema"}
	guardAnswers = []string{"ok", "prose", "code", "rpc", "http", "lost", "silent", "unsent"}
)

func (c *Case) readGuarded(members) error {
	if err := json.Unmarshal(c.Line, &c.guarded, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	g := &c.guarded
	switch {
	case g.Contract.Kind() != '{' && g.Contract.Kind() != 'n':
		return errors.New("the contract is neither an object nor null")
	case g.Mode != "enforce" && g.Mode != observeMode:
		return fmt.Errorf("the mode is %q; valid: enforce, observe", g.Mode)
	case g.Credentials != "seen" && g.Credentials != "unseen":
		return fmt.Errorf("credentials are %q; valid: seen, unseen", g.Credentials)
	case len(g.Tools) == 0 || len(g.Steps) == 0:
		return errors.New("it needs tools and steps")
	}
	for _, name := range slices.Sorted(maps.Keys(g.Tools)) {
		if err := g.Tools[name].valid(); err != nil {
			return fmt.Errorf("tool %s: %w", name, err)
		}
	}
	before := int64(0)
	for i, step := range g.Steps {
		if err := step.valid(g.Tools); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if step.AtMS < before {
			return fmt.Errorf("step %d is at %d ms, after one at %d ms", i+1, step.AtMS, before)
		}
		before = step.AtMS
	}
	g.expect(c.Oracle)
	return nil
}

func (t guardTool) valid() error {
	if t.Schema.Kind() != '{' || len(t.Answers) == 0 {
		return errors.New("it needs a schema and answers")
	}
	for i, answer := range t.Answers {
		m, err := membersOf(answer)
		if err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
		kinds := 0
		for _, kind := range guardAnswers {
			kinds += m.count(kind)
		}
		if kinds != 1 {
			return fmt.Errorf("answer %d has %d of %s; valid: one", i+1, kinds, strings.Join(guardAnswers, ", "))
		}
	}
	return nil
}

func (s guardStep) valid(tools map[string]guardTool) error {
	_, listed := tools[s.Call]
	switch {
	case s.AtMS < 0 || s.AtMS > maxMS || s.EveryMS < 0 || s.EveryMS > maxMS:
		return fmt.Errorf("a time is not within 0 to %d ms", maxMS)
	case (s.Call == "") == (s.Event == ""):
		return errors.New("it is neither a call nor an event, or both")
	case s.Event != "" && !slices.Contains(guardEvents, s.Event):
		return fmt.Errorf("the event is %q; valid: %s", s.Event, strings.Join(guardEvents, ", "))
	case s.Event != "":
		return nil
	case !listed && s.Call != statusTool:
		return fmt.Errorf("no tool is named %s", s.Call)
	case s.Caller == "" || s.Arguments.Kind() != '{':
		return errors.New("a call needs a caller and arguments")
	case s.times() < 1 || s.times() > maxTimes:
		return fmt.Errorf("it is made %d times; valid: 1 to %d", s.times(), maxTimes)
	}
	return nil
}

// guardCall is one line of calls, or the values of one call of it.
type guardCall struct {
	Case         string  `json:"case"`
	Step         int64   `json:"step"`
	First        int64   `json:"first"`
	Last         int64   `json:"last"`
	AnsweredFrom *string `json:"answered_from"`
	Code         *string `json:"code"`
	Content      *string `json:"content"`
	Execution    *int64  `json:"execution"`
	RetryAtMS    *int64  `json:"retry_at_ms"`
	SinceMS      *int64  `json:"since_ms"`
	AgainAtMS    *int64  `json:"again_at_ms"`
	Replayed     bool    `json:"replayed"`
	Would        *string `json:"would"`
	State        *string `json:"state"`
}

// guardTotal is the last line of a case.
type guardTotal struct {
	Case     string              `json:"case"`
	Executed map[string][]int64  `json:"executed"`
	Effects  map[string][]int64  `json:"effects"`
	Keys     map[string][]*int64 `json:"keys"`
}

// The members of both kinds of line, in order.
var (
	guardCallForm  = mustMembers([]byte(`{"case":"","step":0,"first":0,"last":0,"answered_from":null,"code":null,"content":null,"execution":null,"retry_at_ms":null,"since_ms":null,"again_at_ms":null,"replayed":false,"would":null,"state":null}`))
	guardTotalForm = mustMembers([]byte(`{"case":"","executed":{},"effects":{},"keys":{}}`))
)

// totals reports whether a line tells of the whole case: it has no member of
// those that tell of a call.
func (m members) totals() bool {
	return m.get("step") == nil && m.get("first") == nil && m.get("answered_from") == nil
}

// at is the values of one of the calls that a line is about.
func (l guardCall) at(call, everyMS int64) guardCall {
	further := call - l.First
	l.First, l.Last = call, call
	if l.Execution != nil {
		l.Execution = new(*l.Execution + further)
	}
	if l.RetryAtMS != nil && textOr(l.AnsweredFrom) == byTool {
		l.RetryAtMS = new(*l.RetryAtMS + further*everyMS)
	}
	return l
}

// sameAnswer reports whether two calls have the same values.
func (l guardCall) sameAnswer(other guardCall) bool {
	return sameText(l.AnsweredFrom, other.AnsweredFrom) && sameText(l.Code, other.Code) && sameText(l.Content, other.Content) &&
		sameWait(l.Execution, other.Execution) && sameWait(l.RetryAtMS, other.RetryAtMS) && sameWait(l.SinceMS, other.SinceMS) && sameWait(l.AgainAtMS, other.AgainAtMS) && l.Replayed == other.Replayed &&
		sameText(l.Would, other.Would) && sameText(l.State, other.State)
}

func sameText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// expect takes the values of each call from the oracle, as far as it can be read:
// lint holds it to its form.
func (g *guardCase) expect(oracle []jsontext.Value) {
	for _, line := range oracle[:max(0, len(oracle)-1)] {
		var l guardCall
		if err := json.Unmarshal(line, &l); err != nil || l.Step < 1 || l.Step > int64(len(g.Steps)) || l.Last-l.First >= maxTimes {
			return
		}
		for call := l.First; call <= l.Last; call++ {
			g.calls = append(g.calls, l.at(call, g.Steps[l.Step-1].EveryMS))
			g.literal = append(g.literal, line)
		}
	}
}

// checkGuarded holds an oracle to the form of its lines: every call once, in
// order, on as few lines as can be.
func (l *lint) checkGuarded(c *Case) {
	l.checkName(c)
	if len(c.Oracle) < 2 || len(c.Records) != 0 {
		l.fault("case %s: a guard case has lines of calls, one of the whole, and no records", c.Name)
		return
	}
	before := len(l.faults)
	var due []guardCall
	for i, step := range c.guarded.Steps {
		for call := int64(1); call <= step.times(); call++ {
			due = append(due, guardCall{Step: int64(i + 1), First: call})
		}
	}
	var last *guardCall
	for i, line := range c.Oracle[:len(c.Oracle)-1] {
		var read guardCall
		if err := json.Unmarshal(line, &read, json.RejectUnknownMembers(true)); err != nil || len(mustMembers(line).compare(guardCallForm)) > 0 {
			l.fault("case %s: oracle line %d is no line of calls: %v", c.Name, i+1, err)
			return
		}
		count := read.Last - read.First + 1
		if count < 1 || count > int64(len(due)) || read.Case != c.Name || due[0].Step != read.Step || due[0].First != read.First || due[count-1].Step != read.Step {
			l.fault("case %s: oracle line %d is not of the calls that are due", c.Name, i+1)
			return
		}
		due = due[count:]
		if last != nil && last.Step == read.Step && last.at(read.First, c.guarded.Steps[read.Step-1].EveryMS).sameAnswer(read) {
			l.fault("case %s: oracle lines %d and %d are one", c.Name, i, i+1)
		}
		last = &read
	}
	if len(due) > 0 {
		l.fault("case %s: its oracle has no line for call %d of step %d", c.Name, due[0].First, due[0].Step)
	}
	var total guardTotal
	end := c.Oracle[len(c.Oracle)-1]
	if err := json.Unmarshal(end, &total, json.RejectUnknownMembers(true)); err != nil || len(mustMembers(end).compare(guardTotalForm)) > 0 || total.Case != c.Name {
		l.fault("case %s: its last line is none of the whole: %v", c.Name, err)
	}
	if len(l.faults) == before {
		l.checkTotal(c, total)
	}
}

// checkTotal holds the last line of a case to the lines before it.
func (l *lint) checkTotal(c *Case, total guardTotal) {
	executions := int64(0)
	for _, name := range slices.Sorted(maps.Keys(c.guarded.Tools)) {
		executions += int64(len(total.Executed[name]))
		if total.Executed[name] == nil || total.Effects[name] == nil {
			l.fault("case %s: its last line does not tell of %s", c.Name, name)
		}
	}
	if len(total.Executed) != len(c.guarded.Tools) || len(total.Effects) != len(c.guarded.Tools) {
		l.fault("case %s: its last line tells of tools that do not exist", c.Name)
	}
	for _, call := range c.guarded.calls {
		if call.Execution != nil && (*call.Execution < 1 || *call.Execution > executions) {
			l.fault("case %s: step %d, call %d has execution %d of %d", c.Name, call.Step, call.First, *call.Execution, executions)
		}
	}
}

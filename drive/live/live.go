// Package live provokes a running application, the operator's own, and has
// what it does judged by package oracle. The application must be no production
// system: examples are executed, effects included.
//
// # What is called
//
// A tool is called at BASE/v1/tools/{name}: a POST of its input, as
// application/json, with Authorization: Bearer where there is a token. An
// answer has failed if its status is outside 200 to 299 or it has the member
// error; a failure carries error, code, retryable and, under recovery, the
// record. No call is repeated, and a run makes at most 200.
//
// # What is provoked
//
// For each tool, in this order and one call after another:
//
//	baseline        the example, answered without a failure; where it is not,
//	                everything else of the tool is unchecked
//	missing         no token: AUTH_REQUIRED
//	rejected        a token that nobody issued: AUTH_REQUIRED
//	malformed       what the schema of the input refuses, one fault a call:
//	                INVALID_ARGUMENT with the argument as its field
//	expired         the token that a command prints: AUTH_REQUIRED
//	refusal         the token that a command prints, or whatever it set up
//	                where it prints none: ACCESS_DENIED
//	dependency      after a command that makes it fail: TEMP_UNAVAILABLE with a
//	                wait, or what else the plan permits
//
// Then, for each write whose effects can be counted, an answer is lost:
//
//	answered    a write, answered, which raises the count by one; where it does
//	            not, everything that follows is unchecked
//	            a write, of which no answer is read. Its connection is closed, or
//	            the process killed, once the effect shows; or a command has the
//	            service lose it. Where the caller sends no key, a repetition is
//	            told from a new write by whether the answer was delivered: then
//	            the connection is closed once the request has left, and no
//	            process killed
//	repeated    the same call again, with the same key: an answer,
//	            OUTCOME_UNKNOWN, IN_PROGRESS or TEMP_UNAVAILABLE. An unsafe one
//	            whose effect has shown is not executed: an answer is marked as
//	            replayed, and TEMP_UNAVAILABLE is wrong
//	operation   what the tool that a failure names says of its operation
//	status      what the contract's status tool says
//	once        there is at most one effect, and exactly one after an answer
//	reused      the key with other arguments: KEY_REUSED, without an effect
//
// A call in which an answer is lost that showed no effect tests a loss before
// the effect alone, and the other is unchecked. Counts are read besides the
// calls of a run.
//
// Over MCP only answers are lost. The key is sent where the server lists its
// argument; a guard that makes keys itself does not.
//
// Faults stand at the top level of an input and one level down, whose field is
// a dotted path: of each argument another type, a fraction, null, an empty
// text, a text of a wrong length or form, a value outside its enumeration or
// beyond its bounds, an item of a list that is not accepted, each required one
// missing; an argument that is unknown; a body that is no JSON object. What a
// schema permits is not provoked. Where the faults of all tools are more than
// the calls that are left, each tool has its share and the rest is unchecked.
//
// # What is a fault of the harness
//
// An application that cannot be connected to, three calls in a row without an
// answer, a command that fails and an interrupt make the run void, and no
// other call is made. A single call that is accepted and not answered, in time
// or at all, is an observation: it breaks the rule of its provocation.
//
// The commands that restore are run whenever the one that provokes was
// started, also after a fault or an interrupt. Commands are run by sh -c in a
// process group of their own. What they print is never shown: it may hold a
// token.
package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"remit.example/drive/mcp"
	"remit.example/oracle"
)

// maxCalls bounds the calls of one run.
const maxCalls = 200

// maxLost is how many calls in a row may have no answer.
const maxLost = 3

// Kind is a kind of provocation that needs a command of the operator.
type Kind string

// The kinds.
const (
	Expired    Kind = "expired"
	Refusal    Kind = "refusal"
	Dependency Kind = "dependency"
	Lost       Kind = "lost"
)

// Kinds lists the kinds in the order in which they are provoked.
func Kinds() []Kind { return []Kind{Expired, Refusal, Dependency, Lost} }

// Plan is what a run provokes.
type Plan struct {
	Service string // the contract's
	Base    string // the address of the application, without /v1/tools
	Token   string // of a principal that may call every tool; "": none
	Tools   []Tool
	Writes  []Write // whose answers are lost
	// MCP is the address of an MCP server, which is called in place of Base, or
	// names Command, which starts one. Over MCP only answers are lost.
	MCP     string
	Command []string
	// Provoke and Restore are command lines for sh -c.
	Provoke, Restore map[Kind]string
	Timeout          time.Duration // of one call, and of one command
	Patience         time.Duration // in which an effect shows in its count; 0: two seconds
	// Progress is told how many calls were made; nil: nobody.
	Progress func(calls int)
}

// Tool is one tool of the contract.
type Tool struct {
	Name    string
	Schema  []byte // JSON Schema of the input
	Example []byte // an input that is accepted
	Writes  bool   // whether its effect is not a read
	// Anonymous says that anybody may call it, within a rate.
	Anonymous bool
	// Outage are the codes that are right while the dependency fails. None: the
	// contract gives the tool no dependency.
	Outage []string
}

// Check makes one run. An error says what is wrong with the plan, before any
// call.
func Check(ctx context.Context, p Plan) (*oracle.Live, error) {
	c := &check{plan: p, live: oracle.NewLive(p.Service)}
	var err error
	if c.calls, c.counts, err = wires(p); err != nil {
		return nil, err
	}
	defer c.calls.close()
	defer c.counts.close()
	c.live.Hide(p.Token)
	for i := range p.Tools {
		t := &subject{Tool: &p.Tools[i]}
		if t.faults, t.unread, err = malformed(t.Schema, t.Example); err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		c.subjects = append(c.subjects, t)
	}
	for _, w := range p.Writes {
		if err := w.check(); err != nil {
			return nil, fmt.Errorf("tool %s: %w", w.Tool, err)
		}
	}
	c.run(ctx)
	return c.live, nil
}

// wires are how calls are made, and how effects are counted while one of them
// goes on.
func wires(p Plan) (calls, counts wire, err error) {
	if p.MCP == "" {
		c, err := newCaller(p.Base, p.Timeout)
		return c, c, err
	}
	options := mcp.Options{Token: p.Token, Timeout: p.Timeout, Command: p.Command, Foreign: true}
	s := &session{target: p.MCP, options: options}
	if s.kills() {
		return s, &session{target: p.MCP, options: options}, nil
	}
	return s, s, nil // a guard may take another session for another caller
}

// check says what is wrong with a write.
func (w *Write) check() error {
	inputs := [][]byte{w.Input, w.Other}
	if w.Effects != nil {
		inputs = append(inputs, w.Effects.Input)
	}
	for _, input := range inputs {
		if input == nil {
			continue
		}
		if _, err := readObject(input); err != nil {
			return fmt.Errorf("the input %.200s: %w", input, err)
		}
	}
	return nil
}

// subject is a tool under check.
type subject struct {
	*Tool
	faults   []fault
	unread   []string // arguments whose schema refuses nothing that is known here
	answered bool     // the example was
}

// check is one run.
type check struct {
	plan     Plan
	live     *oracle.Live
	calls    wire
	counts   wire // the same, or another session
	subjects []*subject
	made     int // calls
	lost     int // in a row
}

func (c *check) run(ctx context.Context) {
	for _, t := range c.subjects {
		t.answered = c.baseline(ctx, t)
	}
	for _, t := range c.answering() {
		c.missing(ctx, t)
		c.rejected(ctx, t)
	}
	c.malformed(ctx)
	for _, kind := range []Kind{Expired, Refusal, Dependency} {
		c.commanded(ctx, kind)
	}
	if c.plan.MCP != "" {
		for _, what := range []string{"missing, rejected and expired authentication", "refusals", "malformed parameters", "a dependency's failure"} {
			c.live.LeaveOut(what, "over MCP only lost answers are provoked")
		}
	}
	c.lose(ctx)
}

// answering are the tools whose example was answered.
func (c *check) answering() []*subject {
	var all []*subject
	for _, t := range c.subjects {
		if t.answered {
			all = append(all, t)
		}
	}
	return all
}

// baseline reports whether the example of a tool is answered.
func (c *check) baseline(ctx context.Context, t *subject) bool {
	p := oracle.Provocation{
		Case: t.Name + "/baseline", Rule: "live-baseline",
		Why: "The example is answered. Sent: " + string(t.Example),
	}
	what := "everything of " + t.Name
	o, ok := c.call(ctx, what, t, t.Example, c.plan.Token)
	switch {
	case !ok:
		return false
	case c.plan.Token == "" && (o.Code() == "AUTH_REQUIRED" || o.Status == 401):
		c.live.LeaveOut(what, "its example needs a token; --token-file gives one")
		return false
	case c.throttled(t, o, c.plan.Token):
		c.live.LeaveOut(what, throttled)
		return false
	case c.live.Judge(p, o):
		return true
	}
	c.live.LeaveOut("everything else of "+t.Name, "its example was not answered")
	return false
}

const (
	noToken   = "no token was given, so that the application may need none; --token-file gives one"
	throttled = "the application asked to wait, as the contract's rate for anonymous callers permits; --token-file gives a token"
)

func (c *check) missing(ctx context.Context, t *subject) {
	what := "missing authentication of " + t.Name
	switch {
	case t.Anonymous:
		c.live.LeaveOut(what, "the contract permits anonymous reads")
	case c.plan.Token == "":
		c.live.LeaveOut(what, noToken)
	default:
		c.provoke(ctx, what, t, t.Example, "", oracle.Provocation{
			Case: t.Name + "/missing", Rule: "live-authentication", Codes: []string{"AUTH_REQUIRED"},
			Why: "A call without a token asks for authentication.",
		})
	}
}

func (c *check) rejected(ctx context.Context, t *subject) {
	what := "rejected authentication of " + t.Name
	if c.plan.Token == "" {
		c.live.LeaveOut(what, noToken)
		return
	}
	c.provoke(ctx, what, t, t.Example, "remit-check-"+rand.Text(), oracle.Provocation{
		Case: t.Name + "/rejected", Rule: "live-authentication", Codes: []string{"AUTH_REQUIRED"},
		Why: "A token that nobody issued is as none.",
	})
}

// malformed sends each tool its share of faulty inputs.
func (c *check) malformed(ctx context.Context) {
	tools := c.answering()
	share := c.share(tools)
	for _, t := range tools {
		for _, argument := range t.unread {
			c.live.LeaveOut("malformed "+argument+" of "+t.Name, "its schema refuses nothing that this check knows how to send")
		}
		for i, f := range t.faults {
			what := "malformed parameters of " + t.Name
			if i >= share {
				c.live.LeaveOut(what, tooMany)
				continue
			}
			c.provoke(ctx, what, t, f.body, c.plan.Token, oracle.Provocation{
				Case: t.Name + "/" + f.name, Rule: "live-malformed", Codes: []string{"INVALID_ARGUMENT"}, Field: f.field,
				Why: f.why + " Sent: " + string(f.body),
			})
		}
	}
}

var tooMany = fmt.Sprintf("a run makes at most %d calls", maxCalls)

// share is how many faulty inputs each tool may be sent, so that what follows
// still has its calls.
func (c *check) share(tools []*subject) int {
	room := maxCalls - c.made - len(c.plan.Provoke)*len(tools)
	for share := 0; ; share++ {
		more := 0
		for _, t := range tools {
			if len(t.faults) > share {
				more++
			}
		}
		if more == 0 || more > room {
			return share
		}
		room -= more
	}
}

// commanded provokes what needs a command, and restores what that changed.
func (c *check) commanded(ctx context.Context, kind Kind) {
	tools := c.answering()
	if kind == Dependency {
		tools = c.dependent(tools)
	}
	command, given := c.plan.Provoke[kind]
	if !given {
		for _, t := range tools {
			c.live.LeaveOut(words[kind]+" of "+t.Name, fmt.Sprintf("no command was given; --provoke %s=CMD gives one", kind))
		}
		return
	}
	if c.live.Void() || len(tools) == 0 {
		return
	}
	defer c.restore(ctx, kind)
	printed, err := c.start(ctx, kind, command)
	if err != nil {
		c.live.AddVoid("the command of --provoke %s %v; what it printed is not shown, as it may hold a token", kind, err)
		return
	}
	c.after(ctx, kind, tools, printed)
}

// dependent are the tools that have a dependency.
func (c *check) dependent(tools []*subject) []*subject {
	var all []*subject
	for _, t := range tools {
		if len(t.Outage) > 0 {
			all = append(all, t)
			continue
		}
		c.live.LeaveOut(words[Dependency]+" of "+t.Name, "the contract gives the tool no dependency: it answers from its catalogue")
	}
	return all
}

// start runs a command that provokes, and gives the token that it prints.
func (c *check) start(ctx context.Context, kind Kind, command string) (string, error) {
	if kind == Dependency || kind == Lost {
		return "", run(ctx, command, c.plan.Timeout, nil)
	}
	printed, err := firstLine(ctx, command, c.plan.Timeout)
	c.live.Hide(printed)
	return printed, err
}

var words = map[Kind]string{Expired: "expired authentication", Refusal: "a refusal", Dependency: "a dependency's failure"}

// after makes the calls that follow a command.
func (c *check) after(ctx context.Context, kind Kind, tools []*subject, printed string) {
	token := c.plan.Token
	if printed != "" {
		if !isToken(printed) {
			c.live.AddVoid("what the command of --provoke %s prints on its first line is no token; valid: %s", kind, tokenForm)
			return
		}
		token = printed
	}
	if kind == Expired && printed == "" {
		c.live.AddVoid("the command of --provoke expired prints no token on its first line")
		return
	}
	for _, t := range tools {
		p := oracle.Provocation{Case: t.Name + "/" + string(kind)}
		switch kind {
		case Expired:
			p.Rule, p.Codes, p.Why = "live-authentication", []string{"AUTH_REQUIRED"}, "A token that has expired is as none."
		case Refusal:
			p.Rule, p.Codes, p.Why = "live-refusal", []string{"ACCESS_DENIED"}, "A principal that may not call is refused."
		case Dependency:
			p.Rule, p.Codes, p.Why = "live-dependency", t.Outage, "A dependency that fails is told as such."
		}
		c.provoke(ctx, words[kind]+" of "+t.Name, t, t.Example, token, p)
	}
}

// restore runs the command that undoes a provocation, whatever happened.
func (c *check) restore(ctx context.Context, kind Kind) {
	command, given := c.plan.Restore[kind]
	if !given {
		return
	}
	if err := run(context.WithoutCancel(ctx), command, c.plan.Timeout, nil); err != nil {
		c.live.AddVoid("the command of --restore %s %v; what was provoked may last", kind, err)
	}
}

// provoke makes one call and has what it met judged.
func (c *check) provoke(ctx context.Context, what string, t *subject, body []byte, token string, p oracle.Provocation) {
	o, ok := c.call(ctx, what, t, body, token)
	switch {
	case !ok:
	case p.Rule != "live-dependency" && c.throttled(t, o, token):
		c.live.LeaveOut(what, throttled)
	default:
		c.live.Judge(p, o)
	}
}

// throttled reports whether an answer may be that of a rate, which the
// contract sets for anonymous callers.
func (c *check) throttled(t *subject, o oracle.Observed, token string) bool {
	return t.Anonymous && token == "" && o.Code() == "TEMP_UNAVAILABLE"
}

// advance counts a call.
func (c *check) advance() {
	c.made++
	if c.plan.Progress != nil {
		c.plan.Progress(c.made)
	}
}

// call makes one call, and reports whether it tells anything of the
// application.
func (c *check) call(ctx context.Context, what string, t *subject, body []byte, token string) (oracle.Observed, bool) {
	switch {
	case c.live.Void():
		return oracle.Observed{}, false
	case c.made == maxCalls:
		c.live.LeaveOut(what, tooMany)
		return oracle.Observed{}, false
	}
	c.advance()
	o, err := c.calls.call(ctx, t.Name, body, token)
	switch {
	case ctx.Err() != nil:
		c.live.AddVoid("interrupted")
		return o, false
	case err != nil:
		c.live.AddVoid("%v", err)
		return o, false
	}
	if c.lost++; o.Lost == "" {
		c.lost = 0
	}
	if c.lost == maxLost {
		c.live.AddVoid("%d calls in a row had no answer: %s", maxLost, o.Lost)
		return o, false
	}
	return o, true
}

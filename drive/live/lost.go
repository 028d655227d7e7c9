package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

// Write is a tool with an effect, whose answer is lost.
type Write struct {
	Tool   string
	Effect string // idempotent, keyed or unsafe
	Input  []byte // of the call whose answer is lost
	// Other is the input of another write, nil: none is known. It has the effect
	// that shows that effects are counted, so that Input is sent once alone, and
	// is sent under the key of Input.
	Other []byte
	Key   string // the argument with the operation key; "": the contract names none
	// Effects is the read that counts effects; nil: none is known.
	Effects *Effects
	Status  *Status // nil: the contract names none
}

// Effects is a read by which effects are counted: a number, or the length of a
// list, at a JSON Pointer into its answer.
type Effects struct {
	Tool    string
	Input   []byte
	Pointer string
}

func (e *Effects) name() string { return fmt.Sprintf("%s of %s", e.Pointer, e.Tool) }

// Status is how a read tells what became of a write: the arguments of the read,
// each with that of the write which it is given, and texts at JSON Pointers
// into its answer.
type Status struct {
	Tool                string
	With                map[string]string
	Applied, NotApplied map[string]string
}

const (
	keyed  = "keyed"
	unsafe = "unsafe"
)

// losing is one write under check.
type losing struct {
	*check
	*Write
	what  string // in what is unchecked
	keyed bool   // the key is an argument that the server lists
}

// lost loses the answer of every write, and repeats the call.
func (c *check) lose(ctx context.Context) {
	for i := range c.plan.Writes {
		w := &c.plan.Writes[i]
		l := &losing{check: c, Write: w, what: "a lost answer of " + w.Tool}
		if reason := l.lacks(); reason != "" {
			c.live.LeaveOut(l.what, reason)
			continue
		}
		l.run(ctx)
	}
}

// lacks says what is missing to lose an answer and see what came of it.
func (l *losing) lacks() string {
	switch {
	case l.Effects == nil:
		return fmt.Sprintf("no read counts its effects; --effects '%s=READ INPUT POINTER' names one", l.Tool)
	case l.Input == nil:
		return fmt.Sprintf("no input is known; --write '%s INPUT' gives one", l.Tool)
	case l.Write.Effect == keyed && l.Key == "":
		return "the contract does not say which argument carries its key"
	}
	return ""
}

// hinges reports whether the repetition is told from a new write only by
// whether the answer was delivered: it is unsafe, or has no key of the caller's.
func (l *losing) hinges() bool {
	return l.Write.Effect == unsafe || l.Write.Effect == keyed && !l.keyed
}

// run executes, drops the answer, repeats, and counts.
func (l *losing) run(ctx context.Context) {
	if l.live.Void() || !l.finds(ctx) {
		return
	}
	if _, commanded := l.plan.Provoke[Lost]; l.hinges() && l.calls.kills() && !commanded {
		l.live.LeaveOut(l.what, "a repetition is told from a new write by whether the answer was delivered, and where a process is killed nobody can say that; --provoke lost=CMD loses the answer by the service's own means")
		return
	}
	start, ok := l.calibrate(ctx)
	if !ok {
		return
	}
	settled := l.status(ctx, l.Input) // of the arguments, before
	key := newKey()
	body := l.withKey(l.Input, key)
	if !l.drop(ctx, body, start) {
		return
	}
	seen := l.rises(ctx, start) > start
	if !seen {
		l.live.LeaveOut("an answer of "+l.Tool+" that is lost after its effect", fmt.Sprintf("%s showed no effect within %s of the loss", l.Effects.name(), l.patience()))
	}
	again, ok := l.repeat(ctx, body, seen)
	if !ok {
		return
	}
	least := 0
	if !again.Failed() && (seen || l.Other != nil || !again.Replayed()) { // or it may be the answer that came before
		least = 1
		l.rises(ctx, start)
	}
	l.operation(ctx, again, start)
	l.told(ctx, settled, body, start)
	now, ok := l.count(ctx)
	if !ok {
		return
	}
	l.live.JudgeCount(oracle.Provocation{
		Case: l.Tool + "/once", Rule: "live-once",
		Why: "The answer was lost and the call repeated; it is one write. Sent: " + string(body),
	}, oracle.Count{Least: least, Most: 1, Effects: now - start, Of: l.Effects.name()})
	l.reuse(ctx, key, now)
}

// finds learns whether the key is the caller's.
func (l *losing) finds(ctx context.Context) bool {
	if l.Write.Effect != keyed {
		return true
	}
	takes, err := l.calls.takes(ctx, l.Tool, l.Key)
	if err != nil {
		l.live.AddVoid("%v", err)
		return false
	}
	l.keyed = takes
	return true
}

// calibrate has one effect whose answer is read, and reports whether the count
// shows it. start is the count after it.
func (l *losing) calibrate(ctx context.Context) (start int, ok bool) {
	before, ok := l.count(ctx)
	if !ok {
		return 0, false
	}
	input := l.Other
	if input == nil {
		input = l.Input
	}
	body := l.withKey(input, newKey())
	o, ok := l.tried(ctx, body)
	if !ok {
		return 0, false
	}
	if !l.live.Judge(oracle.Provocation{
		Case: l.Tool + "/answered", Rule: "live-baseline", Why: "The write is answered, before an answer is lost. Sent: " + string(body),
	}, o) {
		l.live.LeaveOut(l.what, "the write was not answered")
		return 0, false
	}
	start = l.rises(ctx, before)
	switch rose := start - before; {
	case rose == 1:
		return start, true
	case rose > 1:
		l.live.JudgeCount(oracle.Provocation{
			Case: l.Tool + "/once", Rule: "live-once", Why: "The write was called once. Sent: " + string(body),
		}, oracle.Count{Least: 1, Most: 1, Effects: rose, Of: l.Effects.name()})
	default:
		l.live.LeaveOut(l.what, fmt.Sprintf("%s did not rise with a write that was answered, so that it does not count its effects", l.Effects.name()))
	}
	return 0, false
}

// drop sends the write and loses its answer.
func (l *losing) drop(ctx context.Context, body []byte, start int) bool {
	command, commanded := l.plan.Provoke[Lost]
	until := make(chan struct{})
	watched := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	switch {
	case commanded:
		defer l.restore(ctx, Lost)
		if _, err := l.start(ctx, Lost, command); err != nil {
			l.live.AddVoid("the command of --provoke %s %v; what it printed is not shown, as it may hold a token", Lost, err)
			stop()
			return false
		}
		close(watched) // the service loses it
	case l.hinges():
		close(until) // before an answer could be taken for a delivered one
		close(watched)
	default: // once the effect is there
		go func() {
			defer close(watched)
			defer close(until)
			l.rises(watching, start)
		}()
	}
	l.advance()
	err := l.calls.lose(ctx, l.Tool, body, l.plan.Token, until)
	stop()
	<-watched
	switch {
	case ctx.Err() != nil:
		l.live.AddVoid("interrupted")
	case err != nil:
		l.live.AddVoid("the application cannot be reached: %v", err)
	}
	return !l.live.Void()
}

// repeat makes the call again and has its answer judged. seen says that the
// effect was there before.
func (l *losing) repeat(ctx context.Context, body []byte, seen bool) (oracle.Observed, bool) {
	o, ok := l.tried(ctx, body)
	if !ok {
		return o, false
	}
	p := oracle.Provocation{
		Case: l.Tool + "/repeated", Rule: "live-repetition", Codes: []string{"OUTCOME_UNKNOWN", "IN_PROGRESS"}, OrAnswer: true,
		Why: "The same call again, after its answer was lost. Sent: " + string(body),
	}
	if l.Write.Effect == unsafe && seen {
		p.OrAnswer, p.OrReplay = false, true
	} else {
		p.Codes = append(p.Codes, "TEMP_UNAVAILABLE")
	}
	l.live.Judge(p, o)
	return o, true
}

// operation asks the tool that a failure names for its operation.
func (l *losing) operation(ctx context.Context, failed oracle.Observed, start int) {
	id, tool := failed.Operation()
	if !failed.Failed() || id == "" || tool == "" {
		return
	}
	o, ok := l.observe(ctx, tool, fmt.Appendf(nil, `{"id":%s}`, quoted(id)))
	if !ok {
		return
	}
	what := fmt.Sprintf("%s of %s", tool, l.Tool)
	var says struct {
		State string `json:"state"`
	}
	_ = json.Unmarshal(o.Body, &says)
	switch {
	case o.Failed():
		l.live.Judge(oracle.Provocation{Case: l.Tool + "/operation", Rule: "live-status", Why: "The operation that a failure names can be asked for."}, o)
	case says.State == "confirmed" || says.State == "refused":
		l.judgeStatus(ctx, l.Tool+"/operation", o, says.State == "confirmed", start)
	default:
		l.live.LeaveOut(what, fmt.Sprintf("it says that the operation is %s, which is neither applied nor not", cmp.Or(says.State, "nothing")))
	}
}

// verdict is what a status says.
type verdict int

const (
	unasked verdict = iota
	neither
	notApplied
	applied
)

// told asks the contract's status tool after the repetition.
func (l *losing) told(ctx context.Context, before statusAnswer, body []byte, start int) {
	what := "the status of " + l.Tool
	if l.Status == nil {
		l.live.LeaveOut(what, "the contract names no tool that tells it")
		return
	}
	if before.says == applied {
		l.live.LeaveOut(what, fmt.Sprintf("%s told of these arguments as applied before they were sent; --write '%s INPUT OTHER' with an INPUT that was never sent", l.Status.Tool, l.Tool))
		return
	}
	switch s := l.status(ctx, body); s.says {
	case unasked:
	case neither:
		if s.observed.Failed() {
			l.live.Judge(oracle.Provocation{Case: l.Tool + "/status", Rule: "live-status", Why: "The status of a write can be asked for."}, s.observed)
			return
		}
		l.live.LeaveOut(what, fmt.Sprintf("%s says neither what the contract takes for applied nor for not applied", l.Status.Tool))
	default:
		l.judgeStatus(ctx, l.Tool+"/status", s.observed, s.says == applied, start)
	}
}

func (l *losing) judgeStatus(ctx context.Context, name string, o oracle.Observed, says bool, start int) {
	now, ok := l.count(ctx)
	if !ok {
		return
	}
	l.live.JudgeStatus(oracle.Provocation{Case: name, Rule: "live-status", Why: "The status says whether the write took effect."}, o, says, now > start)
}

// statusAnswer is what the contract's status tool answered.
type statusAnswer struct {
	says     verdict
	observed oracle.Observed
}

// status asks the contract's status tool about the arguments of a write.
func (l *losing) status(ctx context.Context, write []byte) statusAnswer {
	if l.Status == nil {
		return statusAnswer{}
	}
	given, err := readObject(write)
	if err != nil {
		return statusAnswer{}
	}
	input := object{}
	for argument, of := range l.Status.With {
		if at := given.at(of); at >= 0 {
			input = append(input, member{argument, given[at].value})
		}
	}
	o, ok := l.observe(ctx, l.Status.Tool, input.json())
	switch {
	case !ok:
		return statusAnswer{}
	case !o.Failed() && holds(l.Status.Applied, o.Body):
		return statusAnswer{applied, o}
	case !o.Failed() && holds(l.Status.NotApplied, o.Body):
		return statusAnswer{notApplied, o}
	}
	return statusAnswer{neither, o}
}

// reuse sends the key of the write with other arguments. now is the count
// before.
func (l *losing) reuse(ctx context.Context, key string, now int) {
	what := "the key of " + l.Tool + " with other arguments"
	switch {
	case l.Write.Effect != keyed:
		return
	case !l.keyed:
		l.live.LeaveOut(what, "the server takes no "+l.Key+" from its callers")
		return
	case l.Other == nil:
		l.live.LeaveOut(what, fmt.Sprintf("no other input is known; --write '%s INPUT OTHER' gives one", l.Tool))
		return
	}
	body := l.withKey(l.Other, key)
	o, ok := l.tried(ctx, body)
	if !ok {
		return
	}
	if !l.live.Judge(oracle.Provocation{
		Case: l.Tool + "/reused", Rule: "live-key", Codes: []string{"KEY_REUSED"}, Why: "The key of a write with other arguments is refused. Sent: " + string(body),
	}, o) {
		return
	}
	if after, ok := l.count(ctx); ok && after != now {
		l.live.JudgeCount(oracle.Provocation{Case: l.Tool + "/reused-once", Rule: "live-key", Why: "What is refused has no effect. Sent: " + string(body)},
			oracle.Count{Effects: after - now, Of: l.Effects.name()})
	}
}

func newKey() string { return "remit-check-" + rand.Text() }

// withKey is an input with an operation key, where the tool takes one.
func (l *losing) withKey(input []byte, key string) []byte {
	if !l.keyed {
		return input
	}
	o, _ := readObject(input) // the plan was checked
	return o.with([]string{l.Key}, jsontext.Value(quoted(key))).json()
}

// tried makes one call of the write.
func (l *losing) tried(ctx context.Context, body []byte) (oracle.Observed, bool) {
	return l.call(ctx, l.what, &subject{Tool: &Tool{Name: l.Tool}}, body, l.plan.Token)
}

// observe makes one call of a read.
func (l *losing) observe(ctx context.Context, tool string, body []byte) (oracle.Observed, bool) {
	return l.call(ctx, l.what, &subject{Tool: &Tool{Name: tool}}, body, l.plan.Token)
}

// count is how many effects there are now.
func (l *losing) count(ctx context.Context) (int, bool) {
	if l.live.Void() {
		return 0, false
	}
	n, err := l.look(ctx)
	if err != nil {
		l.live.AddVoid("effects cannot be counted: %v", err)
	}
	return n, err == nil
}

// look reads the count. It is no call of the run: how often it is made depends
// on how fast effects show.
func (l *losing) look(ctx context.Context) (int, error) {
	o, err := l.counts.call(ctx, l.Effects.Tool, l.Effects.Input, l.plan.Token)
	switch {
	case err != nil:
		return 0, err
	case o.Lost != "":
		return 0, fmt.Errorf("%s: %s", l.Effects.Tool, o.Lost)
	case o.Failed():
		return 0, fmt.Errorf("%s fails: %.200s", l.Effects.Tool, o.Body)
	}
	value := at(o.Body, l.Effects.Pointer)
	switch value.Kind() {
	case '[':
		var list []jsontext.Value
		err := json.Unmarshal(value, &list)
		return len(list), err
	case '0':
		if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 && n < math.MaxInt32 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s is no count; valid: a pointer to a list or a whole number", l.Effects.name())
}

// pause is the time between two looks at a count.
const pause = 20 * time.Millisecond

// rises is the count once it is another than it was, or when the time for that
// is over.
func (l *losing) rises(ctx context.Context, was int) int {
	now := was
	for deadline := time.Now().Add(l.patience()); ; {
		if n, err := l.look(ctx); err == nil {
			now = n
		}
		if now != was || time.Now().After(deadline) || ctx.Err() != nil {
			return now
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (c *check) patience() time.Duration { return cmp.Or(c.plan.Patience, defaultPatience) }

// at is the value at a JSON Pointer; nil where there is none.
func at(value jsontext.Value, pointer string) jsontext.Value {
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch value.Kind() {
		case '{':
			o, err := readObject(value)
			i := o.at(token)
			if err != nil || i < 0 {
				return nil
			}
			value = o[i].value
		case '[':
			var list []jsontext.Value
			n, err := strconv.Atoi(token)
			if err != nil || json.Unmarshal(value, &list) != nil || n < 0 || n >= len(list) {
				return nil
			}
			value = list[n]
		default:
			return nil
		}
	}
	return value
}

// holds reports whether an answer has all texts at their pointers.
func holds(conditions map[string]string, body jsontext.Value) bool {
	for pointer, text := range conditions {
		value := at(body, pointer)
		written := string(value)
		if value.Kind() == '"' {
			plain, _ := jsontext.AppendUnquote(nil, value)
			written = string(plain)
		}
		if value == nil || written != text {
			return false
		}
	}
	return len(conditions) > 0
}

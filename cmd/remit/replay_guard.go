package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/contract"
	"remit.example/guard"
	"remit.example/operation"
	"remit.example/record"
	"remit.example/recovery"
)

// guardCase is one case of guard-v1: conditions without expectations.
type guardCase struct {
	Case             string                  `json:"case"`
	Contract         jsontext.Value          `json:"contract"`
	Mode             contract.Mode           `json:"mode"`
	TrustAnnotations bool                    `json:"trust_annotations"`
	Credentials      string                  `json:"credentials"`
	Tools            map[string]*guardedTool `json:"tools"`
	Steps            []guardedStep           `json:"steps"`
}

// guardedTool is a tool of the scripted server.
type guardedTool struct {
	Schema   jsontext.Value   `json:"schema"`
	ReadOnly *bool            `json:"read_only"`
	Acts     bool             `json:"acts"`
	OncePer  []string         `json:"once_per"`
	Answers  []scriptedAnswer `json:"answers"`

	asked    int
	had      map[string]bool // what OncePer names, of the effects so far
	executed []int64
	effects  []int64
	keys     []*string // of each execution
}

// scriptedAnswer is one answer of the scripted server.
type scriptedAnswer struct {
	OK           *string      `json:"ok"`
	Prose        *string      `json:"prose"`
	Code         *record.Code `json:"code"`
	Field        string       `json:"field"`
	RetryAfterMS *int64       `json:"retry_after_ms"`
	RPC          *int         `json:"rpc"`
	HTTP         *int         `json:"http"`
	RetryAfter   string       `json:"retry_after"`
	Lost         bool         `json:"lost"`
	Silent       bool         `json:"silent"`
	Unsent       bool         `json:"unsent"`
	AfterMS      int64        `json:"after_ms"`
	EffectMS     *int64       `json:"effect_ms"`
}

// guardedStep is a call, or calls at even distances, or an event.
type guardedStep struct {
	AtMS      int64                     `json:"at_ms"`
	Caller    string                    `json:"caller"`
	Call      string                    `json:"call"`
	Arguments map[string]jsontext.Value `json:"arguments"`
	Task      string                    `json:"task"`
	Times     *int                      `json:"times"`
	EveryMS   int64                     `json:"every_ms"`
	Vary      string                    `json:"vary"`
	GivesUpMS *int64                    `json:"gives_up_ms"`
	Delivered jsontext.Value            `json:"delivered"`
	Event     string                    `json:"event"`
	Tool      string                    `json:"tool"`
	Schema    jsontext.Value            `json:"schema"`
}

// guardLine is what is told of one call, or of calls that are answered alike.
type guardLine struct {
	Case         string           `json:"case"`
	Step         int              `json:"step"`
	First        int              `json:"first"`
	Last         int              `json:"last"`
	AnsweredFrom *guard.From      `json:"answered_from"`
	Code         *record.Code     `json:"code"`
	Content      *string          `json:"content"`
	Execution    *int64           `json:"execution"`
	RetryAtMS    *int64           `json:"retry_at_ms"`
	SinceMS      *int64           `json:"since_ms"`
	AgainAtMS    *int64           `json:"again_at_ms"`
	Replayed     bool             `json:"replayed"`
	Would        *guard.From      `json:"would"`
	State        *operation.State `json:"state"`

	everyMS   int64  // between the calls of the step
	operation string // that the failure names
}

// guardTotal is what is told of the whole case.
type guardTotal struct {
	Case     string              `json:"case"`
	Executed map[string][]int64  `json:"executed"`
	Effects  map[string][]int64  `json:"effects"`
	Keys     map[string][]*int64 `json:"keys"`
}

// newGuardReplay runs cases against the guard, in this process and on a clock
// of its own.
func newGuardReplay() (replayer, error) {
	return func(ctx context.Context, line []byte) ([]byte, error) {
		r, err := newGuardRun(line)
		if err != nil {
			return nil, fmt.Errorf("not a case of guard-v1: %w", err)
		}
		if err := r.run(ctx); err != nil {
			return nil, fmt.Errorf("case %s: %w", r.Case, err)
		}
		return r.results()
	}, nil
}

// guardRun is one case as it runs. At any moment at most one call moves: the
// run lets it go on, and looks on until it waits for the time again or has
// its answer.
type guardRun struct {
	guardCase
	contract   *contract.Contract
	clock      *steppedClock
	store      operation.Store
	guard      *guard.Guard
	callers    map[string]*scriptedCaller
	executions int64
	current    *guardedCall // the call that moves
	calls      []*guardedCall
	parked     int // calls whose request is with the server
}

type scriptedCaller struct {
	session                 *guard.Session
	connection, credentials int
}

// guardedCall is one call under way.
type guardedCall struct {
	run       *guardRun
	place     [2]int // step and number within it, from 1
	step      *guardedStep
	tool      string
	renews    bool // it is a write of a guard that acts, which holds a lease
	absorbs   bool
	line      guardLine
	decision  guard.Decision
	execution *int64
	cancel    context.CancelFunc
	moved     chan struct{} // gets a value at each change of the members below

	// Guarded by the clock's lock.
	waiting   bool // its request is with the server
	resting   bool // the guard itself waits, before it repeats it
	renewing  bool // the guard waits to renew its lease
	returned  bool
	completed bool // the answer was taken into its line
	reply     *guard.Reply
}

func newGuardRun(line []byte) (*guardRun, error) {
	r := &guardRun{clock: newSteppedClock(), callers: map[string]*scriptedCaller{}}
	if err := json.Unmarshal(line, &r.guardCase, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if r.Mode != contract.Enforce && r.Mode != contract.Observe {
		return nil, fmt.Errorf("the mode is %q; valid: enforce, observe", r.Mode)
	}
	if r.Credentials != "seen" && r.Credentials != "unseen" {
		return nil, fmt.Errorf("credentials are %q; valid: seen, unseen", r.Credentials)
	}
	for name, tool := range r.Tools {
		if tool == nil || tool.Schema.Kind() != '{' || len(tool.Answers) == 0 || slices.ContainsFunc(tool.Answers, scriptedAnswer.isNone) {
			return nil, fmt.Errorf("the tool %s needs a schema and answers of a kind each", name)
		}
		tool.had = map[string]bool{}
	}
	for i := range r.Steps {
		if err := r.Steps[i].valid(r.Tools); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if r.Contract.Kind() == '{' {
		var err error
		if r.contract, err = contract.Parse(r.Case+".json", r.Contract); err != nil {
			return nil, err
		}
	}
	r.store = operation.NewMemory(r.clock.Now)
	r.start()
	return r, nil
}

// isNone reports whether the answer says nothing.
func (a scriptedAnswer) isNone() bool {
	return a.OK == nil && a.Prose == nil && a.Code == nil && a.RPC == nil && a.HTTP == nil && !a.Lost && !a.Silent && !a.Unsent
}

// The bounds of a step: how often it calls, and its times in milliseconds.
const (
	maxTimes = 1000
	maxAtMS  = 1 << 38
)

func (s *guardedStep) valid(tools map[string]*guardedTool) error {
	switch {
	case s.AtMS < 0 || s.AtMS > maxAtMS || s.EveryMS < 0 || s.EveryMS > maxAtMS:
		return fmt.Errorf("at_ms or every_ms is not within 0 to %d", maxAtMS)
	case (s.Call == "") == (s.Event == ""):
		return errors.New("it is neither a call nor an event, or both")
	case s.Call != "" && tools[s.Call] == nil && s.Call != guard.StatusTool:
		return fmt.Errorf("no tool is named %s", s.Call)
	case s.Call != "" && (s.Caller == "" || s.Arguments == nil):
		return errors.New("a call needs a caller and arguments")
	case s.Times != nil && (*s.Times < 1 || *s.Times > maxTimes):
		return fmt.Errorf("times is %d; valid: 1 to %d", *s.Times, maxTimes)
	}
	return nil
}

// start begins a guard over the store. What one before it remembered is gone.
func (r *guardRun) start() {
	options := guard.Options{
		Contract: r.contract, Upstream: "server", Mode: r.Mode, TrustAnnotations: r.TrustAnnotations,
		Store: r.store, Clock: r.clock, Observed: r.observed,
	}
	r.guard = guard.New(options)
	for _, c := range r.callers {
		c.session = new(guard.Session)
		r.list(c)
	}
}

// observed notes the last decision on the call that moves.
func (r *guardRun) observed(d guard.Decision) {
	r.clock.mu.Lock()
	defer r.clock.mu.Unlock()
	r.current.decision = d
}

// list has a caller ask for the server's tools.
func (r *guardRun) list(c *scriptedCaller) {
	type annotations struct {
		ReadOnlyHint *bool `json:"readOnlyHint,omitzero"`
	}
	type definition struct {
		Name        string         `json:"name"`
		InputSchema jsontext.Value `json:"inputSchema"`
		Annotations annotations    `json:"annotations"`
	}
	var tools []definition
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		tools = append(tools, definition{name, r.Tools[name].Schema, annotations{r.Tools[name].ReadOnly}})
	}
	r.guard.List(c.session, message(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"tools": tools}}))
}

// message is a JSON-RPC message, as a guard reads it.
func message(value any) *guard.Message {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil { // texts, numbers and JSON that was read
		panic(err)
	}
	m, err := guard.ParseMessage(raw)
	if err != nil {
		panic(err)
	}
	return m
}

func (r *guardRun) caller(name string) *scriptedCaller {
	if c, ok := r.callers[name]; ok {
		return c
	}
	c := &scriptedCaller{session: new(guard.Session)}
	r.callers[name] = c
	r.list(c)
	return c
}

// due is something that happens at a time of the case.
type due struct {
	atMS int64
	do   func() error
}

// run lets everything happen in its order: at one time first what was waited
// for, then the steps.
func (r *guardRun) run(ctx context.Context) error {
	var agenda []due
	for i := range r.Steps {
		step := &r.Steps[i]
		times := 1
		if step.Times != nil {
			times = *step.Times
		}
		for n := range times {
			agenda = append(agenda, due{step.AtMS + int64(n)*step.EveryMS, func() error { return r.begin(ctx, i+1, n+1, step) }})
		}
	}
	slices.SortStableFunc(agenda, func(a, b due) int { return int(a.atMS - b.atMS) })
	for len(agenda) > 0 || r.unanswered() {
		if err := ctx.Err(); err != nil {
			return err
		}
		w := r.clock.next()
		switch {
		case w != nil && (len(agenda) == 0 || w.atMS <= agenda[0].atMS):
			if err := r.goOn(w); err != nil {
				return err
			}
		case len(agenda) == 0:
			return errors.New("a call waits for nothing that happens")
		default:
			r.clock.set(agenda[0].atMS)
			do := agenda[0].do
			agenda = agenda[1:]
			if err := do(); err != nil {
				return err
			}
		}
	}
	return nil
}

// unanswered reports whether a call or an effect is under way.
func (r *guardRun) unanswered() bool {
	r.clock.mu.Lock()
	defer r.clock.mu.Unlock()
	return r.parked > 0 || slices.ContainsFunc(r.calls, func(c *guardedCall) bool { return !c.returned }) ||
		slices.ContainsFunc(r.clock.waiters, func(w *waiter) bool { return w.do != nil })
}

// begin makes a call, or lets an event happen.
func (r *guardRun) begin(ctx context.Context, step, number int, s *guardedStep) error {
	if s.Event != "" {
		return r.event(ctx, s)
	}
	c := &guardedCall{run: r, place: [2]int{step, number}, step: s, tool: s.Call, moved: make(chan struct{}, 64)}
	c.line = guardLine{Case: r.Case, Step: step, First: number, Last: number, everyMS: s.EveryMS}
	effect := record.Unsafe
	if r.contract != nil {
		if _, t, ok := r.contract.Match(s.Call); ok && t.Effect != "" {
			effect, c.absorbs = record.Effect(t.Effect), t.Absorb
		}
	} else if tool := r.Tools[s.Call]; r.TrustAnnotations && tool != nil && tool.ReadOnly != nil && *tool.ReadOnly {
		effect = record.Read
	}
	c.renews = r.Mode == contract.Enforce && effect != record.Read && s.Call != guard.StatusTool
	arguments := maps.Clone(s.Arguments)
	if s.Vary != "" {
		arguments[s.Vary] = jsontext.Value(strconv.Itoa(number))
	}
	if s.Call == guard.StatusTool {
		if err := r.named(arguments); err != nil {
			return err
		}
	}
	params := map[string]any{"name": s.Call, "arguments": arguments}
	if s.Task != "" {
		params["_meta"] = map[string]any{"remit/task": s.Task}
	}
	caller := r.caller(s.Caller)
	who := guard.Caller{Principal: s.Caller, Connection: fmt.Sprintf("%s-%d", s.Caller, caller.connection)}
	if r.Credentials == "seen" {
		copy(who.Credentials[:], fmt.Sprintf("%s %d", s.Caller, caller.credentials+1))
	}
	m := message(map[string]any{"jsonrpc": "2.0", "id": len(r.calls) + 1, "method": "tools/call", "params": params})
	ctx, c.cancel = context.WithCancel(context.WithValue(ctx, callOf{}, c))
	if s.GivesUpMS != nil {
		r.clock.at(r.clock.nowMS()+*s.GivesUpMS, c, c.cancel)
	}
	r.calls = append(r.calls, c)
	r.move(c)
	g := r.guard
	go func() {
		reply := g.Call(ctx, who, caller.session, m, c.execute)
		c.change(func() { c.returned, c.reply = true, reply })
	}()
	return r.settle(c)
}

// callOf is the key of a call in its context.
type callOf struct{}

// named puts an operation's id in the place of the step that was told it.
func (r *guardRun) named(arguments map[string]jsontext.Value) error {
	var of struct {
		Of int `json:"of"`
	}
	if err := json.Unmarshal(arguments["id"], &of); err != nil {
		return fmt.Errorf("the id of operation_status: %w", err)
	}
	for _, c := range r.calls {
		if c.place[0] == of.Of && c.line.operation != "" {
			arguments["id"] = jsontext.Value(strconv.Quote(c.line.operation))
			return nil
		}
	}
	arguments["id"] = jsontext.Value(`"none"`) // no failure of the step named one
	return nil
}

func (r *guardRun) event(ctx context.Context, s *guardedStep) error {
	switch s.Event {
	case "credentials":
		r.caller(s.Caller).credentials++
	case "reconnect":
		c := r.caller(s.Caller)
		c.connection++
		c.session = new(guard.Session)
		r.list(c)
	case "restart":
		r.guard.Restarted()
	case "forget":
		return r.store.Forget(ctx, "server", s.Tool)
	case "schema":
		if r.Tools[s.Tool] == nil {
			return fmt.Errorf("no tool is named %s", s.Tool)
		}
		r.Tools[s.Tool].Schema = s.Schema
		for _, c := range r.callers {
			r.list(c)
		}
	default:
		return fmt.Errorf("the event is %q; valid: credentials, reconnect, restart, forget, schema", s.Event)
	}
	return nil
}

// goOn lets happen what was waited for, and looks on until all waits again.
func (r *guardRun) goOn(w *waiter) error {
	r.clock.set(w.atMS)
	if w.call != nil {
		r.move(w.call)
	}
	r.clock.release(w)
	if w.do != nil {
		w.do()
	}
	if w.call == nil {
		return nil
	}
	return r.settle(w.call)
}

// move lets a call be the one that moves.
func (r *guardRun) move(c *guardedCall) {
	r.clock.mu.Lock()
	defer r.clock.mu.Unlock()
	r.current = c
}

// patience is how long a call may move, by the machine's clock.
const patience = 20 * time.Second

// settle looks on until a call waits for the time, or has its answer.
func (r *guardRun) settle(c *guardedCall) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		r.clock.mu.Lock()
		still := c.still()
		answered := c.returned && !c.completed
		c.completed = c.completed || answered
		idle := r.parked == 0
		r.clock.mu.Unlock()
		if answered {
			if err := c.complete(); err != nil {
				return err
			}
		}
		if still {
			if idle {
				r.guard.Wait() // what is noted of outcomes and deliveries
			}
			if c.returned && c.unknownDelivery() {
				r.start()
			}
			return nil
		}
		select {
		case <-c.moved:
		case <-late.C:
			return fmt.Errorf("step %d: the call neither ends nor waits for the time", c.place[0])
		}
	}
}

// still reports whether nothing moves in a call. A call that was given up has
// returned while the server still has its request.
func (c *guardedCall) still() bool {
	switch {
	case c.waiting:
		gaveUp := c.step.GivesUpMS != nil && c.run.clock.elapsed >= c.atMS()+*c.step.GivesUpMS
		return (!c.renews || c.renewing) && (c.returned || !gaveUp)
	case c.resting:
		return true
	}
	return c.returned
}

// atMS is when the call was made.
func (c *guardedCall) atMS() int64 { return c.step.AtMS + int64(c.place[1]-1)*c.step.EveryMS }

// change moves a call on.
func (c *guardedCall) change(do func()) {
	c.run.clock.mu.Lock()
	do()
	c.run.clock.mu.Unlock()
	select {
	case c.moved <- struct{}{}:
	default: // whoever looks on has not looked at the last change yet
	}
}

func (c *guardedCall) unknownDelivery() bool { return c.step.Delivered.Kind() == 'n' }

// complete takes what the caller reads into the call's line.
func (c *guardedCall) complete() error {
	reply, line := c.reply, &c.line
	line.Execution = c.execution
	if reply.Gone {
		return nil
	}
	d := c.decision
	line.AnsweredFrom, line.Code = &d.From, &d.Code
	if d.Observed {
		line.Would = &d.Would
	}
	if d.From != guard.FromTool {
		line.Execution = nil
	}
	retry := c.read(reply)
	if (d.Code == record.TempUnavailable || d.Code == record.QuotaExhausted) && retry != nil {
		line.RetryAtMS = new(c.run.clock.nowMS() + *retry)
	}
	if !c.unknownDelivery() {
		reply.Done(c.step.Delivered.Kind() != 'f')
	}
	return nil
}

// read reads a reply as its caller does, and gives the wait that it states.
func (c *guardedCall) read(reply *guard.Reply) *int64 {
	if reply.Message == nil {
		if wait, ok := recovery.RetryAfter(reply.Response.Header.Get("Retry-After"), c.run.clock.Now()); ok {
			return new(wait.Milliseconds())
		}
		return nil
	}
	var said struct {
		Result struct {
			IsError bool `json:"isError"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			StructuredContent struct {
				State operation.State `json:"state"`
			} `json:"structuredContent"`
			Meta struct {
				Recovery struct {
					Code         record.Code `json:"code"`
					RetryAfterMS *int64      `json:"retry_after_ms"`
					Replayed     bool        `json:"replayed"`
					Operation    struct {
						ID string `json:"id"`
					} `json:"operation"`
				} `json:"remit/recovery"`
				Memory struct {
					AgeMS           *int64 `json:"age_ms"`
					ExecutesAfterMS *int64 `json:"executes_after_ms"`
				} `json:"remit/memory"`
				Replayed jsontext.Value `json:"remit/replayed"`
			} `json:"_meta"`
		} `json:"result"`
	}
	if json.Unmarshal(reply.Message, &said) != nil {
		return nil // a message that is no answer of a tool
	}
	line, failure := &c.line, said.Result.Meta.Recovery
	line.Replayed = failure.Replayed || said.Result.Meta.Replayed != nil
	line.operation = failure.Operation.ID
	now, memory := c.run.clock.nowMS(), said.Result.Meta.Memory
	if memory.AgeMS != nil {
		line.SinceMS = new(now - *memory.AgeMS)
	}
	if memory.ExecutesAfterMS != nil {
		line.AgainAtMS = new(now + *memory.ExecutesAfterMS)
	}
	if failure.Code != "" && !c.decision.Observed {
		line.Code = &failure.Code
	}
	switch {
	case *line.Code != record.OK:
	case c.tool == guard.StatusTool:
		line.State = &said.Result.StructuredContent.State
	case len(said.Result.Content) > 0:
		line.Content = &said.Result.Content[0].Text
	}
	return failure.RetryAfterMS
}

// execute is the scripted server: it takes one request, and answers it when
// its time has come.
func (c *guardedCall) execute(ctx context.Context, request []byte) (guard.Response, error) {
	var asked struct {
		ID     jsontext.Value `json:"id"`
		Params struct {
			Name      string                    `json:"name"`
			Arguments map[string]jsontext.Value `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return guard.Response{}, err
	}
	r := c.run
	tool := r.Tools[asked.Params.Name]
	if tool == nil {
		return guard.Response{}, fmt.Errorf("the server has no tool %s", asked.Params.Name)
	}
	r.clock.mu.Lock()
	answer := tool.Answers[min(tool.asked, len(tool.Answers)-1)]
	tool.asked++
	if answer.Unsent {
		r.clock.mu.Unlock()
		return guard.Response{}, recovery.NotSent(errors.New("the server cannot be reached"))
	}
	now := r.clock.elapsed
	r.executions++
	tool.executed = append(tool.executed, now)
	if key, ok := r.keyOf(asked.Params.Name, asked.Params.Arguments); ok {
		tool.keys = append(tool.keys, key)
	}
	if asked.Params.Name == c.tool {
		c.execution = new(r.executions)
	}
	r.clock.mu.Unlock()
	after := answer.AfterMS
	if effect := answer.effectMS(tool); effect != nil {
		r.act(tool, asked.Params.Arguments, *effect)
	}
	// The guard bounds its calls by the machine's clock, which does not move
	// here: what it allows passes on the clock of the case.
	timedOut := false
	if deadline, ok := ctx.Deadline(); ok {
		if allowed := time.Until(deadline).Round(100 * time.Millisecond).Milliseconds(); answer.Silent || after > allowed {
			after, timedOut = allowed, true
		}
	} else if answer.Silent {
		return guard.Response{}, errors.New("the guard waits for ever")
	}
	if after > 0 {
		if err := c.wait(ctx, after); err != nil {
			return guard.Response{}, err
		}
	}
	if timedOut {
		return guard.Response{}, context.DeadlineExceeded
	}
	return answer.response(asked.ID)
}

// wait keeps the request with the server.
func (c *guardedCall) wait(ctx context.Context, ms int64) error {
	r := c.run
	var w *waiter
	c.change(func() {
		c.waiting = true
		r.parked++
		w = r.clock.add(r.clock.elapsed+ms, c)
		w.ended = func() {
			c.waiting = false
			r.parked--
		}
	})
	return r.clock.until(ctx, w)
}

// keyOf is the operation key of a request; false of a tool without one.
func (r *guardRun) keyOf(name string, arguments map[string]jsontext.Value) (key *string, declared bool) {
	argument, declared := r.keyArgument(name)
	if value, ok := arguments[argument]; ok && declared {
		key = new(string(value))
	}
	return key, declared
}

func (r *guardRun) keyArgument(name string) (string, bool) {
	if r.contract == nil {
		return "", false
	}
	_, t, ok := r.contract.Match(name)
	if !ok || t.Key == nil {
		return "", false
	}
	return t.Key.Argument, true
}

// effectMS is how long after the request the effect takes place; nil: there is none.
func (a scriptedAnswer) effectMS(t *guardedTool) *int64 {
	if a.EffectMS == nil && t.Acts && a.OK != nil {
		return &a.AfterMS
	}
	return a.EffectMS
}

// act has an effect in a while, unless it has it already.
func (r *guardRun) act(tool *guardedTool, arguments map[string]jsontext.Value, inMS int64) {
	effect := func() {
		if tool.OncePer != nil {
			var values []jsontext.Value
			for _, name := range tool.OncePer {
				values = append(values, arguments[name])
			}
			mark := string(bytes.Join(slices.Collect(bytesOf(values)), []byte{0}))
			if tool.had[mark] {
				return
			}
			tool.had[mark] = true
		}
		tool.effects = append(tool.effects, r.clock.nowMS())
	}
	if inMS == 0 {
		effect()
		return
	}
	r.clock.at(r.clock.nowMS()+inMS, nil, effect)
}

func bytesOf(values []jsontext.Value) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for _, value := range values {
			if !yield(value) {
				return
			}
		}
	}
}

// response is the answer as the guard's transport hands it over.
func (a scriptedAnswer) response(id jsontext.Value) (guard.Response, error) {
	text := func(text string) []any { return []any{map[string]any{"type": "text", "text": text}} }
	result := map[string]any{}
	switch {
	case a.Lost:
		return guard.Response{}, io.ErrUnexpectedEOF
	case a.HTTP != nil:
		header := http.Header{}
		if a.RetryAfter != "" {
			header.Set("Retry-After", a.RetryAfter)
		}
		return guard.Response{Status: *a.HTTP, Header: header}, nil
	case a.RPC != nil:
		m := message(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": *a.RPC, "message": "It failed."}})
		return guard.Response{Message: m}, nil
	case a.OK != nil:
		result["content"] = text(*a.OK)
	case a.Prose != nil:
		result["content"], result["isError"] = text(*a.Prose), true
	case a.Code != nil:
		failure := &record.Record{Code: *a.Code, Message: "It failed.", Field: a.Field, RetryAfterMS: a.RetryAfterMS}
		if a.Field != "" {
			failure.Fields = []record.Field{{Pointer: "/" + a.Field, Reason: "invalid", Accepted: "another value"}}
		}
		result["content"], result["isError"] = text("It failed."), true
		result["_meta"] = map[string]any{"remit/recovery": jsontext.Value(failure.Append(nil))}
	default:
		return guard.Response{}, errors.New("the script has an answer of no kind")
	}
	return guard.Response{Message: message(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})}, nil
}

// results are the lines of the case.
func (r *guardRun) results() ([]byte, error) {
	var all bytes.Buffer
	write := func(line any) error {
		err := json.MarshalWrite(&all, line, json.Deterministic(true))
		all.WriteByte('\n')
		return err
	}
	slices.SortStableFunc(r.calls, func(a, b *guardedCall) int { return slices.Compare(a.place[:], b.place[:]) })
	var lines []guardLine
	for _, c := range r.calls {
		if last := len(lines) - 1; last >= 0 && lines[last].goesOn(c.line) {
			lines[last].Last = c.line.Last
			continue
		}
		lines = append(lines, c.line)
	}
	for _, line := range lines {
		if err := write(line); err != nil {
			return nil, err
		}
	}
	total := guardTotal{r.Case, map[string][]int64{}, map[string][]int64{}, map[string][]*int64{}}
	for name, tool := range r.Tools {
		total.Executed[name], total.Effects[name] = tool.executed, tool.effects
		if _, declared := r.keyArgument(name); declared {
			total.Keys[name] = numbered(tool.keys)
		}
	}
	err := write(total)
	return all.Bytes(), err
}

// numbered are keys by the order in which they first occur.
func numbered(keys []*string) []*int64 {
	numbers := make([]*int64, len(keys))
	seen := map[string]int64{}
	for i, key := range keys {
		if key == nil {
			continue
		}
		if seen[*key] == 0 {
			seen[*key] = int64(len(seen) + 1)
		}
		numbers[i] = new(seen[*key])
	}
	return numbers
}

// goesOn reports whether a call is answered as those of the line were.
func (l guardLine) goesOn(next guardLine) bool {
	further := int64(next.First - l.First)
	if l.Execution != nil {
		l.Execution = new(*l.Execution + further)
	}
	if l.RetryAtMS != nil && *l.AnsweredFrom == guard.FromTool {
		l.RetryAtMS = new(*l.RetryAtMS + further*l.everyMS)
	}
	return l.Step == next.Step && l.Last == next.First-1 && l.Replayed == next.Replayed &&
		equal(l.AnsweredFrom, next.AnsweredFrom) && equal(l.Code, next.Code) && equal(l.Content, next.Content) && equal(l.Execution, next.Execution) &&
		equal(l.RetryAtMS, next.RetryAtMS) && equal(l.SinceMS, next.SinceMS) && equal(l.AgainAtMS, next.AgainAtMS) && equal(l.Would, next.Would) && equal(l.State, next.State)
}

// equal reports whether two pointers are nil, or to equal values.
func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

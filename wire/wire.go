// Package wire is what every wire shares: which tools are being served, who
// may call them, and how one call is made. How a call is spoken is the job of
// the packages below it; none of them decides anything.
//
// # Who may call
//
// A caller is who one request comes from, and the first line that fits it
// decides; nothing else permits a call.
//
//	a page of an origin that the tool's service does not expose  ACCESS_DENIED
//	a caller with one of the server's tokens                     may call
//	a token that is none of the server's                         AUTH_REQUIRED
//	a caller on this machine, where the server has no tokens     may call
//	a tool whose effect is read, with expose.reads: anonymous    may call, within the rate
//	anyone else, where the server has tokens                     AUTH_REQUIRED
//	anyone else                                                  ACCESS_DENIED
//
// A caller is on this machine if it connects from a loopback address, under a
// loopback name, and no proxy says that it forwards for somebody else. What
// tools there are is no secret: listing them needs no permission.
//
// A server listens on a loopback address. It refuses any other unless it has
// tokens or every tool is an anonymous read, at its start and at each reload.
//
// # The rate
//
// An anonymous caller has as many calls at hand as its service's expose.rate
// counts, and they come back evenly over the rate's time: with 30/min, thirty
// at once, then one each two seconds. A call over the rate is TEMP_UNAVAILABLE
// with the time until one is permitted. A caller is one IPv4 address or one
// IPv6 network of 64 bits; where the request comes through a proxy on this
// machine, the last address that the proxy added to X-Forwarded-For. Callers
// are remembered in a table of fixed size that forgets the one that has been
// quiet for longest.
//
// # Browsers
//
// The Host header must be a loopback name, the address that the server listens
// on, or one of expose.hosts: a page cannot reach the server by making its own
// name resolve to this machine. A request that carries an Origin must come
// from the server's own pages or from one of expose.origins, which alone are
// told so (CORS, with its preflight and that of private networks) and only at
// the paths of tools. Anything else is 403. No answer may be framed, sniffed
// or run inline scripts or styles; WebMCP is for the server's own documents
// (Permissions-Policy: tools=(self)).
//
// The script that registers tools, ScriptPath, is for the same pages. A script
// element asks for it with an Origin where it has the attribute crossorigin;
// without, the Referer says which page asks, and Sec-Fetch-Site that another
// origin does. A browser too old for the latter keeps the script from other
// pages itself, by Cross-Origin-Resource-Policy.
//
// # Limits
//
// A body has at most 1 MiB (413) and arrives within 30 seconds (408). A
// request's head has at most 64 KiB and arrives within 10 seconds; a
// connection is closed after 2 idle minutes, or when it takes nothing of an
// answer for 30 seconds.
//
// # The sandbox
//
// A service with Options.Sandbox is for a program that checks tools. A request
// may set a case: the conditions of its execution,
//
//	{"case":"auth-renewed","auth_ok":true,"allowed":true,"response":"OK"}
//
// and, as a whole number from 1, which execution of the case it is. They stand
// in the place of the tool's backend (tool.Conditions); response is what the
// scripted dependency answers to an execution that reaches it:
//
//	"TEMP_UNAVAILABLE"                                a code; TEMP_UNAVAILABLE with a wait of 1000 ms
//	{"code":"TEMP_UNAVAILABLE","retry_after_ms":250}  a code and its wait, null for none
//	null                                              the execution does not reach it
//
// A request is refused if either of the two is malformed, given twice or given
// alone, or if its execution reaches the dependency although response is null.
// A tool over a catalogue has no dependency: it answers as it always does.
// Who may call, and how often, does not change. Any other service knows no
// case: nothing that a request says sets conditions.
package wire

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"remit.example/record"
	"remit.example/tool"
)

// Internal is the code of a tool that broke while it read. No reader defines
// it, so it ends the task. A tool with an effect gives record.OutcomeUnknown.
const Internal record.Code = "INTERNAL"

// Options configures a Service. The zero value listens nowhere: every caller
// is the one at the other end of standard input.
type Options struct {
	// Listen is the address that the server listens on, host:port; "" if it
	// does not listen.
	Listen string
	// Tokens are the server's tokens; nil if it has none.
	Tokens *Tokens
	// Logger gets one line a call at the debug level, and a tool that broke at
	// the error level: never an input, an answer or a token. nil: no lines.
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Sandbox says that requests may set the conditions of their execution.
	Sandbox bool
}

// Service is the tools that one server serves and the rules by which they are
// called. Its methods may be called by several goroutines at once.
type Service struct {
	options Options
	current atomic.Pointer[policy]
	rates   *rates
	metrics *metrics
	running running

	mu       sync.Mutex // one Replace at a time; guards onChange
	onChange []func()
}

// New serves set by the rules of the package. It refuses an address that
// others can reach where neither tokens nor the contracts permit it.
func New(set *tool.Set, options Options) (*Service, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Service{
		options: options, rates: newRates(maxCallers), metrics: newMetrics(),
		running: running{idle: make(chan struct{})},
	}
	if err := s.Replace(set); err != nil {
		return nil, err
	}
	return s, nil
}

// Set is the tools being served. A caller that looks at several of them keeps
// the set: the next call may give another.
func (s *Service) Set() *tool.Set { return s.current.Load().set }

// Replace serves another set from now on, all of it at once; calls that have
// started end as they began. An error leaves the old one in place.
func (s *Service) Replace(set *tool.Set) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := newPolicy(set)
	if err := next.checkListen(s.options); err != nil {
		return err
	}
	s.current.Store(next)
	for _, changed := range s.onChange {
		changed()
	}
	return nil
}

// OnChange has changed called now and after each Replace, one at a time.
func (s *Service) OnChange(changed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onChange = append(s.onChange, changed)
	changed()
}

// HasTokens reports whether the server has tokens.
func (s *Service) HasTokens() bool { return s.options.Tokens != nil }

// Call makes one call for the caller in ctx: it asks Allow, and only then runs
// the tool. Characters bounds the answer as in tool.Call. A tool that breaks is
// a failed answer. A caller that goes away ends a read, never a tool with an
// effect, which would leave its outcome unknown.
func (s *Service) Call(ctx context.Context, t *tool.Tool, input []byte, characters int) tool.Answer {
	return s.call(ctx, t, tool.Call{Input: input, Characters: characters})
}

func (s *Service) call(ctx context.Context, t *tool.Tool, call tool.Call) (answer tool.Answer) {
	start := s.options.Now()
	defer func() {
		if fault := recover(); fault != nil {
			s.options.Logger.Error("a tool broke", "tool", t.Name, "stack", string(debug.Stack()))
			answer = t.Fail(broken(t))
		}
		s.observe(ctx, t, answer, max(0, s.options.Now().Sub(start)))
	}()
	if !s.running.begin() {
		return t.Fail(ending())
	}
	defer s.running.end()
	if refused := s.Allow(ctx, t); refused != nil {
		return t.Fail(refused)
	}
	if t.Effect != record.Read {
		ctx = context.WithoutCancel(ctx)
	}
	return t.Call(ctx, call)
}

// broken is the record of a tool that broke.
func broken(t *tool.Tool) *record.Record {
	if t.Effect == record.Read {
		return &record.Record{Code: Internal, Message: "The tool broke while it made the answer; the server's log says where."}
	}
	return &record.Record{
		Code: record.OutcomeUnknown, Outcome: record.NotKnown,
		Message: "The tool broke; whether it took effect is not known.",
	}
}

func (s *Service) observe(ctx context.Context, t *tool.Tool, answer tool.Answer, took time.Duration) {
	code := record.OK
	if answer.Failure != nil {
		code = answer.Failure.Code
	}
	s.metrics.observe(t.Name, code, took)
	s.options.Logger.Debug("call", "tool", t.Name, "code", string(code), "took", took, "caller", CallerFrom(ctx).String())
}

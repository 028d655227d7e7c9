// Package guard holds the calls of agents to a contract, in front of an MCP
// server that knows nothing of it.
//
// A guard reads the bytes of two kinds of message and passes everything else
// as it came: answers to tools/list, in which the contract's declared changes
// are made, and calls of tools. The proxies, which move the bytes, are in
// package proxy.
//
// # A call
//
// It is answered by the first of these that has something to say:
//
//	validation  the arguments do not fit the schema that the server listed
//	memory      the same call was refused, and nothing has changed since
//	            the task has used its executions, or the tenant its rate
//	ledger      a write that is in flight, unknown, confirmed and not delivered,
//	            or whose key or identity was used with other arguments
//	tool        the server, asked once; again by the guard itself only where
//	            the contract says absorb, of a read, after the stated wait
//
// Only the last one is an execution. A call is the same where principal,
// upstream, tool and arguments are; see [Digest].
//
// # Memory
//
// What ends it, by code (see memories):
//
//	INVALID_ARGUMENT     refusal_ttl; a write that succeeds
//	AUTH_REQUIRED        other credentials, another upstream process, or
//	                     reauth_after where they are not seen; a write that succeeds
//	ACCESS_DENIED        refusal_ttl; other credentials; an operator's word
//	TEMP_UNAVAILABLE     the wait; so do QUOTA_EXHAUSTED, IN_PROGRESS, and
//	                     OUTCOME_UNKNOWN of a read or an idempotent write
//	PRECONDITION_FAILED  refusal_ttl; any call that succeeds
//	KEY_REUSED           refusal_ttl, of what can have a key
//	anything else        a hold of 5 s that doubles to 60 s; a write that succeeds
//
// When it has ended, one execution is let through; the same call meanwhile is
// still answered from memory. A write whose outcome is unknown and which may not
// be sent again is not remembered: the ledger answers, and for good.
//
// # Tasks
//
// A task is what its caller names in _meta["remit/task"], else the same call
// on one connection, and with a contract its corrections: calls that differ
// solely at the refused fields. It ends with a success, a final failure, or
// after a quiet time. Without a contract other arguments are never refused.
//
// # Writes
//
// What package operation says. The outcome is recorded before the answer is
// given. Once sent, a write no longer depends on its caller.
//
// # Modes
//
// Observing decides the same and acts on nothing: every call is sent, no list
// is changed, no operation is kept beyond the process, and each [Decision]
// says what would have answered.
package guard

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"remit.example/contract"
	"remit.example/operation"
	"remit.example/record"
	"remit.example/recovery"
)

// Options say how a guard stands.
type Options struct {
	Contract *contract.Contract // nil: none
	Upstream string             // names the upstream in the ledger
	// Mode is the operator's word against the contract's; "" leaves it.
	Mode contract.Mode
	// TrustAnnotations takes a tool whose server says that it only reads for a
	// read, where there is no contract.
	TrustAnnotations bool
	Store            operation.Store
	Lease            time.Duration  // how long a claim holds without being renewed; 0: 30 s
	Clock            recovery.Clock // nil: the machine's
	// Observed is told each decision, several at a time; it may not block. nil:
	// nobody.
	Observed func(Decision)
}

// Guard holds the calls to one upstream. It serves any number of callers.
type Guard struct {
	options Options
	mode    contract.Mode
	service string
	limits  limits
	clock   recovery.Clock
	memory  *memory
	tasks   atomic.Int64 // named so far

	planMu  sync.Mutex
	plans   map[planKey]*plan
	buckets map[string]*rate.Limiter

	pageMu sync.Mutex
	pages  map[pageKey]*page

	shadowMu sync.Mutex
	shadow   operation.Store // of what is only observed
	shadows  int             // claims in it and those before it

	deliveries sync.Map // of the ids of operations: channels that close when their delivery is noted

	running sync.WaitGroup // writes that are under way, and what is noted of them
}

// limits are the contract's, or those without one.
type limits struct {
	executions                                              int
	quiet, refusalTTL, reauthAfter, replayWindow, retention time.Duration
}

// New makes a guard. Its store is that of the operations of every tool that it
// enforces.
func New(o Options) *Guard {
	g := &Guard{
		options: o, mode: o.Mode, service: o.Upstream, limits: limitsOf(o.Contract), clock: o.Clock,
		memory: newMemory(), plans: map[planKey]*plan{}, buckets: map[string]*rate.Limiter{}, pages: map[pageKey]*page{},
	}
	if c := o.Contract; c != nil {
		g.service = c.Service
		if g.mode == "" {
			g.mode = c.Mode
		}
	}
	if g.clock == nil {
		g.clock = machine{}
	}
	if g.options.Lease <= 0 {
		g.options.Lease = defaultLease
	}
	return g
}

func limitsOf(c *contract.Contract) limits {
	l := limits{defaultExecutions, defaultQuiet, defaultRefusalTTL, defaultReauthAfter, defaultReplayWindow, defaultRetention}
	if c == nil {
		return l
	}
	if c.Budget != nil && c.Budget.Executions > 0 {
		l.executions = c.Budget.Executions
	}
	if c.Budget != nil && c.Budget.Quiet > 0 {
		l.quiet = time.Duration(c.Budget.Quiet)
	}
	for _, row := range []struct {
		declared contract.Duration
		limit    *time.Duration
	}{{c.RefusalTTL, &l.refusalTTL}, {c.ReauthAfter, &l.reauthAfter}, {c.ReplayWindow, &l.replayWindow}, {c.Retention, &l.retention}} {
		if row.declared > 0 {
			*row.limit = time.Duration(row.declared)
		}
	}
	return l
}

// machine is the machine's clock.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }

func (machine) Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err()
}

// Wait returns when every write that was sent has been settled.
func (g *Guard) Wait() { g.running.Wait() }

// Retention is how long arguments and results of operations are kept.
func (g *Guard) Retention() time.Duration { return g.limits.retention }

// Enforces reports whether the guard acts on any tool.
func (g *Guard) Enforces() bool {
	if g.mode != contract.Observe {
		return true
	}
	if g.options.Mode != "" || g.options.Contract == nil {
		return false
	}
	for _, t := range g.options.Contract.Tools {
		if t.Value.Mode == contract.Enforce {
			return true
		}
	}
	return false
}

// Caller is who calls.
type Caller struct {
	Principal   string // to whom state belongs; never a secret itself
	Connection  string // within which a task lives
	Credentials Digest // of what it presents; zero where that is not seen
}

// Restarted says that the upstream is another process: what it asked of its
// callers' credentials may hold no more.
func (g *Guard) Restarted() { g.memory.each((*principal).authenticated) }

// elicited says that a caller was sent to an address and came back.
func (g *Guard) elicited(caller Caller) {
	p := g.memory.of(caller.Principal)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.authenticated()
}

// authenticated forgets what was refused for want of authentication.
func (p *principal) authenticated() {
	for key, r := range p.refusals {
		if r.record.Code == record.AuthRequired && !r.probing {
			delete(p.refusals, key)
		}
	}
	p.dropTasks(func(t *task) bool { return t.failure.Code == record.AuthRequired })
}

// newID is a name that nobody has had, which sorts by time.
func newID(prefix string, now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	return prefix + ids.EncodeToString(b[:])
}

var ids = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

package guard

import (
	"time"

	"golang.org/x/time/rate"

	"remit.example/contract"
	"remit.example/record"
)

// The bounds where the contract states none.
const (
	defaultExecutions   = 3
	defaultQuiet        = 10 * time.Minute
	defaultRefusalTTL   = 15 * time.Minute
	defaultReauthAfter  = time.Minute
	defaultReplayWindow = 10 * time.Minute
	defaultRetention    = 30 * 24 * time.Hour
	// defaultWriteTime bounds the answer to a write whose caller has gone.
	defaultWriteTime = 10 * time.Minute
	// defaultAbsorb bounds how long the guard itself waits for a read.
	defaultAbsorb = 30 * time.Second
)

// plan is what holds for one tool.
type plan struct {
	effect record.Effect
	// isDeclared says that a contract states the effect. Without one every tool
	// is held as unsafe, but what a server words as a failure is a refusal.
	isDeclared bool
	observe    bool
	timeout    time.Duration // of one execution; 0: none
	absorb     bool
	rules      []contract.FailureRule
	key        *contract.KeyArgument
	identity   []string
	status     *contract.StatusCheck
	bucket     *rate.Limiter // nil: no bound
}

// writes reports whether calls of the tool are operations.
func (p *plan) writes() bool { return p.effect != record.Read }

// guardKeyed reports whether the guard makes the operation key.
func (p *plan) guardKeyed() bool { return p.key != nil && p.key.By == contract.ByGuard }

// hints is what a server says of its own tool; nil where it says nothing.
type hints struct{ readOnly, idempotent *bool }

// planFor is the plan of a tool. The contract states the effect; a server's
// hint can only make it stricter, except that readOnlyHint counts where there
// is no contract and the operator trusts it.
func (g *Guard) planFor(tool string, h hints) *plan {
	g.planMu.Lock()
	defer g.planMu.Unlock()
	key := planKey{tool, hintOf(h.readOnly), hintOf(h.idempotent)}
	if p, ok := g.plans[key]; ok {
		return p
	}
	p := g.newPlan(tool, h)
	if len(g.plans) < maxPlans {
		g.plans[key] = p
	}
	return p
}

// maxPlans bounds how many plans are kept: a caller may name any tool.
const maxPlans = 10_000

type planKey struct {
	tool                 string
	readOnly, idempotent int8
}

func hintOf(hint *bool) int8 {
	switch {
	case hint == nil:
		return 0
	case *hint:
		return 1
	}
	return -1
}

func (g *Guard) newPlan(tool string, h hints) *plan {
	p := &plan{effect: record.Unsafe, observe: g.mode == contract.Observe}
	c := g.options.Contract
	if c == nil {
		if g.options.TrustAnnotations && hintOf(h.readOnly) > 0 {
			p.effect = record.Read
		}
		return p
	}
	p.rules = c.Failures
	pattern, t, ok := c.Match(tool)
	if !ok {
		return p
	}
	p.isDeclared = true
	if t.Effect != "" {
		p.effect = record.Effect(t.Effect)
	}
	if p.effect == record.Read && hintOf(h.readOnly) < 0 || p.effect == record.Idempotent && hintOf(h.idempotent) < 0 {
		p.effect = record.Unsafe
	}
	p.timeout, p.absorb = time.Duration(t.Timeout), t.Absorb && p.effect == record.Read
	p.rules = append(append([]contract.FailureRule(nil), t.Failures...), c.Failures...)
	p.key, p.identity, p.status = t.Key, t.Identity, t.Status
	if g.options.Mode == "" && t.Mode != "" {
		p.observe = t.Mode == contract.Observe
	}
	p.bucket = g.bucketOf(pattern, t.Rate)
	return p
}

// bucketOf is the bucket that all tools of one pattern share.
func (g *Guard) bucketOf(pattern string, r *contract.Rate) *rate.Limiter {
	if r == nil {
		return nil
	}
	if b, ok := g.buckets[pattern]; ok {
		return b
	}
	every := r.Per / time.Duration(r.Count)
	b := rate.NewLimiter(rate.Every(every), r.Count)
	g.buckets[pattern] = b
	return b
}

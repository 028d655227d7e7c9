package guard

import (
	"container/list"
	"sync"
	"time"

	"remit.example/record"
	"remit.example/recovery"
)

// ends says what ends the memory of a refusal besides other arguments, another
// schema and another contract.
type ends struct {
	wait        bool // the wait that the record states
	ttl         bool // refusal_ttl
	hold        bool // 5 s, then twice as long each time, at most 60 s
	write       bool // a success, for the caller, of a tool that is not a read
	success     bool // any success for the caller
	credentials bool // other credentials; reauth_after where they are not seen
	forget      bool // an operator's word
}

// memories is how long each code is remembered; every other one is unknown.
var memories = map[record.Code]ends{
	record.InvalidArgument:    {ttl: true, write: true},
	record.AuthRequired:       {write: true, credentials: true},
	record.AccessDenied:       {ttl: true, credentials: true, forget: true},
	record.TempUnavailable:    {wait: true},
	record.QuotaExhausted:     {wait: true},
	record.PreconditionFailed: {ttl: true, success: true},
	record.InProgress:         {wait: true},
	record.OutcomeUnknown:     {wait: true},
	record.KeyReused:          {ttl: true},
}

var unknownEnds = ends{hold: true, write: true}

// endsOf is what ends the memory of a code. Where the decision table has no
// meaning for it with the effect, or no wait, it holds as an unknown one does.
func endsOf(code record.Code, effect record.Effect) ends {
	e, ok := memories[code]
	rule := recovery.V2.Rule(code, effect)
	if !ok || rule.Stop == record.Unknown || code == record.OutcomeUnknown && rule.Next != record.WaitAndRetry {
		return unknownEnds
	}
	return e
}

// The hold after an unknown code.
const (
	firstHold = 5 * time.Second
	lastHold  = time.Minute
)

// The bounds of what is remembered.
const (
	maxPrincipals = 100_000
	maxRefusals   = 1000 // of one principal
)

// refusal is what is remembered of one call that failed.
type refusal struct {
	record      *record.Record
	ends        ends
	at          time.Time
	until       time.Time // when asking again executes; zero: not by time
	hold        time.Duration
	credentials Digest
	moment      // when the call was sent
	schema      Digest
	probing     bool     // one execution is under way
	challenge   []string // see Reply.Challenge
	// operationKey is the one of the caller's call: a reused key asks for another.
	operationKey string
}

// callKey identifies a call of one principal.
type callKey struct {
	tool      string
	arguments Digest
	continues Digest
}

// moment counts the successes of a caller: what changes with them may end a
// refusal that is older.
type moment struct {
	writes    uint64 // of tools that are not reads
	successes uint64
}

// principal is what the guard remembers of one caller.
type principal struct {
	mu       sync.Mutex
	refusals map[callKey]*refusal
	tasks    map[taskKey][]*task
	owed     map[owedKey]string // ids of operations; see exchange.owe
	moment
}

// memory is what the guard remembers of all callers, the latest first.
type memory struct {
	mu     sync.Mutex
	known  map[string]*list.Element
	recent *list.List // of *remembered
}

type remembered struct {
	name string
	*principal
}

func newMemory() *memory {
	return &memory{known: map[string]*list.Element{}, recent: list.New()}
}

// of is what is remembered of a principal. Beyond the bound the one that has
// not called for longest is forgotten.
func (m *memory) of(name string) *principal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, ok := m.known[name]; ok {
		m.recent.MoveToFront(element)
		return element.Value.(*remembered).principal
	}
	if m.recent.Len() >= maxPrincipals {
		oldest := m.recent.Back()
		delete(m.known, oldest.Value.(*remembered).name)
		m.recent.Remove(oldest)
	}
	p := &principal{refusals: map[callKey]*refusal{}, tasks: map[taskKey][]*task{}}
	m.known[name] = m.recent.PushFront(&remembered{name, p})
	return p
}

// each calls f with every principal.
func (m *memory) each(f func(*principal)) {
	m.mu.Lock()
	all := make([]*principal, 0, m.recent.Len())
	for element := m.recent.Front(); element != nil; element = element.Next() {
		all = append(all, element.Value.(*remembered).principal)
	}
	m.mu.Unlock()
	for _, p := range all {
		p.mu.Lock()
		f(p)
		p.mu.Unlock()
	}
}

// recall is the refusal that still answers a call. Otherwise the caller of
// recall executes, and the refusal, if there is one, answers others meanwhile.
func (p *principal) recall(key callKey, operationKey string, now time.Time, credentials, schema Digest, forgotten func() time.Time) (r refusal, held bool) {
	found, ok := p.refusals[key]
	if !ok {
		return refusal{}, false
	}
	e := found.ends
	over := found.schema != schema ||
		!found.until.IsZero() && !now.Before(found.until) ||
		e.write && found.writes != p.writes ||
		e.success && found.successes != p.successes ||
		e.credentials && found.credentials != credentials ||
		e.forget && found.at.Before(forgotten()) ||
		found.record.Code == record.KeyReused && found.operationKey != operationKey
	if over && !found.probing {
		found.probing = true
		return refusal{}, false
	}
	return *found, true
}

// remember notes that a call was refused. limits are those of the contract.
func (p *principal) remember(key callKey, r *record.Record, e ends, now time.Time, since moment, credentials, schema Digest, limits limits) *refusal {
	next := &refusal{
		record: r, ends: e, at: now, credentials: credentials, schema: schema, moment: since,
	}
	switch {
	case e.wait && r.RetryAfterMS != nil:
		next.until = after(now, *r.RetryAfterMS)
	case e.hold:
		next.hold = firstHold
		if before, ok := p.refusals[key]; ok && before.hold > 0 && before.writes == p.writes {
			next.hold = min(2*before.hold, lastHold)
		}
		next.until = now.Add(next.hold)
	case e.ttl, e.wait:
		next.until = now.Add(limits.refusalTTL)
	case e.credentials && credentials == Digest{}:
		next.until = now.Add(limits.reauthAfter)
	}
	if _, ok := p.refusals[key]; !ok && len(p.refusals) >= maxRefusals {
		p.makeRoom(now)
	}
	p.refusals[key] = next
	return next
}

// note adds what a refusal was given with.
func (r *refusal) note(challenge []string, operationKey string) {
	r.challenge, r.operationKey = challenge, operationKey
}

// makeRoom drops the refusals that are over, or else the oldest.
func (p *principal) makeRoom(now time.Time) {
	var oldest callKey
	var at time.Time
	for key, r := range p.refusals {
		if !r.until.IsZero() && now.After(r.until.Add(lastHold)) && !r.probing {
			delete(p.refusals, key)
			continue
		}
		if at.IsZero() || r.at.Before(at) {
			oldest, at = key, r.at
		}
	}
	if len(p.refusals) >= maxRefusals {
		delete(p.refusals, oldest)
	}
}

// after is now and a number of milliseconds, at most a century later.
func after(now time.Time, ms int64) time.Time {
	const century = 100 * 365 * 24 * time.Hour
	return now.Add(time.Duration(min(ms, century.Milliseconds())) * time.Millisecond)
}

// succeeded notes a success: the caller's world may have changed.
func (p *principal) succeeded(key callKey, read bool) {
	delete(p.refusals, key)
	p.successes++
	if read {
		return
	}
	p.writes++
	p.dropTasks(func(t *task) bool { return t.ends.write })
}

// released says that an execution ended that changes nothing of what is known.
func (p *principal) released(key callKey) {
	if r, ok := p.refusals[key]; ok {
		r.probing = false
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"remit.example/operation"
	"remit.example/record"
	"remit.example/store/pgtest"
)

// leaseForTests makes the guards of the test binary claim for that long.
const leaseForTests = "REMIT_TEST_LEASE"

const (
	// answerTime is how long guards wait for the bank.
	answerTime = 1500 * time.Millisecond
	// shortLease is the lease of the guards, so that a killed one's claims run
	// out while the test looks.
	shortLease = 2 * time.Second
	// perLedger is after how many rounds a new ledger begins.
	perLedger = 100
)

var bankContract = fmt.Sprintf(`remit: 1
service: bank
upstream: {url: "http://127.0.0.1:1/mcp"}
budget: {executions: 50, quiet: 1s}
refusal_ttl: 1s
failures:
  - {when: {text: '^"?Declined"?$'}, is: PRECONDITION_FAILED, sample: "Declined"}
tools:
  charge:
    effect: keyed
    timeout: %[1]s
    key: {argument: key, by: caller}
    identity: [invoice]
    status: {tool: get_charge, with: {key: key}, applied: {/status: charged}, not_applied: {/status: void}}
  bill: {effect: keyed, timeout: %[1]s, key: {argument: key, by: guard}, identity: [invoice]}
  send: {effect: unsafe, timeout: %[1]s, identity: [invoice]}
  note: {effect: unsafe, timeout: %[1]s}
  get_charge: {effect: read, timeout: %[1]s}
`, fmt.Sprintf("%dms", answerTime.Milliseconds()))

// program is one process at a fixed address, started again as often as needed.
type program struct {
	args    []string
	env     []string
	address string
	said    string // file

	mu   sync.Mutex
	cmd  *exec.Cmd
	gone chan struct{}
	out  bool // stopped or killed: callers mostly go elsewhere
}

// freeAddress is an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start starts the program and waits until it serves.
func (p *program) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 20 {
		said, err := os.OpenFile(p.said, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		cmd, gone := exec.Command(p.args[0], p.args[1:]...), make(chan struct{})
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), p.env...), said, said
		err = cmd.Start()
		_ = said.Close() // the process has its own
		if err != nil {
			return err
		}
		go func() {
			_ = cmd.Wait() // it is killed, or says why in its file
			close(gone)
		}()
		p.cmd, p.gone = cmd, gone
		if p.serves() {
			p.out = false
			return nil
		}
		p.signal(syscall.SIGKILL)
		<-gone
	}
	text, _ := os.ReadFile(p.said)
	return fmt.Errorf("%v does not serve: %s", p.args, text[max(0, len(text)-2000):])
}

// serves waits until something listens; false: the process ended.
func (p *program) serves() bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		select {
		case <-p.gone:
			return false
		default:
		}
		if conn, err := net.Dial("tcp", p.address); err == nil {
			_ = conn.Close()
			return true
		}
		time.Sleep(3 * time.Millisecond)
	}
	return false
}

func (p *program) signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // one that has ended needs none
}

func (p *program) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// kill ends the process as kill -9 does, and waits for its end.
func (p *program) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	p.out = true
	p.signal(syscall.SIGKILL)
	<-p.gone
}

func (p *program) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = true
	p.signal(syscall.SIGSTOP)
}

func (p *program) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signal(syscall.SIGCONT)
	p.out = false
}

// town is a bank, its guards and their callers.
type town struct {
	t         *testing.T
	state     string // of the guards
	store     operation.Store
	lease     time.Duration
	bank      *program // nil: each guard starts its own
	guards    []*program
	file      string // of the bank's effects
	tail      bankJournal
	lines     []bankLine
	pg        *pgtest.Server // nil: SQLite
	callers   []*soakCaller
	random    *rand.Rand // of the test's own goroutine
	closing   chan struct{}
	banking   sync.WaitGroup
	total     *tally
	confirmed map[string]operation.Operation

	mu         sync.Mutex
	told       []told
	errands    []*errand
	operations map[string][]string // ids that callers know, by token
	identities map[string]int      // of the invoices that callers share
	counted    map[string]int
	held       int
}

func (w *town) count(name string, n int) { w.total.count(name, n) }

// townForm is how a town is built.
type townForm struct {
	name     string
	replicas int  // of the guard; more than one share a PostgreSQL
	process  bool // guards start the bank themselves
	observe  bool
	bare     bool // callers call the bank itself
	lease    time.Duration
}

// buildTown starts a town with a new ledger.
func buildTown(t *testing.T, f townForm, total *tally, random *rand.Rand) *town {
	t.Helper()
	folder := t.TempDir()
	w := &town{
		t: t, lease: f.lease, file: filepath.Join(folder, "effects.jsonl"), random: random, total: total, closing: make(chan struct{}),
		operations: map[string][]string{}, identities: map[string]int{}, confirmed: map[string]operation.Operation{},
	}
	w.tail.path = w.file
	contract := filepath.Join(folder, "bank.yaml")
	for path, text := range map[string]string{contract: bankContract, w.file: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.state = "sqlite:" + filepath.Join(folder, "guard.db")
	if f.replicas > 1 {
		w.pg = pgtest.Start(t)
		w.state = w.pg.Place(t)
	}
	asABank := asBank + "=" + w.file
	upstream := []string{"--", "env", asABank, testProgram(t)}
	if !f.process {
		address := freeAddress(t)
		w.bank = &program{args: []string{testProgram(t), address}, env: []string{asABank}, address: address, said: filepath.Join(folder, "bank.log")}
		upstream = []string{"--upstream", "http://" + address + "/mcp"}
		if err := w.bank.start(); err != nil {
			t.Fatal(err)
		}
		w.banking.Go(w.reopen)
	}
	t.Cleanup(w.end)
	mode := "--enforce"
	if f.observe {
		mode = "--observe"
	}
	for i := range f.replicas {
		address := freeAddress(t)
		g := &program{
			args: append([]string{testProgram(t), "guard", mode, "--contract", contract, "--state", w.state, "--listen", address}, upstream...),
			env:  []string{leaseForTests + "=" + f.lease.String()}, address: address, said: filepath.Join(folder, fmt.Sprintf("guard%d.log", i)),
		}
		if f.bare {
			g = w.bank
		} else if err := g.start(); err != nil {
			t.Fatal(err)
		}
		w.guards = append(w.guards, g)
	}
	var err error
	if w.store, err = openState(t.Context(), w.state); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		w.callers = append(w.callers, w.newCaller(fmt.Sprintf("token%d", i%3), strconv.Itoa(i)))
	}
	return w
}

func (w *town) newCaller(name, id string) *soakCaller {
	return &soakCaller{w: w, name: name, id: id, random: rand.New(rand.NewPCG(w.random.Uint64(), 0)), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

// reopen starts the bank again whenever it has ended.
func (w *town) reopen() {
	for {
		select {
		case <-w.closing:
			return
		case <-time.After(5 * time.Millisecond):
		}
		if w.bank.ended() {
			w.count("upstream ended", 1)
			if err := w.bank.start(); err != nil {
				w.t.Error(err)
				return
			}
		}
	}
}

func (w *town) end() {
	close(w.closing)
	w.banking.Wait()
	for _, g := range w.guards {
		g.kill()
	}
	if w.bank != nil {
		w.bank.kill()
	}
	if w.store != nil {
		_ = w.store.Close()
	}
	for _, c := range w.callers {
		c.client.CloseIdleConnections()
	}
	for _, p := range append(w.guards, w.bank) {
		if p == nil {
			continue
		}
		text, err := os.ReadFile(p.said)
		if err != nil && !os.IsNotExist(err) {
			w.t.Error(err)
		}
		for _, sign := range []string{"DATA RACE", "panic:", "fatal error:"} {
			if at := bytes.Index(text, []byte(sign)); at >= 0 {
				w.t.Errorf("%v said:\n%s", p.args, text[at:min(len(text), at+6000)])
			}
		}
	}
}

// guard is the address of a guard, rarely of one that is out.
func (w *town) guard(random *rand.Rand) string {
	for range 10 {
		g := w.guards[random.IntN(len(w.guards))]
		g.mu.Lock()
		out := g.out
		g.mu.Unlock()
		if !out || random.IntN(10) == 0 {
			return g.address
		}
		if len(w.guards) == 1 {
			time.Sleep(5 * time.Millisecond) // the agent comes back when its server does
		}
	}
	return w.guards[0].address
}

// common is an invoice that several callers of a token work on.
func (w *town) common(name, tool string, random *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := name + "-" + tool
	if random.IntN(10) == 0 {
		w.identities[key]++
	}
	return fmt.Sprintf("%s-%d", key, w.identities[key]-random.IntN(2))
}

// someOperation is one that callers of a token were told of, "" for none.
func (w *town) someOperation(name string, random *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.operations[name]
	if len(known) == 0 {
		return ""
	}
	return known[max(0, len(known)-1-random.IntN(5))]
}

// note keeps what a caller was told.
func (w *town) note(name string, a answered) {
	a.At = time.Now()
	if a.Err != nil {
		a.Otherwise = a.Err.Error()
	}
	w.mu.Lock()
	w.told = append(w.told, a.told)
	// Of an errand only its caller asks: whom it is told of, it is delivered to.
	if a.Operation != "" && a.Invoice != "" && !strings.Contains(a.Invoice, "-own-") {
		w.operations[name] = append(w.operations[name], a.Operation)
	}
	w.mu.Unlock()
	w.count("calls", 1)
	switch {
	case a.Err != nil:
		w.count("no answer", 1)
	case a.State != "":
		w.count("status "+a.State, 1)
	case a.Receipt != "" && a.Replayed:
		w.count("replays", 1)
	case a.Receipt != "":
		w.count("successes", 1)
	case a.Code != "":
		w.count(string(a.Code), 1)
	}
	if a.Unsent {
		w.count("nothing sent", 1)
	}
}

// round is one round: calls, and ends of processes among them.
func (w *town) round(calls int, happen ...func()) {
	var working sync.WaitGroup
	for _, c := range w.callers {
		working.Go(func() { c.work(calls) })
	}
	for _, f := range happen {
		f()
	}
	working.Wait()
	for _, g := range w.guards {
		if g.ended() && g != w.bank {
			if err := g.start(); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.check(w.random.IntN(3) == 0)
}

// pause lets some time of a round pass.
func (w *town) pause() { time.Sleep(time.Duration(w.random.IntN(250)) * time.Millisecond) }

func (w *town) someGuard() *program { return w.guards[w.random.IntN(len(w.guards))] }

func (w *town) killGuard() {
	w.pause()
	g := w.someGuard()
	g.kill()
	w.count("guard killed", 1)
	time.Sleep(time.Duration(w.random.IntN(40)) * time.Millisecond)
	if err := g.start(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *town) killBank() {
	w.pause()
	if w.bank != nil {
		w.bank.kill()
		w.count("upstream killed", 1)
	}
}

func (w *town) crashDatabase() {
	w.pause()
	if w.pg != nil {
		w.pg.Crash(w.t)
		w.count("PostgreSQL restarted", 1)
	}
}

// stopGuard stops a guard at a random point for a random time, which may be
// longer than its lease.
func (w *town) stopGuard() {
	w.pause()
	g := w.someGuard()
	g.stop()
	w.count("guard stopped", 1)
	time.Sleep(time.Duration(w.random.Int64N(int64(w.lease * 5 / 4))))
	g.goOn()
}

// arrives waits until a call has reached the bank; false: it was answered before.
func (w *town) arrives(invoice string, answer chan answered) bool {
	w.t.Helper()
	arrived := bankJournal{path: w.file, at: w.tail.at}
	for {
		more, err := arrived.read()
		if err != nil {
			w.t.Fatal(err)
		}
		if slices.ContainsFunc(more, func(l bankLine) bool { return l.Invoice == invoice }) {
			return true
		}
		select {
		case <-answer:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stopHolder stops a guard that holds a claim until its lease has run out,
// while another one is asked for the same, and lets it go on.
func (w *town) stopHolder() {
	n := w.random.Perm(len(w.guards))
	holder, other := w.guards[n[0]], w.guards[n[1]]
	c, d := w.newCaller("tokenP", fmt.Sprintf("p%d", w.held)), w.newCaller("tokenP", fmt.Sprintf("h%d", w.held))
	defer c.client.CloseIdleConnections()
	defer d.client.CloseIdleConnections()
	tool := []string{"send", "bill"}[w.random.IntN(2)]
	var arguments map[string]any
	var first chan answered
	for try := 0; ; try++ { // the bank may be away at the moment
		w.held++
		arguments, first = map[string]any{"invoice": fmt.Sprintf("held-%d", w.held), "amount": 7}, make(chan answered, 1)
		go func() {
			first <- d.call(holder.address, tool, arguments, mishap{Before: answerTime / 2}, w.lease+2*longWait)
		}()
		if w.arrives(arguments["invoice"].(string), first) {
			break
		}
		if try == 20 {
			w.t.Error("no call reaches the bank")
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	began := time.Now()
	holder.stop()
	w.count("guard stopped with a claim", 1)
	ask := func() answered { return c.call(other.address, tool, arguments, mishap{}, longWait) }
	if a := ask(); a.Code != record.InProgress && time.Since(began) < w.lease/2 {
		w.t.Errorf("while another replica holds the claim: %+v", a)
	}
	time.Sleep(time.Until(began.Add(w.lease + 100*time.Millisecond)))
	a := ask()
	settled := func() bool {
		return tool == "send" && a.Code == record.OutcomeUnknown && a.Unsent || tool == "bill" && a.Receipt != ""
	}
	for end := time.Now().Add(longWait); !settled() && time.Now().Before(end); a = ask() {
		time.Sleep(100 * time.Millisecond) // what was remembered, or the bank is away
	}
	if !settled() {
		w.t.Errorf("%s after the lease of the stopped replica: %+v", tool, a)
	}
	holder.goOn()
	if late := <-first; late.Receipt != "" && !late.Replayed {
		w.t.Errorf("the replica that was stopped answers as if nothing had happened: %+v", late)
	}
	if a := ask(); tool == "send" && a.Code != record.OutcomeUnknown {
		w.t.Errorf("after the stopped replica went on: %+v", a)
	}
}

// settle lets a person settle an operation whose effect is there.
func (w *town) settle(e evidence) {
	claimed := map[string]bool{}
	for _, o := range e.Ledger {
		claimed[receiptOf(o.Result)] = true
	}
	for _, o := range e.Ledger {
		if o.State != operation.Unknown || o.Repeatable {
			continue
		}
		i := slices.IndexFunc(e.Before, func(l bankLine) bool {
			return l.Kind == "effect" && !claimed[l.Receipt] && placeOf(l.Tool, l.Invoice, l.Amount) == placed(o)
		})
		if i < 0 {
			continue
		}
		path := filepath.Join(w.t.TempDir(), "result.json")
		if err := os.WriteFile(path, fmt.Appendf(nil, `{"content":[{"type":"text","text":"{\"receipt\":\"%s\"}"}]}`, e.Before[i].Receipt), 0o600); err != nil {
			w.t.Fatal(err)
		}
		out, err := exec.Command(testProgram(w.t), "operations", "resolve", o.ID, "--confirmed", "--reason", "the bank has it", "--result", path, "--state", w.state).CombinedOutput()
		if err != nil {
			w.t.Errorf("%v: %s", err, out)
		}
		w.count("settled by hand", 1)
		return
	}
}

// evidence is everything that there is; listing takes a process of its own.
func (w *town) evidence(listing bool) evidence {
	w.t.Helper()
	e := evidence{Lease: w.lease, Earlier: w.confirmed}
	if listing {
		e.ListedAt = time.Now()
		e.Listed = w.listed()
	}
	w.look()
	e.Before, e.Read = w.lines, time.Now()
	e.Ledger = w.ledger()
	w.look()
	e.After = w.lines
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Told, e.Errands = w.told, w.errands
	return e
}

// check holds what is there to what guards promise.
func (w *town) check(listing bool) {
	w.t.Helper()
	e := w.evidence(listing)
	for _, f := range judgeSoak(e) {
		w.t.Errorf("%s: %s", f.Kind, f.What)
	}
	w.counted = map[string]int{}
	for _, o := range e.Ledger {
		w.counted["operations "+string(o.State)]++
		if o.State == operation.Confirmed {
			w.confirmed[o.ID] = o
		}
	}
	effects := map[string]int{}
	for _, l := range e.After {
		w.counted["upstream "+l.Kind]++
		if l.Kind == "effect" {
			effects[l.Invoice]++
		}
	}
	for _, own := range e.Errands {
		w.counted["errands"]++
		if own.Impatient && own.over(effects[own.Invoice]) {
			w.counted["errands of callers that went away as they were answered, done twice"]++
		}
	}
	if w.random.IntN(4) == 0 {
		w.settle(e)
	}
}

// look reads what the bank has written.
func (w *town) look() {
	w.t.Helper()
	more, err := w.tail.read()
	if err != nil {
		w.t.Fatal(err)
	}
	w.lines = append(w.lines, more...)
}

// ledger is every operation, the newest first.
func (w *town) ledger() []operation.Operation {
	w.t.Helper()
	var all []operation.Operation
	for before := ""; ; before = all[len(all)-1].ID {
		list, err := w.store.List(w.t.Context(), operation.Filter{}, before, 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		if all = append(all, list...); len(list) < 1000 {
			return all
		}
	}
}

// listed are the operations that people see as unknown.
func (w *town) listed() (ids []string) {
	w.t.Helper()
	for before := []string{}; ; {
		cmd := exec.Command(testProgram(w.t), append([]string{"operations", "list", "--only", "unknown", "--limit", "1000", "--json", "--state", w.state}, before...)...)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Run(); err != nil {
			w.t.Fatalf("%v: %s", err, &errOut)
		}
		var list struct {
			Operations []struct{ ID, State string }
			More       bool
		}
		if err := json.Unmarshal(out.Bytes(), &list); err != nil {
			w.t.Fatal(err)
		}
		for _, o := range list.Operations {
			ids = append(ids, o.ID)
		}
		if !list.More {
			return ids
		}
		before = []string{"--before", ids[len(ids)-1]}
	}
}

// rounds is REMIT_ROUNDS, or else a few.
func soakRounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("REMIT_ROUNDS")
	if text == "" {
		return 10
	}
	rounds, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("REMIT_ROUNDS: %v", err)
	}
	return rounds
}

// TestGuardSoak ends guards, upstreams and the database at random points of
// traffic, again and again on one ledger. REMIT_ROUNDS is how often; REMIT_SEED
// is the seed of what is chosen, though not of how processes run beside each other.
func TestGuardSoak(t *testing.T) {
	rounds, seed := soakRounds(t), rand.Uint64()
	if text := os.Getenv("REMIT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("REMIT_SEED: %v", err)
		}
	}
	total, began := &tally{}, time.Now()
	t.Cleanup(func() {
		t.Logf("seed %d, %v", seed, time.Since(began).Round(time.Second))
		for _, name := range slices.Sorted(maps.Keys(total.counts)) {
			t.Logf("%8d %s", total.counts[name], name)
		}
		for _, name := range []string{"guard killed", "successes", "replays", "IN_PROGRESS", "OUTCOME_UNKNOWN", "operations confirmed", "operations unknown", "upstream ended"} {
			if total.counts[name] == 0 && rounds >= 10 && !t.Failed() {
				t.Errorf("there were no %s: nothing was tested", name)
			}
		}
	})
	type row struct {
		townForm
		rounds int
	}
	rows := []row{
		{townForm{name: "one guard", replicas: 1}, rounds * 4 / 10},
		{townForm{name: "one guard and a process", replicas: 1, process: true}, rounds * 2 / 10},
		{townForm{name: "replicas", replicas: 3}, rounds - rounds*4/10 - rounds*2/10},
	}
	for i := range rows {
		rows[i].lease = shortLease
	}
	if rounds >= 100 {
		rows = append(rows, row{townForm{name: "replicas with the lease of a guard", replicas: 3, lease: 30 * time.Second}, 2})
	}
	for i, f := range rows {
		t.Run(f.name, func(t *testing.T) {
			if f.lease == shortLease { // the other one is alone with the database, which both would restart
				t.Parallel()
			}
			for first := 0; first < f.rounds && !t.Failed(); first += perLedger {
				t.Run(fmt.Sprintf("from round %d", first+1), func(t *testing.T) {
					soak(t, f.townForm, total, rand.New(rand.NewPCG(seed, uint64(i<<32+first))), min(perLedger, f.rounds-first))
				})
			}
		})
	}
}

// soak lets a town live for some rounds.
func soak(t *testing.T, f townForm, total *tally, random *rand.Rand, rounds int) {
	w := buildTown(t, f, total, random)
	for round := range rounds {
		var happen []func()
		maybe := func(often int, what func()) {
			if random.IntN(100) < often {
				happen = append(happen, what)
			}
		}
		maybe(60, w.killGuard)
		maybe(40, w.killBank)
		maybe(15, w.stopGuard)
		if f.replicas > 1 {
			maybe(40, w.killGuard)
			maybe(10, w.crashDatabase)
			switch round % 25 {
			case 1:
				happen = append(happen, w.stopHolder)
			case 2:
				happen = append(happen, w.crashDatabase)
			}
		}
		random.Shuffle(len(happen), func(i, j int) { happen[i], happen[j] = happen[j], happen[i] })
		w.round(8, happen...)
		total.count("rounds", 1)
		if t.Failed() {
			t.Fatalf("in round %d", round+1)
		}
	}
	time.Sleep(w.lease)
	w.check(true)
	for name, n := range w.counted {
		total.count(name, n)
	}
	if w.counted["operations sent"] > 0 {
		t.Errorf("%d operations are still sent after their leases", w.counted["operations sent"])
	}
}

// TestGuardSoakControl: callers whose answer is lost have the effect twice
// without a guard, and behind one that only observes.
func TestGuardSoakControl(t *testing.T) {
	for _, f := range []townForm{
		{name: "no guard", replicas: 1, bare: true},
		{name: "observed", replicas: 1, observe: true, lease: shortLease},
		{name: "guarded", replicas: 1, lease: shortLease},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := buildTown(t, f, &tally{}, rand.New(rand.NewPCG(1, 2)))
			e := &errand{Tool: "send", Invoice: "a", Amount: 7, Wanted: 1}
			w.errands = []*errand{e}
			for _, how := range []mishap{{End: "drop"}, {}} {
				if a := w.callers[0].write(e.Tool, e.Invoice, e.Amount, how, longWait); a.Receipt != "" {
					e.Receipts = append(e.Receipts, a.Receipt)
				}
			}
			kinds := map[string]bool{}
			for _, found := range judgeSoak(w.evidence(true)) {
				t.Log(found)
				kinds[found.Kind] = true
			}
			if guarded := f.name == "guarded"; guarded && len(kinds) > 0 || !guarded && (!kinds[twice] || !kinds[lost]) {
				t.Errorf("found: %v", kinds)
			}
		})
	}
}

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/guard"
	"remit.example/recovery"
)

// The times that a process is given; variables for the tests alone.
var (
	endTime   = 5 * time.Second // to end after its input has
	termTime  = 2 * time.Second // to end after it was told to
	killTime  = 2 * time.Second // to be gone, with all that it wrote read, after it was killed
	graceTime = time.Second     // for what it wrote to be read once it has ended

	restartPause = time.Second // between two starts
)

// handshakeTime is how long a process may take to answer initialize again.
const handshakeTime = 30 * time.Second

// leftMost bounds what is read of a process that has ended: as much as a pipe
// holds. Others may go on writing to it.
const leftMost = 1 << 20

// Command is the program of an upstream that speaks over its standard input
// and output.
type Command struct {
	Args   []string
	Env    []string  // nil: that of this process
	Stderr io.Writer // nil: none
	// Ended is told how a run ended that nobody asked to end; nil: nobody.
	Ended func(error)
}

// process is one run of a command at a time, for one client. When it has ended
// by itself, the next request starts it again and repeats the client's
// handshake. What it has to be told waits in an outbox: a process that does
// not read holds up nobody but those who wait for its answers.
type process struct {
	command   Command
	limit     int
	emit      func(message []byte) // messages of the server that answer no request of call
	restarted func()

	mu        sync.Mutex
	running   *run
	started   time.Time
	handshake []*guard.Message // initialize, once it has been answered, and notifications/initialized
	closed    bool
}

// run is one run of a command.
type run struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *outbox
	exited  chan struct{} // the process has
	written chan struct{} // nothing is written to it any more
	ended   chan struct{} // and everyone knows

	mu     sync.Mutex
	asked  map[string]*asked // requests that are not answered, by id
	gone   bool              // no answers come any more
	reaped bool              // its process id may be another's
}

// asked is a request that is not answered.
type asked struct {
	request *guard.Message
	answer  chan *guard.Message // closed where none comes; nil: the answer is emitted
}

// start starts the command; the caller holds mu.
func (p *process) start() (*run, error) { return p.startWith(nil, func() {}) }

// startWith starts the command and repeats a handshake, before anything else
// is sent; the caller holds mu.
func (p *process) startWith(handshake []*guard.Message, greeted func()) (*run, error) {
	cmd := exec.Command(p.command.Args[0], p.command.Args[1:]...)
	cmd.Env, cmd.Stderr = p.command.Env, p.command.Stderr
	cmd.WaitDelay = graceTime // for what it has left with its standard error
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	cmd.Stdout = theirs
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	r := &run{
		cmd: cmd, in: in, out: newOutbox(p.limit), asked: map[string]*asked{},
		exited: make(chan struct{}), written: make(chan struct{}), ended: make(chan struct{}),
	}
	p.started = time.Now()
	from, read := &leavings{pipe: out, time: graceTime, bytes: leftMost}, make(chan struct{})
	go r.write(handshake, greeted)
	go func() {
		defer close(read)
		p.read(r, newLines(from, p.limit))
	}()
	go func() {
		err := cmd.Wait()
		r.reap()
		from.close()
		close(r.exited)
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
		if p.command.Ended != nil && !p.isClosed() {
			p.command.Ended(err)
		}
		r.out.drop(errEnded)
		_ = in.Close()
		<-r.written
		<-read
		_ = out.Close()
		p.lose(r)
		close(r.ended)
	}()
	return r, nil
}

// leavings is what a process writes. What it has left when it ends is read
// too, though others that hold the pipe are not waited for.
type leavings struct {
	pipe *os.File

	mu    sync.Mutex
	ended bool
	time  time.Duration // for which is waited from then on
	bytes int           // that are read from then on
}

func (l *leavings) Read(into []byte) (int, error) {
	l.mu.Lock()
	ended := l.ended
	if ended {
		if l.time <= 0 || l.bytes <= 0 {
			l.mu.Unlock()
			return 0, io.EOF
		}
		_ = l.pipe.SetReadDeadline(time.Now().Add(l.time)) // every pipe has deadlines
	}
	l.mu.Unlock()
	begun := time.Now()
	n, err := l.pipe.Read(into)
	if ended {
		l.mu.Lock()
		l.time -= time.Since(begun)
		l.bytes -= n
		l.mu.Unlock()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// close says that the process has ended.
func (l *leavings) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	_ = l.pipe.SetReadDeadline(time.Now().Add(l.time)) // of whoever reads now
}

// read hands on what the server writes, until it ends or writes a message that
// is too long: what it would answer is then not known.
func (p *process) read(r *run, in *lines) {
	for {
		line, err := in.next()
		if err != nil {
			p.lose(r)
			if errors.Is(err, io.EOF) {
				r.stopAfter(endTime)
			} else {
				r.signal(syscall.SIGKILL)
			}
			return
		}
		messages, err := guard.Split(line)
		if err != nil {
			continue // what a server prints besides its messages is no message
		}
		for _, raw := range messages {
			if m, err := guard.ParseMessage(raw); err == nil {
				p.hear(r, m)
			}
		}
	}
}

// hear gives a response to the call that waits for it. One that nobody waits
// for any more is dropped. All else is emitted.
func (p *process) hear(r *run, m *guard.Message) {
	if !m.Response() {
		p.emit(m.Raw)
		return
	}
	a := r.answered(m)
	switch {
	case a == nil:
	case a.answer != nil:
		a.answer <- m
	default:
		if a.request.Method == "initialize" && m.Result != nil {
			p.mu.Lock()
			p.handshake = []*guard.Message{a.request}
			p.mu.Unlock()
		}
		p.emit(m.Raw)
	}
}

// lose lets everyone who waits know that no answer comes.
func (p *process) lose(r *run) {
	for _, id := range r.lose() {
		p.emit(guard.ErrorMessage(id, serverEnded, "The MCP server ended before it answered."))
	}
}

var (
	errEnded = errors.New("the MCP server has ended")
	errInUse = errors.New("the id of the request is in use")
)

// ask notes a request that is about to be sent.
func (r *run) ask(a *asked) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := guard.IDKey(a.request.ID)
	if r.gone {
		return errEnded
	}
	if r.asked[key] != nil {
		return errInUse
	}
	r.asked[key] = a
	return nil
}

// answered is the request that a response answers; nil where there is none.
func (r *run) answered(m *guard.Message) *asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := guard.IDKey(m.ID)
	a := r.asked[key]
	delete(r.asked, key)
	return a
}

// forget takes a request back; false where it has been answered, or lost.
func (r *run) forget(a *asked) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := guard.IDKey(a.request.ID)
	if r.asked[key] != a {
		return false
	}
	delete(r.asked, key)
	return true
}

// lose ends the wait for answers, and lists the ids of the requests whose
// answers would have been emitted.
func (r *run) lose() []jsontext.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	var ids []jsontext.Value
	for key, a := range r.asked {
		delete(r.asked, key)
		if a.answer == nil {
			ids = append(ids, a.request.ID)
		} else {
			close(a.answer)
		}
	}
	return ids
}

// reap ends what the process has started and left.
func (r *run) reap() {
	r.signal(syscall.SIGKILL)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reaped, r.gone = true, true
}

// signal tells the run, with all that it has started, something.
func (r *run) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		_ = syscall.Kill(-r.cmd.Process.Pid, s) // a group that has gone needs no signal
	}
}

// stopAfter ends the run unless it ends by itself.
func (r *run) stopAfter(wait time.Duration) {
	time.AfterFunc(wait, func() { r.signal(syscall.SIGKILL) })
}

// write writes what is in the outbox, after a handshake. A process whose input
// cannot be written to has a time to end.
func (r *run) write(handshake []*guard.Message, greeted func()) {
	defer close(r.written)
	defer r.in.Close()
	if err := r.greet(handshake); err != nil {
		r.signal(syscall.SIGKILL)
		r.out.drop(err)
		return
	}
	greeted()
	for {
		l := r.out.take()
		if l == nil {
			return
		}
		n, err := r.in.Write(l.line)
		r.out.sent(l)
		if err == nil {
			continue
		}
		if n == 0 {
			l.fail(recovery.NotSent(err))
		} else {
			l.fail(errors.Join(err, io.ErrUnexpectedEOF))
		}
		r.out.drop(err)
		r.stopAfter(endTime)
		return
	}
}

// greet repeats a client's handshake, under an id that no other request has.
func (r *run) greet(handshake []*guard.Message) error {
	timer := time.AfterFunc(handshakeTime, func() { r.signal(syscall.SIGKILL) })
	defer timer.Stop()
	for i, m := range handshake {
		if i > 0 {
			if _, err := r.in.Write(lineOf(m.Raw)); err != nil {
				return err
			}
			continue
		}
		a := &asked{request: renumbered(m), answer: make(chan *guard.Message, 1)}
		if err := r.ask(a); err != nil {
			return err
		}
		if _, err := r.in.Write(lineOf(a.request.Raw)); err != nil {
			return err
		}
		select {
		case _, ok := <-a.answer:
			if !ok {
				return errEnded
			}
		case <-r.exited:
			return errEnded
		}
	}
	return nil
}

// live is the run that answers, started again where it has ended. A new one is
// greeted as the client has, unless m is its own greeting. An error says that
// nothing was sent.
func (p *process) live(m *guard.Message) (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the proxy is closing")
	}
	if p.running != nil {
		select {
		case <-p.running.ended:
		default:
			return p.running, nil
		}
		if wait := restartPause - time.Since(p.started); wait > 0 {
			return nil, fmt.Errorf("the MCP server has ended; it is started again in %d ms", wait.Milliseconds())
		}
	}
	if m.Method == "initialize" {
		p.handshake = nil
	}
	r, err := p.startWith(p.handshake, p.restarted)
	if err != nil {
		return nil, err
	}
	p.running = r
	return r, nil
}

// call sends a request and waits for its response.
func (p *process) call(ctx context.Context, raw []byte) (guard.Response, error) {
	m, err := guard.ParseMessage(raw)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return guard.Response{}, recovery.NotSent(err)
	}
	r, err := p.live(m)
	if err != nil {
		return guard.Response{}, recovery.NotSent(err)
	}
	response, err := r.call(ctx, m)
	if err != nil {
		return guard.Response{}, err
	}
	return guard.Response{Message: response, Body: response.Raw}, nil
}

func (r *run) call(ctx context.Context, m *guard.Message) (*guard.Message, error) {
	a := &asked{request: m, answer: make(chan *guard.Message, 1)}
	if err := r.ask(a); err != nil {
		return nil, recovery.NotSent(err)
	}
	failed := make(chan error, 1)
	l, err := r.out.put(m.Raw, func(err error) { failed <- err })
	if err != nil {
		r.forget(a)
		return nil, recovery.NotSent(err)
	}
	select {
	case answer, ok := <-a.answer:
		return r.came(answer, ok, l, failed)
	case err := <-failed:
		r.forget(a)
		return nil, err
	case <-ctx.Done():
	}
	if !r.forget(a) { // which an answer, or the end, has
		answer, ok := <-a.answer
		return r.came(answer, ok, l, failed)
	}
	if r.out.withdraw(l) {
		return nil, recovery.NotSent(ctx.Err())
	}
	_, _ = r.out.put(cancelled(m.ID), nil) // a server that is gone has nothing to cancel
	return nil, ctx.Err()
}

// came is what a call's wait ended with; not ok: without an answer.
func (r *run) came(answer *guard.Message, ok bool, l *letter, failed chan error) (*guard.Message, error) {
	if ok {
		return answer, nil
	}
	select {
	case err := <-failed:
		return nil, err
	default:
	}
	if r.out.withdraw(l) {
		return nil, recovery.NotSent(errEnded)
	}
	return nil, errors.Join(errors.New("the MCP server ended before it answered"), io.ErrUnexpectedEOF)
}

// cancelled tells the server that nobody waits for a request any more.
func cancelled(id jsontext.Value) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"The caller no longer waits."}}`, id)
}

// send passes a message on, whose response, if it has one, is emitted. It does
// not wait for the process.
func (p *process) send(_ context.Context, m *guard.Message) {
	r, err := p.live(m)
	if err == nil {
		err = p.pass(r, m)
	}
	if err != nil && m.Request() {
		p.emit(notPassed(m, err))
	}
}

// pass puts a message into the outbox of a run.
func (p *process) pass(r *run, m *guard.Message) error {
	if !m.Request() {
		_, err := r.out.put(m.Raw, nil)
		if err == nil {
			p.noteInitialized(m)
		}
		return err
	}
	a := &asked{request: m}
	if err := r.ask(a); err != nil {
		return err
	}
	_, err := r.out.put(m.Raw, func(err error) {
		if r.forget(a) {
			p.emit(notPassed(m, err))
		}
	})
	if err != nil {
		r.forget(a)
	}
	return err
}

// notPassed answers a request that has not been passed on, or not whole.
func notPassed(m *guard.Message, err error) []byte {
	if errors.Is(err, errInUse) {
		return guard.ErrorMessage(m.ID, -32600, "The id of this request is in use.")
	}
	return guard.ErrorMessage(m.ID, serverEnded, "The MCP server is not there: "+err.Error()+".")
}

// abandon takes back a request that send has passed on, if it has not been
// answered: nobody waits for its response any more.
func (p *process) abandon(m *guard.Message) {
	p.mu.Lock()
	r := p.running
	p.mu.Unlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	key := guard.IDKey(m.ID)
	a := r.asked[key]
	passed := a != nil && a.answer == nil
	if passed {
		delete(r.asked, key)
	}
	r.mu.Unlock()
	if passed {
		_, _ = r.out.put(cancelled(m.ID), nil) // a server that is gone has nothing to cancel
	}
}

// noteInitialized completes what a new run has to be told.
func (p *process) noteInitialized(m *guard.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "notifications/initialized" && len(p.handshake) == 1 {
		p.handshake = append(p.handshake, m)
	}
}

func (p *process) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close ends the run: its input first, once all is written, then, each after a
// time, the process, with a word and without. It takes 10 s at most; calls have
// ended when it returns.
func (p *process) close() {
	p.mu.Lock()
	p.closed = true
	r := p.running
	p.mu.Unlock()
	if r == nil {
		return
	}
	r.out.end()
	if r.endsIn(endTime) {
		return
	}
	r.signal(syscall.SIGTERM)
	if r.endsIn(termTime) {
		return
	}
	r.signal(syscall.SIGKILL)
	if !r.endsIn(killTime) {
		r.lose() // whoever reads what the process has left does not read on
	}
}

// endsIn waits for the end of the run.
func (r *run) endsIn(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.ended:
		return true
	case <-timer.C:
		return false
	}
}

// outbox is what a process has still to be told, in its order.
type outbox struct {
	limit int // of bytes that wait, unless one message alone is longer

	mu      sync.Mutex
	more    sync.Cond
	waiting []*letter
	size    int // of those that wait, and of the one that is being written
	shut    error
}

// letter is one message in it.
type letter struct {
	line   []byte
	failed func(error) // nil: nobody has to know
}

func (l *letter) fail(err error) {
	if l.failed != nil {
		l.failed(err)
	}
}

func newOutbox(limit int) *outbox {
	o := &outbox{limit: limit}
	o.more.L = &o.mu
	return o
}

// put adds a message, without waiting. failed is told, once at most, if it has
// not been written: see [recovery.NotSent]. After an error of put it is not.
func (o *outbox) put(message []byte, failed func(error)) (*letter, error) {
	l := &letter{line: lineOf(message), failed: failed}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut != nil {
		return nil, o.shut
	}
	if o.size > 0 && o.size+len(l.line) > o.limit {
		return nil, fmt.Errorf("the MCP server does not read: %d bytes wait for it", o.size)
	}
	o.size += len(l.line)
	o.waiting = append(o.waiting, l)
	o.more.Signal()
	return l, nil
}

// take waits for the next message; nil: there are no more.
func (o *outbox) take() *letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) == 0 {
		if o.shut != nil {
			return nil
		}
		o.more.Wait()
	}
	l := o.waiting[0]
	o.waiting = slices.Delete(o.waiting, 0, 1)
	return l
}

// sent says that a message is no longer being written.
func (o *outbox) sent(l *letter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size -= len(l.line)
}

// withdraw takes a message back; false where it has been taken.
func (o *outbox) withdraw(l *letter) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.Index(o.waiting, l)
	if at < 0 {
		return false
	}
	o.waiting = slices.Delete(o.waiting, at, at+1)
	o.size -= len(l.line)
	return true
}

// end lets nothing more in. What is there is still taken.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut == nil {
		o.shut = errors.New("the proxy is closing")
	}
	o.more.Broadcast()
}

// drop lets nothing more in or out.
func (o *outbox) drop(why error) {
	o.mu.Lock()
	dropped := o.waiting
	o.waiting, o.shut = nil, why
	o.more.Broadcast()
	o.mu.Unlock()
	for _, l := range dropped {
		o.sent(l)
		l.fail(recovery.NotSent(why))
	}
}

// lineOf is a message as a line.
func lineOf(message []byte) []byte {
	return append(append(make([]byte, 0, len(message)+1), oneLine(message)...), '\n')
}

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"remit.example/guard"
	"remit.example/recovery"
)

// The times that a process is given.
const (
	endTime       = 5 * time.Second  // to end after its input has
	handshakeTime = 30 * time.Second // to answer initialize again after a restart
)

// restartPause is between two starts; a variable for the tests alone.
var restartPause = time.Second

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
// handshake.
type process struct {
	command   Command
	limit     int
	emit      func(message []byte) // messages of the server that answer no request of call
	restarted func()

	mu        sync.Mutex
	running   *run
	started   time.Time
	handshake [][]byte // initialize and notifications/initialized, as they came
	closed    bool
}

// run is one run of a command.
type run struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	write *lineWriter
	ended chan struct{}

	mu      sync.Mutex
	waiting map[string]chan *guard.Message // by the id of the request
	passed  map[string]bool                // ids of requests whose responses are emitted
	dead    bool
}

// start starts the command; the caller holds mu.
func (p *process) start() (*run, error) {
	cmd := exec.Command(p.command.Args[0], p.command.Args[1:]...)
	cmd.Env, cmd.Stderr = p.command.Env, p.command.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &run{cmd: cmd, in: in, write: &lineWriter{out: in}, ended: make(chan struct{}), waiting: map[string]chan *guard.Message{}, passed: map[string]bool{}}
	p.started = time.Now()
	go func() {
		r.receive(newLines(out, p.limit), p.emit)
		r.stop()
		err := cmd.Wait()
		if p.command.Ended != nil && !p.isClosed() {
			p.command.Ended(err)
		}
		for _, id := range r.close() {
			p.emit(errorMessage([]byte(id), serverEnded, "The MCP server ended before it answered."))
		}
		close(r.ended)
	}()
	return r, nil
}

// receive hands on what the server writes, until it ends or writes a message
// that is too long: what it would answer is then not known.
func (r *run) receive(in *lines, emit func([]byte)) {
	for {
		line, err := in.next()
		if err != nil {
			return
		}
		messages, err := guard.Split(line)
		if err != nil {
			continue // what a server prints besides its messages is no message
		}
		for _, raw := range messages {
			m, err := guard.ParseMessage(raw)
			if err != nil {
				continue
			}
			if !m.Response() || !r.deliver(m) {
				emit(raw)
			}
		}
	}
}

// deliver gives a response to the call that waits for it. One that nobody
// waits for any more is dropped; false: it is to be emitted.
func (r *run) deliver(m *guard.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := string(m.ID)
	if r.passed[id] {
		delete(r.passed, id)
		return false
	}
	if waiting, ok := r.waiting[id]; ok {
		delete(r.waiting, id)
		waiting <- m
	}
	return true
}

// close lets everyone who waits know that the run is over, and lists the
// requests whose responses would have been emitted.
func (r *run) close() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = true
	for _, waiting := range r.waiting {
		close(waiting)
	}
	var ids []string
	for id := range r.passed {
		ids = append(ids, id)
	}
	return ids
}

// stop ends the run with all that it has started.
func (r *run) stop() {
	_ = r.in.Close()
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // a group that has gone needs no signal
}

// live is the run that answers, started again where it has ended. An error
// says that nothing was sent.
func (p *process) live(ctx context.Context) (*run, error) {
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
	again := p.running != nil
	r, err := p.start()
	if err != nil {
		return nil, err
	}
	p.running = r
	if again {
		if err := p.greet(ctx, r); err != nil {
			r.stop()
			return nil, err
		}
		p.restarted()
	}
	return r, nil
}

// greet repeats the client's handshake; the caller holds mu.
func (p *process) greet(ctx context.Context, r *run) error {
	for i, raw := range p.handshake {
		if i > 0 {
			if err := r.write.write(raw); err != nil {
				return err
			}
			continue
		}
		m, err := guard.ParseMessage(raw)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeTime)
		defer cancel()
		if _, err := r.call(ctx, raw, string(m.ID)); err != nil {
			return err
		}
	}
	return nil
}

// call sends a request and waits for its response.
func (p *process) call(ctx context.Context, raw []byte) (guard.Response, error) {
	m, err := guard.ParseMessage(raw)
	if err != nil {
		return guard.Response{}, recovery.NotSent(err)
	}
	r, err := p.live(ctx)
	if err != nil {
		return guard.Response{}, recovery.NotSent(err)
	}
	response, err := r.call(ctx, raw, string(m.ID))
	if err != nil {
		return guard.Response{}, err
	}
	return guard.Response{Message: response, Body: response.Raw}, nil
}

var errInUse = errors.New("the id of the request is in use")

func (r *run) call(ctx context.Context, raw []byte, id string) (*guard.Message, error) {
	waiting := make(chan *guard.Message, 1)
	r.mu.Lock()
	_, taken := r.waiting[id]
	if r.dead || taken || r.passed[id] {
		r.mu.Unlock()
		if taken {
			return nil, recovery.NotSent(errInUse)
		}
		return nil, recovery.NotSent(errors.New("the MCP server has ended"))
	}
	r.waiting[id] = waiting
	r.mu.Unlock()
	if err := r.write.write(raw); err != nil { // a part of it may have been read
		r.forget(id)
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	select {
	case m, ok := <-waiting:
		if !ok {
			return nil, errors.Join(errors.New("the MCP server ended before it answered"), io.ErrUnexpectedEOF)
		}
		return m, nil
	case <-ctx.Done():
		r.forget(id)
		_ = r.write.write(cancelled(id)) // a server that is gone has nothing to cancel
		return nil, ctx.Err()
	}
}

func (r *run) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, id)
}

// cancelled tells the server that nobody waits for a request any more.
func cancelled(id string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"The caller no longer waits."}}`, id)
}

// send passes a message on, whose response, if it has one, is emitted.
func (p *process) send(ctx context.Context, m *guard.Message) {
	r, err := p.live(ctx)
	if err == nil {
		p.noteHandshake(m)
		err = r.pass(m)
	}
	if err != nil && m.Request() {
		p.emit(errorMessage(m.ID, serverEnded, "The MCP server is not there: "+err.Error()+"."))
	}
}

func (r *run) pass(m *guard.Message) error {
	if m.Request() {
		r.mu.Lock()
		if r.dead {
			r.mu.Unlock()
			return os.ErrProcessDone
		}
		r.passed[string(m.ID)] = true
		r.mu.Unlock()
	}
	return r.write.write(m.Raw)
}

// noteHandshake keeps what a new run has to be told.
func (p *process) noteHandshake(m *guard.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case m.Method == "initialize":
		p.handshake = [][]byte{m.Raw}
	case m.Method == "notifications/initialized" && len(p.handshake) == 1:
		p.handshake = append(p.handshake, m.Raw)
	}
}

func (p *process) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close ends the run: its input first, then, after a time, the process.
func (p *process) close() {
	p.mu.Lock()
	p.closed = true
	r := p.running
	p.mu.Unlock()
	if r == nil {
		return
	}
	_ = r.in.Close()
	timer := time.NewTimer(endTime)
	defer timer.Stop()
	select {
	case <-r.ended:
	case <-timer.C:
		r.stop()
		<-r.ended
	}
}

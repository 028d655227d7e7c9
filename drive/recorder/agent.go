package recorder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"time"

	"github.com/go-json-experiment/json"

	"remit.example/drive/exec"
	"remit.example/oracle"
)

// maxAnswer bounds one line of an agent, in bytes.
const maxAnswer = 1 << 20

// agent is the program that answers.
type agent struct {
	cmd    *osexec.Cmd
	name   string
	in     io.WriteCloser
	lines  chan []byte // what it writes; closed at the end
	stderr exec.Tail
	ended  chan struct{} // closed when it has ended
	status error         // of its end; valid after ended
	fault  error         // of its output; valid after lines is closed
	stop   context.CancelFunc
}

func startAgent(ctx context.Context, o *Options, cdp string) (*agent, error) {
	ctx, stop := context.WithCancel(ctx)
	a := &agent{name: o.Command[0], lines: make(chan []byte), ended: make(chan struct{}), stop: stop}
	a.cmd = osexec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	a.cmd.Env = append(os.Environ(), "REMIT_CDP="+cdp, "REMIT_PAGE="+o.Page)
	a.cmd.Stderr = &a.stderr
	if o.Stderr != nil {
		a.cmd.Stderr = io.MultiWriter(&a.stderr, o.Stderr)
	}
	exec.OwnGroup(a.cmd)
	in, err := a.cmd.StdinPipe()
	if err != nil {
		stop()
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		stop()
		return nil, err
	}
	a.in = in
	if err := a.cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("the agent cannot be started: %w", err)
	}
	go a.read(ctx, out)
	return a, nil
}

// read takes the lines of the agent until its output ends, then waits for its
// end.
func (a *agent) read(ctx context.Context, out io.Reader) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, maxAnswer)
	for scanner.Scan() {
		line := append([]byte(nil), scanner.Bytes()...)
		select {
		case a.lines <- line:
		case <-ctx.Done():
		}
	}
	a.fault = scanner.Err()
	if a.fault != nil {
		a.stop()
	}
	a.status = a.cmd.Wait()
	close(a.ended)
	close(a.lines)
}

// ask writes one request and reads its answer. Lost is closed when the browser
// has ended.
func (a *agent) ask(ctx context.Context, asked oracle.Asked, timeout time.Duration, lost <-chan struct{}) (oracle.Answer, error) {
	line, err := json.Marshal(asked)
	if err != nil {
		return oracle.Answer{}, err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := a.in.Write(append(line, '\n'))
		sent <- err
	}()
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case line, more := <-a.lines:
		if !more {
			return oracle.Answer{}, a.left(asked.ID)
		}
		return readAnswer(line, asked.ID)
	case <-late.C:
		return oracle.Answer{}, fmt.Errorf("the agent did not answer %s within %s%s", asked.ID, timeout, &a.stderr)
	case <-lost:
		return oracle.Answer{}, fmt.Errorf("the browser ended before the agent answered %s", asked.ID)
	case <-ctx.Done():
		return oracle.Answer{}, errInterrupted
	}
}

// left says why an agent that has ended did not answer.
func (a *agent) left(id string) error {
	switch {
	case errors.Is(a.fault, bufio.ErrTooLong):
		return fmt.Errorf("the agent wrote a line of more than %d bytes; valid: one answer a line", maxAnswer)
	case a.status != nil:
		return fmt.Errorf("the agent ended with %w before it answered %s%s", a.status, id, &a.stderr)
	}
	return fmt.Errorf("the agent ended before it answered %s%s", id, &a.stderr)
}

// readAnswer decodes one line of an agent strictly.
func readAnswer(line []byte, id string) (oracle.Answer, error) {
	var said struct {
		ID     string         `json:"id"`
		Answer *oracle.Answer `json:"answer"`
	}
	const form = `{"id","answer":{"text","claims":[…]}}`
	if err := json.Unmarshal(line, &said, json.RejectUnknownMembers(true)); err != nil {
		return oracle.Answer{}, fmt.Errorf("the agent's line for %s is no answer: %w: %.200q; valid: %s", id, err, line, form)
	}
	switch {
	case said.Answer == nil || said.Answer.Claims == nil:
		return oracle.Answer{}, fmt.Errorf("the agent's line for %s is no answer: %.200q; valid: %s", id, line, form)
	case said.ID != id:
		return oracle.Answer{}, fmt.Errorf("the agent answered %.80q, and was asked %s; valid: one answer to each request, in order", said.ID, id)
	}
	if err := said.Answer.Check(); err != nil {
		return oracle.Answer{}, fmt.Errorf("the agent's answer to %s: %w", id, err)
	}
	return *said.Answer, nil
}

// end closes the agent's input and waits for its end.
func (a *agent) end(ctx context.Context, timeout time.Duration) error {
	_ = a.in.Close() // it may have ended
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case line, more := <-a.lines:
		if more {
			return fmt.Errorf("the agent wrote a line that nobody asked for: %.200q", line)
		}
	case <-late.C:
		return fmt.Errorf("the agent did not end within %s after its last answer%s", timeout, &a.stderr)
	case <-ctx.Done():
		return errInterrupted
	}
	if a.status != nil {
		return fmt.Errorf("the agent ended with %w%s", a.status, &a.stderr)
	}
	return nil
}

// kill ends the agent and whom it has left behind.
func (a *agent) kill() {
	a.stop()
	<-a.ended
	_ = exec.KillGroup(a.cmd)
}

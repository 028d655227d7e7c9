// Package exec runs a program under test: case lines on its standard input,
// result lines on its standard output. It judges nothing. A program that
// cannot be started, ends with another status than 0, does not end in time or
// writes without end is a fault of the harness, which the error tells.
//
// A program runs in a process group of its own, which is killed whole when its
// time is over.
package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxErrors bounds what is kept of a program's standard error, in bytes.
const maxErrors = 4 << 10

// Run runs command once with input, and gives what it wrote, at most
// maxOutput bytes, and the end of what it wrote to its standard error.
func Run(ctx context.Context, command []string, input []byte, timeout time.Duration, maxOutput int) (results []byte, said *Tail, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := osexec.CommandContext(ctx, command[0], command[1:]...)
	out, errs := &bounded{limit: maxOutput, full: cancel}, &Tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, errs
	OwnGroup(cmd)
	err = cmd.Run()
	if cmd.Process != nil {
		_ = KillGroup(cmd) // whom it has left behind
	}
	switch {
	case out.flooded:
		return nil, errs, fmt.Errorf("%s wrote more than %d bytes", command[0], maxOutput)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, errs, fmt.Errorf("%s did not end within %s%s", command[0], timeout, errs)
	case ctx.Err() != nil:
		return nil, errs, ctx.Err()
	case errors.Is(err, osexec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return nil, errs, fmt.Errorf("%s cannot be started: %w", command[0], err)
	case err != nil:
		return nil, errs, fmt.Errorf("%s ended with %w%s", command[0], err, errs)
	}
	return out.kept.Bytes(), errs, nil
}

// OwnGroup makes a command run in a process group of its own, which the end of
// its context kills.
func OwnGroup(cmd *osexec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return KillGroup(cmd) }
	cmd.WaitDelay = time.Second // whoever has left the group may hold its output open
}

// KillGroup kills what is left of the group of a command that was started. A
// group without processes is os.ErrProcessDone.
func KillGroup(cmd *osexec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// bounded keeps what is written up to a limit, and calls full beyond it.
type bounded struct {
	kept    bytes.Buffer // not embedded: its ReadFrom would pass the limit by
	limit   int
	full    func()
	flooded bool
}

// Write keeps p, or refuses it.
func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.limit {
		b.flooded = true
		b.full()
		return 0, errors.New("too much output")
	}
	return b.kept.Write(p)
}

// Tail keeps the end of what is written to it, at most 4 KiB. Its methods may
// be called at the same time.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write keeps the last of p, and what was before as far as it fits.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-maxErrors):]...)
	t.kept = t.kept[max(0, len(t.kept)-maxErrors):]
	return len(p), nil
}

// String is what an error says of a program's standard error; "" where nothing
// was written.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "�"))
	if text == "" {
		return ""
	}
	return "; its standard error ends with:\n" + text
}

package scripted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

const (
	// maxErrors bounds what is kept of a caller's standard error, in bytes.
	maxErrors = 4 << 10
	// holdOpen is how long a process that has left the caller's group may hold
	// its standard error open.
	holdOpen = time.Second
)

// caller is the program under judgement in one case.
type caller struct {
	options *Options
	url     string
	inputs  oracle.Inputs

	// What became of it.
	stderr   tail
	status   string    // such as "exit status 1"
	cause    error     // why it was killed; nil if it was not
	killedAt time.Time // on the monotonic clock
}

// run starts the caller and returns when it has ended, by itself or with ctx.
// The error is that it cannot be started.
func (c *caller) run(ctx context.Context) error {
	command := c.options.Command
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], c.url)...)
	cmd.Env = append(os.Environ(), c.environment()...)
	cmd.Stderr = &c.stderr
	if c.options.Stderr != nil {
		cmd.Stderr = io.MultiWriter(&c.stderr, c.options.Stderr)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = holdOpen
	cmd.Cancel = func() error {
		c.killedAt, c.cause = time.Now(), context.Cause(ctx)
		return killGroup(cmd.Process.Pid)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the caller cannot be started: %w", err)
	}
	_ = cmd.Wait() // how it ended is not judged
	c.status = cmd.ProcessState.String()
	_ = killGroup(cmd.Process.Pid) // whom it has left behind
	return nil
}

// killGroup kills the processes of a group; one that has none is no error of
// the caller's.
func killGroup(group int) error {
	err := syscall.Kill(-group, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// environment is what the caller is told of its case.
func (c *caller) environment() []string {
	first, list := jsontext.Value("null"), [][]byte{}
	for _, correction := range c.inputs.Corrections {
		list = append(list, correction)
	}
	if len(list) > 0 {
		first = list[0]
	}
	return []string{
		"REMIT_URL=" + c.url,
		"REMIT_INPUT=" + string(c.inputs.Input),
		"REMIT_CORRECTION=" + string(first),
		"REMIT_CORRECTIONS=[" + string(bytes.Join(list, []byte(","))) + "]",
		"REMIT_RENEWAL=" + strconv.FormatBool(c.inputs.Renewal),
	}
}

// killed reports whether the caller was killed for a cause.
func (c *caller) killed(cause error) bool { return errors.Is(c.cause, cause) }

// said shows the end of the caller's standard error.
func (c *caller) said() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(c.stderr), "�"))
	if text == "" {
		return ""
	}
	return "; its standard error ends with:\n" + text
}

// tail keeps the end of what is written.
type tail []byte

// Write keeps the last bytes of all.
func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if extra := len(*t) - maxErrors; extra > 0 {
		*t = append((*t)[:0], (*t)[extra:]...)
	}
	return len(p), nil
}

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
	"time"

	"github.com/go-json-experiment/json/jsontext"

	driveexec "remit.example/drive/exec"
	"remit.example/oracle"
)

// caller is the program under judgement in one case.
type caller struct {
	options *Options
	url     string
	inputs  oracle.Inputs

	// What became of it.
	stderr   driveexec.Tail
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
	driveexec.OwnGroup(cmd)
	cmd.Cancel = func() error {
		c.killedAt, c.cause = time.Now(), context.Cause(ctx)
		return driveexec.KillGroup(cmd)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the caller cannot be started: %w", err)
	}
	_ = cmd.Wait() // how it ended is not judged
	c.status = cmd.ProcessState.String()
	_ = driveexec.KillGroup(cmd) // whom it has left behind
	return nil
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

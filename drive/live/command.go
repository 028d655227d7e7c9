package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	osexec "os/exec"
	"strings"
	"time"

	"remit.example/drive/exec"
)

// maxPrinted bounds what is kept of a command's standard output, in bytes.
const maxPrinted = 64 << 10

// firstLine runs a command line and gives the first line that it prints. The
// error says how it ended, and nothing that it printed.
func firstLine(ctx context.Context, command string, timeout time.Duration) (string, error) {
	var out head
	err := run(ctx, command, timeout, &out)
	line, _, _ := strings.Cut(out.kept.String(), "\n")
	return strings.TrimSpace(line), err
}

// run runs a command line. Without out, what it prints goes nowhere, and what
// it leaves running may go on printing.
func run(ctx context.Context, command string, timeout time.Duration, out io.Writer) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := osexec.CommandContext(limited, "sh", "-c", command)
	cmd.Stdout = out
	exec.OwnGroup(cmd)
	err := cmd.Run()
	switch {
	case errors.Is(err, osexec.ErrWaitDelay), err == nil: // what it left running may hold its output open
		return nil
	case ctx.Err() != nil:
		return errors.New("was interrupted")
	case limited.Err() != nil:
		return fmt.Errorf("did not end within %s", timeout)
	}
	return fmt.Errorf("ended with %w", err)
}

// head keeps the beginning of what is written.
type head struct{ kept bytes.Buffer }

// Write takes all of p.
func (h *head) Write(p []byte) (int, error) {
	h.kept.Write(p[:min(len(p), maxPrinted-h.kept.Len())])
	return len(p), nil
}

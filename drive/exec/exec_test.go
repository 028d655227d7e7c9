package exec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRun: what a program wrote, or why that says nothing.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, script, want, fault string
	}{
		{"it answers", "cat", "a case\n", ""},
		{"it does not read", "echo a result", "a result\n", ""},
		{"it fails", "cat; echo why >&2; exit 4", "", "sh ended with exit status 4; its standard error ends with:\nwhy"},
		{"it is killed", "kill -9 $$", "", "sh ended with signal: killed"},
		{"it floods", "yes", "", "sh wrote more than 65536 bytes"},
		{"it leaves a child behind", "cat; sleep 1000 >/dev/null 2>&1 &", "a case\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, _, err := Run(t.Context(), []string{"sh", "-c", c.script}, []byte("a case\n"), time.Minute, 1<<16)
			if fault := fmt.Sprint(err); err != nil && fault != c.fault || err == nil && (c.fault != "" || string(out) != c.want) {
				t.Errorf("got %q, %v; want %q, %s", out, err, c.want, c.fault)
			}
		})
	}
}

// TestRunEnds: a program that hangs ends with its time, and all that it has
// started with it.
func TestRunEnds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pid")
	script := "sleep 1000 & echo $! > " + pipe + "; wait"
	if _, _, err := Run(t.Context(), []string{"sh", "-c", script}, nil, 500*time.Millisecond, 10); err == nil || err.Error() != "sh did not end within 500ms" {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pipe)
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
	if err == nil && !strings.Contains(string(state), ") Z ") {
		t.Errorf("its child still runs: %s", state)
	}
}

func TestRunCannotStart(t *testing.T) {
	if _, _, err := Run(t.Context(), []string{filepath.Join(t.TempDir(), "nothing")}, nil, time.Minute, 10); err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Run(ended, []string{"true"}, nil, time.Minute, 10); err == nil {
		t.Error("it ran although the context had ended")
	}
}

// TestTail keeps the last bytes.
func TestTail(t *testing.T) {
	errs := &Tail{}
	for i := range 3000 {
		fmt.Fprintf(errs, "%d\n", i)
	}
	fmt.Fprint(errs, strings.Repeat("a", 5000)+"end")
	if len(errs.kept) != maxErrors || !strings.HasSuffix(errs.String(), "aend") {
		t.Errorf("%d bytes are kept: %s", len(errs.kept), errs)
	}
}

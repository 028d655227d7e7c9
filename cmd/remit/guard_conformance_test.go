package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// everything is the official server that has every feature of the protocol.
const everything = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// TestGuardConformance runs the protocol's own suite against the official
// server, and against the same behind a guard: what it says of one it says of
// the other. REMIT_RUNS says how often, on fresh state each time, and then of a
// guard that observes too.
func TestGuardConformance(t *testing.T) {
	server := filepath.Join(t.TempDir(), "everything")
	if out, err := exec.Command("go", "build", "-o", server, everything).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	modes, runs := []string{"--enforce"}, 1
	if given := os.Getenv("REMIT_RUNS"); given != "" {
		var err error
		if runs, err = strconv.Atoi(given); err != nil {
			t.Fatalf("REMIT_RUNS: %v", err)
		}
		modes = append(modes, "--observe")
	}
	for _, era := range []struct {
		revision, stateless, passed string
	}{{"2025-11-25", "false", "82 passed, 0 failed"}, {"2026-07-28", "true", ""}} {
		for _, mode := range modes {
			for run := range runs {
				t.Run(fmt.Sprintf("%s %s %d", era.revision, mode, run+1), func(t *testing.T) {
					upstream := listening(t, exec.Command(server, "-http", "ADDRESS", "-stateless="+era.stateless))
					direct := conformance(t, upstream, era.revision)
					guarded := conformance(t, listening(t, exec.Command(testProgram(t), "guard", mode,
						"--state", "sqlite:"+filepath.Join(t.TempDir(), "guard.db"), "--listen", "ADDRESS", "--upstream", "http://"+upstream+"/mcp")), era.revision)
					t.Logf("%s", strings.TrimSpace(lastLine(guarded, "Total:")))
					if direct != guarded {
						t.Errorf("the guard changes what the suite says:\n%s", differences(direct, guarded))
					}
					if !strings.Contains(guarded, era.passed) || strings.Count(guarded, "✓") < 20 {
						t.Errorf("the suite says:\n%s", guarded)
					}
				})
			}
		}
	}
}

// testProgram is the program under test.
func testProgram(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// listening starts a command that serves at a free address, in the place of
// ADDRESS, until the test ends.
func listening(t *testing.T, cmd *exec.Cmd) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for i, argument := range cmd.Args {
		cmd.Args[i] = strings.ReplaceAll(argument, "ADDRESS", address)
	}
	output, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = output.Close()
	})
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(output); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), address) {
			go func() { _, _ = io.Copy(io.Discard, output) }() // what else it says
			return address
		}
	}
	t.Fatalf("%s does not listen:\n%s", cmd, &said)
	return ""
}

var scenario = regexp.MustCompile(`^[✓✗] \S+: \d+ passed, \d+ failed$`)

// conformance is what the suite says of a server, one line a scenario.
func conformance(t *testing.T, address, revision string) string {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(npmModules(t), "@modelcontextprotocol", "conformance", "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	nodeJS, err := filepath.Abs(node(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(nodeJS, script, "server", "--url", "http://"+address+"/mcp", "--requirements", revision, "-o", t.TempDir())
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	var said []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); scenario.MatchString(line) || strings.HasPrefix(line, "Total:") {
			said = append(said, line)
		}
	}
	if len(said) < 20 {
		t.Fatalf("the suite did not run: %v\n%s", err, out)
	}
	return strings.Join(said, "\n") + "\n"
}

func lastLine(text, prefix string) string {
	found := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			found = line
		}
	}
	return found
}

// differences are the lines of two texts that only one has.
func differences(one, other string) string {
	a, b := strings.Split(one, "\n"), strings.Split(other, "\n")
	var out []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, "without the guard "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out = append(out, "with the guard    "+line)
		}
	}
	return strings.Join(out, "\n")
}

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"remit.example/contract"
)

// update rewrites golden files and documented sessions.
var update = flag.Bool("update", false, "rewrite golden files and documented sessions")

// documents hold sessions: blocks fenced as console in which each line that
// begins with "$ remit" is run, and what follows is what it prints. Run the
// test with -update to write what is printed now.
var documents = []string{"README.md", "SPEC.md", "CONTRIBUTING.md", "examples/*/README.md"}

const (
	fence  = "```"
	prompt = "$ remit "
)

func TestDocumentedSessions(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(ordersProgram(t))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("ORDERS_DB", filepath.Join(t.TempDir(), "orders.db"))
	t.Chdir("../..")
	commands := 0
	for _, pattern := range documents {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Errorf("no document is named %s", pattern)
		}
		for _, name := range names {
			commands += checkSessions(t, name)
		}
	}
	if commands == 0 {
		t.Error("no document has a session")
	}
}

func checkSessions(t *testing.T, name string) (commands int) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	inSession, skipping := false, false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, fence):
			inSession = strings.TrimSpace(line) == fence+"console"
			skipping = false
		case inSession && strings.HasPrefix(line, "$ "):
			skipping = strings.HasPrefix(line, prompt)
		}
		if !skipping {
			out.WriteString(line)
			continue
		}
		if strings.HasPrefix(line, prompt) {
			commands++
			out.WriteString(line + session(t, name, strings.TrimSpace(strings.TrimPrefix(line, prompt))))
		}
	}
	if out.String() == string(text) {
		return commands
	}
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return commands
	}
	t.Errorf("%s does not show what the commands print; run the test with -update and read the difference.\n%s", name, firstDifference(string(text), out.String()))
	return commands
}

func firstDifference(documented, printed string) string {
	want, got := strings.Split(documented, "\n"), strings.Split(printed, "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return "documented: " + want[i] + "\nprinted:    " + got[i]
		}
	}
	return "one is longer"
}

// session runs one command and gives what it prints: standard output, then
// standard error.
func session(t *testing.T, name, command string) string {
	t.Helper()
	args, ok := words(command)
	if !ok {
		t.Fatalf("%s: a quote is not closed: %s", name, command)
	}
	var out, errOut bytes.Buffer
	run(args, strings.NewReader(""), &out, &errOut)
	return out.String() + errOut.String()
}

// words splits a command as a shell does that knows only single quotes.
func words(command string) (list []string, ok bool) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list, strings.Count(command, "'")%2 == 0
}

// TestDocumentedContract holds the README's contracts to the rules that they
// teach.
func TestDocumentedContract(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), fence+"yaml\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("the README shows %d contracts", len(blocks))
	}
	for _, block := range blocks {
		source, _, closed := strings.Cut(block, fence)
		if !closed {
			t.Fatal("a contract does not end")
		}
		if _, err := contract.Parse("README.md", []byte(source)); err != nil {
			t.Error(err)
		}
	}
}

// TestDocumentedProgram builds the README's program against the checkout, as a
// module of its own.
func TestDocumentedProgram(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), fence+"go\n")
	source, _, closed := strings.Cut(after, fence)
	if !found || !closed {
		t.Fatal("the README shows no program")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string]string{
		"main.go": source,
		"go.mod":  "module example\n\ngo 1.26\n\nrequire remit.example v0.0.0\n\nreplace remit.example => " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "vet", ".")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

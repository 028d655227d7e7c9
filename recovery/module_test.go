package recovery_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImports: beside the standard library the package imports record alone.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Deps "\n"}}`, "remit.example/recovery").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") && path != "remit.example/record" && !strings.HasPrefix(path, "vendor/") {
			t.Errorf("recovery depends on %s", path)
		}
	}
}

const emptyModuleProgram = `package main

import (
	"context"
	"fmt"

	"remit.example/record"
	"remit.example/recovery"
)

func main() {
	task := &recovery.Task[string, string]{Effect: record.Read, MinDelay: recovery.None, Jitter: recovery.None}
	calls := 0
	answer, err := recovery.Do(context.Background(), task, "SHIP-104", func(_ context.Context, ref string) (string, error) {
		if calls++; calls < 3 {
			return "", &record.Record{Code: record.TempUnavailable}
		}
		return ref + " is in transit", nil
	})
	fmt.Println(answer, err, calls)
}
`

// TestAnEmptyModuleNeedsNothingElse: a program of another module builds
// against recovery offline, and its go.mod names this module alone.
func TestAnEmptyModuleNeedsNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.go"), emptyModuleProgram)
	write(t, filepath.Join(dir, "go.mod"), "module empty.example\n\ngo 1.26.0\n\nrequire remit.example v0.0.0\n\nreplace remit.example => "+root+"\n")
	if out := goIn(t, dir, "run", "."); out != "SHIP-104 is in transit <nil> 3\n" {
		t.Errorf("the program printed %q", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); err == nil {
		t.Error("the program needs the sums of other modules")
	}
	goIn(t, dir, "mod", "tidy")
	var module struct{ Require []struct{ Path string } }
	if err := json.Unmarshal([]byte(goIn(t, dir, "mod", "edit", "-json")), &module); err != nil {
		t.Fatal(err)
	}
	if len(module.Require) != 1 || module.Require[0].Path != "remit.example" {
		t.Errorf("go.mod requires %+v", module.Require)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// goIn runs the go command in dir, offline.
func goIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

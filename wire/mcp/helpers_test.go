package mcp_test

import (
	"os"
	"path/filepath"
	"testing"

	"remit.example/wire"
)

func tokens(t *testing.T, lines string) *wire.Tokens {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.txt")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := wire.ReadTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

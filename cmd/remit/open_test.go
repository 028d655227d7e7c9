package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyRegularFiles: what is no file is refused and never waited for.
func TestOnlyRegularFiles(t *testing.T) {
	for _, name := range []string{os.DevNull, "/dev/zero"} {
		if _, err := open([]string{name}); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("%s as a contract: %v", name, err)
		}
	}
	file := filepath.Join(t.TempDir(), contractFile)
	text := "remit: 1\nservice: s\ndata: {file: /dev/zero, format: csv}\ncolumns: {id: {id: true}}\ntools: {find: {promise: search}}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open([]string{file}); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("/dev/zero as data: %v", err)
	}
}

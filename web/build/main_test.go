package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestStale fails where a file of dist is not what its sources give.
func TestStale(t *testing.T) {
	files, err := build("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "dist", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("dist/%s is not made of the sources; run: go generate ./web", name)
		}
	}
	kept, err := os.ReadDir(filepath.Join("..", "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range kept {
		if _, made := files[file.Name()]; !made {
			t.Errorf("dist/%s is made of nothing; delete it", file.Name())
		}
	}
}

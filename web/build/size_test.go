package main

import (
	"bytes"
	"compress/gzip"
	"testing"

	"remit.example/web"
)

// maxScript bounds /remit.js under gzip -9, in bytes.
const maxScript = 12 << 10

func TestScriptSize(t *testing.T) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(web.Dist("remit.js")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", packed.Len())
	if packed.Len() > maxScript {
		t.Errorf("%d bytes, at most %d", packed.Len(), maxScript)
	}
}

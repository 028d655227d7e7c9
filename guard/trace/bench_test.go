package trace_test

import (
	"testing"

	"remit.example/guard/trace"
)

// BenchmarkAppend is what a line costs, beside the calls.
func BenchmarkAppend(b *testing.B) {
	form := trace.NewForm()
	var line []byte
	for b.Loop() {
		line = form.Append(line[:0], decided())
	}
}

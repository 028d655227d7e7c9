package oracle

import (
	"strings"
	"testing"
)

// TestClip: what is shown is bounded in code points, not in bytes.
func TestClip(t *testing.T) {
	for _, letter := range []string{"e", "é"} {
		for n, want := range map[int]string{
			0:    "",
			1999: strings.Repeat(letter, 1999),
			2000: strings.Repeat(letter, 2000),
			2001: strings.Repeat(letter, 2000) + "…",
			4000: strings.Repeat(letter, 2000) + "…",
		} {
			if got := clip(strings.Repeat(letter, n)); got != want {
				t.Errorf("%d times %s: it has %d bytes, want %d", n, letter, len(got), len(want))
			}
		}
	}
}

package snapshot

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestDigestLimit(t *testing.T) {
	d := newDigest(strings.NewReader("ab"), nil)
	d.read = maxFile - 1
	if text, err := io.ReadAll(io.LimitReader(d, 1)); string(text) != "a" || err != nil {
		t.Errorf("the last byte of 4 GiB: %q, %v", text, err)
	}
	if _, err := io.ReadAll(d); !errors.Is(err, errTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestCoprime(t *testing.T) {
	for n := range 5000 {
		if n > 0 && gcd(coprime(n), n) != 1 {
			t.Errorf("%d and %d", coprime(n), n)
		}
	}
}

package recovery_test

import (
	"math"
	"testing"
	"time"

	"remit.example/recovery"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestRetryAfterReadsSecondsAndTheThreeDateForms(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0":                              0,
		"120":                            2 * time.Minute,
		"00120":                          2 * time.Minute,
		" \t120\t ":                      2 * time.Minute,
		"Sun, 01 Mar 2026 12:02:00 GMT":  2 * time.Minute, // IMF-fixdate
		"Sunday, 01-Mar-26 12:02:00 GMT": 2 * time.Minute, // RFC 850
		"Sun Mar  1 12:02:00 2026":       2 * time.Minute, // asctime
		" Sun Mar  1 12:02:00 2026 ":     2 * time.Minute,
	} {
		if got, ok := recovery.RetryAfter(value, noon); got != want || !ok {
			t.Errorf("RetryAfter(%q) = %v, %v, want %v", value, got, ok, want)
		}
	}
}

func TestRetryAfterSaturates(t *testing.T) {
	for _, value := range []string{
		"9223372037", "9223372036854775807", "9223372036854775808", "99999999999999999999999999",
		"Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		if got, ok := recovery.RetryAfter(value, noon); got != math.MaxInt64 || !ok {
			t.Errorf("RetryAfter(%q) = %v, %v, want the longest duration", value, got, ok)
		}
	}
	if got, _ := recovery.RetryAfter("9223372036", noon); got != 9223372036*time.Second {
		t.Errorf("9223372036 s fit a duration and are %v", got)
	}
}

func TestRetryAfterOfAPastDateIsTheLocalMinimum(t *testing.T) {
	for _, value := range []string{
		"Sun, 01 Mar 2026 12:00:00 GMT", "Sun, 01 Mar 2026 11:59:59 GMT",
		"Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 GMT",
	} {
		if got, ok := recovery.RetryAfter(value, noon); got != 0 || !ok {
			t.Errorf("RetryAfter(%q) = %v, %v, want 0, true", value, got, ok)
		}
	}
}

func TestRetryAfterOfAnythingElseIsAbsent(t *testing.T) {
	for _, value := range []string{
		"", " ", "-5", "+5", "1.5", "1e3", "0x10", "1_000", "1 000", "5s", "5,", "5, 6", "soon",
		"١٢", "１２", "NaN", "Infinity", "2026-03-01T12:02:00Z", "Sun, 01 Mar 2026 12:02:00 CET",
		"1\u00a0", "120\n120",
	} {
		if got, ok := recovery.RetryAfter(value, noon); got != 0 || ok {
			t.Errorf("RetryAfter(%q) = %v, %v, want 0, false", value, got, ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "-5", " 9223372037 ", "Sun, 01 Mar 2026 12:02:00 GMT", "Sun Mar  1 12:02:00 2026", "1.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := recovery.RetryAfter(value, noon)
		if got < 0 || !ok && got != 0 {
			t.Errorf("RetryAfter(%q) = %v, %v", value, got, ok)
		}
		if padded, same := recovery.RetryAfter(" "+value+"\t", noon); padded != got || same != ok {
			t.Errorf("white space changes %q from %v, %v to %v, %v", value, got, ok, padded, same)
		}
	})
}

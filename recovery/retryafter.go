package recovery

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads the value of a Retry-After header (RFC 9110, section
// 10.2.3) at the wall time now: seconds in ASCII digits or one of the three
// HTTP date forms, with optional white space around it. A number too large
// for a [time.Duration] saturates. A date in the past is 0: the caller's own
// minimum delay then applies. Anything else, such as -5, 1.5 or prose, is
// absent, and false is returned.
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value == "" {
		return 0, false
	}
	if digits(value) {
		return seconds(value), true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(0, date.Sub(now)), true
}

func digits(value string) bool {
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			return false
		}
	}
	return true
}

// seconds reads digits, saturating at the longest duration.
func seconds(value string) time.Duration {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Second
}

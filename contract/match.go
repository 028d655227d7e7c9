package contract

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Match is the tool of an upstream contract that a name falls under: an exact
// name beats a pattern, the pattern with more characters besides * beats that
// with fewer, then the earlier beats the later. It is false where none does.
func (c *Contract) Match(name string) (pattern string, t *Tool, ok bool) {
	most := -1
	for _, entry := range c.Tools {
		if entry.Name == name {
			return entry.Name, entry.Value, true
		}
		if n := len(entry.Name) - strings.Count(entry.Name, "*"); n > most && n < len(entry.Name) && glob(entry.Name, name) {
			pattern, t, ok, most = entry.Name, entry.Value, true, n
		}
	}
	return pattern, t, ok
}

// glob reports whether a name is the pattern's, where * stands for any
// characters or none.
func glob(pattern, name string) bool {
	star, retry := -1, 0 // the last * and where in the name what follows it is tried
	i, j := 0, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, retry = i, j
			i++
		case i < len(pattern) && pattern[i] == name[j]:
			i, j = i+1, j+1
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// Pattern is When.Text, anchored at both ends of the text; nil where the rule
// has none, or none that compiles.
func (r *FailureRule) Pattern() *regexp.Regexp {
	if r.pattern != nil || r.When.Text == "" {
		return r.pattern
	}
	pattern, err := textPattern(r.When.Text)
	if err != nil {
		return nil
	}
	return pattern
}

func textPattern(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil {
		return nil, err // of the expression as it is written
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}

// maxTextWait bounds a wait that a sample states.
const maxTextWait = 24 * time.Hour

// waitIn is the wait that the rule states for a failure of this text: the
// fixed one, or what the group of its name captures. It is false where there
// is none: no wait in the rule, nothing but digits is captured, or more than
// 24 hours.
func (r *FailureRule) waitIn(text string) (time.Duration, bool) {
	if r.Wait.Group == "" {
		return time.Duration(r.Wait.Fixed), r.Wait.Fixed != 0
	}
	pattern := r.Pattern()
	if pattern == nil {
		return 0, false
	}
	match, group := pattern.FindStringSubmatch(text), pattern.SubexpIndex(r.Wait.Group)
	if match == nil || group < 0 || match[group] == "" || strings.Trim(match[group], "0123456789") != "" {
		return 0, false
	}
	unit := waitUnits[r.Wait.Group]
	count, err := strconv.ParseInt(match[group], 10, 64)
	if err != nil || unit == 0 || count > int64(maxTextWait/unit) {
		return 0, false
	}
	return time.Duration(count) * unit, true
}

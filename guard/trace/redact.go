package trace

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// redacted stands in the place of a secret.
const redacted = "[redacted]"

// Redact is a text without what looks like a secret: credentials of Bearer,
// Basic and the like, tokens in their known forms, keys, and the values that
// a name such as password or api_key announces, in text, JSON, addresses and
// command lines. Addresses of e-mail stay. It errs on the side of taking too
// much; what has neither a form nor a name it cannot see.
func Redact(text string) string {
	if len(text) < minSecret && !strings.ContainsAny(text, ":= -") {
		return text
	}
	var found []span
	for _, p := range patterns {
		found = p.find(found, text)
	}
	if len(found) == 0 {
		return text
	}
	slices.SortStableFunc(found, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var out strings.Builder
	from := 0
	for i := 0; i < len(found); {
		first, end := found[i], found[i].end
		for i++; i < len(found) && found[i].start < end; i++ {
			end = max(end, found[i].end)
		}
		out.WriteString(text[from:first.start])
		out.WriteString(first.quote + redacted + first.quote)
		from = end
	}
	out.WriteString(text[from:])
	return out.String()
}

// minSecret is the length of the shortest known token.
const minSecret = 10

// span is a secret in a text; quote stands around what replaces it.
type span struct {
	start, end int
	quote      string
}

// pattern finds secrets: its group named value, else all of a match.
type pattern struct {
	*regexp.Regexp
	value    int
	harmless func(name, value string) bool // nil: never
}

func newPattern(expression string, harmless func(name, value string) bool) pattern {
	re := regexp.MustCompile(expression)
	return pattern{re, max(0, re.SubexpIndex("value")), harmless}
}

// maxNested is how long a value is that may be the name of another.
const maxNested = 64

// find appends the secrets of a text.
func (p pattern) find(found []span, text string) []span {
	name, between := p.SubexpIndex("name"), p.SubexpIndex("between")
	for at := 0; at < len(text); {
		match := p.FindStringSubmatchIndex(text[at:])
		if match == nil {
			break
		}
		group := func(i int) string {
			if i < 0 {
				return ""
			}
			return text[at+match[2*i] : at+match[2*i+1]]
		}
		value := group(p.value)
		s := span{start: at + match[2*p.value], end: at + match[2*p.value+1]}
		if p.harmless == nil || !p.harmless(group(name), value) {
			found = append(found, s.within(group(between), value))
		}
		if at = s.end; p.value > 0 && len(value) <= maxNested {
			at = s.start
		}
	}
	return found
}

// within is the secret without its quotes; one without takes those of its name.
func (s span) within(between, value string) span {
	quote := opening.FindString(value)
	if quote == "" {
		if value != redacted {
			s.quote = opening.FindString(between)
		}
		return s
	}
	s.start += len(quote)
	if len(value) >= 2*len(quote) && strings.HasSuffix(value, quote) {
		s.end -= len(quote)
	}
	return s
}

// opening are the quotes that begin a text.
var opening = regexp.MustCompile(`^\\*["']`)

// known are tokens that their form gives away.
var known = []string{
	`eyJ[A-Za-z0-9_\-]{6,}(?:\.[A-Za-z0-9_\-]*)+`,                              // JWT
	`\b[a-z]{2,5}_(?:live|test)_[A-Za-z0-9]{8,}`, `\bwhsec_[A-Za-z0-9+/=]{8,}`, // Stripe and its like
	`\bsk-[A-Za-z0-9_\-]{12,}`,                                     // OpenAI, Anthropic
	`\bgh[a-z]_[A-Za-z0-9]{16,}`, `\bgithub_pat_[A-Za-z0-9_]{16,}`, // GitHub
	`\bglpat-[A-Za-z0-9_\-]{16,}`,                              // GitLab
	`\bxox[a-z]-[A-Za-z0-9\-]{8,}`, `\bxapp-[A-Za-z0-9\-]{8,}`, // Slack
	`\b(?:AKIA|ASIA|AROA|AIDA|AGPA)[A-Z0-9]{12,}`,              // AWS
	`\bAIza[A-Za-z0-9_\-]{30,}`, `\bya29\.[A-Za-z0-9_\-]{10,}`, // Google
	`\bnpm_[A-Za-z0-9]{20,}`, `\bhf_[A-Za-z0-9]{20,}`, `\bdop_v1_[A-Za-z0-9]{20,}`, // npm, Hugging Face, DigitalOcean
	`\bSG\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}`, // SendGrid
	`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`,
}

// secretName is a name that announces a secret: one of the first words in any
// place, or one of the second alone or after a separator.
const secretName = `(?:[A-Za-z0-9_.\-]*(?:passw(?:or)?d|passphrase|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|signing[_\-]?key|credential)[A-Za-z0-9_\-]*` +
	`|(?:[A-Za-z0-9]+[_.\-])*(?:pwd|pass|pw|jwt|otp|sig|signature|session[_\-]?id))`

// secretValue is a text in quotes, also in quotes that are escaped, a list, an
// object, or what goes on to the next separator.
const secretValue = `(?P<value>"(?:[^"\\]|\\.)*(?:"|\\?\z)|\\+"[^"]*(?:"|\z)|'[^']*(?:'|\z)|\[[^\]]*(?:\]|\z)|\{[^}]*(?:\}|\z)|` +
	`[^\s,;&"'{}\[\]()<>\\](?:[^\s,;&"'{}\[\]()<>\\]|\\[^\s"'])*)`

var patterns = []pattern{
	newPattern(strings.Join(known, "|"), nil),
	// What stands before the host of an address.
	newPattern(`[A-Za-z][A-Za-z0-9+.\-]*://(?P<value>[^\s/?#"'<>@\[]+(?:@[^\s/?#"'<>@]+)*)@`, nil),
	// Headers whose value is secret to its end.
	newPattern(`(?i)\b(?:authorization|cookie)\\*["']?\s*[:=]\s*\\*["']?(?P<value>[^"'\\\r\n,{}\[\]\s][^"'\\\r\n,{}\[\]]*)`, nil),
	newPattern(`(?i)\b(?P<name>`+secretName+`)(?P<between>\\*["']?)\s*[:=]>?\s*`+secretValue, ordinary),
	// An argument of a command line and its value.
	newPattern(`(?i)--?(?P<name>`+secretName+`)\s+(?P<value>[^\s\-\["'][^\s"']*)`, ordinary),
	newPattern(`(?i)\b(?:bearer|basic|dpop|negotiate|digest|token)\s+\\*"?(?P<value>[A-Za-z0-9._~+/=\-]{6,})`, prose),
}

// ordinary reports whether what follows a name is no secret.
func ordinary(name, value string) bool {
	name = strings.ToLower(name)
	bare := !strings.ContainsAny(value[:1], `"'\[{`)
	return bare && strings.HasSuffix(name, "tokens") || // a number of them
		strings.HasSuffix(name, "token_type") || strings.HasSuffix(name, "token_count") ||
		bare && slices.Contains(ordinaryWords, strings.ToLower(strings.TrimRight(value, ".:!?")))
}

var ordinaryWords = []string{
	"null", "true", "false", "none", "nil", "undefined", "missing", "expired", "invalid", "required", "revoked", "empty", "unknown",
	"the", "a", "an", "is", "are", "was", "not", "no", "must", "cannot", "bearer", "basic", "dpop", "digest", "negotiate", "token",
}

// prose reports whether what follows the name of a scheme is a word.
func prose(_, value string) bool {
	return len(value) < 20 && strings.Trim(strings.TrimRight(value, "."), "abcdefghijklmnopqrstuvwxyz-") == ""
}

package trace

import (
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
// much; what has no form and no name it cannot see.
func Redact(text string) string {
	text = privateKey.ReplaceAllString(text, redacted)
	text = userInfo.ReplaceAllString(text, "${1}"+redacted+"@")
	text = known.ReplaceAllString(text, redacted)
	text = header.ReplaceAllString(text, "${1}${2}"+redacted)
	text = pair.ReplaceAllStringFunc(text, redactPair)
	text = flag.ReplaceAllString(text, "${1}${2}"+redacted)
	return scheme.ReplaceAllStringFunc(text, redactScheme)
}

var (
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)

	// userInfo stands before the host of an address.
	userInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.\-]*://)[^\s/?#"'<>]*@`)

	// known are tokens that their form gives away.
	known = regexp.MustCompile(strings.Join([]string{
		`eyJ[A-Za-z0-9_\-]{6,}(?:\.[A-Za-z0-9_\-]*)+`,    // JWT
		`\b[a-z]{2,5}_(?:live|test)_[A-Za-z0-9]{8,}`,     // Stripe and its like
		`\bwhsec_[A-Za-z0-9+/=]{8,}`,                     // Stripe
		`\bsk-[A-Za-z0-9_\-]{12,}`,                       // OpenAI, Anthropic
		`\bgh[a-z]_[A-Za-z0-9]{16,}`,                     // GitHub
		`\bgithub_pat_[A-Za-z0-9_]{16,}`,                 //
		`\bglpat-[A-Za-z0-9_\-]{16,}`,                    // GitLab
		`\bxox[a-z]-[A-Za-z0-9\-]{8,}`,                   // Slack
		`\bxapp-[A-Za-z0-9\-]{8,}`,                       //
		`\b(?:AKIA|ASIA|AROA|AIDA|AGPA)[A-Z0-9]{12,}`,    // AWS
		`\bAIza[A-Za-z0-9_\-]{30,}`,                      // Google
		`\bya29\.[A-Za-z0-9_\-]{10,}`,                    //
		`\bnpm_[A-Za-z0-9]{20,}`,                         //
		`\bhf_[A-Za-z0-9]{20,}`,                          //
		`\bSG\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}`, // SendGrid
		`\bdop_v1_[A-Za-z0-9]{20,}`,                      //
	}, "|"))

	// scheme announces the credentials of HTTP.
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic|dpop|negotiate|digest|token)(\s+\\*"?)([A-Za-z0-9._~+/=\-]{6,})`)
)

// secretName is a name that announces a secret: one of these words in any
// place, or one of the second kind alone or after a separator.
const secretName = `(?:[A-Za-z0-9_.\-]*(?:passw(?:or)?d|passphrase|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|signing[_\-]?key|credential)[A-Za-z0-9_\-]*` +
	`|(?:[A-Za-z0-9]+[_.\-])*(?:pwd|pass|pw|jwt|otp|sig|signature|session[_\-]?id))`

var (
	// pair is a name, its end, and a value: a text in quotes (also quotes that
	// are escaped), a list, an object, or what goes on to the next separator.
	pair = regexp.MustCompile(`(?i)\b(` + secretName + `)(\\*["']?\s*[:=]>?\s*)` +
		`("(?:[^"\\]|\\.)*(?:"|\\?\z)|\\+"[^"]*(?:"|\z)|'[^']*(?:'|\z)|\[[^\]]*(?:\]|\z)|\{[^}]*(?:\}|\z)|` +
		`[^\s,;&"'{}\[\]()<>\\](?:[^\s,;&"'{}\[\]()<>\\]|\\[^\s"'])*)`)

	// header is one whose value is secret to its end.
	header = regexp.MustCompile(`(?i)\b(authorization|cookie)(\\*["']?\s*[:=]\s*\\*["']?)([^"'\\\r\n,{}\[\]]+)`)

	// flag is an argument of a command line and its value.
	flag = regexp.MustCompile(`(?i)(--?` + secretName + `)(\s+)([^\s\-\[][^\s]*)`)

	// quotes begin a text.
	quotes = regexp.MustCompile(`^\\*["']`)
)

// ordinary are words that follow such a name and are no secret.
var ordinary = []string{
	"null", "true", "false", "none", "nil", "undefined", "missing", "expired", "invalid", "required", "revoked", "empty", "unknown",
	"the", "a", "an", "is", "are", "was", "not", "no", "must", "cannot", "bearer", "basic", "dpop", "digest", "negotiate", "token",
}

// redactPair redacts the value of a pair, in the quotes that it or its name has.
func redactPair(match string) string {
	parts := pair.FindStringSubmatch(match)
	name, between, value := parts[1], parts[2], parts[3]
	lower := strings.ToLower(name)
	quote := quotes.FindString(value)
	bare := quote == "" && value[0] != '[' && value[0] != '{'
	switch {
	case bare && strings.HasSuffix(lower, "tokens"), strings.HasSuffix(lower, "token_type"), strings.HasSuffix(lower, "token_count"):
		return match // a number of them
	case bare && slices.Contains(ordinary, strings.ToLower(strings.TrimRight(value, ".:!?"))):
		return match
	case quote == "":
		quote = quotes.FindString(between)
	}
	return name + between + quote + redacted + quote
}

// redactScheme redacts credentials. A word in small letters goes on in prose.
func redactScheme(match string) string {
	parts := scheme.FindStringSubmatch(match)
	if value := parts[3]; len(value) < 20 && strings.Trim(strings.TrimRight(value, "."), "abcdefghijklmnopqrstuvwxyz-") == "" {
		return match
	}
	return parts[1] + parts[2] + redacted
}

package wire

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Tokens are the bearer tokens of a server. Only their digests are kept.
type Tokens struct {
	names   []string
	digests [][sha256.Size]byte
}

// minToken is the fewest characters of a token.
const minToken = 16

var (
	tokenName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	tokenText = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`) // RFC 6750, section 2.1
)

// ReadTokens reads a token file: one name and token a line, separated by
// blanks; blank lines and lines that begin with # are skipped. The file must
// not be open to everybody on the machine. An error lists every faulty line
// and never shows a token.
func ReadTokens(name string) (*Tokens, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o006 != 0 {
		return nil, fmt.Errorf("%s is open to every user of this machine; make it yours alone: chmod 600 %s", name, name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseTokens(name, string(data))
}

func parseTokens(file, data string) (*Tokens, error) {
	tokens := &Tokens{}
	var faults []error
	for i, line := range strings.Split(strings.TrimPrefix(data, "\uFEFF"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := tokens.add(strings.Fields(line)); err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", file, i+1, err))
		}
	}
	if len(faults) == 0 && len(tokens.names) == 0 {
		return nil, fmt.Errorf("%s names no token; write one name and token a line, such as: agent %s", file, strings.Repeat("x", minToken))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return tokens, nil
}

func (t *Tokens) add(fields []string) error {
	if len(fields) != 2 {
		return fmt.Errorf("%d words; a line is a name and a token", len(fields))
	}
	name, token := fields[0], fields[1]
	switch _, taken := t.lookup(token); {
	case !tokenName.MatchString(name):
		return errors.New("the name is not one of 1 to 64 letters, digits, dots, hyphens and underscores")
	case len(token) < minToken:
		return fmt.Errorf("the token of %s has %d characters; it needs at least %d", name, len(token), minToken)
	case !tokenText.MatchString(token):
		return fmt.Errorf("the token of %s has a character that a bearer token cannot have; valid: letters, digits and . _ ~ + / -, then =", name)
	case taken:
		return fmt.Errorf("the token of %s is the token of another name; each name needs its own", name)
	}
	t.names = append(t.names, name)
	t.digests = append(t.digests, sha256.Sum256([]byte(token)))
	return nil
}

// lookup finds whose token it is. It compares digests with every token, in a
// time that tells nothing about any of them.
func (t *Tokens) lookup(token string) (name string, known bool) {
	digest := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.digests {
		equal := subtle.ConstantTimeCompare(digest[:], t.digests[i][:])
		found = subtle.ConstantTimeSelect(equal, i, found)
	}
	if found < 0 {
		return "", false
	}
	return t.names[found], true
}

package tool

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"remit.example/catalogue"
	"remit.example/contract"
)

// address is the URL of an http backend: literals with an argument between
// each two. An argument fills a part of one path segment or of the query and
// can change nothing else of the address.
type address struct {
	literals  []string
	arguments []contract.Entry[*contract.Input]
	dots      int // dot segments that the contract itself writes
}

func newAddress(declared *contract.Tool, getenv func(string) (string, bool)) (*address, error) {
	a := &address{}
	text := declared.Backend.HTTP.URL
	for _, match := range contract.Placeholder.FindAllStringSubmatchIndex(text, -1) {
		name := text[match[2]:match[3]]
		input, _ := declared.Input.Get(name)
		if input.Optional {
			return nil, fmt.Errorf("the url names the argument %s, which may be absent; leave optional out, or send it in the body", name)
		}
		a.arguments = append(a.arguments, contract.Entry[*contract.Input]{Name: name, Value: input})
	}
	for _, literal := range contract.Placeholder.Split(text, -1) {
		expanded, err := expand(literal, getenv)
		if err != nil {
			return nil, err
		}
		a.literals = append(a.literals, encode(expanded))
	}
	return a, a.check()
}

// check refuses an address that the environment made invalid. Its text may be
// secret, so that the error does not show it.
func (a *address) check() error {
	filled := strings.Join(a.literals, "x")
	a.dots = dotSegments(filled)
	u, err := url.Parse(filled)
	if err == nil {
		_, err = http.NewRequest(http.MethodGet, filled, http.NoBody)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("the url with its environment variables is no absolute http or https URL; mend the variables, such as API=https://api.example")
	}
	return nil
}

// of is the address for an input, or the fault of the argument that would
// change its path.
func (a *address) of(given arguments) (string, *catalogue.Fault) {
	var text strings.Builder
	for i, literal := range a.literals {
		text.WriteString(literal)
		if i < len(a.arguments) {
			text.WriteString(escape(given.text(a.arguments[i].Name)))
		}
	}
	if dotSegments(text.String()) == a.dots {
		return text.String(), nil
	}
	i := slices.IndexFunc(a.arguments, func(e contract.Entry[*contract.Input]) bool {
		return strings.Trim(given.text(e.Name), ".") == ""
	})
	fault := acceptor{}.fault(a.arguments[i].Name, a.arguments[i].Value, "not_sendable")
	return "", &fault
}

// escape writes everything but letters, digits and - _ . ~ as percent
// encoding, so that a text means the same in a path and in a query.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// encode writes the bytes that no URL carries as percent encoding. With one of
// them left net/url would encode the whole path anew, and a slash within an
// argument would become one of the path's.
func encode(literal string) string {
	var text strings.Builder
	for _, b := range []byte(literal) {
		if b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>\\^`{|}", b) >= 0 {
			fmt.Fprintf(&text, "%%%02X", b)
			continue
		}
		text.WriteByte(b)
	}
	return text.String()
}

// dotSegments counts the segments of an address's path that mean another path.
func dotSegments(address string) (count int) {
	path, _, _ := strings.Cut(address, "?")
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			count++
		}
	}
	return count
}

// headersOf are the headers of each request.
func headersOf(h *contract.HTTP, getenv func(string) (string, bool)) (http.Header, error) {
	headers := http.Header{}
	for name, text := range h.Headers {
		value, err := expand(text, getenv)
		if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
			err = errors.New("the value with its environment variables has a character that no header carries, such as a line break; mend the variables")
		}
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		headers.Set(name, value)
	}
	return headers, nil
}

// expand replaces ${NAME} by the environment's value.
func expand(text string, getenv func(string) (string, bool)) (string, error) {
	var missing []string
	expanded := contract.Variable.ReplaceAllStringFunc(text, func(match string) string {
		name := contract.Variable.FindStringSubmatch(match)[1]
		value, ok := "", false
		if getenv != nil {
			value, ok = getenv(name)
		}
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment variable %s is not set; set it before serving", strings.Join(missing, ", "))
	}
	return expanded, nil
}

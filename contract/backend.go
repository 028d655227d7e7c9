package contract

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"remit.example/record"
)

// Placeholder matches {name} in the URL of an http backend; Variable matches
// ${NAME}, an environment variable.
var (
	Placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)
	Variable    = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)\}`)
)

// backed checks a tool whose answers come from a backend.
func (v validator) backed(path string, t *Tool) {
	switch {
	case t.Backend == nil:
		v.fail(path, "a %s tool needs a backend: fixture or http", t.Promise)
		return
	case t.Promise != Lookup && t.Promise != Command:
		v.fail(path+".backend", "a %s tool answers from the catalogue; a backend is for lookup and command", t.Promise)
		return
	case v.has(path+".backend.fixture") == v.has(path+".backend.http") && v.readable(path+".backend"):
		v.fail(path+".backend", "a backend is exactly one of: fixture, http")
		return
	}
	if t.Promise == Lookup && t.Effect != "" && record.Effect(t.Effect) != record.Read {
		v.fail(path+".effect", "a lookup changes nothing; valid: read, or promise: command")
	}
	if t.Promise == Command && record.Effect(t.Effect) == record.Keyed {
		v.fail(path+".effect", "a served command has no operation key; valid: read, idempotent, unsafe")
	}
	if len(t.Answer) == 0 && !v.d.failed[path+".answer"] {
		v.fail(path, "a tool with a backend names the members of its answer, such as answer: {status: {type: text}}")
	}
	for _, input := range t.Input {
		v.input(path+".input."+input.Name, input.Name, input.Value)
	}
	for _, output := range t.Answer {
		v.output(path+".answer."+output.Name, output.Name, output.Value)
	}
	if f := t.Backend.Fixture; f != nil {
		v.argument(path, ".backend.fixture.by", f.By, t)
		if v.has(path + ".failures") {
			v.fail(path+".failures", "a fixture names the codes itself; rules are for an http backend")
		}
	}
	if h := t.Backend.HTTP; h != nil {
		v.http(path, h, t)
	}
	v.failures(path, t.Failures, t)
}

// argument checks a name that a key within a tool gives as that of an argument.
func (v validator) argument(tool, key, name string, t *Tool) {
	path := tool + key
	_, ok := t.Input.Get(name)
	switch {
	case ok || name == "" || v.d.failed[tool+".input"]:
	case len(t.Input) == 0:
		v.fail(path, "%s is no argument and the tool has none; declare it in input", named(name))
	default:
		v.fail(path, "%s is no argument of the tool; valid: %s", named(name), strings.Join(t.Input.Names(), ", "))
	}
}

// The types of arguments and members.
const (
	inputText    InputType = "text"
	inputInteger InputType = "integer"
	inputBoolean InputType = "boolean"
)

// inputKeys are the keys that only one type of argument has.
var inputKeys = []struct {
	key  string
	kind InputType
}{
	{"pattern", inputText},
	{"accepts", inputText},
	{"values", inputText},
	{"minimum", inputInteger},
	{"maximum", inputInteger},
}

func (v validator) input(path, name string, i *Input) {
	if !columnName.MatchString(name) {
		v.fail(path, "%s is no argument name; use up to 64 lower-case letters, digits and underscores, such as shipment_ref", shown(name))
	}
	if n := utf8.RuneCountInString(i.Description); n > maxArgument {
		v.fail(path+".description", "%d characters; an agent reads at most %d", n, maxArgument)
	}
	for _, row := range inputKeys {
		if v.has(path+"."+row.key) && i.Type != "" && i.Type != row.kind {
			v.fail(path+"."+row.key, "an argument of type %s has no %s; valid on: %s", i.Type, row.key, row.kind)
		}
	}
	v.range53(path, i)
	v.values(path+".values", i.Values)
	v.pattern(path, i)
	if want := v.wanted(path, i); want != "" {
		v.fail(path+".example", "%s does not fit the argument; write %s", shown(string(i.Example)), want)
	}
}

// range53 checks the bounds of an integer: JSON readers keep whole numbers
// exactly within 2^53 alone.
func (v validator) range53(path string, i *Input) {
	for _, row := range []struct {
		key   string
		bound *Number
	}{{"minimum", i.Minimum}, {"maximum", i.Maximum}} {
		if !row.bound.given() {
			continue
		}
		if !row.bound.whole() {
			v.fail(path+"."+row.key, "%s is no whole number within ±%d; write one", row.bound, maxExact)
		}
	}
	if i.Minimum.given() && i.Maximum.given() && i.Minimum.Cmp(*i.Maximum) > 0 {
		v.fail(path+".maximum", "%s is below the minimum %s, so no argument fits; write one that is not", i.Maximum, i.Minimum)
	}
}

// values checks a closed list of texts.
func (v validator) values(path string, values []string) {
	if v.has(path) && values != nil && len(values) == 0 {
		v.fail(path, "an empty list accepts nothing; write a text or leave the key out")
	}
	v.once(path, values)
}

// once checks that no text of a list stands twice.
func (v validator) once(path string, texts []string) {
	for i, text := range texts {
		if text != "" && slices.Contains(texts[:i], text) {
			v.fail(fmt.Sprintf("%s[%d]", path, i), "%s stands twice; keep one", named(text))
		}
	}
}

// perlOnly matches syntax that RE2 has and the patterns of JSON Schema, which
// are ECMA-262, have not or read differently.
var perlOnly = regexp.MustCompile(`\\[AzQEpPC]|\(\?[^:]|\[\[:|\(\?$`)

func (v validator) pattern(path string, i *Input) {
	if i.Pattern == "" || i.Type != inputText && i.Type != "" {
		return
	}
	pattern, err := i.Regexp()
	place := path + ".pattern"
	switch found := perlOnly.FindString(i.Pattern); {
	case err != nil:
		v.fail(place, "not a regular expression in RE2 syntax: %v", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	case found != "":
		v.fail(place, "%s is not what it is in JavaScript, where agents' clients read the pattern; write it with classes such as [A-Z0-9]", found)
	case i.Accepts == "" && !v.has(path+".accepts"):
		v.fail(path, "a pattern needs accepts: words for what it accepts, such as SHIP- followed by exactly three digits")
	case i.Example != "" && !pattern.MatchString(string(i.Example)):
		v.fail(path+".example", "%s does not match the pattern %s", shown(string(i.Example)), i.Pattern)
	}
}

// wanted is what an example should be; "" where it is well or absent.
func (v validator) wanted(path string, i *Input) string {
	if i.Example == "" {
		return ""
	}
	switch i.Type {
	case inputText:
		if i.Values != nil && !slices.Contains(i.Values, string(i.Example)) {
			return "one of: " + strings.Join(i.Values, ", ")
		}
	case inputInteger:
		number, err := ParseNumber(string(i.Example))
		if err != nil || !number.whole() {
			return "a whole number"
		}
		if i.Minimum.given() && number.Cmp(*i.Minimum) < 0 || i.Maximum.given() && number.Cmp(*i.Maximum) > 0 {
			return "one within the bounds"
		}
	case inputBoolean:
		if i.Example != "true" && i.Example != "false" {
			return "true or false"
		}
	}
	return ""
}

// Regexp is the argument's pattern, anchored at both ends of the text.
func (i *Input) Regexp() (*regexp.Regexp, error) {
	if _, err := regexp.Compile(i.Pattern); err != nil {
		return nil, err // of the pattern as it is written
	}
	return regexp.Compile(`\A(?:` + i.Pattern + `)\z`)
}

func (v validator) output(path, name string, o *Output) {
	if !columnName.MatchString(name) {
		v.fail(path, "%s is no member name; use up to 64 lower-case letters, digits and underscores", shown(name))
	}
	if slices.Contains([]string{"error", "code", "retryable", "recovery", "ok", "success", "isError", "content"}, name) {
		v.fail(path, "a success carries no %s, which readers take for a failure; choose another name", name)
	}
	if o.From != "" && !jsonPointer.MatchString(o.From) {
		v.fail(path+".from", "%s is no JSON Pointer (RFC 6901); write one, such as /data/status", shown(o.From))
	}
	if v.has(path+".values") && o.Type != "" && o.Type != inputText {
		v.fail(path+".values", "a member of type %s has no values; valid on: %s", o.Type, inputText)
	}
	v.values(path+".values", o.Values)
}

var jsonPointer = regexp.MustCompile(`^(/([^~/]|~[01])*)+$`)

func (v validator) http(tool string, h *HTTP, t *Tool) {
	path := tool + ".backend.http"
	if fault := addressFault(h.URL); fault != "" && h.URL != "" {
		v.fail(path+".url", "%s", fault)
	} else {
		for _, match := range Placeholder.FindAllStringSubmatch(Variable.ReplaceAllString(h.URL, ""), -1) {
			v.argument(tool, ".backend.http.url", match[1], t)
		}
	}
	if h.Body && (!v.has(path+".method") || h.Method == "GET") {
		v.fail(path+".body", "a GET request has no body; name the arguments in the url, or write method: POST")
	}
	for name, value := range h.Headers {
		v.header(join(path+".headers", name), name, value)
	}
}

// addressFault says what is wrong with the address of an http backend. An
// argument may choose a path and a query, never whom to ask.
func addressFault(address string) string {
	const valid = "write one, such as https://api.example/shipments/{shipment_ref} or ${API}/shipments/{shipment_ref}"
	plain := Variable.ReplaceAllString(address, "v")
	if base := Variable.FindStringIndex(address); base != nil && base[0] == 0 && strings.HasPrefix(address[base[1]:], "/") {
		plain = "https://v.example" + Variable.ReplaceAllString(address[base[1]:], "v")
	}
	filled := Placeholder.ReplaceAllString(plain, "x")
	_, rest, _ := strings.Cut(plain, "://")
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	switch u, err := url.Parse(filled); {
	case strings.Contains(plain, "${") || strings.ContainsAny(filled, "{}"):
		return "a brace is left that names nothing; an argument is {name} in lower case, a variable ${NAME} in capital letters"
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return shown(address) + " is no absolute http or https URL; " + valid
	case strings.ContainsAny(host, "{}"):
		return "an argument cannot choose the host; " + valid
	case u.User != nil:
		return "a secret does not stand in the contract; send it in headers, from a variable such as ${TOKEN}"
	case u.Fragment != "":
		return "a fragment is never sent; leave #" + named(u.Fragment) + " out"
	}
	return ""
}

var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")
	headerValue = regexp.MustCompile(`^[\t -~]+$`)
)

// sentByClient are headers that follow from the request itself.
var sentByClient = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}

func (v validator) header(path, name, value string) {
	own := slices.ContainsFunc(sentByClient, func(s string) bool { return strings.EqualFold(s, name) })
	switch left := Variable.ReplaceAllString(value, "v"); {
	case !headerName.MatchString(name):
		v.fail(path, "%s is no name of a header; write one, such as Authorization", shown(name))
	case own:
		v.fail(path, "%s follows from the request itself; leave it out", name)
	case value == "": // its type is wrong and reported
	case !headerValue.MatchString(value):
		v.fail(path, "the value has a character that no header carries; write printable ASCII")
	case strings.Contains(left, "${"):
		v.fail(path, "a variable is ${NAME} in capital letters; write one, such as Bearer ${TOKEN}")
	}
}

// failures checks the rules of a tool, or, where tool is "", those for all.
func (v validator) failures(tool string, rules []FailureRule, t *Tool) {
	for i, rule := range rules {
		key := fmt.Sprintf(".failures[%d]", i)
		place := strings.TrimPrefix(tool+key, ".")
		v.rule(place, rule)
		switch {
		case t != nil:
			v.argument(tool, key+".field", rule.Field, t)
		case rule.Field != "" && !v.argumentOfSome(rule.Field):
			v.fail(place+".field", "no tool has an argument %s; name one of theirs", named(rule.Field))
		}
		switch {
		case rule.Wait.Group != "":
			v.fail(place+".wait", "%s is the group of a text, which is for a guard; write a length of time, such as 2s", rule.Wait.Group)
		case rule.Wait.Fixed != 0 && rule.Is != "" && record.Code(rule.Is) != record.TempUnavailable:
			v.fail(place+".wait", "a wait is for %s", record.TempUnavailable)
		}
	}
}

// rule checks what holds for every rule, served or guarded.
func (v validator) rule(place string, rule FailureRule) {
	compared := []string{"status", "fact", "body"}
	if v.d.guards {
		compared = append(compared, "text", "error", "meta")
	}
	given, broken := 0, false
	for _, key := range compared {
		if v.has(place + ".when." + key) {
			given++
		}
		broken = broken || v.d.failed[place+".when."+key]
	}
	when := rule.When
	if v.readable(place+".when") && !broken && when.empty() {
		v.fail(place+".when", "nothing is compared; valid: %s", strings.Join(compared, ", "))
	}
	if when.Fact != "" && given > 1 {
		v.fail(place+".when", "a fact stands alone: where it holds there is no response to compare")
	}
	if record.Code(rule.Is) == record.OK {
		v.fail(place+".is", "OK is no failure; valid: %s and your own codes", record.InvalidArgument)
	}
	if rule.Field != "" && rule.Is != "" && record.Code(rule.Is) != record.InvalidArgument {
		v.fail(place+".field", "a field is at fault only in %s", record.InvalidArgument)
	}
	v.pointers(place+".when.body", when.Body)
	v.pointers(place+".when.meta", when.Meta)
}

// empty reports whether a condition compares nothing.
func (w *When) empty() bool {
	return len(w.Status)+len(w.Body)+len(w.Error)+len(w.Meta) == 0 && w.Fact == "" && w.Text == ""
}

// pointers checks the keys of a mapping from JSON Pointers to texts.
func (v validator) pointers(path string, texts map[string]string) {
	for pointer := range texts {
		if !jsonPointer.MatchString(pointer) {
			v.fail(join(path, pointer), "%s is no JSON Pointer (RFC 6901); write one, such as /error/code", shown(pointer))
		}
	}
}

// argumentOfSome reports whether some tool has an argument of this name.
func (v validator) argumentOfSome(name string) bool {
	for _, tool := range v.Tools {
		if _, ok := tool.Value.Input.Get(name); ok || v.d.failed[join("tools", tool.Name)+".input"] {
			return true
		}
	}
	return false
}

// usesHTTP reports whether some tool has an http backend.
func (v validator) usesHTTP() bool {
	for _, tool := range v.Tools {
		place := join("tools", tool.Name)
		if v.has(place+".backend.http") || v.d.failed[place] || v.d.failed[place+".backend"] {
			return true
		}
	}
	return false
}

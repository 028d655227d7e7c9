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
	case (t.Backend.Fixture == nil) == (t.Backend.HTTP == nil):
		v.fail(path+".backend", "a backend is exactly one of: fixture, http")
		return
	}
	if t.Promise == Lookup && t.Effect != "" && record.Effect(t.Effect) != record.Read {
		v.fail(path+".effect", "a lookup changes nothing; valid: read, or promise: command")
	}
	if t.Promise == Command && record.Effect(t.Effect) == record.Keyed {
		v.fail(path+".effect", "a served command has no operation key; valid: read, idempotent, unsafe")
	}
	if len(t.Answer) == 0 {
		v.fail(path, "a tool with a backend names the members of its answer, such as answer: {status: {type: text}}")
	}
	for _, input := range t.Input {
		v.input(path+".input."+input.Name, input.Name, input.Value)
	}
	for _, output := range t.Answer {
		v.output(path+".answer."+output.Name, output.Name, output.Value)
	}
	if f := t.Backend.Fixture; f != nil {
		v.argument(path+".backend.fixture.by", f.By, t)
	}
	if h := t.Backend.HTTP; h != nil {
		v.http(path+".backend.http", h, t)
	}
	v.failures(path+".failures", t.Failures, t)
}

func (v validator) argument(path, name string, t *Tool) {
	if _, ok := t.Input.Get(name); !ok && name != "" {
		v.fail(path, "%s is no argument of the tool; valid: %s", name, strings.Join(t.Input.Names(), ", "))
	}
}

// inputKeys are the keys that only some types of argument have.
var inputKeys = map[string]InputType{
	"pattern": "text", "accepts": "text", "values": "text", "minimum": "integer", "maximum": "integer",
}

func (v validator) input(path, name string, i *Input) {
	if !columnName.MatchString(name) {
		v.fail(path, "%q is no argument name; use up to 64 lower-case letters, digits and underscores, such as shipment_ref", name)
	}
	if n := utf8.RuneCountInString(i.Description); n > maxArgument {
		v.fail(path+".description", "%d characters; an agent reads at most %d", n, maxArgument)
	}
	for key, kind := range inputKeys {
		if v.has(path+"."+key) && i.Type != "" && i.Type != kind {
			v.fail(path+"."+key, "an argument of type %s has no %s; valid on: %s", i.Type, key, kind)
		}
	}
	for key, bound := range map[string]*Number{"minimum": i.Minimum, "maximum": i.Maximum} {
		if bound == nil {
			continue
		}
		if _, whole := bound.Scaled(0); !whole {
			v.fail(path+"."+key, "%s is no whole number; write one", bound)
		}
	}
	if i.Pattern == "" {
		return
	}
	pattern, err := i.Regexp()
	switch {
	case err != nil:
		v.fail(path+".pattern", "not a regular expression in RE2 syntax: %v", err)
	case i.Accepts == "":
		v.fail(path, "a pattern needs accepts: words for what it accepts, such as SHIP- followed by exactly three digits")
	case i.Example != "" && !pattern.MatchString(string(i.Example)):
		v.fail(path+".example", "%q does not match the pattern %s", i.Example, i.Pattern)
	}
}

// Regexp is the argument's pattern, anchored at both ends of the text.
func (i *Input) Regexp() (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?:` + i.Pattern + `)\z`)
}

func (v validator) output(path, name string, o *Output) {
	if !columnName.MatchString(name) {
		v.fail(path, "%q is no member name; use up to 64 lower-case letters, digits and underscores", name)
	}
	if slices.Contains([]string{"error", "code", "retryable", "recovery", "ok", "success", "isError", "content"}, name) {
		v.fail(path, "a success carries no %s, which readers take for a failure; choose another name", name)
	}
	if o.From != "" && !strings.HasPrefix(o.From, "/") {
		v.fail(path+".from", "%q is no JSON Pointer (RFC 6901); write one, such as /data/status", o.From)
	}
}

func (v validator) http(path string, h *HTTP, t *Tool) {
	plain := Variable.ReplaceAllString(Placeholder.ReplaceAllString(h.URL, "x"), "x")
	whole := Variable.FindString(h.URL)
	u, err := url.Parse(plain)
	if h.URL != "" && !strings.HasPrefix(h.URL, whole+"/") && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		v.fail(path+".url", "%q is no absolute http or https URL; write one, such as https://api.example/shipments/{shipment_ref}", h.URL)
	}
	for _, match := range Placeholder.FindAllStringSubmatch(Variable.ReplaceAllString(h.URL, ""), -1) {
		v.argument(path+".url", match[1], t)
	}
}

func (v validator) failures(path string, rules []FailureRule, t *Tool) {
	for i, rule := range rules {
		place := fmt.Sprintf("%s[%d]", path, i)
		if v.has(place+".when") && len(rule.When.Status) == 0 && rule.When.Fact == "" && len(rule.When.Body) == 0 {
			v.fail(place+".when", "nothing is compared; valid: status, fact, body")
		}
		if rule.When.Fact != "" && (len(rule.When.Status) > 0 || len(rule.When.Body) > 0) {
			v.fail(place+".when", "a fact stands alone: where it holds there is no response to compare")
		}
		if record.Code(rule.Is) == record.OK {
			v.fail(place+".is", "OK is no failure; valid: %s and your own codes", record.InvalidArgument)
		}
		if rule.Field != "" && record.Code(rule.Is) != record.InvalidArgument {
			v.fail(place+".field", "a field is at fault only in %s", record.InvalidArgument)
		}
		if rule.Field != "" && t != nil {
			v.argument(place+".field", rule.Field, t)
		}
		if rule.Wait != 0 && record.Code(rule.Is) != record.TempUnavailable {
			v.fail(place+".wait", "a wait is for %s", record.TempUnavailable)
		}
		for pointer := range rule.When.Body {
			if !strings.HasPrefix(pointer, "/") {
				v.fail(place+".when.body", "%q is no JSON Pointer (RFC 6901); write one, such as /error/code", pointer)
			}
		}
	}
}

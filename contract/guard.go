package contract

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"remit.example/record"
)

var (
	// toolPattern is a name under upstream, where * stands for any characters.
	toolPattern = regexp.MustCompile(`^[A-Za-z0-9_.*-]{1,128}$`)
	// argumentName is the name of an argument of a foreign tool.
	argumentName = regexp.MustCompile(`^[\p{L}\p{N}_$@.-]{1,128}$`)
	// tenantName is part of what an operation is kept under.
	tenantName = regexp.MustCompile(`^[!-~]([ -~]{0,126}[!-~])?$`)
)

// guard checks a contract that guards an upstream.
func (v validator) guard() {
	v.upstream()
	if v.Tenant != "" && !tenantName.MatchString(v.Tenant) {
		v.fail("tenant", "%s is no name of a tenant; use up to 128 printable ASCII characters, such as acme", shown(v.Tenant))
	}
	v.rules("", v.Failures, record.Effects())
	for _, tool := range v.Tools {
		v.guarded(join("tools", tool.Name), tool.Name, tool.Value)
	}
}

func (v validator) upstream() {
	const path = "upstream"
	if !v.readable(path) || v.Upstream == nil {
		return
	}
	if v.has(path+".stdio") == v.has(path+".url") {
		v.fail(path, "an upstream is exactly one of: stdio, such as [npx, -y, \"@acme/billing-mcp\"]; url, such as https://mcp.acme.example/mcp")
	}
	if v.readable(path+".stdio") && len(v.Upstream.Stdio) == 0 {
		v.fail(path+".stdio", "no program is named; write it with its arguments, such as [npx, -y, \"@acme/billing-mcp\"]")
	}
	for i, text := range v.Upstream.Stdio {
		if strings.Contains(Variable.ReplaceAllString(text, ""), "${") {
			v.fail(fmt.Sprintf("%s.stdio[%d]", path, i), "a variable is ${NAME} in capital letters; write one, such as ${TOKEN}")
		}
	}
	if fault := upstreamFault(v.Upstream.URL); v.Upstream.URL != "" && fault != "" {
		v.fail(path+".url", "%s", fault)
	}
}

// upstreamFault says what is wrong with the address of an upstream.
func upstreamFault(address string) string {
	const valid = "write one, such as https://mcp.acme.example/mcp or ${MCP_URL}"
	plain := address
	if base := Variable.FindStringIndex(address); base != nil && base[0] == 0 {
		plain = "https://v.example" + address[base[1]:]
	}
	plain = Variable.ReplaceAllString(plain, "v")
	switch u, err := url.Parse(plain); {
	case strings.ContainsAny(plain, "{}"):
		return "a brace is left that names nothing; a variable is ${NAME} in capital letters"
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return shown(address) + " is no absolute http or https URL; " + valid
	case u.User != nil:
		return "a secret does not stand in the contract; take the whole address from a variable, such as ${MCP_URL}"
	case u.Fragment != "":
		return "a fragment is never sent; leave #" + named(u.Fragment) + " out"
	}
	return ""
}

// guardedEffect is what repeating a guarded tool does: unsafe unless it says otherwise.
func (t *Tool) guardedEffect() record.Effect {
	if t.Effect == "" {
		return record.Unsafe
	}
	return record.Effect(t.Effect)
}

// mayHave are the effects that calls of a guarded tool may be decided by: its
// own, and unsafe where the server's annotations contradict one that is less.
func (t *Tool) mayHave() []record.Effect {
	switch effect := t.guardedEffect(); effect {
	case record.Read, record.Idempotent:
		return []record.Effect{effect, record.Unsafe}
	default:
		return []record.Effect{effect}
	}
}

func (v validator) guarded(path, name string, t *Tool) {
	switch {
	case !toolPattern.MatchString(name):
		v.fail(path, "%s is no tool name; use 1 to 128 of A-Z, a-z, 0-9, _, . and -, and * for any characters", shown(name))
	case strings.Contains(name, "**"):
		v.fail(path, "** says no more than *; write %s", shown(starRun.ReplaceAllString(name, "*")))
	}
	if t == nil || v.d.failed[path] {
		return
	}
	v.rules(path, t.Failures, t.mayHave())
	if v.d.failed[path+".effect"] {
		return // what the tool may have is not known
	}
	effect := t.guardedEffect()
	if t.Absorb && effect != record.Read {
		v.fail(path+".absorb", "a guard repeats nothing but reads by itself; leave absorb out, or write effect: read if the tool changes nothing")
	}
	v.keyArgument(path, effect, t)
	for _, key := range []string{"identity", "status"} {
		if effect == record.Read && v.has(path+"."+key) {
			v.fail(path+"."+key, "a read has no outcome to keep, so it has no %s; leave it out, or write the effect that the tool has: idempotent, keyed, unsafe", key)
		}
	}
	v.identity(path+".identity", t)
	if t.Status != nil && effect != record.Read {
		v.status(path+".status", t.Status)
	}
}

var starRun = regexp.MustCompile(`\*+`)

func (v validator) keyArgument(path string, effect record.Effect, t *Tool) {
	switch {
	case effect == record.Keyed && !v.has(path+".key"):
		v.fail(path, "a keyed tool needs key: the argument that carries the operation key, such as key: {argument: idempotency_key, by: guard}")
	case effect != record.Keyed && v.has(path+".key"):
		v.fail(path+".key", "an operation key is for a tool that honours it; write effect: keyed if this one does, or leave key out")
	}
	if t.Key != nil {
		v.argumentNamed(path+".key.argument", t.Key.Argument)
	}
}

func (v validator) identity(path string, t *Tool) {
	if v.readable(path) && len(t.Identity) == 0 {
		v.fail(path, "an empty list makes every call the same operation; name the arguments that make the intent, such as [invoice_id], or leave identity out")
	}
	v.once(path, t.Identity)
	for i, name := range t.Identity {
		place := fmt.Sprintf("%s[%d]", path, i)
		v.argumentNamed(place, name)
		if t.Key != nil && name != "" && name == t.Key.Argument {
			v.fail(place, "%s carries the operation key, which agents make anew for each attempt; name what stays the same, such as invoice_id", named(name))
		}
	}
}

// argumentNamed checks the name of an argument of a foreign tool.
func (v validator) argumentNamed(path, name string) {
	if name != "" && !argumentName.MatchString(name) {
		v.fail(path, "%s is no name of an argument; write that of one of the tool's own, such as invoice_id", shown(name))
	}
}

func (v validator) status(path string, s *StatusCheck) {
	v.statusTool(path+".tool", s.Tool)
	if !v.d.failed[path] && !v.d.failed[path+".with"] && len(s.With) == 0 {
		v.fail(path, "a status is asked for by what the write was given; add with: its arguments, each with one of the write, such as with: {invoice_id: invoice_id}")
	}
	for _, argument := range slices.Sorted(maps.Keys(s.With)) {
		v.argumentNamed(join(path+".with", argument), argument)
		if s.With[argument] != argument {
			v.argumentNamed(join(path+".with", argument), s.With[argument])
		}
	}
	broken := false
	for _, row := range []struct {
		key   string
		texts map[string]string
	}{{"applied", s.Applied}, {"not_applied", s.NotApplied}} {
		place := path + "." + row.key
		if v.readable(place) && len(row.texts) == 0 {
			v.fail(place, "nothing is compared, which would hold for every answer; write JSON Pointers and their texts, such as {/status: succeeded}")
		}
		broken = broken || v.d.failed[place]
		v.pointers(place, row.texts)
	}
	switch {
	case v.d.failed[path] || broken:
	case !v.has(path+".applied") && !v.has(path+".not_applied"):
		v.fail(path, "nothing says how the answer is read; add applied or not_applied, such as applied: {/status: succeeded}")
	case maps.Equal(s.Applied, s.NotApplied):
		v.fail(path+".not_applied", "this is what applied says too; write what the answer has where the write certainly has no effect, or leave not_applied out")
	}
}

func (v validator) statusTool(path, name string) {
	if name == "" || v.d.failed["tools"] {
		return
	}
	if !toolName.MatchString(name) {
		v.fail(path, "%s is no tool name; name one tool, such as get_charge", shown(name))
		return
	}
	pattern, asked, ok := v.Match(name)
	place := join("tools", pattern)
	switch {
	case !ok:
		v.fail(path, "no tool declared here is named %s; declare it under tools with effect: read", named(name))
	case asked == nil || v.d.failed[place] || v.d.failed[place+".effect"]: // reported
	case asked.guardedEffect() != record.Read:
		v.fail(path, "%s falls under %s, whose effect is %s, and asking must change nothing; declare %s with effect: read", named(name), named(pattern), asked.guardedEffect(), named(name))
	}
}

// repeated are the codes that let a call be executed again unchanged, each
// with the effects that it does so for: those whose next action is to wait and
// retry in the decision table of recovery-v2, which this room may not import.
// A test of the program holds them to it.
var repeated = map[record.Code][]record.Effect{
	record.TempUnavailable: {record.Read, record.Idempotent, record.Keyed, record.Unsafe},
	record.InProgress:      {record.Read, record.Idempotent, record.Keyed, record.Unsafe},
	record.OutcomeUnknown:  {record.Read, record.Idempotent},
}

// Repeats reports whether a code lets a call of this effect be executed again
// unchanged.
func Repeats(code record.Code, effect record.Effect) bool {
	return slices.Contains(repeated[code], effect)
}

// mayStandFor reports whether a code says no more of a lost answer than is
// known. Of an effect that may have happened, an unsafe one is never repeated,
// and of none that it is told that it did not happen: a correction or a new
// key would be a second effect.
func mayStandFor(code record.Code, effect record.Effect) bool {
	switch {
	case effect == record.Read || code == record.OutcomeUnknown || !code.Known():
		return true
	case code == record.TempUnavailable || code == record.InProgress:
		return effect != record.Unsafe
	}
	return false
}

// rules checks the rules of a guarded tool, or, where tool is "", those for
// all; effects are those of the tools that the rules are for.
func (v validator) rules(tool string, rules []FailureRule, effects []record.Effect) {
	earlier := map[string][]int{}
	for i := range rules {
		rule := &rules[i]
		place := strings.TrimPrefix(fmt.Sprintf("%s.failures[%d]", tool, i), ".")
		v.rule(place, *rule)
		if rule.When.empty() {
			continue // reported, and what depends on it cannot be said
		}
		v.text(place, rule)
		v.waits(place, rule)
		v.grants(place, rule, v.effectsOf(place, tool, rule, effects))
		condition := rule.When.condition()
		first := slices.IndexFunc(earlier[condition], func(j int) bool { return covers(rules[j].Effects, rule.Effects) })
		if first >= 0 {
			v.fail(place, "failures[%d] has the same condition and comes first, so this rule never holds; keep one, or compare something else", earlier[condition][first])
		}
		earlier[condition] = append(earlier[condition], i)
	}
}

// effectsOf are the effects of tools that a rule is read for.
func (v validator) effectsOf(place, tool string, rule *FailureRule, of []record.Effect) []record.Effect {
	path := place + ".effects"
	if !v.has(path) {
		return of
	}
	if v.readable(path) && len(rule.Effects) == 0 {
		v.fail(path, "an empty list is for no tool; name some of: %s; or leave the key out for all", strings.Join(new(Effect).words(), ", "))
	}
	v.once(path, texts(rule.Effects...))
	var effects []record.Effect
	for i, effect := range rule.Effects {
		if effect == "" || v.d.failed[fmt.Sprintf("%s[%d]", path, i)] {
			return nil // reported
		}
		if slices.Contains(of, record.Effect(effect)) {
			effects = append(effects, record.Effect(effect))
		}
	}
	if len(effects) == 0 && len(rule.Effects) > 0 && !v.d.failed[tool+".effect"] { // the effects of a tool, its own first
		v.fail(path, "the tool's effect is %s, so this rule never holds; leave effects out", of[0])
	}
	return effects
}

// text checks the expression of a rule and its sample, and compiles it.
func (v validator) text(place string, rule *FailureRule) {
	path := place + ".when.text"
	if !v.has(path) {
		if v.has(place + ".sample") {
			v.fail(place+".sample", "a sample shows what when.text matches, and there is none; add it, or leave sample out")
		}
		return
	}
	if rule.When.Text == "" {
		return // it could not be read
	}
	pattern, err := textPattern(rule.When.Text)
	switch {
	case err != nil:
		v.fail(path, "not a regular expression in RE2 syntax: %s", shown(strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
		return
	case !anchored(rule.When.Text):
		v.fail(path, "a text is compared as a whole, from ^ to $; write %s", anchoring(rule.When.Text))
		return
	case !v.has(place + ".sample"):
		v.fail(place, "a rule on a text needs sample: a failure as the upstream words it, to the letter, that the expression matches")
	case rule.Sample != "" && !pattern.MatchString(rule.Sample):
		v.fail(place+".sample", "%s does not match the expression in when.text; mend the one or the other", shown(rule.Sample))
	}
	rule.pattern = pattern
}

// anchored reports whether an expression says that it matches from the first
// to the last character.
func anchored(text string) bool { return strings.HasPrefix(text, "^") && ends(text) }

// ends reports whether an expression ends with the anchor $, not with a dollar.
func ends(text string) bool {
	body, dollar := strings.CutSuffix(text, "$")
	escapes := len(body) - len(strings.TrimRight(body, `\`))
	return dollar && escapes%2 == 0
}

// anchoring is an expression with the anchors that it lacks, in a message.
func anchoring(text string) string {
	if !strings.HasPrefix(text, "^") {
		text = "^" + text
	}
	if !ends(text) {
		text += "$"
	}
	return shown(text)
}

// waits checks the wait of a guarded tool's rule.
func (v validator) waits(place string, rule *FailureRule) {
	path := place + ".wait"
	code, group := record.Code(rule.Is), rule.Wait.Group
	switch {
	case rule.Wait == (Wait{}):
		return
	case code != "" && code != record.TempUnavailable && code != record.QuotaExhausted:
		v.fail(path, "a wait is for %s and %s", record.TempUnavailable, record.QuotaExhausted)
	case group != "" && !v.has(place+".when.text"):
		v.fail(path, "%s is captured by when.text, and there is none; add it, or write a length of time, such as 2s", group)
	case group != "" && rule.pattern != nil && rule.pattern.SubexpIndex(group) < 0:
		v.fail(path, `no group of when.text is named %s; write one, such as (?P<%s>\d+), or a length of time, such as 2s`, group, group)
	case group != "" && rule.pattern != nil && rule.pattern.MatchString(rule.Sample):
		if _, ok := rule.waitIn(rule.Sample); !ok {
			v.fail(path, "in the sample %s captures %s; it captures digits alone, and at most 24 hours", group, shown(captured(rule)))
		}
	}
}

func captured(rule *FailureRule) string {
	return rule.pattern.FindStringSubmatch(rule.Sample)[rule.pattern.SubexpIndex(rule.Wait.Group)]
}

// grants checks that a rule permits no repetition that its condition cannot
// bear: prose may grant one to reads alone, a lost answer never to what it may
// have left done.
func (v validator) grants(place string, rule *FailureRule, effects []record.Effect) {
	code := record.Code(rule.Is)
	if code == "" || code == record.OK {
		return
	}
	granted := func(borne func(record.Effect) bool) string {
		var list []string
		for _, effect := range record.Effects() {
			if borne(effect) {
				list = append(list, string(effect))
			}
		}
		return strings.Join(list, ", ")
	}
	prose := func(e record.Effect) bool { return e == record.Read || !Repeats(code, e) }
	lost := func(e record.Effect) bool { return mayStandFor(code, e) }
	switch {
	case rule.When.Text != "" && !all(effects, prose):
		v.fail(place, "%s lets the call be repeated, which prose may grant to reads alone; write effects: [%s]", code, granted(prose))
	case rule.When.Fact != "" && !all(effects, lost):
		v.fail(place, "%s says more than a lost answer can tell: the tool may have done its work; write effects: [%s], or is: %s", code, granted(lost), record.OutcomeUnknown)
	case rule.When.losesAnswer() && !all(effects, lost):
		v.fail(place, "%s says more than the status of a server that failed can tell: the tool may have done its work; write effects: [%s], or is: %s", code, granted(lost), record.OutcomeUnknown)
	}
}

func all(effects []record.Effect, hold func(record.Effect) bool) bool {
	return !slices.ContainsFunc(effects, func(e record.Effect) bool { return !hold(e) })
}

// losesAnswer reports whether a condition may hold of a status alone that
// leaves open what became of the request.
func (w *When) losesAnswer() bool {
	open := slices.ContainsFunc(w.Status, func(s Status) bool { return s == 500 || s == 502 || s == 504 })
	return open && len(w.Body)+len(w.Error)+len(w.Meta) == 0 && w.Text == ""
}

// condition is a text that two conditions share where they are the same.
func (w *When) condition() string {
	status, codes := slices.Sorted(slices.Values(w.Status)), slices.Sorted(slices.Values(w.Error))
	return fmt.Sprintf("%q %q %v %v %q %q", w.Fact, w.Text, slices.Compact(status), slices.Compact(codes), w.Body, w.Meta)
}

// covers reports whether a rule for these effects holds wherever one for the
// later ones does, the condition being the same.
func covers(effects, later []Effect) bool {
	return effects == nil || later != nil && !slices.ContainsFunc(later, func(e Effect) bool { return !slices.Contains(effects, e) })
}

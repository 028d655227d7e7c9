package oracle

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The rules of an application that is provoked, each with its clause.
var liveRules = []Rule{
	{"live-baseline", "the contract, tools: the example of a tool is answered without a failure"},
	{"live-malformed", "recovery-v1, decision table, INVALID_ARGUMENT: ask for a corrected value of field; the message asks for what is required"},
	{"live-authentication", "recovery-v1, decision table, AUTH_REQUIRED: request authentication through the application's approved flow"},
	{"live-refusal", "recovery-v1, decision table, ACCESS_DENIED: stop; never repeat with unchanged credentials, never evade"},
	{"live-dependency", "recovery-v1, decision table, TEMP_UNAVAILABLE: wait retry_after_ms; recovery-v2, OUTCOME_UNKNOWN: where a write may have taken effect"},
	{"live-once", "operations: one write has at most one effect, however often it is sent"},
	{"live-repetition", "recovery-v2, failure × effect, lost after it left: a keyed write is repeated with the same key; an unsafe one is never executed again"},
	{"live-key", "recovery-v2, failure × effect, KEY_REUSED: the same key with other arguments"},
	{"live-status", "operations, status: it tells of each write whether it took effect"},
}

// Provocation is one call of an application, and what answers it rightly.
type Provocation struct {
	Case string // its name within the run
	Why  string
	Rule string // the one that a wrong answer breaks, such as live-malformed
	// Codes are those that are right. None: an answer without a failure.
	Codes []string
	// Field is the argument that INVALID_ARGUMENT names; "": none, it is null.
	Field string
	// OrAnswer says that an answer without a failure is right besides the codes;
	// OrReplay, that one is which is marked as that of an earlier execution.
	OrAnswer, OrReplay bool
}

// Observed is what an application did with one call.
type Observed struct {
	Status int
	Body   []byte
	Lost   string // why there was no answer, "" where there was one
	// Tool is the answer where it came over a wire that has no status; Body is
	// then its body.
	Tool *ToolAnswer
}

// ObservedTool is what a tool answered over a wire without a status.
func ObservedTool(a ToolAnswer) Observed { return Observed{Body: a.Body, Tool: &a} }

// record is the record of a failure.
func (o Observed) record() (members, error) {
	if o.Tool != nil && o.Tool.Record != nil {
		return v1Members(o.Tool.Record)
	}
	body, err := membersOf(o.Body)
	if err != nil {
		return nil, err
	}
	return v1Members(body.get("recovery"))
}

// Code is the code of a failure's record; "" where there is no such record.
func (o Observed) Code() string {
	record, err := o.record()
	if err != nil {
		return ""
	}
	code, _ := record.text("code")
	return code
}

// Failed reports whether an answer is a failure.
func (o Observed) Failed() bool {
	body, err := membersOf(o.Body)
	if o.Tool != nil {
		return o.Lost != "" || o.Tool.Failed
	}
	return o.Lost != "" || o.Status/100 != 2 || err != nil || body.get("error") != nil
}

// Live judges what an application did with provocations. It has no suite: what
// is due follows from the application's own contract, and no control or mutant
// takes part in a run.
type Live struct {
	service   string
	secrets   []string
	outcome   *Outcome
	provoked  []RuleCount
	unchecked []Unchecked
}

// NewLive is a run that nothing is judged in yet.
func NewLive(service string) *Live {
	return &Live{service: service, outcome: newOutcome("")}
}

// Hide keeps a secret out of whatever the run reports.
func (l *Live) Hide(secret string) {
	if secret != "" {
		l.secrets = append(l.secrets, secret)
		// One may begin another: the longest is looked for first.
		slices.SortFunc(l.secrets, func(a, b string) int { return len(b) - len(a) })
	}
}

// AddVoid notes a fault of the harness, by which the run judges nothing.
func (l *Live) AddVoid(format string, args ...any) {
	l.outcome.AddVoid("%s", l.hidden(fmt.Sprintf(format, args...)))
}

// Void reports whether the run judges nothing.
func (l *Live) Void() bool { return len(l.outcome.Void) > 0 }

// LeaveOut notes something that was not judged. It is never a pass.
func (l *Live) LeaveOut(what, reason string) {
	what, reason = l.hidden(what), l.hidden(reason)
	at := slices.IndexFunc(l.unchecked, func(u Unchecked) bool { return u.What == what && u.Reason == reason })
	if at < 0 {
		at = len(l.unchecked)
		l.unchecked = append(l.unchecked, Unchecked{What: what, Reason: reason})
	}
	l.unchecked[at].Count++
}

// Judge holds what an application did to what its contract makes due, and
// reports whether it is that.
func (l *Live) Judge(p Provocation, o Observed) bool {
	o.Body = plainly(o.Body)
	faults := p.faults(o)
	f := &findings{}
	if len(faults) > 0 {
		f.list = []Finding{{
			Rule: p.Rule, Expected: p.expected(), Got: clip(l.hidden(o.shown())),
			Difference: clip(l.hidden(strings.Join(faults, "; "))), Clause: liveClause(p.Rule),
		}}
	}
	l.outcome.count(&Case{Name: p.Case, Why: p.Why}, f)
	l.tally(p.Rule, len(faults) == 0)
	return len(faults) == 0
}

func liveClause(name string) string {
	for _, r := range liveRules {
		if r.Name == name {
			return r.Clause
		}
	}
	panic("no rule of a live run: " + name)
}

func (l *Live) tally(rule string, passed bool) {
	at := slices.IndexFunc(l.provoked, func(n RuleCount) bool { return n.Rule == rule })
	if at < 0 {
		at = len(l.provoked)
		l.provoked = append(l.provoked, RuleCount{Rule: rule})
	}
	if passed {
		l.provoked[at].Passed++
	} else {
		l.provoked[at].Failed++
	}
}

// hidden is a text without the tokens. A text that spells one with escapes is
// not shown at all.
func (l *Live) hidden(text string) string {
	plain := unescaped(text)
	for _, secret := range l.secrets {
		if strings.Contains(plain, secret) && !strings.Contains(text, secret) {
			return "[a text that holds a token]"
		}
	}
	for _, secret := range l.secrets {
		text = strings.ReplaceAll(text, secret, "[a token]")
	}
	return text
}

// escape is how JSON may spell a character of a token.
var escape = regexp.MustCompile(`\\(?:/|u00[0-9a-fA-F]{2})`)

// unescaped is a text in which such characters stand for themselves.
func unescaped(text string) string {
	return escape.ReplaceAllStringFunc(text, func(spelt string) string {
		if spelt == `\/` {
			return "/"
		}
		code, _ := strconv.ParseUint(spelt[2:], 16, 8) // two digits, by the expression
		return string(rune(code))
	})
}

// expected says in one line what is due.
func (p Provocation) expected() string {
	if len(p.Codes) == 0 {
		return "an answer without a failure"
	}
	codes := make([]string, len(p.Codes))
	for i, code := range p.Codes {
		codes[i] = code
		switch code {
		case codeInvalid:
			codes[i] += " with the field " + cmp.Or(p.Field, "null")
		case codeWait:
			codes[i] += " with a wait"
		}
	}
	failures := "a failure with the code " + strings.Join(codes, " or ")
	switch {
	case p.OrReplay:
		return "an answer that is marked as replayed, or " + failures
	case p.OrAnswer:
		return "an answer, or " + failures
	}
	return failures
}

// plainly is JSON with its texts in their shortest form, in which a secret can
// be recognised; anything else as it is.
func plainly(body jsontext.Value) jsontext.Value {
	plain := body.Clone()
	if err := plain.Format(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(false)); err != nil {
		return body
	}
	return plain
}

// shown is an observation in one line.
func (o Observed) shown() string {
	if o.Lost != "" {
		return ""
	}
	kind := fmt.Sprintf("status %d", o.Status)
	if o.Tool != nil {
		kind = map[bool]string{true: "a failure", false: "an answer"}[o.Tool.Failed]
	}
	return kind + ": " + strings.ToValidUTF8(string(o.Body), "�")
}

// faults says what is wrong with what was observed.
func (p Provocation) faults(o Observed) []string {
	switch {
	case o.Lost != "":
		return []string{o.Lost}
	case len(p.Codes) == 0 && o.Failed():
		return []string{p.unanswered(o)}
	case len(p.Codes) == 0, p.OrAnswer && !o.Failed():
		return nil
	case p.OrReplay && !o.Failed():
		if o.Replayed() {
			return nil
		}
		return []string{"the application answered without a failure, and not as a replay: it may have executed the call again"}
	case o.Status/100 == 3:
		return []string{fmt.Sprintf("status %d is a redirect, which nobody follows with a call", o.Status)}
	}
	body, err := membersOf(o.Body)
	if err != nil && o.Tool == nil {
		return []string{"the body: " + err.Error()}
	}
	if !o.Failed() {
		return []string{"the application answered without a failure, expected " + strings.Join(p.Codes, " or ")}
	}
	record, recordErr := o.record()
	if recordErr != nil {
		return []string{recordErr.Error()}
	}
	faults := p.wrongRecord(record)
	if err == nil {
		faults = append(faults, wrongBody(body, record)...)
	}
	return faults
}

// unanswered says why an answer that may not fail is none.
func (p Provocation) unanswered(o Observed) string {
	if code := o.Code(); code != "" {
		return fmt.Sprintf("the application answered with the failure %s", clip(code))
	}
	if o.Tool != nil {
		return "the tool answered with a failure that has no record"
	}
	if o.Status/100 == 2 {
		return "the body is no JSON object without the member error"
	}
	return fmt.Sprintf("the application answered with the status %d", o.Status)
}

func (p Provocation) wrongRecord(record members) []string {
	var faults []string
	code, isText := record.text("code")
	if !isText || !slices.Contains(p.Codes, code) {
		faults = append(faults, fmt.Sprintf("code is %s, expected %s", record.get("code"), strings.Join(p.Codes, " or ")))
	}
	field, names := record.text("field")
	switch {
	case !names && record.get("field").Kind() != 'n':
		faults = append(faults, fmt.Sprintf("field is %s; valid: a text or null", record.get("field")))
	case code == codeInvalid && field != p.Field:
		faults = append(faults, fmt.Sprintf("field is %s, expected %s", record.get("field"), cmp.Or(p.Field, "null")))
	}
	var wait *int64
	err := json.Unmarshal(record.get("retry_after_ms"), &wait)
	switch {
	case err != nil || wait != nil && *wait < 0:
		faults = append(faults, fmt.Sprintf("retry_after_ms is %s; valid: a whole number of at least 0, or null", record.get("retry_after_ms")))
	case code == codeWait && wait == nil:
		faults = append(faults, "retry_after_ms is null beside TEMP_UNAVAILABLE, which says how long to wait")
	}
	return faults
}

// wrongBody says what the members beside a record lack.
func wrongBody(body, record members) []string {
	var faults []string
	if sentence, _ := body.text("error"); sentence == "" {
		faults = append(faults, "error is no text")
	}
	if !same(body.get("code"), record.get("code")) {
		faults = append(faults, "code is not that of the record")
	}
	for _, name := range []string{"error", "code", "retryable", "recovery"} {
		if body.count(name) > 1 {
			faults = append(faults, name+" stands twice")
		}
	}
	code, _ := record.text("code")
	switch retryable := body.get("retryable"); {
	case kind(retryable) != 'f':
		faults = append(faults, "retryable is no Boolean")
	case retryable.Kind() == 't' && slices.Contains(neverRepeated, code), retryable.Kind() == 'f' && code == codeWait:
		faults = append(faults, fmt.Sprintf("retryable is %s beside %s", retryable, code))
	}
	return faults
}

// neverRepeated are the codes of recovery-v1 after which an unchanged call is
// not repeated.
var neverRepeated = []string{codeInvalid, codeAuth, codeDenied}

// RuleCount counts the provocations that are held to one rule.
type RuleCount struct {
	Rule   string `json:"rule"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// AddLive reports the run of an application.
func (r *Report) AddLive(l *Live) {
	o := l.outcome
	if len(o.Void) == 0 && o.Passed+o.Failed == 0 {
		o.AddVoid("nothing could be judged; what is unchecked says why")
	}
	r.Suites = append(r.Suites, SuiteReport{
		Name: "live " + l.service, Operators: []OperatorCount{}, FailedBy: o.ByRule,
		Cases: CaseCount{o.Passed, o.Failed}, Failures: append([]CaseFailure{}, o.Failures...),
		Unlisted: o.Failed - len(o.Failures), Provoked: l.provoked,
		Unchecked: append([]Unchecked{}, l.unchecked...), Void: append([]string{}, o.Void...),
	})
	r.Verdict = r.verdict()
	r.Establishes = establishes(r.Subject, r.Verdict)
}

package guard

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/recovery"
)

// The codes of failures that no contract reads. Neither is in any decision
// table, and so they stop.
const (
	// Undeclared is the code of a failure that the upstream put into words.
	Undeclared record.Code = "UNDECLARED_FAILURE"
	// rpcPrefix begins the code of a JSON-RPC error, which its number ends.
	rpcPrefix = "RPC_"
)

// notReached are the errors that say that no tool was reached: of JSON-RPC 2.0,
// section 5.1, and of MCP 2026-07-28 those of headers, capabilities and revisions.
var notReached = []int64{-32700, -32600, -32601, -32020, -32021, -32022}

// elicits is the error by which MCP 2025-11-25 sends a caller to an address
// before it calls again.
const elicits = -32042

const (
	// maxKept bounds the words of an upstream that the guard keeps, in bytes.
	maxKept = 64 << 10
	// defaultWaitMS is the wait where the decision is to wait and nobody states how long.
	defaultWaitMS = 1000
)

// reading is what an execution came to.
type reading struct {
	failure *record.Record // nil: a success, or a question
	answer  answer
	result  jsontext.Value // of a success, as it came
	// asks says that the call goes on: nothing is decided yet.
	asks bool
	// apart says that the failure is one of the exchange and not of the call: it
	// passes, and nothing is remembered.
	apart bool
	// unreadable says that what came is no answer, and is not passed on.
	unreadable bool
	// unsent says that nothing was executed.
	unsent bool
	// challenge is the WWW-Authenticate of a response with the status 401.
	challenge []string
	// elsewhere is where the response came, or comes; nil: here.
	elsewhere *Elsewhere
}

// read makes a failure of a response, by the contract's rules first.
func (p *plan) read(response Response, now time.Time) reading {
	switch m := response.Message; {
	case m == nil:
		return p.readStatus(response, now)
	case m.Error != nil:
		return p.readError(response, now)
	default:
		return p.readResult(response, now)
	}
}

func (p *plan) readResult(response Response, now time.Time) reading {
	a, err := readAnswer(response.Message.Result)
	if err != nil {
		return p.unreadable()
	}
	if a.asks || a.runs {
		return reading{answer: a, asks: true}
	}
	facts := facts{status: response.Status, answer: a, body: a.body()}
	if failure := p.declared(facts); failure != nil {
		return reading{failure: p.complete(failure, response, facts, now), answer: a}
	}
	if !a.failed {
		return reading{answer: a, result: response.Message.Result}
	}
	failure := embedded(a, facts.body)
	if failure == nil {
		failure = &record.Record{Code: Undeclared, Message: kept(a.text())}
	}
	return reading{failure: p.complete(failure, response, facts, now), answer: a}
}

func (p *plan) readError(response Response, now time.Time) reading {
	code, err := strconv.ParseInt(string(memberOf(response.Message.Error, "code")), 10, 64)
	if err != nil {
		return p.unreadable()
	}
	if code == elicits {
		return reading{asks: true}
	}
	message := textOf(memberOf(response.Message.Error, "message"))
	facts := facts{status: response.Status, rpc: code, isRPC: true, body: memberOf(response.Message.Error, "data")}
	facts.answer.texts = []string{message}
	facts.answer.failed = true
	if failure := p.declared(facts); failure != nil {
		return reading{failure: p.complete(failure, response, facts, now)}
	}
	failure := &record.Record{Code: record.Code(rpcPrefix + strconv.FormatInt(code, 10)), Message: kept(message)}
	if response.Status == 401 || response.Status == 403 {
		failure.Code = recovery.ClassifyResponse(response.Status, response.Header, nil, p.effect, now).Code
	}
	if code == invalidParams || slices.Contains(notReached, code) {
		failure.Outcome = p.nothing()
	}
	return reading{failure: p.complete(failure, response, facts, now), apart: slices.Contains(notReached, code)}
}

// readStatus reads an HTTP response without a message. What says that the
// request did not fit the protocol passes: of the call it says nothing.
func (p *plan) readStatus(response Response, now time.Time) reading {
	if response.Status < 300 {
		return p.unreadable()
	}
	facts := facts{status: response.Status, body: objectIn(response.Body)}
	if failure := p.declared(facts); failure != nil {
		return reading{failure: p.complete(failure, response, facts, now)}
	}
	if sentence := aside(response.Status); sentence != "" {
		failure := &record.Record{Code: record.Code("HTTP_" + strconv.Itoa(response.Status)), Message: sentence}
		if response.Unreached {
			failure.Outcome = p.nothing()
		}
		return reading{failure: p.complete(failure, response, facts, now), apart: true}
	}
	failure := recovery.ClassifyResponse(response.Status, response.Header, response.Body, p.effect, now)
	return reading{failure: p.complete(failure, response, facts, now)}
}

var errUnreadable = errors.New("the answer cannot be read")

// aside is what a status says that is about the request and not about what it
// asks for; "" where it is another. What a write has done is open even then: a
// server may redirect, or refuse, after the effect.
func aside(status int) string {
	switch status {
	case 400, 404, 405, 406, 410, 413, 415, 421:
		return "The server did not take the request."
	}
	if status < 400 {
		return "The server sent the request elsewhere."
	}
	return ""
}

// nothing is the outcome of a call that no tool was reached by.
func (p *plan) nothing() record.Outcome {
	if p.writes() {
		return record.NotApplied
	}
	return ""
}

// unreadable is what an answer comes to that cannot be read.
func (p *plan) unreadable() reading {
	return reading{failure: p.lost(errUnreadable, contract.Unreadable), unreadable: true}
}

// lost is the failure of an execution without an answer that can be read.
func (p *plan) lost(err error, fact contract.Fact) *record.Record {
	// What err does not say to have happened before the request left is lost.
	known := recovery.Classify(errors.Join(err, io.ErrUnexpectedEOF), p.effect)
	for _, rule := range p.rules {
		if rule.When.Fact != fact || !p.concerns(rule) || known.Code == record.OutcomeUnknown {
			continue
		}
		declared := p.failure(rule, nil)
		if declared.Code == known.Code {
			declared.Outcome, declared.WaitKind = known.Outcome, known.WaitKind
			if declared.RetryAfterMS == nil {
				declared.RetryAfterMS = known.RetryAfterMS
			}
		}
		known = declared
		break
	}
	known.Message = lossSentence(known.Code)
	if recovery.Unsent(err) {
		known.Message = "The server cannot be reached; nothing was sent."
	}
	return p.complete(known, Response{}, facts{}, time.Time{})
}

func lossSentence(code record.Code) string {
	if code == record.OutcomeUnknown {
		return "No answer came from the server. Whether the call took effect is not known."
	}
	return "No answer came from the server."
}

// facts is what rules look at.
type facts struct {
	status int
	rpc    int64
	isRPC  bool
	answer answer
	body   jsontext.Value
}

// declared is the failure of the first rule that matches; nil for none.
func (p *plan) declared(f facts) *record.Record {
	for i := range p.rules {
		rule := &p.rules[i]
		if groups, ok := matches(rule, f); ok && p.concerns(*rule) {
			return p.failure(*rule, groups)
		}
	}
	return nil
}

// concerns reports whether a rule is for the tool's effect.
func (p *plan) concerns(rule contract.FailureRule) bool {
	return len(rule.Effects) == 0 || slices.Contains(rule.Effects, contract.Effect(p.effect))
}

// matches reports whether every member of a rule's condition holds, and what
// its text captures by name.
func matches(rule *contract.FailureRule, f facts) (groups map[string]string, ok bool) {
	when := rule.When
	switch {
	case when.Fact != "":
		return nil, false
	case len(when.Status) > 0 && !slices.Contains(when.Status, contract.Status(f.status)),
		len(when.Error) > 0 && (!f.isRPC || !slices.Contains(when.Error, contract.ErrorCode(f.rpc))),
		len(when.Body) > 0 && !holds(when.Body, f.body),
		len(when.Meta) > 0 && !holds(when.Meta, f.answer.meta):
		return nil, false
	case when.Text == "":
		return nil, true
	case !f.answer.failed:
		return nil, false
	}
	pattern := rule.Pattern()
	found := pattern.FindStringSubmatch(f.answer.text())
	if found == nil {
		return nil, false
	}
	groups = map[string]string{}
	for i, name := range pattern.SubexpNames() {
		groups[name] = found[i]
	}
	return groups, true
}

// failure is what a rule reads.
func (p *plan) failure(rule contract.FailureRule, groups map[string]string) *record.Record {
	r := &record.Record{Code: record.Code(rule.Is), Message: rule.Text, Field: rule.Field}
	if rule.Field != "" {
		r.Fields = []record.Field{{Pointer: "/" + pointerToken(rule.Field), Reason: "refused", Accepted: "another value"}}
	}
	switch {
	case rule.Wait.Group != "":
		r.RetryAfterMS = waitOf(groups[rule.Wait.Group], rule.Wait.Group)
	case rule.Wait.Fixed != 0:
		r.RetryAfterMS = new(time.Duration(rule.Wait.Fixed).Milliseconds())
	}
	return r
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointerToken(name string) string { return pointerEscapes.Replace(name) }

// unitsMS is the length of the units that a group may be named by.
var unitsMS = map[string]int64{"milliseconds": 1, "seconds": 1000, "minutes": 60_000}

// waitOf is a captured number in its unit, in milliseconds, saturating.
func waitOf(digits, unit string) *int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			return nil
		}
		n = math.MaxInt64
	}
	length := unitsMS[unit]
	if n > math.MaxInt64/length {
		return new(int64(math.MaxInt64))
	}
	return new(n * length)
}

// complete gives a failure its words, its wait and what is known of the effect.
func (p *plan) complete(r *record.Record, response Response, f facts, now time.Time) *record.Record {
	if r.Message == "" {
		r.Message = kept(f.answer.text())
	}
	if r.Message == "" {
		r.Message = sentences[r.Code]
	}
	if r.Message == "" {
		r.Message = "The server answered with a failure that says nothing."
	}
	if waits(r.Code) && r.RetryAfterMS == nil {
		r.RetryAfterMS = statedWait(response, f, now)
	}
	if r.RetryAfterMS == nil && recovery.V2.Rule(r.Code, p.effect).Next == record.WaitAndRetry {
		r.RetryAfterMS = new(int64(defaultWaitMS))
	}
	if p.effect == record.Read || r.Outcome != "" {
		return r
	}
	switch {
	case r.Code == record.OutcomeUnknown, r.Code == record.InProgress, !r.Code.Known() && p.isDeclared:
		r.Outcome = record.NotKnown
	case r.Code == record.TempUnavailable:
		r.Outcome = record.NotApplied
	}
	return r
}

// waits reports whether a code states when to ask again.
func waits(code record.Code) bool {
	switch code {
	case record.TempUnavailable, record.QuotaExhausted, record.InProgress, record.OutcomeUnknown:
		return true
	}
	return false
}

var sentences = map[record.Code]string{
	record.InvalidArgument:    "The server does not accept an argument.",
	record.AuthRequired:       "The server asks for authentication.",
	record.AccessDenied:       "The server does not permit this.",
	record.TempUnavailable:    "The server is not available at the moment.",
	record.QuotaExhausted:     "The quota is used up.",
	record.PreconditionFailed: "The state has changed; read it again.",
	record.OutcomeUnknown:     "Whether the call took effect is not known.",
	record.InProgress:         "The same operation is being executed.",
	record.KeyReused:          "The operation key was used with other arguments.",
}

// embedded is the record that an upstream which knows Remit answers with.
func embedded(a answer, body jsontext.Value) *record.Record {
	candidates := []jsontext.Value{memberOf(a.meta, "remit/recovery"), memberOf(body, "recovery")}
	if isV1(body) {
		candidates = append(candidates, body)
	}
	for _, candidate := range candidates {
		r := new(record.Record)
		if candidate != nil && json.Unmarshal(candidate, r) == nil && r.Code != record.OK {
			// The operator's contract says what the effect permits.
			r.Next, r.Stop, r.Budget, r.Contract, r.Domain = "", "", nil, "", ""
			r.Message = kept(r.Message)
			return r
		}
	}
	return nil
}

// isV1 reports whether an object is a bare record of recovery-v1.
func isV1(body jsontext.Value) bool {
	count := 0
	err := eachMember(body, func(name string, _ jsontext.Value, _ int) error {
		switch name {
		case "code", "message", "field", "retry_after_ms":
			count++
		default:
			count = math.MinInt32
		}
		return nil
	})
	return err == nil && count == 4
}

// statedWait is the wait that a failing response states: the header, then the
// members that are in use for it, in _meta, then in the body.
func statedWait(response Response, f facts, now time.Time) *int64 {
	if wait, ok := recovery.RetryAfter(response.Header.Get("Retry-After"), now); ok {
		return new(ceilMS(wait))
	}
	for _, object := range []jsontext.Value{f.answer.meta, f.body} {
		if ms := memberWait(object, now); ms != nil {
			return ms
		}
	}
	return nil
}

func ceilMS(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

// memberWait is the wait that an object's members state.
func memberWait(object jsontext.Value, now time.Time) *int64 {
	for _, name := range []string{"retryAfterSeconds", "retry_after_seconds"} {
		if value := scalarText(memberOf(object, name)); value != "" {
			if wait, ok := recovery.RetryAfter(value, now); ok {
				return new(ceilMS(wait))
			}
		}
	}
	if value := memberOf(object, "retry_after_ms"); value.Kind() == '0' {
		if ms := waitOf(string(value), "milliseconds"); ms != nil {
			return ms
		}
	}
	if when, err := time.Parse(time.RFC3339, textOf(memberOf(object, "retryNotBefore"))); err == nil {
		return new(max(0, ceilMS(when.Sub(now))))
	}
	return nil
}

// objectIn is a body that is a JSON object; nil for any other.
func objectIn(body []byte) jsontext.Value {
	value := jsontext.Value(body)
	if value.Kind() != '{' || !value.IsValid() {
		return nil
	}
	return value
}

// kept is what is kept of an upstream's words.
func kept(text string) string {
	if len(text) <= maxKept {
		return text
	}
	return strings.ToValidUTF8(text[:maxKept], "") + "…"
}

package oracle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Recorded is one line of a recording: what the user asked, which tool the
// agent selected with which parameters, what that returned, and what the agent
// answered in the end. Tool, parameters and result are those of the last of
// several calls, and null where there was none.
type Recorded struct {
	ID         string         `json:"id"`
	Request    string         `json:"request"`
	Tool       *string        `json:"tool"`
	Parameters jsontext.Value `json:"parameters"`
	Result     jsontext.Value `json:"result"` // null where nothing was returned
	Answer     Answer         `json:"answer"`
	Calls      []RecordedCall `json:"calls,omitempty"` // all of them, in order
}

// RecordedCall is one call of a tool. Status is completed, canceled, error,
// pending if it had not ended when the agent answered, or gone if its document
// went away before it ended. A tool of another origin than the page's is not
// the page's own, and its call stands for nothing.
type RecordedCall struct {
	Tool       string         `json:"tool"`
	Parameters jsontext.Value `json:"parameters"`
	Result     jsontext.Value `json:"result"`
	Status     string         `json:"status"`
	Origin     string         `json:"origin,omitzero"` // of the tool; "" if it is the page's
}

// LastCall is the last call of a tool of the page's own; nil if there is none.
func LastCall(calls []RecordedCall) *RecordedCall {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].Origin == "" {
			return &calls[i]
		}
	}
	return nil
}

// Answer is what an agent tells its user: in words, and as claims.
type Answer struct {
	Text   string  `json:"text"`
	Claims []Claim `json:"claims"`
}

// Claim is one thing that an answer claims. Which of ID and Rank stand with a
// kind, claimMembers says.
type Claim struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitzero"`
	Rank int64  `json:"rank,omitzero"`
}

// The kinds of claims, a closed list.
const (
	claimMatch        = "match"                 // the item meets the filters
	claimRank         = "rank"                  // the item has this rank
	claimSuitable     = "suitable"              // the item is suitable for the purpose
	claimUnsuitable   = "unsuitable"            // it is not
	claimBest         = "best"                  // the item is the best, or recommended
	claimInsufficient = "insufficient_evidence" // suitability cannot be established
	claimClarify      = "clarify_preferences"   // the user has to say what matters
	claimNoMatches    = "no_matches"            // nothing meets the filters
)

// claimKinds are all kinds, in the order in which they are listed.
var claimKinds = []string{
	claimMatch, claimRank, claimSuitable, claimUnsuitable, claimBest, claimInsufficient, claimClarify, claimNoMatches,
}

// claimMembers says which members a claim of each kind has besides its kind.
var claimMembers = map[string]struct{ id, rank bool }{
	claimMatch: {id: true}, claimRank: {id: true, rank: true}, claimSuitable: {id: true}, claimUnsuitable: {id: true},
	claimBest: {id: true}, claimInsufficient: {}, claimClarify: {}, claimNoMatches: {},
}

// Check says what is wrong with the form of an answer; nil if nothing is.
func (a Answer) Check() error {
	if strings.TrimSpace(a.Text) == "" {
		return errors.New("the answer has no text")
	}
	for i, c := range a.Claims {
		takes, known := claimMembers[c.Kind]
		switch {
		case !known:
			return fmt.Errorf("claim %d is of the kind %q; valid: %s", i+1, clip(c.Kind), strings.Join(claimKinds, ", "))
		case takes.id != (c.ID != ""):
			return fmt.Errorf("claim %d: %s %s an id", i+1, c.Kind, needs(takes.id))
		case takes.rank != (c.Rank > 0):
			return fmt.Errorf("claim %d: %s %s a rank of at least 1", i+1, c.Kind, needs(takes.rank))
		}
	}
	return nil
}

func needs(it bool) string {
	if it {
		return "needs"
	}
	return "does not take"
}

// String shows a claim.
func (c Claim) String() string {
	switch {
	case c.Rank > 0:
		return fmt.Sprintf("%s %s %d", c.Kind, c.ID, c.Rank)
	case c.ID != "":
		return c.Kind + " " + c.ID
	}
	return c.Kind
}

// ReadRecorded decodes one line of a recording strictly: every member but
// calls once, no other, and where calls stand, the last is the one that tool,
// parameters and result tell of.
func ReadRecorded(line []byte) (*Recorded, error) {
	m, err := membersOf(line)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"id", "request", "tool", "parameters", "result", "answer"} {
		if m.count(name) != 1 {
			return nil, fmt.Errorf("it has %s %d times; valid: once", name, m.count(name))
		}
	}
	r := &Recorded{}
	if err := json.Unmarshal(line, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if answer, err := membersOf(m.get("answer")); err != nil || answer.get("claims").Kind() != '[' {
		return nil, errors.New("answer is not {text, claims}, with a list of claims")
	}
	last := LastCall(r.Calls)
	switch {
	case r.Tool == nil && (r.Parameters.Kind() != 'n' || r.Result.Kind() != 'n' || last != nil):
		return nil, errors.New("it has no tool, and parameters, a result or calls")
	case r.Tool != nil && len(r.Calls) > 0 && last == nil:
		return nil, errors.New("it has a tool, and all calls are of tools of other origins")
	}
	if last != nil {
		if last.Tool != *r.Tool || !same(last.Parameters, r.Parameters) || !same(last.Result, r.Result) {
			return nil, errors.New("tool, parameters and result are not those of the last of calls")
		}
	}
	return r, r.Answer.Check()
}

// The two checks of a recording. Neither says anything about the other.
const (
	toolSelection = "tool selection"
	finalAnswer   = "final answer"
)

// The rules of a recording: those of tool selection, the result included, then
// those of the final answer.
var (
	selectionRules = []Rule{
		{"one-answer", "catalogue-v1, the evaluator: one answer to each request"},
		{"no-call", "catalogue-v1, the browser and agent test: the selected tool is recorded; an answer without a call rests on nothing"},
		{"wrong-tool", "catalogue-v1, the idea: retrieval, preference and suitability are three questions with three promises"},
		{"changed-parameter", "catalogue-v1, the browser and agent test: the actual parameters ask what the user asked"},
		{"result-altered", "catalogue-v1, the browser and agent test: the returned result is the literal answer to the request"},
	}
	finalRules = []Rule{
		{"names-suitable", "catalogue-v1, the browser and agent test: accept only if the assistant names no suitable product"},
		{"calls-best", "catalogue-v1, rules: no answer recommends; a lower price establishes no better value"},
		{"splits-tie", "catalogue-v1, the browser and agent test: accept only if it keeps the tie; equal on all keys is a shared rank"},
		{"drops-insufficiency", "catalogue-v1, the browser and agent test: accept only if the assistant preserves insufficient_evidence"},
		{"invents-id", "catalogue-v1, search: an exact match against this snapshot; the answer names what was returned and nothing else"},
		{"misranks", "catalogue-v1, ranking: lexicographic, with competition ranking (1, 1, 3)"},
		{"drops-result", "catalogue-v1, rules: the useful result is kept, whole"},
		{"drops-question", "catalogue-v1, rules: a missing preference is asked for, and no rule is chosen silently"},
		{"claims-otherwise", "catalogue-v1, rules: the status says which promise was kept; the answer claims no other"},
	}
)

// recordedCase is what a recording of a case is held to.
type recordedCase struct {
	request string
	expects expectation
	fixture *Fixture
}

// expectation is the member expects of a case.
type expectation struct {
	Tools      []string         `json:"tools"`      // that may be selected
	Parameters []jsontext.Value `json:"parameters"` // that ask what the user asked, request_id aside
	Result     jsontext.Value   `json:"result"`     // whose request_id is that of the parameters
	Preserves  []Claim          `json:"preserves"`  // what the final answer must claim
	MayClaim   []Claim          `json:"may_claim"`  // what it may
	MayNot     []string         `json:"may_not_claim"`
}

// Asked is one request in the user's words, as an agent reads it.
type Asked struct {
	ID      string `json:"id"`
	Request string `json:"request"`
}

// ReadAsked decodes one line of requests strictly.
func ReadAsked(line []byte) (a Asked, err error) {
	if err := json.Unmarshal(line, &a, json.RejectUnknownMembers(true)); err != nil {
		return a, err
	}
	if a.ID == "" || strings.TrimSpace(a.Request) == "" {
		return a, errors.New(`it is not {"id", "request"}, two texts`)
	}
	return a, nil
}

// readAsked decodes the case line and what the case expects.
func (c *Case) readAsked(members) error {
	asked, err := ReadAsked(c.Line)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.Name, err)
	}
	c.recorded.request = asked.Request
	if err := json.Unmarshal(c.Expects, &c.recorded.expects, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("case %s: expects: %w", c.Name, err)
	}
	return nil
}

// readRecorded reads a line that stands for the case; one of another request
// is none of it.
func (c *Case) readRecorded(line []byte) (*Recorded, error) {
	r, err := ReadRecorded(line)
	if err != nil {
		return nil, err
	}
	if r.Request != c.recorded.request {
		return nil, fmt.Errorf("the request is not that of the case %s: %.80q", c.Name, r.Request)
	}
	return r, nil
}

// CheckCount counts the verdicts of one check of a recording.
type CheckCount struct {
	Check     string `json:"check"`
	Passed    int    `json:"passed"`
	Failed    int    `json:"failed"`
	Unchecked int    `json:"unchecked"`
}

// apart are the checks that a case of a contract is held to apart from each
// other, each with its rules.
var apart = map[Contract][]struct {
	name  string
	rules []Rule
}{BrowserV1: {{toolSelection, selectionRules}, {finalAnswer, finalRules}}}

// countChecks notes the verdict of each check that stands apart.
func (o *Outcome) countChecks(f *findings) {
	for i, check := range apart[o.contract] {
		failed := slices.ContainsFunc(f.list, func(x Finding) bool {
			return slices.ContainsFunc(check.rules, func(r Rule) bool { return r.Name == x.Rule })
		})
		switch {
		case failed:
			o.Checks[i].Failed++
		case check.name == finalAnswer && len(f.undecided) > 0:
			o.Checks[i].Unchecked++
		default:
			o.Checks[i].Passed++
		}
	}
}

// undecided is the rule of a mutant whose final answer cannot be decided.
const undecided = "undecided"

// compareRecorded notes what a recording of one request breaks.
func compareRecorded(f *findings, c *Case, lines []jsontext.Value) {
	for i := range lines[1:] {
		f.add("one-answer", 0, nil, lines[i+1], "recording %d of the same request", i+2)
	}
	r, err := c.readRecorded(lines[0])
	if err != nil { // it was read when it was attributed
		panic(err)
	}
	selectionOf(f, c, r)
	answerOf(f, c, r)
}

// selectionOf holds tool, parameters and result to what the case expects. What
// follows from an earlier fault is no fault of its own.
func selectionOf(f *findings, c *Case, r *Recorded) {
	want := c.recorded.expects
	switch {
	case r.Tool == nil:
		f.add("no-call", 0, []byte(encode(want.Tools)), nil, "the agent called no tool")
		return
	case !slices.Contains(want.Tools, *r.Tool):
		f.add("wrong-tool", 0, []byte(encode(want.Tools)), []byte(encode(*r.Tool)), "the agent called %s, which makes another promise", clip(*r.Tool))
		return
	}
	if r.Parameters.Kind() != '{' {
		f.add("changed-parameter", 0, want.Parameters[0], r.Parameters, "the parameters are no object")
		return
	}
	m := mustMembers(r.Parameters)
	id, ok := m.text("request_id")
	asked := joined(slices.DeleteFunc(slices.Clone(m), func(each member) bool { return each.name == "request_id" }))
	if !ok || !slices.ContainsFunc(want.Parameters, func(p jsontext.Value) bool { return same(p, asked) }) {
		f.add("changed-parameter", 0, want.Parameters[0], r.Parameters, "the parameters, request_id aside, do not ask what the user asked")
		return
	}
	literal := with(want.Result, "request_id", encode(id))
	if !same(literal, r.Result) {
		f.add("result-altered", 0, literal, r.Result, "the returned result is not the literal answer")
	}
}

// answerOf holds the final answer, its claims and its text, to what the case
// expects.
func answerOf(f *findings, c *Case, r *Recorded) {
	claimed, _ := json.Marshal(r.Answer.Claims) // kinds, ids and ranks
	want, _ := json.Marshal(c.recorded.expects.Preserves)
	for _, fault := range c.recorded.expects.claimFaults(r.Answer.Claims) {
		f.add(fault.rule, 0, want, claimed, "claims: %s", fault.why)
	}
	faults, left := lexiconOf(c).read(r.Answer.Text)
	for _, fault := range faults {
		f.add(fault.rule, 0, want, []byte(encode(r.Answer.Text)), "text: %s", fault.why)
	}
	f.undecided = left
}

// fault is a rule that an answer breaks, and how.
type fault struct{ rule, why string }

// claimFaults lists what the claims of an answer break.
func (e *expectation) claimFaults(claims []Claim) (faults []fault) {
	for _, c := range claims {
		if !slices.Contains(e.Preserves, c) && !slices.Contains(e.MayClaim, c) {
			faults = append(faults, fault{e.excess(c), "it claims " + clip(c.String())})
		}
	}
	for _, c := range e.Preserves {
		if !slices.Contains(claims, c) {
			faults = append(faults, fault{e.lack(c, claims), "it does not claim " + c.String()})
		}
	}
	return faults
}

// excess is the rule that a claim breaks which is not permitted.
func (e *expectation) excess(c Claim) string {
	switch {
	case c.Kind == claimSuitable:
		return "names-suitable"
	case c.Kind == claimBest:
		return "calls-best"
	case claimMembers[c.Kind].id && !slices.Contains(e.ids(), c.ID):
		return "invents-id"
	case c.Kind == claimRank && len(e.tieOf(c.ID)) > 1:
		return "splits-tie"
	case c.Kind == claimRank && e.rankOf(c.ID) > 0:
		return "misranks"
	}
	return "claims-otherwise"
}

// lack is the rule that an answer breaks which does not claim what it must.
func (e *expectation) lack(c Claim, claims []Claim) string {
	switch c.Kind {
	case claimInsufficient:
		return "drops-insufficiency"
	case claimClarify:
		return "drops-question"
	case claimRank:
		for _, id := range e.tieOf(c.ID) {
			if id != c.ID && slices.ContainsFunc(claims, func(other Claim) bool { return other.Kind == claimRank && other.ID == id }) {
				return "splits-tie"
			}
		}
	}
	return "drops-result"
}

// ids are those that the result names and the answer may name.
func (e *expectation) ids() []string {
	var ids []string
	for _, c := range slices.Concat(e.Preserves, e.MayClaim) {
		if c.ID != "" && !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// rankOf is the rank of an item; 0 if it has none.
func (e *expectation) rankOf(id string) int64 {
	for _, c := range e.Preserves {
		if c.Kind == claimRank && c.ID == id {
			return c.Rank
		}
	}
	return 0
}

// tieOf are the ids that share the rank of an item, itself included; nil if it
// has none.
func (e *expectation) tieOf(id string) (ids []string) {
	rank := e.rankOf(id)
	for _, c := range e.Preserves {
		if rank > 0 && c.Kind == claimRank && c.Rank == rank {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// has reports whether the answer must claim something of a kind.
func (e *expectation) has(kind string) bool {
	return slices.ContainsFunc(e.Preserves, func(c Claim) bool { return c.Kind == kind })
}

package oracle

import (
	"fmt"
	"slices"
)

// Subject is the kind of thing that a report judges.
type Subject string

// The subjects.
const (
	Implementation Subject = "implementation" // of a whole contract: results are compared
	Tools          Subject = "tools"          // what served tools answer
	NativeTools    Subject = "native_tools"   // what tools answer that a page has registered with its browser
	Platform       Subject = "platform"       // what a driver makes of calls that a browser fails
	Caller         Subject = "caller"         // what a client or an agent does with failures
	Application    Subject = "application"    // what a running application answers when it is provoked
	Recording      Subject = "recording"      // what an agent did in a browser, as it was recorded
)

// Verdicts of a report.
const (
	Conforms = "conforms" // exit code 0
	Violates = "violates" // exit code 1
	VoidRun  = "void"     // exit code 3: the harness failed, nothing was judged
	// Undecided has exit code 3 too: nothing violates, and what is unchecked is
	// never a pass.
	Undecided = "undecided"
)

// Report is what a check came to.
type Report struct {
	Subject          Subject       `json:"subject"`
	Judged           string        `json:"judged"` // its name: a command, an address
	Verdict          string        `json:"verdict"`
	Suites           []SuiteReport `json:"suites"`
	Establishes      []string      `json:"establishes"`
	DoesNotEstablish []string      `json:"does_not_establish"`
}

// SuiteReport is what one suite came to, or the run of an application, which
// has no suite: no version, hash, controls and mutants. Its lists are never
// null, but for provoked, which is absent where there is none.
type SuiteReport struct {
	Name      string          `json:"name"`
	Version   string          `json:"version"`
	SHA256    string          `json:"sha256"`
	Cases     CaseCount       `json:"cases"`
	Checks    []CheckCount    `json:"checks,omitempty"`  // that stand apart from each other
	Replays   string          `json:"replays,omitempty"` // of a program: identical or differ
	Controls  ControlCount    `json:"controls"`
	Mutants   MutantCount     `json:"mutants"`
	Operators []OperatorCount `json:"operators"`
	FailedBy  map[string]int  `json:"failed_by"` // failed cases by rule
	Failures  []CaseFailure   `json:"failures"`
	Unlisted  int             `json:"unlisted"` // failed cases that failures does not hold
	Provoked  []RuleCount     `json:"provoked,omitempty"`
	Unchecked []Unchecked     `json:"unchecked"`
	Void      []string        `json:"void"`
}

// CaseCount counts cases.
type CaseCount struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

// ControlCount counts controls.
type ControlCount struct {
	Rejected int `json:"rejected"`
	Accepted int `json:"accepted"`
}

// MutantCount counts mutants.
type MutantCount struct {
	Killed     int `json:"killed"`
	Survived   int `json:"survived"`
	Equivalent int `json:"equivalent"`
}

// Unchecked is something that was not judged. It is never a pass.
type Unchecked struct {
	What   string `json:"what"`
	Count  int    `json:"count"`
	Reason string `json:"reason"`
}

// NewReport is a report on nothing yet.
func NewReport(subject Subject, judged string) *Report {
	return &Report{
		Subject: subject, Judged: judged, Verdict: VoidRun, Suites: []SuiteReport{},
		Establishes: establishes(subject, VoidRun), DoesNotEstablish: notEstablished(subject),
	}
}

// Add reports one suite: what it proved to reject, and the outcome of a run;
// nil where the suite could not be trusted and nothing was run.
func (r *Report) Add(s *Suite, p *Proof, o *Outcome, void ...string) {
	report := SuiteReport{
		Name: s.Name, Version: s.Version, SHA256: s.SHA256, Operators: []OperatorCount{},
		FailedBy: map[string]int{}, Failures: []CaseFailure{}, Unchecked: []Unchecked{}, Void: append([]string{}, void...),
	}
	if p != nil {
		report.Controls = ControlCount{p.Rejected, p.Accepted}
		report.Mutants = MutantCount{p.Killed, p.Survived, p.Equivalent}
		report.Operators = p.Operators
		report.Void = append(report.Void, p.Void...)
	}
	if o != nil {
		report.Cases = CaseCount{o.Passed, o.Failed}
		report.Checks = o.Checks
		report.Replays = o.Replays
		report.Unchecked = append(report.Unchecked, o.Unchecked...)
		report.FailedBy = o.ByRule
		report.Failures = append(report.Failures, o.Failures...)
		report.Unlisted = o.Failed - len(o.Failures)
		report.Void = append(report.Void, o.Void...)
	}
	report.Unchecked = append(report.Unchecked, s.unchecked(r.Subject, o)...)
	r.Suites = append(r.Suites, report)
	r.Verdict = r.verdict()
	r.Establishes = establishes(r.Subject, r.Verdict)
}

// verdict is the gravest of the suites: a run that judges nothing says nothing
// about its cases either.
func (r *Report) verdict() string {
	verdict := Conforms
	for _, s := range r.Suites {
		open := r.Subject == Recording && len(s.Unchecked) > 0
		switch {
		case len(s.Void) > 0 || s.Cases.Passed+s.Cases.Failed == 0 && !open:
			return VoidRun
		case s.Cases.Failed > 0:
			verdict = Violates
		case open && verdict == Conforms:
			verdict = Undecided
		}
	}
	return verdict
}

// Exit is the exit code of the verdict.
func (r *Report) Exit() int {
	return map[string]int{Conforms: 0, Violates: 1, VoidRun: 3, Undecided: 3}[r.Verdict]
}

// unchecked is what a run of a recovery suite left open.
func (s *Suite) unchecked(subject Subject, o *Outcome) []Unchecked {
	if s.Contract != RecoveryV1 || o == nil {
		return nil
	}
	executions := 0
	for _, c := range s.Cases {
		executions += len(c.Oracle)
	}
	var open []Unchecked
	switch subject {
	case Tools, NativeTools:
		open = []Unchecked{
			{"action, time and disposition", executions, "no policy under test"},
			{"the status, headers and other members of an answer", executions, "the four members of its record are compared"},
		}
	case Caller:
		open = []Unchecked{{
			fmt.Sprintf("of %d permitted continuations those that the caller did not make", o.Permitted),
			o.Permitted - o.Continued, "doing less than is permitted conforms",
		}, {"requests that the scripted server refused", o.NoCalls, "what is no call of the tool is not judged"}}
	}
	return slices.DeleteFunc(open, func(u Unchecked) bool { return u.Count == 0 })
}

// establishes says what a verdict shows of a subject.
func establishes(subject Subject, verdict string) []string {
	switch verdict {
	case VoidRun:
		return []string{"Nothing: the run could not be trusted, and judges neither way."}
	case Violates:
		if subject == Application {
			return []string{"To the provocations listed as failed, the application answered with what breaks the clause that is named."}
		}
		return []string{"On the authored cases listed as failed, what was observed breaks the clause that is named."}
	}
	if verdict == Undecided {
		return []string{"On the recorded requests that passed, tool selection and final answer kept to the literal oracle. Whether the unchecked final answers do could not be decided, which is no pass."}
	}
	return []string{map[Subject]string{
		Recording:      "In this one recorded run, on these authored requests, the calls asked what the user asked, the results were the literal ones, and the final answers claimed no more.",
		Implementation: "On these authored cases the results are those of the literal oracle, byte for byte.",
		Tools:          "On these authored cases the tools answered with the literal answers and records, under the conditions that were set.",
		NativeTools:    "On these authored cases the tools that the page registered, called by a browser, answered with the literal answers and records, under the conditions that were set.",
		Platform:       "On these authored cases this driver told each failure of this browser from an application failure and from a success, gave it its disposition, and executed nothing again.",
		Caller:         "On these authored cases the caller did nothing that the failures which it met did not permit. It may have done less.",
		Application:    "To these provocations, at this time, the application answered as its contract says. What is unchecked was not provoked.",
	}[subject]}
}

func notEstablished(subject Subject) []string {
	switch subject {
	case Application:
		return notEstablishedLive
	case Recording:
		return notEstablishedRecorded
	}
	return slices.Concat(doesNotEstablish, notEstablishedOf[subject], noSecurity)
}

// notEstablishedLive is what provoking an application leaves open.
var notEstablishedLive = []string{
	"It is not shown that other inputs, load, another time or a production system are answered so.",
	"That a token has expired, that a principal may not call and that a dependency fails is the word of the operator's commands.",
	"No control or mutant took part: that wrong answers are rejected is shown by tests against applications that are wrong on purpose.",
	"These are counts of provocations: not a recovery rate, not a measure of any agent's reliability, and no proof of security.",
	"That a write had one effect is what the read says that was named to count; effects that it does not show are not counted.",
	"No agent or browser took part.",
}

// notEstablishedRecorded is what a recording leaves open.
var notEstablishedRecorded = []string{
	"It is a recording of one run: it does not show that an agent selects the tool another time, or words its answer so.",
	"The recording does not say what the agent is. A script that keeps the rules is a script, and shows nothing of any model.",
	"The words are read by a small grammar: an answer passes only if each of its clauses is of a form that the grammar lists, and is unchecked otherwise. That a listed form is harmless where it stands is its author's judgement.",
	"These are counts of authored requests: not a rate of any kind, and not a measure of any agent's reliability.",
	"It is not shown that every possible defect is caught: the controls and mutants are those that were thought of.",
	"Requests, oracle and evaluator have one author: that is no independent human validation.",
}

// doesNotEstablish are the words of both specifications.
var doesNotEstablish = []string{
	"These are counts of authored cases: not a recovery rate, and not a measure of any agent's reliability.",
	"It is not shown that every possible defect is caught: the controls and mutants are those that were thought of.",
	"Cases, oracle and evaluator have one author: that is no independent human validation.",
}

// notEstablishedOf is what a run leaves open by what it judges.
var notEstablishedOf = map[Subject][]string{
	Implementation: noAgentOrBrowser,
	Tools:          noAgentOrBrowser,
	Caller:         noAgentOrBrowser,
	NativeTools:    {"No agent chose a tool or worded a final answer. The browser called each tool because it was told to."},
	Platform: {
		"It is the driver of this program that was judged: not the browser, and not what any agent makes of the same failures.",
		"The page fails on purpose. Another browser, another version of it or another page may fail in other ways.",
	},
}

var (
	noAgentOrBrowser = []string{"No agent chose a tool or worded a final answer, and no browser took part."}
	noSecurity       = []string{"Neither auth_ok nor allowed establishes a real session or proves security."}
)

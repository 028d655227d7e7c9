package oracle

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lint lists everything for which the suite cannot be trusted; nothing if it
// can: cases and controls, a reason and a clause for each case, unique names,
// an oracle that has the form of its contract, controls that differ from it
// and name a rule, and the hashes of the header.
func (s *Suite) Lint() []string {
	l := &lint{suite: s}
	l.header()
	l.checkFixture()
	for i := range s.Cases {
		l.checkCase(i, &s.Cases[i])
	}
	if len(l.faults) == 0 {
		l.controls()
	}
	return l.faults
}

type lint struct {
	suite  *Suite
	faults []string
}

func (l *lint) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// names are those of suites and controls, and of recovery cases.
var names = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (l *lint) header() {
	s := l.suite
	cases, oracle := s.Hashes()
	for _, check := range []struct {
		broken bool
		says   string
	}{
		{!names.MatchString(s.Name), fmt.Sprintf("the suite is named %q; valid: small letters, digits and hyphens", s.Name)},
		{s.Version == "", "the suite has no version"},
		{len(s.Cases) == 0, "the suite has no cases"},
		{len(s.Controls) == 0, "the suite has no controls: nothing shows that it rejects a wrong result"},
		{s.Contract.hasFixture() && (s.Fixture == nil || s.Fixture.Name == "" || len(s.Fixture.Items) == 0), "the suite has no fixture"},
		{!s.Contract.hasFixture() && s.Fixture != nil, "only a catalogue suite or one of recordings has a fixture"},
		{s.SHA256 != cases, fmt.Sprintf("sha256 is %s, and the cases have %s", s.SHA256, cases)},
		{s.OracleSHA256 != oracle, fmt.Sprintf("oracle_sha256 is %s, and the oracle has %s", s.OracleSHA256, oracle)},
	} {
		if check.broken {
			l.fault("%s", check.says)
		}
	}
}

func (l *lint) checkCase(at int, c *Case) {
	if first := l.suite.index[c.Name]; first != at {
		l.fault("case %s: cases %d and %d have this name", c.Name, first+1, at+1)
	}
	if c.Why == "" || c.Clause == "" {
		l.fault("case %s: it needs why and clause", c.Name)
	}
	if len(c.Oracle) == 0 {
		l.fault("case %s: it has no oracle", c.Name)
	}
	for _, line := range slices.Concat([]jsontext.Value{c.Line}, c.Oracle, c.beside()) {
		if compact := line.Clone(); compact.Compact() != nil || !bytes.Equal(compact, line) {
			l.fault("case %s: the line is not compact: %s", c.Name, line)
		}
	}
	contracts[l.suite.Contract].lint(l, c)
}

func (l *lint) checkName(c *Case) {
	if !names.MatchString(c.Name) {
		l.fault("case %s: valid names: small letters, digits and hyphens", c.Name)
	}
}

func (l *lint) checkExecutions(c *Case) {
	before := len(l.faults)
	l.checkName(c)
	l.checkTrace(c)
	l.checkRecords(c)
	if len(l.faults) == before {
		l.checkWorld(c)
	}
}

// answerMembers are the members of each status, in order.
var answerMembers = map[string][]string{
	"matches":             {"request_id", "status", "ids", "basis", "recommendation"},
	"no_matches":          {"request_id", "status", "ids", "basis", "recommendation"},
	"preference_order":    {"request_id", "status", "items", "basis", "recommendation"},
	"clarify_preferences": {"request_id", "status", "missing", "accepted", "recommendation"},
	statusInsufficient:    {"request_id", "status", "ids", "missing", "recommendation"},
	statusInvalid:         {"request_id", "status", "field", "recommendation"},
}

const statusInvalid = "invalid_input"

func (l *lint) checkAnswer(c *Case) {
	if len(c.Oracle) != 1 || len(c.Records) != 0 {
		l.fault("case %s: a catalogue case has one answer and no records", c.Name)
		return
	}
	m, err := membersOf(c.Oracle[0])
	if err != nil {
		l.fault("case %s: the answer: %s", c.Name, err)
		return
	}
	status, _ := m.text("status")
	var has []string
	for _, each := range m {
		has = append(has, each.name)
	}
	if id, _ := m.text("request_id"); id != c.Name || !slices.Equal(has, answerMembers[status]) {
		l.fault("case %s: the answer is not of this request, or its members are not those of its status", c.Name)
		return
	}
	for _, name := range []string{"ids", "missing", "accepted"} {
		var texts []string
		if list := m.get(name); list != nil && (list.Kind() != '[' || json.Unmarshal(list, &texts) != nil) {
			l.fault("case %s: %s is no list of texts", c.Name, name)
		}
	}
	if list := m.get("items"); list != nil {
		if items, ok := readItems(list); !ok || len(items) == 0 {
			l.fault("case %s: items is no list of {id, rank}", c.Name)
		}
	}
	for _, each := range m {
		if form := answerForm.get(each.name); kind(form) != kind(each.value) {
			l.fault("case %s: %s is %s, which is of the wrong type", c.Name, each.name, each.value)
		}
	}
}

// answerForm has the members of answers, with values of their types.
var answerForm = mustMembers([]byte(`{"request_id":"","status":"","ids":[],"items":[],"missing":[],"accepted":[],"basis":"","field":"","recommendation":false}`))

// checkFixture holds the items of an inventory to what the mutants need: an id.
func (l *lint) checkFixture() {
	if l.suite.Fixture == nil {
		return
	}
	for i, each := range l.suite.Fixture.Items {
		m, err := membersOf(each)
		if id, isText := m.text("id"); err != nil || !isText || id == "" {
			l.fault("item %d of the fixture has no id that is a text", i+1)
		}
	}
}

func (l *lint) checkTrace(c *Case) {
	for i, line := range c.Oracle {
		t, err := strictTrace(line)
		if err != nil {
			l.fault("case %s: oracle line %d: %s", c.Name, i+1, err)
			return
		}
		last := i == len(c.Oracle)-1
		if t.Case != c.Name || t.Execution != int64(i+1) || i >= limit || (t.Disposition != nil) != last {
			l.fault("case %s: oracle line %d is not execution %d of a case that ends with its last line within %d executions", c.Name, i+1, i+1, limit)
		}
	}
}

func (l *lint) checkRecords(c *Case) {
	if len(c.Records) != len(c.Oracle) {
		l.fault("case %s: %d records for %d executions", c.Name, len(c.Records), len(c.Oracle))
		return
	}
	for i, line := range c.Records {
		r, err := parseEnvelope(line)
		if err != nil || len(mustMembers(line).compare(envelopeForm)) > 0 || len(recordOf(line).compare(envelopeRecord)) > 0 || r.Case != c.Name || r.Execution != i+1 || r.Record.Code == "" {
			l.fault("case %s: record %d is not that of its execution", c.Name, i+1)
			continue
		}
		if t, err := parseTrace(c.Oracle[i]); err == nil && t.Code != r.Record.Code {
			l.fault("case %s: record %d has code %s and the trace %s", c.Name, i+1, r.Record.Code, t.Code)
		}
	}
}

// controls checks what makes a control one; whether it is rejected is for
// Prove.
func (l *lint) controls() {
	seen := map[string]bool{}
	for _, c := range l.suite.Controls {
		at, known := l.suite.index[c.Case]
		switch {
		case !names.MatchString(c.Name) || seen[c.Name]:
			l.fault("control %q: its name is taken, or is not of small letters, digits and hyphens", c.Name)
		case c.Why == "":
			l.fault("control %s: it needs why", c.Name)
		case rank(l.suite.Contract, c.Rule) < 0:
			l.fault("control %s: %q is no rule of %s", c.Name, c.Rule, l.suite.Contract)
		case !known:
			l.fault("control %s: %q is no case", c.Name, c.Case)
		case l.suite.Cases[at].isOracle(c.Results):
			l.fault("control %s: its results are those of the oracle", c.Name)
		}
		seen[c.Name] = true
	}
}

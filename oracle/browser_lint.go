package oracle

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// checkRecorded checks a case of a suite of recordings: a recording of it that
// is read strictly, and expectations that do not contradict each other and say
// of every kind of claim whether the answer may make it.
func (l *lint) checkRecorded(c *Case) {
	l.checkName(c)
	if len(c.Oracle) != 1 || len(c.Records) != 0 {
		l.fault("case %s: a case of recordings has one recording and no records", c.Name)
		return
	}
	if _, err := c.readRecorded(c.Oracle[0]); err != nil {
		l.fault("case %s: the recording: %s", c.Name, err)
	}
	for _, answer := range slices.Concat(c.Accepted, c.Undecided) {
		if _, err := c.readRecorded(with(c.Oracle[0], "answer", answer.String())); err != nil {
			l.fault("case %s: the answer %s: %s", c.Name, answer, err)
		}
	}
	e := c.recorded.expects
	if len(e.Tools) == 0 || len(e.Parameters) == 0 || e.Result.Kind() != '{' || len(e.Preserves) == 0 {
		l.fault("case %s: expects needs tools, parameters, a result and what the answer preserves", c.Name)
	}
	for _, kind := range claimKinds {
		may := slices.ContainsFunc(slices.Concat(e.Preserves, e.MayClaim), func(c Claim) bool { return c.Kind == kind })
		if may == slices.Contains(e.MayNot, kind) {
			l.fault("case %s: %s stands neither or both in what the answer may claim and in what it may not", c.Name, kind)
		}
	}
	for _, kind := range e.MayNot {
		if !slices.Contains(claimKinds, kind) {
			l.fault("case %s: %q is no kind of claim", c.Name, kind)
		}
	}
}

// faultOfAnswers says which further answer of a case is not judged as the
// suite says; "" if all are.
func (c *Case) faultOfAnswers() string {
	for _, group := range []struct {
		answers []jsontext.Value
		open    bool
	}{{c.Accepted, false}, {c.Undecided, true}} {
		for _, answer := range group.answers {
			f := &findings{contract: BrowserV1}
			var r Recorded
			if err := json.Unmarshal(with(c.Oracle[0], "answer", answer.String()), &r); err != nil { // lint has decoded it
				panic(err)
			}
			answerOf(f, c, &r)
			if len(f.list) > 0 || len(f.undecided) > 0 != group.open {
				return fmt.Sprintf("case %s: the answer %s must be %s: %v %q", c.Name, answer, map[bool]string{true: undecided, false: "accepted"}[group.open], f.list, f.undecided)
			}
		}
	}
	// The judge takes the recording of the suite for right; here it is judged.
	f := &findings{contract: BrowserV1}
	if c.recorded.request != "" {
		compareRecorded(f, c, c.Oracle)
	}
	if len(f.list) > 0 || len(f.undecided) > 0 {
		return fmt.Sprintf("case %s: the oracle rejects itself: %v %q", c.Name, f.list, f.undecided)
	}
	return ""
}

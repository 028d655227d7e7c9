package oracle

import (
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxMS bounds the waits and times of a case, in milliseconds: some nine years,
// far within what a clock of nanoseconds holds.
const maxMS = 1 << 38

// validReference is a shipment reference that the task under test accepts.
var validReference = regexp.MustCompile(`^SHIP-[0-9]{3}$`)

// world is the task under test as a case sets it up, from its conditions alone:
// what an execution is given, and what it must be answered with. It knows
// nothing of what a policy does with an answer, but for what the trace says.
type world struct {
	given    given
	input    jsontext.Value
	authOK   bool
	atMS     int64
	asked    int // responses that were used
	supplied int // corrections that were used
}

// answer is what the execution of the world's moment is answered with; false
// where the script has run out.
func (w *world) answer() (response, bool) {
	m, _ := membersOf(w.input)
	reference, _ := m.text("shipment_ref")
	switch {
	case !validReference.MatchString(reference):
		return response{Code: codeInvalid}, true
	case !w.authOK:
		return response{Code: codeAuth}, true
	case !*w.given.Allowed:
		return response{Code: codeDenied}, true
	case w.asked == len(w.given.Responses):
		return response{}, false
	}
	w.asked++
	return readResponse(w.given.Responses[w.asked-1]), true
}

// next moves on to the execution after t, which was answered with r.
func (w *world) next(t trace, r response) {
	switch {
	case t.Action == "wait_and_retry" && r.RetryAfterMS != nil:
		w.atMS += *r.RetryAfterMS
	case t.Action == "request_correction":
		w.input = w.correction()
	case t.Action == "request_authentication":
		w.authOK = w.authOK || *w.given.Renewal
	}
}

// correction is the replacement that the case supplies next; what there was
// before where it supplies none.
func (w *world) correction() jsontext.Value {
	switch {
	case w.given.Correction.Kind() == '{':
		return w.given.Correction
	case w.supplied < len(w.given.Corrections):
		w.supplied++
		return w.given.Corrections[w.supplied-1]
	}
	return w.input
}

// checkWorld holds the trace and the records of a case to its conditions, so
// that no honest subject fails by a case that contradicts itself.
func (l *lint) checkWorld(c *Case) {
	w := &world{given: c.given, input: c.given.Input, authOK: *c.given.AuthOK}
	for i, line := range c.Oracle {
		t := readTrace(line)
		want, ok := w.answer()
		switch {
		case !ok:
			l.fault("case %s: execution %d reaches the dependency and responses has no entry %d for it", c.Name, i+1, w.asked+1)
			return
		case want.RetryAfterMS != nil && (*want.RetryAfterMS < 0 || *want.RetryAfterMS > maxMS):
			l.fault("case %s: a wait of %d ms; valid: 0 to %d", c.Name, *want.RetryAfterMS, maxMS)
			return
		case want.Code == codeWait && want.RetryAfterMS == nil:
			l.fault("case %s: TEMP_UNAVAILABLE states no wait", c.Name)
			return
		case t.Code != want.Code:
			l.fault("case %s: execution %d has the code %s, and its conditions give %s", c.Name, i+1, t.Code, want.Code)
			return
		case !same(t.Input, w.input) || t.AuthOK != w.authOK || t.AtMS != w.atMS:
			l.fault("case %s: execution %d has input %s, auth_ok %t and at_ms %d, and the case gives %s, %t and %d",
				c.Name, i+1, t.Input, t.AuthOK, t.AtMS, w.input, w.authOK, w.atMS)
			return
		}
		l.checkRecord(c, i, want)
		w.next(t, want)
	}
}

// checkRecord holds one record to what its execution is answered with.
func (l *lint) checkRecord(c *Case, i int, want response) {
	r, err := parseEnvelope(c.Records[i])
	if err != nil {
		return // checkRecords has said so
	}
	field := ""
	if r.Record.Field != nil {
		field = *r.Record.Field
	}
	due := ""
	if want.Code == codeInvalid {
		due = "shipment_ref"
	}
	if field != due || !sameWait(r.Record.RetryAfterMS, want.RetryAfterMS) {
		l.fault("case %s: record %d has another field or wait than its execution is answered with", c.Name, i+1)
	}
}

func sameWait(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// fixtureWait is what TEMP_UNAVAILABLE asks for in the first form of a case, in
// milliseconds.
const fixtureWait = 1000

// readResponse decodes a response that was read before.
func readResponse(raw jsontext.Value) response {
	var r response
	if raw.Kind() == '"' {
		r.Code, _ = textOf(raw)
		if r.Code == codeWait {
			r.RetryAfterMS = new(int64(fixtureWait))
		}
		return r
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		panic(err)
	}
	return r
}

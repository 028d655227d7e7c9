package webmcp

import (
	"fmt"
	"slices"
	"testing"
)

// TestSigns holds the signs to what Chromium really made of each case: none can
// be left out, and none comes before another whose cases it would take.
func TestSigns(t *testing.T) {
	s := platformSuite(t)
	observed := readRecorded(t, s)
	if failed := failedBy(t, s, observed, signs); len(failed) > 0 {
		t.Fatalf("failed %v", failed)
	}
	for i, left := range signs {
		without := slices.Delete(slices.Clone(signs), i, i+1)
		if len(failedBy(t, s, observed, without)) == 0 {
			t.Errorf("no case needs the sign of %s", left.reading)
		}
	}
}

// TestWrongReadings: what a driver might well believe is rejected, by the rule
// that it breaks.
func TestWrongReadings(t *testing.T) {
	s := platformSuite(t)
	observed := readRecorded(t, s)
	for _, c := range []struct {
		what  string
		wrong sign // it comes before all others
		cases map[string]string
	}{
		{"every failure in the page is a rejection", sign{RejectedCallback, func(o Observed) bool { return o.Error == "UnknownError" }}, map[string]string{
			"result-unserializable": "reading", "write-unserializable": "reading", "tool-withdrawn": "reading", "withdrawn-write": "reading",
		}},
		{"the status Completed is an answer", sign{Answered, func(o Observed) bool { return o.Ended == "Completed" }}, map[string]string{
			"application-failure": "failure-as-success", "application-failure-by-protocol": "failure-as-success",
			"application-failure-worded-as-the-platforms": "failure-as-success", "application-failure-worded-as-the-platforms-by-protocol": "failure-as-success",
			"result-absent": "failure-as-success", "result-absent-by-protocol": "failure-as-success",
		}},
		{"what was stopped was never begun", sign{ToolNotFound, func(o Observed) bool { return o.Stopped }}, map[string]string{
			"abort-of-a-read": "reading", "abort-of-a-write": "reading", "abort-of-a-read-by-protocol": "reading", "abort-of-a-write-by-protocol": "reading",
		}},
		{"what nobody knows is an answer", sign{Answered, func(o Observed) bool { return o.Error == "OddityError" }}, map[string]string{
			"platform-says-what-nobody-knows": "failure-as-success", "platform-says-it-of-a-write": "failure-as-success",
		}},
	} {
		failed := failedBy(t, s, observed, append([]sign{c.wrong}, signs...))
		if fmt.Sprint(failed) != fmt.Sprint(c.cases) {
			t.Errorf("%s: failed %v, want %v", c.what, failed, c.cases)
		}
	}
}

// TestRead reads facts that the suite's page does not give.
func TestRead(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		what string
		o    Observed
		want string
	}{
		{"nothing is known", Observed{}, ToolNotFound},
		{"a tool that is listed, and nothing else", Observed{Listed: true, Object: true}, Unknown},
		{"an abort that nobody asked for", Observed{Listed: true, Object: true, Begun: 1, Error: "AbortError"}, Unknown},
		{"cancelled by somebody else", Observed{Listed: true, Object: true, Begun: 1, Ended: "Canceled"}, Unknown},
		{"stopped, and answered all the same", Observed{Listed: true, Object: true, Begun: 1, Stopped: true, Ended: "Completed", Text: text("{}")}, Answered},
		{"completed without output", Observed{Listed: true, Object: true, Begun: 1, Ended: "Completed"}, Unknown},
		{"a status that does not exist yet", Observed{Listed: true, Object: true, Begun: 1, Ended: "Paused"}, Unknown},
		{"an answer, and the tool unregistered itself", Observed{Object: true, Begun: 1, Ended: "Completed", Text: text("gone")}, Answered},
		{"an answer after the page went away", Observed{Listed: true, Object: true, Begun: 1, Gone: true, Ended: "Completed", Text: text("[]")}, UnloadedDocument},
		{"an array where an object is due, refused", Observed{Listed: true, Error: "Refused"}, UnreadableInput},
		{"an array that reached the tool", Observed{Listed: true, Begun: 1, Ended: "Completed", Text: text("{}")}, Answered},
		{"a serialization that the page's code tried", Observed{Listed: true, Object: true, Begun: 1, Ended: "Error", Exception: "TypeError: Do not know how to serialize a BigInt\n    at JSON.stringify (<anonymous>)"}, RejectedCallback},
		{"a circle", Observed{Listed: true, Object: true, Begun: 1, Ended: "Error", Exception: "TypeError: Converting circular structure to JSON\n    --> starting at object with constructor 'Object'\n    --- property 'a' closes the circle"}, Unserializable},
		{"isError without error", Observed{Listed: true, Object: true, Begun: 1, Text: text(`{"isError":true}`)}, ApplicationFailure},
		{"isError that is no Boolean", Observed{Listed: true, Object: true, Begun: 1, Text: text(`{"isError":"true"}`)}, ApplicationFailure},
		{"isError that is false", Observed{Listed: true, Object: true, Begun: 1, Text: text(`{"isError":false}`)}, Answered},
		{"a list", Observed{Listed: true, Object: true, Begun: 1, Text: text(`["error"]`)}, Answered},
		{"error twice", Observed{Listed: true, Object: true, Begun: 1, Text: text(`{"error":"a","error":"b"}`)}, ApplicationFailure},
		{"a text that begins with Error", Observed{Listed: true, Object: true, Begun: 1, Text: text("Error: transient, retry")}, Answered},
		{"an empty text", Observed{Listed: true, Object: true, Begun: 1, Text: text("")}, Answered},
	} {
		if got := Read(c.o); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

// TestDisposition: each reading ends a task, and no write that may have begun
// ends otherwise than as one whose outcome is not known.
func TestDisposition(t *testing.T) {
	begun := []string{RejectedCallback, Unserializable, UnloadedDocument, Aborted, Hung, Unknown}
	for _, reading := range begun {
		for _, effect := range []string{"idempotent", "keyed", "unsafe", ""} {
			if got := Disposition(reading, effect); got != "outcome_unknown" {
				t.Errorf("%s, %s: %s", reading, effect, got)
			}
		}
	}
	for _, s := range signs {
		for _, effect := range []string{"read", "unsafe"} {
			if got := Disposition(s.reading, effect); (got == "") != (s.reading == ApplicationFailure) || (got == "success") != (s.reading == Answered) {
				t.Errorf("%s, %s: %q", s.reading, effect, got)
			}
		}
	}
}

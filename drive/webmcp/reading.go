package webmcp

import (
	"regexp"

	"remit.example/drive"
	"remit.example/oracle"
)

// The readings, a closed list.
const (
	Answered           = "answered"
	ApplicationFailure = "application_failure"
	ToolNotFound       = "tool_not_found"
	UnreadableInput    = "unreadable_input"
	RejectedCallback   = "rejected_callback"
	Unserializable     = "unserializable_result"
	UnloadedDocument   = "unloaded_document"
	Aborted            = "aborted"
	Hung               = "hung"
	Unknown            = "unknown"
)

// Observed are the facts of one call.
type Observed struct {
	Listed  bool // a tool of the name was registered when the call had ended
	Object  bool // the input is an object
	Begun   int  // executions of the tool that the browser began
	Gone    bool // its document went away, or its process ended, before the call did
	Stopped bool // the caller told the platform to stop it
	Late    bool // it had not ended within the bound
	// Text is what the tool resolved with; nil where nothing is known of it.
	Text *string
	// Error is the name of the error that the call itself ended with; "" for none.
	Error string
	// Ended is the status that the browser reports of the execution: Completed,
	// Canceled or Error; "" where it reports none.
	Ended     string
	Exception string // what the browser shows of the exception, its stack included
}

// sign is what a reading is told by.
type sign struct {
	reading string
	holds   func(o Observed) bool
}

// signs decide a reading: the first that holds.
var signs = []sign{
	{UnloadedDocument, func(o Observed) bool { return o.Gone }},
	{Hung, func(o Observed) bool { return o.Late }},
	{Aborted, func(o Observed) bool { return o.Stopped && (o.Error == "AbortError" || o.Ended == "Canceled") }},
	{ToolNotFound, func(o Observed) bool { return o.Begun == 0 && !o.Listed && o.Text == nil }},
	{UnreadableInput, func(o Observed) bool { return o.Begun == 0 && !o.Object && o.Error != "" }},
	{Unserializable, func(o Observed) bool {
		return o.Ended == "Error" && !stack.MatchString(o.Exception) && notJSON.MatchString(o.Exception) || o.Text != nil && *o.Text == "undefined"
	}},
	{RejectedCallback, func(o Observed) bool { return o.Ended == "Error" }},
	{ApplicationFailure, func(o Observed) bool { return o.Text != nil && failed([]byte(*o.Text)) }},
	{Answered, func(o Observed) bool { return o.Text != nil }},
}

var (
	// stack finds a line of a stack, which what the page's own code throws has.
	stack = regexp.MustCompile(`\n\s+at `)
	// notJSON is what an exception is that the browser makes where a result
	// cannot be written as JSON.
	notJSON = regexp.MustCompile(`^TypeError: `)
)

// Read decides what the facts of a call mean.
func Read(o Observed) string { return readBy(signs, o) }

func readBy(signs []sign, o Observed) string {
	for _, s := range signs {
		if s.holds(o) {
			return s.reading
		}
	}
	return Unknown
}

// failed reports whether a text is an object that carries what no success does.
func failed(text []byte) bool {
	answer, err := drive.ReadAnswer(text)
	return err == nil && answer.Failed && answer.Body.Kind() == '{'
}

// ends are how each reading ends a task: on a read, and on anything else.
var ends = map[string][2]string{
	Answered:         {"success", "success"},
	ToolNotFound:     {"unknown", "unknown"},
	UnreadableInput:  {"needs_input", "needs_input"},
	RejectedCallback: {"unknown", "outcome_unknown"},
	Unserializable:   {"unknown", "outcome_unknown"},
	UnloadedDocument: {"unknown", "outcome_unknown"},
	Aborted:          {"cancelled", "outcome_unknown"},
	Hung:             {"unknown", "outcome_unknown"},
	Unknown:          {"unknown", "outcome_unknown"},
}

// Disposition is how a reading ends a task; "" where the record of an
// application failure decides. Any effect but read is one that may have
// changed something.
func Disposition(reading, effect string) string {
	if effect == "read" {
		return ends[reading][0]
	}
	return ends[reading][1]
}

// readingOf is the result of a case.
func readingOf(call oracle.Call, reading string, executions int) oracle.Reading {
	r := oracle.Reading{Case: call.Case, Reading: reading, Executions: executions}
	if end := Disposition(r.Reading, call.Effect); end != "" {
		r.Disposition = &end
	}
	switch r.Reading {
	case Answered:
	case ApplicationFailure:
		r.Failure = new("application")
	default:
		r.Failure = new("platform")
	}
	return r
}

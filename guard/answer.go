package guard

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Response is what came of sending a call upstream once. Over HTTP it has the
// status and the header; Message is nil where the body is no JSON-RPC message.
type Response struct {
	Status  int // 0 where there is none
	Header  http.Header
	Body    []byte
	Message *Message
	// Unreached says that by the protocol the request reached no tool, as where
	// its session has ended.
	Unreached bool
}

// answer is what the result of a call says.
type answer struct {
	failed     bool // isError
	texts      []string
	structured jsontext.Value
	meta       jsontext.Value
	// asks says that it is no end: a question to the caller, or a task of the
	// protocol that runs on.
	asks, runs bool
}

// readAnswer reads a result. An error says that it is none of a call.
func readAnswer(result jsontext.Value) (answer, error) {
	var a answer
	seen := make([]string, 0, 8)
	err := eachOf(result, false, func(name string, value jsontext.Value, _ int) error {
		if slices.Contains(seen, name) {
			return errGivenTwice
		}
		seen = append(seen, name)
		switch name {
		case "isError":
			a.failed = value.Kind() == 't'
		case "content":
			for _, item := range itemsOf(value) {
				if text := memberOf(item, "text"); text.Kind() == '"' {
					a.texts = append(a.texts, textOf(text))
				}
			}
		case "structuredContent":
			a.structured = value
		case "_meta":
			a.meta = value
		case "resultType":
			switch textOf(value) {
			case "complete":
			case "input_required":
				a.asks = true
			default: // a task, or what a later revision has
				a.runs = true
			}
		case "task":
			a.runs = value.Kind() == '{'
		}
		return nil
	})
	return a, err
}

// text is the whole text of the answer, its parts on lines of their own.
func (a answer) text() string { return strings.Join(a.texts, "\n") }

// body is the structured content, or else the first text read as JSON; nil
// where there is neither.
func (a answer) body() jsontext.Value {
	if a.structured.Kind() == '{' {
		return a.structured
	}
	if len(a.texts) == 0 {
		return nil
	}
	body := jsontext.Value(bytes.TrimSpace([]byte(a.texts[0])))
	if body.Kind() != '{' || !body.IsValid() {
		return nil
	}
	return body
}

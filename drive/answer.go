package drive

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

// lenient reads what the judge is to see for itself: members that stand twice.
var lenient = jsontext.AllowDuplicateNames(true)

// ReadAnswer reads the body of an answer, whose bytes stay as they are. It has
// failed if it is no JSON object or carries what no success does: error,
// recovery, isError, or ok or success that is not true. Its record is its member
// recovery, if that stands once. What is not one JSON value, or longer than
// MaxAnswer, is an error.
func ReadAnswer(body []byte) (oracle.ToolAnswer, error) {
	switch {
	case len(body) == 0:
		return oracle.ToolAnswer{}, errors.New("the body is empty; valid: JSON")
	case len(body) > MaxAnswer:
		return oracle.ToolAnswer{}, fmt.Errorf("the body is longer than %d bytes", MaxAnswer)
	case !jsontext.Value(body).IsValid(lenient):
		return oracle.ToolAnswer{}, fmt.Errorf("the body is not JSON: %.200q", body)
	}
	answer := oracle.ToolAnswer{Failed: jsontext.Value(body).Kind() != '{', Body: body}
	for _, name := range []string{"error", "recovery", "isError", "ok", "success"} {
		values := valuesOf(body, name)
		for _, value := range values {
			succeeds := name == "isError" && value.Kind() == 'f' || (name == "ok" || name == "success") && value.Kind() == 't'
			answer.Failed = answer.Failed || !succeeds
		}
		if name == "recovery" && len(values) == 1 {
			answer.Record = values[0]
		}
	}
	return answer, nil
}

// valuesOf are the values of the members of that name, to the byte.
func valuesOf(body []byte, name string) (values []jsontext.Value) {
	decoder := jsontext.NewDecoder(bytes.NewReader(body), lenient)
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return nil
	}
	for decoder.PeekKind() == '"' {
		token, err := decoder.ReadToken()
		if err != nil {
			return values
		}
		found := token.String() == name // before the next read, which takes its bytes
		value, err := decoder.ReadValue()
		if err != nil {
			return values
		}
		if found {
			values = append(values, value.Clone())
		}
	}
	return values
}

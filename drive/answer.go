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
// failed if it carries error, and its record is its member recovery. What is
// not one JSON value, or longer than MaxAnswer, is an error.
func ReadAnswer(body []byte) (oracle.ToolAnswer, error) {
	switch {
	case len(body) == 0:
		return oracle.ToolAnswer{}, errors.New("the body is empty; valid: JSON")
	case len(body) > MaxAnswer:
		return oracle.ToolAnswer{}, fmt.Errorf("the body is longer than %d bytes", MaxAnswer)
	case !jsontext.Value(body).IsValid(lenient):
		return oracle.ToolAnswer{}, fmt.Errorf("the body is not JSON: %.200q", body)
	}
	return oracle.ToolAnswer{Failed: member(body, "error") != nil, Body: body, Record: member(body, "recovery")}, nil
}

// member is the value of the first member of that name, to the byte; nil where
// there is none.
func member(body []byte, name string) jsontext.Value {
	decoder := jsontext.NewDecoder(bytes.NewReader(body), lenient)
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return nil
	}
	for decoder.PeekKind() == '"' {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil
		}
		found := token.String() == name // before the next read, which takes its bytes
		value, err := decoder.ReadValue()
		if err != nil {
			return nil
		}
		if found {
			return value.Clone()
		}
	}
	return nil
}

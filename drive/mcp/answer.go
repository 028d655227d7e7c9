package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/drive"
	"remit.example/oracle"
)

// read is what a tool answered.
func read(result *sdk.CallToolResult) (oracle.ToolAnswer, error) {
	texts := textsOf(result)
	switch {
	case result.NeedsInput():
		return oracle.ToolAnswer{}, errors.New("the server asks for more input, and there is none to give")
	case len(texts) == 0:
		return oracle.ToolAnswer{}, errors.New("the answer has no text content; valid: the body as JSON")
	case slices.ContainsFunc(texts, tooLong):
		return oracle.ToolAnswer{}, fmt.Errorf("a text of the answer is longer than %d bytes", drive.MaxAnswer)
	}
	if !result.IsError && !hasError(result.StructuredContent) {
		answer, err := drive.ReadAnswer(texts[0])
		if err != nil || !answer.Failed {
			return answer, err
		}
	}
	return readFailure(result, texts[len(texts)-1])
}

// inJSON is an answer of a foreign tool with its body as the first text, where
// that is prose. Failures in prose are read as they are.
func inJSON(result *sdk.CallToolResult) *sdk.CallToolResult {
	texts := textsOf(result)
	if result.IsError || len(texts) > 0 && jsontext.Value(texts[0]).Kind() == '{' && jsontext.Value(texts[0]).IsValid() {
		return result
	}
	body, err := json.Marshal(result.StructuredContent)
	if result.StructuredContent == nil {
		said, _ := json.Marshal(string(bytes.Join(texts, []byte("\n")))) // a text has its JSON
		body, err = append(append([]byte(`{"text":`), said...), '}'), nil
	}
	if err != nil {
		return result
	}
	changed := *result
	changed.Content = []sdk.Content{&sdk.TextContent{Text: string(body)}}
	return &changed
}

func readFailure(result *sdk.CallToolResult, text []byte) (oracle.ToolAnswer, error) {
	answer, err := drive.ReadAnswer(text)
	if err != nil {
		sentence, err := json.Marshal(string(text))
		if err != nil {
			return oracle.ToolAnswer{}, err
		}
		answer.Body = sentence
	}
	answer.Failed = true
	beside, err := recordBeside(result)
	if err != nil {
		return oracle.ToolAnswer{}, err
	}
	answer.Record = one(answer.Record, beside)
	return answer, nil
}

func tooLong(text []byte) bool { return len(text) > drive.MaxAnswer }

// textsOf are the texts of an answer.
func textsOf(result *sdk.CallToolResult) [][]byte {
	var texts [][]byte
	for _, content := range result.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			texts = append(texts, []byte(text.Text))
		}
	}
	return texts
}

func hasError(structured any) bool {
	object, _ := structured.(map[string]any)
	_, ok := object["error"]
	return ok
}

// recordBeside is the record in the _meta of an answer; nil where there is none.
func recordBeside(result *sdk.CallToolResult) (jsontext.Value, error) {
	value, ok := result.Meta["remit/recovery"]
	if !ok {
		return nil, nil
	}
	record, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf(`_meta["remit/recovery"]: %w`, err)
	}
	return record, nil
}

// one is the record that two places state, either of which may have none.
func one(inBody, beside jsontext.Value) jsontext.Value {
	switch {
	case beside == nil:
		return inBody
	case inBody == nil:
		return beside
	}
	a, b := inBody.Clone(), beside.Clone()
	if a.Canonicalize() != nil || b.Canonicalize() != nil || string(a) == string(b) {
		return inBody // the judge sees for itself what has no canonical form
	}
	return jsontext.Value(fmt.Sprintf(`{"_meta":%s,"body":%s}`, beside, inBody))
}

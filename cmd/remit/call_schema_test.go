package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"remit.example/tool"
)

// everyKind is a contract with a column of every type and a tool of every
// promise in catalogue-v2; the built-in examples have catalogue-v1.
const everyKind = `remit: 1
service: lamp-shop
data: {file: lamps.csv, as_of: 2026-01-01}
columns:
  sku: {id: true}
  title: {type: text, show: true, example: lamp}
  link: {type: url, show: true, unknown: [""]}
  price: {type: money, currency: EUR, from: decimal, show: true, prefer: [lowest, highest], example: 4999}
  lumens: {type: integer, unit: LUM, unknown: [""], prefer: highest}
  watts: {type: decimal, scale: 1, unknown: [""], prefer: lowest, example: 7.5}
  in_stock: {type: boolean, "true": ["yes"], "false": ["no"], volatile: true, prefer: "true", example: true}
purposes:
  matching: {version: "1", owner: x@shop.example, method: none, needs: [a spectrum]}
tools:
  search_lamps: {promise: search, filters: {title: words, link: equals, price: [min, max], lumens: min, watts: equals, in_stock: equals}}
  rank_lamps: {promise: rank_preferences, filters: {price: max}, unknown: exclude}
  rank_strictly: {promise: rank_preferences, preferences: [lumens_descending, price_ascending], unknown: reject}
  rank_v1: {promise: rank_preferences, format: catalogue-v1, record: recovery-v1}
  assess_lamps: {promise: assess_suitability, filters: {lumens: min}}
  get_lamp: {promise: lookup, by: sku, record: recovery-v1}
`

const everyKindData = "sku,title,link,price,lumens,watts,in_stock\n0017,Desk lamp,https://shop.example/?a=1&b=2,49.99,800,7.5,yes\n0018,Lamp,,0.5,,,no\n"

// allTools is the tools of the built-in examples and those above.
func allTools(t *testing.T) []*tool.Tool {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{contractFile: everyKind, "lamps.csv": everyKindData} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var tools []*tool.Tool
	for _, paths := range [][]string{nil, {folder}} {
		o, err := open(paths)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, o.set.Tools()...)
	}
	return tools
}

func compile(t *testing.T, text json.RawMessage) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return schema
}

func instance(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// browserWords are the words of JSON Schema that browsers accept in the input
// of a tool.
var browserWords = []string{
	"type", "properties", "required", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern",
	"items", "prefixItems", "additionalProperties", "default", "description",
}

// checkSubset reports what a browser would drop or refuse.
func checkSubset(t *testing.T, name string, schema map[string]any) {
	t.Helper()
	for word, value := range schema {
		inner, _ := value.(map[string]any)
		_, isText := value.(string)
		switch {
		case !slices.Contains(browserWords, word):
			t.Errorf("%s has %s", name, word)
		case word == "properties":
			for property, s := range inner {
				checkSubset(t, name+"."+property, s.(map[string]any))
			}
		case word == "items":
			checkSubset(t, name+"[]", inner)
		case word == "additionalProperties" && value != false, word == "type" && !isText, word == "default" && value == nil:
			t.Errorf("%s: %s is %v", name, word, value)
		case word == "description" && utf8.RuneCountInString(value.(string)) > 150:
			t.Errorf("%s: a description of over 150 characters", name)
		}
	}
}

// TestDescriptions: what a tool says of itself is short enough to be read, in
// words that a browser knows, and admits its own example.
func TestDescriptions(t *testing.T) {
	for _, described := range allTools(t) {
		input := instance(t, described.InputSchema).(map[string]any)
		checkSubset(t, described.Name, input)
		if input["type"] != "object" || input["additionalProperties"] != false {
			t.Errorf("%s takes more than it knows: %s", described.Name, described.InputSchema)
		}
		if n := utf8.RuneCountInString(described.Description); n == 0 || n > 500 {
			t.Errorf("%s has a description of %d characters", described.Name, n)
		}
		if err := compile(t, described.InputSchema).Validate(instance(t, described.Example)); err != nil {
			t.Errorf("%s: %s: %v", described.Name, described.Example, err)
		}
		output := instance(t, described.OutputSchema).(map[string]any)
		if forms, _ := output["anyOf"].([]any); output["type"] != "object" || len(forms) != 2 {
			t.Errorf("%s: %s", described.Name, described.OutputSchema)
		}
	}
}

// TestAnswersFitTheirSchema calls each tool with its example, which is
// answered, and with requests that fail: every body is admitted, and a client
// can tell which of the two it is.
func TestAnswersFitTheirSchema(t *testing.T) {
	for _, called := range allTools(t) {
		schema := compile(t, called.OutputSchema)
		inputs := map[string]bool{string(called.Example): true, `{`: false, `[]`: false, `{}`: false, `{"request_id":7,"x":1}`: false}
		for _, more := range []string{`"filters":{"max_price_minor":1}`, `"preferences":null`, `"limit":1`, `"filters":null`} {
			inputs[`{"request_id":"x",`+more+`}`] = false
		}
		for input, answered := range inputs {
			for _, characters := range []int{0, tool.AgentCharacters} {
				answer := called.Call(t.Context(), tool.Call{Input: []byte(input), Characters: characters})
				body := instance(t, answer.Body)
				if err := schema.Validate(body); err != nil {
					t.Errorf("%s %s: %s: %v", called.Name, input, answer.Body, err)
				}
				if answered && answer.Failure != nil {
					t.Errorf("%s: the example fails: %s", called.Name, answer.Body)
				}
				checkForm(t, called.Name, body.(map[string]any), answer)
			}
		}
	}
}

// checkForm: a failure has the four members that everyone reads and never
// those of a wire; a success has none that a reader takes for a failure.
func checkForm(t *testing.T, name string, body map[string]any, answer tool.Answer) {
	t.Helper()
	four := 0
	for member := range body {
		switch member {
		case "error", "code", "retryable", "recovery":
			four++
		case "isError", "content", "ok", "success":
			t.Errorf("%s: a body has %s: %s", name, member, answer.Body)
		}
	}
	if want := map[bool]int{true: 4}[answer.Failure != nil]; four != want {
		t.Errorf("%s: %d members of a failure, want %d: %s", name, four, want, answer.Body)
	}
}

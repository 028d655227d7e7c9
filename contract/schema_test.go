package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("contract.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("contract.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func accepts(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	root, problem := parse(Source{Name: "contract.yaml", Bytes: []byte(text)})
	if problem != nil {
		return problem
	}
	var b strings.Builder
	if !appendJSON(&b, root, "") {
		return errors.New("no JSON")
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(instance)
}

func TestSchema(t *testing.T) {
	golden(t, "schema.golden.json", string(Schema()))
	schema := compiled(t)
	for _, name := range examples {
		if err := accepts(t, schema, example(t, name)); err != nil {
			t.Errorf("the schema refuses %s: %v", name, err)
		}
	}
}

// TestSchemaAcceptsWhatParseAccepts varies how values are written: whatever
// Parse accepts, the schema accepts.
func TestSchemaAcceptsWhatParseAccepts(t *testing.T) {
	schema := compiled(t)
	for _, c := range []struct {
		file string
		edit edit
	}{
		{lamps, edit{"prefer: lowest", "prefer: [lowest, highest]"}},
		{lamps, edit{"volatile: true", "volatile: true, prefer: true"}},
		{lamps, edit{"volatile: true", "volatile: true, prefer: \"true\""}},
		{lamps, edit{"unknown: [\"\"]", "unknown: [1.5, true, n/a, -]"}},
		{lamps, edit{"at_least: 90", "at_least: \"90\""}},
		{lamps, edit{"at_least: 90", "between: [90, 100.0]"}},
		{lamps, edit{"max_age: none", "max_age: 5000d"}},
		{lamps, plotted("{x: ra, y: r1}")[0]},
		{lamps, plotted("{x: price, y: {lowest: [r1, ra]}}")[0]},
		{lamps, edit{"as_of: file", "as_of: 2026-01-31T08:00:00Z"}},
		{lamps, edit{"as_of: file", "as_of: 2026-01-31"}},
		{lamps, edit{"price: max", "price: [max]"}},
		{lamps, edit{"price: max", "price: [max, min]"}},
		{lamps, edit{"currency: EUR", "currency: EUR, example: 6000"}},
		{lamps, edit{"file: products.csv", "file: products.csv, delimiter: \"\\t\""}},
		{lamps, edit{"file: products.csv", "file: products.csv, format: csv, delimiter: ;"}},
		{lamps, edit{"lumens: {type: integer", "lumens: {label: {name: light, highest: more light}, type: integer"}},
		{lamps, edit{"lumens: {type: integer", "lumens: {label: light, type: integer"}},
		{lamps, edit{"reads: anonymous, rate: 30/min", "reads: anonymous"}},
		{parcels, edit{"status: 401", "status: \"401\""}},
		{parcels, edit{"example: 7", "example: \"7\""}},
		{parcels, edit{"remit: 1", "remit: 1\nbudget: {executions: 5}"}},
	} {
		text := apply(t, example(t, c.file), c.edit)
		mustParse(t, c.file, text)
		if err := accepts(t, schema, text); err != nil {
			t.Errorf("the schema refuses %q: %v", c.edit.new, err)
		}
	}
}

// TestSchemaRefuses checks that the schema is no empty promise: of the cases
// that Parse refuses for their notation, it refuses these.
func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	for _, name := range []string{
		"an unknown key", "required keys of a contract", "a number for a text", "a text for a number", "a text for a list",
		"a text for a mapping", "words", "durations", "rates", "codes", "statuses", "a list for columns", "yes for true", "an empty delimiter",
		"a document that is no mapping", "half a plot", "an axis of nothing", "words of a guard", "a key without an argument", "a key of a guard that is unknown",
	} {
		found := false
		for _, c := range problemCases {
			if c.name != name {
				continue
			}
			found = true
			if err := accepts(t, schema, apply(t, example(t, c.file), c.edits...)); err == nil {
				t.Errorf("the schema accepts: %s", name)
			}
		}
		if !found {
			t.Errorf("no case is named %s", name)
		}
	}
}

// TestSchemaDescribes checks that every key says what it is.
func TestSchemaDescribes(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		for name, value := range properties {
			inner := value.(map[string]any)
			if text, _ := inner["description"].(string); text == "" {
				t.Errorf("%s.%s has no description", path, name)
			}
			walk(path+"."+name, inner)
		}
		for _, key := range []string{"additionalProperties", "items"} {
			if inner, ok := schema[key].(map[string]any); ok {
				walk(path, inner)
			}
		}
	}
	walk("", root)
}

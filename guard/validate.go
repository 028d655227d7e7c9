package guard

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"remit.example/record"
)

// maxFields bounds how many faults one refusal names.
const maxFields = 20

// refused are the fields at which arguments do not fit the tool's schema; none
// where they fit, or where the schema cannot be read. withKey says that the
// guard adds the argument key itself.
func (t *listed) refused(arguments jsontext.Value, key string) []record.Field {
	if t == nil || t.schema == nil {
		return nil
	}
	t.once.Do(t.compile)
	if t.compiled == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return nil // readCall has read it
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](t.compiled.Validate(value))
	if !ok {
		return nil
	}
	fields := leaves(nil, invalid)
	fields = slices.DeleteFunc(fields, func(f record.Field) bool {
		return key != "" && f.Reason == "missing" && f.Pointer == "/"+pointerToken(key)
	})
	return fields[:min(len(fields), maxFields)]
}

// errNoLoad keeps a schema from reading files and addresses.
var errNoLoad = errors.New("a schema stands alone")

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errNoLoad }

func (t *listed) compile() {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.schema))
	if err != nil {
		return
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	const address = "remit:input"
	if compiler.AddResource(address, document) != nil {
		return
	}
	if compiled, err := compiler.Compile(address); err == nil {
		t.compiled = compiled
	}
}

// leaves are the faults that have no cause of their own, in the order of the
// schema. Of alternatives that all fail only their place is named.
func leaves(fields []record.Field, e *jsonschema.ValidationError) []record.Field {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains:
		return append(fields, fieldOf(e.InstanceLocation, "not_accepted", "one of the listed forms"))
	}
	if len(e.Causes) == 0 {
		return append(fields, leaf(e)...)
	}
	for _, cause := range e.Causes {
		fields = leaves(fields, cause)
	}
	return fields
}

func fieldOf(location []string, reason, accepted string) record.Field {
	pointer := ""
	for _, token := range location {
		pointer += "/" + pointerToken(token)
	}
	return record.Field{Pointer: pointer, Reason: reason, Accepted: accepted}
}

// leaf is what one fault says, in the words of the served tools.
func leaf(e *jsonschema.ValidationError) []record.Field {
	at := func(reason, format string, args ...any) []record.Field {
		return []record.Field{fieldOf(e.InstanceLocation, reason, fmt.Sprintf(format, args...))}
	}
	each := func(names []string, reason, accepted string) []record.Field {
		var fields []record.Field
		for _, name := range names {
			fields = append(fields, fieldOf(append(slices.Clone(e.InstanceLocation), name), reason, accepted))
		}
		return fields
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, "missing", "a value")
	case *kind.DependentRequired:
		return each(k.Missing, "missing", "a value")
	case *kind.AdditionalProperties:
		return each(k.Properties, "unknown_argument", "no such argument")
	case *kind.Type:
		return at("wrong_type", "%s", strings.Join(k.Want, " or "))
	case *kind.Enum:
		return at("not_accepted", "one of: %s", listOf(k.Want))
	case *kind.Const:
		return at("not_accepted", "%v", k.Want)
	case *kind.Minimum:
		return at("out_of_range", "at least %s", k.Want.RatString())
	case *kind.ExclusiveMinimum:
		return at("out_of_range", "more than %s", k.Want.RatString())
	case *kind.Maximum:
		return at("out_of_range", "at most %s", k.Want.RatString())
	case *kind.ExclusiveMaximum:
		return at("out_of_range", "less than %s", k.Want.RatString())
	case *kind.MultipleOf:
		return at("out_of_range", "a multiple of %s", k.Want.RatString())
	case *kind.MinLength:
		return at("out_of_range", "at least %d characters", k.Want)
	case *kind.MaxLength:
		return at("out_of_range", "at most %d characters", k.Want)
	case *kind.MinItems:
		return at("out_of_range", "at least %d items", k.Want)
	case *kind.MaxItems:
		return at("out_of_range", "at most %d items", k.Want)
	case *kind.Pattern:
		return at("malformed", "text that matches %s", k.Want)
	}
	return at("not_accepted", "what the tool's schema says")
}

// listOf shows the values of an enumeration, as many as a reader needs.
func listOf(values []any) string {
	const most = 20
	var shown []string
	for i, value := range values {
		if i == most {
			shown = append(shown, fmt.Sprintf("and %d more", len(values)-most))
			break
		}
		shown = append(shown, fmt.Sprint(value))
	}
	return strings.Join(shown, ", ")
}

// invalid is the failure of arguments that the tool's schema refuses.
func invalid(fields []record.Field) *record.Record {
	var parts []string
	for _, f := range fields {
		parts = append(parts, fmt.Sprintf("%s: %s; valid: %s", dotted(f.Pointer), strings.ReplaceAll(f.Reason, "_", " "), f.Accepted))
	}
	return &record.Record{
		Code: record.InvalidArgument, Field: dotted(fields[0].Pointer), Fields: fields,
		Message: "The arguments do not fit the tool's schema. " + strings.Join(parts, ". ") + ".",
	}
}

// dotted is a JSON Pointer as a dotted path.
func dotted(pointer string) string {
	var tokens []string
	for token := range jsontext.Pointer(pointer).Tokens() {
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return "arguments"
	}
	return strings.Join(tokens, ".")
}

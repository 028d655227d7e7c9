package contract

import (
	"encoding/json"
	"reflect"
)

// Schema is the JSON Schema (draft 2020-12) of the contract file, indented.
// It describes the notation; validation checks more.
func Schema() []byte {
	schema := schemaOf(reflect.TypeFor[Contract]())
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Remit contract"
	schema["anyOf"] = []any{object{"required": []string{"upstream"}}, servedSchema(reflect.TypeFor[Contract]())}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil { // it holds only texts, lists and maps
		panic(err)
	}
	return append(text, '\n')
}

type object = map[string]any

func schemaOf(t reflect.Type) object {
	if t.Kind() == reflect.Pointer {
		return schemaOf(t.Elem())
	}
	pointer := reflect.New(t).Interface()
	switch target := pointer.(type) {
	case *Filter:
		op := schemaOf(reflect.TypeFor[FilterOp]())
		return object{"anyOf": []any{op, object{"type": "array", "items": op, "minItems": 1, "maxItems": 2}}}
	case *Label, *Axis:
		return object{"anyOf": []any{object{"type": "string", "minLength": 1}, structSchema(t)}}
	case worded:
		return wordsSchema(target.words())
	case patterned:
		return object{"type": []string{"string", "number"}, "pattern": target.pattern()}
	case scalar:
		return object{"type": []string{"string", "number", "boolean"}}
	case orderedReader:
		return object{"type": "object", "additionalProperties": schemaOf(target.add("").Type())}
	}
	return plainSchema(t)
}

func wordsSchema(words []string) object {
	values := make([]any, 0, len(words)+1)
	for _, word := range words {
		values = append(values, word)
		if word == "true" {
			values = append(values, true)
		}
	}
	return object{"enum": values}
}

func plainSchema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Struct:
		return structSchema(t)
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	}
	return object{"type": "string", "minLength": 1}
}

// servedSchema requires what a contract without upstream requires beside.
func servedSchema(t reflect.Type) object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(t) {
		if f.needed(true) || !f.needed(false) {
			continue
		}
		required = append(required, f.name)
		if o, ok := reflect.New(t.Field(f.index).Type).Interface().(orderedReader); ok {
			properties[f.name] = object{"additionalProperties": servedSchema(o.add("").Type())}
		}
	}
	schema := object{"required": required}
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	return schema
}

func structSchema(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(t) {
		schema := schemaOf(t.Field(f.index).Type)
		if f.scalar {
			schema = object{"anyOf": []any{schema["items"], schema}}
		}
		schema["description"] = f.doc
		properties[f.name] = schema
		if f.needed(true) {
			required = append(required, f.name)
		}
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

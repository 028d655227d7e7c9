package catalogue

import (
	"context"
	"fmt"
	"strings"

	"remit.example/contract"
	"remit.example/record"
)

// Description says positively what the tool returns, in at most 500
// characters; the contract's own words come first where it has some.
func (t *Tool) Description() string {
	if t.declared.Description != "" {
		return t.declared.Description
	}
	text := map[contract.Promise]func() string{
		contract.Search: t.describeSearch, contract.RankPreferences: t.describeRank,
		contract.AssessSuitability: t.describeAssess, contract.Lookup: t.describeLookup,
	}[t.declared.Promise]()
	if runes := []rune(text); len(runes) > maxDescription {
		return string(runes[:maxDescription-1]) + "…"
	}
	return text
}

// The bounds of texts that agents read.
const (
	maxDescription = 500
	maxArgument    = 150
)

func (t *Tool) describeSearch() string {
	return fmt.Sprintf("Returns the records of %s that meet every filter given%s. An exact match against one snapshot; nothing is ranked or recommended.",
		t.Contract.Service, t.filterNames())
}

func (t *Tool) filterNames() string {
	if len(t.filters) == 0 {
		return ""
	}
	var list []string
	for _, filter := range t.filters {
		list = append(list, filter.Name)
	}
	return fmt.Sprintf(" (%s)", strings.Join(list, ", "))
}

func (t *Tool) describeRank() string {
	return fmt.Sprintf("Returns the matching records of %s in the order of the preferences that you name, the first deciding first: %s. Equal records share a rank. It does not say which is best or suitable for a use.",
		t.Contract.Service, strings.Join(names(t.preferences), ", "))
}

func (t *Tool) describeAssess() string {
	return fmt.Sprintf("Returns, for each matching record of %s, whether evidence records meet the criteria of a declared purpose (%s), and which evidence is missing. It affirms criteria and recommends nothing.",
		t.Contract.Service, strings.Join(t.purposes.Names(), ", "))
}

func (t *Tool) describeLookup() string {
	return fmt.Sprintf("Returns the one record of %s with this %s.", t.Contract.Service, t.declared.By)
}

// InputSchema is the JSON Schema of a request, within the subset that browsers
// accept: an argument that may be null or of several types carries no type.
func (t *Tool) InputSchema() []byte {
	return objectOf(func(o *objectWriter) {
		o.text("type", "object")
		o.object("properties", func(o *objectWriter) {
			for _, a := range t.arguments {
				if len(a.path) == 1 {
					o.object(a.path[0], func(o *objectWriter) { t.argumentSchema(o, a) })
				}
			}
		})
		var required []string
		for _, a := range t.arguments {
			if a.required {
				required = append(required, a.path[0])
			}
		}
		o.texts("required", required)
		o.boolean("additionalProperties", false)
	})
}

func (t *Tool) argumentSchema(o *objectWriter, a argument) {
	describe := func(text string) { o.text("description", clipTo(text, maxArgument)) }
	switch a.path[0] {
	case "request_id":
		o.text("type", "string")
		describe("Your name for this request; the answer repeats it.")
	case "filters":
		o.text("type", "object")
		describe("Conditions that every returned record meets; bounds are inclusive.")
		o.object("properties", func(o *objectWriter) {
			for _, filter := range t.filters {
				o.object(filter.Name, func(o *objectWriter) { t.filterSchema(o, filter) })
			}
		})
		o.boolean("additionalProperties", false)
	case "preferences":
		describe("What matters, the most important first, each field once. Null asks what can be named.")
		o.object("items", func(o *objectWriter) { t.preferenceSchema(o) })
	case "purpose":
		o.text("type", "string")
		o.texts("enum", t.purposes.Names())
		describe("The declared use to assess for.")
	case "limit":
		o.text("type", "integer")
		o.integer("minimum", 1)
		o.integer("maximum", maxLimit)
		o.integer("default", defaultLimit)
		describe("Most items on one page.")
	case "ties":
		o.text("type", "string")
		o.texts("enum", []string{"include", "cut"})
		o.text("default", "include")
		describe("Whether a page grows to hold a whole tie.")
	case "cursor":
		describe("The cursor of the answer before, for the next page of the same request; null for the first.")
	default:
		o.text("type", "string")
		o.integer("minLength", 1)
		describe("The " + a.path[0] + " of one record.")
	}
}

func (t *Tool) preferenceSchema(o *objectWriter) {
	if t.v1() {
		o.text("type", "string")
		o.texts("enum", names(t.preferences))
		return
	}
	o.text("description", clipTo(fmt.Sprintf("One of %s; or {field, prefer, unknown}.", strings.Join(names(t.preferences), ", ")), maxArgument))
}

func (t *Tool) filterSchema(o *objectWriter, f contract.FilterArgument) {
	column := t.schema.Columns[t.schema.index(f.Column)]
	o.text("type", acceptedBy(column, f.Op))
	if column.Kind.Textual() {
		o.integer("minLength", 1)
	}
	o.text("description", clipTo(t.filterDescription(f), maxArgument))
}

func (t *Tool) filterDescription(f contract.FilterArgument) string {
	name, unit := t.words.name(f.Column), ""
	if u := t.unit(t.schema.index(f.Column)); u != "" {
		unit = " in " + u
		if declared, _ := t.Contract.Columns.Get(f.Column); declared.Type == contract.Money {
			unit = " in minor units of " + u
		}
	}
	return map[contract.FilterOp]string{
		contract.Max: "Highest " + name + unit + ", inclusive.", contract.Min: "Lowest " + name + unit + ", inclusive.",
		contract.Equals: "Only records whose " + name + unit + " is exactly this.", contract.Words: "Words that must all occur in the " + name + ".",
	}[f.Op]
}

func clipTo(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// AnswerSchema is the JSON Schema of an answer that is no failure.
func (t *Tool) AnswerSchema() []byte {
	statuses := map[contract.Promise][]string{
		contract.Search:            {"matches", "no_matches"},
		contract.RankPreferences:   {"preference_order", "clarify_preferences", "no_matches"},
		contract.AssessSuitability: {"assessed", "insufficient_evidence", "no_matches"},
		contract.Lookup:            {"found", "not_found"},
	}[t.declared.Promise]
	return objectOf(func(o *objectWriter) {
		o.text("type", "object")
		o.object("properties", func(o *objectWriter) {
			o.raw("request_id", `{"type":"string"}`)
			o.object("status", func(o *objectWriter) {
				o.text("type", "string")
				o.texts("enum", statuses)
			})
			o.raw("recommendation", `{"type":"boolean","enum":[false]}`)
		})
		o.texts("required", []string{"request_id", "status", "recommendation"})
	})
}

// Example is a request to try: filters by the columns' examples, the first
// preferences or purpose, or the first record.
func (t *Tool) Example() []byte {
	return objectOf(func(o *objectWriter) {
		o.text("request_id", "example-1")
		if t.declared.Promise == contract.Lookup {
			o.text(t.declared.By, t.firstID())
			return
		}
		seen := map[string]bool{}
		o.object("filters", func(o *objectWriter) {
			for _, filter := range t.filters {
				// One bound of a column is enough: both would ask for one value.
				if example := t.exampleOf(filter); example != "" && !seen[filter.Column] {
					seen[filter.Column] = true
					o.raw(filter.Name, example)
				}
			}
		})
		switch t.declared.Promise {
		case contract.RankPreferences:
			o.raw("preferences", t.examplePreferences())
		case contract.AssessSuitability:
			o.text("purpose", t.purposes[0].Name)
		}
	})
}

func (t *Tool) exampleOf(f contract.FilterArgument) string {
	declared, _ := t.Contract.Columns.Get(f.Column)
	if declared.Example == "" {
		return ""
	}
	column := t.schema.Columns[t.schema.index(f.Column)]
	if column.Kind.Textual() {
		return cell(column, Value{Known: true, Text: string(declared.Example)})
	}
	return string(declared.Example)
}

// examplePreferences is the first preference of each of the first two fields.
// One that the tool would reject over an unknown value asks for last.
func (t *Tool) examplePreferences() string {
	var list []string
	last := ""
	for _, p := range t.preferences {
		if p.Column == last || len(list) == 2 {
			continue
		}
		last = p.Column
		text := string(record.AppendString(nil, p.Name))
		if t.unknown == Reject {
			text = string(objectOf(func(o *objectWriter) {
				o.text("field", p.Column)
				o.text("prefer", string(p.Direction))
				o.text("unknown", string(contract.UnknownLast))
			}))
		}
		list = append(list, text)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (t *Tool) firstID() string {
	result, err := t.Engine.Select(context.Background(), Query{Limit: 1})
	if err != nil || len(result.Rows) == 0 {
		return "id"
	}
	return result.Rows[0].ID
}

package proxy

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/guard"
)

// paramHeaders sets the headers that repeat arguments: those whose property
// the tool's schema marks with x-mcp-header (MCP 2026-07-28, streamable HTTP).
func paramHeaders(header http.Header, schema, arguments jsontext.Value) {
	_ = guard.EachMember(member(schema, "properties"), func(name string, property jsontext.Value) { // what is no object marks nothing
		argument := member(arguments, name)
		if marked := unquoted(member(property, "x-mcp-header")); marked != "" {
			if text, ok := scalar(argument); ok {
				header.Set("Mcp-Param-"+marked, headerText(text))
			}
			return
		}
		if argument.Kind() == '{' {
			paramHeaders(header, property, argument)
		}
	})
}

// member is a member of a JSON object; nil where there is none.
func member(object jsontext.Value, name string) jsontext.Value {
	var found jsontext.Value
	_ = guard.EachMember(object, func(m string, value jsontext.Value) { // what is no object has no members
		if m == name {
			found = value
		}
	})
	return found
}

// scalar is the text of a string, a whole number or a truth value.
func scalar(value jsontext.Value) (string, bool) {
	switch value.Kind() {
	case '"':
		return unquoted(value), true
	case '0', 't', 'f':
		return string(value), true
	}
	return "", false
}

// headerText is a text as a header carries it: as it is, or where it would not
// arrive unchanged in base64 (MCP 2026-07-28).
func headerText(text string) string {
	plain := text == strings.TrimSpace(text) && !strings.HasPrefix(text, "=?base64?")
	for _, c := range []byte(text) {
		plain = plain && c >= ' ' && c <= '~'
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

package guard

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/record"
)

// at is the value that a JSON Pointer (RFC 6901) names; nil where there is none.
func at(value jsontext.Value, pointer string) jsontext.Value {
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch value.Kind() {
		case '{':
			value = memberOf(value, token)
		case '[':
			value = itemOf(value, token)
		default:
			return nil
		}
	}
	return value
}

// memberOf is a member of a JSON object; nil where there is none.
func memberOf(object jsontext.Value, name string) jsontext.Value {
	var found jsontext.Value
	err := eachMember(object, func(member string, value jsontext.Value, _ int) error {
		if member == name {
			found = value
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// without is an object but for some of its members, to which others may be added.
func without(object jsontext.Value, names ...string) (record.Object, error) {
	rest := record.Object{}
	err := eachMember(object, func(name string, value jsontext.Value, _ int) error {
		if !slices.Contains(names, name) {
			rest.Add(name, value)
		}
		return nil
	})
	return rest, err
}

// itemOf is an item of a JSON array; nil where there is none.
func itemOf(array jsontext.Value, token string) jsontext.Value {
	index, err := strconv.ParseUint(token, 10, 31)
	if err != nil || token != strconv.FormatUint(index, 10) {
		return nil
	}
	items := itemsOf(array)
	if int(index) >= len(items) {
		return nil
	}
	return items[index]
}

// itemsOf lists the items of a JSON array; nil where it is none.
func itemsOf(array jsontext.Value) []jsontext.Value {
	var items []jsontext.Value
	err := eachItem(array, func(item jsontext.Value) error {
		items = append(items, item)
		return nil
	})
	if err != nil {
		return nil
	}
	return items
}

// holds reports whether each pointer leads to a scalar with its text. A
// condition without pointers holds of nothing.
func holds(conditions map[string]string, value jsontext.Value) bool {
	if len(conditions) == 0 || value == nil {
		return false
	}
	for pointer, text := range conditions {
		found := at(value, pointer)
		if found == nil || !sameText(found, text) {
			return false
		}
	}
	return true
}

// sameText reports whether a scalar is written as text; an empty text is that
// of an empty string alone.
func sameText(value jsontext.Value, text string) bool {
	if kind := value.Kind(); kind == '{' || kind == '[' || kind == 'n' {
		return false
	}
	return scalarText(value) == text
}

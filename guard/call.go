package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/record"
)

// Digest identifies a JSON value: two values with one digest are equal in all
// that JSON says. The order of members, white space, escapes and the way of
// writing a fraction do not count; whole numbers are compared to the last digit.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// digestOf is the digest of a JSON value.
func digestOf(value jsontext.Value) (Digest, error) {
	canonical := value.Clone()
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return Digest{}, notJSON(err)
	}
	return sha256.Sum256(canonical), nil
}

// call is one request to call a tool.
type call struct {
	message   *Message
	tool      string
	arguments jsontext.Value // {} where there are none
	digest    Digest         // of the arguments, without the operation key
	key       string         // the operation key that the caller gives; "" for none
	keyName   string         // of its argument; "" where the tool has none
	task      string         // the caller's name of its task; "" for none
	modern    bool           // the request is of a revision without sessions
	// continues is the digest of what the call answers a question of the upstream
	// with: another answer makes another call. Zero where it answers none.
	continues Digest

	argumentsAt int // where they begin in the message; -1 where there are none
	paramsAt    int
}

var (
	paramNames = []string{"name", "arguments", "_meta"}
	noObject   = jsontext.Value("{}")
)

// statelessSince is the first revision of MCP without sessions.
const statelessSince = "2026-07-28"

// readCall reads the params of a tools/call.
func readCall(m *Message) (*call, error) {
	c := &call{message: m, arguments: noObject, argumentsAt: -1, paramsAt: m.paramsAt}
	if m.Params == nil {
		return nil, errors.New("params: there are none; a call names a tool")
	}
	answers := record.Object{}
	err := eachMember(m.Params, func(name string, value jsontext.Value, at int) error {
		switch name {
		case "name":
			c.tool = textOf(value)
		case "arguments":
			if value.Kind() != '{' && value.Kind() != 'n' {
				return errors.New("arguments: they are no JSON object")
			}
			if value.Kind() == '{' {
				c.arguments, c.argumentsAt = value, m.paramsAt+at
			}
		case "_meta":
			return c.readMeta(value)
		case "requestState", "inputResponses":
			answers.Add(name, value)
		default:
			if near := foldedIn(paramNames, name); near != "" {
				return fmt.Errorf("the member %q looks like %q", name, near)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	if c.tool == "" {
		return nil, errors.New("params: name: there is none; a call names a tool")
	}
	if c.digest, err = digestOf(c.arguments); err != nil {
		return nil, fmt.Errorf("params: arguments: %w", err)
	}
	if answers.Len() > 0 {
		if c.continues, err = digestOf(answers.JSON()); err != nil {
			return nil, fmt.Errorf("params: %w", err)
		}
	}
	return c, nil
}

// readMeta reads what the guard knows of a request's _meta.
func (c *call) readMeta(meta jsontext.Value) error {
	if meta.Kind() != '{' {
		return nil
	}
	return eachMember(meta, func(name string, value jsontext.Value, _ int) error {
		switch name {
		case "remit/task":
			if c.task = textOf(value); c.task == "" || len(c.task) > 128 {
				return errors.New("_meta: remit/task is no text of 1 to 128 bytes")
			}
		case "io.modelcontextprotocol/protocolVersion":
			c.modern = textOf(value) >= statelessSince
		}
		return nil
	})
}

// withoutKey takes the operation key out of what the call is known by: a new
// key on each attempt makes no other call.
func (c *call) withoutKey(argument string) error {
	rest, err := without(c.arguments, argument)
	if err != nil {
		return fmt.Errorf("params: arguments: %w", err)
	}
	if c.digest, err = digestOf(rest.JSON()); err != nil {
		return fmt.Errorf("params: arguments: %w", err)
	}
	c.keyName, c.key = argument, bareKey(scalarText(c.argument(argument)))
	return nil
}

// bareKey is an operation key, which callers give bare and in quotes.
func bareKey(key string) string {
	if len(key) > 2 && key[0] == '"' && key[len(key)-1] == '"' {
		return key[1 : len(key)-1]
	}
	return key
}

// argument is one of the call's arguments; nil where it is absent or null.
func (c *call) argument(name string) jsontext.Value {
	var found jsontext.Value
	_ = eachMember(c.arguments, func(member string, value jsontext.Value, _ int) error { // readCall has read them
		if member == name && value.Kind() != 'n' {
			found = value
		}
		return nil
	})
	return found
}

// withArguments is the call's message with other arguments.
func (c *call) withArguments(arguments jsontext.Value) ([]byte, error) {
	raw := c.message.Raw
	if c.argumentsAt >= 0 {
		return splice(raw, c.argumentsAt, c.argumentsAt+len(c.arguments), arguments), nil
	}
	params, err := without(c.message.Params, "arguments")
	params.Add("arguments", arguments)
	return splice(raw, c.paramsAt, c.paramsAt+len(c.message.Params), params.JSON()), err
}

// scalarText is the text of a string, or the digits of a number as they are
// written; "" of anything else.
func scalarText(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		return textOf(value)
	case '0':
		return string(value)
	case 't', 'f':
		return string(value)
	}
	return ""
}

package guard

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Message is one JSON-RPC 2.0 message, of which only the envelope is read. Its
// bytes stay as they came.
type Message struct {
	Raw    []byte
	ID     jsontext.Value // nil where there is none
	Method string         // "" of a response
	Params jsontext.Value // nil where there are none
	Result jsontext.Value // of a response
	Error  jsontext.Value // of a response

	idAt, paramsAt, resultAt int // where they begin in Raw
}

// Request reports whether the message asks for a response.
func (m *Message) Request() bool { return m.Method != "" && m.ID != nil }

// Response reports whether the message answers a request.
func (m *Message) Response() bool { return m.Method == "" && m.ID != nil }

// envelope names the members of a message that mean something.
var envelope = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// ParseMessage reads the envelope of one message. A member of it that is given
// twice, or in other letters, such as METHOD, is an error: another reader might
// take it for the one that counts. What it holds is JSON, and no more is asked.
func ParseMessage(raw []byte) (*Message, error) {
	m := &Message{Raw: raw}
	version := ""
	seen := make([]string, 0, len(envelope))
	err := eachOf(raw, false, func(name string, value jsontext.Value, at int) error {
		if slices.Contains(seen, name) {
			return errGivenTwice
		}
		seen = append(seen, name)
		switch name {
		case "jsonrpc":
			version = textOf(value)
		case "id":
			if kind := value.Kind(); kind != '"' && kind != '0' && kind != 'n' {
				return errors.New("the id is neither a text nor a number")
			}
			m.ID, m.idAt = value, at
		case "method":
			if value.Kind() != '"' || textOf(value) == "" {
				return errors.New("the method is no text")
			}
			m.Method = textOf(value)
		case "params":
			m.Params, m.paramsAt = value, at
		case "result":
			m.Result, m.resultAt = value, at
		case "error":
			m.Error = value
		default:
			if near := foldedIn(envelope, name); near != "" {
				return fmt.Errorf("the member %q looks like %q", name, near)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case version != "2.0":
		return nil, errors.New(`the member "jsonrpc" is not "2.0"`)
	case m.Method == "tools/call" && m.ID == nil:
		return nil, errors.New("a call of a tool has no id")
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return nil, errors.New("it is neither a request, a notification nor a response")
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return nil, errors.New("it is a request and a response at once")
	case m.Method == "" && m.Result != nil && m.Error != nil:
		return nil, errors.New("it has a result and an error")
	}
	return m, nil
}

// Split takes a batch apart; a message that is none is the only one.
func Split(raw []byte) ([][]byte, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return [][]byte{raw}, nil
	}
	decoder := decoderOf(raw, false)
	defer free(decoder)
	if _, err := decoder.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	var messages [][]byte
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		messages = append(messages, bytes.Clone(value))
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	if len(messages) == 0 {
		return nil, errors.New("an empty batch")
	}
	return messages, atEnd(decoder.Decoder, raw)
}

// eachMember calls f with each member of a JSON object and where its value
// begins. Members that are given twice are an error, at any depth.
func eachMember(object []byte, f func(name string, value jsontext.Value, at int) error) error {
	return eachOf(object, true, f)
}

// eachOf is eachMember; without strict, members may be given twice.
func eachOf(object []byte, strict bool, f func(name string, value jsontext.Value, at int) error) error {
	decoder := decoderOf(object, strict)
	defer free(decoder)
	if decoder.PeekKind() != '{' {
		if _, err := decoder.ReadValue(); err != nil {
			return notJSON(err)
		}
		return errors.New("it is no JSON object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return notJSON(err)
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		text := name.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		end := int(decoder.InputOffset())
		if err := f(text, object[end-len(value):end:end], end-len(value)); err != nil {
			return err
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return notJSON(err)
	}
	return atEnd(decoder.Decoder, object)
}

// decoder reads bytes that stay where they are.
type decoder struct {
	*jsontext.Decoder
	from bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return &decoder{Decoder: new(jsontext.Decoder)} }}

// The two ways of reading members that are given twice.
var strictly, loosely = jsontext.AllowDuplicateNames(false), jsontext.AllowDuplicateNames(true)

func decoderOf(data []byte, strict bool) *decoder {
	d := decoders.Get().(*decoder)
	d.from = *bytes.NewBuffer(data)
	if strict {
		d.Reset(&d.from, strictly)
	} else {
		d.Reset(&d.from, loosely)
	}
	return d
}

// free lets another reader have the decoder; nothing read by it is kept in it.
func free(d *decoder) {
	d.from = bytes.Buffer{}
	d.Reset(&d.from)
	decoders.Put(d)
}

// atEnd is an error where something follows a value.
func atEnd(decoder *jsontext.Decoder, all []byte) error {
	if rest := bytes.TrimSpace(all[decoder.InputOffset():]); len(rest) > 0 {
		return errors.New("something follows the JSON value")
	}
	return nil
}

var errGivenTwice = errors.New("a member is given twice")

// errNotJSON marks what is not JSON at all.
var errNotJSON = errors.New("it is not JSON")

func notJSON(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return errGivenTwice
	}
	reason := strings.TrimPrefix(err.Error(), "jsontext: ")
	if len(reason) > 100 {
		reason = strings.ToValidUTF8(reason[:100], "") + "…"
	}
	return fmt.Errorf("%w: %s", errNotJSON, reason)
}

// foldedIn is the name that another one differs from in letters alone.
func foldedIn(names []string, name string) string {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return ""
}

// textOf is the text of a JSON string; "" of anything else.
func textOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	if plain := value[1 : len(value)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return string(plain)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// splice replaces the bytes of a message from one place to another.
func splice(raw []byte, from, to int, by []byte) []byte {
	out := make([]byte, 0, len(raw)-(to-from)+len(by))
	out = append(out, raw[:from]...)
	out = append(out, by...)
	return append(out, raw[to:]...)
}

// WithID is the bytes of the message with another id, which is JSON.
func (m *Message) WithID(id jsontext.Value) []byte {
	return splice(m.Raw, m.idAt, m.idAt+len(m.ID), id)
}

// Param is one member of the message's params; nil where there is none.
func (m *Message) Param(name string) jsontext.Value { return memberOf(m.Params, name) }

// EachMember calls f with each member of a JSON object, in their order. A
// member that is given twice is an error.
func EachMember(object []byte, f func(name string, value jsontext.Value)) error {
	return eachMember(object, func(name string, value jsontext.Value, _ int) error {
		f(name, value)
		return nil
	})
}

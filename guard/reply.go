package guard

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/record"
)

// The errors of JSON-RPC 2.0, section 5.1, that the guard itself answers with.
const (
	parseError     = -32700
	invalidRequest = -32600
	invalidParams  = -32602
)

// message is a response with one member besides its id.
func response(id jsontext.Value, member string, value []byte) []byte {
	if id == nil {
		id = jsontext.Value("null")
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	out = append(append(append(out, `,"`...), member...), `":`...)
	return append(append(out, value...), '}')
}

// ErrorMessage is a response with a JSON-RPC error; an id of nil is null.
func ErrorMessage(id jsontext.Value, code int, sentence string) []byte {
	object := record.Object{}
	object.Add("code", strconv.AppendInt(nil, int64(code), 10))
	object.Add("message", record.AppendString(nil, sentence))
	return response(id, "error", object.JSON())
}

// NotMessage is the response to bytes that are no JSON-RPC message.
func NotMessage(err error) []byte {
	code := invalidRequest
	if errors.Is(err, errNotJSON) {
		code = parseError
	}
	return ErrorMessage(nil, code, "This is no JSON-RPC 2.0 message: "+err.Error()+".")
}

// failureMessage is the response that carries a failure of the guard's own: a
// sentence, the body for programs, and the record under _meta. It has no
// structuredContent: a tool's outputSchema describes its successes alone.
func (x *exchange) failureMessage(r *record.Record) []byte {
	body := append(r.AppendFailure([]byte{'{'}), '}')
	meta := record.Object{}
	meta.Add("remit/recovery", r.Append(nil))
	if x.recalled != nil {
		meta.Add("remit/memory", x.recalled.json())
	}
	return x.result([]string{r.Error(), string(body)}, nil, true, meta)
}

func (r *recalled) json() []byte {
	object := record.Object{}
	object.Add("age_ms", strconv.AppendInt(nil, r.ageMS, 10))
	if r.afterMS == nil {
		object.Add("executes_after_ms", []byte("null"))
	} else {
		object.Add("executes_after_ms", strconv.AppendInt(nil, *r.afterMS, 10))
	}
	return object.JSON()
}

// result is a response with a result of the guard's own.
func (x *exchange) result(texts []string, structured []byte, failed bool, meta record.Object) []byte {
	content := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(record.AppendString(append(content, `{"type":"text","text":`...), text), '}')
	}
	result := record.Object{}
	if x.call.modern {
		result.Add("resultType", []byte(`"complete"`))
	}
	result.Add("content", append(content, ']'))
	if structured != nil {
		result.Add("structuredContent", structured)
	}
	result.Add("isError", strconv.AppendBool(nil, failed))
	if meta.Len() > 0 {
		result.Add("_meta", meta.JSON())
	}
	return response(x.call.message.ID, "result", result.JSON())
}

// withMeta is a response whose result has one member more in its _meta.
func withMeta(m *Message, name string, value []byte) []byte {
	result, err := addMeta(m.Result, name, value)
	if err != nil {
		return m.Raw
	}
	return splice(m.Raw, m.resultAt, m.resultAt+len(m.Result), result)
}

// addMeta is a result with one member more in its _meta, in the place of one
// of the same name.
func addMeta(result jsontext.Value, name string, value []byte) (jsontext.Value, error) {
	meta := record.Object{}
	if old := memberOf(result, "_meta"); old.Kind() == '{' {
		var err error
		if meta, err = without(old, name); err != nil {
			return nil, err
		}
	}
	meta.Add(name, value)
	out, err := without(result, "_meta")
	out.Add("_meta", meta.JSON())
	return out.JSON(), err
}

// addText is a result whose content has one text more.
func addText(result jsontext.Value, text string) (jsontext.Value, error) {
	item := append(record.AppendString([]byte(`{"type":"text","text":`), text), '}')
	return rewritten(result, func(member string, value jsontext.Value) (jsontext.Value, error) {
		if member != "content" || value.Kind() != '[' {
			return value, nil
		}
		content := []byte{'['}
		err := eachItem(value, func(item jsontext.Value) error {
			content = append(append(content, item...), ',')
			return nil
		})
		return append(append(content, item...), ']'), err
	})
}

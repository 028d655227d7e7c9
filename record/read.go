package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// UnmarshalJSON reads either form. Members that neither defines are ignored,
// as a reader of a later version must; names are compared exactly, and a
// member that is given twice is an error. So is an object without a code, and
// a wait that is not a whole number of milliseconds, at least 0; one beyond
// the range of an int64 saturates. A record that cannot be read is left as it was.
func (r *Record) UnmarshalJSON(data []byte) error {
	var read Record
	err := readObject(data, map[string]any{
		"contract": &read.Contract, "domain": &read.Domain,
		"code": &read.Code, "message": &read.Message, "field": &read.Field,
		"retry_after_ms": &wait{&read.RetryAfterMS},
		"next":           &read.Next, "stop": &read.Stop, "budget": &read.Budget, "fields": &read.Fields,
		"wait_kind": &read.WaitKind, "outcome": &read.Outcome, "operation": &read.Operation,
		"key": &read.Key, "retry": &read.Retry, "replayed": &read.Replayed,
	})
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if read.Code == "" {
		return fmt.Errorf("record: no code; a record names one, such as %s", TempUnavailable)
	}
	*r = read
	return nil
}

// UnmarshalJSON reads a budget as strictly as a record.
func (b *Budget) UnmarshalJSON(data []byte) error {
	return readObject(data, map[string]any{"limit": &b.Limit, "used": &b.Used, "left": &b.Left})
}

// UnmarshalJSON reads a field as strictly as a record.
func (f *Field) UnmarshalJSON(data []byte) error {
	return readObject(data, map[string]any{
		"pointer": &f.Pointer, "reason": &f.Reason, "accepted": &f.Accepted, "in": &f.In, "message": &f.Message,
	})
}

// UnmarshalJSON reads an operation as strictly as a record.
func (o *Operation) UnmarshalJSON(data []byte) error {
	return readObject(data, map[string]any{
		"id": &o.ID, "status_tool": &o.StatusTool,
		"poll_after_ms": &wait{&o.PollAfterMS}, "expires_at": &o.ExpiresAt,
	})
}

// readObject reads the members of a JSON object into their targets by exact
// name, each at most once.
func readObject(data []byte, targets map[string]any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil {
		return err
	} else if token != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	seen := make(map[string]bool)
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		if seen[name.(string)] {
			return fmt.Errorf("member %q is given twice", name)
		}
		seen[name.(string)] = true
		if err := readMember(decoder, targets[name.(string)]); err != nil {
			return fmt.Errorf("member %q: %w", name, err)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// readMember reads one value; without a target it is passed over.
func readMember(decoder *json.Decoder, target any) error {
	if target == nil {
		target = new(json.RawMessage)
	}
	return decoder.Decode(target)
}

// wait reads a whole number of milliseconds, or null for none.
type wait struct{ into **int64 }

func (w *wait) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	for _, c := range data {
		if c < '0' || c > '9' {
			return fmt.Errorf("%s is not a whole number of milliseconds, at least 0, or null", data)
		}
	}
	ms, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil { // more digits than an int64 holds
		ms = math.MaxInt64
	}
	*w.into = &ms
	return nil
}

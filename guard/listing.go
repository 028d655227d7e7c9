package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"remit.example/record"
)

// StatusTool is the name of the tool that answers from the ledger.
const StatusTool = "operation_status"

// listed is one tool as its server lists it.
type listed struct {
	name   string
	hints  hints
	schema jsontext.Value // nil where there is none
	digest Digest         // of the schema

	once     sync.Once
	compiled *jsonschema.Schema // nil where it cannot be read
}

// page is one answer to tools/list, as it came and as it is passed on.
type page struct {
	tools   []*listed
	changed []byte // the array of tools with the declared changes; nil: as it came
}

// Session is what one client at one upstream has seen of its tools. Its zero
// value is usable.
type Session struct {
	mu    sync.Mutex
	tools map[string]*listed
	known bool // the tools were listed, or asked for in vain

	learning sync.Mutex
}

func (s *Session) tool(name string) *listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[name]
}

// Schema is the input schema that a tool is listed with; nil where it was not.
func (s *Session) Schema(tool string) jsontext.Value {
	if t := s.tool(tool); t != nil {
		return t.schema
	}
	return nil
}

func (s *Session) see(tools []*listed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil {
		s.tools = make(map[string]*listed, len(tools))
	}
	for _, t := range tools {
		s.tools[t.name] = t
	}
	s.known = true
}

// Learn asks the upstream for its tools, once, where the client has not: their
// schemas and hints say how a call is held. m is the call that comes first, and
// exec its own. A guard that only observes asks for nothing.
func (g *Guard) Learn(ctx context.Context, s *Session, m *Message, exec Exec) {
	if s.isKnown() || !g.Enforces() {
		return
	}
	s.learning.Lock()
	defer s.learning.Unlock()
	if s.isKnown() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, learnTime)
	defer cancel()
	cursor := jsontext.Value(nil)
	for range maxListed {
		response, err := exec(ctx, g.listRequest(m, cursor))
		if err != nil || response.Message == nil || response.Message.Result == nil {
			break
		}
		g.List(s, response.Message)
		if cursor = memberOf(response.Message.Result, "nextCursor"); cursor.Kind() != '"' {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = true
}

const (
	learnTime = 10 * time.Second
	maxListed = 100 // answers to tools/list
)

func (s *Session) isKnown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// listRequest asks for a page of the tools under an id of the guard's own. It
// carries what the client's call says of the protocol.
func (g *Guard) listRequest(m *Message, cursor jsontext.Value) []byte {
	meta, params, message := record.Object{}, record.Object{}, record.Object{}
	_ = eachMember(m.Param("_meta"), func(name string, value jsontext.Value, _ int) error { // what is no object has no members
		if strings.HasPrefix(name, "io.modelcontextprotocol/") {
			meta.Add(name, value)
		}
		return nil
	})
	if cursor != nil {
		params.Add("cursor", cursor)
	}
	if meta.Len() > 0 {
		params.Add("_meta", meta.JSON())
	}
	message.Add("jsonrpc", []byte(`"2.0"`))
	message.Add("id", record.AppendString(nil, newID("remit-", g.clock.Now())))
	message.Add("method", []byte(`"tools/list"`))
	message.Add("params", params.JSON())
	return message.JSON()
}

// Heard notes what a server tells a client besides answers: that its tools
// have changed, and that a caller came back from the address that it was sent to.
func (g *Guard) Heard(caller Caller, s *Session, m *Message) {
	switch m.Method {
	case "notifications/tools/list_changed":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tools, s.known = nil, false
	case "notifications/elicitation/complete":
		g.elicited(caller)
	}
}

// List notes the tools of an answer to tools/list and gives the answer as the
// client gets it: with the declared changes where the guard enforces, else as
// it came.
func (g *Guard) List(s *Session, m *Message) []byte {
	tools, at := jsontext.Value(nil), 0
	last := true
	err := eachMember(m.Result, func(name string, value jsontext.Value, where int) error {
		switch {
		case name == "tools":
			tools, at = value, m.resultAt+where
		case name == "nextCursor" && value.Kind() == '"':
			last = false
		}
		return nil
	})
	if err != nil || tools == nil {
		return m.Raw
	}
	p, err := g.pageOf(tools, last)
	if err != nil {
		return m.Raw
	}
	s.see(p.tools)
	if p.changed == nil {
		return m.Raw
	}
	return splice(m.Raw, at, at+len(tools), p.changed)
}

// maxPages bounds the answers to tools/list that are kept.
const maxPages = 256

// pageOf reads an array of tools; one that is the same to the byte was read.
func (g *Guard) pageOf(tools jsontext.Value, last bool) (*page, error) {
	key := pageKey{sha256.Sum256(tools), last}
	g.pageMu.Lock()
	defer g.pageMu.Unlock()
	if p, ok := g.pages[key]; ok {
		return p, nil
	}
	p, err := g.readPage(tools, last)
	if err != nil {
		return nil, err
	}
	if len(g.pages) >= maxPages {
		clear(g.pages)
	}
	g.pages[key] = p
	return p, nil
}

type pageKey struct {
	digest Digest
	last   bool
}

func (g *Guard) readPage(tools jsontext.Value, last bool) (*page, error) {
	p := new(page)
	var out bytes.Buffer
	changed, status := false, false
	err := eachItem(tools, func(item jsontext.Value) error {
		t, err := readTool(item)
		if err != nil {
			return err
		}
		p.tools = append(p.tools, t)
		plan := g.planFor(t.name, t.hints)
		status = status || t.name == StatusTool
		if plan.guardKeyed() && !plan.observe {
			if without, ok := withoutProperty(item, plan.key.Argument); ok {
				item, changed = without, true
			}
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.Write(item)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if last && !status && g.offersStatus() {
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.WriteString(statusDefinition)
		changed = true
	}
	if changed {
		p.changed = append(append([]byte{'['}, out.Bytes()...), ']')
	}
	return p, nil
}

// eachItem calls f with each item of a JSON array.
func eachItem(array jsontext.Value, f func(jsontext.Value) error) error {
	decoder := decoderOf(array, false)
	defer free(decoder)
	if decoder.PeekKind() != '[' {
		return errors.New("it is no list")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		end := int(decoder.InputOffset())
		if err := f(array[end-len(value) : end : end]); err != nil {
			return err
		}
	}
	return nil
}

// readTool reads what the guard needs of a tool's definition. What it keeps is
// a copy: the answer that it stands in is not kept.
func readTool(definition jsontext.Value) (*listed, error) {
	t := new(listed)
	err := eachMember(definition, func(name string, value jsontext.Value, _ int) error {
		switch name {
		case "name":
			t.name = textOf(value)
		case "inputSchema":
			t.schema, t.digest = value.Clone(), sha256.Sum256(value)
		case "annotations":
			t.hints = readHints(value)
		}
		return nil
	})
	return t, err
}

func readHints(annotations jsontext.Value) hints {
	return hints{hintIn(annotations, "readOnlyHint"), hintIn(annotations, "idempotentHint")}
}

func hintIn(annotations jsontext.Value, name string) *bool {
	switch memberOf(annotations, name).Kind() {
	case 't':
		return new(true)
	case 'f':
		return new(false)
	}
	return nil
}

// withoutProperty is a tool's definition whose input has one property less;
// false where it has none of the name.
func withoutProperty(definition jsontext.Value, name string) (jsontext.Value, bool) {
	found := false
	out, err := rewritten(definition, func(member string, value jsontext.Value) (jsontext.Value, error) {
		if member != "inputSchema" {
			return value, nil
		}
		return rewritten(value, func(keyword string, value jsontext.Value) (jsontext.Value, error) {
			switch keyword {
			case "properties":
				found = memberOf(value, name) != nil
				return rewritten(value, func(property string, value jsontext.Value) (jsontext.Value, error) {
					if property == name {
						return nil, nil
					}
					return value, nil
				})
			case "required":
				return withoutItem(value, name)
			}
			return value, nil
		})
	})
	return out, err == nil && found
}

// rewritten is an object whose members are those that f gives; nil drops one.
func rewritten(object jsontext.Value, f func(name string, value jsontext.Value) (jsontext.Value, error)) (jsontext.Value, error) {
	out := record.Object{}
	err := eachMember(object, func(name string, value jsontext.Value, _ int) error {
		value, err := f(name, value)
		if err == nil && value != nil {
			out.Add(name, value)
		}
		return err
	})
	return out.JSON(), err
}

// withoutItem is a list of texts without one of them; nil where none is left.
func withoutItem(list jsontext.Value, text string) (jsontext.Value, error) {
	var rest []jsontext.Value
	err := eachItem(list, func(item jsontext.Value) error {
		if textOf(item) != text {
			rest = append(rest, item)
		}
		return nil
	})
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	out := []byte{'['}
	for i, item := range rest {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']'), nil
}

// offersStatus reports whether clients see the tool that asks for operations:
// where a contract declares writes and the guard enforces.
func (g *Guard) offersStatus() bool {
	if g.options.Contract == nil {
		return false
	}
	for _, t := range g.options.Contract.Tools {
		if p := g.planFor(t.Name, hints{}); p.writes() && !p.observe {
			return true
		}
	}
	return false
}

const statusDefinition = `{"name":"operation_status","title":"Status of an operation","description":"Returns what became of a write: confirmed, refused, in progress or unknown. Takes the id that a failure names under recovery.operation. It changes nothing.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"The operation's id, such as op_01K8Z5T7W9.","minLength":1,"maxLength":64}},"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`

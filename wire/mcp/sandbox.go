package mcp

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/wire"
)

// The members of _meta that set a case in a sandbox. The library keeps neither
// their duplicates nor how their numbers were written, so their texts pass it
// in entries of the header of the same names. No request can bring those
// along: the names are no tokens, so that net/http refuses them.
const (
	conditionsMember = "remit/case"
	executionMember  = "remit/execution"
)

// carried is the case that travels in the header of a call.
func carried(call *sdk.CallToolRequest) wire.Case {
	if call.Extra == nil {
		return wire.Case{}
	}
	return wire.Case{
		Conditions: call.Extra.Header[conditionsMember], Executions: call.Extra.Header[executionMember],
		ConditionsName: `_meta["` + conditionsMember + `"]`, ExecutionName: `_meta["` + executionMember + `"]`,
	}
}

// carryPosted puts the case of a posted message into the request's header, and
// reports whether there is one message: the list of an older revision would
// share one header.
func carryPosted(r *http.Request) bool {
	message, err := jsonrpc.DecodeMessage(bodyOf(r))
	if err != nil {
		return false
	}
	if call, ok := message.(*jsonrpc.Request); ok {
		carry(r.Header, call)
	}
	return true
}

// carry puts the case of a call into the header that goes with it.
func carry(h http.Header, call *jsonrpc.Request) {
	eachMember(jsontext.Value(call.Params), func(name string, meta jsontext.Value) {
		if name != "_meta" {
			return
		}
		eachMember(meta, func(name string, value jsontext.Value) {
			if name == conditionsMember || name == executionMember {
				h[name] = append(h[name], string(value))
			}
		})
	})
}

// eachMember tells the members of an object in order, duplicates included; any
// other value has none.
func eachMember(object jsontext.Value, tell func(name string, value jsontext.Value)) {
	decoder := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return
		}
		member := name.String() // before the next read, which takes its bytes
		value, err := decoder.ReadValue()
		if err != nil {
			return
		}
		tell(member, value)
	}
}

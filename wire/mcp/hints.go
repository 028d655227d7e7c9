package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/record"
)

// hints are what an effect says to a client that asks before it calls.
var hints = map[record.Effect]sdk.ToolAnnotations{
	record.Read:       {ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false)},
	record.Idempotent: {IdempotentHint: true, DestructiveHint: new(true)},
	record.Keyed:      {DestructiveHint: new(true)},
	record.Unsafe:     {DestructiveHint: new(true)},
}

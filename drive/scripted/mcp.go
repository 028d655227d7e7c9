package scripted

import (
	"context"
	"encoding/json"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/oracle"
)

// definition is the one tool. Nothing is validated by its schema: what a
// caller sends is for the script.
func definition() *sdk.Tool {
	return &sdk.Tool{
		Name:        tool,
		Description: "Returns the delivery status of one shipment.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"shipment_ref":{"type":"string","description":"The reference of the shipment."}},"required":["shipment_ref"]}`),
	}
}

// mcp answers calls over MCP. Without sessions both eras are served.
func (s *server) mcp() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "remit", Version: "scripted"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	server.AddTool(definition(), s.call)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody,
	})
}

// call answers one call of the tool.
func (s *server) call(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	arguments := []byte(request.Params.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	reply, ok := s.answer(inputOf(arguments))
	if !ok {
		return nil, errFlood // the caller is being killed
	}
	return result(reply), nil
}

// result is a reply as the protocol carries it.
func result(reply oracle.Reply) *sdk.CallToolResult {
	if !failed(reply) {
		return &sdk.CallToolResult{
			Content:           []sdk.Content{&sdk.TextContent{Text: success}},
			StructuredContent: json.RawMessage(success),
		}
	}
	f := failureOf(reply)
	body := mustMarshal(f)
	return &sdk.CallToolResult{
		IsError:           true,
		Content:           []sdk.Content{&sdk.TextContent{Text: f.Error}, &sdk.TextContent{Text: string(body)}},
		StructuredContent: json.RawMessage(body),
		Meta:              sdk.Meta{"remit/recovery": json.RawMessage(mustMarshal(f.Recovery))},
	}
}

// Package mcp speaks tools in the Model Context Protocol: over standard input
// and output, and over streamable HTTP. It serves the revision 2026-07-28 and
// the ones before it that open with initialize, 2025-11-25 being the newest.
//
// # A tool
//
// Its schemas are those of package tool. The hints follow from the effect:
//
//	effect      readOnlyHint  idempotentHint  destructiveHint
//	read        true          true            false
//	idempotent  false         true            true
//	keyed       false         false           true
//	unsafe      false         false           true
//
// A contract does not say that an effect destroys nothing, so every effect may.
// openWorldHint is true where an HTTP service is behind the tool.
// _meta["remit/promise"] is the tool's promise.
//
// # A call
//
// The bytes of arguments reach the tool as they came; absent arguments are {}.
//
//	answer   content[0].text is the answer, to the byte; structuredContent is the same object
//	failure  isError is true, content[0].text is its sentence, content[1].text is the body,
//	         to the byte; structuredContent is the same object, and
//	         _meta["remit/recovery"] is its record
//
// In structuredContent the library writes <, > and & as \u003c, \u003e and
// \u0026; order and numbers stay.
//
// An unknown tool is the protocol error -32602, which names the nearest tools.
// A call that may not be made is a failure of the tool like any other: the
// HTTP status stays 200.
//
// In a sandbox the member _meta["remit/case"] of a call's params has its
// conditions, and _meta["remit/execution"] the number of its execution; what
// package wire refuses of them is the protocol error -32602. Over HTTP a body
// is one message there, not a list of them.
//
// # Sessions over HTTP
//
// 2026-07-28 has none. A client that opens with initialize gets one, for the
// changes of the tool list, while there are fewer than 1000; beyond that, and
// for a request that names none, every request stands alone. A session ends
// after an hour without a request.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/tool"
	"remit.example/wire"
)

const (
	// statelessSince is the first revision without sessions.
	statelessSince = "2026-07-28"
	sessionTimeout = time.Hour
)

// maxSessions is a variable for the tests alone.
var maxSessions = 1000

// Server speaks the tools of one service. It is an http.Handler for the
// endpoint /mcp, behind the service's Guard.
type Server struct {
	service   *wire.Service
	sdk       *sdk.Server
	sessions  http.Handler
	stateless http.Handler
	listed    map[string]string // the definition of each tool that the library knows
}

// New speaks the tools of service, also those of later sets; version is that
// of the program.
func New(service *wire.Service, version string) *Server {
	s := &Server{service: service, listed: map[string]string{}}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "remit", Version: version}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
	})
	s.sdk.AddReceivingMiddleware(s.middleware)
	s.sessions = s.handler(false)
	s.stateless = s.handler(true)
	service.OnChange(s.sync)
	return s
}

func (s *Server) handler(stateless bool) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Stateless: stateless, JSONResponse: true, SessionTimeout: sessionTimeout,
		MaxRequestBodyBytes: wire.MaxBody,
		// Guard checks the Host header, by the contract.
		DisableLocalhostProtection: true,
	})
}

// Revisions lists the revisions of the protocol that are served, newest first.
func Revisions() []string { return sdk.SupportedProtocolVersions() }

// Close ends all sessions, so that no stream outlives the server. It waits for
// the calls that they still make.
func (s *Server) Close() {
	var closing sync.WaitGroup
	for session := range s.sdk.Sessions() {
		closing.Go(func() { _ = session.Close() }) // one that is gone is closed
	}
	closing.Wait()
}

// ServeHTTP answers requests at the endpoint.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if s.service.Sandbox() && r.Method == http.MethodPost && !carryPosted(r) {
		wire.Refuse(w, http.StatusBadRequest, "The body is no message; valid in a sandbox: one JSON-RPC 2.0 message.")
		return
	}
	if s.inSession(r) {
		s.sessions.ServeHTTP(w, r)
		return
	}
	s.stateless.ServeHTTP(w, r)
}

// inSession reports whether a request belongs to a session or opens one.
func (s *Server) inSession(r *http.Request) bool {
	switch {
	case r.Header.Get("MCP-Protocol-Version") >= statelessSince:
		return false
	case r.Header.Get("Mcp-Session-Id") != "":
		return true
	case r.Method != http.MethodPost:
		return false
	}
	return opens(r) && s.openSessions() < maxSessions
}

// opens reports whether a request's body is the message that opens a session.
func opens(r *http.Request) bool {
	var message struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(bodyOf(r), &message) == nil && message.Method == "initialize"
}

// bodyOf is the body of a request, which stays to be read.
func bodyOf(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil { // Guard has read it into memory
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

func (s *Server) openSessions() int {
	count := 0
	for range s.sdk.Sessions() {
		count++
	}
	return count
}

// sync tells the library, and by it the clients, which tools there are. Only a
// tool whose definition differs is a change.
func (s *Server) sync() {
	present := map[string]bool{}
	for _, t := range s.service.Set().Tools() {
		present[t.Name] = true
		definition := describe(t)
		text := definitionText(definition)
		if s.listed[t.Name] != text {
			s.listed[t.Name] = text
			s.sdk.AddTool(definition, s.handle)
		}
	}
	for name := range s.listed {
		if !present[name] {
			delete(s.listed, name)
			s.sdk.RemoveTools(name)
		}
	}
}

func definitionText(t *sdk.Tool) string {
	text, err := json.Marshal(t)
	if err != nil { // its schemas were written by package tool
		panic(err)
	}
	return string(text)
}

// describe is a tool's definition.
func describe(t *tool.Tool) *sdk.Tool {
	h := hints[t.Effect]
	h.OpenWorldHint = new(hasHTTP(t))
	return &sdk.Tool{
		Name: t.Name, Description: t.Description, Annotations: &h,
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Meta: sdk.Meta{"remit/promise": string(t.Promise)},
	}
}

// hasHTTP reports whether an HTTP service is behind t.
func hasHTTP(t *tool.Tool) bool {
	declared, ok := t.Service.Tools.Get(t.Name)
	return ok && declared.Backend != nil && declared.Backend.HTTP != nil
}

// absent begins the methods of features that no capability declares. The
// library would answer them with empty lists.
var absent = []string{"prompts/", "resources/", "completion/", "logging/"}

// middleware answers what the library would answer in its own order or words:
// the tool list, in the contract's order and from one set, a call of a tool
// that there is not, and a feature that there is not.
func (s *Server) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if slices.ContainsFunc(absent, func(prefix string) bool { return strings.HasPrefix(method, prefix) }) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%s is not served; valid: tools/list, tools/call.", method)}
		}
		if params, ok := request.GetParams().(*sdk.CallToolParamsRaw); ok && params != nil {
			if err := s.checkName(params.Name); err != nil {
				return nil, err
			}
		}
		result, err := next(ctx, method, request)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			s.fill(list)
		}
		return result, err
	}
}

func (s *Server) fill(list *sdk.ListToolsResult) {
	list.Tools, list.NextCursor = []*sdk.Tool{}, ""
	for _, t := range s.service.Set().Tools() {
		list.Tools = append(list.Tools, describe(t))
	}
}

func (s *Server) checkName(name string) error {
	set := s.service.Set()
	if _, known := set.Lookup(name); known {
		return nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: wire.Unknown(set, name)}
}

// handle makes one call.
func (s *Server) handle(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if request.Extra != nil {
		if caller, ok := wire.CallerFromHeader(request.Extra.Header); ok {
			ctx = wire.WithCaller(ctx, caller)
		}
	}
	set := s.service.Set()
	t, known := set.Lookup(request.Params.Name)
	if !known { // a reload took it away after the check
		return nil, s.checkName(request.Params.Name)
	}
	input := []byte(request.Params.Arguments)
	if len(input) == 0 {
		input = []byte("{}")
	}
	answer, err := s.service.CallCase(ctx, t, input, tool.AgentCharacters, carried(request))
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error() + "."}
	}
	return result(answer), nil
}

// result is an answer as the protocol carries it.
func result(a tool.Answer) *sdk.CallToolResult {
	body := string(a.Body)
	r := &sdk.CallToolResult{StructuredContent: json.RawMessage(a.Body)}
	if a.Failure == nil {
		r.Content = []sdk.Content{&sdk.TextContent{Text: body}}
		return r
	}
	r.IsError = true
	r.Content = []sdk.Content{&sdk.TextContent{Text: a.Failure.Error()}, &sdk.TextContent{Text: body}}
	r.Meta = sdk.Meta{"remit/recovery": json.RawMessage(a.Failure.Append(nil))}
	return r
}

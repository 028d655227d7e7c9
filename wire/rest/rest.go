// Package rest speaks tools over plain HTTP, to programs and to people.
//
//	GET  /v1/tools         {"tools":[…]}: name, service, promise, effect, description,
//	                       input_schema, output_schema and an example of each tool
//	POST /v1/tools/{name}  the body is the request; the answer is the tool's, to the
//	                       byte, and a newline
//	GET  /healthz          200 while the program runs
//	GET  /readyz           200 while it takes calls, 503 once it is about to end
//	GET  /metrics          counts in the Prometheus text format, for callers on this
//	                       machine and those with a token
//	GET  /                 the index for people
//	POST /try/{name}       the index with the answer to a form, for browsers
//
// The status of a call is that of its code (record.Code.HTTPStatus), with
// Retry-After where the record states a wait and WWW-Authenticate with 401. A
// request that never becomes a call is answered with {"error": a sentence}:
// 404 for an unknown tool or path, 405 with Allow, 415 for a body that is not
// application/json, and what package wire refuses.
//
// In a sandbox the header Remit-Case of a call has its conditions, in ASCII,
// and Remit-Execution the number of its execution; 400 if package wire refuses
// them. The index sets none.
//
// The index needs no script and asks nobody else for anything; with scripts,
// answers are shown without leaving it. Whatever comes from a contract or a
// catalogue is text to it, never markup.
package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"remit.example/wire"
)

// Options configures the handler.
type Options struct {
	// Version is that of the program.
	Version string
	// Paths are the absolute paths of the contracts being served, for the
	// configuration that the index shows to callers on this machine; none for
	// the built-in examples.
	Paths []string
}

type server struct {
	service *wire.Service
	options Options
}

// New speaks the tools of service. The handler belongs behind the service's
// Guard, which reads bodies and knows callers.
func New(service *wire.Service, options Options) http.Handler {
	s := &server{service: service, options: options}
	mux := http.NewServeMux()
	for _, route := range []struct {
		method, path string
		handler      http.HandlerFunc
	}{
		{http.MethodGet, "/v1/tools", s.list},
		{http.MethodPost, "/v1/tools/{name}", s.call},
		{http.MethodGet, "/healthz", s.health},
		{http.MethodGet, "/readyz", s.ready},
		{http.MethodGet, "/metrics", s.metrics},
		{http.MethodGet, "/{$}", s.index},
		{http.MethodPost, "/try/{name}", s.try},
		{http.MethodGet, "/assets/{name}", s.asset},
	} {
		wire.Route(mux, route.method, route.path, route.handler)
	}
	mux.HandleFunc("/", nothing)
	return mux
}

func nothing(w http.ResponseWriter, r *http.Request) {
	wire.Refuse(w, http.StatusNotFound, fmt.Sprintf("There is nothing at %s; valid: /, /v1/tools, /v1/tools/{name}, /v1/webmcp, /v1/webmcp/{name}, /remit.js, /remit.d.ts, /mcp, /healthz, /readyz and /metrics.", r.URL.Path))
}

// description is one tool in the list.
type description struct {
	Name         string          `json:"name"`
	Service      string          `json:"service"`
	Promise      string          `json:"promise"`
	Effect       string          `json:"effect"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema"`
	Example      json.RawMessage `json:"example"`
}

func (s *server) list(w http.ResponseWriter, _ *http.Request) {
	tools := []description{}
	for _, t := range s.service.Set().Tools() {
		tools = append(tools, description{
			Name: t.Name, Service: t.Service.Service, Promise: string(t.Promise), Effect: string(t.Effect),
			Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Example: t.Example,
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{"tools": tools})
}

func (s *server) call(w http.ResponseWriter, r *http.Request) {
	s.service.ServeCall(w, r, r.PathValue("name"), 0)
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"status": "ok"})
}

func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.service.Draining() {
		wire.Refuse(w, http.StatusServiceUnavailable, "The server is about to end.")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"status": "ready", "tools": len(s.service.Set().Tools())})
}

func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	c := wire.CallerFrom(r.Context())
	if !c.Local && c.Principal == "" {
		wire.Refuse(w, http.StatusForbidden, "The metrics are for callers on the machine of the server and those with one of its tokens.")
		return
	}
	s.service.Metrics().ServeHTTP(w, r)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		wire.Refuse(w, http.StatusInternalServerError, "The list of tools could not be written.")
		return
	}
	wire.Write(w, "application/json", status, body.Bytes())
}

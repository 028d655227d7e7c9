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
//	GET  /                 for people: what each tool promises
//	GET  /tools/{name}     for people: the tool's form, and the answer to what the
//	                       address asks
//	POST /tools/{name}     the same for what a form asks
//
// The status of a call is that of its code (record.Code.HTTPStatus), with
// Retry-After where the record states a wait and WWW-Authenticate with 401. A
// request that never becomes a call is answered with {"error": a sentence}:
// 404 for an unknown tool or path, 405 with Allow, 415 for a body that is not
// application/json, and what package wire refuses.
//
// In a sandbox the header Remit-Case of a call has its conditions, in ASCII,
// and Remit-Execution the number of its execution; 400 if package wire refuses
// them. A page sets none.
//
// # Pages for people
//
// An address holds a request, so that it can be shared: either as JSON in the
// parameter request, to the byte, or one parameter an argument, by its dotted
// path (filters.max_price_minor=6000). A parameter that names no argument is an
// unknown argument, which the tool refuses; nothing is ignored. Following a
// link calls tools that only read. A tool with an effect is called by its form
// alone (POST): a link to it fills the form and calls nothing.
//
// A page's call is the caller's, by the same rules and the same counts as any
// other. It shows the exact request and the exact answer; of a tool over a
// catalogue also the answer as agents in browsers and over MCP read it, and
// where the purpose declares a plot all matches, which it reads from the tool
// itself: that changes nothing and counts as the one call it belongs to.
//
// A page needs no script and asks nobody else for anything; with scripts,
// answers are shown without leaving it. Whatever comes from a contract, a
// catalogue or a request is text to it, never markup, and isolated so that it
// cannot turn the direction of what stands around it. A value of more than
// 200 characters is cut short where it is shown, and whole in the answer's bytes.
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
	wire.Route(mux, http.MethodGet, "/v1/tools", s.list)
	wire.Route(mux, http.MethodPost, "/v1/tools/{name}", s.call)
	wire.Route(mux, http.MethodGet, "/healthz", s.health)
	wire.Route(mux, http.MethodGet, "/readyz", s.ready)
	wire.Route(mux, http.MethodGet, "/metrics", s.metrics)
	wire.Route(mux, http.MethodGet, "/{$}", s.index)
	wire.Route(mux, http.MethodGet, "/assets/{name}", s.asset)
	mux.HandleFunc("GET /tools/{name}", s.follow)
	mux.HandleFunc("POST /tools/{name}", s.send)
	mux.HandleFunc("/tools/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "GET, HEAD, POST")
		wire.Refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not for %s; valid: GET, HEAD, POST.", r.URL.Path, r.Method))
	})
	mux.HandleFunc("/", nothing)
	return mux
}

func nothing(w http.ResponseWriter, r *http.Request) {
	wire.Refuse(w, http.StatusNotFound, fmt.Sprintf("There is nothing at %s; valid: /, /tools/{name}, /v1/tools, /v1/tools/{name}, /v1/webmcp, /v1/webmcp/{name}, /remit.js, /remit.d.ts, /mcp, /healthz, /readyz and /metrics.", r.URL.Path))
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

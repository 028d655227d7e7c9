// Package webmcp speaks tools to web pages: it serves the script that registers
// them with a browser (package web), and answers what that script asks.
//
//	GET  /remit.js           the script
//	GET  /remit.d.ts         its types
//	GET  /v1/webmcp          {"tools":[…],"failures":[…]}: what the script registers
//	POST /v1/webmcp/{name}   as POST /v1/tools/{name}, the answer within
//	                         tool.AgentCharacters
//	GET  /sandbox/platform   in a sandbox: a page whose tools fail in each way
//	                         in which a browser can fail a call
//
// A tool is listed with its name, description, inputSchema and annotations as
// a browser takes them; with refusals, so that the page can refuse an input
// with the bytes of the server; and with the failures that the page makes
// where there is no answer. Pages of an exposed origin see the tools that are
// exposed to it.
//
// Nothing is decided here: refusals are found by trying the tools, before they
// are served and without executing one, and everything that the page is not
// sure of it sends.
package webmcp

import (
	"net/http"

	"remit.example/tool"
	"remit.example/web"
	"remit.example/wire"
)

// Mount adds the paths of the package to mux, which belongs behind the
// service's Guard.
func Mount(mux *http.ServeMux, service *wire.Service) {
	l := &lister{}
	service.OnChange(func() { l.change(service.Set()) })
	wire.Route(mux, http.MethodGet, wire.ScriptPath, file("remit.js", "text/javascript; charset=utf-8"))
	wire.Route(mux, http.MethodGet, "/remit.d.ts", file("remit.d.ts", "text/plain; charset=utf-8"))
	wire.Route(mux, http.MethodGet, "/v1/webmcp", l.serve)
	wire.Route(mux, http.MethodPost, "/v1/webmcp/{name}", func(w http.ResponseWriter, r *http.Request) {
		service.ServeCall(w, r, r.PathValue("name"), tool.AgentCharacters)
	})
	mountPlatform(mux, service)
}

// file serves a file of web/dist.
func file(name, kind string) http.HandlerFunc { return keep(kind, web.Dist(name)).serve }

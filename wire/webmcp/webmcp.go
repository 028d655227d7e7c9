// Package webmcp speaks tools to web pages: it serves the script that registers
// them with a browser, and answers what that script asks.
//
//	GET  /remit.js           the script
//	GET  /remit.d.ts         its types
//	GET  /v1/webmcp          {"tools":[…]}: what the script registers
//	POST /v1/webmcp/{name}   as POST /v1/tools/{name}, the answer within
//	                         tool.AgentCharacters
//	GET  /sandbox/platform   in a sandbox: a page whose tools fail in each way
//	                         in which a browser can fail a call
package webmcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"remit.example/tool"
	"remit.example/web"
	"remit.example/wire"
)

// Mount adds the paths of the package to mux, which belongs behind the
// service's Guard.
func Mount(mux *http.ServeMux, service *wire.Service) {
	wire.Route(mux, http.MethodGet, "/remit.js", file("remit.js", "text/javascript; charset=utf-8"))
	wire.Route(mux, http.MethodGet, "/remit.d.ts", file("remit.d.ts", "text/plain; charset=utf-8"))
	wire.Route(mux, http.MethodPost, "/v1/webmcp/{name}", func(w http.ResponseWriter, r *http.Request) {
		service.ServeCall(w, r, r.PathValue("name"), tool.AgentCharacters)
	})
	mountPlatform(mux, service)
}

// file serves a file of web/dist. A browser keeps it and asks each time
// whether it has changed.
func file(name, kind string) http.HandlerFunc {
	data := web.Dist(name)
	digest := sha256.Sum256(data)
	tag := `"` + base64.RawURLEncoding.EncodeToString(digest[:12]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

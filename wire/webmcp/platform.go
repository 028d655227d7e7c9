package webmcp

import (
	"io"
	"net/http"

	"remit.example/wire"
)

// platformPage and platformFrame are what programs open that check how calls
// fail in a browser. The frame registers a tool of its own.
const (
	platformPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tools that fail</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/page.css">
<main>
<h1>Tools that fail</h1>
<p>This page of the sandbox registers tools that end in each way in which a browser can fail a call: they reject, throw, give what is no JSON, leave the page or never answer. None of them does anything else.</p>
<p>The command <code>remit check platform-v1 --webmcp</code> opens it, and judges what a driver makes of each.</p>
</main>
<script src="/sandbox/platform.js"></script>
<iframe src="/sandbox/platform/frame" title="A frame with a tool of its own" hidden></iframe>
`
	platformFrame = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A tool in a frame</title>
<script src="/sandbox/platform.js"></script>
`
)

// mountPlatform adds the page whose tools fail, in a sandbox alone.
func mountPlatform(mux *http.ServeMux, service *wire.Service) {
	if !service.Sandbox() {
		return
	}
	wire.Route(mux, http.MethodGet, "/sandbox/platform", framed(platformPage))
	wire.Route(mux, http.MethodGet, "/sandbox/platform/frame", framed(platformFrame))
	wire.Route(mux, http.MethodGet, "/sandbox/platform.js", file("platform.js", "text/javascript; charset=utf-8"))
}

// framed is a page that may stand in a frame of the server's own pages.
func framed(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'self'")
		w.Header().Set("X-Frame-Options", "SAMEORIGIN")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, text) // a browser that has gone needs no answer
	}
}

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"
)

// The limits of a request; the package comment says what exceeding each means.
const (
	MaxBody      = 1 << 20 // bytes
	maxHead      = 64 << 10
	headTimeout  = 10 * time.Second
	bodyTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
)

// Server serves handler behind Guard, within the limits of the package.
func (s *Service) Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           s.Guard(handler),
		ReadHeaderTimeout: headTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug),
	}
}

// responseHeader is on every answer.
var responseHeader = map[string]string{
	"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
	// Not no-referrer, under which a browser sends "Origin: null" with the
	// index's own forms.
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	// Frames of other origins neither see nor register tools of a page.
	"Permissions-Policy": "tools=(self)",
}

// Guard lets through what the package comment permits, its body read whole and
// its caller noted in the context and header.
func (s *Service) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = &timedWriter{ResponseWriter: w, control: http.NewResponseController(w)}
		for name, value := range responseHeader {
			w.Header().Set(name, value)
		}
		p := s.current.Load()
		if !s.accepts(p, r) {
			Refuse(w, http.StatusForbidden, fmt.Sprintf("The Host header %q is none of this server's; valid: localhost, the address that it listens on, and the contract's expose.hosts.", r.Host))
			return
		}
		origin, ok := checkOrigin(p, w, r)
		if !ok || answerPreflight(w, r, origin) {
			return
		}
		if !readBody(w, r) {
			return
		}
		next.ServeHTTP(w, note(r, s.identify(r, origin)))
	})
}

// Refuse answers a request that never became a call.
func Refuse(w http.ResponseWriter, status int, sentence string) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]string{"error": sentence}); err != nil { // a map of strings
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a caller that has gone needs no answer
}

// accepts reports whether the request's Host is one of the server's names.
func (s *Service) accepts(p *policy, r *http.Request) bool {
	name := hostName(r.Host)
	switch {
	case name == "":
		return false
	case isLoopbackName(name), p.hosts[strings.ToLower(r.Host)], p.hosts[name]:
		return true
	case isUnspecified(s.options.Listen):
		return name == localName(r)
	}
	return name == hostName(s.options.Listen)
}

// localName is the address at which the request arrived, "" if not known.
func localName(r *http.Request) string {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return ""
	}
	return at.Addr().Unmap().String()
}

// checkOrigin is the origin of a page that is exposed to, "" for a caller that
// is no page or one of the server's own, and false where it has refused.
func checkOrigin(p *policy, w http.ResponseWriter, r *http.Request) (origin string, ok bool) {
	w.Header().Add("Vary", "Origin")
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		if r.URL.Path == ScriptPath {
			return "", checkScript(p, w, r)
		}
		if crossSite(r) {
			Refuse(w, http.StatusForbidden, "The request comes from a page of another site, without saying which.")
			return "", false
		}
		return "", true
	}
	origin = strings.ToLower(values[0])
	switch {
	case len(values) == 1 && sameOrigin(origin, r.Host):
		return "", true
	case len(values) == 1 && p.origins[origin] && exposedPath(r.URL.Path):
		w.Header().Set("Access-Control-Allow-Origin", values[0])
		w.Header().Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate, Mcp-Session-Id")
		return origin, true
	}
	Refuse(w, http.StatusForbidden, fmt.Sprintf("Pages of the origin %q may not call this; valid: the server's own pages and, at the paths of tools, the contract's expose.origins.", strings.Join(values, ", ")))
	return "", false
}

// crossSite reports whether a browser says that a page of another site sent
// the request, other than by a link.
func crossSite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && fromElsewhere(r)
}

// fromElsewhere reports whether a browser says that a page of another origin
// sent the request.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// exposedPath reports whether pages of exposed origins may use a path: those
// of tools, not the index, the metrics or the state of the server.
func exposedPath(path string) bool {
	switch path {
	case "/mcp", "/v1/tools", "/v1/webmcp", ScriptPath:
		return true
	}
	return strings.HasPrefix(path, "/v1/tools/") || strings.HasPrefix(path, "/v1/webmcp/")
}

// ScriptPath is the script that registers tools in pages. A script element
// without the attribute crossorigin asks for it without an Origin.
const ScriptPath = "/remit.js"

// checkScript lets a script element have the script: on the server's own
// pages, and on those of an exposed origin, as their Referer says, which a
// page can leave out but not choose. It reports whether the request may go on.
func checkScript(p *policy, w http.ResponseWriter, r *http.Request) bool {
	w.Header().Add("Vary", "Sec-Fetch-Site, Referer")
	from, err := url.Parse(r.Header.Get("Referer"))
	if err == nil && p.origins[strings.ToLower(from.Scheme+"://"+from.Host)] {
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		return true
	}
	if fromElsewhere(r) {
		Refuse(w, http.StatusForbidden, "Pages of other origins may have the script only where the contract's expose.origins names them and their Referer or Origin says who they are.")
		return false
	}
	return true
}

// sameOrigin reports whether origin is that of the host's own pages. The
// scheme may be that of a proxy in front of the server.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return false
	}
	return withPort(u.Host, u.Scheme) == withPort(strings.ToLower(host), u.Scheme)
}

func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// answerPreflight answers the question that a browser asks before it lets an
// exposed page call, and reports whether the request was one.
func answerPreflight(w http.ResponseWriter, r *http.Request, origin string) bool {
	if origin == "" || r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Max-Age", "600")
	h.Add("Vary", "Access-Control-Request-Private-Network")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// readBody reads the body whole, so that every wire meets the same limits, and
// reports whether the request may go on.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a recorder in a test has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	// After an error the deadline stays, or net/http would wait for the rest of
	// the body without one.
	switch {
	case errors.As(err, &tooLarge):
		Refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("The body has over %d bytes.", MaxBody))
	case errors.Is(err, os.ErrDeadlineExceeded):
		Refuse(w, http.StatusRequestTimeout, fmt.Sprintf("The body did not arrive within %d seconds.", int(bodyTimeout.Seconds())))
	case err != nil:
		Refuse(w, http.StatusBadRequest, "The body could not be read.")
	default:
		_ = control.SetReadDeadline(time.Time{})
		r.Body = io.NopCloser(bytes.NewReader(body))
		return true
	}
	return false
}

// timedWriter gives each write its own time, so that a stream may last and a
// caller that takes nothing may not.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Unwrap serves http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write writes within the time of one write.
func (w *timedWriter) Write(data []byte) (int, error) {
	w.extend()
	return w.ResponseWriter.Write(data)
}

// Flush sends what was written within the time of one write.
func (w *timedWriter) Flush() {
	w.extend()
	_ = w.control.Flush() // the next write reports a connection that is gone
}

func (w *timedWriter) extend() {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder in a test has none
}

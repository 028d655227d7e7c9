package wire

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"remit.example/tool"
)

// ServeCall makes the call of one tool that an HTTP request asks for: its body
// is the input, its header may set a case, and the answer is the tool's and a
// newline, under the status of its code. Characters bounds the answer as in
// tool.Call. A request that is no call is refused. The request must have
// passed Guard.
func (s *Service) ServeCall(w http.ResponseWriter, r *http.Request, name string, characters int) {
	set := s.Set()
	t, known := set.Lookup(name)
	if !known {
		Refuse(w, http.StatusNotFound, Unknown(set, name))
		return
	}
	if !isJSON(r.Header) {
		Refuse(w, http.StatusUnsupportedMediaType, "The body of a call is one JSON object in UTF-8; send it as Content-Type: application/json, not compressed.")
		return
	}
	input, err := io.ReadAll(r.Body)
	if err != nil { // Guard has read it into memory
		Refuse(w, http.StatusBadRequest, "The body could not be read.")
		return
	}
	answer, err := s.CallCase(r.Context(), t, input, characters, HeaderCase(r.Header))
	if err != nil {
		Refuse(w, http.StatusBadRequest, err.Error()+".")
		return
	}
	writeAnswer(w, r, answer)
}

func writeAnswer(w http.ResponseWriter, r *http.Request, a tool.Answer) {
	status := http.StatusOK
	if a.Failure != nil {
		status = a.Failure.Code.HTTPStatus()
		if wait := a.Failure.RetryAfter(); wait != "" {
			w.Header().Set("Retry-After", wait)
		}
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge(CallerFrom(r.Context())))
	}
	Write(w, "application/json", status, append(bytes.Clone(a.Body), '\n'))
}

// challenge asks for a token (RFC 6750, section 3).
func challenge(c Caller) string {
	if c.BadToken {
		return `Bearer realm="remit", error="invalid_token"`
	}
	return `Bearer realm="remit"`
}

// isJSON reports whether a body is JSON as it stands.
func isJSON(h http.Header) bool {
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := parameters["charset"]
	encoding := h.Get("Content-Encoding")
	return err == nil && kind == "application/json" &&
		(charset == "" || strings.EqualFold(charset, "utf-8")) &&
		(encoding == "" || strings.EqualFold(encoding, "identity"))
}

// Write answers with a body of a media type, which nobody may store.
func Write(w http.ResponseWriter, kind string, status int, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone needs no answer
}

// Route adds a path that has one method to mux; GET has HEAD with it. Every
// other method is refused with what is valid.
func Route(mux *http.ServeMux, method, path string, handler http.HandlerFunc) {
	mux.HandleFunc(method+" "+path, handler)
	allow := method
	if method == http.MethodGet {
		allow = "GET, HEAD"
	}
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		Refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not for %s; valid: %s.", r.URL.Path, r.Method, allow))
	})
}

package proxy

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/guard"
	"remit.example/record"
)

// wellKnown begins the addresses of OAuth metadata (RFC 8414, RFC 9728).
const wellKnown = "/.well-known/"

// metadataNames are those that clients look for (RFC 8414, RFC 9728, OpenID
// Connect Discovery).
var metadataNames = []string{"oauth-protected-resource", "oauth-authorization-server", "openid-configuration"}

// isMetadata reports whether a request is for metadata, and for no other part
// of the upstream's origin.
func isMetadata(r *http.Request) bool {
	name, found := strings.CutPrefix(r.URL.Path, wellKnown)
	if !found || r.URL.RawPath != "" || path.Clean(r.URL.Path) != r.URL.Path || strings.ContainsAny(r.URL.Path, "\\;%") {
		return false
	}
	name, _, _ = strings.Cut(name, "/")
	return slices.Contains(metadataNames, name) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// maxMetadata bounds metadata, in bytes.
const maxMetadata = 1 << 20

// metadata passes on what an upstream says of its authorization. Where it
// names itself as the protected resource, it is the guard that clients call.
func (h *HTTP) metadata(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, wellKnown+"oauth-protected-resource") {
		h.pass(w, r, nil)
		return
	}
	response, err := h.transport.RoundTrip(h.request(r.Context(), r, nil))
	if err != nil {
		refuse(w, http.StatusBadGateway, "The guarded server did not answer.")
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMetadata))
	if err != nil {
		refuse(w, http.StatusBadGateway, "The guarded server did not answer.")
		return
	}
	copyHeader(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(h.resourceRenamed(r, body)) // a client that has gone needs no answer
}

// resourceRenamed is metadata whose resource lies at the guard's address.
func (h *HTTP) resourceRenamed(r *http.Request, metadata []byte) []byte {
	out := record.Object{}
	err := guard.EachMember(metadata, func(name string, value jsontext.Value) {
		if name == "resource" {
			value = record.AppendString(nil, h.rebased(r, unquoted(value)))
		}
		out.Add(name, value)
	})
	if err != nil {
		return metadata
	}
	return out.JSON()
}

// renamed are challenges whose resource_metadata lies at the guard's address.
func (h *HTTP) renamed(r *http.Request, challenges []string) []string {
	out := make([]string, len(challenges))
	for i, challenge := range challenges {
		before, rest, found := strings.Cut(challenge, `resource_metadata="`)
		address, after, closed := strings.Cut(rest, `"`)
		if !found || !closed {
			out[i] = challenge
			continue
		}
		out[i] = before + `resource_metadata="` + h.rebased(r, address) + `"` + after
	}
	return out
}

// rebased is an address of the upstream's at the guard's own; one elsewhere
// stays.
func (h *HTTP) rebased(r *http.Request, address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != h.upstream.Scheme || u.Host != h.upstream.Host {
		return address
	}
	u.Scheme, u.Host = "http", r.Host
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}

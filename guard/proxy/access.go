package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Access says whose requests are served.
type Access struct {
	Listen  string   // the address that is listened on
	Hosts   []string // values of the Host header that are accepted besides
	Origins []string // web origins whose pages may call
}

// Limit lets through requests for one of the guard's own names that come from
// no page, or from one that is permitted: a page elsewhere, or a name that is
// made to lead here, reaches nothing.
func (a Access) Limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.named(r) {
			refuse(w, http.StatusForbidden, fmt.Sprintf("The Host header %q is none of this guard's; valid: localhost, the address that it listens on, and those of --host.", r.Host))
			return
		}
		if len(r.Header["Authorization"]) > 1 {
			refuse(w, http.StatusBadRequest, "The request has several Authorization headers; valid: one.")
			return
		}
		origin := r.Header.Get("Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		if len(r.Header["Origin"]) > 1 || !a.permits(origin, r.Host) {
			refuse(w, http.StatusForbidden, fmt.Sprintf("Pages of the origin %q may not call this; valid: those of --origin.", origin))
			return
		}
		w.Header().Add("Vary", "Origin")
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
			w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// named reports whether the Host header is one of the guard's names.
func (a Access) named(r *http.Request) bool {
	name := hostName(r.Host)
	switch {
	case name == "":
		return false
	case loopback(name), slices.Contains(a.Hosts, strings.ToLower(r.Host)), slices.Contains(a.Hosts, name):
		return true
	}
	listen := hostName(a.Listen)
	if address, err := netip.ParseAddr(listen); listen == "" || err == nil && address.IsUnspecified() {
		local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		return ok && hostName(local.String()) == name
	}
	return listen == name
}

// permits reports whether pages of an origin may call: those of a permitted
// one, and of the guard's own address.
func (a Access) permits(origin, host string) bool {
	if slices.Contains(a.Origins, strings.ToLower(origin)) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func loopback(name string) bool {
	if name == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

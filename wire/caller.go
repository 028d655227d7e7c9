package wire

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Caller is who a request comes from.
type Caller struct {
	// Local says that the caller is on this machine, and no proxy between.
	Local bool `json:"local,omitempty"`
	// Principal is the name of the token that the caller presented.
	Principal string `json:"principal,omitempty"`
	// BadToken says that it presented a token that is none of the server's.
	BadToken bool `json:"bad_token,omitempty"`
	// Address is the network address whose anonymous calls are counted together.
	Address string `json:"address,omitempty"`
	// Origin is the web origin of the calling page, where that is not the
	// server's own; "" for any other caller.
	Origin string `json:"origin,omitempty"`
}

// String names the caller in logs: its principal, local or anonymous.
func (c Caller) String() string {
	switch {
	case c.Principal != "":
		return c.Principal
	case c.Local:
		return "local"
	}
	return "anonymous"
}

// Stdio is the caller at the other end of standard input: the process that
// started the server.
var Stdio = Caller{Local: true}

type callerKey struct{}

// WithCaller is a context whose calls are made for c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom is the caller of ctx; without one, nobody: a caller that is
// neither local nor known.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// callerHeader carries the caller through a library that keeps a request's
// header but not its context. No request can bring it along: the name is not
// a token, so that net/http refuses it, and Guard sets it in any case.
const callerHeader = "remit caller"

// CallerFromHeader is the caller that Guard noted in a request's header.
func CallerFromHeader(h http.Header) (Caller, bool) {
	values := h[callerHeader]
	if len(values) != 1 {
		return Caller{}, false
	}
	var c Caller
	if err := json.Unmarshal([]byte(values[0]), &c); err != nil {
		return Caller{}, false
	}
	return c, true
}

// identify names the caller of a request; origin is that of a page which is
// not the server's own.
func (s *Service) identify(r *http.Request, origin string) Caller {
	peer := peerAddress(r)
	c := Caller{Origin: origin, Address: rateAddress(peer)}
	forwarded := forwards(r.Header)
	c.Local = peer.IsLoopback() && isLoopbackName(hostName(r.Host)) && !forwarded
	if peer.IsLoopback() && forwarded {
		c.Address = rateAddress(lastForwarded(r.Header))
	}
	if token, presented := bearer(r.Header); presented && s.options.Tokens != nil {
		var known bool
		c.Principal, known = s.options.Tokens.lookup(token)
		c.BadToken = !known
	}
	return c
}

// note records the caller in the request's context and header.
func note(r *http.Request, c Caller) *http.Request {
	encoded, err := json.Marshal(c)
	if err != nil { // it holds only strings and booleans
		panic(err)
	}
	r = r.WithContext(WithCaller(r.Context(), c))
	r.Header = r.Header.Clone()
	r.Header[callerHeader] = []string{string(encoded)}
	return r
}

// forwards reports whether a proxy says that it forwards for somebody else.
func forwards(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// lastForwarded is the address that the nearest proxy added; the zero address
// where it names none. Everything before it is the word of strangers.
func lastForwarded(h http.Header) netip.Addr {
	values := h.Values("X-Forwarded-For")
	if len(values) == 0 {
		return netip.Addr{}
	}
	list := strings.Split(values[len(values)-1], ",")
	address, err := netip.ParseAddr(strings.TrimSpace(list[len(list)-1]))
	if err != nil {
		return netip.Addr{}
	}
	return address
}

// bearer is the token of a request's Authorization header (RFC 6750).
func bearer(h http.Header) (token string, presented bool) {
	scheme, token, found := strings.Cut(h.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

func peerAddress(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap()
}

// rateAddress groups the addresses that one caller can choose from freely.
func rateAddress(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a.String()
	}
	network, err := a.Prefix(64)
	if err != nil { // 64 bits are always within an IPv6 address
		panic(err)
	}
	return network.String()
}

// hostName is the name in a Host header or address, without a port, in lower
// case and without the dot of the root.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func isLoopbackName(name string) bool {
	if name == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

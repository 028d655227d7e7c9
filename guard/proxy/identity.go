package proxy

import (
	"container/list"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"remit.example/guard"
)

// Identify says who sends a request.
type Identify func(*http.Request) guard.Caller

// Verify reads who a request's token names, such as issuer and subject; ""
// where it names nobody.
type Verify func(*http.Request) string

// Identified is the caller of a request as the package comment says; verify
// may be nil.
func Identified(verify Verify) Identify {
	return func(r *http.Request) guard.Caller {
		session := r.Header.Get(sessionHeader)
		address := "address:" + addressOf(r)
		caller := guard.Caller{Connection: address}
		if session != "" {
			caller.Connection = "session:" + hashed(session)
		}
		token := credentials(r.Header)
		if token == "" {
			caller.Principal = caller.Connection
			return caller
		}
		caller.Credentials = sha256.Sum256([]byte(token))
		caller.Principal = "token:" + hashed(token)
		if verify != nil {
			if name := verify(r); name != "" {
				caller.Principal = "subject:" + name
			}
		}
		return caller
	}
}

// credentials are what an Authorization header says, however its scheme and
// spaces are written (RFC 9110, section 11.6.2).
func credentials(header http.Header) string {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header.Get("Authorization")), " ")
	return strings.TrimSpace(strings.ToLower(scheme) + " " + strings.TrimSpace(rest))
}

// hashed stands for a secret in the ledger and in traces.
func hashed(secret string) string {
	mac := hmac.New(sha256.New, []byte("remit principal"))
	_, _ = mac.Write([]byte(secret)) // never fails
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func addressOf(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return peer.Addr().Unmap().String()
}

// maxSeen bounds the callers whose tools are remembered.
const maxSeen = 10_000

// sessions is what callers have seen of the upstream's tools. Beyond the bound
// the one that has not called for longest is forgotten. Its zero value is
// usable.
type sessions struct {
	mu     sync.Mutex
	known  map[guard.Caller]*list.Element
	recent list.List // of *seen, the latest first
}

type seen struct {
	caller  guard.Caller
	session *guard.Session
}

func (s *sessions) of(caller guard.Caller) *guard.Session {
	caller.Credentials = guard.Digest{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if element, ok := s.known[caller]; ok {
		s.recent.MoveToFront(element)
		return element.Value.(*seen).session
	}
	if s.known == nil {
		s.known = map[guard.Caller]*list.Element{}
	}
	if s.recent.Len() >= maxSeen {
		oldest := s.recent.Back()
		delete(s.known, oldest.Value.(*seen).caller)
		s.recent.Remove(oldest)
	}
	session := new(guard.Session)
	s.known[caller] = s.recent.PushFront(&seen{caller, session})
	return session
}

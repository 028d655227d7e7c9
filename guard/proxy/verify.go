package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// refreshPause is between two readings of a key set.
	refreshPause = time.Minute
	fetchTime    = 10 * time.Second
	maxKeySet    = 1 << 20 // bytes
	leeway       = time.Minute
)

// signed are the algorithms that a token may be signed by: none whose key a
// verifier has to keep secret.
var signed = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Verifier reads who a bearer token (RFC 7519) names: its issuer and subject,
// if one of the issuer's keys has signed it for the audience and it is in time.
type Verifier struct {
	source   string // of the key set (RFC 7517): an address or a file
	issuer   string
	audience string

	mu   sync.Mutex
	keys jose.JSONWebKeySet
	read time.Time
}

// NewVerifier reads the key set at an https address, at http on this machine,
// or in a file.
func NewVerifier(ctx context.Context, source, issuer, audience string) (*Verifier, error) {
	v := &Verifier{source: source, issuer: issuer, audience: audience}
	keys, err := readKeys(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("the key set %s: %w", source, err)
	}
	v.keys, v.read = keys, time.Now()
	return v, nil
}

// Subject implements [Verify].
func (v *Verifier) Subject(r *http.Request) string {
	scheme, text, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	token, err := jwt.ParseSigned(strings.TrimSpace(text), signed)
	if err != nil || len(token.Headers) != 1 {
		return ""
	}
	for _, key := range v.named(r.Context(), token.Headers[0].KeyID) {
		var claims jwt.Claims
		if token.Claims(key.Key, &claims) != nil {
			continue
		}
		expected := jwt.Expected{Issuer: v.issuer, AnyAudience: jwt.Audience{v.audience}, Time: time.Now()}
		if claims.ValidateWithLeeway(expected, leeway) == nil && claims.Subject != "" && claims.Expiry != nil {
			return claims.Issuer + " " + claims.Subject
		}
	}
	return ""
}

// named are the keys of an id, or all keys where a token names none. One that
// is not known may be new: the set is read again, but not often.
func (v *Verifier) named(ctx context.Context, id string) []jose.JSONWebKey {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id == "" {
		return v.keys.Keys
	}
	if found := v.keys.Key(id); len(found) > 0 || time.Since(v.read) < refreshPause {
		return found
	}
	v.read = time.Now()
	keys, err := readKeys(ctx, v.source)
	if err != nil {
		return nil // the caller is then who the token itself is
	}
	v.keys = keys
	return v.keys.Key(id)
}

func readKeys(ctx context.Context, source string) (jose.JSONWebKeySet, error) {
	var keys jose.JSONWebKeySet
	data, err := readSource(ctx, source)
	if err != nil {
		return keys, err
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		return keys, fmt.Errorf("it is no JSON Web Key Set: %w", err)
	}
	if len(keys.Keys) == 0 {
		return keys, errors.New("it has no keys")
	}
	for _, key := range keys.Keys {
		if !key.IsPublic() {
			return keys, errors.New("it has a key that is not public")
		}
	}
	return keys, nil
}

func readSource(ctx context.Context, source string) ([]byte, error) {
	u, err := url.Parse(source)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return os.ReadFile(source)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, errors.New("keys that come over http can be exchanged on their way; valid: https, or a file")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered with the status %d", response.StatusCode)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxKeySet))
}

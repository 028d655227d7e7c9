package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// TestVerifier: a token names its subject only if a key of the issuer has
// signed it, for this audience, and it is in time.
func TestVerifier(t *testing.T) {
	key, stranger := newKey(t), newKey(t)
	file := filepath.Join(t.TempDir(), "keys.json")
	writeKeys(t, file, jose.JSONWebKey{Key: &key.PublicKey, KeyID: "k1", Algorithm: "ES256", Use: "sig"})
	v, err := NewVerifier(t.Context(), file, "https://issuer.example", "remit")
	if err != nil {
		t.Fatal(err)
	}
	hour := time.Now().Add(time.Hour)
	good := jwt.Claims{Issuer: "https://issuer.example", Subject: "alice", Audience: jwt.Audience{"remit"}, Expiry: jwt.NewNumericDate(hour)}
	changed := func(f func(*jwt.Claims)) jwt.Claims { c := good; f(&c); return c }
	for name, tt := range map[string]struct {
		key    *ecdsa.PrivateKey
		id     string
		claims jwt.Claims
		want   string
	}{
		"good":            {key, "k1", good, "https://issuer.example alice"},
		"no key id":       {key, "", good, "https://issuer.example alice"},
		"another key":     {stranger, "k1", good, ""},
		"unknown key":     {key, "k2", good, ""},
		"other issuer":    {key, "k1", changed(func(c *jwt.Claims) { c.Issuer = "https://else.example" }), ""},
		"other audience":  {key, "k1", changed(func(c *jwt.Claims) { c.Audience = jwt.Audience{"else"} }), ""},
		"expired":         {key, "k1", changed(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Hour)) }), ""},
		"without an end":  {key, "k1", changed(func(c *jwt.Claims) { c.Expiry = nil }), ""},
		"not yet":         {key, "k1", changed(func(c *jwt.Claims) { c.NotBefore = jwt.NewNumericDate(hour) }), ""},
		"without subject": {key, "k1", changed(func(c *jwt.Claims) { c.Subject = "" }), ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+signedBy(t, tt.key, tt.id, tt.claims))
		if got := v.Subject(r); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for _, header := range []string{"", "Bearer", "Bearer x", "Basic eDp5", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", header)
		if got := v.Subject(r); got != "" {
			t.Errorf("%q names %q", header, got)
		}
	}
}

// TestVerifierRefused: a key set that proves nothing is an error.
func TestVerifierRefused(t *testing.T) {
	folder := t.TempDir()
	private := filepath.Join(folder, "private.json")
	writeKeys(t, private, jose.JSONWebKey{Key: newKey(t), KeyID: "k1"})
	empty := filepath.Join(folder, "empty.json")
	writeKeys(t, empty)
	for source, want := range map[string]string{
		private:                         "not public",
		empty:                           "no keys",
		filepath.Join(folder, "none"):   "no such file",
		"http://keys.example/jwks.json": "valid: https",
	} {
		if _, err := NewVerifier(t.Context(), source, "i", "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writeKeys(t *testing.T, file string, keys ...jose.JSONWebKey) {
	t.Helper()
	data, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func signedBy(t *testing.T, key *ecdsa.PrivateKey, id string, claims jwt.Claims) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

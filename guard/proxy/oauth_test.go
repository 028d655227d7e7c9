package proxy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// authorizer is an authorization server (RFC 6749, RFC 7636, RFC 8414) that
// lets everybody in. It remembers which resource each token is for (RFC 8707).
type authorizer struct {
	*httptest.Server
	mu        sync.Mutex
	codes     map[string]string // to their challenges
	resources map[string]string // of tokens
}

func newAuthorizer(t *testing.T) *authorizer {
	a := &authorizer{codes: map[string]string{}, resources: map[string]string{}}
	mux := http.NewServeMux()
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_post"},
		})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		code, query := rand.Text(), r.URL.Query()
		a.mu.Lock()
		a.codes[code] = query.Get("code_challenge")
		a.mu.Unlock()
		http.Redirect(w, r, query.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {query.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.codes[r.FormValue("code")] != base64.RawURLEncoding.EncodeToString(sum[:]) {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		token := rand.Text()
		a.resources[token] = r.FormValue("resource")
		writeJSON(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
	})
	return a
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// TestOAuth: the official client finds out through the guard where to
// authenticate, and then calls; the token names the guard as its resource.
func TestOAuth(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			authorizer := newAuthorizer(t)
			mux := http.NewServeMux()
			upstream := httptest.NewServer(mux)
			t.Cleanup(upstream.Close)
			metadata := "/.well-known/oauth-protected-resource/mcp"
			mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
				Resource: upstream.URL + "/mcp", AuthorizationServers: []string{authorizer.URL},
			}))
			verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
				authorizer.mu.Lock()
				defer authorizer.mu.Unlock()
				if _, ok := authorizer.resources[token]; !ok {
					return nil, auth.ErrInvalidToken
				}
				return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
			}
			server := newServer()
			mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: upstream.URL + metadata})(
				sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: era == eras[0]})))
			at, err := url.Parse(upstream.URL + "/mcp")
			if err != nil {
				t.Fatal(err)
			}
			guarded := httptest.NewServer(NewHTTP(newGuard(t, ""), at, Identified(nil)))
			t.Cleanup(guarded.Close)

			for range 3 { // from the upstream, then from memory
				response, err := http.Post(guarded.URL+"/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_thing"}}`))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if got, want := response.Header.Get("WWW-Authenticate"), `resource_metadata="`+guarded.URL+metadata+`"`; response.StatusCode != http.StatusUnauthorized || !strings.Contains(got, want) {
					t.Fatalf("%d, %s; want %s", response.StatusCode, got, want)
				}
			}
			handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
				RedirectURL: "http://localhost:1/callback",
				PreregisteredClient: &oauthex.ClientCredentials{
					ClientID: "test", ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: "secret"},
				},
				AuthorizationCodeFetcher: visit,
			})
			if err != nil {
				t.Fatal(err)
			}
			session := connect(t, era, &sdk.StreamableClientTransport{Endpoint: guarded.URL + "/mcp", OAuthHandler: handler}, nil)
			if got := called(t, session, "get_thing", map[string]any{"id": "a"}); got != `thing {"id":"a"}` {
				t.Error(got)
			}
			for token, resource := range authorizer.resources {
				if resource != guarded.URL+"/mcp" {
					t.Errorf("the token %.4s… is for %s, want %s", token, resource, guarded.URL+"/mcp")
				}
			}
		})
	}
}

// visit goes where a person would, and comes back with the code.
func visit(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	location, err := response.Location()
	if err != nil {
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return &auth.AuthorizationResult{Code: location.Query().Get("code"), State: location.Query().Get("state")}, nil
}

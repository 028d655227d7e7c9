package webmcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"remit.example/wire"
	"remit.example/wire/webmcp"
	"remit.example/wire/wiretest"
)

// TestPlatformPage: the page whose tools fail exists in a sandbox alone, and
// only there may one of the server's pages stand in a frame.
func TestPlatformPage(t *testing.T) {
	for _, sandbox := range []bool{true, false} {
		service, err := wire.New(wiretest.Set(t, wiretest.Service{}), wire.Options{Sandbox: sandbox})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		webmcp.Mount(mux, service)
		want := http.StatusNotFound
		if sandbox {
			want = http.StatusOK
		}
		for _, path := range []string{"/sandbox/platform", "/sandbox/platform/frame", "/sandbox/platform.js"} {
			answer := httptest.NewRecorder()
			service.Guard(mux).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
			if answer.Code != want {
				t.Errorf("sandbox %v, %s: status %d, want %d", sandbox, path, answer.Code, want)
			}
			policy := answer.Header().Get("Content-Security-Policy")
			if own := strings.Contains(policy, "frame-ancestors 'self'"); own != (sandbox && !strings.HasSuffix(path, ".js")) {
				t.Errorf("sandbox %v, %s: %s", sandbox, path, policy)
			}
		}
	}
}

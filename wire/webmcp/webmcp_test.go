package webmcp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"remit.example/wire"
	"remit.example/wire/webmcp"
	"remit.example/wire/wiretest"
)

// TestPage loads the script in a browser.
func TestPage(t *testing.T) {
	service, err := wire.New(wiretest.Set(t, wiretest.Service{}), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	webmcp.Mount(mux, service)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		wire.Write(w, "text/html", http.StatusOK, []byte(`<!doctype html><script src="/remit.js"></script>`))
	})
	server := httptest.NewServer(service.Guard(mux))
	defer server.Close()
	ctx := wiretest.Chromium(t, true)
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	kind, err := chromedp.Run(ctx, chromedp.Evaluate[string](`typeof document.modelContext`))
	if err != nil || kind != "object" {
		t.Errorf("got %q, %v", kind, err)
	}
}

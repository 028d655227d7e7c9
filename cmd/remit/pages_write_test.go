package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"remit.example/wire/wiretest"
)

// writing is a tool with an effect whose fields are named like a form's own
// properties.
const writing = `remit: 1
service: orders
tools:
  place_order:
    promise: command
    effect: unsafe
    description: Places one order.
    input: {id: {type: text, example: a}, method: {type: text, example: b}, action: {type: text, example: c}}
    answer: {number: {type: integer}}
    backend: {http: {url: "%s", method: POST}}
`

// TestPagesWrite presses the button of a tool with an effect twice before the
// first answer comes: the service behind it is asked once.
func TestPagesWrite(t *testing.T) {
	var asked atomic.Int32
	release := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-release
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"number":7}`)
	}))
	t.Cleanup(upstream.Close)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, contractFile), fmt.Appendf(nil, writing, upstream.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, personServer(t, []string{folder})+"/tools/place_order")
	busy := evaluate[string](t, ctx, `
		const send = document.querySelector("#form button:not([type])");
		send.click();
		send.click();
		return document.getElementById("form").getAttribute("aria-busy");`)
	close(release)
	shown := evaluate[string](t, ctx, `
		while (!document.getElementById("answer-bytes")) await soon();
		return document.getElementById("answer-bytes").textContent;`)
	if n := asked.Load(); n != 1 || busy != "true" || shown != `{"number":7}` {
		t.Errorf("the service was asked %d times; busy is %s; the page shows %s", n, busy, shown)
	}
}

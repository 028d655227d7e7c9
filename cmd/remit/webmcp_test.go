package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"

	"remit.example/record"
	"remit.example/tool"
	"remit.example/wire"
	"remit.example/wire/webmcp"
	"remit.example/wire/wiretest"
)

// literals are requests and the exact bytes of their answers.
var literals = []struct{ name, tool, input, answer string }{
	{
		"S1", "search_lights",
		`{"request_id":"S1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true}}`,
		`{"request_id":"S1","status":"matches","ids":["A","B","D"],"basis":"filters_only","recommendation":false}`,
	},
	{
		"R1", "rank_lights_by_declared_preferences",
		`{"request_id":"R1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"preferences":["price_ascending","lumens_descending"]}`,
		`{"request_id":"R1","status":"preference_order","items":[{"id":"B","rank":1},{"id":"D","rank":1},{"id":"A","rank":3}],"basis":"price_ascending_then_lumens_descending","recommendation":false}`,
	},
	{
		"R2", "rank_lights_by_declared_preferences",
		`{"request_id":"R2","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"preferences":null}`,
		`{"request_id":"R2","status":"clarify_preferences","missing":["preferences"],"accepted":["price_ascending","price_descending","lumens_ascending","lumens_descending"],"recommendation":false}`,
	},
	{
		"U1", "assess_light_suitability",
		`{"request_id":"U1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"purpose":"colour_matching"}`,
		`{"request_id":"U1","status":"insufficient_evidence","ids":["A","B","D"],"missing":["colour_accuracy_evidence"],"recommendation":false}`,
	},
}

// refusedRef is the failure of delivery_status for a reference it does not take.
const refusedRef = `{"error":"The shipment_ref must be SHIP- followed by exactly three digits, such as SHIP-104.","code":"INVALID_ARGUMENT","retryable":false,"recovery":{"code":"INVALID_ARGUMENT","message":"The shipment_ref must be SHIP- followed by exactly three digits, such as SHIP-104.","field":"shipment_ref","retry_after_ms":null}}`

// webPages serves contracts, or the built-in examples, as remit serve does, and
// beside them pages and scripts of the test, by path.
func webPages(t *testing.T, contracts []string, texts map[string]string) (url string) {
	t.Helper()
	o, err := open(contracts)
	if err != nil {
		t.Fatal(err)
	}
	service, err := wire.New(o.set, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	webmcp.Mount(mux, service)
	for path, text := range texts {
		kind := "text/html; charset=utf-8"
		if strings.HasSuffix(path, ".js") {
			kind = "text/javascript; charset=utf-8"
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind) // and no Cache-Control, so that a browser may keep the page
			_, _ = io.WriteString(w, text)
		})
	}
	server := httptest.NewServer(service.Guard(mux))
	t.Cleanup(server.Close)
	return server.URL
}

// toolPage is a page whose head has the elements.
func toolPage(head string) string {
	return "<!doctype html><html lang=en><meta charset=utf-8><title>A page of tools</title>" + head + "<h1>A page of tools</h1>"
}

const remitScript = `<script src="/remit.js"></script>`

// evaluate is the value of an async function's body in the page. The body may
// await soon(); it waits for no frame, which a browser in the background may
// never draw.
func evaluate[T any](t *testing.T, ctx context.Context, body string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T]("(async () => {const soon = () => new Promise((done) => setTimeout(done, 10));\n"+body+"\n})()", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	return value
}

func navigate(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
}

// executeTool is a script that calls a tool as an agent does. input is JSON;
// the browser gets what the function as makes of its value.
func executeTool(name, input, as string) string {
	return fmt.Sprintf(`
		await remit.ready;
		const tool = (await document.modelContext.getTools()).find(t => t.name === %q);
		const as = %s;
		return await document.modelContext.executeTool(tool, as(JSON.parse(%s)));`, name, as, record.AppendString(nil, input))
}

// object is for browsers that take inputs as objects.
const object = "value => value"

func TestWebMCPNative(t *testing.T) {
	url := webPages(t, nil, map[string]string{"/{$}": toolPage(remitScript)})
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, url)
	registered := evaluate[Registration](t, ctx, `return await remit.ready`)
	want := servedNames(t)
	if len(registered.Left) > 0 || !equalSets(registered.Tools, want) {
		t.Errorf("registered %v, left %v; want %v", registered.Tools, registered.Left, want)
	}
	seen := evaluate[[]string](t, ctx, `return (await document.modelContext.getTools()).map(t => t.name)`)
	if !equalSets(seen, want) {
		t.Errorf("the browser has %v, want %v", seen, want)
	}
	for _, l := range literals {
		if got := evaluate[string](t, ctx, executeTool(l.tool, l.input, object)); got != l.answer {
			t.Errorf("%s: got\n%s\nwant\n%s", l.name, got, l.answer)
		}
	}
	got := evaluate[string](t, ctx, executeTool("delivery_status", `{"shipment_ref":"ship104"}`, object))
	if want := failureObject(t, refusedRef); got != want {
		t.Errorf("a failure: got\n%s\nwant\n%s", got, want)
	}
}

// Registration is what remit.ready resolves with.
type Registration struct {
	Tools []string `json:"tools"`
	Left  []struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	} `json:"left"`
}

// failureObject is the JSON of the object that a failed call resolves with. The
// body stands in it once more where 1,500 characters have room for it.
func failureObject(t *testing.T, body string) string {
	t.Helper()
	var members struct{ Error string }
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatal(err)
	}
	object := strings.TrimSuffix(body, "}") + `,"isError":true,"content":[{"type":"text","text":`
	object = string(record.AppendString([]byte(object), members.Error)) + `}`
	whole := string(record.AppendString([]byte(object+`,{"type":"text","text":`), body)) + `}]}`
	if utf8.RuneCountInString(whole) <= tool.AgentCharacters {
		return whole
	}
	return object + `]}`
}

func servedNames(t *testing.T) []string {
	t.Helper()
	o, err := open(nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, tool := range o.set.Tools() {
		list = append(list, tool.Name)
	}
	return list
}

func equalSets(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// TestWebMCPServed opens the index of remit serve: it registers the tools, and
// neither its policy nor anything else is violated.
func TestWebMCPServed(t *testing.T) {
	server := start(t, serveFlags{})
	ctx := wiretest.Chromium(t, true)
	complaints := make(chan string, 100)
	err := chromedp.Listen(ctx, func(event any) {
		if entry, ok := event.(*log.EventEntryAdded); ok && entry.Entry.Level != log.EntryLevelVerbose {
			complaints <- entry.Entry.Text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	navigate(t, ctx, server.url)
	if got, want := evaluate[[]string](t, ctx, `await remit.ready; return `+browserHas), servedNames(t); !equalSets(got, want) {
		t.Errorf("the browser has %v, want %v", got, want)
	}
	if len(complaints) > 0 {
		t.Errorf("the browser complains: %q", <-complaints)
	}
}

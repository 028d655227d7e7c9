package main

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"remit.example/wire"
	"remit.example/wire/rest"
	"remit.example/wire/webmcp"
)

// personPages are the pages of which the tests keep the markup, audit the
// accessibility and take pictures: each kind of answer once.
var personPages = []struct{ name, tool, request string }{
	{"index", "", ""},
	{"form", "search_sources", ""},
	{"S1", "search_lights", `{"request_id":"S1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true}}`},
	{"S2", "search_lights", `{"request_id":"S2","filters":{"max_price_minor":1000,"min_lumens":600,"in_stock":true}}`},
	{"S3", "search_lights", `{"request_id":"S3","filters":{"max_price_minor":"6000","min_lumens":600,"in_stock":true}}`},
	{"R1", "rank_lights_by_declared_preferences", `{"request_id":"R1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"preferences":["price_ascending","lumens_descending"]}`},
	{"R2", "rank_lights_by_declared_preferences", `{"request_id":"R2","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"preferences":null}`},
	{"U1", "assess_light_suitability", `{"request_id":"U1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"purpose":"colour_matching"}`},
	{"search", "search_sources", `{"request_id":"Q1","filters":{"technology":"LED","max_cct":3300},"limit":3}`},
	{"rank", "rank_sources_by_preference", `{"request_id":"Q2","filters":{"technology":"LED"},"preferences":["cct_ascending"],"limit":3}`},
	{"assess", "assess_source_suitability", `{"request_id":"Q3","purpose":"colour_rendering_limits","limit":3}`},
	{"scope", "assess_source_suitability", `{"request_id":"Q4","filters":{"name":"Luxeon"},"purpose":"colour_rendering_limits"}`},
	{"record", "get_source", `{"request_id":"Q5","id":"ls-29"}`},
	{"answer", "delivery_status", `{"shipment_ref":"SHIP-104"}`},
	{"wait", "delivery_status", `{"shipment_ref":"SHIP-503"}`},
	{"refusal", "delivery_status", `{"shipment_ref":"SHIP-403"}`},
}

// addressOf is the address of a page, by the whole request.
func addressOf(tool, request string) string {
	switch {
	case tool == "":
		return "/"
	case request == "":
		return "/tools/" + tool
	}
	return "/tools/" + tool + "?" + url.Values{"request": {request}}.Encode()
}

// personHandler serves contracts to people and to pages.
func personHandler(t *testing.T, contracts []string) http.Handler {
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
	mux.Handle("/", rest.New(service, rest.Options{Version: "test"}))
	return service.Guard(mux)
}

// personPage asks for a page as a browser on this machine does.
func personPage(t *testing.T, handler http.Handler, address string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:5555", "localhost:8080"
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", address, w.Code, w.Body)
	}
	return w.Body.String()
}

// givenCursor is a cursor in a page: its key is new in each process.
var givenCursor = regexp.MustCompile(`cursor(=|&#34;:&#34;)[A-Za-z0-9_-]+`)

// TestPages compares the markup of pages with what it was, but for cursors.
func TestPages(t *testing.T) {
	handler := personHandler(t, nil)
	for _, p := range personPages {
		got := givenCursor.ReplaceAllString(personPage(t, handler, addressOf(p.tool, p.request)), "cursor${1}CURSOR")
		file := filepath.Join("testdata", "pages", p.name+".html")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; run with -update and read the difference.\n%s", file, firstDifference(string(want), got))
		}
	}
}

// TestPageHoldsRequest checks that the link of each page leads to the same
// request, to the byte, and that the page shows it and the literal answer.
func TestPageHoldsRequest(t *testing.T) {
	handler := personHandler(t, nil)
	for _, l := range literals {
		first := personPage(t, handler, addressOf(l.tool, l.input))
		link := between(t, first, `<p class="share"><a href="`, `"`)
		again := personPage(t, handler, html.UnescapeString(link))
		if first != again {
			t.Errorf("%s: its link leads to another page\n%s", l.name, firstDifference(first, again))
		}
		if strings.Contains(link, "request=") {
			t.Errorf("%s: the form could not have asked it: %s", l.name, link)
		}
		if call := html.UnescapeString(between(t, again, `id="call-bytes" tabindex="0" role="region" aria-labelledby="call-title">`+"\n", "</pre>")); call != l.input {
			t.Errorf("%s: the page shows the call %s", l.name, call)
		}
		if answer := html.UnescapeString(between(t, again, `id="answer-bytes" tabindex="0" role="region" aria-labelledby="body-title">`+"\n", "</pre>")); answer != l.answer {
			t.Errorf("%s: the page shows the answer %s", l.name, answer)
		}
	}
}

// TestPlot checks the plot of the light sources: every source once, by its
// verdict, with both limits.
func TestPlot(t *testing.T) {
	handler := personHandler(t, nil)
	text := personPage(t, handler, "/tools/assess_source_suitability?request_id=P1&purpose=colour_rendering_limits")
	plot := between(t, text, `<figure class="plot">`, "</figure>")
	for what, want := range map[string]int{
		`<g class="point `: 56, `<g class="point suitable"`: 14, `<g class="point unsuitable"`: 28, `<g class="point insufficient_evidence"`: 14,
		`<path class="limit"`: 2, `<rect class="both"`: 1, `<tr role="row"><th role="rowheader"`: 56,
	} {
		if got := strings.Count(plot, what); got != want {
			t.Errorf("%d of %s, want %d", got, what, want)
		}
	}
	for _, want := range []string{
		"Lowest of R1 to R8 against Ra", "The limits: Ra at least 90 and lowest of R1 to R8 at least 80.",
		"<title>ls-03: 100.0, 100.0; suitable</title>",
	} {
		if !strings.Contains(plot, want) {
			t.Errorf("no %s", want)
		}
	}
	if one := personPage(t, handler, "/tools/assess_source_suitability?request_id=P2&purpose=colour_rendering_limits&filters.name=SA&limit=1"); strings.Count(one, `<g class="point `) != 1 {
		t.Error("a filter bounds the plot too")
	}
	if none := personPage(t, handler, "/tools/assess_source_suitability?request_id=P3&purpose=colour_matching"); strings.Contains(none, "<figure") {
		t.Error("a purpose without a plot has none")
	}
}

// TestPlotBounds draws as many matches as it may over several pages of the
// tool, says how many have no figure, and draws no more than that.
func TestPlotBounds(t *testing.T) {
	folder := t.TempDir()
	rows, evidence := "sku,kind,size\n", "record,product,scope,method,performed_by,assessor_level,ra\n"
	for i := range 1001 {
		rows += fmt.Sprintf("P%04d,%s,%d\n", i, map[bool]string{true: "few", false: "many"}[i < 250], i)
		if i%2 == 0 {
			evidence += fmt.Sprintf("E%04d,P%04d,item,M,somebody,self,%d\n", i, i, i%100)
		}
	}
	contract := `remit: 1
service: sizes
data: {file: rows.csv, as_of: 2026-01-01}
columns: {sku: {id: true}, kind: {type: text}, size: {type: integer, show: true}}
evidence: {file: evidence.csv}
purposes:
  ra_limit: {version: "1", owner: o@shop.example, method: M, criteria: [{property: ra, at_most: 90}], plot: {x: size, y: ra}}
tools:
  assess_things: {promise: assess_suitability, filters: {kind: equals}}
`
	for name, text := range map[string]string{"contract.yaml": contract, "rows.csv": rows, "evidence.csv": evidence} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	handler := personHandler(t, []string{folder})
	few := personPage(t, handler, "/tools/assess_things?request_id=B1&filters.kind=few&purpose=ra_limit")
	if points := strings.Count(few, `<g class="point `); points != 125 || !strings.Contains(few, "125 matches have no figures to draw.") {
		t.Errorf("%d points", points)
	}
	many := personPage(t, handler, "/tools/assess_things?request_id=B2&purpose=ra_limit")
	if strings.Contains(many, "<figure") || !strings.Contains(many, "1001 records match; at most 1000 are drawn.") {
		t.Error("a plot of more matches than are drawn")
	}
}

// TestPageOfOldData says that data is stale, and shows what it no longer
// establishes as unknown.
func TestPageOfOldData(t *testing.T) {
	handler := personHandler(t, []string{hostileShop(t)})
	text := personPage(t, handler, "/tools/rank_things?request_id=O1&preferences.1=size_ascending")
	for _, want := range []string{
		`<p class="stale">Stale: the data is older than the contract permits`, `<span class="unknown">unknown</span>`,
		`Shared rank 1 <span class="shared">` + fmt.Sprint(len(hostile)) + " records</span>", "<dt>Unknown size</dt>", "they come last",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestPageOfFaults marks each faulty field of a form, and names what has none.
func TestPageOfFaults(t *testing.T) {
	handler := personHandler(t, nil)
	text := personPage(t, handler, "/tools/rank_sources_by_preference?request_id=F1&filters.min_cct=warm&preferences.1=price_ascending&limit=0&cursor=x&colour=red")
	for _, want := range []string{
		`id="field-filters.min_cct-error-0"><bdi>The colour temperature floor must be a whole number, such as 4000.</bdi>`,
		`<fieldset class="preferences wrong" id="field-preferences"`, `<a href="#field-limit">limit</a>`, `<option value="price_ascending" selected>price_ascending</option>`,
		`<li><code><bdi>colour</bdi></code>: <bdi>There is no argument colour`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	lost := personPage(t, handler, "/tools/search_sources?request_id=F2&cursor=x")
	if !strings.Contains(lost, "<li><code><bdi>cursor</bdi></code>") || strings.Contains(lost, "#field-cursor") {
		t.Error("the form has no field for a cursor, and no link leads to one")
	}
}

func between(t *testing.T, text, start, end string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, start)
	inner, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("nothing stands between %s and %s", start, end)
	}
	return inner
}

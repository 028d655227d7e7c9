package recorder

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"remit.example/drive/webmcp"
	"remit.example/oracle"
)

// asAgent makes the test binary run as an agent; its value is the script that
// the agent evaluates in the page for each request.
const asAgent = "REMIT_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if script := os.Getenv(asAgent); script != "" {
		if err := act(context.Background(), script); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// act answers every request after a script has run in the page.
func act(ctx context.Context, script string) error {
	ctx, _ = remote.NewAllocator(ctx, os.Getenv("REMIT_CDP"), remote.NoModifyURL)
	ctx, _ = chromedp.NewContext(ctx)
	targets, err := chromedp.Targets(ctx)
	if err != nil {
		return err
	}
	at := ""
	for _, each := range targets {
		if each.URL == os.Getenv("REMIT_PAGE") {
			at = string(each.TargetID)
		}
	}
	page, _ := chromedp.NewContext(ctx, chromedp.WithTargetID(target.ID(at)))
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		var asked oracle.Asked
		if err := json.Unmarshal(requests.Bytes(), &asked); err != nil {
			return err
		}
		if _, err := chromedp.Run(page, chromedp.Evaluate[string]("(async () => {"+helpers+script+"; return ''})()", chromedp.EvalAwaitPromise, byUser)); err != nil {
			return err
		}
		fmt.Printf("{\"id\":%q,\"answer\":{\"text\":\"done\",\"claims\":[]}}\n", asked.ID)
	}
	return requests.Err()
}

// byUser lets a script open a tab.
func byUser(p *runtime.EvaluateParams) {
	gesture := true
	p.UserGesture = &gesture
}

const helpers = `
	const call = async (name, input) => {
		const tool = (await document.modelContext.getTools()).find((t) => t.name === name);
		return document.modelContext.executeTool(tool, input);
	};`

const page = `<!doctype html><title>tools</title><script>
const tool = (name, execute) => document.modelContext.registerTool({name, description: name, inputSchema: {type: "object"}, execute});
tool("text", (input) => JSON.stringify({given: input, n: 1}));
tool("prose", () => "no { object");
tool("object", () => ({isError: true, code: "ACCESS_DENIED"}));
tool("throws", () => { throw new Error("secret") });
tool("hangs", () => new Promise(() => {}));
</script>`

// run records with the script as its agent.
func run(t *testing.T, inPage bool, script string, ids ...string) []oracle.Recorded {
	t.Helper()
	recorded, err := try(t, inPage, script, ids...)
	if err != nil {
		t.Fatal(err)
	}
	return recorded
}

// try is run, which may fail. A page at /self calls its own tool, one at /busy
// answers nothing once it is there.
func try(t *testing.T, inPage bool, script string, ids ...string) ([]oracle.Recorded, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	browser, err := webmcp.Find("")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page)
		switch r.URL.Path {
		case "/self":
			_, _ = io.WriteString(w, "<script>(async () => {"+helpers+`await call("text", {where: "self"})})()</script>`)
		case "/frame":
			_, _ = io.WriteString(w, `<script>tool("waits", () => { globalThis.begun = true; return new Promise(() => {}); })</script>`)
		case "/busy":
			_, _ = io.WriteString(w, "<script>setTimeout(() => { while (true); })</script>")
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv(asAgent, script)
	o := Options{Page: server.URL + "/", Browser: browser, Command: []string{program}, Timeout: time.Minute, inPage: inPage}
	for _, id := range ids {
		o.Requests = append(o.Requests, oracle.Asked{ID: id, Request: "?"})
	}
	return Record(t.Context(), o)
}

// shown is what a request's calls were.
func shown(r oracle.Recorded) string {
	var all []string
	for _, c := range r.Calls {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", c.Tool, c.Parameters, c.Status, c.Result, c.Origin)))
	}
	return strings.Join(all, "\n")
}

// TestCalls: both ways to observe tell the same of each call.
func TestCalls(t *testing.T) {
	const script = `
		await call("text", {b: 1, a: "é"});
		await call("prose", {});
		await call("object", {});
		await call("throws", {}).catch(() => {});
		call("hangs", {x: 1});
		await call("text", {last: true});`
	const want = `text {"b":1,"a":"é"} completed {"given":{"b":1,"a":"é"},"n":1}
prose {} completed "no { object"
object {} completed {"isError":true,"code":"ACCESS_DENIED"}
throws {} error null
hangs {"x":1} pending null
text {"last":true} completed {"given":{"last":true},"n":1}`
	for _, inPage := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the page %v", inPage), func(t *testing.T) {
			for _, r := range run(t, inPage, script, "one", "two") {
				if got := shown(r); got != want {
					t.Errorf("%s: got\n%s\nwant\n%s", r.ID, got, want)
				}
				if r.Tool == nil || *r.Tool != "text" || string(r.Parameters) != `{"last":true}` {
					t.Errorf("%s: the last call does not stand for the request: %+v", r.ID, r)
				}
			}
		})
	}
}

// TestNoCall: an answer without a call.
func TestNoCall(t *testing.T) {
	r := run(t, false, "0", "one")[0]
	if r.Tool != nil || string(r.Parameters) != "null" || string(r.Result) != "null" || r.Calls != nil {
		t.Errorf("%+v", r)
	}
}

// TestOtherPages: calls in a new tab, in a frame and after a navigation are
// seen as well.
func TestOtherPages(t *testing.T) {
	const script = `
		const loaded = (thing, event) => new Promise((done) => thing.addEventListener(event, done, {once: true}));
		const frame = document.createElement("iframe");
		frame.src = "/frame";
		document.body.append(frame);
		await loaded(frame, "load");
		const inside = frame.contentDocument.modelContext;
		await inside.executeTool((await inside.getTools()).find((t) => t.name === "text"), {where: "frame"});
		const tab = open("/tab");
		await loaded(tab, "load");
		const there = tab.document.modelContext;
		await there.executeTool((await there.getTools()).find((t) => t.name === "text"), {where: "tab"});`
	got := shown(run(t, false, script, "one")[0])
	for _, where := range []string{"frame", "tab"} {
		if !strings.Contains(got, `text {"where":"`+where+`"} completed`) {
			t.Errorf("no call in the %s: %s", where, got)
		}
	}
}

// elsewhere opens a tab of another origin, and waits.
const elsewhere = `
		const there = new URL(location);
		there.hostname = "localhost";
		const visit = async (path) => {
			open(new URL(path, there));
			await new Promise((done) => setTimeout(done, 2000));
		};`

// TestOtherOrigin: a tool of another origin is none of the page's own. Its call
// is recorded with its origin, and stands for nothing.
func TestOtherOrigin(t *testing.T) {
	for _, inPage := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the page %v", inPage), func(t *testing.T) {
			r := run(t, inPage, elsewhere+`await call("prose", {}); await visit("/self");`, "one")[0]
			if r.Tool == nil || *r.Tool != "prose" || len(r.Calls) != 2 || r.Calls[0].Origin != "" {
				t.Fatalf("%s", shown(r))
			}
			if c := r.Calls[1]; c.Tool != "text" || string(c.Parameters) != `{"where":"self"}` || !strings.HasPrefix(c.Origin, "http://localhost:") {
				t.Errorf("%s", shown(r))
			}
			if r := run(t, inPage, elsewhere+`await visit("/self");`, "one")[0]; r.Tool != nil || len(r.Calls) != 1 {
				t.Errorf("%s", shown(r))
			}
		})
	}
}

// TestParameters: what is no object is recorded as it is.
func TestParameters(t *testing.T) {
	for _, inPage := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the page %v", inPage), func(t *testing.T) {
			const script = `for (const input of [[1], "word", 7, null]) await call("prose", input).catch(() => {});`
			got := shown(run(t, inPage, script, "one")[0])
			for _, line := range strings.Split(got, "\n") {
				if strings.HasPrefix(line, "prose {}") {
					t.Errorf("an object stands for what was none: %s", got)
				}
			}
			if !strings.Contains(got, "prose [1] ") {
				t.Errorf("no call with a list: %s", got)
			}
		})
	}
}

// TestGoneDocument: a call whose document is removed, or replaced, is not
// pending.
func TestGoneDocument(t *testing.T) {
	const script = `
		const begun = async (away) => {
			const frame = document.createElement("iframe");
			frame.src = "/frame";
			document.body.append(frame);
			await new Promise((done) => frame.addEventListener("load", done, {once: true}));
			const inside = frame.contentDocument.modelContext;
			inside.executeTool((await inside.getTools()).find((t) => t.name === "waits"), {});
			while (!frame.contentWindow.begun) await new Promise((done) => setTimeout(done, 50));
			away(frame);
			await new Promise((done) => setTimeout(done, 500));
		};
		await begun((frame) => frame.remove());
		await begun((frame) => { frame.src = "/next" });`
	for _, inPage := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the page %v", inPage), func(t *testing.T) {
			r := run(t, inPage, script, "one")[0]
			if len(r.Calls) != 2 {
				t.Fatalf("%s", shown(r))
			}
			for _, c := range r.Calls {
				if c.Status != documentGone && c.Status != "canceled" && c.Status != "error" {
					t.Errorf("%s", shown(r))
				}
			}
		})
	}
}

// TestBusyPage: where a page cannot be asked what it called, nothing is recorded.
func TestBusyPage(t *testing.T) {
	_, err := try(t, false, elsewhere+`await visit("/busy");`, "one")
	if err == nil || !strings.Contains(err.Error(), "a page does not answer, so that its calls are not known") {
		t.Error(err)
	}
}

// Command page times what /remit.js costs a page, in a real browser: from the
// script's start until 20 tools are registered, and a call through the browser
// beside the page's own fetch of the same bytes. Rounds of the two alternate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/chromedp/chromedp"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
	"remit.example/contract"
	"remit.example/tool"
	"remit.example/wire"
	"remit.example/wire/webmcp"
)

// The bounds that the table names.
const (
	toolCount     = 20
	registerBound = 50 // ms
	callBound     = 2  // ms more than fetch
)

func main() {
	pages := flag.Int("pages", 21, "times that the page is loaded")
	calls := flag.Int("calls", 201, "calls of each kind")
	flag.Parse()
	if err := run(*pages, *calls); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(pages, calls int) error {
	tools, err := tools()
	if err != nil {
		return err
	}
	server, err := serve(tools)
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, stop, err := browser()
	if err != nil {
		return err
	}
	defer stop()
	registered, err := register(ctx, server.URL, pages)
	if err != nil {
		return err
	}
	through, direct, err := call(ctx, calls)
	if err != nil {
		return err
	}
	fmt.Printf("%d tools, %d pages, %d calls of each kind, %s %s/%s, %d CPUs\n\n", toolCount, pages, calls, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tmedian\tmin … max\tbound")
	row(table, "from the script's start until 20 tools are registered", registered, fmt.Sprintf("%d ms", registerBound))
	row(table, "a call through executeTool", through, "")
	row(table, "the page's own fetch of the same bytes", direct, "")
	fmt.Fprintf(table, "a call adds\t%.2f ms\t\t%d ms\n", median(through)-median(direct), callBound)
	return table.Flush()
}

func row(w io.Writer, what string, ms []float64, bound string) {
	fmt.Fprintf(w, "%s\t%.2f ms\t%.2f … %.2f\t%s\n", what, median(ms), slices.Min(ms), slices.Max(ms), bound)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

const data = `sku,price,lumens,stock
A,5400,700,yes
B,4200,800,yes
C,6500,900,yes
D,4200,800,yes
`

// tools are 20 searches over one catalogue.
func tools() ([]*tool.Tool, error) {
	var text strings.Builder
	text.WriteString(`remit: 1
service: bench
data: {file: data.csv, as_of: file}
columns:
  sku: {id: true}
  price: {type: money, currency: EUR, from: minor, show: true}
  lumens: {type: integer, unit: LUM, show: true}
  in_stock: {header: stock, type: boolean, "true": ["yes"], "false": ["no"]}
tools:
`)
	for i := range toolCount {
		fmt.Fprintf(&text, "  search_%02d: {promise: search, filters: {price: max, lumens: min, in_stock: equals}}\n", i)
	}
	c, err := contract.Parse("bench.yaml", []byte(text.String()))
	if err != nil {
		return nil, err
	}
	rows, err := snapshot.Load(strings.NewReader(data), snapshot.Source{Name: "data.csv"}, catalogue.SchemaOf(c))
	if err != nil {
		return nil, err
	}
	return tool.Bind(c, tool.Backing{Catalogue: &catalogue.Source{Contract: c, Engine: rows, CursorKey: make([]byte, 32), Now: time.Now}})
}

// The page: a mark before and after the script.
var page = map[string]string{
	"/{$}":       `<!doctype html><title>Bench</title><script src="/before.js"></script><script src="/remit.js"></script><script src="/after.js"></script>`,
	"/before.js": `window.begun = performance.now();`,
	"/after.js":  `window.registered = remit.ready.then(({tools}) => ({count: tools.length, ms: performance.now() - begun}));`,
}

func serve(tools []*tool.Tool) (*httptest.Server, error) {
	set, err := tool.NewSet(tools)
	if err != nil {
		return nil, err
	}
	service, err := wire.New(set, wire.Options{})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	webmcp.Mount(mux, service)
	for path, text := range page {
		kind := "text/html"
		if strings.HasSuffix(path, ".js") {
			kind = "text/javascript"
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { wire.Write(w, kind, http.StatusOK, []byte(text)) })
	}
	return httptest.NewServer(service.Guard(mux)), nil
}

func browser() (ctx context.Context, stop func(), err error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil, errors.New("chromium is missing: apt-get install chromium")
	}
	ctx, stopAll := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("enable-features", "WebMCP"))
	ctx, stopTab := chromedp.NewContext(ctx)
	return ctx, func() { stopTab(); stopAll() }, chromedp.Do(ctx)
}

// register loads the page anew each time; times in milliseconds.
func register(ctx context.Context, url string, pages int) (ms []float64, err error) {
	for range pages {
		if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
			return nil, err
		}
		got, err := chromedp.Run(ctx, chromedp.Evaluate[struct {
			Count int
			MS    float64
		}](`registered`, chromedp.EvalAwaitPromise))
		if err != nil {
			return nil, err
		}
		if got.Count != toolCount {
			return nil, fmt.Errorf("%d tools are registered, want %d", got.Count, toolCount)
		}
		ms = append(ms, got.MS)
	}
	return ms, nil
}

// call calls one tool in both ways, in turn, after as many calls that are not
// timed as a tenth.
func call(ctx context.Context, calls int) (through, direct []float64, err error) {
	script := fmt.Sprintf(`(async () => {
		const tool = (await document.modelContext.getTools())[0];
		const input = {request_id: "Q1", filters: {max_price_minor: 6000, min_lumens: 600, in_stock: true}};
		const options = {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(input)};
		const ways = [
			() => document.modelContext.executeTool(tool, input),
			async () => (await (await fetch("/v1/webmcp/" + tool.name, options)).text()).trimEnd(),
		];
		const times = [[], []];
		for (let round = -%d; round < %d; round++) {
			const answers = [];
			for (const which of round %% 2 ? [0, 1] : [1, 0]) {
				const begun = performance.now();
				answers[which] = await ways[which]();
				if (round >= 0) times[which].push(performance.now() - begun);
			}
			if (answers[0] !== answers[1]) throw new Error("the answers differ: " + answers);
		}
		return times;
	})()`, calls/10, calls)
	times, err := chromedp.Run(ctx, chromedp.Evaluate[[][]float64](script, chromedp.EvalAwaitPromise))
	if err != nil {
		return nil, nil, err
	}
	return times[0], times[1], nil
}

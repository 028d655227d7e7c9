// Command guard times what a guard adds to a call, beside what net/http's
// ReverseProxy adds, over one upstream that answers at once. Rounds of all
// sides alternate in one process; the same proxy stands in the table twice,
// and the second is its noise.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"remit.example/contract"
	"remit.example/guard"
	"remit.example/guard/proxy"
	"remit.example/operation"
	"remit.example/store/sqlite"
)

const declared = `remit: 1
service: bench
upstream: {url: "http://127.0.0.1/mcp"}
tools:
  read: {effect: read}
  write: {effect: keyed, key: {argument: idempotency_key, by: guard}, identity: [n]}
`

// The bounds that the tables name.
const (
	readBound       = 1.25
	writeBound      = 1.25
	throughputBound = 0.8
	heapBound       = 1.1
	listBound       = 5 // ms
)

func main() {
	rounds := flag.Int("rounds", 4001, "calls of each side, one after another")
	seconds := flag.Duration("throughput", 3*time.Second, "how long each side is loaded, three times")
	calls := flag.Int("calls", 1_000_000, "calls after which the heap is measured again")
	flag.Parse()
	if err := run(*rounds, *seconds, *calls); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
}

// bench is one upstream and what stands in front of it.
type bench struct {
	client  *http.Client
	store   operation.Store
	direct  string
	reverse string
	guarded string
}

func run(rounds int, load time.Duration, calls int) error {
	folder, err := os.MkdirTemp("", "remit-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b, stop, err := newBench(folder)
	if err != nil {
		return err
	}
	defer stop()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, part := range []func(io.Writer) error{
		func(w io.Writer) error { return b.reads(w, rounds) },
		func(w io.Writer) error { return b.writes(w, rounds/4) },
		func(w io.Writer) error { return b.lists(w, rounds/40) },
		func(w io.Writer) error { return b.throughput(w, load) },
		func(w io.Writer) error { return b.heap(w, calls) },
	} {
		if err := part(table); err != nil {
			return err
		}
		fmt.Fprintln(table)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func newBench(folder string) (*bench, func(), error) {
	upstream := httptest.NewServer(http.HandlerFunc(answer))
	at, err := url.Parse(upstream.URL + "/mcp")
	if err != nil {
		return nil, nil, err
	}
	c, err := contract.Parse("bench.yaml", []byte(declared))
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlite.Open(context.Background(), filepath.Join(folder, "guard.db"), time.Now)
	if err != nil {
		return nil, nil, err
	}
	g := guard.New(guard.Options{Contract: c, Upstream: "bench", Store: store})
	listen := func(handler http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(nil)
		s.Config = proxy.Server(handler, slog.New(slog.DiscardHandler))
		s.Start()
		return s
	}
	access := proxy.Access{Listen: "127.0.0.1:0"}
	guarded := listen(access.Limit(proxy.NewHTTP(g, at, proxy.Identified(nil))))
	reverse := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: at.Scheme, Host: at.Host}) },
		Transport: transport(),
	}
	plain := httptest.NewServer(reverse)
	b := &bench{
		client: &http.Client{Transport: transport()}, store: store,
		direct: upstream.URL + "/mcp", reverse: plain.URL + "/mcp", guarded: guarded.URL + "/mcp",
	}
	return b, func() { guarded.Close(); plain.Close(); upstream.Close(); _ = store.Close() }, nil
}

func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	return t
}

// answer is the upstream: a result of a kilobyte, or a list of 1,000 tools.
func answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what was cut off gets an answer too
	w.Header().Set("Content-Type", "application/json")
	if bytes.Contains(body, []byte(`"tools/list"`)) {
		_, _ = w.Write(toolList)
		return
	}
	_, _ = w.Write(result)
}

var (
	result   = []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 1000) + `"}]}}`)
	toolList = listOf(1000)
	list     = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
)

func listOf(n int) []byte {
	tools := make([]string, n)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d","description":"Returns what is known of one thing, with all that belongs to it.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"The id of the thing."},"idempotency_key":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["id"]},"annotations":{"readOnlyHint":true}}`, i)
	}
	tools[0] = strings.Replace(tools[0], "tool_0", "write", 1)
	return []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Join(tools, ",") + `]}}`)
}

func call(tool string, n int) []byte {
	return []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"id":"thing","n":` + strconv.Itoa(n) + `}}}`)
}

// post sends a message and reads the answer.
func (b *bench) post(url string, body []byte) (time.Duration, error) {
	begun := time.Now()
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := b.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("%s, after %d bytes: %w", url, len(text), err)
	}
	took := time.Since(begun)
	if response.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"isError":true`)) || !bytes.Contains(text, []byte(`"result"`)) {
		return 0, fmt.Errorf("%s answered with the status %d: %.300s", url, response.StatusCode, text)
	}
	return took, nil
}

// side is one way to the upstream.
type side struct {
	name  string
	call  func(i int) (time.Duration, error)
	taken []time.Duration
}

// alternate calls each side once a round, in an order that moves on.
func alternate(rounds int, sides ...*side) error {
	for i := range rounds + rounds/10 {
		for j := range sides {
			s := sides[(i+j)%len(sides)]
			took, err := s.call(i*len(sides) + j)
			if err != nil {
				return err
			}
			if i >= rounds/10 { // what comes before warms up
				s.taken = append(s.taken, took)
			}
		}
	}
	return nil
}

func (s *side) median() time.Duration { return middle(s.taken) }

func middle(times []time.Duration) time.Duration {
	times = slices.Sorted(slices.Values(times))
	return times[len(times)/2]
}

func (b *bench) side(name, url, tool string) *side {
	return &side{name: name, call: func(i int) (time.Duration, error) { return b.post(url, call(tool, i)) }}
}

func us(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Nanoseconds())/1000) }

func (b *bench) reads(w io.Writer, rounds int) error {
	direct, plain, again, guarded := b.side("direct", b.direct, "read"), b.side("ReverseProxy", b.reverse, "read"), b.side("ReverseProxy again", b.reverse, "read"), b.side("guard", b.guarded, "read")
	if err := alternate(rounds, direct, plain, guarded, again); err != nil {
		return err
	}
	fmt.Fprintf(w, "a read (%d rounds)\tmedian µs\tadds µs\tof what ReverseProxy adds\tbound\n", rounds)
	base := direct.median()
	for _, s := range []*side{direct, plain, again, guarded} {
		adds := s.median() - base
		ratio, bound := "", ""
		if s != direct {
			ratio = fmt.Sprintf("%.2f", float64(adds)/float64(plain.median()-base))
		}
		if s == guarded {
			bound = fmt.Sprint(readBound)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.name, us(s.median()), us(adds), ratio, bound)
	}
	return nil
}

func (b *bench) writes(w io.Writer, rounds int) error {
	direct, plain, guarded := b.side("direct", b.direct, "write"), b.side("ReverseProxy", b.reverse, "write"), b.side("guard", b.guarded, "write")
	commits := &side{name: "two commits alone", call: b.commit}
	if err := alternate(rounds, direct, plain, guarded, commits); err != nil {
		return err
	}
	base := direct.median()
	allowed := plain.median() - base + commits.median()
	fmt.Fprintf(w, "a keyed write (%d rounds)\tmedian µs\tadds µs\tof ReverseProxy and two commits\tbound\n", rounds)
	for _, s := range []*side{direct, plain, commits, guarded} {
		adds, ratio, bound := s.median()-base, "", ""
		if s == commits {
			adds = s.median()
		}
		if s == guarded {
			ratio, bound = fmt.Sprintf("%.2f", float64(adds)/float64(allowed)), fmt.Sprint(writeBound)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.name, us(s.median()), us(adds), ratio, bound)
	}
	return nil
}

// commit claims and settles one operation in the guard's own ledger.
func (b *bench) commit(i int) (time.Duration, error) {
	begun := time.Now()
	name := "bench" + strconv.Itoa(i)
	v, err := b.store.Claim(context.Background(), operation.Claim{
		Scope:  operation.Scope{Principal: "bench", Upstream: "bench", Tool: "commit"},
		Intent: name, Fingerprint: name, Arguments: []byte(`{"id":"thing","n":1}`), Repeatable: true,
		NewID: "op_" + name, NewKey: "key_" + name, Lease: time.Minute, Window: time.Minute,
	})
	if err != nil {
		return 0, err
	}
	_, err = b.store.Settle(context.Background(), v.Operation.ID, v.Operation.Fence, operation.Outcome{State: operation.Confirmed, Code: "OK", Result: result, By: operation.ByAnswer})
	return time.Since(begun), err
}

func (b *bench) lists(w io.Writer, rounds int) error {
	ask := func(name, url string) *side {
		return &side{name: name, call: func(int) (time.Duration, error) { return b.post(url, list) }}
	}
	direct, plain, guarded := ask("direct", b.direct), ask("ReverseProxy", b.reverse), ask("guard", b.guarded)
	if err := alternate(rounds, direct, plain, guarded); err != nil {
		return err
	}
	fmt.Fprintf(w, "a list of 1,000 tools (%d rounds)\tmedian µs\tms more than direct\t\tbound\n", rounds)
	for _, s := range []*side{direct, plain, guarded} {
		bound := ""
		if s == guarded {
			bound = fmt.Sprint(listBound)
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f\t\t%s\n", s.name, us(s.median()), float64((s.median()-direct.median()).Microseconds())/1000, bound)
	}
	return nil
}

// throughput loads each side with 64 connections, in turns.
func (b *bench) throughput(w io.Writer, load time.Duration) error {
	names, urls := []string{"ReverseProxy", "guard", "ReverseProxy again"}, []string{b.reverse, b.guarded, b.reverse}
	rates := make([][]float64, len(urls))
	for range 3 {
		for i, url := range urls {
			rate, err := b.loaded(url, load)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], rate)
		}
	}
	fmt.Fprintf(w, "64 connections (median of 3)\tcalls/s\t\tof ReverseProxy's\tbound\n")
	for i, name := range names {
		slices.Sort(rates[i])
		bound := ""
		if name == "guard" {
			bound = fmt.Sprint(throughputBound)
		}
		fmt.Fprintf(w, "%s\t%.0f\t\t%.2f\t%s\n", name, rates[i][1], rates[i][1]/rates[0][1], bound)
	}
	return nil
}

func (b *bench) loaded(url string, load time.Duration) (float64, error) {
	var running sync.WaitGroup
	counts, errs := make([]int, 64), make([]error, 64)
	end := time.Now().Add(load)
	for i := range counts {
		running.Go(func() {
			for n := i; time.Now().Before(end); n += len(counts) {
				if _, errs[i] = b.post(url, call("read", n)); errs[i] != nil {
					return
				}
				counts[i]++
			}
		})
	}
	running.Wait()
	total := 0
	for i, count := range counts {
		if errs[i] != nil {
			return 0, errs[i]
		}
		total += count
	}
	return float64(total) / load.Seconds(), nil
}

// heap is what is live after a tenth of the calls, and after all of them.
func (b *bench) heap(w io.Writer, calls int) error {
	if err := b.many(0, calls/10); err != nil {
		return err
	}
	early := live()
	if err := b.many(calls/10, calls); err != nil {
		return err
	}
	late := live()
	fmt.Fprintf(w, "heap after\tMiB\t\tratio\tbound\n%d calls\t%.1f\n%d calls\t%.1f\t\t%.2f\t%v\n",
		calls/10, float64(early)/(1<<20), calls, float64(late)/(1<<20), float64(late)/float64(early), heapBound)
	return nil
}

// many makes calls of which each has other arguments.
func (b *bench) many(from, to int) error {
	var running sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		running.Go(func() {
			for n := from + i; n < to && errs[i] == nil; n += len(errs) {
				_, errs[i] = b.post(b.guarded, call("read", n))
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func live() uint64 {
	b := runtime.MemStats{}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&b)
	return b.HeapAlloc
}

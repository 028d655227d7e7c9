package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// lines is where a server writes and a test reads.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	said chan string // each write, while there is room
}

func newLines() *lines { return &lines{said: make(chan string, 64)} }

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.said <- string(data):
	default:
	}
	return l.text.Write(data)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await is the next message that has the text.
func (l *lines) await(t *testing.T, text string) string {
	t.Helper()
	for {
		select {
		case said := <-l.said:
			if strings.Contains(said, text) {
				return said
			}
		case <-time.After(30 * time.Second): // only where the test fails
			t.Fatalf("nobody said %q; the log:\n%s", text, l)
		}
	}
}

// running is a server in the test's own process.
type running struct {
	url     string
	log     *lines
	signals chan os.Signal
	ticks   chan time.Time
	ended   chan error
	once    sync.Once
	err     error
}

// start serves paths on a free port until the test ends.
func start(t *testing.T, flags serveFlags, paths ...string) *running {
	t.Helper()
	if flags.listen == "" {
		flags.listen = "127.0.0.1:0"
	}
	r := &running{log: newLines(), signals: make(chan os.Signal), ticks: make(chan time.Time), ended: make(chan error, 1)}
	address := make(chan string, 1)
	s := &serving{
		flags: flags, paths: paths, open: open, signals: r.signals, ticks: r.ticks,
		in: strings.NewReader(""), out: io.Discard, log: r.log,
		listening: func(a string) { address <- a },
	}
	go func() { r.ended <- s.run() }()
	select {
	case a := <-address:
		r.url = "http://" + a
	case err := <-r.ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return r
}

// stop sends SIGTERM, once, and gives what the server ended with.
func (r *running) stop() error {
	r.once.Do(func() {
		r.signals <- syscall.SIGTERM
		r.err = <-r.ended
	})
	return r.err
}

// call posts a request and gives status and body.
func (r *running) call(t *testing.T, tool, input string) (int, string) {
	t.Helper()
	response, err := http.Post(r.url+"/v1/tools/"+tool, "application/json", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

const shop = `remit: 1
service: shop
tools:
  stock:
    promise: lookup
    input: {sku: {type: text, example: A1}}
    answer: {pieces: {type: integer}}
    backend: {fixture: {file: stock.csv, by: sku}}
`

// save writes a file as an editor does: whole, at a time of its own. A server
// that looks meanwhile sees the old one or the new.
func save(t *testing.T, name, text string, at int) {
	t.Helper()
	whole := name + "~"
	if err := os.WriteFile(whole, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1_700_000_000+int64(at), 0)
	if err := os.Chtimes(whole, when, when); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(whole, name); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	folder := t.TempDir()
	contract, data := filepath.Join(folder, "contract.yaml"), filepath.Join(folder, "stock.csv")
	save(t, contract, shop, 0)
	save(t, data, "sku,code,retry_after_ms,pieces\nA1,OK,,1\n", 0)
	r := start(t, serveFlags{}, folder)
	pieces := func(want string) {
		t.Helper()
		if status, body := r.call(t, "stock", `{"sku":"A1"}`); status != 200 || body != `{"pieces":`+want+"}\n" {
			t.Errorf("got %d %s, want %s pieces", status, body, want)
		}
	}
	pieces("1")
	r.ticks <- time.Time{} // nothing has changed

	save(t, data, "sku,code,retry_after_ms,pieces\nA1,OK,,2\n", 1)
	r.ticks <- time.Time{}
	r.log.await(t, "reloaded: 1 tool of shop")
	pieces("2")

	save(t, data, "sku,code,retry_after_ms,pieces\nA1,OK,,many\n", 2)
	r.ticks <- time.Time{}
	if said := r.log.await(t, "not reloaded, what was served before stays"); !strings.Contains(said, "stock.csv:2") {
		t.Errorf("the message must name the place: %s", said)
	}
	pieces("2")

	save(t, contract, strings.Replace(shop, "pieces: {type: integer}", "pieces: {type: number}", 1), 3)
	r.ticks <- time.Time{}
	if said := r.log.await(t, "not reloaded"); !strings.Contains(said, "contract.yaml:") {
		t.Errorf("the message must name the place: %s", said)
	}
	pieces("2")

	save(t, contract, shop, 4)
	save(t, data, "sku,code,retry_after_ms,pieces\nA1,OK,,3\n", 4)
	r.ticks <- time.Time{}
	r.log.await(t, "reloaded: 1 tool of shop")
	pieces("3")

	r.signals <- syscall.SIGHUP
	r.log.await(t, "reloaded: 1 tool of shop")
	pieces("3")

	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	r.ticks <- time.Time{}
	r.log.await(t, "not reloaded")
	pieces("3")
}

func TestStartMessage(t *testing.T) {
	r := start(t, serveFlags{}, "../../examples/task-lights")
	said := r.log.await(t, "serving")
	for _, want := range []string{"3 tools of task-lights", r.url + "/\n", r.url + "/mcp\n", r.url + "/v1/tools\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %s in %s", want, said)
		}
	}
	if status, _ := r.call(t, "search_lights", `{"request_id":"S1"}`); status != 200 {
		t.Error(status)
	}
	if log := r.log.String(); strings.Contains(log, "search_lights") {
		t.Errorf("without --verbose a call is no line:\n%s", log)
	}
}

func TestVerbose(t *testing.T) {
	r := start(t, serveFlags{verbose: true}, "../../examples/task-lights")
	r.call(t, "search_lights", `{"request_id":"secret-name"}`)
	if said := r.log.await(t, "search_lights"); !strings.Contains(said, "code=OK") || strings.Contains(said, "secret-name") {
		t.Error(said)
	}
}

func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := &serving{
		flags: serveFlags{listen: taken.Addr().String()}, open: open,
		in: strings.NewReader(""), out: io.Discard, log: io.Discard,
	}
	want := fmt.Sprintf("%s is in use by another program; valid: another port, such as --listen 127.0.0.1:0 for a free one", taken.Addr())
	if err := s.run(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// slow is a contract whose tool waits for the test.
func slow(t *testing.T) (folder string, started chan struct{}, release func()) {
	t.Helper()
	started, released := make(chan struct{}, 1), make(chan struct{})
	var once sync.Once
	release = func() { once.Do(func() { close(released) }) }
	backend := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		started <- struct{}{}
		<-released
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"pieces":1}`)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = backend.Serve(listener) }()
	t.Cleanup(func() {
		release()
		_ = backend.Close()
	})
	folder = t.TempDir()
	save(t, filepath.Join(folder, "contract.yaml"), strings.Replace(shop,
		"fixture: {file: stock.csv, by: sku}", `http: {url: "http://`+listener.Addr().String()+`/{sku}"}`, 1), 0)
	return folder, started, release
}

// TestDrainLetsCallsEnd sends a signal while a call runs.
func TestDrainLetsCallsEnd(t *testing.T) {
	folder, started, release := slow(t)
	r := start(t, serveFlags{}, folder)
	answer := make(chan string, 1)
	go func() {
		response, err := http.Post(r.url+"/v1/tools/stock", "application/json", strings.NewReader(`{"sku":"A1"}`))
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answer <- string(body)
	}()
	<-started
	r.signals <- syscall.SIGTERM
	r.log.await(t, "ending")
	response, err := http.Get(r.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("draining, /readyz is %d", response.StatusCode)
	}
	release()
	if got := <-answer; got != `{"pieces":1}`+"\n" {
		t.Errorf("the call that ran got %s", got)
	}
	r.once.Do(func() { r.err = <-r.ended })
	if r.err != nil {
		t.Error(r.err)
	}
}

// TestSecondSignal does not wait for a call.
func TestSecondSignal(t *testing.T) {
	folder, started, _ := slow(t)
	r := start(t, serveFlags{}, folder)
	go func() {
		if response, err := http.Post(r.url+"/v1/tools/stock", "application/json", strings.NewReader(`{"sku":"A1"}`)); err == nil {
			response.Body.Close()
		}
	}()
	<-started
	r.signals <- syscall.SIGTERM
	r.signals <- syscall.SIGHUP // is nothing now
	r.signals <- os.Interrupt
	var err error
	r.once.Do(func() { err = <-r.ended })
	if err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v", err)
	}
}

func TestLocalURL(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		"[::]:8080":      "http://localhost:8080",
		"0.0.0.0:8080":   "http://localhost:8080",
		"[::1]:8080":     "http://[::1]:8080",
	} {
		if got := localURL(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

// TestWatch checks that a change between looking and reading is not missed.
func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.csv")
	save(t, file, "1", 0)
	var w watch
	w.set([]string{file, file + ".absent"})
	if w.changed() {
		t.Error("changed at once")
	}
	before := w
	before.look()
	save(t, file, "2", 1) // while the files are read
	w.set([]string{file})
	w.keep(before)
	if !w.changed() {
		t.Error("a change while the files were read is missed")
	}
}

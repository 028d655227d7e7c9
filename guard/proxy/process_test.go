package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"remit.example/guard"
	"remit.example/recovery"
)

// asScript makes the test binary run as a server that does what its requests
// say; its value is how it is not what it should be.
const asScript = "REMIT_TEST_AS_SCRIPT"

func init() {
	if how, ok := os.LookupEnv(asScript); ok {
		runScript(how)
		os.Exit(0)
	}
	endTime, termTime, killTime, graceTime = 150*time.Millisecond, time.Second, time.Second, 100*time.Millisecond
}

// script is what a server has heard.
type script struct {
	mu    sync.Mutex
	more  sync.Cond
	named map[string]heard
	count map[string]int // by method
}

type heard struct {
	ID     json.RawMessage
	Method string
	Error  json.RawMessage
	Params struct {
		orders
		Arguments orders
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
}

// orders are what a request wants: to be known by a name, lines that are
// written, and that the server ends then. In lines, <id> is the request's id,
// <id a> and <token a> are those of the one that is known as a, which is waited
// for, and <count m> is how many messages of a method have come. A request that
// wants nothing is answered with its method.
type orders struct {
	As  string
	Say []string
	Die bool
}

func runScript(how string) {
	how, with, _ := strings.Cut(how, " ")
	end := func() {}
	switch how {
	case "deaf": // it does not read
		time.Sleep(time.Hour)
	case "polite": // it ends when it is told to
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		end = func() {
			<-told
			fmt.Println(`{"jsonrpc":"2.0","method":"bye"}`)
		}
	case "stubborn": // it never ends
		signal.Ignore(syscall.SIGTERM)
		end = func() { time.Sleep(time.Hour) }
	case "parent": // it leaves its pipes to another process
		child := exec.Command("sleep", "60")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Printf(`{"jsonrpc":"2.0","method":"child","params":{"pid":%d}}`+"\n", child.Process.Pid)
	}
	s := &script{named: map[string]heard{}, count: map[string]int{}}
	s.more.L = &s.mu
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, MaxMessage)
	for lines.Scan() {
		var m heard
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		if how == "mortal" && m.Method == "initialize" && os.Remove(with) == nil {
			os.Exit(1) // the first time
		}
		s.take(m)
	}
	end()
}

func (s *script) take(m heard) {
	o := m.Params.orders
	switch {
	case m.Method == "tools/call":
		o = m.Params.Arguments
	case m.Error != nil:
		o.As = "answer"
	}
	if o.As == "" && o.Say == nil && !o.Die && m.ID != nil {
		o.Say = []string{`{"jsonrpc":"2.0","id":<id>,"result":{"method":"` + m.Method + `"}}`}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[m.Method]++
	if o.As != "" {
		s.named[o.As] = m
		s.more.Broadcast()
	}
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, line := range o.Say {
			fmt.Println(s.filled(line, m))
		}
		if o.Die {
			os.Exit(1)
		}
	}()
}

var placeholder = regexp.MustCompile(`<(id|token|count)(?: ([^>]+))?>`)

// filled is a line with what it is about; the caller holds mu.
func (s *script) filled(line string, own heard) string {
	return placeholder.ReplaceAllStringFunc(line, func(part string) string {
		words := placeholder.FindStringSubmatch(part)
		if words[1] == "count" {
			return fmt.Sprint(s.count[words[2]])
		}
		of := own
		for words[2] != "" {
			var known bool
			if of, known = s.named[words[2]]; known {
				break
			}
			s.more.Wait()
		}
		if words[1] == "token" {
			return string(of.Params.Meta.ProgressToken)
		}
		return string(of.ID)
	})
}

func scriptCommand(t *testing.T, how string) Command {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Args: []string{program}, Env: append(os.Environ(), asScript+"="+how)}
}

// scriptProcess is a process that runs a script, and what it emits.
func scriptProcess(t *testing.T, how string, change ...func(*process)) (*process, chan *guard.Message) {
	t.Helper()
	emitted := make(chan *guard.Message, 100)
	p := &process{command: scriptCommand(t, how), limit: MaxMessage, restarted: func() {}, emit: func(raw []byte) { emitted <- parsed(raw) }}
	for _, c := range change {
		c(p)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if p.running, err = p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p, emitted
}

// soon is what a channel gives, before the test is given up.
func soon[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(20 * time.Second):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

type outcome struct {
	response guard.Response
	err      error
}

// calling sends a request in the background.
func calling(ctx context.Context, p *process, raw string) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		response, err := p.call(ctx, []byte(raw))
		out <- outcome{response, err}
	}()
	return out
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params)
}

// restartable waits for the end of the run, and lets it be started again.
func restartable(t *testing.T, p *process) {
	t.Helper()
	p.mu.Lock()
	r := p.running
	p.mu.Unlock()
	soon(t, r.ended)
	p.mu.Lock()
	p.started = time.Time{}
	p.mu.Unlock()
}

// TestPipesLeft: a server has ended when its process has, whoever holds its
// pipes. What it wrote before is read.
func TestPipesLeft(t *testing.T) {
	t.Parallel()
	p, emitted := scriptProcess(t, "parent")
	orphan := func() {
		var params struct{ Pid int }
		if err := json.Unmarshal(soon(t, emitted).Params, &params); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(params.Pid, syscall.SIGKILL) })
	}
	orphan()
	answered := calling(t.Context(), p, request("1", "a", `"as":"a"`))
	lost := calling(t.Context(), p, request("2", "b", `"say":["{\"jsonrpc\":\"2.0\",\"id\":<id a>,\"result\":{}}"],"die":true`))
	if got := soon(t, answered); got.err != nil {
		t.Errorf("what was written before the end: %v", got.err)
	}
	if got := soon(t, lost); got.err == nil || recovery.Unsent(got.err) {
		t.Errorf("the server ended: %v", got.err)
	}
	restartable(t, p)
	if got := soon(t, calling(t.Context(), p, request("3", "c", ""))); got.err != nil {
		t.Error(got.err)
	}
	orphan()
}

// TestDeaf: a server that does not read holds up nobody. What it can have read
// a part of is lost, what waits behind that has not been sent.
func TestDeaf(t *testing.T) {
	t.Parallel()
	p, emitted := scriptProcess(t, "deaf", func(p *process) { p.limit = 1 << 20 })
	ctx, cancel := context.WithCancel(t.Context())
	begun := calling(ctx, p, request("1", "a", `"x":"`+strings.Repeat("x", 700<<10)+`"`))
	out := p.running.out
	state := func() (waiting, size int) {
		out.mu.Lock()
		defer out.mu.Unlock()
		return len(out.waiting), out.size
	}
	for waiting, size := state(); waiting > 0 || size == 0; waiting, size = state() {
		runtime.Gosched() // until it is being written
	}
	waits := calling(ctx, p, request("2", "a", `"x":"`+strings.Repeat("x", 200<<10)+`"`))
	for waiting, _ := state(); waiting == 0; waiting, _ = state() {
		runtime.Gosched()
	}
	long := request("3", "a", `"x":"`+strings.Repeat("x", 200<<10)+`"`)
	if got := soon(t, calling(t.Context(), p, long)); !recovery.Unsent(got.err) || !strings.Contains(got.err.Error(), "does not read") {
		t.Errorf("beyond the bound: %v", got.err)
	}
	p.send(t.Context(), parsed([]byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)))
	p.send(t.Context(), parsed([]byte(long)))
	if got := soon(t, emitted); string(got.ID) != "3" || !strings.Contains(string(got.Error), "does not read") {
		t.Errorf("beyond the bound: %s", got.Raw)
	}
	p.send(t.Context(), parsed([]byte(request("4", "a", ""))))
	cancel()
	if got := soon(t, begun); !errors.Is(got.err, context.Canceled) || recovery.Unsent(got.err) {
		t.Errorf("partly written: %v", got.err)
	}
	if got := soon(t, waits); !errors.Is(got.err, context.Canceled) || !recovery.Unsent(got.err) {
		t.Errorf("not written: %v", got.err)
	}
	p.close()
	if got := soon(t, emitted); string(got.ID) != "4" || got.Error == nil {
		t.Errorf("waited at the end: %s", got.Raw)
	}
}

// TestClose: a process is told to end before it is killed, and no call is left.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", "polite", "stubborn"} {
		p, emitted := scriptProcess(t, how, func(p *process) {
			p.command.Ended = func(err error) { t.Errorf("%s: it was asked to end: %v", how, err) }
		})
		hangs := calling(t.Context(), p, request("1", "a", `"as":"a"`))
		if got := soon(t, calling(t.Context(), p, request("2", "b", `"say":["{\"jsonrpc\":\"2.0\",\"id\":<id>,\"result\":<id a>}"]`))); got.err != nil {
			t.Fatal(got.err)
		}
		p.close()
		if got := soon(t, hangs); got.err == nil || recovery.Unsent(got.err) {
			t.Errorf("%s: %v", how, got.err)
		}
		if got := soon(t, calling(t.Context(), p, request("3", "a", ""))); !recovery.Unsent(got.err) {
			t.Errorf("%s: a call of a process that is closed: %v", how, got.err)
		}
		if how == "polite" && soon(t, emitted).Method != "bye" {
			t.Error("it was not told to end")
		}
		if err := syscall.Kill(p.running.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: it lives: %v", how, err)
		}
	}
}

// TestCloseUnread: a client that does not read keeps nothing from its end.
func TestCloseUnread(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	p, _ := scriptProcess(t, "stubborn", func(p *process) { p.emit = func([]byte) { close(reached); <-release } })
	hangs := calling(t.Context(), p, request("1", "a", `"as":"a","say":["{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"]`))
	soon(t, reached)
	p.close()
	if got := soon(t, hangs); got.err == nil {
		t.Error("the call has an answer")
	}
	close(release)
	soon(t, p.running.ended)
}

// TestSpelledIDs: a response may spell the id in another way.
func TestSpelledIDs(t *testing.T) {
	t.Parallel()
	p, emitted := scriptProcess(t, "")
	for asked, answered := range map[string]string{"7.0": "7", "1e0": "1", `"\u0061"`: `"a"`, "1e1": "10.0"} {
		say, err := json.Marshal([]string{`{"jsonrpc":"2.0","id":` + answered + `,"result":{}}`})
		if err != nil {
			t.Fatal(err)
		}
		raw := request(asked, "a", `"say":`+string(say))
		if got := soon(t, calling(t.Context(), p, raw)); got.err != nil || string(got.response.Message.ID) != answered {
			t.Errorf("%s: %+v", asked, got)
		}
		p.send(t.Context(), parsed([]byte(raw)))
		if got := soon(t, emitted); string(got.ID) != answered {
			t.Errorf("%s: %s", asked, got.Raw)
		}
	}
}

// TestGreeting: each run hears the handshake of the client once: a new one
// what the client has agreed on, or what it says itself.
func TestGreeting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "first")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	greeted := 0
	p, emitted := scriptProcess(t, "mortal "+file, func(p *process) { p.restarted = func() { greeted++ } })
	counts := func(id string) string {
		got := soon(t, calling(t.Context(), p, request(id, "a", `"say":["{\"jsonrpc\":\"2.0\",\"id\":<id>,\"result\":[<count initialize>,<count notifications/initialized>]}"]`)))
		if got.err != nil {
			t.Fatal(got.err)
		}
		return string(got.response.Message.Result)
	}
	initialize := parsed([]byte(request("0", "initialize", "")))
	p.send(t.Context(), initialize)
	if got := soon(t, emitted); got.Error == nil {
		t.Fatalf("%s", got.Raw)
	}
	restartable(t, p)
	p.send(t.Context(), initialize)
	if got := soon(t, emitted); got.Result == nil {
		t.Fatalf("%s", got.Raw)
	}
	p.send(t.Context(), parsed([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)))
	if got := counts("1"); got != "[1,1]" {
		t.Errorf("the run that the client greets heard %s", got)
	}
	soon(t, calling(t.Context(), p, request("2", "a", `"die":true`)))
	restartable(t, p)
	// Its id is the one that the client greeted with.
	if got := counts("0"); got != "[1,1]" {
		t.Errorf("the run that the client does not know of heard %s", got)
	}
	if greeted != 2 {
		t.Errorf("restarted %d times", greeted)
	}
}

// TestIDsInUse: two requests under one id do not get each other's answers.
func TestIDsInUse(t *testing.T) {
	t.Parallel()
	p, emitted := scriptProcess(t, "")
	answer := func(of string) string {
		return `"say":["{\"jsonrpc\":\"2.0\",\"id\":<id ` + of + `>,\"result\":\"` + of + `\"}"]`
	}
	p.send(t.Context(), parsed([]byte(request("1", "passed", `"as":"p"`))))
	called := calling(t.Context(), p, request("2", "called", `"as":"c"`))
	soon(t, calling(t.Context(), p, request("3", "both are there", `"say":["<id c>{","{\"jsonrpc\":\"2.0\",\"id\":<id>,\"result\":<id p>}"]`)))
	for _, id := range []string{"1", "1.0", "2", "2e0"} {
		if got := soon(t, calling(t.Context(), p, request(id, "a", ""))); !errors.Is(got.err, errInUse) || !recovery.Unsent(got.err) {
			t.Errorf("a call as %s: %+v", id, got)
		}
		p.send(t.Context(), parsed([]byte(request(id, "a", ""))))
		if got := soon(t, emitted); !strings.Contains(string(got.Error), "in use") || string(got.ID) != id {
			t.Errorf("a request as %s: %s", id, got.Raw)
		}
	}
	for _, of := range []string{"c", "p"} {
		p.send(t.Context(), parsed([]byte(`{"jsonrpc":"2.0","method":"release","params":{`+answer(of)+`}}`)))
	}
	if got := soon(t, called); got.err != nil || string(got.response.Message.Result) != `"c"` {
		t.Errorf("%+v", got)
	}
	if got := soon(t, emitted); string(got.Result) != `"p"` {
		t.Errorf("%s", got.Raw)
	}
}

// TestLineEnds: a stream may end its lines in three ways and begin with a byte
// order mark, however its bytes arrive, and passes to the byte.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{
		"\ufeffid: 1\rdata: {}\r\rdata: [\rdata: ]\r\r: x\r\r",
		"\ufeffid: 1\ndata: {}\n\ndata: [\ndata: ]\n\n: x\n\n",
		"\ufeffid: 1\r\ndata: {}\r\n\r\ndata: [\r\ndata: ]\r\n\r\n: x\r\n\r\n",
		"id: 1\rdata: {}\r\n\ndata: [\ndata: ]\r\r: x\r\n\r",
		"id: 1\r\ndata: {}\r\rdata: [\rdata: ]\n\r: x\n\n",
	} {
		for name, reader := range map[string]io.Reader{"whole": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
			in, all, changed := newEvents(reader, 100), "", ""
			for i, want := range []event{{id: "1", data: []byte("{}")}, {data: []byte("[\n]")}, {}} {
				e, err := in.next()
				if err != nil || e.id != want.id || string(e.data) != string(want.data) {
					t.Fatalf("%q %s: event %d is %+v, %v", stream, name, i, e, err)
				}
				all += string(e.raw)
				changed += string(e.withData([]byte("7")))
			}
			// The line feed that a carriage return at the very end may miss says nothing.
			if _, err := in.next(); !errors.Is(err, io.EOF) || all != stream && all+"\n" != stream {
				t.Errorf("%q %s: %q, %v", stream, name, all, err)
			}
			again := newEvents(strings.NewReader(changed), 100)
			for _, want := range []string{"7", "7", ""} {
				if e, err := again.next(); err != nil || string(e.data) != want {
					t.Errorf("%q %s: changed to %q, which has the data %q, %v", stream, name, changed, e.data, err)
				}
			}
		}
	}
}

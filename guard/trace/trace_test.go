package trace_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.example/guard"
	"remit.example/guard/trace"
	"remit.example/operation"
	"remit.example/record"
)

var at = time.Date(2026, 7, 1, 12, 30, 0, 5_000_000, time.UTC)

// decided is a decision with every member.
func decided() guard.Decision {
	return guard.Decision{
		At: at, Task: "t7 pay", Caller: "local:1000", Upstream: "billing", Tool: "pay_invoice", Effect: record.Unsafe, Execution: 2,
		From: guard.FromTool, Code: record.OutcomeUnknown, Next: record.CheckStatus, Message: "Lost.\npassword=abc", Operation: "op_1",
		State: operation.Unknown, Replayed: true, Asks: true, Again: true, Why: guard.Budget, Observed: true, Would: guard.FromMemory,
		WouldCode: record.TempUnavailable, Took: 1500 * time.Microsecond,
	}
}

// TestLine: the members in the order of the package comment.
func TestLine(t *testing.T) {
	const digest = `"input":{"digest":"00000000000000000000000000000000"},"auth_ok":null`
	for _, c := range []struct {
		decision guard.Decision
		want     string
	}{
		{decided(), `RUN-t7 pay","execution":2,` + digest + `,"code":"OUTCOME_UNKNOWN","action":"check_status","at_ms":1782909000005,"disposition":null,"answered_from":"tool","at":"2026-07-01T12:30:00.005Z",` +
			`"caller":"local:1000","upstream":"billing","tool":"pay_invoice","effect":"unsafe","message":"Lost.\npassword=[redacted]","operation":"op_1","state":"unknown","replayed":true,"asks":true,"again":true,` +
			`"why":"budget","mode":"observe","would":"memory","would_code":"TEMP_UNAVAILABLE","took_ms":1}`},
		{guard.Decision{At: at, Task: "t1", Tool: "a", From: guard.FromMemory, Code: record.AccessDenied, Next: record.Stop, Stop: record.Refused, Effect: record.Read}, `RUN-t1","execution":null,` + digest +
			`,"code":"ACCESS_DENIED","action":"stop","at_ms":1782909000005,"disposition":"refused","answered_from":"memory","at":"2026-07-01T12:30:00.005Z","caller":"","upstream":"","tool":"a","effect":"read","mode":"enforce","took_ms":0}`},
		{guard.Decision{At: at, Task: "t1", Tool: "a", From: guard.FromTool, Code: record.OK, Stop: record.Success, Execution: 1, Effect: record.Read, Observed: true, Would: guard.FromTool}, `RUN-t1","execution":1,` + digest +
			`,"code":"OK","action":"complete","at_ms":1782909000005,"disposition":"success","answered_from":"tool","at":"2026-07-01T12:30:00.005Z","caller":"","upstream":"","tool":"a","effect":"read","mode":"observe","took_ms":0}`},
	} {
		got := string(trace.NewForm().Append(nil, c.decision))
		const begins = len(`{"case":"000000000000-`)
		if want := c.want + "\n"; got[begins:] != want[len("RUN-"):] {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		l, err := trace.Parse([]byte(got))
		if err != nil {
			t.Error(err)
		} else if l.Avoided() != (c.decision.Execution == 0) || l.WouldAvoid() != (c.decision.Would == guard.FromMemory) || !l.Time().Equal(at) {
			t.Errorf("%+v", l)
		}
	}
	if a, b := trace.NewForm().Append(nil, decided()), trace.NewForm().Append(nil, decided()); bytes.Equal(a, b) {
		t.Error("two runs name a task alike")
	}
	long := decided()
	long.Message = strings.Repeat("é", 3000)
	if l, err := trace.Parse(trace.NewForm().Append(nil, long)); err != nil || l.Message != strings.Repeat("é", 1999)+"…" {
		t.Errorf("%v: %v", l, err)
	}
}

func TestParseFaults(t *testing.T) {
	good := string(trace.NewForm().Append(nil, decided()))
	for _, c := range []struct{ before, after, want string }{
		{`{"case"`, `{"note":1,"case"`, "note"},
		{`{"case"`, `{"case":"a","case"`, "duplicate"},
		{`{"case"`, `{"CASE"`, "CASE"},
		{`"execution":2`, `"execution":"2"`, "execution"},
		{`"execution":2`, `"execution":0`, "below 1"},
		{`"code":"OUTCOME_UNKNOWN",`, ``, "it has no code"},
		{`"answered_from":"tool"`, `"answered_from":"me"`, "valid: tool, memory, ledger, validation"},
		{`"mode":"observe"`, `"mode":"watch"`, "valid: enforce, observe"},
		{`"would":"memory"`, `"would":"me"`, "would is"},
	} {
		text := strings.Replace(good, c.before, c.after, 1)
		if _, err := trace.Parse([]byte(text)); text == good || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.after, err)
		}
	}
}

// lines reads every line of some files.
func lines(t *testing.T, names ...string) (all []*trace.Line) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			l, err := trace.Parse(line)
			if err != nil {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
			all = append(all, l)
		}
	}
	return all
}

// TestWriters: several writers of one file tear no line and lose none, also
// while it is rotated.
func TestWriters(t *testing.T) {
	const writers, each = 3, 200
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	var running sync.WaitGroup
	for i := range writers {
		w, err := trace.NewWriter(trace.File{Path: name, Size: 20_000, Keep: 100})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for n := range each {
				d := decided()
				d.Task = fmt.Sprintf("%d-%d", i, n)
				w.Observe(d)
				if n%40 == 39 {
					time.Sleep(60 * time.Millisecond) // several batches
				}
			}
			if err := w.Close(); err != nil || w.Lost() > 0 {
				t.Errorf("%v, %d lost", err, w.Lost())
			}
			w.Observe(decided())
			if w.Lost() != 1 {
				t.Error("a line after the end is not counted")
			}
		})
	}
	running.Wait()
	files, err := filepath.Glob(name + "*")
	if err != nil || len(files) < 3 {
		t.Fatalf("%q: %v", files, err)
	}
	tasks := map[string]int{}
	for _, l := range lines(t, files...) {
		_, task, _ := strings.Cut(l.Case, "-")
		tasks[task]++
	}
	if len(tasks) != writers*each {
		t.Errorf("%d tasks, want %d", len(tasks), writers*each)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info, err)
	}
}

// TestWriterKeeps: the oldest file goes.
func TestWriterKeeps(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	for range 6 { // each begins a file
		w, err := trace.NewWriter(trace.File{Path: name, Size: 1, Keep: 2})
		if err != nil {
			t.Fatal(err)
		}
		w.Observe(decided())
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(name + "*")
	if diff := cmp.Diff([]string{name, name + ".1", name + ".2"}, files); diff != "" {
		t.Error(diff)
	}
	if got := len(lines(t, files...)); got != 3 {
		t.Errorf("%d lines", got)
	}
}

// TestWriterTorn: after a line that has no end, the next begins a line.
func TestWriterTorn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(name, []byte(`{"case":"cut`), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := trace.NewWriter(trace.File{Path: name})
	if err != nil {
		t.Fatal(err)
	}
	w.Observe(decided())
	deadline := time.Now().Add(time.Second)
	for time.Now().Before(deadline) { // within a second, without Close
		if info, err := os.Stat(name); err == nil && info.Size() > 100 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	text, err := os.ReadFile(name)
	if err != nil || strings.Count(string(text), "\n") != 2 || !strings.HasPrefix(string(text), `{"case":"cut`+"\n{") {
		t.Errorf("%s: %v", text, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := trace.NewWriter(trace.File{Path: filepath.Join(name, "x")}); err == nil {
		t.Error("a file below a file is opened")
	}
}

// TestWriterFull: on a full disk lines are lost, counted, and reported once.
func TestWriterFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	var log bytes.Buffer
	w, err := trace.NewWriter(trace.File{Path: "/dev/full", Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.Observe(decided())
		time.Sleep(60 * time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if w.Lost() != 3 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "no space left on device") {
		t.Errorf("%d lost: %s", w.Lost(), log.String())
	}
}

// TestWriterPartly: what a full disk takes in part leaves no part of a line,
// and writing goes on once there is room.
func TestWriterPartly(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	small := limit
	small.Cur = 1000 // one line and a part
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	w, err := trace.NewWriter(trace.File{Path: name})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Skip(err)
	}
	w.Observe(decided())
	for deadline := time.Now().Add(5 * time.Second); len(lines(t, name)) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	w.Observe(decided())
	for deadline := time.Now().Add(5 * time.Second); w.Lost() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	if got := len(lines(t, name)); err != nil || got != 1 || w.Lost() != 1 {
		t.Errorf("%v: %d lines, %d lost", err, got, w.Lost())
	}
	w.Observe(decided())
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if got := len(lines(t, name)); got != 2 {
		t.Errorf("%d lines", got)
	}
}

func TestPrinter(t *testing.T) {
	var out bytes.Buffer
	p := trace.NewPrinter(&out)
	p.Observe(decided())
	p.Observe(guard.Decision{At: at, Tool: "get\x1b[31m", Code: record.OK, From: guard.FromTool, Execution: 1, Took: 35 * time.Millisecond})
	p.Observe(guard.Decision{At: at, Tool: "get", Code: "X", From: guard.FromTool, Next: record.Stop, Message: "sk-" + "abcdefghijklmnopqrst"})
	p.Observe(guard.Decision{At: at, Tool: "get", Code: record.TempUnavailable, Next: record.WaitAndRetry, From: guard.FromMemory, Why: guard.Rate})
	p.Close()
	const want = `12:30:00 pay_invoice OUTCOME_UNKNOWN, execution 2, 1 ms; would be TEMP_UNAVAILABLE from memory; operation op_1 unknown; next check_status: Lost. password=[redacted]
12:30:00 get�[31m OK, execution 1, 35 ms
12:30:00 get X, not sent; next stop: [redacted]
12:30:00 get TEMP_UNAVAILABLE from memory, not executed (rate); next wait_and_retry
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestMetrics(t *testing.T) {
	store := operation.NewMemory(time.Now)
	claim := operation.Claim{Scope: operation.Scope{Principal: "p", Upstream: "billing", Tool: "pay"}, Fingerprint: "f", NewID: "op_1", Lease: time.Minute}
	v, err := store.Claim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Settle(t.Context(), v.Operation.ID, v.Operation.Fence, operation.Outcome{State: operation.Unknown, By: operation.ByAnswer}); err != nil {
		t.Fatal(err)
	}
	m := trace.NewMetrics(store, "billing", func() uint64 { return 7 })
	for i := range 1500 {
		m.Observe(guard.Decision{Tool: fmt.Sprintf("tool_%04d", i), Code: record.Code(fmt.Sprintf("CODE_%d", i)), From: guard.FromTool, Execution: 1})
	}
	m.Observe(guard.Decision{Tool: "tool_0000", Code: record.TempUnavailable, From: guard.FromTool, Execution: 1, Again: true})
	m.Observe(guard.Decision{Tool: "tool_0000", Code: record.OK, From: guard.FromTool, Execution: 2})
	m.Observe(guard.Decision{Tool: "tool_0000", Code: record.OK, From: guard.FromLedger, Replayed: true})
	m.Observe(guard.Decision{Tool: "tool_0000", Code: record.OK, From: guard.FromTool, Execution: 1, Observed: true, Would: guard.FromMemory})
	m.Observe(guard.Decision{Tool: guard.StatusTool, Code: record.OK, From: guard.FromLedger})
	response := httptest.NewRecorder()
	m.Handler().ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	text := response.Body.String()
	for _, want := range []string{
		`remit_guard_calls_total{answered_from="tool",code="unknown",tool="tool_0000"} 1`,
		`remit_guard_calls_total{answered_from="tool",code="OK",tool="tool_0000"} 2`,
		`remit_guard_calls_total{answered_from="ledger",code="OK",tool="tool_0000"} 1`,
		`remit_guard_calls_total{answered_from="tool",code="unknown",tool="other"} 500`,
		`remit_guard_executions_total{tool="tool_0000"} 4`,
		`remit_guard_executions_avoided_total{answered_from="ledger",mode="enforce",tool="tool_0000"} 1`,
		`remit_guard_executions_avoided_total{answered_from="memory",mode="observe",tool="tool_0000"} 1`,
		`remit_guard_call_seconds_count{answered_from="tool",tool="other"} 500`,
		`remit_guard_unknown_operations 1`,
		`remit_guard_trace_lines_lost_total 7`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(text, "CODE_") || strings.Contains(text, "tool_1000") {
		t.Error("names of a server make series without bound")
	}
	if strings.Contains(text, `avoided_total{answered_from="ledger",mode="enforce",tool="operation_status"`) {
		t.Error("a question for an operation is no execution that was avoided")
	}
}

package scripted

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"remit.example/oracle"
)

// suiteOf is a suite with those of its cases that are named; all if none is.
func suiteOf(t *testing.T, name string, cases ...string) *oracle.Suite {
	t.Helper()
	s, err := oracle.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		return s
	}
	s.Cases = slices.DeleteFunc(s.Cases, func(c oracle.Case) bool { return !slices.Contains(cases, c.Name) })
	if len(s.Cases) != len(cases) {
		t.Fatalf("%s has not all of %q", name, cases)
	}
	return s
}

// judge is the outcome of a caller.
func judge(t *testing.T, s *oracle.Suite, options Options) *oracle.Outcome {
	t.Helper()
	if options.Wire == "" {
		options.Wire = HTTP
	}
	o, err := Judge(t.Context(), s, options)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// broken lists the rules that the cases of an outcome break, each once.
func broken(o *oracle.Outcome) (rules []string) {
	for _, failure := range o.Failures {
		for _, finding := range failure.Findings {
			rules = append(rules, finding.Rule)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// TestConforms: a caller that does what the failures permit passes, over each
// wire, whatever its exit status.
func TestConforms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, wire, caller, era string }{
		{"http", HTTP, "conforms and exits 22", ""},
		{"mcp 2025-11-25", MCP, "conforms", "2025-11-25"},
		{"mcp 2026-07-28", MCP, "conforms", "2026-07-28"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := suiteOf(t, "recovery-v1")
			var told []string
			progress := func(done, total int, name string) {
				if done != len(told)+1 || total != len(s.Cases) {
					t.Errorf("%s is %d of %d", name, done, total)
				}
				told = append(told, name)
			}
			var stderr strings.Builder
			o := judge(t, s, Options{Wire: test.wire, Command: callerNamed(test.caller, test.era), Stderr: &stderr, Progress: progress})
			if o.Passed != len(s.Cases) || o.Failed > 0 || len(o.Void) > 0 {
				t.Errorf("%d passed, %d failed: %v; void: %q; %s", o.Passed, o.Failed, o.Failures, o.Void, stderr.String())
			}
			if len(told) != len(s.Cases) {
				t.Errorf("progress was told of %q", told)
			}
		})
	}
}

// TestViolates: each caller that does what it may not fails by the rule that
// it breaks, and by no other.
func TestViolates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		caller string
		cases  []string
		failed int
		rules  []string
	}{
		// A machine may take 4 ms longer over the second call than over the
		// first; it hardly does so three times.
		{"is early", []string{"temporary-then-ok", "temporary-persistent"}, -1, []string{"early"}},
		{"repeats a refusal", []string{"access-denied", "immediate-success"}, 1, []string{"retry-after-refusal"}},
		{"resends what is invalid", []string{"invalid-unchanged", "invalid-corrected"}, 2, []string{"unchanged-input-resent"}},
		{"repeats without renewal", []string{"auth-unchanged"}, 1, []string{"retry-without-renewal"}},
		{"ignores unknown codes", []string{"unknown-code"}, 1, []string{"retry-after-unknown"}},
		{"has no budget", []string{"temporary-persistent"}, 1, []string{"budget"}},
		{"floods", []string{"access-denied"}, 1, []string{"budget", "retry-after-refusal"}},
	} {
		t.Run(test.caller, func(t *testing.T) {
			t.Parallel()
			o := judge(t, suiteOf(t, "recovery-v1", test.cases...), Options{Command: callerNamed(test.caller, "")})
			if got := broken(o); !slices.Equal(got, test.rules) || len(o.Void) > 0 || o.Passed+o.Failed != len(test.cases) {
				t.Errorf("%q broken, want %q; %d judged; void: %q", got, test.rules, o.Passed+o.Failed, o.Void)
			}
			if test.failed >= 0 && o.Failed != test.failed {
				t.Errorf("%d failed, want %d", o.Failed, test.failed)
			}
		})
	}
}

// TestNoCall: a caller that makes no call voids the run, with what is known of it.
func TestNoCall(t *testing.T) {
	t.Parallel()
	o := judge(t, suiteOf(t, "recovery-v1", "access-denied", "immediate-success"), Options{Command: callerNamed("makes no call", "")})
	if len(o.Void) != 2 || o.Passed+o.Failed > 0 {
		t.Fatalf("%d passed, %d failed; void: %q", o.Passed, o.Failed, o.Void)
	}
	const begins = "access-denied: the caller made no call, so that nothing was judged (exit status 3; requests that were refused: 2, the last with 404: nothing is served at /v1/tools/delivery; valid: /v1/tools/delivery_status); its standard error ends with:\nx"
	if got := o.Void[0]; !strings.HasPrefix(got, begins) || !strings.HasSuffix(got, "xI am lost") || len(got) > len(begins)+4<<10 {
		t.Errorf("void: %s", got)
	}
}

// TestHangs: a caller that does not end is killed with its children, and the
// run is void. What it broke until then is reported all the same.
func TestHangs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		caller string
		rules  []string
	}{
		{"hangs", nil},
		{"repeats and hangs", []string{"retry-after-refusal"}},
	} {
		t.Run(test.caller, func(t *testing.T) {
			t.Parallel()
			address, gone := watch(t, 2)
			o := judge(t, suiteOf(t, "recovery-v1", "access-denied", "immediate-success"),
				Options{Command: callerNamed(test.caller, address), Timeout: 3 * time.Second})
			const void = "access-denied: the caller did not end within 3 s, and no further case was run; its standard error ends with:\nholding"
			if !slices.Equal(o.Void, []string{void}) || !slices.Equal(broken(o), test.rules) || o.Passed > 0 {
				t.Errorf("void: %q; %q broken, want %q; %d passed", o.Void, broken(o), test.rules, o.Passed)
			}
			gone()
		})
	}
}

// TestLeftBehind: nothing of a caller runs on when it has ended.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	address, gone := watch(t, 0)
	o := judge(t, suiteOf(t, "recovery-v1", "unknown-code"), Options{Command: callerNamed("leaves a child", address)})
	if o.Passed != 1 || len(o.Void) > 0 {
		t.Errorf("%d passed; void: %q", o.Passed, o.Void)
	}
	gone()
}

// watch listens for the processes that hold a connection. gone waits until as
// many as are sure to have connected, and any others that have, are gone.
func watch(t *testing.T, sure int) (address string, gone func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	accepted := make(chan int)
	go func() {
		n := 0
		for {
			connection, err := listener.Accept()
			if err != nil {
				accepted <- n
				return
			}
			n++
			go func() {
				_, err := connection.Read(make([]byte, 1))
				ended <- err
			}()
		}
	}()
	return listener.Addr().String(), func() {
		for range sure {
			<-ended
		}
		_ = listener.Close()
		for range <-accepted - sure {
			<-ended
		}
	}
}

// TestStillWaits: a caller that is asked to wait longer than it has time is
// judged by what it did.
func TestStillWaits(t *testing.T) {
	t.Parallel()
	o := judge(t, suiteOf(t, "recovery-v1-extended", "delay-of-a-day"), Options{Command: callerNamed("conforms", ""), Timeout: 3 * time.Second})
	if o.Passed != 1 || len(o.Void) > 0 {
		t.Errorf("%d passed, %d failed; void: %q", o.Passed, o.Failed, o.Void)
	}
}

// TestCancelled: the end of the context kills the caller and is the error.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Judge(ctx, suiteOf(t, "recovery-v1"), Options{
		Wire: HTTP, Command: callerNamed("hangs", ""), Stderr: &signals{on: "holding", calls: cancel},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want that of the context", err)
	}
}

// TestCannotStart: a caller that cannot be started is an error at once.
func TestCannotStart(t *testing.T) {
	t.Parallel()
	o, err := Judge(t.Context(), suiteOf(t, "recovery-v1"), Options{Wire: HTTP, Command: []string{t.TempDir() + "/caller"}})
	if o != nil || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "the caller cannot be started: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		suite   string
		options Options
		want    string
	}{
		{"catalogue-v1", Options{Wire: HTTP, Command: []string{"x"}}, "catalogue-v1 is a suite of catalogue-v1; valid for a caller: a suite of recovery-v1"},
		{"recovery-v1", Options{Wire: "grpc", Command: []string{"x"}}, `a caller is served over "grpc"; valid: http, mcp`},
		{"recovery-v1", Options{Wire: MCP}, "no caller is named; valid: a program and its arguments"},
		{"recovery-v1", Options{Wire: MCP, Command: []string{"x"}, Timeout: -time.Second}, "the caller has -1s for each case; valid: a time above 0"},
	} {
		if _, err := Judge(t.Context(), suiteOf(t, test.suite), test.options); err == nil || err.Error() != test.want {
			t.Errorf("the error is %v, want %s", err, test.want)
		}
	}
}

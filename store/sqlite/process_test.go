package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"remit.example/operation"
)

// asWorker makes the test binary a worker on the file that it names.
const asWorker = "REMIT_TEST_STORE_WORKER"

func TestMain(m *testing.M) {
	if path := os.Getenv(asWorker); path != "" {
		if err := work(path, os.Stdout); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// lines is how many things there are to do, each once.
const lines = 200

// work claims lines in a random order, and says of each what it did, when it
// has done it: executed, which is the effect, and confirmed.
func work(path string, out io.Writer) error {
	ctx := context.Background()
	s, err := Open(ctx, path, time.Now)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(out, "ready")
	for _, n := range rand.Perm(lines) {
		c := claim(fmt.Sprint(n), os.Getpid())
		c.Window = time.Hour
		v, err := s.Claim(ctx, c)
		if err != nil {
			return err
		}
		if !v.Executes() {
			continue
		}
		fmt.Fprintln(out, "executed", n, v.Operation.ID)
		if _, err := s.Settle(ctx, v.Operation.ID, v.Operation.Fence, confirmed()); err != nil {
			return err
		}
		fmt.Fprintln(out, "confirmed", n, v.Operation.ID)
	}
	return nil
}

// worker is a started one.
type worker struct {
	*exec.Cmd
	ready chan struct{}
	done  chan struct{}
	said  []string // to be read after done
}

func startWorker(t *testing.T, path string) *worker {
	t.Helper()
	w := &worker{Cmd: exec.Command(os.Args[0]), ready: make(chan struct{}), done: make(chan struct{})}
	w.Env = append(os.Environ(), asWorker+"="+path)
	out, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.done)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			w.said = append(w.said, scanner.Text())
			if scanner.Text() == "ready" {
				close(w.ready)
			}
		}
	}()
	return w
}

// end waits for the worker, after a signal or by itself.
func (w *worker) end() []string {
	<-w.done
	_ = w.Wait() // its exit says nothing that its words do not
	return w.said
}

// account is what workers have said.
type account struct {
	*testing.T
	executed  map[string]string // the operation by line
	confirmed map[string]bool   // by operation
}

func (a *account) add(said []string) {
	a.Helper()
	for _, line := range said {
		fields := strings.Fields(line)
		switch {
		case fields[0] == "error":
			a.Errorf("a worker: %s", line)
		case len(fields) != 3: // cut off, or ready
		case fields[0] == "executed":
			if other := a.executed[fields[1]]; other != "" {
				a.Errorf("line %s is executed twice: %s and %s", fields[1], other, fields[2])
			}
			a.executed[fields[1]] = fields[2]
		case fields[0] == "confirmed":
			a.confirmed[fields[2]] = true
		}
	}
}

// check holds the file to what was said.
func (a *account) check(path string) {
	a.Helper()
	s, err := Open(a.Context(), path, time.Now)
	if err != nil {
		a.Fatal(err)
	}
	defer s.Close()
	list, err := s.List(a.Context(), operation.Filter{}, "", 10*lines)
	if err != nil {
		a.Fatal(err)
	}
	stored := map[string]operation.State{}
	perLine := map[string]int{}
	for _, o := range list {
		stored[o.ID] = o.State
		if perLine[o.Intent]++; perLine[o.Intent] > 1 {
			a.Errorf("line %s has %d operations", o.Intent, perLine[o.Intent])
		}
	}
	for line, id := range a.executed {
		switch {
		case a.confirmed[id] && stored[id] != operation.Confirmed:
			a.Errorf("line %s: %s was acknowledged as confirmed and is %q", line, id, stored[id])
		case stored[id] != operation.Confirmed && stored[id] != operation.Sent:
			a.Errorf("line %s: %s was executed and is %q", line, id, stored[id])
		}
	}
}

// TestProcesses: several processes on one new file execute each line once.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guard.db")
	a := &account{t, map[string]string{}, map[string]bool{}}
	var workers []*worker
	for range 3 {
		workers = append(workers, startWorker(t, path))
	}
	for _, w := range workers {
		a.add(w.end())
	}
	if len(a.executed) != lines || len(a.confirmed) != lines {
		t.Errorf("%d lines are executed and %d confirmed, not %d", len(a.executed), len(a.confirmed), lines)
	}
	a.check(path)
}

// TestKill ends two processes at random moments, again and again, on one file.
// REMIT_ROUNDS is how often, for longer runs.
func TestKill(t *testing.T) {
	rounds := 15
	if text := os.Getenv("REMIT_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var path string
	var a *account
	total := 0
	for round := range rounds {
		if round%5 == 0 { // before all lines are done
			path = filepath.Join(t.TempDir(), "guard.db")
			a = &account{t, map[string]string{}, map[string]bool{}}
		}
		var wg sync.WaitGroup
		workers := []*worker{startWorker(t, path), startWorker(t, path)}
		for _, w := range workers {
			pause := time.Duration(random.IntN(60_000)) * time.Microsecond
			wg.Go(func() {
				select {
				case <-w.ready:
					time.Sleep(pause)
				case <-w.done:
				}
				_ = w.Process.Kill()
			})
		}
		wg.Wait()
		before := len(a.confirmed)
		for _, w := range workers {
			a.add(w.end())
		}
		a.check(path)
		total += len(a.confirmed) - before
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	t.Logf("seed %d: %d acknowledged in %d rounds", seed, total, rounds)
	if total == 0 {
		t.Error("nothing was acknowledged before a process ended")
	}
}

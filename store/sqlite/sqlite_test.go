package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"remit.example/operation"
	"remit.example/store/storetest"
)

func TestSuite(t *testing.T) {
	clock := storetest.NewClock()
	folders := map[string]string{}
	storetest.Run(t, storetest.Subject{
		Durable: true,
		Open: func(t *testing.T, name string) operation.Store {
			place := t.Name() + name
			if folders[place] == "" {
				folders[place] = t.TempDir()
			}
			s, err := Open(t.Context(), filepath.Join(folders[place], "odd name? 100%#.db"), clock.Now)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Pass: func(_ *testing.T, _ operation.Store, d time.Duration) { clock.Pass(d) },
	})
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func claim(line string, n int) operation.Claim {
	return operation.Claim{
		Scope:  operation.Scope{Principal: "agent", Upstream: "bank", Tool: "pay"},
		Intent: line, Fingerprint: line, Arguments: []byte("{}"), Lease: time.Hour, NewID: fmt.Sprintf("%s-%d", line, n),
	}
}

func confirmed() operation.Outcome {
	return operation.Outcome{State: operation.Confirmed, Code: "OK", By: operation.ByAnswer, Result: []byte("{}")}
}

// TestFileMode: whatever the umask, the owner alone may read any of the files.
func TestFileMode(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	folder := t.TempDir()
	s := open(t, filepath.Join(folder, "guard.db"))
	if _, err := s.Claim(t.Context(), claim("A", 1)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		seen++
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil || seen != 3 {
		t.Errorf("%d files beside each other, %v; valid: the file, -wal and -shm", seen, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	newer := filepath.Join(folder, "newer.db")
	if _, err := open(t, newer).write.Exec(`INSERT INTO remit_schema VALUES (99)`); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":         "is no file; valid: ",
		":memory:": "is no file; valid: ",
		folder:     "is a folder; valid: ",
		filepath.Join(folder, "none", "guard.db"):                   "cannot be made: .*; valid: a file in a folder that exists",
		write("read.db", "", 0o644):                                 "may be read by others \\(mode 0644\\)",
		write("text.db", strings.Repeat("no database ", 99), 0o600): "is no database; valid: ",
		newer: "schema has version 99, and this program knows versions up to 1; valid: a newer program",
	} {
		s, err := Open(t.Context(), path, time.Now)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("opening %q: %v; it should say %q", path, err, want)
		}
	}
}

// TestOpenAtOnce: a new file that many open is migrated once.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guard.db")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			s, err := Open(t.Context(), path, time.Now)
			if err == nil {
				err = s.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := open(t, path).read.QueryRow(`SELECT count(*) FROM remit_schema`).Scan(&rows); rows != 1 || err != nil {
		t.Errorf("%d migrations, %v", rows, err)
	}
}

// TestConnections: who waits for the disk, and who does not.
func TestConnections(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "guard.db"))
	for _, c := range []struct {
		name   string
		db     *sql.DB
		pragma string
		want   string
	}{
		{"write", s.write, "synchronous", "2"},
		{"write", s.write, "journal_mode", "wal"},
		{"write", s.write, "secure_delete", "1"},
		{"relaxed", s.relaxed, "synchronous", "1"},
		{"relaxed", s.relaxed, "journal_mode", "wal"},
		{"read", s.read, "query_only", "1"},
		{"read", s.read, "busy_timeout", "10000"},
	} {
		var got string
		if err := c.db.QueryRow("PRAGMA " + c.pragma).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s of %s is %s, %v; valid: %s", c.pragma, c.name, got, err, c.want)
		}
	}
}

// TestClaimsUseIndexes: no query of a claim grows with the number of operations.
func TestClaimsUseIndexes(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "guard.db"))
	plan := func(query string, args ...any) string {
		rows, err := s.write.Query("EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var lines []string
		for rows.Next() {
			var a, b, c int
			var line string
			if err := rows.Scan(&a, &b, &c, &line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	}
	for _, query := range []string{relatedByIntent, relatedByFingerprint} {
		got := plan(query, []byte("k"), []byte("k"))
		if strings.Contains(got, "SCAN remit_operations") || strings.Count(got, "SEARCH remit_operations USING COVERING INDEX remit_by_") != 4 {
			t.Errorf("the plan is\n%s", got)
		}
	}
	if got := plan(get, "a"); !strings.Contains(got, "SEARCH remit_operations USING INDEX") {
		t.Errorf("the plan is\n%s", got)
	}
}

// TestInTransaction: an effect in the same file and the outcome of its
// operation are committed together, or neither is.
func TestInTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := open(t, path)
	own, err := sql.Open("sqlite", dsn(path, "_txlock=immediate"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if _, err := own.Exec(`CREATE TABLE orders (id TEXT)`); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		tx, err := own.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.In(tx).Claim(t.Context(), claim("A", 1))
		if err != nil || v.Kind != operation.Execute {
			t.Fatalf("%+v, %v", v, err)
		}
		if _, err := tx.Exec(`INSERT INTO orders VALUES ('A')`); err != nil {
			t.Fatal(err)
		}
		if _, err := s.In(tx).Settle(t.Context(), v.Operation.ID, v.Operation.Fence, confirmed()); err != nil {
			t.Fatal(err)
		}
		if o, err := s.In(tx).Get(t.Context(), v.Operation.ID); err != nil || o.State != operation.Confirmed {
			t.Fatalf("%+v, %v", o, err)
		}
		if _, err := s.Get(t.Context(), v.Operation.ID); !errors.Is(err, operation.ErrNotFound) {
			t.Errorf("others see what is not committed: %v", err)
		}
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		var orders int
		if err := own.QueryRow(`SELECT count(*) FROM orders`).Scan(&orders); err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), v.Operation.ID)
		if (orders == 1) != commit || (err == nil) != commit {
			t.Errorf("committed: %v; there are %d orders, and the operation: %v", commit, orders, err)
		}
	}
}

// TestPurgeOverwrites: what is forgotten is in none of the files any more.
func TestPurgeOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guard.db")
	s := open(t, path)
	c := claim("A", 1)
	c.Arguments = []byte(`{"note": "MARKER-OF-ARGUMENTS"}`)
	v, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	outcome := confirmed()
	outcome.Result = []byte(strings.Repeat("MARKER-OF-RESULT ", 1000))
	if _, err := s.Settle(t.Context(), v.Operation.ID, 1, outcome); err != nil {
		t.Fatal(err)
	}
	found := func() int {
		count := 0
		for _, end := range []string{"", "-wal"} {
			text, err := os.ReadFile(path + end)
			if err != nil {
				t.Fatal(err)
			}
			count += strings.Count(string(text), "MARKER-OF")
		}
		return count
	}
	if found() == 0 {
		t.Fatal("the test looks for what was never there")
	}
	if n, err := s.Purge(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n := found(); n != 0 {
		t.Errorf("the files still have it %d times", n)
	}
}

func BenchmarkClaimSettle(b *testing.B) {
	for _, before := range []int{0, 1_000_000} {
		if before > 0 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprint(before), func(b *testing.B) {
			s, err := Open(b.Context(), filepath.Join(b.TempDir(), "guard.db"), time.Now)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			fill(b, s, before)
			if _, err := s.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				n++
				v, err := s.Claim(b.Context(), claim(fmt.Sprint("line", n%50), n))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Settle(b.Context(), v.Operation.ID, v.Operation.Fence, confirmed()); err != nil {
					b.Fatal(err)
				}
				if err := s.Deliver(b.Context(), v.Operation.ID, operation.Delivered); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fill writes operations of earlier times, 1000 a line.
func fill(b *testing.B, s *Store, count int) {
	for n := 0; n < count; {
		err := s.transact(b.Context(), s.write, func(t *Tx) error {
			for range 20_000 {
				n++
				o := operation.Operation{ID: fmt.Sprint("old-", n), Scope: claim("", 0).Scope, State: operation.Confirmed, Fence: 1, By: operation.ByAnswer}
				o.Intent = fmt.Sprint("line", n%1000)
				o.Fingerprint, o.Delivery, o.Settled = o.Intent, operation.Delivered, s.time()
				if err := t.insert(b.Context(), o, o.Keys()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"remit.example/operation"
	"remit.example/store/pgtest"
	"remit.example/store/storetest"
)

func TestSuite(t *testing.T) {
	server := pgtest.Start(t)
	places := map[string]string{}
	storetest.Run(t, storetest.Subject{
		Durable: true,
		Open: func(t *testing.T, name string) operation.Store {
			if places[t.Name()+name] == "" {
				places[t.Name()+name] = server.Place(t)
			}
			return open(t, places[t.Name()+name])
		},
		Pass:  func(t *testing.T, s operation.Store, d time.Duration) { pass(t, s.(*Store), d) },
		Fault: func(t *testing.T, s operation.Store) { dropConnections(t, s.(*Store)) },
	})
}

func open(t testing.TB, address string) *Store {
	t.Helper()
	s, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// pass lets time pass: everything that was written is so much older.
func pass(t testing.TB, s *Store, d time.Duration) {
	t.Helper()
	for _, statement := range []string{
		`UPDATE remit_operations SET lease = lease - $1 * interval '1 microsecond', created = created - $1 * interval '1 microsecond', settled = settled - $1 * interval '1 microsecond'`,
		`UPDATE remit_forgotten SET at = at - $1 * interval '1 microsecond'`,
	} {
		if _, err := s.pool.Exec(t.Context(), statement, d.Microseconds()); err != nil {
			t.Fatal(err)
		}
	}
}

// dropConnections ends those of the store, a few times a second.
func dropConnections(t testing.TB, s *Store) {
	config := s.pool.Config().ConnConfig.Copy()
	config.RuntimeParams["application_name"] = "fault"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid), pg_sleep(0.02) FROM pg_stat_activity WHERE application_name = 'remit'`); err != nil {
		t.Error(err)
	}
}

func claimOf(line string, n int) operation.Claim {
	return operation.Claim{
		Scope:  operation.Scope{Principal: "agent", Upstream: "bank", Tool: "pay"},
		Intent: line, Fingerprint: line, Arguments: []byte("{}"), Lease: time.Hour, NewID: fmt.Sprintf("%s-%d", line, n),
	}
}

func confirmed() operation.Outcome {
	return operation.Outcome{State: operation.Confirmed, Code: "OK", By: operation.ByAnswer, Result: []byte("{}")}
}

// TestPasswords: no error has one, whatever is wrong with the address.
func TestPasswords(t *testing.T) {
	for _, address := range []string{
		"postgres://agent:hunter2@127.0.0.1:1/remit", "postgres://agent:hunter2@127.0.0.1:port/remit", "postgres://agent:hunter2 %zz@127.0.0.1/remit",
		"host=127.0.0.1 port=1 user=agent password=hunter2", "host=127.0.0.1 password=hunter2 port=one", "postgres://agent:hunter2@127.0.0.1:1/remit?sslmode=hunter2",
		"postgres:///remit?host=/nowhere&password=hunter2", "hunter2",
	} {
		s, err := Open(t.Context(), address)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s is opened", address)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "postgres: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	server := pgtest.Start(t)
	newer := server.Place(t)
	if _, err := open(t, newer).pool.Exec(t.Context(), `INSERT INTO remit_schema VALUES (99)`); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		newer: "the schema has version 99, and this program knows versions up to 1; valid: a newer program",
		server.Place(t) + "&synchronous_commit=off": "synchronous_commit is off",
	} {
		if s, err := Open(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; it should say %q", err, want)
			if err == nil {
				_ = s.Close()
			}
		}
	}
}

// TestOpenAtOnce: a new schema that many open is migrated once.
func TestOpenAtOnce(t *testing.T) {
	place := pgtest.Start(t).Place(t)
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			s, err := Open(t.Context(), place)
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
	if err := open(t, place).pool.QueryRow(t.Context(), `SELECT count(*) FROM remit_schema`).Scan(&rows); rows != 1 || err != nil {
		t.Errorf("%d migrations, %v", rows, err)
	}
}

// TestPausedReplica: one that is paused between the two round trips of a claim
// loses its locks, and what it then writes is not written.
func TestPausedReplica(t *testing.T) {
	place := pgtest.Start(t).Place(t)
	paused, other := open(t, place+"&idle_in_transaction_session_timeout=100ms"), open(t, place)
	conn, err := paused.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	c := claimOf("A", 1)
	for _, statement := range []string{"begin", lock} {
		args := []any{locks(c.Keys())}
		if _, err := conn.Exec(t.Context(), statement, args[:strings.Count(statement, "$")]...); err != nil {
			t.Fatal(err)
		}
	}
	hasty := open(t, place+"&lock_timeout=10ms")
	if _, err := hasty.Claim(t.Context(), c); err == nil || !strings.Contains(err.Error(), "longer than lock_timeout") {
		t.Errorf("while the locks are held: %v", err)
	}
	if v, err := other.Claim(t.Context(), c); err != nil || v.Kind != operation.Execute {
		t.Errorf("after the pause: %s, %v", v.Kind, err)
	}
	if _, err := conn.Exec(t.Context(), "commit"); err == nil {
		t.Error("the paused replica still has its transaction")
	}
}

// TestChangedMeanwhile: what a claim has read is settled, or its lease renewed,
// before the claim writes.
func TestChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(s *Store, o operation.Operation) error{
		"settled": func(s *Store, o operation.Operation) error {
			_, err := s.Settle(t.Context(), o.ID, o.Fence, operation.Outcome{State: operation.Confirmed, By: operation.ByStatus})
			return err
		},
		"renewed": func(s *Store, o operation.Operation) error {
			_, err := s.pool.Exec(t.Context(), `UPDATE remit_operations SET lease = clock_timestamp() + interval '1 hour' WHERE id = $1`, o.ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, pgtest.Start(t).Place(t))
			c := claimOf("A", 1)
			c.Repeatable, c.Lease = true, -time.Minute
			v, err := s.Claim(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := s.pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			c.NewID, c.Window = "A-2", time.Hour
			changed := false
			verdict, err := claim(t.Context(), conn, c, true, func() {
				if !changed {
					changed = true
					if err := change(s, v.Operation); err != nil {
						t.Error(err)
					}
				}
			})
			want := map[string]operation.Kind{"settled": operation.Replay, "renewed": operation.Held}[name]
			if err != nil || verdict.Kind != want {
				t.Errorf("the answer is %s, %v; valid: %s", verdict.Kind, err, want)
			}
		})
	}
}

// TestInTransaction: an effect in the same database and the outcome of its
// operation are committed together, or neither is.
func TestInTransaction(t *testing.T) {
	place := pgtest.Start(t).Place(t)
	s := open(t, place)
	own, err := pgx.Connect(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close(t.Context())
	if _, err := own.Exec(t.Context(), `CREATE TABLE orders (id text)`); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		tx, err := own.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.In(tx).Claim(t.Context(), claimOf("A", 1))
		if err != nil || v.Kind != operation.Execute {
			t.Fatalf("%+v, %v", v, err)
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO orders VALUES ('A')`); err != nil {
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
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		var orders int
		if err := own.QueryRow(t.Context(), `SELECT count(*) FROM orders`).Scan(&orders); err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), v.Operation.ID)
		if (orders == 1) != commit || (err == nil) != commit {
			t.Errorf("committed: %v; there are %d orders, and the operation: %v", commit, orders, err)
		}
	}
	tx, err := own.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := s.In(tx).Claim(t.Context(), claimOf("B", 1)); err == nil || !strings.Contains(err.Error(), "valid: read committed") {
		t.Errorf("a claim in a transaction that reads an old state: %v", err)
	}
}

// TestCrash ends the server in the middle of many calls. What was acknowledged
// is there afterwards, and no line is executed twice.
func TestCrash(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, server.Place(t))
	const callers, calls = 4, 200
	var mu sync.Mutex
	executed, acknowledged, failures := map[string]string{}, map[string]bool{}, 0
	var wg sync.WaitGroup
	halfWay := make(chan struct{})
	var once sync.Once
	back := make(chan struct{})
	for caller := range callers {
		wg.Go(func() {
			for n := range calls {
				line := fmt.Sprint((n*7 + caller) % calls)
				c := claimOf(line, caller*calls+n)
				c.Window = time.Hour
				v, err := s.Claim(t.Context(), c)
				if err == nil && v.Executes() {
					mu.Lock()
					if other := executed[line]; other != "" {
						t.Errorf("line %s is executed twice: %s and %s", line, other, v.Operation.ID)
					}
					executed[line] = v.Operation.ID
					if len(executed) == 50 {
						once.Do(func() { close(halfWay) })
					}
					mu.Unlock()
					if _, err = s.Settle(t.Context(), v.Operation.ID, v.Operation.Fence, confirmed()); err == nil {
						mu.Lock()
						acknowledged[v.Operation.ID] = true
						mu.Unlock()
					}
				}
				if err != nil {
					mu.Lock()
					failures++
					mu.Unlock()
					<-back
				}
			}
		})
	}
	<-halfWay
	server.Crash(t)
	close(back)
	wg.Wait()
	for line, id := range executed {
		o, err := s.Get(t.Context(), id)
		if err != nil || acknowledged[id] && o.State != operation.Confirmed || o.State != operation.Confirmed && o.State != operation.Sent {
			t.Errorf("line %s: acknowledged %v, and it is %s, %v", line, acknowledged[id], o.State, err)
		}
	}
	list, err := s.List(t.Context(), operation.Filter{}, "", 10*calls)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range list {
		if seen[o.Intent] {
			t.Errorf("line %s has two operations", o.Intent)
		}
		seen[o.Intent] = true
	}
	t.Logf("%d executed, %d acknowledged, %d calls failed", len(executed), len(acknowledged), failures)
	if failures == 0 {
		t.Error("the server ended, and no call met it")
	}
}

func BenchmarkClaimSettle(b *testing.B) {
	s := open(b, pgtest.Start(b).Place(b))
	n := 0
	for b.Loop() {
		n++
		v, err := s.Claim(b.Context(), claimOf(fmt.Sprint("line", n%50), n))
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
}

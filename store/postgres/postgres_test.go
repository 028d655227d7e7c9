package postgres

import (
	"fmt"
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

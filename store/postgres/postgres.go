// Package postgres keeps operations in PostgreSQL, for any number of replicas
// of a guard.
//
// # Durability
//
//	Claim, Settle, Renew, Forget  committed before they return
//	Deliver                       committed without waiting for the disk of the server, whose
//	                              crash may lose it
//	Purge                         committed in parts, each of which stays done
//	In(tx)                        as the caller's transaction: nothing before its commit
//
// "Committed" is what the server's synchronous_commit makes it; a server or
// role for which that is off is refused.
//
// # Order
//
// Claims that could change each other's answers are decided one after another:
// each holds, for one short transaction, advisory locks on its intent,
// fingerprint and caller's key, taken in a fixed order. It takes two round
// trips. Settle, Renew and Deliver are one statement each, which carries the
// fence in its condition. A replica that is paused between the two round
// trips of a claim loses its transaction after five seconds
// (idle_in_transaction_session_timeout); whoever waits for its locks gives up
// after ten (lock_timeout).
//
// The time is that of the database, read after the locks were taken.
//
// A call whose connection broke is made again once where that is safe: all but
// a claim that may have been written. Such a claim returns an error, and the
// operation may exist, sent; it was not executed, and its lease runs out.
//
// # Schema
//
// All tables begin with remit_ and are made in the first schema of the search
// path. remit_schema has the version. A newer one than this package knows is
// refused.
package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"remit.example/operation"
)

// Store keeps operations in a database.
type Store struct {
	pool *pgxpool.Pool
}

var _ operation.Store = (*Store)(nil)

// session is what every connection is set to, unless the address says
// otherwise. A claim reads after it has waited for a lock, and would see an
// old state under any other isolation.
var session = map[string]string{
	"application_name":                    "remit",
	"default_transaction_isolation":       "read committed",
	"idle_in_transaction_session_timeout": "5s",
	"lock_timeout":                        "10s",
}

// Open opens the store at an address, as postgres://user@host/database, and
// makes its tables if there are none. No error contains the password.
func Open(ctx context.Context, address string) (*Store, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil { // which may quote parts of the address
		return nil, errors.New("postgres: the address cannot be read; valid: as postgres://user@host:5432/database?sslmode=verify-full, with the password in it, in PGPASSWORD or in a file of passwords")
	}
	for name, value := range session {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s := &Store{pool: pool}
	if err := s.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return s, nil
}

// migrationLock is the advisory lock under which the schema is changed.
const migrationLock = 0x72656d6974 // "remit"

// migrations bring the schema from each version to the next. They are never
// edited, only added to.
var migrations = []string{`
CREATE TABLE remit_operations (
	seq             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order in which those of one line began
	id              text NOT NULL UNIQUE,
	tenant          text NOT NULL,
	principal       text NOT NULL,
	upstream        text NOT NULL,
	tool            text NOT NULL,
	intent          text NOT NULL,
	fingerprint     text NOT NULL,
	caller_key      text NOT NULL,
	key_intent      bytea,          -- operation.Keys
	key_fingerprint bytea NOT NULL,
	key_caller      bytea,
	upstream_key    text NOT NULL,
	repeatable      boolean NOT NULL,
	arguments       bytea,
	state           text NOT NULL CHECK (state IN ('sent', 'confirmed', 'refused', 'unknown')),
	fence           bigint NOT NULL,
	lease           timestamptz NOT NULL,
	code            text NOT NULL,
	result          bytea,
	delivery        text NOT NULL,
	created         timestamptz NOT NULL,
	settled         timestamptz,
	settled_by      text NOT NULL,
	reason          text NOT NULL
);
CREATE INDEX remit_by_intent ON remit_operations (key_intent, state, seq) WHERE key_intent IS NOT NULL;
CREATE INDEX remit_by_fingerprint ON remit_operations (key_fingerprint, state, seq);
CREATE INDEX remit_by_caller ON remit_operations (key_caller, state, seq) WHERE key_caller IS NOT NULL;
CREATE INDEX remit_open ON remit_operations (seq) WHERE state IN ('sent', 'unknown');
CREATE INDEX remit_kept ON remit_operations (settled) WHERE arguments IS NOT NULL OR result IS NOT NULL;
CREATE TABLE remit_forgotten (
	upstream text NOT NULL,
	tool     text NOT NULL,
	at       timestamptz NOT NULL,
	PRIMARY KEY (upstream, tool)
);
`}

// migrate brings the schema to the newest version, once.
func (s *Store) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var durability string
		if err := tx.QueryRow(ctx, `SHOW synchronous_commit`).Scan(&durability); err != nil {
			return err
		}
		if durability == "off" {
			return errors.New("synchronous_commit is off, so that a crash may lose what was committed; valid: on")
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return err
		}
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass('remit_schema') IS NOT NULL`).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			if _, err := tx.Exec(ctx, `CREATE TABLE remit_schema (version integer NOT NULL)`); err != nil {
				return err
			}
		}
		var version int
		if err := tx.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM remit_schema`).Scan(&version); err != nil {
			return err
		}
		if version == len(migrations) {
			return nil
		}
		if version > len(migrations) {
			return fmt.Errorf("the schema has version %d, and this program knows versions up to %d; valid: a newer program", version, len(migrations))
		}
		for ; version < len(migrations); version++ {
			if _, err := tx.Exec(ctx, migrations[version]); err != nil {
				return fmt.Errorf("schema version %d: %w", version+1, err)
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO remit_schema VALUES ($1)`, version)
		return err
	})
}

// Close implements [operation.Store].
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

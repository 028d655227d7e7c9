// Package sqlite keeps operations in one SQLite file, for any number of
// processes of one machine.
//
// # Durability
//
//	Claim, Settle, Renew, Forget  written through to the disk before they return
//	Deliver                       written, but not through: a process that is killed loses
//	                              nothing, a machine that loses power may lose it
//	Purge                         written through in parts, each of which stays done
//	In(tx)                        as the caller's transaction: nothing before its commit
//
// The file is in WAL mode. It holds results whole, so that it and what SQLite
// puts beside it (-wal, -shm) are readable by their owner alone; a file that
// others may read is refused. It must be on a disk of the machine: WAL mode
// does not work over a network.
//
// # Order
//
// Every write is one transaction that holds the write lock from its begin, so
// that claims, also of several processes, are decided one after another. The
// time is read under that lock. Who waits for the lock gives up with the
// context, or after ten seconds.
//
// # Schema
//
// All tables begin with remit_, so that a service may keep its own beside them
// and commit both together; see [Store.In]. remit_schema has the version. A
// file of a newer version than this package knows is refused.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"remit.example/operation"
)

// patience is how long a connection waits for the lock of another process.
const patience = 10 * time.Second

// Store keeps operations in a file.
type Store struct {
	path string
	now  func() time.Time

	// write has one connection: writers of this process queue in memory, where
	// a context ends their wait, and not at the file.
	write    *sql.DB
	relaxed  *sql.DB // as write, without waiting for the disk
	read     *sql.DB
	prepared map[string]*sql.Stmt // of write
	turn     chan struct{}        // is full while a transaction runs
}

var _ operation.Store = (*Store)(nil)

// Open opens the store in a file, and makes the file if there is none. The
// folder must exist. now is the clock of leases and windows.
func Open(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	absolute, err := ownFile(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, now: now, turn: make(chan struct{}, 1)}
	open := func(connections int, parameters ...string) *sql.DB {
		if err != nil {
			return nil
		}
		var db *sql.DB
		db, err = sql.Open("sqlite", dsn(absolute, parameters...))
		if db != nil {
			db.SetMaxOpenConns(connections)
			db.SetMaxIdleConns(connections)
		}
		return db
	}
	s.write = open(1, "_journal_mode=WAL", "_synchronous=FULL", "_txlock=immediate", "_pragma=secure_delete(ON)")
	s.relaxed = open(1, "_synchronous=NORMAL", "_txlock=immediate")
	s.read = open(4, "_query_only=1")
	if err == nil {
		err = s.ready(ctx)
	}
	if err != nil {
		_ = s.Close()
		return nil, s.explain(err)
	}
	return s, nil
}

// ownFile makes the file, readable by its owner alone, or checks that it is so.
func ownFile(path string) (string, error) {
	if path == "" || path == ":memory:" {
		return "", fmt.Errorf("sqlite: %q is no file; valid: the path of a file, in a folder that exists", path)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	file, err := os.OpenFile(absolute, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return absolute, errors.Join(file.Chmod(0o600), file.Close(), syncFolder(filepath.Dir(absolute)))
	}
	info, statErr := os.Stat(absolute)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return "", fmt.Errorf("sqlite: %s cannot be made: %w; valid: a file in a folder that exists and that you may write", path, err)
	case statErr != nil:
		return "", fmt.Errorf("sqlite: %w", statErr)
	case info.IsDir():
		return "", fmt.Errorf("sqlite: %s is a folder; valid: the path of a file, such as %s", path, filepath.Join(path, "guard.db"))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("sqlite: %s is no regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("sqlite: %s may be read by others (mode %04o), and it holds results whole; valid: mode 0600, as after chmod 600 %s", path, info.Mode().Perm(), path)
	}
	return absolute, nil
}

// syncFolder makes a new entry of a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func dsn(path string, parameters ...string) string {
	parameters = append(parameters, fmt.Sprintf("_busy_timeout=%d", patience.Milliseconds()), "_dqs=0", "mode=rw")
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.Join(parameters, "&")
}

// ready brings the file into WAL mode and to the newest schema. SQLite answers
// at once, without patience, when two processes change the mode.
func (s *Store) ready(ctx context.Context) error {
	deadline := time.Now().Add(patience)
	for {
		err := s.write.PingContext(ctx)
		if err == nil {
			break
		}
		if !busy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.prepared = map[string]*sql.Stmt{}
	for _, query := range []string{relatedByIntent, relatedByFingerprint, get, insert, update} {
		statement, err := s.write.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		s.prepared[query] = statement
	}
	return nil
}

// migrations bring the schema from each version to the next. They are never
// edited, only added to.
var migrations = []string{`
CREATE TABLE remit_operations (
	seq             INTEGER PRIMARY KEY, -- the order in which they began
	id              TEXT NOT NULL UNIQUE,
	tenant          TEXT NOT NULL,
	principal       TEXT NOT NULL,
	upstream        TEXT NOT NULL,
	tool            TEXT NOT NULL,
	intent          TEXT NOT NULL,
	fingerprint     TEXT NOT NULL,
	caller_key      TEXT NOT NULL,
	key_intent      BLOB,          -- operation.Keys
	key_fingerprint BLOB NOT NULL,
	key_caller      BLOB,
	upstream_key    TEXT NOT NULL,
	repeatable      INTEGER NOT NULL,
	arguments       BLOB,
	state           TEXT NOT NULL CHECK (state IN ('sent', 'confirmed', 'refused', 'unknown')),
	fence           INTEGER NOT NULL,
	lease           INTEGER NOT NULL, -- this and the other times: microseconds since 1970
	code            TEXT NOT NULL,
	result          BLOB,
	delivery        TEXT NOT NULL,
	created         INTEGER NOT NULL,
	settled         INTEGER,
	settled_by      TEXT NOT NULL,
	reason          TEXT NOT NULL
) STRICT;
CREATE INDEX remit_by_intent ON remit_operations (key_intent, state, seq) WHERE key_intent IS NOT NULL;
CREATE INDEX remit_by_fingerprint ON remit_operations (key_fingerprint, state, seq);
CREATE INDEX remit_by_caller ON remit_operations (key_caller, state, seq) WHERE key_caller IS NOT NULL;
CREATE INDEX remit_open ON remit_operations (seq) WHERE state IN ('sent', 'unknown');
CREATE INDEX remit_kept ON remit_operations (settled) WHERE arguments IS NOT NULL OR result IS NOT NULL;
CREATE TABLE remit_forgotten (
	upstream TEXT NOT NULL,
	tool     TEXT NOT NULL,
	at       INTEGER NOT NULL,
	PRIMARY KEY (upstream, tool)
) STRICT, WITHOUT ROWID;
`}

// migrate brings the schema to the newest version, once: the write lock is
// held from before the version is read.
func (s *Store) migrate(ctx context.Context) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS remit_schema (version INTEGER NOT NULL)`); err != nil {
		return err
	}
	var version int
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM remit_schema`).Scan(&version); err != nil {
		return err
	}
	if version == len(migrations) {
		return nil
	}
	if version > len(migrations) {
		return fmt.Errorf("the schema has version %d, and this program knows versions up to %d; valid: a newer program", version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		if _, err := tx.ExecContext(ctx, migrations[version]); err != nil {
			return fmt.Errorf("schema version %d: %w", version+1, err)
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO remit_schema VALUES (?)`, version); err != nil {
		return err
	}
	return tx.Commit()
}

// Close implements [operation.Store].
func (s *Store) Close() error {
	var errs []error
	for _, statement := range s.prepared {
		errs = append(errs, statement.Close())
	}
	for _, db := range []*sql.DB{s.read, s.relaxed, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func code(err error) int {
	var failure *driver.Error
	if errors.As(err, &failure) {
		return failure.Code() & 0xff
	}
	return codes.SQLITE_OK
}

func busy(err error) bool { return code(err) == codes.SQLITE_BUSY }

// explain says which file an error is about, and what would help.
func (s *Store) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, operation.ErrFenced), errors.Is(err, operation.ErrNotFound), errors.Is(err, operation.ErrReason):
		return err
	case busy(err):
		return fmt.Errorf("sqlite: %s: another process holds the lock for longer than %v: %w", s.path, patience, err)
	case code(err) == codes.SQLITE_NOTADB:
		return fmt.Errorf("sqlite: %s is no database; valid: a path where there is no file yet, or a file of this store", s.path)
	}
	return fmt.Errorf("sqlite: %s: %w", s.path, err)
}

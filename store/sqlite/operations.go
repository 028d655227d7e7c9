package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"remit.example/operation"
)

const columns = `id, tenant, principal, upstream, tool, intent, fingerprint, caller_key, upstream_key, repeatable, arguments,
	state, fence, lease, code, result, delivery, created, settled, settled_by, reason`

// most is how many open operations of one line or caller key a claim reads. There is one;
// more only where the declaration of intents has changed, and then two are enough to decide.
const most = "16"

func related(key string) string {
	return `SELECT ` + columns + ` FROM remit_operations WHERE seq IN (
	SELECT * FROM (SELECT seq FROM remit_operations WHERE ` + key + ` = ?1 AND state IN ('sent', 'unknown') LIMIT ` + most + `)
	UNION ALL SELECT max(seq) FROM remit_operations WHERE ` + key + ` = ?1 AND state = 'confirmed'
	UNION ALL SELECT * FROM (SELECT seq FROM remit_operations WHERE key_caller = ?2 AND state IN ('sent', 'unknown') LIMIT ` + most + `)
	UNION ALL SELECT max(seq) FROM remit_operations WHERE key_caller = ?2 AND state = 'confirmed'
) ORDER BY seq`
}

var (
	relatedByIntent      = related("key_intent")
	relatedByFingerprint = related("key_fingerprint")
)

const (
	get    = `SELECT ` + columns + ` FROM remit_operations WHERE id = ?`
	insert = `INSERT INTO remit_operations (` + columns + `, key_intent, key_fingerprint, key_caller)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	update = `UPDATE remit_operations SET state = ?, fence = ?, lease = ?, code = ?, result = ?, delivery = ?, settled = ?, settled_by = ?, reason = ?
	WHERE id = ?`
)

// Tx is the store inside a transaction of the caller.
type Tx struct {
	s     *Store
	query func(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	exec  func(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// In is the store inside a transaction on the same file, which the caller
// begins and commits, so that a service that keeps its own tables in the file
// commits an effect and the operation's outcome together, or neither.
//
// Nothing of it is durable, nor seen by others, before that commit: a request
// to another system may not follow from its Claim before it. Begin the
// transaction IMMEDIATE (_txlock=immediate); one that has read before another
// wrote cannot write any more, and must be rolled back.
func (s *Store) In(tx *sql.Tx) *Tx { return &Tx{s, tx.QueryContext, tx.ExecContext} }

// Claim is that of [operation.Store].
func (t *Tx) Claim(ctx context.Context, c operation.Claim) (operation.Verdict, error) {
	if err := c.Valid(); err != nil {
		return operation.Verdict{}, err
	}
	verdict, err := t.claim(ctx, c)
	return verdict, t.s.explain(err)
}

// Settle is that of [operation.Store].
func (t *Tx) Settle(ctx context.Context, id string, fence int64, outcome operation.Outcome) (operation.Operation, error) {
	o, err := t.change(ctx, id, func(o operation.Operation) (operation.Operation, error) {
		return o.Settle(fence, outcome, t.s.time())
	})
	return o, t.s.explain(err)
}

// Get is that of [operation.Store].
func (t *Tx) Get(ctx context.Context, id string) (operation.Operation, error) {
	o, err := t.get(ctx, id)
	return o.At(t.s.time()), t.s.explain(err)
}

func (t *Tx) claim(ctx context.Context, c operation.Claim) (operation.Verdict, error) {
	keys := c.Keys()
	query, key := relatedByFingerprint, keys.Fingerprint
	if keys.Intent != nil {
		query, key = relatedByIntent, *keys.Intent
	}
	c.Lease = c.Lease.Truncate(time.Microsecond)
	rows, err := t.query(ctx, query, key[:], blob(keys.Caller))
	if err != nil {
		return operation.Verdict{}, err
	}
	bearing, err := collect(rows)
	if err != nil {
		return operation.Verdict{}, err
	}
	verdict, writes := operation.Decide(c, bearing, t.s.time())
	for _, o := range writes {
		if verdict.Kind == operation.Execute && o.ID == verdict.Operation.ID {
			err = t.insert(ctx, o, keys)
		} else {
			err = t.update(ctx, o)
		}
		if err != nil {
			return operation.Verdict{}, err
		}
	}
	return verdict, nil
}

func (t *Tx) get(ctx context.Context, id string) (operation.Operation, error) {
	rows, err := t.query(ctx, get, id)
	if err != nil {
		return operation.Operation{}, err
	}
	list, err := collect(rows)
	if err != nil {
		return operation.Operation{}, err
	}
	if len(list) == 0 {
		return operation.Operation{}, operation.ErrNotFound
	}
	return list[0], nil
}

// change writes what f makes of an operation.
func (t *Tx) change(ctx context.Context, id string, f func(operation.Operation) (operation.Operation, error)) (operation.Operation, error) {
	o, err := t.get(ctx, id)
	if err != nil {
		return operation.Operation{}, err
	}
	if o, err = f(o); err != nil {
		return operation.Operation{}, err
	}
	return o, t.update(ctx, o)
}

func (t *Tx) insert(ctx context.Context, o operation.Operation, keys operation.Keys) error {
	_, err := t.exec(ctx, insert, o.ID, o.Tenant, o.Principal, o.Upstream, o.Tool, o.Intent, o.Fingerprint, o.CallerKey, o.Key, o.Repeatable, o.Arguments,
		string(o.State), o.Fence, o.Lease.UnixMicro(), o.Code, o.Result, string(o.Delivery), o.Created.UnixMicro(), micros(o.Settled), string(o.By), o.Reason,
		blob(keys.Intent), keys.Fingerprint[:], blob(keys.Caller))
	return err
}

func (t *Tx) update(ctx context.Context, o operation.Operation) error {
	_, err := t.exec(ctx, update, string(o.State), o.Fence, o.Lease.UnixMicro(), o.Code, o.Result, string(o.Delivery), micros(o.Settled), string(o.By), o.Reason, o.ID)
	return err
}

// collect reads operations and closes the rows.
func collect(rows *sql.Rows) ([]operation.Operation, error) {
	defer rows.Close()
	var list []operation.Operation
	for rows.Next() {
		var o operation.Operation
		var lease, created int64
		var settled sql.NullInt64
		if err := rows.Scan(&o.ID, &o.Tenant, &o.Principal, &o.Upstream, &o.Tool, &o.Intent, &o.Fingerprint, &o.CallerKey, &o.Key, &o.Repeatable, &o.Arguments,
			&o.State, &o.Fence, &lease, &o.Code, &o.Result, &o.Delivery, &created, &settled, &o.By, &o.Reason); err != nil {
			return nil, err
		}
		o.Lease, o.Created = instant(lease), instant(created)
		if settled.Valid {
			o.Settled = instant(settled.Int64)
		}
		list = append(list, o)
	}
	return list, rows.Err()
}

func instant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// micros is a time as it is stored; NULL for none.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// blob is a key as it is stored; NULL for none, which equals nothing.
func blob(key *operation.Key) []byte {
	if key == nil {
		return nil
	}
	return key[:]
}

// time is the clock, in the precision of the file.
func (s *Store) time() time.Time { return instant(s.now().UnixMicro()) }

// transact runs f in one transaction that holds the write lock. Those of this
// process queue for it: SQLite itself would have them look for it now and then.
func (s *Store) transact(ctx context.Context, db *sql.DB, f func(*Tx) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(err)
	}
	inside := s.In(tx)
	if db == s.write {
		inside.query = func(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
			return tx.StmtContext(ctx, s.prepared[query]).QueryContext(ctx, args...)
		}
		inside.exec = func(ctx context.Context, query string, args ...any) (sql.Result, error) {
			return tx.StmtContext(ctx, s.prepared[query]).ExecContext(ctx, args...)
		}
	}
	if err := f(inside); err != nil {
		_ = tx.Rollback()
		return s.explain(err)
	}
	return s.explain(tx.Commit())
}

// Claim implements [operation.Store].
func (s *Store) Claim(ctx context.Context, c operation.Claim) (operation.Verdict, error) {
	if err := c.Valid(); err != nil {
		return operation.Verdict{}, err
	}
	var verdict operation.Verdict
	err := s.transact(ctx, s.write, func(t *Tx) (err error) {
		verdict, err = t.claim(ctx, c)
		return err
	})
	if err != nil {
		return operation.Verdict{}, err
	}
	return verdict, nil
}

func (s *Store) change(ctx context.Context, db *sql.DB, id string, f func(operation.Operation) (operation.Operation, error)) (operation.Operation, error) {
	var changed operation.Operation
	err := s.transact(ctx, db, func(t *Tx) (err error) {
		changed, err = t.change(ctx, id, f)
		return err
	})
	if err != nil {
		return operation.Operation{}, err
	}
	return changed, nil
}

// Renew implements [operation.Store].
func (s *Store) Renew(ctx context.Context, id string, fence int64, lease time.Duration) error {
	_, err := s.change(ctx, s.write, id, func(o operation.Operation) (operation.Operation, error) {
		return o.Renew(fence, lease.Truncate(time.Microsecond), s.time())
	})
	return err
}

// Settle implements [operation.Store].
func (s *Store) Settle(ctx context.Context, id string, fence int64, outcome operation.Outcome) (operation.Operation, error) {
	return s.change(ctx, s.write, id, func(o operation.Operation) (operation.Operation, error) {
		return o.Settle(fence, outcome, s.time())
	})
}

// Deliver implements [operation.Store]. It does not wait for the disk.
func (s *Store) Deliver(ctx context.Context, id string, delivery operation.Delivery) error {
	_, err := s.change(ctx, s.relaxed, id, func(o operation.Operation) (operation.Operation, error) { return o.Deliver(delivery) })
	return err
}

// Get implements [operation.Store].
func (s *Store) Get(ctx context.Context, id string) (operation.Operation, error) {
	return (&Tx{s, s.read.QueryContext, s.read.ExecContext}).Get(ctx, id)
}

// List implements [operation.Store].
func (s *Store) List(ctx context.Context, filter operation.Filter, before string, limit int) ([]operation.Operation, error) {
	now := s.time()
	where, args := []string{"1"}, []any{}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if before != "" {
		var seq int64
		err := s.read.QueryRowContext(ctx, `SELECT seq FROM remit_operations WHERE id = ?`, before).Scan(&seq)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, operation.ErrNotFound
		}
		if err != nil {
			return nil, s.explain(err)
		}
		add("seq < ?", seq)
	}
	for column, value := range map[string]string{"tenant": filter.Tenant, "principal": filter.Principal, "upstream": filter.Upstream, "tool": filter.Tool} {
		if value != "" {
			add(column+" = ?", value)
		}
	}
	if len(filter.States) > 0 {
		var states []string
		open := true
		for _, state := range filter.States {
			open = open && state.Open()
			switch state {
			case operation.Sent:
				states, args = append(states, "state = 'sent' AND lease > ?"), append(args, now.UnixMicro())
			case operation.Unknown:
				states, args = append(states, "state = 'unknown' OR state = 'sent' AND lease <= ?"), append(args, now.UnixMicro())
			default:
				states, args = append(states, "state = ?"), append(args, string(state))
			}
		}
		add("(" + strings.Join(states, " OR ") + ")")
		if open { // so that the index of open ones serves
			add("state IN ('sent', 'unknown')")
		}
	}
	args = append(args, max(limit, 0))
	rows, err := s.read.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM remit_operations WHERE %s ORDER BY seq DESC LIMIT ?`, columns, strings.Join(where, " AND ")), args...)
	if err != nil {
		return nil, s.explain(err)
	}
	list, err := collect(rows)
	for i := range list {
		list[i] = list[i].At(now)
	}
	return list, s.explain(err)
}

// portion is how many operations Purge forgets in one transaction, so that no
// other writer waits for long.
const portion = 500

// Purge implements [operation.Store]. What is forgotten is overwritten in the
// file.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	total := 0
	for {
		result, err := s.write.ExecContext(ctx, `UPDATE remit_operations SET arguments = NULL, result = NULL WHERE seq IN (
			SELECT seq FROM remit_operations WHERE (arguments IS NOT NULL OR result IS NOT NULL)
			AND settled < ? AND state IN ('confirmed', 'refused') LIMIT ?)`, before.UnixMicro(), portion)
		if err != nil {
			return total, s.explain(err)
		}
		count, err := result.RowsAffected()
		if err != nil {
			return total, s.explain(err)
		}
		total += int(count)
		if count < portion {
			break
		}
	}
	if total > 0 {
		// The log still has the old pages. Readers may keep it; then a later
		// checkpoint empties it.
		if _, err := s.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil && !busy(err) {
			return total, s.explain(err)
		}
	}
	return total, nil
}

// Forget implements [operation.Store].
func (s *Store) Forget(ctx context.Context, upstream, tool string) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO remit_forgotten VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`, upstream, tool, s.time().UnixMicro())
	return s.explain(err)
}

// Forgotten implements [operation.Store].
func (s *Store) Forgotten(ctx context.Context, upstream, tool string) (time.Time, error) {
	var at sql.NullInt64
	err := s.read.QueryRowContext(ctx, `SELECT max(at) FROM remit_forgotten WHERE upstream = ? AND tool IN (?, '')`, upstream, tool).Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, s.explain(err)
	}
	return instant(at.Int64), nil
}

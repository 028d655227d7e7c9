package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"remit.example/operation"
)

const columns = `id, tenant, principal, upstream, tool, intent, fingerprint, caller_key, upstream_key, repeatable, arguments,
	state, fence, lease, code, result, delivery, created, settled, settled_by, reason`

const (
	// lock takes the locks in the order of the array.
	lock = `SELECT pg_advisory_xact_lock(key) FROM unnest($1::bigint[]) AS key`
	// instant is a statement of its own after the locks: its snapshot and clock
	// are younger than whatever they waited for.
	instant = `SELECT clock_timestamp(), current_setting('transaction_isolation')`

	get    = `SELECT ` + columns + `, clock_timestamp() FROM remit_operations WHERE id = $1`
	insert = `INSERT INTO remit_operations (` + columns + `, key_intent, key_fingerprint, key_caller)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`
	// update writes an operation as it was decided, if it still is as it was read.
	update = `UPDATE remit_operations SET state = $4, fence = $5, lease = $6, code = $7, result = $8, settled = $9, settled_by = $10, reason = $11
	WHERE id = $1 AND fence = $2 AND state = $3 AND lease = $12`
	settle = `UPDATE remit_operations SET state = $3, code = $4, result = $5, settled_by = $6, reason = $7, settled = clock_timestamp()
	WHERE id = $1 AND fence = $2 AND CASE $8
		WHEN 'sent' THEN state = 'sent' AND lease > clock_timestamp()
		ELSE state = 'unknown' OR state = 'sent' AND lease <= clock_timestamp() END
	RETURNING ` + columns
	renew = `UPDATE remit_operations SET lease = clock_timestamp() + $3 * interval '1 microsecond'
	WHERE id = $1 AND fence = $2 AND state = 'sent' AND lease > clock_timestamp()`
	// deliver does not make its commit wait for the disk.
	deliver = `WITH commits AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
	UPDATE remit_operations SET delivery = CASE WHEN delivery = 'delivered' OR $2 = '' THEN delivery ELSE $2 END
	FROM commits WHERE id = $1 AND state = 'confirmed'`
)

func related(key string) string {
	return `SELECT ` + columns + ` FROM remit_operations WHERE seq IN (
	(SELECT seq FROM remit_operations WHERE ` + key + ` = $1 AND state IN ('sent', 'unknown') LIMIT 16)
	UNION ALL SELECT max(seq) FROM remit_operations WHERE ` + key + ` = $1 AND state = 'confirmed'
	UNION ALL (SELECT seq FROM remit_operations WHERE key_caller = $2 AND state IN ('sent', 'unknown') LIMIT 16)
	UNION ALL SELECT max(seq) FROM remit_operations WHERE key_caller = $2 AND state = 'confirmed'
) ORDER BY seq`
}

var (
	relatedByIntent      = related("key_intent")
	relatedByFingerprint = related("key_fingerprint")
)

// link is a connection or a transaction.
type link interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}

// Tx is the store inside a transaction of the caller.
type Tx struct{ tx pgx.Tx }

// In is the store inside a transaction on the same database, which the caller
// begins and commits, so that a service commits an effect and the operation's
// outcome together, or neither. remit's tables must be on the search path.
//
// Nothing of it is durable, nor seen by others, before that commit: a request
// to another system may not follow from its Claim before it. Claim needs the
// isolation "read committed", and holds its locks until the transaction ends.
func (s *Store) In(tx pgx.Tx) *Tx { return &Tx{tx} }

// Claim is that of [operation.Store].
func (t *Tx) Claim(ctx context.Context, c operation.Claim) (operation.Verdict, error) {
	if err := c.Valid(); err != nil {
		return operation.Verdict{}, err
	}
	verdict, err := claim(ctx, t.tx, c, false, func() {})
	return verdict, explain(err)
}

// Settle is that of [operation.Store].
func (t *Tx) Settle(ctx context.Context, id string, fence int64, outcome operation.Outcome) (operation.Operation, error) {
	o, err := settleOn(ctx, t.tx, id, fence, outcome)
	return o, explain(err)
}

// Get is that of [operation.Store].
func (t *Tx) Get(ctx context.Context, id string) (operation.Operation, error) {
	o, now, err := getOn(ctx, t.tx, id)
	return o.At(now), explain(err)
}

// attempts bounds how often something is decided anew because what it was
// decided on changed meanwhile.
const attempts = 20

// claim decides and writes. On a connection (own) it begins and commits a
// transaction, with the first statements and the last; it calls writing when
// it begins to write.
func claim(ctx context.Context, on link, c operation.Claim, own bool, writing func()) (operation.Verdict, error) {
	keys := c.Keys()
	query, line := relatedByFingerprint, &keys.Fingerprint
	if keys.Intent != nil {
		query, line = relatedByIntent, keys.Intent
	}
	c.Lease = c.Lease.Truncate(time.Microsecond)
	for attempt := range attempts {
		batch := &pgx.Batch{}
		if own && attempt == 0 {
			batch.Queue("begin")
		}
		batch.Queue(lock, locks(keys))
		var now time.Time
		var isolation string
		batch.Queue(instant).QueryRow(func(row pgx.Row) error { return row.Scan(&now, &isolation) })
		var bearing []operation.Operation
		batch.Queue(query, line[:], blob(keys.Caller)).Query(func(rows pgx.Rows) (err error) {
			bearing, err = pgx.CollectRows(rows, scan)
			return err
		})
		if err := on.SendBatch(ctx, batch).Close(); err != nil {
			return operation.Verdict{}, err
		}
		if isolation != "read committed" {
			return operation.Verdict{}, fmt.Errorf("the transaction is %s, in which a claim reads an old state; valid: read committed", isolation)
		}
		verdict, writes := operation.Decide(c, bearing, now.UTC())
		begins := verdict.Kind == operation.Execute // and then nothing else is written
		batch = &pgx.Batch{}
		stale := false
		for _, o := range writes {
			if begins {
				queueInsert(batch, o)
				continue
			}
			read := bearing[slices.IndexFunc(bearing, func(b operation.Operation) bool { return b.ID == o.ID })]
			batch.Queue(update, o.ID, read.Fence, read.State, o.State, o.Fence, o.Lease, o.Code, o.Result, when(o.Settled), o.By, o.Reason, read.Lease).
				Exec(func(tag pgconn.CommandTag) error {
					stale = stale || tag.RowsAffected() == 0
					return nil
				})
		}
		// What is only inserted cannot have changed meanwhile, and is committed
		// in the same round trip.
		together := len(writes) == 0 || begins
		if own && together {
			batch.Queue("commit")
		}
		if batch.Len() > 0 {
			writing()
			if err := on.SendBatch(ctx, batch).Close(); err != nil {
				return operation.Verdict{}, err
			}
		}
		if stale {
			continue
		}
		if own && !together {
			if _, err := on.Exec(ctx, "commit"); err != nil {
				return operation.Verdict{}, err
			}
		}
		return verdict, nil
	}
	return operation.Verdict{}, errors.New("the operations of the line changed again and again while the claim was decided")
}

// locks are those of a claim, in the order in which all claims take them.
func locks(keys operation.Keys) []int64 {
	var list []int64
	for _, key := range []*operation.Key{keys.Intent, &keys.Fingerprint, keys.Caller} {
		if key != nil {
			list = append(list, int64(binary.BigEndian.Uint64(key[:])))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func queueInsert(batch *pgx.Batch, o operation.Operation) {
	keys := o.Keys()
	batch.Queue(insert, o.ID, o.Tenant, o.Principal, o.Upstream, o.Tool, o.Intent, o.Fingerprint, o.CallerKey, o.Key, o.Repeatable, o.Arguments,
		o.State, o.Fence, o.Lease, o.Code, o.Result, o.Delivery, o.Created, when(o.Settled), o.By, o.Reason,
		blob(keys.Intent), keys.Fingerprint[:], blob(keys.Caller))
}

func blob(key *operation.Key) []byte {
	if key == nil {
		return nil
	}
	return key[:]
}

// when is a time as it is stored; NULL for none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// scan reads the columns of one operation.
func scan(row pgx.CollectableRow) (operation.Operation, error) { return scanWith(row) }

func scanWith(row pgx.CollectableRow, more ...any) (operation.Operation, error) {
	var o operation.Operation
	var settled *time.Time
	err := row.Scan(append([]any{
		&o.ID, &o.Tenant, &o.Principal, &o.Upstream, &o.Tool, &o.Intent, &o.Fingerprint, &o.CallerKey, &o.Key, &o.Repeatable, &o.Arguments,
		&o.State, &o.Fence, &o.Lease, &o.Code, &o.Result, &o.Delivery, &o.Created, &settled, &o.By, &o.Reason,
	}, more...)...)
	o.Lease, o.Created = o.Lease.UTC(), o.Created.UTC()
	if settled != nil {
		o.Settled = settled.UTC()
	}
	return o, err
}

// getOn reads an operation as it is stored, and the time.
func getOn(ctx context.Context, on link, id string) (o operation.Operation, now time.Time, err error) {
	rows, err := on.Query(ctx, get, id)
	if err != nil {
		return o, now, err
	}
	o, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (operation.Operation, error) { return scanWith(row, &now) })
	if errors.Is(err, pgx.ErrNoRows) {
		err = operation.ErrNotFound
	}
	return o, now.UTC(), err
}

// settleOn settles in one statement. Where that changes nothing, the pure
// function says why.
func settleOn(ctx context.Context, on link, id string, fence int64, outcome operation.Outcome) (operation.Operation, error) {
	from, exists := outcome.From()
	for range attempts {
		if exists {
			rows, err := on.Query(ctx, settle, id, fence, outcome.State, outcome.Code, outcome.Result, outcome.By, outcome.Reason, from)
			if err != nil {
				return operation.Operation{}, err
			}
			o, err := pgx.CollectExactlyOneRow(rows, scan)
			if !errors.Is(err, pgx.ErrNoRows) {
				return o, err
			}
		}
		stored, now, err := getOn(ctx, on, id)
		if err != nil {
			return operation.Operation{}, err
		}
		o, err := stored.Settle(fence, outcome, now)
		if err != nil {
			return operation.Operation{}, err
		}
		if !exists || stored.State == o.State {
			return o, nil // it was settled so already
		}
	}
	return operation.Operation{}, fmt.Errorf("%w: %s changed again and again", operation.ErrFenced, id)
}

// broken reports whether an error is of the connection rather than of what was
// asked.
func broken(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return strings.HasPrefix(answer.Code, "57P") || answer.Code == "25P03" // the server ends, or ended the session
	}
	return err != nil && !known(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

func known(err error) bool {
	return errors.Is(err, operation.ErrFenced) || errors.Is(err, operation.ErrNotFound) || errors.Is(err, operation.ErrReason)
}

func explain(err error) error {
	if err == nil || known(err) {
		return err
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == "55P03" {
		return fmt.Errorf("postgres: another claim of the same operations holds its locks for longer than lock_timeout: %w", err)
	}
	return fmt.Errorf("postgres: %w", err)
}

// try makes a call, and once more if its connection broke, which is safe for
// calls that may be made twice. If the first may have been carried out, then
// that the second finds nothing to do is no answer.
func (s *Store) try(ctx context.Context, call func() error) error {
	first := call()
	if !broken(first) || ctx.Err() != nil {
		return explain(first)
	}
	s.pool.Reset() // the other connections have probably broken as well
	second := call()
	if errors.Is(second, operation.ErrFenced) {
		return explain(first)
	}
	return explain(second)
}

// Claim implements [operation.Store].
func (s *Store) Claim(ctx context.Context, c operation.Claim) (operation.Verdict, error) {
	if err := c.Valid(); err != nil {
		return operation.Verdict{}, err
	}
	var verdict operation.Verdict
	written := false
	call := func() error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release() // in a transaction that failed: the pool closes it, and the server undoes it
		verdict, err = claim(ctx, conn, c, true, func() { written = true })
		return err
	}
	err := call()
	if broken(err) && !written && ctx.Err() == nil {
		s.pool.Reset()
		err = call()
	}
	if err != nil {
		return operation.Verdict{}, explain(err)
	}
	return verdict, nil
}

// Renew implements [operation.Store].
func (s *Store) Renew(ctx context.Context, id string, fence int64, lease time.Duration) error {
	return s.try(ctx, func() error {
		tag, err := s.pool.Exec(ctx, renew, id, fence, lease.Microseconds())
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		stored, now, err := getOn(ctx, s.pool, id)
		if err != nil {
			return err
		}
		if _, err := stored.Renew(fence, lease, now); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s changed meanwhile", operation.ErrFenced, id)
	})
}

// Settle implements [operation.Store].
func (s *Store) Settle(ctx context.Context, id string, fence int64, outcome operation.Outcome) (operation.Operation, error) {
	var settled operation.Operation
	err := s.try(ctx, func() (err error) {
		settled, err = settleOn(ctx, s.pool, id, fence, outcome)
		return err
	})
	if err != nil {
		return operation.Operation{}, err
	}
	return settled, nil
}

// Deliver implements [operation.Store]. It does not wait for the disk.
func (s *Store) Deliver(ctx context.Context, id string, delivery operation.Delivery) error {
	return s.try(ctx, func() error {
		tag, err := s.pool.Exec(ctx, deliver, id, delivery)
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		stored, _, err := getOn(ctx, s.pool, id)
		if err != nil {
			return err
		}
		if _, err := stored.Deliver(delivery); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s changed meanwhile", operation.ErrFenced, id)
	})
}

// Get implements [operation.Store].
func (s *Store) Get(ctx context.Context, id string) (operation.Operation, error) {
	var o operation.Operation
	var now time.Time
	err := s.try(ctx, func() (err error) {
		o, now, err = getOn(ctx, s.pool, id)
		return err
	})
	if err != nil {
		return operation.Operation{}, err
	}
	return o.At(now), nil
}

// List implements [operation.Store].
func (s *Store) List(ctx context.Context, filter operation.Filter, before string, limit int) ([]operation.Operation, error) {
	where, args := []string{"true"}, []any{}
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	var now time.Time
	if err := s.try(ctx, func() error {
		if before == "" {
			return s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
		}
		var seq int64
		err := s.pool.QueryRow(ctx, `SELECT clock_timestamp(), seq FROM remit_operations WHERE id = $1`, before).Scan(&now, &seq)
		if errors.Is(err, pgx.ErrNoRows) {
			return operation.ErrNotFound
		}
		if err == nil {
			add("seq < $%d", seq)
		}
		return err
	}); err != nil {
		return nil, err
	}
	now = now.UTC()
	for _, c := range []struct{ column, value string }{{"tenant", filter.Tenant}, {"principal", filter.Principal}, {"upstream", filter.Upstream}, {"tool", filter.Tool}} {
		if c.value != "" {
			add(c.column+" = $%d", c.value)
		}
	}
	if len(filter.States) > 0 {
		args = append(args, now)
		at := len(args)
		var states []string
		open := true
		for _, state := range filter.States {
			open = open && state.Open()
			switch state {
			case operation.Sent:
				states = append(states, fmt.Sprintf("state = 'sent' AND lease > $%d", at))
			case operation.Unknown:
				states = append(states, fmt.Sprintf("state = 'unknown' OR state = 'sent' AND lease <= $%d", at))
			default:
				args = append(args, state)
				states = append(states, fmt.Sprintf("$%d::timestamptz IS NOT NULL AND state = $%d", at, len(args)))
			}
		}
		where = append(where, "("+strings.Join(states, " OR ")+")")
		if open { // so that the index of open ones serves
			where = append(where, "state IN ('sent', 'unknown')")
		}
	}
	args = append(args, max(limit, 0))
	query := fmt.Sprintf(`SELECT %s FROM remit_operations WHERE %s ORDER BY seq DESC LIMIT $%d`, columns, strings.Join(where, " AND "), len(args))
	var list []operation.Operation
	err := s.try(ctx, func() error {
		rows, err := s.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scan)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = list[i].At(now)
	}
	return list, nil
}

// portion is how many operations Purge forgets in one transaction.
const portion = 500

// Purge implements [operation.Store]. What is forgotten stays in the server's
// files until it is vacuumed, and in its log and backups for as long as those
// are kept.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	total := 0
	for {
		tag, err := s.pool.Exec(ctx, `UPDATE remit_operations SET arguments = NULL, result = NULL WHERE seq IN (
			SELECT seq FROM remit_operations WHERE (arguments IS NOT NULL OR result IS NOT NULL)
			AND settled < $1 AND state IN ('confirmed', 'refused') LIMIT $2 FOR UPDATE)`, before, portion)
		if err != nil {
			return total, explain(err)
		}
		total += int(tag.RowsAffected())
		if tag.RowsAffected() < portion {
			return total, nil
		}
	}
}

// Forget implements [operation.Store].
func (s *Store) Forget(ctx context.Context, upstream, tool string) error {
	return s.try(ctx, func() error {
		_, err := s.pool.Exec(ctx, `INSERT INTO remit_forgotten AS f VALUES ($1, $2, clock_timestamp())
			ON CONFLICT (upstream, tool) DO UPDATE SET at = greatest(f.at, excluded.at)`, upstream, tool)
		return err
	})
}

// Forgotten implements [operation.Store].
func (s *Store) Forgotten(ctx context.Context, upstream, tool string) (time.Time, error) {
	var at *time.Time
	err := s.try(ctx, func() error {
		return s.pool.QueryRow(ctx, `SELECT max(at) FROM remit_forgotten WHERE upstream = $1 AND tool IN ($2, '')`, upstream, tool).Scan(&at)
	})
	if err != nil || at == nil {
		return time.Time{}, err
	}
	return at.UTC(), nil
}

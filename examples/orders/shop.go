package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/operation"
	"remit.example/record"
	"remit.example/store/sqlite"
)

// shop is the service's data: its tables and its operations, in one file.
type shop struct {
	ledger *sqlite.Store
	db     *sql.DB
}

const schema = `
CREATE TABLE IF NOT EXISTS orders (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	customer    TEXT NOT NULL,
	reference   TEXT NOT NULL,
	item        TEXT NOT NULL,
	quantity    INTEGER NOT NULL,
	total_minor INTEGER NOT NULL,
	state       TEXT NOT NULL DEFAULT 'placed' CHECK (state IN ('placed', 'cancelled', 'refunded'))
) STRICT;
CREATE TABLE IF NOT EXISTS refunds (order_id INTEGER NOT NULL, amount_minor INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS outbox (order_id INTEGER NOT NULL, text TEXT NOT NULL) STRICT;`

func open(ctx context.Context, path string) (*shop, error) {
	ledger, err := sqlite.Open(ctx, path, time.Now)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// Transactions begin IMMEDIATE: those that read first could not always write.
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: absolute}).EscapedPath()+"?_txlock=immediate&_synchronous=FULL&_busy_timeout=10000&_dqs=0")
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.ExecContext(ctx, schema)
	}
	s := &shop{ledger, db}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func (s *shop) close() {
	_ = s.db.Close()
	_ = s.ledger.Close()
}

// work is the effect of a write, inside its transaction: its answer, or why
// there is none.
type work func(ctx context.Context, tx *sql.Tx) (answer []byte, refusal *record.Record, err error)

// once does a keyed write at most once for each key: claim, effect and answer
// are committed together.
func (s *shop) once(ctx context.Context, tool, key string, arguments jsontext.Value, do work) (answer []byte, refusal *record.Record, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = tx.Rollback() }() // of what was committed it is none
	operations := s.ledger.In(tx)
	verdict, err := operations.Claim(ctx, operation.Claim{
		Scope:       operation.Scope{Upstream: service, Tool: tool},
		Fingerprint: digest(arguments), CallerKey: key, Arguments: arguments,
		NewID: "op_" + strings.ToLower(rand.Text()), NewKey: key, Repeatable: true,
		Lease: time.Minute, // never seen by others: it ends with the transaction
	})
	if err != nil {
		return nil, nil, err
	}
	switch o := verdict.Operation; verdict.Kind {
	case operation.Replay:
		return replayed(o.Result), nil, tx.Commit()
	case operation.Reused:
		return nil, &record.Record{
			Code: record.KeyReused, Outcome: record.NotApplied, Operation: &record.Operation{ID: o.ID},
			Message: "This idempotency_key has done something else already; a new write needs a new key.",
		}, tx.Commit()
	case operation.Execute:
	default:
		return nil, nil, fmt.Errorf("an operation is %s outside its transaction", verdict.Kind)
	}
	outcome := operation.Outcome{State: operation.Confirmed, Code: string(record.OK), By: operation.ByAnswer}
	answer, refusal, err = do(ctx, tx)
	if err != nil {
		return nil, nil, err
	}
	if outcome.Result = answer; refusal != nil {
		outcome = operation.Outcome{State: operation.Refused, Code: string(refusal.Code), By: operation.ByAnswer, Reason: refusal.Message}
	}
	if _, err := operations.Settle(ctx, verdict.Operation.ID, verdict.Operation.Fence, outcome); err != nil {
		return nil, nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, nil, errors.Join(errUncertain, err)
	}
	return answer, refusal, nil
}

// errUncertain says that an effect may be there.
var errUncertain = errors.New("whether it took effect is not known")

// digest is that of JSON in its canonical form.
func digest(arguments jsontext.Value) string {
	canonical := arguments.Clone()
	_ = canonical.Canonicalize() // they were read as JSON
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// replayed is an answer that was given before, marked.
func replayed(answer []byte) []byte {
	return append(answer[:len(answer)-1:len(answer)-1], `,"replayed":true}`...)
}

// prices are those of the items, in minor units.
var prices = map[string]int{"lamp": 4900, "shade": 1500, "bulb": 700}

func place(in input) work {
	return func(ctx context.Context, tx *sql.Tx) ([]byte, *record.Record, error) {
		total := prices[in.text("item")] * in.number("quantity")
		result, err := tx.ExecContext(ctx, `INSERT INTO orders (customer, reference, item, quantity, total_minor) VALUES (?, ?, ?, ?, ?)`,
			in.text("customer"), in.text("reference"), in.text("item"), in.number("quantity"), total)
		if err != nil {
			return nil, nil, err
		}
		id, err := result.LastInsertId()
		return fmt.Appendf(nil, `{"order":"%s%d","state":"placed","total_minor":%d,"currency":"EUR"}`, orderPrefix, id, total), nil, err
	}
}

func cancel(in input) work {
	return func(ctx context.Context, tx *sql.Tx) ([]byte, *record.Record, error) {
		_, refusal, err := move(ctx, tx, in, "placed", "cancelled")
		if err != nil || refusal != nil {
			return nil, refusal, err
		}
		return fmt.Appendf(nil, `{"order":"%s","state":"cancelled"}`, in.text("order")), nil, nil
	}
}

func refund(in input) work {
	return func(ctx context.Context, tx *sql.Tx) ([]byte, *record.Record, error) {
		total, refusal, err := move(ctx, tx, in, "cancelled", "refunded")
		if err != nil || refusal != nil {
			return nil, refusal, err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO refunds VALUES (?, ?)`, in.order(), total); err != nil {
			return nil, nil, err
		}
		return fmt.Appendf(nil, `{"order":"%s","state":"refunded","amount_minor":%d,"currency":"EUR"}`, in.text("order"), total), nil, nil
	}
}

// move takes an order from one state to another, and gives its total.
func move(ctx context.Context, tx *sql.Tx, in input, from, to string) (total int, refusal *record.Record, err error) {
	var state string
	err = tx.QueryRowContext(ctx, `SELECT state, total_minor FROM orders WHERE id = ?`, in.order()).Scan(&state, &total)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, invalid("order", "not_found", "the id of an order", "There is no order "+in.text("order")+"."), nil
	case err != nil:
		return 0, nil, err
	case state != from:
		return 0, &record.Record{
			Code: record.PreconditionFailed, Outcome: record.NotApplied,
			Message: fmt.Sprintf("%s is %s, and only an order that is %s becomes %s.", in.text("order"), state, from, to),
		}, nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE orders SET state = ? WHERE id = ?`, to, in.order())
	return total, nil, err
}

// notify appends a message, each time that it is called. known is false where
// there is no such order.
func (s *shop) notify(ctx context.Context, in input) (known bool, err error) {
	result, err := s.db.ExecContext(ctx, `INSERT INTO outbox SELECT id, ? FROM orders WHERE id = ?`, in.text("text"), in.order())
	if err != nil {
		return false, errors.Join(errUncertain, err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// get is what is known of one order, or of those of a customer, with how many
// effects there were.
func (s *shop) get(ctx context.Context, in input) ([]byte, error) {
	where, args := "id = ?", []any{in.order()}
	if !in.has("order") {
		where, args = "customer = ?", []any{in.text("customer")}
		if in.has("reference") {
			where, args = where+" AND reference = ?", append(args, in.text("reference"))
		}
	}
	rows, err := s.db.QueryContext(ctx, `SELECT id, customer, reference, item, quantity, total_minor, state,
		(SELECT count(*) FROM refunds WHERE order_id = id), (SELECT count(*) FROM outbox WHERE order_id = id)
		FROM orders WHERE `+where+` ORDER BY id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	state, orders := "none", []byte("[")
	var cancellations, refunds, messages int
	for rows.Next() {
		var id, quantity, total, refunded, sent int
		var customer, reference, item string
		if err := rows.Scan(&id, &customer, &reference, &item, &quantity, &total, &state, &refunded, &sent); err != nil {
			return nil, err
		}
		if len(orders) > 1 {
			orders = append(orders, ',')
		}
		orders = fmt.Appendf(orders, `{"order":"%s%d","customer":"%s","reference":"%s","item":"%s","quantity":%d,"total_minor":%d,"state":"%s"}`,
			orderPrefix, id, customer, reference, item, quantity, total, state)
		refunds, messages = refunds+refunded, messages+sent
		if state != "placed" {
			cancellations++
		}
	}
	return fmt.Appendf(nil, `{"state":"%s","orders":%s],"cancellations":%d,"refunds":%d,"messages":%d}`, state, orders, cancellations, refunds, messages), rows.Err()
}

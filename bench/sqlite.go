package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"remit.example/catalogue"
)

// candidates are the indexes that SQLite may use. Each statement is tried with
// every one, and the fastest is taken.
var candidates = map[string]string{
	"by_price":        "product(price, lumens DESC, id, in_stock)",
	"by_stock_price":  "product(in_stock, price, lumens DESC, id)",
	"by_lumens":       "product(lumens DESC, price, id, in_stock)",
	"by_stock_lumens": "product(in_stock, lumens DESC, price, id)",
	"by_id":           "product(id, price, lumens, in_stock)",
}

// loadSQLite fills a database in memory. Rows are inserted in the order of
// their ids, so that an answer by words can be read in that order too.
func loadSQLite(ctx context.Context, data []byte) (*sql.DB, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	_, err = db.ExecContext(ctx, `
		CREATE TABLE product(id TEXT PRIMARY KEY, title TEXT NOT NULL, price INTEGER NOT NULL, lumens INTEGER, in_stock INTEGER NOT NULL);
		CREATE VIRTUAL TABLE words USING fts5(title, content='', detail=none, tokenize='unicode61 remove_diacritics 0');`)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, err
	}
	rows = rows[1:]
	slices.SortFunc(rows, func(a, b []string) int { return cmp.Compare(a[columnID], b[columnID]) })
	return db, insert(ctx, db, rows)
}

func insert(ctx context.Context, db *sql.DB, rows [][]string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // of no effect after Commit
	product, err := tx.PrepareContext(ctx, "INSERT INTO product(rowid, id, title, price, lumens, in_stock) VALUES(?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	words, err := tx.PrepareContext(ctx, "INSERT INTO words(rowid, title) VALUES(?, ?)")
	if err != nil {
		return err
	}
	for i, row := range rows {
		price, err := strconv.Atoi(strings.Replace(row[columnPrice], ".", "", 1))
		if err != nil {
			return err
		}
		var lumens any
		if row[columnLumens] != "" {
			lumens = row[columnLumens]
		}
		if _, err := product.ExecContext(ctx, i, row[columnID], row[columnTitle], price, lumens, row[columnInStock] == "true"); err != nil {
			return err
		}
		if _, err := words.ExecContext(ctx, i, row[columnTitle]); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func indexSQLite(ctx context.Context, db *sql.DB) error {
	for name, columns := range candidates {
		if _, err := db.ExecContext(ctx, "CREATE INDEX "+name+" ON "+columns); err != nil {
			return err
		}
	}
	_, err := db.ExecContext(ctx, "INSERT INTO words(words) VALUES('optimize'); ANALYZE")
	return err
}

// sizeSQLite is the size of the database in bytes.
func sizeSQLite(ctx context.Context, db *sql.DB) (size uint64, err error) {
	err = db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&size)
	return size, err
}

// statement is one SQL statement with its arguments.
type statement struct {
	text string // FROM product is where an index is named
	args []any
	plan *sql.Stmt
	with string // the index
}

// askSQLite is SQLite's side of a question, in the form that serves it best: a
// page, a count of all matches and, for a deep page, a count of better ones;
// ranks within the page follow from its keys. A window function over all
// matches takes longer.
func askSQLite(ctx context.Context, db *sql.DB, q question) (ask, string, error) {
	statements := statementsOf(q)
	var chosen []string
	for i := range statements {
		if err := statements[i].choose(ctx, db); err != nil {
			return nil, "", fmt.Errorf("%s: %w", statements[i].text, err)
		}
		chosen = append(chosen, statements[i].with)
	}
	return func(ctx context.Context) (answer, error) { return askStatements(ctx, statements, q) }, strings.Join(chosen, ", "), nil
}

// askStatements runs the page, the count and, for a deep page, the count of
// what is better than its first row.
func askStatements(ctx context.Context, statements []statement, q question) (answer, error) {
	a := answer{total: 1}
	keys, err := a.readPage(ctx, statements[0])
	if err != nil {
		return a, err
	}
	if len(statements) > 1 {
		if err := statements[1].number(ctx, statements[1].args, &a.total); err != nil {
			return a, err
		}
	}
	better := 0
	if q.deep {
		s, first := statements[2], keys[0]
		args := append(slices.Clone(q.whereArgs()), first[0], first[0], first[1])
		if err := s.number(ctx, args, &better); err != nil {
			return a, err
		}
	}
	a.ranks = make([]int, len(a.ids))
	for i := range a.ids {
		switch {
		case len(q.query.Order) == 0:
		case i > 0 && keys[i] == keys[i-1]:
			a.ranks[i] = a.ranks[i-1]
		default:
			a.ranks[i] = better + i + 1
		}
	}
	return a, nil
}

// readPage reads the ids and returns the keys beside them.
func (a *answer) readPage(ctx context.Context, s statement) (keys [][2]sql.NullInt64, err error) {
	rows, err := s.plan.QueryContext(ctx, s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var key [2]sql.NullInt64
		if err := rows.Scan(&id, &key[0], &key[1]); err != nil {
			return nil, err
		}
		a.ids, keys = append(a.ids, id), append(keys, key)
	}
	return keys, rows.Err()
}

// number reads the one number that a statement gives.
func (s *statement) number(ctx context.Context, args []any, into *int) error {
	return s.plan.QueryRowContext(ctx, args...).Scan(into)
}

// names are the columns in SQL.
var names = []string{columnID: "id", columnTitle: "title", columnPrice: "price", columnLumens: "lumens", columnInStock: "in_stock"}

// whereArgs are the arguments of the predicates.
func (q question) whereArgs() (args []any) {
	for _, p := range q.query.Where {
		if p.Op == catalogue.Words {
			args = append(args, strings.Join(p.Words, " "))
		} else {
			args = append(args, p.Value.Int)
		}
	}
	return args
}

// statementsOf are the statements that give the page, the total and, for a
// deep page, the number of better rows.
func statementsOf(q question) []statement {
	if q.lookup != "" {
		return []statement{{text: "SELECT id, price, lumens FROM product WHERE id = ?", args: []any{q.lookup}}}
	}
	from, where, args := " FROM product", "1", q.whereArgs()
	for _, p := range q.query.Where {
		if p.Op == catalogue.Words {
			from = " FROM words JOIN product ON product.rowid = words.rowid"
			where += " AND words MATCH ?"
			continue
		}
		where += " AND " + names[p.Column] + map[catalogue.Op]string{catalogue.Equals: " = ?", catalogue.AtMost: " <= ?", catalogue.AtLeast: " >= ?"}[p.Op]
	}
	count := statement{text: "SELECT count(*)" + from + " WHERE " + where, args: args}
	if strings.Contains(from, "words") {
		count.text = strings.Replace(count.text, from, " FROM words", 1)
	}
	order := " ORDER BY product.id"
	if from != " FROM product" {
		order = " ORDER BY words.rowid"
	}
	if len(q.query.Order) > 0 {
		order = " ORDER BY"
		for _, key := range q.query.Order {
			order += " " + names[key.Column] + map[catalogue.Direction]string{catalogue.Lowest: " ASC,", catalogue.Highest: " DESC,"}[key.Direction]
		}
		order += " product.id"
	}
	page := statement{text: "SELECT product.id, price, lumens" + from + " WHERE " + where, args: args}
	limit := " LIMIT " + strconv.Itoa(q.query.Limit)
	if !q.deep {
		page.text += order + limit
		return []statement{page, count}
	}
	// The only deep page is in the order of price, lumens, id.
	price, lumens := q.after[columnPrice].Int, q.after[columnLumens].Int
	page.text += " AND price >= ? AND (price > ? OR lumens < ? OR lumens = ? AND id > ?)" + order + limit
	page.args = append(slices.Clone(args), price, price, lumens, lumens, q.query.After)
	better := statement{text: count.text + " AND price <= ? AND (price < ? OR lumens > ?)", args: append(slices.Clone(args), price, price, lumens)}
	return []statement{page, count, better}
}

// trials is how often a statement is timed with each index.
const trials = 3

// choose prepares the statement with the index that answers it fastest. A
// statement by words or by id needs none.
func (s *statement) choose(ctx context.Context, db *sql.DB) error {
	options := []string{"SQLite's choice"}
	if strings.Contains(s.text, " FROM product WHERE 1") {
		for name := range candidates {
			options = append(options, name)
		}
		slices.Sort(options[1:])
	}
	var least time.Duration
	for _, option := range options {
		text := s.text
		if option != options[0] {
			text = strings.Replace(text, " FROM product", " FROM product INDEXED BY "+option, 1)
		}
		plan, err := db.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		took, err := timeOf(ctx, plan, s.args)
		if err != nil {
			return err
		}
		if s.plan == nil || took < least {
			s.plan, s.with, least = plan, option, took
		}
	}
	return nil
}

// timeOf is the median time in which a statement gives all its rows.
func timeOf(ctx context.Context, plan *sql.Stmt, args []any) (time.Duration, error) {
	var all times
	for range trials {
		begin := time.Now()
		rows, err := plan.QueryContext(ctx, args...)
		if err != nil {
			return 0, err
		}
		for rows.Next() {
		}
		if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
			return 0, err
		}
		all = append(all, time.Since(begin))
	}
	return all.median(), nil
}

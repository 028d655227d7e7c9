package snapshot_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
)

// The model answers a query in the plainest way, row by row, from the
// definitions of the catalogue's engine alone.

// modelSchema has a column of every kind that an engine tells apart.
func modelSchema() catalogue.Schema {
	missing := []string{"", "n/a"}
	return catalogue.Schema{ID: 1, Columns: []catalogue.Column{
		{Name: "n", Header: "n", Kind: catalogue.Integer, Unknown: missing, Volatile: true},
		{Name: "id", Header: "id", Kind: catalogue.Text},
		{Name: "d", Header: "d", Kind: catalogue.Decimal, Scale: 1, Unknown: missing},
		{Name: "b", Header: "b", Kind: catalogue.Boolean, True: []string{"yes"}, False: []string{"no"}, Unknown: missing},
		{Name: "m", Header: "m", Kind: catalogue.Money, Currency: "XTS"},
		{Name: "t", Header: "t", Kind: catalogue.Text, Unknown: missing, Words: true},
	}}
}

// modelRow is a row's values by column; an absent one is unknown.
type modelRow map[int]catalogue.Value

func (r modelRow) id() string { return r[1].Text }

var vocabulary = []string{"led", "LED", "warm", "e27", "Straße", "STRASSE"}

// generate makes rows in which ties and unknown values are common.
func generate(random *rand.Rand, rows int) []modelRow {
	all := make([]modelRow, rows)
	for i := range all {
		row := modelRow{1: {Known: true, Text: strconv.Itoa(i * 7)}, 4: known(random.Int64N(4))}
		if random.IntN(4) > 0 {
			row[0] = known(random.Int64N(5) - 2)
		}
		if random.IntN(4) > 0 {
			row[2] = known(random.Int64N(30) - 15)
		}
		if random.IntN(4) > 0 {
			row[3] = known(random.Int64N(2))
		}
		if random.IntN(4) > 0 {
			row[5] = catalogue.Value{Known: true, Text: vocabulary[random.IntN(6)] + "-" + vocabulary[random.IntN(6)]}
		}
		all[i] = row
	}
	random.Shuffle(rows, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// file writes the rows as CSV.
func file(rows []modelRow) string {
	var text strings.Builder
	text.WriteString("id,n,d,b,m,t\n")
	for i, row := range rows {
		cells := []string{row.id(), "n/a", "", "", fmt.Sprint(row[4].Int), ""}
		if v := row[0]; v.Known {
			cells[1] = fmt.Sprint(v.Int)
		}
		if v := row[2]; v.Known {
			cells[2] = fmt.Sprintf("%.1f", float64(v.Int)/10)
		}
		if v := row[3]; v.Known {
			cells[3] = []string{"no", "yes"}[v.Int]
		}
		if v := row[5]; v.Known {
			cells[5] = `"` + v.Text + `"`
		}
		text.WriteString(strings.Join(cells, ","))
		text.WriteString([]string{"\n", "\r\n"}[i%2])
	}
	return text.String()
}

// modelAnswer is everything that the model knows of a query's answer.
type modelAnswer struct {
	rows            []catalogue.Row // all of them, in order
	excludedUnknown []int
	unknownKeys     []int
}

type truth int

const (
	no truth = iota
	unknown
	yes
)

func (r modelRow) satisfies(p catalogue.Predicate) truth {
	v := r[p.Column]
	if !v.Known {
		return unknown
	}
	holds := false
	switch p.Op {
	case catalogue.Equals:
		holds = v == p.Value
	case catalogue.AtMost:
		holds = v.Int <= p.Value.Int
	case catalogue.AtLeast:
		holds = v.Int >= p.Value.Int
	case catalogue.Words:
		holds = !slices.ContainsFunc(p.Words, func(word string) bool {
			return !slices.Contains(catalogue.WordsOf(v.Text), word)
		})
	}
	if holds {
		return yes
	}
	return no
}

// compare is the order's comparison and the key that separates the rows.
func compare(a, b modelRow, order []catalogue.Key) (int, int) {
	for i, key := range order {
		va, vb := a[key.Column], b[key.Column]
		switch {
		case va.Known && !vb.Known:
			return -1, i
		case !va.Known && vb.Known:
			return 1, i
		}
		sign := cmp.Compare(va.Int, vb.Int)
		if key.Direction != catalogue.Lowest {
			sign = -sign
		}
		if sign != 0 {
			return sign, i
		}
	}
	return 0, -1
}

func model(rows []modelRow, q catalogue.Query, schema catalogue.Schema) modelAnswer {
	answer := modelAnswer{excludedUnknown: make([]int, len(q.Where)), unknownKeys: make([]int, len(q.Order))}
	var matches []modelRow
	for _, row := range rows {
		if q.Stale {
			fresh := row
			row = modelRow{}
			for column, v := range fresh {
				if !schema.Columns[column].Volatile {
					row[column] = v
				}
			}
		}
		least := yes
		for _, p := range q.Where {
			least = min(least, row.satisfies(p))
		}
		if least == unknown {
			for i, p := range q.Where {
				if row.satisfies(p) == unknown {
					answer.excludedUnknown[i]++
				}
			}
		}
		if least != yes {
			continue
		}
		excluded := false
		for i, key := range q.Order {
			if !row[key.Column].Known {
				answer.unknownKeys[i]++
				excluded = excluded || key.Unknown == catalogue.Exclude
			}
		}
		if !excluded {
			matches = append(matches, row)
		}
	}
	slices.SortFunc(matches, func(a, b modelRow) int {
		sign, _ := compare(a, b, q.Order)
		return cmp.Or(sign, strings.Compare(a.id(), b.id()))
	})
	for _, row := range matches {
		answer.rows = append(answer.rows, modelPlace(row, matches, q.Order, len(schema.Columns)))
	}
	return answer
}

// modelPlace counts what stands above and beside a row.
func modelPlace(row modelRow, matches []modelRow, order []catalogue.Key, columns int) catalogue.Row {
	placed := catalogue.Row{ID: row.id(), DecidedBy: -1}
	for i := range columns {
		placed.Values = append(placed.Values, row[i])
	}
	if len(order) == 0 {
		return placed
	}
	placed.Rank = 1
	for _, other := range matches {
		switch sign, _ := compare(other, row, order); {
		case sign < 0:
			placed.Rank++
			_, placed.DecidedBy = compare(other, row, order) // the last is of the rank above
		case sign == 0:
			placed.Tied++
		}
	}
	return placed
}

// drawQuery draws a query that the schema permits.
func drawQuery(t *rapid.T) catalogue.Query {
	q := catalogue.Query{
		Stale:    rapid.IntRange(0, 4).Draw(t, "stale") == 0,
		Limit:    rapid.SampledFrom([]int{1, 2, 3, 7, 20, 150, catalogue.All}).Draw(t, "limit"),
		KeepTies: rapid.Bool().Draw(t, "keep ties"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "predicates") {
		q.Where = append(q.Where, drawPredicate(t))
	}
	for range rapid.IntRange(0, 3).Draw(t, "keys") {
		q.Order = append(q.Order, catalogue.Key{
			Column:    rapid.SampledFrom([]int{0, 2, 3, 4}).Draw(t, "key"),
			Direction: rapid.SampledFrom([]catalogue.Direction{catalogue.Lowest, catalogue.Highest, catalogue.TrueFirst}).Draw(t, "direction"),
			Unknown:   rapid.SampledFrom([]catalogue.Policy{catalogue.Last, catalogue.Exclude, catalogue.Reject}).Draw(t, "policy"),
		})
	}
	return q
}

func drawPredicate(t *rapid.T) catalogue.Predicate {
	p := catalogue.Predicate{Column: rapid.IntRange(0, 5).Draw(t, "column")}
	switch p.Column {
	case 1:
		p.Value = catalogue.Value{Known: true, Text: strconv.Itoa(7 * rapid.IntRange(0, 9).Draw(t, "id"))}
	case 5:
		p.Value = catalogue.Value{Known: true, Text: "led-warm"}
		if rapid.Bool().Draw(t, "words") {
			p.Op = catalogue.Words
			p.Words = rapid.SampledFrom([][]string{{"led"}, {"strasse"}, {"warm", "e27"}, {"strass"}}).Draw(t, "these")
		}
	default:
		p.Op = rapid.SampledFrom([]catalogue.Op{catalogue.Equals, catalogue.AtMost, catalogue.AtLeast}).Draw(t, "op")
		p.Value = known(rapid.Int64Range(-3, 3).Draw(t, "operand"))
	}
	return p
}

func TestSelectAgreesWithModel(t *testing.T) {
	schema := modelSchema()
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rows := generate(random, rapid.IntRange(0, 250).Draw(t, "rows"))
		s, err := snapshot.Load(strings.NewReader(file(rows)), snapshot.Source{Name: "model.csv"}, schema)
		if err != nil {
			t.Fatal(err)
		}
		q := drawQuery(t)
		checkPages(t, s, q, model(rows, q, schema))
	})
}

// TestSelectOverManyRows makes several blocks and stretches of rows.
func TestSelectOverManyRows(t *testing.T) {
	rows := generate(rand.New(rand.NewPCG(1, 2)), 70_000)
	schema := modelSchema()
	s, err := snapshot.Load(strings.NewReader(file(rows)), snapshot.Source{Name: "model.csv"}, schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range [][]catalogue.Predicate{nil, {{Column: 2, Op: catalogue.AtLeast, Value: known(0)}}} {
		want := 0
		for _, row := range rows {
			if len(where) == 0 || row.satisfies(where[0]) == yes {
				want++
			}
		}
		q := catalogue.Query{Where: where, Order: []catalogue.Key{{Column: 2, Direction: catalogue.Highest}, {Column: 4}}, Limit: 100}
		seen, rank, previous := 0, 1, catalogue.Row{}
		for more := true; more; {
			page, err := s.Select(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if page.Total != want {
				t.Fatalf("total %d, want %d", page.Total, want)
			}
			for _, row := range page.Rows {
				if seen > 0 && row.Values[2] == previous.Values[2] && row.Values[4] == previous.Values[4] {
					if row.ID <= previous.ID || row.Tied != previous.Tied {
						t.Fatalf("%v after %v", row, previous)
					}
				} else {
					rank = seen + 1
				}
				if row.Rank != rank {
					t.Fatalf("rank %d of %s, want %d", row.Rank, row.ID, rank)
				}
				seen, previous = seen+1, row
			}
			more, q.After = page.More, previous.ID
		}
		if seen != want {
			t.Errorf("pages hold %d rows of %d", seen, want)
		}
	}
}

// TestOrderAtTheEndsOfStretches has as many rows as fill words and stretches,
// one less and one more; each stands in the order once.
func TestOrderAtTheEndsOfStretches(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 63 * 64, 63*64 + 1, 64*64 - 1, 64 * 64, 64*64 + 1} {
		var data strings.Builder
		data.WriteString("SKU,watts\n")
		for i := range n {
			fmt.Fprintf(&data, "%05d,%d\n", i, n-i)
		}
		got, err := load(t, "a.csv", data.String(), only("watts")).Select(t.Context(), catalogue.Query{Order: []catalogue.Key{{Column: 1}}, Limit: catalogue.All})
		if err != nil || len(got.Rows) != n {
			t.Fatalf("%d rows of %d, %v", len(got.Rows), n, err)
		}
		for i, row := range got.Rows {
			if want := fmt.Sprintf("%05d", n-1-i); row.ID != want || row.Rank != i+1 {
				t.Fatalf("%d rows: %s has rank %d at %d, want %s", n, row.ID, row.Rank, i, want)
			}
		}
	}
}

// checkPages walks all pages and compares what they hold with the model.
func checkPages(t *rapid.T, s *snapshot.Snapshot, q catalogue.Query, want modelAnswer) {
	rest := want.rows
	for more := true; more; {
		page, err := s.Select(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		length := pageLength(rest, q)
		if d := gocmp.Diff(rest[:length], page.Rows); d != "" && length+len(page.Rows) > 0 {
			t.Fatalf("rows after %q of query %+v: %s", q.After, q, d)
		}
		counts := modelAnswer{excludedUnknown: page.ExcludedUnknown, unknownKeys: page.UnknownKeys}
		if page.Total != len(want.rows) || !slices.Equal(counts.excludedUnknown, want.excludedUnknown) || !slices.Equal(counts.unknownKeys, want.unknownKeys) {
			t.Fatalf("total %d, counts %+v; want %d, %+v", page.Total, counts, len(want.rows), want)
		}
		if rest = rest[length:]; page.More != (len(rest) > 0) {
			t.Fatalf("more is %t with %d rows left", page.More, len(rest))
		}
		goesOn := page.More && len(q.Order) > 0 && rest[0].Rank == page.Rows[length-1].Rank
		if page.TieGoesOn != goesOn {
			t.Fatalf("the tie goes on: %t, want %t", page.TieGoesOn, goesOn)
		}
		if more = page.More; more {
			q.After = page.Rows[length-1].ID
		}
	}
}

// pageLength is how many of the remaining rows a page holds.
func pageLength(rest []catalogue.Row, q catalogue.Query) int {
	if q.Limit == catalogue.All {
		return len(rest)
	}
	length := min(q.Limit, len(rest))
	for q.KeepTies && len(q.Order) > 0 && length < min(len(rest), catalogue.MaxTies) && rest[length].Rank == rest[length-1].Rank {
		length++
	}
	return length
}

func TestSelectConcurrently(t *testing.T) {
	rows := generate(rand.New(rand.NewPCG(3, 4)), 500)
	schema := modelSchema()
	s := load(t, "model.csv", file(rows), schema)
	q := catalogue.Query{
		Where: []catalogue.Predicate{{Column: 5, Op: catalogue.Words, Words: []string{"led"}}},
		Order: []catalogue.Key{{Column: 0}}, Limit: 7, KeepTies: true,
	}
	want := model(rows, q, schema).rows
	want = want[:pageLength(want, q)]
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			page, err := s.Select(t.Context(), q)
			if d := gocmp.Diff(want, page.Rows); d != "" || err != nil {
				t.Error(d, err)
			}
		})
	}
	group.Wait()
}

func TestSelectEndsWithItsContext(t *testing.T) {
	s := load(t, "lights.csv", inventory, lights())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Select(ctx, catalogue.Query{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

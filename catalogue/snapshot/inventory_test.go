package snapshot_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
)

// inventory is the complete inventory of catalogue-v1.
const inventory = `id,price_minor,lumens,in_stock
A,6000,800,true
B,4500,600,true
C,4500,400,true
D,4500,600,true
E,4000,900,false
F,5000,,true
`

const (
	columnID = iota
	columnPrice
	columnLumens
	columnInStock
)

func lights() catalogue.Schema {
	return catalogue.Schema{Columns: []catalogue.Column{
		{Name: "id", Header: "id", Kind: catalogue.Text},
		{Name: "price", Header: "price_minor", Kind: catalogue.Money, Currency: "XTS", Volatile: true},
		{Name: "lumens", Header: "lumens", Kind: catalogue.Integer, Unknown: []string{""}},
		{Name: "in_stock", Header: "in_stock", Kind: catalogue.Boolean, True: []string{"true"}, False: []string{"false"}},
	}}
}

func load(t *testing.T, name, data string, schema catalogue.Schema) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Load(strings.NewReader(data), snapshot.Source{Name: name}, schema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func known(n int64) catalogue.Value { return catalogue.Value{Known: true, Int: n} }

// common are the filters of every request of catalogue-v1.
func common() []catalogue.Predicate {
	return []catalogue.Predicate{
		{Column: columnPrice, Op: catalogue.AtMost, Value: known(6000)},
		{Column: columnLumens, Op: catalogue.AtLeast, Value: known(600)},
		{Column: columnInStock, Op: catalogue.Equals, Value: known(1)},
	}
}

// place is a row without its values.
type place struct {
	ID                    string
	Rank, Tied, DecidedBy int
}

func places(rows []catalogue.Row) []place {
	all := []place{}
	for _, row := range rows {
		all = append(all, place{row.ID, row.Rank, row.Tied, row.DecidedBy})
	}
	return all
}

func TestInventory(t *testing.T) {
	s := load(t, "lights.csv", inventory, lights())
	cheapest := catalogue.Key{Column: columnPrice, Direction: catalogue.Lowest}
	brightest := catalogue.Key{Column: columnLumens, Direction: catalogue.Highest}
	stocked := catalogue.Key{Column: columnInStock, Direction: catalogue.TrueFirst}
	tests := []struct {
		name        string
		query       catalogue.Query
		rows        []place
		total       int
		excluded    []int
		unknownKeys []int
		more        bool
	}{
		{
			name:  "S1",
			query: catalogue.Query{Where: common(), Limit: 20},
			rows:  []place{{"A", 0, 0, -1}, {"B", 0, 0, -1}, {"D", 0, 0, -1}},
			total: 3, excluded: []int{0, 1, 0}, unknownKeys: []int{},
		},
		{
			name:  "R1",
			query: catalogue.Query{Where: common(), Order: []catalogue.Key{cheapest, brightest}, Limit: 20},
			rows:  []place{{"B", 1, 2, -1}, {"D", 1, 2, -1}, {"A", 3, 1, 0}},
			total: 3, excluded: []int{0, 1, 0}, unknownKeys: []int{0, 0},
		},
		{
			name:  "a page cut within a tie",
			query: catalogue.Query{Where: common(), Order: []catalogue.Key{cheapest, brightest}, Limit: 1},
			rows:  []place{{"B", 1, 2, -1}},
			total: 3, excluded: []int{0, 1, 0}, unknownKeys: []int{0, 0}, more: true,
		},
		{
			name:  "a page that keeps its tie",
			query: catalogue.Query{Where: common(), Order: []catalogue.Key{cheapest, brightest}, Limit: 1, KeepTies: true},
			rows:  []place{{"B", 1, 2, -1}, {"D", 1, 2, -1}},
			total: 3, excluded: []int{0, 1, 0}, unknownKeys: []int{0, 0}, more: true,
		},
		{
			name:  "a page that goes on within a tie",
			query: catalogue.Query{Where: common(), Order: []catalogue.Key{cheapest, brightest}, After: "B", Limit: 20},
			rows:  []place{{"D", 1, 2, -1}, {"A", 3, 1, 0}},
			total: 3, excluded: []int{0, 1, 0}, unknownKeys: []int{0, 0},
		},
		{
			name:  "unknown values last, the lowest first",
			query: catalogue.Query{Order: []catalogue.Key{{Column: columnLumens}}, Limit: 20},
			rows:  []place{{"C", 1, 1, -1}, {"B", 2, 2, 0}, {"D", 2, 2, 0}, {"A", 4, 1, 0}, {"E", 5, 1, 0}, {"F", 6, 1, 0}},
			total: 6, unknownKeys: []int{1},
		},
		{
			name:  "unknown values last, the highest first, over two pages",
			query: catalogue.Query{Order: []catalogue.Key{stocked, brightest}, After: "D", Limit: 20},
			rows:  []place{{"C", 4, 1, 1}, {"F", 5, 1, 1}, {"E", 6, 1, 0}},
			total: 6, unknownKeys: []int{0, 1},
		},
		{
			name:  "unknown values excluded",
			query: catalogue.Query{Order: []catalogue.Key{{Column: columnLumens, Direction: catalogue.Highest, Unknown: catalogue.Exclude}}, Limit: 2},
			rows:  []place{{"E", 1, 1, -1}, {"A", 2, 1, 0}},
			total: 5, unknownKeys: []int{1}, more: true,
		},
		{
			name:  "stale prices are unknown",
			query: catalogue.Query{Where: common(), Limit: 20, Stale: true},
			rows:  []place{},
			total: 0, excluded: []int{4, 1, 0}, unknownKeys: []int{},
		},
		{
			name:  "an order by stale prices ties",
			query: catalogue.Query{Order: []catalogue.Key{cheapest}, Limit: 2, Stale: true},
			rows:  []place{{"A", 1, 6, -1}, {"B", 1, 6, -1}},
			total: 6, unknownKeys: []int{6}, more: true,
		},
		{
			name:  "an order by stale prices ties however many rows are kept",
			query: catalogue.Query{Order: []catalogue.Key{cheapest}, Limit: 1, Stale: true},
			rows:  []place{{"A", 1, 6, -1}},
			total: 6, unknownKeys: []int{6}, more: true,
		},
		{
			name:  "nothing follows the last of an order",
			query: catalogue.Query{Order: []catalogue.Key{cheapest, brightest}, After: "A", Limit: 20},
			rows:  []place{},
			total: 6, unknownKeys: []int{0, 1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := s.Select(t.Context(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if test.excluded == nil {
				test.excluded = []int{}
			}
			for _, d := range []string{
				cmp.Diff(test.rows, places(got.Rows)), cmp.Diff(test.total, got.Total), cmp.Diff(test.more, got.More),
				cmp.Diff(test.excluded, got.ExcludedUnknown), cmp.Diff(test.unknownKeys, got.UnknownKeys),
			} {
				if d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// TestAPageWithinATieIsDecidedByTheRankAbove: of the better rows, the first of
// the file is the last in the order.
func TestAPageWithinATieIsDecidedByTheRankAbove(t *testing.T) {
	s := load(t, "lights.csv", "id,price_minor,lumens,in_stock\nA,2,2,true\nB,1,9,true\nC,2,3,true\nD,2,3,true\n", lights())
	got, err := s.Select(t.Context(), catalogue.Query{Order: []catalogue.Key{{Column: columnPrice}, {Column: columnLumens}}, After: "C", Limit: 20})
	if d := cmp.Diff([]place{{"D", 3, 2, 1}}, places(got.Rows)); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestTheLargestDecimalsAreWithinOpenBounds: a bound on one side alone leaves
// the other open.
func TestTheLargestDecimalsAreWithinOpenBounds(t *testing.T) {
	const largest = 1<<62 - 1
	s := load(t, "a.csv", "SKU,watts\nlow,-46116860184273879.03\nhigh,46116860184273879.03\n", only("watts"))
	for _, c := range []struct {
		op      catalogue.Op
		operand int64
		want    string
	}{
		{catalogue.AtLeast, 0, "high"},
		{catalogue.AtLeast, largest, "high"},
		{catalogue.AtLeast, math.MaxInt64, ""},
		{catalogue.AtLeast, math.MinInt64, "high low"},
		{catalogue.AtMost, 0, "low"},
		{catalogue.AtMost, -largest, "low"},
		{catalogue.AtMost, math.MinInt64, ""},
		{catalogue.AtMost, math.MaxInt64, "high low"},
		{catalogue.Equals, largest, "high"},
		{catalogue.Equals, math.MaxInt64, ""},
	} {
		got, err := s.Select(t.Context(), catalogue.Query{Where: []catalogue.Predicate{{Column: 1, Op: c.op, Value: known(c.operand)}}, Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, row := range got.Rows {
			ids = append(ids, row.ID)
		}
		if found := strings.Join(ids, " "); found != c.want {
			t.Errorf("operation %d, %d: found %q, want %q", c.op, c.operand, found, c.want)
		}
	}
}

func TestLookup(t *testing.T) {
	s := load(t, "lights.csv", inventory, lights())
	row, found, err := s.Lookup(t.Context(), "F", true)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	want := catalogue.Row{
		ID:        "F",
		Values:    []catalogue.Value{{Known: true, Text: "F"}, {}, {}, known(1)},
		DecidedBy: -1,
	}
	if d := cmp.Diff(want, row); d != "" {
		t.Error(d)
	}
	for _, id := range []string{"", "G", "f", "AA"} {
		if _, found, _ := s.Lookup(t.Context(), id, false); found {
			t.Errorf("found %q", id)
		}
	}
}

func TestSelectRefuses(t *testing.T) {
	s := load(t, "lights.csv", inventory, lights())
	for want, query := range map[string]catalogue.Query{
		"snapshot: a limit is at least 1, not 0":                          {},
		"snapshot: no row has the id that the page is to follow":          {Limit: 1, After: "G"},
		"snapshot: a predicate names column 4 of 4":                       {Limit: 1, Where: []catalogue.Predicate{{Column: 4}}},
		"snapshot: column id is text and has no bounds":                   {Limit: 1, Where: []catalogue.Predicate{{Op: catalogue.AtMost}}},
		"snapshot: column id is not filtered by words, or none are given": {Limit: 1, Where: []catalogue.Predicate{{Op: catalogue.Words, Words: []string{"a"}}}},
		"snapshot: column id: operation 9 is not known":                   {Limit: 1, Where: []catalogue.Predicate{{Op: 9}}},
		"snapshot: column lumens is compared with an unknown value":       {Limit: 1, Where: []catalogue.Predicate{{Column: columnLumens}}},
		"snapshot: a key names column 4 of 4":                             {Limit: 1, Order: []catalogue.Key{{Column: 4}}},
		"snapshot: a key names column -1 of 4":                            {Limit: 1, Order: []catalogue.Key{{Column: -1}}},
		"snapshot: column id is text and has no order":                    {Limit: 1, Order: []catalogue.Key{{}}},
	} {
		if _, err := s.Select(t.Context(), query); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSnapshotID(t *testing.T) {
	id := func(salt, data string) string {
		asOf := time.Date(2026, 5, 31, 0, 0, 0, 0, time.UTC)
		s, err := snapshot.Load(strings.NewReader(data), snapshot.Source{Name: "a.csv", Salt: []byte(salt), AsOf: asOf}, catalogue.Schema{
			Columns: []catalogue.Column{{Name: "id", Header: "id", Kind: catalogue.Text}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if info := s.Info(); info.AsOf != asOf || info.Rows != strings.Count(data, "\n")-1 {
			t.Errorf("info %+v", info)
		}
		return s.Info().Snapshot
	}
	// printf '\0\0\0\0\0\0\0\001sid\nA\n' | sha256sum
	if got, want := id("s", "id\nA\n"), "sha256:68624ebdf98c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if id("", "id\nA\n") == id("i", "id\nA\n") {
		t.Error("the salt does not change the id")
	}
}

// Command bench times Remit's in-memory snapshot beside SQLite on the same
// rows, the same questions and the same answers.
//
// Both answer every question with the whole of Remit's promise: a page with
// ranks that hold over all matches, and the exact number of matches. Before
// anything is timed the answers are compared. The rounds of both sides
// alternate in one process.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"remit.example/catalogue/snapshot"
)

func main() {
	rows := flag.Int("rows", 1_000_000, "rows of the product file")
	rounds := flag.Int("rounds", 15, "timed rounds of every question")
	seed := flag.Uint64("seed", 1, "seed of the rows")
	flag.Parse()
	if err := run(context.Background(), *rows, *rounds, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// answer is what both sides must agree on.
type answer struct {
	ids   []string
	ranks []int
	total int
}

func run(ctx context.Context, rows, rounds int, seed uint64) error {
	fmt.Printf("%d rows, %d rounds, seed %d, %s %s/%s, %d CPUs\n\n", rows, rounds, seed, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	data := generate(rows, seed)
	remit, err := measureRemit(data)
	if err != nil {
		return err
	}
	sqlite, err := measureSQLite(ctx, data)
	if err != nil {
		return err
	}
	defer sqlite.Close()

	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nwhat\tmatches\tremit median\tmin … max\tsqlite median\tmin … max\tsqlite/remit\tsqlite's indexes: page, count, better")
	for _, q := range questions(rows) {
		if q.deep {
			if err := middle(ctx, remit, &q); err != nil {
				return err
			}
		}
		theirs, indexes, err := askSQLite(ctx, sqlite, q)
		if err == nil {
			err = compare(ctx, table, q.name, askRemit(remit, q), theirs, indexes, rounds)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return table.Flush()
}

func measureRemit(data []byte) (*snapshot.Snapshot, error) {
	before, begin := memory(), time.Now()
	s, err := loadRemit(data)
	took := time.Since(begin)
	fmt.Printf("remit   load %.2f s from %d MB of CSV, memory %d MB\n", took.Seconds(), len(data)>>20, (memory()-before)>>20)
	return s, err
}

func measureSQLite(ctx context.Context, data []byte) (*sql.DB, error) {
	begin := time.Now()
	db, err := loadSQLite(ctx, data)
	if err != nil {
		return nil, err
	}
	loaded, bare := time.Now(), uint64(0)
	if bare, err = sizeSQLite(ctx, db); err != nil {
		return nil, err
	}
	if err := indexSQLite(ctx, db); err != nil {
		return nil, err
	}
	took := time.Since(loaded)
	size, err := sizeSQLite(ctx, db)
	fmt.Printf("sqlite  load %.2f s, memory %d MB; with %d candidate indexes %.2f s more, memory %d MB\n",
		loaded.Sub(begin).Seconds(), bare>>20, len(candidates), took.Seconds(), size>>20)
	return db, err
}

// compare checks that both sides give the same answer and times them in turn.
func compare(ctx context.Context, table io.Writer, name string, ours, theirs ask, indexes string, rounds int) error {
	total, err := agree(ctx, ours, theirs)
	if err != nil {
		return err
	}
	var a, b times
	for range rounds {
		if err := a.add(ctx, ours); err != nil {
			return err
		}
		if err := b.add(ctx, theirs); err != nil {
			return err
		}
	}
	fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%.1f\t%s\n", name, total, a, b, float64(b.median())/float64(a.median()), indexes)
	return nil
}

// ask gives one answer.
type ask func(ctx context.Context) (answer, error)

// agree returns the total of the answer that both sides give.
func agree(ctx context.Context, ours, theirs ask) (int, error) {
	a, err := ours(ctx)
	if err != nil {
		return 0, err
	}
	b, err := theirs(ctx)
	if err != nil {
		return 0, err
	}
	if !slices.Equal(a.ids, b.ids) || !slices.Equal(a.ranks, b.ranks) || a.total != b.total {
		return 0, fmt.Errorf("the answers differ:\nremit  %v\nsqlite %v", a, b)
	}
	return a.total, nil
}

// times are the durations of one side.
type times []time.Duration

// repeats is how often a question is asked within one measurement where it is
// too short for the clock.
const repeats = 20

func (t *times) add(ctx context.Context, ask ask) error {
	begin := time.Now()
	if _, err := ask(ctx); err != nil {
		return err
	}
	took := time.Since(begin)
	if took < time.Millisecond {
		begin = time.Now()
		for range repeats {
			if _, err := ask(ctx); err != nil {
				return err
			}
		}
		took = time.Since(begin) / repeats
	}
	*t = append(*t, took)
	return nil
}

func (t times) median() time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[len(sorted)/2]
}

// String is the median, and the least and most.
func (t times) String() string {
	return fmt.Sprintf("%s\t%s … %s", shown(t.median()), shown(slices.Min(t)), shown(slices.Max(t)))
}

func shown(d time.Duration) string {
	if d < 100*time.Microsecond {
		return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1e3)
	}
	return fmt.Sprintf("%.2f ms", float64(d.Nanoseconds())/1e6)
}

// memory is the live heap in bytes.
func memory() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// BadRows says why a file was refused. Nothing of it was loaded.
type BadRows struct {
	File string
	// Problems are in the order of the file: all of them, or the first 10,000
	// that were found.
	Problems []Problem
	Total    int // how many problems there are
}

// Problem is one thing that is wrong in a file.
type Problem struct {
	Line   int    // 1-based
	Column int    // in the line, 1-based, in code points
	Field  string // header or member name; "" where the row or the file is meant
	Wrong  string // what is wrong
	Valid  string // what would be valid
}

const (
	keptProblems    = 10_000
	printedProblems = 20
)

// Error prints the first 20 problems, one a line, and how many more there are.
func (b *BadRows) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: refused, nothing was loaded; problems: %d", b.File, b.Total)
	for _, problem := range b.Problems[:min(len(b.Problems), printedProblems)] {
		fmt.Fprintf(&text, "\n%s:%s", b.File, problem)
	}
	if more := b.Total - printedProblems; more > 0 {
		fmt.Fprintf(&text, "\nand %d more", more)
	}
	return text.String()
}

// String is line:column: field: what is wrong; what would be valid.
func (p Problem) String() string {
	field := p.Field
	if field != "" {
		field += ": "
	}
	return fmt.Sprintf("%d:%d: %s%s; %s", p.Line, p.Column, field, p.Wrong, p.Valid)
}

// report collects the problems of a file.
type report struct {
	problems []Problem
	total    int
}

func (r *report) add(problem Problem) {
	r.total++
	if len(r.problems) < keptProblems {
		r.problems = append(r.problems, problem)
	}
}

// err is a *BadRows, or nil where there is no problem.
func (r *report) err(file string) error {
	if r.total == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &BadRows{File: file, Problems: r.problems, Total: r.total}
}

// excerpt quotes a cell for a message, at most 40 code points of it.
func excerpt(text []byte) string {
	const most = 40
	end := 0
	for range most {
		_, size := utf8.DecodeRune(text[end:])
		end += size
	}
	if end < len(text) {
		return fmt.Sprintf("%q…", text[:end])
	}
	return fmt.Sprintf("%q", text)
}

// nearest lists the names that are closest to the one that was looked for,
// whatever their order.
func nearest(name string, names []string) string {
	const most = 3
	folded := cases.Fold().String(name)
	distance := make(map[string]int, len(names))
	for _, candidate := range names {
		distance[candidate] = editDistance(folded, cases.Fold().String(candidate))
	}
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b)) // the same on every run
	})
	sorted = sorted[:min(len(sorted), most)]
	for i, candidate := range sorted {
		sorted[i] = excerpt([]byte(candidate))
	}
	return strings.Join(sorted, ", ")
}

// editDistance is the Levenshtein distance in code points.
func editDistance(from, to string) int {
	a, b := []rune(from), []rune(to)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, ra := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, rb := range b {
			substituted := diagonal
			if ra != rb {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

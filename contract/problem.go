package contract

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a contract file.
type Problem struct {
	File         string
	Line, Column int    // from 1, in lines and characters
	Path         string // such as tools.search_lamps.filters; "" for the whole file
	Message      string // what is wrong and what would be valid
}

// Error is file:line:column: path: message.
func (p *Problem) Error() string {
	place := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path == "" {
		return place + p.Message
	}
	return place + p.Path + ": " + p.Message
}

// Problems is every fault of a contract file, in the order of the file.
type Problems []*Problem

// Error lists the problems, a line each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b *Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// Nearest lists the names that word most likely meant, the nearest first, at
// most three; where none is near it lists all.
func Nearest(word string, names []string) []string {
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int { return distance(word, a) - distance(word, b) })
	limit := max(2, len(word)/3)
	count := 0
	for count < len(near) && count < 3 && distance(word, near[count]) <= limit {
		count++
	}
	if count == 0 {
		return names
	}
	return near[:count]
}

// distance counts the insertions, deletions and replacements between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

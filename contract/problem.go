package contract

import (
	"cmp"
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
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
}

// The bounds of what Nearest compares and lists.
const (
	maxNear   = 3
	maxListed = 20
	maxWord   = 64
)

// Nearest lists the names that word most likely meant, the nearest first, at
// most three; where none is near it lists the names themselves, at most 20.
func Nearest(word string, names []string) []string {
	limit := max(1, (len(word)+1)/3)
	type near struct {
		name  string
		apart int
	}
	var found []near
	for _, name := range names {
		if len(word) > maxWord || len(name)-len(word) > limit || len(word)-len(name) > limit {
			continue
		}
		if apart := distance(word, name); apart <= limit {
			found = append(found, near{name, apart})
		}
	}
	if len(found) == 0 {
		return names[:min(len(names), maxListed)]
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.apart - b.apart })
	var nearest []string
	for _, f := range found[:min(len(found), maxNear)] {
		nearest = append(nearest, f.name)
	}
	return nearest
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

// Problem is a fault at a path of a contract that was read, such as one that
// only its data shows.
func (c *Contract) Problem(path, format string, args ...any) Problems {
	d := &decoder{file: c.Source.Name, places: c.places, failed: map[string]bool{}}
	d.failAt(path, format, args...)
	return d.problems
}

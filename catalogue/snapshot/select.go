package snapshot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"remit.example/catalogue"
)

// Select answers q. It returns an error for a query that the schema does not
// permit, for an After that names no row, and for a context that has ended.
func (s *Snapshot) Select(ctx context.Context, q catalogue.Query) (catalogue.Result, error) {
	if err := s.check(q); err != nil {
		return catalogue.Result{}, fmt.Errorf("snapshot: %w", err)
	}
	result := catalogue.Result{UnknownKeys: make([]int, len(q.Order))}
	matches, excludedUnknown, err := s.filter(ctx, q)
	if err != nil {
		return catalogue.Result{}, err
	}
	result.ExcludedUnknown = excludedUnknown
	s.applyUnknownKeys(&result, matches, q)
	result.Total = matches.count()
	if len(q.Order) == 0 {
		s.pageByID(&result, matches, q)
		return result, nil
	}
	err = s.pageInOrder(ctx, &result, matches, q)
	return result, err
}

// check refuses a query that the schema does not permit.
func (s *Snapshot) check(q catalogue.Query) error {
	for _, p := range q.Where {
		if p.Column < 0 || p.Column >= len(s.columns) {
			return fmt.Errorf("a predicate names column %d of %d", p.Column, len(s.columns))
		}
		column := s.schema.Columns[p.Column]
		switch p.Op {
		case catalogue.Equals:
		case catalogue.AtMost, catalogue.AtLeast:
			if column.Kind.Textual() {
				return fmt.Errorf("column %s is text and has no bounds", column.Name)
			}
		case catalogue.Words:
			if !column.Words || len(p.Words) == 0 {
				return fmt.Errorf("column %s is not filtered by words, or none are given", column.Name)
			}
			continue
		default:
			return fmt.Errorf("column %s: operation %d is not known", column.Name, p.Op)
		}
		if !p.Value.Known {
			return fmt.Errorf("column %s is compared with an unknown value", column.Name)
		}
	}
	for _, key := range q.Order {
		if key.Column < 0 || key.Column >= len(s.columns) {
			return fmt.Errorf("a key names column %d of %d", key.Column, len(s.columns))
		}
		if column := s.schema.Columns[key.Column]; column.Kind.Textual() {
			return fmt.Errorf("column %s is text and has no order", column.Name)
		}
	}
	if q.Limit < 1 && q.Limit != catalogue.All {
		return fmt.Errorf("a limit is at least 1, not %d", q.Limit)
	}
	if q.After != "" && !s.Has(q.After) {
		return errors.New("no row has the id that the page is to follow")
	}
	return nil
}

// unknownIn is the rows whose value in a column is unknown; all says that
// every row is one, whatever the bitmap.
func (s *Snapshot) unknownIn(column int, stale bool) (rows bitmap, all bool) {
	return s.columns[column].unknown, stale && s.schema.Columns[column].Volatile
}

// condition is a predicate made ready for the columns.
type condition struct {
	// keep clears the bits of rows that a known value excludes; nil where that
	// is done. The words are those of a bitmap from the word first on.
	keep    func(words []uint64, first int)
	unknown bitmap
	all     bool // every value is unknown
}

// blockWords is how many words of a bitmap, of 64 rows each, are worked on
// before the context is looked at: 64 Ki rows.
const blockWords = 1024

// filter returns the rows that satisfy every predicate and counts, for each,
// the rows that only its unknown value leaves out.
func (s *Snapshot) filter(ctx context.Context, q catalogue.Query) (matches bitmap, excludedUnknown []int, err error) {
	matches = newBitmap(s.rows)
	for i := range matches {
		matches[i] = math.MaxUint64
	}
	if tail := s.rows % wordBits; tail > 0 {
		matches[len(matches)-1] >>= wordBits - tail
	}
	conditions := make([]condition, len(q.Where))
	for i, p := range q.Where {
		c := &conditions[i]
		c.unknown, c.all = s.unknownIn(p.Column, q.Stale)
		c.keep = s.columns[p.Column].condition(p, s.rows)
		if p.Op == catalogue.Words && !c.all {
			// The index makes this the cheapest, and then fewer rows are left.
			c.keep(matches, 0)
			c.keep = nil
		}
	}
	excludedUnknown = make([]int, len(q.Where))
	for first := 0; first < len(matches); first += blockWords {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		block := matches[first:min(first+blockWords, len(matches))]
		filterBlock(block, first, conditions, excludedUnknown)
	}
	return matches, excludedUnknown, nil
}

// filterBlock applies the conditions in two steps: what known values exclude
// goes first, so that what remains is either a match or excluded only by
// unknown values.
func filterBlock(block []uint64, first int, conditions []condition, excludedUnknown []int) {
	for _, c := range conditions {
		if !c.all && c.keep != nil {
			c.keep(block, first)
		}
	}
	for i, possible := range block {
		if possible == 0 {
			continue
		}
		for j, c := range conditions {
			unknown := possible
			if !c.all {
				unknown &= c.unknown.word(first + i)
			}
			excludedUnknown[j] += bits.OnesCount64(unknown)
			block[i] &^= unknown
		}
	}
}

// condition makes one predicate ready.
func (c *column) condition(p catalogue.Predicate, rows int) func(words []uint64, first int) {
	switch {
	case p.Op == catalogue.Words:
		return c.keepHaving(p.Words, rows)
	case c.numbers == nil:
		return c.keepText(p.Value.Text)
	}
	// Every stored number lies within these ends, and the difference of two
	// numbers within them is an int64.
	const end = maxDecimal + 1
	least, most := int64(-end), int64(end)
	if p.Op != catalogue.AtMost {
		least = min(max(p.Value.Int, least), end)
	}
	if p.Op != catalogue.AtLeast {
		most = max(min(p.Value.Int, most), -end)
	}
	return c.keepBetween(least, most)
}

// few is how many rows of a word are looked at one by one; a word with more of
// them is worked on whole, without a branch per row.
const few = 4

// keepBetween keeps rows with a number from least to most and rows without a
// known one.
func (c *column) keepBetween(least, most int64) func(words []uint64, first int) {
	return func(words []uint64, first int) {
		for i, word := range words {
			if word == 0 {
				continue
			}
			begin := (first + i) * wordBits
			numbers := c.numbers[begin:min(begin+wordBits, len(c.numbers))]
			excluded := uint64(0)
			if bits.OnesCount64(word) > few {
				excluded = allOutside(numbers, least, most)
			} else {
				for rest := word; rest != 0; rest &= rest - 1 {
					bit := bits.TrailingZeros64(rest)
					excluded |= outside(numbers[bit], least, most) << bit
				}
			}
			words[i] = word &^ (excluded &^ c.unknown.word(first+i))
		}
	}
}

// allOutside has the bits of at most 64 numbers that are not from least to
// most. It is a function of its own so that the bounds stay in registers.
func allOutside(numbers []int64, least, most int64) uint64 {
	excluded := uint64(0)
	for bit, number := range numbers {
		excluded |= outside(number, least, most) << (bit & (wordBits - 1))
	}
	return excluded
}

// outside is 1 where a number is not from least to most, and else 0: the sign
// of one of two differences, found without a branch.
func outside(number, least, most int64) uint64 {
	return uint64((number-least)|(most-number)) >> 63
}

// keepText keeps rows with this text and rows without a known one.
func (c *column) keepText(text string) func(words []uint64, first int) {
	return func(words []uint64, first int) {
		for i, word := range words {
			for rest := word; rest != 0; rest &= rest - 1 {
				bit := bits.TrailingZeros64(rest)
				if row := (first+i)*wordBits + bit; c.texts.at(row) != text && !c.unknown.has(row) {
					words[i] &^= 1 << bit
				}
			}
		}
	}
}

// keepHaving keeps rows that have all the words and rows without a known text.
func (c *column) keepHaving(all []string, rows int) func(words []uint64, first int) {
	var having bitmap
	for _, word := range all {
		with := newBitmap(rows)
		for _, row := range c.words.having(word) {
			with.add(int(row))
		}
		for i := range having {
			with[i] &= having[i]
		}
		having = with
	}
	return func(words []uint64, first int) {
		for i := range words {
			words[i] &= having[first+i] | c.unknown.word(first+i)
		}
	}
}

// applyUnknownKeys counts the matches whose value in a key is unknown, and
// then takes out those that a key excludes.
func (s *Snapshot) applyUnknownKeys(result *catalogue.Result, matches bitmap, q catalogue.Query) {
	for i, word := range matches {
		kept := word
		for j, key := range q.Order {
			unknown, all := s.unknownIn(key.Column, q.Stale)
			of := word
			if !all {
				of &= unknown.word(i)
			}
			result.UnknownKeys[j] += bits.OnesCount64(of)
			if key.Unknown == catalogue.Exclude {
				kept &^= of
			}
		}
		matches[i] = kept
	}
}

// pageByID takes the rows that follow in the order of the ids.
func (s *Snapshot) pageByID(result *catalogue.Result, matches bitmap, q catalogue.Query) {
	after := -1
	if q.After != "" {
		after, _ = s.find(q.After)
	}
	for row := range matches.from(after + 1) {
		if len(result.Rows) == q.Limit {
			result.More = true
			return
		}
		result.Rows = append(result.Rows, s.answer(row, q.Stale))
	}
}

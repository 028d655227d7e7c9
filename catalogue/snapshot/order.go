package snapshot

import (
	"context"
	"slices"

	"remit.example/catalogue"
)

// direction is +1 where low numbers come first and -1, modulo 2^64, where high
// ones do.
type direction uint64

const (
	lowest  direction = 1
	highest direction = 1<<64 - 1
)

// place maps numbers to unsigned ones that ascend in the direction. noNumber
// is the only one that it maps to the largest, in both: the unknown stands
// last.
func (d direction) place(number int64) uint64 {
	return 1<<63 - 1 + uint64(d)*uint64(number)
}

// level is one key of an order.
type level struct {
	numbers   []int64
	direction direction
	key       int // its index in the query
}

// order is a query's order. Rows that are equal on every level tie; among
// them the lower row, that of the lower id, stands first.
type order []level

func (s *Snapshot) order(q catalogue.Query) order {
	var o order
	for i, key := range q.Order {
		if _, all := s.unknownIn(key.Column, q.Stale); all {
			continue // every row is unknown alike
		}
		d := lowest
		if key.Direction != catalogue.Lowest {
			d = highest
		}
		o = append(o, level{numbers: s.columns[key.Column].numbers, direction: d, key: i})
	}
	return o
}

// place is where a row stands on the level.
func (l *level) place(row int) uint64 { return l.direction.place(l.numbers[row]) }

// compare is negative where a is strictly better than b, 0 where they tie. The
// level is the one that separates them.
func (o order) compare(a, b int) (sign, level int) {
	for i := range o {
		pa, pb := o[i].place(a), o[i].place(b)
		if pa != pb {
			if pa < pb {
				return -1, i
			}
			return 1, i
		}
	}
	return 0, len(o)
}

// total compares with the rows' positions as the last level.
func (o order) total(a, b int) int {
	if sign, _ := o.compare(a, b); sign != 0 {
		return sign
	}
	return a - b
}

// best keeps the rows that stand first, of rows given in any sequence.
type best struct {
	order order
	most  int // rows to keep; catalogue.All for every one
	rows  []int
	bound int // no row after this one is kept; -1 while any is
	// limit is the bound's place on the first level, which decides on most
	// rows.
	limit uint64
}

func (b *best) add(row int) {
	if b.bound >= 0 && (len(b.order) > 0 && b.order[0].place(row) > b.limit || b.order.total(row, b.bound) > 0) {
		return
	}
	b.rows = append(b.rows, row)
	// Sorting only once the buffer has grown to twice its use costs a few
	// comparisons a row at most.
	if b.most != catalogue.All && len(b.rows) == 2*b.most {
		b.sort()
		b.bound = b.rows[b.most-1]
		if len(b.order) > 0 {
			b.limit = b.order[0].place(b.bound)
		}
	}
}

// sort leaves the best rows in their order.
func (b *best) sort() {
	slices.SortFunc(b.rows, b.order.total)
	if b.most != catalogue.All {
		b.rows = b.rows[:min(len(b.rows), b.most)]
	}
}

// scan is what one pass over the matches finds out.
type scan struct {
	best  best
	after int // the row that the page follows, or -1
	// Of the rows in relation to after:
	better, tied int
	above        int // one of the last rank that is better; -1 where there is none
}

// add looks at one match.
func (s *scan) add(row int) {
	if s.after < 0 {
		s.best.add(row)
		return
	}
	sign, _ := s.best.order.compare(row, s.after)
	switch {
	case sign < 0:
		s.better++
		if s.above < 0 {
			s.above = row
		} else if sign, _ := s.best.order.compare(row, s.above); sign > 0 {
			s.above = row
		}
		return
	case sign == 0:
		s.tied++
		if row <= s.after {
			return
		}
	}
	s.best.add(row)
}

// pageInOrder takes the rows that follow in the query's order and gives each
// its place among all matches.
func (s *Snapshot) pageInOrder(ctx context.Context, result *catalogue.Result, matches bitmap, q catalogue.Query) error {
	pass := scan{best: best{order: s.order(q), most: q.Limit, bound: -1}, after: -1, above: -1}
	if q.After != "" {
		pass.after, _ = s.find(q.After)
	}
	if q.Limit != catalogue.All {
		// One row more tells whether any follows.
		pass.best.most++
		if q.KeepTies {
			pass.best.most = max(q.Limit, catalogue.MaxTies) + 1
		}
	}
	if err := matches.each(ctx, pass.add); err != nil {
		return err
	}
	pass.best.sort()
	length := pass.best.pageLength(q)
	result.More = length < len(pass.best.rows)
	result.TieGoesOn = result.More && length > 0 && pass.best.tie(length-1, length)
	return s.place(ctx, result, &pass, length, matches, q)
}

// pageLength is how many of the best rows the page holds.
func (b *best) pageLength(q catalogue.Query) int {
	if q.Limit == catalogue.All || len(b.rows) <= q.Limit {
		return len(b.rows)
	}
	length := q.Limit
	for q.KeepTies && length < min(len(b.rows), catalogue.MaxTies) && b.tie(length-1, length) {
		length++
	}
	return length
}

// tie reports whether the best rows at two positions share their rank.
func (b *best) tie(i, j int) bool {
	sign, _ := b.order.compare(b.rows[i], b.rows[j])
	return sign == 0
}

// place fills the result's rows. Ranks go on from the row that the page
// follows: a page holds consecutive rows, so that each rank is the one before
// plus the number of rows that share that one.
func (s *Snapshot) place(ctx context.Context, result *catalogue.Result, pass *scan, length int, matches bitmap, q catalogue.Query) error {
	b := &pass.best
	rank, above := 1, pass.above
	joins := false // the first rank of the page begins before it
	if pass.after >= 0 && length > 0 {
		rank += pass.better
		sign, _ := b.order.compare(b.rows[0], pass.after)
		joins = sign == 0
		if !joins && pass.tied > 0 {
			rank += pass.tied
			above = pass.after
		}
	}
	for begin := 0; begin < length; {
		end := begin + 1
		for end < length && b.tie(begin, end) {
			end++
		}
		tied := end - begin
		switch {
		case joins && begin == 0:
			tied = pass.tied
		case end == length && end < len(b.rows) && b.tie(begin, end):
			var err error
			if tied, err = b.order.countTied(ctx, b.rows[begin], matches); err != nil {
				return err
			}
		}
		decided := -1
		if above >= 0 {
			_, level := b.order.compare(above, b.rows[begin])
			decided = b.order[level].key
		}
		for _, row := range b.rows[begin:end] {
			answer := s.answer(row, q.Stale)
			answer.Rank, answer.Tied, answer.DecidedBy = rank, tied, decided
			result.Rows = append(result.Rows, answer)
		}
		rank += tied
		above = b.rows[begin]
		begin = end
	}
	return nil
}

// countTied counts the matches that tie with a row.
func (o order) countTied(ctx context.Context, row int, matches bitmap) (int, error) {
	tied := 0
	err := matches.each(ctx, func(other int) {
		if sign, _ := o.compare(row, other); sign == 0 {
			tied++
		}
	})
	return tied, err
}

package snapshot

import (
	"context"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"

	"remit.example/catalogue"
)

// noNumber stands for an unknown value in a column's numbers. The loader
// accepts no value that is as small.
const noNumber = math.MinInt64

// column holds the values of one column by row.
type column struct {
	numbers []int64 // of every kind but Text and URL; noNumber where unknown
	texts   texts   // of Text and URL; "" where unknown
	unknown bitmap  // nil where every row has a value
	words   words   // of a column that is filtered by words
}

// value is the column's value in one row.
func (c *column) value(row int) catalogue.Value {
	switch {
	case c.unknown.has(row):
		return catalogue.Value{}
	case c.numbers != nil:
		return catalogue.Value{Known: true, Int: c.numbers[row]}
	}
	return catalogue.Value{Known: true, Text: c.texts.at(row)}
}

// bitmap is a set of rows; nil is the empty set.
type bitmap []uint64

// wordBits is how many rows one word of a bitmap holds.
const wordBits = 64

func newBitmap(rows int) bitmap { return make(bitmap, (rows+wordBits-1)/wordBits) }

func (b bitmap) has(row int) bool {
	return b != nil && b[row/wordBits]>>(row%wordBits)&1 == 1
}

func (b bitmap) add(row int) { b[row/wordBits] |= 1 << (row % wordBits) }

func (b bitmap) count() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// word is the set's rows from 64·i on.
func (b bitmap) word(i int) uint64 {
	if b == nil {
		return 0
	}
	return b[i]
}

// from yields the rows from begin on in ascending order.
func (b bitmap) from(begin int) iter.Seq[int] {
	return func(yield func(row int) bool) {
		for i := begin / wordBits; i < len(b); i++ {
			word := b[i]
			if i == begin/wordBits {
				word &= math.MaxUint64 << (begin % wordBits)
			}
			for ; word != 0; word &= word - 1 {
				if !yield(i*wordBits + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// strideWords is how many words each visits at a stretch: 4,096 rows.
const strideWords = 64

// each visits every row once, in stretches that are spread over the whole set.
// A column whose values rise or fall with the ids would otherwise make nearly
// every row the best so far.
func (b bitmap) each(ctx context.Context, visit func(row int)) error {
	stretches := (len(b) + strideWords - 1) / strideWords
	step := coprime(stretches)
	for i, stretch := 0, 0; i < stretches; i, stretch = i+1, (stretch+step)%stretches {
		if err := ctx.Err(); err != nil {
			return err
		}
		begin := stretch * strideWords
		for j, word := range b[begin:min(begin+strideWords, len(b))] {
			for ; word != 0; word &= word - 1 {
				visit((begin+j)*wordBits + bits.TrailingZeros64(word))
			}
		}
	}
	return nil
}

// coprime is a number near n divided by the golden ratio that has no factor in
// common with n: steps of that length, modulo n, reach everything and stay
// evenly spread.
func coprime(n int) int {
	step := n*618/1000 + 1
	for gcd(step, n) != 1 {
		step++
	}
	return step
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// texts holds texts one after another.
type texts struct {
	all  string
	ends []uint32 // where the text of each row ends in all
}

// maxTexts bounds the bytes of a column's texts.
const maxTexts = math.MaxUint32

func (t *texts) at(row int) string {
	start := uint32(0)
	if row > 0 {
		start = t.ends[row-1]
	}
	return t.all[start:t.ends[row]]
}

// textBuilder collects texts.
type textBuilder struct {
	all  strings.Builder
	ends []uint32
}

// add appends the next row's text; false where the column is full.
func (b *textBuilder) add(text []byte) bool {
	if b.all.Len()+len(text) > maxTexts {
		return false
	}
	b.all.Write(text)
	b.ends = append(b.ends, uint32(b.all.Len()))
	return true
}

func (b *textBuilder) texts() texts { return texts{all: b.all.String(), ends: b.ends} }

// reordered holds the texts in another order of the rows.
func (t *texts) reordered(order []uint32) texts {
	var all strings.Builder
	all.Grow(len(t.all))
	ends := make([]uint32, len(order))
	for i, row := range order {
		all.WriteString(t.at(int(row)))
		ends[i] = uint32(all.Len())
	}
	return texts{all: all.String(), ends: ends}
}

// words finds the rows that have a word in the column's text.
type words struct {
	index map[string]uint32 // number of each word
	rows  []uint32          // the rows of each word, one word after another
	ends  []uint32          // where the rows of each word end
}

// indexWords numbers the words of every text in order of their first
// occurrence, counts them, and then lays out the rows of each.
func indexWords(t *texts, rows int) words {
	w := words{index: map[string]uint32{}}
	var occurrences []uint32 // word numbers, row after row
	perRow := make([]uint32, rows)
	for row := range rows {
		before := len(occurrences)
		for _, word := range catalogue.WordsOf(t.at(row)) {
			number, known := w.index[word]
			if !known {
				number = uint32(len(w.ends))
				w.index[strings.Clone(word)] = number
				w.ends = append(w.ends, 0)
			}
			if !slices.Contains(occurrences[before:], number) {
				occurrences = append(occurrences, number)
				w.ends[number]++
			}
		}
		perRow[row] = uint32(len(occurrences) - before)
	}
	w.lay(occurrences, perRow)
	return w
}

// lay sorts the occurrences by word. Until then ends holds counts.
func (w *words) lay(occurrences, perRow []uint32) {
	start := uint32(0)
	for number, n := range w.ends {
		w.ends[number] = start
		start += n
	}
	w.rows = make([]uint32, len(occurrences))
	for row, n := range perRow {
		for _, number := range occurrences[:n] {
			w.rows[w.ends[number]] = uint32(row)
			w.ends[number]++
		}
		occurrences = occurrences[n:]
	}
}

// having is the rows whose text has the word, in ascending order.
func (w *words) having(word string) []uint32 {
	number, known := w.index[word]
	if !known {
		return nil
	}
	start := uint32(0)
	if number > 0 {
		start = w.ends[number-1]
	}
	return w.rows[start:w.ends[number]]
}

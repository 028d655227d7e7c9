package catalogue

import (
	"context"
	"time"
)

// Kind is the type of a column's values as an engine stores them.
type Kind uint8

// The kinds. Everything but Text and URL is a 64-bit integer: a Decimal is
// scaled by its column's Scale, a Money value is in minor units, a Boolean is
// 0 or 1.
const (
	Text Kind = iota
	URL
	Integer
	Decimal
	Money
	Boolean
)

// Textual reports whether values of the kind are text.
func (k Kind) Textual() bool { return k == Text || k == URL }

// Column is one typed column: all that a loader and an engine need to know.
type Column struct {
	Name     string // the column's name in the contract
	Member   string // its name in answers: a money column price is price_minor
	Header   string // the file's header or member name
	Kind     Kind
	Scale    int    // decimal digits: of a Decimal, or of a Money column's currency
	Currency string // ISO 4217, Money only
	// FromDecimal says that the file writes money as decimal text (49.99, or
	// 49.99 EUR) and not as whole minor units.
	FromDecimal bool
	// Unknown holds the texts that stand for an unknown value; nil means that
	// every row has a value. In JSON sources null and an absent member are
	// unknown too where Unknown is not nil.
	Unknown []string
	// True and False are the texts of a Boolean's values.
	True, False []string
	// Volatile values count as unknown once the data is stale.
	Volatile bool
	Show     bool // every item of an answer carries it
	Words    bool // some tool filters it by words
}

// Schema is the typed shape of a source.
type Schema struct {
	Columns []Column // in the contract's order
	ID      int      // index of the id column, whose Kind is Text
}

// Value is one cell. A Value that is not Known has no other content.
type Value struct {
	Known bool
	Int   int64  // of every kind but Text and URL
	Text  string // of Text and URL: NFC
}

// Op is how a predicate compares a column with its operand.
type Op uint8

// The operations. An unknown value satisfies none of them.
const (
	Equals  Op = iota // Int, or Text byte for byte
	AtMost            // inclusive
	AtLeast           // inclusive
	Words             // every one of Predicate.Words is a word of the text
)

// Predicate is one condition on one column.
type Predicate struct {
	Column int // index into Schema.Columns
	Op     Op
	Value  Value    // of Equals, AtMost, AtLeast
	Words  []string // of Words: as WordsOf returns them, at least one
}

// Direction is which values of a column come first.
type Direction uint8

// The directions; TrueFirst is for a Boolean.
const (
	Lowest Direction = iota
	Highest
	TrueFirst
)

// Policy says what becomes of a row whose preferred value is unknown.
type Policy uint8

// The policies.
const (
	Last    Policy = iota // after every known value, unknowns sharing their place
	Exclude               // not in the order; counted
	Reject                // the caller refuses the order where UnknownKeys is not 0
)

// Key is one level of an order. Orders are lexicographic: a later key speaks
// only where all earlier ones tie.
type Key struct {
	Column    int
	Direction Direction
	Unknown   Policy
}

// Query asks an engine for one page of the rows that satisfy every predicate.
type Query struct {
	Where []Predicate
	// Order is the order asked for; rows that are equal in it, or all rows
	// where it is empty, stand in ascending byte order of their ids.
	Order []Key
	// Stale makes every volatile column unknown in every row.
	Stale bool
	// After is the id of the last row of the previous page; "" asks for the first.
	After string
	// Limit is the most rows to return, at least 1; All returns every row.
	Limit int
	// KeepTies extends the page beyond Limit, to at most MaxTies rows in all,
	// so that it does not end within a tie. Without an Order it changes nothing.
	KeepTies bool
}

// All as a Query's Limit asks for every row.
const All = -1

// MaxTies bounds a page that KeepTies extends, in rows.
const MaxTies = 100

// Row is one row of an answer, with its place in the order.
type Row struct {
	ID     string
	Values []Value // of every column, in the schema's order; stale volatile ones unknown
	// Rank is 1 + the number of rows that are strictly better, over all
	// matches and not this page alone. 0 where the query has no Order.
	Rank int
	// Tied is how many matches share the rank, this row included. 0 where the
	// query has no Order.
	Tied int
	// DecidedBy is the index of the first key that separates this row from the
	// rank above it, on this page or an earlier one; -1 in the first rank, and
	// where the query has no Order.
	DecidedBy int
}

// Result is one page and the counts over all matches.
type Result struct {
	Rows  []Row
	Total int // exact count of matches (without the rows that a key Excludes)
	// ExcludedUnknown counts, per predicate of the query, the rows that no
	// known value excludes and whose value for this predicate is unknown.
	ExcludedUnknown []int
	// UnknownKeys counts, per key of the order, the rows that satisfy every
	// predicate and whose value for this key is unknown, whatever the policy of
	// this key or another.
	UnknownKeys []int
	// More says that matches follow the last row.
	More bool
	// TieGoesOn says that the match that follows the last row shares its rank.
	// False without an order.
	TieGoesOn bool
}

// Info describes an engine's immutable content.
type Info struct {
	Snapshot string    // "sha256:" and 12 hexadecimal digits
	AsOf     time.Time // when the data was true; zero where it is not known
	Rows     int
}

// Engine answers queries over one immutable snapshot. Engines may be used by
// several goroutines at once, and every engine gives the same Result: ranks,
// totals and counts follow from the definitions in this file alone.
type Engine interface {
	Schema() Schema
	Info() Info
	// Select answers q. These are errors: an After that names no row of the
	// snapshot, a limit below 1 that is not All, a bound or key on a text
	// column, Words on a column that is not filtered by words, an operand that
	// is not Known, and a column or operation that does not exist.
	Select(ctx context.Context, q Query) (Result, error)
	// Lookup finds the row with this id; stale as in Query.
	Lookup(ctx context.Context, id string, stale bool) (Row, bool, error)
}

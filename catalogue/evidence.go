package catalogue

import (
	"time"

	"remit.example/contract"
)

// Number is an exact decimal.
type Number = contract.Number

// ParseNumber reads a decimal such as -0.0054.
func ParseNumber(text string) (Number, error) { return contract.ParseNumber(text) }

// EvidenceRecord is one evidence record: that properties of one product were
// established, by whom, how, when and until when. A record is superseded,
// never edited. Marketing text is never evidence.
type EvidenceRecord struct {
	ID            string // unique
	Product       string // the product's id
	Scope         string // model, batch or item; "" where not stated
	Properties    map[string]Measurement
	Method        string // method, standard and edition
	PerformedBy   string
	AssessorLevel string    // self, buyer or third_party
	PerformedAt   time.Time // zero where no date is known
	ValidUntil    time.Time // zero where none is stated
	Source        string    // URI
	SourceSHA256  string
	Licence       string
	Status        string // active, superseded or withdrawn
}

// Measurement is a property's exact value.
type Measurement struct {
	Value       Number
	Uncertainty *Number // half-width around Value; nil where none is stated
	Unit        string
}

// Evidence holds the records of a snapshot by product id, each product's in
// the order of the file.
type Evidence map[string][]EvidenceRecord

package snapshot

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"remit.example/catalogue"
)

// The columns of an evidence file that are not properties.
const (
	columnRecord        = "record"
	columnProduct       = "product"
	columnMethod        = "method"
	columnPerformedBy   = "performed_by"
	columnAssessorLevel = "assessor_level"
	columnScope         = "scope"
	columnPerformedAt   = "performed_at"
	columnValidUntil    = "valid_until"
	columnSource        = "source"
	columnSourceSHA256  = "source_sha256"
	columnLicence       = "licence"
	columnStatus        = "status"

	suffixUncertainty = "_uncertainty"
	suffixUnit        = "_unit"
)

var (
	requiredColumns = []string{columnRecord, columnProduct, columnMethod, columnPerformedBy, columnAssessorLevel}
	optionalColumns = []string{columnScope, columnPerformedAt, columnValidUntil, columnSource, columnSourceSHA256, columnLicence, columnStatus}
)

// LoadEvidence reads an evidence file: one record a row, in the same formats
// and with the same strictness as Load; source's AsOf and Salt are not used.
// In JSON null and an absent member are blank.
//
// The columns record (unique), product, method, performed_by and
// assessor_level (self, buyer or third_party) must have a value in every row.
// The columns scope (model, batch or item), performed_at, valid_until, source,
// source_sha256 (64 hexadecimal digits), licence and status (active,
// superseded or withdrawn; blank for active) may be absent or blank. A date is
// 2026-05-31 or an RFC 3339 date-time; a date alone means its whole day in
// UTC: performed_at is the day's begin, valid_until its last nanosecond.
//
// Each of properties must be a column. It holds exact decimals as
// catalogue.ParseNumber reads them, blank where the record does not establish
// the property. A column <property>_uncertainty may hold the half-width of an
// interval around the value, 0 or more, and <property>_unit the unit.
//
// A product for which products is false is a problem as any other. A file that
// is not valid as a whole gives a *BadRows.
func LoadEvidence(r io.Reader, source Source, properties []string, products func(id string) bool) (catalogue.Evidence, error) {
	source, err := source.complete()
	if err != nil {
		return nil, err
	}
	l, err := newEvidenceLoader(properties, products)
	if err != nil {
		return nil, err
	}
	rows, err := source.open(newDigest(r, nil), l.wanted, &l.report)
	if err == nil {
		err = eachRow(rows, l.take)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source.Name, err)
	}
	if err := l.report.err(source.Name); err != nil {
		return nil, err
	}
	return l.evidence, nil
}

// evidenceLoader reads records.
type evidenceLoader struct {
	report     report
	wanted     []want
	indexes    map[string]int // of the wanted columns
	properties []string
	products   func(id string) bool
	lines      map[string]int // of the records, by their ids
	evidence   catalogue.Evidence
	row        *row // the row that is being read
}

func newEvidenceLoader(properties []string, products func(id string) bool) (*evidenceLoader, error) {
	l := &evidenceLoader{
		indexes: map[string]int{}, properties: properties, products: products,
		lines: map[string]int{}, evidence: catalogue.Evidence{},
	}
	add := func(name string, optional bool) error {
		if _, twice := l.indexes[name]; twice {
			return fmt.Errorf("snapshot: the evidence column %s has two meanings: another name for the property is needed", name)
		}
		l.indexes[name] = len(l.wanted)
		l.wanted = append(l.wanted, want{name: name, optional: optional})
		return nil
	}
	var errs []error
	for _, name := range requiredColumns {
		errs = append(errs, add(name, false))
	}
	for _, name := range optionalColumns {
		errs = append(errs, add(name, true))
	}
	for _, property := range properties {
		errs = append(errs, add(property, false), add(property+suffixUncertainty, true), add(property+suffixUnit, true))
	}
	return l, errors.Join(errs...)
}

// take reads one record.
func (l *evidenceLoader) take(r *row) error {
	l.row = r
	record := catalogue.EvidenceRecord{
		ID:            l.required(columnRecord, "the id of the record"),
		Product:       l.required(columnProduct, "the id of a product"),
		Method:        l.required(columnMethod, "a method with its standard and edition"),
		PerformedBy:   l.required(columnPerformedBy, "the name of who performed it"),
		AssessorLevel: l.word(columnAssessorLevel, "self", "buyer", "third_party"),
		Scope:         l.word(columnScope, "model", "batch", "item", ""),
		PerformedAt:   l.time(columnPerformedAt, false),
		ValidUntil:    l.time(columnValidUntil, true),
		Source:        l.text(columnSource),
		SourceSHA256:  l.hash(columnSourceSHA256),
		Licence:       l.text(columnLicence),
		Status:        l.word(columnStatus, "active", "superseded", "withdrawn", ""),
		Properties:    map[string]catalogue.Measurement{},
	}
	if record.Status == "" {
		record.Status = "active"
	}
	for _, property := range l.properties {
		if measurement, established := l.measurement(property); established {
			record.Properties[property] = measurement
		}
	}
	l.check(record)
	l.evidence[record.Product] = append(l.evidence[record.Product], record)
	return nil
}

// check compares the record with the others, the products and itself.
func (l *evidenceLoader) check(record catalogue.EvidenceRecord) {
	if first, twice := l.lines[record.ID]; twice {
		l.bad(columnRecord, fmt.Sprintf("the id %s is that of line %d too", excerpt([]byte(record.ID)), first), "ids that differ are valid")
	} else if record.ID != "" {
		l.lines[record.ID] = l.row.line
	}
	if record.Product != "" && !l.products(record.Product) {
		l.bad(columnProduct, excerpt([]byte(record.Product))+" is not a product", "the id of a product in the catalogue is valid")
	}
	if !record.ValidUntil.IsZero() && record.ValidUntil.Before(record.PerformedAt) {
		l.bad(columnValidUntil, "the validity ends before the record was made", "a date that is not before performed_at is valid")
	}
}

func (l *evidenceLoader) bad(name, wrong, valid string) {
	l.report.add(l.row.problem(l.row.fields[l.indexes[name]].offset, name, wrong, valid))
}

// text is a cell's text in NFC; "" where it is blank.
func (l *evidenceLoader) text(name string) string {
	field := l.row.fields[l.indexes[name]]
	switch field.shape {
	case absent, null:
		return ""
	case nested, boolean:
		l.bad(name, "the value is not a text or number", "a text or number is valid")
		return ""
	}
	if !utf8.Valid(field.text) || strings.ContainsRune(string(field.text), 0) {
		l.bad(name, excerpt(field.text)+" is not UTF-8 without NUL", "a text in UTF-8 is valid")
		return ""
	}
	return norm.NFC.String(string(field.text))
}

// required is the text of a cell that may not be blank.
func (l *evidenceLoader) required(name, meaning string) string {
	before := l.report.total
	text := l.text(name)
	if text == "" && l.report.total == before {
		l.bad(name, "the cell is blank", meaning+" is valid")
	}
	return text
}

// word is a cell's text, one of a closed list.
func (l *evidenceLoader) word(name string, valid ...string) string {
	before := l.report.total
	text := l.text(name)
	if l.report.total > before || slices.Contains(valid, text) {
		return text
	}
	l.bad(name, excerpt([]byte(text))+" is not known", "one of "+quoted(valid)+" is valid")
	return ""
}

// hash is a cell's text, blank or 64 hexadecimal digits.
func (l *evidenceLoader) hash(name string) string {
	text := l.text(name)
	if text != "" && (len(text) != 64 || strings.Trim(text, "0123456789abcdefABCDEF") != "") {
		l.bad(name, excerpt([]byte(text))+" is not a SHA-256", "64 hexadecimal digits are valid")
		return ""
	}
	return strings.ToLower(text)
}

// time is a date's begin or end, or a point in time; zero for a blank.
func (l *evidenceLoader) time(name string, end bool) time.Time {
	text := l.text(name)
	if text == "" {
		return time.Time{}
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if end {
			return day.AddDate(0, 0, 1).Add(-1)
		}
		return day
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		l.bad(name, excerpt([]byte(text))+" is not a date", "a date such as 2026-05-31 or 2026-05-31T12:00:00Z is valid")
	}
	return at
}

// measurement is what the record establishes of a property.
func (l *evidenceLoader) measurement(property string) (catalogue.Measurement, bool) {
	value := l.decimal(property)
	uncertainty := l.decimal(property + suffixUncertainty)
	switch {
	case uncertainty == nil:
	case uncertainty.Rat().Sign() < 0:
		l.bad(property+suffixUncertainty, "the uncertainty is negative", "a half-width of 0 or more is valid")
	case value == nil:
		l.bad(property+suffixUncertainty, "the uncertainty has no value", "a value of "+property+" beside it, or a blank, is valid")
	}
	unit := l.text(property + suffixUnit)
	if value == nil {
		return catalogue.Measurement{}, false
	}
	return catalogue.Measurement{Value: *value, Uncertainty: uncertainty, Unit: unit}, true
}

// decimal is a cell's exact number; nil for a blank.
func (l *evidenceLoader) decimal(name string) *catalogue.Number {
	text := l.text(name)
	if text == "" {
		return nil
	}
	number, err := catalogue.ParseNumber(text)
	if err != nil {
		l.bad(name, err.Error(), "a decimal such as 90 or -0.0054, or a blank, is valid")
		return nil
	}
	return &number
}

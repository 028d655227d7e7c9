package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit.example/record"
)

// scalar is a type that one scalar of the file is read into.
type scalar interface {
	// fromText reads a scalar's text; an error says what would be valid.
	fromText(text string) error
}

// worded is a scalar that accepts a closed list of words.
type worded interface{ words() []string }

// patterned is a scalar whose text matches a pattern, for the JSON Schema.
type patterned interface{ pattern() string }

// Token is the source text of any scalar but null: 0017 stays 0017.
type Token string

func (t *Token) fromText(text string) error { *t = Token(text); return nil }

// Promise is what kind of answer a tool gives.
type Promise string

// The promises.
const (
	Search            Promise = "search"
	RankPreferences   Promise = "rank_preferences"
	AssessSuitability Promise = "assess_suitability"
	Lookup            Promise = "lookup"
	Command           Promise = "command"
)

// Type is the type of a column.
type Type string

// The column types.
const (
	Text    Type = "text"
	URL     Type = "url"
	Integer Type = "integer"
	Decimal Type = "decimal"
	Money   Type = "money"
	Boolean Type = "boolean"
)

// InputType is the JSON type of an argument or member.
type InputType string

// Direction is which values of a column come first.
type Direction string

// The directions.
const (
	Lowest    Direction = "lowest"
	Highest   Direction = "highest"
	TrueFirst Direction = "true"
)

// FilterOp is how a filter compares.
type FilterOp string

// The filter operations; bounds are inclusive.
const (
	Equals FilterOp = "equals"
	Min    FilterOp = "min"
	Max    FilterOp = "max"
	Words  FilterOp = "words"
)

// UnknownPolicy says what becomes of an unknown value in an order.
type UnknownPolicy string

// The policies.
const (
	UnknownLast    UnknownPolicy = "last"
	UnknownExclude UnknownPolicy = "exclude"
	UnknownReject  UnknownPolicy = "reject"
)

// AnswerFormat is the format of a catalogue tool's answers.
type AnswerFormat string

// The answer formats.
const (
	CatalogueV1 AnswerFormat = "catalogue-v1"
	CatalogueV2 AnswerFormat = "catalogue-v2"
)

// RecordFormat is the form of the failure record.
type RecordFormat string

// The record forms.
const (
	RecoveryV1 RecordFormat = "recovery-v1"
	RecoveryV2 RecordFormat = "recovery-v2"
)

// Format is how a data file is written.
type Format string

// The formats of a file.
const (
	formatCSV   Format = "csv"
	formatJSONL Format = "jsonl"
	formatJSON  Format = "json"
)

// MoneyForm is how a file writes money.
type MoneyForm string

// The money forms.
const (
	FromDecimal MoneyForm = "decimal"
	FromMinor   MoneyForm = "minor"
)

// Reads is who may call tools that have no effect.
type Reads string

// Anonymous as Reads permits callers without a token.
const Anonymous Reads = "anonymous"

// Method is an HTTP request method.
type Method string

// Mode is what a guard does with its decisions.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce"
	Observe Mode = "observe"
)

// KeyBy is who makes the operation key of a write.
type KeyBy string

// Who makes a key.
const (
	ByGuard  KeyBy = "guard"
	ByCaller KeyBy = "caller"
)

// AssessorLevel is who performed an assessment.
type AssessorLevel string

// EvidenceScope is what an evidence record speaks of.
type EvidenceScope string

// Fact is something that happened instead of a response.
type Fact string

// The facts.
const (
	NoAnswer   Fact = "no_answer"
	Unreadable Fact = "unreadable"
)

func (*Promise) words() []string {
	return texts(Search, RankPreferences, AssessSuitability, Lookup, Command)
}
func (*Type) words() []string          { return texts(Text, URL, Integer, Decimal, Money, Boolean) }
func (*InputType) words() []string     { return texts(inputText, inputInteger, inputBoolean) }
func (*Direction) words() []string     { return texts(Lowest, Highest, TrueFirst) }
func (*FilterOp) words() []string      { return texts(Equals, Min, Max, Words) }
func (*UnknownPolicy) words() []string { return texts(UnknownLast, UnknownExclude, UnknownReject) }
func (*AnswerFormat) words() []string  { return texts(CatalogueV1, CatalogueV2) }
func (*RecordFormat) words() []string  { return texts(RecoveryV1, RecoveryV2) }
func (*Format) words() []string        { return texts(formatCSV, formatJSONL, formatJSON) }
func (*MoneyForm) words() []string     { return texts(FromDecimal, FromMinor) }
func (*Reads) words() []string         { return texts(Anonymous) }
func (*Effect) words() []string        { return texts(record.Effects()...) }
func (*AssessorLevel) words() []string { return []string{"self", "buyer", "third_party"} }
func (*EvidenceScope) words() []string { return []string{"model", "batch", "item"} }
func (*Fact) words() []string          { return texts(NoAnswer, Unreadable) }
func (*Mode) words() []string          { return texts(Enforce, Observe) }
func (*KeyBy) words() []string         { return texts(ByGuard, ByCaller) }
func (*Method) words() []string {
	return []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
}

func (p *Promise) fromText(s string) error       { return oneOf(p, s, p.words()) }
func (t *Type) fromText(s string) error          { return oneOf(t, s, t.words()) }
func (t *InputType) fromText(s string) error     { return oneOf(t, s, t.words()) }
func (d *Direction) fromText(s string) error     { return oneOf(d, s, d.words()) }
func (o *FilterOp) fromText(s string) error      { return oneOf(o, s, o.words()) }
func (p *UnknownPolicy) fromText(s string) error { return oneOf(p, s, p.words()) }
func (f *AnswerFormat) fromText(s string) error  { return oneOf(f, s, f.words()) }
func (f *RecordFormat) fromText(s string) error  { return oneOf(f, s, f.words()) }
func (f *Format) fromText(s string) error        { return oneOf(f, s, f.words()) }
func (f *MoneyForm) fromText(s string) error     { return oneOf(f, s, f.words()) }
func (r *Reads) fromText(s string) error         { return oneOf(r, s, r.words()) }
func (e *Effect) fromText(s string) error        { return oneOf(e, s, e.words()) }
func (l *AssessorLevel) fromText(s string) error { return oneOf(l, s, l.words()) }
func (c *EvidenceScope) fromText(s string) error { return oneOf(c, s, c.words()) }
func (f *Fact) fromText(s string) error          { return oneOf(f, s, f.words()) }
func (m *Method) fromText(s string) error        { return oneOf(m, s, m.words()) }
func (m *Mode) fromText(s string) error          { return oneOf(m, s, m.words()) }
func (k *KeyBy) fromText(s string) error         { return oneOf(k, s, k.words()) }

func texts[T ~string](values ...T) []string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = string(value)
	}
	return list
}

func oneOf[T ~string](into *T, text string, words []string) error {
	if !slices.Contains(words, text) {
		return fmt.Errorf("%s is not one of: %s", shown(text), strings.Join(words, ", "))
	}
	*into = T(text)
	return nil
}

var codeText = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

func (*Code) pattern() string { return codeText.String() }

func (c *Code) fromText(text string) error {
	if !codeText.MatchString(text) {
		return fmt.Errorf("%s is no code; write capital letters, digits and underscores, such as %s", shown(text), record.TempUnavailable)
	}
	*c = Code(text)
	return nil
}

// Status is an HTTP status.
type Status int

func (*Status) pattern() string { return "^[1-5][0-9][0-9]$" }

func (s *Status) fromText(text string) error {
	status, err := strconv.Atoi(text)
	if err != nil || status < 100 || status > 599 || len(text) != 3 {
		return fmt.Errorf("%s is no HTTP status; write one from 100 to 599", shown(text))
	}
	*s = Status(status)
	return nil
}

// ErrorCode is the code of a JSON-RPC error.
type ErrorCode int

var errorCode = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,8})$`)

func (*ErrorCode) pattern() string { return errorCode.String() }

func (e *ErrorCode) fromText(text string) error {
	code, err := strconv.Atoi(text)
	if err != nil || !errorCode.MatchString(text) {
		return fmt.Errorf("%s is no code of a JSON-RPC error; write a whole number, such as -32602", shown(text))
	}
	*e = ErrorCode(code)
	return nil
}

func (*Number) pattern() string { return decimalText.String() }

func (n *Number) fromText(text string) error {
	number, err := ParseNumber(text)
	*n = number
	return err
}

// Duration is a length of time as the file writes it.
type Duration time.Duration

const durationPattern = `^[1-9][0-9]*(ms|s|m|h|d)$`

var durationText = regexp.MustCompile(durationPattern)

// units of a Duration and of the time in a Rate.
var units = map[string]time.Duration{
	"ms": time.Millisecond,
	"s":  time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	"second": time.Second, "min": time.Minute, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

func (*Duration) pattern() string { return durationPattern }

func (d *Duration) fromText(text string) error {
	length, err := parseDuration(text)
	*d = Duration(length)
	return err
}

func parseDuration(text string) (time.Duration, error) {
	invalid := fmt.Errorf("%s is no length of time; write a whole number and ms, s, m, h or d, such as 24h", shown(text))
	match := durationText.FindStringSubmatch(text)
	if match == nil {
		return 0, invalid
	}
	count, err := strconv.ParseInt(strings.TrimSuffix(text, match[1]), 10, 64)
	unit := units[match[1]]
	if err != nil || count > int64(100*365*24*time.Hour/unit) {
		return 0, fmt.Errorf("%s is longer than 100 years", shown(text))
	}
	return time.Duration(count) * unit, nil
}

// waitUnits are the names of the groups that capture a wait.
var waitUnits = map[string]time.Duration{"seconds": time.Second, "milliseconds": time.Millisecond, "minutes": time.Minute}

func (*Wait) pattern() string { return "^(seconds|milliseconds|minutes)$|" + durationPattern }

func (w *Wait) fromText(text string) error {
	if waitUnits[text] != 0 {
		w.Group = text
		return nil
	}
	length, err := parseDuration(text)
	if err != nil {
		return fmt.Errorf("%w, or the group of when.text that captures it: seconds, milliseconds or minutes", err)
	}
	w.Fixed = Duration(length)
	return nil
}

func (*MaxAge) pattern() string { return "^none$|" + durationPattern }

func (m *MaxAge) fromText(text string) error {
	if text == "none" {
		return nil
	}
	limit, err := parseDuration(text)
	if err != nil {
		return fmt.Errorf("%w, or none", err)
	}
	m.Limit = limit
	return nil
}

// Rate is a number of calls in a length of time.
type Rate struct {
	Count int // at least 1
	Per   time.Duration
}

var rateText = regexp.MustCompile(`^([1-9][0-9]{0,8})/(s|second|min|minute|h|hour|d|day)$`)

func (*Rate) pattern() string { return rateText.String() }

func (r *Rate) fromText(text string) error {
	match := rateText.FindStringSubmatch(text)
	if match == nil {
		return fmt.Errorf("%s is no rate; write a number of calls and s, min, h or d, such as 30/min", shown(text))
	}
	count, err := strconv.Atoi(match[1])
	if err != nil {
		return err
	}
	*r = Rate{Count: count, Per: units[match[2]]}
	return nil
}

func (a *AsOf) fromText(text string) error {
	if text == "file" {
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			a.Time = at.UTC()
			return nil
		}
	}
	return fmt.Errorf("%s is no point in time; write file, a date such as 2026-01-31, or a date-time such as 2026-01-31T08:00:00Z", shown(text))
}

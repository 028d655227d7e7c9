package catalogue

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"remit.example/contract"
	"remit.example/record"
)

// The bounds of a request of catalogue-v2.
const (
	defaultLimit   = 20
	maxLimit       = 100
	maxRequestID   = 128 // code points
	maxPreferences = 5
	maxSafe        = 1<<53 - 1 // integers beyond it lose digits in some readers
)

// request is a request that was understood.
type request struct {
	id          string
	hasID       bool
	filters     []applied
	preferences []preferred // nil: none were named
	purpose     *contract.Entry[*contract.Purpose]
	key         string // of a lookup
	limit       int
	cutTies     bool
	cursor      string
	now         time.Time // when the request was read
	stale       bool      // whether the data was stale then
}

// applied is a filter with its operand.
type applied struct {
	argument  contract.FilterArgument
	predicate Predicate
	text      string // the operand as JSON
}

type preferred struct {
	preference contract.Preference
	key        Key
}

// Fault is one argument that is not understood.
type Fault struct {
	Path     []string // of the argument; empty for the whole request
	Reason   string   // a stable word
	Accepted string   // what would be valid
	Message  string   // a sentence
}

// Field is the argument as a dotted path.
func (f Fault) Field() string { return strings.Join(f.Path, ".") }

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer is the argument as an RFC 6901 pointer.
func (f Fault) Pointer() string {
	var pointer strings.Builder
	for _, step := range f.Path {
		pointer.WriteString("/" + pointerEscape.Replace(step))
	}
	return pointer.String()
}

// MaxFields bounds the faults that one record names; no more are looked for.
const MaxFields = 50

// Fields are faults as a record carries them, the first ones of many; the
// record's own message is that of the first.
func Fields(faults []Fault) []record.Field {
	faults = faults[:min(len(faults), MaxFields)]
	list := make([]record.Field, len(faults))
	for i, f := range faults {
		list[i] = record.Field{Pointer: f.Pointer(), Reason: f.Reason, Accepted: f.Accepted}
		if i > 0 {
			list[i].Message = f.Message
		}
	}
	return list
}

// argument is one argument that a tool knows.
type argument struct {
	path     []string
	required bool
	// read takes the value into the request; the fault's path is filled in.
	read func(v *Node, into *request) *Fault
	// about is the sentence that says what the argument must be.
	about    string
	accepted string
}

// decode reads a request. Faults stand in the order of the schema, those of
// unknown arguments after them in the order of the request. The request holds
// what was understood, so that an answer can name its id.
func (t *Tool) decode(input []byte) (request, []Fault) {
	into := request{limit: defaultLimit}
	object, err := ParseNode(input)
	if err == nil && object.Kind != '{' {
		err = fmt.Errorf("it is %s", kindName(object.Kind))
	}
	if err != nil {
		return into, []Fault{{Reason: "malformed", Accepted: "object", Message: fmt.Sprintf("The request must be one JSON object; %v.", err)}}
	}
	var faults []Fault
	for _, a := range t.arguments {
		if f := a.take(object, &into); f != nil {
			f.Path = a.path
			faults = append(faults, *f)
		}
	}
	return into, append(faults, t.unknownArguments(object)...)
}

func (a argument) take(object *Node, into *request) *Fault {
	for _, step := range a.path[:len(a.path)-1] {
		inner, _ := object.Get(step)
		if inner == nil || inner.Kind != '{' {
			return nil // the object's own argument reports it
		}
		object = inner
	}
	v, times := object.Get(a.path[len(a.path)-1])
	switch {
	case times > 1:
		return &Fault{Reason: "duplicate", Accepted: "one value", Message: fmt.Sprintf("%s stands %d times; give it once.", strings.Join(a.path, "."), times)}
	case times == 0 && a.required:
		return &Fault{Reason: "missing", Accepted: a.accepted, Message: a.about}
	case times == 0:
		return nil
	}
	return a.read(v, into)
}

// wrong is the fault of a value that the argument does not take.
func (a *argument) wrong(v *Node, reason string) *Fault {
	if v.Kind == '"' && v.Text == "" || v.Kind == '[' && len(v.Items) == 0 {
		reason = "empty"
	}
	return &Fault{Reason: reason, Accepted: a.accepted, Message: a.about}
}

func (t *Tool) unknownArguments(object *Node) []Fault {
	var faults []Fault
	known := map[string][]string{}
	for _, a := range t.arguments {
		parent := strings.Join(a.path[:len(a.path)-1], ".")
		known[parent] = append(known[parent], a.path[len(a.path)-1])
	}
	for _, m := range object.Members {
		if !slices.Contains(known[""], m.Name) {
			faults = append(faults, UnknownArgument([]string{m.Name}, known[""]))
		} else if names, nested := known[m.Name]; nested || m.Name == "filters" {
			faults = append(faults, UnknownMembers(m.Value, names, m.Name)...)
		}
		if len(faults) >= MaxFields {
			break
		}
	}
	return faults
}

// UnknownMembers are the faults of an object's members that are none of the
// names; path leads to the object.
func UnknownMembers(object *Node, names []string, path ...string) (faults []Fault) {
	for _, m := range object.Members {
		if len(faults) < MaxFields && !slices.Contains(names, m.Name) {
			faults = append(faults, UnknownArgument(append(slices.Clone(path), m.Name), names))
		}
	}
	return faults
}

// maxName bounds the name of an unknown argument that is repeated as it is.
const maxName = 64

// UnknownArgument is the fault of an argument that is none of the names.
func UnknownArgument(path, names []string) Fault {
	last := len(path) - 1
	near := strings.Join(contract.Nearest(path[last], names), ", ")
	if utf8.RuneCountInString(path[last]) > maxName {
		path = append(path[:last:last], Clip(path[last]))
	}
	if near == "" {
		near = "none"
	}
	return Fault{
		Path: path, Reason: "unknown_argument", Accepted: near,
		Message: fmt.Sprintf("There is no argument %s; valid: %s.", Clip(strings.Join(path, ".")), near),
	}
}

// Clip makes a text of a caller or a file fit for a sentence: short, and
// without characters that a terminal or a reader would obey.
func Clip(text string) string {
	const most = 60
	plain := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	if utf8.RuneCountInString(plain) <= most {
		return plain
	}
	return string([]rune(plain)[:most]) + "…"
}

func kindName(kind jsontext.Kind) string {
	return map[jsontext.Kind]string{
		'n': "null", 't': "true", 'f': "false", '"': "a text", '0': "a number", '{': "an object", '[': "a list",
	}[kind]
}

// WholeNumber reads digits with an optional sign, no fraction and no exponent.
func WholeNumber(v *Node) (int64, bool) {
	if v.Kind != '0' || strings.ContainsAny(v.Text, ".eE") {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil { // a JSON number without fraction is out of range
		return math.MaxInt64, true
	}
	return n, true
}

// Safe reports whether every reader of JSON keeps an integer's digits.
func Safe(n int64) bool { return -maxSafe <= n && n <= maxSafe }

// requestID, filters and the other builders below make the arguments.
func (t *Tool) requestIDArgument() argument {
	a := argument{path: []string{"request_id"}, required: true, accepted: "string", about: `The request_id must be a text, such as "Q1".`}
	if !t.v1() {
		a.about = fmt.Sprintf(`The request_id must be a text of at most %d characters, such as "Q1".`, maxRequestID)
	}
	a.read = func(v *Node, into *request) *Fault {
		if v.Kind != '"' {
			return &Fault{Reason: "wrong_type", Accepted: a.accepted, Message: a.about}
		}
		if !t.v1() && utf8.RuneCountInString(v.Text) > maxRequestID {
			return &Fault{Reason: "out_of_range", Accepted: a.accepted, Message: a.about}
		}
		into.id, into.hasID = v.Text, true
		return nil
	}
	return a
}

func (t *Tool) filtersArgument() argument {
	a := argument{path: []string{"filters"}, accepted: "object", about: "The filters must be an object; leave it out for no filter."}
	a.read = func(v *Node, _ *request) *Fault {
		if v.Kind != '{' {
			return a.wrong(v, "wrong_type")
		}
		return nil
	}
	return a
}

func (t *Tool) filterArgument(f contract.FilterArgument) argument {
	index := t.schema.index(f.Column)
	column := t.schema.Columns[index]
	a := argument{path: []string{"filters", f.Name}, accepted: acceptedBy(column, f.Op), about: t.words.mustBe(f)}
	a.read = func(v *Node, into *request) *Fault {
		predicate, text, reason := operand(column, f.Op, v)
		if reason != "" {
			return a.wrong(v, reason)
		}
		predicate.Column = index
		into.filters = append(into.filters, applied{f, predicate, text})
		return nil
	}
	return a
}

func acceptedBy(column Column, op contract.FilterOp) string {
	switch {
	case column.Kind == Boolean:
		return "boolean"
	case column.Kind == Decimal:
		return "number"
	case column.Kind.Textual():
		return "string"
	}
	return "integer"
}

var ops = map[contract.FilterOp]Op{
	contract.Equals: Equals, contract.Min: AtLeast, contract.Max: AtMost, contract.Words: Words,
}

// operand reads a filter's value; reason is "" where it is valid.
func operand(column Column, op contract.FilterOp, v *Node) (p Predicate, text, reason string) {
	p.Op = ops[op]
	switch {
	case column.Kind == Boolean:
		return booleanOperand(p, v)
	case column.Kind.Textual():
		return textOperand(p, v)
	case column.Kind == Decimal:
		return decimalOperand(p, column.Scale, v)
	}
	n, whole := WholeNumber(v)
	switch {
	case !whole:
		return p, "", "wrong_type"
	case !Safe(n):
		return p, "", "out_of_range"
	}
	p.Value = Value{Known: true, Int: n}
	return p, strconv.FormatInt(n, 10), ""
}

func booleanOperand(p Predicate, v *Node) (Predicate, string, string) {
	switch v.Kind {
	case 't':
		p.Value = Value{Known: true, Int: 1}
		return p, "true", ""
	case 'f':
		p.Value = Value{Known: true}
		return p, "false", ""
	}
	return p, "", "wrong_type"
}

func textOperand(p Predicate, v *Node) (Predicate, string, string) {
	if v.Kind != '"' {
		return p, "", "wrong_type"
	}
	text := norm.NFC.String(v.Text)
	if text == "" {
		return p, "", "empty"
	}
	if p.Op == Words {
		if p.Words = WordsOf(text); len(p.Words) == 0 {
			return p, "", "empty"
		}
	}
	p.Value = Value{Known: true, Text: text}
	return p, string(record.AppendString(nil, text)), ""
}

func decimalOperand(p Predicate, scale int, v *Node) (Predicate, string, string) {
	if v.Kind != '0' || strings.ContainsAny(v.Text, "eE") {
		return p, "", "wrong_type"
	}
	number, err := ParseNumber(v.Text)
	if err != nil {
		return p, "", "out_of_range"
	}
	scaled, exact := number.Scaled(scale)
	if !exact || !Safe(scaled) {
		return p, "", "out_of_range"
	}
	p.Value = Value{Known: true, Int: scaled}
	return p, contract.FormatScaled(scaled, scale), ""
}

func (t *Tool) preferencesArgument() argument {
	a := argument{path: []string{"preferences"}, accepted: strings.Join(names(t.preferences), ", ")}
	a.about = fmt.Sprintf("The preferences must be a list, each field once, of: %s.", a.accepted)
	a.read = func(v *Node, into *request) *Fault {
		if v.Kind == 'n' || v.Kind == '[' && len(v.Items) == 0 {
			return nil // nobody has said what matters: asked for later
		}
		if v.Kind != '[' {
			return &Fault{Reason: "wrong_type", Accepted: a.accepted, Message: a.about}
		}
		for _, item := range v.Items {
			if reason := t.prefer(item, into); reason != "" {
				return &Fault{Reason: reason, Accepted: a.accepted, Message: a.about}
			}
		}
		if !t.v1() && len(into.preferences) > maxPreferences {
			return &Fault{Reason: "out_of_range", Accepted: a.accepted, Message: fmt.Sprintf("At most %d preferences can be named.", maxPreferences)}
		}
		return nil
	}
	return a
}

func names(preferences []contract.Preference) []string {
	list := make([]string, len(preferences))
	for i, p := range preferences {
		list[i] = p.Name
	}
	return list
}

// prefer adds one preference; reason is "" where it is valid.
func (t *Tool) prefer(item *Node, into *request) (reason string) {
	policy := t.unknown
	name := item.Text
	switch {
	case item.Kind == '{' && !t.v1():
		if name, policy, reason = t.preferenceObject(item); reason != "" {
			return reason
		}
	case item.Kind != '"':
		return "wrong_type"
	}
	i := slices.IndexFunc(t.preferences, func(p contract.Preference) bool { return p.Name == name })
	if i < 0 {
		return "not_declared"
	}
	p := t.preferences[i]
	for _, earlier := range into.preferences {
		if earlier.preference.Column == p.Column {
			return "duplicate"
		}
	}
	into.preferences = append(into.preferences, preferred{p, Key{t.schema.index(p.Column), directions[p.Direction], policy}})
	return ""
}

var (
	directions = map[contract.Direction]Direction{
		contract.Lowest: Lowest, contract.Highest: Highest, contract.TrueFirst: TrueFirst,
	}
	policies = map[contract.UnknownPolicy]Policy{
		"": Last, contract.UnknownLast: Last, contract.UnknownExclude: Exclude, contract.UnknownReject: Reject,
	}
)

// preferenceObject reads {"field","prefer","unknown"} into a preference's name.
func (t *Tool) preferenceObject(object *Node) (name string, policy Policy, reason string) {
	policy = t.unknown
	given := map[string]string{}
	for _, m := range object.Members {
		if m.Value.Kind != '"' {
			return "", 0, "wrong_type"
		}
		if _, twice := given[m.Name]; twice {
			return "", 0, "duplicate"
		}
		given[m.Name] = m.Value.Text
	}
	for key := range given {
		if key != "field" && key != "prefer" && key != "unknown" {
			return "", 0, "not_declared"
		}
	}
	if text, ok := given["unknown"]; ok {
		if policy, ok = policies[contract.UnknownPolicy(text)]; !ok || text == "" {
			return "", 0, "not_declared"
		}
	}
	for _, p := range t.preferences {
		if p.Column == given["field"] && string(p.Direction) == given["prefer"] {
			return p.Name, policy, ""
		}
	}
	return "", 0, "not_declared"
}

func (t *Tool) purposeArgument() argument {
	a := argument{path: []string{"purpose"}, required: true, accepted: strings.Join(t.purposes.Names(), ", ")}
	a.about = fmt.Sprintf("The purpose must be one of: %s.", a.accepted)
	a.read = func(v *Node, into *request) *Fault {
		if v.Kind != '"' {
			return a.wrong(v, "wrong_type")
		}
		purpose, ok := t.purposes.Get(v.Text)
		if !ok {
			return a.wrong(v, "not_declared")
		}
		into.purpose = &contract.Entry[*contract.Purpose]{Name: v.Text, Value: purpose}
		return nil
	}
	return a
}

func (t *Tool) keyArgument(by string) argument {
	a := argument{path: []string{by}, required: true, accepted: "string", about: fmt.Sprintf("The %s must be a text that is not empty.", by)}
	a.read = func(v *Node, into *request) *Fault {
		if v.Kind != '"' || v.Text == "" {
			return a.wrong(v, "wrong_type")
		}
		into.key = norm.NFC.String(v.Text)
		return nil
	}
	return a
}

func limitArgument() argument {
	a := argument{path: []string{"limit"}, accepted: fmt.Sprintf("integer from 1 to %d", maxLimit)}
	a.about = fmt.Sprintf("The limit must be a whole number from 1 to %d.", maxLimit)
	a.read = func(v *Node, into *request) *Fault {
		n, whole := WholeNumber(v)
		switch {
		case !whole:
			return a.wrong(v, "wrong_type")
		case n < 1 || n > maxLimit:
			return a.wrong(v, "out_of_range")
		}
		into.limit = int(n)
		return nil
	}
	return a
}

func tiesArgument() argument {
	a := argument{path: []string{"ties"}, accepted: "include, cut", about: "The ties must be include or cut."}
	a.read = func(v *Node, into *request) *Fault {
		if v.Kind != '"' || v.Text != "include" && v.Text != "cut" {
			return a.wrong(v, "not_declared")
		}
		into.cutTies = v.Text == "cut"
		return nil
	}
	return a
}

func cursorArgument() argument {
	a := argument{path: []string{"cursor"}, accepted: "string", about: "The cursor must be the text of an earlier answer's cursor, or null."}
	a.read = func(v *Node, into *request) *Fault {
		switch {
		case v.Kind == 'n':
			return nil
		case v.Kind != '"' || v.Text == "":
			return a.wrong(v, "wrong_type")
		}
		into.cursor = v.Text
		return nil
	}
	return a
}

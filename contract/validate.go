package contract

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"remit.example/record"
)

// The bounds of names and texts that agents read. Over advisedName is advice.
const (
	advisedName    = 30
	maxDescription = 500
	maxArgument    = 150
)

var (
	serviceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)
	columnName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	toolName    = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	unitCode    = regexp.MustCompile(`^[A-Z0-9]{2,3}$`)
)

// validator checks what the notation of the file cannot express.
type validator struct {
	*Contract
	d *decoder
}

func (c *Contract) validate(d *decoder) {
	v := validator{c, d}
	v.service()
	v.expose()
	v.data()
	for _, column := range c.Columns {
		v.column(join("columns", column.Name), column.Name, column.Value)
	}
	v.members()
	for _, purpose := range c.Purposes {
		v.purpose(join("purposes", purpose.Name), purpose.Name, purpose.Value)
	}
	v.failures("failures", c.Failures, nil)
	for _, tool := range c.Tools {
		v.tool(join("tools", tool.Name), tool.Name, tool.Value)
	}
}

func (v validator) fail(path, format string, args ...any) { v.d.failAt(path, format, args...) }

// has reports whether the file has a key at this path, whatever its value.
func (v validator) has(path string) bool { _, ok := v.d.places[path]; return ok }

func (v validator) service() {
	if v.has("remit") && v.Remit != 1 {
		v.fail("remit", "this is no version of the contract format; valid: 1")
	}
	if v.Service != "" && !serviceName.MatchString(v.Service) {
		v.fail("service", "%q is no service name; use up to 64 lower-case letters, digits and hyphens, such as lamp-shop", v.Service)
	}
	if v.has("tools") && len(v.Tools) == 0 {
		v.fail("tools", "no tool is declared; name at least one")
	}
	if v.Budget != nil && (v.Budget.Executions < 1 || v.Budget.Executions > 100) {
		v.fail("budget.executions", "%d is out of range; valid: 1 to 100", v.Budget.Executions)
	}
}

func (v validator) expose() {
	if v.Expose == nil {
		return
	}
	for i, origin := range v.Expose.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			v.fail(fmt.Sprintf("expose.origins[%d]", i), "%q is no web origin; write scheme and host alone, such as https://shop.example", origin)
		}
	}
	for i, host := range v.Expose.Hosts {
		if u, err := url.Parse("https://" + host); err != nil || u.Host != host || u.Hostname() == "" {
			v.fail(fmt.Sprintf("expose.hosts[%d]", i), "%q is no host; write a name with its port, if any, such as tools.shop.example", host)
		}
	}
	if v.Expose.Rate != nil && v.Expose.Reads != Anonymous {
		v.fail("expose.rate", "a rate bounds anonymous callers and none are permitted; add reads: anonymous or leave rate out")
	}
	if v.Expose.Reads == Anonymous && v.Expose.Rate == nil {
		v.fail("expose.reads", "anonymous reads need a rate; add one, such as rate: 30/min")
	}
}

func (v validator) data() {
	switch {
	case v.Data == nil && len(v.Columns) > 0:
		v.fail("columns", "columns without data; add data: {file: …}")
	case v.Data != nil && len(v.Columns) == 0:
		v.fail("data", "data without columns; a column that is not named is not loaded, so name those that the tools use")
	}
	if v.Data != nil {
		v.delimiter("data.delimiter", v.Data.Delimiter)
	}
	if v.Evidence != nil {
		v.delimiter("evidence.delimiter", v.Evidence.Delimiter)
		if v.Data == nil {
			v.fail("evidence", "evidence speaks of products and there are none; add data: {file: …}")
		}
	}
	var ids []string
	for _, column := range v.Columns {
		if column.Value.ID {
			ids = append(ids, column.Name)
		}
	}
	switch {
	case len(v.Columns) > 0 && len(ids) == 0:
		v.fail("columns", "no column identifies a row; mark one with id: true")
	case len(ids) > 1:
		v.fail(join("columns", ids[1])+".id", "%s identifies a row already; keep one id", ids[0])
	}
}

func (v validator) delimiter(path, delimiter string) {
	if delimiter != "" && (utf8.RuneCountInString(delimiter) != 1 || strings.ContainsAny(delimiter, "\"\r\n")) {
		v.fail(path, "%q is no delimiter; write one character, such as ; or \"\\t\"", delimiter)
	}
}

// columnKeys are the keys that only some types of column have.
var columnKeys = []struct {
	key   string
	types []Type
}{
	{"currency", []Type{Money}},
	{"from", []Type{Money}},
	{"scale", []Type{Decimal}},
	{"unit", []Type{Integer, Decimal}},
	{"true", []Type{Boolean}},
	{"false", []Type{Boolean}},
	{"prefer", []Type{Integer, Decimal, Money, Boolean}},
}

func (v validator) column(path, name string, c *Column) {
	if !columnName.MatchString(name) {
		v.fail(path, "%q is no column name; use up to 64 lower-case letters, digits and underscores, such as price, and header: for the file's own", name)
	}
	kind := c.Kind()
	switch {
	case c.ID && kind != Text:
		v.fail(path+".type", "the id column is text, so that 0017 stays 0017; leave type out")
		return
	case c.ID && (c.Unknown != nil || c.Volatile):
		v.fail(path, "every row has an id that does not change; leave unknown and volatile out")
	case kind == "" && !v.has(path+".type"):
		v.fail(path, "the key type is missing; valid: %s", strings.Join(new(Type).words(), ", "))
		return
	case kind == "":
		return // the type is wrong and reported
	}
	for _, row := range columnKeys {
		if v.has(path+"."+row.key) && !slices.Contains(row.types, kind) {
			v.fail(path+"."+row.key, "a column of type %s has no %s; valid on: %s", kind, row.key, strings.Join(texts(row.types...), ", "))
		}
	}
	v.typed(path, kind, c)
}

func (v validator) typed(path string, kind Type, c *Column) {
	switch kind {
	case Money:
		v.money(path, c)
	case Decimal:
		if c.Scale < 1 || c.Scale > 9 {
			v.fail(path, "a decimal column needs scale, the number of its decimal digits: 1 to 9")
		}
	case Boolean:
		v.boolean(path, c)
	}
	if c.Unit != "" && !unitCode.MatchString(c.Unit) {
		v.fail(path+".unit", "%q is no UN/CEFACT Recommendation 20 code; write two or three capital letters and digits, such as LUM (lumen) or CMT (centimetre)", c.Unit)
	}
	valid := []Direction{Lowest, Highest}
	if kind == Boolean {
		valid = []Direction{TrueFirst}
	}
	for i, direction := range c.Prefer {
		place := fmt.Sprintf("%s.prefer[%d]", path, i)
		if !slices.Contains(valid, direction) && direction != "" {
			v.fail(place, "a column of type %s cannot prefer %s; valid: %s", kind, direction, strings.Join(texts(valid...), ", "))
		}
		if slices.Contains(c.Prefer[:i], direction) {
			v.fail(place, "%s stands twice; keep one", direction)
		}
	}
	v.example(path, kind, c)
}

func (v validator) money(path string, c *Column) {
	if c.Currency == "" {
		v.fail(path, "the key currency is missing: the ISO 4217 code of the amounts, such as EUR")
	}
	exponent, known := Exponent(c.Currency)
	if c.Currency != "" && !known {
		v.fail(path+".currency", "%q is no ISO 4217 code; valid: EUR, USD, GBP and the standard's others", c.Currency)
	}
	switch {
	case c.From == "" && !v.has(path+".from"):
		v.fail(path, "the key from is missing: decimal where the file writes 49.99, minor where it writes 4999")
	case c.From == FromDecimal && known && exponent == NoMinorUnit:
		v.fail(path+".from", "%s defines no minor unit, so decimal text has no exact meaning; valid: minor", c.Currency)
	}
}

func (v validator) boolean(path string, c *Column) {
	for _, key := range []string{"true", "false"} {
		if !v.has(path + "." + key) {
			v.fail(path, `the key %s is missing: the texts that stand for it, such as "true": ["yes"], "false": ["no"]`, key)
		}
	}
	meaning := map[Token]string{}
	for _, list := range []struct {
		key    string
		tokens []Token
	}{{"true", c.True}, {"false", c.False}, {"unknown", c.Unknown}} {
		for i, token := range list.tokens {
			if other, taken := meaning[token]; taken {
				v.fail(fmt.Sprintf("%s.%s[%d]", path, list.key, i), "%q means %s already; a text means one thing", token, other)
			}
			meaning[token] = list.key
		}
	}
}

func (v validator) example(path string, kind Type, c *Column) {
	if c.Example == "" {
		return
	}
	number, err := ParseNumber(string(c.Example))
	valid, want := true, ""
	switch kind {
	case Integer:
		_, whole := number.Scaled(0)
		valid, want = err == nil && whole, "a whole number"
	case Money:
		_, whole := number.Scaled(0)
		valid, want = err == nil && whole, "a whole number of minor units, such as 6000"
	case Decimal:
		_, exact := number.Scaled(c.Scale)
		valid, want = err == nil && exact, fmt.Sprintf("a number with at most %d decimals", c.Scale)
	case Boolean:
		valid, want = c.Example == "true" || c.Example == "false", "true or false"
	}
	if !valid {
		v.fail(path+".example", "%q does not fit the column; write %s", c.Example, want)
	}
}

// members checks that no two columns have one name in answers.
func (v validator) members() {
	taken := map[string]string{}
	for _, column := range v.Columns {
		member := column.Value.Member(column.Name)
		if other, ok := taken[member]; ok {
			v.fail(join("columns", column.Name), "the member %s is that of column %s already; rename one", member, other)
		}
		taken[member] = column.Name
	}
}

func (v validator) purpose(path, name string, p *Purpose) {
	if !columnName.MatchString(name) {
		v.fail(path, "%q is no purpose name; use up to 64 lower-case letters, digits and underscores, such as colour_matching", name)
	}
	switch {
	case p.Method == MethodNone:
		v.withoutMethod(path, p)
	case p.Method != "" && len(p.Criteria) == 0:
		v.fail(path, "a purpose with a method needs criteria, such as criteria: [{property: ra, at_least: 90}]; or method: none with needs")
	case p.Method != "" && v.Evidence == nil:
		v.fail(path+".criteria", "criteria are decided from evidence and there is none; add evidence: {file: …}")
	}
	if p.Scope != nil {
		v.bounds(path+".scope.between", p.Scope.Between)
	}
	for i, criterion := range p.Criteria {
		v.criterion(fmt.Sprintf("%s.criteria[%d]", path, i), criterion)
	}
}

func (v validator) withoutMethod(path string, p *Purpose) {
	if len(p.Needs) == 0 {
		v.fail(path, "method: none can only answer insufficient_evidence; name in needs the evidence that would be needed")
	}
	for _, key := range []string{"criteria", "scope", "accepts"} {
		if v.has(path + "." + key) {
			v.fail(path+"."+key, "nothing can be decided without a method; cite one, or leave %s out", key)
		}
	}
}

func (v validator) criterion(path string, c Criterion) {
	limits := 0
	for _, key := range []string{"at_least", "at_most", "between"} {
		if v.has(path + "." + key) {
			limits++
		}
	}
	if limits != 1 {
		v.fail(path, "a criterion has exactly one limit; valid: at_least, at_most, between")
	}
	if v.has(path + ".between") {
		v.bounds(path+".between", c.Between)
	}
}

func (v validator) bounds(path string, bounds []Number) {
	if v.has(path) && (len(bounds) != 2 || bounds[0].Cmp(bounds[1]) > 0) {
		v.fail(path, "write the lower and the upper bound, such as [-0.0054, 0.0054]")
	}
}

// promiseWords are what a tool's name may not say: no answer recommends, none
// is the best, and only an assessment speaks of suitability.
var promiseWords = []struct {
	word string
	in   []Promise
}{
	{"recommend", nil},
	{"best", nil},
	{"suitable", []Promise{AssessSuitability}},
}

func (v validator) tool(path, name string, t *Tool) {
	if !toolName.MatchString(name) {
		v.fail(path, "%q is no tool name; use 1 to 128 of A-Z, a-z, 0-9, _, . and -", name)
	}
	words := nameWords(name)
	for _, row := range promiseWords {
		if slices.Contains(words, row.word) && !slices.Contains(row.in, t.Promise) {
			v.fail(path, "the name says %q and the promise %s does not give that; name what is returned, such as search_lamps or rank_lamps_by_preference", row.word, t.Promise)
		}
	}
	if n := utf8.RuneCountInString(t.Description); n > maxDescription {
		v.fail(path+".description", "%d characters; an agent reads at most %d", n, maxDescription)
	}
	if t.Promise == "" {
		return
	}
	v.keys(path, t)
	if t.Backend != nil || t.Promise == Command {
		v.backed(path, t)
		return
	}
	v.catalogueTool(path, t)
}

// nameWords splits a name at everything but letters and before each capital
// that follows a small letter, in lower case.
func nameWords(name string) []string {
	var spaced strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			spaced.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		spaced.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

// toolKeys are the keys that each promise has beside promise, description and
// record; those of a backend are added where a tool has one.
var (
	toolKeys = map[Promise][]string{
		Search:            {"filters", "format"},
		RankPreferences:   {"filters", "format", "preferences", "unknown"},
		AssessSuitability: {"filters", "format", "purposes"},
		Lookup:            {"by", "format"},
		Command:           {},
	}
	backendKeys = []string{"input", "answer", "backend", "failures"}
	commonKeys  = []string{"promise", "description", "effect", "record"}
)

func (v validator) keys(path string, t *Tool) {
	valid := slices.Concat(commonKeys, toolKeys[t.Promise])
	if t.Backend != nil || t.Promise == Command {
		valid = slices.Concat(commonKeys, backendKeys)
	} else if t.Promise == Lookup {
		valid = append(valid, "backend")
	}
	known := slices.Concat(backendKeys, toolKeys[RankPreferences], toolKeys[AssessSuitability], toolKeys[Lookup])
	slices.Sort(known)
	for _, key := range slices.Compact(known) {
		if v.has(path+"."+key) && !slices.Contains(valid, key) {
			v.fail(path+"."+key, "a %s tool has no %s here; valid: %s", t.Promise, key, strings.Join(valid, ", "))
		}
	}
}

func (v validator) catalogueTool(path string, t *Tool) {
	if v.Data == nil {
		v.fail(path, "the tool answers from the catalogue and there is none; add data: {file: …} and columns, or a backend to the tool")
		return
	}
	if t.Effect != "" && record.Effect(t.Effect) != record.Read {
		v.fail(path+".effect", "a tool over the catalogue changes nothing; valid: read")
	}
	v.filters(path+".filters", t)
	switch t.Promise {
	case RankPreferences:
		v.preferences(path, t)
	case AssessSuitability:
		v.assessing(path, t)
	case Lookup:
		v.lookup(path, t)
	}
}

// filterTypes are the types of column that each filter compares.
var filterTypes = map[FilterOp][]Type{
	Equals: {Text, URL, Integer, Decimal, Money, Boolean},
	Min:    {Integer, Decimal, Money},
	Max:    {Integer, Decimal, Money},
	Words:  {Text},
}

func (v validator) filters(path string, t *Tool) {
	for _, filter := range t.Filters {
		place := join(path, filter.Name)
		column, ok := v.Columns.Get(filter.Name)
		if !ok {
			v.fail(place, "no column is named %s; valid: %s", filter.Name, strings.Join(Nearest(filter.Name, v.Columns.Names()), ", "))
			continue
		}
		for _, op := range filter.Value.Ops {
			if types := filterTypes[op]; types != nil && column.Kind() != "" && !slices.Contains(types, column.Kind()) {
				v.fail(place, "a column of type %s has no filter %s; valid: %s", column.Kind(), op, strings.Join(filtersOn(column.Kind()), ", "))
			}
		}
	}
	taken := map[string]string{}
	for _, argument := range v.FilterArguments(t) {
		if other, ok := taken[argument.Name]; ok {
			v.fail(join(path, argument.Column), "the filter %s is that of column %s already; rename one", argument.Name, other)
		}
		taken[argument.Name] = argument.Column
	}
}

func filtersOn(kind Type) []string {
	var ops []string
	for _, op := range new(FilterOp).words() {
		if slices.Contains(filterTypes[FilterOp(op)], kind) {
			ops = append(ops, op)
		}
	}
	return ops
}

func (v validator) preferences(path string, t *Tool) {
	var names []string
	for _, preference := range v.DeclaredPreferences() {
		names = append(names, preference.Name)
	}
	if len(names) == 0 {
		v.fail(path, "no column declares a preference; add one, such as prefer: lowest on a price")
		return
	}
	for i, name := range t.Preferences {
		place := fmt.Sprintf("%s.preferences[%d]", path, i)
		if !slices.Contains(names, name) {
			v.fail(place, "no column declares the preference %s; valid: %s", name, strings.Join(names, ", "))
		}
		if slices.Contains(t.Preferences[:i], name) {
			v.fail(place, "%s stands twice; keep one", name)
		}
	}
}

func (v validator) assessing(path string, t *Tool) {
	if len(v.Purposes) == 0 {
		v.fail(path, "no purpose is declared to assess for; add purposes")
		return
	}
	for i, name := range t.Purposes {
		if _, ok := v.Purposes.Get(name); !ok {
			v.fail(fmt.Sprintf("%s.purposes[%d]", path, i), "no purpose is named %s; valid: %s", name, strings.Join(v.Purposes.Names(), ", "))
		}
	}
	if t.Format != CatalogueV1 {
		return
	}
	for _, purpose := range v.PurposesOf(t) {
		if purpose.Value.Method != MethodNone {
			v.fail(path+".format", "catalogue-v1 has no shape for an assessment that affirms, and purpose %s has a method; valid: catalogue-v2, or purposes with method: none", purpose.Name)
		}
	}
}

func (v validator) lookup(path string, t *Tool) {
	if t.By == "" {
		v.fail(path, "a lookup needs by: the column that identifies a row; valid: %s", v.IDColumn())
	} else if t.By != v.IDColumn() {
		v.fail(path+".by", "%s does not identify a row; valid: %s", t.By, v.IDColumn())
	}
	if t.Format == CatalogueV1 {
		v.fail(path+".format", "catalogue-v1 has no lookup; valid: catalogue-v2")
	}
}

// Advice lists what is permitted and unwise.
func (c *Contract) Advice() []string {
	var advice []string
	for _, tool := range c.Tools {
		if n := len(tool.Name); n > advisedName {
			advice = append(advice, fmt.Sprintf("tools.%s: the name has %d characters; some agents read %d", tool.Name, n, advisedName))
		}
	}
	return advice
}

package contract

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	if d.guards {
		v.guard()
		return
	}
	v.expose()
	v.data()
	for _, column := range c.Columns {
		v.column(join("columns", column.Name), column.Name, column.Value)
	}
	v.members()
	for _, purpose := range c.Purposes {
		v.purpose(join("purposes", purpose.Name), purpose.Name, purpose.Value)
	}
	v.failures("", c.Failures, nil)
	if v.has("failures") && len(c.Tools) > 0 && !v.usesHTTP() && !v.d.failed["failures"] {
		v.fail("failures", "no tool has an http backend whose responses the rules could read; leave failures out")
	}
	for _, tool := range c.Tools {
		v.tool(join("tools", tool.Name), tool.Name, tool.Value)
	}
}

func (v validator) fail(path, format string, args ...any) { v.d.failAt(path, format, args...) }

// has reports whether the file has a key at this path, whatever its value.
func (v validator) has(path string) bool { _, ok := v.d.places[path]; return ok }

// readable reports whether the file has a key at this path whose value could
// be read, so that what is reported already is not reported again.
func (v validator) readable(path string) bool { return v.has(path) && !v.d.failed[path] }

func (v validator) service() {
	if v.readable("remit") && v.Remit != 1 {
		v.fail("remit", "this is no version of the contract format; valid: 1")
	}
	if v.Service != "" && !serviceName.MatchString(v.Service) {
		v.fail("service", "%s is no service name; use up to 64 lower-case letters, digits and hyphens, such as lamp-shop", shown(v.Service))
	}
	if v.readable("tools") && len(v.Tools) == 0 && !v.d.guards {
		v.fail("tools", "no tool is declared; name at least one")
	}
	if v.readable("budget.executions") && (v.Budget.Executions < 1 || v.Budget.Executions > 100) {
		v.fail("budget.executions", "%d is out of range; valid: 1 to 100", v.Budget.Executions)
	}
}

func (v validator) expose() {
	if v.Expose == nil {
		return
	}
	for i, origin := range v.Expose.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != origin || origin != strings.ToLower(origin) {
			v.fail(fmt.Sprintf("expose.origins[%d]", i), "%s is no web origin; write scheme and host alone in lower case, such as https://shop.example", shown(origin))
			continue
		}
		if port := u.Port(); u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
			v.fail(fmt.Sprintf("expose.origins[%d]", i), "a browser leaves the port %s of %s out of the origin; write %s", port, u.Scheme, strings.TrimSuffix(origin, ":"+port))
		}
	}
	for i, host := range v.Expose.Hosts {
		if u, err := url.Parse("https://" + host); err != nil || u.Host != host || u.Hostname() == "" || host != strings.ToLower(host) {
			v.fail(fmt.Sprintf("expose.hosts[%d]", i), "%s is no host; write a name in lower case with its port, if any, such as tools.shop.example", shown(host))
		}
	}
	if v.has("expose.rate") && !v.has("expose.reads") {
		v.fail("expose.rate", "a rate bounds anonymous callers and none are permitted; add reads: anonymous or leave rate out")
	}
}

func (v validator) data() {
	switch {
	case !v.has("data") && len(v.Columns) > 0:
		v.fail("columns", "columns without data; add data: {file: …}")
	case v.Data != nil && len(v.Columns) == 0 && !v.d.failed["columns"]:
		v.fail("data", "data without columns; a column that is not named is not loaded, so name those that the tools use")
	}
	if v.Data != nil {
		v.file("data", v.Data.File, v.Data.Format, v.Data.Delimiter)
	}
	if v.Evidence != nil {
		v.file("evidence", v.Evidence.File, v.Evidence.Format, v.Evidence.Delimiter)
		if !v.has("data") {
			v.fail("evidence", "evidence speaks of products and there are none; add data: {file: …}")
		}
	}
	var ids []string
	for _, column := range v.Columns {
		if place := join("columns", column.Name); column.Value.ID || v.d.failed[place] || v.d.failed[place+".id"] {
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

// extensions are the file names that say how a file is written.
var extensions = map[string]Format{".csv": formatCSV, ".jsonl": formatJSONL, ".ndjson": formatJSONL, ".json": formatJSON}

func (v validator) file(path, name string, format Format, delimiter string) {
	byName, known := extensions[strings.ToLower(filepath.Ext(name))]
	if format == "" {
		format = byName
	}
	if name != "" && !known && !v.has(path+".format") {
		v.fail(path+".file", "the name %s does not say how the file is written; add format: one of %s", shown(name), strings.Join(new(Format).words(), ", "))
	}
	r, size := utf8.DecodeRuneInString(delimiter)
	switch {
	case delimiter == "":
	case size != len(delimiter) || strings.ContainsAny(delimiter, "\"\r\n") || unicode.In(r, unicode.L, unicode.N):
		v.fail(path+".delimiter", "%s is no delimiter; write one character, such as \";\" or \"\\t\"", shown(delimiter))
	case format != formatCSV && format != "":
		v.fail(path+".delimiter", "a %s file has no delimiter; valid on: %s", format, formatCSV)
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
	{"label.lowest", []Type{Integer, Decimal, Money}},
	{"label.highest", []Type{Integer, Decimal, Money}},
	{"label.true", []Type{Boolean}},
	{"prefer", []Type{Integer, Decimal, Money, Boolean}},
}

func (v validator) column(path, name string, c *Column) {
	if !columnName.MatchString(name) {
		v.fail(path, "%s is no column name; use up to 64 lower-case letters, digits and underscores, such as price, and header: for the file's own", shown(name))
	}
	kind := c.Kind()
	switch {
	case c.ID && kind != Text:
		v.fail(path+".type", "the id column is text, so that 0017 stays 0017; leave type out")
		return
	case c.ID && (c.Unknown != nil || c.Volatile):
		v.fail(path, "every row has an id that does not change; leave unknown and volatile out")
	case kind == "" && (v.d.failed[path] || v.d.failed[path+".id"]):
		return // whether it needs a type is not known
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
		if !v.has(path + ".scale") {
			v.fail(path, "the key scale is missing: the number of decimal digits of the values, 1 to 9")
		} else if v.readable(path+".scale") && (c.Scale < 1 || c.Scale > 9) {
			v.fail(path+".scale", "%d is out of range; write the number of decimal digits of the values, 1 to 9", c.Scale)
		}
	case Boolean:
		v.boolean(path, c)
	}
	if c.Unit != "" && !unitCode.MatchString(c.Unit) {
		v.fail(path+".unit", "%s is no UN/CEFACT Recommendation 20 code; write two or three capital letters or digits, such as LUM (lumen) or CMT (centimetre)", shown(c.Unit))
	}
	v.tokens(path, c)
	v.example(path, kind, c)
	valid := []Direction{Lowest, Highest}
	if kind == Boolean {
		valid = []Direction{TrueFirst}
	}
	if kind == Text || kind == URL {
		return // prefer is refused as a whole
	}
	for i, direction := range c.Prefer {
		place := fmt.Sprintf("%s.prefer[%d]", path, i)
		if !slices.Contains(valid, direction) && direction != "" {
			v.fail(place, "a column of type %s cannot prefer %s; valid: %s", kind, direction, strings.Join(texts(valid...), ", "))
		}
		if direction != "" && slices.Contains(c.Prefer[:i], direction) {
			v.fail(place, "%s stands twice; keep one", direction)
		}
	}
}

func (v validator) money(path string, c *Column) {
	if !v.has(path + ".currency") {
		v.fail(path, "the key currency is missing: the ISO 4217 code of the amounts, such as EUR")
	}
	exponent, known := Exponent(c.Currency)
	if c.Currency != "" && !known {
		v.fail(path+".currency", "%s is no ISO 4217 code; valid: EUR, USD, GBP and the standard's others", shown(c.Currency))
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
	for _, list := range []struct {
		key    string
		tokens []Token
	}{{"true", c.True}, {"false", c.False}} {
		if list.tokens != nil && len(list.tokens) == 0 {
			v.fail(path+"."+list.key, "no text stands for it; write at least one, such as %s: [%s]", strconv.Quote(list.key), map[string]string{"true": "yes", "false": "no"}[list.key])
		}
	}
}

// tokens checks that each text of the file means one thing.
func (v validator) tokens(path string, c *Column) {
	meaning := map[Token]string{}
	for _, list := range []struct {
		key    string
		tokens []Token
	}{{"true", c.True}, {"false", c.False}, {"unknown", c.Unknown}} {
		for i, token := range list.tokens {
			if other, taken := meaning[token]; taken {
				v.fail(fmt.Sprintf("%s.%s[%d]", path, list.key, i), "%s means %s already; a text means one thing", shown(string(token)), other)
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
		valid, want = err == nil && number.whole(), "a whole number"
	case Money:
		valid, want = err == nil && number.whole(), "a whole number of minor units, such as 6000"
	case Decimal:
		_, exact := number.Scaled(min(max(c.Scale, 0), 9))
		valid, want = err == nil && exact, fmt.Sprintf("a number with at most %d digits after the point", c.Scale)
	case Boolean:
		valid, want = c.Example == "true" || c.Example == "false", "true or false"
	}
	if !valid {
		v.fail(path+".example", "%s does not fit the column; write %s", shown(string(c.Example)), want)
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
	headers := map[string]string{}
	for _, column := range v.Columns {
		header := cmp.Or(column.Value.Header, column.Name)
		if other, ok := headers[header]; ok {
			v.fail(join("columns", column.Name), "the header %s is read by column %s already; keep one, or name another with header:", shown(header), other)
		}
		headers[header] = column.Name
	}
}

func (v validator) purpose(path, name string, p *Purpose) {
	if !columnName.MatchString(name) {
		v.fail(path, "%s is no purpose name; use up to 64 lower-case letters, digits and underscores, such as colour_matching", shown(name))
	}
	switch {
	case p.Method == MethodNone:
		v.withoutMethod(path, p)
	case p.Method != "" && len(p.Criteria) == 0 && !v.d.failed[path+".criteria"]:
		v.fail(path, "a purpose with a method needs criteria, such as criteria: [{property: ra, at_least: 90}]; or method: none with needs")
	case p.Method != "" && len(p.Criteria) > 0 && !v.has("evidence"):
		v.fail(path+".criteria", "criteria are decided from evidence and there is none; add evidence: {file: …}")
	}
	if p.Scope != nil && v.readable(path+".scope.between") {
		v.bounds(path+".scope.between", p.Scope.Between)
	}
	for i, criterion := range p.Criteria {
		v.criterion(fmt.Sprintf("%s.criteria[%d]", path, i), criterion)
	}
	if p.Plot != nil && p.Method != MethodNone && !v.d.failed[path+".criteria"] {
		v.plot(path+".plot", p)
	}
}

func (v validator) withoutMethod(path string, p *Purpose) {
	if len(p.Needs) == 0 && !v.d.failed[path+".needs"] {
		v.fail(path, "method: none can only answer insufficient_evidence; name in needs the evidence that would be needed")
	}
	for _, key := range []string{"criteria", "scope", "accepts", "plot"} {
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
	if v.readable(path + ".between") {
		v.bounds(path+".between", c.Between)
	}
}

func (v validator) bounds(path string, bounds []Number) {
	for i := range bounds {
		if !v.readable(fmt.Sprintf("%s[%d]", path, i)) {
			return
		}
	}
	if len(bounds) != 2 || bounds[0].Cmp(bounds[1]) > 0 {
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
		v.fail(path, "%s is no tool name; use 1 to 128 of A-Z, a-z, 0-9, _, . and -", shown(name))
	}
	words := nameWords(name)
	for _, row := range promiseWords {
		if slices.Contains(words, row.word) && !slices.Contains(row.in, t.Promise) && (t.Promise != "" || row.in == nil) {
			v.fail(path, "the name says %s and %s does not give that; name what is returned, such as search_lamps or rank_lamps_by_preference", row.word, promised(t.Promise))
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

func promised(p Promise) string {
	if p == "" {
		return "no promise"
	}
	return "the promise " + string(p)
}

// nameWords splits a name at everything but letters, before each capital that
// follows a small letter and before the last capital of several that a small
// letter follows, in lower case: findBESTLamps has the words find, best, lamps.
func nameWords(name string) []string {
	var spaced strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		after := i > 0 && unicode.IsLower(letters[i-1])
		before := i > 0 && i+1 < len(letters) && unicode.IsUpper(letters[i-1]) && unicode.IsLower(letters[i+1])
		if unicode.IsUpper(r) && (after || before) {
			spaced.WriteByte(' ')
		}
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
	if !v.has("data") {
		v.fail(path, "the tool answers from the catalogue and there is none; add data: {file: …} and columns, or a backend to the tool")
		return
	}
	if t.Effect != "" && record.Effect(t.Effect) != record.Read {
		v.fail(path+".effect", "a tool over the catalogue changes nothing; valid: read")
	}
	v.filters(path+".filters", t)
	if t.Format == CatalogueV1 && t.Unknown != "" && t.Unknown != UnknownLast {
		v.fail(path+".unknown", "in catalogue-v1 an unknown value comes last; valid: last, or format: catalogue-v2")
	}
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
			v.fail(place, "no column is named %s; valid: %s", named(filter.Name), strings.Join(Nearest(filter.Name, v.Columns.Names()), ", "))
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
		if argument.Op == "" {
			continue // it could not be read, and is reported
		}
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
	if v.readable(path+".preferences") && len(t.Preferences) == 0 {
		v.fail(path+".preferences", "an empty list permits none; name some of: %s; or leave the key out for all", strings.Join(names, ", "))
	}
	for i, name := range t.Preferences {
		if name == "" {
			continue
		}
		place := fmt.Sprintf("%s.preferences[%d]", path, i)
		if !slices.Contains(names, name) {
			v.fail(place, "no column declares the preference %s; valid: %s", named(name), strings.Join(Nearest(name, names), ", "))
		}
		if slices.Contains(t.Preferences[:i], name) {
			v.fail(place, "%s stands twice; keep one", name)
		}
	}
}

func (v validator) assessing(path string, t *Tool) {
	if len(v.Purposes) == 0 {
		if v.d.failed["purposes"] {
			return
		}
		v.fail(path, "no purpose is declared to assess for; add purposes")
		return
	}
	if v.readable(path+".purposes") && len(t.Purposes) == 0 {
		v.fail(path+".purposes", "an empty list answers none; name some of: %s; or leave the key out for all", strings.Join(v.Purposes.Names(), ", "))
	}
	v.once(path+".purposes", t.Purposes)
	for i, name := range t.Purposes {
		if name == "" {
			continue
		}
		if _, ok := v.Purposes.Get(name); !ok {
			v.fail(fmt.Sprintf("%s.purposes[%d]", path, i), "no purpose is named %s; valid: %s", named(name), strings.Join(v.Purposes.Names(), ", "))
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
	id := v.IDColumn()
	switch {
	case id == "": // reported at columns
	case !v.has(path + ".by"):
		v.fail(path, "a lookup needs by: the column that identifies a row; valid: %s", id)
	case t.By != id && t.By != "":
		v.fail(path+".by", "%s does not identify a row; valid: %s", named(t.By), id)
	case id == requestID:
		v.fail(path+".by", "%s is a member of every request; name the column otherwise and say header: %s", id, id)
	}
	if t.Format == CatalogueV1 {
		v.fail(path+".format", "catalogue-v1 has no lookup; valid: catalogue-v2")
	}
}

// requestID is the member of every catalogue request beside its arguments.
const requestID = "request_id"

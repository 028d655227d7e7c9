package contract

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Read reads and validates a contract file. The error is a Problems, or that
// of reading the file.
func Read(name string) (*Contract, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data)
}

// Parse reads and validates a contract; name is the file in messages, and one
// that ends in .json is read as JSON. The error is a Problems with every fault.
func Parse(name string, data []byte) (*Contract, error) {
	source := Source{Name: name, Bytes: data}
	root, problem := parse(source)
	if problem != nil {
		return nil, Problems{problem}
	}
	d := &decoder{file: name, places: map[string]position{}, failed: map[string]bool{}}
	d.guards = slices.ContainsFunc(root.entries, func(e entry) bool { return e.key == "upstream" })
	c := &Contract{Source: source}
	d.value(root, "", reflect.ValueOf(c).Elem())
	c.validate(d)
	c.places = d.places
	if len(d.problems) > 0 {
		d.problems.sort()
		return nil, d.problems
	}
	return c, nil
}

// decoder fills Go values from nodes, strictly, by the struct tags
//
//	key:"name,required,served,scalar,blank" doc:"what it is"
//
// where scalar lets one value stand for a list of one, and blank lets a text be
// white space alone. A contract that guards an upstream does not have the keys
// marked served, and any other does not have those marked guarded; one marked
// required-served is required of the others alone.
type decoder struct {
	file     string
	guards   bool // whether the contract has the key upstream
	problems Problems
	places   map[string]position // of each path: the key, or the item of a list
	failed   map[string]bool     // paths at which something is wrong
}

func (d *decoder) fail(path string, at position, format string, args ...any) {
	d.failed[path] = true
	d.problems = append(d.problems, &Problem{
		File: d.file, Line: at.line, Column: at.column, Path: path, Message: fmt.Sprintf(format, args...),
	})
}

// failAt reports a fault at a path, or at its nearest parent in the file.
func (d *decoder) failAt(path, format string, args ...any) {
	for place := path; ; {
		if at, ok := d.places[place]; ok {
			d.fail(path, at, format, args...)
			return
		}
		place = place[:max(0, strings.LastIndexAny(place, ".["))]
	}
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// join is the path of a key. One that is not plain stands in brackets and
// quotes, so that the key a.b of x is not mistaken for the key b of x.a.
func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + shown(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// shown is a text of the file in a message: on one line, and not longer than
// a reader needs.
func shown(text string) string {
	const most = 64
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return strconv.Quote(text)
}

// named is shown without quotes where the text is plain.
func named(key string) string {
	if plainKey.MatchString(key) {
		return key
	}
	return shown(key)
}

// nodeReader is a type that reads a node of any kind.
type nodeReader interface {
	fromNode(d *decoder, n *node, path string)
}

// orderedReader is an Ordered of some type.
type orderedReader interface {
	add(name string) reflect.Value
}

func (o *Ordered[T]) add(name string) reflect.Value {
	*o = append(*o, Entry[T]{Name: name})
	return reflect.ValueOf(&(*o)[len(*o)-1].Value).Elem()
}

func (d *decoder) value(n *node, path string, into reflect.Value) {
	if _, known := d.places[path]; !known {
		d.places[path] = n.at
	}
	switch target := into.Addr().Interface().(type) {
	case nodeReader:
		target.fromNode(d, n, path)
		return
	case scalar:
		d.scalar(n, path, target)
		return
	case orderedReader:
		d.ordered(n, path, target)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(n, path, into.Elem())
	case reflect.Struct:
		d.structure(n, path, into)
	case reflect.Slice:
		d.list(n, path, into)
	case reflect.Map:
		d.texts(n, path, into)
	default:
		d.basic(n, path, into)
	}
}

func (d *decoder) wrongKind(n *node, path, want string) {
	got := n.kind.String()
	if n.kind == nullKind {
		got = "nothing stands here"
	} else if n.text != "" && n.kind != stringKind {
		got = strings.Trim(shown(n.text), `"`) + " is " + got
	} else {
		got = "this is " + got
	}
	d.fail(path, n.at, "%s; write %s", got, want)
}

func (d *decoder) scalar(n *node, path string, target scalar) {
	switch n.kind {
	case nullKind, listKind, mapKind:
		d.wrongKind(n, path, describeScalar(target))
		return
	}
	if err := target.fromText(n.text); err != nil {
		d.fail(path, n.at, "%v", err)
	}
}

func describeScalar(target scalar) string {
	if w, ok := target.(worded); ok {
		return "one of: " + strings.Join(w.words(), ", ")
	}
	if _, any := target.(*Token); any {
		return "a text; null and ~ are texts only in quotes"
	}
	return "a single value"
}

func (d *decoder) basic(n *node, path string, into reflect.Value) {
	switch into.Kind() {
	case reflect.String:
		if n.kind != stringKind {
			want := "a text"
			if n.kind != nullKind && n.kind != listKind && n.kind != mapKind {
				want = "a text in quotes: " + shown(n.text)
			}
			d.wrongKind(n, path, want)
			return
		}
		if strings.TrimSpace(n.text) == "" {
			d.fail(path, n.at, "the text is empty; write one or leave the key out")
			return
		}
		into.SetString(n.text)
	case reflect.Bool:
		if n.kind != boolKind {
			d.wrongKind(n, path, "true or false")
			return
		}
		into.SetBool(strings.EqualFold(n.text, "true"))
	case reflect.Int:
		number, err := strconv.Atoi(n.text)
		if n.kind != intKind || err != nil {
			d.wrongKind(n, path, "a whole number in decimal digits")
			return
		}
		into.SetInt(int64(number))
	default:
		panic("contract: no way to read a " + into.Type().String())
	}
}

func (d *decoder) list(n *node, path string, into reflect.Value) {
	items := n.items
	if n.kind != listKind {
		d.wrongKind(n, path, "a list, such as [a, b]")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		d.value(item, fmt.Sprintf("%s[%d]", path, i), into.Index(i))
	}
}

func (d *decoder) texts(n *node, path string, into reflect.Value) {
	if n.kind != mapKind {
		d.wrongKind(n, path, "a mapping, such as {name: text}")
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	d.entries(n, path, func(e entry, path string) {
		value := reflect.New(into.Type().Elem()).Elem()
		d.value(e.value, path, value)
		into.SetMapIndex(reflect.ValueOf(e.key), value)
	})
}

func (d *decoder) ordered(n *node, path string, into orderedReader) {
	if n.kind != mapKind {
		d.wrongKind(n, path, "a mapping, such as {name: …}")
		return
	}
	d.entries(n, path, func(e entry, path string) { d.value(e.value, path, into.add(e.key)) })
}

// entries visits the keys of a mapping; a repeated one is a fault.
func (d *decoder) entries(n *node, path string, visit func(e entry, path string)) {
	first := map[string]position{}
	for _, e := range n.entries {
		if at, taken := first[e.key]; taken {
			d.fail(join(path, e.key), e.at, "the key %s stands already in line %d; keep one", named(e.key), at.line)
			continue
		}
		first[e.key] = e.at
		inner := join(path, e.key)
		d.places[inner] = e.at
		visit(e, inner)
	}
}

// field is one key that a struct type accepts.
type field struct {
	name, doc string
	index     int

	required, scalar, blank bool
	served, guarded         bool // in contracts without upstream alone, in those with it
	requiredServed          bool
}

// in reports whether contracts of a kind have the key.
func (f field) in(guards bool) bool { return !f.guarded && !f.served || f.guarded == guards }

// needed reports whether contracts of a kind must have the key.
func (f field) needed(guards bool) bool {
	return f.required && f.in(guards) || f.requiredServed && !guards
}

func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("key")
		if !ok {
			continue
		}
		options := strings.Split(tag, ",")
		has := func(option string) bool { return slices.Contains(options[1:], option) }
		fields = append(fields, field{
			name: options[0], doc: t.Field(i).Tag.Get("doc"), index: i,
			required: has("required"), scalar: has("scalar"), blank: has("blank"),
			served: has("served"), guarded: has("guarded"), requiredServed: has("required-served"),
		})
	}
	return fields
}

func (d *decoder) structure(n *node, path string, into reflect.Value) {
	fields := fieldsOf(into.Type())
	valid := fieldNames(slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return !f.in(d.guards) }))
	if n.kind != mapKind {
		d.wrongKind(n, path, "a mapping with keys among: "+strings.Join(valid, ", "))
		return
	}
	seen := map[string]bool{}
	d.entries(n, path, func(e entry, path string) {
		seen[e.key] = true
		for _, f := range fields {
			switch {
			case f.name != e.key:
				continue
			case f.in(d.guards):
				d.member(e.value, path, f, into.Field(f.index))
			case f.guarded:
				d.fail(path, e.at, "%s is for a guard, and this contract has no upstream that it would stand in front of; add upstream, or leave %s out", f.name, f.name)
			default:
				d.fail(path, e.at, "the upstream serves the tools, and a contract that guards them has no %s here; valid: %s", f.name, strings.Join(valid, ", "))
			}
			return
		}
		d.fail(path, e.at, "unknown key %s; valid: %s", named(e.key), strings.Join(Nearest(e.key, valid), ", "))
	})
	for _, f := range fields {
		if f.needed(d.guards) && !seen[f.name] {
			d.fail(path, n.at, "the key %s is missing: %s%s", f.name, f.doc, choices(into.Field(f.index)))
		}
	}
}

// open is what stands where an answer is still due: remit init writes it.
const open = "ASK"

// choices are the words that a missing key may have, if it has only some.
func choices(value reflect.Value) string {
	w, ok := value.Addr().Interface().(worded)
	if !ok {
		return ""
	}
	return "; valid: " + strings.Join(w.words(), ", ")
}

func (d *decoder) member(n *node, path string, f field, into reflect.Value) {
	if n.kind == stringKind && n.text == open && !d.free(into.Interface()) {
		d.fail(path, n.at, "a question is open here; write instead of %s: %s", open, f.doc)
		return
	}
	if f.scalar && n.kind != listKind {
		n = &node{kind: listKind, items: []*node{n}, at: n.at}
	}
	if f.blank && n.kind == stringKind && n.text != "" {
		into.SetString(n.text)
		return
	}
	d.value(n, path, into)
}

// free reports whether any word may stand in a field, ASK too. The code of a
// guard's rule is what remit init asks for.
func (d *decoder) free(into any) bool {
	switch into.(type) {
	case Token, []Token:
		return true
	case Code:
		return !d.guards
	}
	return false
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// A label that is one text is the column's noun.
func (l *Label) fromNode(d *decoder, n *node, path string) {
	if n.kind == stringKind {
		d.basic(n, path, reflect.ValueOf(&l.Name).Elem())
		return
	}
	d.structure(n, path, reflect.ValueOf(l).Elem())
}

// An axis that is one text is the figure of that name.
func (a *Axis) fromNode(d *decoder, n *node, path string) {
	switch n.kind {
	case stringKind:
		d.basic(n, path, reflect.ValueOf(&a.Name).Elem())
	case mapKind:
		d.structure(n, path, reflect.ValueOf(a).Elem())
	default:
		d.wrongKind(n, path, "the name of a figure, or {lowest: [a, b]}")
	}
}

func (f *Filter) fromNode(d *decoder, n *node, path string) {
	list := n
	if n.kind != listKind {
		list = &node{kind: listKind, items: []*node{n}, at: n.at}
	}
	d.list(list, path, reflect.ValueOf(&f.Ops).Elem())
	if len(f.Ops) == 0 || len(f.Ops) > 1 && !isBounds(f.Ops) {
		d.fail(path, n.at, "a filter is one of: %s; or both bounds: [min, max]", strings.Join(new(FilterOp).words(), ", "))
	}
}

func isBounds(ops []FilterOp) bool {
	return len(ops) == 2 && (ops[0] == Min && ops[1] == Max || ops[0] == Max && ops[1] == Min)
}

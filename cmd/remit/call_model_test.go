package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit.example/tool"
)

// This file is catalogue-v1 once more, as plainly as it can be written: small
// catalogues as files, requests whose meaning is known because they were put
// together from parts, and the answer that each must have to the byte. It
// shares no code with what it tests.

const modelContract = `remit: 1
service: lights
data: {file: lights.csv, as_of: 2026-01-01}
columns:
  sku: {id: true}
  price: {type: money, currency: XTS, from: minor, prefer: [lowest, highest]}
  lumens: {type: integer, unknown: ["", n/a], prefer: [highest, lowest]}
  in_stock: {type: boolean, "true": ["yes"], "false": ["no"], unknown: ["?"], prefer: "true"}
  colour: {type: text, unknown: [""]}
purposes:
  matching: {version: "1", owner: x@shop.example, method: none, needs: [a spectrum, a date]}
  reading: {version: "1", owner: x@shop.example, method: none, needs: [illuminance]}
tools:
  search_lights: {promise: search, format: catalogue-v1, filters: {price: [min, max], lumens: min, in_stock: equals, colour: equals}}
  rank_lights: {promise: rank_preferences, format: catalogue-v1, filters: {price: [min, max], lumens: min, in_stock: equals, colour: equals}}
  assess_lights: {promise: assess_suitability, format: catalogue-v1, filters: {price: [min, max], lumens: min, in_stock: equals, colour: equals}}
`

// light is one row; a nil is unknown.
type light struct {
	id      string
	price   int
	lumens  *int
	inStock *bool
	colour  string // "" is unknown
}

func drawLights(t *rapid.T) (lights []light) {
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "a", "b", "10", "9", "é", "Z-1", "z<&>", "😀"}), 0, 8, rapid.ID).Draw(t, "ids") {
		l := light{id: id, price: rapid.IntRange(0, 4).Draw(t, "price"), colour: rapid.SampledFrom([]string{"", "red", "blé"}).Draw(t, "colour")}
		if rapid.Bool().Draw(t, "has lumens") {
			l.lumens = new(rapid.IntRange(-1, 3).Draw(t, "lumens"))
		}
		if rapid.Bool().Draw(t, "has stock") {
			l.inStock = new(rapid.Bool().Draw(t, "in stock"))
		}
		lights = append(lights, l)
	}
	return lights
}

func csvOf(lights []light) string {
	var out strings.Builder
	out.WriteString("colour,sku,note,in_stock,lumens,price\n")
	for i, l := range lights {
		lumens, stock := []string{"", "n/a"}[i%2], "?"
		if l.lumens != nil {
			lumens = fmt.Sprint(*l.lumens)
		}
		if l.inStock != nil {
			stock = map[bool]string{true: "yes", false: "no"}[*l.inStock]
		}
		fmt.Fprintf(&out, "%s,%s,\"x\n,y\",%s,%s,%d\n", l.colour, l.id, stock, lumens, l.price)
	}
	return out.String()
}

// part is one member of a request as it is written, and what it means.
type part struct {
	name, json string
	valid      bool
	keeps      func(light) bool // of a filter
	names      []string         // of preferences
	text       string           // of a request id: as an answer repeats it; of a purpose
}

var (
	notIntegers = []string{`null`, `""`, `"2"`, `[]`, `[2]`, `{}`, `true`, `2.0`, `2e0`, `2E+0`, `9007199254740992`, `-9007199254740992`, `123456789012345678901234567890`}
	notBooleans = []string{`null`, `""`, `"true"`, `0`, `1`, `[]`, `{}`}
	notTexts    = []string{`null`, `""`, `0`, `[]`, `["red"]`, `{}`, `false`}
	notObjects  = []string{`null`, `""`, `[]`, `0`, `false`, `"x"`}
)

// among draws a valid member often enough that requests are also answered.
func among(t *rapid.T, name string, valid func() part, invalid []string) part {
	if rapid.IntRange(0, 9).Draw(t, name+" is valid") == 0 {
		return part{name: name, json: rapid.SampledFrom(invalid).Draw(t, name)}
	}
	p := valid()
	p.name, p.valid = name, true
	return p
}

func integerFilter(t *rapid.T, name string, keeps func(l light, n int) bool) part {
	return among(t, name, func() part {
		n := rapid.IntRange(-2, 5).Draw(t, name)
		text := fmt.Sprint(n)
		if n == 0 && rapid.Bool().Draw(t, "minus zero") {
			text = "-0"
		}
		return part{json: text, keeps: func(l light) bool { return keeps(l, n) }}
	}, notIntegers)
}

// drawFilters draws the filters in the schema's order.
func drawFilters(t *rapid.T) []part {
	return []part{
		integerFilter(t, "min_price_minor", func(l light, n int) bool { return l.price >= n }),
		integerFilter(t, "max_price_minor", func(l light, n int) bool { return l.price <= n }),
		integerFilter(t, "min_lumens", func(l light, n int) bool { return l.lumens != nil && *l.lumens >= n }),
		among(t, "in_stock", func() part {
			b := rapid.Bool().Draw(t, "in_stock")
			return part{json: fmt.Sprint(b), keeps: func(l light) bool { return l.inStock != nil && *l.inStock == b }}
		}, notBooleans),
		among(t, "colour", func() part {
			text := rapid.SampledFrom([]string{"red", "blé", "ble\u0301", `bl\u00e9`, "green"}).Draw(t, "colour")
			is := map[string]string{"ble\u0301": "blé", `bl\u00e9`: "blé"}[text]
			if is == "" {
				is = text
			}
			return part{json: `"` + text + `"`, keeps: func(l light) bool { return l.colour == is }}
		}, notTexts),
	}
}

func drawRequestID(t *rapid.T) part {
	return among(t, "request_id", func() part {
		pair := rapid.SampledFrom([][2]string{
			{`x`, `x`},
			{``, ``},
			{`\"\\\/`, `\"\\/`},
			{`\u0000\u001F\n\b`, `\u0000\u001f\n\b`},
			{`\u2028<&>\u003c`, "\u2028<&><"},
			{`\ud83d\ude00`, "😀"},
			{"\u2029\u007f", "\u2029\u007f"},
			{strings.Repeat("long ", 100), strings.Repeat("long ", 100)},
		}).Draw(t, "request_id")
		return part{json: `"` + pair[0] + `"`, text: `"` + pair[1] + `"`}
	}, []string{`null`, `1`, `[]`, `{}`, `true`})
}

var allPreferences = []string{"price_ascending", "price_descending", "lumens_descending", "lumens_ascending", "in_stock_descending"}

func drawPreferences(t *rapid.T) part {
	return among(t, "preferences", func() part {
		if rapid.IntRange(0, 4).Draw(t, "none") == 0 {
			return part{json: rapid.SampledFrom([]string{`null`, `[]`}).Draw(t, "preferences")}
		}
		var names []string
		for _, field := range rapid.Permutation([]string{"price", "lumens", "in_stock"}).Draw(t, "fields")[:rapid.IntRange(1, 3).Draw(t, "how many")] {
			if direction := rapid.SampledFrom([]string{"_descending", "_ascending"}).Draw(t, "direction"); field != "in_stock" {
				names = append(names, field+direction)
			} else {
				names = append(names, "in_stock_descending")
			}
		}
		return part{json: `["` + strings.Join(names, `","`) + `"]`, names: names}
	}, []string{
		`""`, `"price_ascending"`, `{}`, `0`, `true`, `[null]`, `[1]`, `[""]`, `["price"]`, `["in_stock_ascending"]`, `["Price_ascending"]`,
		`["price_ascending","price_ascending"]`, `["lumens_ascending","price_ascending","lumens_descending"]`, `[["price_ascending"]]`,
		`[{"field":"price","prefer":"lowest"}]`,
	})
}

func drawPurpose(t *rapid.T) part {
	return among(t, "purpose", func() part {
		name := rapid.SampledFrom([]string{"matching", "reading"}).Draw(t, "purpose")
		return part{json: `"` + name + `"`, text: name}
	}, []string{`null`, `""`, `[]`, `["matching"]`, `0`, `"painting"`, `"Matching"`})
}

// written is a list of members in any order, of which some are left out, some
// stand twice and some are unknown.
type written struct {
	members []part
	times   map[string]int
}

// drawWritten draws how often members stand and where; those that are needed
// are seldom left out.
func drawWritten(t *rapid.T, parts []part, needed ...string) written {
	w := written{times: map[string]int{}}
	for _, p := range parts {
		times := rapid.SampledFrom([]int{0, 1, 1, 1, 1, 1, 1, 1, 1, 2}).Draw(t, "times of "+p.name)
		if !slices.Contains(needed, p.name) && rapid.Bool().Draw(t, "leave out "+p.name) {
			times = 0
		}
		if w.times[p.name] = times; times > 0 && rapid.IntRange(0, 5).Draw(t, "repeat "+p.name) > 0 {
			w.times[p.name] = 1
		}
		for range w.times[p.name] {
			w.members = append(w.members, p)
		}
	}
	if rapid.IntRange(0, 7).Draw(t, "unknown") == 0 {
		name := rapid.SampledFrom([]string{"limit", "price", "Request_id", "tools", "a.b", "<>"}).Draw(t, "unknown name")
		w.members = append(w.members, part{name: name, json: `1`})
	}
	if len(w.members) > 1 {
		w.members = rapid.Permutation(w.members).Draw(t, "order")
	}
	return w
}

func (w written) json() string {
	var members []string
	for _, p := range w.members {
		members = append(members, `"`+p.name+`":`+p.json)
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// once is a part that stands exactly once, else nil.
func (w written) once(name string) *part {
	for _, p := range w.members {
		if p.name == name && w.times[name] == 1 {
			return &p
		}
	}
	return nil
}

// modelRequest is a whole request.
type modelRequest struct {
	promise string
	top     written
	filters written
	third   string // preferences, purpose or nothing
}

func drawModelRequest(t *rapid.T) modelRequest {
	r := modelRequest{
		promise: rapid.SampledFrom([]string{"search_lights", "rank_lights", "assess_lights"}).Draw(t, "tool"),
		filters: drawWritten(t, drawFilters(t)),
	}
	parts := []part{drawRequestID(t), among(t, "filters", func() part { return part{json: r.filters.json()} }, notObjects)}
	switch r.promise {
	case "rank_lights":
		r.third = "preferences"
		parts = append(parts, drawPreferences(t))
	case "assess_lights":
		r.third = "purpose"
		parts = append(parts, drawPurpose(t))
	}
	r.top = drawWritten(t, parts, "request_id", r.third)
	return r
}

// fault is the first argument at fault, "" where there is none.
func (r modelRequest) fault() string {
	bad := func(w written, name string) bool {
		p := w.once(name)
		return w.times[name] > 1 || p != nil && !p.valid
	}
	filters := r.top.once("filters")
	inside := filters != nil && filters.valid
	switch {
	case r.top.times["request_id"] == 0 || bad(r.top, "request_id"):
		return "request_id"
	case bad(r.top, "filters"):
		return "filters"
	}
	for _, name := range []string{"min_price_minor", "max_price_minor", "min_lumens", "in_stock", "colour"} {
		if inside && bad(r.filters, name) {
			return "filters." + name
		}
	}
	if r.third != "" && (bad(r.top, r.third) || r.third == "purpose" && r.top.times["purpose"] == 0) {
		return r.third
	}
	for _, p := range r.top.members {
		if _, known := r.top.times[p.name]; !known {
			return p.name
		}
		if p.name == "filters" && inside {
			for _, inner := range r.filters.members {
				if _, known := r.filters.times[inner.name]; !known {
					return "filters." + inner.name
				}
			}
		}
	}
	return ""
}

// answer is what the request must be answered with.
func (r modelRequest) answer(lights []light) string {
	id := "null"
	if p := r.top.once("request_id"); p != nil && p.valid {
		id = p.text
	}
	whole := func(format string, args ...any) string {
		return `{"request_id":` + id + `,"status":` + fmt.Sprintf(format, args...) + `,"recommendation":false}`
	}
	if field := r.fault(); field != "" {
		return whole(`"invalid_input","field":"%s"`, field)
	}
	var preferences []string
	if p := r.top.once("preferences"); p != nil {
		preferences = p.names
	}
	if r.third == "preferences" && preferences == nil {
		return whole(`"clarify_preferences","missing":["preferences"],"accepted":["%s"]`, strings.Join(allPreferences, `","`))
	}
	var kept []light
	for _, l := range lights {
		if r.keeps(l) {
			kept = append(kept, l)
		}
	}
	slices.SortFunc(kept, func(a, b light) int { return strings.Compare(a.id, b.id) })
	var ids []string
	for _, l := range kept {
		ids = append(ids, `"`+l.id+`"`)
	}
	list := strings.Join(ids, ",")
	switch {
	case len(kept) == 0:
		return whole(`"no_matches","ids":[],"basis":"filters_only"`)
	case r.third == "preferences":
		return whole(`"preference_order","items":[%s],"basis":"%s"`, ranked(kept, preferences), strings.Join(preferences, "_then_"))
	case r.third == "purpose":
		needs := map[string]string{"matching": `"a spectrum","a date"`, "reading": `"illuminance"`}
		return whole(`"insufficient_evidence","ids":[%s],"missing":[%s]`, list, needs[r.top.once("purpose").text])
	}
	return whole(`"matches","ids":[%s],"basis":"filters_only"`, list)
}

func (r modelRequest) keeps(l light) bool {
	if r.top.times["filters"] == 0 {
		return true
	}
	for _, p := range r.filters.members {
		if !p.keeps(l) {
			return false
		}
	}
	return true
}

// worth is a light's number under a preference, the higher the better, and
// whether it is known.
func worth(l light, preference string) (int, bool) {
	number, known := l.price, true
	switch {
	case strings.HasPrefix(preference, "lumens"):
		if known = l.lumens != nil; known {
			number = *l.lumens
		}
	case strings.HasPrefix(preference, "in_stock"):
		if known = l.inStock != nil; known {
			number = map[bool]int{true: 1}[*l.inStock]
		}
	}
	if strings.HasSuffix(preference, "_ascending") {
		number = -number
	}
	return number, known
}

func better(a, b light, preferences []string) bool {
	for _, preference := range preferences {
		x, knownX := worth(a, preference)
		y, knownY := worth(b, preference)
		switch {
		case knownX != knownY:
			return knownX
		case knownX && x != y:
			return x > y
		}
	}
	return false
}

// ranked gives each light the rank 1 + how many are better, lights in the
// order of their ids having been given.
func ranked(kept []light, preferences []string) string {
	var items []string
	for rank := 1; rank <= len(kept); rank++ {
		for _, l := range kept {
			above := 0
			for _, other := range kept {
				if better(other, l, preferences) {
					above++
				}
			}
			if above+1 == rank {
				items = append(items, fmt.Sprintf(`{"id":"%s","rank":%d}`, l.id, rank))
			}
		}
	}
	return strings.Join(items, ",")
}

// TestModelV1 holds random requests over random files to the model.
func TestModelV1(t *testing.T) {
	folder := t.TempDir()
	write := func(t *rapid.T, name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		lights := drawLights(t)
		write(t, "lights.csv", csvOf(lights))
		write(t, contractFile, modelContract)
		o, err := openWith([]string{folder}, localKey())
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			r := drawModelRequest(t)
			called, _ := o.set.Lookup(r.promise)
			request, want := r.top.json(), r.answer(lights)
			answer := called.Call(t.Context(), tool.Call{Input: []byte(request)})
			got := string(answer.Body)
			if answer.Failure != nil { // the members of a failure follow
				leading, _, _ := strings.Cut(got, `,"error":"`)
				got = leading + "}"
			}
			if got != want {
				t.Fatalf("%s %s\nover\n%s\ngot  %s\nwant %s", r.promise, request, csvOf(lights), got, want)
			}
			if failed := strings.Contains(want, `"invalid_input"`); failed != (answer.Failure != nil) {
				t.Fatalf("%s: a failure is %v", request, answer.Failure != nil)
			}
			_, status, _ := strings.Cut(want, `"status":"`)
			status, _, _ = strings.Cut(status, `"`)
			seen[status]++
		}
	})
	for _, status := range []string{"matches", "preference_order", "clarify_preferences", "no_matches", "insufficient_evidence", "invalid_input"} {
		if seen[status] < 20 {
			t.Errorf("%s was asked for %d times: the property shows too little of it", status, seen[status])
		}
	}
}

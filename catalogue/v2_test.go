package catalogue_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"remit.example/catalogue"
	"remit.example/record"
)

var update = flag.Bool("update", false, "rewrite golden files")

// lamps has a column of every type; title is shown, price is volatile.
const lamps = `remit: 1
service: lamp-shop
data: {file: lamps.csv, as_of: 2026-01-01, max_age: 24h}
columns:
  sku: {id: true}
  title: {type: text, show: true, example: desk lamp}
  link: {type: url, unknown: [""]}
  price: {type: money, currency: EUR, from: minor, volatile: true, show: true, prefer: lowest, example: 4999}
  lumens: {type: integer, unit: LUM, unknown: [""], prefer: [highest, lowest]}
  watts: {type: decimal, scale: 1, unit: WTT, unknown: [""], prefer: lowest, example: 7.5}
  in_stock: {type: boolean, "true": ["true"], "false": ["false"], volatile: true, prefer: "true"}
purposes:
  colour_matching: {version: "1", owner: lighting@shop.example, method: none, needs: [colour_accuracy_evidence]}
tools:
  search_lamps: {promise: search, filters: {sku: equals, title: words, link: equals, price: [min, max], lumens: min, watts: equals, in_stock: equals}}
  search_bounds: {promise: search, filters: {watts: [min, max]}}
  rank_lamps: {promise: rank_preferences, filters: {price: max}}
  rank_known_lamps: {promise: rank_preferences, unknown: exclude}
  rank_strictly: {promise: rank_preferences, unknown: reject}
  assess_lamps: {promise: assess_suitability, filters: {lumens: min}}
  get_lamp: {promise: lookup, by: sku}
`

const stock = `sku,title,link,price,lumens,watts,in_stock
0017,"Desk lamp, LED ""Arc""",https://shop.example/0017,4999,800,7.5,true
0018,Desk Lamp Straße,,4999,,7.5,false
0019,Ceiling light,https://shop.example/0019?a=1&b=2,12900,2400,,true
0020,Clamp lamp <b>,,1999,350,4.0,true
`

func lampShop(t tester) *shop { return open(t, lamps, stock) }

// golden holds requests and their answers to a file: a request, its tool before
// it, and below it the answer.
func golden(t *testing.T, s *shop, name string) {
	t.Helper()
	path := "testdata/" + name + ".golden"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		request, isRequest := strings.CutPrefix(line, "> ")
		switch {
		case isRequest:
			tool, body, _ := strings.Cut(strings.TrimSpace(request), " ")
			answer := s.answer(tool, body, 0)
			out.WriteString(line + string(answer.Body) + "\n" + answer.Prose + "\n")
		case strings.HasPrefix(line, "#"), line == "\n":
			out.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(out.String(), "\n")); d != "" {
		t.Errorf("%s: run the test with -update and read the difference: %s", path, d)
	}
}

func TestShapes(t *testing.T) {
	golden(t, lampShop(t), "shapes")
}

// TestStaleShapes asks a day and a half after the data was true: volatile
// values are unknown, and the answers say so.
func TestStaleShapes(t *testing.T) {
	s := lampShop(t)
	s.source.Now = func() time.Time { return asOf.Add(36 * time.Hour) }
	golden(t, s, "stale")
}

// TestStaleBoundary: data is stale only when it is older than max_age.
func TestStaleBoundary(t *testing.T) {
	s := lampShop(t)
	for age, want := range map[time.Duration]string{
		24 * time.Hour: `"stale":false`, 24*time.Hour + 1: `"stale":true`, -time.Hour: `"stale":false`,
	} {
		s.source.Now = func() time.Time { return asOf.Add(age) }
		if got := s.ask("search_lamps", `{"request_id":"x"}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s", age, got)
		}
	}
	s.engine.info.AsOf = time.Time{} // nobody knows how old it is
	if got := s.ask("search_lamps", `{"request_id":"x"}`); !strings.Contains(got, `"as_of":null,"stale":true`) {
		t.Error(got)
	}
}

// literals are those of the format, whose members the answers to these
// requests must have in this order with these values; other members may stand
// between them.
var literals = []struct{ tool, request, want string }{
	{
		"search", `{"request_id":"Q1",` + common + `}`,
		`{"request_id":"Q1","status":"matches","ids":["A","B","D"],"total":{"value":3,"relation":"exact"},"basis":"filters_only","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"excluded_unknown":{"lumens":1},"snapshot":"sha256:0123456789ab","cursor":null,"recommendation":false}`,
	},
	{
		"rank_preferences", `{"request_id":"Q2",` + common + `,"preferences":["price_ascending","lumens_descending"]}`,
		`{"request_id":"Q2","status":"preference_order","items":[{"id":"B","rank":1,"tied":2,"key":[4500,600],"decided_by":null},{"id":"D","rank":1,"tied":2,"key":[4500,600],"decided_by":null},{"id":"A","rank":3,"tied":1,"key":[6000,800],"decided_by":"price_ascending"}],"total":{"value":3,"relation":"exact"},"basis":"price_ascending_then_lumens_descending","unknown":{"policy":"last","counts":{"lumens":0}},"filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true},"excluded_unknown":{"lumens":1},"snapshot":"sha256:0123456789ab","cursor":null,"recommendation":false}`,
	},
	{
		"search", `{"request_id":"Q4","filters":{"max_price_minor":"6000"}}`,
		`{"request_id":"Q4","status":"invalid_input","field":"filters.max_price_minor","recommendation":false}`,
	},
}

func TestLiterals(t *testing.T) {
	s := lightsV2(t)
	for _, l := range literals {
		holds(t, s.ask(l.tool, l.request), l.want)
	}
	if got := s.ask("search", literals[0].request); strings.Contains(got, `"items"`) {
		t.Errorf("there are items, although no column is shown: %s", got)
	}
	failure := s.answer("search", literals[2].request, 0).Failure
	want := []record.Field{{Pointer: "/filters/max_price_minor", Reason: "wrong_type", Accepted: "integer"}}
	if d := cmp.Diff(want, failure.Fields); d != "" {
		t.Error(d)
	}
}

type member struct {
	name  string
	value string
}

func membersOf(t tester, body string) (list []member) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(body))
	if _, err := decoder.Token(); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if slices.ContainsFunc(list, func(m member) bool { return m.name == name }) {
			t.Fatalf("%s stands twice: %s", name, body)
		}
		list = append(list, member{name.(string), string(value)})
	}
	return list
}

// holds reports a literal's member that an answer lacks or has elsewhere.
func holds(t *testing.T, got, literal string) {
	t.Helper()
	rest := membersOf(t, got)
	for _, want := range membersOf(t, literal) {
		i := slices.Index(rest, want)
		if i < 0 {
			t.Errorf("no member %s with %s in this place: %s", want.name, want.value, got)
			continue
		}
		rest = rest[i+1:]
	}
}

// TestUnknownPolicies: last keeps rows without a value behind all others,
// exclude leaves them out of order and total, reject refuses the order.
func TestUnknownPolicies(t *testing.T) {
	s := lampShop(t)
	for _, c := range []struct{ tool, preferences, want string }{
		{"rank_lamps", `["lumens_descending"]`, "0019 0017 0020 0018; 4; last map[lumens:1] map[]"},
		{"rank_lamps", `["watts_ascending","lumens_ascending"]`, "0020 0017 0018 0019; 4; last map[lumens:1 watts:1] map[]"},
		{"rank_lamps", `[{"field":"lumens","prefer":"highest","unknown":"exclude"}]`, "0019 0017 0020; 3; last map[lumens:1] map[lumens:exclude]"},
		{"rank_lamps", `[{"field":"lumens","prefer":"lowest"}]`, "0020 0017 0019 0018; 4; last map[lumens:1] map[]"},
		{"rank_lamps", `[{"field":"price","prefer":"lowest","unknown":"reject"}]`, "0020 0017 0018 0019; 4; last map[] map[price_minor:reject]"},
		{"rank_lamps", `[{"field":"lumens","prefer":"highest","unknown":"reject"}]`, "invalid_input"},
		{"rank_lamps", `["price_ascending",{"field":"watts","prefer":"lowest","unknown":"reject"}]`, "invalid_input"},
		{"rank_known_lamps", `["lumens_descending"]`, "0019 0017 0020; 3; exclude map[lumens:1] map[]"},
		{"rank_known_lamps", `["lumens_descending","watts_ascending"]`, "0017 0020; 2; exclude map[lumens:1 watts:1] map[]"},
		{"rank_known_lamps", `[{"field":"lumens","prefer":"lowest","unknown":"last"}]`, "0020 0017 0019 0018; 4; exclude map[lumens:1] map[lumens:last]"},
		{"rank_strictly", `["lumens_descending"]`, "invalid_input"},
		{"rank_strictly", `["in_stock_descending"]`, "0017 0019 0020 0018; 4; reject map[] map[]"},
		// What a preference object may not say.
		{"rank_lamps", `[{"field":"lumens"}]`, "invalid_input"},
		{"rank_lamps", `[{"prefer":"lowest"}]`, "invalid_input"},
		{"rank_lamps", `[{"field":"price","prefer":"highest"}]`, "invalid_input"},
		{"rank_lamps", `[{"field":"lumens","prefer":"lowest","unknown":""}]`, "invalid_input"},
		{"rank_lamps", `[{"field":"lumens","prefer":"lowest","unknown":null}]`, "invalid_input"},
		{"rank_lamps", `[{"field":"lumens","prefer":"lowest","bucket":{"width":5}}]`, "invalid_input"},
		{"rank_lamps", `[{"field":"lumens","prefer":"around","target":5}]`, "invalid_input"},
		{"rank_lamps", `[{"field":"lumens","field":"lumens","prefer":"lowest"}]`, "invalid_input"},
		{"rank_lamps", `["lumens_descending",{"field":"lumens","prefer":"lowest"}]`, "invalid_input"},
		{"rank_lamps", `[{"field":"in_stock","prefer":"true"},"price_ascending","watts_ascending","lumens_ascending"]`, "0020 0017 0019 0018; 4; last map[lumens:1 watts:1] map[]"},
	} {
		if got := orderOf(t, s.ask(c.tool, `{"request_id":"x","preferences":`+c.preferences+`}`)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.tool, c.preferences, got, c.want)
		}
	}
}

// order is what an order's answer says.
type order struct {
	Status string
	Items  []struct {
		ID         string
		Rank, Tied int
		Key        []any
		DecidedBy  *string `json:"decided_by"`
	}
	Total   struct{ Value int }
	Unknown struct {
		Policy  string
		Counts  map[string]int
		ByField map[string]string `json:"by_field"`
	}
	CutTie *struct{ Rank, Tied, Shown int } `json:"cut_tie"`
	Cursor *string
	IDs    []string
}

func decoded[T any](t tester, body string) (into T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &into); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return into
}

func orderOf(t *testing.T, body string) string {
	o := decoded[order](t, body)
	if o.Status != "preference_order" {
		return o.Status
	}
	var ids []string
	for _, item := range o.Items {
		ids = append(ids, item.ID)
	}
	return fmt.Sprintf("%s; %d; %s %v %v", strings.Join(ids, " "), o.Total.Value, o.Unknown.Policy, o.Unknown.Counts, o.Unknown.ByField)
}

// TestFilters: what each filter of every type takes and finds.
func TestFilters(t *testing.T) {
	s := lampShop(t)
	for _, c := range []struct{ filter, want string }{
		{`"title":"lamp"`, "0017 0018 0020"},
		{`"title":"LAMP desk"`, "0017 0018"},
		{`"title":"STRASSE"`, "0018"},
		{`"title":"arc, led"`, "0017"},
		{`"title":"lam"`, ""},
		{`"title":"desk desk"`, "0017 0018"},
		{`"title":" - "`, "invalid"},
		{`"title":""`, "invalid"},
		{`"title":["desk"]`, "invalid"},
		{`"link":"https://shop.example/0019?a=1&b=2"`, "0019"},
		{`"link":"https://shop.example/0019"`, ""},
		{`"link":null`, "invalid"},
		{`"sku":"0017"`, "0017"},
		{`"sku":17`, "invalid"},
		{`"max_price_minor":4999`, "0017 0018 0020"},
		{`"min_price_minor":4999,"max_price_minor":4999`, "0017 0018"},
		{`"min_price_minor":5000,"max_price_minor":4999`, ""},
		{`"max_price_minor":49.99`, "invalid"},
		{`"min_lumens":350`, "0017 0019 0020"},
		{`"watts":7.5`, "0017 0018"},
		{`"watts":7.50`, "0017 0018"},
		{`"watts":4`, "0020"},
		{`"watts":7.55`, "invalid"},
		{`"watts":75e-1`, "invalid"},
		{`"watts":"7.5"`, "invalid"},
		{`"watts":-0.0`, ""},
		{`"watts":99999999999999999999`, "invalid"},
		{`"in_stock":false`, "0018"},
		{`"in_stock":"yes"`, "invalid"},
		{`"max_watts":7.4`, "0020"},
		{`"min_watts":4,"max_watts":7.5`, "0017 0018 0020"},
	} {
		tool := "search_lamps"
		if strings.Contains(c.filter, "_watts") {
			tool = "search_bounds"
		}
		got := decoded[order](t, s.ask(tool, `{"request_id":"x","filters":{`+c.filter+`}}`))
		ids := strings.Join(got.IDs, " ")
		if got.Status == "invalid_input" {
			ids = "invalid"
		}
		if ids != c.want {
			t.Errorf("%s: got %s, want %s", c.filter, ids, c.want)
		}
	}
}

// TestReasons: the first fault of a request and what is said of it.
func TestReasons(t *testing.T) {
	const wrongText, notEmpty = "The title filter must be a text with at least one word, such as desk lamp.", "The link filter must be a text that is not empty."
	const noObject = "The filters must be an object; leave it out for no filter."
	name64 := strings.Repeat("ü", 64)
	s := lampShop(t)
	for _, c := range []struct{ tool, rest, field, reason, message string }{
		{"search_lamps", `,"filters":""`, "filters", "empty", noObject},
		{"search_lamps", `,"filters":[]`, "filters", "empty", noObject},
		{"search_lamps", `,"filters":"x"`, "filters", "wrong_type", noObject},
		{"search_lamps", `,"filters":["x"]`, "filters", "wrong_type", noObject},
		{"search_lamps", `,"filters":7`, "filters", "wrong_type", noObject},
		{"search_lamps", `,"filters":{"title":" - "}`, "filters.title", "empty", wrongText},
		{"search_lamps", `,"filters":{"link":""}`, "filters.link", "empty", notEmpty},
		{"search_lamps", `,"filters":{"colour":"red"},"x":1`, "filters.colour", "unknown_argument", "There is no argument filters.colour; valid: sku, title, link, min_price_minor, max_price_minor, min_lumens, watts, in_stock."},
		{"rank_known_lamps", `,"filters":{"colour":"red"}`, "filters.colour", "unknown_argument", "There is no argument filters.colour; valid: none."},
		{"get_lamp", `,"sku":"1","` + name64 + `":1`, name64, "unknown_argument", "There is no argument " + name64[:120] + "…; valid: request_id, sku."},
		{"get_lamp", `,"sku":"1","` + name64 + `x":1`, name64[:120] + "…", "unknown_argument", "There is no argument " + name64[:120] + "…; valid: request_id, sku."},
	} {
		failure := s.answer(c.tool, `{"request_id":"x"`+c.rest+`}`, 0).Failure
		if failure == nil {
			t.Errorf("%s %s is no fault", c.tool, c.rest)
			continue
		}
		if failure.Field != c.field || failure.Fields[0].Reason != c.reason || failure.Message != c.message {
			t.Errorf("%s %s:\ngot  %s, %s, %s\nwant %s, %s, %s", c.tool, c.rest, failure.Field, failure.Fields[0].Reason, failure.Message, c.field, c.reason, c.message)
		}
	}
}

// TestBounds: the longest that each bound of a request permits, and one more.
func TestBounds(t *testing.T) {
	var columns, named []string
	for i := range 6 {
		columns = append(columns, fmt.Sprintf("  n%d: {type: integer, prefer: lowest}\n", i))
		named = append(named, fmt.Sprintf(`"n%d_ascending"`, i))
	}
	s := open(t, "remit: 1\nservice: six\ndata: {file: six.csv, as_of: 2026-01-01}\ncolumns:\n  id: {id: true}\n"+
		strings.Join(columns, "")+"tools: {rank: {promise: rank_preferences}}\n", "id,n0,n1,n2,n3,n4,n5\nA,1,2,3,4,5,6\n")
	for _, c := range []struct {
		id          int // characters
		preferences int
		want        string // the argument at fault
	}{
		{128, 5, ""},
		{129, 5, "request_id"},
		{128, 6, "preferences"},
	} {
		failure := s.answer("rank", fmt.Sprintf(`{"request_id":%q,"preferences":[%s]}`, strings.Repeat("é", c.id), strings.Join(named[:c.preferences], ",")), 0).Failure
		switch {
		case failure == nil && c.want != "", failure != nil && (failure.Field != c.want || failure.Fields[0].Reason != "out_of_range"):
			t.Errorf("%d characters and %d preferences: %+v, want %q at fault", c.id, c.preferences, failure, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		strings.Repeat("é", 60): strings.Repeat("é", 60),
		strings.Repeat("é", 61): strings.Repeat("é", 60) + "…",
		"a\x1b\u202e\u2028b\n":  "a\ufffd\ufffd\ufffdb\ufffd",
	} {
		if got := catalogue.Clip(text); got != want {
			t.Errorf("Clip(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestManyFaults: at most fifty unknown members are looked for.
func TestManyFaults(t *testing.T) {
	var object catalogue.Node
	for i := range 60 {
		object.Members = append(object.Members, catalogue.Member{Name: fmt.Sprintf("m%d", i)})
	}
	if got := len(catalogue.UnknownMembers(&object, []string{"m7"})); got != 50 {
		t.Errorf("%d faults", got)
	}
}

// TestNesting: a value is at most 100 levels below the outermost.
func TestNesting(t *testing.T) {
	for _, c := range []struct{ open, inner, close string }{
		{"[", "1", "]"},
		{`{"a":`, "1", "}"},
		{`[{"a":`, "1", "}]"},
	} {
		levels := 100 / len(c.close)
		deepest := strings.Repeat(c.open, levels) + c.inner + strings.Repeat(c.close, levels)
		if _, err := catalogue.ParseNode([]byte(deepest)); err != nil {
			t.Errorf("%d × %s: %v", levels, c.open, err)
		}
		if _, err := catalogue.ParseNode([]byte("[" + deepest + "]")); err == nil || err.Error() != "nested too deeply" {
			t.Errorf("%d × %s in a list: %v", levels, c.open, err)
		}
	}
}

// TestKeys: a value of every kind that has an order, as an answer writes it.
func TestKeys(t *testing.T) {
	got := lampShop(t).ask("rank_lamps", `{"request_id":"x","preferences":["in_stock_descending","watts_ascending","lumens_descending","price_ascending"]}`)
	for _, key := range []string{`[true,4.0,350,1999]`, `[true,7.5,800,4999]`, `[true,null,2400,12900]`, `[false,7.5,null,4999]`} {
		if !strings.Contains(got, `"key":`+key) {
			t.Errorf("no key %s: %s", key, got)
		}
	}
}

// TestProse: sentences at their bounds.
func TestProse(t *testing.T) {
	const ten = "L0000, L0001, L0002, L0003, L0004, L0005, L0006, L0007, L0008"
	for _, c := range []struct {
		lamps      int
		tool, rest string
		want       string
	}{
		{10, "search_lamps", ``, "No filter was given: the catalogue holds " + ten + " and L0009."},
		{11, "search_lamps", ``, "No filter was given: the catalogue holds " + ten + ", L0009 and 1 more."},
		{3, "rank_lamps", `,"filters":{"max_price_minor":-1},"preferences":[{"field":"watts","prefer":"lowest","unknown":"exclude"}]`, "No record meets the price filter."},
		{3, "rank_lamps", `,"preferences":[{"field":"watts","prefer":"lowest","unknown":"exclude"}]`, "Nothing is in the order: the watts of 3 matching records is not known, and unknown values were to be left out."},
	} {
		if got := many(t, c.lamps).answer(c.tool, `{"request_id":"x"`+c.rest+`}`, 0).Prose; got != c.want {
			t.Errorf("%d lamps, %s %s:\ngot  %s\nwant %s", c.lamps, c.tool, c.rest, got, c.want)
		}
	}
}

// TestProseOfALaterPage: a page that does not begin with the first rank says
// with which it does.
func TestProseOfALaterPage(t *testing.T) {
	for _, c := range []struct{ members, want string }{
		{`"preferences":["price_ascending"],"limit":3`, "L0003, L0004 and L0005 share rank 4 under your lower-price-first preference (3 of 9 are shown). This order does not assess colour matching."},
		{`"preferences":["price_ascending","lumens_ascending"],"limit":2`, "L0001 has rank 3 under your lower-price-first and lower-lumens-first preferences; L0004 follows (2 of 9 are shown). This order does not assess colour matching."},
	} {
		s := many(t, 9)
		first := decoded[order](t, s.ask("rank_lamps", `{"request_id":"x",`+c.members+`}`))
		if got := s.answer("rank_lamps", `{"request_id":"x",`+c.members+`,"cursor":"`+*first.Cursor+`"}`, 0).Prose; got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.members, got, c.want)
		}
	}
}

// TestHostileText: whatever a file holds, answers are JSON in UTF-8 and the
// prose obeys nothing.
func TestHostileText(t *testing.T) {
	s := lampShop(t)
	hostile := "\x1b[2J\u202edekcah\u2066 </script>\u2028\r\n\t\u0000\"\\" + strings.Repeat("𝔏", 25_000)
	for i := range s.engine.rows {
		s.engine.rows[i].Values[1].Text = hostile
	}
	s.engine.rows[1].ID += hostile
	s.engine.rows[1].Values[0].Text += hostile
	for _, c := range []struct{ tool, rest string }{
		{"search_lamps", ""},
		{"rank_lamps", `,"preferences":["price_ascending"]`},
		{"assess_lamps", `,"purpose":"colour_matching"`},
		{"get_lamp", `,"sku":"0017"`},
		{"get_lamp", `,"sku":` + string(record.AppendString(nil, hostile))},
		{"search_lamps", `,"filters":{"title":` + string(record.AppendString(nil, "lamp "+hostile)) + `}`},
		{"search_lamps", `,` + string(record.AppendString(nil, hostile)) + `:1`},
	} {
		for _, characters := range []int{0, 1500} {
			answer := s.answer(c.tool, `{"request_id":"x"`+c.rest+`}`, characters)
			wellFormed(t, answer)
			if characters > 0 && len([]rune(string(answer.Body))) > characters && !strings.Contains(string(answer.Body), s.engine.rows[1].ID[:8]) {
				t.Errorf("%s: %d characters", c.tool, len([]rune(string(answer.Body))))
			}
		}
	}
}

// wellFormed holds an answer to what is true of every one of them.
func wellFormed(t tester, answer catalogue.Answer) {
	t.Helper()
	members := membersOf(t, string(answer.Body))
	if !json.Valid(answer.Body) || !utf8.Valid(answer.Body) {
		t.Errorf("no JSON in UTF-8: %q", answer.Body)
	}
	if members[0].name != "request_id" || members[1].name != "status" || members[len(members)-1] != (member{"recommendation", "false"}) {
		t.Errorf("the first or last members are others: %s", answer.Body)
	}
	if strings.ContainsAny(answer.Prose, "\x00\x1b\r\n\t\u202e\u2066\u2028") || answer.Prose == "" || len([]rune(answer.Prose)) > 2000 {
		t.Errorf("the prose is not plain: %q", answer.Prose)
	}
}

package catalogue_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"remit.example/catalogue"
	"remit.example/contract"
)

const lights = `remit: 1
service: task-lights
data: {file: lights.csv, as_of: 2026-01-01}
columns:
  id: {id: true}
  price: {type: money, currency: XTS, from: minor, prefer: [lowest, highest], label: {lowest: a lower price}, example: 6000}
  lumens: {type: integer, unit: LUM, unknown: [""], prefer: [lowest, highest], label: {name: light-output, highest: more light}, example: 600}
  in_stock: {type: boolean, "true": ["true"], "false": ["false"], label: stock, example: true}
purposes:
  colour_matching: {version: "1", owner: lighting@shop.example, method: none, needs: [colour_accuracy_evidence]}
tools:
  search: {promise: search, FORMAT filters: {price: max, lumens: min, in_stock: equals}}
  rank_preferences: {promise: rank_preferences, FORMAT filters: {price: max, lumens: min, in_stock: equals}}
  assess_suitability: {promise: assess_suitability, FORMAT filters: {price: max, lumens: min, in_stock: equals}}
`

const inventory = "id,price,lumens,in_stock\nA,6000,800,true\nB,4500,600,true\nC,4500,400,true\nD,4500,600,true\nE,4000,900,false\nF,5000,,true\n"

func lightsV1(t tester) *shop {
	return open(t, strings.ReplaceAll(lights, "FORMAT", "format: catalogue-v1,"), inventory)
}

func lightsV2(t tester) *shop {
	return open(t, strings.ReplaceAll(lights, "FORMAT ", ""), inventory)
}

// common are the filters of the frozen cases.
const common = `"filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true}`

// frozen pairs the frozen cases with their literal answers.
func frozen(t *testing.T) (cases, answers []string) {
	t.Helper()
	for _, file := range []struct {
		name string
		into *[]string
	}{{"cases", &cases}, {"answers", &answers}} {
		text, err := os.ReadFile("testdata/catalogue-v1." + file.name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		*file.into = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	if len(cases) != 6 || len(answers) != 6 {
		t.Fatalf("%d cases, %d answers; want 6 of each", len(cases), len(answers))
	}
	return cases, answers
}

func TestFrozenCases(t *testing.T) {
	s := lightsV1(t)
	prose := map[string]string{
		"S1": "A, B and D match the price, light-output and stock filters.",
		"R1": "B and D tie under your lower-price-first preference; A follows. This order does not assess colour matching.",
		"R2": "Which matters more to you, a lower price or more light? I have not chosen for you.",
		"U1": "These items match your filters, but this catalogue cannot establish which is suitable for colour matching.",
		"S2": "No record meets the price, light-output and stock filters.",
		"S3": "The price ceiling must be a whole number of minor units, such as 6000.",
	}
	cases, answers := frozen(t)
	for i, line := range cases {
		id := line[len(`{"request_id":"`):][:2]
		_, rest, _ := strings.Cut(line, `,"tool":"`)
		name, rest, _ := strings.Cut(rest, `"`)
		answer := s.answer(name, `{"request_id":"`+id+`"`+rest, 0)
		if string(answer.Body) != answers[i] {
			t.Errorf("%s: got  %s\nwant %s", id, answer.Body, answers[i])
		}
		if answer.Prose != prose[id] {
			t.Errorf("%s: got  %s\nwant %s", id, answer.Prose, prose[id])
		}
		if failed := answer.Failure != nil; failed != (id == "S3") {
			t.Errorf("%s: a failure is %v", id, failed)
		}
	}
}

// TestMalformed names the argument at fault for every kind of fault.
func TestMalformed(t *testing.T) {
	s := lightsV1(t)
	for _, c := range []struct{ tool, request, field string }{
		{"search", ``, "null"},
		{"search", `[]`, "null"},
		{"search", `null`, "null"},
		{"search", `"text"`, "null"},
		{"search", `{"request_id":"x"`, "null"},
		{"search", `{"request_id":"x"} {}`, "null"},
		{"search", `{"request_id":"x",}`, "null"},
		{"search", `{"request_id":"\ud800"}`, "null"},
		{"search", "{\"request_id\":\"\xff\"}", "null"},
		{"search", `{"request_id":"x","filters":{"max_price_minor":06}}`, "null"},
		{"search", `{"request_id":"x","filters":{"max_price_minor":NaN}}`, "null"},
		{"search", `{}`, `"request_id"`},
		{"search", `{"request_id":null}`, `"request_id"`},
		{"search", `{"request_id":7}`, `"request_id"`},
		{"search", `{"request_id":"x","request_id":"x"}`, `"request_id"`},
		{"search", `{"request_id":["x"],"filters":7}`, `"request_id"`},
		{"search", `{"request_id":"x","filters":null}`, `"filters"`},
		{"search", `{"request_id":"x","filters":[]}`, `"filters"`},
		{"search", `{"request_id":"x","filters":""}`, `"filters"`},
		{"search", `{"request_id":"x","filters":{},"filters":{}}`, `"filters"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":null}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":""}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":[]}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":{}}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":true}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":6000.0}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":6e3}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":6E+3}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":9007199254740992}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":-9007199254740992}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":99999999999999999999999999}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"max_price_minor":1,"max_price_minor":1}}`, `"filters.max_price_minor"`},
		{"search", `{"request_id":"x","filters":{"in_stock":"true"}}`, `"filters.in_stock"`},
		{"search", `{"request_id":"x","filters":{"in_stock":1}}`, `"filters.in_stock"`},
		{"search", `{"request_id":"x","filters":{"in_stock":null}}`, `"filters.in_stock"`},
		{"search", `{"request_id":"x","filters":{"colour":"red"}}`, `"filters.colour"`},
		{"search", `{"request_id":"x","filters":{"price":1}}`, `"filters.price"`},
		{"search", `{"request_id":"x","limit":5}`, `"limit"`},
		{"search", `{"request_id":"x","preferences":["price_ascending"]}`, `"preferences"`},
		{"search", `{"request_id":"x","purpose":"colour_matching"}`, `"purpose"`},
		{"search", `{"request_id":"x","tool":"search"}`, `"tool"`},
		{"search", `{"Request_ID":"x"}`, `"request_id"`},
		{"search", `{"request_id":"x","é\"":1}`, `"é\""`},
		// The order is that of the schema, not that of the request; unknown
		// arguments stand after known ones.
		{"search", `{"request_id":"x","filters":{"in_stock":1,"min_lumens":"x","max_price_minor":"x"}}`, `"filters.max_price_minor"`},
		{"search", `{"zz":1,"request_id":"x","filters":{"b":1,"in_stock":1}}`, `"filters.in_stock"`},
		{"search", `{"zz":1,"filters":{"b":1},"request_id":"x"}`, `"zz"`},
		{"search", `{"filters":{"b":1},"zz":1,"request_id":"x"}`, `"filters.b"`},
		{"search", `{"filters":7,"request_id":7}`, `"request_id"`},
		{"rank_preferences", `{"request_id":"x","preferences":"price_ascending"}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":{}}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":""}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":false}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":["cheap"]}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":[null]}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":[""]}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":[["price_ascending"]]}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":[{"field":"price","prefer":"lowest"}]}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":["price_ascending","price_ascending"]}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":["price_ascending","lumens_descending","price_descending"]}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":null,"preferences":null}`, `"preferences"`},
		{"rank_preferences", `{"request_id":"x","preferences":null,"ties":"cut"}`, `"ties"`},
		{"rank_preferences", `{"preferences":["cheap"],"request_id":"x","filters":{"in_stock":0}}`, `"filters.in_stock"`},
		{"assess_suitability", `{"request_id":"x"}`, `"purpose"`},
		{"assess_suitability", `{"request_id":"x","purpose":null}`, `"purpose"`},
		{"assess_suitability", `{"request_id":"x","purpose":""}`, `"purpose"`},
		{"assess_suitability", `{"request_id":"x","purpose":["colour_matching"]}`, `"purpose"`},
		{"assess_suitability", `{"request_id":"x","purpose":"Colour_Matching"}`, `"purpose"`},
		{"assess_suitability", `{"request_id":"x","purpose":"reading","filters":{"min_lumens":5.5}}`, `"filters.min_lumens"`},
	} {
		id := `"x"`
		if c.field == "null" || c.field == `"request_id"` {
			id = "null"
		}
		want := `{"request_id":` + id + `,"status":"invalid_input","field":` + c.field + `,"recommendation":false}`
		answer := s.answer(c.tool, c.request, 0)
		if string(answer.Body) != want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.tool, c.request, answer.Body, want)
		}
		if answer.Failure == nil || answer.Failure.Code != "INVALID_ARGUMENT" || answer.Failure.Message == "" || answer.Prose != answer.Failure.Message {
			t.Errorf("%s %s: %+v, %q", c.tool, c.request, answer.Failure, answer.Prose)
		}
	}
}

// TestOrderOfChecks: invalid_input, then clarify_preferences, then no_matches.
func TestOrderOfChecks(t *testing.T) {
	const nothing = `"filters":{"max_price_minor":1}`
	s := lightsV1(t)
	for _, c := range []struct{ tool, request, want string }{
		{"rank_preferences", nothing, `"clarify_preferences","missing":["preferences"],"accepted":["price_ascending","price_descending","lumens_ascending","lumens_descending"]`},
		{"rank_preferences", nothing + `,"preferences":[]`, `"clarify_preferences","missing":["preferences"],"accepted":["price_ascending","price_descending","lumens_ascending","lumens_descending"]`},
		{"rank_preferences", nothing + `,"preferences":[],"x":1`, `"invalid_input","field":"x"`},
		{"rank_preferences", nothing + `,"preferences":["lumens_ascending"]`, `"no_matches","ids":[],"basis":"filters_only"`},
		{"assess_suitability", nothing + `,"purpose":"colour_matching"`, `"no_matches","ids":[],"basis":"filters_only"`},
		{"assess_suitability", nothing + `,"purpose":"reading"`, `"invalid_input","field":"purpose"`},
		// Edges that are no faults.
		{"search", `"filters":{}`, `"matches","ids":["A","B","C","D","E","F"],"basis":"filters_only"`},
		{"search", `"filters":{"max_price_minor":-0}`, `"no_matches","ids":[],"basis":"filters_only"`},
		{"search", `"filters":{"min_lumens":-9007199254740991}`, `"matches","ids":["A","B","C","D","E"],"basis":"filters_only"`},
		{"search", `"filters":{"max_price_minor":9007199254740991}`, `"matches","ids":["A","B","C","D","E","F"],"basis":"filters_only"`},
		{"search", `"filters":{"max_price_minor":4500,"min_lumens":600}`, `"matches","ids":["B","D","E"],"basis":"filters_only"`},
		{"search", `"filters":{"in_stock":false}`, `"matches","ids":["E"],"basis":"filters_only"`},
		{"search", `"f\u0069lters":{"\u0069n_stock":false}`, `"matches","ids":["E"],"basis":"filters_only"`},
		// An unknown value comes last in either direction.
		{"rank_preferences", `"preferences":["lumens_descending"]`, `"preference_order","items":[{"id":"E","rank":1},{"id":"A","rank":2},{"id":"B","rank":3},{"id":"D","rank":3},{"id":"C","rank":5},{"id":"F","rank":6}],"basis":"lumens_descending"`},
		{"rank_preferences", `"preferences":["lumens_ascending"]`, `"preference_order","items":[{"id":"C","rank":1},{"id":"B","rank":2},{"id":"D","rank":2},{"id":"A","rank":4},{"id":"E","rank":5},{"id":"F","rank":6}],"basis":"lumens_ascending"`},
	} {
		want := `{"request_id":"x","status":` + c.want + `,"recommendation":false}`
		if got := s.ask(c.tool, `{"request_id":"x",`+c.request+`}`); got != want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.tool, c.request, got, want)
		}
	}
}

// TestRequestID repeats any text, and escapes only what JSON requires.
func TestRequestID(t *testing.T) {
	s := lightsV1(t)
	for written, want := range map[string]string{
		``:                               ``,
		`<b>&'\/`:                        `<b>&'/`,
		`\"\\`:                           `\"\\`,
		`\u0000\u0001\b\f\n\r\t\u001f`:   `\u0000\u0001\b\f\n\r\t\u001f`,
		"\u007f\u2028\u2029\ufeff\u202e": "\u007f\u2028\u2029\ufeff\u202e",
		`\u2028\u00e9\ud83d\ude00`:       "\u2028é😀",
		"😀é e\u0301":                     "😀é e\u0301",
	} {
		request := `{"request_id":"` + written + `","filters":{"in_stock":false}}`
		answer := `{"request_id":"` + want + `","status":"matches","ids":["E"],"basis":"filters_only","recommendation":false}`
		if got := s.ask("search", request); got != answer {
			t.Errorf("%s:\ngot  %s\nwant %s", request, got, answer)
		}
	}
}

// TestNothingIsEnlarged is the evaluator's three deliberately wrong answers:
// the implementation gives none of them.
func TestNothingIsEnlarged(t *testing.T) {
	s := lightsV1(t)
	for _, c := range []struct{ tool, rest, wrong string }{
		{"search", "", `"E"`},
		{"rank_preferences", `,"preferences":["price_ascending","lumens_descending"]`, `{"id":"A","rank":1}`},
		{"assess_suitability", `,"purpose":"colour_matching"`, `"suitable"`},
	} {
		body := []byte(s.ask(c.tool, `{"request_id":"x",`+common+c.rest+`}`))
		if bytes.Contains(body, []byte(c.wrong)) || !bytes.HasSuffix(body, []byte(`"recommendation":false}`)) {
			t.Errorf("%s: %s", c.tool, body)
		}
	}
}

// TestNewPanics where the contract has no such tool: a fault of the program.
func TestNewPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New made a tool that nobody declares")
		}
	}()
	catalogue.New(catalogue.Source{Contract: &contract.Contract{}}, "nothing")
}

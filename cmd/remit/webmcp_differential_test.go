package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"remit.example/tool"
	"remit.example/wire/wiretest"
)

// plainContext is a model context of the test's own, for a browser without one:
// it keeps each tool, and calls it as little as possible.
const plainContext = `
Object.defineProperty(document, "modelContext", {value: {
	tools: {},
	async registerTool(tool, {signal}) {
		this.tools[tool.name] = tool;
		signal.addEventListener("abort", () => delete this.tools[tool.name]);
	},
}});`

// inPage is what became of one input in the page.
type inPage struct {
	Sent string `json:"sent"` // the request's body, "" where none was sent
	Body string `json:"body"` // the input as the page writes it
	Text string `json:"text"` // the bytes of the answer
	// Characters is how long the object of a failure is, in code points.
	Characters int `json:"characters"`
}

// manyKinds has arguments of every kind that a contract can declare.
const manyKinds = `remit: 1
service: kinds
data: {file: data.csv, as_of: file}
columns:
  sku: {id: true}
  title: {type: text, show: true, example: Lamp}
  link: {type: url, unknown: [""]}
  price: {type: money, currency: EUR, from: decimal, prefer: lowest}
  weight: {type: decimal, scale: 3, unknown: [""], prefer: [lowest, highest], example: "2"}
  parts: {type: integer, unknown: [""], prefer: highest}
  sold: {type: boolean, "true": ["yes"], "false": ["no"], prefer: "true"}
purposes:
  reading: {version: "1", owner: us, method: none, needs: [glare_evidence]}
tools:
  search_kinds: {promise: search, filters: {title: words, link: equals, price: max, weight: min, parts: min, sold: equals}}
  rank_kinds: {promise: rank_preferences, filters: {weight: max}, unknown: reject}
  assess_kinds: {promise: assess_suitability, filters: {parts: max}, purposes: [reading]}
  get_kind: {promise: lookup, by: sku}
  order:
    promise: command
    effect: unsafe
    input:
      count: {type: integer, minimum: 1, maximum: 12}
      offset: {type: integer, minimum: -1000000, optional: true}
      gift: {type: boolean, optional: true}
      size: {type: text, values: [small, large]}
      colour: {type: text, pattern: "[a-z]+|#[0-9A-F]{3}", accepts: a name or a code, example: red}
      note: {type: text, optional: true}
    answer: {status: {type: text}}
    backend: {fixture: {file: orders.csv, by: size}}
  find_order:
    promise: lookup
    input:
      hard: {type: text, pattern: "(x[0-9]+)+", accepts: pairs, example: x1x22}
    answer: {status: {type: text}}
    backend: {fixture: {file: found.csv, by: hard}}
`

// TestWebMCPDifferential calls tools in a page with inputs that have none, one
// or two faults, as objects and as texts: the page's own refusals have the
// bytes that the server answers with.
func TestWebMCPDifferential(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"contract.yaml": manyKinds,
		"data.csv":      "sku,title,link,price,weight,parts,sold\nA,Lamp one,,5.00,1.250,3,yes\nB,Lamp two,https://b.example/,6.00,,,no\n",
		"orders.csv":    "size,code,retry_after_ms,status\nsmall,OK,,sent\n",
		"found.csv":     "hard,code,retry_after_ms,status\nx1,OK,,sent\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, contracts := range map[string][]string{"examples": nil, "kinds": {folder}} {
		t.Run(name, func(t *testing.T) { compareWithServer(t, contracts) })
	}
}

func compareWithServer(t *testing.T, contracts []string) {
	url := webPages(t, contracts, map[string]string{
		"/{$}":      toolPage(`<script src="/plain.js"></script>` + remitScript),
		"/plain.js": plainContext,
	})
	ctx := wiretest.Chromium(t, false)
	navigate(t, ctx, url)
	o, err := open(contracts)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var all, refused, single, refusedSingle int
	for _, served := range o.set.Tools() {
		inputs := faultyInputs(t, served, random)
		for i, got := range callInPage(t, ctx, served.Name, inputs) {
			faults := checkInPage(t, served, inputs[i], got)
			all++
			if faults == 1 {
				single++
			}
			if got.Sent == "" {
				refused++
			}
			if faults == 1 && got.Sent == "" {
				refusedSingle++
			}
		}
	}
	t.Logf("of %d inputs the page refused %d; of %d with one fault %d", all, refused, single, refusedSingle)
	if refused == 0 || refused != refusedSingle {
		t.Errorf("the page refuses what has one fault, and nothing else: %d of %d", refusedSingle, refused)
	}
}

// checkInPage compares with the server, and is the number of faults that it finds.
func checkInPage(t *testing.T, served *tool.Tool, input faulty, got inPage) (faults int) {
	t.Helper()
	want := got.Body
	if input.asText {
		want = input.text
	}
	if got.Sent != "" && got.Sent != want {
		t.Errorf("%s: sent\n%s\nfor\n%s", served.Name, got.Sent, want)
	}
	answer := served.Call(context.Background(), tool.Call{Input: []byte(want), Characters: tool.AgentCharacters})
	if strings.Contains(string(answer.Body), `"cursor":"`) && got.Sent != "" {
		return 0 // the cursor's key is another
	}
	if got.Text != string(answer.Body) {
		t.Errorf("%s, sent %t, input %s\n got  %s\n want %s", served.Name, got.Sent != "", input.text, got.Text, answer.Body)
	}
	if answer.Failure == nil {
		return 0
	}
	faults = len(answer.Failure.Fields)
	// Beside the body stand its sentence once more and some 60 characters.
	if brief := utf8.RuneCount(answer.Body) + utf8.RuneCountInString(answer.Prose) + 100; got.Characters > max(tool.AgentCharacters, brief) {
		t.Errorf("%s, input %s: the failure has %d characters", served.Name, input.text, got.Characters)
	}
	return faults
}

// callInPage calls a tool with each input and reads what became of it.
func callInPage(t *testing.T, ctx context.Context, name string, inputs []faulty) []inPage {
	t.Helper()
	type given struct {
		Text   string `json:"text"`
		AsText bool   `json:"asText"`
	}
	list := make([]given, len(inputs))
	for i, input := range inputs {
		list[i] = given{input.text, input.asText}
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return evaluate[[]inPage](t, ctx, fmt.Sprintf(`
		await remit.ready;
		const tool = document.modelContext.tools[%q];
		const real = window.realFetch ??= fetch;
		let sent = "";
		window.fetch = (url, options) => { sent = options.body; return real(url, options); };
		// A call is sent before execute returns, so that several may wait at once.
		const one = async ({text, asText}) => {
			sent = "";
			const pending = tool.execute(asText ? text : JSON.parse(text));
			const body = sent;
			const answer = await pending;
			const failed = typeof answer !== "string";
			return {sent: body, body: JSON.stringify(JSON.parse(text)), text: failed ? answer.content[1]?.text ?? JSON.stringify({...answer, isError: undefined, content: undefined}) : answer,
				characters: failed ? [...JSON.stringify(answer)].length : 0};
		};
		const inputs = %s, results = [];
		while (inputs.length > 0) {
			results.push(...await Promise.all(inputs.splice(0, 24).map(one)));
		}
		window.fetch = real;
		return results;`, name, encoded))
}

// faulty is an input, given as an object or as the text that it is.
type faulty struct {
	text   string
	asText bool
}

// faultValues stand where something else is due. Some are no fault at some places.
var faultValues = []string{
	`null`, `true`, `0`, `-1`, `101`, `6000.5`, `1e3`, `6000.0`, `1e21`, `1.5e-9`, `9007199254740991`, `9007199254740993`, `-9007199254740993`, `1e400`,
	`""`, `" "`, `"!"`, `"…"`, `"6000"`, `"LED"`, `"include"`, `"\u202e\u0000<b>"`, `"\ud800"`, `"é"`, `"SHIP-10"`, `"SHIP-1040"`, `"ship-104"`, `"SHIP-104\n"`,
	`"` + strings.Repeat("x", 99) + `"`, `"` + strings.Repeat("😀", 60) + `"`, `"` + strings.Repeat("x", 129) + `"`, `"` + strings.Repeat("x", 2000) + `"`,
	`[]`, `[null]`, `["price_ascending","price_ascending"]`, `["price_ascending"]`, `{}`, `{"a":[{"b":1}]}`, strings.Repeat("[", 120) + strings.Repeat("]", 120),
}

// faultyInputs are inputs of a tool: its example, the example with a fault at
// each place, and pairs of them.
func faultyInputs(t *testing.T, served *tool.Tool, random *rand.Rand) []faulty {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Properties map[string]json.RawMessage
		}
	}
	var example map[string]any
	for data, into := range map[*json.RawMessage]any{&served.InputSchema: &schema, &served.Example: &example} {
		if err := json.Unmarshal(*data, into); err != nil {
			t.Fatal(err)
		}
	}
	places := [][]string{{"unknown"}, {"filters", "unknown"}, {"__proto__"}}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		places = append(places, []string{name})
		for _, inner := range slices.Sorted(maps.Keys(schema.Properties[name].Properties)) {
			places = append(places, []string{name, inner})
		}
	}
	inputs := []faulty{{string(served.Example), false}, {string(served.Example), true}, {`{}`, false}}
	for _, at := range places {
		inputs = append(inputs, faulty{encode(t, changed(example, at, nil)), false})
		for _, value := range faultValues {
			text := encode(t, changed(example, at, json.RawMessage(value)))
			inputs = append(inputs, faulty{text, random.IntN(3) == 0})
			if random.IntN(2) == 0 {
				continue
			}
			second := changed(changed(example, at, json.RawMessage(value)), places[random.IntN(len(places))], json.RawMessage(faultValues[random.IntN(len(faultValues))]))
			inputs = append(inputs, faulty{encode(t, second), random.IntN(3) == 0})
		}
	}
	for _, text := range []string{`[]`, `null`, `7`, `"text"`} {
		inputs = append(inputs, faulty{text, true})
	}
	twice := strings.TrimSuffix(string(served.Example), "}") + `,"request_id":"twice","shipment_ref":"twice"}`
	return append(inputs, faulty{twice, true}, faulty{" " + string(served.Example) + " ", true})
}

// changed is an object with another value at a place, nil for none.
func changed(object map[string]any, at []string, value any) map[string]any {
	next := maps.Clone(object)
	switch {
	case len(at) > 1:
		inner, _ := object[at[0]].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
		}
		next[at[0]] = changed(inner, at[1:], value)
	case value == nil:
		delete(next, at[0])
	default:
		next[at[0]] = value
	}
	return next
}

func encode(t *testing.T, value any) string {
	t.Helper()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

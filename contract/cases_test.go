package contract

import "strings"

const (
	lamps   = "lamp-shop.yaml"
	parcels = "deliveries.yaml"
)

// plotted gives the purpose of the lamps a plot.
func plotted(plot string) []edit {
	return []edit{{"    scope: {property: duv", "    plot: " + plot + "\n    scope: {property: duv"}}
}

// problemCases has at least one case for every message of the package.
var problemCases = []struct {
	name, file string
	edits      []edit
}{
	// The notation.
	{"a document that is no mapping", lamps, whole("- a\n")},
	{"an empty file", lamps, whole("")},
	{"comments alone", lamps, whole("# nothing\n---\n")},
	{"two documents", lamps, []edit{{"tools:", "---\ntools:"}}},
	{"another version of YAML", lamps, []edit{{"remit: 1", "%YAML 1.1\n---\nremit: 1"}}},
	{"an anchor", lamps, []edit{{"currency: EUR", "currency: &euro EUR"}}},
	{"an alias", lamps, []edit{{"currency: EUR", "currency: *euro"}}},
	{"a tag", lamps, []edit{{"currency: EUR", "currency: !!str EUR"}}},
	{"a merge key", lamps, []edit{{"sku:    {id: true}", "<<: {sku: {id: true}}"}}},
	{"a key that is asked for", lamps, []edit{{"remit: 1", "? remit\n: 1"}}},
	{"a tab as indentation", lamps, []edit{{"  sku: ", "\tsku: "}}},
	{"a tab within a number", lamps, []edit{{"0.0054]", "0.0\t054]"}}},
	{"a tab within a text", lamps, []edit{{"[colour_accuracy_evidence]", "[colour_\taccuracy_evidence]"}}},
	{"an open quote", lamps, []edit{{"method: ISO", "method: \"ISO"}}},
	{"a missing bracket", lamps, []edit{{"[self, buyer, third_party]", "[self, buyer"}}},
	{"a colon within a text", lamps, []edit{{"method: ISO 3664:2009", "method: ISO 3664: 2009"}}},
	{"a control character", lamps, []edit{{"lighting@shop", "light\x1bing@shop"}}},
	{"not UTF-8", lamps, []edit{{"lighting@shop", "lüght\xffing@shop"}}},
	{"nested too deep", lamps, []edit{{"[colour_accuracy_evidence]", strings.Repeat("[", 40) + strings.Repeat("]", 40)}}},
	{"a duplicate key", lamps, []edit{{"currency: EUR", "currency: EUR, currency: USD"}}},
	{"a duplicate tool", lamps, []edit{{"get_lamp:", "search_lamps:"}}},
	{"a question that is open", lamps, []edit{{"currency: EUR", "currency: ASK"}, {"max_age: 24h", "max_age: ASK"}, {"type: url", "type: ASK"}, {"id: true", "id: ASK"}}},

	// Keys and kinds.
	{"an unknown key", lamps, []edit{{"show: true", "shown: true"}}},
	{"a key far from any", lamps, []edit{{"show: true", "visibility: true"}}},
	{"a key in the wrong case", lamps, []edit{{"service:", "Service:"}}},
	{"a key that would break the line", lamps, []edit{{"service:", "\"ser\\nvice\\u001b\":"}}},
	{"a long key", lamps, []edit{{"service:", strings.Repeat("x", 300) + ":"}}},
	{"required keys of a contract", lamps, whole("description: A shop.\n")},
	{"required keys within", lamps, []edit{{"version: \"1\"\n", "version: \"1\"\n"}, {"    owner: lighting@shop.example\n", ""}, {"{promise: lookup, by: sku}", "{by: sku}"}, {"file: evidence.csv", "format: csv"}}},
	{"a number for a text", lamps, []edit{{"version: \"1\"", "version: 1"}}},
	{"nothing for a text", lamps, []edit{{"service: lamp-shop", "service:"}}},
	{"an empty text", lamps, []edit{{"owner: lighting@shop.example", "owner: \" \""}}},
	{"a text for a number", lamps, []edit{{"remit: 1", "remit: \"1\""}}},
	{"a hexadecimal number", lamps, []edit{{"remit: 1", "remit: 0x1"}}},
	{"yes for true", lamps, []edit{{"show: true", "show: yes"}}},
	{"a text in quotes for true", lamps, []edit{{"show: true", "show: \"true\""}}},
	{"a text for a list", lamps, []edit{{"needs: [colour_accuracy_evidence]", "needs: colour_accuracy_evidence"}}},
	{"a list for a text", lamps, []edit{{"service: lamp-shop", "service: [lamp-shop]"}}},
	{"a list for a word", lamps, []edit{{"promise: search", "promise: [search]"}}},
	{"null for an unknown text", lamps, []edit{{"unknown: [\"\"]", "unknown: [null]"}}},
	{"a mapping for a duration", lamps, []edit{{"max_age: 24h", "max_age: {hours: 24}"}}},
	{"a text for a mapping", lamps, []edit{{"{promise: lookup, by: sku}", "lookup"}}},
	{"a list for columns", lamps, []edit{{"tools:\n  search_lamps:", "tools:\n  - search_lamps:"}, {"  rank_lamps", "    rank_lamps"}, {"  get_lamp", "    get_lamp"}, {"  assess_lamp", "    assess_lamp"}}},
	{"a text for headers", parcels, []edit{{"{Authorization: \"Bearer ${TOKEN}\"}", "Authorization"}}},

	// Scalars.
	{"words", lamps, []edit{{"promise: search", "promise: find"}, {"type: url", "type: URL"}, {"prefer: highest", "prefer: [highest, most]"}, {"price: max", "price: below"}, {"unknown: last", "unknown: first"}, {"reads: anonymous", "reads: all"}, {"from: decimal", "from: cents"}, {"assessor_level: [self, buyer", "assessor_level: [me, buyer"}}},
	{"words of a backend", parcels, []edit{{"method: POST", "method: get"}, {"effect: read", "effect: none"}, {"record: recovery-v1", "record: v1"}, {"fact: no_answer", "fact: silence"}, {"days: {type: integer", "days: {type: number"}}},
	{"durations", lamps, []edit{{"max_age: 24h", "max_age: 1.5h"}, {"max_age: none", "max_age: never"}}},
	{"a duration of nothing", lamps, []edit{{"max_age: 24h", "max_age: 0h"}}},
	{"a duration too long", lamps, []edit{{"max_age: 24h", "max_age: 999999999999d"}}},
	{"rates", lamps, []edit{{"rate: 30/min", "rate: 30 per minute"}}},
	{"points in time", lamps, []edit{{"as_of: file", "as_of: yesterday"}}},
	{"a day that does not exist", lamps, []edit{{"as_of: file", "as_of: 2026-02-30"}}},
	{"numbers", lamps, []edit{{"at_least: 90", "at_least: 9e1"}, {"at_least: 80", "at_least: .inf"}, {"-0.0054, 0.0054", "0x1F, 1_000"}}},
	{"a number too long", lamps, []edit{{"at_least: 90", "at_least: 90." + strings.Repeat("0", 60)}}},
	{"codes", parcels, []edit{{"is: AUTH_REQUIRED", "is: auth"}}},
	{"statuses", parcels, []edit{{"status: 401", "status: 4xx"}, {"[404, 422]", "[404, 999]"}}},

	// The service.
	{"a later version", lamps, []edit{{"remit: 1", "remit: 2"}}},
	{"a service name", lamps, []edit{{"service: lamp-shop", "service: Lamp Shop"}}},
	{"no tools", lamps, []edit{{"tools:\n  search_lamps", "budget: {executions: 0}\ntools: {}\nother:\n  search_lamps"}}},
	{"origins", lamps, []edit{{"[\"https://shop.example\"]", "[\"https://shop.example/\", shop.example, \"https://Shop.example\", \"https://shop.example:443\", \"*\"]"}}},
	{"hosts", lamps, []edit{{"origins: [", "hosts: [\"https://tools.example\", Tools.example, \"tools.example:8080\"], origins: ["}}},
	{"a rate for nobody", lamps, []edit{{"reads: anonymous, ", ""}}},

	// Data and columns.
	{"columns without data", lamps, []edit{{"data: {file: products.csv, as_of: file, max_age: 24h}", ""}}},
	{"data without columns", lamps, whole("remit: 1\nservice: a\ndata: {file: a.csv}\ntools: {find: {promise: search}}\n")},
	{"evidence without data", parcels, []edit{{"failures:", "evidence: {file: e.csv}\nfailures:"}}},
	{"a file that does not say how it is written", lamps, []edit{{"products.csv", "products.txt"}, {"evidence.csv", "evidence"}}},
	{"delimiters", lamps, []edit{{"file: products.csv", "file: products.csv, delimiter: ;;"}, {"file: evidence.csv", "file: evidence.csv, delimiter: x"}}},
	{"an empty delimiter", lamps, []edit{{"file: products.csv", "file: products.csv, delimiter: \"\""}}},
	{"a delimiter of JSON", lamps, []edit{{"file: products.csv", "file: products.json, delimiter: ;"}}},
	{"no id", lamps, []edit{{"{id: true}", "{type: text}"}}},
	{"two ids", lamps, []edit{{"title:  {type: text", "title:  {id: true"}}},
	{"an id that is no text", lamps, []edit{{"{id: true}", "{id: true, type: integer}"}}},
	{"an id that may be unknown", lamps, []edit{{"{id: true}", "{id: true, unknown: [\"\"]}"}}},
	{"column names", lamps, []edit{{"  title:", "  Title:"}, {"title: words", "Title: words"}}},
	{"a column without a type", lamps, []edit{{"type: url, ", ""}}},
	{"keys of other types", lamps, []edit{{"title:  {type: text,", "title:  {type: text, currency: EUR, from: minor, scale: 2, unit: LUM, \"true\": [a], \"false\": [b], prefer: lowest, label: {lowest: a, highest: b, \"true\": c},"}}},
	{"money without its keys", lamps, []edit{{"currency: EUR, from: decimal, ", ""}}},
	{"no currency", lamps, []edit{{"currency: EUR", "currency: EURO"}}},
	{"a currency without a minor unit", lamps, []edit{{"currency: EUR", "currency: XTS"}}},
	{"a decimal without a scale", lamps, []edit{{"type: integer, unit: LUM", "type: decimal, unit: LUM"}}},
	{"a scale out of range", lamps, []edit{{"type: integer, unit: LUM", "type: decimal, scale: 10, unit: LUM"}}},
	{"a boolean without its texts", lamps, []edit{{", \"true\": [\"yes\"], \"false\": [\"no\"]", ""}}},
	{"a boolean with empty lists", lamps, []edit{{"[\"yes\"]", "[]"}, {"[\"no\"]", "[]"}}},
	{"a text that means two things", lamps, []edit{{"\"false\": [\"no\"]", "\"false\": [\"no\", \"yes\"], unknown: [\"no\"]"}, {"unknown: [\"\"]", "unknown: [\"\", \"\"]"}}},
	{"a unit", lamps, []edit{{"unit: LUM", "unit: lumen"}}},
	{"preferences of other types", lamps, []edit{{"prefer: lowest", "prefer: [lowest, \"true\", lowest]"}, {"volatile: true", "volatile: true, prefer: lowest"}}},
	{"examples", lamps, []edit{{"unit: LUM", "unit: LUM, example: bright"}, {"currency: EUR", "currency: EUR, example: 60.00"}, {"volatile: true", "volatile: true, example: yes"}}},
	{"an example of a decimal", lamps, []edit{{"type: integer, unit: LUM", "type: decimal, scale: 1, example: 1.25"}}},
	{"two columns with one member", lamps, []edit{{"  title:  {type: text", "  price_minor:  {type: text"}, {"title: words", "price_minor: words"}}},
	{"two columns with one header", lamps, []edit{{"title:  {type: text", "title:  {header: link, type: text"}}},

	// Purposes.
	{"a purpose name", lamps, []edit{{"  colour_matching:", "  Colour-Matching:"}, {"purposes: [colour_matching]", "purposes: [Colour-Matching]"}}},
	{"a purpose without method, version or owner", lamps, []edit{{"{version: \"1\", owner: lighting@shop.example, method: none, needs: [colour_accuracy_evidence]}", "{needs: [colour_accuracy_evidence]}"}}},
	{"no method and criteria", lamps, []edit{{"method: none, needs: [colour_accuracy_evidence]", "method: none, accepts: {}, scope: {property: a, between: [1, 2]}, criteria: [{property: a, at_least: 1}]"}}},
	{"a method without criteria", lamps, []edit{{"    criteria: [{property: ra, at_least: 90}, {property: r1, at_least: 80}]\n", ""}}},
	{"criteria without evidence", lamps, []edit{{"evidence: {file: evidence.csv} ", ""}}},
	{"a plot without method", lamps, []edit{{"method: none, needs: [colour_accuracy_evidence]", "method: none, needs: [colour_accuracy_evidence], plot: {x: ra, y: r1}"}}},
	{"figures that no answer carries", lamps, plotted("{x: r, y: {lowest: [lumens, title]}}")},
	{"one figure twice", lamps, plotted("{x: ra, y: ra}")},
	{"the lowest of one", lamps, plotted("{x: ra, y: {lowest: [r1]}}")},
	{"the lowest of one that stands twice", lamps, plotted("{x: ra, y: {lowest: [r1, r1]}}")},
	{"the lowest of two kinds", lamps, plotted("{x: ra, y: {lowest: [r1, price]}}")},
	{"a figure of two meanings", lamps, append(plotted("{x: ra, y: r1}"), edit{"  lumens: {type: integer", "  ra: {type: integer, show: true}\n  lumens: {type: integer"})},
	{"half a plot", lamps, plotted("{x: 7, z: r1}")},
	{"an axis of nothing", lamps, plotted("{x: {}, y: {highest: [r1, ra]}}")},
	{"limits", lamps, []edit{{"{property: ra, at_least: 90}", "{property: ra}"}, {"{property: r1, at_least: 80}", "{property: r1, at_least: 80, at_most: 90}"}}},
	{"bounds", lamps, []edit{{"[-0.0054, 0.0054]", "[0.0054, -0.0054]"}, {"at_least: 90", "between: [1]"}}},

	// Tools.
	{"tool names", lamps, []edit{{"search_lamps:", "search lamps:"}, {"get_lamp:", strings.Repeat("x", 129) + ":"}}},
	{"names that promise too much", lamps, []edit{{"search_lamps:", "recommend_lamps:"}, {"rank_lamps_by_preference:", "findBESTLamps:"}, {"get_lamp:", "get.suitable.lamp:"}}},
	{"a name beyond an unreadable promise", lamps, []edit{{"search_lamps: {promise: search", "best_lamps: {promise: find"}}},
	{"a long description", lamps, []edit{{"promise: search", "promise: search, description: " + strings.Repeat("long ", 101) + "text"}}},
	{"keys of other promises", lamps, []edit{{"{promise: lookup, by: sku}", "{promise: lookup, by: sku, filters: {price: max}, unknown: last, input: {a: {type: text}}}"}, {"promise: search,", "promise: search, by: sku, preferences: [], purposes: [],"}}},
	{"a key with a dot is not a key within", lamps, []edit{{"get_lamp: {promise: lookup, by: sku}", "get_lamp: {promise: lookup, by: sku}\n  search_lamps.by: {promise: find}"}}},
	{"a catalogue tool without a catalogue", parcels, []edit{{"  try_delivery:", "  find_delivery: {promise: search}\n  try_delivery:"}}},
	{"effects of a catalogue", lamps, []edit{{"promise: search", "effect: unsafe, promise: search"}}},
	{"filters", lamps, []edit{{"{title: words, price: max, lumens: min, in_stock: equals}", "{titel: words, price: words, in_stock: max, link: words, sku: min, lumens: [min, equals], title: []}"}}},
	{"two filters with one name", lamps, []edit{{"  title:  {type: text", "  min_lumens:  {type: text"}, {"title: words", "min_lumens: words"}}},
	{"no preference to rank by", lamps, []edit{{", prefer: lowest", ""}, {", prefer: highest", ""}}},
	{"preferences", lamps, []edit{{"unknown: last", "preferences: [price_ascending, lumens_ascending, price_ascending]"}}},
	{"no preferences", lamps, []edit{{"unknown: last", "preferences: []"}}},
	{"an unknown policy in catalogue-v1", lamps, []edit{{"unknown: last", "unknown: exclude, format: catalogue-v1"}}},
	{"purposes", lamps, []edit{{"purposes: [colour_matching]", "purposes: [colour_matchin, colour_matching, colour_matching]"}}},
	{"no purposes", lamps, []edit{{"purposes: [colour_matching]", "purposes: []"}}},
	{"nothing to assess", lamps, whole("remit: 1\nservice: a\ndata: {file: a.csv}\ncolumns: {id: {id: true}}\ntools: {assess: {promise: assess_suitability}}\n")},
	{"an affirming purpose in catalogue-v1", lamps, []edit{{"purposes: [colour_matching]", "format: catalogue-v1"}}},
	{"lookups", lamps, []edit{{"by: sku", "by: title, format: catalogue-v1"}}},
	{"a lookup by nothing", lamps, []edit{{", by: sku", ""}}},
	{"an id that requests cannot name", lamps, []edit{{"  sku: ", "  request_id: "}, {"by: sku", "by: request_id"}}},

	// Backends.
	{"a command without a backend", parcels, []edit{{"    backend: {fixture: {file: deliveries.csv, by: shipment_ref}}\n", ""}}},
	{"two backends", parcels, []edit{{"{fixture: {", "{http: {url: \"https://a.example\"}, fixture: {"}}},
	{"a search with a backend", parcels, []edit{{"promise: command", "promise: search"}}},
	{"effects of backends", parcels, []edit{{"effect: read", "effect: unsafe"}, {"effect: idempotent", "effect: keyed"}}},
	{"no answer", parcels, []edit{{"    answer: {status: {type: text}}\n", ""}}},
	{"argument names", parcels, []edit{{"      days:", "      Days:"}, {"status: {type: text}}", "Status: {type: text}}"}}},
	{"a long description of an argument", parcels, []edit{{"days: {type: integer,", "days: {type: integer, description: " + strings.Repeat("long ", 31) + ","}}},
	{"keys of other arguments", parcels, []edit{{"days: {type: integer,", "days: {type: integer, pattern: a, accepts: b, values: [c],"}, {"carrier: {type: text,", "carrier: {type: text, minimum: 1, maximum: 2,"}}},
	{"bounds of an argument", parcels, []edit{{"minimum: 1, maximum: 30", "minimum: 1.5, maximum: 9007199254740993"}}},
	{"bounds that exclude everything", parcels, []edit{{"minimum: 1, maximum: 30", "minimum: 9, maximum: 7"}}},
	{"values", parcels, []edit{{"values: [air, road]", "values: [air, air]"}, {"values: [in_transit, delivered]", "values: []"}, {"late: {type: boolean}", "late: {type: boolean, values: [a]}"}}},
	{"a pattern that is none", parcels, []edit{{"SHIP-[0-9]{3}", "SHIP-[0-9"}}},
	{"a pattern of another language", parcels, []edit{{"SHIP-[0-9]{3}", "(?i)ship-[0-9]{3}"}}},
	{"a pattern without words", parcels, []edit{{"accepts: SHIP- followed by exactly three digits, ", ""}}},
	{"examples of arguments", parcels, []edit{{"example: SHIP-104", "example: SHIP-1040"}, {"example: 7", "example: 31"}, {"example: air", "example: sea"}, {"optional: true, example: true", "optional: true, example: maybe"}}},
	{"an example that is no number", parcels, []edit{{"example: 7", "example: seven"}}},
	{"members that readers take for a failure", parcels, []edit{{"late: {type", "error: {type"}}},
	{"pointers", parcels, []edit{{"from: /data/status", "from: data.status"}, {"/error/code: FROZEN", "error~code: FROZEN"}}},
	{"a fixture by no argument", parcels, []edit{{"by: shipment_ref", "by: shipment"}}},
	{"a fixture by an argument of none", parcels, []edit{{"    input: {shipment_ref: {type: text}}\n", ""}}},
	{"rules for a fixture", parcels, []edit{{"    effect: idempotent", "    effect: idempotent\n    failures: [{when: {status: 404}, is: INVALID_ARGUMENT}]"}}},
	{"a URL that is none", parcels, []edit{{"${API}/shipments/{shipment_ref}", "/shipments/{shipment_ref}"}}},
	{"a URL with unknown names", parcels, []edit{{"${API}/shipments/{shipment_ref}", "https://api.example/{shipment}/{Ref}"}}},
	{"a URL with a variable in lower case", parcels, []edit{{"${API}/shipments", "https://api.example/${api}"}}},
	{"a URL whose host is an argument", parcels, []edit{{"${API}/shipments/{shipment_ref}", "https://{shipment_ref}.example/"}}},
	{"a URL with a secret", parcels, []edit{{"${API}/shipments", "https://user:pass@api.example"}}},
	{"a URL with a fragment", parcels, []edit{{"${API}/shipments/{shipment_ref}", "\"https://api.example/#top\""}}},
	{"a body in a GET", parcels, []edit{{"        method: POST\n", ""}}},
	{"headers", parcels, []edit{{"{Authorization: \"Bearer ${TOKEN}\"}", "{\"Auth orization\": a, Host: b, X-Line: \"a\\nb\", X-Token: \"${token}\"}"}}},
	{"rules", parcels, []edit{{"when: {status: 401}", "when: {}"}, {"fact: no_answer", "fact: no_answer, status: 503"}, {"is: ACCESS_DENIED", "is: OK, field: shipment_ref, wait: 1s"}, {"field: shipment_ref, message", "field: shipment, message"}}},
	{"a rule for all with an argument of none", parcels, []edit{{"is: AUTH_REQUIRED", "is: INVALID_ARGUMENT, field: shipment"}}},
	{"rules and no http backend", lamps, []edit{{"tools:", "failures: [{when: {status: 404}, is: INVALID_ARGUMENT}]\ntools:"}}},

	// All at once.
	{"many at once", lamps, []edit{
		{"service: lamp-shop", "service: Lamps"},
		{"currency: EUR", "currency: EURO"},
		{"unit: LUM", "unit: lumen"},
		{"version: \"1\"", "version: 1"},
		{"title: words", "title: word"},
		{"by: sku", "by: title"},
		{"unknown: last", "unknown: lost, limit: 5"},
	}},
}

// whole replaces the example by a text of its own.
func whole(text string) []edit { return []edit{{wholeFile, text}} }

// wholeFile stands for the whole example.
const wholeFile = "\x00"

package rest

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/tool"
)

const lamps = `remit: 1
service: lamps
data: {file: lamps.csv, as_of: file}
columns:
  sku: {id: true}
  title: {type: text, show: true}
  price: {type: money, currency: EUR, from: minor, prefer: [lowest, highest], unknown: [""]}
  ra: {type: decimal, scale: 1, prefer: highest}
  stocked: {type: boolean, "true": ["yes"], "false": ["no"]}
tools:
  rank_lamps: {promise: rank_preferences, filters: {title: words, price: [min, max], ra: min, stocked: equals}}
  get_lamp: {promise: lookup, by: sku}
`

// formNamed is the form of a tool of the lamps.
func formNamed(t interface{ Fatal(...any) }, name string) *form {
	c, err := contract.Parse("lamps.yaml", []byte(lamps))
	if err != nil {
		t.Fatal(err)
	}
	return formOf(&tool.Tool{Service: c, Name: name, Effect: record.Read})
}

// requestIn is the request that an address holds.
func requestIn(t interface{ Fatal(...any) }, f *form, address string) string {
	parameters, err := url.ParseQuery(strings.TrimPrefix(address, f.Action+"?"))
	if err != nil {
		t.Fatal(err)
	}
	request, asked := f.requestOf(parameters)
	if !asked {
		t.Fatal("the address holds no request: " + address)
	}
	return string(request)
}

// TestLinks checks which requests an address holds as parameters of the form,
// and that each comes back to the byte.
func TestLinks(t *testing.T) {
	f := formNamed(t, "rank_lamps")
	for _, c := range []struct{ request, want string }{
		{
			`{"request_id":"a b","filters":{"title":"é & ü","max_price_minor":6000},"preferences":["price_ascending"]}`,
			"request_id=a+b&filters.title=%C3%A9+%26+%C3%BC&filters.max_price_minor=6000&preferences.1=price_ascending",
		},
		{`{"request_id":"1","filters":{"min_ra":90.0,"stocked":true},"preferences":null}`, "request_id=1&filters.min_ra=90.0&filters.stocked=true"},
		{
			`{"request_id":"1","preferences":[{"field":"price","prefer":"lowest","unknown":"exclude"},"ra_descending"],"ties":"cut","limit":5,"cursor":"abc"}`,
			"request_id=1&preferences.1=price_ascending&preferences.1.unknown=exclude&preferences.2=ra_descending&ties=cut&limit=5&cursor=abc",
		},
		{`{"request_id":"1","preferences":null,"colour":"red"}`, "request_id=1&colour=red"},
		{`{"request_id":"1","filters":{"colour":"red"},"preferences":null}`, "request_id=1&filters.colour=red"},
		{`{"request_id":"1"}`, "request="},
		{`{"request_id":"1","filters":{"max_price_minor":"6000"},"preferences":null}`, "request="},
		{`{ "request_id":"1","preferences":null}`, "request="},
		{`{"preferences":null,"request_id":"1"}`, "request="},
		{`{"request_id":"1","preferences":[]}`, "request="},
		{`{"request_id":7,"preferences":null}`, "request="},
		{`{"request_id":"1","request_id":"2","preferences":null}`, "request_id=1&request_id=2"},
		{`{"request_id":"1","filters":{},"preferences":null}`, "request="},
		{`{"request_id":"1","preferences":["a","b","c","d","e","f"]}`, "request="},
		{`{"request_id":"1"`, "request="},
		{`{"request_id":"","preferences":null}`, "request="},
		{`{"preferences":null}`, "request="},
	} {
		address := f.link([]byte(c.request))
		if !strings.HasPrefix(address, "/tools/rank_lamps?"+c.want) || strings.HasPrefix(c.want, "request_id") && address != "/tools/rank_lamps?"+c.want {
			t.Errorf("%s: the address is %s", c.request, address)
		}
		if got := requestIn(t, f, address); got != c.request {
			t.Errorf("%s comes back as %s", c.request, got)
		}
	}
}

// TestAnyLink holds every address to the request that it was made from.
func TestAnyLink(t *testing.T) {
	texts := rapid.SampledFrom([]string{`"1"`, `""`, "6000", "6e3", "-0", "90.50", "true", "null", `[]`, `{}`, `"\u0000"`, `"a\"b"`, `["price_ascending"]`, `{"a":1}`, `"é"`})
	names := rapid.SampledFrom([]string{"request_id", "filters", "filters.title", "preferences", "preferences.1", "preferences.1.unknown", "limit", "cursor", "ties", "request", "x", "", "sku"})
	rapid.Check(t, func(t *rapid.T) {
		f := formNamed(t, rapid.SampledFrom([]string{"rank_lamps", "get_lamp"}).Draw(t, "tool"))
		o := &record.Object{}
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			name := names.Draw(t, "name")
			value := []byte(texts.Draw(t, "value"))
			if name == "filters" {
				inner := &record.Object{}
				inner.Add(rapid.SampledFrom([]string{"title", "max_price_minor", "stocked", "min_ra", "x"}).Draw(t, "filter"), value)
				value = inner.JSON()
			}
			o.Add(name, value)
		}
		request := string(o.JSON())
		if got := requestIn(t, f, f.link([]byte(request))); got != request {
			t.Fatalf("%s comes back as %s", request, got)
		}
	})
}

// TestWith replaces one member where it stands.
func TestWith(t *testing.T) {
	for _, c := range [][2]string{
		{`{"a":1,"cursor":"x","b":2}`, `{"a":1,"cursor":null,"b":2}`},
		{`{"a":1}`, `{"a":1,"cursor":null}`},
	} {
		if got := with([]byte(c[0]), "cursor", []byte("null")); !bytes.Equal(got, []byte(c[1])) {
			t.Errorf("%s becomes %s", c[0], got)
		}
	}
}

func TestWaitWords(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0 milliseconds", 250: "250 milliseconds", 1000: "1 second", 1001: "2 seconds", 60_000: "60 seconds",
		60_001: "2 minutes", 3_600_001: "2 hours", 86_400_001: "2 days", 1<<63 - 1: "106751991168 days",
	} {
		if got := waitWords(ms); got != want {
			t.Errorf("%d ms are %s, want %s", ms, got, want)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		figures []float64
		want    []string
	}{
		{[]float64{-47.3, 100}, []string{"−50", "−25", "0", "25", "50", "75", "100"}},
		{[]float64{0.001, 0.004}, []string{"0.0010", "0.0015", "0.0020", "0.0025", "0.0030", "0.0035", "0.0040"}},
		{[]float64{5}, []string{"4.0", "4.5", "5.0", "5.5", "6.0"}},
		{nil, []string{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
	} {
		var got []string
		for _, tick := range newScale(c.figures, anywhere, plotLeft, plotRight).ticks() {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%v has the ticks %v, want %v", c.figures, got, c.want)
		}
	}
}

func TestExact(t *testing.T) {
	for text, want := range map[string]string{
		"a < b & c":       "a &lt; b &amp; c",
		"x\u202ey\u2066z": "x<bdi class=\"turn\">\u202e</bdi>y<bdi class=\"turn\">\u2066</bdi>z",
		"\u202e<script>":  "<bdi class=\"turn\">\u202e</bdi>&lt;script&gt;",
		"one\r\ntwo":      "one&#13;\ntwo",
	} {
		if got := string(exact(text)); got != want {
			t.Errorf("%q is shown by %q, want %q", text, got, want)
		}
	}
}

// TestNothingLeftOut: what stands beside a whole request, twice, or without
// what it belongs to is in the request, so that the tool refuses it.
func TestNothingLeftOut(t *testing.T) {
	f := formNamed(t, "rank_lamps")
	for query, want := range map[string]string{
		`request={}&colour=red`:                                    `{"preferences":null,"colour":"red","request":"{}"}`,
		`request={}&request={"a":1}`:                               `{"preferences":null,"request":"{}","request":"{\"a\":1}"}`,
		`preferences.1=price_ascending&preferences.1=ra_ascending`: `{"preferences":["price_ascending","ra_ascending"]}`,
		`preferences.1.unknown=exclude`:                            `{"preferences":[{"unknown":"exclude"}]}`,
		`colour=red&colour=blue`:                                   `{"preferences":null,"colour":"red","colour":"blue"}`,
		`filters.colour=red&filters.colour=blue`:                   `{"filters":{"colour":"red","colour":"blue"},"preferences":null}`,
		`request={"a":1}`:                                          `{"a":1}`,
	} {
		parameters, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got, asked := f.requestOf(parameters); !asked || string(got) != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// TestArgumentNamedRequest: an argument of that name is one, and no whole
// request.
func TestArgumentNamedRequest(t *testing.T) {
	c, err := contract.Parse("orders.yaml", []byte(`remit: 1
service: orders
tools:
  place:
    promise: command
    effect: unsafe
    description: Places what is asked for.
    input: {request: {type: text}, note: {type: text}}
    answer: {id: {type: text}}
    backend: {http: {url: "http://127.0.0.1:1/", method: POST}}
`))
	if err != nil {
		t.Fatal(err)
	}
	f := formOf(&tool.Tool{Service: c, Name: "place", Effect: record.Unsafe})
	typed := url.Values{"request": {`{"request":"evil"}`}}
	if got, _ := f.requestOf(typed); string(got) != `{"request":"{\"request\":\"evil\"}"}` {
		t.Errorf("got %s", got)
	}
	const whole = `{"request":7}`
	if got := requestIn(t, f, f.link([]byte(whole))); got != whole {
		t.Errorf("%s comes back as %s", whole, got)
	}
}

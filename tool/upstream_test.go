package tool_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"remit.example/record"
	"remit.example/tool"
)

// http is a contract of one tool; PROMISE, BACKEND and RULES are filled in.
const overHTTP = `remit: 1
service: carrier
failures:
  - {when: {status: 402}, is: QUOTA_EXHAUSTED}
  - {when: {status: 404}, is: INVALID_ARGUMENT, field: order}
tools:
  deliver:
    PROMISE
    input: {ref: {type: text, example: A1}, days: {type: integer, optional: true}}
    answer: {status: {type: text, values: [in_transit], from: /data/0/a~1b}, pieces: {type: integer, from: /pieces}}
    backend: {http: {BACKEND}}
    RULES
  other:
    promise: lookup
    input: {order: {type: text}}
    answer: {status: {type: text}}
    backend: {http: {url: "http://carrier.example/{order}"}}
`

// remote is a tool over HTTP to be bound.
type remote struct {
	effect  string // "": a lookup; otherwise a command with this effect
	backend string // absent: GET of the server's /v/{ref}
	rules   []string
}

func (r remote) bind(t testing.TB, address string, backing tool.Backing) (*tool.Tool, error) {
	t.Helper()
	promise, backend, rules := "promise: lookup", r.backend, ""
	if r.effect != "" {
		promise = "promise: command\n    effect: " + r.effect
	}
	if backend == "" {
		backend = `url: "${API}/v/{ref}"`
		if r.effect != "" {
			backend = `method: POST, url: "${API}/v", body: true`
		}
	}
	if len(r.rules) > 0 {
		rules = "failures:\n      - " + strings.Join(r.rules, "\n      - ")
	}
	if backing.Getenv == nil {
		backing.Getenv = environment(map[string]string{"API": address})
	}
	return bind(t, strings.NewReplacer("PROMISE", promise, "BACKEND", backend, "RULES", rules).Replace(overHTTP), backing)
}

func (r remote) mustBind(t testing.TB, address string) *tool.Tool {
	t.Helper()
	bound, err := r.bind(t, address, tool.Backing{Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, ok := values[name]; return value, ok }
}

// serve answers every request with a status and a body.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

const good = `{"data":[{"a/b":"in_transit"}],"pieces":2}`

var ref = tool.Call{Input: []byte(`{"ref":"A1"}`)}

// TestResponses: what each response is read as, for each effect.
func TestResponses(t *testing.T) {
	notFound := `{when: {status: [404, 422]}, is: INVALID_ARGUMENT, field: ref, message: No such shipment.}`
	down := `{when: {status: [500, 502, 503, 504]}, is: TEMP_UNAVAILABLE, wait: 2s}`
	for _, c := range []struct {
		name, effect string
		rules        []string
		status       int
		body         string
		want         string // code, field, wait; next, stop, outcome
	}{
		{"success", "", nil, 200, good, `{"status":"in_transit","pieces":2}`},
		{"created", "unsafe", nil, 201, good, `{"status":"in_transit","pieces":2}`},
		{"numbers keep their digits", "", nil, 200, `{"data":[{"a/b":"in_transit"}],"pieces":9007199254740991}`, `{"status":"in_transit","pieces":9007199254740991}`},
		{"deep", "", nil, 200, `{"x":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `,` + good[1:], `{"status":"in_transit","pieces":2}`},

		{"mapped", "", []string{notFound}, 404, ``, "INVALID_ARGUMENT ref -; correct_input needs_input "},
		{"first match", "", []string{`{when: {status: 404}, is: ACCESS_DENIED}`, notFound}, 404, ``, "ACCESS_DENIED  -; stop refused "},
		{"the tool's own before all", "", []string{notFound}, 422, ``, "INVALID_ARGUMENT ref -; correct_input needs_input "},
		{"for all tools", "", nil, 402, ``, "QUOTA_EXHAUSTED  -; stop quota_exhausted "},
		{"the field of another tool", "", nil, 404, ``, "INVALID_ARGUMENT  -; correct_input needs_input "},
		{"unmapped", "", nil, 401, ``, "HTTP_401  -; stop unknown "},
		{"unmapped 503", "", nil, 503, ``, "HTTP_503  -; stop unknown "},
		{"unmapped 500 of a read", "", nil, 500, ``, "HTTP_500  -; stop unknown "},
		{"redirect", "", nil, 302, ``, "HTTP_302  -; stop unknown "},
		{"body", "", []string{`{when: {body: {/error/code: FROZEN}}, is: ACCESS_DENIED}`}, 200, `{"error":{"code":"FROZEN"}}`, "ACCESS_DENIED  -; stop refused "},
		{"body and status", "", []string{`{when: {status: 409, body: {/error/code: FROZEN}}, is: ACCESS_DENIED}`}, 409, `{"error":{"code":"MELTED"}}`, "HTTP_409  -; stop unknown "},
		{"a number in the body", "", []string{`{when: {body: {/error: "17"}}, is: ACCESS_DENIED}`}, 400, `{"error":17}`, "ACCESS_DENIED  -; stop refused "},
		{"a boolean in the body", "", []string{`{when: {body: {/success: "false"}}, is: OUT_OF_STOCK}`}, 200, `{"success":false}`, "OUT_OF_STOCK  -; stop unknown "},
		{"null is no text", "", []string{`{when: {body: {/error: "null"}}, is: ACCESS_DENIED}`}, 400, `{"error":null}`, "HTTP_400  -; stop unknown "},
		{"a member that stands twice", "", []string{`{when: {body: {/code: A}}, is: ACCESS_DENIED}`}, 400, `{"code":"B","code":"A"}`, "HTTP_400  -; stop unknown "},
		{"an index out of the list", "", []string{`{when: {body: {/e/2: A}}, is: ACCESS_DENIED}`}, 400, `{"e":["A"]}`, "HTTP_400  -; stop unknown "},
		{"a wait of the rule", "", []string{down}, 503, ``, "TEMP_UNAVAILABLE  2000; wait_and_retry retry_exhausted "},
		{"503 of a write", "unsafe", []string{down}, 503, ``, "TEMP_UNAVAILABLE  2000; wait_and_retry retry_exhausted not_applied"},

		{"500 of a write", "idempotent", nil, 500, ``, "OUTCOME_UNKNOWN  -; wait_and_retry retry_exhausted unknown"},
		{"500 of an unsafe write", "unsafe", nil, 500, ``, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"502 of an unsafe write", "unsafe", nil, 502, ``, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"504 of an unsafe write", "unsafe", nil, 504, ``, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"500, whatever a rule says", "unsafe", []string{down}, 500, ``, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"502, whatever a rule says", "unsafe", []string{down}, 502, ``, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"504 as an invalid argument", "unsafe", []string{`{when: {status: 504}, is: INVALID_ARGUMENT, field: ref}`}, 504, ``, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"a rule that stops", "unsafe", []string{`{when: {status: 500}, is: BROKEN}`}, 500, ``, "BROKEN  -; stop outcome_unknown unknown"},
		{"the service's own words", "unsafe", []string{`{when: {status: 500, body: {/code: NO_FUNDS}}, is: ACCESS_DENIED}`}, 500, `{"code":"NO_FUNDS"}`, "ACCESS_DENIED  -; stop refused "},
		{"502 of an idempotent write", "idempotent", []string{down}, 502, ``, "TEMP_UNAVAILABLE  2000; wait_and_retry retry_exhausted not_applied"},
		{"unmapped 418 of an unsafe write", "unsafe", nil, 418, ``, "HTTP_418  -; stop outcome_unknown unknown"},

		{"no JSON", "", nil, 200, `<html>`, "TEMP_UNAVAILABLE  1000; wait_and_retry retry_exhausted "},
		{"no JSON of an idempotent write", "idempotent", nil, 200, ``, "TEMP_UNAVAILABLE  1000; wait_and_retry retry_exhausted unknown"},
		{"no JSON of an unsafe write", "unsafe", nil, 200, ``, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"no JSON, mapped", "", []string{`{when: {fact: unreadable}, is: BAD_ANSWER}`}, 200, `<html>`, "BAD_ANSWER  -; stop unknown "},
		{"no JSON, mapped, unsafe", "unsafe", []string{`{when: {fact: unreadable}, is: TEMP_UNAVAILABLE, wait: 1s}`}, 200, `<html>`, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"not a declared text", "", nil, 200, `{"data":[{"a/b":"lost"}],"pieces":2}`, "UNREADABLE_ANSWER  -; stop unknown "},
		{"not a declared text of an unsafe write", "unsafe", nil, 200, `{"data":[{"a/b":"lost"}],"pieces":2}`, "OUTCOME_UNKNOWN  -; check_status outcome_unknown unknown"},
		{"no member", "", nil, 200, `{"pieces":2}`, "UNREADABLE_ANSWER  -; stop unknown "},
		{"a fraction", "", nil, 200, `{"data":[{"a/b":"in_transit"}],"pieces":2.0}`, "UNREADABLE_ANSWER  -; stop unknown "},
		{"a member twice", "", nil, 200, `{"data":[{"a/b":"in_transit"}],"pieces":1,"pieces":2}`, "UNREADABLE_ANSWER  -; stop unknown "},
		{"too long", "", nil, 200, `{"x":"` + strings.Repeat("x", 1<<20) + `",` + good[1:], "TEMP_UNAVAILABLE  1000; wait_and_retry retry_exhausted "},
		{"too long a failure", "", []string{notFound}, 404, strings.Repeat("x", 2<<20), "INVALID_ARGUMENT ref -; correct_input needs_input "},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			answer := call(t, remote{effect: c.effect, rules: c.rules}.mustBind(t, address), ref)
			got := string(answer.Body)
			if r := answer.Failure; r != nil {
				got = fmt.Sprintf("%s; %s %s %s", inShort(r), r.Next, r.Stop, r.Outcome)
				if len(r.Message) > 300 {
					t.Errorf("a message of %d bytes", len(r.Message))
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRetryAfter keeps the server's wait before a rule's, rounded up.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]string{
		"":                              "2000",
		"7":                             "7000",
		" 7 ":                           "7000",
		"0":                             "0",
		"-5":                            "2000",
		"1.5":                           "2000",
		"soon":                          "2000",
		"Thu, 01 Jan 2026 00:00:10 GMT": "10000",
		"Wed, 31 Dec 2025 00:00:10 GMT": "0",
		"99999999999999999999":          "9223372036855",
	} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(503)
		})
		rule := `{when: {status: 503}, is: TEMP_UNAVAILABLE, wait: 2s}`
		if got := inShort(call(t, remote{rules: []string{rule}}.mustBind(t, address), ref).Failure); got != "TEMP_UNAVAILABLE  "+want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}

// TestRequest is what reaches the service, byte for byte where it matters.
func TestRequest(t *testing.T) {
	var got string
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %q %d %s", r.Method, r.RequestURI, body, r.ContentLength, r.Header.Get("Authorization")+r.Header.Get("Content-Type"))
		_, _ = io.WriteString(w, good)
	})
	backing := tool.Backing{Getenv: environment(map[string]string{"API": address + "/{ref}", "TOKEN": "s3cret"})}
	for _, c := range []struct{ backend, input, want string }{
		{`url: "${API}/v/{ref}"`, `{"ref":"A1"}`, `GET /{ref}/v/A1 "" 0 `},
		{`url: "${API}/v/{ref}?q={ref}"`, `{"ref":"a/../b?c#d%2fe&f=g+h;i:j@k,l é"}`, `GET /{ref}/v/a%2F..%2Fb%3Fc%23d%252fe%26f%3Dg%2Bh%3Bi%3Aj%40k%2Cl%20%C3%A9?q=a%2F..%2Fb%3Fc%23d%252fe%26f%3Dg%2Bh%3Bi%3Aj%40k%2Cl%20%C3%A9 "" 0 `},
		{`url: "${API}/v/x{ref}"`, `{"ref":".."}`, `GET /{ref}/v/x.. "" 0 `},
		{`url: "${API}/v?q={ref}"`, `{"ref":".."}`, `GET /{ref}/v?q=.. "" 0 `},
		{`url: "${API}/v/{ref}"`, `{"ref":"..."}`, `GET /{ref}/v/... "" 0 `},
		{`url: "${API}/v/{ref}"`, `{"ref":"\\..\\\r\n"}`, `GET /{ref}/v/%5C..%5C%0D%0A "" 0 `},
		{`method: DELETE, url: "${API}/{ref}", headers: {authorization: "Bearer ${TOKEN}"}`, `{"ref":"A1"}`, `DELETE /{ref}/A1 "" 0 Bearer s3cret`},
		{`method: POST, url: "${API}"`, `{"ref":"A1"}`, `POST /{ref} "" 0 `},
		{`method: POST, url: "${API}", body: true`, `{"days":-0,"ref":"<\u0022\u00e9"}`, `POST /{ref} "{\"ref\":\"<\\\"é\",\"days\":0}" 24 application/json`},
	} {
		backing := backing
		if strings.Contains(c.backend, "method: POST, url: \"${API}\"") {
			c.backend = strings.Replace(c.backend, `"${API}"`, `"${API}/"`, 1)
			c.want = strings.Replace(c.want, "POST /{ref} ", "POST /{ref}/ ", 1)
		}
		bound, err := remote{backend: c.backend}.bind(t, "", backing)
		if err != nil {
			t.Fatal(err)
		}
		got = ""
		answer := call(t, bound, tool.Call{Input: []byte(c.input)})
		if want := strings.ReplaceAll(c.want, "{ref}", "%7Bref%7D"); got != c.want && got != want || answer.Failure != nil {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.backend, c.input, got, want)
		}
	}
	for _, c := range []struct{ backend, input string }{
		{`url: "${API}/v/{ref}"`, `{"ref":".."}`},
		{`url: "${API}/v/{ref}/status"`, `{"ref":"."}`},
		{`url: "${API}/v/{ref}{ref}?q=1"`, `{"ref":"."}`},
		{`url: "${API}/.{ref}"`, `{"ref":"."}`},
	} {
		bound, err := remote{backend: c.backend}.bind(t, "", backing)
		if err != nil {
			t.Fatal(err)
		}
		got = ""
		r := call(t, bound, tool.Call{Input: []byte(c.input)}).Failure
		if r == nil || r.Code != record.InvalidArgument || r.Field != "ref" || got != "" {
			t.Errorf("%s %s: %+v; sent: %s", c.backend, c.input, r, got)
		}
	}
}

// TestBindFaults: what the environment lacks or spoils is said when the tool
// is bound, without the values.
func TestBindFaults(t *testing.T) {
	for _, c := range []struct {
		backend string
		values  map[string]string
		want    string
	}{
		{`url: "${API}/v/{ref}"`, nil, "the environment variable API is not set; set it before serving"},
		{`url: "http://x.example/${A}/${B}"`, map[string]string{"A": ""}, "the environment variable B is not set; set it before serving"},
		{`url: "http://x.example", headers: {Authorization: "Bearer ${TOKEN}"}`, nil, "header Authorization: the environment variable TOKEN is not set; set it before serving"},
		{`url: "http://x.example", headers: {Authorization: "Bearer ${TOKEN}"}`, map[string]string{"TOKEN": "s3cret\n"}, "header Authorization: the value with its environment variables has a character that no header carries, such as a line break; mend the variables"},
		{`url: "${API}/v"`, map[string]string{"API": "s3cret"}, "the url with its environment variables is no absolute http or https URL; mend the variables, such as API=https://api.example"},
		{`url: "${API}/v"`, map[string]string{"API": "ftp://s3cret"}, "the url with its environment variables is no absolute http or https URL; mend the variables, such as API=https://api.example"},
		{`url: "${API}/v"`, map[string]string{"API": "http://s3cret\n"}, "the url with its environment variables is no absolute http or https URL; mend the variables, such as API=https://api.example"},
		{`url: "http://x.example/{days}"`, nil, "the url names the argument days, which may be absent; leave optional out, or send it in the body"},
	} {
		_, err := remote{backend: c.backend}.bind(t, "", tool.Backing{Getenv: environment(c.values)})
		if err == nil || err.Error() != "contract.yaml: tool deliver: "+c.want || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %s", c.backend, err, c.want)
		}
	}
	c := remote{backend: `url: "${API}/v"`}
	if _, err := c.bind(t, "", tool.Backing{Getenv: func(string) (string, bool) { return "", false }}); err == nil {
		t.Error("a variable that is not set is taken for an empty one")
	}
}

// wire is a raw TCP server: it answers the first request of each connection,
// and what it does with each later one is up to drop.
type rawServer struct {
	address  string
	requests atomic.Int32
}

// rawServe answers connections with reply; an empty reply drops the connection.
func rawServe(t *testing.T, reply func(request int32) string) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &rawServer{address: "http://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go s.answer(connection, reply)
		}
	}()
	return s
}

func (s *rawServer) answer(connection net.Conn, reply func(int32) string) {
	defer connection.Close()
	input := bufio.NewReader(connection)
	for {
		request, err := http.ReadRequest(input)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		text := reply(s.requests.Add(1)) // the work is done
		if text == "" {
			return
		}
		_, _ = io.WriteString(connection, text)
	}
}

func response(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// TestOneExecution: one call is one request, although the server does the
// work and drops a connection that net/http uses again.
func TestOneExecution(t *testing.T) {
	for name, c := range map[string]remote{
		"GET":                         {},
		"GET, idempotency key":        {backend: `url: "${API}/v/{ref}", headers: {Idempotency-Key: fixed}`},
		"POST":                        {effect: "unsafe"},
		"POST, no body":               {effect: "unsafe", backend: `method: POST, url: "${API}/v/{ref}"`},
		"POST, no body, key":          {effect: "unsafe", backend: `method: POST, url: "${API}/v/{ref}", headers: {Idempotency-Key: fixed}`},
		"POST, body, key":             {effect: "idempotent", backend: `method: POST, url: "${API}/v", body: true, headers: {X-Idempotency-Key: fixed}`},
		"PUT":                         {effect: "idempotent", backend: `method: PUT, url: "${API}/v/{ref}"`},
		"DELETE":                      {effect: "idempotent", backend: `method: DELETE, url: "${API}/v/{ref}"`},
		"GET as a command, unsafe":    {effect: "unsafe", backend: `url: "${API}/v/{ref}"`},
		"GET, whatever the rules say": {effect: "unsafe", backend: `url: "${API}/v/{ref}"`, rules: []string{`{when: {fact: no_answer}, is: TEMP_UNAVAILABLE, wait: 3s}`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := rawServe(t, func(request int32) string {
				if request%2 == 0 {
					return "" // the work is done, the answer is lost
				}
				return response(good)
			})
			bound := c.mustBind(t, s.address)
			for i := range int32(6) {
				answer := call(t, bound, ref)
				if sent := s.requests.Load(); sent != i+1 {
					t.Fatalf("%d calls made %d requests", i+1, sent)
				}
				if i%2 == 0 {
					if answer.Failure != nil {
						t.Errorf("call %d: %s", i, answer.Body)
					}
					continue
				}
				want := map[string]string{"": "TEMP_UNAVAILABLE wait_and_retry", "idempotent": "TEMP_UNAVAILABLE wait_and_retry", "unsafe": "OUTCOME_UNKNOWN check_status"}[c.effect]
				if r := answer.Failure; r == nil || string(r.Code)+" "+string(r.Next) != want {
					t.Errorf("call %d: %s", i, answer.Body)
				}
			}
		})
	}
}

// TestNoAnswer: what is known of a request whose answer never came.
func TestNoAnswer(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	garbage := rawServe(t, func(int32) string { return "SSH-2.0-OpenSSH\r\n\r\n" }).address
	short := rawServe(t, func(int32) string { return "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"data\"" }).address
	cut := rawServe(t, func(request int32) string { return strings.Repeat("HTTP/1.1 200 O", int(request%2)) + "" }).address
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	rule := `{when: {fact: no_answer}, is: TEMP_UNAVAILABLE, wait: 3s}`
	own := `{when: {fact: no_answer}, is: CARRIER_AWAY}`
	for _, c := range []struct {
		name, address string
		left          bool // whether the request may have been executed
	}{
		{"refused", closed.URL, false},
		{"no such host", "http://nowhere.invalid", false},
		{"unknown certificate", secure.URL, false},
		{"timed out", silent, true},
		{"no HTTP", garbage, true},
		{"ends early", short, true},
		{"ends in the status", cut, true},
	} {
		for _, effect := range []string{"", "idempotent", "unsafe"} {
			for _, rules := range [][]string{nil, {rule}, {own}} {
				t.Run(fmt.Sprintf("%s/%s/%d rules %.40v", c.name, effect, len(rules), rules), func(t *testing.T) {
					t.Parallel()
					r := remote{effect: effect, rules: rules, backend: `url: "${API}/v/{ref}", timeout: 200ms`}
					answer := call(t, r.mustBind(t, c.address), ref)
					got := inShort(answer.Failure)
					want := "TEMP_UNAVAILABLE  1000"
					switch {
					case c.left && effect == "unsafe":
						want = "OUTCOME_UNKNOWN  -"
					case len(rules) > 0 && rules[0] == own:
						want = "CARRIER_AWAY  -"
					case len(rules) > 0:
						want = "TEMP_UNAVAILABLE  3000"
					}
					if got != want {
						t.Errorf("got %s, want %s", got, want)
					}
					if strings.Contains(string(answer.Body), "127.0.0.1") || strings.Contains(string(answer.Body), "nowhere") {
						t.Errorf("the answer shows the address: %s", answer.Body)
					}
				})
			}
		}
	}
}

// TestCancelled: a caller who has gone is answered by what is known.
func TestCancelled(t *testing.T) {
	entered := make(chan struct{}, 1)
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the caller has gone
		entered <- struct{}{}
		<-r.Context().Done()
	})
	unsafe := remote{effect: "unsafe"}.mustBind(t, address)
	before, cancel := context.WithCancel(t.Context())
	cancel()
	if r := unsafe.Call(before, ref).Failure; r.Code != record.TempUnavailable || r.Outcome != record.NotApplied {
		t.Errorf("cancelled before: %+v", r)
	}
	during, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if r := unsafe.Call(during, ref).Failure; r.Code != record.OutcomeUnknown || r.Outcome != record.NotKnown {
		t.Errorf("cancelled after: %+v", r)
	}
}

// TestRedirect is not followed: its target is nobody that the contract names.
func TestRedirect(t *testing.T) {
	var followed atomic.Bool
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { followed.Store(true) })
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	for _, effect := range []string{"", "unsafe"} {
		if r := call(t, remote{effect: effect}.mustBind(t, address), ref).Failure; r == nil || r.Code != "HTTP_307" || followed.Load() {
			t.Errorf("%+v, followed: %v", r, followed.Load())
		}
	}
}

// roundTrip is a transport that says nothing of when a request leaves.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestUntraced: a transport that does not say whether a request has left is
// taken to have sent it, but where the error itself says that it cannot have.
func TestUntraced(t *testing.T) {
	for _, c := range []struct {
		err  error
		want record.Code
	}{
		{errors.New("something else"), record.OutcomeUnknown},
		{&net.OpError{Op: "dial", Err: errors.New("away")}, record.TempUnavailable},
	} {
		bound, err := remote{effect: "unsafe"}.bind(t, "http://x.example", tool.Backing{Client: &http.Client{
			Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, c.err }),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if r := call(t, bound, ref).Failure; r.Code != c.want {
			t.Errorf("%v: %s, want %s", c.err, r.Code, c.want)
		}
	}
}

// TestRefusedField: an input that the service refuses asks for what the
// contract accepts, as one that the contract refuses does.
func TestRefusedField(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	bound := remote{rules: []string{`{when: {status: 404}, is: INVALID_ARGUMENT, field: ref}`}}.mustBind(t, address)
	got := bound.Call(t.Context(), ref).Failure
	if want := "The service does not accept this ref. The ref must be "; !strings.HasPrefix(got.Message, want) || got.Field != "ref" {
		t.Errorf("got %q for %q, want %q…", got.Message, got.Field, want)
	}
}

package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"remit.example/drive"
	"remit.example/oracle"
)

// server answers as a suite demands; change may make that wrong.
type server struct {
	suite  *oracle.Suite
	change func(w nethttp.ResponseWriter, status int, body string)
}

func (s *server) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	input, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		panic(err)
	case r.Method == nethttp.MethodGet && r.URL.Path == "/base/v1/tools":
		fmt.Fprint(w, `{"tools":[{"name":"delivery_status","promise":"lookup","more":1},{"name":"find","promise":"search"},{"name":"rank_preferences"},{"name":"assess_suitability"}]}`)
		return
	case r.Method != nethttp.MethodPost || r.Header.Get("Content-Type") != "application/json":
		w.WriteHeader(nethttp.StatusMethodNotAllowed)
		return
	}
	status, body := s.correct(r.Header, strings.TrimPrefix(r.URL.Path, "/base/v1/tools/"), input)
	s.change(w, status, body)
}

// correct is the answer that a suite demands.
func (s *server) correct(h nethttp.Header, tool string, input []byte) (int, string) {
	for i := range s.suite.Cases {
		c := &s.suite.Cases[i]
		if s.suite.Contract == oracle.CatalogueV1 {
			logical, request := c.Request()
			if string(request) == string(input) && (tool == logical || logical == "search" && tool == "find") && h.Get("Remit-Case") == "" {
				return catalogueAnswer(string(c.Oracle[0]))
			}
			continue
		}
		for n, e := range c.Executions() {
			conditions := fmt.Sprintf(`{"case":%q,"auth_ok":%t,"allowed":%t,"response":%s}`, c.Name, e.Condition.AuthOK, e.Condition.Allowed, e.Condition.Response)
			if string(e.Input) == string(input) && h.Get("Remit-Case") == ascii(conditions) && h.Get("Remit-Execution") == fmt.Sprint(n+1) {
				return recoveryAnswer(c.Records[n])
			}
		}
	}
	return nethttp.StatusTeapot, "nobody asked for this"
}

// catalogueAnswer is a literal as a server answers it.
func catalogueAnswer(literal string) (int, string) {
	if !strings.Contains(literal, `"status":"invalid_input"`) {
		return nethttp.StatusOK, literal
	}
	return nethttp.StatusBadRequest, strings.TrimSuffix(literal, "}") +
		`,"error":"No.","code":"INVALID_ARGUMENT","retryable":false,"recovery":{"code":"INVALID_ARGUMENT","message":"No.","field":` + fieldOf(literal) + `,"retry_after_ms":null}}`
}

// fieldOf is the JSON of a literal's field.
func fieldOf(literal string) string {
	var answer struct {
		Field json.RawMessage `json:"field"`
	}
	if err := json.Unmarshal([]byte(literal), &answer); err != nil {
		panic(err)
	}
	return string(answer.Field)
}

// recoveryAnswer is what a record demands.
func recoveryAnswer(line []byte) (int, string) {
	var want struct {
		Record struct {
			Code  string
			Field json.RawMessage
			Wait  json.RawMessage `json:"retry_after_ms"`
		}
		Names []string `json:"message_names"`
	}
	if err := json.Unmarshal(line, &want); err != nil {
		panic(err)
	}
	if want.Record.Code == "OK" {
		return nethttp.StatusOK, `{"status":"in_transit"}`
	}
	return nethttp.StatusServiceUnavailable, fmt.Sprintf(`{"error":"No.","recovery":{"code":%q,"message":"No. %s","field":%s,"retry_after_ms":%s}}`,
		want.Record.Code, strings.Join(want.Names, " "), want.Record.Field, want.Record.Wait)
}

func asItIs(w nethttp.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	fmt.Fprintln(w, body)
}

func builtin(t *testing.T, name string) *oracle.Suite {
	t.Helper()
	s, err := oracle.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// judge runs a suite against a server that changes its answers.
func judge(t *testing.T, suite string, change func(nethttp.ResponseWriter, int, string)) *oracle.Outcome {
	t.Helper()
	s := builtin(t, suite)
	served := httptest.NewServer(&server{s, change})
	defer served.Close()
	tools, err := New(served.URL+"/base/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := drive.JudgeTools(t.Context(), s, tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestConforms: every case of every built-in suite passes where the answers
// are right.
func TestConforms(t *testing.T) {
	for _, name := range oracle.Names() {
		if o := judge(t, name, asItIs); o.Failed > 0 || len(o.Void) > 0 || o.Passed != len(builtin(t, name).Cases) {
			t.Errorf("%s: %d passed, %+v, %q", name, o.Passed, o.Failures, o.Void)
		}
	}
}

// TestWrong: an answer that breaks a rule fails its case by that rule.
func TestWrong(t *testing.T) {
	for _, c := range []struct {
		suite, from, to, rule string
		failed                int
	}{
		{"recovery-v1", `"code":"ACCESS_DENIED"`, `"code":"AUTH_REQUIRED"`, "record-code", 1},
		{"recovery-v1", `"retry_after_ms":1000`, `"retry_after_ms":1000.5`, "record-wait", 2},
		{"recovery-v1", `"recovery":`, `"recover":`, "no-record", 8},
		{"recovery-v1", `"recovery":`, `"recovery":null,"recovered":`, "no-record", 8},
		{"catalogue-v1", `["A","B","D"],"basis"`, `["A","B","D","E"],"basis"`, "admits-non-match", 1},
		{"catalogue-v1", `"request_id":"S1","status":"matches"`, `"status":"matches","request_id":"S1"`, "form", 1},
		{"catalogue-v1", `"status":"insufficient_evidence"`, `"status":"matches"`, "affirms-without-evidence", 1},
		{"catalogue-v1", `"retryable":false`, `"retryable":0`, "wire-failure", 1},
	} {
		o := judge(t, c.suite, func(w nethttp.ResponseWriter, status int, body string) {
			asItIs(w, status, strings.Replace(body, c.from, c.to, 1))
		})
		if o.ByRule[c.rule] != c.failed || o.Failed != c.failed || len(o.Void) > 0 {
			t.Errorf("%s instead of %s: got %v and %q, want %s %d times", c.to, c.from, o.ByRule, o.Void, c.rule, c.failed)
		}
	}
}

// TestStatus: the status alone makes an answer a failure, and so does error.
func TestStatus(t *testing.T) {
	o := judge(t, "recovery-v1", func(w nethttp.ResponseWriter, status int, body string) {
		asItIs(w, nethttp.StatusOK, strings.Replace(body, `"status"`, `"error":"","status"`, 1))
	})
	if o.Failed != 4 || o.ByRule["no-record"] != 4 {
		t.Errorf("got %v, want the 4 cases that succeed failed", o.ByRule)
	}
	o = judge(t, "recovery-v1", func(w nethttp.ResponseWriter, _ int, body string) {
		asItIs(w, nethttp.StatusInternalServerError, strings.Replace(body, `"error":"No.",`, "", 1))
	})
	if o.Failed != 4 || o.Passed != 5 {
		t.Errorf("got %v, want the 4 cases that succeed failed", o.ByRule)
	}
}

// TestNoAnswer: what is no answer fails no case and makes the run void.
func TestNoAnswer(t *testing.T) {
	for want, change := range map[string]func(nethttp.ResponseWriter, int, string){
		"status 200: the body is not JSON":                       func(w nethttp.ResponseWriter, _ int, _ string) { asItIs(w, 200, "<html>") },
		"status 502: the body is not JSON":                       func(w nethttp.ResponseWriter, _ int, _ string) { asItIs(w, 502, "Bad Gateway") },
		"status 204: the body is empty":                          func(w nethttp.ResponseWriter, _ int, _ string) { w.WriteHeader(204) },
		"status 404: the request never became a call":            func(w nethttp.ResponseWriter, _ int, _ string) { asItIs(w, 404, `{"error":"No such tool."}`) },
		"the answer is longer than 1048577 bytes":                func(w nethttp.ResponseWriter, _ int, _ string) { asItIs(w, 200, strings.Repeat("a", 1<<21)) },
		`status 307 to "/elsewhere": redirects are not followed`: redirect,
		"the answer broke off": func(w nethttp.ResponseWriter, _ int, _ string) {
			w.Header().Set("Content-Length", "9")
			asItIs(w, 200, `{}`)
		},
		"EOF": func(nethttp.ResponseWriter, int, string) { panic(nethttp.ErrAbortHandler) },
	} {
		o := judge(t, "catalogue-v1", change)
		if o.Passed+o.Failed > 0 || len(o.Void) != 4 || !strings.HasPrefix(o.Void[0], "S1, execution 1: ") || !strings.Contains(o.Void[0], want) {
			t.Errorf("%s: got %d passed, %d failed, %q", want, o.Passed, o.Failed, o.Void)
		}
	}
}

func redirect(w nethttp.ResponseWriter, _ int, _ string) {
	w.Header().Set("Location", "/elsewhere")
	asItIs(w, nethttp.StatusTemporaryRedirect, `{"status":"in_transit"}`)
}

// TestHangs: a server that does not answer is a fault once the time is over.
func TestHangs(t *testing.T) {
	hanging := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the client goes
		<-r.Context().Done()
	}))
	defer hanging.Close()
	tools, err := New(hanging.URL, Options{Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.List(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "/v1/tools: no answer within 20ms") {
		t.Errorf("got %v", err)
	}
	if _, err := tools.Call(t.Context(), "a b", []byte(`{}`), nil, 1); err == nil || !strings.HasSuffix(err.Error(), "/v1/tools/a%20b: no answer within 20ms") {
		t.Errorf("got %v", err)
	}
}

// TestUnreachable: where nobody listens, no tool can be listed.
func TestUnreachable(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	tools, err := New(gone.URL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := drive.JudgeTools(t.Context(), builtin(t, "recovery-v1"), tools, nil); err == nil || o != nil {
		t.Errorf("got %v, %v", o, err)
	}
}

// TestList reads lists, and tells a server without one from one that is broken.
func TestList(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{404, "", "the server lists no tools"},
		{500, "", "status 500; valid: 200"},
		{200, "<html>", "is no list of tools"},
		{200, `{"tool":[]}`, "is no list of tools"},
		{200, `{"tools":[]}`, ""},
	} {
		served := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { asItIs(w, c.status, c.body) }))
		tools, err := New(served.URL, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tools.List(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || errors.Is(err, drive.ErrNoList) != (c.status == 404) {
			t.Errorf("%d %s: got %v, want %s", c.status, c.body, err, c.want)
		}
		served.Close()
	}
}

// TestToken: a token goes along with every request.
func TestToken(t *testing.T) {
	served := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		asItIs(w, 200, fmt.Sprintf(`{"tools":[{"name":%q}]}`, r.Header.Get("Authorization")))
	}))
	defer served.Close()
	tools, err := New(served.URL, Options{Token: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := tools.List(t.Context()); err != nil || len(list) != 1 || list[0].Name != "Bearer abc" {
		t.Errorf("got %v, %v", list, err)
	}
}

// TestAddresses refuses what is no address of a server.
func TestAddresses(t *testing.T) {
	for base, valid := range map[string]bool{
		"http://127.0.0.1:8080": true, "https://shop.example/api/": true, "http://[::1]:80": true,
		"": false, "127.0.0.1:8080": false, "ftp://shop.example": false, "http://": false, "http://:80": false,
		"http://user:secret@shop.example": false, "http://shop.example?a=b": false, "http://shop.example#a": false, "http://[::1": false,
	} {
		if _, err := New(base, Options{}); (err == nil) != valid || err != nil && !strings.Contains(err.Error(), "such as http://127.0.0.1:8080") {
			t.Errorf("%q: got %v", base, err)
		}
	}
}

// TestASCII: a header holds ASCII alone, and the same JSON.
func TestASCII(t *testing.T) {
	const text = "{\"response\":\"Grüße \u007f€ 𝄞 \\n\"}"
	got := ascii(text)
	if want := `{"response":"Gr\u00fc\u00dfe \u007f\u20ac \ud834\udd1e \n"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

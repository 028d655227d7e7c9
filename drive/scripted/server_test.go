package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// served is the server of one case.
func served(t *testing.T, wire, suite, name string) *server {
	t.Helper()
	s, err := serve(wire, suiteOf(t, suite, name).ScriptOf(0), func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// send sends a request and gives the status, the headers and the body.
func send(t *testing.T, method, url, host, body string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

const valid = `{"shipment_ref":"SHIP-104"}`

var answers = []struct {
	suite, name string
	status      int
	header      [2]string
	body        string
}{
	{"recovery-v1", "immediate-success", 200, [2]string{"Content-Type", "application/json"}, `{"status":"in_transit"}`},
	{
		"recovery-v1", "invalid-unchanged", 400,
		[2]string{},
		`{"error":"The shipment_ref is refused; a valid one contains SHIP-.","code":"INVALID_ARGUMENT","retryable":false,"recovery":{"code":"INVALID_ARGUMENT","message":"The shipment_ref is refused; a valid one contains SHIP-.","field":"shipment_ref","retry_after_ms":null}}`,
	},
	{"recovery-v1", "auth-unchanged", 401, [2]string{"WWW-Authenticate", `Bearer realm="remit"`}, failing("AUTH_REQUIRED", "false", "null")},
	{"recovery-v1", "access-denied", 403, [2]string{}, failing("ACCESS_DENIED", "false", "null")},
	{"recovery-v1", "temporary-then-ok", 503, [2]string{"Retry-After", "1"}, failing("TEMP_UNAVAILABLE", "true", "1000")},
	{"recovery-v1-extended", "delay-of-one", 503, [2]string{"Retry-After", "1"}, failing("TEMP_UNAVAILABLE", "true", "1")},
	{"recovery-v1-extended", "delay-of-zero", 503, [2]string{"Retry-After", "0"}, failing("TEMP_UNAVAILABLE", "true", "0")},
	{"recovery-v1", "unknown-code", 500, [2]string{}, failing("STATUS_SERVICE_ODDITY", "false", "null")},
}

// failing is a failing body that names no field.
func failing(code, retryable, wait string) string {
	message := "The scripted dependency answered with " + code + "."
	return `{"error":"` + message + `","code":"` + code + `","retryable":` + retryable +
		`,"recovery":{"code":"` + code + `","message":"` + message + `","field":null,"retry_after_ms":` + wait + `}}`
}

func TestAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	for _, want := range answers {
		s := served(t, HTTP, want.suite, want.name)
		status, header, body := send(t, "POST", s.url(), "", valid)
		if status != want.status || body != want.body+"\n" || header.Get(want.header[0]) != want.header[1] {
			t.Errorf("%s: %d %v %s", want.name, status, header, body)
		}
	}
}

func TestAnswersOverMCP(t *testing.T) {
	t.Parallel()
	for _, want := range answers {
		s := served(t, MCP, want.suite, want.name)
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != tool {
			t.Fatalf("%s: the tools are %v, %v", want.name, list, err)
		}
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "refund"}); err == nil {
			t.Errorf("%s: a call of another tool is answered", want.name)
		}
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(valid)})
		if err != nil {
			t.Fatal(err)
		}
		if fault := differs(result, want.body); fault != "" {
			t.Errorf("%s: %s", want.name, fault)
		}
		_ = session.Close()
		if len(s.arrivals) != 1 || string(s.arrivals[0].Input) != valid {
			t.Errorf("%s: the calls are %v", want.name, s.arrivals)
		}
	}
}

// differs says where a result is not that of a body; "" if nowhere.
func differs(result *sdk.CallToolResult, body string) string {
	var texts []string
	for _, content := range result.Content {
		texts = append(texts, content.(*sdk.TextContent).Text)
	}
	var whole map[string]any
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		return err.Error()
	}
	wantTexts, wantMeta := []string{body}, any(nil)
	if sentence, failed := whole["error"].(string); failed {
		wantTexts, wantMeta = []string{sentence, body}, whole["recovery"]
	}
	switch {
	case result.IsError != (wantMeta != nil), !slices.Equal(texts, wantTexts):
		return strings.Join(texts, " | ")
	case text(result.StructuredContent) != text(whole):
		return "structuredContent is " + text(result.StructuredContent)
	case text(result.Meta["remit/recovery"]) != text(wantMeta):
		return "the record is " + text(result.Meta["remit/recovery"])
	}
	return ""
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// TestRefused: what cannot be a call is answered with its own status, and is
// no call.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := served(t, HTTP, "recovery-v1", "immediate-success")
	for _, test := range []struct {
		method, url, host, body string
		status                  int
	}{
		{"GET", s.url(), "", "", 405},
		{"PUT", s.url(), "", valid, 405},
		{"POST", s.url() + "/", "", valid, 404},
		{"POST", "http://" + s.address + "/mcp", "", valid, 404},
		{"POST", s.url(), "remit.example", valid, 403},
		{"POST", s.url(), "", strings.Repeat(" ", maxBody+1), 413},
	} {
		status, _, body := send(t, test.method, test.url, test.host, test.body)
		if status != test.status || !strings.HasPrefix(body, `{"error":"`) {
			t.Errorf("%s %s: %d %s, want %d", test.method, test.url, status, body, test.status)
		}
	}
	if len(s.arrivals) > 0 || s.refused != 6 {
		t.Errorf("%d calls, %d refused", len(s.arrivals), s.refused)
	}
}

// TestInputs: every body is a call, with an input that is JSON.
func TestInputs(t *testing.T) {
	t.Parallel()
	suite := suiteOf(t, "recovery-v1", "immediate-success")
	for _, test := range []struct {
		body, input string
		passes      bool
	}{
		{" { \"shipment_ref\" : \"SHIP-104\" }\n", valid, true},
		{``, `null`, false},
		{`null`, `null`, false},
		{`[1, 2]`, `[1,2]`, false},
		{`shipment_ref=SHIP-104`, `"shipment_ref=SHIP-104"`, false},
		{valid + valid, `"{\"shipment_ref\":\"SHIP-104\"}{\"shipment_ref\":\"SHIP-104\"}"`, false},
		{"\"\xff\"", `"\"�\""`, false},
		{`{"shipment_ref":"SHIP-104","shipment_ref":"SHIP-104"}`, `{"shipment_ref":"SHIP-104","shipment_ref":"SHIP-104"}`, false},
	} {
		s := served(t, HTTP, "recovery-v1", "immediate-success")
		if status, _, _ := send(t, "POST", s.url(), "", test.body); status != 200 {
			t.Errorf("%q is answered with %d", test.body, status)
		}
		if len(s.arrivals) != 1 || string(s.arrivals[0].Input) != test.input {
			t.Errorf("%q is called as %v", test.body, s.arrivals)
			continue
		}
		o := suite.NewOutcome()
		suite.JudgeCaller(o, 0, s.arrivals)
		if got := broken(o); (len(got) == 0) != test.passes || !test.passes && !slices.Equal(got, []string{"input"}) {
			t.Errorf("%q breaks %q", test.body, got)
		}
	}
}

// TestTooMuch: what exceeds the bounds of a case ends the caller and gets no answer.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	floods := 0
	s := &server{script: suiteOf(t, "recovery-v1", "access-denied").ScriptOf(0), flooded: func() { floods++ }}
	for range maxHeld / maxBody {
		if _, ok := s.answer(make([]byte, maxBody)); !ok {
			t.Fatal("the server is full too early")
		}
	}
	for range 2 {
		if _, ok := s.answer([]byte("1")); ok || floods != 1 {
			t.Errorf("a call beyond the bound: answered %t, the caller ended %d times", ok, floods)
		}
	}
}

// TestCloseWaits: a call that was sent before the server closes is noted, even
// if its caller did not wait for the answer.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	s := served(t, HTTP, "recovery-v1", "immediate-success")
	sendOnly(t, s)
	s.close()
	if len(s.arrivals) != 1 {
		t.Errorf("%d calls", len(s.arrivals))
	}
	if _, ok := s.answer([]byte(valid)); ok {
		t.Error("a call after the end is answered")
	}
}

// sendOnly sends one call and hangs up.
func sendOnly(t *testing.T, s *server) {
	t.Helper()
	connection, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", s.path, s.address, len(valid), valid); err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
}

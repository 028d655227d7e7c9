package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// setting is what a call sets in a sandbox; "" is absent.
type setting struct{ conditions, execution string }

// caller calls a tool on one wire: body is the answer, refusal the sentence of
// a request that never became a call.
type caller func(t *testing.T, tool, input string, set setting) (body, refusal string)

// everyWire runs a test against a server, with --sandbox or without, on every
// wire in every era.
func everyWire(t *testing.T, sandbox bool, paths []string, test func(t *testing.T, call caller)) {
	r := start(t, serveFlags{sandbox: sandbox}, paths...)
	t.Run("rest", func(t *testing.T) { test(t, r.callSet) })
	args := append([]string{"serve", "--stdio"}, paths...)
	if sandbox {
		args = append(args, "--sandbox")
	}
	for _, era := range eras {
		t.Run("http/"+era, func(t *testing.T) {
			test(t, sessionCaller(connect(t, era, &sdk.StreamableClientTransport{Endpoint: r.url + "/mcp"})))
		})
		t.Run("stdio/"+era, func(t *testing.T) {
			test(t, sessionCaller(connect(t, era, &sdk.CommandTransport{Command: remitCommand(t, args...)})))
		})
	}
}

// callSet calls over plain HTTP.
func (r *running) callSet(t *testing.T, tool, input string, set setting) (body, refusal string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/tools/"+tool, strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range map[string]string{"Remit-Case": set.conditions, "Remit-Execution": set.execution} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var refused map[string]string
	if response.StatusCode == http.StatusBadRequest && json.Unmarshal(answer, &refused) == nil && len(refused) == 1 {
		return "", refused["error"]
	}
	return strings.TrimSuffix(string(answer), "\n"), ""
}

// sessionCaller calls over MCP.
func sessionCaller(session *sdk.ClientSession) caller {
	return func(t *testing.T, tool, input string, set setting) (body, refusal string) {
		t.Helper()
		params := &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(input), Meta: sdk.Meta{}}
		for name, value := range map[string]string{"remit/case": set.conditions, "remit/execution": set.execution} {
			if value != "" {
				params.Meta[name] = json.RawMessage(value)
			}
		}
		result, err := session.CallTool(t.Context(), params)
		var protocol *jsonrpc.Error
		if errors.As(err, &protocol) && protocol.Code == jsonrpc.CodeInvalidParams {
			return "", protocol.Message
		}
		if err != nil {
			t.Fatal(err)
		}
		return result.Content[len(result.Content)-1].(*sdk.TextContent).Text, ""
	}
}

var delivery = []string{"../../examples/delivery-status"}

// conditions writes the conditions of an execution whose response is JSON.
func conditions(authOK, allowed bool, response string) string {
	return fmt.Sprintf(`{"case":"c","auth_ok":%v,"allowed":%v,"response":%s}`, authOK, allowed, response)
}

const valid = `{"shipment_ref":"SHIP-104"}`

// TestSandbox: each condition gives its record, in its order.
func TestSandbox(t *testing.T) {
	everyWire(t, true, delivery, func(t *testing.T, call caller) {
		for i, c := range []struct {
			input, conditions string
			want              string // the record, or the answer of a success
		}{
			{`{"shipment_ref":"ship104"}`, conditions(false, false, "null"), `"code":"INVALID_ARGUMENT","message":"The shipment_ref must be SHIP- followed by exactly three digits, such as SHIP-104.","field":"shipment_ref","retry_after_ms":null}`},
			{valid, conditions(false, false, "null"), `"code":"AUTH_REQUIRED","message":"Authentication is required; authenticate through the application and ask again.","field":null,"retry_after_ms":null}`},
			{valid, conditions(true, false, "null"), `"code":"ACCESS_DENIED","message":"Access is refused; asking again with the same credentials changes nothing.","field":null,"retry_after_ms":null}`},
			{valid, conditions(true, true, `"TEMP_UNAVAILABLE"`), `"code":"TEMP_UNAVAILABLE","message":"The service is temporarily unavailable; the same request may be repeated after the stated wait.","field":null,"retry_after_ms":1000}`},
			{valid, conditions(true, true, `{"code":"TEMP_UNAVAILABLE","retry_after_ms":250}`), `"code":"TEMP_UNAVAILABLE","message":"The service is temporarily unavailable; the same request may be repeated after the stated wait.","field":null,"retry_after_ms":250}`},
			{valid, conditions(true, true, `"STATUS_SERVICE_ODDITY"`), `"code":"STATUS_SERVICE_ODDITY","message":"The service answered with the code STATUS_SERVICE_ODDITY, which this contract does not know; nothing may be concluded from it.","field":null,"retry_after_ms":null}`},
			{valid, conditions(true, true, `"OK"`), `{"status":"in_transit"}`},
			{valid, "", `{"status":"in_transit"}`}, // no case: the tool's own backend
		} {
			set := setting{c.conditions, fmt.Sprint(i + 1)}
			if c.conditions == "" {
				set = setting{}
			}
			body, refusal := call(t, "delivery_status", c.input, set)
			if _, record, failed := strings.Cut(body, `"recovery":{`); failed {
				body = strings.TrimSuffix(record, "}")
			}
			if body != c.want || refusal != "" {
				t.Errorf("%s: got %s %s\nwant %s", c.conditions, body, refusal, c.want)
			}
		}
	})
}

// TestSandboxRefuses: what is malformed is no call, nor is a response that is
// needed and not there.
func TestSandboxRefuses(t *testing.T) {
	good := conditions(true, true, `"OK"`)
	everyWire(t, true, delivery, func(t *testing.T, call caller) {
		for _, c := range []struct {
			setting
			want string
		}{
			{setting{conditions(true, true, "null"), "7"}, ": execution 7 reaches the dependency, and response is null; valid: a code, "},
			{setting{good, ""}, " is given 0 times; valid: "},
			{setting{"", "1"}, " is given 0 times; valid: "},
			{setting{good, "0"}, ` is "0"; valid: a whole number`},
			{setting{good, "1.0"}, ` is "1.0"; valid: a whole number`},
			{setting{`"c"`, "1"}, " is no JSON object; valid: {"},
			{setting{`{"case":"c","auth_ok":true,"allowed":true}`, "1"}, " has no member response; valid: {"},
			{setting{`{"case":"c","auth_ok":false,"auth_ok":true,"allowed":true,"response":"OK"}`, "1"}, " has a member twice; valid: {"},
			{setting{strings.Replace(good, "{", `{"until":1,`, 1), "1"}, ` has the unknown member "until"; valid: {`},
			{setting{conditions(true, true, `{"code":"TEMP_UNAVAILABLE","retry_after_ms":-1}`), "1"}, " has a wrong response; valid: a code, "},
		} {
			body, refusal := call(t, "delivery_status", valid, c.setting)
			if body != "" || !strings.Contains(refusal, c.want) || !strings.HasSuffix(refusal, ".") {
				t.Errorf("%v: got %q %q, want %q", c.setting, body, refusal, c.want)
			}
		}
	})
}

// TestNoSandbox: without the flag no call sets conditions, and what it says of
// them is not even read.
func TestNoSandbox(t *testing.T) {
	everyWire(t, false, delivery, func(t *testing.T, call caller) {
		for _, set := range []setting{
			{conditions(false, true, "null"), "1"},
			{conditions(true, false, "null"), "1"},
			{conditions(true, true, `"TEMP_UNAVAILABLE"`), "1"},
			{conditions(true, true, "null"), "1"},
			{"[]", "0"},
			{"[]", ""},
		} {
			if body, refusal := call(t, "delivery_status", valid, set); body != `{"status":"in_transit"}` {
				t.Errorf("%v: got %s %s", set, body, refusal)
			}
		}
	})
}

// TestSandboxCatalogue: a tool over a catalogue has no conditions; a malformed
// case is refused all the same.
func TestSandboxCatalogue(t *testing.T) {
	everyWire(t, true, []string{"../../examples/task-lights"}, func(t *testing.T, call caller) {
		const input = `{"request_id":"S1","filters":{"max_price_minor":1000}}`
		want, _ := call(t, "search_lights", input, setting{})
		for _, c := range []string{conditions(false, false, "null"), conditions(true, true, "null"), conditions(true, true, `"TEMP_UNAVAILABLE"`)} {
			if body, refusal := call(t, "search_lights", input, setting{c, "1"}); body != want || body == "" {
				t.Errorf("%s: got %s %s, want %s", c, body, refusal, want)
			}
		}
		if _, refusal := call(t, "search_lights", input, setting{"[]", "1"}); refusal == "" {
			t.Error("a malformed case is not refused")
		}
	})
}

// TestSandboxLine: who starts a sandbox is told.
func TestSandboxLine(t *testing.T) {
	const want = "serving 1 tool of delivery-status in a sandbox, where calls set their own conditions"
	start(t, serveFlags{sandbox: true}, delivery...).log.await(t, want+"\n  index")
	if said := start(t, serveFlags{}, delivery...).log.await(t, "serving"); strings.Contains(said, "sandbox") {
		t.Error(said)
	}
	command := remitCommand(t, "serve", "--stdio", "--sandbox", delivery[0])
	var log strings.Builder
	command.Stderr = &log
	if err := command.Run(); err != nil || !strings.Contains(log.String(), want+" over standard input and output") {
		t.Errorf("%v: %s", err, &log)
	}
}

// TestSandboxRules: the rules of serving hold in a sandbox too.
func TestSandboxRules(t *testing.T) {
	r := start(t, serveFlags{sandbox: true}, delivery...)
	for header, want := range map[string]int{
		"X-Forwarded-For: 192.0.2.1":   http.StatusForbidden, // a caller elsewhere
		"Origin: https://evil.example": http.StatusForbidden,
		"Host: evil.example":           http.StatusForbidden,
		"X-Nothing: at all":            http.StatusOK,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/tools/delivery_status", strings.NewReader(valid))
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(header, ": ")
		request.Header = http.Header{
			"Content-Type": {"application/json"}, "Remit-Case": {conditions(true, true, `"OK"`)}, "Remit-Execution": {"1"}, name: {value},
		}
		if name == "Host" {
			request.Host = value
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: got %d, want %d", header, response.StatusCode, want)
		}
	}
}

// TestSandboxBytes sends what a client's encoder would not write.
func TestSandboxBytes(t *testing.T) {
	r := start(t, serveFlags{sandbox: true}, delivery...)
	denied := conditions(true, false, "null")
	message := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delivery_status","arguments":` + valid + `,"_meta":` + meta + `}}`
	}
	set := `{"remit/case":` + denied + `,"remit/execution":1}`
	const form = "Content-Type: application/json\r\nAccept: application/json, text/event-stream"
	for _, c := range []struct{ path, header, body, want string }{
		{"/mcp", form, message(set), "ACCESS_DENIED"},
		{"/mcp", form, message(`{"remit/case":` + denied + `,"remit/case":` + denied + `,"remit/execution":1}`), "is given 2 times"},
		{"/mcp", form, message(`{"remit/case":` + denied + `,"remit/execution":1,"remit/execution":2}`), "is given 2 times"},
		{"/mcp", form, "[" + message(set) + "]", "valid in a sandbox: one JSON-RPC 2.0 message"},
		{"/mcp", form, message(strings.Replace(set, `"c"`, `"é"`, 1)), "ACCESS_DENIED"}, // a message is UTF-8
		{"/mcp", form + "\r\nRemit-Case: " + denied + "\r\nRemit-Execution: 1", message("{}"), "in_transit"},
		{"/mcp", form + "\r\nremit/case: " + denied + "\r\nremit/execution: 1", message("{}"), "400 Bad Request"},
		{"/v1/tools/delivery_status", form + "\r\nRemit-Case: " + denied + "\r\nRemit-Case: " + denied + "\r\nRemit-Execution: 1", valid, "is given 2 times"},
		{"/v1/tools/delivery_status", form + "\r\nRemit-Case: " + strings.Replace(denied, `"c"`, `"é"`, 1) + "\r\nRemit-Execution: 1", valid, "has bytes outside ASCII"},
		{"/v1/tools/delivery_status", form + "\r\nRemit-Case: " + strings.Replace(denied, `"c"`, `"\u00e9"`, 1) + "\r\nRemit-Execution: 1", valid, "ACCESS_DENIED"},
		{"/v1/tools/delivery_status", form + "\r\nRemit-Case:\r\nRemit-Execution: 1", valid, "is no JSON object"},
	} {
		if got := exchange(t, r.url, c.path, c.header, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s\n%s: got %s\nwant %s", c.header, c.body, got, c.want)
		}
	}
}

// exchange posts as bytes and gives the whole answer.
func exchange(t *testing.T, url, path, header, body string) string {
	t.Helper()
	host := strings.TrimPrefix(url, "http://")
	connection, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n%s", path, host, len(body), header, body); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(bufio.NewReader(connection))
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestSandboxStdioBytes: a line may hold what the library's client cannot
// write, and the session goes on after a refusal.
func TestSandboxStdioBytes(t *testing.T) {
	command := remitCommand(t, "serve", "--stdio", "--sandbox", delivery[0])
	denied := conditions(true, false, "null")
	call := func(id int, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"delivery_status","arguments":%s,"_meta":%s}}`+"\n", id, valid, meta)
	}
	command.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
` + call(2, `{"remit/case":`+denied+`,"remit/case":`+denied+`,"remit/execution":1}`) + call(3, `{"remit/case":`+denied+`,"remit/execution":1}`))
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":2,"error":{"code":-32602,"message":"_meta[\"remit/case\"] is given 2 times`, `\"code\":\"ACCESS_DENIED\"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

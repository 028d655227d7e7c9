package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"remit.example/contract"
	"remit.example/guard"
	"remit.example/operation"
	"remit.example/recovery"
)

const billing = `remit: 1
service: billing
upstream: {stdio: [billing]}
failures:
  - {when: {text: '^Rate limited, retry in (?P<seconds>\d+)s$'}, effects: [read], is: TEMP_UNAVAILABLE, wait: seconds, sample: "Rate limited, retry in 30s"}
  - {when: {text: '^Invoice \S+ not found$'}, is: INVALID_ARGUMENT, field: invoice_id, sample: "Invoice in_9 not found"}
  - {when: {text: '^Sign in$'}, is: AUTH_REQUIRED, sample: "Sign in"}
tools:
  get_*: {effect: read}
  list_invoices: {effect: read, absorb: true}
  limited: {effect: read, rate: 2/min}
  create_charge: {effect: keyed, key: {argument: idempotency_key, by: guard}, identity: [invoice_id], status: {tool: get_charge, with: {invoice_id: invoice_id}, applied: {/status: succeeded}, not_applied: {/status: none}}}
  send_receipt: {effect: unsafe, identity: [invoice_id, email]}
  "*": {effect: unsafe}
`

// rig is a guard over an upstream that answers by a function.
type rig struct {
	*testing.T
	guard   *guard.Guard
	session guard.Session
	answer  func(tool string, arguments map[string]any) (guard.Response, error)
	mu      sync.Mutex
	sent    []string // the arguments of each execution, as they arrived
}

func newRig(t *testing.T, source string, change func(*guard.Options)) *rig {
	t.Helper()
	o := guard.Options{Upstream: "billing", Store: operation.NewMemory(time.Now)}
	if source != "" {
		c, err := contract.Parse("billing.yaml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		o.Contract = c
	}
	if change != nil {
		change(&o)
	}
	return &rig{T: t, guard: guard.New(o)}
}

// result is what a caller gets: an answer's texts and marks.
type result struct {
	Result struct {
		IsError bool
		Content []struct{ Text string }
		Meta    struct {
			Recovery *struct {
				Code         string
				Next         string
				RetryAfterMS *int64 `json:"retry_after_ms"`
				Replayed     bool
				Operation    *struct{ ID string }
			} `json:"remit/recovery"`
			Memory *struct {
				AgeMS   int64  `json:"age_ms"`
				AfterMS *int64 `json:"executes_after_ms"`
			} `json:"remit/memory"`
			Replayed *struct{ Operation, Delivery string } `json:"remit/replayed"`
		} `json:"_meta"`
	}
	Error *struct{ Message string }
	raw   string
}

func (r result) text() string {
	if len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].Text
}

func (r result) code() string {
	if r.Result.Meta.Recovery == nil {
		return "OK"
	}
	return r.Result.Meta.Recovery.Code
}

var alice = guard.Caller{Principal: "alice", Connection: "one"}

func (r *rig) call(tool string, arguments string) result {
	r.Helper()
	return r.callAs(r.Context(), alice, tool, arguments)
}

func (r *rig) callAs(ctx context.Context, caller guard.Caller, tool, arguments string) result {
	r.Helper()
	m, err := guard.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	if err != nil {
		r.Fatal(err)
	}
	reply := r.guard.Call(ctx, caller, &r.session, m, r.exec)
	reply.Done(!reply.Gone)
	if reply.Gone {
		return result{}
	}
	got := result{raw: string(reply.Message)}
	if err := json.Unmarshal(reply.Message, &got); err != nil {
		r.Fatalf("%v: %s", err, reply.Message)
	}
	return got
}

func (r *rig) exec(_ context.Context, request []byte) (guard.Response, error) {
	var m struct {
		ID     json.RawMessage
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal(request, &m); err != nil {
		return guard.Response{}, err
	}
	r.mu.Lock()
	r.sent = append(r.sent, m.Params.Name+" "+string(m.Params.Arguments))
	r.mu.Unlock()
	var arguments map[string]any
	if err := json.Unmarshal(m.Params.Arguments, &arguments); err != nil {
		return guard.Response{}, err
	}
	response, err := r.answer(m.Params.Name, arguments)
	if err != nil || response.Message == nil {
		return response, err
	}
	response.Message, err = guard.ParseMessage(response.Message.WithID([]byte(m.ID)))
	return response, err
}

// says is a response whose result has one text.
func says(text string, failed bool) (guard.Response, error) {
	return answers(fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":%v}`, text, failed))
}

func answers(result string) (guard.Response, error) {
	m, err := guard.ParseMessage([]byte(`{"jsonrpc":"2.0","id":0,"result":` + result + `}`))
	return guard.Response{Message: m}, err
}

func (r *rig) want(got result, code string, executions int) {
	r.Helper()
	if got.code() != code || len(r.sent) != executions {
		r.Errorf("%s after %d executions, want %s after %d: %s", got.code(), len(r.sent), code, executions, got.raw)
	}
}

// inBubble runs a test in time that passes at once.
func inBubble(t *testing.T, source string, change func(*guard.Options), test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source, change)
		test(r)
		r.guard.Wait()
	})
}

// TestMemorySays: an answer from memory says how old it is and when asking
// again executes, and does so then.
func TestMemorySays(t *testing.T) {
	inBubble(t, "", nil, func(r *rig) {
		r.answer = func(string, map[string]any) (guard.Response, error) { return says("It broke", true) }
		r.want(r.call("get_x", `{}`), "UNDECLARED_FAILURE", 1)
		time.Sleep(2 * time.Second)
		got := r.call("get_x", `{}`)
		r.want(got, "UNDECLARED_FAILURE", 1)
		if m := got.Result.Meta.Memory; m == nil || m.AgeMS != 2000 || m.AfterMS == nil || *m.AfterMS != 3000 || !got.Result.Meta.Recovery.Replayed {
			t.Errorf("%s", got.raw)
		}
		if want := "It broke (Remembered for 2 s; nothing was sent. Asking again executes after 3 s, or once something that you change has succeeded.)"; got.text() != want {
			t.Errorf("%q, want %q", got.text(), want)
		}
		time.Sleep(3 * time.Second)
		r.want(r.call("get_x", `{}`), "UNDECLARED_FAILURE", 2)
		time.Sleep(9 * time.Second)
		r.want(r.call("get_x", `{}`), "UNDECLARED_FAILURE", 2)
	})
}

// TestHeard: what a server tells ends what no longer holds.
func TestHeard(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		note := func(method string) {
			m, err := guard.ParseMessage([]byte(`{"jsonrpc":"2.0","method":"` + method + `"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.guard.Heard(alice, &r.session, m)
		}
		r.answer = func(string, map[string]any) (guard.Response, error) { return says("Sign in", true) }
		for range 3 {
			r.want(r.call("get_x", `{}`), "AUTH_REQUIRED", 1)
		}
		note("notifications/elicitation/complete")
		r.want(r.call("get_x", `{}`), "AUTH_REQUIRED", 2)
		list, err := guard.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_y","inputSchema":{"type":"object","required":["id"]}}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.guard.List(&r.session, list)
		r.want(r.call("get_y", `{}`), "INVALID_ARGUMENT", 2)
		note("notifications/tools/list_changed")
		r.want(r.call("get_y", `{}`), "AUTH_REQUIRED", 3)
	})
}

// TestAbsorb: the guard itself waits for a read that the contract says so of.
func TestAbsorb(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		r.answer = func(string, map[string]any) (guard.Response, error) {
			if len(r.sent) < 3 {
				return says("Rate limited, retry in 7s", true)
			}
			return says("all", false)
		}
		begun := time.Now()
		r.want(r.call("list_invoices", `{}`), "OK", 3)
		if took := time.Since(begun); took != 14*time.Second {
			t.Errorf("it took %v", took)
		}
		r.sent = nil
		r.answer = func(string, map[string]any) (guard.Response, error) { return says("Rate limited, retry in 300s", true) }
		got := r.call("list_invoices", `{"page":2}`)
		r.want(got, "TEMP_UNAVAILABLE", 1)
		if ms := got.Result.Meta.Recovery.RetryAfterMS; ms == nil || *ms != 300_000 {
			t.Errorf("%s", got.raw)
		}
	})
}

// TestRate: a tenant that has used a tool's rate waits for the rest of it.
func TestRate(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		r.answer = func(string, map[string]any) (guard.Response, error) { return says("x", false) }
		r.want(r.call("limited", `{"n":1}`), "OK", 1)
		r.want(r.callAs(r.Context(), guard.Caller{Principal: "bob"}, "limited", `{"n":2}`), "OK", 2)
		got := r.call("limited", `{"n":3}`)
		r.want(got, "TEMP_UNAVAILABLE", 2)
		if ms := got.Result.Meta.Recovery.RetryAfterMS; ms == nil || *ms != 30_000 {
			t.Errorf("%s", got.raw)
		}
		time.Sleep(30 * time.Second)
		r.want(r.call("limited", `{"n":3}`), "OK", 3)
	})
}

// TestStatus: an unknown outcome is asked for, and settled by what the
// contract's tool says.
func TestStatus(t *testing.T) {
	for _, c := range []struct{ status, state string }{{"succeeded", "confirmed"}, {"none", "refused"}, {"pending", "unknown"}} {
		inBubble(t, billing, nil, func(r *rig) {
			r.answer = func(tool string, arguments map[string]any) (guard.Response, error) {
				if tool == "get_charge" {
					if arguments["invoice_id"] != "in_1" || len(arguments) != 1 {
						t.Errorf("asked with %v", arguments)
					}
					return answers(fmt.Sprintf(`{"content":[],"structuredContent":{"status":%q}}`, c.status))
				}
				return guard.Response{}, io.ErrUnexpectedEOF
			}
			got := r.call("create_charge", `{"invoice_id":"in_1","amount":5}`)
			r.want(got, "TEMP_UNAVAILABLE", 1)
			id := got.Result.Meta.Recovery.Operation.ID
			got = r.call(guard.StatusTool, fmt.Sprintf(`{"id":%q}`, id))
			if !strings.Contains(got.raw, `\"state\":\"`+c.state) || len(r.sent) != 2 {
				t.Errorf("%s: %s", c.status, got.raw)
			}
			got = r.callAs(r.Context(), guard.Caller{Principal: "bob"}, guard.StatusTool, fmt.Sprintf(`{"id":%q}`, id))
			if got.code() != "INVALID_ARGUMENT" {
				t.Errorf("another principal sees %s", got.raw)
			}
		})
	}
}

// TestLostCharge: a keyed write whose answer was lost is sent again with its
// key, whatever the call brings, and never under another.
func TestLostCharge(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		var keys []any
		r.answer = func(_ string, arguments map[string]any) (guard.Response, error) {
			if keys = append(keys, arguments["idempotency_key"]); len(keys) == 1 {
				return guard.Response{}, io.ErrUnexpectedEOF
			}
			return says("charged", false)
		}
		r.want(r.call("create_charge", `{"invoice_id":"in_1","amount":5}`), "TEMP_UNAVAILABLE", 1)
		r.want(r.call("create_charge", `{"invoice_id":"in_1","amount":5}`), "TEMP_UNAVAILABLE", 1)
		r.want(r.call("create_charge", `{"invoice_id":"in_1","amount":6}`), "OUTCOME_UNKNOWN", 1)
		time.Sleep(time.Second)
		r.want(r.call("create_charge", `{"amount":5, "invoice_id":"in_1"}`), "OK", 2)
		if len(keys) != 2 || keys[0] == nil || keys[0] != keys[1] {
			t.Errorf("keys: %v", keys)
		}
		r.want(r.call("create_charge", `{"invoice_id":"in_1","amount":6}`), "KEY_REUSED", 2)
		r.want(r.call("create_charge", `{"invoice_id":"in_2","amount":6}`), "OK", 3)
	})
}

// TestTransportFailures: what HTTP says is read by the effect.
func TestTransportFailures(t *testing.T) {
	for _, c := range []struct {
		name         string
		response     guard.Response
		err          error
		read, writes string
		remembered   bool
	}{
		{"429", guard.Response{Status: 429, Header: http.Header{"Retry-After": {"9"}}}, nil, "TEMP_UNAVAILABLE", "TEMP_UNAVAILABLE", true},
		{"500", guard.Response{Status: 500}, nil, "HTTP_500", "OUTCOME_UNKNOWN", true},
		{"403", guard.Response{Status: 403}, nil, "ACCESS_DENIED", "ACCESS_DENIED", true},
		{"404", guard.Response{Status: 404}, nil, "HTTP_404", "HTTP_404", false},
		{"not sent", guard.Response{}, recovery.NotSent(errors.New("refused")), "TEMP_UNAVAILABLE", "TEMP_UNAVAILABLE", true},
		{"lost", guard.Response{}, io.ErrUnexpectedEOF, "TEMP_UNAVAILABLE", "OUTCOME_UNKNOWN", true},
	} {
		inBubble(t, billing, nil, func(r *rig) {
			var codes []string
			r.guard = guard.New(guard.Options{Contract: parsed(t), Upstream: "billing", Store: operation.NewMemory(time.Now), Observed: func(d guard.Decision) {
				codes = append(codes, string(d.Code))
			}})
			exec := func(context.Context, []byte) (guard.Response, error) {
				r.sent = append(r.sent, c.name)
				return c.response, c.err
			}
			for _, tool := range []string{"get_x", "get_x", "send_receipt"} {
				m, err := guard.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool))
				if err != nil {
					t.Fatal(err)
				}
				r.guard.Call(r.Context(), alice, &r.session, m, exec).Done(true)
			}
			executed := 2
			if !c.remembered {
				executed = 3
			}
			if want := fmt.Sprint([]string{c.read, c.read, c.writes}); fmt.Sprint(codes) != want || len(r.sent) != executed {
				t.Errorf("%s: %v after %d, want %s after %d", c.name, codes, len(r.sent), want, executed)
			}
		})
	}
}

func parsed(t *testing.T) *contract.Contract {
	t.Helper()
	c, err := contract.Parse("billing.yaml", []byte(billing))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOwed: who was told to ask again is answered with how the operation
// ended, also where another connection had the answer first.
func TestOwed(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		bob := guard.Caller{Principal: "alice", Connection: "two"}
		const charge = `{"invoice_id":"in_1","amount":5}`
		r.answer = func(string, map[string]any) (guard.Response, error) {
			if len(r.sent) == 1 {
				return guard.Response{}, io.ErrUnexpectedEOF
			}
			return says("charged", false)
		}
		r.want(r.call("create_charge", charge), "TEMP_UNAVAILABLE", 1)
		time.Sleep(2 * time.Second)
		r.want(r.callAs(r.Context(), bob, "create_charge", charge), "OK", 2)
		time.Sleep(2 * time.Second)
		got := r.call("create_charge", charge)
		r.want(got, "OK", 2)
		if got.Result.Meta.Replayed == nil {
			t.Errorf("not marked: %s", got.raw)
		}
		r.want(r.call("create_charge", charge), "OK", 3)
	})
}

// TestNotReached: what says that no tool was reached leaves no write open.
func TestNotReached(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		for i, code := range []int{-32602, -32601, -32022} {
			r.answer = func(string, map[string]any) (guard.Response, error) {
				m, err := guard.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"error":{"code":%d,"message":"no"}}`, code))
				return guard.Response{Message: m}, err
			}
			tool := fmt.Sprintf("other_%d", i)
			r.call(tool, `{}`)
			r.answer = func(string, map[string]any) (guard.Response, error) { return says("done", false) }
			time.Sleep(5 * time.Second)
			r.want(r.call(tool, `{}`), "OK", 2*(i+1))
		}
	})
}

// TestRemembersOutcomes: an answer from memory says of a write's effect what
// is known of it.
func TestRemembersOutcomes(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		r.answer = func(string, map[string]any) (guard.Response, error) { return guard.Response{}, io.ErrUnexpectedEOF }
		r.call("create_charge", `{"invoice_id":"in_1"}`)
		got := r.call("create_charge", `{"invoice_id":"in_1"}`)
		r.want(got, "TEMP_UNAVAILABLE", 1)
		if !strings.Contains(got.raw, `"outcome":"unknown"`) || strings.Contains(got.raw, "not_applied") || strings.Contains(got.raw, `"key"`) {
			t.Errorf("%s", got.raw)
		}
	})
}

// TestStaleRefusal: a write that succeeds while a read is on its way ends the
// read's refusal before it comes.
func TestStaleRefusal(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		slowly := true
		r.answer = func(tool string, _ map[string]any) (guard.Response, error) {
			if tool == "get_x" && slowly {
				slowly = false
				time.Sleep(2 * time.Second)
				return says("Invoice in_1 not found", true)
			}
			return says("done", false)
		}
		slow := make(chan result)
		go func() { slow <- r.call("get_x", `{}`) }()
		time.Sleep(time.Second)
		r.want(r.call("other", `{}`), "OK", 2)
		if got := <-slow; got.code() != "INVALID_ARGUMENT" {
			t.Errorf("%s", got.raw)
		}
		r.want(r.call("get_x", `{}`), "OK", 3)
	})
}

// TestContinued: what answers a question of the server is held to the memory
// like any call; another answer is another call.
func TestContinued(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		r.answer = func(string, map[string]any) (guard.Response, error) { return says("No", true) }
		with := func(extra string) {
			m, err := guard.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_x","arguments":{}` + extra + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.guard.Call(r.Context(), alice, &r.session, m, r.exec).Done(true)
		}
		for i, extra := range []string{"", `,"requestState":"a"`, `,"requestState":"b"`, `,"inputResponses":{"q":1}`} {
			for range 5 {
				with(extra)
				with(extra + `,"task":null`)
			}
			if len(r.sent) != i+1 {
				t.Errorf("%q: %d executions", extra, len(r.sent))
			}
		}
	})
}

// TestRateOfLedger: what the ledger answers draws on no rate.
func TestRateOfLedger(t *testing.T) {
	source := strings.Replace(billing, "send_receipt: {effect: unsafe,", "send_receipt: {effect: unsafe, rate: 2/h,", 1)
	inBubble(t, source, nil, func(r *rig) {
		r.answer = func(string, map[string]any) (guard.Response, error) { return guard.Response{}, io.ErrUnexpectedEOF }
		for range 5 {
			r.want(r.call("send_receipt", `{"invoice_id":"a","email":"b"}`), "OUTCOME_UNKNOWN", 1)
		}
		r.want(r.call("send_receipt", `{"invoice_id":"c","email":"d"}`), "OUTCOME_UNKNOWN", 2)
		r.want(r.call("send_receipt", `{"invoice_id":"e","email":"f"}`), "TEMP_UNAVAILABLE", 2)
	})
}

// TestStatusRemembered: asking for an operation asks its status tool no more
// often than the tool may be asked.
func TestStatusRemembered(t *testing.T) {
	inBubble(t, billing, nil, func(r *rig) {
		r.answer = func(tool string, _ map[string]any) (guard.Response, error) {
			if tool == "get_charge" {
				return says("Rate limited, retry in 300s", true)
			}
			return guard.Response{}, io.ErrUnexpectedEOF
		}
		id := r.call("create_charge", `{"invoice_id":"in_1"}`).Result.Meta.Recovery.Operation.ID
		for range 10 {
			r.call(guard.StatusTool, fmt.Sprintf(`{"id":%q}`, id))
		}
		if len(r.sent) != 2 {
			t.Errorf("%v", r.sent)
		}
	})
}

package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/drive/live"
	"remit.example/oracle"
)

// till is a service with one write, pay, and a read that lists what was paid.
// It is right but for its fault.
type till struct {
	fault string
	keyed bool
	mu    sync.Mutex
	paid  []string          // the accounts, one for each effect
	given map[string]string // the account by key
}

// payment is the input of pay.
type payment struct {
	Account string `json:"account"`
	Key     string `json:"key"`
}

// pay gives the answer, or the code of the failure.
func (c *till) pay(p payment) (answer, code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer = `{"paid":"` + p.Account + `"}`
	if p.Key == "" {
		p.Key = p.Account
	}
	before, known := c.given[p.Key]
	switch {
	case !known:
		c.given[p.Key] = p.Account
	case c.fault == "executes again" && !c.keyed:
	case c.fault == "charges twice" && before == p.Account:
		c.paid = append(c.paid, p.Account)
		return answer, ""
	case c.fault == "refuses the same arguments" && before == p.Account:
		return "", "KEY_REUSED"
	case before != p.Account && c.fault != "forgets the key":
		return "", "KEY_REUSED"
	case before != p.Account:
	case c.fault == "unknown":
		return "", "OUTCOME_UNKNOWN"
	case c.fault == "hides replays":
		return answer, ""
	default:
		return strings.TrimSuffix(answer, "}") + `,"replayed":true}`, ""
	}
	if c.fault == "does nothing" {
		return answer, ""
	}
	c.paid = append(c.paid, p.Account)
	if c.fault == "charges twice at once" {
		c.paid = append(c.paid, p.Account)
	}
	return answer, ""
}

// look is what the read answers.
func (c *till) look(account string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := "none"
	if slices.Contains(c.paid, account) && c.fault != "lies" {
		state = "paid"
	}
	list, _ := json.Marshal(append([]string{}, c.paid...)) // texts have their JSON
	return fmt.Sprintf(`{"state":"%s","paid":%s,"count":%d}`, state, list, len(c.paid))
}

// failed is a failure as MCP carries it.
func failed(code string) *sdk.CallToolResult {
	body := failure(0, code, nil, nil).body
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "It failed."}, &sdk.TextContent{Text: body}}}
}

func text(body string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: body}}}
}

// server is the till as an MCP server.
func (c *till) server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "till", Version: "1"}, nil)
	schema := `{"type":"object","properties":{"account":{}}}`
	if c.keyed {
		schema = `{"type":"object","properties":{"account":{},"key":{}}}`
	}
	s.AddTool(&sdk.Tool{Name: "pay", InputSchema: json.RawMessage(schema)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var p payment
		if err := json.Unmarshal(r.Params.Arguments, &p); err != nil {
			return nil, err
		}
		answer, code := c.pay(p)
		if code != "" {
			return failed(code), nil
		}
		return text(answer), nil
	})
	s.AddTool(&sdk.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var p payment
		if err := json.Unmarshal(r.Params.Arguments, &p); err != nil {
			return nil, err
		}
		return text(c.look(p.Account)), nil
	})
	return s
}

// plan loses the answer of pay.
func (c *till) plan(t *testing.T) live.Plan {
	t.Helper()
	s := c.server()
	served := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{JSONResponse: true}))
	t.Cleanup(served.Close)
	w := live.Write{
		Tool: "pay", Effect: "unsafe", Input: []byte(`{"account":"A"}`), Other: []byte(`{"account":"B"}`),
		Effects: &live.Effects{Tool: "look", Input: []byte(`{}`), Pointer: "/paid"},
		Status:  &live.Status{Tool: "look", With: map[string]string{"account": "account"}, Applied: map[string]string{"/state": "paid"}, NotApplied: map[string]string{"/state": "none"}},
	}
	if c.keyed {
		w.Effect, w.Key = "keyed", "key"
	}
	return live.Plan{Service: "till", MCP: served.URL, Timeout: time.Minute, Patience: 300 * time.Millisecond, Writes: []live.Write{w}}
}

func newTill(fault string, keyed bool) *till {
	return &till{fault: fault, keyed: keyed, given: map[string]string{}}
}

// TestLost: each wrong service breaks one rule, and a right one none.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		fault  string
		keyed  bool
		failed map[string]int
		passed int
	}{
		{"", true, nil, 5},
		{"", false, nil, 4},
		{"unknown", false, nil, 4},
		{"unknown", true, nil, 5},
		{"hides replays", true, nil, 5},
		{"charges twice", true, map[string]int{"live-once": 1}, 4},
		{"charges twice at once", true, map[string]int{"live-once": 1}, 1},
		{"forgets the key", true, map[string]int{"live-key": 1}, 4},
		{"refuses the same arguments", true, map[string]int{"live-repetition": 1}, 4},
		{"lies", true, map[string]int{"live-status": 1}, 4},
		{"hides replays", false, map[string]int{"live-repetition": 1}, 3},
		{"executes again", false, map[string]int{"live-repetition": 1, "live-once": 1}, 2},
	} {
		t.Run(fmt.Sprintf("%s, keyed %v", c.fault, c.keyed), func(t *testing.T) {
			t.Parallel()
			till := newTill(c.fault, c.keyed)
			_, s := check(t, till.plan(t))
			if len(s.Void) > 0 || s.Cases.Passed != c.passed || !maps.Equal(s.FailedBy, c.failed) && len(s.FailedBy)+len(c.failed) > 0 {
				t.Errorf("%+v failed by %v, void %v, unchecked %+v: %+v", s.Cases, s.FailedBy, s.Void, s.Unchecked, s.Failures)
			}
		})
	}
}

// TestLostUnchecked: what cannot be provoked or seen is never a pass.
func TestLostUnchecked(t *testing.T) {
	for reason, change := range map[string]func(*live.Plan, *till){
		"no read counts its effects": func(p *live.Plan, _ *till) { p.Writes[0].Effects = nil },
		"no input is known":          func(p *live.Plan, _ *till) { p.Writes[0].Input = nil },
		"which argument carries its": func(p *live.Plan, _ *till) { p.Writes[0].Key = "" },
		"does not count its effects": func(_ *live.Plan, c *till) { c.fault = "does nothing" },
		"no other input is known":    func(p *live.Plan, _ *till) { p.Writes[0].Other = nil },
		"before they were sent":      func(p *live.Plan, _ *till) { p.Writes[0].Other = nil },
		"no tool that tells it":      func(p *live.Plan, _ *till) { p.Writes[0].Status = nil },
		"says neither":               func(p *live.Plan, _ *till) { p.Writes[0].Status.Applied = map[string]string{"/state": "settled"} },
		"takes no token":             func(p *live.Plan, _ *till) { p.Writes[0].Key = "token" },
		"over MCP only lost answers": func(*live.Plan, *till) {},
		"a repetition is told from":  func(p *live.Plan, _ *till) { p.Writes[0].Effect, p.Command = "unsafe", []string{"false"} },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			c := newTill("", true)
			p := c.plan(t)
			change(&p, c)
			_, s := check(t, p)
			if !slices.ContainsFunc(s.Unchecked, func(u oracle.Unchecked) bool { return strings.Contains(u.Reason, reason) }) || s.Cases.Failed > 0 {
				t.Errorf("%+v, void %v", s, s.Void)
			}
		})
	}
}

// TestLostHarness: a count that is none, and a command that fails, judge nothing
// more.
func TestLostHarness(t *testing.T) {
	restored := filepath.Join(t.TempDir(), "restored")
	for want, change := range map[string]func(*live.Plan){
		"/state of look is no count": func(p *live.Plan) { p.Writes[0].Effects.Pointer = "/state" },
		"/none of look is no count":  func(p *live.Plan) { p.Writes[0].Effects.Pointer = "/none" },
		"effects cannot be counted":  func(p *live.Plan) { p.Writes[0].Effects.Tool = "absent" },
		"the server lists no tool":   func(p *live.Plan) { p.Writes[0].Tool = "absent" },
		"no session":                 func(p *live.Plan) { p.MCP = "http://127.0.0.1:1" },
		"--provoke lost ended with":  func(p *live.Plan) { p.Provoke = map[live.Kind]string{live.Lost: "exit 7"} },
		"--restore lost ended with": func(p *live.Plan) {
			p.Provoke, p.Restore = map[live.Kind]string{live.Lost: "true"}, map[live.Kind]string{live.Lost: "touch '" + restored + "'; exit 7"}
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			p := newTill("", true).plan(t)
			change(&p)
			r, s := check(t, p)
			if r.Exit() != 3 || !slices.ContainsFunc(s.Void, func(text string) bool { return strings.Contains(text, want) }) {
				t.Errorf("exit %d, void %v, %+v", r.Exit(), s.Void, s)
			}
		})
	}
}

// TestLostCounts: a number counts as the length of a list does.
func TestLostCounts(t *testing.T) {
	p := newTill("", true).plan(t)
	p.Writes[0].Effects.Pointer = "/count"
	if r, s := check(t, p); r.Exit() != 0 || s.Cases.Passed != 5 {
		t.Errorf("%+v", s)
	}
}

// TestLostServed loses answers of tools over plain HTTP: of an idempotent one,
// and of an unsafe one that is executed again.
func TestLostServed(t *testing.T) {
	for effect, want := range map[string]map[string]int{"idempotent": {}, "unsafe": {"live-repetition": 1, "live-once": 1}} {
		c := newTill("", false)
		if effect == "unsafe" {
			c.fault = "executes again"
		}
		served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var p payment
			_ = json.Unmarshal(body, &p) // {} counts
			answer := c.look(p.Account)
			if r.URL.Path == "/v1/tools/pay" {
				answer, _ = c.pay(p)
			}
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(served.Close)
		p := c.plan(t)
		p.MCP, p.Base, p.Writes[0].Effect = "", served.URL, effect
		_, s := check(t, p)
		if !maps.Equal(s.FailedBy, want) || s.Cases.Passed+s.Cases.Failed != 4 {
			t.Errorf("%s: %+v failed by %v, void %v: %+v, %+v", effect, s.Cases, s.FailedBy, s.Void, s.Failures, s.Unchecked)
		}
	}
}

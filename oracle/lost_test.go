package oracle_test

import (
	"testing"

	"remit.example/oracle"
)

// TestLost: what is right after an answer was lost, and the difference
// otherwise.
func TestLost(t *testing.T) {
	again := oracle.Provocation{Rule: "live-repetition", Codes: []string{"OUTCOME_UNKNOWN"}, OrAnswer: true}
	held := oracle.Provocation{Rule: "live-repetition", Codes: []string{"OUTCOME_UNKNOWN"}, OrReplay: true}
	once := oracle.Provocation{Rule: "live-once"}
	status := oracle.Provocation{Rule: "live-status"}
	tool := func(a oracle.ToolAnswer) oracle.Observed { return oracle.ObservedTool(a) }
	unknown := refusal("OUTCOME_UNKNOWN", "null", "null")
	const unmarked = "the application answered without a failure, and not as a replay: it may have executed the call again"
	for name, c := range map[string]struct {
		judge  func(l *oracle.Live) bool
		differ string
	}{
		"an answer": {func(l *oracle.Live) bool { return l.Judge(again, answered(200, `{}`)) }, ""},
		"a code":    {func(l *oracle.Live) bool { return l.Judge(again, answered(504, unknown)) }, ""},
		"another code": {func(l *oracle.Live) bool {
			return l.Judge(again, answered(422, refusal("KEY_REUSED", "null", "null")))
		}, `code is "KEY_REUSED", expected OUTCOME_UNKNOWN`},
		"an unmarked answer": {func(l *oracle.Live) bool { return l.Judge(held, answered(200, `{"replayed":false}`)) }, unmarked},
		"a mark of no truth": {func(l *oracle.Live) bool { return l.Judge(held, answered(200, `{"replayed":"yes"}`)) }, unmarked},
		"a marked answer":    {func(l *oracle.Live) bool { return l.Judge(held, answered(200, `{"replayed":true}`)) }, ""},
		"marked by the wire": {func(l *oracle.Live) bool {
			return l.Judge(held, tool(oracle.ToolAnswer{Body: []byte(`{}`), Replayed: true}))
		}, ""},
		"a record beside prose": {func(l *oracle.Live) bool {
			return l.Judge(held, tool(oracle.ToolAnswer{Failed: true, Body: []byte(`"No."`), Record: []byte(`{"code":"OUTCOME_UNKNOWN","message":"No.","field":null,"retry_after_ms":null}`)}))
		}, ""},
		"prose": {func(l *oracle.Live) bool {
			return l.Judge(oracle.Provocation{Rule: "live-baseline"}, tool(oracle.ToolAnswer{Failed: true, Body: []byte(`"No."`)}))
		}, "the tool answered with a failure that has no record"},
		"no effect":  {func(l *oracle.Live) bool { return l.JudgeCount(once, oracle.Count{Most: 1, Of: "/n of look"}) }, ""},
		"one effect": {func(l *oracle.Live) bool { return l.JudgeCount(once, oracle.Count{Most: 1, Effects: 1}) }, ""},
		"two effects": {func(l *oracle.Live) bool {
			return l.JudgeCount(once, oracle.Count{Most: 1, Effects: 2, Of: "/n of look"})
		}, "/n of look shows 2 effects, expected at most 1 effect"},
		"too few": {func(l *oracle.Live) bool {
			return l.JudgeCount(once, oracle.Count{Least: 1, Most: 1, Of: "/n of look"})
		}, "/n of look shows 0 effects, expected 1 effect"},
		"a true status": {func(l *oracle.Live) bool {
			return l.JudgeStatus(status, answered(200, `{}`), true, true)
		}, ""},
		"a false status": {func(l *oracle.Live) bool {
			return l.JudgeStatus(status, answered(200, `{}`), true, false)
		}, "the status says applied, and the count says not applied"},
	} {
		t.Run(name, func(t *testing.T) {
			l := oracle.NewLive("ships")
			right := c.judge(l)
			r := oracle.NewReport(oracle.Application, "ships")
			r.AddLive(l)
			got := ""
			for _, failure := range r.Suites[0].Failures {
				got = failure.Findings[0].Difference
			}
			if right != (c.differ == "") || got != c.differ {
				t.Errorf("right is %v, and the difference %q, want %q", right, got, c.differ)
			}
		})
	}
}

// TestOperationOfAFailure: what a failure names, wherever its record stands.
func TestOperationOfAFailure(t *testing.T) {
	record := `{"code":"OUTCOME_UNKNOWN","operation":{"id":"op_1","status_tool":"ask"}}`
	for body, o := range map[string]oracle.Observed{
		"in the body": answered(504, `{"error":"No.","recovery":`+record+`}`),
		"beside it":   oracle.ObservedTool(oracle.ToolAnswer{Failed: true, Body: []byte(`"No."`), Record: []byte(record)}),
	} {
		if id, tool := o.Operation(); id != "op_1" || tool != "ask" {
			t.Errorf("%s: %q, %q", body, id, tool)
		}
	}
	for _, body := range []string{``, `[]`, `{}`, `{"recovery":{}}`, `{"recovery":{"operation":{"id":1}}}`} {
		if id, tool := answered(504, body).Operation(); id != "" || tool != "" {
			t.Errorf("%s: %q, %q", body, id, tool)
		}
	}
}

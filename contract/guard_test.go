package contract

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit.example/record"
)

// TestGuardDecoded reads the billing contract whole.
func TestGuardDecoded(t *testing.T) {
	c := mustParse(t, charges, example(t, charges))
	want := &Contract{
		Remit: 1, Service: "billing", Mode: Enforce,
		Upstream: &Upstream{Stdio: []string{"npx", "-y", "@acme/billing-mcp"}},
		Budget:   &Budget{Executions: 3, Quiet: Duration(10 * time.Minute)},
		Failures: []FailureRule{
			{When: When{Fact: NoAnswer}, Effects: []Effect{"read"}, Is: "TEMP_UNAVAILABLE"},
			{
				When: When{Text: `^Rate limited, retry in (?P<seconds>\d+)s$`}, Effects: []Effect{"read"}, Is: "TEMP_UNAVAILABLE",
				Wait: Wait{Group: "seconds"}, Sample: "Rate limited, retry in 30s",
			},
			{When: When{Text: `^Invoice \S+ not found$`}, Is: "INVALID_ARGUMENT", Field: "invoice_id", Sample: "Invoice in_9 not found"},
		},
		Tools: Ordered[*Tool]{
			{"get_*", &Tool{Effect: "read", Timeout: Duration(20 * time.Second), Absorb: true}},
			{"create_charge", &Tool{
				Effect: "keyed", Key: &KeyArgument{Argument: "idempotency_key", By: ByGuard}, Identity: []string{"invoice_id"},
				Status: &StatusCheck{Tool: "get_charge", With: map[string]string{"invoice_id": "invoice_id"}, Applied: map[string]string{"/status": "succeeded"}},
			}},
			{"send_receipt", &Tool{Effect: "unsafe", Identity: []string{"invoice_id", "email"}}},
			{"*", &Tool{Effect: "unsafe"}},
		},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(Contract{}, FailureRule{}), cmpopts.IgnoreFields(Contract{}, "Source")); diff != "" {
		t.Error(diff)
	}
}

func TestMatch(t *testing.T) {
	c := &Contract{}
	for _, name := range []string{"*", "get_*", "*_charge", "get_charge", "get_*_*", "g*t", "a*", "*a", "*.*"} {
		c.Tools = append(c.Tools, Entry[*Tool]{name, &Tool{}})
	}
	for name, want := range map[string]string{
		"get_charge":  "get_charge", // exact beats what is as long
		"put_charge":  "*_charge",
		"get_invoice": "get_*",
		"get_a_b":     "get_*_*", // five characters beat four
		"gt":          "g*t",
		"git":         "g*t",
		"get":         "g*t",
		"get_":        "get_*",
		"aa":          "a*", // as many characters: the earlier
		"a":           "a*",
		"ba":          "*a",
		"a.b":         "a*",
		"b.c":         "*.*",
		"other":       "*",
		"":            "*",
		"*":           "*",
	} {
		pattern, tool, ok := c.Match(name)
		declared, _ := c.Tools.Get(pattern)
		if !ok || pattern != want || tool != declared {
			t.Errorf("%q falls under %q, want %q", name, pattern, want)
		}
	}
	c.Tools = c.Tools[1:2]
	if pattern, tool, ok := c.Match("put"); ok || tool != nil || pattern != "" {
		t.Errorf("put falls under %q", pattern)
	}
}

// TestGlobAgainstModel compares with every way to read a pattern.
func TestGlobAgainstModel(t *testing.T) {
	var model func(pattern, name string) bool
	model = func(pattern, name string) bool {
		switch {
		case pattern == "":
			return name == ""
		case pattern[0] == '*':
			return model(pattern[1:], name) || name != "" && model(pattern, name[1:])
		}
		return name != "" && pattern[0] == name[0] && model(pattern[1:], name[1:])
	}
	patterns, names := words("ab*", 5), words("ab", 6)
	for _, pattern := range patterns {
		for _, name := range names {
			if got, want := glob(pattern, name), model(pattern, name); got != want {
				t.Fatalf("%q and %q: %v, want %v", pattern, name, got, want)
			}
		}
	}
}

// words are all texts over an alphabet up to a length.
func words(alphabet string, length int) []string {
	all, last := []string{""}, []string{""}
	for range length {
		var next []string
		for _, word := range last {
			for _, letter := range alphabet {
				next = append(next, word+string(letter))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

func TestPattern(t *testing.T) {
	c := mustParse(t, charges, example(t, charges))
	invoice := &c.Failures[2]
	if p := invoice.Pattern(); p != invoice.Pattern() {
		t.Error("the expression is compiled again for each failure")
	}
	for text, want := range map[string]bool{
		"Invoice in_9 not found": true, "Invoice in_9 not found\n": false, " Invoice in_9 not found": false,
		"Invoice a b not found": false, "Invoice in_9 not found\nInvoice in_9 not found": false,
	} {
		if got := invoice.Pattern().MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	own := &FailureRule{When: When{Text: "^Gone|Moved$"}}
	for text, want := range map[string]bool{"Gone": true, "Moved": true, "Gone away": false, "It Moved": false} {
		if got := own.Pattern().MatchString(text); got != want {
			t.Errorf("%q: %v, want %v: each way is anchored", text, got, want)
		}
	}
	if (&FailureRule{}).Pattern() != nil || (&FailureRule{When: When{Text: "("}}).Pattern() != nil {
		t.Error("an expression where there is none")
	}
}

func TestWaitIn(t *testing.T) {
	in := func(unit string) *FailureRule {
		return &FailureRule{When: When{Text: "^wait(?P<" + unit + ">.*)$"}, Wait: Wait{Group: unit}}
	}
	for _, c := range []struct {
		rule *FailureRule
		text string
		want time.Duration
		ok   bool
	}{
		{in("seconds"), "wait30", 30 * time.Second, true},
		{in("milliseconds"), "wait1", time.Millisecond, true},
		{in("minutes"), "wait007", 7 * time.Minute, true},
		{in("seconds"), "wait0", 0, true},
		{in("minutes"), "wait1440", 24 * time.Hour, true},
		{in("minutes"), "wait1441", 0, false},
		{in("seconds"), "wait86401", 0, false},
		{in("seconds"), "wait9999999999999999999999", 0, false},
		{in("seconds"), "wait", 0, false},
		{in("seconds"), "wait-1", 0, false},
		{in("seconds"), "wait1.5", 0, false},
		{in("seconds"), "wait１", 0, false},
		{in("seconds"), "other", 0, false},
		{&FailureRule{Wait: Wait{Fixed: Duration(time.Second)}}, "anything", time.Second, true},
		{&FailureRule{Wait: Wait{Group: "seconds"}}, "wait30", 0, false},
		{&FailureRule{When: When{Text: "^wait$"}, Wait: Wait{Group: "seconds"}}, "wait", 0, false},
		{&FailureRule{}, "wait30", 0, false},
	} {
		if got, ok := c.rule.waitIn(c.text); got != c.want || ok != c.ok {
			t.Errorf("%q of %q: %v %v, want %v %v", c.rule.Wait.Group, c.text, got, ok, c.want, c.ok)
		}
	}
}

// TestGuardAccepted are variants of the billing contract that are valid.
func TestGuardAccepted(t *testing.T) {
	schema := compiled(t)
	for _, edits := range [][]edit{
		{{"stdio: [npx, -y, \"@acme/billing-mcp\"]", "url: \"${MCP_URL}\""}},
		{{"stdio: [npx, -y, \"@acme/billing-mcp\"]", "url: \"${MCP}/mcp?token=${TOKEN}\""}},
		{{"stdio: [npx, -y, \"@acme/billing-mcp\"]", "url: \"http://127.0.0.1:8080/mcp\""}},
		{{"\"@acme/billing-mcp\"", "\"--token=${TOKEN}\""}},
		{{"mode: enforce", "tenant: acme\nmode: observe\nrefusal_ttl: 1m\nreauth_after: 1s\nreplay_window: 1h\nretention: 90d"}},
		{{"\"*\": {effect: unsafe}", "\"*\": {}"}},
		{{"\"*\": {effect: unsafe}", "\"*\": {mode: observe, rate: 30/min, timeout: 5s}"}},
		{{"by: guard", "by: caller"}},
		{{", by: guard", ""}},
		{{"applied: {/status: succeeded}", "not_applied: {/status: failed, /refunded: \"false\"}"}},
		{{"{fact: no_answer}", "{error: -32001}"}},
		{{"{fact: no_answer}", "{error: [-32001, \"-32002\", 0], meta: {/code: busy}}"}},
		{{"{fact: no_answer}, effects: [read],", "{fact: no_answer}, effects: [read, idempotent, keyed],"}},
		{{"{fact: no_answer}, effects: [read], is: TEMP_UNAVAILABLE", "{fact: no_answer}, is: OUTCOME_UNKNOWN"}},
		{{"{fact: no_answer}, effects: [read], is: TEMP_UNAVAILABLE", "{fact: unreadable}, is: GARBLED"}},
		{{"{fact: no_answer}, effects: [read],", "{status: [502, 504], body: {/retry: \"true\"}},"}},
		{{"{fact: no_answer}, effects: [read],", "{status: 503},"}},
		{{"is: TEMP_UNAVAILABLE, wait: seconds", "is: QUOTA_EXHAUSTED, wait: seconds"}},
		{{"wait: seconds", "wait: 2s"}},
		{{"absorb: true}", "absorb: true, failures: [{when: {text: '^Busy$'}, effects: [read], is: TEMP_UNAVAILABLE, sample: Busy}]}"}},
		{{"absorb: true}", "absorb: true, failures: [{when: {text: '^Busy$'}, effects: [unsafe], is: OUTCOME_UNKNOWN, sample: Busy}]}"}},
		{{"  \"*\": {effect: unsafe}", "  \"*\": {effect: keyed, key: {argument: k}, failures: [{when: {fact: no_answer}, is: TEMP_UNAVAILABLE}]}"}},
		{{"is: INVALID_ARGUMENT, field: invoice_id", "effects: [read, unsafe], is: OUTCOME_UNKNOWN"}},
		{{"  - {when: {text: '^Invoice", "  - {when: {fact: no_answer}, effects: [keyed], is: OUTCOME_UNKNOWN}\n  - {when: {text: '^Invoice"}},
	} {
		text := apply(t, example(t, charges), edits...)
		mustParse(t, charges, text)
		if err := accepts(t, schema, text); err != nil {
			t.Errorf("the schema refuses %q: %v", edits[0].new, err)
		}
	}
	if c := mustParse(t, "guard.yaml", "remit: 1\nservice: a\nupstream: {stdio: [a]}\n"); len(c.Tools) != 0 {
		t.Error("tools from nowhere")
	}
}

// TestGrantsExhaustively tries a rule of every code on every condition and set
// of effects: what is accepted lets nothing be repeated that may not be, and
// what is refused would.
func TestGrantsExhaustively(t *testing.T) {
	codes := append([]record.Code{"OWN_CODE"}, record.Codes()...)
	conditions := map[string]string{"text": "text: '^Busy$'", "fact": "fact: no_answer", "status": "status: 504", "error": "error: -32000"}
	for kind, condition := range conditions {
		for _, code := range codes {
			if code == record.OK {
				continue
			}
			for set := range 1 << len(record.Effects()) {
				var effects []record.Effect
				for i, effect := range record.Effects() {
					if set>>i&1 == 1 {
						effects = append(effects, effect)
					}
				}
				written, sample := "", ""
				if effects == nil {
					effects = record.Effects()
				} else {
					written = ", effects: [" + strings.Join(texts(effects...), ", ") + "]"
				}
				if kind == "text" {
					sample = ", sample: Busy"
				}
				_, err := Parse("guard.yaml", []byte("remit: 1\nservice: a\nupstream: {stdio: [a]}\nfailures: [{when: {"+condition+"}, is: "+string(code)+written+sample+"}]\n"))
				want := true
				for _, effect := range effects {
					write, repeats := effect != record.Read, Repeats(code, effect)
					says := code.Known() && code != record.OutcomeUnknown // that nothing was done
					switch kind {
					case "text":
						want = want && !(write && repeats)
					case "fact", "status":
						want = want && !(write && says && !(repeats && effect != record.Unsafe))
					}
				}
				if (err == nil) != want {
					t.Errorf("%s, %s%s: %v", condition, code, written, err)
				}
			}
		}
	}
}

// TestGuardHostile reads guard contracts that are made to take long.
func TestGuardHostile(t *testing.T) {
	head := "remit: 1\nservice: a\nupstream: {stdio: [a]}\n"
	for name, text := range map[string]string{
		"an expression that grows":   head + "failures: [{when: {text: '^((((a{9}){9}){9}){9}){9}$'}, is: A, sample: a}]\n",
		"an expression that repeats": head + "failures: [{when: {text: '^(a*)*(a*)*(a*)*b$'}, is: A, sample: " + strings.Repeat("a", 100_000) + "}]\n",
		"many rules":                 head + "failures:\n" + strings.Repeat("  - {when: {error: -1}, is: A}\n", 1_600),
		"stars":                      head + "tools: {\"" + strings.Repeat("a*", 64) + "\": {}, b: {status: {tool: " + strings.Repeat("a", 128) + "}}}\n",
		"many tools":                 head + "tools:\n" + manyPatterns(900),
	} {
		start := time.Now()
		if len(problemsOf(t, "guard.yaml", text)) == 0 {
			t.Errorf("%s: accepted", name)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
	slow := &Contract{Tools: Ordered[*Tool]{{strings.Repeat("a*", 64), &Tool{}}}}
	start := time.Now()
	slow.Match(strings.Repeat("a", 1_000_000) + "b")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a long name took %v", took)
	}
}

func manyPatterns(count int) string {
	var b strings.Builder
	for i := range count {
		b.WriteString("  \"" + strings.Repeat("*a", i%60) + "*b" + strings.Repeat("c", i/60) + "\": {status: {tool: " + strings.Repeat("a", 100) + "}}\n")
	}
	return b.String()
}

// TestGuardSpecified reads the contract that SPEC.md shows.
func TestGuardSpecified(t *testing.T) {
	text, err := os.ReadFile("../SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### Guard contracts")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("SPEC.md shows no guard contract")
	}
	if diff := difference(mustParse(t, charges, example(t, charges)), mustParse(t, "SPEC.md", block)); diff != "" {
		t.Error(diff)
	}
}

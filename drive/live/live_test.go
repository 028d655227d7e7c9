package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"remit.example/drive/live"
	"remit.example/oracle"
)

// The tokens of the application under test. The first has a character that
// some writers of JSON escape.
const (
	valid   = "valid+token+0123456789"
	expired = "expired-token-0123456789"
	outcast = "outcast-token-0123456789"
)

const schema = `{
	"type": "object",
	"properties": {
		"ref": {"type": "string", "pattern": "^(?:SHIP-[0-9]{3})$"},
		"count": {"type": "integer", "minimum": 1, "maximum": 9},
		"filters": {
			"type": "object",
			"properties": {"kind": {"type": "string", "enum": ["box", "bag"]}, "name": {"type": "string", "minLength": 1, "maxLength": 3}},
			"required": ["kind"], "additionalProperties": false
		},
		"tags": {"description": "any", "items": {"type": "string", "enum": ["red"]}},
		"cursor": {"description": "any"}
	},
	"required": ["ref"], "additionalProperties": false
}`

const example = `{"ref":"SHIP-104","count":2,"filters":{"kind":"box"}}`

// answer is what an application answers one call with.
type answer struct {
	status int
	body   string
}

// failure is a right one.
func failure(status int, code string, field, wait any) answer {
	return failing(status, code, "Why it failed.", field, wait)
}

func failing(status int, code, message string, field, wait any) answer {
	body, err := json.Marshal(map[string]any{
		"error": "It failed.", "code": code, "retryable": code == "TEMP_UNAVAILABLE",
		"recovery": map[string]any{"code": code, "message": message, "field": field, "retry_after_ms": wait},
	})
	if err != nil {
		panic(err)
	}
	return answer{status, string(body)}
}

// lost is a connection that is broken off.
var lost = answer{}

// sent is one call as the application met it.
type sent struct{ token, body string }

// application is a right one with a fault: wrong may answer in its place.
type application struct {
	url  string
	down string // the file that stands for a dependency that is down
	mu   sync.Mutex
	met  []sent
}

func start(t *testing.T, wrong func(s sent, right answer) answer) *application {
	t.Helper()
	a := &application{down: filepath.Join(t.TempDir(), "down")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s := sent{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), string(body)}
		a.mu.Lock()
		a.met = append(a.met, s)
		a.mu.Unlock()
		got := a.right(s)
		if wrong != nil {
			got = wrong(s, got)
		}
		if got == lost {
			panic(http.ErrAbortHandler)
		}
		if got.status == http.StatusFound {
			w.Header().Set("Location", "/login")
		}
		w.WriteHeader(got.status)
		_, _ = io.WriteString(w, got.body)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// calls are those that the application has met.
func (a *application) calls() []sent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.met)
}

// right is what an application that keeps its contract answers.
func (a *application) right(s sent) answer {
	switch s.token {
	case valid:
	case outcast:
		return failure(403, "ACCESS_DENIED", nil, nil)
	default:
		return failure(401, "AUTH_REQUIRED", nil, nil)
	}
	if field, bad := refused(s.body); bad {
		return failure(400, "INVALID_ARGUMENT", field, nil)
	}
	if _, err := os.Stat(a.down); err == nil {
		return failure(503, "TEMP_UNAVAILABLE", nil, 1000)
	}
	return answer{200, `{"status":"in_transit"}`}
}

var reference = regexp.MustCompile(`^SHIP-[0-9]{3}$`)

// refused names the argument that schema refuses, by hand.
func refused(body string) (field any, bad bool) {
	var input map[string]any
	if err := json.Unmarshal([]byte(body), &input); err != nil {
		return nil, true
	}
	if ref, ok := input["ref"].(string); !ok || !reference.MatchString(ref) {
		return "ref", true
	}
	if value, given := input["count"]; given {
		if n, ok := value.(float64); !ok || n != float64(int(n)) || n < 1 || n > 9 {
			return "count", true
		}
	}
	if value, given := input["filters"]; given {
		filters, ok := value.(map[string]any)
		if !ok {
			return "filters", true
		}
		if kind, ok := filters["kind"].(string); !ok || kind != "box" && kind != "bag" {
			return "filters.kind", true
		}
		if value, given := filters["name"]; given {
			if name, ok := value.(string); !ok || name == "" || len(name) > 3 {
				return "filters.name", true
			}
		}
		for name := range filters {
			if name != "kind" && name != "name" {
				return "filters." + name, true
			}
		}
	}
	if tags, given := input["tags"].([]any); given && !slices.Equal(tags, []any{"red"}) {
		return "tags", true
	}
	for name := range input {
		if !slices.Contains([]string{"ref", "count", "filters", "tags", "cursor"}, name) {
			return name, true
		}
	}
	return nil, false
}

// plan provokes everything.
func (a *application) plan() live.Plan {
	return live.Plan{
		Service: "ships", Base: a.url, Token: valid, Timeout: time.Minute,
		Tools: []live.Tool{{Name: "ship", Schema: []byte(schema), Example: []byte(example), Outage: []string{"TEMP_UNAVAILABLE"}}},
		Provoke: map[live.Kind]string{
			live.Expired: "echo " + expired, live.Refusal: "echo " + outcast, live.Dependency: "touch '" + a.down + "'",
		},
		Restore: map[live.Kind]string{live.Dependency: "rm '" + a.down + "'"},
	}
}

func check(t *testing.T, p live.Plan) (*oracle.Report, oracle.SuiteReport) {
	t.Helper()
	return checkWith(t.Context(), t, p)
}

func checkWith(ctx context.Context, t *testing.T, p live.Plan) (*oracle.Report, oracle.SuiteReport) {
	t.Helper()
	run, err := live.Check(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	r := oracle.NewReport(oracle.Application, p.Base)
	r.AddLive(run)
	return r, r.Suites[0]
}

func TestARightApplication(t *testing.T) {
	a := start(t, nil)
	r, s := check(t, a.plan())
	if r.Exit() != 0 || s.Cases.Failed != 0 || s.Cases.Passed != len(a.calls()) {
		t.Errorf("exit %d, %+v of %d calls: %+v", r.Exit(), s.Cases, len(a.calls()), s.Failures)
	}
	want := []oracle.Unchecked{{What: "malformed cursor of ship", Count: 1, Reason: "its schema refuses nothing that this check knows how to send"}}
	if !slices.Equal(s.Unchecked, want) {
		t.Errorf("unchecked: %+v", s.Unchecked)
	}
	if _, err := os.Stat(a.down); err == nil {
		t.Error("the dependency was not restored")
	}
	wantCounts := []oracle.RuleCount{{Rule: "live-baseline", Passed: 1}, {Rule: "live-authentication", Passed: 3}, {Rule: "live-malformed", Passed: 28}, {Rule: "live-refusal", Passed: 1}, {Rule: "live-dependency", Passed: 1}}
	if !slices.Equal(s.Provoked, wantCounts) {
		t.Errorf("provoked: %+v", s.Provoked)
	}
}

// malformedBodies are the inputs that follow from schema and example.
var malformedBodies = []string{
	`{"ref":"remit-check-outside","count":2,"filters":{"kind":"box"}}`,
	`{"ref":"","count":2,"filters":{"kind":"box"}}`,
	`{"ref":7,"count":2,"filters":{"kind":"box"}}`,
	`{"ref":null,"count":2,"filters":{"kind":"box"}}`,
	`{"count":2,"filters":{"kind":"box"}}`,
	`{"ref":"SHIP-104","count":0,"filters":{"kind":"box"}}`,
	`{"ref":"SHIP-104","count":10,"filters":{"kind":"box"}}`,
	`{"ref":"SHIP-104","count":"","filters":{"kind":"box"}}`,
	`{"ref":"SHIP-104","count":"7","filters":{"kind":"box"}}`,
	`{"ref":"SHIP-104","count":0.5,"filters":{"kind":"box"}}`,
	`{"ref":"SHIP-104","count":null,"filters":{"kind":"box"}}`,
	`{"ref":"SHIP-104","count":2,"filters":""}`,
	`{"ref":"SHIP-104","count":2,"filters":[]}`,
	`{"ref":"SHIP-104","count":2,"filters":null}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"remit-check-outside"}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":""}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":7}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":null}}`,
	`{"ref":"SHIP-104","count":2,"filters":{}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"box","name":"xxxx"}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"box","name":""}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"box","name":7}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"box","name":null}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"box","remit_check_unknown":true}}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"box"},"tags":["remit-check-outside"]}`,
	`{"ref":"SHIP-104","count":2,"filters":{"kind":"box"},"remit_check_unknown":true}`,
	`[]`,
	`{"`,
}

func TestWhatIsSent(t *testing.T) {
	a := start(t, nil)
	check(t, a.plan())
	met := a.calls()
	want := []sent{{valid, example}, {"", example}, {"rejected", example}}
	for _, body := range malformedBodies {
		want = append(want, sent{valid, body})
	}
	want = append(want, sent{expired, example}, sent{outcast, example}, sent{valid, example})
	if !strings.HasPrefix(met[2].token, "remit-check-") {
		t.Errorf("the rejected token is %s", met[2].token)
	}
	met[2].token = "rejected"
	if !slices.Equal(met, want) {
		t.Errorf("got\n%s\nwant\n%s", lines(met), lines(want))
	}
}

func lines(all []sent) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s %s\n", s.token, s.body)
	}
	return b.String()
}

// when is wrong for the calls that have these tokens and bodies; "": any.
func when(token, body string, got answer) func(sent, answer) answer {
	return func(s sent, right answer) answer {
		if (token == "*" || s.token == token) && (body == "" || s.body == body) {
			return got
		}
		return right
	}
}

// down is wrong while the dependency is down.
func down(got answer) func(sent, answer) answer {
	return func(_ sent, right answer) answer {
		if right.status == 503 {
			return got
		}
		return right
	}
}

// rejected is wrong for the token that nobody issued.
func rejected(got answer) func(sent, answer) answer {
	return func(s sent, right answer) answer {
		if strings.HasPrefix(s.token, "remit-check-") {
			return got
		}
		return right
	}
}

// TestWrongApplications are the controls of the judge: each is wrong in one
// way, and breaks the one rule in the one case.
func TestWrongApplications(t *testing.T) {
	ok := answer{200, `{"status":"in_transit"}`}
	null := `{"ref":"SHIP-104","count":null,"filters":{"kind":"box"}}`
	invalid := func(field any) answer { return failure(400, "INVALID_ARGUMENT", field, nil) }
	with := func(text, replacement string) answer {
		a := invalid("count")
		return answer{a.status, strings.Replace(a.body, text, replacement, 1)}
	}
	for _, c := range []struct {
		name, rule, case_, difference string
		wrong                         func(sent, answer) answer
	}{
		{"accepts a malformed argument", "live-malformed", "ship/count/null", "without a failure", when(valid, null, ok)},
		{"accepts an unknown argument", "live-malformed", "ship/filters.remit_check_unknown/unknown", "without a failure", when(valid, malformedBodies[23], ok)},
		{"accepts a list", "live-malformed", "ship/list", "without a failure", when(valid, "[]", ok)},
		{"names another field", "live-malformed", "ship/count/null", `field is "ref", expected count`, when(valid, null, invalid("ref"))},
		{"names no field", "live-malformed", "ship/count/null", "field is null, expected count", when(valid, null, invalid(nil))},
		{"names a field of no argument", "live-malformed", "ship/no-json", `field is "ref", expected null`, when(valid, `{"`, invalid("ref"))},
		{"names a field by its number", "live-malformed", "ship/count/null", "field is 2", when(valid, null, invalid(2))},
		{"says nothing", "live-malformed", "ship/count/null", "message is no text", when(valid, null, failing(400, "INVALID_ARGUMENT", "", "count", nil))},
		{"has another code", "live-malformed", "ship/count/null", `code is "INVALID"`, when(valid, null, failure(400, "INVALID", "count", nil))},
		{"carries no record", "live-malformed", "ship/count/null", "no record", when(valid, null, answer{400, `{"error":"bad"}`})},
		{"lacks a member of the record", "live-malformed", "ship/count/null", "retry_after_ms", when(valid, null, with(`,"retry_after_ms":null`, ""))},
		{"has no sentence", "live-malformed", "ship/count/null", "error is no text", when(valid, null, with(`"It failed."`, `""`))},
		{"contradicts its record", "live-malformed", "ship/count/null", "code is not that of the record", when(valid, null, with(`"code":"INVALID_ARGUMENT"`, `"code":"OTHER"`))},
		{"does not say retryable", "live-malformed", "ship/count/null", "retryable", when(valid, null, with(`"retryable":false`, `"retryable":"no"`))},
		{"fails in prose", "live-malformed", "ship/count/null", "no JSON object", when(valid, null, answer{500, "Internal Server Error"})},
		{"fails in silence", "live-malformed", "ship/count/null", "no JSON object", when(valid, null, answer{400, ""})},
		{"breaks off", "live-malformed", "ship/count/null", "broke off", when(valid, null, lost)},
		{"needs no token", "live-authentication", "ship/missing", "without a failure", when("", "", ok)},
		{"sends to a login", "live-authentication", "ship/missing", "redirect", when("", "", answer{302, "{}"})},
		{"refuses who is unknown", "live-authentication", "ship/missing", "ACCESS_DENIED", when("", "", failure(403, "ACCESS_DENIED", nil, nil))},
		{"answers a rejected token", "live-authentication", "ship/rejected", "without a failure", rejected(ok)},
		{"answers an expired token", "live-authentication", "ship/expired", "without a failure", when(expired, "", ok)},
		{"has no record of an expired token", "live-authentication", "ship/expired", "no record", when(expired, "", answer{401, `{"error":"expired"}`})},
		{"answers who may not call", "live-refusal", "ship/refusal", "without a failure", when(outcast, "", ok)},
		{"fails without a record on a refusal", "live-refusal", "ship/refusal", "no record", when(outcast, "", answer{500, `{"error":"no"}`})},
		{"asks who may not call to authenticate", "live-refusal", "ship/refusal", "AUTH_REQUIRED", when(outcast, "", failure(401, "AUTH_REQUIRED", nil, nil))},
		{"hides an outage", "live-dependency", "ship/dependency", "without a failure", down(ok)},
		{"says no wait", "live-dependency", "ship/dependency", "retry_after_ms is null", down(failure(503, "TEMP_UNAVAILABLE", nil, nil))},
		{"waits for a time that is over", "live-dependency", "ship/dependency", "retry_after_ms is -1", down(failure(503, "TEMP_UNAVAILABLE", nil, -1))},
		{"waits for prose", "live-dependency", "ship/dependency", `retry_after_ms is "soon"`, down(failure(503, "TEMP_UNAVAILABLE", nil, "soon"))},
		{"does not know of a read", "live-dependency", "ship/dependency", "OUTCOME_UNKNOWN", down(failure(504, "OUTCOME_UNKNOWN", nil, nil))},
		{"falls with its dependency", "live-dependency", "ship/dependency", "no record", down(answer{500, `{"error":"dial tcp: refused"}`})},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := check(t, start(t, c.wrong).plan())
			if r.Exit() != 1 || !maps.Equal(s.FailedBy, map[string]int{c.rule: 1}) {
				t.Fatalf("exit %d, failed by %v, void %v", r.Exit(), s.FailedBy, s.Void)
			}
			f := s.Failures[0]
			if f.Case != c.case_ || !strings.Contains(f.Findings[0].Difference, c.difference) || f.Findings[0].Clause == "" {
				t.Errorf("%s: %+v", f.Case, f.Findings)
			}
		})
	}
}

func TestABaselineThatFails(t *testing.T) {
	for name, got := range map[string]answer{
		"a failure": failure(400, "INVALID_ARGUMENT", "ref", nil), "prose": {200, "hello"}, "a status": {500, "{}"}, "nothing": lost,
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, when(valid, example, got))
			r, s := check(t, a.plan())
			if r.Exit() != 1 || !maps.Equal(s.FailedBy, map[string]int{"live-baseline": 1}) || len(a.calls()) != 1 {
				t.Errorf("exit %d, failed by %v, %d calls", r.Exit(), s.FailedBy, len(a.calls()))
			}
			want := []oracle.Unchecked{{What: "everything else of ship", Count: 1, Reason: "its example was not answered"}}
			if !slices.Equal(s.Unchecked, want) {
				t.Errorf("unchecked: %+v", s.Unchecked)
			}
			if _, err := os.Stat(a.down); err == nil {
				t.Error("a dependency was provoked for nobody")
			}
		})
	}
}

func TestWithoutATokenOrCommands(t *testing.T) {
	a := start(t, func(s sent, right answer) answer {
		if field, bad := refused(s.body); bad {
			return failure(400, "INVALID_ARGUMENT", field, nil)
		}
		return answer{200, `{"status":"in_transit"}`}
	})
	p := a.plan()
	p.Token, p.Provoke, p.Restore = "", nil, nil
	r, s := check(t, p)
	if r.Exit() != 0 || s.Cases.Passed != 29 || len(a.calls()) != 29 {
		t.Errorf("exit %d, %+v, %d calls", r.Exit(), s.Cases, len(a.calls()))
	}
	reasons := map[string]string{}
	for _, u := range s.Unchecked {
		reasons[u.What] = u.Reason
	}
	for what, reason := range map[string]string{
		"missing authentication of ship":  "no token was given, so that the application may need none",
		"rejected authentication of ship": "no token was given, so that the application may need none",
		"expired authentication of ship":  "--provoke expired=CMD",
		"a refusal of ship":               "--provoke refusal=CMD",
		"a dependency's failure of ship":  "--provoke dependency=CMD",
	} {
		if !strings.Contains(reasons[what], reason) {
			t.Errorf("%s: %q", what, reasons[what])
		}
	}
}

func TestNothingToJudge(t *testing.T) {
	p := start(t, nil).plan()
	p.Token = ""
	r, s := check(t, p)
	if r.Exit() != 3 || s.Cases.Passed+s.Cases.Failed != 0 || len(s.Unchecked) != 1 || !strings.Contains(s.Unchecked[0].Reason, "--token-file") {
		t.Errorf("exit %d, %+v", r.Exit(), s)
	}
}

func TestAnonymousReads(t *testing.T) {
	served := 0
	a := start(t, func(s sent, right answer) answer {
		if s.token == "" {
			if served++; served > 5 {
				return failure(503, "TEMP_UNAVAILABLE", nil, 2000)
			}
			s.token = valid
		}
		if field, bad := refused(s.body); bad {
			return failure(400, "INVALID_ARGUMENT", field, nil)
		}
		if s.token == valid {
			return answer{200, "{}"}
		}
		return right
	})
	p := a.plan()
	p.Tools[0].Anonymous = true
	delete(p.Provoke, live.Dependency)
	delete(p.Restore, live.Dependency)
	if r, s := check(t, p); r.Exit() != 0 || s.Unchecked[0].Reason != "the contract permits anonymous reads" || s.Cases.Passed != 32 {
		t.Errorf("with a token: exit %d, %+v", r.Exit(), s)
	}
	p.Token, served = "", 0
	r, s := check(t, p)
	if r.Exit() != 0 || s.Cases.Passed != 7 {
		t.Errorf("over a rate: exit %d, %+v", r.Exit(), s.Cases)
	}
	if !slices.ContainsFunc(s.Unchecked, func(u oracle.Unchecked) bool {
		return u.What == "malformed parameters of ship" && u.Count == 24 && strings.Contains(u.Reason, "rate")
	}) {
		t.Errorf("%+v", s.Unchecked)
	}
}

func TestWhatIsPermittedInAnOutage(t *testing.T) {
	for _, code := range []string{"OUTCOME_UNKNOWN", "QUOTA_EXHAUSTED"} {
		p := start(t, down(failure(504, code, nil, nil))).plan()
		p.Tools[0].Writes, p.Tools[0].Outage = true, []string{"TEMP_UNAVAILABLE", "OUTCOME_UNKNOWN", "QUOTA_EXHAUSTED"}
		r, s := check(t, p)
		if r.Exit() != 0 {
			t.Errorf("%s: exit %d, %+v", code, r.Exit(), s)
		}
	}
	p := start(t, nil).plan()
	p.Tools[0].Outage = nil
	if r, s := check(t, p); r.Exit() != 0 || !strings.Contains(s.Unchecked[len(s.Unchecked)-1].Reason, "no dependency") {
		t.Errorf("exit %d, %+v", r.Exit(), s.Unchecked)
	}
}

func TestARefusalThatIsSetUp(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "refused")
	a := start(t, func(_ sent, right answer) answer {
		if _, err := os.Stat(marker); err == nil {
			return failure(403, "ACCESS_DENIED", nil, nil)
		}
		return right
	})
	p := a.plan()
	p.Provoke[live.Refusal], p.Restore[live.Refusal] = "touch '"+marker+"'", "rm '"+marker+"'"
	if r, s := check(t, p); r.Exit() != 0 {
		t.Errorf("exit %d, %+v", r.Exit(), s.Failures)
	}
}

// TestFaultsOfTheHarness are void runs; what was provoked is restored.
func TestFaultsOfTheHarness(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*live.Plan)
		void   string
	}{
		"no application":         {func(p *live.Plan) { p.Base = "http://127.0.0.1:1" }, "cannot be reached"},
		"an expired that fails":  {func(p *live.Plan) { p.Provoke[live.Expired] = "echo secret; echo secret >&2; exit 4" }, "--provoke expired ended with exit status 4"},
		"an expired of nothing":  {func(p *live.Plan) { p.Provoke[live.Expired] = "true" }, "--provoke expired prints no token"},
		"an expired of prose":    {func(p *live.Plan) { p.Provoke[live.Expired] = "echo secret token" }, "--provoke expired prints on its first line is no token"},
		"a refusal that fails":   {func(p *live.Plan) { p.Provoke[live.Refusal] = "exit 1" }, "--provoke refusal ended with exit status 1"},
		"a dependency that does": {func(p *live.Plan) { p.Provoke[live.Dependency] += "; exit 1" }, "--provoke dependency ended with exit status 1"},
		"a restore that fails":   {func(p *live.Plan) { p.Restore[live.Dependency] += "; exit 1" }, "--restore dependency ended with exit status 1; what was provoked may last"},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, nil)
			p := a.plan()
			c.change(&p)
			r, s := check(t, p)
			if r.Exit() != 3 || len(s.Void) != 1 || !strings.Contains(s.Void[0], c.void) || strings.Contains(s.Void[0], "secret") {
				t.Errorf("exit %d, void %q", r.Exit(), s.Void)
			}
			if _, err := os.Stat(a.down); err == nil {
				t.Error("the dependency was not restored")
			}
		})
	}
}

func TestAnInterruptRestores(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := start(t, func(_ sent, right answer) answer {
		if right.status == 503 {
			cancel()
		}
		return right
	})
	r, s := checkWith(ctx, t, a.plan())
	if r.Exit() != 3 || !slices.Equal(s.Void, []string{"interrupted"}) {
		t.Errorf("exit %d, void %q", r.Exit(), s.Void)
	}
	if _, err := os.Stat(a.down); err == nil {
		t.Error("the dependency was not restored")
	}
}

func TestAnInterruptOfACommandRestores(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := start(t, nil)
	pipe := a.down + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p := a.plan()
	p.Provoke[live.Dependency] += "; cat '" + pipe + "'"
	opened := make(chan *os.File, 1)
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the command reads
		if err != nil {
			t.Error(err)
		}
		cancel()
		opened <- f // the command would read until it is closed
	}()
	r, s := checkWith(ctx, t, p)
	(<-opened).Close()
	if r.Exit() != 3 || len(s.Void) != 1 || !strings.Contains(s.Void[0], "interrupted") {
		t.Errorf("exit %d, void %q", r.Exit(), s.Void)
	}
	if _, err := os.Stat(a.down); err == nil {
		t.Error("the dependency was not restored")
	}
}

func TestThreeCallsWithoutAnAnswer(t *testing.T) {
	a := start(t, func(s sent, right answer) answer {
		if s.body != example {
			return lost
		}
		return right
	})
	r, s := check(t, a.plan())
	if r.Exit() != 3 || len(a.calls()) != 6 || !strings.Contains(s.Void[0], "3 calls in a row had no answer") {
		t.Errorf("exit %d, %d calls, void %q", r.Exit(), len(a.calls()), s.Void)
	}
}

func TestACallThatIsLate(t *testing.T) {
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	defer server.Close()
	defer close(released)
	p := start(t, nil).plan()
	p.Base, p.Timeout = server.URL, time.Second
	r, s := check(t, p)
	if r.Exit() != 1 || !strings.Contains(s.Failures[0].Findings[0].Difference, "did not answer within 1s") {
		t.Errorf("exit %d, %+v", r.Exit(), s)
	}
}

func TestAtMost200Calls(t *testing.T) {
	var properties []string
	for i := range 80 {
		properties = append(properties, fmt.Sprintf(`"a%d":{"type":"string"}`, i))
	}
	wide := live.Tool{
		Name: "wide", Schema: []byte(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`), Example: []byte(example),
		Outage: []string{"TEMP_UNAVAILABLE"},
	}
	a := start(t, nil)
	p := a.plan()
	p.Tools = append([]live.Tool{wide}, p.Tools...)
	_, s := check(t, p)
	if len(a.calls()) != 200 {
		t.Errorf("%d calls", len(a.calls()))
	}
	if want := (oracle.Unchecked{What: "malformed parameters of wide", Count: 2, Reason: "a run makes at most 200 calls"}); !slices.Contains(s.Unchecked, want) {
		t.Errorf("unchecked: %+v", s.Unchecked)
	}
	if want := (oracle.RuleCount{Rule: "live-dependency", Passed: 2}); !slices.Contains(s.Provoked, want) {
		t.Errorf("provoked: %+v", s.Provoked)
	}
	p.Tools = nil
	for i := range 150 {
		tool := wide
		tool.Name = fmt.Sprintf("wide%d", i)
		p.Tools = append(p.Tools, tool)
	}
	b := start(t, nil)
	p.Base = b.url
	if check(t, p); len(b.calls()) != 200 {
		t.Errorf("%d calls of many tools", len(b.calls()))
	}
}

// TestSecrets has an application that repeats whatever it is told, escaped and
// not, and reads every report.
func TestSecrets(t *testing.T) {
	escape := strings.NewReplacer("+", `\u002B`)
	a := start(t, func(s sent, right answer) answer {
		if s.body == example && s.token == valid {
			return right
		}
		return answer{500, fmt.Sprintf(`{"error":%q,"code":"%s","recovery":{"code":"%s","message":"\u001b[31m","field":"%s","retry_after_ms":null}}`,
			s.token, escape.Replace(s.token), s.token, escape.Replace(s.token))}
	})
	r, s := check(t, a.plan())
	if r.Exit() != 1 || s.Cases.Passed != 2 {
		t.Errorf("exit %d, %+v", r.Exit(), s.Cases)
	}
	for name, write := range map[string]func(*oracle.Report, io.Writer) error{
		"text": (*oracle.Report).Text, "json": (*oracle.Report).JSON, "html": (*oracle.Report).HTML, "sarif": (*oracle.Report).SARIF,
	} {
		var out bytes.Buffer
		if err := write(r, &out); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{valid, expired, outcast, escape.Replace(valid), strings.ReplaceAll(valid, "+", "&#43;"), "token-0123456789", "\x1b"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s has %q", name, secret)
			}
		}
		if !strings.Contains(out.String(), "[a token]") && name != "html" {
			t.Errorf("%s hides nothing", name)
		}
	}
}

func TestAFaultyPlan(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:80", "ftp://a", "http://user:secret@a", "http://a?b=secret", "http://a#b"} {
		p := start(t, nil).plan()
		p.Base = base
		if _, err := live.Check(t.Context(), p); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", base, err)
		}
	}
	p := start(t, nil).plan()
	p.Tools[0].Schema = []byte(`{"properties":[]}`)
	if _, err := live.Check(t.Context(), p); err == nil || !strings.Contains(err.Error(), "tool ship: the schema") {
		t.Error(err)
	}
}

func TestToken(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "abc\n": "abc", " abc \r\nnext": "abc", "\uFEFFabc": "abc", "a+b/c==": "a+b/c==",
		"agent abc": "abc", "": "", "\nabc": "", "an agent abc": "", "a\"b": "", "=": "",
	} {
		got, err := live.Token(text)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "abc") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

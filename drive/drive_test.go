package drive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"remit.example/drive"
	"remit.example/oracle"
)

// called is one call that was made.
type called struct {
	name, input string
	condition   *oracle.Condition
	execution   int
}

// fake are tools that answer as they are told.
type fake struct {
	listed   []drive.Tool
	unlisted error
	answer   func(called) (oracle.ToolAnswer, error)
	calls    []called
}

func (f *fake) List(context.Context) ([]drive.Tool, error) { return f.listed, f.unlisted }

func (f *fake) Call(_ context.Context, name string, input []byte, c *oracle.Condition, execution int) (oracle.ToolAnswer, error) {
	f.calls = append(f.calls, called{name, string(input), c, execution})
	if f.answer == nil {
		return oracle.ToolAnswer{Body: []byte(`{}`)}, nil
	}
	return f.answer(f.calls[len(f.calls)-1])
}

func suite(t *testing.T, name string) *oracle.Suite {
	t.Helper()
	s, err := oracle.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNames resolves logical names: the tool behind each, or every fault.
func TestNames(t *testing.T) {
	lights := []drive.Tool{{"search_lights", "search"}, {"rank", "rank_preferences"}, {"assess_suitability", ""}, {"delivery_status", "lookup"}}
	two := append(slices.Clone(lights), drive.Tool{Name: "search_light_sources", Promise: "search"})
	for _, c := range []struct {
		what, suite string
		listed      []drive.Tool
		names       map[string]string
		want        []string // the tools that are called, or parts of the error
		fails       bool
	}{
		{"by promise and by name", "catalogue-v1", lights, nil, []string{"search_lights", "rank", "assess_suitability"}, false},
		{"several promise it", "catalogue-v1", two, nil, []string{"2 tools promise search: search_lights, search_light_sources; choose one: --tool search=NAME"}, true},
		{"mapped", "catalogue-v1", two, map[string]string{"search": "search_light_sources"}, []string{"search_light_sources", "rank", "assess_suitability"}, false},
		{"its name goes before a promise", "catalogue-v1", append(slices.Clone(two), drive.Tool{Name: "search"}), nil, []string{"search", "rank", "assess_suitability"}, false},
		{"mapped to nothing", "catalogue-v1", lights, map[string]string{"search": "sorch"}, []string{"--tool search=sorch: the server has no such tool; valid: search_lights, rank, assess_suitability, delivery_status"}, true},
		{
			"all faults", "catalogue-v1",
			[]drive.Tool{{"a", "search"}, {"b", "search"}, {"c\n", "lookup"}},
			map[string]string{"assess_suitability": "d"},
			[]string{"--tool search=NAME", "no tool is named rank_preferences or promises it; choose one: --tool rank_preferences=NAME, of a, b, \"c\\n\"", "--tool assess_suitability=d"},
			true,
		},
		{"exactly named", "recovery-v1", lights, nil, []string{"delivery_status"}, false},
		{"a name of another suite", "recovery-v1", lights, map[string]string{"search": "nothing"}, []string{"delivery_status"}, false},
		{"recovery by promise", "recovery-v1", []drive.Tool{{"status", "delivery_status"}}, nil, []string{"no tool is named delivery_status; choose one: --tool delivery_status=NAME, of status"}, true},
		{"no tool", "recovery-v1", nil, nil, []string{"of none, as it lists no tool"}, true},
	} {
		tools := &fake{listed: c.listed}
		_, err := drive.JudgeTools(t.Context(), suite(t, c.suite), tools, c.names)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if c.fails {
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: got %q, want %q in it", c.what, err, part)
				}
			}
			if len(tools.calls) > 0 {
				t.Errorf("%s: %d calls were made", c.what, len(tools.calls))
			}
			continue
		}
		var got []string
		for _, call := range tools.calls {
			if !slices.Contains(got, call.name) {
				got = append(got, call.name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

// TestNoList: where a server lists nothing, names are taken as they are; an
// error of another kind ends the run.
func TestNoList(t *testing.T) {
	tools := &fake{unlisted: drive.ErrNoList}
	if _, err := drive.JudgeTools(t.Context(), suite(t, "catalogue-v1"), tools, map[string]string{"search": "find"}); err != nil {
		t.Fatal(err)
	}
	if tools.calls[0].name != "find" || tools.calls[1].name != "rank_preferences" {
		t.Errorf("got %v", tools.calls)
	}
	broken := errors.New("broken")
	if _, err := drive.JudgeTools(t.Context(), suite(t, "catalogue-v1"), &fake{unlisted: broken}, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestSent: the executions of a recovery case with their conditions, and the
// bytes of a catalogue case.
func TestSent(t *testing.T) {
	tools := &fake{listed: []drive.Tool{{Name: "delivery_status"}}}
	s := suite(t, "recovery-v1")
	if _, err := drive.JudgeTools(t.Context(), s, tools, nil); err != nil {
		t.Fatal(err)
	}
	var executions []oracle.Execution
	for i := range s.Cases {
		executions = append(executions, s.Cases[i].Executions()...)
	}
	if len(tools.calls) != 14 || len(executions) != 14 {
		t.Fatalf("%d calls of %d executions, want 14", len(tools.calls), len(executions))
	}
	for i, e := range executions {
		call := tools.calls[i]
		if call.input != string(e.Input) || call.condition.Case != e.Condition.Case || string(call.condition.Response) != string(e.Condition.Response) {
			t.Errorf("call %d is %+v, want %+v", i, call, e)
		}
	}
	if tools.calls[1].execution != 1 || tools.calls[2].execution != 2 {
		t.Errorf("the executions are %d and %d, want 1 and 2", tools.calls[1].execution, tools.calls[2].execution)
	}
	tools = &fake{unlisted: drive.ErrNoList}
	if _, err := drive.JudgeTools(t.Context(), suite(t, "catalogue-v1"), tools, nil); err != nil {
		t.Fatal(err)
	}
	if got := tools.calls[0]; got.input != `{"request_id":"S1","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true}}` || got.condition != nil {
		t.Errorf("got %+v", got)
	}
}

// TestFaults: a call without an answer fails no case; after three in a row
// nothing more is sent, and an answer between starts the count again.
func TestFaults(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		what  string
		fault func(n int) bool // whether call n, from 1, is one
		calls int
		void  []string
	}{
		{"the second execution", func(n int) bool { return n == 2 }, 13, []string{"invalid-corrected, execution 1: refused"}},
		{"all", func(int) bool { return true }, 3, []string{
			"invalid-unchanged, execution 1: refused", "invalid-corrected, execution 1: refused",
			"auth-unchanged, execution 1: refused", "6 cases were not sent: 3 calls in a row had no answer",
		}},
		{"two and one", func(n int) bool { return n <= 2 || n == 4 }, 12, []string{
			"invalid-unchanged, execution 1: refused", "invalid-corrected, execution 1: refused", "auth-renewed, execution 1: refused",
		}},
	} {
		tools := &fake{unlisted: drive.ErrNoList}
		tools.answer = func(called) (oracle.ToolAnswer, error) {
			if c.fault(len(tools.calls)) {
				return oracle.ToolAnswer{}, refused
			}
			return oracle.ToolAnswer{Failed: true, Body: []byte(`{}`)}, nil
		}
		o, err := drive.JudgeTools(t.Context(), suite(t, "recovery-v1"), tools, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(tools.calls) != c.calls || !slices.Equal(o.Void, c.void) {
			t.Errorf("%s: %d calls and %q, want %d and %q", c.what, len(tools.calls), o.Void, c.calls, c.void)
		}
	}
}

// TestIgnored: a server whose answers no conditions change judges nothing.
func TestIgnored(t *testing.T) {
	tools := &fake{unlisted: drive.ErrNoList, answer: func(called) (oracle.ToolAnswer, error) {
		return oracle.ToolAnswer{Body: []byte(`{}`)}, nil
	}}
	o, err := drive.JudgeTools(t.Context(), suite(t, "recovery-v1"), tools, nil)
	if err != nil || len(o.Void) != 1 || !strings.Contains(o.Void[0], "whatever conditions a call sets") {
		t.Errorf("%v, %+v", err, o)
	}
}

// TestCancelled: a run that is called off judges nothing.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tools := &fake{unlisted: drive.ErrNoList, answer: func(called) (oracle.ToolAnswer, error) {
		cancel()
		return oracle.ToolAnswer{}, ctx.Err()
	}}
	if o, err := drive.JudgeTools(ctx, suite(t, "recovery-v1"), tools, nil); !errors.Is(err, context.Canceled) || o != nil || len(tools.calls) != 1 {
		t.Errorf("got %v, %v after %d calls", o, err, len(tools.calls))
	}
}

// TestReadAnswer reads bodies.
func TestReadAnswer(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":"matches"}`:                               `false `,
		`{"error":"no","recovery":{"code":"A","code":"B"}}`:  `true {"code":"A","code":"B"}`,
		`{"error":null,"recovery":null}`:                     `true null`,
		`{"a":{"error":"no"}}`:                               `false `,
		`{"err\u006fr":"no", "recovery": {"wait": 1000.0} }`: `true {"wait": 1000.0}`,
		`["matches"]`:                                        `true `,
		`null`:                                               `true `,
		`{"ok":false}`:                                       `true `,
		`{"success":false}`:                                  `true `,
		`{"ok":true,"success":true,"isError":false}`:         `false `,
		`{"isError":true}`:                                   `true `,
		`{"status":"in_transit","recovery":{"code":"ACCESS_DENIED"}}`: `true {"code":"ACCESS_DENIED"}`,
		`{"error":"no","recovery":{},"recovery":{}}`:                  `true `,
		``:                                     `the body is empty; valid: JSON`,
		`Error: no`:                            `the body is not JSON: "Error: no"`,
		`{"a":1} {"b":2}`:                      `the body is not JSON: "{\"a\":1} {\"b\":2}"`,
		`"` + strings.Repeat("a", 1<<20) + `"`: `the body is longer than 1048576 bytes`,
	} {
		answer, err := drive.ReadAnswer([]byte(body))
		got := map[bool]string{true: "true ", false: "false "}[answer.Failed] + string(answer.Record)
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && string(answer.Body) != body {
			t.Errorf("%.60s: got %s, want %s", body, got, want)
		}
	}
}

// TestNotCarried: an input that the wire cannot carry leaves its case
// unchecked. It is no fault, however many there are.
func TestNotCarried(t *testing.T) {
	tools := &fake{unlisted: drive.ErrNoList}
	tools.answer = func(c called) (oracle.ToolAnswer, error) {
		if strings.Contains(c.input, "ship104") {
			return oracle.ToolAnswer{}, fmt.Errorf("%w: too much", drive.ErrNotCarried)
		}
		return oracle.ToolAnswer{Body: []byte(`{}`)}, nil
	}
	o, err := drive.JudgeTools(t.Context(), suite(t, "recovery-v1"), tools, nil)
	want := []oracle.Unchecked{{What: "cases that were not sent", Count: 2, Reason: "the input does not reach a tool as it is written: too much"}}
	if err != nil || !slices.Equal(o.Unchecked, want) || o.Passed+o.Failed != 7 {
		t.Errorf("got %+v, %v", o, err)
	}
}

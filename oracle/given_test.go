package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

// parsed is a suite of one recovery case with this line and oracle.
func parsed(line string, lines ...string) (*oracle.Suite, error) {
	return oracle.Parse("suite.json", fmt.Appendf(nil, `{"suite":"x","contract":"recovery-v1","cases":[{"case":%s,"oracle":[%s]}]}`, line, strings.Join(lines, ",")))
}

// TestGiven: what a recovery case must say, in either form.
func TestGiven(t *testing.T) {
	const (
		members  = `"case":"a","input":{},"auth_ok":true,"allowed":true,"renewal":false`
		first    = `{` + members + `,"responses":["OK"],"correction":null}`
		second   = `{` + members + `,"responses":[{"code":"OK","retry_after_ms":null}],"corrections":[]}`
		required = "case a: input, auth_ok, allowed, responses and renewal are required"
		either   = "case a: valid: either correction or corrections"
		answer   = "case a: the response "
	)
	for _, c := range []struct{ line, want string }{
		{first, ""},
		{second, ""},
		{strings.Replace(first, "null", `{"a":1}`, 1), ""},
		{strings.Replace(first, `"OK"`, `"TEMP_UNAVAILABLE"`, 1), ""},
		{strings.Replace(first, `{},`, `[],`, 1), required},
		{strings.Replace(first, `"auth_ok":true,`, "", 1), required},
		{strings.Replace(first, `"allowed":true,`, "", 1), required},
		{strings.Replace(first, `,"responses":["OK"]`, "", 1), required},
		{strings.Replace(first, `,"renewal":false`, "", 1), required},
		{strings.Replace(first, `,"correction":null`, "", 1), either},
		{strings.Replace(first, `,"correction":null`, `,"correction":null,"corrections":[]`, 1), either},
		{strings.Replace(first, `"OK"`, `{"code":"OK"}`, 1), answer},
		{strings.Replace(first, `"OK"`, `""`, 1), answer},
		{strings.Replace(first, `"OK"`, `1`, 1), answer},
		{strings.Replace(first, `"OK"`, `null`, 1), answer},
		{strings.Replace(second, `{"code":"OK","retry_after_ms":null}`, `"OK"`, 1), answer},
		{strings.Replace(second, `"code":"OK"`, `"code":""`, 1), answer},
		{strings.Replace(second, `"code":"OK"`, `"kode":"OK"`, 1), answer},
		{strings.Replace(second, `"retry_after_ms":null`, `"retry_after_ms":1.5`, 1), answer},
		{strings.Replace(first, "{", `{"note":1,`, 1), "not a case of recovery-v1"},
	} {
		_, err := parsed(c.line)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "suite.json: case 1: "+c.want)) {
			t.Errorf("%s: %v, want %q", c.line, err, c.want)
		}
	}
}

// TestExecutions: an execution reaches the dependency unless its input, its
// authentication or its access fails first, and takes the next response there.
func TestExecutions(t *testing.T) {
	for _, c := range []struct {
		authOK, allowed  bool
		codes, responses []string
		want             []string
	}{
		{true, true, []string{"OK"}, []string{`"OK"`}, []string{`"OK"`}},
		{true, true, []string{"INVALID_ARGUMENT", "OK"}, []string{`"OK"`}, []string{`null`, `"OK"`}},
		{true, true, []string{"TEMP_UNAVAILABLE", "ODDITY"}, []string{`"TEMP_UNAVAILABLE"`, `"ODDITY"`}, []string{`"TEMP_UNAVAILABLE"`, `"ODDITY"`}},
		{false, true, []string{"AUTH_REQUIRED"}, []string{`"OK"`}, []string{`null`}},
		{true, true, []string{"AUTH_REQUIRED"}, []string{`"AUTH_REQUIRED"`}, []string{`"AUTH_REQUIRED"`}}, // the dependency asks for it
		{true, false, []string{"ACCESS_DENIED"}, []string{`"OK"`}, []string{`null`}},
		{true, true, []string{"ACCESS_DENIED"}, []string{`"ACCESS_DENIED"`}, []string{`"ACCESS_DENIED"`}}, // the dependency refuses
		{true, true, []string{"ODDITY"}, nil, []string{`null`}},
		{false, true, []string{"ODDITY"}, []string{`"ODDITY"`}, []string{`"ODDITY"`}},
		{true, false, []string{"ODDITY"}, []string{`"ODDITY"`}, []string{`"ODDITY"`}},
	} {
		var lines []string
		for i, code := range c.codes {
			lines = append(lines, fmt.Sprintf(`{"case":"a","execution":%d,"input":{"n":%d},"auth_ok":%v,"code":%q,"action":"stop","at_ms":0,"disposition":null}`, i+1, i+1, c.authOK, code))
		}
		s, err := parsed(fmt.Sprintf(`{"case":"a","input":{},"auth_ok":%v,"allowed":%v,"responses":[%s],"correction":null,"renewal":false}`, c.authOK, c.allowed, strings.Join(c.responses, ",")), lines...)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Cases[0].Codes(); !slices.Equal(got, c.codes) {
			t.Errorf("the codes are %q, want %q", got, c.codes)
		}
		var got []string
		for i, e := range s.Cases[0].Executions() {
			got = append(got, string(e.Condition.Response))
			if string(e.Input) != fmt.Sprintf(`{"n":%d}`, i+1) || e.Condition.Case != "a" || e.Condition.AuthOK != c.authOK || e.Condition.Allowed != c.allowed {
				t.Errorf("%q: execution %d is %+v", c.codes, i+1, e)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q with %q: the responses are %q, want %q", c.codes, c.responses, got, c.want)
		}
	}
}

// TestInputs: the corrections that a caller is told of, in either form.
func TestInputs(t *testing.T) {
	for form, want := range map[string][]string{
		`"responses":[],"correction":null`:               nil,
		`"responses":[],"correction":{"a":1}`:            {`{"a":1}`},
		`"responses":[],"corrections":[{"a":1},{"b":2}]`: {`{"a":1}`, `{"b":2}`},
	} {
		s, err := parsed(`{"case":"a","input":{"x":1},"auth_ok":true,"allowed":true,"renewal":true,` + form + `}`)
		if err != nil {
			t.Fatal(err)
		}
		in := s.Cases[0].Inputs()
		var got []string
		for _, each := range in.Corrections {
			got = append(got, string(each))
		}
		if !slices.Equal(got, want) || string(in.Input) != `{"x":1}` || !in.Renewal {
			t.Errorf("%s: got %+v, want the corrections %q", form, in, want)
		}
	}
}

// TestScript: a scripted server goes on when the input is the one that is due.
func TestScript(t *testing.T) {
	s := builtin(t, "recovery-v1")
	refused := "The shipment_ref is refused; a valid one contains SHIP-."
	for _, c := range []struct {
		of     string
		inputs []string
		want   []string // the message of each reply
	}{
		{"invalid-corrected", []string{invalid, valid, valid}, []string{refused, "OK", "OK"}},
		{"invalid-corrected", []string{invalid, invalid, `{"shipment_ref":"SHIP-999"}`, ` {"shipment_ref": "SHIP-104"}`}, []string{refused, refused, refused, "OK"}},
		{"invalid-corrected", []string{`{}`, invalid, valid}, []string{refused, refused, "OK"}}, // the first is answered as it comes
		{"temporary-then-ok", []string{valid, valid, valid}, []string{"The scripted dependency answered with TEMP_UNAVAILABLE.", "OK", "OK"}},
		{"access-denied", []string{valid, valid}, []string{"The scripted dependency answered with ACCESS_DENIED.", "The scripted dependency answered with ACCESS_DENIED."}},
	} {
		script := s.ScriptOf(place(t, s, c.of))
		var got []string
		for _, input := range c.inputs {
			got = append(got, script.Answer(jsontext.Value(input)).Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s with %q: got %q, want %q", c.of, c.inputs, got, c.want)
		}
	}
	reply := s.ScriptOf(place(t, s, "temporary-then-ok")).Answer(jsontext.Value(valid))
	if reply.Code != "TEMP_UNAVAILABLE" || reply.Field != nil || reply.RetryAfterMS == nil || *reply.RetryAfterMS != 1000 {
		t.Errorf("got %+v, want TEMP_UNAVAILABLE after 1000 ms", reply)
	}
	s, err := oracle.Parse("suite.json", []byte(`{"suite":"x","contract":"recovery-v1","cases":[{
		"case":{"case":"a","input":{},"auth_ok":true,"allowed":true,"responses":[],"correction":null,"renewal":false},
		"oracle":[{"case":"a","execution":1,"input":{},"auth_ok":true,"code":"INVALID_ARGUMENT","action":"request_correction","at_ms":0,"disposition":"needs_input"}],
		"records":[{"case":"a","execution":1,"record":{"code":"INVALID_ARGUMENT","field":null,"retry_after_ms":null},"message_names":["p","q"]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ScriptOf(0).Answer(jsontext.Value(`{}`)).Message; got != "The input is refused; a valid one contains p, q." {
		t.Errorf("without a field the message is %q", got)
	}
}

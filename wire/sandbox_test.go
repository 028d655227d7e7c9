package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"remit.example/record"
)

// inHeader is a case as the headers of one request set it.
func inHeader(conditions, number string) Case {
	return HeaderCase(http.Header{caseHeader: {conditions}, executionHeader: {number}})
}

// shown is an execution in short.
func shown(e *execution) string {
	text := fmt.Sprintf("%d %v %v", e.number, e.authOK, e.allowed)
	if e.response == nil {
		return text + " null"
	}
	text += " " + string(e.response.Code)
	if e.response.RetryAfterMS == nil {
		return text + " -"
	}
	return fmt.Sprintf("%s %d", text, *e.response.RetryAfterMS)
}

func TestReadCase(t *testing.T) {
	for _, c := range []struct{ conditions, number, want string }{
		{`{"case":"c","auth_ok":true,"allowed":true,"response":"OK"}`, "1", "1 true true OK -"},
		{`{"case":"c","auth_ok":false,"allowed":true,"response":null}`, "2", "2 false true null"},
		{`{"case":"c","auth_ok":true,"allowed":false,"response":null}`, "3", "3 true false null"},
		{`{"case":"c","auth_ok":true,"allowed":true,"response":"TEMP_UNAVAILABLE"}`, "1", "1 true true TEMP_UNAVAILABLE 1000"},
		{`{"case":"c","auth_ok":true,"allowed":true,"response":{"code":"TEMP_UNAVAILABLE","retry_after_ms":250}}`, "1", "1 true true TEMP_UNAVAILABLE 250"},
		{`{"case":"c","auth_ok":true,"allowed":true,"response":{"code":"TEMP_UNAVAILABLE","retry_after_ms":null}}`, "1", "1 true true TEMP_UNAVAILABLE -"},
		{`{"case":"c","auth_ok":true,"allowed":true,"response":{"retry_after_ms":0,"code":"QUOTA_EXHAUSTED"}}`, "1", "1 true true QUOTA_EXHAUSTED 0"},
		{`{"case":"c","auth_ok":true,"allowed":true,"response":"temp_unavailable"}`, "1", "1 true true temp_unavailable -"},
		{`{"case":"c","auth_ok":true,"allowed":true,"response":"\u00c9T\u00c9"}`, "1", "1 true true ÉTÉ -"},
		{` { "response" : "OK", "allowed" : true, "auth_ok" : true, "case" : "\u00e9" } `, "9007199254740991", "9007199254740991 true true OK -"},
	} {
		e, err := inHeader(c.conditions, c.number).read()
		if err != nil {
			t.Errorf("%s: %v", c.conditions, err)
		} else if got := shown(e); got != c.want {
			t.Errorf("%s: got %s, want %s", c.conditions, got, c.want)
		}
	}
}

func TestReadCaseRefuses(t *testing.T) {
	const (
		good     = `{"case":"c","auth_ok":true,"allowed":true,"response":"OK"}`
		response = "The header Remit-Case has a wrong response; valid: " + responseForms
		form     = "; valid: " + conditionsForm
	)
	with := func(response string) string {
		return `{"case":"c","auth_ok":true,"allowed":true,"response":` + response + `}`
	}
	number := func(text string) string {
		return fmt.Sprintf("The header Remit-Execution is %q; valid: a whole number in decimal digits, at least 1", text)
	}
	for _, c := range []struct{ conditions, number, want string }{
		{``, "1", "The header Remit-Case is no JSON object" + form},
		{`null`, "1", "The header Remit-Case is no JSON object" + form},
		{`["c"]`, "1", "The header Remit-Case is no JSON object" + form},
		{good + `x`, "1", "The header Remit-Case is no JSON object" + form},
		{good[:len(good)-1], "1", "The header Remit-Case is no JSON object" + form},
		{`{"case":"c","auth_ok":true,"auth_ok":true,"allowed":true,"response":"OK"}`, "1", "The header Remit-Case has a member twice" + form},
		{with(`{"code":"OK","code":"OK","retry_after_ms":null}`), "1", "The header Remit-Case has a member twice" + form},
		{`{"case":"c","auth_ok":true,"allowed":true}`, "1", "The header Remit-Case has no member response" + form},
		{`{"auth_ok":true,"allowed":true,"response":"OK"}`, "1", "The header Remit-Case has no member case" + form},
		{`{"case":"c","Auth_OK":true,"auth_ok":true,"allowed":true,"response":"OK"}`, "1", `The header Remit-Case has the unknown member "Auth_OK"` + form},
		{`{"case":"","auth_ok":true,"allowed":true,"response":"OK"}`, "1", "The header Remit-Case has a wrong case; valid: a text that is not empty"},
		{`{"case":1,"auth_ok":true,"allowed":true,"response":"OK"}`, "1", "The header Remit-Case has a wrong case; valid: a text that is not empty"},
		{`{"case":"c","auth_ok":"true","allowed":true,"response":"OK"}`, "1", "The header Remit-Case has a wrong auth_ok; valid: true or false"},
		{`{"case":"c","auth_ok":true,"allowed":null,"response":"OK"}`, "1", "The header Remit-Case has a wrong allowed; valid: true or false"},
		{with(`""`), "1", response},
		{with(`false`), "1", response},
		{with(`["OK"]`), "1", response},
		{with(`{"code":"OK"}`), "1", response},
		{with(`{"retry_after_ms":1}`), "1", response},
		{with(`{"code":"","retry_after_ms":1}`), "1", response},
		{with(`{"code":null,"retry_after_ms":null}`), "1", response},
		{with(`{"code":"TEMP_UNAVAILABLE","retry_after_ms":1,"next":"stop"}`), "1", response},
		{with(`{"code":"TEMP_UNAVAILABLE","retry_after_ms":-1}`), "1", response},
		{with(`{"code":"TEMP_UNAVAILABLE","retry_after_ms":1.0}`), "1", response},
		{with(`{"code":"TEMP_UNAVAILABLE","retry_after_ms":1e3}`), "1", response},
		{with(`{"code":"TEMP_UNAVAILABLE","retry_after_ms":"250"}`), "1", response},
		{with(`{"code":"TEMP_UNAVAILABLE","retry_after_ms":9007199254740992}`), "1", response},
		{with(`{"code":"TEMP_UNAVAILABLE","Retry_after_ms":1}`), "1", response},
		{with(`"é"`), "1", `The header Remit-Case has bytes outside ASCII; valid: other characters written as \u and four hexadecimal digits`},
		{with("\"\xe9\""), "1", `The header Remit-Case has bytes outside ASCII; valid: other characters written as \u and four hexadecimal digits`},
		{with(`"\ud800"`), "1", "The header Remit-Case is no JSON object" + form},
		{good, "", number("")},
		{good, "0", number("0")},
		{good, "01", number("01")},
		{good, "+1", number("+1")},
		{good, "-1", number("-1")},
		{good, "1.0", number("1.0")},
		{good, "1e0", number("1e0")},
		{good, `"1"`, number(`"1"`)},
		{good, "9007199254740992", number("9007199254740992")},
	} {
		if _, err := inHeader(c.conditions, c.number).read(); err == nil || err.Error() != c.want {
			t.Errorf("%s, %s: got %v\nwant %s", c.conditions, c.number, err, c.want)
		}
	}
}

// TestReadCaseOnce: each of the two is given once.
func TestReadCaseOnce(t *testing.T) {
	const good = `{"case":"c","auth_ok":true,"allowed":true,"response":"OK"}`
	for _, c := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{caseHeader: {good}}, "The header Remit-Execution is given 0 times"},
		{http.Header{executionHeader: {"1"}}, "The header Remit-Case is given 0 times"},
		{http.Header{caseHeader: {good, good}, executionHeader: {"1"}}, "The header Remit-Case is given 2 times"},
		{http.Header{caseHeader: {good}, executionHeader: {"1", "2"}}, "The header Remit-Execution is given 2 times"},
	} {
		want := c.want + "; valid: the case and the number of its execution once each, or neither"
		if _, err := HeaderCase(c.header).read(); err == nil || err.Error() != want {
			t.Errorf("%v: got %v, want %s", c.header, err, want)
		}
	}
}

// FuzzReadCase: what is read is exactly what was written, and a message stays
// short whatever it speaks of.
func FuzzReadCase(f *testing.F) {
	f.Add(`{"case":"c","auth_ok":true,"allowed":true,"response":"OK"}`, "1")
	f.Add(`{"case":"c","auth_ok":false,"allowed":true,"response":null}`, "20")
	f.Add(`{"case":"\u00e9","auth_ok":true,"allowed":false,"response":{"code":"TEMP_UNAVAILABLE","retry_after_ms":250}}`, "3")
	f.Add(`{"case":"c","case":"c","auth_ok":true}`, "1.0")
	f.Fuzz(func(t *testing.T, conditions, number string) {
		e, err := inHeader(conditions, number).read()
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			return
		}
		if strings.ContainsFunc(conditions, func(r rune) bool { return r > 127 }) || number != fmt.Sprint(e.number) || e.number < 1 {
			t.Errorf("%q, %q is read as %s", conditions, number, shown(e))
		}
		var plain struct {
			AuthOK   bool `json:"auth_ok"`
			Allowed  bool
			Response any
		}
		if err := json.Unmarshal([]byte(conditions), &plain); err != nil {
			t.Fatalf("%q is read and no JSON: %v", conditions, err)
		}
		if e.authOK != plain.AuthOK || e.allowed != plain.Allowed || responseText(e) != plainText(plain.Response) {
			t.Errorf("%q is read as %s", conditions, shown(e))
		}
	})
}

func responseText(e *execution) string {
	if e.response == nil {
		return "null"
	}
	return shown(e)[len(fmt.Sprintf("%d %v %v ", e.number, e.authOK, e.allowed)):]
}

// plainText is a response, read by the standard library, in short.
func plainText(response any) string {
	switch r := response.(type) {
	case string:
		if record.Code(r) == record.TempUnavailable {
			return r + " 1000"
		}
		return r + " -"
	case map[string]any:
		if wait, stated := r["retry_after_ms"].(float64); stated {
			return fmt.Sprintf("%s %d", r["code"], int64(wait))
		}
		return fmt.Sprintf("%s -", r["code"])
	}
	return "null"
}

package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"remit.example/oracle"
)

// platformLines are a case and its result, both right.
const (
	platformCase   = `{"case":"a","through":"executeTool","tool":"t","effect":"unsafe","does":"never settles","caller":"waits","input":{}}`
	platformResult = `{"case":"a","reading":"hung","failure":"platform","disposition":"outcome_unknown","executions":1}`
)

// platformOf is a suite of one case.
func platformOf(line, result string) []byte {
	return fmt.Appendf(nil, `{"suite":"x","version":"1","contract":"platform-v1","sha256":"","oracle_sha256":"","controls":[],"cases":[{"why":"w","clause":"c","case":%s,"oracle":[%s]}]}`, line, result)
}

// TestPlatformLint: a case that a driver cannot run and a result that
// contradicts itself are refused.
func TestPlatformLint(t *testing.T) {
	for _, c := range []struct{ what, old, new, says string }{
		{"another way to call", `"executeTool"`, `"fetch"`, `through, effect and caller are "fetch"`},
		{"another effect", `"unsafe"`, `"write"`, `valid: one of ["executeTool" "invokeTool"], of ["read" "unsafe"]`},
		{"no tool", `"tool":"t"`, `"tool":""`, "it needs tool, does and input"},
		{"no input", `,"input":{}`, ``, "it needs tool, does and input"},
		{"an unknown member", `,"input"`, `,"note":1,"input"`, "unknown"},
		{"a name", `"case":"a"`, `"case":"A b"`, "valid names: small letters"},
		{"an unknown reading", `"hung"`, `"late"`, "none of its list"},
		{"a failure that is none", `"failure":"platform"`, `"failure":null`, "failure is null for an answer"},
		{"an answer that is a failure", `"hung"`, `"answered"`, "failure is null for an answer"},
		{"success without an answer", `"outcome_unknown"`, `"success"`, "success for an answer alone"},
		{"no disposition", `"outcome_unknown"`, `null`, "disposition is null for an application failure"},
		{"executed twice", `"executions":1`, `"executions":2`, "executions is not 0 or 1"},
		{"an absent member", `"failure":"platform",`, ``, "not each of the members"},
		{"another case", `{"case":"a","reading"`, `{"case":"b","reading"`, "no reading of it"},
	} {
		text := string(platformOf(platformCase, platformResult))
		changed := strings.ReplaceAll(text, c.old, c.new)
		s, err := oracle.Parse("x.json", []byte(changed))
		faults := ""
		if err != nil {
			faults = err.Error()
		} else {
			faults = strings.Join(s.Lint(), "\n")
		}
		if changed == text || !strings.Contains(faults, c.says) {
			t.Errorf("%s: got %s, want %s", c.what, faults, c.says)
		}
	}
	s, err := oracle.Parse("x.json", platformOf(platformCase, platformResult))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Cases[0].Call(); got.Tool != "t" || got.Effect != "unsafe" || string(got.Input) != "{}" {
		t.Errorf("got %+v", got)
	}
}

// TestReadingLine writes a result as it stands in a suite.
func TestReadingLine(t *testing.T) {
	failure, end := "platform", "outcome_unknown"
	r := oracle.Reading{Case: "a", Reading: "hung", Failure: &failure, Disposition: &end, Executions: 1}
	if got := string(r.Line()); got != platformResult+"\n" {
		t.Errorf("got %s", got)
	}
}

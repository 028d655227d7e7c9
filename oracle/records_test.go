package oracle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"remit.example/oracle"
)

const (
	// answerS3 is the literal answer to S3, without its closing brace.
	answerS3 = `{"request_id":"S3","status":"invalid_input","field":"filters.max_price_minor","recommendation":false`
	failure  = `"error":"It is refused.","code":"INVALID_ARGUMENT","retryable":false,"recovery":{}}`
	record   = `{"code":"INVALID_ARGUMENT","message":"A number is needed.","field":"filters.max_price_minor","retry_after_ms":null}`
)

// TestJudgeAnswer: an answer is its literal, and one to an invalid request is
// a failure that begins with it.
func TestJudgeAnswer(t *testing.T) {
	s := builtin(t, "catalogue-v1")
	answerS1 := string(s.Cases[place(t, s, "S1")].Oracle[0])
	answer := func(failed bool, body, record string) oracle.ToolAnswer {
		return oracle.ToolAnswer{Failed: failed, Body: jsontext.Value(body), Record: jsontext.Value(record)}
	}
	without := func(member string) string { return answerS3 + "," + strings.Replace(failure, member, "", 1) }
	wire := []string{"wire-failure"}
	for _, c := range []struct {
		name, of string
		answer   oracle.ToolAnswer
		broken   []string
	}{
		{"the literal", "S1", answer(false, answerS1, ""), nil},
		{"another basis", "S1", answer(false, strings.Replace(answerS1, "filters_only", "filters", 1), ""), []string{"basis"}},
		{"white space", "S1", answer(false, answerS1+" ", ""), []string{"form"}},
		{"a right failure", "S3", answer(true, answerS3+","+failure, record), nil},
		{"one that may be repeated", "S3", answer(true, answerS3+","+strings.Replace(failure, "false", "true", 1), record), wire},
		{"a member besides", "S3", answer(true, strings.TrimSuffix(answerS3+","+failure, "}")+`,"recommended":"A"}`, record), wire},
		{"another field in the record", "S3", answer(true, answerS3+","+failure, strings.Replace(record, "filters.max_price_minor", "filters", 1)), wire},
		{"a wait in the record", "S3", answer(true, answerS3+","+failure, strings.Replace(record, `"retry_after_ms":null`, `"retry_after_ms":1`, 1)), wire},
		{"an answer that is marked as a failure", "S1", oracle.ToolAnswer{Failed: true, Body: jsontext.Value(s.Cases[0].Oracle[0])}, wire},
		{"no failure", "S3", answer(false, answerS3+","+failure, record), wire},
		{"the literal alone", "S3", answer(true, answerS3+"}", record), wire},
		{"a failure before the literal", "S3", answer(true, "{"+strings.TrimSuffix(failure, "}")+","+answerS3[1:]+"}", record), wire},
		{"something follows", "S3", answer(true, answerS3+","+failure+"{}", record), wire},
		{"repeats a member", "S3", answer(true, answerS3+`,"status":"invalid_input",`+failure, record), wire},
		{"no error", "S3", answer(true, without(`"error":"It is refused.",`), record), wire},
		{"an empty error", "S3", answer(true, strings.Replace(answerS3+","+failure, "It is refused.", "", 1), record), wire},
		{"no code", "S3", answer(true, without(`"code":"INVALID_ARGUMENT",`), record), wire},
		{"no retryable", "S3", answer(true, without(`,"retryable":false`), record), wire},
		{"retryable as a text", "S3", answer(true, strings.Replace(answerS3+","+failure, `"retryable":false`, `"retryable":"no"`, 1), record), wire},
		{"no record", "S3", oracle.ToolAnswer{Failed: true, Body: jsontext.Value(answerS3 + "," + failure)}, wire},
		{"a record of no object", "S3", answer(true, answerS3+","+failure, "[]"), wire},
		{"a record without a field", "S3", answer(true, answerS3+","+failure, strings.Replace(record, `"field":"filters.max_price_minor",`, "", 1)), wire},
		{"a record with two fields", "S3", answer(true, answerS3+","+failure, strings.Replace(record, "{", `{"field":null,`, 1)), wire},
		{"a record without a message", "S3", answer(true, answerS3+","+failure, strings.Replace(record, "A number is needed.", "", 1)), wire},
		{"a record with a number as the message", "S3", answer(true, answerS3+","+failure, strings.Replace(record, `"A number is needed."`, "1", 1)), wire},
		{"another code in the record", "S3", answer(true, answerS3+","+failure, strings.Replace(record, "INVALID_ARGUMENT", "ACCESS_DENIED", 1)), wire},
		{"another code in both", "S3", answer(true, strings.Replace(answerS3+","+failure, "INVALID_ARGUMENT", "ACCESS_DENIED", 1), strings.Replace(record, "INVALID_ARGUMENT", "ACCESS_DENIED", 1)), wire},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := s.NewOutcome()
			s.JudgeAnswer(o, place(t, s, c.of), c.answer)
			if got := slices.Compact(broken(o)); !slices.Equal(got, c.broken) || o.Passed+o.Failed != 1 || (o.Passed == 1) != (c.broken == nil) {
				t.Errorf("%q broken, %d passed, %d failed, want %q", got, o.Passed, o.Failed, c.broken)
			}
		})
	}
}

// TestJudgeTool: what a report shows of the answer that breaks a rule.
func TestJudgeTool(t *testing.T) {
	s := builtin(t, "recovery-v1")
	right := `{"code":"ACCESS_DENIED","message":"No.","field":null,"retry_after_ms":null}`
	for _, c := range []struct {
		name   string
		answer oracle.ToolAnswer
		want   []oracle.Finding // without their clauses and what was expected
	}{
		{"right", oracle.ToolAnswer{Failed: true, Record: jsontext.Value(right)}, nil},
		{"more members", oracle.ToolAnswer{Failed: true, Record: jsontext.Value(right[:len(right)-1] + `,"trace":"1"}`)}, nil},
		{
			"a success",
			oracle.ToolAnswer{Body: jsontext.Value(`{"status":"in_transit"}`)},
			[]oracle.Finding{{Rule: "record-code", Execution: 1, Got: `{"status":"in_transit"}`, Difference: "the tool answered without a failure, expected ACCESS_DENIED"}},
		},
		{
			"no record",
			oracle.ToolAnswer{Failed: true, Body: jsontext.Value(`{"error":"No."}`)},
			[]oracle.Finding{{Rule: "no-record", Execution: 1, Got: `{"error":"No."}`, Difference: "the failure carries no record"}},
		},
		{
			"wrong in two members",
			oracle.ToolAnswer{Failed: true, Record: jsontext.Value(`{"code":"ACCESS_DENIED","message":"No.","field":"a","retry_after_ms":0}`)},
			[]oracle.Finding{
				{Rule: "record-field", Execution: 1, Got: `{"code":"ACCESS_DENIED","message":"No.","field":"a","retry_after_ms":0}`, Difference: `field is "a", expected null`},
				{Rule: "record-wait", Execution: 1, Got: `{"code":"ACCESS_DENIED","message":"No.","field":"a","retry_after_ms":0}`, Difference: `retry_after_ms is 0, expected null`},
			},
		},
	} {
		o := s.NewOutcome()
		s.JudgeTool(o, place(t, s, "access-denied"), []oracle.ToolAnswer{c.answer})
		var got []oracle.Finding
		for _, failure := range o.Failures {
			for _, f := range failure.Findings {
				if f.Clause == "" || !strings.Contains(f.Expected, "ACCESS_DENIED") {
					t.Errorf("%s: the finding rests on %q and expects %q", c.name, f.Clause, f.Expected)
				}
				f.Clause, f.Expected = "", ""
				got = append(got, f)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

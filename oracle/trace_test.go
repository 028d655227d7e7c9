package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCompareTraces: every rule that a trace breaks, the one that its case
// fails by first.
func TestCompareTraces(t *testing.T) {
	s := builtin(t, "recovery-v1")
	lines := func(of string) (all []string) {
		for _, line := range s.Cases[place(t, s, of)].Oracle {
			all = append(all, string(line))
		}
		return all
	}
	// edited has line n of a case, from 1, changed.
	edited := func(of string, n int, old, new string) []string {
		all := lines(of)
		if !strings.Contains(all[n-1], old) {
			t.Fatalf("%s has no %s", all[n-1], old)
		}
		all[n-1] = strings.Replace(all[n-1], old, new, 1)
		return all
	}
	// extended has more lines, which repeat the last one but for a member.
	extended := func(of string, edits ...string) []string {
		all := lines(of)
		for i := 0; i < len(edits); i += 2 {
			last := all[len(all)-1]
			n := len(all)
			next := strings.Replace(last, fmt.Sprintf(`"execution":%d`, n), fmt.Sprintf(`"execution":%d`, n+1), 1)
			all = append(all, strings.Replace(next, edits[i], edits[i+1], 1))
		}
		return all
	}
	for _, c := range []struct {
		name, of string
		lines    []string
		broken   []string
	}{
		{"a text for a number", "temporary-then-ok", edited("temporary-then-ok", 2, `"execution":2`, `"execution":"2"`), []string{"members"}},
		{"half a number", "temporary-then-ok", edited("temporary-then-ok", 2, `"execution":2`, `"execution":2.5`), []string{"numbering", "members"}},
		{"a number in another form", "temporary-then-ok", edited("temporary-then-ok", 2, `"execution":2`, `"execution":2.0`), []string{"form"}},
		{"early", "temporary-then-ok", edited("temporary-then-ok", 2, `:1000`, `:999`), []string{"early"}},
		{"late", "temporary-then-ok", edited("temporary-then-ok", 2, `:1000`, `:1001`), []string{"late"}},
		{"half a millisecond", "temporary-then-ok", edited("temporary-then-ok", 2, `:1000`, `:999.5`), []string{"members"}},
		{"a text for a time", "temporary-then-ok", edited("temporary-then-ok", 2, `:1000`, `:"1000"`), []string{"members"}},
		{"beyond every clock", "temporary-then-ok", edited("temporary-then-ok", 2, `:1000`, `:1e30`), []string{"late"}},
		{"before every clock", "temporary-then-ok", edited("temporary-then-ok", 2, `:1000`, `:-1e30`), []string{"early"}},
		{"beyond every number", "temporary-then-ok", edited("temporary-then-ok", 2, `:1000`, `:1e400`), []string{"late"}},
		{"another input", "temporary-then-ok", edited("temporary-then-ok", 2, `SHIP-104`, `SHIP-105`), []string{"input"}},
		{"the refused input", "invalid-corrected", edited("invalid-corrected", 2, `SHIP-104`, `ship104`), []string{"unchanged-input-resent"}},
		{"the refused input in another form", "invalid-corrected", edited("invalid-corrected", 2, `{"shipment_ref":"SHIP-104"}`, `{ "shipment_ref":"sh\u0069p104"}`), []string{"unchanged-input-resent"}},
		{"an input of another type", "temporary-then-ok", edited("temporary-then-ok", 2, `{"shipment_ref":"SHIP-104"}`, `"SHIP-104"`), []string{"members"}},
		{"authenticated", "auth-unchanged", edited("auth-unchanged", 1, `false`, `true`), []string{"authentication"}},
		{"a text for a Boolean", "auth-unchanged", edited("auth-unchanged", 1, `false`, `"false"`), []string{"members"}},
		{"a code and an action", "auth-unchanged", edited("auth-unchanged", 1, `"AUTH_REQUIRED","action":"request_authentication"`, `"OK","action":"complete"`), []string{"conditions", "action"}},
		{"no disposition", "auth-unchanged", edited("auth-unchanged", 1, `"needs_auth"`, `null`), []string{"disposition"}},
		{"a disposition", "auth-renewed", edited("auth-renewed", 1, `null`, `"needs_auth"`), []string{"disposition"}},
		{"a number for a disposition", "auth-unchanged", edited("auth-unchanged", 1, `"needs_auth"`, `1`), []string{"members"}},
		{"white space", "auth-unchanged", edited("auth-unchanged", 1, `,`, ` ,`), []string{"form"}},
		{"nothing after the first", "temporary-persistent", lines("temporary-persistent")[:1], []string{"missing-execution", "missing-execution"}},

		{"one more after OK", "immediate-success", extended("immediate-success", "", ""), []string{"execution-after-success"}},
		{"one more after a refusal", "access-denied", extended("access-denied", "", ""), []string{"retry-after-refusal"}},
		{"one more after an unknown code", "unknown-code", extended("unknown-code", "", ""), []string{"retry-after-unknown"}},
		{"one more without authentication", "auth-unchanged", extended("auth-unchanged", "", ""), []string{"retry-without-renewal"}},
		{"the refused input once more", "invalid-unchanged", extended("invalid-unchanged", "", ""), []string{"unchanged-input-resent"}},
		{"another input after a refused one", "invalid-unchanged", extended("invalid-unchanged", `ship104`, `SHIP-999`), []string{"input"}},
		{"a fourth", "temporary-persistent", extended("temporary-persistent", "", ""), []string{"budget"}},
		{"a third and a fourth", "temporary-then-ok", extended("temporary-then-ok", "", "", "", ""), []string{"execution-after-success", "budget"}},
		{"two more after an unknown code", "unknown-code", extended("unknown-code", `STATUS_SERVICE_ODDITY`, `ACCESS_DENIED`, "", ""), []string{"retry-after-unknown", "retry-after-refusal"}},
		{"two more, after a wait", "immediate-success", extended("immediate-success", `"OK"`, `"TEMP_UNAVAILABLE"`, "", ""), []string{"execution-after-success", "execution-after-success"}},
		{"beyond the end, and early before", "temporary-then-ok", append(edited("temporary-then-ok", 2, `:1000`, `:999`), extended("temporary-then-ok", "", "")[2]), []string{"execution-after-success", "early"}},
		{"wrong numbers beyond the end", "temporary-then-ok", append(lines("temporary-then-ok"), lines("temporary-then-ok")[1]), []string{"numbering", "execution-after-success"}},
	} {
		o := judged(t, s, c.of, c.lines...)
		if got := broken(o); !slices.Equal(got, c.broken) || len(o.Void) > 0 || o.Failed != 1 || o.Failures[0].Case != c.of {
			t.Errorf("%s: %q broken, want %q; %d failed; void: %q", c.name, got, c.broken, o.Failed, o.Void)
		}
	}
}

// TestDifferences: what a report says of a line that differs.
func TestDifferences(t *testing.T) {
	s := builtin(t, "recovery-v1")
	literal := string(s.Cases[place(t, s, "access-denied")].Oracle[0])
	second := strings.Replace(literal, `"execution":1`, `"execution":2`, 1)
	long := strings.Repeat("é", 2001)
	for _, c := range []struct {
		name  string
		lines []string
		want  string // what the last finding shows: execution, expected, got, difference
	}{
		{"beyond the end", []string{literal, second}, "2 - B the case had ended with execution 1"},
		{"a value", []string{strings.Replace(literal, `"stop"`, `"complete"`, 1)}, `1 A B action is "complete", expected "stop"`},
		{"a type", []string{strings.Replace(literal, `"stop"`, `1`, 1)}, `1 A B action is 1, which is of another type than "stop"`},
		{"a form", []string{strings.Replace(literal, `"at_ms":0`, `"at_ms":0.0`, 1)}, `1 A B the values are right, and the bytes differ from byte 138 on: got ".0,\"disposition\":\"refuse", expected ",\"disposition\":\"refused\""`},
		{"the form of the end", []string{literal + " "}, `1 A B the values are right, and the bytes differ from byte 163 on: got " ", expected ""`},
		{"a long value", []string{strings.Replace(literal, `"stop"`, `"`+long+`"`, 1)}, `1 A … action is "` + long[:2*1999] + `…, expected "stop"`},
	} {
		o := judged(t, s, "access-denied", c.lines...)
		findings := o.Failures[0].Findings
		f := findings[len(findings)-1]
		got := fmt.Sprint(f.Execution)
		for _, shown := range []string{f.Expected, f.Got} {
			switch {
			case shown == "":
				got += " -"
			case shown == literal:
				got += " A"
			case shown == c.lines[len(c.lines)-1]:
				got += " B"
			case strings.HasSuffix(shown, "…") && utf8.RuneCountInString(shown) == 2001:
				got += " …"
			}
		}
		if got += " " + f.Difference; got != c.want || f.Clause == "" {
			t.Errorf("%s: got %s, by %q, want %s", c.name, got, f.Clause, c.want)
		}
	}
}

// TestMissingDifference: where an execution is missing, nothing was got.
func TestMissingDifference(t *testing.T) {
	s := builtin(t, "recovery-v1")
	lines := s.Cases[place(t, s, "temporary-persistent")].Oracle
	f := judged(t, s, "temporary-persistent", string(lines[0])).Failures[0].Findings
	for i, n := range []int{2, 3} {
		if f[i].Execution != n || f[i].Expected != string(lines[n-1]) || f[i].Got != "" || f[i].Difference != fmt.Sprintf("execution %d is missing", n) {
			t.Errorf("got %+v", f[i])
		}
	}
}

package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

// changed is a built-in suite with a change, read again with its new hashes.
func changed(t *testing.T, name string, change func(s *oracle.Suite)) *oracle.Suite {
	t.Helper()
	s := builtin(t, name)
	change(s)
	s.SHA256, s.OracleSHA256 = s.Hashes()
	text, err := json.Marshal(s, jsontext.PreserveRawStrings(true))
	if err != nil {
		t.Fatal(err)
	}
	s, err = oracle.Parse("suite.json", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// replace changes the first line of a list that has a text.
func replace(lines []jsontext.Value, old, new string) {
	for i, line := range lines {
		if strings.Contains(string(line), old) {
			lines[i] = jsontext.Value(strings.Replace(string(line), old, new, 1))
			return
		}
	}
	panic("no line has " + old)
}

// TestLint: each reason not to trust a suite is told, and no other with it.
func TestLint(t *testing.T) {
	of := func(s *oracle.Suite, name string) *oracle.Case { return &s.Cases[place(t, s, name)] }
	for _, c := range []struct {
		name, suite string
		change      func(s *oracle.Suite)
		want        []string
	}{
		{"nothing", "recovery-v1", func(*oracle.Suite) {}, nil},
		{"nothing", "catalogue-v1", func(*oracle.Suite) {}, nil},
		{"its name", "recovery-v1", func(s *oracle.Suite) { s.Name = "Recovery" }, []string{`the suite is named "Recovery"; valid: small letters, digits and hyphens`}},
		{"its version", "recovery-v1", func(s *oracle.Suite) { s.Version = "" }, []string{"the suite has no version"}},
		{"its controls", "recovery-v1", func(s *oracle.Suite) { s.Controls = nil }, []string{"the suite has no controls: nothing shows that it rejects a wrong result"}},
		{"its cases", "recovery-v1", func(s *oracle.Suite) { s.Cases = nil }, []string{"the suite has no cases"}},
		{"its fixture", "catalogue-v1", func(s *oracle.Suite) { s.Fixture = nil }, []string{"the suite has no fixture"}},
		{"the name of its fixture", "catalogue-v1", func(s *oracle.Suite) { s.Fixture.Name = "" }, []string{"the suite has no fixture"}},
		{"an empty fixture", "catalogue-v1", func(s *oracle.Suite) { s.Fixture.Items = nil }, []string{"the suite has no fixture"}},
		{"a fixture", "recovery-v1", func(s *oracle.Suite) { s.Fixture = &oracle.Fixture{} }, []string{"only a catalogue suite"}},

		{"two cases of a name", "catalogue-v1", func(s *oracle.Suite) { s.Cases = append(s.Cases, s.Cases[1]) }, []string{"case R1: cases 2 and 7 have this name"}},
		{"why", "recovery-v1", func(s *oracle.Suite) { of(s, "access-denied").Why = "" }, []string{"case access-denied: it needs why and clause"}},
		{"clause", "recovery-v1", func(s *oracle.Suite) { of(s, "access-denied").Clause = "" }, []string{"case access-denied: it needs why and clause"}},
		{"no oracle", "catalogue-v1", func(s *oracle.Suite) { of(s, "S1").Oracle = nil }, []string{"case S1: it has no oracle", "case S1: a catalogue case has one answer and no records"}},
		{"the name of a case", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "access-denied")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), "access-denied", "Access_", 1))
			replace(c.Oracle, "access-denied", "Access_")
			replace(c.Records, "access-denied", "Access_")
		}, []string{"case Access_: valid names: small letters, digits and hyphens"}},

		{"two answers", "catalogue-v1", func(s *oracle.Suite) { c := of(s, "S1"); c.Oracle = append(c.Oracle, c.Oracle[0]) }, []string{"case S1: a catalogue case has one answer and no records"}},
		{"records", "catalogue-v1", func(s *oracle.Suite) { c := of(s, "S1"); c.Records = c.Oracle }, []string{"case S1: a catalogue case has one answer and no records"}},
		{"an answer that is no object", "catalogue-v1", func(s *oracle.Suite) { of(s, "S1").Oracle[0] = jsontext.Value(`[]`) }, []string{"case S1: the answer: it is no JSON object"}},
		{"the answer to another", "catalogue-v1", func(s *oracle.Suite) { replace(of(s, "S1").Oracle, `"S1"`, `"S2"`) }, []string{"case S1: the answer is not of this request, or its members are not those of its status"}},
		{"another order", "catalogue-v1", func(s *oracle.Suite) {
			replace(of(s, "S2").Oracle, `"basis":"filters_only","recommendation":false`, `"recommendation":false,"basis":"filters_only"`)
		}, []string{"case S2: the answer is not of this request, or its members are not those of its status"}},
		{"ids of numbers", "catalogue-v1", func(s *oracle.Suite) { replace(of(s, "S1").Oracle, `"A"`, `1`) }, []string{"case S1: ids is no list of texts"}},
		{"no items", "catalogue-v1", func(s *oracle.Suite) {
			replace(of(s, "R1").Oracle, `{"id":"B","rank":1},{"id":"D","rank":1},{"id":"A","rank":3}`, ``)
		}, []string{"case R1: items is no list of {id, rank}"}},
		{"one item", "catalogue-v1", func(s *oracle.Suite) { replace(of(s, "R1").Oracle, `{"id":"B","rank":1},{"id":"D","rank":1},`, ``) }, nil},
		{"another member of an item", "catalogue-v1", func(s *oracle.Suite) { replace(of(s, "R1").Oracle, `"rank":1`, `"rang":1`) }, []string{"case R1: items is no list of {id, rank}"}},

		{"a line that is no trace", "recovery-v1", func(s *oracle.Suite) { replace(of(s, "access-denied").Oracle, `"at_ms":0`, `"at_ms":"0"`) }, []string{"case access-denied: oracle line 1: "}},
		{"the trace of another", "recovery-v1", func(s *oracle.Suite) { replace(of(s, "access-denied").Oracle, `"access-denied"`, `"access"`) }, []string{"case access-denied: oracle line 1 is not execution 1 of a case that ends with its last line within 3 executions"}},
		{"another number", "recovery-v1", func(s *oracle.Suite) {
			replace(of(s, "auth-renewed").Oracle, `"execution":2`, `"execution":3`)
		}, []string{"case auth-renewed: oracle line 2 is not execution 2 of a case that ends with its last line within 3 executions"}},
		{"an end too early", "recovery-v1", func(s *oracle.Suite) { replace(of(s, "auth-renewed").Oracle, `null`, `"needs_auth"`) }, []string{"case auth-renewed: oracle line 1 is not execution 1 of a case that ends with its last line within 3 executions"}},
		{"no end", "recovery-v1", func(s *oracle.Suite) { replace(of(s, "access-denied").Oracle, `"refused"`, `null`) }, []string{"case access-denied: oracle line 1 is not execution 1 of a case that ends with its last line within 3 executions"}},
		{"a fourth execution", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "temporary-persistent")
			c.Oracle, c.Records = append(c.Oracle, slices.Clone(c.Oracle[2])), append(c.Records, slices.Clone(c.Records[2]))
			c.Oracle[2] = slices.Clone(c.Oracle[2])
			replace(c.Oracle[2:3], `"retry_exhausted"`, `null`)
			replace(c.Oracle[3:], `"execution":3`, `"execution":4`)
			replace(c.Records[3:], `"execution":3`, `"execution":4`)
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"responses":[`, `"responses":["OK",`, 1))
		}, []string{"case temporary-persistent: oracle line 4 is not execution 4 of a case that ends with its last line within 3 executions"}},
		{"a response too few", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "temporary-persistent")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"TEMP_UNAVAILABLE",`, ``, 1))
		}, []string{"case temporary-persistent: execution 3 reaches the dependency and responses has no entry 3 for it"}},
		{"no response for a success", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "immediate-success")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"OK"`, ``, 1))
		}, []string{"case immediate-success: execution 1 reaches the dependency and responses has no entry 1 for it"}},
		{"a response too many", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "immediate-success")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"OK"`, `"OK","OK"`, 1))
		}, nil},

		{"a record too few", "recovery-v1", func(s *oracle.Suite) { c := of(s, "auth-renewed"); c.Records = c.Records[:1] }, []string{"case auth-renewed: 1 records for 2 executions"}},
		{"a record of another form", "recovery-v1", func(s *oracle.Suite) {
			replace(of(s, "auth-renewed").Records[1:], `"message_names"`, `"names"`)
		}, []string{"case auth-renewed: record 2 is not that of its execution"}},
		{"the record of another", "recovery-v1", func(s *oracle.Suite) {
			replace(of(s, "auth-renewed").Records[1:], `"auth-renewed"`, `"auth"`)
		}, []string{"case auth-renewed: record 2 is not that of its execution"}},
		{"the record of another execution", "recovery-v1", func(s *oracle.Suite) {
			replace(of(s, "auth-renewed").Records[1:], `"execution":2`, `"execution":1`)
		}, []string{"case auth-renewed: record 2 is not that of its execution"}},
		{"a record without a code", "recovery-v1", func(s *oracle.Suite) { replace(of(s, "auth-renewed").Records[1:], `"OK"`, `""`) }, []string{"case auth-renewed: record 2 is not that of its execution"}},
		{"a record of another code", "recovery-v1", func(s *oracle.Suite) { replace(of(s, "auth-renewed").Records[1:], `"OK"`, `"ODDITY"`) }, []string{"case auth-renewed: record 2 has code ODDITY and the trace OK"}},

		// What a case says of itself must hold together: an honest subject would
		// fail by it otherwise.
		{"another wait in a record", "recovery-v1", func(s *oracle.Suite) {
			replace(of(s, "temporary-then-ok").Records, "1000", "20")
		}, []string{"case temporary-then-ok: record 1 has another field or wait"}},
		{"another time", "recovery-v1", func(s *oracle.Suite) { replace(of(s, "temporary-then-ok").Oracle, `"at_ms":1000`, `"at_ms":999`) }, []string{"case temporary-then-ok: execution 2 has input"}},
		{"a response that is refused", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "immediate-success")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"OK"`, `"ACCESS_DENIED"`, 1))
		}, []string{"case immediate-success: execution 1 has the code OK, and its conditions give ACCESS_DENIED"}},
		{"a valid input that is refused", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "invalid-unchanged")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), "ship104", "SHIP-104", 1))
			replace(c.Oracle, "ship104", "SHIP-104")
		}, []string{"case invalid-unchanged: execution 1 reaches the dependency"}},
		{"an authentication that nobody renewed", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "auth-renewed")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"renewal":true`, `"renewal":false`, 1))
		}, []string{"case auth-renewed: execution 2 has the code OK, and its conditions give AUTH_REQUIRED"}},
		{"a correction that nobody supplied", "recovery-v1", func(s *oracle.Suite) {
			c := of(s, "invalid-corrected")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"correction":{"shipment_ref":"SHIP-104"}`, `"correction":{"shipment_ref":"SHIP-105"}`, 1))
		}, []string{"case invalid-corrected: execution 2 has input"}},
		{"a negative wait", "recovery-v1-extended", func(s *oracle.Suite) {
			c := of(s, "dependency-refuses-after-a-wait")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"retry_after_ms":20`, `"retry_after_ms":-5`, 1))
		}, []string{"case dependency-refuses-after-a-wait: a wait of -5 ms"}},
		{"the longest wait", "recovery-v1-extended", func(s *oracle.Suite) {
			c := of(s, "dependency-refuses-after-a-wait")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"retry_after_ms":20`, `"retry_after_ms":274877906944`, 1))
			replace(c.Oracle, `"at_ms":20`, `"at_ms":274877906944`)
			replace(c.Records, `"retry_after_ms":20`, `"retry_after_ms":274877906944`)
		}, nil},
		{"a millisecond more", "recovery-v1-extended", func(s *oracle.Suite) {
			c := of(s, "dependency-refuses-after-a-wait")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"retry_after_ms":20`, `"retry_after_ms":274877906945`, 1))
		}, []string{"case dependency-refuses-after-a-wait: a wait of 274877906945 ms"}},
		{"a wait beyond any clock", "recovery-v1-extended", func(s *oracle.Suite) {
			c := of(s, "dependency-refuses-after-a-wait")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"retry_after_ms":20`, `"retry_after_ms":10000000000000`, 1))
		}, []string{"case dependency-refuses-after-a-wait: a wait of 10000000000000 ms"}},
		{"no wait", "recovery-v1-extended", func(s *oracle.Suite) {
			c := of(s, "dependency-refuses-after-a-wait")
			c.Line = jsontext.Value(strings.Replace(string(c.Line), `"retry_after_ms":20`, `"retry_after_ms":null`, 1))
		}, []string{"case dependency-refuses-after-a-wait: TEMP_UNAVAILABLE states no wait"}},
		{"a record without a member", "recovery-v1", func(s *oracle.Suite) {
			replace(of(s, "access-denied").Records, `"field":null,`, "")
		}, []string{"case access-denied: record 1 is not that of its execution"}},
		{"a trace of null", "recovery-v1", func(s *oracle.Suite) {
			replace(of(s, "access-denied").Oracle, `"at_ms":0`, `"at_ms":null`)
		}, []string{"case access-denied: oracle line 1: at_ms is null, which is of the wrong type"}},
		{"an item that is a number", "catalogue-v1", func(s *oracle.Suite) { s.Fixture.Items[0] = jsontext.Value("1") }, []string{"item 1 of the fixture has no id"}},
		{"missing that is no list", "catalogue-v1", func(s *oracle.Suite) {
			replace(of(s, "U1").Oracle, `["colour_accuracy_evidence"]`, `"colour_accuracy_evidence"`)
		}, []string{"case U1: missing is no list of texts", "case U1: missing is"}},
		{"a rank that is a text", "catalogue-v1", func(s *oracle.Suite) { replace(of(s, "R1").Oracle, `"rank":1`, `"rank":"1"`) }, []string{"case R1: items is no list of {id, rank}"}},

		{"the name of a control", "recovery-v1", func(s *oracle.Suite) { s.Controls[0].Name = "A" }, []string{`control "A": its name is taken, or is not of small letters, digits and hyphens`}},
		{"two controls of a name", "recovery-v1", func(s *oracle.Suite) { s.Controls[1].Name = s.Controls[0].Name }, []string{`control "retries-a-refusal": its name is taken, or is not of small letters, digits and hyphens`}},
		{"why a control", "recovery-v1", func(s *oracle.Suite) { s.Controls[0].Why = "" }, []string{"control retries-a-refusal: it needs why"}},
		{"another rule", "recovery-v1", func(s *oracle.Suite) { s.Controls[0].Rule = "status" }, []string{`control retries-a-refusal: "status" is no rule of recovery-v1`}},
		{"the first rule", "recovery-v1", func(s *oracle.Suite) { s.Controls[0].Rule = "members" }, nil}, // it is one; whether it rejects is for Prove
		{"another case", "recovery-v1", func(s *oracle.Suite) { s.Controls[0].Case = "a" }, []string{`control retries-a-refusal: "a" is no case`}},
		{"a control that is right", "recovery-v1", func(s *oracle.Suite) { s.Controls[0].Results = of(s, "access-denied").Oracle }, []string{"control retries-a-refusal: its results are those of the oracle"}},
	} {
		got := changed(t, c.suite, c.change).Lint()
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLintOfBytes: what is hashed and compared is what stands in the file.
func TestLintOfBytes(t *testing.T) {
	for name, change := range map[string]func(c *oracle.Case){
		"case":   func(c *oracle.Case) { c.Line = append(jsontext.Value("{ "), c.Line[1:]...) },
		"oracle": func(c *oracle.Case) { c.Oracle[0] = append(jsontext.Value("{ "), c.Oracle[0][1:]...) },
		"record": func(c *oracle.Case) { c.Records[0] = append(jsontext.Value("{ "), c.Records[0][1:]...) },
		"text":   func(c *oracle.Case) { c.Line = append(c.Line, '}') },
	} {
		s := builtin(t, "recovery-v1")
		cases, lines := s.Hashes()
		change(&s.Cases[0])
		newCases, newLines := s.Hashes()
		want := []string{"case invalid-unchanged: the line is not compact: "}
		if newCases != cases {
			want = append([]string{fmt.Sprintf("sha256 is %s, and the cases have %s", cases, newCases)}, want...)
		} else {
			want = append([]string{fmt.Sprintf("oracle_sha256 is %s, and the oracle has %s", lines, newLines)}, want...)
		}
		if (newCases != cases) == (newLines != lines) {
			t.Errorf("%s: which hash has changed?", name)
		}
		if got := s.Lint(); !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestParse: where a suite cannot be read.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "suite.json:1: not a suite: ",
		"{\n\"suite\":1,\n\"version\":\"1\"}": "suite.json:2: not a suite: ",
		"{\n\"suite\":\"x\",\n\n\"suite\":\"y\"}": "suite.json:4: not a suite: ",
		"{\n\"note\":1}":                                                                                           "suite.json:2: not a suite: ",
		`{"suite":"x","cases":[{"case":{}}]}`:                                                                      `suite.json: case 1: the contract is ""; valid: `,
		`{"contract":"catalogue-v1","cases":[{"case":[]}]}`:                                                        "suite.json: case 1: it is no JSON object",
		`{"contract":"catalogue-v1","cases":[{"case":{"tool":"search"}}]}`:                                         "suite.json: case 1: the case has no request_id; valid: a text",
		`{"contract":"catalogue-v1","cases":[{"case":{"request_id":"","tool":"a"}}]}`:                              "suite.json: case 1: the case has no request_id; valid: a text",
		`{"contract":"catalogue-v1","cases":[{"case":{"request_id":"a","tool":"a"}},{"case":{"request_id":"a"}}]}`: "suite.json: case 2: case a has no tool; valid: a text",
	} {
		if _, err := oracle.Parse("suite.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := oracle.Builtin("x"); err == nil || !strings.HasPrefix(err.Error(), "no suite is named x; valid: recovery-v1, ") {
		t.Errorf("a suite that there is not: %v", err)
	}
}

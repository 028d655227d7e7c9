package oracle_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"remit.example/oracle"
)

func builtin(t interface{ Fatal(args ...any) }, name string) *oracle.Suite {
	s, err := oracle.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// accepted reports whether a run passed whole.
func accepted(o *oracle.Outcome) bool { return o.Failed == 0 && len(o.Void) == 0 }

// TestAnyEditIsRejected changes correct results in a few random places: what
// is accepted is the oracle, byte for byte.
func TestAnyEditIsRejected(t *testing.T) {
	for _, name := range slices.Concat(oracle.Names(), oracle.GuardNames()) {
		s := builtin(t, name)
		correct := s.Results()
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			results := bytes.Clone(correct)
			for range rapid.IntRange(1, 3).Draw(t, "edits") {
				results = edit(t, results)
			}
			o, err := s.Judge(bytes.NewReader(results))
			if err != nil {
				t.Fatal(err)
			}
			if accepted(o) != bytes.Equal(results, correct) {
				t.Fatalf("accepted is %v", accepted(o))
			}
			if len(o.Void) == 0 && o.Passed+o.Failed != len(s.Cases) {
				t.Fatalf("%d passed and %d failed of %d", o.Passed, o.Failed, len(s.Cases))
			}
		}))
	}
}

// edit inserts, removes or replaces a few bytes, or moves a line.
func edit(t *rapid.T, text []byte) []byte {
	at := rapid.IntRange(0, len(text)).Draw(t, "at")
	end := min(len(text), at+rapid.IntRange(0, 3).Draw(t, "length"))
	if rapid.Bool().Draw(t, "a line") {
		lines := bytes.SplitAfter(text, []byte("\n"))
		from, to := rapid.IntRange(0, len(lines)-1).Draw(t, "from"), rapid.IntRange(0, len(lines)-1).Draw(t, "to")
		lines[from], lines[to] = lines[to], lines[from]
		return bytes.Join(lines, nil)
	}
	inserted := rapid.SampledFrom([]string{"", "0", " ", "\n", `"`, "}", ",", "null", "\x00", "\xff", `\u0041`, "e0", `"note":1,`, "-", ".0"}).Draw(t, "inserted")
	return bytes.Join([][]byte{text[:at], []byte(inserted), text[end:]}, nil)
}

// FuzzJudge: hostile results neither break the judge nor pass.
func FuzzJudge(f *testing.F) {
	var suites []*oracle.Suite
	for _, name := range oracle.Names()[:2] { // the first frozen ones: small, so that the fuzzer is fast
		s := builtin(f, name)
		suites = append(suites, s)
		f.Add(s.Results())
	}
	f.Add([]byte(`{"case":"access-denied","case":"access-denied"}` + "\n"))
	f.Add([]byte(strings.Repeat("[", 20_000) + "\n"))
	f.Add([]byte(`{"request_id":"S1","status":"matches","ids":["A","A"],"basis":null,"recommendation":{}}` + "\n"))
	f.Add([]byte(`{"request_id":"R1","items":[{"id":"B","rank":1e400}]}` + "\n"))
	f.Fuzz(func(t *testing.T, results []byte) {
		for _, s := range suites {
			o, err := s.Judge(bytes.NewReader(results))
			if err != nil {
				t.Fatal(err)
			}
			if accepted(o) != bytes.Equal(results, s.Results()) {
				t.Errorf("%s: accepted is %v", s.Name, accepted(o))
			}
		}
	})
}

// FuzzParse: a hostile suite neither breaks the parser nor its lint.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"suite":"x","version":"1","contract":"recovery-v1","sha256":"","oracle_sha256":"","controls":[],"cases":[{"why":"w","clause":"c","case":{"case":"a","input":{},"auth_ok":true,"allowed":true,"responses":["OK"],"correction":null,"renewal":false},"oracle":[{"case":"a","execution":1,"input":{},"auth_ok":true,"code":"OK","action":"complete","at_ms":0,"disposition":"success"}],"records":[]}]}`))
	f.Add([]byte(`{"suite":"x","contract":"catalogue-v1","cases":[{"case":{"request_id":"a","tool":"search"},"oracle":[{"request_id":"a","status":"preference_order","items":[],"basis":"x","recommendation":false}]}]}`))
	f.Add(platformOf(platformCase, platformResult))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := oracle.Parse("suite.json", text)
		if err != nil {
			return
		}
		if len(s.Lint()) == 0 {
			s.Prove()
		}
	})
}

// TestJudgeEdges: where results end, and how long a line may be.
func TestJudgeEdges(t *testing.T) {
	s := builtin(t, "recovery-v1")
	correct := string(s.Results())
	for name, c := range map[string]struct{ results, void string }{
		"cut off":           {strings.TrimSuffix(correct, "\n"), "line 14: the last line does not end with a newline"},
		"a long line":       {strings.Repeat(" ", 1<<20+1) + "\n", "line 1: a result line has at most 1048576 bytes"},
		"nothing at all":    {"", "invalid-unchanged has no line"},
		"a blank line":      {correct + "\n", "line 15: not a result line"},
		"a byte order mark": {"\ufeff" + correct, "line 1: not a result line"},
		"a case twice":      {correct + strings.SplitAfter(correct, "\n")[0], "line 15: invalid-unchanged comes after immediate-success"},
	} {
		o, err := s.Judge(strings.NewReader(c.results))
		if err != nil || len(o.Void) == 0 || !strings.HasPrefix(o.Void[0], c.void) {
			t.Errorf("%s: %v, %q", name, err, o.Void)
		}
	}
	o, err := s.Judge(iotest.OneByteReader(strings.NewReader(correct)))
	if err != nil || !accepted(o) {
		t.Errorf("byte by byte: %v, %+v", err, o)
	}
	if _, err := s.Judge(iotest.ErrReader(iotest.ErrTimeout)); err == nil {
		t.Error("the error of the reader is lost")
	}
}

// TestLongestLine: a line of just the bytes that it may have is judged, and one
// with a byte more is not.
func TestLongestLine(t *testing.T) {
	s := builtin(t, "recovery-v1")
	correct := string(s.Results())
	end := strings.Index(correct, "\n")
	for more, void := range []string{"", "line 1: a result line has at most 1048576 bytes"} {
		long := correct[:end] + strings.Repeat(" ", 1<<20-end+more) + correct[end:]
		o, err := s.Judge(strings.NewReader(long))
		if err != nil || len(o.Void) > 0 != (more > 0) || void != strings.Join(o.Void[:min(len(o.Void), 1)], "") {
			t.Errorf("%d bytes too many: %v, void: %q", more, err, o.Void)
		}
		if more == 0 && (o.Failed != 1 || o.Failures[0].Findings[0].Rule != "form" || o.Passed != len(s.Cases)-1) {
			t.Errorf("%d passed, %d failed", o.Passed, o.Failed)
		}
	}
}

// TestOutOfOrder: a case whose lines come too late has lines.
func TestOutOfOrder(t *testing.T) {
	s := builtin(t, "catalogue-v1")
	lines := strings.SplitAfter(string(s.Results()), "\n")
	for name, c := range map[string]struct {
		order []int
		void  []string // how each begins
	}{
		"exchanged":             {[]int{1, 0, 2, 3, 4, 5}, []string{"line 2: S1 comes after R1; "}},
		"exchanged, one absent": {[]int{1, 0, 2, 4, 5}, []string{"line 2: S1 comes after R1; ", "U1 has no line"}},
		"two too late":          {[]int{2, 0, 1, 3, 4, 5}, []string{"line 2: S1 comes after R2; "}},
		"one twice":             {[]int{0, 1, 0, 2, 3, 4, 5}, []string{"line 3: S1 comes after R1; "}},
		"two absent":            {[]int{1, 2, 4, 5}, []string{"S1 has no line", "U1 has no line"}},
	} {
		var results strings.Builder
		for _, i := range c.order {
			results.WriteString(lines[i])
		}
		o, err := s.Judge(strings.NewReader(results.String()))
		if err != nil || !slices.EqualFunc(o.Void, c.void, strings.HasPrefix) {
			t.Errorf("%s: %v, void: %q, want %q", name, err, o.Void, c.void)
		}
	}
}

// TestHints: what commonly makes a line unreadable is said.
func TestHints(t *testing.T) {
	s := builtin(t, "recovery-v1")
	for line, hint := range map[string]string{
		"{":           "a result stands on one line",
		" [ ":         "a result stands on one line",
		"\ufeff{}":    "it begins with a byte order mark",
		"]":           "",
		`{"case":x}`:  "",
		"[{}]":        "",
		`{"case":"a"`: "",
	} {
		o, err := s.Judge(strings.NewReader(line + "\n"))
		if err != nil || !strings.HasPrefix(o.Void[0], "line 1: not a result line: ") {
			t.Errorf("%s: %v, %q", line, err, o.Void)
			continue
		}
		if hint == "" && strings.Contains(o.Void[0], " (") || hint != "" && !strings.Contains(o.Void[0], " ("+hint) {
			t.Errorf("%s: %q, want the hint %q", line, o.Void[0], hint)
		}
	}
	o, err := s.Judge(strings.NewReader(`{"case":x}` + "\n"))
	if err != nil || !strings.HasPrefix(o.Void[0], "line 1: not a result line: it is no valid JSON at byte 9: ") {
		t.Errorf("the place of the fault: %v, %q", err, o.Void)
	}
}

package oracle_test

import (
	"bytes"
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
	for _, name := range oracle.Names() {
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
	for _, name := range oracle.Names()[:2] { // the frozen ones: small, so that the fuzzer is fast
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

package oracle

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// The text shows so many failed cases, and reasons for a void run, of a suite.
const (
	maxPrinted     = 20
	maxVoidPrinted = 6
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	if len(r.Suites) > 1 {
		r.operators(&b)
	}
	for _, s := range r.Suites {
		s.text(&b)
	}
	fmt.Fprintf(&b, "%s\n", r.summary())
	section(&b, "It establishes:", r.Establishes)
	section(&b, "It does not establish:", r.DoesNotEstablish)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *SuiteReport) text(b *strings.Builder) {
	for _, fault := range s.Void[:min(len(s.Void), maxVoidPrinted)] {
		fmt.Fprintf(b, "VOID %s: %s\n", s.Name, lines(fault))
	}
	if rest := len(s.Void) - maxVoidPrinted; rest > 0 {
		fmt.Fprintf(b, "VOID %s: and %d more such lines; --report json lists more\n", s.Name, rest)
	}
	for _, failure := range s.Failures[:min(len(s.Failures), maxPrinted)] {
		failure.text(b, s.Name)
	}
	if rest := s.Cases.Failed - maxPrinted; rest > 0 {
		fmt.Fprintf(b, "and %d more failed cases of %s; --report json lists the first %d\n", rest, s.Name, maxDetailed)
	}
	s.counts(b)
	for _, u := range s.Unchecked {
		fmt.Fprintf(b, "  unchecked: %s, %d times: %s\n", u.What, u.Count, printable(u.Reason))
	}
}

// counts says what a suite came to; an application has neither controls nor
// mutants.
func (s *SuiteReport) counts(b *strings.Builder) {
	if s.Version == "" {
		fmt.Fprintf(b, "%s: provocations %d passed, %d failed\n", s.Name, s.Cases.Passed, s.Cases.Failed)
		for _, n := range s.Provoked {
			fmt.Fprintf(b, "  %s: %d passed, %d failed\n", n.Rule, n.Passed, n.Failed)
		}
		return
	}
	verdict := fmt.Sprintf("cases %d passed, %d failed", s.Cases.Passed, s.Cases.Failed)
	switch {
	case len(s.Void) > 0:
		verdict = "not judged"
	case s.Replays == Identical:
		verdict += " in two identical replays"
	case s.Replays == Differ:
		verdict += ", and two replays differ"
	}
	fmt.Fprintf(b, "%s %s: %s; the judge: controls %d rejected, %d accepted; mutants %d killed, %d survived, %d equivalent\n",
		s.Name, s.Version, verdict, s.Controls.Rejected, s.Controls.Accepted,
		s.Mutants.Killed, s.Mutants.Survived, s.Mutants.Equivalent)
	for _, n := range s.Checks {
		fmt.Fprintf(b, "  %s: %d passed, %d failed, %d unchecked\n", n.Check, n.Passed, n.Failed, n.Unchecked)
	}
}

func (c *CaseFailure) text(b *strings.Builder, suite string) {
	first := c.Findings[0]
	fmt.Fprintf(b, "FAIL %s %s: %s\n", suite, printable(c.Case), first.Rule)
	fmt.Fprintf(b, "  expected    %s\n  got         %s\n  difference  %s\n  clause      %s\n  case        %s\n",
		orNothing(first.Expected), orNothing(first.Got), first.where(), first.Clause, printable(c.Why))
	var also []string
	for _, f := range c.Findings[1:] {
		if f.Rule != first.Rule && !slices.Contains(also, f.Rule) {
			also = append(also, f.Rule)
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(b, "  also        %s\n", strings.Join(also, ", "))
	}
}

func orNothing(line string) string {
	if line == "" {
		return "nothing"
	}
	return printable(line)
}

// where is the difference with the execution that it is in.
func (f *Finding) where() string {
	if f.Execution == 0 {
		return printable(f.Difference)
	}
	return fmt.Sprintf("execution %d: %s", f.Execution, printable(f.Difference))
}

// printable keeps what is judged from moving the cursor of a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return '�'
		}
		return r
	}, text)
}

// lines is a text of several lines, printable.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		all[i] = printable(line)
	}
	return strings.Join(all, "\n  ")
}

// operators prints the mutants of all suites by operator.
func (r *Report) operators(b *strings.Builder) {
	var total []OperatorCount
	for _, s := range r.Suites {
		for _, n := range s.Operators {
			at := slices.IndexFunc(total, func(t OperatorCount) bool { return t.Operator == n.Operator })
			if at < 0 {
				total = append(total, OperatorCount{Operator: n.Operator})
				at = len(total) - 1
			}
			total[at].Killed += n.Killed
			total[at].Survived += n.Survived
			total[at].Equivalent += n.Equivalent
		}
	}
	fmt.Fprintf(b, "%-26s %8s %8s %10s\n", "mutants by operator", "killed", "survived", "equivalent")
	for _, n := range total {
		fmt.Fprintf(b, "%-26s %8d %8d %10d\n", n.Operator, n.Killed, n.Survived, n.Equivalent)
	}
	fmt.Fprintln(b)
}

// summary is the verdict in one sentence.
func (r *Report) summary() string {
	var cases, failed int
	for _, s := range r.Suites {
		cases += s.Cases.Passed + s.Cases.Failed
		failed += s.Cases.Failed
	}
	judged := printable(r.Judged)
	switch r.Verdict {
	case VoidRun:
		return fmt.Sprintf("Void: the harness failed, and nothing was judged of %s.", judged)
	case Violates:
		return fmt.Sprintf("Violates: %s, in %d of %d cases%s.", judged, failed, cases, r.leftOut())
	}
	if r.Verdict == Undecided {
		return fmt.Sprintf("Undecided: %s breaks no rule, and not all final answers could be read%s.", judged, r.leftOut())
	}
	return fmt.Sprintf("Conforms: %s, in all %d cases%s.", judged, cases, r.leftOut())
}

// leftOut says how much of an application was not provoked, and of a recording
// not decided.
func (r *Report) leftOut() string {
	n := 0
	for _, s := range r.Suites {
		for _, u := range s.Unchecked {
			n += u.Count
		}
	}
	if n == 0 || r.Subject != Application && r.Subject != Recording {
		return ""
	}
	return fmt.Sprintf("; %d unchecked", n)
}

func section(b *strings.Builder, title string, sentences []string) {
	fmt.Fprintln(b, title)
	for _, sentence := range sentences {
		fmt.Fprintf(b, "  - %s\n", sentence)
	}
}

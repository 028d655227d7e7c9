package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"remit.example/guard"
	"remit.example/guard/trace"
	"remit.example/operation"
	"remit.example/record"
)

const guardReportLong = `Say what a guard did, from its trace: calls, executions, executions avoided and
why, each tool, and the writes whose outcome nobody knows yet. Of a guard that
only observes it says what would have been avoided.

TRACE is what remit guard --trace wrote; - reads standard input. Several files
are one trace, such as those that were rotated.`

const guardReportExample = `  remit guard report trace.jsonl
  remit guard report trace.jsonl.* trace.jsonl --report json`

func newGuardReport() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "report TRACE…",
		Short:   "Say what a guard did, or would have done, from its trace",
		Long:    guardReportLong,
		Example: guardReportExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("guard report takes a file that remit guard --trace wrote, or - for standard input")
			}
			if format != "text" && format != "json" {
				return usage("--report %s is no format; valid: json, text", format)
			}
			r, err := reportOf(args, cmd.InOrStdin(), time.Now())
			if err != nil {
				return badInput(err)
			}
			if format == "json" {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				return encoder.Encode(r)
			}
			return r.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&format, "report", "text", "`FORMAT` of the report: text or json")
	return cmd
}

// guardReport is what a trace comes to.
type guardReport struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Upstreams []string  `json:"upstreams"`
	Runs      int       `json:"runs"` // starts of a guard
	Callers   int       `json:"callers"`

	Calls      int `json:"calls"`
	Executions int `json:"executions"`
	Repeated   int `json:"repeated"` // executions that the guard itself repeated
	NotSent    int `json:"not_sent"` // calls that the server did not get, or did not take
	Avoided    int `json:"avoided"`
	WouldAvoid int `json:"would_avoid"` // of those that were executed, while a guard observed

	AvoidedBy    []guardReason  `json:"avoided_by"`
	WouldAvoidBy []guardReason  `json:"would_avoid_by"`
	Codes        map[string]int `json:"codes"` // of executions
	Tools        []guardTool    `json:"tools"`
	Open         []openWrite    `json:"open"`
	// Unkept counts writes whose outcome is unknown that no ledger keeps.
	Unkept int `json:"unkept"`

	Establishes        []string `json:"establishes"`
	DoesNotEstablish   []string `json:"does_not_establish"`
	runs, callers      map[string]bool
	tools              map[string]*guardTool
	avoided, wouldBe   map[guardReason]int
	operations         map[string]*openWrite
	upstreams          map[string]bool
	observed, enforced bool
}

// guardReason is why calls were not executed.
type guardReason struct {
	AnsweredFrom string `json:"answered_from"`
	Code         string `json:"code"`
	Why          string `json:"why,omitempty"`
	Count        int    `json:"count"`
}

// guardTool is one tool.
type guardTool struct {
	Tool       string `json:"tool"`
	Effect     string `json:"effect"`
	Calls      int    `json:"calls"`
	Executions int    `json:"executions"`
	Failed     int    `json:"failed"` // executions that were no success
	Avoided    int    `json:"avoided"`
	WouldAvoid int    `json:"would_avoid"`
	at         int64
}

// openWrite is an operation whose outcome was not known at the last line that
// names it.
type openWrite struct {
	Operation string `json:"operation"`
	Tool      string `json:"tool"`
	Caller    string `json:"caller"`
	State     string `json:"state"`
	Since     string `json:"since"`
	AgeMS     int64  `json:"age_ms"`
	first     int64
	last      int64
}

// The bounds of what is read and shown.
const (
	maxReportLine  = 1 << 20
	maxFaultyLines = 20
	maxShownRows   = 50
)

// reportOf reads traces. Its error lists the faulty lines, the first 20 one
// by one.
func reportOf(names []string, in io.Reader, now time.Time) (*guardReport, error) {
	r := &guardReport{
		runs: map[string]bool{}, callers: map[string]bool{}, upstreams: map[string]bool{}, tools: map[string]*guardTool{}, Codes: map[string]int{},
		avoided: map[guardReason]int{}, wouldBe: map[guardReason]int{}, operations: map[string]*openWrite{},
	}
	var faults []error
	faulty, lines := 0, 0
	for _, name := range names {
		err := eachLine(name, in, func(place string, text []byte) {
			lines++
			l, err := trace.Parse(text)
			if err == nil {
				r.add(l)
			} else if faulty++; faulty <= maxFaultyLines {
				faults = append(faults, fmt.Errorf("%s: %w", place, err))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if faulty > maxFaultyLines {
		faults = append(faults, fmt.Errorf("and %d more faulty lines", faulty-maxFaultyLines))
	}
	if lines == 0 {
		faults = append(faults, fmt.Errorf("%s: no line is there", strings.Join(names, ", ")))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	r.end(now)
	return r, nil
}

// eachLine calls f with the lines of a file.
func eachLine(name string, in io.Reader, f func(place string, text []byte)) error {
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxReportLine)
	number := 0
	for lines.Scan() {
		number++
		f(fmt.Sprintf("%s:%d", name, number), lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	return nil
}

// add counts a line.
func (r *guardReport) add(l *trace.Line) {
	at := l.Time()
	if r.From.IsZero() || at.Before(r.From) {
		r.From = at
	}
	if at.After(r.To) {
		r.To = at
	}
	run, _, _ := strings.Cut(l.Case, "-")
	r.runs[run], r.callers[l.Caller], r.upstreams[l.Upstream] = true, true, true
	t := r.tools[l.Tool]
	if t == nil {
		t = &guardTool{Tool: l.Tool}
		r.tools[l.Tool] = t
	}
	if l.AtMS >= t.at {
		t.at, t.Effect = l.AtMS, l.Effect
	}
	if l.Executed() {
		r.Executions++
		t.Executions++
		r.Codes[l.Code]++
		if l.Code != string(record.OK) {
			t.Failed++
		}
		if l.Again {
			r.Repeated++
		}
	}
	r.follow(l)
	if l.Again {
		return
	}
	r.Calls++
	t.Calls++
	switch {
	case l.Avoided():
		r.Avoided++
		t.Avoided++
		r.avoided[guardReason{AnsweredFrom: l.AnsweredFrom, Code: l.Code, Why: l.Why}]++
	case l.WouldAvoid():
		r.WouldAvoid++
		t.WouldAvoid++
		r.wouldBe[guardReason{AnsweredFrom: l.Would, Code: l.WouldCode, Why: l.Why}]++
	case !l.Executed() && l.AnsweredFrom == string(guard.FromTool):
		r.NotSent++
	}
	r.observed = r.observed || l.Mode == "observe"
	r.enforced = r.enforced || l.Mode != "observe"
}

// follow notes what a line says of an operation.
func (r *guardReport) follow(l *trace.Line) {
	state := l.State
	if state == "" && l.Code == string(record.OutcomeUnknown) {
		state = string(operation.Unknown)
	}
	switch {
	case l.Operation == "":
		if l.Executed() && l.Effect != string(record.Read) && l.Code == string(record.OutcomeUnknown) {
			r.Unkept++
		}
		return
	case state == "":
		return
	}
	o := r.operations[l.Operation]
	if o == nil {
		o = &openWrite{Operation: l.Operation, first: l.AtMS}
		r.operations[l.Operation] = o
	}
	if l.AtMS >= o.last {
		o.last, o.State = l.AtMS, state
	}
	o.first = min(o.first, l.AtMS)
	if l.Tool != guard.StatusTool || o.Tool == "" {
		o.Tool, o.Caller = l.Tool, l.Caller
	}
}

// end sorts what was counted.
func (r *guardReport) end(now time.Time) {
	r.Runs, r.Callers, r.Upstreams = len(r.runs), len(r.callers), slices.Sorted(maps.Keys(r.upstreams))
	r.AvoidedBy, r.WouldAvoidBy = reasons(r.avoided), reasons(r.wouldBe)
	r.Tools = []guardTool{}
	for _, t := range r.tools {
		r.Tools = append(r.Tools, *t)
	}
	slices.SortFunc(r.Tools, func(a, b guardTool) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool)) })
	r.Open = []openWrite{}
	for _, o := range r.operations {
		if !operation.State(o.State).Open() {
			continue
		}
		first := time.UnixMilli(o.first)
		o.Since, o.AgeMS = when(first), max(0, now.Sub(first).Milliseconds())
		r.Open = append(r.Open, *o)
	}
	slices.SortFunc(r.Open, func(a, b openWrite) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.Operation, b.Operation))
	})
	r.Establishes = []string{"who answered each of these calls, and which of them were sent to the server."}
	r.DoesNotEstablish = []string{
		"that these are all calls: lines that a full disk lost are not here, nor calls that passed beside the guard.",
		"what took effect at the server, or that an execution which was avoided would have failed.",
	}
	if r.observed {
		r.DoesNotEstablish = append(r.DoesNotEstablish, "what a guard that acts would have saved: where one only observed, every call was made, and an agent that is answered otherwise calls otherwise.")
	}
}

func reasons(counts map[guardReason]int) []guardReason {
	all := []guardReason{}
	for reason, n := range counts {
		reason.Count = n
		all = append(all, reason)
	}
	slices.SortFunc(all, func(a, b guardReason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.AnsweredFrom, b.AnsweredFrom), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Code, b.Code))
	})
	return all
}

// words say why calls of a reason were not executed.
func (g guardReason) words() string {
	switch {
	case g.Why == string(guard.Budget):
		return "the task had used its executions"
	case g.Why == string(guard.Rate):
		return "the rate that the contract permits was used up"
	case g.AnsweredFrom == string(guard.FromMemory):
		return "the same call was refused, and nothing had changed"
	case g.AnsweredFrom == string(guard.FromValidation):
		return "the arguments do not fit the tool's schema"
	}
	if words, ok := ledgerWords[record.Code(g.Code)]; ok {
		return words
	}
	return "the ledger answered"
}

var ledgerWords = map[record.Code]string{
	record.OK:              "the recorded answer of the same write was given",
	record.InProgress:      "the same write was in flight",
	record.OutcomeUnknown:  "whether the same write took effect was not known",
	record.KeyReused:       "a write with the same key or identity has other arguments",
	record.TempUnavailable: "the ledger was not available",
}

func (g guardReason) source() string {
	if g.Why != "" {
		return g.Why
	}
	return g.AnsweredFrom
}

// print prints the report for people.
func (r *guardReport) print(w io.Writer) error {
	var out strings.Builder
	r.printTotals(&out)
	r.printTools(&out)
	r.printOpen(&out)
	out.WriteString("\n")
	for _, sentence := range r.Establishes {
		out.WriteString("It establishes " + sentence + "\n")
	}
	for _, sentence := range r.DoesNotEstablish {
		out.WriteString("It does not establish " + sentence + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// counted is "1 call" or "2 calls".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func (r *guardReport) printTotals(out *strings.Builder) {
	var names []string
	for _, name := range r.Upstreams {
		names = append(names, oneLine(name))
	}
	fmt.Fprintf(out, "%s to %s, %s, %s of a guard of %s\n\n", r.From.Format(time.DateTime), r.To.Format(time.DateTime)+" UTC", counted(r.Callers, "caller"), counted(r.Runs, "run"), strings.Join(names, ", "))
	fmt.Fprintf(out, "%s, %s", counted(r.Calls, "call"), counted(r.Executions, "execution"))
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(r.Codes)) {
		codes = append(codes, fmt.Sprintf("%s %d", oneLine(code), r.Codes[code]))
	}
	if len(codes) > 0 {
		out.WriteString(": " + strings.Join(codes, ", "))
	}
	out.WriteString("\n")
	if r.Repeated > 0 {
		fmt.Fprintf(out, "%s repeated by the guard itself, of a read, after the stated wait\n", counted(r.Repeated, "execution"))
	}
	if r.NotSent > 0 {
		fmt.Fprintf(out, "%s that the server did not get or did not take\n", counted(r.NotSent, "call"))
	}
	if r.enforced || r.Avoided > 0 {
		fmt.Fprintf(out, "%s avoided%s\n", counted(r.Avoided, "execution"), colonIf(r.Avoided))
		printReasons(out, r.AvoidedBy)
	}
	if r.observed {
		fmt.Fprintf(out, "%s that a guard which acts avoids; they were made%s\n", counted(r.WouldAvoid, "execution"), colonIf(r.WouldAvoid))
		printReasons(out, r.WouldAvoidBy)
	}
}

func colonIf(n int) string {
	if n > 0 {
		return ":"
	}
	return ""
}

func printReasons(out *strings.Builder, all []guardReason) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, g := range all[:min(len(all), maxShownRows)] {
		fmt.Fprintf(table, "  %d\t%s\t%s\t%s\n", g.Count, g.source(), oneLine(g.Code), g.words())
	}
	_ = table.Flush() // a strings.Builder takes everything
	if more := len(all) - maxShownRows; more > 0 {
		fmt.Fprintf(out, "  and %s; --report json has them\n", counted(more, "more reason"))
	}
}

func (r *guardReport) printTools(out *strings.Builder) {
	out.WriteString("\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(t guardTool, cells ...string) {
		if r.enforced || r.Avoided > 0 {
			cells = append(cells, fmt.Sprint(t.Avoided))
		}
		if r.observed {
			cells = append(cells, fmt.Sprint(t.WouldAvoid))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	head := []string{"TOOL", "EFFECT", "CALLS", "EXECUTIONS", "FAILED"}
	if r.enforced || r.Avoided > 0 {
		head = append(head, "AVOIDED")
	}
	if r.observed {
		head = append(head, "AVOIDABLE")
	}
	fmt.Fprintln(table, strings.Join(head, "\t"))
	for _, t := range r.Tools[:min(len(r.Tools), maxShownRows)] {
		row(t, oneLine(t.Tool), oneLine(t.Effect), fmt.Sprint(t.Calls), fmt.Sprint(t.Executions), fmt.Sprint(t.Failed))
	}
	_ = table.Flush() // a strings.Builder takes everything
	if more := len(r.Tools) - maxShownRows; more > 0 {
		fmt.Fprintf(out, "and %s; --report json has them\n", counted(more, "more tool"))
	}
}

func (r *guardReport) printOpen(out *strings.Builder) {
	if r.Unkept > 0 {
		fmt.Fprintf(out, "\n%s ended with an unknown outcome while the guard only observed: no ledger keeps them, and only the server can tell.\n", counted(r.Unkept, "write"))
	}
	if len(r.Open) == 0 {
		if r.enforced {
			out.WriteString("\nNo write was left with an unknown outcome.\n")
		}
		return
	}
	fmt.Fprintf(out, "\n%s whose outcome was not known when the trace last named it:\n", counted(len(r.Open), "write"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  OPERATION\tTOOL\tAGE\tSTATE")
	for _, o := range r.Open[:min(len(r.Open), maxShownRows)] {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", oneLine(o.Operation), oneLine(o.Tool), age(time.Duration(o.AgeMS)*time.Millisecond), oneLine(o.State))
	}
	_ = table.Flush() // a strings.Builder takes everything
	if more := len(r.Open) - maxShownRows; more > 0 {
		fmt.Fprintf(out, "  and %d more; --report json has them\n", more)
	}
	first := oneLine(r.Open[0].Operation)
	fmt.Fprintf(out, `The ledger may know more by now, and the server knows:
  remit operations show %s
  remit operations resolve %s --confirmed --reason "how you know"
  remit operations resolve %s --refused --reason "how you know"
`, first, first, first)
}

package trace

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"remit.example/guard"
	"remit.example/record"
)

// Printer prints one line in words for each decision. Observe never waits for
// whoever reads them: lines that are not taken in time are not printed.
type Printer struct{ queue *queue }

// NewPrinter prints to out.
func NewPrinter(out io.Writer) *Printer {
	form := NewForm()
	return &Printer{newQueue(func(batch []guard.Decision) {
		var text strings.Builder
		for _, d := range batch {
			text.WriteString(form.sentence(d) + "\n")
		}
		_, _ = io.WriteString(out, text.String()) // nobody reads them any more
	}, func(int) {})}
}

// Observe prints a decision. It is safe for concurrent use.
func (p *Printer) Observe(d guard.Decision) { p.queue.add(d) }

// Close prints what waits.
func (p *Printer) Close() { p.queue.close() }

// sentence is a decision in one line:
//
//	15:04:05 get_invoice OK, execution 1, 35 ms
//	15:04:06 get_invoice TEMP_UNAVAILABLE from memory, not executed; next wait_and_retry: The sentence.
func (f *Form) sentence(d guard.Decision) string {
	text := fmt.Sprintf("%s %s %s", d.At.UTC().Format("15:04:05"), printable(f.name(d.Tool)), printable(f.name(string(d.Code))))
	switch {
	case d.Execution > 0:
		text += fmt.Sprintf(", execution %d, %d ms", d.Execution, d.Took.Milliseconds())
	case d.From == guard.FromTool:
		text += ", not sent"
	default:
		text += fmt.Sprintf(" from %s, not executed", d.From)
	}
	if d.Why != "" && !d.Observed {
		text += fmt.Sprintf(" (%s)", d.Why)
	}
	if d.Observed && d.Would != "" && d.Would != guard.FromTool {
		text += fmt.Sprintf("; would be %s from %s", printable(f.name(string(d.WouldCode))), d.Would)
	}
	if d.Operation != "" {
		text += fmt.Sprintf("; operation %s", strings.TrimRight(printable(f.name(d.Operation))+" "+string(d.State), " "))
	}
	if d.Code != record.OK {
		text += "; next " + action(d)
	}
	if d.Message != "" {
		text += ": " + printable(clip(Redact(d.Message), maxName))
	}
	return text
}

// printable is a text without what could command a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit.example/oracle"
)

const recountLong = `Recount saved traces of recovery-v1, or those of remit guard, from the traces
alone: how many executions, why each further one was made, how the cases ended.
It judges nothing.

TRACES.jsonl has one line for each execution, grouped by case, or one for each
decision of a guard; - reads standard input.`

const recountExample = `  remit recount recovery/testdata/recovery-v1.traces.jsonl
  remit replay recovery-v1 < cases.jsonl | remit recount - --report json
  remit recount trace.jsonl`

func newRecount() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "recount TRACES.jsonl",
		Short:   "Recount saved traces of recovery-v1 or of a guard",
		Long:    recountLong,
		Example: recountExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("recount takes one file of traces, or - for standard input")
			}
			if format != "text" && format != "json" {
				return usage("--report %s is no format; valid: json, text", format)
			}
			totals, err := recount(args[0], cmd.InOrStdin())
			if err != nil {
				return badInput(err)
			}
			return writeTotals(cmd.OutOrStdout(), totals, format)
		},
	}
	cmd.Flags().StringVar(&format, "report", "text", "`FORMAT` of the report: text or json")
	return cmd
}

func recount(name string, in io.Reader) (*oracle.Totals, error) {
	if name == "-" {
		return oracle.Recount("standard input", in)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return oracle.Recount(name, file)
}

func writeTotals(w io.Writer, t *oracle.Totals, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(t)
	}
	_, err := io.WriteString(w, totalsText(t))
	return err
}

func totalsText(t *oracle.Totals) string {
	var ends []string
	for _, name := range slices.Sorted(maps.Keys(t.Dispositions)) {
		ends = append(ends, fmt.Sprintf("%s %d", name, t.Dispositions[name]))
	}
	text := ""
	if t.Answered != nil {
		text = answeredText(t)
	}
	kinds := []string{
		fmt.Sprintf("%d unchanged after a wait", t.AvailabilityRetries),
		fmt.Sprintf("%d corrected", t.Corrections),
		fmt.Sprintf("%d newly authenticated", t.Authentications),
	}
	for _, kind := range []struct {
		count int
		words string
	}{
		{t.Refreshes, "%d after the state was read again"},
		{t.Checks, "%d with its key, after its outcome was unknown"},
		{t.Replies, "%d that answer a question"},
		{t.BegunBefore, "%d of cases that began before"},
		{t.Unexplained, "%d that none of these permits"},
	} {
		if kind.count > 0 {
			kinds = append(kinds, fmt.Sprintf(kind.words, kind.count))
		}
	}
	text += fmt.Sprintf("%d executions = %d initial + %d subsequent\n", t.Executions, t.Initial, t.Subsequent) +
		fmt.Sprintf("%d subsequent = %s", t.Subsequent, strings.Join(kinds, " + ")) +
		fmt.Sprintf("\n%d cases: %d succeeded, %d ended otherwise", t.Initial+t.BegunBefore, t.Succeeded, t.EndedOtherwise)
	if t.Unfinished > 0 {
		text += fmt.Sprintf(", %d did not end", t.Unfinished)
	}
	text += "\n"
	if len(ends) > 0 || t.Answered == nil {
		text += strings.Join(ends, ", ") + "\n"
	}
	return text + recountBoundary
}

// answeredText is the line of a guard's calls.
func answeredText(t *oracle.Totals) string {
	without := 0
	var from []string
	for _, name := range []string{"memory", "ledger", "validation"} {
		without += t.Answered[name]
		if n := t.Answered[name]; n > 0 {
			from = append(from, fmt.Sprintf("%s %d", name, n))
		}
	}
	text := fmt.Sprintf("%d calls, %d answered without an execution", t.Calls, without)
	if len(from) > 0 {
		text += ": " + strings.Join(from, ", ")
	}
	if n := t.Answered["tool"]; n > 0 {
		text += fmt.Sprintf("; %d not sent, or not taken by the server", n)
	}
	return text + "\n"
}

// recountBoundary says what the counts are.
const recountBoundary = `It establishes what these traces add up to.
It does not establish that they are right, a recovery rate, or how any agent behaves.
`

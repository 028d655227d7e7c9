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

const recountLong = `Recount saved traces of recovery-v1 from the traces alone: how many executions,
why each further one was made, how the cases ended. It judges nothing.

TRACES.jsonl has one line for each execution, grouped by case; - reads standard
input.`

const recountExample = `  remit recount recovery/testdata/recovery-v1.traces.jsonl
  remit replay recovery-v1 < cases.jsonl | remit recount - --report json`

func newRecount() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "recount TRACES.jsonl",
		Short:   "Recount saved traces of recovery-v1",
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
	text := fmt.Sprintf("%d executions = %d initial + %d subsequent\n", t.Executions, t.Initial, t.Subsequent) +
		fmt.Sprintf("%d subsequent = %d unchanged after a wait + %d corrected + %d newly authenticated", t.Subsequent, t.AvailabilityRetries, t.Corrections, t.Authentications)
	if t.Unexplained > 0 {
		text += fmt.Sprintf(" + %d that none of these permits", t.Unexplained)
	}
	text += fmt.Sprintf("\n%d cases: %d succeeded, %d ended otherwise", t.Initial, t.Succeeded, t.EndedOtherwise)
	if t.Unfinished > 0 {
		text += fmt.Sprintf(", %d did not end", t.Unfinished)
	}
	return text + "\n" + strings.Join(ends, ", ") + "\n" + recountBoundary
}

// recountBoundary says what the counts are.
const recountBoundary = `It establishes what these traces add up to.
It does not establish that they are right, a recovery rate, or how any agent behaves.
`

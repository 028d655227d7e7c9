package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"remit.example/contract"
	"remit.example/guard/trace"
	"remit.example/operation"
	"remit.example/record"
)

const operationsLong = `Look at the ledger of writes that remit guard keeps, and settle by hand what
only a person can find out: whether a write whose answer was lost took effect.

The ledger is this user's own unless --state names another. It holds arguments
and answers whole; --redact leaves them out, and the keys.`

const operationsExample = `  remit operations list --only unknown
  remit operations show op_01
  remit operations resolve op_01 --confirmed --reason "invoice 7 is paid, says the bank"
  remit operations export --state sqlite:guard.db --redact > operations.jsonl`

func newOperations() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:     "operations",
		Short:   "List, show and settle the writes that a guard keeps",
		Long:    operationsLong,
		Example: operationsExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("operations has no command %q; valid: %s", args[0], strings.Join(contract.Nearest(args[0], verbs(cmd)), ", "))
			}
			return cmd.Help()
		},
	}
	for _, verb := range []*cobra.Command{newOperationsList(&state), newOperationsShow(&state), newOperationsResolve(&state), newOperationsExport(&state)} {
		verb.Flags().StringVar(&state, "state", "", "`LEDGER` of the guard: sqlite:PATH or postgres://USER@HOST/DATABASE (default: this user's own)")
		cmd.AddCommand(verb)
	}
	return cmd
}

// openExistingState opens a ledger that is there: a mistyped path is not an
// empty one.
func openExistingState(ctx context.Context, state string) (operation.Store, error) {
	path, isFile := strings.CutPrefix(state, "sqlite:")
	if state == "" {
		var err error
		if path, err = ownState(); err != nil {
			return nil, badInput(err)
		}
		isFile = true
	}
	if isFile && path != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, usage("there is no ledger %s; valid: the --state of the guard, as sqlite:PATH or postgres://USER@HOST/DATABASE", path)
		}
	}
	return openState(ctx, state)
}

// inLedger opens the ledger for as long as f runs.
func inLedger(ctx context.Context, state string, f func(operation.Store) error) error {
	store, err := openExistingState(ctx, state)
	if err != nil {
		return err
	}
	defer store.Close()
	return f(store)
}

// selection is what list and export are asked for.
type selection struct {
	only     []string
	upstream string
	tool     string
}

func (s *selection) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&s.only, "only", nil, "`STATES` to show: sent, confirmed, refused, unknown; more than one with commas")
	cmd.Flags().StringVar(&s.upstream, "upstream", "", "`NAME` of the guarded server whose operations to show: a contract's service, an address or a command")
	cmd.Flags().StringVar(&s.tool, "tool", "", "`NAME` of the tool whose operations to show")
}

var stateWords = []string{string(operation.Sent), string(operation.Confirmed), string(operation.Refused), string(operation.Unknown)}

func (s *selection) filter() (operation.Filter, error) {
	f := operation.Filter{Upstream: s.upstream, Tool: s.tool}
	for _, word := range s.only {
		if !slices.Contains(stateWords, word) {
			return f, usage("--only %s is no state; valid: %s", word, strings.Join(stateWords, ", "))
		}
		f.States = append(f.States, operation.State(word))
	}
	return f, nil
}

const operationsListLong = `List operations, the newest first.

STATE is sent (in flight), confirmed (the effect is there), refused (certainly
not), or unknown (it may be there). BY is what settled it: answer (the upstream),
expiry (its executor ended), status (the contract's status tool), operator.`

func newOperationsList(state *string) *cobra.Command {
	var s selection
	var limit int
	var before string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations, the newest first",
		Long:  operationsListLong,
		Example: `  remit operations list
  remit operations list --only unknown,sent --tool pay_invoice
  remit operations list --state sqlite:guard.db --limit 5 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := s.filter()
			if err != nil {
				return err
			}
			if limit < 1 || limit > 1000 {
				return usage("--limit %d is out of range; valid: 1 to 1000", limit)
			}
			return inLedger(cmd.Context(), *state, func(store operation.Store) error {
				list, err := store.List(cmd.Context(), filter, before, limit+1)
				if errors.Is(err, operation.ErrNotFound) {
					return noOperation(before)
				}
				if err != nil {
					return err
				}
				more := len(list) > limit
				list = list[:min(limit, len(list))]
				if asJSON {
					return listJSON(cmd.OutOrStdout(), list, more)
				}
				return listText(cmd.OutOrStdout(), list, more, time.Now())
			})
		},
	}
	s.flags(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, "list at most `N` operations, up to 1000")
	cmd.Flags().StringVar(&before, "before", "", "list what began before the operation `ID`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, without arguments, answers and keys")
	return cmd
}

func listJSON(w io.Writer, list []operation.Operation, more bool) error {
	written := struct {
		Operations []entry `json:"operations"`
		More       bool    `json:"more"`
	}{[]entry{}, more}
	for _, o := range list {
		written.Operations = append(written.Operations, entryOf(o, true))
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(written)
}

func listText(w io.Writer, list []operation.Operation, more bool, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No operations.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tUPSTREAM\tTOOL\tSTATE\tAGE\tBY")
	for _, o := range list {
		by := string(o.By)
		if by == "" {
			by = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", oneLine(o.ID), oneLine(trace.Redact(o.Upstream)), oneLine(o.Tool), o.State, age(now.Sub(o.Created)), by)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more {
		_, err := fmt.Fprintf(w, "There are more: --before %s\n", oneLine(list[len(list)-1].ID))
		return err
	}
	return nil
}

// age is a length of time in its largest unit.
func age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// oneLine is a text from elsewhere without what could command a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

func noOperation(id string) error {
	return usage("there is no operation %q; remit operations list shows those there are", id)
}

func oneOperation(verb string) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("operations %s takes the ID of one operation, not %d; remit operations list shows them", verb, len(args))
		}
		return nil
	}
}

func newOperationsShow(state *string) *cobra.Command {
	var redact, asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show everything of one operation",
		Long:  `Show everything that the ledger has of one operation.`,
		Example: `  remit operations show op_01
  remit operations show op_01 --redact --json`,
		Args: oneOperation("show"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inLedger(cmd.Context(), *state, func(store operation.Store) error {
				o, err := store.Get(cmd.Context(), args[0])
				if errors.Is(err, operation.ErrNotFound) {
					return noOperation(args[0])
				}
				if err != nil {
					return err
				}
				if asJSON {
					encoder := json.NewEncoder(cmd.OutOrStdout())
					encoder.SetEscapeHTML(false)
					encoder.SetIndent("", "  ")
					return encoder.Encode(entryOf(o, redact))
				}
				return showText(cmd.OutOrStdout(), o, redact)
			})
		},
	}
	cmd.Flags().BoolVar(&redact, "redact", false, "leave out arguments, answer and keys")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func showText(w io.Writer, o operation.Operation, redact bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, oneLine(value))
		}
	}
	secret := func(name, value string) {
		if value != "" && redact {
			value = "(redacted)"
		}
		row(name, value)
	}
	row("id", o.ID)
	row("state", string(o.State))
	row("by", string(o.By))
	row("reason", o.Reason)
	row("code", o.Code)
	row("tool", o.Tool)
	row("upstream", o.Upstream)
	row("tenant", o.Tenant)
	row("principal", o.Principal)
	row("created", when(o.Created))
	row("settled", when(o.Settled))
	if o.State == operation.Sent {
		row("held until", when(o.Lease))
	}
	if o.State == operation.Confirmed {
		row("delivery", cmpOr(string(o.Delivery), "not known"))
	}
	row("fence", fmt.Sprint(o.Fence))
	row("repeatable", fmt.Sprint(o.Repeatable))
	row("intent", o.Intent)
	row("fingerprint", o.Fingerprint)
	secret("caller's key", o.CallerKey)
	secret("key", o.Key)
	secret("arguments", string(o.Arguments))
	secret("answer", string(o.Result))
	return table.Flush()
}

func cmpOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// entry is an operation as JSON. What is not there is left out.
type entry struct {
	ID          string          `json:"id"`
	Tenant      string          `json:"tenant,omitempty"`
	Principal   string          `json:"principal,omitempty"`
	Upstream    string          `json:"upstream,omitempty"`
	Tool        string          `json:"tool"`
	State       string          `json:"state"`
	By          string          `json:"by,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Code        string          `json:"code,omitempty"`
	Created     time.Time       `json:"created"`
	Settled     time.Time       `json:"settled,omitzero"`
	HeldUntil   time.Time       `json:"held_until,omitzero"`
	Delivery    string          `json:"delivery,omitempty"`
	Fence       int64           `json:"fence"`
	Repeatable  bool            `json:"repeatable"`
	Intent      string          `json:"intent,omitempty"`
	Fingerprint string          `json:"fingerprint"`
	CallerKey   string          `json:"caller_key,omitempty"`
	Key         string          `json:"key,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	Answer      json.RawMessage `json:"answer,omitempty"`
}

func entryOf(o operation.Operation, redact bool) entry {
	e := entry{
		ID: o.ID, Tenant: o.Tenant, Principal: o.Principal, Upstream: o.Upstream, Tool: o.Tool, State: string(o.State), By: string(o.By), Reason: o.Reason,
		Code: o.Code, Created: o.Created, Settled: o.Settled, Delivery: string(o.Delivery), Fence: o.Fence, Repeatable: o.Repeatable,
		Intent: o.Intent, Fingerprint: o.Fingerprint,
	}
	if o.State == operation.Sent {
		e.HeldUntil = o.Lease
	}
	if !redact {
		e.CallerKey, e.Key, e.Arguments, e.Answer = o.CallerKey, o.Key, rawJSON(o.Arguments), rawJSON(o.Result)
	}
	return e
}

// rawJSON is bytes as they are, or as a string where they are no JSON.
func rawJSON(text []byte) json.RawMessage {
	if len(text) == 0 || json.Valid(text) {
		return text
	}
	quoted, _ := json.Marshal(string(text))
	return quoted
}

const operationsResolveLong = `Settle an operation whose outcome is unknown, after finding out at the upstream
whether it took effect. The reason is kept.

--confirmed: the effect is there; the same call is answered from the ledger,
with the answer in --result if there is one: an MCP result, such as
{"content": [{"type": "text", "text": "Paid."}]}. --refused: it is certainly not
there, and the next call executes. If in doubt, leave it.`

func newOperationsResolve(state *string) *cobra.Command {
	var confirmed, refused bool
	var reason, result string
	cmd := &cobra.Command{
		Use:   "resolve ID",
		Short: "Settle by hand an operation whose outcome is unknown",
		Long:  operationsResolveLong,
		Example: `  remit operations resolve op_01 --confirmed --reason "invoice 7 is paid, says the bank"
  remit operations resolve op_01 --confirmed --reason "found as PAY-93" --result answer.json
  remit operations resolve op_01 --refused --reason "the upstream was down all night"`,
		Args: oneOperation("resolve"),
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome := operation.Outcome{State: operation.Confirmed, Code: string(record.OK), By: operation.ByOperator, Reason: reason}
			switch {
			case confirmed == refused:
				return usage("operations resolve takes one of --confirmed and --refused")
			case strings.TrimSpace(reason) == "":
				return usage("operations resolve takes a --reason: how you know, such as %q", "invoice 7 is paid, says the bank")
			case refused && result != "":
				return usage("--result is the answer of a confirmed operation; a refused one has none")
			case refused:
				outcome.State, outcome.Code = operation.Refused, ""
			case result != "":
				text, err := os.ReadFile(result)
				if err != nil {
					return badInput(err)
				}
				if outcome.Result, err = mcpResult(text); err != nil {
					return usage("%s: %w", result, err)
				}
			}
			return inLedger(cmd.Context(), *state, func(store operation.Store) error {
				return resolve(cmd.Context(), cmd.OutOrStdout(), store, args[0], outcome)
			})
		},
	}
	cmd.Flags().BoolVar(&confirmed, "confirmed", false, "the effect is there")
	cmd.Flags().BoolVar(&refused, "refused", false, "the effect is certainly not there")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says how you know; it is kept")
	cmd.Flags().StringVar(&result, "result", "", "`FILE` with the tool's answer, as an MCP result")
	return cmd
}

// mcpResult is an answer as a guard keeps it.
func mcpResult(text []byte) ([]byte, error) {
	var result struct {
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(text, &result); err != nil || result.Content == nil {
		return nil, errors.New(`this is no answer of a tool; valid: an MCP result, such as {"content": [{"type": "text", "text": "Paid."}]}`)
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, text)
	return compact.Bytes(), err
}

func resolve(ctx context.Context, w io.Writer, store operation.Store, id string, outcome operation.Outcome) error {
	o, err := store.Get(ctx, id)
	if errors.Is(err, operation.ErrNotFound) {
		return noOperation(id)
	}
	if err != nil {
		return err
	}
	settled, err := store.Settle(ctx, id, o.Fence, outcome)
	switch {
	case errors.Is(err, operation.ErrFenced) && o.State == operation.Sent:
		return usage("operation %s is in flight until %s; only one whose outcome is unknown is settled by hand", id, when(o.Lease))
	case errors.Is(err, operation.ErrFenced):
		return usage("operation %s is %s, by %s; only one whose outcome is unknown is settled by hand", id, o.State, o.By)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(w, "%s is %s, by %s: %s\n", oneLine(id), settled.State, settled.By, oneLine(settled.Reason))
	return err
}

func newOperationsExport(state *string) *cobra.Command {
	var s selection
	var redact bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print operations as JSON lines",
		Long:  `Print all operations, or those selected, as JSON: one a line, the newest first.`,
		Example: `  remit operations export > operations.jsonl
  remit operations export --state sqlite:guard.db --only unknown --redact`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := s.filter()
			if err != nil {
				return err
			}
			return inLedger(cmd.Context(), *state, func(store operation.Store) error {
				out := bufio.NewWriter(cmd.OutOrStdout())
				encoder := json.NewEncoder(out)
				encoder.SetEscapeHTML(false)
				before := ""
				for {
					const page = 500
					list, err := store.List(cmd.Context(), filter, before, page)
					if err != nil {
						return err
					}
					for _, o := range list {
						if err := encoder.Encode(entryOf(o, redact)); err != nil {
							return err
						}
						before = o.ID
					}
					if len(list) < page {
						return out.Flush()
					}
				}
			})
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&redact, "redact", false, "leave out arguments, answers and keys")
	return cmd
}

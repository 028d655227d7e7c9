package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const initLong = `Draft a contract from a data file: CSV (comma, semicolon or tab), JSON Lines or
JSON. The whole file is read.

Every column gets a proposed type with the counts that speak for it. A guess is
marked QUESTION. Where the file does not say what a contract must say, such as
a currency, ASK stands, and remit contract validate fails until it is answered:
nobody serves a guess. What can be promised from the file, and what cannot, is
said as well.

With --mcp the contract of a guard is drafted from a live MCP server, at an
address or started by the command after --. A tool is taken for a read where the
server says so, and for unsafe otherwise; each thing that the server cannot
tell is a question in a comment. No tool is called. The draft is valid and only
observes. ${NAME} in the address or the command is an environment variable, and
stays one in the draft.

--from-trace reads the trace of a guard and proposes rules for the failures
whose meaning nothing told, clustered by their texts: alone as comments on
standard output, beside --mcp within the draft.

The draft goes to standard output, or with -o to a file that does not exist
yet. A data file is named relative to it.

Exit codes: 0 a draft, 2 wrong usage or input, or a server that does not answer;
nothing is written then.`

const initExample = `  remit init products.csv -o contract.yaml
  remit init export.jsonl > contract.yaml
  remit init --mcp -o billing.yaml -- npx -y @acme/billing-mcp
  remit init --mcp https://mcp.acme.example/mcp -o billing.yaml
  remit init --from-trace guard.jsonl
  remit contract validate contract.yaml`

func newInit() *cobra.Command {
	var output, trace string
	var mcp mcpFlags
	cmd := &cobra.Command{
		Use:     "init [FILE | --mcp URL | --mcp -- CMD ARGS…]",
		Short:   "Draft a contract from a data file or an MCP server",
		Long:    initLong,
		Example: initExample,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case mcp.ask:
				return nil // foreignUpstream says more
			case cmd.Flags().Changed("timeout") || mcp.tokenFile != "":
				return usage("--timeout and --token-file are for a server; valid: beside --mcp")
			case trace != "" && len(args) > 0:
				return usage("--from-trace takes no other file; see remit init --help")
			case trace != "" && output != "":
				return usage("the rules of a trace are no contract by themselves; leave -o out, or draft the whole of it with --mcp")
			case trace == "" && len(args) != 1:
				return usage("init takes one data file, not %d; see remit init --help", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !mcp.ask && trace == "" {
				return runInit(cmd, args[0], output)
			}
			return runInitGuard(cmd, args, mcp, trace, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the contract to write; one that exists is never overwritten")
	cmd.Flags().BoolVar(&mcp.ask, "mcp", false, "draft the contract of a guard from the MCP server at an address, or that the command after -- starts")
	cmd.Flags().StringVar(&trace, "from-trace", "", "`FILE`, a guard's trace, to propose rules for failures from")
	cmd.Flags().DurationVar(&mcp.timeout, "timeout", time.Minute, "time for the server to start and to list its tools; beside --mcp")
	cmd.Flags().StringVar(&mcp.tokenFile, "token-file", "", "`FILE` whose first line is a token for the server; beside --mcp and an address")
	return cmd
}

// runInitGuard drafts the contract of a guard, or rules for one.
func runInitGuard(cmd *cobra.Command, args []string, mcp mcpFlags, trace, output string) error {
	if _, err := os.Lstat(output); output != "" && err == nil {
		return alreadyThere(output)
	}
	if mcp.timeout <= 0 {
		return usage("--timeout %s leaves no time; write one such as 30s", mcp.timeout)
	}
	var found *clusters
	if trace != "" {
		var err error
		if found, err = clustersOf(trace); err != nil {
			return err
		}
	}
	if !mcp.ask {
		rules := &mcpWriter{}
		found.write(rules)
		_, err := io.WriteString(cmd.OutOrStdout(), rules.String())
		return err
	}
	d, err := mcp.draft(cmd.Context(), args, cmd.ArgsLenAtDash(), found)
	if err != nil {
		return err
	}
	if output == "" {
		_, err := io.WriteString(cmd.OutOrStdout(), d.text)
		return err
	}
	if err := writeNew(output, d.text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; it observes and refuses nothing. Answer its %s (# ?); then: remit contract validate %s\n", output, plural(d.questions, "question"), output)
	return err
}

func runInit(cmd *cobra.Command, name, output string) error {
	if _, err := os.Lstat(output); output != "" && err == nil {
		return alreadyThere(output)
	}
	file, err := os.Open(name)
	if err != nil {
		return usage("%w; name a CSV, JSON Lines or JSON file", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return usage("%s is a folder; name a CSV, JSON Lines or JSON file in it", name)
	}
	progress := newProgress(cmd.ErrOrStderr())
	s, err := survey(name, file, progress.tick)
	progress.done()
	if err != nil {
		return badInput(err)
	}
	if len(s.columns) == 0 {
		return badInput(fmt.Errorf("%s: the rows have no members; there is nothing to serve", name))
	}
	relative, err := relativeTo(output, name)
	if err != nil {
		return err
	}
	d := newDraft(s, relative)
	if output == "" {
		_, err := io.WriteString(cmd.OutOrStdout(), d.String())
		return err
	}
	return d.write(cmd.ErrOrStderr(), output)
}

func alreadyThere(name string) error {
	return usage("%s exists and is not overwritten; name another, or delete it first", name)
}

// relativeTo is the data file's path as the contract names it.
func relativeTo(output, name string) (string, error) {
	if filepath.IsAbs(name) && (output == "" || !filepath.IsAbs(output)) {
		return filepath.ToSlash(name), nil
	}
	relative, err := filepath.Rel(filepath.Dir(output), name)
	if err != nil {
		if relative, err = filepath.Abs(name); err != nil {
			return "", err
		}
	}
	return filepath.ToSlash(relative), nil
}

// fixMark begins a comment about what the contract cannot use yet.
const fixMark = "FIX:"

// write creates the contract and says what is left to do.
func (d *draft) write(w io.Writer, name string) error {
	if err := writeNew(name, d.String()); err != nil {
		return err
	}
	text := "wrote " + name
	if fixes := strings.Count(d.String(), fixMark); fixes > 0 {
		text += fmt.Sprintf("; read what it marks with %s (%d), which it cannot use as it is", strings.TrimSuffix(fixMark, ":"), fixes)
	}
	if len(d.asks) > 0 {
		text += "; answer " + strings.Join(d.asks, ", ")
	}
	_, err := fmt.Fprintf(w, "%s; then: remit contract validate %s\n", text, name)
	return err
}

// writeNew creates a file, and overwrites none.
func writeNew(name, text string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return alreadyThere(name)
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(file, text); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

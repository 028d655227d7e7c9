package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

const initLong = `Draft a contract from a data file: CSV (comma, semicolon or tab), JSON Lines or
JSON. The whole file is read.

Every column gets a proposed type with the counts that speak for it. A guess is
marked QUESTION. Where the file does not say what a contract must say, such as
a currency, ASK stands, and remit contract validate fails until it is answered:
nobody serves a guess. What can be promised from the file, and what cannot, is
said as well.

The draft goes to standard output, or with -o to a file that does not exist
yet. The data file is named relative to it.`

const initExample = `  remit init products.csv -o contract.yaml
  remit init export.jsonl > contract.yaml
  remit contract validate contract.yaml`

func newInit() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "init FILE",
		Short:   "Draft a contract from a data file",
		Long:    initLong,
		Example: initExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("init takes one data file, not %d; see remit init --help", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runInit(cmd, args[0], output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the contract to write; one that exists is never overwritten")
	return cmd
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
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return alreadyThere(name)
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(file, d.String()); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	text := "wrote " + name
	if fixes := strings.Count(d.String(), fixMark); fixes > 0 {
		text += fmt.Sprintf("; read what it marks with %s (%d), which it cannot use as it is", strings.TrimSuffix(fixMark, ":"), fixes)
	}
	if len(d.asks) > 0 {
		text += "; answer " + strings.Join(d.asks, ", ")
	}
	_, err = fmt.Fprintf(w, "%s; then: remit contract validate %s\n", text, name)
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit.example/contract"
)

// The exit codes of every verb.
const (
	exitOK      = 0
	exitFailure = 1 // the tool failed, the subject violates its contract, or the machine refused
	exitUsage   = 2 // a wrong flag, argument or input
	exitHarness = 3 // a check could not be trusted
)

// exitError ends the program with a code. Its error is printed once, after
// "remit: "; without one there is nothing left to say.
type exitError struct {
	code int
	err  error
}

// Error is the text of the error inside, if any.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap is the error inside.
func (e *exitError) Unwrap() error { return e.err }

// usage is an error of what the user wrote.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// badInput says that an input, such as a contract, is faulty.
func badInput(err error) error { return &exitError{exitUsage, err} }

// run runs one command line and gives its exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(errOut, "remit: %s\n", text)
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return exitFailure
}

const rootLong = `Remit holds agent tools to a written contract: what an answer may claim, what
may be repeated, when to stop.

Exit codes: 0 success, 1 a failure or violation, 2 wrong usage or input,
3 a check that could not be trusted.`

const rootExample = `  remit serve
  remit serve examples/task-lights --listen 127.0.0.1:8080
  remit serve --stdio
  remit check`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "remit",
		Short:         "Serve, call and check agent tools by a written contract",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true, // run prints them, once
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q; valid: %s; see remit --help", args[0], strings.Join(contract.Nearest(args[0], verbs(cmd)), ", "))
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate)
	root.AddCommand(newServe(), newCall(), newReplay(), newCheck(), newRecord(), newRecount(), newContract(), newExplain(), newInit(), newGuard(), newOperations(), newVersion())
	return root
}

// verbs lists the commands that the help shows.
func verbs(root *cobra.Command) []string {
	var names []string
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	return names
}

// flagError says which flags would be valid.
func flagError(cmd *cobra.Command, err error) error {
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, "--"+f.Name)
		}
	})
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(flags) > 0 {
		flags = contract.Nearest("--"+strings.TrimLeft(unknown.GetSpecifiedName(), "-"), flags)
	}
	return usage("%w; valid: %s; see %s --help", err, strings.Join(flags, ", "), cmd.CommandPath())
}

// usageTemplate is flat: how it is called, real examples, then what there is.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}
{{- end}}
{{- if .HasAvailableSubCommands}}

Commands:
{{- range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{- end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{- end}}
{{- if .HasAvailableSubCommands}}

{{.CommandPath}} COMMAND --help says more about each.
{{- end}}
`

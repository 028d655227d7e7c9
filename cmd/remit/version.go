package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/wire/mcp"
)

// build is what the program knows of its own making.
type build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Revision string `json:"revision,omitempty"` // of the source
	Time     string `json:"time,omitempty"`     // of the revision, RFC 3339
	Modified bool   `json:"modified"`           // whether the source differs from the revision
	// The formats and protocols that it speaks.
	Contract  []string `json:"contract"`
	Recovery  []string `json:"recovery"`
	Catalogue []string `json:"catalogue"`
	MCP       []string `json:"mcp"`
}

func readBuild() build {
	b := build{
		Version: "devel", Go: runtime.Version(),
		Contract:  []string{"1"},
		Recovery:  []string{string(contract.RecoveryV1), record.V2},
		Catalogue: []string{string(contract.CatalogueV1), string(contract.CatalogueV2)},
		MCP:       mcp.Revisions(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the revisions of what it speaks",
		Long:  "Print the version of the program, of Go and of the source, and the revisions of\nthe formats and protocols that it speaks.",
		Example: `  remit version
  remit version --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(readBuild())
			}
			return readBuild().print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (b build) print(w io.Writer) error {
	revision := b.Revision
	if revision == "" {
		revision = "not known"
	}
	if b.Modified {
		revision += ", modified"
	}
	_, err := fmt.Fprintf(w, "remit %s\ngo        %s\nsource    %s\ncontract  %s\nrecovery  %s\ncatalogue %s\nmcp       %s\n",
		b.Version, b.Go, revision, list(b.Contract), list(b.Recovery), list(b.Catalogue), list(b.MCP))
	return err
}

func list(names []string) string { return strings.Join(names, ", ") }

// noArguments refuses arguments for verbs that have none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, not %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
	"remit.example/contract"
	"remit.example/tool"
)

const contractLong = `Check a contract file, or print the JSON Schema of contract files.`

const contractExample = `  remit contract validate shop/contract.yaml
  remit contract schema > contract.schema.json`

func newContract() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "contract",
		Short:   "Check a contract file, or print its JSON Schema",
		Long:    contractLong,
		Example: contractExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("contract has no command %q; valid: %s", args[0], strings.Join(contract.Nearest(args[0], verbs(cmd)), ", "))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newContractValidate(), newContractSchema())
	return cmd
}

const validateLong = `Check a contract and the files that it names.

FILE is a contract, or a folder with a contract.yaml. Every fault is printed on
standard error, one a line: file, line and column, where in the contract, what
is wrong and what would be valid. Data is checked too: a file with one bad row
is refused as a whole. Advice is printed and permitted.

A contract without a fault is served as it is. An environment variable that it
names need not be set to check it.

Exit codes: 0 without a fault, 2 with one.`

const validateExample = `  remit contract validate shop/contract.yaml
  remit contract validate examples/task-lights
  remit contract validate shop --json`

func newContractValidate() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "validate FILE",
		Short:   "Check a contract and the files that it names",
		Long:    validateLong,
		Example: validateExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("contract validate takes one contract file, or a folder with a %s, not %d; see remit contract validate --help", contractFile, len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := validate(args[0])
			if err != nil {
				return badInput(err)
			}
			if asJSON {
				err = r.printJSON(cmd.OutOrStdout())
			} else {
				err = r.print(cmd.ErrOrStderr())
			}
			if err == nil && len(r.Problems) > 0 {
				err = &exitError{code: exitUsage}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output")
	return cmd
}

func newContractSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of contract files",
		Long: `Print the JSON Schema (draft 2020-12) of contract files, for editors. It
describes the notation; remit contract validate checks more.`,
		Example: `  remit contract schema > contract.schema.json`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(contract.Schema())
			return err
		},
	}
}

// review is what was found in a contract and the files that it names.
type review struct {
	File     string    `json:"file"`
	Problems []finding `json:"problems"`
	Advice   []finding `json:"advice"`
	More     int       `json:"more,omitempty"` // problems of data that are not listed
}

// finding is one problem, or one advice, at its place.
type finding struct {
	File    string `json:"file,omitempty"` // where it is not the contract
	Line    int    `json:"line"`           // 0 where a file as a whole is meant
	Column  int    `json:"column"`
	Path    string `json:"path"` // in the contract; the column in data
	Message string `json:"message"`
}

// validate reads a contract and then its data; the error is that of a contract
// that cannot be read at all.
func validate(name string) (*review, error) {
	p := onDisk(name)
	r := &review{File: p.shown, Problems: []finding{}, Advice: []finding{}}
	c, err := p.contract()
	var faults contract.Problems
	switch {
	case errors.As(err, &faults):
		r.add(faults)
		return r, nil
	case err != nil:
		return nil, err
	}
	r.Advice = append(r.Advice, findings(c.Advice())...)
	r.adviseVariables(c)
	if c.Upstream != nil {
		return r, nil // it names no files, and serves no tools
	}
	if missing := missingFiles(p, c); missing != nil {
		r.add(missing)
	} else {
		_, source, err := bound(p, c)
		r.add(err)
		r.adviseAge(c, source)
	}
	return r, nil
}

// adviseAge tells of data that would be answered as stale from the start.
func (r *review) adviseAge(c *contract.Contract, source *catalogue.Source) {
	if source == nil || c.Data.MaxAge == 0 {
		return
	}
	asOf, now := source.Engine.Info().AsOf, source.Now()
	if now.Sub(asOf) > time.Duration(c.Data.MaxAge) {
		r.Advice = append(r.Advice, findings(c.Problem("data.max_age",
			"the data is of %s and older than this already: answers say stale, and volatile values are unknown", asOf.UTC().Format(time.DateOnly)))...)
	}
}

// missingFiles are the files that the contract names and that do not exist.
func missingFiles(p place, c *contract.Contract) error {
	type named struct{ path, file string }
	var all []named
	if c.Data != nil {
		all = append(all, named{"data.file", c.Data.File})
	}
	if c.Evidence != nil {
		all = append(all, named{"evidence.file", c.Evidence.File})
	}
	for _, t := range c.Tools {
		if b := t.Value.Backend; b != nil && b.Fixture != nil {
			all = append(all, named{"tools." + t.Name + ".backend.fixture.file", b.Fixture.File})
		}
	}
	var missing contract.Problems
	for _, n := range all {
		if file, err := p.files.Open(n.file); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, c.Problem(n.path, "there is no file %s; write its path relative to the contract", visibleText(n.file))...)
		} else if err == nil {
			file.Close()
		}
	}
	if missing == nil {
		return nil
	}
	return missing
}

// bound loads the data and binds the tools, as serving would, but for
// environment variables that are not set.
func bound(p place, c *contract.Contract) ([]*tool.Tool, *catalogue.Source, error) {
	backing := tool.Backing{Files: p.files, Getenv: func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		return "https://" + strings.ReplaceAll(strings.ToLower(name), "_", "-") + ".example", true
	}}
	if c.Data != nil {
		l := loader{place: p, declared: c}
		source, err := l.catalogue(localKey())
		if err != nil {
			return nil, nil, err
		}
		backing.Catalogue = source
	}
	tools, err := tool.Bind(c, backing)
	return tools, backing.Catalogue, err
}

// adviseVariables names the environment variables that serving would miss.
func (r *review) adviseVariables(c *contract.Contract) {
	advise := func(path string, texts []string, before string) {
		var missing []string
		for _, match := range contract.Variable.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
			if _, set := os.LookupEnv(match[1]); !set && !slices.Contains(missing, match[1]) {
				missing = append(missing, match[1])
			}
		}
		if len(missing) > 0 {
			slices.Sort(missing)
			r.Advice = append(r.Advice, findings(c.Problem(path, "set before %s, which needs it: the environment variable %s", before, strings.Join(missing, ", ")))...)
		}
	}
	if u := c.Upstream; u != nil {
		advise("upstream", append(slices.Clone(u.Stdio), u.URL), "guarding")
	}
	for _, t := range c.Tools {
		if t.Value.Backend == nil || t.Value.Backend.HTTP == nil {
			continue
		}
		h := t.Value.Backend.HTTP
		texts := []string{h.URL}
		for _, value := range h.Headers {
			texts = append(texts, value)
		}
		advise("tools."+t.Name+".backend.http", texts, "serving")
	}
}

// add takes an error apart into findings.
func (r *review) add(err error) {
	var faults contract.Problems
	var rows *snapshot.BadRows
	switch {
	case err == nil:
	case errors.As(err, &faults):
		r.Problems = append(r.Problems, findings(faults)...)
	case errors.As(err, &rows):
		for _, p := range rows.Problems {
			r.Problems = append(r.Problems, finding{rows.File, p.Line, p.Column, p.Field, p.Wrong + "; " + p.Valid})
		}
		r.More = rows.Total - len(rows.Problems)
	default:
		r.Problems = append(r.Problems, finding{Message: strings.TrimPrefix(err.Error(), r.File+": ")})
	}
}

func findings(problems contract.Problems) []finding {
	var all []finding
	for _, p := range problems {
		all = append(all, finding{Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message})
	}
	return all
}

func (r *review) printJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// printedRows is how many problems of data are printed for people.
const printedRows = 20

// print writes a line for each finding; the problems of data, of which there
// may be very many, only in part.
func (r *review) print(w io.Writer) error {
	var out strings.Builder
	for _, f := range r.Advice {
		fmt.Fprintf(&out, "%s\n", f.line(r.File, "advice: "))
	}
	more := r.More
	for i, f := range r.Problems {
		if f.File != "" && i >= printedRows {
			more++
			continue
		}
		fmt.Fprintf(&out, "%s\n", f.line(r.File, ""))
	}
	if more > 0 {
		fmt.Fprintf(&out, "and %d more\n", more)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (f finding) line(file, kind string) string {
	if f.File != "" {
		file = f.File
	}
	place := file + ": "
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d: ", file, f.Line, f.Column)
	}
	if f.Path != "" {
		kind += f.Path + ": "
	}
	return place + kind + f.Message
}

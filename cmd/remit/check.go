package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"remit.example/drive/exec"
	"remit.example/oracle"
)

const checkLong = `Judge an implementation, tools or a caller against a frozen suite.

Without a SUITE, the built-in implementation is judged on every suite in two
fresh processes, and every control and mutant must be rejected. SUITE is
recovery-v1, catalogue-v1, recovery-v1-extended, catalogue-v1-extended,
guard-v1, platform-v1, browser-v1 or the path of a suite file. What is judged:

  remit check SUITE -- CMD…           a program: case lines in, result lines out;
                                      of guard-v1, a guard that runs them
  remit check SUITE --http URL        tools at URL/v1/tools/NAME
  remit check SUITE --mcp URL|CMD     tools of an MCP server
  remit check SUITE --webmcp URL      tools that a page registers, in Chromium
  remit check platform-v1 --webmcp URL
                                      what is made of calls that a browser fails
  remit check browser-v1 RECORDING    what an agent did in a browser
  remit check SUITE --as-server=http|mcp -- AGENT…
                                      a caller: what it does with each failure
  remit check --live CONTRACT --url URL --sandbox
                                      a running application, which is provoked
  remit check --live CONTRACT --sandbox --mcp URL|-- CMD
                                      an MCP server, or a guard in front of one,
                                      by a guard contract: answers are lost

Tools are judged under conditions that the driver sets for each execution; a
server honours them only if it was started for that, as remit serve --sandbox.

A caller is started once per case, with REMIT_URL, REMIT_INPUT, REMIT_CORRECTION,
REMIT_CORRECTIONS and REMIT_RENEWAL in its environment and the address as its
last argument. Over HTTP it POSTs the input there.

An application is sent each tool's example, effects included, and what its
contract refuses. --provoke says by which command a token has expired, access is
refused, a dependency fails or an answer is lost; what is not provoked is
reported as unchecked.

An answer of a write is lost where --effects names the read that counts what the
write does: the call is made, its answer dropped, the call repeated, and the
effects counted. --write gives its input.

A recording is one of remit record. Tool selection and the final answer are
checked apart from each other; a final answer that cannot be read is unchecked.

Exit codes: 0 conforms, 1 violates, 2 wrong usage or input, 3 the harness
failed or an answer is unchecked, whatever the format of the report.`

const checkExample = `  remit check
  remit check recovery-v1 -- python3 examples/other-languages/recovery_v1.py
  remit check recovery-v1 --http http://127.0.0.1:8080
  remit check catalogue-v1 --mcp http://127.0.0.1:8080/mcp --tool search=search_lights
  remit check recovery-v1 --webmcp http://127.0.0.1:8080
  remit check recovery-v1 --as-server=http -- ./agent --quiet
  remit check browser-v1 run.jsonl --report html > run.html
  remit check --live shop/contract.yaml --url http://127.0.0.1:8080 --sandbox --token-file token.txt
  remit check --live orders.yaml --sandbox \
      --write 'cancel_order {"order":"ord_1"} {"order":"ord_2"}' \
      --effects 'cancel_order=get_order {"customer":"C1"} /cancellations' -- ./orders --stdio
  remit check --report sarif > remit.sarif`

// checkFlags is what the command line says.
type checkFlags struct {
	http, mcp, asServer string
	revision, tokenFile string
	tools               []string
	report              string
	timeout             time.Duration
	command             []string // after --, beside --live
	running             liveFlags
	page                pageFlags
}

// reports are the formats of a report.
var reports = map[string]func(*oracle.Report, io.Writer) error{
	"text":  (*oracle.Report).Text,
	"json":  (*oracle.Report).JSON,
	"html":  (*oracle.Report).HTML,
	"sarif": (*oracle.Report).SARIF,
}

func newCheck() *cobra.Command {
	var flags checkFlags
	cmd := &cobra.Command{
		Use:     "check [SUITE [RECORDING]] [-- CMD…]",
		Short:   "Judge an implementation, tools or a caller against a frozen suite",
		Long:    checkLong,
		Example: checkExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			cmd.SetContext(ctx)
			report, err := flags.judge(cmd, args)
			if err != nil {
				return err
			}
			if err := writeReport(cmd.OutOrStdout(), report, flags.report); err != nil {
				return &exitError{exitHarness, err}
			}
			if code := report.Exit(); code != exitOK {
				return &exitError{code: code}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&flags.http, "http", "", "judge the tools at `URL`, the base of /v1/tools/NAME")
	cmd.Flags().StringVar(&flags.mcp, "mcp", "", "judge the tools of an MCP server: its `URL`, or a command line to start it")
	cmd.Flags().StringVar(&flags.asServer, "as-server", "", "judge the caller after --, over `WIRE`: http or mcp")
	cmd.Flags().StringVar(&flags.revision, "revision", "", "speak this `REVISION` of MCP, such as 2025-11-25; default: the newest of the server")
	cmd.Flags().StringArrayVar(&flags.tools, "tool", nil, "the served tool for one of the suite, `NAME=SERVED`; may be repeated")
	cmd.Flags().StringVar(&flags.tokenFile, "token-file", "", "`FILE` whose first line is a token that may call every tool; beside --http, --mcp or --live")
	cmd.Flags().StringVar(&flags.report, "report", "text", "`FORMAT` of the report: text, json, html or sarif")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", time.Minute, "longest `TIME` of one run of a command, or of one call")
	flags.running.define(cmd)
	flags.page.define(cmd)
	return cmd
}

// judge makes the report on whatever the command line names.
func (f *checkFlags) judge(cmd *cobra.Command, args []string) (*oracle.Report, error) {
	if err := f.form(); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("live") {
		return f.live(cmd)
	}
	if err := f.running.alone(cmd); err != nil {
		return nil, err
	}
	c, err := f.plan(args, cmd.ArgsLenAtDash())
	if err != nil {
		return nil, err
	}
	c.progress = newProgress(cmd.ErrOrStderr())
	return c.run(cmd.Context())
}

// form refuses what is wrong for anything that is judged.
func (f *checkFlags) form() error {
	if reports[f.report] == nil {
		return usage("--report %s is no format; valid: %s", f.report, strings.Join(slices.Sorted(maps.Keys(reports)), ", "))
	}
	if f.timeout <= 0 {
		return usage("--timeout %s is no time to wait; valid: more than 0, such as 30s", f.timeout)
	}
	return nil
}

// check is one run of remit check.
type check struct {
	suites   []*oracle.Suite
	subject  oracle.Subject
	judged   string
	judge    judge
	progress *progress
}

// judge runs what is judged on a suite. Its error is a fault of the harness.
type judge func(ctx context.Context, s *oracle.Suite, p *progress) (*oracle.Outcome, error)

// plan reads the command line; dash is the place of -- among args, -1 without.
func (f *checkFlags) plan(args []string, dash int) (*check, error) {
	var command []string
	if dash >= 0 {
		args, command = args[:dash], args[dash:]
		if len(command) == 0 {
			return nil, usage("nothing stands after --; valid: the command to judge and its arguments")
		}
	}
	c := &check{}
	var err error
	if c.suites, err = suites(args[:min(len(args), 1)]); err != nil {
		return nil, badInput(err)
	}
	if recorded, err := f.chooseRecording(c, args, command); recorded || err != nil {
		return c, err
	}
	if err := f.choose(c, command); err != nil {
		return nil, err
	}
	if len(args) == 0 && c.judged != builtinImplementation {
		return nil, usage("check needs a suite to judge that; valid: %s, or the path of a suite file", strings.Join(oracle.Names(), ", "))
	}
	return c, nil
}

const builtinImplementation = "the built-in implementation"

// choose finds what is judged. The flags exclude each other.
func (f *checkFlags) choose(c *check, command []string) error {
	given := 0
	for _, flag := range []string{f.http, f.mcp, f.page.url, f.asServer} {
		if flag != "" {
			given++
		}
	}
	served := f.http != "" || f.mcp != ""
	tools := served || f.page.url != ""
	switch {
	case given > 1 || tools && command != nil:
		return usage("--http, --mcp, --webmcp, --as-server and a command without it name different things to judge; valid: one of them")
	case f.asServer != "" && f.asServer != "http" && f.asServer != "mcp":
		return usage("--as-server=%s is no wire; valid: http, mcp", f.asServer)
	case f.asServer != "" && command == nil:
		return usage("--as-server judges a caller; valid: --as-server=%s -- AGENT…", f.asServer)
	case len(f.tools) > 0 && !tools:
		return usage("--tool names a served tool; valid: beside --http, --mcp or --webmcp")
	case f.tokenFile != "" && !served:
		return usage("--token-file is for the calls of tools; valid: beside --http, --mcp or --live")
	case f.revision != "" && f.mcp == "":
		return usage("--revision is one of MCP; valid: beside --mcp")
	}
	if name := suiteOf(c.suites, oracle.GuardV1); name != "" && len(c.suites) == 1 && given > 0 {
		return usage("%s judges a guard, which runs its cases by itself; valid: remit check %[1]s -- CMD, or without a command the built-in guard", name)
	}
	if err := f.page.permits(c.suites, f.tools); err != nil {
		return err
	}
	switch {
	case f.asServer != "":
		return f.chooseCaller(c, command)
	case served:
		return f.chooseTools(c)
	case tools:
		return f.chooseWebMCP(c)
	}
	c.subject, c.judged = oracle.Implementation, strings.Join(command, " ")
	commandOf := func(*oracle.Suite) []string { return command }
	if command == nil {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		c.judged = builtinImplementation
		commandOf = func(s *oracle.Suite) []string { return []string{program, "replay", string(s.Contract)} }
	}
	c.judge = func(ctx context.Context, s *oracle.Suite, p *progress) (*oracle.Outcome, error) {
		return replayTwice(ctx, commandOf(s), s, f.timeout, p)
	}
	return nil
}

// suites reads what a command line names: a built-in suite, a file, or all
// that are built in.
func suites(names []string) ([]*oracle.Suite, error) {
	if len(names) == 0 {
		names = slices.Concat(oracle.Names(), oracle.GuardNames())
	}
	var all []*oracle.Suite
	for _, name := range names {
		s, err := suite(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// maxSuite bounds a suite file, in bytes.
const maxSuite = 256 << 20

func suite(name string) (*oracle.Suite, error) {
	builtin := slices.Concat(oracle.Names(), oracle.GuardNames(), oracle.BrowserNames())
	if slices.Contains(builtin, name) {
		return oracle.Builtin(name)
	}
	if filepath.Base(name) == name && filepath.Ext(name) == "" {
		return nil, fmt.Errorf("no suite is named %s; valid: %s, or the path of a suite file", name, strings.Join(builtin, ", "))
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSuite {
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes", name, maxSuite)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return oracle.Parse(name, text)
}

// run judges every suite that can be trusted.
func (c *check) run(ctx context.Context) (*oracle.Report, error) {
	report := oracle.NewReport(c.subject, c.judged)
	for _, s := range c.suites {
		if faults := s.Lint(); len(faults) > 0 {
			report.Add(s, nil, nil, faults...)
			continue
		}
		proof := s.Prove()
		if len(proof.Void) > 0 {
			report.Add(s, proof, nil)
			continue
		}
		outcome, err := c.judge(ctx, s, c.progress)
		c.progress.done()
		if asked := (*exitError)(nil); errors.As(err, &asked) {
			return nil, err
		}
		if errors.Is(err, context.Canceled) {
			err = errors.New("the check was interrupted")
		}
		if err != nil {
			report.Add(s, proof, nil, err.Error())
			continue
		}
		report.Add(s, proof, outcome)
	}
	return report, nil
}

const (
	// minOutput and perOracle bound what a program under test may write: it
	// gets many times what the oracle has.
	minOutput = 16 << 20
	perOracle = 16
)

// replayTwice runs a program in two fresh processes and compares the bytes of
// their results. The outcome is that of the first, or that of the second where
// that is void, or where only that fails.
func replayTwice(ctx context.Context, command []string, s *oracle.Suite, timeout time.Duration, p *progress) (*oracle.Outcome, error) {
	var runs [2]*oracle.Outcome
	var results [2][]byte
	limit := max(minOutput, perOracle*len(s.Results()))
	for run := range runs {
		p.show("%s: run %d of 2", s.Name, run+1)
		var said *exec.Tail
		var err error
		if results[run], said, err = exec.Run(ctx, command, s.Input(), timeout, limit); err != nil {
			return nil, err
		}
		if runs[run], err = s.Judge(bytes.NewReader(results[run])); err != nil {
			return nil, err
		}
		if text := said.String(); text != "" && len(runs[run].Void) > 0 {
			runs[run].AddVoid("%s%s", command[0], text)
		}
	}
	outcome := runs[0]
	if len(outcome.Void) == 0 && (outcome.Failed == 0 || len(runs[1].Void) > 0) {
		outcome = runs[1]
	}
	outcome.Replays = oracle.Identical
	if !bytes.Equal(results[0], results[1]) {
		outcome.Replays = oracle.Differ
	}
	return outcome, nil
}

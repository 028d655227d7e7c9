package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit.example/contract"
	"remit.example/drive/live"
	"remit.example/oracle"
	"remit.example/record"
	"remit.example/tool"
)

// liveFlags is what the command line says of a running application.
type liveFlags struct {
	contract, url    string
	sandbox          bool
	provoke, restore []string
	writes, effects  []string
	patience         time.Duration
}

// besideLive are the flags that mean something beside --live alone.
var besideLive = []string{"url", "sandbox", "provoke", "restore", "write", "effects", "patience"}

// notLive are the flags that name something else to judge.
var notLive = []string{"http", "webmcp", "as-server", "tool", "revision"}

func (f *liveFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.contract, "live", "", "provoke the running application of `CONTRACT`, a file or a folder")
	cmd.Flags().StringVar(&f.url, "url", "", "the application's `URL`, the base of /v1/tools/NAME; beside --live")
	cmd.Flags().BoolVar(&f.sandbox, "sandbox", false, "your word that --url is no production system; beside --live")
	cmd.Flags().StringArrayVar(&f.provoke, "provoke", nil, "`KIND=CMD` run by sh -c; expired prints an expired token, refusal one that may not call, or sets it up, dependency makes it fail, lost loses the next answer; beside --live")
	cmd.Flags().StringArrayVar(&f.restore, "restore", nil, "`KIND=CMD` run after the calls of --provoke KIND, whatever happens; beside --live")
	cmd.Flags().StringArrayVar(&f.writes, "write", nil, "`\"TOOL INPUT [OTHER]\"`, a write whose answer is lost, and the input of another one; beside --live")
	cmd.Flags().StringArrayVar(&f.effects, "effects", nil, "`\"TOOL=READ INPUT POINTER\"`, the read that counts the effects of a write: a list or a number at a JSON Pointer; beside --live")
	cmd.Flags().DurationVar(&f.patience, "patience", 2*time.Second, "`TIME` in which an effect shows in its count; beside --live")
}

// alone refuses a flag that says nothing without --live.
func (f *liveFlags) alone(cmd *cobra.Command) error {
	for _, name := range besideLive {
		if cmd.Flags().Changed(name) {
			return usage("--%s is for a running application; valid: beside --live CONTRACT", name)
		}
	}
	return nil
}

// live provokes a running application. An interrupt does not keep what was
// provoked from being restored.
func (f *checkFlags) live(cmd *cobra.Command) (*oracle.Report, error) {
	if err := f.permitsLive(cmd); err != nil {
		return nil, err
	}
	plan, err := f.running.plan(f.tokenFile, f.mcp, f.command)
	if err != nil {
		return nil, err
	}
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.done()
	plan.Timeout, plan.Progress = f.timeout, func(calls int) { progress.show("live %s: call %d", plan.Service, calls) }
	return provoked(cmd.Context(), plan)
}

func provoked(ctx context.Context, plan live.Plan) (*oracle.Report, error) {
	run, err := live.Check(ctx, plan)
	if err != nil {
		return nil, usage("%w", err)
	}
	report := oracle.NewReport(oracle.Application, cmp.Or(plan.Base, plan.MCP))
	report.AddLive(run)
	return report, nil
}

// permitsLive refuses what contradicts --live, and a system that nobody says
// may be provoked.
func (f *checkFlags) permitsLive(cmd *cobra.Command) error {
	if f.running.contract == "" {
		return usage("--live names no contract; valid: a contract file, or a folder with a %s", contractFile)
	}
	for _, name := range notLive {
		if cmd.Flags().Changed(name) {
			return usage("--live and --%s name different things to judge; valid: one of them", name)
		}
	}
	args, command := cmd.Flags().Args(), []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, command = args[:dash], args[dash:]
	}
	given := 0
	for _, is := range []bool{f.running.url != "", f.mcp != "", cmd.ArgsLenAtDash() >= 0} {
		if is {
			given++
		}
	}
	switch {
	case len(args) > 0:
		return usage("--live judges an application by its contract; valid: without a suite")
	case given == 0:
		return usage("--live needs the application; valid: --url URL, such as http://127.0.0.1:8080, or for a guard contract --mcp URL or the server's command after --")
	case given > 1:
		return usage("--url, --mcp and a command after -- name different applications; valid: one of them")
	case cmd.ArgsLenAtDash() >= 0 && len(command) == 0:
		return usage("nothing stands after --; valid: the command of an MCP server and its arguments")
	case f.running.patience <= 0:
		return usage("--patience %s is no time to wait; valid: more than 0, such as 2s", f.running.patience)
	case !f.running.sandbox:
		return usage("--live executes writes, effects included, and provokes failures; say with --sandbox that the application is no production system")
	}
	f.command = command
	return nil
}

// plan turns the command line and its contract into what is provoked.
func (f *liveFlags) plan(tokenFile, mcp string, command []string) (live.Plan, error) {
	p := live.Plan{Base: f.url, MCP: cmp.Or(mcp, strings.Join(command, " ")), Command: command, Patience: f.patience}
	var err error
	if p.Provoke, err = commands("--provoke", f.provoke); err != nil {
		return p, err
	}
	if p.Restore, err = commands("--restore", f.restore); err != nil {
		return p, err
	}
	for kind := range p.Restore {
		if p.Provoke[kind] == "" {
			return p, usage("--restore %s has nothing to restore; valid: beside --provoke %[1]s=CMD", kind)
		}
	}
	if p.Token, err = firstToken(tokenFile); err != nil {
		return p, badInput(err)
	}
	file := onDisk(f.contract)
	c, err := file.contract()
	if err != nil {
		return p, badInput(err)
	}
	p.Service = c.Service
	switch guarded := c.Upstream != nil; {
	case guarded && p.MCP == "":
		return p, usage("%s is a guard contract, whose tools are those of an MCP server; valid: --mcp URL, or the server's command after --", f.contract)
	case !guarded && p.MCP != "":
		return p, usage("%s is the contract of served tools, which are judged over HTTP; valid: --url URL", f.contract)
	case !guarded:
		if p.Tools, err = served(file, c); err != nil {
			return p, badInput(err)
		}
	}
	p.Writes, err = f.lost(c, p.Tools)
	return p, err
}

// commands reads KIND=CMD. A command is never shown: it may hold a token.
func commands(flag string, texts []string) (map[live.Kind]string, error) {
	all := map[live.Kind]string{}
	for _, text := range texts {
		name, command, found := strings.Cut(text, "=")
		kind := live.Kind(name)
		switch {
		case !found || strings.TrimSpace(command) == "" || !slices.Contains(live.Kinds(), kind):
			return nil, usage("%s is not KIND=CMD; valid kinds: %s", flag, joinKinds())
		case all[kind] != "":
			return nil, usage("%s %s is given twice; valid: one command, which may be a list such as a; b", flag, kind)
		}
		all[kind] = command
	}
	return all, nil
}

func joinKinds() string {
	var names []string
	for _, kind := range live.Kinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// maxTokenFile bounds what is read of a token file, in bytes.
const maxTokenFile = 64 << 10

// firstToken is the token in a file's first line; "" for no file. No error
// shows it.
func firstToken(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	file, err := folder(".").Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTokenFile))
	if err != nil {
		return "", err
	}
	token, err := live.Token(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return token, nil
}

// served are the tools of a contract, bound as validation does: what they would
// answer from need not be at hand.
func served(file place, c *contract.Contract) ([]live.Tool, error) {
	tools, _, err := bound(file, c)
	if err != nil {
		return nil, err
	}
	var all []live.Tool
	for i, t := range tools {
		all = append(all, liveTool(c, c.Tools[i].Value, t))
	}
	return all, nil
}

// liveTool is what the contract says of one tool to those who provoke it.
func liveTool(c *contract.Contract, d *contract.Tool, t *tool.Tool) live.Tool {
	reads := t.Effect == record.Read
	return live.Tool{
		Name: t.Name, Schema: t.InputSchema, Example: t.Example, Writes: !reads,
		Anonymous: reads && c.Expose != nil && c.Expose.Reads == contract.Anonymous,
		Outage:    outageCodes(c, d, t.Effect),
	}
}

// outageCodes are the codes that tell rightly of a dependency that fails: that
// of the work which was not executed; on a write, that of an outcome which is
// not known; and those that the contract reads into a dependency without an
// answer, or with the status of a failed server.
func outageCodes(c *contract.Contract, d *contract.Tool, effect record.Effect) []string {
	if d.Backend == nil {
		return nil
	}
	codes := []string{string(record.TempUnavailable)}
	if effect != record.Read {
		codes = append(codes, string(record.OutcomeUnknown))
	}
	for _, rule := range slices.Concat(d.Failures, c.Failures) {
		outage := rule.When.Fact == contract.NoAnswer || slices.ContainsFunc(rule.When.Status, func(s contract.Status) bool { return s >= 500 })
		if code := string(rule.Is); outage && !slices.Contains(codes, code) && code != string(record.OK) {
			codes = append(codes, code)
		}
	}
	return codes
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"remit.example/drive"
	drivehttp "remit.example/drive/http"
	drivemcp "remit.example/drive/mcp"
	"remit.example/drive/scripted"
	"remit.example/oracle"
)

// chooseCaller judges what a caller does with the failures that it meets.
func (f *checkFlags) chooseCaller(c *check, command []string) error {
	if name := suiteOf(c.suites, oracle.CatalogueV1); name != "" {
		return usage("%s has no failures for a caller to meet; valid beside --as-server: a suite of %s", name, oracle.RecoveryV1)
	}
	c.subject, c.judged = oracle.Caller, strings.Join(command, " ")
	c.judge = func(ctx context.Context, s *oracle.Suite, p *progress) (*oracle.Outcome, error) {
		return scripted.Judge(ctx, s, scripted.Options{
			Wire: f.asServer, Command: command, Timeout: f.timeout,
			Progress: func(done, total int, name string) { p.show("%s: %d of %d cases, %s", s.Name, done, total, name) },
		})
	}
	return nil
}

// suiteOf names a suite of the contract; "" if there is none.
func suiteOf(suites []*oracle.Suite, contract oracle.Contract) string {
	i := slices.IndexFunc(suites, func(s *oracle.Suite) bool { return s.Contract == contract })
	if i < 0 {
		return ""
	}
	return suites[i].Name
}

// chooseTools judges what tools answer under the conditions of each case.
func (f *checkFlags) chooseTools(c *check) error {
	names, err := f.toolNames(c.suites)
	if err != nil {
		return err
	}
	token, err := firstToken(f.tokenFile)
	if err != nil {
		return badInput(err)
	}
	c.subject, c.judged = oracle.Tools, "the tools of "+f.http+f.mcp
	c.judge = func(ctx context.Context, s *oracle.Suite, _ *progress) (*oracle.Outcome, error) {
		tools, end, err := f.dial(ctx, token)
		if err != nil {
			return nil, err
		}
		defer end()
		outcome, err := drive.JudgeTools(ctx, s, tools, names)
		if _, unnamed := errors.AsType[*drive.NamesError](err); unnamed {
			return nil, badInput(err)
		}
		return outcome, err
	}
	return nil
}

// dial reaches the server of --http or --mcp.
func (f *checkFlags) dial(ctx context.Context, token string) (drive.Tools, func(), error) {
	if f.http != "" {
		tools, err := drivehttp.New(f.http, drivehttp.Options{Token: token, Timeout: f.timeout})
		if err != nil {
			return nil, nil, badInput(err)
		}
		return tools, func() {}, nil
	}
	tools, err := drivemcp.Dial(ctx, f.mcp, drivemcp.Options{Revision: f.revision, Token: token, Timeout: f.timeout})
	if err != nil {
		return nil, nil, err
	}
	return tools, func() { _ = tools.Close() }, nil // what it answered has been read
}

// toolNames reads --tool; a name that no suite calls by is an error.
func (f *checkFlags) toolNames(suites []*oracle.Suite) (map[string]string, error) {
	var valid []string
	for _, s := range suites {
		valid = append(valid, drive.LogicalNames(s)...)
	}
	names := map[string]string{}
	var faults []error
	for _, text := range f.tools {
		logical, served, found := strings.Cut(text, "=")
		switch {
		case !found || served == "":
			faults = append(faults, fmt.Errorf("--tool %s names no served tool; valid: NAME=SERVED, such as %s=my_tool", text, valid[0]))
		case !slices.Contains(valid, logical):
			faults = append(faults, fmt.Errorf("--tool %s: the suite calls no tool %s; valid: %s", text, logical, strings.Join(valid, ", ")))
		case names[logical] != "":
			faults = append(faults, fmt.Errorf("--tool names %s twice; keep one", logical))
		}
		names[logical] = served
	}
	if len(faults) > 0 {
		return nil, usage("%w", errors.Join(faults...))
	}
	return names, nil
}

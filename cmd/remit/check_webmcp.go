package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"remit.example/drive"
	"remit.example/drive/webmcp"
	"remit.example/oracle"
)

// platformPath is the page that remit serve --sandbox serves for platform-v1.
const platformPath = "/sandbox/platform"

// pageFlags is what the command line says of a page and its browser.
type pageFlags struct {
	url, browser string
}

func (f *pageFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "webmcp", "", "judge the tools that the page at `URL` registers, in Chromium; for platform-v1, what is made of a call that the browser fails")
	cmd.Flags().StringVar(&f.browser, "browser", "", "`PATH` of Chromium; default: the first of chromium, chromium-browser and google-chrome; beside --webmcp")
}

// permits refuses what does not fit the suites: a suite of calls that a browser
// fails needs one, and its page has its own tools.
func (f *pageFlags) permits(suites []*oracle.Suite, named []string) error {
	platform := suiteOf(suites, oracle.PlatformV1)
	switch {
	case f.url == "" && f.browser != "":
		return usage("--browser is the one that opens a page; valid: beside --webmcp")
	case platform == "":
		return nil
	case f.url == "":
		return usage("%s judges what is made of calls in a browser; valid: --webmcp URL, of a server that was started as remit serve --sandbox", platform)
	case len(named) > 0:
		return usage("%s calls the tools of its own page; valid: without --tool", platform)
	}
	return nil
}

// chooseWebMCP judges the tools of a page, or for a suite of the platform what
// the driver makes of the browser.
func (f *checkFlags) chooseWebMCP(c *check) error {
	path, err := webmcp.Find(f.page.browser)
	if err != nil {
		return badInput(err)
	}
	origin, err := webmcp.Origin(f.page.url)
	if err != nil {
		return badInput(err)
	}
	run := f.platformRun(origin + platformPath)
	c.subject, c.judged = oracle.Platform, "what the driver makes of calls in "+path+" at "+origin+platformPath
	if suiteOf(c.suites, oracle.PlatformV1) == "" {
		names, err := f.toolNames(c.suites)
		if err != nil {
			return err
		}
		run = f.nativeRun(names)
		c.subject, c.judged = oracle.NativeTools, "the tools of "+f.page.url+" in "+path
	}
	c.judge = func(ctx context.Context, s *oracle.Suite, p *progress) (*oracle.Outcome, error) {
		p.show("%s: starting %s", s.Name, path)
		browser, err := webmcp.Start(ctx, path, false)
		if err != nil {
			return nil, err
		}
		defer browser.Close()
		return run(ctx, browser, s, p)
	}
	return nil
}

// inBrowser judges a suite with a browser that has been started.
type inBrowser func(ctx context.Context, b *webmcp.Browser, s *oracle.Suite, p *progress) (*oracle.Outcome, error)

func (f *checkFlags) platformRun(page string) inBrowser {
	return func(ctx context.Context, b *webmcp.Browser, s *oracle.Suite, p *progress) (*oracle.Outcome, error) {
		return webmcp.JudgePlatform(ctx, b, s, webmcp.Platform{
			Page: page, Timeout: f.timeout,
			Progress: func(done int) { p.show("%s: %d of %d cases", s.Name, done, len(s.Cases)) },
		})
	}
}

func (f *checkFlags) nativeRun(names map[string]string) inBrowser {
	return func(ctx context.Context, b *webmcp.Browser, s *oracle.Suite, p *progress) (*oracle.Outcome, error) {
		tools, err := b.NewTools(f.page.url, f.timeout)
		if err != nil {
			return nil, err
		}
		defer tools.Close()
		p.show("%s: %s", s.Name, f.page.url)
		outcome, err := drive.JudgeTools(ctx, s, tools, names)
		if _, unnamed := errors.AsType[*drive.NamesError](err); unnamed {
			return nil, badInput(err)
		}
		return outcome, err
	}
}

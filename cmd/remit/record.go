package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"remit.example/drive/recorder"
	"remit.example/drive/webmcp"
	"remit.example/oracle"
)

const recordLong = `Record what an agent does with the tools of a page, in Chromium.

The browser starts with a profile of its own, which is removed at the end, and
opens the page. The agent is started once, with

  REMIT_CDP    the WebSocket address of the browser's debugging protocol
  REMIT_PAGE   the address of the page

and reads one request a line, {"id","request"}, in a user's words. It calls the
page's tools in the browser itself, and prints one line for each request before
it gets the next:

  {"id":"paint-colour","answer":{"text":"…","claims":[{"kind":"insufficient_evidence"}]}}

Kinds of claims: match, suitable, unsuitable, best (with id), rank (with id and
rank), insufficient_evidence, clarify_preferences, no_matches.

Which tool was called, with which parameters and what it returned, the browser
tells, not the agent. The recording is JSON Lines with the members id, request,
tool, parameters, result, answer and calls; remit check browser-v1 judges it.

Exit codes: 0 recorded, 1 the browser or the agent failed and nothing was
written, 2 wrong usage or input, or no browser.`

const recordExample = `  remit record --webmcp http://127.0.0.1:8080/ -- ./agent --quiet
  remit record --webmcp http://127.0.0.1:8080/ -o run.jsonl -- node agent.mjs
  remit record --webmcp http://127.0.0.1:8080/ --requests mine.jsonl --timeout 5m -- ./agent
  remit check browser-v1 run.jsonl`

// recordFlags is what the command line says.
type recordFlags struct {
	page, browser string
	requests, out string
	timeout       time.Duration

	// What read makes of it.
	agent []string
	asked []oracle.Asked
	path  string // of the browser
}

func newRecord() *cobra.Command {
	var flags recordFlags
	cmd := &cobra.Command{
		Use:     "record --webmcp URL -- AGENT…",
		Short:   "Record which tools an agent calls in a browser, and its answers",
		Long:    recordLong,
		Example: recordExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.read(args, cmd.ArgsLenAtDash()); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			cmd.SetContext(ctx)
			return flags.record(cmd)
		},
	}
	cmd.Flags().StringVar(&flags.page, "webmcp", "", "the `URL` of the page whose tools the agent may call")
	cmd.Flags().StringVar(&flags.browser, "browser", "", "`PATH` of Chromium; default: the first of chromium, chromium-browser and google-chrome")
	cmd.Flags().StringVar(&flags.requests, "requests", "", "`FILE` of requests, one {\"id\",\"request\"} a line; default: those of browser-v1")
	cmd.Flags().StringVarP(&flags.out, "output", "o", "", "`FILE` for the recording, written whole or not at all; default: standard output")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", time.Minute, "longest `TIME` of the page's start, of one answer, and of the agent's end")
	return cmd
}

// read checks the command line and reads what it names.
func (f *recordFlags) read(args []string, dash int) (err error) {
	page, parsed := url.Parse(f.page)
	switch {
	case f.page == "":
		return usage("record needs a page; valid: --webmcp URL, such as http://127.0.0.1:8080/")
	case parsed != nil || page.Host == "" || page.Scheme != "http" && page.Scheme != "https":
		return usage("--webmcp %s is no address of a page; valid: http or https, such as http://127.0.0.1:8080/", f.page)
	case page.User != nil:
		return usage("--webmcp names a user or a password, which a recording would show; valid: an address without")
	case dash != 0 || len(args) == 0:
		return usage("record needs the agent alone, after --; valid: remit record --webmcp URL -- AGENT…")
	case f.timeout <= 0:
		return usage("--timeout %s is no time to wait; valid: more than 0, such as 30s", f.timeout)
	}
	if page.Path == "" {
		page.Path = "/" // as the browser writes it
	}
	f.page, f.agent = page.String(), args
	if f.asked, err = readRequests(f.requests); err != nil {
		return badInput(err)
	}
	if f.path, err = webmcp.Find(f.browser); err != nil {
		return badInput(err)
	}
	return nil
}

// maxRequests bounds a file of requests, in bytes.
const maxRequests = 16 << 20

// readRequests reads a file of requests, or those of browser-v1.
func readRequests(name string) ([]oracle.Asked, error) {
	if name == "" {
		s, err := oracle.Builtin(browserSuite)
		if err != nil {
			return nil, err
		}
		return parseRequests(browserSuite, s.Input())
	}
	text, err := readBounded(name, maxRequests)
	if err != nil {
		return nil, err
	}
	return parseRequests(name, text)
}

func parseRequests(name string, text []byte) ([]oracle.Asked, error) {
	var all []oracle.Asked
	seen := map[string]bool{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		asked, err := oracle.ReadAsked(bytes.TrimSpace(line))
		switch {
		case err != nil:
			return nil, fmt.Errorf(`%s:%d: not a request: %w; valid: {"id","request"}`, name, number, err)
		case seen[asked.ID]:
			return nil, fmt.Errorf("%s:%d: %s stands twice; valid: ids that differ", name, number, asked.ID)
		}
		seen[asked.ID] = true
		all = append(all, asked)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: it has no requests", name)
	}
	return all, nil
}

// readBounded reads a regular file of at most so many bytes.
func readBounded(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes", name, most)
	}
	return os.ReadFile(name)
}

// record records, and writes the whole of it.
func (f *recordFlags) record(cmd *cobra.Command) error {
	progress := newProgress(cmd.ErrOrStderr())
	recorded, err := recorder.Record(cmd.Context(), recorder.Options{
		Page: f.page, Browser: f.path, Command: f.agent, Requests: f.asked, Timeout: f.timeout,
		Progress: func(done, total int) { progress.show("record: %d of %d requests", done, total) },
	})
	progress.done()
	if err != nil {
		return fmt.Errorf("nothing was recorded: %w", err)
	}
	var text bytes.Buffer
	for _, r := range recorded {
		if err := json.MarshalWrite(&text, r); err != nil {
			return err
		}
		text.WriteByte('\n')
	}
	if f.out == "" {
		_, err := cmd.OutOrStdout().Write(text.Bytes())
		return err
	}
	return writeWhole(f.out, text.Bytes())
}

// writeWhole writes a file so that nobody sees a part of it.
func writeWhole(name string, text []byte) error {
	part, err := os.CreateTemp(filepath.Dir(name), "."+strings.TrimLeft(filepath.Base(name), ".")+"-")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // it is gone where it was renamed
	if _, err = part.Write(text); err == nil {
		err = part.Chmod(0o644)
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), name)
}

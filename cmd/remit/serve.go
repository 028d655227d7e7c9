package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"remit.example/wire"
	"remit.example/wire/mcp"
	"remit.example/wire/rest"
	"remit.example/wire/webmcp"
)

const (
	// drainTime bounds how long the calls that run may take to end.
	drainTime = 10 * time.Second
	// watchInterval is how often the files are looked at.
	watchInterval = time.Second
)

const serveLong = `Serve tools to agents over MCP and to programs and people over HTTP.

PATH is a contract file, or a folder with a contract.yaml; none serves the
built-in examples. The server answers at

  /                 an index for people
  /tools/NAME       a page for people: ask one tool, see its answer
  /mcp              MCP, streamable HTTP
  /v1/tools         the tools, as JSON
  /v1/tools/NAME    one tool: POST a request, get its answer
  /remit.js         a script that registers the tools in a page (WebMCP)
  /healthz /readyz /metrics

With --stdio it speaks MCP over standard input and output instead.

A changed contract or data file, or SIGHUP, loads all of them anew; where one is
faulty, the errors are printed and what was served before stays. SIGINT and
SIGTERM let running calls end, for at most 10 seconds; a second one does not.

Only this machine may call, unless the contract's expose says otherwise or
--token-file names tokens. Its lines are a name and a token of at least 16
characters; lines that begin with # are comments. It must not be open to every
user of the machine. A caller sends its token as Authorization: Bearer TOKEN.

With --sandbox a call may set the conditions of its own execution, so that a
program can check the tools (SPEC.md, section 9); never serve users so.`

const serveExample = `  remit serve
  remit serve examples/task-lights examples/light-sources
  remit serve shop/contract.yaml --listen 0.0.0.0:8080 --token-file tokens.txt
  remit serve shop/contract.yaml --stdio
  remit serve examples/delivery-status --sandbox`

// serveFlags is what the command line says.
type serveFlags struct {
	listen    string
	tokenFile string
	stdio     bool
	sandbox   bool
	verbose   bool
}

func newServe() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:     "serve [PATH…]",
		Short:   "Serve the tools of contracts over MCP and HTTP",
		Long:    serveLong,
		Example: serveExample,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := flags.check(cmd.Flags().Changed("listen")); err != nil {
				return err
			}
			signals := make(chan os.Signal, 4)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer signal.Stop(signals)
			ticker := time.NewTicker(watchInterval)
			defer ticker.Stop()
			s := &serving{
				flags: flags, paths: paths, open: open, signals: signals, ticks: ticker.C,
				in: cmd.InOrStdin(), out: cmd.OutOrStdout(), log: cmd.ErrOrStderr(),
			}
			return s.run()
		},
	}
	cmd.Flags().StringVar(&flags.listen, "listen", "127.0.0.1:8080", "address to listen on, `HOST:PORT`; port 0 takes a free one")
	cmd.Flags().BoolVar(&flags.stdio, "stdio", false, "speak MCP over standard input and output instead of listening")
	cmd.Flags().StringVar(&flags.tokenFile, "token-file", "", "`FILE` of the tokens that callers need")
	cmd.Flags().BoolVar(&flags.sandbox, "sandbox", false, "let calls set the conditions of their execution, for programs that check tools")
	cmd.Flags().BoolVar(&flags.verbose, "verbose", false, "print a line for each call")
	return cmd
}

// check refuses flags that contradict each other.
func (f serveFlags) check(listenGiven bool) error {
	if f.stdio && (listenGiven || f.tokenFile != "") {
		return usage("--stdio serves the process that started it; valid: --stdio without --listen and --token-file")
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return usage("--listen %s is no address; valid: HOST:PORT such as 127.0.0.1:8080", f.listen)
	}
	return nil
}

// serving is one run of remit serve. Signals and ticks come from channels, so
// that a test gives them.
type serving struct {
	flags   serveFlags
	paths   []string
	open    func(paths []string) (*opened, error)
	signals <-chan os.Signal
	ticks   <-chan time.Time
	in      io.Reader
	out     io.Writer
	log     io.Writer
	// listening is told the address that the server listens on; nil: nobody.
	listening func(address string)

	service *wire.Service
	mcp     *mcp.Server
	watch   watch
}

// run serves until a signal, or the end of the input on --stdio.
func (s *serving) run() error {
	first, err := s.open(s.paths)
	if err != nil {
		return badInput(err)
	}
	s.watch.set(first.files)
	options := wire.Options{Logger: s.logger(), Sandbox: s.flags.sandbox}
	if !s.flags.stdio {
		options.Listen = s.flags.listen
	}
	if s.flags.tokenFile != "" {
		if options.Tokens, err = wire.ReadTokens(s.flags.tokenFile); err != nil {
			return badInput(err)
		}
	}
	if s.service, err = wire.New(first.set, options); err != nil {
		return badInput(err)
	}
	s.mcp = mcp.New(s.service, readBuild().Version)
	if s.flags.stdio {
		return s.serveStdio()
	}
	return s.serveHTTP()
}

func (s *serving) logger() *slog.Logger {
	level := slog.LevelInfo
	if s.flags.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: level}))
}

func (s *serving) serveStdio() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.mcp.ServeStdio(ctx, io.NopCloser(s.in), nopCloser{s.out}) }()
	s.say("serving %s over standard input and output", s.offer())
	stopped, err := s.until(ended)
	if !stopped {
		return err
	}
	return s.drain(func(context.Context) error { cancel(); return <-ended }, cancel)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (s *serving) serveHTTP() error {
	listener, err := net.Listen("tcp", s.flags.listen)
	if err != nil {
		return listenError(s.flags.listen, err)
	}
	server := s.service.Server(s.handler())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	address := listener.Addr().String()
	s.say("serving %s\n  index  %[2]s/\n  MCP    %[2]s/mcp\n  tools  %[2]s/v1/tools", s.offer(), localURL(address))
	if s.listening != nil {
		s.listening(address)
	}
	stopped, err := s.until(ended)
	if !stopped {
		return err
	}
	stop := func(ctx context.Context) error {
		go s.mcp.Close()
		return server.Shutdown(ctx)
	}
	return s.drain(stop, func() { _ = server.Close() })
}

func listenError(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program; valid: another port, such as --listen 127.0.0.1:0 for a free one", address)
	}
	return fmt.Errorf("cannot listen on %s: %w", address, err)
}

// handler is every path of the server.
func (s *serving) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.mcp)
	webmcp.Mount(mux, s.service)
	mux.Handle("/", rest.New(s.service, rest.Options{Version: readBuild().Version, Paths: absolute(s.paths)}))
	return mux
}

// absolute makes paths mean the same in a client's folder.
func absolute(paths []string) []string {
	all := make([]string, len(paths))
	for i, path := range paths {
		all[i] = path
		if full, err := filepath.Abs(path); err == nil {
			all[i] = full
		}
	}
	return all
}

// localURL is an address as a caller on this machine writes it.
func localURL(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return "http://localhost:" + port
	}
	return "http://" + address
}

// inventory names what is served: 3 tools of task-lights.
func (s *serving) inventory() string {
	var services []string
	tools := s.service.Set().Tools()
	for _, t := range tools {
		if !slices.Contains(services, t.Service.Service) {
			services = append(services, t.Service.Service)
		}
	}
	if len(tools) == 1 {
		return "1 tool of " + services[0]
	}
	return fmt.Sprintf("%d tools of %s", len(tools), strings.Join(services, ", "))
}

// offer is the inventory, and that it is a sandbox.
func (s *serving) offer() string {
	if s.flags.sandbox {
		return s.inventory() + " in a sandbox, where calls set their own conditions"
	}
	return s.inventory()
}

// until reloads what changes, until the server ends by itself or a signal
// stops it.
func (s *serving) until(ended <-chan error) (stopped bool, err error) {
	for {
		select {
		case err := <-ended:
			return false, err
		case <-s.ticks:
			if s.watch.changed() {
				s.reload()
			}
		case got := <-s.signals:
			if got != syscall.SIGHUP {
				return true, nil
			}
			s.reload()
		}
	}
}

// reload serves the files as they now are, all of them or none.
func (s *serving) reload() {
	before := s.watch
	before.look()
	next, err := s.open(s.paths)
	if next != nil { // also beside an error: it may lie in a file that is new
		s.watch.set(next.files)
	}
	// A file that changed while it was read counts as changed once more.
	s.watch.keep(before)
	if err == nil {
		err = s.service.Replace(next.set)
	}
	if err != nil {
		s.say("not reloaded, what was served before stays:\n%s", err)
		return
	}
	s.say("reloaded: %s", s.inventory())
}

// drain lets running calls end, then stops; abort ends at once. It gives up
// after drainTime or at a second signal.
func (s *serving) drain(stop func(context.Context) error, abort func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	s.say("ending; running calls have %d seconds, another signal ends at once", int(drainTime.Seconds()))
	done := make(chan error, 1)
	idle := s.service.Drain()
	go func() {
		select {
		case <-idle:
			done <- stop(ctx)
		case <-ctx.Done():
			done <- ctx.Err()
		}
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				abort()
				return fmt.Errorf("calls that still ran were cut off: %w", err)
			}
			return nil
		case got := <-s.signals:
			if got == syscall.SIGHUP {
				continue
			}
			abort()
			return errors.New("ended at once; calls that still ran were cut off")
		}
	}
}

// say prints one message for the operator.
func (s *serving) say(format string, args ...any) {
	fmt.Fprintf(s.log, "remit: "+format+"\n", args...)
}

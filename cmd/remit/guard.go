package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"os/user"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"remit.example/contract"
	"remit.example/guard"
	"remit.example/guard/proxy"
	"remit.example/guard/trace"
	"remit.example/operation"
)

const guardLong = `Stand in front of an MCP server, and hold it and the agents that call it to a
contract: what was refused is not asked again, a write is never sent twice, and
each failure says what may be done next.

The client starts the guard in the server's place:

  remit guard -- CMD ARGS…              a server over standard input and output
  remit guard --upstream URL            one over HTTP
  remit guard --listen ADDR -- CMD      the same two, served over HTTP
  remit guard --listen ADDR --upstream URL

Begin with --observe, which passes everything and, with --trace FILE, says what
would have been answered without asking the server; see remit guard report.

--contract FILE says which tools only read, what their failures mean, and which
arguments make a write the same write; remit init --mcp drafts it. Without one
every tool is a write that may not be repeated; --trust-annotations takes those
for reads whose server says so.

Writes are kept in a ledger, --state; remit operations shows them. Over HTTP
only this machine's names are answered to, and pages of no other origin.`

const guardExample = `  remit guard --observe --trace trace.jsonl -- npx -y @acme/billing-mcp
  remit guard --contract billing.yaml -- npx -y @acme/billing-mcp
  remit guard --contract billing.yaml --listen 127.0.0.1:8081 --upstream https://mcp.acme.example/mcp`

// guardFlags is what the command line says.
type guardFlags struct {
	contract string
	listen   string
	upstream string
	observe  bool
	enforce  bool
	trust    bool
	state    string
	trace    string
	hosts    []string
	origins  []string
	headers  []string
	jwks     string
	issuer   string
	audience string
	verbose  bool
	metrics  string
}

func newGuard() *cobra.Command {
	var flags guardFlags
	cmd := &cobra.Command{
		Use:     "guard [--contract FILE] [-- CMD ARGS…]",
		Short:   "Hold an MCP server, and the agents that call it, to a contract",
		Long:    guardLong,
		Example: guardExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := flags.guarding(cmd, args)
			if err != nil {
				return err
			}
			defer g.close()
			return g.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.contract, "contract", "", "contract `FILE`")
	f.StringVar(&flags.listen, "listen", "", "serve over HTTP at `HOST:PORT`; absent: over standard input and output")
	f.StringVar(&flags.upstream, "upstream", "", "`URL` of the server's MCP endpoint; absent: the command, or the contract's upstream")
	f.BoolVar(&flags.observe, "observe", false, "pass everything, and say what would have been refused")
	f.BoolVar(&flags.enforce, "enforce", false, "act on every tool, whatever the contract's mode says")
	f.BoolVar(&flags.trust, "trust-annotations", false, "take a tool for a read where its server says so and there is no contract")
	f.StringVar(&flags.state, "state", "", "ledger of operations: sqlite:`PATH` or postgres://…")
	f.StringVar(&flags.trace, "trace", "", "`FILE` that gets one JSON line for each decision")
	f.StringArrayVar(&flags.hosts, "host", nil, "`NAME` that requests may be for besides this machine's; may be repeated")
	f.StringArrayVar(&flags.origins, "origin", nil, "web `ORIGIN` whose pages may call; may be repeated")
	f.StringArrayVar(&flags.headers, "header", nil, "`\"NAME: VALUE\"` sent with each request to --upstream from standard input; ${VAR} is an environment variable")
	f.StringVar(&flags.jwks, "jwks", "", "`URL` or file of the keys that sign callers' tokens; with --issuer and --audience")
	f.StringVar(&flags.issuer, "issuer", "", "`ISSUER` that callers' tokens must name")
	f.StringVar(&flags.audience, "audience", "", "`AUDIENCE` that callers' tokens must name")
	f.BoolVar(&flags.verbose, "verbose", false, "print a line for each decision")
	f.StringVar(&flags.metrics, "metrics", "", "serve Prometheus metrics at `HOST:PORT`, /metrics; without HOST on this machine alone")
	addGuardVerbs(cmd)
	return cmd
}

// guarding is one run of remit guard.
type guarding struct {
	flags    guardFlags
	contract *contract.Contract
	command  []string
	upstream *url.URL
	header   http.Header
	name     string // of the upstream, in the ledger
	store    operation.Store
	guard    *guard.Guard
	in       io.Reader
	out, log io.Writer
	closers  []func()
}

// guarding checks the command line and makes ready what it asks for.
func (f guardFlags) guarding(cmd *cobra.Command, args []string) (*guarding, error) {
	g := &guarding{flags: f, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), log: cmd.ErrOrStderr()}
	if f.observe && f.enforce {
		return nil, usage("--observe and --enforce exclude each other; give one, or neither for what the contract says")
	}
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return nil, usage("%q is no command of guard; valid: report, forget, or the server's own command after --", args[0])
	}
	if len(args) > 0 && f.upstream != "" {
		return nil, usage("the command after -- and --upstream exclude each other; give one")
	}
	switch given := f.jwks != "" || f.issuer != "" || f.audience != ""; {
	case given && (f.jwks == "" || f.issuer == "" || f.audience == ""):
		return nil, usage("--jwks, --issuer and --audience belong together; give all three, or none")
	case f.trust && f.contract != "":
		return nil, usage("--trust-annotations is for a guard without a contract; a contract states the effects")
	case len(f.headers) > 0 && f.listen != "":
		return nil, usage("--header is for a guard over standard input and output; over HTTP the callers' own headers are passed")
	case f.listen == "" && (given || len(f.hosts) > 0 || len(f.origins) > 0):
		return nil, usage("--jwks, --host and --origin are about callers over HTTP; give --listen too")
	}
	if f.contract != "" {
		var err error
		if g.contract, err = contract.Read(f.contract); err != nil {
			return nil, badInput(err)
		}
		if g.contract.Upstream == nil {
			return nil, usage("%s is the contract of served tools: it has no upstream; serve it with remit serve", f.contract)
		}
	}
	if err := g.resolve(args); err != nil {
		return nil, err
	}
	if f.listen != "" {
		if _, _, err := net.SplitHostPort(f.listen); err != nil {
			return nil, usage("--listen %s is no address; valid: HOST:PORT such as 127.0.0.1:8081", f.listen)
		}
	}
	if err := g.open(cmd.Context()); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// resolve finds the upstream: the command line's, or else the contract's.
func (g *guarding) resolve(args []string) error {
	address := g.flags.upstream
	g.command = args
	if len(args) == 0 && address == "" {
		if g.contract == nil {
			return usage("there is no server to guard; give its command after --, --upstream URL, or --contract with an upstream")
		}
		var err error
		if g.command, address, err = upstreamOf(g.contract.Upstream, os.LookupEnv); err != nil {
			return badInput(fmt.Errorf("%s: upstream: %w", g.flags.contract, err))
		}
	}
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return usage("--upstream is no address; valid: http or https, a host and a path, without user and password, such as https://mcp.acme.example/mcp")
		}
		g.upstream, g.name = u, u.Scheme+"://"+u.Host+u.Path
	} else {
		g.name = "stdio:" + strings.Join(g.command, " ")
	}
	if g.contract != nil {
		g.name = g.contract.Service
	}
	var err error
	g.header, err = upstreamHeader(g.flags.headers, os.LookupEnv)
	return err
}

// upstreamOf is the upstream that a contract names, with its variables.
func upstreamOf(u *contract.Upstream, lookup func(string) (string, bool)) (command []string, address string, err error) {
	expand := func(text string) string {
		return contract.Variable.ReplaceAllStringFunc(text, func(match string) string {
			name := match[2 : len(match)-1]
			value, ok := lookup(name)
			if !ok {
				err = errors.Join(err, fmt.Errorf("the environment variable %s is not set", name))
			}
			return value
		})
	}
	for _, argument := range u.Stdio {
		command = append(command, expand(argument))
	}
	return command, expand(u.URL), err
}

// upstreamHeader is what the flags say that each request carries.
func upstreamHeader(lines []string, lookup func(string) (string, bool)) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !found || name == "" {
			return nil, usage(`--header %q is no header; valid: "NAME: VALUE", such as "Authorization: Bearer ${TOKEN}"`, name)
		}
		_, value, err := upstreamOf(&contract.Upstream{URL: strings.TrimSpace(value)}, lookup)
		if err != nil {
			return nil, usage("--header %s: %v", name, err)
		}
		header.Add(name, value)
	}
	return header, nil
}

// guardLease is the lease of a guard's claims; 0: its own. Tests shorten it.
var guardLease time.Duration

// open opens the ledger and makes the guard.
func (g *guarding) open(ctx context.Context) error {
	options := guard.Options{Contract: g.contract, Upstream: g.name, TrustAnnotations: g.flags.trust, Lease: guardLease}
	switch {
	case g.flags.observe:
		options.Mode = contract.Observe
	case g.flags.enforce:
		options.Mode = contract.Enforce
	}
	if guard.New(options).Enforces() {
		var err error
		if g.store, err = openState(ctx, g.flags.state); err != nil {
			return err
		}
		g.closers = append(g.closers, func() { _ = g.store.Close() })
		options.Store = g.store
	}
	if err := g.watch(&options); err != nil {
		return err
	}
	g.guard = guard.New(options)
	return nil
}

func (g *guarding) close() {
	for _, f := range slices.Backward(g.closers) {
		f()
	}
}

// logger prints to standard error: standard output may be the client's.
func (g *guarding) logger() *slog.Logger {
	level := slog.LevelInfo
	if g.flags.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: level}))
}

// run guards until the client ends, or a signal.
func (g *guarding) run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if g.store != nil {
		go g.purge(ctx)
	}
	if g.flags.listen != "" {
		return g.serveHTTP(ctx)
	}
	return g.serveStdio(ctx)
}

func (g *guarding) serveStdio(ctx context.Context) error {
	principal := "local:" + localUser()
	if g.upstream != nil {
		return proxy.ServeRemote(ctx, g.guard, principal, g.in, g.out, g.upstream, g.header)
	}
	err := proxy.ServeStdio(ctx, g.guard, principal, g.in, g.out, g.processCommand())
	if err != nil {
		return badInput(fmt.Errorf("the server cannot be started: %w", err))
	}
	return nil
}

func (g *guarding) processCommand() proxy.Command {
	return proxy.Command{Args: g.command, Stderr: g.log, Ended: func(err error) {
		how := "it said that all is well"
		if err != nil {
			how = err.Error()
		}
		g.logger().Warn("the MCP server has ended; the next call starts it again", "how", how)
	}}
}

// localUser names the user whose calls come over standard input.
func localUser() string {
	if u, err := user.Current(); err == nil && u.Uid != "" {
		return u.Uid
	}
	return fmt.Sprint(os.Getuid())
}

func (g *guarding) serveHTTP(ctx context.Context) error {
	listener, err := net.Listen("tcp", g.flags.listen)
	if err != nil {
		return listenError(g.flags.listen, err)
	}
	identify, err := g.identify(ctx)
	if err != nil {
		return err
	}
	path := "/mcp"
	var handler http.Handler
	if g.upstream != nil {
		handler, path = proxy.NewHTTP(g.guard, g.upstream, identify), g.upstream.Path
	} else {
		bridge := proxy.NewBridge(g.guard, g.processCommand(), identify)
		defer bridge.Close()
		handler = bridge
	}
	access := proxy.Access{Listen: g.flags.listen, Hosts: lowered(g.flags.hosts), Origins: lowered(g.flags.origins)}
	server := proxy.Server(access.Limit(handler), g.logger())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if g.flags.jwks == "" && g.store != nil {
		g.logger().Warn("callers without an Authorization header are told apart by session or address alone: a write that is sent again in another session is another caller's")
	}
	fmt.Fprintf(g.log, "guarding %s\n  MCP  %s%s\n", trace.Redact(g.name), localURL(listener.Addr().String()), path)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		_ = server.Close() // what streams on is cut off
	}
	g.settled(ending)
	return nil
}

// settled waits for the writes whose callers have gone, as long as ctx lasts.
// What it does not wait for is open in the ledger until its lease ends.
func (g *guarding) settled(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		g.guard.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// identify says who callers are.
func (g *guarding) identify(ctx context.Context) (proxy.Identify, error) {
	if g.flags.jwks == "" {
		return proxy.Identified(nil), nil
	}
	verifier, err := proxy.NewVerifier(ctx, g.flags.jwks, g.flags.issuer, g.flags.audience)
	if err != nil {
		return nil, badInput(err)
	}
	return proxy.Identified(verifier.Subject), nil
}

func lowered(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ToLower(text)
	}
	return out
}

// purgeInterval is how often old results are forgotten.
const purgeInterval = time.Hour

// purge forgets the arguments and results that are kept for long enough.
func (g *guarding) purge(ctx context.Context) {
	for {
		if _, err := g.store.Purge(ctx, time.Now().Add(-g.guard.Retention())); err != nil && ctx.Err() == nil {
			g.logger().Warn("old results could not be deleted from the ledger", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(purgeInterval):
		}
	}
}

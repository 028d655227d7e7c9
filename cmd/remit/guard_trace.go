package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit.example/contract"
	"remit.example/guard"
	"remit.example/guard/proxy"
	"remit.example/guard/trace"
	"remit.example/operation"
)

// addGuardVerbs adds what is done with a guard beside running it.
func addGuardVerbs(cmd *cobra.Command) {
	cmd.AddCommand(newGuardReport(), newGuardForget())
	cmd.SetUsageTemplate(strings.Replace(usageTemplate, "{{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}", "{{.UseLine}}", 1))
}

// watch lets the guard tell of its decisions what the flags ask for.
func (g *guarding) watch(options *guard.Options) error {
	var told []func(guard.Decision)
	var lost func() uint64
	if g.flags.trace != "" {
		w, err := trace.NewWriter(trace.File{Path: g.flags.trace, Log: g.log})
		if err != nil {
			return usage("--trace: %w; name a file that can be written", err)
		}
		g.closers = append(g.closers, func() {
			if err := w.Close(); err != nil {
				fmt.Fprintf(g.log, "trace: %v\n", err)
			}
			if n := w.Lost(); n > 0 {
				fmt.Fprintf(g.log, "%d lines of the trace %s were lost\n", n, g.flags.trace)
			}
		})
		told, lost = append(told, w.Observe), w.Lost
	}
	if g.flags.verbose {
		p := trace.NewPrinter(g.log)
		g.closers = append(g.closers, p.Close)
		told = append(told, p.Observe)
	}
	if g.flags.metrics != "" {
		m := trace.NewMetrics(g.store, g.name, lost)
		if err := g.serveMetrics(m.Handler()); err != nil {
			return err
		}
		told = append(told, m.Observe)
	}
	if len(told) > 0 {
		options.Observed = func(d guard.Decision) {
			for _, f := range told {
				f(d)
			}
		}
	}
	return nil
}

// serveMetrics serves metrics until the guard is closed.
func (g *guarding) serveMetrics(handler http.Handler) error {
	host, port, err := net.SplitHostPort(g.flags.metrics)
	if err != nil {
		return usage("--metrics %s is no address; valid: HOST:PORT such as 127.0.0.1:9464, or :9464, which is this machine alone", g.flags.metrics)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	address := net.JoinHostPort(host, port)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return listenError(address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	server := proxy.Server(proxy.Access{Listen: address, Hosts: lowered(g.flags.hosts)}.Limit(mux), g.logger())
	g.closers = append(g.closers, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	fmt.Fprintf(g.log, "metrics of the guard: %s/metrics\n", localURL(listener.Addr().String()))
	return nil
}

const guardForgetLong = `Let every guard on a ledger forget that access was refused (ACCESS_DENIED): the
next such call is executed. Say so after access was granted.

The ledger is this user's own unless --state names another. --upstream is the
server's name in it: the service of the contract, else the address, or stdio:
and the command; remit operations show prints it. Other refusals end by
themselves, as the calls that they answer say.`

func newGuardForget() *cobra.Command {
	var state, tool, upstream, file string
	cmd := &cobra.Command{
		Use:   "forget",
		Short: "Let guards forget that access was refused",
		Long:  guardForgetLong,
		Example: `  remit guard forget --contract billing.yaml
  remit guard forget --upstream billing --tool create_charge --state sqlite:guard.db`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (upstream == "") == (file == "") {
				return usage("guard forget takes one of --upstream NAME and --contract FILE")
			}
			if file != "" {
				c, err := contract.Read(file)
				if err != nil {
					return badInput(err)
				}
				if c.Upstream == nil {
					return usage("%s is the contract of served tools: it has no upstream, and no guard", file)
				}
				upstream = c.Service
			}
			return inLedger(cmd.Context(), state, func(store operation.Store) error {
				return forget(cmd, store, upstream, tool)
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "ledger: sqlite:`PATH` or postgres://USER@HOST/DATABASE (default: this user's own)")
	cmd.Flags().StringVar(&upstream, "upstream", "", "`NAME` of the server in the ledger")
	cmd.Flags().StringVar(&file, "contract", "", "contract `FILE` whose server it is")
	cmd.Flags().StringVar(&tool, "tool", "", "`NAME` of the tool; absent: all tools")
	return cmd
}

func forget(cmd *cobra.Command, store operation.Store, upstream, tool string) error {
	if err := store.Forget(cmd.Context(), upstream, tool); err != nil {
		return err
	}
	at, err := store.Forgotten(cmd.Context(), upstream, tool)
	if err != nil {
		return err
	}
	what := "every tool"
	if tool != "" {
		what = "the tool " + oneLine(tool)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Guards of %s forget that access to %s was refused before %s.\n", oneLine(trace.Redact(upstream)), what, at.UTC().Format(time.RFC3339))
	if known, err := store.List(cmd.Context(), operation.Filter{Upstream: upstream}, "", 1); err == nil && len(known) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "No operation of %s is in this ledger yet: see that the name is the guard's own.\n", oneLine(trace.Redact(upstream)))
	}
	return nil
}

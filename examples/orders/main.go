// Command orders is a service whose writes happen once, built on the packages
// of this module: an MCP server that places, cancels and refunds orders, which
// it keeps in SQLite.
//
// # Once
//
// A write is one transaction: it claims an operation under the caller's
// idempotency_key, has its effect and records its answer, all in one file, so
// that there is no moment at which one of them is there without the others.
// The same key again gives the recorded answer with "replayed": true, and with
// other arguments KEY_REUSED. A refusal is recorded too, but leaves the key
// free.
//
//	place_order      keyed
//	cancel_order     keyed; PRECONDITION_FAILED unless the order is placed
//	refund_order     keyed; PRECONDITION_FAILED unless the order is cancelled
//	notify_customer  unsafe: it has no key, and appends to the outbox each time
//	get_order        a read, which tells what became of a write
//
// Failures are records of recovery-v2; those of notify_customer, an older
// tool, are prose, which contract.yaml reads.
//
// # Losing answers
//
// To try callers out, a write can be left without its answer, before or after
// its effect: the process ends, or over HTTP the connection is closed.
//
//	--lose after=2   of the second write of the process
//	--lose-on FILE   of the next write once FILE exists, which it deletes;
//	                 before the effect if FILE says before
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintf(os.Stderr, "orders: %v\n", err)
		os.Exit(2)
	}
}

// databaseVariable names the file where --db does not.
const databaseVariable = "ORDERS_DB"

func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.SetOutput(log)
	stdio := flags.Bool("stdio", false, "serve over standard input and output")
	listen := flags.String("listen", "", "serve over HTTP at `HOST:PORT`, path /mcp")
	db := flags.String("db", os.Getenv(databaseVariable), "SQLite `FILE`; absent: that of ORDERS_DB, or one that is deleted at the end")
	var l loser
	flags.Func("lose", "lose the answer of the Nth write: `after=N` its effect, or before=N", l.set)
	flags.StringVar(&l.file, "lose-on", "", "lose the answer of the next write once `FILE` exists, before the effect if it says before")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *stdio == (*listen != "") || flags.NArg() > 0 {
		return errors.New("give exactly one of --stdio and --listen HOST:PORT")
	}
	if *db == "" {
		folder, err := os.MkdirTemp("", "orders-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		*db = filepath.Join(folder, "orders.db")
	}
	s, err := open(ctx, *db)
	if err != nil {
		return err
	}
	defer s.close()
	server := newServer(s, &l)
	if *stdio {
		if err := server.Run(ctx, &sdk.StdioTransport{}); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
			return err
		}
		return nil
	}
	return serveHTTP(ctx, server, &l, *listen, log)
}

func serveHTTP(ctx context.Context, server *sdk.Server, l *loser, address string, log io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", l.connected(sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{JSONResponse: true, SessionTimeout: time.Hour},
	)))
	h := &http.Server{Handler: mux, ConnContext: withConnection, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	fmt.Fprintf(log, "http://%s/mcp\n", listener.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return h.Close()
	}
}

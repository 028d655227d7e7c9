package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit.example/contract"
	"remit.example/tool"
)

const callLong = `Call one tool once and print its exact answer and a newline.

The tool is one of the built-in examples, of a contract (--contract), or of a
server (--url, its address without /v1/tools). A call is one execution: nothing
is repeated. --input - reads the request from standard input.

With --url the variable REMIT_TOKEN, if set, is sent as the caller's token.

Exit codes: 0 an answer, 1 a failure, 2 wrong usage.`

const callExample = `  remit call search_lights --input '{"request_id":"S1","filters":{"max_price_minor":6000}}'
  remit call get_lamp --contract shop/contract.yaml --input '{"request_id":"L1","sku":"0017"}' --explain
  remit call search_lights --url http://127.0.0.1:8080 --input '{"request_id":"S1"}'`

// maxAnswer bounds what is read of a server's answer, in bytes.
const maxAnswer = 64 << 20

// callTime bounds one call of a server.
const callTime = time.Minute

type callFlags struct {
	input, contract, url string
	explain              bool
}

func newCall() *cobra.Command {
	var flags callFlags
	cmd := &cobra.Command{
		Use:     "call TOOL --input JSON [--contract PATH | --url URL]",
		Short:   "Call one tool once and print its exact answer",
		Long:    callLong,
		Example: callExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("call takes one tool, not %d; see remit call --help", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&flags.input, "input", "", "the request, one JSON object; - reads standard input")
	cmd.Flags().StringVar(&flags.contract, "contract", "", "a contract file, or a folder with a contract.yaml")
	cmd.Flags().StringVar(&flags.url, "url", "", "the address of a server")
	cmd.Flags().BoolVar(&flags.explain, "explain", false, "say on standard error what the answer establishes")
	return cmd
}

func (f callFlags) run(cmd *cobra.Command, name string) error {
	switch {
	case !cmd.Flags().Changed("input"):
		return usage(`--input is missing: the request, such as --input '{"request_id":"Q1"}'`)
	case f.contract != "" && f.url != "":
		return usage("--contract and --url exclude each other; give one")
	case f.url != "" && f.explain:
		return usage("--explain needs the contract; give --contract instead of --url")
	}
	input := []byte(f.input)
	if f.input == "-" {
		var err error
		if input, err = io.ReadAll(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	if f.url != "" {
		return callServer(cmd, f.url, name, input)
	}
	return f.callHere(cmd, name, input)
}

func (f callFlags) callHere(cmd *cobra.Command, name string, input []byte) error {
	var paths []string
	if f.contract != "" {
		paths = []string{f.contract}
	}
	o, err := openWith(paths, localKey())
	if err != nil {
		return badInput(err)
	}
	t, ok := o.set.Lookup(name)
	if !ok {
		return usage("there is no tool %s; valid: %s", name, strings.Join(contract.Nearest(name, toolNames(o.set)), ", "))
	}
	answer := t.Call(cmd.Context(), tool.Call{Input: input})
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", answer.Body); err != nil {
		return err
	}
	if f.explain {
		fmt.Fprintln(cmd.ErrOrStderr(), answer.Prose)
	}
	return failedIf(answer.Failure != nil)
}

func toolNames(set *tool.Set) []string {
	var names []string
	for _, t := range set.Tools() {
		names = append(names, t.Name)
	}
	return names
}

// failedIf is the exit of a failure that has been printed.
func failedIf(failed bool) error {
	if failed {
		return &exitError{code: exitFailure}
	}
	return nil
}

func callServer(cmd *cobra.Command, base, name string, input []byte) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usage("%q is no address of a server; write one such as http://127.0.0.1:8080", base)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), callTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath("v1", "tools", url.PathEscape(name)).String(), bytes.NewReader(input))
	if err != nil {
		return usage("%v", err)
	}
	request.GetBody = nil // or net/http may send the call a second time by itself
	request.Header.Set("Content-Type", "application/json")
	if token := os.Getenv("REMIT_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("the server gave no answer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the server's answer ended early: %w", err)
	}
	return printAnswer(cmd.OutOrStdout(), name, response.StatusCode, body)
}

// printAnswer prints what a server answered; a status below 400 is an answer.
func printAnswer(out io.Writer, name string, status int, body []byte) error {
	if !json.Valid(body) {
		return fmt.Errorf("the server answered with the status %d and no JSON; is this the address of a Remit server?", status)
	}
	if status == http.StatusNotFound {
		return usage("the server has no tool %s: %s", name, errorOf(body))
	}
	if _, err := fmt.Fprintf(out, "%s\n", bytes.TrimSuffix(body, []byte("\n"))); err != nil {
		return err
	}
	return failedIf(status >= http.StatusBadRequest)
}

// errorOf is the sentence of a failed answer.
func errorOf(body []byte) string {
	var answer struct{ Error string }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error == "" {
		return "it does not say more"
	}
	return answer.Error
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/contract"
	driveexec "remit.example/drive/exec"
)

// mcpFlags choose the server that a guard contract is drafted from.
type mcpFlags struct {
	ask       bool
	timeout   time.Duration
	tokenFile string
}

// foreign is a server as it describes itself.
type foreign struct {
	upstream contract.Upstream
	name     string
	version  string
	revision string
	tools    []*sdk.Tool
}

// maxForeign bounds the tools that are read of a server.
const maxForeign = 2000

// foreignUpstream reads the arguments: an address, or a command after --.
func foreignUpstream(args []string, dash int) (contract.Upstream, error) {
	const valid = "; write --mcp URL, or --mcp -- CMD ARGS…"
	switch {
	case dash == 0 && len(args) > 0:
		return checkedUpstream(contract.Upstream{Stdio: args})
	case dash > 0:
		return contract.Upstream{}, usage("--mcp takes an address or a command, not both%s", valid)
	case len(args) != 1:
		return contract.Upstream{}, usage("--mcp takes one address, or a command after --, not %s%s", plural(len(args), "argument"), valid)
	case !strings.HasPrefix(args[0], "http://") && !strings.HasPrefix(args[0], "https://") && !strings.HasPrefix(args[0], "${"):
		return contract.Upstream{}, usage("%s is no http or https address; a command stands after --%s", visibleText(args[0]), valid)
	}
	return checkedUpstream(contract.Upstream{URL: args[0]})
}

// checkedUpstream holds an upstream to the rules of a contract.
func checkedUpstream(u contract.Upstream) (contract.Upstream, error) {
	_, err := contract.Parse("contract.yaml", []byte("remit: 1\nservice: a\nupstream: "+upstreamText(u)+"\n"))
	var faults contract.Problems
	if errors.As(err, &faults) {
		return u, usage("%s", faults[0].Message)
	}
	return u, err
}

func upstreamText(u contract.Upstream) string {
	if u.URL != "" {
		return "{url: " + yamlText(u.URL) + "}"
	}
	return "{stdio: " + flow(u.Stdio) + "}"
}

// withVariables is a text with its environment variables.
func withVariables(text string) (string, error) {
	var missing []string
	text = contract.Variable.ReplaceAllStringFunc(text, func(variable string) string {
		value, ok := os.LookupEnv(variable[2 : len(variable)-1])
		if !ok {
			missing = append(missing, variable)
		}
		return value
	})
	if missing != nil {
		return "", usage("the environment variable %s is not set; set it, so that the server can be asked", strings.Join(missing, ", "))
	}
	return text, nil
}

// server connects to a server and lists its tools, in the time that there is.
func (f *mcpFlags) server(ctx context.Context, u contract.Upstream) (*foreign, error) {
	token, err := firstToken(f.tokenFile)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	transport, said, end, err := transportTo(ctx, u, token)
	if err != nil {
		return nil, err
	}
	defer end()
	s, err := describeForeign(ctx, transport)
	switch {
	case err == nil:
		s.upstream = u
		return s, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("it did not answer within %s", f.timeout)
	}
	end() // so that all that a command has said is here
	return nil, badInput(fmt.Errorf("%s: %w%s", shownUpstream(u), err, said))
}

func shownUpstream(u contract.Upstream) string {
	if u.URL != "" {
		return visibleText(u.URL)
	}
	return visibleText(u.Stdio[0])
}

// transportTo is how a server is spoken to, what a command says on its standard
// error, and how it is ended.
func transportTo(ctx context.Context, u contract.Upstream, token string) (sdk.Transport, *driveexec.Tail, func(), error) {
	said := &driveexec.Tail{}
	if u.URL != "" {
		address, err := withVariables(u.URL)
		if err != nil {
			return nil, nil, nil, err
		}
		client := &http.Client{
			Transport:     bearerToken{token},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a token stays where it was meant for
		}
		return &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: client, DisableStandaloneSSE: true}, said, func() {}, nil
	}
	if token != "" {
		return nil, nil, nil, usage("--token-file is for an address; a command finds its secrets in its environment")
	}
	words := make([]string, len(u.Stdio))
	for i, word := range u.Stdio {
		var err error
		if words[i], err = withVariables(word); err != nil {
			return nil, nil, nil, err
		}
	}
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Stderr = said
	driveexec.OwnGroup(command)
	end := func() {
		if command.Process != nil {
			_ = driveexec.KillGroup(command) // whom it has left behind
		}
	}
	return &sdk.CommandTransport{Command: command, TerminateDuration: time.Second}, said, end, nil
}

// bearerToken adds a token to requests.
type bearerToken struct{ token string }

// RoundTrip sends one request.
func (b bearerToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// describeForeign asks a server who it is and what it offers, in the newest revision
// that it speaks.
func describeForeign(ctx context.Context, transport sdk.Transport) (*foreign, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "remit init", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("no session: %w", err)
	}
	defer session.Close()
	s := &foreign{}
	if r := session.InitializeResult(); r != nil {
		s.revision = r.ProtocolVersion
		if r.ServerInfo != nil {
			s.name, s.version = r.ServerInfo.Name, r.ServerInfo.Version
		}
	}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("the list of tools: %w", err)
		}
		if s.tools = append(s.tools, tool); len(s.tools) > maxForeign {
			return nil, fmt.Errorf("it lists over %s; nobody reads a draft of so many", plural(maxForeign, "tool"))
		}
	}
	return s, nil
}

// draft drafts a guard contract from a live server.
func (f *mcpFlags) draft(ctx context.Context, args []string, dash int, found *clusters) (*mcpDraft, error) {
	u, err := foreignUpstream(args, dash)
	if err != nil {
		return nil, err
	}
	s, err := f.server(ctx, u)
	if err != nil {
		return nil, err
	}
	d := newMCPDraft(s, found)
	var faults contract.Problems
	if _, err := contract.Parse("contract.yaml", []byte(d.text)); errors.As(err, &faults) {
		return nil, badInput(fmt.Errorf("%s: no contract can be drafted from what it lists: %s", shownUpstream(u), faults[0].Message))
	}
	return d, nil
}

// secretWords are words of arguments and addresses beside which a secret may
// stand.
var secretWords = []string{"token", "secret", "password", "passwd", "key", "apikey", "auth", "bearer", "credential", "credentials"}

func maySecret(u contract.Upstream) bool {
	for _, text := range append(slices.Clone(u.Stdio), u.URL) {
		plain := contract.Variable.ReplaceAllString(text, "")
		if slices.ContainsFunc(headerWords(plain), func(word string) bool { return slices.Contains(secretWords, word) }) {
			return true
		}
	}
	return false
}

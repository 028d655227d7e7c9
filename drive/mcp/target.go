package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/drive"
	driveexec "remit.example/drive/exec"
)

// patience is how long a command has to end once its standard input is closed,
// and again once it is asked to.
const patience = 2 * time.Second

// transport is the way to a target.
func (t *Tools) transport(ctx context.Context, target string, options Options) (sdk.Transport, error) {
	words := options.Command
	if words == nil && IsAddress(target) {
		if u, err := url.Parse(target); err != nil || u.Hostname() == "" || u.User != nil {
			return nil, fmt.Errorf("%q is no address of a server; valid: one without user, such as http://127.0.0.1:8080/mcp", target)
		}
		httpClient := client(options.Token)
		t.breaker = &breaker{next: httpClient.Transport}
		httpClient.Transport = t.breaker
		return &sdk.StreamableClientTransport{Endpoint: target, HTTPClient: httpClient, DisableStandaloneSSE: true}, nil
	}
	if words == nil {
		var err error
		if words, err = split(target); err != nil {
			return nil, err
		}
	}
	t.errs = &driveexec.Tail{}
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Stderr = t.errs
	driveexec.OwnGroup(command)
	command.WaitDelay = patience // whoever it has started may hold its output open
	t.command = command
	return &sdk.CommandTransport{Command: command, TerminateDuration: patience}, nil
}

// IsAddress reports whether a target is the address of a server, and no command.
func IsAddress(target string) bool {
	target = strings.ToLower(target)
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

// client follows no redirects, so that a token stays where it was meant for.
func client(token string) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // no call meets a connection that the server has just closed
	return &http.Client{
		Transport:     &bearer{token, transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bearer adds a token to requests, and bounds their answers.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip sends one request, once.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.GetBody = nil // net/http sends again what it can get again
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &bounded{ReadCloser: response.Body, left: drive.MaxList}
	}
	return response, err
}

// bounded is a body that breaks off with an error when it is too long.
type bounded struct {
	io.ReadCloser
	left int
}

// Read reads what is left.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", drive.MaxList)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// split takes a command line apart at its blanks. What stands between two '
// or two " belongs together; no other character means anything but itself.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			inWord, quote = true, r
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("%q: the quote %c is not closed", line, quote)
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("no target; valid: an http or https address, or a command such as 'remit serve --stdio'")
	}
	return words, nil
}

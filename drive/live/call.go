package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"remit.example/oracle"
)

// maxAnswer bounds the body of one answer, in bytes.
const maxAnswer = 1 << 20

// tokenText is a bearer token (RFC 6750, section 2.1).
var tokenText = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

const tokenForm = "letters, digits and . _ ~ + / -, then ="

func isToken(text string) bool { return tokenText.MatchString(text) }

// Token is the token of a text's first line. Its error never shows the text.
func Token(text string) (string, error) {
	line, _, _ := strings.Cut(strings.TrimPrefix(text, "\uFEFF"), "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 || len(fields) > 2 || !isToken(fields[len(fields)-1]) {
		return "", errors.New("its first line is no token; valid: " + tokenForm + ", alone or after a name and a blank")
	}
	return fields[len(fields)-1], nil
}

// caller calls the tools of one application.
type caller struct {
	base    string
	timeout time.Duration
	client  *http.Client
}

func newCaller(base string, timeout time.Duration) (*caller, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address of the application is none; valid: http or https without user, query and fragment, such as http://127.0.0.1:8080")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // no call meets a connection that was just closed
	transport.DisableCompression = true
	return &caller{strings.TrimSuffix(base, "/"), timeout, &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// call makes one call, once. Its error says that there was no connection; what
// went wrong later is observed of the application.
func (c *caller) call(ctx context.Context, tool string, body []byte, token string) (oracle.Observed, error) {
	var connected atomic.Bool
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := c.request(traced, tool, body, token)
	if err != nil {
		return oracle.Observed{}, err
	}
	response, err := c.client.Do(request)
	switch {
	case err != nil && !connected.Load():
		return oracle.Observed{}, fmt.Errorf("the application cannot be reached: %w", err)
	case err != nil:
		return oracle.Observed{Lost: c.lost(ctx)}, nil
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return oracle.Observed{Lost: c.lost(ctx)}, nil
	case len(answer) > maxAnswer:
		return oracle.Observed{Lost: fmt.Sprintf("the answer is longer than %d bytes", maxAnswer)}, nil
	}
	return oracle.Observed{Status: response.StatusCode, Body: bytes.TrimSuffix(answer, []byte("\n"))}, nil
}

// request is a call. The context may trace it.
func (c *caller) request(ctx context.Context, tool string, body []byte, token string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/tools/"+url.PathEscape(tool), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.GetBody = nil // or net/http may send the call a second time by itself
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, nil
}

// lost says why a call that was taken has no answer.
func (c *caller) lost(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("the application took the call and did not answer within %s", c.timeout)
	}
	return "the application took the call and broke off before it had answered"
}

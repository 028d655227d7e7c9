// Package http calls tools over plain HTTP, for package drive.
//
//	GET  BASE/v1/tools         {"tools":[{"name","promise"}…]}; 404: the server lists none
//	POST BASE/v1/tools/{name}  the body is the input, application/json
//
// The conditions of a sandbox go along in two headers. The first is a JSON
// object in ASCII, other characters as \u and four digits:
//
//	Remit-Case: {"case":"auth-renewed","auth_ok":true,"allowed":true,"response":"OK"}
//	Remit-Execution: 2
//
// # An answer
//
// The body, to the byte but for one newline at its end, is JSON. It has failed
// if its status is outside 200 to 299 or it has the member error; the record is
// its member recovery. A redirect is no answer, and none is followed. Nor is a
// failure of the platform: 404, 405, 413, 415 or 421 without a record.
//
// Each call has a connection of its own, so that none meets one that the server
// has just closed, and net/http sends nothing twice.
package http

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"remit.example/drive"
	"remit.example/oracle"
)

// Options configures how a server is called.
type Options struct {
	Token   string        // a bearer token; "": none
	Timeout time.Duration // of one call, answer included; 0: drive.DefaultTimeout
}

// Tools are those of one server.
type Tools struct {
	base    string
	options Options
	client  *nethttp.Client
}

// New calls the tools of the server at base, an http or https address.
func New(base string, options Options) (*Tools, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a server; valid: http or https without user, query and fragment, such as http://127.0.0.1:8080", base)
	}
	options.Timeout = cmp.Or(options.Timeout, drive.DefaultTimeout)
	transport := nethttp.DefaultTransport.(*nethttp.Transport).Clone()
	transport.DisableKeepAlives = true
	transport.DisableCompression = true
	return &Tools{base: strings.TrimSuffix(base, "/"), options: options, client: &nethttp.Client{
		Transport:     transport,
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
	}}, nil
}

// List lists the tools.
func (t *Tools) List(ctx context.Context) ([]drive.Tool, error) {
	r, err := t.exchange(ctx, nethttp.MethodGet, "/v1/tools", nil, nil, drive.MaxList)
	switch {
	case err != nil:
		return nil, err
	case r.status == nethttp.StatusNotFound:
		return nil, drive.ErrNoList
	case r.status != nethttp.StatusOK:
		return nil, fmt.Errorf("GET %s/v1/tools: status %d%s; valid: 200", t.base, r.status, r.location)
	}
	var list struct {
		Tools []struct {
			Name    string `json:"name"`
			Promise string `json:"promise"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.body, &list); err != nil || list.Tools == nil {
		return nil, fmt.Errorf(`GET %s/v1/tools: %.200q is no list of tools; valid: {"tools":[{"name":"…"}]}`, t.base, r.body)
	}
	tools := make([]drive.Tool, len(list.Tools))
	for i, each := range list.Tools {
		tools[i] = drive.Tool(each)
	}
	return tools, nil
}

// Call makes one call.
func (t *Tools) Call(ctx context.Context, name string, input []byte, c *oracle.Condition, execution int) (oracle.ToolAnswer, error) {
	header, err := Conditions(c, execution)
	if err != nil {
		return oracle.ToolAnswer{}, err
	}
	path := "/v1/tools/" + url.PathEscape(name)
	r, err := t.exchange(ctx, nethttp.MethodPost, path, header, input, drive.MaxAnswer+1) // and its newline
	if err != nil {
		return oracle.ToolAnswer{}, err
	}
	answer, err := r.read()
	if err != nil {
		return oracle.ToolAnswer{}, fmt.Errorf("POST %s%s: status %d%s: %w", t.base, path, r.status, r.location, err)
	}
	return answer, nil
}

// Conditions are the headers that set those of an execution, from 1; none for
// nil.
func Conditions(c *oracle.Condition, execution int) (nethttp.Header, error) {
	header := nethttp.Header{}
	if c == nil {
		return header, nil
	}
	conditions, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	header.Set("Remit-Case", ascii(string(conditions)))
	header.Set("Remit-Execution", strconv.Itoa(execution))
	return header, nil
}

// received is what a server answered one request with.
type received struct {
	status   int
	location string // of a redirect, as a message shows it
	body     []byte
}

// platform are the statuses of a request that never became a call.
var platform = []int{
	nethttp.StatusNotFound, nethttp.StatusMethodNotAllowed, nethttp.StatusRequestEntityTooLarge,
	nethttp.StatusUnsupportedMediaType, nethttp.StatusMisdirectedRequest,
}

// read is what a tool answered.
func (r received) read() (oracle.ToolAnswer, error) {
	if r.status/100 == 3 {
		return oracle.ToolAnswer{}, errors.New("redirects are not followed; give the address itself")
	}
	answer, err := drive.ReadAnswer(bytes.TrimSuffix(r.body, []byte("\n")))
	if err != nil {
		return oracle.ToolAnswer{}, err
	}
	if slices.Contains(platform, r.status) && answer.Record == nil {
		return oracle.ToolAnswer{}, fmt.Errorf("the request never became a call: %.200q", answer.Body)
	}
	answer.Failed = answer.Failed || r.status/100 != 2
	return answer, nil
}

// exchange sends one request, and reads at most limit bytes of its answer.
func (t *Tools) exchange(ctx context.Context, method, path string, header nethttp.Header, input []byte, limit int64) (received, error) {
	limited, cancel := context.WithTimeout(ctx, t.options.Timeout)
	defer cancel()
	r, err := t.do(limited, method, path, header, input, limit)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%s %s%s: no answer within %s", method, t.base, path, t.options.Timeout)
	}
	return r, err
}

func (t *Tools) do(ctx context.Context, method, path string, header nethttp.Header, input []byte, limit int64) (received, error) {
	request, err := nethttp.NewRequestWithContext(ctx, method, t.base+path, bytes.NewReader(input))
	if err != nil {
		return received{}, err
	}
	request.GetBody = nil // net/http sends again what it can get again
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("Accept", "application/json")
	if method == nethttp.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	if t.options.Token != "" {
		request.Header.Set("Authorization", "Bearer "+t.options.Token)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return received{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return received{}, fmt.Errorf("%s %s%s: the answer broke off: %w", method, t.base, path, err)
	case int64(len(body)) > limit:
		return received{}, fmt.Errorf("%s %s%s: the answer is longer than %d bytes", method, t.base, path, limit)
	}
	r := received{status: response.StatusCode, body: body}
	if location := response.Header.Get("Location"); location != "" && r.status/100 == 3 {
		r.location = fmt.Sprintf(" to %.200q", location)
	}
	return r, nil
}

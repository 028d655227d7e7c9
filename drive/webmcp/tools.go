package webmcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/drive"
	drivehttp "remit.example/drive/http"
	"remit.example/oracle"
)

// Tools are those that one page registers.
type Tools struct {
	browser *Browser
	page    string
	origin  *drivehttp.Tools
	timeout time.Duration
	open    *openPage // nil before the first call, and after one without an answer
}

// NewTools are the tools of the page at address. timeout bounds one call, or
// one opening of the page; 0: drive.DefaultTimeout.
func (b *Browser) NewTools(address string, timeout time.Duration) (*Tools, error) {
	origin, err := Origin(address)
	if err != nil {
		return nil, err
	}
	timeout = cmp.Or(timeout, drive.DefaultTimeout)
	served, err := drivehttp.New(origin, drivehttp.Options{Timeout: timeout})
	if err != nil {
		return nil, err
	}
	return &Tools{browser: b, page: address, origin: served, timeout: timeout}, nil
}

// Origin is that of a page: scheme, host and port.
func Origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", fmt.Errorf("%q is no address of a page; valid: http or https without user, such as http://127.0.0.1:8080/", address)
	}
	return u.Scheme + "://" + u.Host, nil
}

// List lists the tools that the page has registered. What they promise is what
// the page's origin lists at /v1/tools, if it lists any there.
func (t *Tools) List(ctx context.Context) ([]drive.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	names, err := t.open.registered(ctx, "")
	if err != nil {
		return nil, err
	}
	served, err := t.origin.List(ctx)
	if err != nil && !errors.Is(err, drive.ErrNoList) {
		return nil, err
	}
	promises := map[string]string{}
	for _, tool := range served {
		promises[tool.Name] = tool.Promise
	}
	tools := make([]drive.Tool, len(names))
	for i, name := range names {
		tools[i] = drive.Tool{Name: name, Promise: promises[name]}
	}
	return tools, nil
}

// ready opens the page if it is not open.
func (t *Tools) ready(ctx context.Context) (err error) {
	if t.open == nil {
		t.open, err = t.browser.open(ctx, t.page, nil)
	}
	return err
}

// errNoNumber says which inputs a page cannot pass on.
var errNoNumber = fmt.Errorf("%w: JavaScript knows no other form of a number, no number beyond 2^53 and no member twice", drive.ErrNotCarried)

// carried reports whether JavaScript keeps an input, but for white space and
// how its texts are written: no member twice, and each number as JavaScript
// writes it.
func carried(input jsontext.Value) bool {
	decoder := jsontext.NewDecoder(bytes.NewReader(input))
	for {
		value, err := decoder.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			return false
		case value.Kind() != '0':
			continue
		}
		written := jsontext.Value(value.String())
		if canonical := written.Clone(); canonical.Canonicalize() != nil || string(canonical) != string(written) {
			return false
		}
	}
}

// Call makes one call through the page's executeTool. What the platform makes
// of it without an answer is an error, and the page is opened anew for the next
// call.
func (t *Tools) Call(ctx context.Context, name string, input []byte, c *oracle.Condition, execution int) (oracle.ToolAnswer, error) {
	if !carried(input) {
		return oracle.ToolAnswer{}, errNoNumber
	}
	limited, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	answer, err := t.call(limited, name, input, c, execution)
	if err != nil && t.open != nil {
		t.open.close()
		t.open = nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %s", t.timeout)
	}
	return answer, err
}

func (t *Tools) call(ctx context.Context, name string, input []byte, c *oracle.Condition, execution int) (oracle.ToolAnswer, error) {
	if err := t.ready(ctx); err != nil {
		return oracle.ToolAnswer{}, err
	}
	if _, err := t.open.registered(ctx, name); err != nil {
		return oracle.ToolAnswer{}, err
	}
	header, err := drivehttp.Conditions(c, execution)
	if err != nil {
		return oracle.ToolAnswer{}, err
	}
	if err := t.open.setHeader(ctx, header); err != nil {
		return oracle.ToolAnswer{}, err
	}
	o, err := t.open.observe(ctx, request{tool: name, input: input, patience: t.timeout})
	if err != nil {
		return oracle.ToolAnswer{}, err
	}
	return answerOf(o)
}

// answerOf is what a tool answered; an error where the platform has no answer.
func answerOf(o Observed) (oracle.ToolAnswer, error) {
	reading := Read(o)
	if reading != Answered && reading != ApplicationFailure {
		return oracle.ToolAnswer{}, fmt.Errorf("no answer: %s%s", reading, o.reported())
	}
	return drive.ReadAnswer(bodyOf([]byte(*o.Text)))
}

// bodyOf is the text in the content of a failure that says the same as the
// failure itself, or the failure without content where that is its sentence
// alone; any other answer as it is.
func bodyOf(text []byte) []byte {
	var object map[string]jsontext.Value
	if json.Unmarshal(text, &object) != nil {
		return text
	}
	var content []struct {
		Text string `json:"text"`
	}
	if string(object["isError"]) != "true" || json.Unmarshal(object["content"], &content) != nil || len(content) == 0 {
		return text
	}
	var sentence string
	if json.Unmarshal(object["error"], &sentence) == nil && len(content) == 1 && content[0].Text == sentence {
		return leaving(text, "isError", "content") // an agent's budget had no room for the body
	}
	last := []byte(content[len(content)-1].Text)
	delete(object, "isError")
	delete(object, "content")
	rest, err := json.Marshal(object)
	if err != nil || !sameValue(rest, last) {
		return text
	}
	return last
}

// leaving is an object without the named members; the bytes of the others stay.
func leaving(text []byte, names ...string) []byte {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	_, err := decoder.ReadToken()
	rest := []byte{'{'}
	for err == nil && decoder.PeekKind() == '"' {
		var name, value jsontext.Value
		if name, err = decoder.ReadValue(); err != nil {
			break
		}
		name = name.Clone()
		if value, err = decoder.ReadValue(); err != nil || slices.Contains(names, strings.Trim(string(name), `"`)) {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, name...), ':'), value...)
	}
	return append(rest, '}')
}

// sameValue reports whether two JSON texts are equal but for their form.
func sameValue(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}

// reported is the name of the error and the status that a call ended with.
func (o Observed) reported() string {
	words := slices.DeleteFunc([]string{o.Error, o.Ended}, func(word string) bool { return word == "" })
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(words, ", "))
}

// Close closes the page.
func (t *Tools) Close() {
	if t.open != nil {
		t.open.close()
	}
}

package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit.example/catalogue"
	"remit.example/contract"
	"remit.example/record"
	"remit.example/recovery"
)

// maxResponse bounds the body of an upstream's response, in bytes.
const maxResponse = 1 << 20

// defaultTimeout bounds one execution where the contract does not.
const defaultTimeout = 10 * time.Second

// service is one http backend.
type service struct {
	tool     *Tool
	declared *contract.Tool
	rules    []contract.FailureRule
	method   string
	url      string
	headers  http.Header
	timeout  time.Duration
	client   *http.Client
}

// upstream answers from a JSON service, one request an execution.
func upstream(t *Tool, declared *contract.Tool, backing Backing) (backend, error) {
	h := declared.Backend.HTTP
	s := &service{
		tool: t, declared: declared, rules: slices.Concat(declared.Failures, t.Service.Failures),
		method: string(h.Method), headers: http.Header{}, timeout: time.Duration(h.Timeout), client: backing.Client,
	}
	if s.method == "" {
		s.method = http.MethodGet
	}
	if s.timeout == 0 {
		s.timeout = defaultTimeout
	}
	if s.client == nil {
		s.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	var err error
	if s.url, err = expand(h.URL, backing.Getenv); err != nil {
		return nil, err
	}
	for name, text := range h.Headers {
		value, err := expand(text, backing.Getenv)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		s.headers.Set(name, value)
	}
	return s.ask, nil
}

// expand replaces ${NAME} by the environment's value.
func expand(text string, getenv func(string) (string, bool)) (string, error) {
	var missing []string
	expanded := contract.Variable.ReplaceAllStringFunc(text, func(match string) string {
		name := contract.Variable.FindStringSubmatch(match)[1]
		value, ok := "", false
		if getenv != nil {
			value, ok = getenv(name)
		}
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment variable %s is not set; set it before serving", strings.Join(missing, ", "))
	}
	return expanded, nil
}

func (s *service) ask(ctx context.Context, given arguments) outcome {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := s.request(ctx, given)
	if err != nil {
		return s.fail(&record.Record{Code: recovery.Unclassified, Message: fmt.Sprintf("The request could not be made: %v.", err)})
	}
	response, err := s.client.Do(request)
	if err != nil {
		return s.noAnswer(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return s.noAnswer(err)
	}
	return s.read(response, body)
}

func (s *service) request(ctx context.Context, given arguments) (*http.Request, error) {
	address := contract.Placeholder.ReplaceAllStringFunc(s.url, func(match string) string {
		return url.PathEscape(given.text(match[1 : len(match)-1]))
	})
	var body io.Reader
	if s.declared.Backend.HTTP.Body {
		body = bytes.NewReader(given.object())
	}
	request, err := http.NewRequestWithContext(ctx, s.method, address, body)
	if err != nil {
		return nil, err
	}
	// Without GetBody net/http cannot send the request a second time by itself.
	request.GetBody = nil
	if request.Body == nil {
		request.Body = http.NoBody
	}
	request.Header = s.headers.Clone()
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// noAnswer reads a connection that failed: by the contract's rules for this
// fact, else by what is known of it.
func (s *service) noAnswer(err error) outcome {
	known := recovery.Classify(err, s.tool.Effect)
	for _, rule := range s.rules {
		// What may have taken effect stays unknown, whatever the contract says.
		if rule.When.Fact == contract.NoAnswer && known.Code != record.OutcomeUnknown {
			return s.matched(rule, known.RetryAfterMS)
		}
	}
	known.Message = sentence(known.Code)
	return s.fail(known)
}

// read makes an answer or a failure of a response.
func (s *service) read(response *http.Response, body []byte) outcome {
	node, parseErr := catalogue.ParseNode(body)
	for _, rule := range s.rules {
		if rule.When.Fact == "" && matches(rule.When, response.StatusCode, node) {
			return s.matched(rule, wait(response.Header))
		}
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return s.unknown(record.Code("HTTP_"+strconv.Itoa(response.StatusCode)), fmt.Sprintf("The service answered with the status %d, which this contract does not read.", response.StatusCode))
	}
	if len(body) > maxResponse {
		parseErr = fmt.Errorf("it has over %d bytes", maxResponse)
	}
	if parseErr != nil {
		return s.unreadable(parseErr)
	}
	answer := ordered{}
	for _, output := range s.declared.Answer {
		value, err := memberOf(output.Value, at(node, pointerOf(output)))
		if err != nil {
			return s.unreadable(fmt.Errorf("%s: %w", output.Name, err))
		}
		answer.add(output.Name, value)
	}
	return outcome{body: answer.json(), prose: fmt.Sprintf("This is the %s that the service gave.", listed(s.declared.Answer.Names()))}
}

// unreadable is a success that does not fit the contract: a write behind it
// may have taken effect.
func (s *service) unreadable(err error) outcome {
	for _, rule := range s.rules {
		if rule.When.Fact == contract.Unreadable && s.tool.Effect == record.Read {
			return s.matched(rule, nil)
		}
	}
	return s.unknown("UNREADABLE_ANSWER", fmt.Sprintf("The service's answer does not fit this contract: %v.", err))
}

// unknown is a code that no reader knows, so that it stops; on a write the
// effect is not known either.
func (s *service) unknown(code record.Code, message string) outcome {
	return s.fail(&record.Record{Code: code, Message: message})
}

func (s *service) fail(r *record.Record) outcome { return outcome{failure: r, prose: r.Error()} }

func (s *service) matched(rule contract.FailureRule, stated *int64) outcome {
	r := &record.Record{Code: record.Code(rule.Is), Message: rule.Text, Field: rule.Field}
	if r.Message == "" {
		r.Message = sentence(r.Code)
	}
	if r.Field != "" {
		input, _ := s.declared.Input.Get(r.Field)
		r.Fields = []record.Field{{Pointer: "/" + r.Field, Reason: "refused", Accepted: accepts(input)}}
	}
	if r.Code == record.TempUnavailable || r.Code == record.QuotaExhausted {
		r.RetryAfterMS = stated
		if stated == nil && rule.Wait != 0 {
			ms := time.Duration(rule.Wait).Milliseconds()
			r.RetryAfterMS = &ms
		}
	}
	return s.fail(r)
}

// wait is what a response's Retry-After states.
func wait(header http.Header) *int64 {
	d, ok := recovery.RetryAfter(header.Get("Retry-After"), time.Now())
	if !ok {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// matches reports whether every member of a condition holds.
func matches(when contract.When, status int, body *catalogue.Node) bool {
	if len(when.Status) > 0 && !slices.Contains(when.Status, contract.Status(status)) {
		return false
	}
	for pointer, text := range when.Body {
		node := at(body, pointer)
		if node == nil || node.Kind != '"' && node.Kind != '0' || node.Text != text {
			return false
		}
	}
	return true
}

func pointerOf(output contract.Entry[*contract.Output]) string {
	if output.Value.From != "" {
		return output.Value.From
	}
	return "/" + output.Name
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// at is the value that a JSON Pointer (RFC 6901) names; where there is none, a
// null, so that no type accepts it.
func at(node *catalogue.Node, pointer string) *catalogue.Node {
	none := &catalogue.Node{Kind: 'n'}
	if node == nil {
		return none
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = unescape.Replace(step)
		var next *catalogue.Node
		if index, err := strconv.Atoi(step); err == nil && node.Kind == '[' && index >= 0 && index < len(node.Items) {
			next = node.Items[index]
		} else {
			next, _ = node.Get(step)
		}
		if next == nil {
			return none
		}
		node = next
	}
	return node
}

package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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

// service is one http backend: a JSON service that gets one request an
// execution.
type service struct {
	tool     *Tool
	declared *contract.Tool
	rules    []contract.FailureRule
	method   string
	address  *address
	headers  http.Header
	timeout  time.Duration
	client   *http.Client
	now      func() time.Time
}

func newService(t *Tool, declared *contract.Tool, backing Backing) (*service, error) {
	h := declared.Backend.HTTP
	s := &service{
		tool: t, declared: declared, rules: slices.Concat(declared.Failures, t.Service.Failures),
		method: string(h.Method), timeout: time.Duration(h.Timeout), client: backing.Client, now: backing.Now,
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
	if s.now == nil {
		s.now = time.Now
	}
	var err error
	if s.address, err = newAddress(declared, backing.Getenv); err != nil {
		return nil, err
	}
	s.headers, err = headersOf(h, backing.Getenv)
	return s, err
}

// ask executes the tool once.
func (s *service) ask(ctx context.Context, given arguments) outcome {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var trace sent
	_, speaks := s.transport().(*http.Transport)
	trace.traced.Store(speaks)
	request, fault := s.request(trace.watch(ctx), given)
	if fault != nil {
		return refused([]catalogue.Fault{*fault})
	}
	response, err := s.client.Do(request)
	if err != nil {
		return s.noAnswer(trace.mark(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return s.noAnswer(lost(err))
	}
	return s.read(response, body)
}

func (s *service) transport() http.RoundTripper {
	if s.client.Transport == nil {
		return http.DefaultTransport
	}
	return s.client.Transport
}

// request is the request of one execution, which net/http cannot send a second
// time by itself.
func (s *service) request(ctx context.Context, given arguments) (*http.Request, *catalogue.Fault) {
	address, fault := s.address.of(given)
	if fault != nil {
		return nil, fault
	}
	request, err := http.NewRequestWithContext(ctx, s.method, address, http.NoBody)
	if err != nil { // newAddress made one of the same form
		panic(err)
	}
	request.Header = s.headers.Clone()
	switch {
	case s.declared.Backend.HTTP.Body:
		body := given.object()
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		request.Header.Set("Content-Type", "application/json")
	case s.resent():
		request.Body = io.NopCloser(bytes.NewReader(nil))
	}
	request.GetBody = nil
	return request, nil
}

// resent reports whether net/http would send a request without a body again
// by itself when a reused connection is lost. A body that only turns out to be
// empty when it is read keeps it from that.
func (s *service) resent() bool {
	return s.method == http.MethodGet || s.headers.Get("Idempotency-Key") != "" || s.headers.Get("X-Idempotency-Key") != ""
}

// sent watches whether a request has left. A transport that does not speak
// httptrace is taken to have sent it.
type sent struct{ traced, left atomic.Bool }

func (s *sent) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders:         func() { s.left.Store(true) },
		GotFirstResponseByte: func() { s.left.Store(true) },
	})
}

// mark says of an error whether its request had left.
func (s *sent) mark(err error) error {
	if s.traced.Load() && !s.left.Load() {
		return recovery.NotSent(err)
	}
	return lost(err)
}

// lost marks an error that leaves open what became of the request, unless the
// error itself says that it never left.
func lost(err error) error { return errors.Join(err, io.ErrUnexpectedEOF) }

// unsafe reports whether a request that may have been executed must not be
// sent again.
func (s *service) unsafe() bool {
	return s.tool.Effect != record.Read && s.tool.Effect != record.Idempotent
}

// noAnswer reads a connection that failed: by the contract's rules for this
// fact, else by what is known of it.
func (s *service) noAnswer(err error) outcome {
	known := recovery.Classify(err, s.tool.Effect)
	if rule, ok := s.ruleFor(contract.NoAnswer); ok && known.Code != record.OutcomeUnknown {
		r := s.failure(rule, nil)
		if r.Code == known.Code {
			r.Outcome, r.WaitKind = known.Outcome, known.WaitKind
			if r.RetryAfterMS == nil {
				r.RetryAfterMS = known.RetryAfterMS
			}
		}
		return s.fail(r)
	}
	known.Message = sentence(known.Code) // the error may name the address and what is secret in it
	return s.fail(known)
}

// ruleFor is the first rule for a fact.
func (s *service) ruleFor(fact contract.Fact) (contract.FailureRule, bool) {
	i := slices.IndexFunc(s.rules, func(rule contract.FailureRule) bool { return rule.When.Fact == fact })
	if i < 0 {
		return contract.FailureRule{}, false
	}
	return s.rules[i], true
}

// read makes an answer or a failure of a response.
func (s *service) read(response *http.Response, body []byte) outcome {
	node, err := catalogue.ParseNode(body)
	if len(body) > maxResponse {
		node, err = nil, fmt.Errorf("it has over %d bytes", maxResponse)
	}
	for _, rule := range s.rules {
		if rule.When.Fact == "" && matches(rule.When, response.StatusCode, node) && s.mayMean(rule, response.StatusCode) {
			return s.fail(s.failure(rule, s.wait(response.Header)))
		}
	}
	switch status := response.StatusCode; {
	case s.unsettled(status):
		return s.fail(&record.Record{Code: record.OutcomeUnknown, Message: sentence(record.OutcomeUnknown), RetryAfterMS: s.wait(response.Header)})
	case status < 200 || status > 299:
		return s.fail(&record.Record{
			Code:    record.Code("HTTP_" + strconv.Itoa(status)),
			Message: fmt.Sprintf("The service answered with the status %d, which this contract does not read.", status),
		})
	case err != nil:
		return s.unreadable(err)
	}
	return s.answer(node)
}

// unsettled reports whether a status leaves open what became of the request: a
// service that failed in a write, or a gateway that lost its answer.
func (s *service) unsettled(status int) bool {
	switch status {
	case http.StatusInternalServerError:
		return s.tool.Effect != record.Read
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return s.unsafe()
	}
	return false
}

// mayMean reports whether a rule may read a status. What an unsafe tool may
// have done stays unknown, whatever a rule says of the status alone; the
// service's own words in the body say more.
func (s *service) mayMean(rule contract.FailureRule, status int) bool {
	if !s.unsafe() || !s.unsettled(status) || len(rule.When.Body) > 0 {
		return true
	}
	next := recovery.V2.Rule(record.Code(rule.Is), s.tool.Effect).Next
	return next == record.Stop || next == record.CheckStatus
}

func (s *service) answer(node *catalogue.Node) outcome {
	answer := record.Object{}
	for _, output := range s.declared.Answer {
		value, err := memberOf(output.Value, at(node, pointerOf(output)))
		if err != nil {
			return s.unfitting(fmt.Errorf("%s: %w", output.Name, err))
		}
		answer.Add(output.Name, value)
	}
	return outcome{body: answer.JSON(), prose: fmt.Sprintf("This is the %s that the service gave.", catalogue.Joined(s.declared.Answer.Names(), "and"))}
}

// unreadable is a success whose body is no JSON: an answer that was lost.
func (s *service) unreadable(err error) outcome {
	known := recovery.Classify(io.ErrUnexpectedEOF, s.tool.Effect)
	known.Message = fmt.Sprintf("The service's answer cannot be read: %v.", err)
	return s.notRead(known)
}

// unfitting is a success whose body is not what the contract says: asking
// again gives no other, and a write behind it may have taken effect.
func (s *service) unfitting(err error) outcome {
	r := &record.Record{Code: "UNREADABLE_ANSWER", Message: fmt.Sprintf("The service's answer does not fit this contract: %v.", err)}
	if s.unsafe() {
		r.Code = record.OutcomeUnknown
	}
	return s.notRead(r)
}

// notRead is a failure of reading, as the contract's rules or r say.
func (s *service) notRead(r *record.Record) outcome {
	if rule, ok := s.ruleFor(contract.Unreadable); ok && !s.unsafe() {
		return s.fail(s.failure(rule, nil))
	}
	return s.fail(r)
}

// defaultWait is what TEMP_UNAVAILABLE asks for where neither the service nor
// the contract states a wait, in milliseconds: the code always supplies one.
const defaultWait = 1000

// fail is the outcome of a failure. On a write it says what became of it.
func (s *service) fail(r *record.Record) outcome {
	if r.Code == record.TempUnavailable && r.RetryAfterMS == nil {
		r.RetryAfterMS = new(int64(defaultWait))
	}
	switch {
	case s.tool.Effect == record.Read || r.Outcome != "":
	case r.Code == record.OutcomeUnknown || !r.Code.Known():
		r.Outcome = record.NotKnown
	case r.Code == record.TempUnavailable:
		r.Outcome = record.NotApplied
	}
	return outcome{failure: r, prose: r.Error()}
}

// failure is what a rule reads, with the wait that the response states.
func (s *service) failure(rule contract.FailureRule, stated *int64) *record.Record {
	r := &record.Record{Code: record.Code(rule.Is), Message: rule.Text}
	if r.Message == "" {
		r.Message = sentence(r.Code)
	}
	if input, ok := s.declared.Input.Get(rule.Field); ok { // a rule for all tools may name another's
		r.Field = rule.Field
		fault := acceptor{}.fault(r.Field, input, "refused")
		r.Fields = catalogue.Fields([]catalogue.Fault{fault})
		if rule.Text == "" {
			r.Message = fmt.Sprintf("The service does not accept this %s. %s", r.Field, fault.Message)
		}
	}
	if r.Code == record.TempUnavailable || r.Code == record.QuotaExhausted {
		r.RetryAfterMS = stated
		if stated == nil && rule.Wait.Fixed != 0 {
			ms := time.Duration(rule.Wait.Fixed).Milliseconds()
			r.RetryAfterMS = &ms
		}
	}
	return r
}

// wait is what a response's Retry-After states, in milliseconds, rounded up.
func (s *service) wait(header http.Header) *int64 {
	d, ok := recovery.RetryAfter(header.Get("Retry-After"), s.now())
	if !ok {
		return nil
	}
	ms := d.Milliseconds()
	if d%time.Millisecond != 0 {
		ms++
	}
	return &ms
}

// matches reports whether every member of a condition holds.
func matches(when contract.When, status int, body *catalogue.Node) bool {
	if len(when.Status) > 0 && !slices.Contains(when.Status, contract.Status(status)) {
		return false
	}
	for pointer, text := range when.Body {
		node := at(body, pointer)
		if !strings.ContainsRune(`"0tf`, rune(node.Kind)) || givenBy("", node).text != text {
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
// null, so that no type accepts it. A member that stands twice names none.
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
			var times int
			if next, times = node.Get(step); times > 1 {
				return none
			}
		}
		if next == nil {
			return none
		}
		node = next
	}
	return node
}

package recorder

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp/remote"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"remit.example/oracle"
)

// answerTime bounds how long the browser may take to answer a command. A page
// that is busy is slower than that only if it hangs.
const answerTime = 10 * time.Second

var null = jsontext.Value("null")

// observer notes the calls of tools in all pages of a browser.
type observer struct {
	address string // of the browser's protocol
	conn    *remote.Conn
	inPage  bool
	lost    chan struct{} // closed when the connection has ended
	offered chan struct{} // has an entry once a page has registered a tool
	paged   chan struct{} // has an entry once there is a page

	mu       sync.Mutex
	next     int64
	waiting  map[int64]chan *cdproto.Message
	sessions []target.SessionID // of pages and frames
	first    target.SessionID   // of the first page
	calls    []*call
	blind    error // a page whose calls cannot be observed
}

// call is one call of a tool.
type call struct {
	id string
	oracle.RecordedCall
}

// observe attaches to every page of a browser, those to come included.
func observe(ctx context.Context, address string, inPage bool) (*observer, error) {
	url, err := socket(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("the browser does not answer: %w", err)
	}
	o := &observer{
		address: url, inPage: inPage, waiting: map[int64]chan *cdproto.Message{}, lost: make(chan struct{}),
		offered: make(chan struct{}, 1), paged: make(chan struct{}, 1),
	}
	if o.conn, err = remote.DialContext(ctx, url); err != nil {
		return nil, fmt.Errorf("the browser does not answer: %w", err)
	}
	go o.read()
	if err := o.attach(ctx, ""); err != nil {
		o.close()
		return nil, fmt.Errorf("the browser does not tell of its pages: %w", err)
	}
	return o, nil
}

// socket asks a browser for the address of its protocol.
func socket(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/json/version", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var version struct {
		Address string `json:"webSocketDebuggerUrl"`
	}
	if err := json.UnmarshalRead(response.Body, &version); err != nil || version.Address == "" {
		return "", errors.Join(errors.New("it names no address of its protocol"), err)
	}
	return version.Address, nil
}

func (o *observer) close() {
	_ = o.conn.Close()
	<-o.lost
}

// attach makes the browser attach to the pages and frames below a session, and
// hold those that are new until they are observed.
func (o *observer) attach(ctx context.Context, session target.SessionID) error {
	return o.call(ctx, session, "Target.setAutoAttach", `{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true}`, nil)
}

// call sends a command and decodes its result.
func (o *observer) call(ctx context.Context, session target.SessionID, method, params string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answered := make(chan *cdproto.Message, 1)
	o.mu.Lock()
	o.next++
	id := o.next
	o.waiting[id] = answered
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.waiting, id)
	}()
	message := &cdproto.Message{ID: id, SessionID: session, Method: cdproto.MethodType(method), Params: jsontext.Value(params)}
	if err := o.conn.Write(ctx, message); err != nil {
		return err
	}
	select {
	case answer := <-answered:
		if answer.Error != nil {
			return answer.Error
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(answer.Result, result)
	case <-o.lost:
		return errors.New("the browser has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read takes what the browser says until the connection ends.
func (o *observer) read() {
	defer close(o.lost)
	for {
		message := &cdproto.Message{}
		if err := o.conn.Read(context.Background(), message); err != nil {
			return
		}
		if message.ID == 0 {
			o.event(message)
			continue
		}
		o.mu.Lock()
		if answered := o.waiting[message.ID]; answered != nil {
			answered <- message
		}
		o.mu.Unlock()
	}
}

// event takes one event.
func (o *observer) event(m *cdproto.Message) {
	var e struct {
		SessionID  target.SessionID `json:"sessionId"`
		TargetInfo struct {
			Type string `json:"type"`
		} `json:"targetInfo"`
		ToolName     string         `json:"toolName"`
		InvocationID string         `json:"invocationId"`
		Input        string         `json:"input"`
		Status       string         `json:"status"`
		Output       jsontext.Value `json:"output"`
		Name         string         `json:"name"`
		Payload      string         `json:"payload"`
	}
	if err := json.Unmarshal(m.Params, &e); err != nil {
		return // an event of another form is none of those below
	}
	switch m.Method {
	case "Target.attachedToTarget":
		go o.observed(e.SessionID, e.TargetInfo.Type)
	case "Target.detachedFromTarget":
		o.forget(e.SessionID)
	case "WebMCP.toolsAdded":
		o.offer()
	case "WebMCP.toolInvoked":
		o.begin(e.InvocationID, e.ToolName, e.Input)
	case "WebMCP.toolResponded":
		o.end(e.InvocationID, strings.ToLower(e.Status), e.Output)
	case "Runtime.bindingCalled":
		if e.Name == binding {
			o.told(e.Payload)
		}
	}
}

// offer notes that a page has registered a tool.
func (o *observer) offer() {
	select {
	case o.offered <- struct{}{}:
	default: // one entry is enough
	}
}

func (o *observer) forget(session target.SessionID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sessions = slices.DeleteFunc(o.sessions, func(s target.SessionID) bool { return s == session })
}

// observed makes a page or frame tell of its calls, then lets it run.
func (o *observer) observed(session target.SessionID, kind string) {
	ctx := context.Background()
	if kind == "page" || kind == "iframe" {
		err := o.tell(ctx, session)
		o.mu.Lock()
		if err == nil {
			o.sessions = append(o.sessions, session)
			if kind == "page" && o.first == "" {
				o.first = session
			}
		} else if !gone(err) && o.blind == nil {
			o.blind = fmt.Errorf("the calls of a page cannot be observed: %w", err)
		}
		o.mu.Unlock()
		select {
		case o.paged <- struct{}{}:
		default: // one entry is enough
		}
	}
	_ = o.call(ctx, session, "Runtime.runIfWaitingForDebugger", "{}", nil) // a target that has gone waits for nothing
}

// gone reports whether a command failed because its page has gone.
func gone(err error) bool {
	refused, ok := errors.AsType[*cdproto.Error](err)
	return ok && (refused.Code == -32001 || strings.Contains(refused.Message, "ession"))
}

// binding is the function of the page that the wrapping script tells of calls.
const binding = "__remitRecorder"

//go:embed wrap.js
var wrap string

// tell makes a session tell of calls: by its events, or where its protocol has
// none, by a script in the page.
func (o *observer) tell(ctx context.Context, session target.SessionID) error {
	if err := o.attach(ctx, session); err != nil {
		return err
	}
	if err := o.call(ctx, session, "Page.enable", "{}", nil); err != nil {
		return err
	}
	if !o.inPage {
		err := o.call(ctx, session, "WebMCP.enable", "{}", nil)
		if refused, ok := errors.AsType[*cdproto.Error](err); !ok || refused.Code != methodNotFound {
			return err
		}
	}
	source, err := json.Marshal(wrap)
	if err != nil {
		return err
	}
	for _, command := range [][2]string{
		{"Runtime.enable", "{}"},
		{"Runtime.addBinding", `{"name":"` + binding + `"}`},
		{"Page.addScriptToEvaluateOnNewDocument", `{"source":` + string(source) + `,"runImmediately":true}`},
	} {
		if err := o.call(ctx, session, command[0], command[1], nil); err != nil {
			return err
		}
	}
	return nil
}

// methodNotFound is the code of a command that a protocol does not have.
const methodNotFound = -32601

// told takes what the wrapping script tells.
func (o *observer) told(payload string) {
	var t struct {
		ID, Tool, Input, Status string
		Output                  jsontext.Value
	}
	if err := json.Unmarshal([]byte(payload), &t, json.MatchCaseInsensitiveNames(true)); err != nil {
		return // the page called the binding itself
	}
	switch {
	case t.Tool != "" && t.ID == "":
		o.offer()
	case t.Tool != "":
		o.begin(t.ID, t.Tool, t.Input)
	default:
		o.end(t.ID, t.Status, t.Output)
	}
}

// begin notes that a call began.
func (o *observer) begin(id, tool, input string) {
	parameters := jsontext.Value(input)
	if parameters.Compact() != nil || parameters.Kind() != '{' {
		parameters = jsontext.Value("{}")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, &call{id, oracle.RecordedCall{Tool: tool, Parameters: parameters, Result: null, Status: "pending"}})
}

// end notes what a call returned.
func (o *observer) end(id, status string, output jsontext.Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.calls {
		if c.id == id && c.Status == "pending" {
			c.Status = status
			if status == "completed" {
				c.Result = returned(output)
			}
		}
	}
}

// returned is an output as it is recorded: the object of a text that holds one.
func returned(output jsontext.Value) jsontext.Value {
	if len(output) == 0 {
		return null
	}
	if output.Kind() == '"' {
		if text, err := jsontext.AppendUnquote(nil, output); err == nil {
			if object := jsontext.Value(text); object.Kind() == '{' && object.Compact() == nil {
				return object
			}
		}
	}
	whole := output.Clone()
	if whole.Compact() != nil {
		return null
	}
	return whole
}

// open opens the page, and waits until it has registered a tool.
func (o *observer) open(ctx context.Context, url string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	session, err := o.page(ctx)
	if err != nil {
		return err
	}
	params, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		return err
	}
	var went struct {
		ErrorText string `json:"errorText"`
	}
	if err := o.call(ctx, session, "Page.navigate", string(params), &went); err != nil {
		return fmt.Errorf("%s does not open: %w", url, err)
	}
	if went.ErrorText != "" {
		return fmt.Errorf("%s does not open: %s", url, went.ErrorText)
	}
	select {
	case <-o.offered:
	case <-o.lost:
		return errors.New("the browser ended")
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return errInterrupted
		}
		return fmt.Errorf("%s registered no tool within %s", url, timeout)
	}
	return o.settle(ctx)
}

// page is the session of the first page, which is there once the browser has
// attached to it.
func (o *observer) page(ctx context.Context) (target.SessionID, error) {
	for {
		o.mu.Lock()
		session, blind := o.first, o.blind
		o.mu.Unlock()
		switch {
		case blind != nil:
			return "", blind
		case session != "":
			return session, nil
		}
		select {
		case <-ctx.Done():
			return "", errors.New("the browser has no page")
		case <-o.paged:
		}
	}
}

// settle waits until what the pages told before has been taken: what a session
// tells comes in order. A page that does not answer, because it is gone or
// hangs, has nothing more to tell.
func (o *observer) settle(ctx context.Context) error {
	o.mu.Lock()
	sessions, blind := slices.Clone(o.sessions), o.blind
	o.mu.Unlock()
	for _, session := range sessions {
		_ = o.call(ctx, session, "Runtime.evaluate", `{"expression":"0"}`, nil)
	}
	return blind
}

// takeCalls are the calls that began since the last time.
func (o *observer) takeCalls() []oracle.RecordedCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	var taken []oracle.RecordedCall
	for _, c := range o.calls {
		taken = append(taken, c.RecordedCall)
	}
	o.calls = nil
	return taken
}

package recorder

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
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
	origin  string        // whose tools are the page's own
	lost    chan struct{} // closed when the connection has ended
	offered chan struct{} // has an entry once a page has registered a tool
	paged   chan struct{} // has an entry once there is a page

	mu       sync.Mutex
	next     int64
	waiting  map[int64]chan *cdproto.Message
	sessions []target.SessionID // of pages and frames
	first    target.SessionID   // of the first page
	calls    []*call
	origins  map[document]string // of what runs in a frame or in a context
	blind    error               // a page whose calls cannot be observed
}

// document is where a tool runs: a frame, or where a script tells of calls, an
// execution context.
type document struct {
	session target.SessionID
	frame   string
	context int64
}

// call is one call of a tool.
type call struct {
	id string
	in document
	oracle.RecordedCall
}

// observe attaches to every page of a browser, those to come included.
func observe(ctx context.Context, address, page string, inPage bool) (*observer, error) {
	origin, err := originOf(page)
	if err != nil {
		return nil, err
	}
	socket, err := socketOf(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("the browser does not answer: %w", err)
	}
	o := &observer{
		address: socket, origin: origin, inPage: inPage, origins: map[document]string{}, waiting: map[int64]chan *cdproto.Message{}, lost: make(chan struct{}),
		offered: make(chan struct{}, 1), paged: make(chan struct{}, 1),
	}
	if o.conn, err = remote.DialContext(ctx, socket); err != nil {
		return nil, fmt.Errorf("the browser does not answer: %w", err)
	}
	go o.read()
	if err := o.attach(ctx, ""); err != nil {
		o.close()
		return nil, fmt.Errorf("the browser does not tell of its pages: %w", err)
	}
	return o, nil
}

// socketOf asks a browser for the address of its protocol.
func socketOf(ctx context.Context, address string) (string, error) {
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

// originOf is the origin of an address, as a browser writes it.
func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	host := strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if u.Scheme == scheme {
			host = strings.TrimSuffix(host, port)
		}
	}
	return u.Scheme + "://" + host, nil
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

// frame is what the protocol tells of a frame.
type frame struct {
	ID             string `json:"id"`
	SecurityOrigin string `json:"securityOrigin"`
}

// event takes one event.
func (o *observer) event(m *cdproto.Message) {
	var e struct {
		SessionID  target.SessionID `json:"sessionId"`
		TargetInfo struct {
			Type string `json:"type"`
		} `json:"targetInfo"`
		Tools []struct {
			FrameID string `json:"frameId"`
		} `json:"tools"`
		ToolName     string         `json:"toolName"`
		FrameID      string         `json:"frameId"`
		InvocationID string         `json:"invocationId"`
		Input        string         `json:"input"`
		Status       string         `json:"status"`
		Output       jsontext.Value `json:"output"`
		Name         string         `json:"name"`
		Payload      string         `json:"payload"`
		Frame        frame          `json:"frame"`
		Context      struct {
			ID     int64  `json:"id"`
			Origin string `json:"origin"`
		} `json:"context"`
		ContextID int64 `json:"executionContextId"`
	}
	if err := json.Unmarshal(m.Params, &e); err != nil {
		return // an event of another form is none of those below
	}
	in := document{session: m.SessionID}
	switch m.Method {
	case "Target.attachedToTarget":
		go o.observed(e.SessionID, e.TargetInfo.Type)
	case "Target.detachedFromTarget":
		o.forget(e.SessionID)
	case "Page.frameNavigated":
		in.frame = e.Frame.ID
		o.left(in)
		o.enter(in, e.Frame.SecurityOrigin)
	case "Page.frameDetached":
		in.frame = e.FrameID
		o.left(in)
	case "Runtime.executionContextCreated":
		in.context = e.Context.ID
		o.enter(in, e.Context.Origin)
	case "Runtime.executionContextDestroyed":
		in.context = e.ContextID
		o.left(in)
	case "Runtime.executionContextsCleared":
		o.leftIf(func(d document) bool { return d.session == m.SessionID && d.context != 0 })
	case "WebMCP.toolsAdded":
		for _, tool := range e.Tools {
			in.frame = tool.FrameID
			o.offer(in)
		}
	case "WebMCP.toolInvoked":
		in.frame = e.FrameID
		o.begin(in, e.InvocationID, e.ToolName, e.Input)
	case "WebMCP.toolResponded":
		o.end(e.InvocationID, strings.ToLower(e.Status), e.Output)
	case "Runtime.bindingCalled":
		if e.Name == binding {
			in.context = e.ContextID
			o.told(in, e.Payload)
		}
	}
}

// enter notes the origin of what runs in a frame or a context from now on.
func (o *observer) enter(in document, origin string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.origins[in] = origin
}

// left notes that a document is gone.
func (o *observer) left(in document) {
	o.leftIf(func(d document) bool { return d == in })
}

// leftIf notes that documents are gone, and with them the calls that they had
// not ended.
func (o *observer) leftIf(is func(document) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.origins, func(d document, _ string) bool { return is(d) })
	for _, c := range o.calls {
		if c.Status == pending && is(c.in) {
			c.Status = documentGone
		}
	}
}

// The statuses of a call that the browser did not tell the end of.
const (
	pending      = "pending"
	documentGone = "gone" // its document is
)

// unknownOrigin stands for the origin of a tool whose document was not told of.
const unknownOrigin = "unknown"

// foreign is the origin of a document; "" if it is that of the page. The lock is
// held.
func (o *observer) foreign(in document) string {
	switch origin := o.origins[in]; origin {
	case o.origin:
		return ""
	case "":
		return unknownOrigin
	default:
		return origin
	}
}

// offer notes that a document of the page's origin has registered a tool.
func (o *observer) offer(in document) {
	o.mu.Lock()
	foreign := o.foreign(in)
	o.mu.Unlock()
	if foreign != "" {
		return
	}
	select {
	case o.offered <- struct{}{}:
	default: // one entry is enough
	}
}

func (o *observer) forget(session target.SessionID) {
	o.leftIf(func(d document) bool { return d.session == session })
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
	var tree frameTree
	if err := o.call(ctx, session, "Page.getFrameTree", "{}", &tree); err != nil {
		return err
	}
	o.enterAll(session, &tree)
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

// frameTree is a frame and those in it.
type frameTree struct {
	Tree *frameTree  `json:"frameTree"` // in the answer itself
	Of   frame       `json:"frame"`
	In   []frameTree `json:"childFrames"`
}

// enterAll notes the origins of frames that no event has told of.
func (o *observer) enterAll(session target.SessionID, t *frameTree) {
	if t.Tree != nil {
		o.enterAll(session, t.Tree)
		return
	}
	in := document{session: session, frame: t.Of.ID}
	o.mu.Lock()
	if _, told := o.origins[in]; !told {
		o.origins[in] = t.Of.SecurityOrigin
	}
	o.mu.Unlock()
	for i := range t.In {
		o.enterAll(session, &t.In[i])
	}
}

// methodNotFound is the code of a command that a protocol does not have.
const methodNotFound = -32601

// told takes what the wrapping script tells.
func (o *observer) told(in document, payload string) {
	var t struct {
		ID, Tool, Input, Status string
		Output                  jsontext.Value
	}
	if err := json.Unmarshal([]byte(payload), &t, json.MatchCaseInsensitiveNames(true)); err != nil {
		return // the page called the binding itself
	}
	switch {
	case t.Tool != "" && t.ID == "":
		o.offer(in)
	case t.Tool != "":
		o.begin(in, t.ID, t.Tool, t.Input)
	default:
		o.end(t.ID, t.Status, t.Output)
	}
}

// begin notes that a call began. Parameters that are no JSON are recorded as the
// text that they are.
func (o *observer) begin(in document, id, tool, input string) {
	parameters := jsontext.Value(input)
	if parameters.Compact() != nil {
		text, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(input, "\uFFFD"))
		if err != nil {
			text = null
		}
		parameters = text
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, &call{id, in, oracle.RecordedCall{
		Tool: tool, Parameters: parameters, Result: null, Status: pending, Origin: o.foreign(in),
	}})
}

// end notes what a call returned.
func (o *observer) end(id, status string, output jsontext.Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.calls {
		if c.id == id && (c.Status == pending || c.Status == documentGone) { // a tool may answer in the page that it leads to
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
// tells comes in order. A page that is gone has nothing more to tell; of one that
// does not answer it is not known what it would tell.
func (o *observer) settle(ctx context.Context) error {
	o.mu.Lock()
	sessions, blind := slices.Clone(o.sessions), o.blind
	o.mu.Unlock()
	for _, session := range sessions {
		if err := o.ask(ctx, session); err != nil && !gone(err) {
			return fmt.Errorf("a page does not answer, so that its calls are not known: %w", err)
		}
	}
	return blind
}

// ask makes a page answer. One that navigates answers once it has another
// document.
func (o *observer) ask(ctx context.Context, session target.SessionID) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		err := o.call(ctx, session, "Runtime.evaluate", `{"expression":"0"}`, nil)
		refused, ok := errors.AsType[*cdproto.Error](err)
		if !ok || refused.Code != betweenDocuments || gone(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(answerTime / 200):
		}
	}
}

// betweenDocuments is the code with which a page refuses a command that has no
// context to run in.
const betweenDocuments = -32000

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

package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain is a caller where the test binary is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "caller" {
		behave(os.Args[2], os.Args[3])
		return
	}
	// A process with the race detector sleeps for a second when it ends.
	must(os.Setenv("GORACE", "atexit_sleep_ms=0"))
	os.Exit(m.Run())
}

// callerNamed is the command of a caller; more is for the caller alone.
func callerNamed(name, more string) []string { return []string{os.Args[0], "caller", name, more} }

// behave is a caller. more is the era in which it speaks MCP, or the address
// of the test, or "".
func behave(name, more string) {
	switch name {
	case "makes no call":
		refusedCalls()
	case "hangs":
		hold(more)
	case "repeats and hangs":
		calls(dial(""), behaviour{limit: 2, again: []string{"ACCESS_DENIED"}})
		hold(more)
	case "leaves a child":
		calls(dial(""), behaviours["conforms"])
		startChild(more)
	case "holds":
		<-connect(more)
	case "floods":
		for call := dial(""); ; {
			call(os.Getenv("REMIT_INPUT"))
		}
	default:
		b, known := behaviours[name]
		if !known {
			panic(name)
		}
		calls(dial(more), b)
	}
}

// behaviour is how a caller that ends is made to differ from one that conforms.
type behaviour struct {
	limit int           // of its calls
	lead  time.Duration // how much earlier than asked it repeats
	again []string      // codes after which it repeats unchanged, at once
	exit  int           // its exit status
}

var behaviours = map[string]behaviour{
	"conforms":                {limit: 3},
	"conforms and exits 22":   {limit: 3, exit: 22},
	"is early":                {limit: 3, lead: 5 * time.Millisecond},
	"repeats a refusal":       {limit: 3, again: []string{"ACCESS_DENIED"}},
	"resends what is invalid": {limit: 2, again: []string{"INVALID_ARGUMENT"}},
	"repeats without renewal": {limit: 2, again: []string{"AUTH_REQUIRED"}},
	"ignores unknown codes":   {limit: 2, again: []string{"STATUS_SERVICE_ODDITY"}},
	"has no budget":           {limit: 4},
}

// call is one call over a wire, and its failure.
type call func(input string) *record

// calls makes the calls of one task.
func calls(c call, b behaviour) {
	input, renewal := os.Getenv("REMIT_INPUT"), os.Getenv("REMIT_RENEWAL") == "true"
	var corrections []json.RawMessage
	must(json.Unmarshal([]byte(os.Getenv("REMIT_CORRECTIONS")), &corrections))
	if first, _ := json.Marshal(append(corrections, json.RawMessage("null"))[0]); string(first) != os.Getenv("REMIT_CORRECTION") {
		panic("the first correction is " + os.Getenv("REMIT_CORRECTION"))
	}
	if os.Getenv("REMIT_URL") != os.Args[len(os.Args)-1] {
		panic("REMIT_URL is " + os.Getenv("REMIT_URL"))
	}
	for n := range b.limit {
		sent := time.Now()
		failure := c(input)
		switch {
		case failure == nil:
			os.Exit(b.exit)
		case n+1 == b.limit:
			return
		case slices.Contains(b.again, failure.Code):
		case failure.Code == "INVALID_ARGUMENT" && len(corrections) > 0:
			input, corrections = string(corrections[0]), corrections[1:]
		case failure.Code == "AUTH_REQUIRED" && renewal:
			renewal = false
		case failure.Code == temporary && b.lead > 0: // counted from before the call, so that it is early
			time.Sleep(time.Until(sent.Add(time.Duration(*failure.RetryAfterMS)*time.Millisecond - b.lead)))
		case failure.Code == temporary:
			time.Sleep(time.Duration(*failure.RetryAfterMS) * time.Millisecond)
		default:
			return
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// dial is plain HTTP, or MCP in an era.
func dial(era string) call {
	url := os.Args[len(os.Args)-1]
	if era == "" {
		return func(input string) *record { return overHTTP(url, input) }
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: url}, &sdk.ClientSessionOptions{ProtocolVersion: era})
	must(err)
	if got := session.InitializeResult().ProtocolVersion; got != era {
		panic("the session speaks " + got)
	}
	return func(input string) *record {
		result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(input)})
		must(err)
		if !result.IsError {
			return nil
		}
		return decoded(result.Meta["remit/recovery"])
	}
}

func decoded(value any) *record {
	text, err := json.Marshal(value)
	must(err)
	var named map[string]any
	must(json.Unmarshal(text, &named))
	r := &record{Code: named["code"].(string), Message: named["message"].(string)}
	if ms, ok := named["retry_after_ms"].(float64); ok {
		r.RetryAfterMS = new(int64(ms))
	}
	return r
}

func overHTTP(url, input string) *record {
	response, err := http.Post(url, "application/json", strings.NewReader(input))
	must(err)
	defer func() { _ = response.Body.Close() }()
	var body map[string]any
	must(json.NewDecoder(response.Body).Decode(&body))
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return decoded(body["recovery"])
}

// refusedCalls makes requests that are no calls, and says so.
func refusedCalls() {
	url := os.Args[len(os.Args)-1]
	for _, address := range []string{url, strings.Replace(url, tool, "delivery", 1)} {
		response, err := http.Get(address)
		must(err)
		_ = response.Body.Close()
	}
	fmt.Fprintln(os.Stderr, strings.Repeat("x", 2*4<<10)+"I am lost")
	os.Exit(3)
}

// hold starts a child and goes on until it is killed, as its child does. Both
// hold connections to an address.
func hold(address string) {
	held := connect(address)
	startChild(address)
	fmt.Fprintln(os.Stderr, "holding")
	<-held
}

func startChild(address string) {
	child := exec.Command(os.Args[0], "caller", "holds", address)
	must(child.Start())
}

// connect connects to an address; the channel is closed when the other side
// closes the connection. No address is a connection that is never closed.
func connect(address string) <-chan bool {
	closed := make(chan bool)
	if address == "" {
		go func() { time.Sleep(time.Hour) }() // so that the runtime sees no deadlock
		return closed
	}
	connection, err := net.Dial("tcp", address)
	must(err)
	go func() {
		_, _ = connection.Read(make([]byte, 1))
		close(closed)
	}()
	return closed
}

// signals is a writer that calls a function once something was written.
type signals struct {
	bytes.Buffer
	on    string
	calls func()
}

// Write keeps p.
func (s *signals) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.on) {
		s.calls()
	}
	return n, err
}

// Package webmcp calls tools that a page has registered with its browser, at
// document.modelContext, for package drive, and reads what the browser makes of
// a call. It starts Chromium with WebMCP, and speaks its debugging protocol.
//
// # A call
//
// executeTool, of the page, gives what a tool resolved with as one text: a text
// as it is, to the byte, anything else as JSON. A success is such a text; a
// failure is an object that carries what no success does: error, recovery,
// isError, or ok or success that is not true.
// invokeTool, of the debugging protocol, parses a text that is JSON and writes
// it anew, so that 1.0 becomes 1: tools are judged through executeTool.
//
// The input is one value. It reaches the tool as JavaScript reads it. What that
// changes is not sent, and its case is unchecked: a number in another form than
// JavaScript's, such as 1.0, one beyond 2^53, a member that stands twice.
//
// The conditions of a sandbox go along in the headers that package drive/http
// documents, which the browser adds to every request of the page.
//
// # An answer
//
// The body of a success is its text. A failure that has content, as those who
// read MCP expect it, repeats in its last text the body that is the same on
// every wire; that text is the body if the object says the same besides content
// and isError, and otherwise the object is, which is then no failure of ours to
// any judge. Where the content is the sentence alone, the body is the object
// without content and isError.
//
// # What the platform makes of a call
//
// The browser tells little. A callback that rejected or threw and a result that
// is no JSON are one UnknownError in the page; a document that went away and a
// tool that was unregistered are another, which calls itself transient; after
// the page has gone, the protocol reports Completed with an empty list, and of
// a tool that gave undefined, the text undefined. A reading is therefore
// decided by facts, in this order: what the browser began, what it ended and
// how, and whether the document was still there. Its words decide nothing.
//
//	reading                 the facts
//	unloaded_document       the document of the tool went away before the call ended, or its process did
//	hung                    nothing ended it within the bound
//	aborted                 the caller stopped it, and the platform says that it was stopped
//	tool_not_found          nothing began, and no tool of the name is registered
//	unreadable_input        nothing began, and the input is no object
//	unserializable_result   it ended with an exception that no code of the page made, or with undefined
//	rejected_callback       it ended with any other exception
//	application_failure     an object that carries what no success does
//	answered                anything else that a tool resolved with
//	unknown                 anything else
//
// Each ends a task in one way, by the tool's effect:
//
//	reading                 a read    anything else
//	answered                success   success
//	application_failure     as its record says
//	tool_not_found          unknown   unknown          nothing began
//	unreadable_input        needs_input                nothing began; the input has to change
//	aborted                 cancelled outcome_unknown
//	every other             unknown   outcome_unknown
//
// Nothing in it permits another execution. A repetition needs a code that
// permits it and a wait that was stated; the platform states neither, and a
// tool whose page has gone cannot answer differently before somebody opens the
// page again. Stopping a write, or its hanging, undoes nothing.
package webmcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	driveexec "remit.example/drive/exec"
)

const (
	// startTime bounds how long a browser may take to start.
	startTime = 30 * time.Second
	// removeTime bounds how long its processes may keep its profile.
	removeTime = 5 * time.Second
)

// programs are the names that Chromium goes by.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// ErrNoBrowser is the error of a machine without Chromium.
var ErrNoBrowser = errors.New("chromium is missing: install it (Debian: apt-get install chromium)")

// Find is the path of Chromium: name, or else the first that PATH has. The
// error wraps ErrNoBrowser.
func Find(name string) (string, error) {
	names := programs
	if name != "" {
		names = []string{name}
	}
	for _, each := range names {
		if path, err := osexec.LookPath(each); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program is named %s: %w", strings.Join(names, " or "), ErrNoBrowser)
}

// Browser is a Chromium of our own, with a profile that goes with it.
type Browser struct {
	ctx     context.Context
	end     func()
	profile string
}

// Start starts the program at path. With listen it also listens on a port of
// the loopback address for debuggers: see Address. It runs until Close or the
// end of ctx; call Close in either case.
func Start(ctx context.Context, path string, listen bool) (*Browser, error) {
	profile, err := os.MkdirTemp("", "remit-browser-")
	if err != nil {
		return nil, err
	}
	said := &driveexec.Tail{}
	allocator, endAll := chromedp.NewExecAllocator(ctx, options(path, profile, said, listen)...)
	quiet := func(string, ...any) {}
	ctx, end := chromedp.NewContext(allocator, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	b := &Browser{ctx: ctx, profile: profile, end: func() { end(); endAll() }}
	late := time.AfterFunc(startTime, end)
	err = chromedp.Do(ctx)
	if !late.Stop() {
		err = fmt.Errorf("it was not ready within %s", startTime)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("%s does not start: %w%s", path, err, said)
	}
	return b, nil
}

func options(path, profile string, said *driveexec.Tail, listen bool) []chromedp.ExecAllocatorOption {
	list := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("no-sandbox", os.Geteuid() == 0), // as root, Chromium runs without it alone
		chromedp.Flag("enable-features", "WebMCP"), chromedp.CombinedOutput(said),
		chromedp.ModifyCmdFunc(func(cmd *osexec.Cmd) {
			driveexec.OwnGroup(cmd)
			if listen { // beside the pipe, which the library would give up for it
				cmd.Args = append(cmd.Args, "--remote-debugging-port=0")
			}
		}),
	}
	for _, off := range []string{"disable-gpu", "disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-breakpad"} {
		list = append(list, chromedp.Flag(off, true))
	}
	return list
}

// Address is where debuggers reach a browser that listens: host and port.
func (b *Browser) Address() (string, error) {
	text, err := os.ReadFile(filepath.Join(b.profile, "DevToolsActivePort"))
	if err != nil {
		return "", err
	}
	port, _, _ := strings.Cut(string(text), "\n")
	return "127.0.0.1:" + port, nil
}

// Close ends the browser with all its processes, and removes its profile.
func (b *Browser) Close() {
	// A browser that is killed leaves the folder of its socket behind, which a
	// link in its profile names.
	if socket, err := os.Readlink(filepath.Join(b.profile, "SingletonSocket")); err == nil && strings.HasPrefix(filepath.Base(filepath.Dir(socket)), "org.chromium.") {
		defer os.RemoveAll(filepath.Dir(socket))
	}
	b.end()
	for deadline := time.Now().Add(removeTime); os.RemoveAll(b.profile) != nil && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond) // a process that is being killed may still write there
	}
}

package webmcp

import (
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/webmcp"
)

// state is what has happened in a tab, as far as it concerns calls.
type state struct {
	mu      sync.Mutex
	frames  map[string]cdp.FrameID // the document of each tool
	watched *watch
	changed chan struct{} // has an entry where the watched call changed
}

// watch is what the browser tells of one call.
type watch struct {
	tool  string
	id    string
	frame cdp.FrameID
	begun int
	ended *webmcp.EventToolResponded
	gone  bool // the document went away before the call ended
}

func newEvents() *events {
	return &events{state: state{frames: map[string]cdp.FrameID{}, changed: make(chan struct{}, 1)}}
}

// watch begins to watch the calls of one tool.
func (e *events) watch(tool string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	frame, known := e.frames[tool]
	if !known {
		frame = e.top
	}
	e.watched = &watch{tool: tool, frame: frame}
}

// now is what is known of the watched call.
func (e *events) now() watch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return *e.watched
}

// note changes the watched call, if there is one.
func (e *events) note(change func(*watch)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.watched == nil {
		return
	}
	change(e.watched)
	select {
	case e.changed <- struct{}{}:
	default: // one entry is enough
	}
}

func (e *events) place(tool string, frame cdp.FrameID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frames[tool] = frame
}

func (e *events) begin(tool, id string, frame cdp.FrameID) {
	e.note(func(w *watch) {
		if tool == w.tool {
			w.begun, w.id, w.frame = w.begun+1, id, frame
		}
	})
}

func (e *events) end(event *webmcp.EventToolResponded) {
	e.note(func(w *watch) {
		if event.InvocationID == w.id && !w.gone {
			w.ended = event
		}
	})
}

// leave notes that a document went away; where it was the top one, all did. A
// process that ends may not have told any more what it had begun.
func (e *events) leave(frame cdp.FrameID, all bool) {
	e.note(func(w *watch) {
		if (all || frame == w.frame) && w.ended == nil {
			w.gone = true
		}
	})
}

package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"remit.example/guard"
)

const sessionHeader = "Mcp-Session-Id"

// resumeTime bounds how long an answer may take to come on another stream.
const resumeTime = 10 * time.Minute

// deferred are the requests whose streams the upstream ended before it
// answered, so that clients come back for the rest with a GET. Its zero value
// is usable.
type deferred struct {
	mu  sync.Mutex
	all map[deferredKey]*pending
}

type deferredKey struct{ session, id string }

// pending is one of them.
type pending struct {
	answer chan *guard.Message
	done   chan struct{} // closed when the answer is recorded
}

func (d *deferred) add(key deferredKey) *pending {
	p := &pending{answer: make(chan *guard.Message, 1), done: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[deferredKey]*pending{}
	}
	d.all[key] = p
	return p
}

func (d *deferred) take(key deferredKey) *pending {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.all[key]
	delete(d.all, key)
	return p
}

// elsewhere says that the answer comes on another stream, which waits until it
// is recorded. The request that asked for it ends.
func (a *answering) elsewhere(out guard.Response, m *guard.Message) *guard.Elsewhere {
	key := deferredKey{a.r.Header.Get(sessionHeader), guard.IDKey(m.ID)}
	p := a.h.deferred.add(key)
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	wait := func(ctx context.Context) (guard.Response, error) {
		defer a.h.deferred.take(key)
		timer := time.NewTimer(resumeTime)
		defer timer.Stop()
		select {
		case out.Message = <-p.answer:
			out.Body = out.Message.Raw
			return out, nil
		case <-ctx.Done():
			return guard.Response{}, errors.Join(ctx.Err(), io.ErrUnexpectedEOF)
		case <-timer.C:
			return guard.Response{}, errors.Join(errors.New("nobody came back for the answer"), io.ErrUnexpectedEOF)
		}
	}
	return &guard.Elsewhere{Wait: wait, Recorded: func() { close(p.done) }, Drop: func() { a.h.deferred.take(key); close(p.done) }}
}

// resume passes on a stream that a client asked for. An answer that a call
// waits for is recorded before it is passed on.
func (h *HTTP) resume(w http.ResponseWriter, r *http.Request, body io.Reader) {
	control := http.NewResponseController(w)
	_ = control.Flush() // the client learns that the stream is there
	in := newEvents(body, MaxMessage)
	for {
		e, err := in.next()
		if err != nil {
			return
		}
		m, err := guard.ParseMessage(e.data)
		if err == nil {
			h.heard(r, m)
		}
		if err == nil && m.Response() {
			if p := h.deferred.take(deferredKey{r.Header.Get(sessionHeader), guard.IDKey(m.ID)}); p != nil {
				p.answer <- m
				select {
				case <-p.done:
				case <-r.Context().Done():
					return
				}
			}
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write(e.raw); err != nil {
			return
		}
		_ = control.Flush() // a writer that cannot flush has written
	}
}

package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"remit.example/guard"
)

// The bounds of what waits to be written.
const (
	maxWaiting  = 8 << 20               // bytes, about
	maxText     = 8 << 10               // bytes of a message, before it is redacted
	pause       = 50 * time.Millisecond // between two writes
	closingTime = 5 * time.Second       // for what waits, at the end
	maxBatch    = 256 << 10             // bytes of one write
)

// queue hands decisions to one goroutine. Whoever adds one never waits for it.
type queue struct {
	lost func(int) // decisions that found no room

	mu      sync.Mutex
	waiting []guard.Decision
	size    int
	closed  bool
	wake    chan struct{} // holds one
	closing chan struct{}
	done    chan struct{}
}

func newQueue(sink func([]guard.Decision), lost func(int)) *queue {
	q := &queue{lost: lost, wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	go q.run(sink)
	return q
}

func (q *queue) run(sink func([]guard.Decision)) {
	defer close(q.done)
	for {
		<-q.wake
		q.mu.Lock()
		batch, closed := q.waiting, q.closed
		q.waiting, q.size = nil, 0
		q.mu.Unlock()
		if len(batch) > 0 {
			sink(batch)
		}
		if closed {
			return
		}
		select { // what comes meanwhile is written at once
		case <-q.closing:
		case <-time.After(pause):
		}
	}
}

// add is safe for concurrent use.
func (q *queue) add(d guard.Decision) {
	if len(d.Message) > maxText {
		d.Message = strings.Clone(d.Message[:maxText])
	}
	size := 512 + len(d.Message) + len(d.Task) + len(d.Tool) + len(d.Caller)
	q.mu.Lock()
	full := q.closed || q.size+size > maxWaiting
	if !full {
		q.waiting, q.size = append(q.waiting, d), q.size+size
	}
	q.mu.Unlock()
	if full {
		q.lost(1)
		return
	}
	q.stir()
}

func (q *queue) stir() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close waits until all is written, for a time.
func (q *queue) close() {
	q.mu.Lock()
	first := !q.closed
	q.closed = true
	q.mu.Unlock()
	if first {
		close(q.closing)
	}
	q.stir()
	select {
	case <-q.done:
	case <-time.After(closingTime):
	}
}

// File says where a trace is written.
type File struct {
	Path string
	Size int64     // of a file, in bytes, before the next one begins; 0: 64 MiB
	Keep int       // files that are kept besides, as Path.1, the newest, to Path.N; 0: 5
	Log  io.Writer // is told, once, that lines are lost; nil: nobody
}

const (
	defaultSize = 64 << 20
	defaultKeep = 5
)

// Writer writes a trace to a file, which it makes with the mode 0600. Whole lines are appended, in one
// write; several processes may append to one file.
//
// Observe never waits for the disk: lines are written within a second, and
// what had not been when a process was killed is lost. The file is not
// synchronised: when the machine fails, so is what its system had not written.
// Lines that cannot be written, as when the disk is full, are lost, counted and
// reported once; calls go on.
type Writer struct {
	at    File
	form  *Form
	queue *queue
	lost  atomic.Uint64
	told  sync.Once

	file    *os.File // of the goroutine of queue
	regular bool
	torn    bool // the file does not end with the end of a line
	unmoved bool // the file could not be renamed
}

// NewWriter opens the file and begins.
func NewWriter(at File) (*Writer, error) {
	if at.Size <= 0 {
		at.Size = defaultSize
	}
	if at.Keep <= 0 {
		at.Keep = defaultKeep
	}
	if at.Log == nil {
		at.Log = io.Discard
	}
	w := &Writer{at: at, form: NewForm()}
	if err := w.open(); err != nil {
		return nil, err
	}
	w.queue = newQueue(w.write, func(n int) { w.lose(n, errors.New("they come faster than they are written")) })
	return w, nil
}

// Observe writes the line of a decision. It is safe for concurrent use.
func (w *Writer) Observe(d guard.Decision) { w.queue.add(d) }

// Lost counts the lines that were not written.
func (w *Writer) Lost() uint64 { return w.lost.Load() }

// Close writes what waits.
func (w *Writer) Close() error {
	w.queue.close()
	select {
	case <-w.queue.done:
	default:
		return fmt.Errorf("%s: the disk does not take the last lines", w.at.Path)
	}
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

func (w *Writer) lose(n int, err error) {
	w.lost.Add(uint64(n))
	w.told.Do(func() { fmt.Fprintf(w.at.Log, "lines of the trace %s are lost, and calls go on: %v\n", w.at.Path, err) })
}

// write is the only user of file.
func (w *Writer) write(batch []guard.Decision) {
	var lines []byte
	count := 0
	for i, d := range batch {
		lines = w.form.Append(lines, d)
		if count++; len(lines) >= maxBatch || i == len(batch)-1 {
			if err := w.append(lines); err != nil {
				w.lose(count, err)
			}
			lines, count = lines[:0], 0
		}
	}
}

func (w *Writer) open() error {
	file, err := os.OpenFile(w.at.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	w.file, w.regular, w.torn = file, info.Mode().IsRegular(), false
	if w.regular && info.Size() > 0 {
		w.torn = !endsLine(w.at.Path, info.Size())
	}
	return nil
}

// endsLine reports whether the last byte of a file ends a line, as far as it
// can be read.
func endsLine(name string, size int64) bool {
	file, err := os.Open(name)
	if err != nil {
		return true
	}
	defer file.Close()
	last := []byte{0}
	_, err = file.ReadAt(last, size-1)
	return err != nil || last[0] == '\n'
}

// errMoved says that the path is another file by now.
var errMoved = errors.New("the file keeps being renamed")

// append writes whole lines, to the next file where this one is full.
func (w *Writer) append(lines []byte) error {
	for range 10 {
		if w.file == nil {
			if err := w.open(); err != nil {
				return err
			}
		}
		if !w.regular {
			_, err := w.file.Write(lines)
			return err
		}
		err := w.locked(func(size int64) error {
			if size > 0 && size+int64(len(lines)) > w.at.Size && w.rotate() {
				return errMoved
			}
			return w.put(lines, size)
		})
		if !errors.Is(err, errMoved) {
			return err
		}
		_ = w.file.Close() // it was written before
		w.file = nil
	}
	return errMoved
}

// locked calls f with the size of the file, while no other process that
// traces to it writes or renames it. errMoved: the path is another file.
func (w *Writer) locked(f func(size int64) error) error {
	descriptor := int(w.file.Fd())
	if lock(descriptor) == nil { // a file system without locks still appends
		defer func() { _ = syscall.Flock(descriptor, syscall.LOCK_UN) }() // so does closing
	}
	own, err := w.file.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(w.at.Path); err != nil || !os.SameFile(own, now) {
		return errMoved
	}
	return f(own.Size())
}

func lock(descriptor int) error {
	for {
		if err := syscall.Flock(descriptor, syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// put appends lines at the end of the file, whole or not at all.
func (w *Writer) put(lines []byte, size int64) error {
	if w.torn {
		lines = bytes.Join([][]byte{{'\n'}, lines}, nil)
	}
	n, err := w.file.Write(lines)
	if err == nil {
		w.torn = false
	} else if n > 0 && w.file.Truncate(size) != nil {
		w.torn = true
	}
	return err
}

// rotate renames the file; false where that cannot be done, and the file grows.
func (w *Writer) rotate() bool {
	name := func(i int) string { return fmt.Sprintf("%s.%d", w.at.Path, i) }
	var err error
	for i := w.at.Keep - 1; i >= 1 && err == nil; i-- {
		if err = os.Rename(name(i), name(i+1)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(w.at.Path, name(1))
	}
	if err != nil && !w.unmoved {
		w.unmoved = true
		fmt.Fprintf(w.at.Log, "the trace %s grows beyond its size: %v\n", w.at.Path, err)
	}
	return err == nil
}

package guard

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/record"
)

// maxTasks bounds the open tasks of one connection and tool.
const maxTasks = 64

// taskKey is where a task lives: within one connection, at one tool.
type taskKey struct{ connection, tool, name string }

// task is one intent of a caller that has failed so far. A task that has
// succeeded is not kept.
type task struct {
	id         string
	executions int
	inputs     []Digest       // the arguments that were executed
	fields     []string       // top-level arguments that were refused last
	rest       Digest         // of the other arguments
	failure    *record.Record // the last
	ends       ends           // of the memory of that failure
	last       time.Time      // when the last execution ended
}

// taskOf is the open task that a call belongs to: the one that its caller
// names, one of the same arguments, or one that it corrects; nil for none.
func (p *principal) taskOf(key taskKey, c *call, corrections bool, now time.Time, quiet time.Duration) *task {
	open := slices.DeleteFunc(p.tasks[key], func(t *task) bool { return now.Sub(t.last) >= quiet })
	if len(open) == 0 {
		delete(p.tasks, key)
		return nil
	}
	p.tasks[key] = open
	if key.name != "" {
		return open[0]
	}
	for _, t := range open {
		if slices.Contains(t.inputs, c.digest) || corrections && t.corrects(c) {
			return t
		}
	}
	return nil
}

// corrects reports whether a call differs from the refused one solely at the
// refused fields.
func (t *task) corrects(c *call) bool {
	if len(t.fields) == 0 {
		return false
	}
	rest, err := c.restOf(t.fields)
	return err == nil && rest == t.rest
}

// restOf is the digest of the arguments besides some, and the operation key,
// which a correction may change.
func (c *call) restOf(names []string) (Digest, error) {
	rest, err := without(c.arguments, append(names[:len(names):len(names)], c.keyName)...)
	if err != nil {
		return Digest{}, err
	}
	return digestOf(rest.JSON())
}

// refusedNames are the top-level arguments that a failure refuses. A record of
// recovery-v1 names one.
func refusedNames(r *record.Record) []string {
	var names []string
	for _, field := range r.Fields {
		for name := range jsontext.Pointer(field.Pointer).Tokens() {
			names = append(names, name)
			break // the argument that the field lies in
		}
	}
	if len(names) == 0 && r.Field != "" {
		name, _, _ := strings.Cut(r.Field, ".")
		names = append(names, name)
	}
	return names
}

// failed counts an execution that failed for a task, which begins with it.
func (p *principal) failed(key taskKey, t *task, c *call, r *record.Record, e ends, now time.Time, quiet time.Duration) *task {
	if t == nil {
		t = new(task)
		if len(p.tasks) >= maxRefusals {
			p.dropTasks(func(t *task) bool { return now.Sub(t.last) >= quiet })
		}
		for other := range p.tasks { // any will do: there are too many
			if len(p.tasks) < maxRefusals {
				break
			}
			delete(p.tasks, other)
		}
		open := p.tasks[key]
		if len(open) >= maxTasks {
			open = slices.Delete(open, 0, 1)
		}
		p.tasks[key] = append(open, t)
	}
	t.executions++
	t.last, t.failure, t.ends = now, r, e
	if !slices.Contains(t.inputs, c.digest) {
		t.inputs = append(t.inputs, c.digest)
	}
	t.fields = nil
	if r.Code == record.InvalidArgument {
		t.fields = refusedNames(r)
		t.rest, _ = c.restOf(t.fields) // readCall has read the arguments
	}
	return t
}

// ended drops a task.
func (p *principal) ended(key taskKey, t *task) {
	if t == nil {
		return
	}
	open := slices.DeleteFunc(p.tasks[key], func(other *task) bool { return other == t })
	if len(open) == 0 {
		delete(p.tasks, key)
		return
	}
	p.tasks[key] = open
}

// dropTasks drops the open tasks that over is true of.
func (p *principal) dropTasks(over func(*task) bool) {
	for key, open := range p.tasks {
		if open = slices.DeleteFunc(open, over); len(open) == 0 {
			delete(p.tasks, key)
		} else {
			p.tasks[key] = open
		}
	}
}

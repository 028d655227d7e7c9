package webmcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/tool"
	"remit.example/wire"
)

// description is what the script needs of one tool.
type description struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations annotations     `json:"annotations"`
	Refusals    refusals        `json:"refusals"`
	Failures    int             `json:"failures"` // index into the list's failures
}

// annotations are the hints that browsers know; false is as good as absent.
type annotations struct {
	ReadOnly      bool `json:"readOnlyHint,omitempty"`
	Untrusted     bool `json:"untrustedContentHint,omitempty"`
	Consequential bool `json:"consequentialHint,omitempty"`
}

func annotationsOf(t *tool.Tool) annotations {
	return annotations{ReadOnly: t.Effect == record.Read, Untrusted: repeatsText(t), Consequential: t.Effect != record.Read}
}

// repeatsText reports whether answers repeat text that the contract does not
// itself state: of a catalogue or of a backend.
func repeatsText(t *tool.Tool) bool {
	declared, _ := t.Service.Tools.Get(t.Name)
	if declared.Backend == nil {
		return slices.ContainsFunc(t.Service.Columns, func(c contract.Entry[*contract.Column]) bool {
			return c.Value.ID || c.Value.Show && (c.Value.Type == contract.Text || c.Value.Type == contract.URL)
		})
	}
	return slices.ContainsFunc(declared.Answer, func(o contract.Entry[*contract.Output]) bool {
		return o.Value.Type == "text" && o.Value.Values == nil
	})
}

// lister answers GET /v1/webmcp.
type lister struct {
	// current has the list for the pages of each exposed origin, in lower case,
	// and, under "", for those of the server.
	current atomic.Pointer[map[string]*kept]
}

// change describes the tools of another set.
func (l *lister) change(set *tool.Set) {
	all := make([]listed, len(set.Tools()))
	origins := []string{""}
	for i, t := range set.Tools() {
		all[i] = listed{t, description{
			Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			Annotations: annotationsOf(t), Refusals: refusalsOf(t),
		}, failuresOf(t)}
		if t.Service.Expose != nil {
			origins = append(origins, t.Service.Expose.Origins...)
		}
	}
	lists := map[string]*kept{}
	for _, origin := range origins {
		origin = strings.ToLower(origin)
		lists[origin] = keep("application/json", listFor(all, wire.Caller{Origin: origin}))
	}
	l.current.Store(&lists)
}

// serve lists the tools that the page of the caller may call.
func (l *lister) serve(w http.ResponseWriter, r *http.Request) {
	list, known := (*l.current.Load())[wire.CallerFrom(r.Context()).Origin]
	if !known { // the origin was exposed to when the request arrived, and is no more
		list = keep("application/json", listFor(nil, wire.Caller{}))
	}
	list.serve(w, r)
}

// listed is one tool of the set that is served.
type listed struct {
	tool        *tool.Tool
	description description
	failures    failures
}

// listFor is the list of the tools that the pages of a caller may call.
func listFor(all []listed, c wire.Caller) []byte {
	list := struct {
		Tools    []description `json:"tools"`
		Failures []failures    `json:"failures"`
	}{[]description{}, []failures{}}
	for _, entry := range all {
		if !wire.Exposed(entry.tool, c) {
			continue
		}
		d := entry.description
		if d.Failures = slices.Index(list.Failures, entry.failures); d.Failures < 0 {
			d.Failures = len(list.Failures)
			list.Failures = append(list.Failures, entry.failures)
		}
		list.Tools = append(list.Tools, d)
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(list); err != nil { // schemas are JSON, the rest is texts and numbers
		panic(err)
	}
	return body.Bytes()
}

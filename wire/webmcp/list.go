package webmcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

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
	current atomic.Pointer[[]listed] // of the set that is served
}

type listed struct {
	tool        *tool.Tool
	description description
	failures    failures
}

// change describes the tools of another set.
func (l *lister) change(set *tool.Set) {
	var all []listed
	for _, t := range set.Tools() {
		all = append(all, listed{t, description{
			Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			Annotations: annotationsOf(t), Refusals: refusalsOf(t),
		}, failuresOf(t)})
	}
	l.current.Store(&all)
}

// serve lists the tools that the page of the caller may call.
func (l *lister) serve(w http.ResponseWriter, r *http.Request) {
	list := struct {
		Tools    []description `json:"tools"`
		Failures []failures    `json:"failures"`
	}{[]description{}, []failures{}}
	for _, entry := range *l.current.Load() {
		if !wire.Exposed(entry.tool, wire.CallerFrom(r.Context())) {
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
	serveKept(w, r, "application/json", body.Bytes())
}

// serveKept answers with data that a browser keeps, asking each time whether
// it has changed.
func serveKept(w http.ResponseWriter, r *http.Request, kind string, data []byte) {
	digest := sha256.Sum256(data)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(digest[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

package rest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/tool"
	"remit.example/wire"
)

//go:embed assets
var assets embed.FS

var indexPage = template.Must(template.ParseFS(assets, "assets/index.html"))

// assetKinds are the files that the index asks for, and nothing else.
var assetKinds = map[string]string{
	"page.css": "text/css; charset=utf-8",
	"page.js":  "text/javascript; charset=utf-8",
	"icon.svg": "image/svg+xml",
}

func (s *server) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, known := assetKinds[name]
	if !known {
		nothing(w, r)
		return
	}
	data, err := assets.ReadFile("assets/" + name)
	if err != nil { // the table and the folder are built together
		panic(err)
	}
	wire.Write(w, kind, http.StatusOK, data)
}

// promiseWords say what an answer of each kind claims.
var promiseWords = map[contract.Promise]string{
	contract.Search:            "Finds what matches your filters. It claims nothing more: no order of merit, no advice.",
	contract.RankPreferences:   "Orders by the preferences that you state, one after the other. It does not say what is best.",
	contract.AssessSuitability: "Says, for a declared purpose, what its method establishes from evidence, and where evidence is missing.",
	contract.Lookup:            "Gives the one entry with the identifier that you give.",
	contract.Command:           "Does one thing and says what came of it.",
}

// effectWords say whether repeating a call is safe.
var effectWords = map[record.Effect]string{
	record.Read:       "Only reads: repeating a call is safe.",
	record.Idempotent: "Has an effect; the same call twice has it once.",
	record.Keyed:      "Has one effect for each operation key.",
	record.Unsafe:     "Has an effect each time: repeating a call is not safe.",
}

// page is what the index shows.
type page struct {
	Version  string
	Services []serviceView
	Count    int
	Answer   *answerView // of the form that was sent; nil where none was
	HTTP     string      // client configurations
	Stdio    string      // "" for callers elsewhere
	Tokens   bool
}

type serviceView struct {
	Name, Description string
	Tools             []toolView
}

type toolView struct {
	Name, Description     string
	Promise, PromiseWords string
	Effect, EffectWords   string
	NeedsToken            bool
	Input, Schema         string
	Curl, Remit           string
	Answer                *answerView
}

// The height of a request's box, in lines.
const (
	leastRows = 4
	mostRows  = 24
)

// Rows is how many lines the request has, within bounds.
func (v toolView) Rows() int { return min(max(leastRows, strings.Count(v.Input, "\n")+1), mostRows) }

type answerView struct {
	Tool, Status, Prose, Body string
	Failed                    bool
}

func (s *server) index(w http.ResponseWriter, r *http.Request) { s.render(w, r, "", "", nil) }

// try answers the form of one tool.
func (s *server) try(w http.ResponseWriter, r *http.Request) {
	set := s.service.Set()
	t, known := set.Lookup(r.PathValue("name"))
	if !known {
		wire.Refuse(w, http.StatusNotFound, wire.Unknown(set, r.PathValue("name")))
		return
	}
	input := r.PostFormValue("input")
	a := s.service.Call(r.Context(), t, []byte(input), 0)
	view := &answerView{Tool: t.Name, Status: "Answer", Prose: a.Prose, Body: string(a.Body)}
	if a.Failure != nil {
		view.Failed, view.Prose = true, a.Failure.Error()
		view.Status = fmt.Sprintf("Failure %s", a.Failure.Code)
	}
	s.render(w, r, t.Name, input, view)
}

// render writes the index, with the answer and input of one tool's form.
func (s *server) render(w http.ResponseWriter, r *http.Request, name, input string, answer *answerView) {
	set := s.service.Set()
	base := baseURL(r)
	p := page{
		Version: s.options.Version, Count: len(set.Tools()), Answer: answer, Tokens: s.service.HasTokens(),
		HTTP: s.httpConfiguration(set, base),
	}
	if wire.CallerFrom(r.Context()).Local {
		p.Stdio = s.stdioConfiguration(set)
	}
	for _, t := range set.Tools() {
		view := s.view(t, base)
		if t.Name == name {
			view.Input, view.Answer = input, answer
		}
		p.add(t.Service, view)
	}
	var body bytes.Buffer
	if err := indexPage.Execute(&body, p); err != nil {
		wire.Refuse(w, http.StatusInternalServerError, "The index could not be written.")
		return
	}
	wire.Write(w, "text/html; charset=utf-8", http.StatusOK, body.Bytes())
}

// add puts a tool under its service; the tools of one come together.
func (p *page) add(service *contract.Contract, t toolView) {
	last := len(p.Services) - 1
	if last < 0 || p.Services[last].Name != service.Service {
		p.Services = append(p.Services, serviceView{Name: service.Service, Description: service.Description})
		last++
	}
	p.Services[last].Tools = append(p.Services[last].Tools, t)
}

func (s *server) view(t *tool.Tool, base string) toolView {
	example := string(t.Example)
	if example == "" {
		example = "{}"
	}
	view := toolView{
		Name: t.Name, Description: t.Description,
		Promise: strings.ReplaceAll(string(t.Promise), "_", " "), PromiseWords: promiseWords[t.Promise],
		Effect: string(t.Effect), EffectWords: effectWords[t.Effect],
		NeedsToken: s.service.NeedsToken(t),
		Input:      indent(example), Schema: indent(string(t.InputSchema)),
		Remit: fmt.Sprintf("remit call %s --url %s --input %s", t.Name, base, quote(example)),
	}
	authorization := ""
	if view.NeedsToken {
		authorization = ` -H "Authorization: Bearer $REMIT_TOKEN"`
	}
	view.Curl = fmt.Sprintf("curl -sS -H 'Content-Type: application/json'%s -d %s %s/v1/tools/%s", authorization, quote(example), base, t.Name)
	return view
}

// indent sets JSON out for reading; anything else stays as it is.
func indent(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// quote writes text as one word of a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// baseURL is the server's address as the caller wrote it.
func baseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// configuration is one server in a client's mcpServers.
type configuration struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
}

func (s *server) httpConfiguration(set *tool.Set, base string) string {
	c := configuration{Type: "http", URL: base + "/mcp"}
	if s.service.HasTokens() {
		c.Headers = map[string]string{"Authorization": "Bearer ${REMIT_TOKEN}"}
	}
	return configurationText(set, c)
}

func (s *server) stdioConfiguration(set *tool.Set) string {
	return configurationText(set, configuration{Command: "remit", Args: append([]string{"serve", "--stdio"}, s.options.Paths...)})
}

// configurationText names the server by its service, or remit if it has several.
func configurationText(set *tool.Set, c configuration) string {
	name := ""
	for _, t := range set.Tools() {
		if name != "" && name != t.Service.Service {
			name = "remit"
			break
		}
		name = t.Service.Service
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string]any{"mcpServers": map[string]configuration{name: c}}); err != nil { // only strings
		panic(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

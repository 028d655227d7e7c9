package rest

import (
	"bytes"
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/tool"
	"remit.example/web"
	"remit.example/wire"
)

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"clip": clip, "exact": exact, "capital": capital, "breakable": breakable, "odd": func(n int) bool { return n%2 == 1 },
}).ParseFS(web.Pages(), "*.html"))

// assetKinds are the files that the pages ask for, and nothing else.
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
	if name == "page.js" {
		wire.Write(w, kind, http.StatusOK, web.Dist(name))
		return
	}
	data, err := fs.ReadFile(web.Pages(), name)
	if err != nil { // the table and the folder are built together
		panic(err)
	}
	wire.Write(w, kind, http.StatusOK, data)
}

// maxShown bounds a text where it is shown, in code points.
const maxShown = 200

// clip cuts a long text short and says how long it is.
func clip(text string) string {
	n := utf8.RuneCountInString(text)
	if n <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown]) + "… (" + itoa(n) + " characters)"
}

// breakable lets a long name break after its underscores.
func breakable(name string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(name), "_", "_<wbr>"))
}

// turns are the characters that set the direction of what follows them.
var turns = &unicode.RangeTable{R16: []unicode.Range16{{0x061c, 0x061c, 1}, {0x200e, 0x200f, 1}, {0x202a, 0x202e, 1}, {0x2066, 0x2069, 1}}}

// exact shows a text as it is, in which each character that would turn the
// direction of the rest stands alone in an isolate and does not.
func exact(text string) template.HTML {
	var b strings.Builder
	start := 0
	for i, r := range text {
		if unicode.Is(turns, r) {
			b.WriteString(template.HTMLEscapeString(text[start:i]))
			b.WriteString("<bdi class=\"turn\">" + string(r) + "</bdi>")
			start = i + utf8.RuneLen(r)
		}
	}
	b.WriteString(template.HTMLEscapeString(text[start:]))
	return template.HTML(strings.ReplaceAll(b.String(), "\r", "&#13;")) // escaped above; a browser reads \r as a new line
}

// head is what every page begins with.
type head struct {
	Title   string
	Version string
}

// indexPage is the page /.
type indexPage struct {
	head
	Services []serviceView
	Count    int
	HTTP     string // client configurations
	Stdio    string // "" for callers elsewhere
	Tokens   bool
}

type serviceView struct {
	Name, Description string
	Tools             []toolView
}

type toolView struct {
	Name, Description   string
	Promise             string
	Promises            promise
	Effect, EffectWords string
	NeedsToken          bool
}

func (s *server) index(w http.ResponseWriter, r *http.Request) {
	set := s.service.Set()
	p := indexPage{
		head:  head{"Remit: " + count(len(set.Tools()), "tool", "tools"), s.options.Version},
		Count: len(set.Tools()), Tokens: s.service.HasTokens(), HTTP: s.httpConfiguration(set, baseURL(r)),
	}
	if wire.CallerFrom(r.Context()).Local {
		p.Stdio = s.stdioConfiguration(set)
	}
	for _, t := range set.Tools() {
		p.add(t.Service, s.view(t))
	}
	show(w, http.StatusOK, "index.html", p)
}

// add puts a tool under its service; the tools of one come together.
func (p *indexPage) add(service *contract.Contract, t toolView) {
	last := len(p.Services) - 1
	if last < 0 || p.Services[last].Name != service.Service {
		p.Services = append(p.Services, serviceView{Name: service.Service, Description: service.Description})
		last++
	}
	p.Services[last].Tools = append(p.Services[last].Tools, t)
}

func (s *server) view(t *tool.Tool) toolView {
	return toolView{
		Name: t.Name, Description: t.Description, Promise: spaced(string(t.Promise)), Promises: promises[t.Promise],
		Effect: string(t.Effect), EffectWords: effectWords[t.Effect], NeedsToken: s.service.NeedsToken(t),
	}
}

// toolPage is the page of one tool.
type toolPage struct {
	head
	toolView
	Service string
	Form    *form
	Filled  bool // a link filled the form in, and nothing was called
	Answer  *answerView
	Curl    string
	Remit   string
	Schema  string
}

// follow shows what an address asks: it calls a tool that only reads, and
// fills in the form of any other.
func (s *server) follow(w http.ResponseWriter, r *http.Request) {
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, "The address holds no request: write its parameters as name=value, joined by &, other characters as % and two hexadecimal digits.")
		return
	}
	s.page(w, r, parameters, false)
}

// send calls a tool for its form.
func (s *server) send(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		wire.Refuse(w, http.StatusBadRequest, "The form could not be read; send it as application/x-www-form-urlencoded.")
		return
	}
	s.page(w, r, r.PostForm, true)
}

// page writes a tool's page with the answer to parameters, if they ask.
func (s *server) page(w http.ResponseWriter, r *http.Request, parameters url.Values, sent bool) {
	set := s.service.Set()
	t, known := set.Lookup(r.PathValue("name"))
	if !known {
		name := r.PathValue("name")
		near, _ := wire.Near(set, name)
		show(w, http.StatusNotFound, "none.html", struct {
			head
			Sentence string
			Near     []string
		}{head{"No such tool – Remit", s.options.Version}, wire.Unknown(set, name), near})
		return
	}
	f := formOf(t)
	p := toolPage{head: head{t.Name + " – Remit", s.options.Version}, toolView: s.view(t), Service: t.Service.Service, Form: f, Schema: indent(t.InputSchema)}
	request, asked := f.requestOf(parameters)
	switch {
	case !asked && !sent:
		request = t.Example
	case sent || !f.Post:
		p.Answer = s.answer(r, t, f, request)
		p.Title = p.Answer.Heading + " – " + p.Title
	default:
		p.Filled = true
	}
	f.fill(f.parametersOf(request))
	p.Curl, p.Remit = s.curl(t, baseURL(r), string(request)), remitCall(t, baseURL(r), string(request))
	show(w, http.StatusOK, "tool.html", p)
}

// answer calls the tool once, by the rules for the caller, and reads what an
// agent would see of a catalogue's answer.
func (s *server) answer(r *http.Request, t *tool.Tool, f *form, request []byte) *answerView {
	answer := s.service.Call(r.Context(), t, request, 0)
	v, read := view(t, f, request, answer)
	if answer.Failure != nil {
		f.mark(answer.Failure, request)
	}
	if f.declared.Backend == nil && permitted(answer.Failure) {
		agent := t.Call(r.Context(), tool.Call{Input: request, Characters: tool.AgentCharacters})
		if string(agent.Body) != v.Body {
			v.Agent = string(agent.Body)
		}
	}
	if v.Assessment != nil {
		read.drawPlot(r.Context(), v.Assessment)
	}
	return v
}

// permitted reports whether the tool itself gave an answer: one that was
// refused before is the same for everybody.
func permitted(failure *record.Record) bool {
	return failure == nil || failure.Code == record.InvalidArgument || failure.Code == record.PreconditionFailed
}

// show writes a page.
func show(w http.ResponseWriter, status int, name string, p any) {
	var body bytes.Buffer
	if err := pages.ExecuteTemplate(&body, name, p); err != nil {
		wire.Refuse(w, http.StatusInternalServerError, "The page could not be written.")
		return
	}
	wire.Write(w, "text/html; charset=utf-8", status, body.Bytes())
}

// indent sets JSON out for reading; anything else stays as it is.
func indent(text []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return string(text)
	}
	return out.String()
}

package oracle

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"plain": printable}).Parse(page))

// HTML writes the report as one page that needs nothing else: no script, and
// whatever comes from what was judged is text to it, never markup.
func (r *Report) HTML(w io.Writer) error {
	return pageTemplate.Execute(w, struct {
		*Report
		Summary string
	}{r, r.summary()})
}

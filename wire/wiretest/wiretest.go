// Package wiretest has tools for the tests of the wires: a service of parcels
// whose answers are a table, and whose commands reach a Transport of the test.
package wiretest

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"remit.example/contract"
	"remit.example/tool"
)

// fixture has an answer with what JSON and HTML might spoil, and a row for
// each failure that a wire treats in its own way.
const fixture = `reference,code,retry_after_ms,status
OK001,OK,,"<b>in transit</b> & ""due"" – é 😀"
AU001,AUTH_REQUIRED,,
AD001,ACCESS_DENIED,,
TE001,TEMP_UNAVAILABLE,1500,
XX001,TEAPOT,,
`

const source = `remit: 1
service: SERVICE
EXPOSE
tools:
  PREFIXstatus:
    promise: lookup
    description: Returns the status of one parcel; <script>alert(1)</script>.
    input: {reference: {type: text, pattern: "[A-Z]{2}[0-9]{3}", accepts: two letters and three digits, example: OK001}}
    answer: {status: {type: text}}
    backend: {fixture: {file: parcels.csv, by: reference}}
`

const commands = `  PREFIXhold:
    promise: command
    effect: unsafe
    description: Holds one parcel.
    input: {reference: {type: text, pattern: "[A-Z]{2}[0-9]{3}", accepts: two letters and three digits, example: OK001}}
    answer: {status: {type: text}}
    backend: {http: {method: POST, url: "http://backend.example/hold", body: true}}
  PREFIXread:
    promise: lookup
    description: Reads one parcel from its carrier.
    input: {reference: {type: text, pattern: "[A-Z]{2}[0-9]{3}", accepts: two letters and three digits, example: OK001}}
    answer: {status: {type: text}}
    backend: {http: {url: "http://backend.example/read/{reference}"}}
`

// Service is one service of parcels.
type Service struct {
	Name   string // absent: parcels
	Prefix string // of the tools' names
	Expose string // the contract's line, such as "expose: {reads: anonymous}"
	// Transport answers the tools hold and read; nil: the service has only status.
	Transport http.RoundTripper
}

// Transport is a function that is an http.RoundTripper.
type Transport func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f Transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Set is a set of the tools of services.
func Set(t testing.TB, services ...Service) *tool.Set {
	t.Helper()
	var all [][]*tool.Tool
	for _, s := range services {
		all = append(all, s.tools(t))
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (s Service) tools(t testing.TB) []*tool.Tool {
	t.Helper()
	name := s.Name
	if name == "" {
		name = "parcels"
	}
	text := source
	if s.Transport != nil {
		text += commands
	}
	text = strings.NewReplacer("SERVICE", name, "EXPOSE", s.Expose, "PREFIX", s.Prefix).Replace(text)
	c, err := contract.Parse(name+".yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.Bind(c, tool.Backing{
		Files:  fstest.MapFS{"parcels.csv": {Data: []byte(fixture)}},
		Client: &http.Client{Transport: s.Transport},
		Getenv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

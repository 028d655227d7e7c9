package tool

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"remit.example/catalogue"
	"remit.example/contract"
	"remit.example/record"
)

// row is one line of a fixture: a failure, or the answer.
type row struct {
	code   record.Code
	wait   *int64
	answer []byte
}

// fixture answers from a CSV file with the columns that contract.Fixture names.
func fixture(declared *contract.Tool, files fs.FS) (backend, error) {
	f := declared.Backend.Fixture
	data, err := fs.ReadFile(files, f.File)
	if err != nil {
		return nil, err
	}
	rows, err := readFixture(f, declared, data)
	if err != nil {
		return nil, err
	}
	selector, _ := declared.Input.Get(f.By)
	return func(_ context.Context, given arguments) outcome {
		r, ok := rows[given.text(f.By)]
		switch {
		case !ok:
			return refused([]catalogue.Fault{{
				Path: []string{f.By}, Reason: "not_found", Accepted: "one that is recorded",
				Message: fmt.Sprintf("No %s %s is recorded; ask with one that is%s.", f.By, catalogue.Clip(given.text(f.By)), suchAs(selector)),
			}})
		case r.code == record.InvalidArgument:
			return refused([]catalogue.Fault{argumentsOf(declared).fault(f.By, selector, "refused")})
		case r.code != record.OK:
			return outcome{failure: &record.Record{Code: r.code, Message: sentence(r.code), RetryAfterMS: r.wait}, prose: sentence(r.code)}
		}
		return outcome{body: r.answer, prose: answered(declared, given)}
	}, nil
}

func suchAs(input *contract.Input) string {
	if input.Example == "" {
		return ""
	}
	return fmt.Sprintf(", such as %s", input.Example)
}

func readFixture(f *contract.Fixture, declared *contract.Tool, data []byte) (map[string]row, error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w; the first line names the columns: %s", f.File, err, strings.Join(columnsOf(f, declared), ","))
	}
	if want := columnsOf(f, declared); !slices.Equal(header, want) {
		return nil, fmt.Errorf("%s:1: the columns are %s; valid: %s", f.File, strings.Join(header, ","), strings.Join(want, ","))
	}
	rows := map[string]row{}
	var faults []error
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, errors.Join(faults...)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.File, err)
		}
		line, _ := reader.FieldPos(0)
		r, err := rowOf(declared, cells)
		if _, taken := rows[cells[0]]; taken && err == nil {
			err = fmt.Errorf("%s stands twice; keep one", cells[0])
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", f.File, line, err))
		}
		rows[cells[0]] = r
	}
}

func columnsOf(f *contract.Fixture, declared *contract.Tool) []string {
	return append([]string{f.By, "code", "retry_after_ms"}, declared.Answer.Names()...)
}

func rowOf(declared *contract.Tool, cells []string) (row, error) {
	r := row{code: record.Code(cells[1])}
	if r.code == "" {
		return r, errors.New("no code; valid: OK or the code of a failure")
	}
	if cells[2] != "" {
		ms, err := strconv.ParseInt(cells[2], 10, 64)
		if err != nil || ms < 0 {
			return r, fmt.Errorf("retry_after_ms is %q; valid: a whole number of milliseconds, at least 0, or nothing", cells[2])
		}
		r.wait = &ms
	}
	if r.code == record.TempUnavailable && r.wait == nil {
		return r, errors.New("TEMP_UNAVAILABLE states no wait; valid: retry_after_ms, such as 1000")
	}
	if r.code != record.OK {
		return r, nil
	}
	answer := record.Object{}
	for i, output := range declared.Answer {
		value, err := memberOf(output.Value, textNode(output.Value, cells[3+i]))
		if err != nil {
			return r, fmt.Errorf("%s: %w", output.Name, err)
		}
		answer.Add(output.Name, value)
	}
	r.answer = answer.JSON()
	return r, nil
}

// textNode is a cell as the JSON that its member's type makes of it.
func textNode(output *contract.Output, cell string) *catalogue.Node {
	if output.Type == "text" {
		return &catalogue.Node{Kind: '"', Text: cell}
	}
	node, err := catalogue.ParseNode([]byte(cell))
	if err != nil {
		return &catalogue.Node{Kind: 'n'}
	}
	return node
}

// memberOf is the JSON of an answer's member, if the contract permits it.
func memberOf(output *contract.Output, node *catalogue.Node) ([]byte, error) {
	switch output.Type {
	case "text":
		if node.Kind != '"' || node.Text == "" {
			return nil, errors.New("it is not a text")
		}
		if output.Values != nil && !slices.Contains(output.Values, node.Text) {
			return nil, fmt.Errorf("%s is not one of: %s", quoted(catalogue.Clip(node.Text)), strings.Join(output.Values, ", "))
		}
	case "integer":
		if n, whole := catalogue.WholeNumber(node); !whole || !catalogue.Safe(n) {
			return nil, errors.New("it is not a whole number")
		}
	case "boolean":
		if node.Kind != 't' && node.Kind != 'f' {
			return nil, errors.New("it is not true or false")
		}
	}
	return []byte(givenBy("", node).json), nil
}

// sentences says what each code means for the caller of a tool.
var sentences = map[record.Code]string{
	record.InvalidArgument:    "The input is not accepted.",
	record.AuthRequired:       "Authentication is required; authenticate through the application and ask again.",
	record.AccessDenied:       "Access is refused; asking again with the same credentials changes nothing.",
	record.TempUnavailable:    "The service is temporarily unavailable; the same request may be repeated after the stated wait.",
	record.QuotaExhausted:     "The quota is used up until the stated wait has passed.",
	record.PreconditionFailed: "The state has changed; read it again before anything else.",
	record.OutcomeUnknown:     "It is not known whether the request took effect; ask for its status and do not repeat it.",
	record.InProgress:         "The same operation is still being executed.",
	record.KeyReused:          "The operation key was used with other arguments.",
}

func sentence(code record.Code) string {
	if text, ok := sentences[code]; ok {
		return text
	}
	return fmt.Sprintf("The service answered with the code %s, which this contract does not know; nothing may be concluded from it.", code)
}

func answered(declared *contract.Tool, given arguments) string {
	about := make([]string, len(given))
	for i, g := range given {
		about[i] = g.name + " " + catalogue.Clip(g.text)
	}
	return fmt.Sprintf("This is the %s that the service gave for %s.", catalogue.Joined(declared.Answer.Names(), "and"), catalogue.Joined(about, "and"))
}

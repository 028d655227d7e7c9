package oracle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxLine bounds one result line, in bytes.
const maxLine = 1 << 20

// Judge compares the results of a run with the oracle. It reads them as a
// stream; the error is that of the reader.
func (s *Suite) Judge(results io.Reader) (*Outcome, error) {
	j := judge{suite: s, outcome: newOutcome(s.Contract)}
	lines := bufio.NewReader(results)
	var long []byte // the beginning of a line that the reader's buffer does not hold
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxLine {
			long = append(long, line...)
			line, err = lines.ReadSlice('\n')
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = line[:0]
		}
		switch {
		case len(line) > maxLine+1:
			j.outcome.AddVoid("line %d: a result line has at most %d bytes", number, maxLine)
			return j.finish(), nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if len(line) > 0 {
			j.take(number, line)
		}
		if err != nil {
			return j.finish(), nil
		}
	}
}

// judgeBytes is Judge for results in memory.
func (s *Suite) judgeBytes(results []byte) *Outcome {
	j := judge{suite: s, outcome: newOutcome(s.Contract)}
	number := 0
	for line := range bytes.Lines(results) {
		number++
		j.take(number, line)
	}
	return j.finish()
}

// judge collects the lines of one case at a time.
type judge struct {
	suite   *Suite
	outcome *Outcome
	current int // the place of the case whose lines come in
	lines   []jsontext.Value
	absent  []int // the places of the cases that ended without a line
	// Lines of a case that had ended, and the first of them.
	disordered int
	firstOf    string
}

// take takes one result line with its newline; it is valid until the next call.
func (j *judge) take(number int, line []byte) {
	text, ended := bytes.CutSuffix(line, []byte("\n"))
	if !ended {
		j.outcome.AddVoid("line %d: the last line does not end with a newline, so that it may be cut off", number)
	}
	j.line(number, text)
}

// line attributes a line to its case. One that is the oracle's needs no
// decoding for that.
func (j *judge) line(number int, line []byte) {
	if literal := j.due(j.current, len(j.lines)); literal != nil && bytes.Equal(line, literal) {
		j.lines = append(j.lines, literal)
		return
	}
	if literal := j.due(j.current+1, 0); literal != nil && bytes.Equal(line, literal) && len(j.lines) > 0 {
		j.advance(j.current + 1)
		j.lines = append(j.lines, literal)
		return
	}
	at, err := j.attribute(line)
	if err != nil {
		j.outcome.AddVoid("line %d: %w", number, err)
		return
	}
	if at < j.current {
		j.absent = slices.DeleteFunc(j.absent, func(a int) bool { return a == at })
		if j.disordered++; j.disordered == 1 {
			j.firstOf = fmt.Sprintf("line %d: %s comes after %s", number, j.suite.Cases[at].Name, j.suite.Cases[j.current].Name)
		}
		return
	}
	j.advance(at)
	j.lines = append(j.lines, bytes.Clone(line))
}

// due is the literal line that a case has at a place; nil if it has none.
func (j *judge) due(at, line int) jsontext.Value {
	if at >= len(j.suite.Cases) || line >= len(j.suite.Cases[at].Oracle) {
		return nil
	}
	return j.suite.Cases[at].Oracle[line]
}

// attribute finds the case that a line names.
func (j *judge) attribute(line []byte) (int, error) {
	members, err := membersOf(line)
	if err != nil {
		return 0, fmt.Errorf("not a result line: %w%s: %.80q", err, hint(line), line)
	}
	identity := contracts[j.suite.Contract].identity
	name, ok := members.text(identity)
	if !ok {
		return 0, fmt.Errorf("not a result line: it has not one member %s that is a text: %.80q", identity, line)
	}
	at, known := j.suite.index[name]
	if !known {
		return 0, fmt.Errorf("%q is no case of %s", clip(name), j.suite.Name)
	}
	if j.suite.Contract == BrowserV1 {
		if _, err := j.suite.Cases[at].readRecorded(line); err != nil {
			return 0, fmt.Errorf("not a line of a recording: %w", err)
		}
	}
	return at, nil
}

// hint says what commonly makes a line unreadable.
func hint(line []byte) string {
	switch trimmed := bytes.TrimSpace(line); {
	case bytes.HasPrefix(line, []byte("\ufeff")):
		return " (it begins with a byte order mark)"
	case string(trimmed) == "{" || string(trimmed) == "[":
		return " (a result stands on one line, and no list around it)"
	}
	return ""
}

// advance ends the current case, and those between it and the case at a place.
func (j *judge) advance(at int) {
	for ; j.current < at; j.current++ {
		j.end()
	}
}

func (j *judge) end() {
	if len(j.lines) == 0 {
		j.absent = append(j.absent, j.current)
		return
	}
	c := &j.suite.Cases[j.current]
	j.outcome.count(c, c.findings(j.suite.Contract, j.lines))
	j.lines = j.lines[:0]
}

func (j *judge) finish() *Outcome {
	j.advance(len(j.suite.Cases))
	if j.disordered > 0 {
		j.outcome.AddVoid("%s; lines are grouped by case, in case order, and %d are not", j.firstOf, j.disordered)
	}
	for _, at := range j.absent {
		j.outcome.AddVoid("%s has no line", j.suite.Cases[at].Name)
	}
	return j.outcome
}

// findings compares the results of one case.
func (c *Case) findings(contract Contract, results []jsontext.Value) *findings {
	f := &findings{contract: contract}
	if c.isOracle(results) {
		return f
	}
	contracts[contract].compare(f, c, results)
	return f
}

func (c *Case) isOracle(results []jsontext.Value) bool {
	if len(results) != len(c.Oracle) {
		return false
	}
	for i, line := range results {
		if !bytes.Equal(line, c.Oracle[i]) {
			return false
		}
	}
	return true
}

package oracle

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Suite is a frozen set of cases with their oracle and their controls.
type Suite struct {
	Name         string         `json:"suite"`
	Version      string         `json:"version"`
	Contract     Contract       `json:"contract"`
	SHA256       string         `json:"sha256"`
	OracleSHA256 string         `json:"oracle_sha256"`
	Fixture      *Fixture       `json:"fixture,omitempty"`
	Controls     []Control      `json:"controls"`
	Cases        []Case         `json:"cases"`
	index        map[string]int // the place of each case by its identity
}

// Fixture is the inventory that a catalogue suite asks about.
type Fixture struct {
	Name  string           `json:"name"`
	Items []jsontext.Value `json:"items"`
}

// Control is a wrong result: that of the whole suite, in which Results stand
// in the place of the lines of Case. Rule must reject it.
type Control struct {
	Name    string           `json:"name"`
	Rule    string           `json:"rule"`
	Case    string           `json:"case"`
	Why     string           `json:"why"`
	Results []jsontext.Value `json:"results"`
}

// Case is one frozen input with its literal result.
type Case struct {
	Why     string           `json:"why"`
	Clause  string           `json:"clause"`
	Line    jsontext.Value   `json:"case"`
	Oracle  []jsontext.Value `json:"oracle"`
	Records []jsontext.Value `json:"records,omitempty"` // of recovery: what each execution's envelope must be
	// Of a recording: what it must hold, and further final answers, those that
	// pass and those that the grammar of a final answer cannot decide.
	Expects   jsontext.Value   `json:"expects,omitempty"`
	Accepted  []jsontext.Value `json:"accepted,omitempty"`
	Undecided []jsontext.Value `json:"undecided,omitempty"`

	// Name identifies the case in its results.
	Name string `json:"-"`
	// given is the line of a recovery case, decoded, and guarded that of a guard
	// case; recorded what a recording of
	// the case is held to.
	given    given
	guarded  guardCase
	recorded recordedCase
}

//go:embed suites/*.json
var builtin embed.FS

// Names lists the built-in suites that judge an implementation by itself, the
// frozen ones before those that extend them.
func Names() []string {
	return []string{"recovery-v1", "catalogue-v1", "recovery-v1-extended", "catalogue-v1-extended"}
}

// GuardNames lists the built-in suites that judge what a guard lets through.
func GuardNames() []string { return []string{"guard-v1"} }

// BrowserNames lists the built-in suites that judge what happens in a browser.
func BrowserNames() []string { return []string{"platform-v1", "browser-v1"} }

// Builtin reads a built-in suite by its name.
func Builtin(name string) (*Suite, error) {
	text, err := fs.ReadFile(builtin, path.Join("suites", name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no suite is named %s; valid: %s", name, strings.Join(slices.Concat(Names(), GuardNames(), BrowserNames()), ", "))
	}
	if err != nil {
		return nil, err
	}
	return Parse(name+".json", text)
}

// Parse decodes a suite strictly; file names it in errors. It does not ask
// whether the suite can be trusted: see [Suite.Lint].
func Parse(file string, text []byte) (*Suite, error) {
	s := &Suite{}
	if err := json.Unmarshal(text, s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: not a suite: %w", place(file, text, err), err)
	}
	s.index = map[string]int{}
	for i := range s.Cases {
		c := &s.Cases[i]
		if err := c.read(s.Contract); err != nil {
			return nil, fmt.Errorf("%s: case %d: %w", file, i+1, err)
		}
		c.recorded.fixture = s.Fixture
		if _, taken := s.index[c.Name]; !taken {
			s.index[c.Name] = i
		}
	}
	return s, nil
}

// place is the file and, where the error tells it, the line.
func place(file string, text []byte, err error) string {
	offset := int64(-1)
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syntactic.ByteOffset
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		offset = semantic.ByteOffset
	}
	if offset < 0 || offset > int64(len(text)) {
		return file
	}
	return fmt.Sprintf("%s:%d", file, 1+bytes.Count(text[:offset], []byte("\n")))
}

// read decodes the case line as its contract demands.
func (c *Case) read(contract Contract) error {
	members, err := membersOf(c.Line)
	if err != nil {
		return err
	}
	held, known := contracts[contract]
	if !known {
		return fmt.Errorf("the contract is %q; valid: %s", contract, contractNames())
	}
	name, ok := members.text(held.identity)
	if !ok || name == "" {
		return fmt.Errorf("the case has no %s; valid: a text", held.identity)
	}
	c.Name = name
	return held.read(c, members)
}

func (c *Case) readRequest(m members) error {
	if _, ok := m.text("tool"); !ok {
		return fmt.Errorf("case %s has no tool; valid: a text", c.Name)
	}
	return nil
}

func (c *Case) readConditions(members) (err error) {
	c.given, err = readGiven(c.Line)
	return err
}

// Input is what the case lines of a suite are, as a program under test reads
// them.
func (s *Suite) Input() []byte {
	var lines bytes.Buffer
	for _, c := range s.Cases {
		writeLine(&lines, c.Line)
	}
	return lines.Bytes()
}

// Results is the oracle as a program under test would write it.
func (s *Suite) Results() []byte { return s.resultsWith(-1, nil) }

// resultsWith is the oracle in which the lines of one case are others.
func (s *Suite) resultsWith(replaced int, lines []jsontext.Value) []byte {
	var all bytes.Buffer
	for i, c := range s.Cases {
		of := c.Oracle
		if i == replaced {
			of = lines
		}
		for _, line := range of {
			writeLine(&all, line)
		}
	}
	return all.Bytes()
}

func (s *Suite) records() []byte {
	var all bytes.Buffer
	for _, c := range s.Cases {
		for _, line := range c.beside() {
			writeLine(&all, line)
		}
	}
	return all.Bytes()
}

// beside are the literal lines of a case that stand beside its results.
func (c *Case) beside() []jsontext.Value {
	lines := slices.Clone(c.Records)
	if c.Expects != nil {
		lines = append(lines, c.Expects)
	}
	return slices.Concat(lines, c.Accepted, c.Undecided)
}

func writeLine(b *bytes.Buffer, line []byte) {
	b.Write(line)
	b.WriteByte('\n')
}

// Hashes computes what sha256 and oracle_sha256 must be.
func (s *Suite) Hashes() (cases, oracle string) {
	return digest(s.Input()), digest(append(s.Results(), s.records()...))
}

func digest(lines []byte) string {
	sum := sha256.Sum256(lines)
	return hex.EncodeToString(sum[:])
}

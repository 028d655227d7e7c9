package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// sample is one cell as init sees it.
type sample struct {
	text  string
	shape sampleShape
}

type sampleShape uint8

const (
	shapeText   sampleShape = iota // a CSV field, or a text in JSON
	shapeNumber                    // a number in JSON
	shapeBool                      // true or false in JSON
	shapeNull                      // null in JSON
	shapeNested                    // an object or a list in JSON
)

// surveyed is what a data file was found to be.
type surveyed struct {
	name      string // of the file, in messages
	format    string // csv, jsonl or json
	delimiter rune
	columns   []*profile
	rows      int
	uneven    []int    // lines of rows with more or fewer fields than the header
	repeated  []string // headers that stand twice
}

// survey reads a whole data file, row by row.
func survey(name string, r io.Reader, tick func(rows int)) (*surveyed, error) {
	s := &surveyed{name: name, format: formatOf(name)}
	input := bufio.NewReaderSize(&utf8Reader{r: r, name: name, line: 1}, 1<<16)
	mark, err := input.Peek(3)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = input.Discard(len(mark))
	}
	read := s.readCSV
	if s.format != "csv" {
		read = s.readJSON
	}
	if err := read(input, tick); err != nil {
		return nil, err
	}
	if s.rows == 0 {
		return nil, fmt.Errorf("%s: no row to draft from; a file with its header and at least one row is valid", name)
	}
	return s, nil
}

// formatOf is the format that a name's extension says; csv where it says none.
func formatOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".jsonl", ".ndjson":
		return "jsonl"
	case ".json":
		return "json"
	}
	return "csv"
}

// utf8Reader passes a file through and refuses what is not UTF-8, by line.
type utf8Reader struct {
	r     io.Reader
	name  string
	line  int
	carry []byte // an unfinished character
	begun bool
	fault error
}

func (u *utf8Reader) Read(p []byte) (int, error) {
	if u.fault != nil {
		return 0, u.fault
	}
	var n int
	n, u.fault = u.read(p)
	return n, u.fault
}

func (u *utf8Reader) read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	text := append(u.carry, p[:n]...)
	if !u.begun && n > 1 && (p[0] == 0xFF && p[1] == 0xFE || p[0] == 0xFE && p[1] == 0xFF) {
		return 0, fmt.Errorf("%s: the file is UTF-16; save it as UTF-8", u.name)
	}
	u.begun = true
	u.carry = nil
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			if err == nil && !utf8.FullRune(text) {
				u.carry = append(u.carry, text...)
				break
			}
			return 0, fmt.Errorf("%s:%d: the file is not UTF-8 here; save it as UTF-8, which spreadsheets call CSV UTF-8", u.name, u.line)
		}
		if r == '\n' {
			u.line++
		}
		text = text[size:]
	}
	return n, err
}

// delimiterOf is the delimiter that the header has most of, outside quotes.
func delimiterOf(header []byte) rune {
	counts := map[rune]int{}
	quoted := false
	for _, r := range string(header) {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '\n' && !quoted:
			return most(counts)
		case !quoted:
			counts[r]++
		}
	}
	return most(counts)
}

func most(counts map[rune]int) rune {
	best := ','
	for _, r := range []rune{';', '\t', '|'} {
		if counts[r] > counts[best] {
			best = r
		}
	}
	return best
}

func (s *surveyed) readCSV(input *bufio.Reader, tick func(int)) error {
	head, err := input.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	if bytes.HasPrefix(bytes.ToLower(head), []byte("sep=")) {
		return fmt.Errorf("%s:1:1: the first line is a note for a spreadsheet; delete it, so that the file begins with its header", s.name)
	}
	s.delimiter = delimiterOf(head)
	reader := csv.NewReader(input)
	reader.Comma, reader.FieldsPerRecord, reader.ReuseRecord = s.delimiter, -1, true
	header, err := reader.Read()
	if err != nil {
		return s.csvFault(err)
	}
	for i, name := range header {
		s.addColumn(strings.Clone(name), i)
	}
	for {
		record, err := reader.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return s.csvFault(err)
		}
		line, _ := reader.FieldPos(0)
		s.rows++
		if len(record) != len(s.columns) {
			s.uneven = append(s.uneven, line)
		}
		for i, column := range s.columns {
			if i < len(record) {
				column.add(sample{record[i], shapeText}, "line", line)
			}
		}
		tick(s.rows)
	}
}

func (s *surveyed) csvFault(err error) error {
	var fault *csv.ParseError
	if errors.As(err, &fault) {
		return fmt.Errorf("%s:%d:%d: %w; a quote within a quoted field is written twice", s.name, fault.Line, fault.Column, fault.Err)
	}
	if err == io.EOF {
		return fmt.Errorf("%s: the file is empty; a file with its header and at least one row is valid", s.name)
	}
	return err
}

func (s *surveyed) addColumn(header string, index int) *profile {
	for _, other := range s.columns {
		if other.header == header && !slices.Contains(s.repeated, header) {
			s.repeated = append(s.repeated, header)
		}
	}
	column := newProfile(header, index)
	s.columns = append(s.columns, column)
	return column
}

func (s *surveyed) readJSON(input *bufio.Reader, tick func(int)) error {
	decoder := jsontext.NewDecoder(input)
	if s.format == "json" {
		if decoder.PeekKind() != '[' {
			return fmt.Errorf("%s: a JSON file holds a list of objects, [{…}, …]; one object a line is JSON Lines, .jsonl", s.name)
		}
		if _, err := decoder.ReadToken(); err != nil {
			return s.jsonFault(err)
		}
	}
	byName := map[string]*profile{}
	for {
		kind := decoder.PeekKind()
		if kind == ']' && s.format == "json" {
			return nil
		}
		value, err := decoder.ReadValue()
		if err == io.EOF && s.format == "jsonl" {
			return nil
		}
		if err != nil {
			return s.jsonFault(err)
		}
		if kind != '{' {
			return fmt.Errorf("%s: row %d is no object; every row is one, {…}", s.name, s.rows+1)
		}
		s.rows++
		if err := s.addObject(value, byName); err != nil {
			return s.jsonFault(err)
		}
		tick(s.rows)
	}
}

func (s *surveyed) jsonFault(err error) error {
	return fmt.Errorf("%s: row %d: %s", s.name, s.rows+1, strings.TrimPrefix(err.Error(), "jsontext: "))
}

func (s *surveyed) addObject(object jsontext.Value, byName map[string]*profile) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != '}' {
		key, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		column := byName[name]
		if column == nil {
			column = s.addColumn(name, len(s.columns))
			byName[name] = column
		}
		column.add(jsonSample(value), "row", s.rows)
	}
	return nil
}

func jsonSample(value jsontext.Value) sample {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil { // the decoder has accepted it
			panic(err)
		}
		return sample{string(text), shapeText}
	case 'n':
		return sample{"", shapeNull}
	case 't', 'f':
		return sample{string(value), shapeBool}
	case '0':
		return sample{string(value), shapeNumber}
	}
	return sample{"", shapeNested}
}

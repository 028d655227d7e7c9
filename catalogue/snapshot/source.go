package snapshot

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The limits of a file.
const (
	maxFile = 4 << 30   // bytes
	maxRow  = 1 << 20   // bytes
	maxRows = 1<<31 - 1 // rows
)

// Format is how a file is written.
type Format string

// The formats.
const (
	CSV       Format = "csv"
	JSONLines Format = "jsonl"
	JSON      Format = "json"
)

// FormatOf derives the format from a file name's extension: .csv, .jsonl or
// .ndjson, or .json, in any case.
func FormatOf(name string) (Format, error) {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return CSV, nil
	case ".jsonl", ".ndjson":
		return JSONLines, nil
	case ".json":
		return JSON, nil
	}
	return "", fmt.Errorf("%s: the extension names no format; valid: .csv, .jsonl, .ndjson, .json, or a declared format", name)
}

// Source says where a file comes from and how it is written.
type Source struct {
	Name      string    // the file's name, for messages
	Format    Format    // "" for that of the name's extension
	Delimiter rune      // between the fields of a CSV file; 0 for a comma
	AsOf      time.Time // when the data was true; zero where it is not known
	// Salt is hashed into the snapshot's id with the file: what else decides
	// the answers, such as the contract's bytes.
	Salt []byte
}

// complete fills in the defaults; it refuses a format or delimiter that is not
// valid.
func (s Source) complete() (Source, error) {
	if s.Format == "" {
		format, err := FormatOf(s.Name)
		if err != nil {
			return s, err
		}
		s.Format = format
	}
	if s.Format != CSV && s.Format != JSONLines && s.Format != JSON {
		return s, fmt.Errorf("%s: the format %q is not known; valid: csv, jsonl, json", s.Name, s.Format)
	}
	if s.Delimiter == 0 {
		s.Delimiter = ','
	}
	if s.Delimiter == '"' || s.Delimiter == '\n' || s.Delimiter == '\r' || !utf8.ValidRune(s.Delimiter) || s.Delimiter == utf8.RuneError || unicode.In(s.Delimiter, unicode.L, unicode.N) {
		return s, fmt.Errorf("%s: %q cannot be a delimiter; a character such as , ; or a tab is valid", s.Name, s.Delimiter)
	}
	return s, nil
}

// open returns the rows of a file, whose fields are those of wanted.
func (s Source) open(r io.Reader, wanted []want, report *report) (rowReader, error) {
	for i := range wanted {
		wanted[i].name = norm.NFC.String(wanted[i].name)
	}
	input := bufio.NewReaderSize(r, 1<<16)
	if mark, _ := input.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = input.Discard(len(mark))
	}
	lines := lineReader{input: input, next: 1}
	switch s.Format {
	case CSV:
		return openCSV(lines, s.Delimiter, wanted, report)
	case JSONLines:
		return &jsonLines{lines: lines, objects: newObjects(wanted, report)}, nil
	}
	return &jsonArray{input: input, line: 1, column: 1, objects: newObjects(wanted, report)}, nil
}

// digest reads a file and computes the snapshot's id: the SHA-256 of the
// salt's length in 8 bytes, big endian, the salt, and the file to its end.
type digest struct {
	file io.Reader
	hash hash.Hash
	read int64
}

// errTooLarge is the digest's error for a file of over 4 GiB.
var errTooLarge = errors.New("the file has over 4 GiB")

func newDigest(file io.Reader, salt []byte) *digest {
	d := &digest{file: file, hash: sha256.New()}
	d.hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(salt))))
	d.hash.Write(salt)
	return d
}

func (d *digest) Read(p []byte) (int, error) {
	n, err := d.file.Read(p)
	d.hash.Write(p[:n])
	if d.read += int64(n); d.read > maxFile {
		return n, errTooLarge
	}
	return n, err
}

// id is "sha256:" and the first 12 hexadecimal digits.
func (d *digest) id() string {
	return "sha256:" + hex.EncodeToString(d.hash.Sum(nil))[:12]
}

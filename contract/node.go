package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	yamlerrors "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// kind is what a node of the file is, by the YAML 1.2 core schema.
type kind int

const (
	nullKind kind = iota
	boolKind
	intKind
	floatKind
	stringKind
	listKind
	mapKind
)

// String names a kind in messages.
func (k kind) String() string {
	return [...]string{"empty", "true or false", "a whole number", "a number", "a text", "a list", "a mapping"}[k]
}

// position is a place in the file, from 1, in lines and characters.
type position struct{ line, column int }

// node is one value of the file with its place, whatever the notation.
type node struct {
	kind    kind
	text    string // of a scalar: as written, without quotes
	items   []*node
	entries []entry
	at      position
}

type entry struct {
	key   string
	at    position
	value *node
}

// maxDepth bounds the nesting of a contract.
const maxDepth = 32

// maxFile bounds a contract, in bytes.
const maxFile = 4 << 20

// parse reads the file's notation; a problem of notation ends it at once.
func parse(source Source) (*node, *Problem) {
	problem := func(at position, format string, args ...any) *Problem {
		return &Problem{File: source.Name, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)}
	}
	if len(source.Bytes) > maxFile {
		return nil, problem(position{1, 1}, "the file has %d bytes; a contract has at most %d", len(source.Bytes), maxFile)
	}
	text := bytes.TrimPrefix(source.Bytes, []byte("\ufeff"))
	if at, ok := invalidUTF8(text); ok {
		return nil, problem(at, "the file is not UTF-8 here; save it as UTF-8")
	}
	read := readYAML
	if path.Ext(source.Name) == ".json" {
		read = readJSON
	}
	root, err := read(text)
	if err == nil {
		return root, nil
	}
	var syntax *notationError
	if errors.As(err, &syntax) {
		return nil, problem(syntax.at, "%s", syntax.message)
	}
	return nil, problem(position{1, 1}, "%v", err)
}

// notationError is a fault of notation at a place.
type notationError struct {
	at      position
	message string
}

func (e *notationError) Error() string { return e.message }

func invalidUTF8(text []byte) (position, bool) {
	for offset := 0; offset < len(text); {
		r, size := utf8.DecodeRune(text[offset:])
		if r == utf8.RuneError && size == 1 {
			return positionOf(text, offset), true
		}
		offset += size
	}
	return position{}, false
}

func positionOf(text []byte, offset int) position {
	before := text[:min(offset, len(text))]
	line := bytes.Count(before, []byte("\n"))
	start := bytes.LastIndexByte(before, '\n') + 1
	return position{line + 1, utf8.RuneCount(before[start:]) + 1}
}

func readYAML(text []byte) (*node, error) {
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlFault(err)
	}
	var root *node
	for _, document := range file.Docs {
		if document.Body == nil {
			continue
		}
		if root != nil {
			return nil, &notationError{yamlPosition(document.Body), "a second document begins here; a contract is one document"}
		}
		if root, err = fromYAML(document.Body, 0); err != nil {
			return nil, err
		}
	}
	if root == nil {
		return nil, &notationError{position{1, 1}, "the file is empty; a contract begins with: remit: 1"}
	}
	return root, nil
}

func yamlFault(err error) error {
	var syntax yamlerrors.Error
	if !errors.As(err, &syntax) {
		return err
	}
	at := syntax.GetToken().Position
	return &notationError{position{at.Line, at.Column}, "not YAML: " + syntax.GetMessage()}
}

func yamlPosition(n ast.Node) position {
	// A block mapping's own token is the colon of its first entry.
	if mapping, ok := n.(*ast.MappingNode); ok && !mapping.IsFlowStyle && len(mapping.Values) > 0 {
		return yamlPosition(mapping.Values[0].Key)
	}
	at := n.GetToken().Position
	return position{at.Line, at.Column}
}

func fromYAML(n ast.Node, depth int) (*node, error) {
	at := yamlPosition(n)
	if depth > maxDepth {
		return nil, &notationError{at, fmt.Sprintf("nested over %d levels deep", maxDepth)}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return yamlMapping(n.Values, at, depth)
	case *ast.MappingValueNode:
		return yamlMapping([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		list := &node{kind: listKind, at: at}
		for _, value := range n.Values {
			item, err := fromYAML(value, depth+1)
			if err != nil {
				return nil, err
			}
			list.items = append(list.items, item)
		}
		return list, nil
	case *ast.LiteralNode:
		return &node{kind: stringKind, text: n.Value.Value, at: at}, nil
	case ast.ScalarNode:
		return yamlScalar(n, at)
	case *ast.AnchorNode, *ast.AliasNode:
		return nil, &notationError{at, "anchors and aliases are not used in contracts; write the value out"}
	case *ast.TagNode:
		return nil, &notationError{at, "tags are not used in contracts; quote a text instead"}
	}
	return nil, &notationError{at, "this notation is not used in contracts; write key: value, a list or a scalar"}
}

func yamlMapping(values []*ast.MappingValueNode, at position, depth int) (*node, error) {
	mapping := &node{kind: mapKind, at: at}
	for _, value := range values {
		key, ok := value.Key.(ast.ScalarNode)
		if !ok || value.Key.IsMergeKey() {
			return nil, &notationError{yamlPosition(value.Key), "this kind of key is not used in contracts; write key: value"}
		}
		scalar, err := yamlScalar(key, yamlPosition(value.Key))
		if err != nil {
			return nil, err
		}
		item, err := fromYAML(value.Value, depth+1)
		if err != nil {
			return nil, err
		}
		mapping.entries = append(mapping.entries, entry{scalar.text, scalar.at, item})
	}
	return mapping, nil
}

// yamlScalar resolves a scalar from its token, not from the library's value,
// which follows YAML 1.1 in places: it reads 0017 as 15 and 1_000 as 1000.
func yamlScalar(n ast.ScalarNode, at position) (*node, error) {
	t := n.GetToken()
	switch {
	case t.Type == token.ImplicitNullType:
		return &node{kind: nullKind, at: at}, nil
	case t.Type == token.SingleQuoteType, t.Type == token.DoubleQuoteType:
		return &node{kind: stringKind, text: t.Value, at: at}, nil
	}
	return &node{kind: coreKind(t.Value), text: t.Value, at: at}, nil
}

// coreSchema is the table of YAML 1.2.2, section 10.3.2.
var coreSchema = []struct {
	kind    kind
	pattern *regexp.Regexp
}{
	{nullKind, regexp.MustCompile(`^(null|Null|NULL|~|)$`)},
	{boolKind, regexp.MustCompile(`^(true|True|TRUE|false|False|FALSE)$`)},
	{intKind, regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)},
	{floatKind, regexp.MustCompile(`^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)},
}

func coreKind(text string) kind {
	for _, row := range coreSchema {
		if row.pattern.MatchString(text) {
			return row.kind
		}
	}
	return stringKind
}

func readJSON(text []byte) (*node, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	reader := jsonReader{decoder, text}
	root, err := reader.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &notationError{reader.next(), "something follows the document; a contract is one JSON value"}
	}
	return root, nil
}

type jsonReader struct {
	decoder *jsontext.Decoder
	text    []byte
}

// next is where the token begins that is read next.
func (r *jsonReader) next() position {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[offset]) >= 0 {
		offset++
	}
	return positionOf(r.text, offset)
}

func (r *jsonReader) value(depth int) (*node, error) {
	at := r.next()
	if depth > maxDepth {
		return nil, &notationError{at, fmt.Sprintf("nested over %d levels deep", maxDepth)}
	}
	t, err := r.decoder.ReadToken()
	if err != nil {
		return nil, r.fault(err)
	}
	switch t.Kind() {
	case '{':
		return r.object(at, depth)
	case '[':
		return r.list(at, depth)
	case '"':
		return &node{kind: stringKind, text: t.String(), at: at}, nil
	}
	return &node{kind: coreKind(t.String()), text: t.String(), at: at}, nil
}

func (r *jsonReader) fault(err error) error {
	message := err.Error()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		message = syntax.Err.Error()
	}
	return &notationError{r.next(), "not JSON: " + strings.TrimPrefix(message, "jsontext: ")}
}

func (r *jsonReader) object(at position, depth int) (*node, error) {
	mapping := &node{kind: mapKind, at: at}
	for r.decoder.PeekKind() != '}' {
		keyAt := r.next()
		key, err := r.decoder.ReadToken()
		if err != nil {
			return nil, r.fault(err)
		}
		name := key.String() // before the decoder reuses its buffer
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		mapping.entries = append(mapping.entries, entry{name, keyAt, value})
	}
	_, err := r.decoder.ReadToken()
	return mapping, err
}

func (r *jsonReader) list(at position, depth int) (*node, error) {
	list := &node{kind: listKind, at: at}
	for r.decoder.PeekKind() != ']' {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list.items = append(list.items, item)
	}
	_, err := r.decoder.ReadToken()
	return list, err
}

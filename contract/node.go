package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	yamlerrors "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
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

// maxFile and maxKeys bound a contract, in bytes and in keys of mappings. The
// YAML parser's time grows with the square of the keys.
const (
	maxFile = 1 << 20
	maxKeys = 5_000
)

// parse reads the file's notation; a problem of notation ends it at once.
func parse(source Source) (*node, *Problem) {
	problem := func(at position, format string, args ...any) *Problem {
		return &Problem{File: source.Name, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)}
	}
	if len(source.Bytes) > maxFile {
		return nil, problem(position{1, 1}, "the file has %d bytes; a contract has at most %d", len(source.Bytes), maxFile)
	}
	text := bytes.TrimPrefix(source.Bytes, []byte("\ufeff"))
	if fault := badCharacter(text); fault != nil {
		return nil, problem(fault.at, "%s", fault.message)
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

// badCharacter finds the first byte that is not UTF-8, or the first character
// that neither notation permits.
func badCharacter(text []byte) *notationError {
	for offset := 0; offset < len(text); {
		r, size := utf8.DecodeRune(text[offset:])
		switch {
		case r == utf8.RuneError && size == 1:
			return &notationError{positionOf(text, offset), "the file is not UTF-8 here; save it as UTF-8"}
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7F:
			return &notationError{positionOf(text, offset), fmt.Sprintf("the control character %U stands here; delete it, or write it as an escape in double quotes", r)}
		}
		offset += size
	}
	return nil
}

func positionOf(text []byte, offset int) position {
	return (&locator{text: text, at: position{1, 1}}).locate(offset)
}

// locator turns ascending offsets into places, in one pass over the text. A
// line ends with \n, \r\n or \r, as YAML and JSON have it.
type locator struct {
	text   []byte
	offset int
	at     position
}

func (l *locator) locate(offset int) position {
	for l.offset < min(offset, len(l.text)) {
		r, size := utf8.DecodeRune(l.text[l.offset:])
		l.offset += size
		switch {
		case r == '\n', r == '\r' && !bytes.HasPrefix(l.text[l.offset:], []byte("\n")):
			l.at = position{l.at.line + 1, 1}
		default:
			l.at.column++
		}
	}
	return l.at
}

func readYAML(text []byte) (*node, error) {
	// YAML reads every end of a line as \n; the parser miscounts the others.
	unix := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text))
	tokens := lexer.Tokenize(unix)
	reader := newYAMLReader(unix, tokens)
	if err := reader.admit(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, reader.fault(err)
	}
	var root *node
	for _, document := range file.Docs {
		if document.Body == nil || isVersion(document.Body) {
			continue
		}
		if root != nil {
			return nil, &notationError{reader.position(document.Body), "a second document begins here; a contract is one document"}
		}
		if root, err = reader.value(document.Body, 0); err != nil {
			return nil, err
		}
	}
	if root == nil {
		return nil, emptyFile
	}
	return root, nil
}

var emptyFile = &notationError{position{1, 1}, "the file is empty; a contract begins with: remit: 1"}

// isVersion reports whether a node is the directive %YAML 1.2, which changes nothing.
func isVersion(n ast.Node) bool {
	directive, ok := n.(*ast.DirectiveNode)
	return ok && strings.Join(strings.Fields(directive.String()), " ") == "%YAML 1.2"
}

// yamlReader turns the parser's nodes into ours.
type yamlReader struct {
	lines  [][]rune
	places map[*token.Token]position
}

func newYAMLReader(text string, tokens token.Tokens) *yamlReader {
	reader := &yamlReader{places: map[*token.Token]position{}}
	for line := range strings.SplitSeq(text, "\n") {
		reader.lines = append(reader.lines, []rune(line))
	}
	reader.place(tokens)
	return reader
}

// place finds the column of each token in its line. Those that the parser
// gives are off by some characters after a tab or before spaces at the end of
// a line.
func (r *yamlReader) place(tokens token.Tokens) {
	line, used := 1, 0 // the characters of the line that the tokens before take
	for _, t := range tokens {
		at := r.inside(position{t.Position.Line, t.Position.Column})
		lead := lead(t)
		line, used = r.seek(at, line, used, lead)
		r.places[t] = position{line, used + 1}
		used = min(len(r.lines[line-1]), used+r.length(t, r.lines[line-1][used:], lead))
	}
}

// seek finds where a token begins that the parser puts at a place: in that
// line, behind the tokens before; or in a line before, for some plain texts of
// several lines are put at their end; or at that place.
func (r *yamlReader) seek(at position, line, used int, lead []rune) (foundLine, start int) {
	for l := at.line; l >= line; l-- {
		text, from := r.lines[l-1], 0
		if l == line {
			from = used
		}
		if start := from + blanks(text[from:]); hasPrefix(text[start:], lead) {
			return l, start
		}
		if start := find(text, lead, from); start >= 0 {
			return l, start
		}
	}
	return at.line, at.column - 1
}

// lead is how a token begins in the file.
func lead(t *token.Token) []rune {
	switch t.Type {
	case token.ImplicitNullType:
		return nil
	case token.SingleQuoteType:
		return []rune("'")
	case token.DoubleQuoteType:
		return []rune(`"`)
	case token.CommentType:
		return []rune("#")
	}
	first, _, _ := strings.Cut(t.Value, "\n")
	first, _, _ = strings.Cut(first, " ")
	return []rune(first)
}

// length is how many characters of its line a token takes.
func (r *yamlReader) length(t *token.Token, text, lead []rune) int {
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		return quotedLength(text)
	case token.CommentType:
		return len(text)
	}
	if whole := []rune(strings.Trim(t.Origin, " \t\n")); hasPrefix(text, whole) {
		return len(whole)
	}
	return len(lead)
}

// quotedLength is the length of a quoted text, or of what of it stands in the
// line.
func quotedLength(text []rune) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[0] == '\'' && text[i] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}

func blanks(text []rune) int {
	for i, r := range text {
		if r != ' ' && r != '\t' {
			return i
		}
	}
	return len(text)
}

func hasPrefix(text, lead []rune) bool {
	return len(text) >= len(lead) && slices.Equal(text[:len(lead)], lead)
}

// find is where lead stands in the text from an index on, or -1.
func find(text, lead []rune, from int) int {
	for i := from; i < len(text); i++ {
		if hasPrefix(text[i:], lead) {
			return i
		}
	}
	return -1
}

// inside is the place, or the nearest to it that the file has.
func (r *yamlReader) inside(at position) position {
	at.line = min(max(at.line, 1), len(r.lines))
	at.column = min(max(at.column, 1), len(r.lines[at.line-1])+1)
	return at
}

func (r *yamlReader) at(t *token.Token) position {
	if at, ok := r.places[t]; ok {
		return at
	}
	return r.inside(position{t.Position.Line, t.Position.Column})
}

// character is what stands at a place, or 0.
func (r *yamlReader) character(at position) rune {
	if at.column > len(r.lines[at.line-1]) {
		return 0
	}
	return r.lines[at.line-1][at.column-1]
}

// unused is the notation that contracts do without, by token.
var unused = map[token.Type]string{
	token.AnchorType:     "anchors are not used in contracts; write the value out where it is needed",
	token.AliasType:      "aliases are not used in contracts; write the value out, or in quotes if it is a text",
	token.TagType:        "tags are not used in contracts; write the value alone, or in quotes if it is a text",
	token.MappingKeyType: "this kind of key is not used in contracts; write key: value",
}

// admit refuses what contracts do without, and what the parser, which
// recurses, cannot bear.
func (r *yamlReader) admit(tokens token.Tokens) error {
	keys, open, entries, line := 0, 0, 0, 0
	for _, t := range tokens {
		at := r.at(t)
		if message, ok := unused[t.Type]; ok {
			return &notationError{at, message}
		}
		if losesTab(t) {
			return &notationError{at, "a tab within a text gets lost here; write a space, or the text in double quotes with \\t"}
		}
		if t.Position.Line != line {
			line, entries = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingValueType:
			keys++
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType:
			entries++ // - - - nests without a bracket
		}
		if open+entries > maxDepth {
			return tooDeep(at)
		}
		if keys > maxKeys {
			return tooManyKeys(at)
		}
	}
	return nil
}

// losesTab reports whether a text without quotes has a tab inside, which the
// parser drops: it would read 0.0 and a tab and 54 as 0.054.
func losesTab(t *token.Token) bool {
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType, token.CommentType:
		return false
	}
	return strings.Count(strings.Trim(t.Origin, " \t\n"), "\t") != strings.Count(t.Value, "\t")
}

func tooDeep(at position) error {
	return &notationError{at, fmt.Sprintf("nested over %d levels deep", maxDepth)}
}

func tooManyKeys(at position) error {
	return &notationError{at, fmt.Sprintf("this is key %d; a contract has at most %d", maxKeys+1, maxKeys)}
}

func (r *yamlReader) fault(err error) error {
	var syntax yamlerrors.Error
	if !errors.As(err, &syntax) {
		return err
	}
	place := syntax.GetToken().Position
	if at := r.inside(position{place.Line, place.Column}); r.character(at) == '\t' {
		return &notationError{at, "a tab cannot indent in YAML; use spaces"}
	}
	message := strings.Join(strings.Fields(syntax.GetMessage()), " ")
	return &notationError{r.at(syntax.GetToken()), "not YAML: " + message}
}

func (r *yamlReader) position(n ast.Node) position {
	// A block mapping's own token is the colon of its first entry.
	if mapping, ok := n.(*ast.MappingNode); ok && !mapping.IsFlowStyle && len(mapping.Values) > 0 {
		return r.position(mapping.Values[0].Key)
	}
	return r.at(n.GetToken())
}

func (r *yamlReader) value(n ast.Node, depth int) (*node, error) {
	at := r.position(n)
	if depth > maxDepth {
		return nil, tooDeep(at)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n.Values, at, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		return r.list(n, at, depth)
	case *ast.LiteralNode:
		return &node{kind: stringKind, text: n.Value.Value, at: at}, nil
	case ast.ScalarNode:
		return yamlScalar(n, at), nil
	}
	return nil, &notationError{at, "this notation is not used in contracts; write key: value, a list or a scalar"}
}

func (r *yamlReader) list(n *ast.SequenceNode, at position, depth int) (*node, error) {
	list := &node{kind: listKind, at: at}
	for _, value := range n.Values {
		item, err := r.value(value, depth+1)
		if err != nil {
			return nil, err
		}
		list.items = append(list.items, item)
	}
	return list, nil
}

func (r *yamlReader) mapping(values []*ast.MappingValueNode, at position, depth int) (*node, error) {
	mapping := &node{kind: mapKind, at: at}
	for _, value := range values {
		keyAt := r.position(value.Key)
		key, ok := value.Key.(ast.ScalarNode)
		if !ok || value.Key.IsMergeKey() {
			return nil, &notationError{keyAt, unused[token.MappingKeyType]}
		}
		item, err := r.value(value.Value, depth+1)
		if err != nil {
			return nil, err
		}
		mapping.entries = append(mapping.entries, entry{yamlScalar(key, keyAt).text, keyAt, item})
	}
	return mapping, nil
}

// yamlScalar resolves a scalar from its token, not from the library's value,
// which follows YAML 1.1 in places: it reads 0017 as 15 and 1_000 as 1000.
func yamlScalar(n ast.ScalarNode, at position) *node {
	t := n.GetToken()
	switch t.Type {
	case token.ImplicitNullType:
		return &node{kind: nullKind, at: at}
	case token.SingleQuoteType, token.DoubleQuoteType:
		return &node{kind: stringKind, text: t.Value, at: at}
	}
	return &node{kind: coreKind(t.Value), text: t.Value, at: at}
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
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, emptyFile
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	reader := jsonReader{decoder: decoder, text: text, places: &locator{text: text, at: position{1, 1}}}
	root, err := reader.value(0)
	if err != nil {
		return nil, err
	}
	at := reader.next()
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &notationError{at, "something follows the document; a contract is one JSON value"}
	}
	return root, nil
}

type jsonReader struct {
	decoder *jsontext.Decoder
	text    []byte
	places  *locator
	keys    int
}

// next is where the token begins that is read next.
func (r *jsonReader) next() position {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[offset]) >= 0 {
		offset++
	}
	return r.places.locate(offset)
}

func (r *jsonReader) read() (jsontext.Token, error) {
	t, err := r.decoder.ReadToken()
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		at := positionOf(r.text, int(syntax.ByteOffset))
		message := syntax.Err.Error()
		if errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
			message = "the file ends within a value"
		}
		return t, &notationError{at, "not JSON: " + strings.TrimPrefix(message, "jsontext: ")}
	case err != nil:
		return t, &notationError{r.next(), "not JSON: the file ends within a value"}
	}
	return t, nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	at := r.next()
	if depth > maxDepth {
		return nil, tooDeep(at)
	}
	t, err := r.read()
	if err != nil {
		return nil, err
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

func (r *jsonReader) object(at position, depth int) (*node, error) {
	mapping := &node{kind: mapKind, at: at}
	for r.decoder.PeekKind() != '}' {
		keyAt := r.next()
		if r.keys++; r.keys > maxKeys {
			return nil, tooManyKeys(keyAt)
		}
		key, err := r.read()
		if err != nil {
			return nil, err
		}
		name := key.String() // before the decoder reuses its buffer
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		mapping.entries = append(mapping.entries, entry{name, keyAt, value})
	}
	_, err := r.read()
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
	_, err := r.read()
	return list, err
}

package catalogue

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is one JSON value of a request, as it was written: numbers keep their
// text and objects their order and their duplicates.
type Node struct {
	Kind    jsontext.Kind // one of n t f " 0 { [
	Text    string        // of a string its content, of a number its digits
	Members []Member
	Items   []*Node
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value *Node
}

// maxNesting bounds a value. Requests are three levels deep; responses of
// services that are read for a tool may be deeper.
const maxNesting = 100

var errNesting = errors.New("nested too deeply")

// ParseNode reads exactly one JSON value.
func ParseNode(input []byte) (*Node, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(input), jsontext.AllowDuplicateNames(true))
	v, err := readValue(decoder, 0)
	if err != nil {
		return nil, plainFault(err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return v, nil
}

// plainFault is a decoder's error in words that speak of the input alone.
func plainFault(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends early")
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return errors.New(strings.TrimPrefix(syntax.Err.Error(), "jsontext: "))
	}
	return err
}

func readValue(decoder *jsontext.Decoder, depth int) (*Node, error) {
	if depth > maxNesting {
		return nil, errNesting
	}
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &Node{Kind: token.Kind()}
	switch v.Kind {
	case '"', '0':
		v.Text = token.String()
	case '{':
		return v, readMembers(decoder, v, depth)
	case '[':
		return v, readItems(decoder, v, depth)
	}
	return v, nil
}

func readMembers(decoder *jsontext.Decoder, into *Node, depth int) error {
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		name := token.String() // before the decoder reuses its buffer
		v, err := readValue(decoder, depth+1)
		if err != nil {
			return err
		}
		into.Members = append(into.Members, Member{name, v})
	}
	_, err := decoder.ReadToken()
	return err
}

func readItems(decoder *jsontext.Decoder, into *Node, depth int) error {
	for decoder.PeekKind() != ']' {
		v, err := readValue(decoder, depth+1)
		if err != nil {
			return err
		}
		into.Items = append(into.Items, v)
	}
	_, err := decoder.ReadToken()
	return err
}

// Get is the value of a member and how often the object has it.
func (v *Node) Get(name string) (found *Node, times int) {
	for _, m := range v.Members {
		if m.Name == name {
			found, times = m.Value, times+1
		}
	}
	return found, times
}

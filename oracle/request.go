package oracle

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Request is what a catalogue case sends: the tool that it names, and the case
// line without its member tool. The other bytes stay as they stand in the
// suite, so that a number such as 6000.0 reaches the tool as one.
func (c *Case) Request() (tool string, request jsontext.Value) {
	line := bytes.Clone(c.Line)
	from, to := c.toolMember()
	m, _ := membersOf(line) // Parse has read it
	tool, _ = m.text("tool")
	rest := line[to:]
	if bytes.HasSuffix(bytes.TrimRight(line[:from], " \t\r\n"), []byte("{")) {
		// The first member takes the comma behind it along, any other the one before.
		rest = bytes.TrimPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(","))
	}
	return tool, append(line[:from], rest...)
}

// toolMember is where the member tool begins, with the comma before it, and
// where it ends.
func (c *Case) toolMember() (from, to int64) {
	decoder := jsontext.NewDecoder(bytes.NewReader(c.Line), jsontext.AllowDuplicateNames(true))
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() != '}' {
		from = decoder.InputOffset()
		var token jsontext.Token
		if token, err = decoder.ReadToken(); err != nil {
			break
		}
		name := token.String() // before the next read, which takes its bytes
		if _, err = decoder.ReadValue(); err == nil && name == "tool" {
			return from, decoder.InputOffset()
		}
	}
	panic("oracle: a case without a tool has been read")
}

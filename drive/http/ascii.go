package http

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// ascii is a JSON text with every character that a header cannot carry escaped.
// Outside ASCII these stand inside texts alone, where an escape is the same
// character; so does DEL.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

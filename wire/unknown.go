package wire

import (
	"fmt"
	"strings"

	"remit.example/contract"
	"remit.example/tool"
)

const (
	maxEcho      = 128 // bytes of a caller's text that a message repeats
	maxNamesTold = 10  // names that it offers instead
)

// Unknown is the sentence about a tool that there is not.
func Unknown(set *tool.Set, name string) string {
	near, left := Near(set, name)
	more := ""
	if left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	return fmt.Sprintf("No tool is named %q; valid: %s%s.", clip(name), strings.Join(near, ", "), more)
}

// Near are the names that come nearest to one that no tool has, and how many
// others there are.
func Near(set *tool.Set, name string) (near []string, left int) {
	var names []string
	for _, t := range set.Tools() {
		names = append(names, t.Name)
	}
	near = contract.Nearest(clip(name), names)
	told := min(len(near), maxNamesTold)
	return near[:told], len(near) - told
}

// clip is a caller's text as a message repeats it.
func clip(text string) string {
	if len(text) <= maxEcho {
		return text
	}
	return strings.ToValidUTF8(text[:maxEcho], "") + "…"
}

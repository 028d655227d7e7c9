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
	var names []string
	for _, t := range set.Tools() {
		names = append(names, t.Name)
	}
	name = clip(name)
	near := contract.Nearest(name, names)
	more := ""
	if len(near) > maxNamesTold {
		more = fmt.Sprintf(" and %d more", len(near)-maxNamesTold)
		near = near[:maxNamesTold]
	}
	return fmt.Sprintf("No tool is named %q; valid: %s%s.", name, strings.Join(near, ", "), more)
}

// clip is a caller's text as a message repeats it.
func clip(text string) string {
	if len(text) <= maxEcho {
		return text
	}
	return strings.ToValidUTF8(text[:maxEcho], "") + "…"
}

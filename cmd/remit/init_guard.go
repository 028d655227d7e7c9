package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpDraft is a guard contract as init proposes it.
type mcpDraft struct {
	text      string
	questions int
}

// mcpWriter writes the lines of a guard contract.
type mcpWriter struct {
	strings.Builder
	questions int
}

// ask writes a question as comment lines.
func (w *mcpWriter) ask(indent, format string, args ...any) {
	w.questions++
	for i, line := range strings.Split(wrap(fmt.Sprintf(format, args...)), "\n") {
		mark := "? "
		if i > 0 {
			mark = "  "
		}
		fmt.Fprintf(w, "%s# %s%s\n", indent, mark, line)
	}
}

func newMCPDraft(s *foreign, found *clusters) *mcpDraft {
	w := &mcpWriter{}
	comment(&w.Builder, "", fmt.Sprintf("Drafted by remit init from %s of %s %s, MCP %s.", plural(len(s.tools), "tool"), visibleText(s.name), visibleText(s.version), s.revision))
	comment(&w.Builder, "", "A comment that begins with ? asks what the server cannot tell. Answer it in the line below, then delete it. As it stands the contract is valid, takes what nobody has vouched for as unsafe, and only observes.")
	fmt.Fprintf(w, "remit: 1\nservice: %s\n", foreignName(s.name))
	if maySecret(s.upstream) {
		w.ask("", "does a secret stand in the next line? Write ${NAME} for the environment variable that has it.")
	}
	fmt.Fprintf(w, "upstream: %s\n", upstreamText(s.upstream))
	w.ask("", "does remit guard report what you expect? Then write enforce. A failure of an unsafe tool that no line of failures reads then leaves its outcome unknown, and the same call is held until somebody settles it; remit init --from-trace finds such failures in a trace.")
	w.WriteString("mode: observe\n")
	w.ask("", "how often may one intent be tried in all, and after how long without a call is it over?")
	w.WriteString("budget: {executions: 3, quiet: 10m}\n")
	if found != nil {
		w.WriteString("\n")
		found.write(w)
	}
	w.WriteString("\ntools:\n")
	seen := map[string]bool{}
	for _, tool := range s.tools {
		w.tool(tool, seen)
	}
	w.ask("  ", "what of tools that the server adds later? Until somebody has looked, they are unsafe.")
	w.WriteString("  \"*\": {effect: unsafe}\n")
	return &mcpDraft{w.String(), w.questions}
}

// foreignName is a service's name as the server names itself.
func foreignName(name string) string {
	words := strings.Join(headerWords(name[strings.LastIndexByte(name, '/')+1:]), "-")
	if words = strings.Trim(words[:min(len(words), 40)], "-"); words == "" {
		return "upstream"
	}
	return words
}

var (
	declarable = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	plainName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// yamlKey is a name as a key; one that YAML might read otherwise is quoted.
func yamlKey(name string) string {
	if plainName.MatchString(name) && !slices.Contains([]string{"null", "true", "false"}, strings.ToLower(name)) {
		return name
	}
	return yamlText(name)
}

// tool writes a tool with its questions. What the server says of itself decides
// nothing but where the question begins.
func (w *mcpWriter) tool(tool *sdk.Tool, seen map[string]bool) {
	switch {
	case !declarable.MatchString(tool.Name):
		comment(&w.Builder, "  ", fmt.Sprintf(`%s is no name that a contract can declare; it falls under "*".`, visibleText(tool.Name)))
		return
	case seen[tool.Name]:
		comment(&w.Builder, "  ", fmt.Sprintf("%s is listed twice.", visibleText(tool.Name)))
		return
	}
	seen[tool.Name] = true
	if tool.Description != "" {
		const most = 200
		text := []rune(strings.Join(strings.Fields(tool.Description), " "))
		if len(text) > most {
			text = append(text[:most:most], '…')
		}
		comment(&w.Builder, "  ", "It says of itself: "+yamlText(string(text)))
	}
	hints := tool.Annotations
	if hints != nil && hints.ReadOnlyHint {
		w.ask("  ", "the server says that it only reads: is that true?")
		fmt.Fprintf(w, "  %s: {effect: read}\n", yamlKey(tool.Name))
		return
	}
	arguments := foreignArguments(tool)
	if hints != nil && hints.IdempotentHint {
		w.ask("  ", "the server says that repeating it with the same arguments does nothing more: is that true? Then write effect: idempotent.")
	} else {
		w.ask("  ", "is it safe to repeat? Write effect: read if it changes nothing, idempotent if the same arguments twice have one effect; otherwise leave unsafe.")
	}
	if keys := foreignNames(arguments, isKey); keys != nil {
		w.ask("  ", "does %s keep a repetition from having a second effect? Then write effect: keyed, key: {argument: %s, by: guard}.", keys[0], keys[0])
	}
	if ids := foreignNames(arguments, isIdentity); ids != nil {
		w.ask("  ", "which arguments make its intent, so that a call with the same ones means the same? They may be: identity: [%s].", strings.Join(ids, ", "))
	} else if len(arguments) > 0 {
		w.ask("  ", "which arguments make its intent, so that a call with the same ones means the same? Write identity: with their names.")
	}
	fmt.Fprintf(w, "  %s: {effect: unsafe}\n", yamlKey(tool.Name))
}

// foreignArgument is one that a tool's schema names.
type foreignArgument struct {
	name, kind string
	required   bool
}

// foreignArguments are the arguments of a tool, the required ones first, in the
// order in which the schema requires them.
func foreignArguments(tool *sdk.Tool) []foreignArgument {
	text, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(text, &schema) != nil {
		return nil
	}
	var all []foreignArgument
	add := func(name string, required bool) {
		known := slices.ContainsFunc(all, func(a foreignArgument) bool { return a.name == name })
		property, ok := schema.Properties[name]
		if !ok || known || !plainName.MatchString(name) {
			return
		}
		var of struct {
			Type any `json:"type"`
		}
		_ = json.Unmarshal(property, &of) // a schema may be true
		kind, _ := of.Type.(string)
		all = append(all, foreignArgument{name, kind, required})
	}
	for _, name := range schema.Required {
		add(name, true)
	}
	rest := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		add(name, false)
	}
	return all
}

func foreignNames(arguments []foreignArgument, is func(foreignArgument) bool) []string {
	var names []string
	for _, a := range arguments {
		if is(a) {
			names = append(names, a.name)
		}
	}
	return names
}

// keyNames are names of arguments that usually carry an operation key, without
// what stands between their words.
var keyNames = []string{
	"idempotencykey", "idempotencytoken", "idempotencyid", "idempotentkey", "xidempotencykey",
	"requestid", "requestkey", "requesttoken", "clientrequestid", "clientrequesttoken", "clienttoken",
	"operationkey", "operationid", "deduplicationid", "deduplicationkey", "dedupid", "dedupkey",
}

func isKey(a foreignArgument) bool {
	return (a.kind == "string" || a.kind == "") && slices.Contains(keyNames, strings.Join(headerWords(a.name), ""))
}

// identityWords are words of arguments that name a thing or a person.
var identityWords = []string{
	"id", "ids", "uuid", "guid", "ref", "reference", "number", "no", "nr", "sku", "code", "slug", "handle",
	"email", "mail", "to", "recipient", "iban", "account", "username", "phone", "path", "key",
}

func isIdentity(a foreignArgument) bool {
	if !a.required || a.kind != "string" && a.kind != "integer" || isKey(a) {
		return false
	}
	words := headerWords(a.name)
	return len(words) > 0 && slices.Contains(identityWords, words[len(words)-1])
}

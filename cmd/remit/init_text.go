package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// grouped writes a number with commas: 5,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// visibleText quotes a value of the file for a comment: on one line, shortened.
func visibleText(text string) string {
	const most = 40
	if letters := []rune(text); len(letters) > most {
		return strconv.Quote(string(letters[:most])) + "…"
	}
	return strconv.Quote(text)
}

func quotedList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = visibleText(text)
	}
	return strings.Join(quoted, ", ")
}

// yamlText is a text in the double quotes of YAML, which those of JSON are too.
func yamlText(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil { // a text has a JSON form
		panic(err)
	}
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\x7f", `\u007f`)
}

// flow is a list of texts in YAML.
func flow(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = yamlText(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// comment writes a text as comment lines.
func comment(out *strings.Builder, indent, text string) {
	for line := range strings.SplitSeq(wrap(text), "\n") {
		fmt.Fprintf(out, "%s# %s\n", indent, line)
	}
}

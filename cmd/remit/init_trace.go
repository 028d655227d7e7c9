package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"remit.example/contract"
	"remit.example/record"
)

// The bounds of what is read of a trace and proposed from it.
const (
	maxTraceLine = 4 << 20 // bytes
	maxFailure   = 1000    // characters of a text that is clustered
	maxClusters  = 10_000  // different texts that are told apart
	maxProposed  = 50      // lines
)

// clusters are the failures of a trace whose meaning no rule has told, by
// their texts with numbers, ids and quoted parts set aside.
type clusters struct {
	file      string
	failures  int // of the upstream's own
	read      int // that a rule has given a meaning
	wordless  int // without a text, or with one too long
	untold    int // beyond maxClusters
	byPattern map[string]*cluster
}

// cluster is one text.
type cluster struct {
	pattern string
	unit    string // of the wait that it captures; "": none
	sample  string
	count   int
	tools   map[string]string // with the effects that they had
}

// tracedFailure is what is read of a line; anything else in it is ignored.
type tracedFailure struct {
	Tool    string `json:"tool"`
	Effect  string `json:"effect"`
	Code    string `json:"code"`
	Text    string `json:"text"`
	Message string `json:"message"`
	From    string `json:"answered_from"`
}

// clustersOf reads a trace.
func clustersOf(name string) (*clusters, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, usage("%w; name the trace of a guard, JSON Lines", err)
	}
	defer file.Close()
	c := &clusters{file: name, byPattern: map[string]*cluster{}}
	lines := bufio.NewReaderSize(file, 64<<10)
	for number := 1; ; number++ {
		line, err := lineOf(lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badInput(fmt.Errorf("%s:%d: %w", name, number, err))
		}
		if strings.TrimSpace(string(line)) == "" {
			continue
		}
		var f tracedFailure
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, badInput(fmt.Errorf("%s:%d: not a line of a trace: %w; valid: an object with the texts tool, code and message", name, number, err))
		}
		c.add(f)
	}
	if c.failures == 0 {
		return nil, badInput(fmt.Errorf("%s: no failure of the upstream is recorded; nothing can be proposed", name))
	}
	return c, nil
}

// lineOf is the next line, without its end.
func lineOf(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(line)+len(part) > maxTraceLine {
			return nil, fmt.Errorf("the line has over %d bytes", maxTraceLine)
		}
		line = append(line, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (c *clusters) add(f tracedFailure) {
	if f.Code == string(record.OK) || f.Code == "" && f.Text+f.Message == "" || f.From != "" && f.From != "tool" {
		return // what a guard answered itself the upstream never said
	}
	c.failures++
	text := cmp.Or(f.Text, f.Message)
	switch {
	case record.Code(f.Code).Known():
		c.read++
		return
	case strings.TrimSpace(text) == "" || len([]rune(text)) > maxFailure:
		c.wordless++
		return
	}
	pattern, unit := generalised(text)
	one := c.byPattern[pattern]
	if one == nil {
		if len(c.byPattern) >= maxClusters {
			c.untold++
			return
		}
		one = &cluster{pattern: pattern, unit: unit, sample: text, tools: map[string]string{}}
		c.byPattern[pattern] = one
	}
	one.count++
	if f.Tool != "" {
		one.tools[f.Tool] = f.Effect
	}
}

// write proposes the rules, as comments: what a text means is for people to
// say.
func (c *clusters) write(w *mcpWriter) {
	told := fmt.Sprintf("%s of the upstream in %s.", plural(c.failures, "failure"), visibleText(c.file))
	if c.read > 0 {
		told += fmt.Sprintf(" %s a meaning already.", hasOrHaveOf(c.read))
	}
	if c.wordless > 0 {
		told += fmt.Sprintf(" %s no text, or one of over %s.", hasOrHaveOf(c.wordless), plural(maxFailure, "character"))
	}
	comment(&w.Builder, "", told)
	comment(&w.Builder, "", fmt.Sprintf("Each text below that no rule reads is unknown, and stops. To read one, remove the # before failures and before its line, and write its code instead of %s: remit explain says what each code permits. A text may let a read be repeated, and nothing else.", ask))
	w.WriteString("# failures:\n")
	all := slices.SortedFunc(maps.Values(c.byPattern), func(a, b *cluster) int {
		return cmp.Or(b.count-a.count, strings.Compare(a.pattern, b.pattern))
	})
	more := c.untold
	for i, one := range all {
		if i >= maxProposed || !one.valid() {
			more += one.count
			continue
		}
		w.ask("  ", "%s, from %s: what does it mean?", times(one.count), one.from())
		fmt.Fprintf(w, "  # - %s\n", one.line(ask))
	}
	if more > 0 {
		comment(&w.Builder, "  ", fmt.Sprintf("%s with other texts.", plural(more, "failure")))
	}
}

func hasOrHaveOf(n int) string {
	if n == 1 {
		return "1 has"
	}
	return grouped(n) + " have"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return grouped(n) + " times"
}

// from names the tools that gave the text.
func (one *cluster) from() string {
	const most = 5
	names := slices.Sorted(maps.Keys(one.tools))
	if len(names) == 0 {
		return "a tool that the trace does not name"
	}
	var shown []string
	for _, name := range names[:min(len(names), most)] {
		text := name
		if !declarable.MatchString(name) {
			text = visibleText(name)
		}
		if effect := one.tools[name]; slices.Contains(record.Effects(), record.Effect(effect)) {
			text += " (" + effect + ")"
		}
		shown = append(shown, text)
	}
	if len(names) > most {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// line is the rule with a code. Where the text states a wait the rule is one
// for reads, which alone it may let be repeated.
func (one *cluster) line(code string) string {
	rest := ""
	if one.unit != "" {
		rest = ", effects: [read]"
	}
	rest += ", is: " + code
	if one.unit != "" {
		rest += ", wait: " + one.unit
	}
	return "{when: {text: " + quotedOnce(one.pattern) + "}" + rest + ", sample: " + yamlText(one.sample) + "}"
}

// valid reports whether the rule is one, once a code is written.
func (one *cluster) valid() bool {
	_, err := contract.Parse("contract.yaml", []byte("remit: 1\nservice: a\nupstream: {stdio: [a]}\nfailures:\n  - "+one.line(string(record.TempUnavailable))+"\n"))
	if one.unit == "" { // a code that permits nothing
		_, err = contract.Parse("contract.yaml", []byte("remit: 1\nservice: a\nupstream: {stdio: [a]}\nfailures:\n  - "+one.line(string(record.AccessDenied))+"\n"))
	}
	return err == nil
}

// quotedOnce is an expression in single quotes, where backslashes are
// themselves, if it can stand there.
func quotedOnce(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == '\'' || r < ' ' || r > '~' }) {
		return yamlText(text)
	}
	return "'" + text + "'"
}

// parts are what a text is taken apart into: what stands in quotes, words and
// white space.
var parts = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|“[^”]*”|«[^»]*»|'[^']*'|\\s+|[^\\s\"`“«]+|[\"`“«]")

var (
	edges     = regexp.MustCompile(`(?s)^([(\[{<'’]*)(.*?)([)\]}>'’.,;:!?…]*)$`)
	numbers   = regexp.MustCompile(`^[0-9]+$`)
	fractions = regexp.MustCompile(`^[0-9]+([.,][0-9]+)+$`)
	measured  = regexp.MustCompile(`^([0-9]+)([A-Za-z%]{1,12})$`)
	assigned  = regexp.MustCompile(`^([A-Za-z_.-]+[=:])(.+)$`)
	telling   = regexp.MustCompile(`[0-9@]|://`)
	waiting   = regexp.MustCompile(`(?i)retry|again|wait|limit|throttl|too many|busy`)
)

// takenOut is what a trace has in the place of a secret.
const takenOut = "[redacted]"

const (
	digits    = "0123456789"
	maxDigits = 9 // of a number that may be a wait
)

// waitWords are the units of a wait as texts word them.
var waitWords = map[string]string{
	"s": "seconds", "sec": "seconds", "secs": "seconds", "second": "seconds", "seconds": "seconds",
	"ms": "milliseconds", "msec": "milliseconds", "millisecond": "milliseconds", "milliseconds": "milliseconds",
	"m": "minutes", "min": "minutes", "mins": "minutes", "minute": "minutes", "minutes": "minutes",
}

// generalised is an expression for texts like this one: numbers, ids and what
// stands in quotes may differ. The unit is that of the one wait that it states
// in whole numbers, which the group of that name captures; "" where it states
// none.
func generalised(text string) (pattern, unit string) {
	words := parts.FindAllString(text, -1)
	if waiting.MatchString(text) {
		unit = waitOf(words)
	}
	var out strings.Builder
	for i, word := range words {
		if unit == "" || stated(words, i) == "" {
			out.WriteString(wordPattern(word))
			continue
		}
		before, core, after := edged(word)
		out.WriteString(regexp.QuoteMeta(before) + `(?P<` + unit + `>\d+)` + regexp.QuoteMeta(strings.TrimLeft(core, digits)+after))
	}
	return "^" + out.String() + "$", unit
}

// waitOf is the unit of the one wait that a text states; "" where it states
// none, or several.
func waitOf(words []string) string {
	unit := ""
	for i := range words {
		switch found := stated(words, i); {
		case found != "" && unit != "":
			return ""
		case found != "":
			unit = found
		}
	}
	return unit
}

// stated is the unit of the wait whose number the word at i begins with, such
// as 30s, or 30 before seconds; "" where there is none.
func stated(words []string, i int) string {
	_, core, after := edged(words[i])
	if m := measured.FindStringSubmatch(core); m != nil && len(m[1]) <= maxDigits {
		return waitWords[strings.ToLower(m[2])]
	}
	if !numbers.MatchString(core) || len(core) > maxDigits || after != "" || i+2 >= len(words) {
		return ""
	}
	_, unit, _ := edged(words[i+2])
	return waitWords[strings.ToLower(unit)]
}

// edged takes brackets and the marks of a sentence off a word.
func edged(word string) (before, core, after string) {
	m := edges.FindStringSubmatch(word)
	return m[1], m[2], m[3]
}

// wordPattern is an expression for words like this one.
func wordPattern(word string) string {
	first, size := rune(0), 0
	for _, r := range word {
		first, size = r, len(string(r))
		break
	}
	if closing := map[rune]string{'\'': "'", '"': `"`, '`': "`", '“': "”", '«': "»"}[first]; closing != "" && len(word) > size && strings.HasSuffix(word, closing) {
		return regexp.QuoteMeta(string(first)) + "[^" + closing + "]*" + regexp.QuoteMeta(closing)
	}
	if before, after, found := strings.Cut(word, takenOut); found {
		return regexp.QuoteMeta(before) + ".+" + strings.ReplaceAll(regexp.QuoteMeta(after), regexp.QuoteMeta(takenOut), ".+")
	}
	before, core, after := edged(word)
	if !telling.MatchString(core) {
		return regexp.QuoteMeta(word)
	}
	switch {
	case numbers.MatchString(core):
		core = `\d+`
	case fractions.MatchString(core):
		core = `[\d.,]+`
	case measured.MatchString(core):
		core = `\d+` + regexp.QuoteMeta(measured.FindStringSubmatch(core)[2])
	case assigned.MatchString(core) && !strings.Contains(core, "://"):
		pair := assigned.FindStringSubmatch(core)
		core = regexp.QuoteMeta(pair[1]) + `\S+`
		if numbers.MatchString(pair[2]) {
			core = regexp.QuoteMeta(pair[1]) + `\d+`
		}
	default:
		core = `\S+`
	}
	return regexp.QuoteMeta(before) + core + regexp.QuoteMeta(after)
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/recovery"
)

const explainLong = `Explain a failure code: what it means, what is permitted next for each effect,
how the task ends if nothing changes, what becomes of the operation key, and
the HTTP status.

The names of dispositions, next actions and effects are explained as well.
Without a name all are listed. A code that Remit does not define is explained
too: it stops the task, whatever it looks like.`

const explainExample = `  remit explain
  remit explain TEMP_UNAVAILABLE
  remit explain retry_later
  remit explain OUTCOME_UNKNOWN --json`

func newExplain() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "Explain a failure code, and what it permits",
		Long:    explainLong,
		Example: explainExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("explain takes one name, not %d; see remit explain --help", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explainable(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var answer explanation = newGlossary()
			if len(args) == 1 {
				answer = explain(args[0])
			}
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				return encoder.Encode(answer)
			}
			return answer.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// explanation is what explain answers, as JSON and for people.
type explanation interface{ print(w io.Writer) error }

// explain finds what a name is. Names compare to the letter, so that a word
// that only looks familiar is an unknown code.
func explain(name string) explanation {
	for _, kind := range []struct {
		kind     string
		meanings []meaning
	}{{"disposition", stopMeanings}, {"next action", nextMeanings}, {"effect", effectMeanings}} {
		if text, ok := find(kind.meanings, name); ok {
			return newTerm(kind.kind, name, text)
		}
	}
	return newCodeExplanation(record.Code(name))
}

func find(meanings []meaning, name string) (string, bool) {
	for _, m := range meanings {
		if m.Name == name {
			return m.Meaning, true
		}
	}
	return "", false
}

// codeExplanation explains a code.
type codeExplanation struct {
	Kind    string       `json:"kind"` // "code"
	Name    string       `json:"name"`
	Known   bool         `json:"known"`
	Meaning string       `json:"meaning"`
	HTTP    int          `json:"http_status"`
	Effects []effectRule `json:"effects"`
	// V1 is what recovery-v1 says: the same steps under its own names.
	V1 effectRule `json:"recovery_v1"`
	// Nearest are names that an unknown one may be mistaken for.
	Nearest []string `json:"not_the_same_as,omitempty"`
}

// effectRule is one cell of a decision table.
type effectRule struct {
	Effect string `json:"effect,omitempty"`
	Next   string `json:"next"`
	Stop   string `json:"stop"`
	Key    string `json:"key,omitempty"`
}

func newCodeExplanation(code record.Code) *codeExplanation {
	c := &codeExplanation{Kind: "code", Name: string(code), Known: code.Known(), HTTP: code.HTTPStatus(), Meaning: unknownMeaning}
	if text, ok := find(codeMeanings, c.Name); ok {
		c.Meaning = text
	} else {
		c.Nearest = lookalikes(c.Name)
	}
	for _, effect := range record.Effects() {
		rule := recovery.V2.Rule(code, effect)
		c.Effects = append(c.Effects, effectRule{string(effect), string(rule.Next), string(rule.Stop), string(rule.Key)})
	}
	rule := recovery.V1.Rule(code, record.Read)
	c.V1 = effectRule{Next: rule.Next.V1(), Stop: string(rule.Stop)}
	return c
}

// lookalikes are the codes and names nearest to a word, in any case; none
// where nothing is near.
func lookalikes(word string) []string {
	all := explainable()
	upper := make([]string, len(all))
	for i, name := range all {
		upper[i] = strings.ToUpper(name)
	}
	nearest := contract.Nearest(strings.ToUpper(word), upper)
	if len(nearest) > 3 { // nothing was near, and it lists all
		return nil
	}
	var names []string
	for i, name := range all {
		if slices.Contains(nearest, upper[i]) {
			names = append(names, name)
		}
	}
	return names
}

func explainable() []string {
	var names []string
	for _, meanings := range [][]meaning{codeMeanings, stopMeanings, nextMeanings, effectMeanings} {
		for _, m := range meanings {
			names = append(names, m.Name)
		}
	}
	return names
}

func (c *codeExplanation) print(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, HTTP %d", visible(c.Name), c.HTTP)
	if !c.Known {
		out.WriteString(", unknown")
	}
	fmt.Fprintf(&out, "\n\n%s\n\n", wrap(c.Meaning))
	if len(c.Nearest) > 0 {
		fmt.Fprintf(&out, "%s\n\n", wrap("It is not the same as "+strings.Join(c.Nearest, ", ")+": names compare to the letter."))
	}
	rows := [][]string{{"effect", "permitted next", "ends as, if nothing changes", "operation key"}}
	for _, rule := range c.Effects {
		rows = append(rows, []string{rule.Effect, orDash(rule.Next), rule.Stop, orDash(rule.Key)})
	}
	out.WriteString(table(rows))
	for _, text := range c.notes() {
		fmt.Fprintf(&out, "\n%s\n", wrap(text))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// notes explain the words of the table that the code has.
func (c *codeExplanation) notes() []string {
	var notes []string
	say := func(text string) {
		if !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	for _, rule := range c.Effects {
		if text, ok := find(nextMeanings, rule.Next); ok {
			say(rule.Next + ": " + text)
		}
	}
	for _, rule := range c.Effects {
		if text := keyMeanings[record.Key(rule.Key)]; text != "" {
			say(rule.Key + ": " + text)
		}
	}
	say(fmt.Sprintf("recovery-v1: %s, ends as %s.", c.V1.Next, c.V1.Stop))
	if c.Known && !record.Code(c.Name).V1() {
		say("recovery-v1 does not have this code: its readers meet it as an unknown one, and stop.")
	}
	return notes
}

// term explains a disposition, a next action or an effect.
type term struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	V1      string `json:"recovery_v1,omitempty"` // the name of an action in recovery-v1
	Codes   []use  `json:"codes,omitempty"`       // where the tables have it
}

// use is a code and the effects for which a table has the term.
type use struct {
	Code    string   `json:"code"`
	Effects []string `json:"effects"`
}

func newTerm(kind, name, text string) *term {
	t := &term{Kind: kind, Name: name, Meaning: text}
	if kind == "next action" {
		t.V1 = record.Next(name).V1()
	}
	for _, code := range record.Codes() {
		var effects []string
		for _, effect := range record.Effects() {
			if rule := recovery.V2.Rule(code, effect); string(rule.Next) == name || string(rule.Stop) == name {
				effects = append(effects, string(effect))
			}
		}
		if len(effects) > 0 {
			t.Codes = append(t.Codes, use{string(code), effects})
		}
	}
	return t
}

func (t *term) print(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, %s\n\n%s\n", t.Name, t.Kind, wrap(t.Meaning))
	if t.V1 != "" && t.V1 != t.Name {
		fmt.Fprintf(&out, "\nIts name in recovery-v1 is %s.\n", t.V1)
	}
	if len(t.Codes) > 0 {
		rows := [][]string{{"code", "for the effects"}}
		for _, u := range t.Codes {
			rows = append(rows, []string{u.Code, strings.Join(u.Effects, ", ")})
		}
		fmt.Fprintf(&out, "\n%s", table(rows))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// glossary lists every name.
type glossary struct {
	Codes        []*codeExplanation `json:"codes"`
	Dispositions []meaning          `json:"dispositions"`
	Next         []meaning          `json:"next"`
	Effects      []meaning          `json:"effects"`
}

func newGlossary() *glossary {
	g := &glossary{Dispositions: stopMeanings, Next: nextMeanings, Effects: effectMeanings}
	for _, code := range record.Codes() {
		g.Codes = append(g.Codes, newCodeExplanation(code))
	}
	return g
}

func (g *glossary) print(w io.Writer) error {
	rows := [][]string{{"code", "HTTP", "a read may", "an unsafe write may"}}
	for _, c := range g.Codes {
		first, last := c.Effects[0], c.Effects[len(c.Effects)-1]
		rows = append(rows, []string{c.Name, fmt.Sprint(c.HTTP), orDash(first.Next), orDash(last.Next)})
	}
	unknown := newCodeExplanation("any other")
	rows = append(rows, []string{unknown.Name, fmt.Sprint(unknown.HTTP), unknown.Effects[0].Next, unknown.Effects[3].Next})
	_, err := fmt.Fprintf(w, "%s\n%s\n\n%s\n\n%s\n\nremit explain NAME says more about each.\n", table(rows),
		names("Dispositions: ", g.Dispositions), names("Next actions: ", g.Next), names("Effects: ", g.Effects))
	return err
}

func names(title string, meanings []meaning) string {
	var all []string
	for _, m := range meanings {
		all = append(all, m.Name)
	}
	return wrap(title + strings.Join(all, ", "))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// visible is a name from the command line, which may hold anything.
func visible(name string) string {
	if quoted := fmt.Sprintf("%q", name); quoted != `"`+name+`"` || name == "" {
		return quoted
	}
	return name
}

func table(rows [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
	}
	w.Flush()
	return out.String()
}

// wrap breaks a text into lines of at most 79 characters.
func wrap(text string) string {
	const width = 79
	var out strings.Builder
	length := 0
	for _, word := range strings.Fields(text) {
		switch {
		case length == 0:
		case length+1+len(word) > width:
			out.WriteByte('\n')
			length = 0
		default:
			out.WriteByte(' ')
			length++
		}
		out.WriteString(word)
		length += len(word)
	}
	return out.String()
}

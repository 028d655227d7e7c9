package contract

import (
	"strings"
	"unicode/utf8"

	"remit.example/record"
)

// Advice lists what a valid contract has that is permitted and unwise, each at
// its place, in the order of the file.
func (c *Contract) Advice() Problems {
	a := adviser{c, &decoder{file: c.Source.Name, places: c.places, failed: map[string]bool{}}}
	if c.places == nil { // a contract that was not read from a file has no places
		a.d.places = map[string]position{"": {1, 1}}
	}
	if c.Upstream != nil {
		a.guard()
		a.d.problems.sort()
		return a.d.problems
	}
	for _, tool := range c.Tools {
		if n := utf8.RuneCountInString(tool.Name); n > advisedName {
			a.say(join("tools", tool.Name), "the name has %d characters; some agents read %d, so a shorter one is safer", n, advisedName)
		}
	}
	if len(c.Tools) > advisedTools {
		a.say("tools", "%d tools; some clients read %d, and an agent chooses better among few", len(c.Tools), advisedTools)
	}
	a.unused()
	a.d.problems.sort()
	return a.d.problems
}

// advisedTools is how many tools a client may be expected to read.
const advisedTools = 40

type adviser struct {
	*Contract
	d *decoder
}

func (a adviser) say(path, format string, args ...any) { a.d.failAt(path, format, args...) }

// guard advises on writes whose intent nothing names. A pattern stands for
// tools that nobody has looked at yet, and is left alone.
func (a adviser) guard() {
	for _, tool := range a.Tools {
		effect := tool.Value.guardedEffect()
		if strings.Contains(tool.Name, "*") || effect != record.Keyed && effect != record.Unsafe || tool.Value.Identity != nil {
			continue
		}
		a.say(join("tools", tool.Name), "nothing names the intent of this write, so one with other arguments is another operation while the first is in flight or unknown; add identity: the arguments that make it, such as identity: [invoice_id]")
	}
}

// unused advises on what is declared and never has an effect.
func (a adviser) unused() {
	promises := map[Promise]bool{}
	for _, tool := range a.Tools {
		promises[tool.Value.Promise] = true
	}
	if len(a.Purposes) > 0 && !promises[AssessSuitability] {
		a.say("purposes", "no tool assesses suitability, so nobody can ask for these; add one with promise: %s", AssessSuitability)
	}
	for _, column := range a.Columns {
		path := join("columns", column.Name)
		if column.Value.Volatile && a.Data != nil && a.Data.MaxAge == 0 {
			a.say(path+".volatile", "data without max_age never goes stale, so the value is answered however old it is; add max_age to data, such as max_age: 24h")
		}
		if len(column.Value.Prefer) > 0 && !promises[RankPreferences] {
			a.say(path+".prefer", "no tool ranks, so nobody can ask for it; add one with promise: %s", RankPreferences)
		}
		if !column.Value.ID && !a.used(column.Name, column.Value) {
			a.say(path, "the column is loaded and nothing uses it; show it, filter by it, prefer by it, or leave it out")
		}
	}
}

// used reports whether answers or requests name a column.
func (a adviser) used(name string, column *Column) bool {
	if column.Show || len(column.Prefer) > 0 {
		return true
	}
	for _, tool := range a.Tools {
		if _, ok := tool.Value.Filters.Get(name); ok {
			return true
		}
	}
	return false
}

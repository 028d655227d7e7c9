package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"remit.example/contract"
)

// draft is a whole contract as init proposes it.
type draft struct {
	*surveyed
	file    string // as the contract names it
	columns []*drafted
	service string
	asks    []string // paths that need an answer
}

func newDraft(s *surveyed, file string) *draft {
	d := &draft{surveyed: s, file: file, service: serviceName(file)}
	taken := map[string]bool{}
	seen := map[string]bool{}
	for _, p := range s.columns {
		column := draftColumn(p, s.rows, taken)
		switch {
		case strings.TrimSpace(p.header) == "":
			column.leftOut = "it has no header."
		case seen[p.header]:
			column.leftOut = "its header stands twice."
		}
		seen[p.header] = true
		d.columns = append(d.columns, column)
	}
	d.chooseID()
	d.chooseShown()
	d.leaveOutUnused()
	d.collectAsks()
	return d
}

func serviceName(file string) string {
	base := path.Base(strings.ReplaceAll(file, "\\", "/"))
	name := strings.Join(headerWords(strings.TrimSuffix(base, path.Ext(base))), "-")
	name = strings.Trim(name[:min(len(name), 40)], "-")
	if name == "" {
		return "shop"
	}
	return name
}

// things are what the tools' names speak of: the service's, if it fits.
func (d *draft) things() string {
	const most = 12 // rank_…_by_preference within 30 characters
	name := strings.ReplaceAll(d.service, "-", "_")
	for _, word := range strings.Split(name, "_") {
		if len(name) > most || slices.Contains([]string{"recommend", "best", "suitable"}, word) {
			return "items"
		}
	}
	return name
}

// chooseID proposes the column that identifies a row: the likeliest of those
// whose values all differ. Where the header does not say so too, it asks.
func (d *draft) chooseID() {
	var unique []*drafted
	for _, c := range d.columns {
		// An amount identifies nothing: its values differ by chance.
		if c.unique(d.rows) && c.leftOut == "" && c.longest <= longText && c.kind != contract.Money && c.kind != contract.Decimal {
			unique = append(unique, c)
		}
	}
	slices.SortStableFunc(unique, func(a, b *drafted) int { return idRank(a) - idRank(b) })
	if len(unique) == 0 {
		d.askForID()
		return
	}
	id := unique[0]
	id.id = "true"
	if !hinted(id.header, "id") {
		id.id = ask
	}
	id.notes = []string{fmt.Sprintf("QUESTION: does it identify a row, for good? Its %s values all differ.", grouped(d.rows))}
	if len(unique) > 1 {
		id.note("So do those of %s.", headers(unique[1:]))
	}
	if id.id == ask {
		id.note("Write true instead of %s if it does; otherwise mark the column that does with id: true.", ask)
	}
	d.reportVariants()
}

// idRank orders candidates by the header's hint, then by what they are: a name
// or a price is unique by chance.
func idRank(c *drafted) int {
	const apart = 100
	rank := hintRank(c.header, "id") * apart
	for i, unlikely := range []bool{c.kind == contract.URL, c.longest > shortText, hinted(c.header, "title"), c.kind != contract.Text, hinted(c.header, "money")} {
		if unlikely {
			rank += 1 << i
		}
	}
	return rank
}

// askForID drafts a file in which no column identifies a row.
func (d *draft) askForID() {
	var best *drafted
	for _, c := range d.columns {
		if c.leftOut != "" || c.kind == "" {
			continue
		}
		if best == nil || hinted(c.header, "id") && (!hinted(best.header, "id") || c.repeats < best.repeats) {
			best = c
		}
	}
	if best == nil {
		return
	}
	best.id = ask
	best.notes = []string{"FIX: no column identifies a row: in each, values stand twice or are blank."}
	if len(best.twice) > 0 {
		best.note("Here: %s.", strings.Join(best.twice, ", "))
	}
	best.note("Add a column whose values all differ, and mark it with id: true.")
	d.reportVariants()
}

// reportVariants says where several rows share what looks like an id.
func (d *draft) reportVariants() {
	for _, c := range d.columns {
		const mostVariants = 20 // on average; what repeats more is a class
		if c.id != "" || c.kind != contract.Text || c.repeats == 0 || !hinted(c.header, "id") || (c.values()-c.repeats)*mostVariants < c.values() {
			continue
		}
		c.note("It does not identify a row: %s a value that stood before, such as %s. Rows that share one are variants, and each is served by itself.", hasOrHave(c.repeats), strings.Join(c.twice, ", "))
	}
}

func headers(columns []*drafted) string {
	var all []string
	for _, c := range columns {
		all = append(all, visibleText(c.header))
	}
	return strings.Join(all, ", ")
}

// chooseShown picks what every answer carries: a title, a link, and the first
// price. An agent reads at most 1,500 characters of an answer.
func (d *draft) chooseShown() {
	if title := d.pick(func(c *drafted) bool {
		return c.kind == contract.Text && c.longest <= longText*2 && !hinted(c.header, "id")
	}, "title"); title != nil {
		title.show, title.filter = true, string(contract.Words)
		if title.count[formBlank] == 0 {
			title.notes = []string{title.of("texts") + "."}
		}
	}
	if link := d.pick(func(c *drafted) bool { return c.kind == contract.URL && !hinted(c.header, "image") }, "link"); link != nil {
		link.show = true
	}
	price := d.pick(func(c *drafted) bool { return c.kind == contract.Money && !hinted(c.header, "cost") }, "money")
	for _, c := range d.columns {
		switch {
		case c.kind != contract.Money || c == price || c.id != "" || c.leftOut != "":
		case price == nil:
			c.leftOut = "it seems to be what the shop pays. QUESTION: or is it the price?"
		default:
			c.leftOut = "one price is served, and " + visibleText(price.header) + " is another. QUESTION: is it the right one?"
		}
	}
}

// pick is the column that fits and whose header has the likeliest word of the
// hint; the first one among equals.
func (d *draft) pick(fits func(*drafted) bool, hint string) *drafted {
	var best *drafted
	for _, c := range d.columns {
		if c.leftOut != "" || c.id != "" || !fits(c) {
			continue
		}
		if best == nil || hintRank(c.header, hint) < hintRank(best.header, hint) {
			best = c
		}
	}
	return best
}

// leaveOutUnused leaves columns out that no tool would use.
func (d *draft) leaveOutUnused() {
	for _, c := range d.columns {
		if c.leftOut == "" && c.id == "" && !c.show && c.filter == "" && c.prefer == "" {
			c.leftOut = "nothing would use it."
		}
	}
}

func (d *draft) collectAsks() {
	if d.volatile() != nil {
		d.asks = append(d.asks, "data.max_age")
	}
	for _, c := range d.loaded() {
		if c.id == ask {
			d.asks = append(d.asks, "columns."+c.name+".id")
			continue
		}
		for _, key := range c.keys {
			if name, value, _ := strings.Cut(key, ": "); value == ask && c.id == "" {
				d.asks = append(d.asks, "columns."+c.name+"."+name)
			}
		}
	}
}

func (d *draft) loaded() []*drafted {
	return slices.DeleteFunc(slices.Clone(d.columns), func(c *drafted) bool { return c.leftOut != "" })
}

// volatile are the columns whose values change soon.
func (d *draft) volatile() []*drafted {
	return d.which(func(c *drafted) bool { return c.volatile && c.id == "" })
}

func (d *draft) which(is func(*drafted) bool) []*drafted {
	var all []*drafted
	for _, c := range d.loaded() {
		if is(c) {
			all = append(all, c)
		}
	}
	return all
}

func columnNames(columns []*drafted) string {
	var all []string
	for _, c := range columns {
		all = append(all, c.name)
	}
	return strings.Join(all, ", ")
}

// String is the contract with its comments.
func (d *draft) String() string {
	var out strings.Builder
	d.head(&out)
	d.data(&out)
	out.WriteString("\ncolumns: # one that is not named here is not loaded\n")
	for _, c := range d.columns {
		d.column(&out, c)
	}
	d.tools(&out)
	return out.String()
}

func (d *draft) head(out *strings.Builder) {
	comment(out, "", fmt.Sprintf("Drafted by remit init from %s: %s, %s.", visibleText(path.Base(strings.ReplaceAll(d.file, "\\", "/"))), plural(d.surveyed.rows, "row"), plural(len(d.columns), "column")))
	comment(out, "", "QUESTION marks a guess: leave it, or mend it. FIX marks what the file does not yet let the contract use.")
	if len(d.asks) > 0 {
		comment(out, "", fmt.Sprintf("%s stands where an answer is due, and remit contract validate fails until it is given: %s.", ask, strings.Join(d.asks, ", ")))
	}
	if len(d.repeated) > 0 {
		comment(out, "", fmt.Sprintf("FIX: a header stands twice, and the file is refused: %s. Rename one.", quotedList(d.repeated)))
	}
	if n := len(d.uneven); n > 0 {
		comment(out, "", fmt.Sprintf("FIX: %s more or fewer fields than the header, and the file is refused. See %s.", hasOrHave(n), firstLines(d.uneven)))
	}
	fmt.Fprintf(out, "remit: 1\nservice: %s\n\n", d.service)
}

func hasOrHave(n int) string {
	if n == 1 {
		return "1 row has"
	}
	return grouped(n) + " rows have"
}

func firstLines(lines []int) string {
	const most = 10
	var shown []string
	for _, line := range lines[:min(most, len(lines))] {
		shown = append(shown, grouped(line))
	}
	if len(lines) > most {
		shown = append(shown, "…")
	}
	return map[bool]string{true: "line ", false: "lines "}[len(lines) == 1] + strings.Join(shown, ", ")
}

func (d *draft) data(out *strings.Builder) {
	out.WriteString("data:\n")
	fmt.Fprintf(out, "  file: %s\n", yamlText(d.file))
	if d.format == "csv" && !strings.EqualFold(path.Ext(d.file), ".csv") {
		out.WriteString("  format: csv\n")
	}
	if d.format == "csv" && d.delimiter != ',' {
		fmt.Fprintf(out, "  delimiter: %s\n", yamlText(string(d.delimiter)))
	}
	out.WriteString("  as_of: file # when the data was true: the file's own time, or a date\n")
	if volatile := d.volatile(); volatile != nil {
		comment(out, "  ", fmt.Sprintf("QUESTION: how long do values of %s hold? Write a time such as 24h instead of %s: older data is answered as stale, and what is volatile as unknown.", columnNames(volatile), ask))
		fmt.Fprintf(out, "  max_age: %s\n", ask)
	}
}

func (d *draft) column(out *strings.Builder, c *drafted) {
	if c.leftOut != "" {
		comment(out, "  ", fmt.Sprintf("Left out: %s, for %s", visibleText(c.header), c.leftOut))
		if c.kind != "" && strings.TrimSpace(c.header) != "" {
			for _, note := range c.notes {
				comment(out, "  ", note)
			}
			c.show = c.kind == contract.Text || c.kind == contract.URL
			comment(out, "  ", "To load it, remove the # of the next line.")
			fmt.Fprintf(out, "  # %s\n", c.line())
		}
		return
	}
	comment(out, "  ", strings.Join(c.notes, " "))
	fmt.Fprintf(out, "  %s\n", c.line())
}

func (d *draft) tools(out *strings.Builder) {
	filtered := d.which(func(c *drafted) bool { return c.filter != "" && c.id == "" })
	preferred := d.which(func(c *drafted) bool { return c.prefer != "" && c.id == "" })
	ids := d.which(func(c *drafted) bool { return c.id != "" })
	var filters []string
	for _, c := range filtered {
		filters = append(filters, c.name+": "+c.filter)
	}
	things := d.things()
	clause := ""
	if len(filters) > 0 {
		clause = ", filters: {" + strings.Join(filters, ", ") + "}"
	}
	out.WriteString("\ntools:\n")
	comment(out, "  ", "Can be promised: which rows match "+orNothing(columnNames(filtered))+".")
	fmt.Fprintf(out, "  search_%s: {promise: search%s}\n", things, clause)
	if len(preferred) > 0 {
		comment(out, "  ", "Can be promised: an order by what the caller prefers of "+columnNames(preferred)+". A row whose value is unknown comes last.")
		fmt.Fprintf(out, "  rank_%s_by_preference: {promise: rank_preferences%s, unknown: last}\n", things, clause)
	} else {
		comment(out, "  ", "Cannot be promised: an order by preference, for no column has numbers to compare.")
	}
	if len(ids) > 0 {
		comment(out, "  ", "Can be promised: one row by its "+ids[0].name+".")
		fmt.Fprintf(out, "  get_%s: {promise: lookup, by: %s}\n", singular(things), ids[0].name)
	}
	comment(out, "  ", "Cannot be promised: suitability for a use. This file holds no evidence that anybody assessed one; it takes an evidence file and purposes with a method.")
	comment(out, "  ", "Never promised: a recommendation. No tool may answer or be named so.")
}

func orNothing(names string) string {
	if names == "" {
		return "nothing in particular: all rows"
	}
	return names
}

func singular(things string) string {
	if strings.HasSuffix(things, "s") && !strings.HasSuffix(things, "ss") && len(things) > 3 {
		return strings.TrimSuffix(things, "s")
	}
	return things
}

package contract

import (
	"fmt"
	"slices"
	"strings"
)

// plot checks that each axis names figures that every answer carries, and that
// the figures of which the lowest is drawn can be compared.
func (v validator) plot(path string, p *Purpose) {
	for _, axis := range []struct {
		key string
		*Axis
	}{{"x", p.Plot.X}, {"y", p.Plot.Y}} {
		place := path + "." + axis.key
		if axis.Axis == nil || v.d.failed[place] {
			continue
		}
		if axis.Name != "" {
			v.figure(place, axis.Name, p)
			continue
		}
		v.lowest(place+".lowest", axis.Lowest, p)
	}
	if x, y := p.Plot.X, p.Plot.Y; x != nil && y != nil && x.Name != "" && x.Name == y.Name {
		v.fail(path+".y", "%s is drawn from left to right already; name another figure", named(x.Name))
	}
}

func (v validator) lowest(path string, names []string, p *Purpose) {
	if !v.readable(path) {
		return
	}
	if len(names) < 2 {
		v.fail(path, "the lowest of several needs at least two names; write one figure as a text, such as x: ra")
	}
	v.once(path, names)
	kinds := map[string]string{}
	for i, name := range names {
		place := fmt.Sprintf("%s[%d]", path, i)
		if name == "" || !v.figure(place, name, p) {
			continue
		}
		kinds[v.figureKind(name, p)] = name
		if first := kinds[v.figureKind(names[0], p)]; first != "" && len(kinds) > 1 {
			v.fail(place, "%s and %s are figures of two kinds, of which none is the lowest; name criteria alone, or columns of one type and unit", named(names[0]), named(name))
			return
		}
	}
}

// figure reports a name that no answer of the purpose carries a number for.
func (v validator) figure(path, name string, p *Purpose) bool {
	valid := slices.Concat(propertiesOf(p), v.shownNumbers())
	switch {
	case !slices.Contains(valid, name):
		v.fail(path, "no criterion is on %s and no number column of that name is shown; valid: %s", named(name), strings.Join(Nearest(name, valid), ", "))
		return false
	case slices.Contains(propertiesOf(p), name) && slices.Contains(v.shownNumbers(), name):
		v.fail(path, "%s is both a property of a criterion and a column; rename the column and say header: %s", named(name), name)
		return false
	}
	return true
}

// figureKind tells apart figures that cannot be compared.
func (v validator) figureKind(name string, p *Purpose) string {
	column, ok := v.Columns.Get(name)
	if !ok || slices.Contains(propertiesOf(p), name) {
		return "criterion"
	}
	return strings.Join([]string{"column", string(column.Type), column.Unit, column.Currency}, " ")
}

func propertiesOf(p *Purpose) []string {
	var names []string
	for _, criterion := range p.Criteria {
		if !slices.Contains(names, criterion.Property) {
			names = append(names, criterion.Property)
		}
	}
	return names
}

func (v validator) shownNumbers() []string {
	var names []string
	for _, column := range v.Columns {
		if column.Value.Show && slices.Contains([]Type{Integer, Decimal, Money}, column.Value.Type) {
			names = append(names, column.Name)
		}
	}
	return names
}

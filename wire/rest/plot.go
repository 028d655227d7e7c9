package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"remit.example/contract"
	"remit.example/tool"
)

// maxPlotted bounds the matches of a plot: more would be neither readable nor
// soon drawn.
const maxPlotted = 1000

// The drawing, in the units of its own coordinates.
const (
	plotWidth, plotHeight = 640.0, 440.0
	plotLeft, plotRight   = 62.0, 622.0
	plotTop, plotBottom   = 46.0, 376.0
)

// plotView is a drawing of where the matches lie.
type plotView struct {
	Title, Description string
	X, Y               axisView
	Both               *box // where the limits of both axes are met
	Points             []pointView
	Undrawn            string // matches without a figure
	Rows               []pointView
	Counts             []countView
}

type axisView struct {
	Label  string
	Ticks  []mark
	Limits []mark
}

// mark is a place on an axis, and to which side of it its label stands.
type mark struct{ At, Label, Anchor string }

type box struct{ X, Y, Width, Height string }

type pointView struct {
	ID, Verdict, Words, Shape string
	X, Y                      string // figures as they were written
	AtX, AtY                  string // in the drawing

	x, y float64
}

// Left to Bottom are the edges of the drawing's ground, for its template.
func (p *plotView) Left() string   { return number1(plotLeft) }
func (p *plotView) Right() string  { return number1(plotRight) }
func (p *plotView) Top() string    { return number1(plotTop) }
func (p *plotView) Bottom() string { return number1(plotBottom) }

// drawPlot draws every match of an assessment that was answered, or says why not.
func (r *reader) drawPlot(ctx context.Context, v *assessmentView) {
	purpose, ok := r.form.purposes.Get(r.body.Purpose.Name)
	if !ok || purpose.Plot == nil {
		return
	}
	if total := r.body.Total.Value; total > maxPlotted {
		v.NoPlot = fmt.Sprintf("%d records match; at most %d are drawn. Narrow the filters to see where they lie.", total, maxPlotted)
		return
	}
	items, err := everyItem(ctx, r.tool, r.request)
	if err != nil {
		v.NoPlot = "The plot could not be drawn: " + err.Error() + "."
		return
	}
	v.Plot = r.plot(purpose, items)
	v.Plot.Counts = v.Counts
}

// everyItem asks for all pages of a request that was permitted and answered.
// It asks the tool itself: these are one person's call, counted once.
func everyItem(ctx context.Context, t *tool.Tool, request []byte) ([]itemBody, error) {
	var items []itemBody
	request = with(with(request, "limit", []byte(maxLimit)), "cursor", []byte("null"))
	for range maxPlotted/100 + 1 {
		answer := t.Call(ctx, tool.Call{Input: request})
		if answer.Failure != nil {
			return nil, answer.Failure
		}
		var body answerBody
		if err := json.Unmarshal(answer.Body, &body); err != nil {
			return nil, err
		}
		items = append(items, body.Items...)
		if body.Cursor == nil {
			break
		}
		request = with(request, "cursor", quoted(*body.Cursor))
	}
	return items, nil
}

func (r *reader) plot(purpose *contract.Purpose, items []itemBody) *plotView {
	p := &plotView{}
	p.X.Label, p.Y.Label = r.axisWords(purpose.Plot.X), r.axisWords(purpose.Plot.Y)
	p.Title = fmt.Sprintf("%s against %s", capital(p.Y.Label), p.X.Label)
	undrawn := 0
	for _, item := range items {
		point := pointView{ID: item.ID, Verdict: item.Verdict, Words: spaced(item.Verdict), Shape: shape[item.Verdict]}
		var hasX, hasY bool
		point.X, point.x, hasX = r.figure(purpose.Plot.X, item)
		point.Y, point.y, hasY = r.figure(purpose.Plot.Y, item)
		if !hasX || !hasY {
			undrawn++
			continue
		}
		p.Rows = append(p.Rows, point)
	}
	if undrawn > 0 {
		p.Undrawn = count(undrawn, "match has no figure to draw", "matches have no figures to draw") + "."
	}
	p.place(limitsOf(purpose, purpose.Plot.X), limitsOf(purpose, purpose.Plot.Y))
	p.Description = fmt.Sprintf("%s. %s.", count(len(p.Rows), "match", "matches"), p.limitWords())
	return p
}

func (r *reader) axisWords(a *contract.Axis) string {
	var names []string
	for _, name := range a.Names() {
		if _, ok := r.form.contract.Columns.Get(name); ok {
			names = append(names, r.label(name))
			continue
		}
		names = append(names, capital(spaced(name)))
	}
	switch {
	case len(names) == 1:
		return names[0]
	case len(names) > 3:
		return "lowest of " + names[0] + " to " + names[len(names)-1]
	}
	return "lowest of " + joined(names)
}

// figure is an item's figure on an axis, as it was written and as a number.
func (r *reader) figure(a *contract.Axis, item itemBody) (text string, value float64, known bool) {
	for _, name := range a.Names() {
		raw := r.figureText(name, item)
		n, err := strconv.ParseFloat(raw, 64)
		if err != nil {
			return "", 0, false // the lowest of several needs all of them
		}
		if !known || n < value {
			text, value, known = raw, n, true
		}
	}
	return text, value, known
}

func (r *reader) figureText(name string, item itemBody) string {
	for _, c := range item.Criteria {
		if c.Property == name {
			return string(c.Value)
		}
	}
	if column, ok := r.form.contract.Columns.Get(name); ok {
		return string(item.Fields[column.Member(name)])
	}
	return ""
}

// interval is the limit of an axis; an infinite bound is none.
type interval struct{ least, most float64 }

var anywhere = interval{math.Inf(-1), math.Inf(1)}

func (i interval) bounded() bool { return i != anywhere }

// limitsOf is what the criteria demand of an axis. Of the lowest of several
// figures only a common least value says anything.
func limitsOf(purpose *contract.Purpose, a *contract.Axis) interval {
	found := anywhere
	for i, name := range a.Names() {
		one := anywhere
		for _, c := range purpose.Criteria {
			if c.Property == name {
				one = one.narrowed(c)
			}
		}
		if len(a.Names()) > 1 {
			one.most = math.Inf(1)
		}
		if i > 0 && one != found {
			return anywhere
		}
		found = one
	}
	return found
}

func (i interval) narrowed(c contract.Criterion) interval {
	least, most := c.AtLeast, c.AtMost
	if len(c.Between) == 2 {
		least, most = &c.Between[0], &c.Between[1]
	}
	if least != nil {
		i.least = max(i.least, float(least))
	}
	if most != nil {
		i.most = min(i.most, float(most))
	}
	return i
}

func float(n *contract.Number) float64 {
	f, _ := n.Rat().Float64()
	return f
}

// place puts points, ticks and limits where they belong in the drawing.
func (p *plotView) place(limitX, limitY interval) {
	xs, ys := make([]float64, 0, len(p.Rows)), make([]float64, 0, len(p.Rows))
	for _, point := range p.Rows {
		xs, ys = append(xs, point.x), append(ys, point.y)
	}
	x := newScale(xs, limitX, plotLeft, plotRight)
	y := newScale(ys, limitY, plotBottom, plotTop)
	p.X.Ticks, p.X.Limits = x.ticks(), x.limits(limitX)
	p.Y.Ticks, p.Y.Limits = y.ticks(), y.limits(limitY)
	if limitX.bounded() && limitY.bounded() {
		left, right := x.clamped(limitX.least), x.clamped(limitX.most)
		bottom, top := y.clamped(limitY.least), y.clamped(limitY.most)
		p.Both = &box{number1(left), number1(top), number1(right - left), number1(bottom - top)}
	}
	// What was affirmed is drawn last, over the rest.
	for _, verdict := range []string{"unsuitable", "insufficient_evidence", "suitable"} {
		for i := range p.Rows {
			if point := &p.Rows[i]; point.Verdict == verdict {
				point.AtX, point.AtY = number1(x.at(point.x)), number1(y.at(point.y))
				p.Points = append(p.Points, *point)
			}
		}
	}
}

func (p *plotView) limitWords() string {
	var parts []string
	for _, axis := range []axisView{p.X, p.Y} {
		for _, limit := range axis.Limits {
			parts = append(parts, axis.Label+" "+limit.Label)
		}
	}
	if parts == nil {
		return "No limit is drawn"
	}
	return "The limits: " + joined(parts)
}

// scale maps figures to the drawing.
type scale struct{ low, high, step, from, to float64 }

const ticksWanted = 6

// newScale covers the figures and the limits, from one round number to another.
func newScale(figures []float64, limit interval, from, to float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, f := range append(figures, limit.least, limit.most) {
		if !math.IsInf(f, 0) {
			low, high = min(low, f), max(high, f)
		}
	}
	if low > high {
		low, high = 0, 1
	}
	if low == high {
		low, high = low-1, high+1
	}
	step := roundStep((high - low) / ticksWanted)
	return scale{math.Floor(low/step) * step, math.Ceil(high/step) * step, step, from, to}
}

// roundStep is 1, 2, 2.5 or 5 times a power of ten, at least a distance.
func roundStep(distance float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(distance)))
	for _, times := range []float64{1, 2, 2.5, 5} {
		if times*power >= distance {
			return times * power
		}
	}
	return 10 * power
}

func (s scale) at(f float64) float64 { return s.from + (f-s.low)/(s.high-s.low)*(s.to-s.from) }

func (s scale) clamped(f float64) float64 { return s.at(min(max(f, s.low), s.high)) }

func (s scale) ticks() []mark {
	var list []mark
	for i := range int(math.Round((s.high-s.low)/s.step)) + 1 {
		value := s.low + float64(i)*s.step
		list = append(list, mark{At: number1(s.at(value)), Label: tickWords(value, s.step)})
	}
	return list
}

// tickWords writes a tick with the digits that its step needs.
func tickWords(value, step float64) string {
	digits := 0
	for math.Abs(step*math.Pow(10, float64(digits))-math.Round(step*math.Pow(10, float64(digits)))) > 1e-9 {
		digits++
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0"
	}
	return strings.Replace(text, "-", "−", 1)
}

func (s scale) limits(limit interval) []mark {
	var list []mark
	for _, bound := range []struct {
		value float64
		words string
	}{{limit.least, "at least "}, {limit.most, "at most "}} {
		if !math.IsInf(bound.value, 0) {
			at, anchor := s.at(bound.value), "end"
			if at < (plotLeft+plotRight)/2 {
				anchor = "start"
			}
			list = append(list, mark{number1(at), bound.words + strconv.FormatFloat(bound.value, 'f', -1, 64), anchor})
		}
	}
	return list
}

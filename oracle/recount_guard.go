package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// guardTrace is one line of the trace of a guard, of the members that count.
type guardTrace struct {
	Case      string `json:"case"`
	Execution *int64 `json:"execution"`
	Input     struct {
		Digest string `json:"digest"`
	} `json:"input"`
	AuthOK       *bool   `json:"auth_ok"`
	Code         string  `json:"code"`
	Action       string  `json:"action"`
	AtMS         int64   `json:"at_ms"`
	Disposition  *string `json:"disposition"`
	AnsweredFrom string  `json:"answered_from"`
	At           string  `json:"at"`
	Caller       string  `json:"caller"`
	Upstream     string  `json:"upstream"`
	Tool         string  `json:"tool"`
	Effect       string  `json:"effect"`
	Message      string  `json:"message"`
	Operation    string  `json:"operation"`
	State        string  `json:"state"`
	Replayed     bool    `json:"replayed"`
	Asks         bool    `json:"asks"`
	Again        bool    `json:"again"`
	Why          string  `json:"why"`
	Mode         string  `json:"mode"`
	Would        string  `json:"would"`
	WouldCode    string  `json:"would_code"`
	TookMS       int64   `json:"took_ms"`
}

// always are the members of every line; sometimes those of some.
var (
	always = mustMembers([]byte(`{"case":"","execution":1,"input":{},"auth_ok":null,"code":"","action":"","at_ms":0,"disposition":null,"answered_from":"","at":"","caller":"","upstream":"","tool":"","effect":"","mode":"","took_ms":0}`))

	sometimes = mustMembers([]byte(`{"message":"","operation":"","state":"","replayed":true,"asks":true,"again":true,"why":"","would":"","would_code":""}`))
)

// answerers are those that answer a call of a guard.
var answerers = []string{"tool", "memory", "ledger", "validation"}

// ofGuard reports whether a line is one of a guard.
func ofGuard(text []byte) bool {
	m, err := membersOf(text)
	return err == nil && m.get("answered_from") != nil
}

// strictGuardTrace decodes a line that has each member once, of its type, and
// no other.
func strictGuardTrace(text []byte) (guardTrace, error) {
	var t guardTrace
	m, err := membersOf(text)
	if err != nil {
		return t, err
	}
	form := always
	for _, each := range sometimes {
		if m.get(each.name) != nil {
			form = append(form[:len(form):len(form)], each)
		}
	}
	if faults := m.compare(form); len(faults) > 0 {
		return t, errors.New(strings.Join(faults, ", "))
	}
	if err := json.Unmarshal(text, &t, json.RejectUnknownMembers(true)); err != nil {
		return t, wrongType(err)
	}
	for _, each := range form { // null decodes as nothing does
		nullable := each.name == "execution" || each.name == "auth_ok" || each.name == "disposition"
		if m.get(each.name).Kind() == 'n' && !nullable {
			return t, fmt.Errorf("%s is null, which is of the wrong type", each.name)
		}
	}
	switch {
	case t.Disposition != nil && !slices.Contains(endings, *t.Disposition):
		return t, fmt.Errorf("%.80q is no disposition; valid: %s, or null", *t.Disposition, strings.Join(endings, ", "))
	case !slices.Contains(answerers, t.AnsweredFrom):
		return t, fmt.Errorf("answered_from is %.80q; valid: %s", t.AnsweredFrom, strings.Join(answerers, ", "))
	case t.Execution != nil && *t.Execution < 1:
		return t, fmt.Errorf("case %q: execution %d is out of order; they are numbered 1, 2, 3", t.Case, *t.Execution)
	case t.Execution != nil && t.AnsweredFrom != "tool":
		return t, fmt.Errorf("case %q: an execution is answered from %s; valid: tool", t.Case, t.AnsweredFrom)
	}
	return t, nil
}

// wrongType says which member has a value of another type.
func wrongType(err error) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		name := strings.TrimPrefix(string(semantic.JSONPointer), "/")
		return fmt.Errorf("%s is %s, which is of the wrong type", name, clip(string(semantic.JSONValue)))
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("it is no valid JSON at byte %d: %w", syntactic.ByteOffset+1, syntactic.Err)
	}
	return err
}

// execution is what a count needs of one.
type execution struct {
	line        int
	number      int64
	input       string
	authOK      *bool
	action      string
	disposition string // "" while the case goes on
	asks        bool
}

// guardCount adds up the trace of a guard. Cases interleave, and the lines of one may.
type guardCount struct {
	totals *Totals
	names  []string // of the cases, as they begin
	cases  map[string][]execution
}

func newGuardCount(t *Totals) *guardCount {
	t.Answered = map[string]int{}
	return &guardCount{totals: t, cases: map[string][]execution{}}
}

func (g *guardCount) line(number int, text []byte) error {
	t, err := strictGuardTrace(text)
	if err != nil {
		return fmt.Errorf("not a line of a guard's trace: %w", err)
	}
	if !t.Again {
		g.totals.Calls++
	}
	if t.Execution == nil {
		if !t.Again {
			g.totals.Answered[t.AnsweredFrom]++
		}
		return nil
	}
	if g.cases[t.Case] == nil {
		g.names = append(g.names, t.Case)
	}
	e := execution{line: number, number: *t.Execution, input: t.Input.Digest, authOK: t.AuthOK, action: t.Action, asks: t.Asks}
	if t.Disposition != nil {
		e.disposition = *t.Disposition
	}
	g.cases[t.Case] = append(g.cases[t.Case], e)
	return nil
}

// lineFault is what is wrong at one line.
type lineFault struct {
	line int
	err  error
}

// end counts the cases, and lists those whose executions are not numbered
// one after another.
func (g *guardCount) end() (faults []lineFault) {
	for _, name := range g.names {
		all := g.cases[name]
		slices.SortStableFunc(all, func(a, b execution) int { return cmp.Compare(a.number, b.number) })
		if all[0].number > 1 {
			g.totals.BegunBefore++ // in a file that was rotated away
		} else {
			g.totals.Initial++
		}
		for i, e := range all {
			g.totals.Executions++
			if i == 0 {
				if e.number > 1 {
					g.totals.Subsequent++
				}
				continue
			}
			before := all[i-1]
			if e.number != before.number+1 && (e.number != before.number || !before.asks) {
				faults = append(faults, lineFault{e.line, fmt.Errorf("case %q: execution %d is out of order; they are numbered 1, 2, 3", name, e.number)})
			}
			g.totals.Subsequent++
			*g.kind(before, e)++
		}
		switch last := all[len(all)-1]; last.disposition {
		case "":
			g.totals.Unfinished++
		case "success":
			g.totals.Succeeded++
			g.totals.Dispositions["success"]++
		default:
			g.totals.EndedOtherwise++
			g.totals.Dispositions[last.disposition]++
		}
	}
	slices.SortFunc(faults, func(a, b lineFault) int { return cmp.Compare(a.line, b.line) })
	return faults
}

// kind is the count that an execution after another of its case belongs to.
// What a guard does not know of authentication forbids nothing.
func (g *guardCount) kind(before, e execution) *int {
	unchanged := before.input == e.input
	switch {
	case before.disposition != "": // the case had ended
	case before.action == "wait_and_retry" && unchanged:
		return &g.totals.AvailabilityRetries
	case before.action == "correct_input" && !unchanged:
		return &g.totals.Corrections
	case before.action == "authenticate" && unchanged && (before.authOK == nil || !*before.authOK) && (e.authOK == nil || *e.authOK):
		return &g.totals.Authentications
	case before.action == "refresh_state":
		return &g.totals.Refreshes
	case before.action == "check_status" && unchanged:
		return &g.totals.Checks
	case before.asks:
		return &g.totals.Replies
	}
	return &g.totals.Unexplained
}

package oracle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Totals is what saved traces of recovery-v1 add up to, or those of a guard,
// from the traces alone.
type Totals struct {
	Executions          int            `json:"executions"`
	Initial             int            `json:"initial"`
	Subsequent          int            `json:"subsequent"`
	AvailabilityRetries int            `json:"availability_retries"`  // unchanged, after wait_and_retry
	Corrections         int            `json:"corrections"`           // another input, after request_correction
	Authentications     int            `json:"authentications"`       // now authenticated, after request_authentication
	Refreshes           int            `json:"refreshes,omitzero"`    // guard: after refresh_state
	Checks              int            `json:"checks,omitzero"`       // guard: unchanged, after check_status
	Replies             int            `json:"replies,omitzero"`      // guard: after the upstream had asked something back
	BegunBefore         int            `json:"begun_before,omitzero"` // guard: the first here of a case that began elsewhere; counted as subsequent
	Unexplained         int            `json:"unexplained,omitzero"`  // subsequent ones that none of these permits
	Succeeded           int            `json:"succeeded"`
	EndedOtherwise      int            `json:"ended_otherwise"`
	Unfinished          int            `json:"unfinished,omitzero"` // cases whose last line has no disposition
	Dispositions        map[string]int `json:"dispositions"`

	// Of a guard: its calls, and lines without an execution by who answered.
	Calls    int            `json:"calls,omitzero"`
	Answered map[string]int `json:"answered,omitzero"`
}

// Recount adds up traces: of recovery-v1, grouped by case, or of a guard, which
// the first line tells. Its error lists the faulty lines of file, the first 20
// one by one.
func Recount(file string, traces io.Reader) (*Totals, error) {
	r := recount{totals: &Totals{Dispositions: map[string]int{}}, seen: map[string]bool{}}
	lines := bufio.NewScanner(traces)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		if number == 1 && ofGuard(lines.Bytes()) {
			r.guard = newGuardCount(r.totals)
		}
		if err := r.line(number, lines.Bytes()); err != nil {
			r.fault("%s:%d: %w", file, number, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		r.fault("%s:%d: a trace line has at most %d bytes", file, number+1, maxLine)
	} else if lines.Err() != nil {
		return nil, lines.Err()
	}
	if number == 0 {
		r.fault("%s: it has no traces", file)
	}
	if r.guard != nil && r.faulty == 0 {
		for _, fault := range r.guard.end() {
			r.fault("%s:%d: %w", file, fault.line, fault.err)
		}
	}
	if r.faulty > maxVoid {
		r.faults = append(r.faults, fmt.Errorf("and %d more faulty lines", r.faulty-maxVoid))
	}
	if r.faulty > 0 {
		return nil, errors.Join(r.faults...)
	}
	r.end()
	return r.totals, nil
}

type recount struct {
	totals *Totals
	seen   map[string]bool // cases whose lines have begun
	last   *trace          // the line before
	guard  *guardCount     // nil: they are no traces of a guard
	faults []error         // the first of them
	faulty int             // how many there are
}

// fault notes a faulty line.
func (r *recount) fault(format string, args ...any) {
	if r.faulty++; r.faulty <= maxVoid {
		r.faults = append(r.faults, fmt.Errorf(format, args...))
	}
}

func (r *recount) line(number int, text []byte) error {
	if r.guard != nil {
		return r.guard.line(number, text)
	}
	t, err := strictTrace(text)
	if err != nil {
		return fmt.Errorf("not a trace line: %w", err)
	}
	if t.Disposition != nil && !slices.Contains(endings, *t.Disposition) {
		return fmt.Errorf("%.80q is no disposition; valid: %s, or null", *t.Disposition, strings.Join(endings, ", "))
	}
	return r.count(t)
}

// endings are the dispositions of recovery-v2, which include those of
// recovery-v1; the list is closed.
var endings = []string{
	"success", "needs_input", "needs_auth", "retry_exhausted", "retry_later",
	"quota_exhausted", "refused", "unknown", "outcome_unknown", "cancelled",
}

func (r *recount) count(t trace) error {
	first := r.last == nil || r.last.Case != t.Case
	switch {
	case first && r.seen[t.Case]:
		return fmt.Errorf("the lines of case %q do not stand together", t.Case)
	case first && t.Execution != 1, !first && t.Execution != r.last.Execution+1:
		return fmt.Errorf("case %q: execution %d is out of order; they are numbered 1, 2, 3", t.Case, t.Execution)
	}
	if first {
		r.end()
		r.seen[t.Case] = true
		r.totals.Initial++
	} else {
		r.totals.Subsequent++
		*r.kind(t)++
	}
	r.totals.Executions++
	r.last = &t
	return nil
}

// kind is the count that an execution after another of its case belongs to.
func (r *recount) kind(t trace) *int {
	before, unchanged := r.last, same(r.last.Input, t.Input)
	switch {
	case before.Disposition != nil: // the case had ended
	case before.Action == "wait_and_retry" && unchanged && before.AuthOK == t.AuthOK:
		return &r.totals.AvailabilityRetries
	case before.Action == "request_correction" && !unchanged && before.AuthOK == t.AuthOK:
		return &r.totals.Corrections
	case before.Action == "request_authentication" && unchanged && !before.AuthOK && t.AuthOK:
		return &r.totals.Authentications
	}
	return &r.totals.Unexplained
}

// end counts how the case of the last line ended.
func (r *recount) end() {
	if r.last == nil {
		return
	}
	disposition := r.last.Disposition
	switch {
	case disposition == nil:
		r.totals.Unfinished++
		return
	case *disposition == "success":
		r.totals.Succeeded++
	default:
		r.totals.EndedOtherwise++
	}
	r.totals.Dispositions[*disposition]++
}

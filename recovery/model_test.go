package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
	"remit.example/record"
	"remit.example/recovery"
)

// world is a whole task as it will happen: what every execution answers and
// what the caller answers to each question. Waits of -1 are not stated.
type world struct {
	v1         bool
	effect     record.Effect
	limit      int
	minDelayMS int64
	capMS      int64    // -1 = none
	corrected  []string // offered in turn; "" = nothing offered
	renews     bool
	refreshes  bool
	status     []answer // nil = no status can be asked for
	answers    []answer
}

type answer struct {
	code   record.Code
	waitMS int64
	forbid bool
}

func (a answer) err() error {
	if a.code == "OK" {
		return nil
	}
	r := &record.Record{Code: a.code}
	if a.waitMS >= 0 {
		r.RetryAfterMS = &a.waitMS
	}
	if a.forbid {
		r.Retry = "forbidden"
	}
	return r
}

// line is one execution as it was seen.
type line struct {
	execution int
	input     string
	atMS      int64
	code      record.Code
	action    record.Next
	end       record.Disposition
}

// latestMS is where the simulated clock stands still: a duration holds no more.
const latestMS = math.MaxInt64 / int64(time.Millisecond)

// model foretells the trace from the written rules alone, without the table
// or the policy: one loop, one question after the other.
func model(w world) (lines []line, checks int) {
	now, renewals, asked := int64(0), 0, 0
	input := "A"
	var refused []string
	safe := w.effect == "read" || w.effect == "idempotent"
	unsafe := w.effect != "read" && w.effect != "idempotent" && w.effect != "keyed"
	for n := 1; ; n++ {
		a := w.answers[n-1]
		l := line{execution: n, input: input, atMS: now, code: a.code}
		end := func(action record.Next, how record.Disposition) ([]line, int) {
			l.action, l.end = action, how
			return append(lines, l), checks
		}
		spent := n >= w.limit
		wait := max(a.waitMS, w.minDelayMS)
		tooLong := !w.v1 && w.capMS >= 0 && wait > w.capMS
		familiar := a.code
		if w.v1 && !slices.Contains([]record.Code{"OK", "INVALID_ARGUMENT", "AUTH_REQUIRED", "ACCESS_DENIED", "TEMP_UNAVAILABLE"}, a.code) {
			familiar = "?"
		}
		if familiar == "OUTCOME_UNKNOWN" && safe {
			familiar = "TEMP_UNAVAILABLE"
		}
		if familiar == "KEY_REUSED" && safe {
			familiar = "?"
		}
		switch familiar {
		case "OK":
			return end("", "success")
		case "INVALID_ARGUMENT":
			if spent || a.forbid {
				return end("stop", "needs_input")
			}
			refused = append(refused, input)
			if asked >= len(w.corrected) || slices.Contains(refused, w.corrected[asked]) || w.corrected[asked] == "" {
				return end("correct_input", "needs_input")
			}
			input = w.corrected[asked]
			asked++
			l.action = "correct_input"
		case "AUTH_REQUIRED":
			if spent || a.forbid || renewals == 1 {
				return end("stop", "needs_auth")
			}
			if !w.renews {
				return end("authenticate", "needs_auth")
			}
			renewals++
			l.action = "authenticate"
		case "TEMP_UNAVAILABLE":
			if spent || a.forbid {
				return end("stop", "retry_exhausted")
			}
			if tooLong {
				return end("stop", "retry_later")
			}
			now = min(now+wait, latestMS)
			l.action = "wait_and_retry"
		case "ACCESS_DENIED", "KEY_REUSED":
			return end("stop", "refused")
		case "QUOTA_EXHAUSTED":
			return end("stop", "quota_exhausted")
		case "PRECONDITION_FAILED":
			if spent || a.forbid {
				return end("stop", "needs_input")
			}
			if !w.refreshes {
				return end("refresh_state", "needs_input")
			}
			l.action = "refresh_state"
		case "OUTCOME_UNKNOWN", "IN_PROGRESS":
			action, how := record.Next("check_status"), record.Disposition("outcome_unknown")
			if familiar == "IN_PROGRESS" {
				action = "wait_and_retry"
				if !unsafe {
					how = "retry_exhausted"
				}
			}
			late := record.Disposition("retry_later")
			if how == "outcome_unknown" {
				late = how
			}
			if a.forbid {
				return end("stop", how)
			}
			if tooLong {
				return end("stop", late)
			}
			for checked := a; ; {
				if w.status == nil {
					return end(action, how)
				}
				checked = w.status[checks]
				checks++
				if checked.code == "OK" {
					return end(action, "success")
				}
				if checked.code != "TEMP_UNAVAILABLE" && checked.code != "IN_PROGRESS" || w.v1 && checked.code == "IN_PROGRESS" {
					if w.effect == "read" {
						how = plain(checked.code)
					}
					return end(action, how)
				}
				if checked.forbid || checks >= w.limit {
					return end(action, how)
				}
				if max(checked.waitMS, w.minDelayMS) > w.capMS && w.capMS >= 0 {
					return end("stop", late)
				}
			}
		default:
			if unsafe && !w.v1 {
				return end("stop", "outcome_unknown")
			}
			return end("stop", "unknown")
		}
		lines = append(lines, l)
	}
}

// plain is a code's own disposition on a read.
func plain(code record.Code) record.Disposition {
	return map[record.Code]record.Disposition{
		"INVALID_ARGUMENT": "needs_input", "AUTH_REQUIRED": "needs_auth", "ACCESS_DENIED": "refused",
		"QUOTA_EXHAUSTED": "quota_exhausted", "PRECONDITION_FAILED": "needs_input",
		"OUTCOME_UNKNOWN": "retry_exhausted", "TEMP_UNAVAILABLE": "retry_exhausted", "IN_PROGRESS": "retry_exhausted",
		"KEY_REUSED": "unknown", "ODD": "unknown", "temp_unavailable": "unknown",
	}[code]
}

// perform runs the same world through Do.
func perform(w world) (lines []line, checks int, err error) {
	var inputs []string
	task := recovery.Task[string, int]{
		Effect: w.effect, Limit: w.limit, Clock: new(recovery.Simulated), Jitter: recovery.None,
		MinDelay: orNone(w.minDelayMS), Cap: orNone(w.capMS),
		Observe: func(s recovery.Step) {
			lines = append(lines, line{s.Execution, inputs[s.Execution-1], s.AtMS, s.Code, s.Action, s.Disposition})
		},
		Correct: func(context.Context, string, *record.Record) (string, bool, error) {
			if len(w.corrected) == 0 || w.corrected[0] == "" {
				return "", false, nil
			}
			offered := w.corrected[0]
			w.corrected = w.corrected[1:]
			return offered, true, nil
		},
		Authenticate: func(context.Context, *record.Record) (bool, error) { return w.renews, nil },
		Refresh: func(_ context.Context, in string, _ *record.Record) (string, bool, error) {
			return in, w.refreshes, nil
		},
	}
	if w.v1 {
		task.Table = recovery.V1
	}
	if w.status != nil {
		task.Status = func(context.Context, string, *record.Record) (int, error) {
			checks++
			return 0, w.status[checks-1].err()
		}
	}
	_, err = recovery.Do(context.Background(), &task, "A", func(_ context.Context, in string) (int, error) {
		inputs = append(inputs, in)
		return 0, w.answers[len(inputs)-1].err()
	})
	return lines, checks, err
}

func orNone(ms int64) time.Duration {
	if ms <= 0 {
		return recovery.None
	}
	return time.Duration(ms) * time.Millisecond
}

var answerCodes = append(record.Codes(), "ODD", "temp_unavailable", "TEMP_UNAVAILABLE", "INVALID_ARGUMENT", "AUTH_REQUIRED", "IN_PROGRESS")

func drawAnswers(t *rapid.T, label string, n int) []answer {
	one := rapid.Custom(func(t *rapid.T) answer {
		return answer{
			code:   rapid.SampledFrom(answerCodes).Draw(t, "code"),
			waitMS: rapid.SampledFrom([]int64{-1, 0, 1, 50, 1000, 60_000, 60_001, math.MaxInt64 / 2_000_000}).Draw(t, "wait"),
			forbid: rapid.IntRange(0, 9).Draw(t, "forbid") == 0,
		}
	})
	return rapid.SliceOfN(one, n, n).Draw(t, label)
}

func drawWorld(t *rapid.T) world {
	limit := rapid.IntRange(1, 6).Draw(t, "limit")
	w := world{
		v1:         rapid.Bool().Draw(t, "v1"),
		effect:     rapid.SampledFrom(append(record.Effects(), "", "odd")).Draw(t, "effect"),
		limit:      limit,
		minDelayMS: rapid.SampledFrom([]int64{0, 100}).Draw(t, "min delay"),
		capMS:      rapid.SampledFrom([]int64{-1, 50, 60_000}).Draw(t, "cap"),
		corrected:  rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "C", "D", ""}), limit, limit).Draw(t, "corrections"),
		renews:     rapid.Bool().Draw(t, "renews"),
		refreshes:  rapid.Bool().Draw(t, "refreshes"),
		answers:    drawAnswers(t, "answers", limit),
	}
	if rapid.Bool().Draw(t, "status") {
		w.status = drawAnswers(t, "statuses", limit)
	}
	return w
}

// TestDoFollowsTheModel: the runner and an independent reading of the rules
// agree on every execution of any task.
func TestDoFollowsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want, wantChecks := model(w)
		got, checks, err := perform(w)
		if !slices.Equal(got, want) || checks != wantChecks {
			t.Fatalf("got  %v (checks %d)\nwant %v (checks %d)", got, checks, want, wantChecks)
		}
		last := want[len(want)-1]
		end, failed := errors.AsType[*recovery.Ended](err)
		if failed != (last.end != record.Success) || failed && (end.Disposition != last.end || end.Executions != last.execution) {
			t.Fatalf("Do returned %v, want %s", err, last.end)
		}
	})
}

// TestDecideKeepsItsPromises holds for any sequence of events, even one that
// no runner would report.
func TestDecideKeepsItsPromises(t *testing.T) {
	kinds := []recovery.Kind{
		recovery.Started, recovery.Failed, recovery.Corrected, recovery.Renewed,
		recovery.Refreshed, recovery.Checked, recovery.Declined,
	}
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom([]*recovery.Table{recovery.V1, recovery.V2}).Draw(t, "table")
		effect := rapid.SampledFrom(record.Effects()).Draw(t, "effect")
		limit := recovery.Limits{
			Executions: rapid.IntRange(1, 5).Draw(t, "limit"),
			MinDelayMS: rapid.Int64Range(0, 200).Draw(t, "min"),
			CapMS:      rapid.Int64Min(0).Draw(t, "cap"),
			DeadlineMS: rapid.Int64Min(0).Draw(t, "deadline"),
		}
		var h recovery.History
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			now := rapid.Int64().Draw(t, "now")
			event := recovery.Event{
				Kind:        rapid.SampledFrom(kinds).Draw(t, "kind"),
				Code:        rapid.SampledFrom(answerCodes).Draw(t, "code"),
				Of:          rapid.SampledFrom(answerCodes).Draw(t, "of"),
				WaitMS:      rapid.Int64Min(0).Draw(t, "wait"),
				JitterMS:    rapid.Int64().Draw(t, "jitter"),
				Forbidden:   rapid.Bool().Draw(t, "forbidden"),
				Input:       recovery.Digest(rapid.Uint64Range(1, 3).Draw(t, "input")),
				Replacement: recovery.Digest(rapid.Uint64Range(1, 3).Draw(t, "replacement")),
			}
			next, d := recovery.Decide(table, effect, limit, h, now, event)
			if again, same := recovery.Decide(table, effect, limit, h, now, event); again != next || same != d {
				t.Fatal("the policy is not a function of its arguments")
			}
			if next.LastMS < h.LastMS || next.FirstMS > next.LastMS {
				t.Fatalf("time goes backwards: %+v after %+v", next, h)
			}
			if d.WaitMS < 0 || d.Disposition != "" && d.WaitMS != 0 {
				t.Fatalf("a wait of %d ms in %+v", d.WaitMS, d)
			}
			if d.WaitMS > 0 && d.WaitMS < max(event.WaitMS, limit.MinDelayMS) {
				t.Fatalf("a wait of %d ms is earlier than the server's %d", d.WaitMS, event.WaitMS)
			}
			if d.WaitMS > 0 && limit.DeadlineMS > 0 && next.LastMS+d.WaitMS >= limit.DeadlineMS {
				t.Fatalf("a wait of %d ms reaches the deadline", d.WaitMS)
			}
			if event.Kind == recovery.Failed && event.Code == "OUTCOME_UNKNOWN" && effect == record.Unsafe && d.Disposition == "" && !d.OnStatus {
				t.Fatal("an unsafe operation whose outcome is unknown is executed again")
			}
			h = next
		}
	})
}

func ExampleDecide() {
	limit := recovery.Limits{Executions: 3, MinDelayMS: 100}
	history, _ := recovery.Decide(recovery.V2, record.Read, limit, recovery.History{}, 0, recovery.Event{Kind: recovery.Started})
	failure := recovery.Event{Kind: recovery.Failed, Code: record.TempUnavailable, WaitMS: 1000}
	_, decision := recovery.Decide(recovery.V2, record.Read, limit, history, 20, failure)
	fmt.Println(decision.Action, decision.WaitMS)
	// Output: wait_and_retry 1000
}

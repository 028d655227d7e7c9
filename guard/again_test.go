package guard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"remit.example/guard"
	"remit.example/operation"
	"remit.example/recovery"
)

// TestAgain: a first attempt may have taken effect, so that no failure of
// another one says that the operation did not: every attempt has the first one's key.
func TestAgain(t *testing.T) {
	for name, second := range map[string]func() (guard.Response, error){
		"not sent":   func() (guard.Response, error) { return guard.Response{}, recovery.NotSent(errors.New("refused")) },
		"refused":    func() (guard.Response, error) { return says("Invoice in_9 not found", true) },
		"forbidden":  func() (guard.Response, error) { return fails(http.StatusForbidden, -32000) },
		"no tool":    func() (guard.Response, error) { return fails(http.StatusOK, -32601) },
		"a question": func() (guard.Response, error) { return answers(`{"resultType":"input_required"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			store := operation.NewMemory(time.Now)
			inBubble(t, billing, func(o *guard.Options) { o.Store = store }, func(r *rig) {
				attempts := []func() (guard.Response, error){
					func() (guard.Response, error) { return guard.Response{}, io.ErrUnexpectedEOF },
					second,
					func() (guard.Response, error) { return says("charged", false) },
				}
				keys := map[any]bool{}
				r.answer = func(_ string, arguments map[string]any) (guard.Response, error) {
					keys[arguments["idempotency_key"]] = true
					return attempts[len(r.sent)-1]()
				}
				for attempt, want := range []operation.State{operation.Unknown, operation.Unknown, operation.Confirmed} {
					got := r.call("create_charge", `{"invoice_id":"in_9"}`)
					all, err := store.List(r.Context(), operation.Filter{}, "", 10)
					if err != nil || len(all) != 1 || all[0].State != want {
						t.Errorf("after attempt %d the operations are %+v: %v", attempt+1, all, err)
					}
					if attempt == 1 && strings.Contains(got.raw, `"outcome":"not_applied"`) {
						t.Errorf("the caller is told that there is no effect: %s", got.raw)
					}
					time.Sleep(time.Hour)
				}
				if len(r.sent) != 3 || len(keys) != 1 {
					t.Errorf("sent: %v", r.sent)
				}
			})
		})
	}
}

// fails is a response with a JSON-RPC error.
func fails(status, code int) (guard.Response, error) {
	m, err := guard.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"No."}}`, code))
	return guard.Response{Status: status, Message: m}, err
}

// unrenewed is a store in which no claim is renewed, as that of an executor
// that is paused.
type unrenewed struct{ operation.Store }

func (unrenewed) Renew(context.Context, string, int64, time.Duration) error {
	return operation.ErrFenced
}

// TestLateAnswer: whose claim has run out gets the answer that another
// executor has recorded, and is not told that nothing was sent.
func TestLateAnswer(t *testing.T) {
	inBubble(t, billing, func(o *guard.Options) { o.Store = unrenewed{o.Store} }, func(r *rig) {
		sent := make(chan bool, 1)
		r.answer = func(string, map[string]any) (guard.Response, error) {
			if len(r.sent) == 1 {
				sent <- true
				time.Sleep(time.Minute)
			}
			return says("charged", false)
		}
		late := make(chan result)
		go func() { late <- r.call("create_charge", `{"invoice_id":"in_1"}`) }()
		<-sent
		time.Sleep(31 * time.Second)
		r.want(r.call("create_charge", `{"invoice_id":"in_1"}`), "OK", 2)
		got := <-late
		if got.text() != "charged" || got.Result.Meta.Replayed == nil || strings.Contains(got.raw, "nothing was sent") {
			t.Error(got.raw)
		}
	})
}

// TestOwedByAnother: a replica that owes the answer of an operation does not
// answer with it where another replica has begun the next one meanwhile.
func TestOwedByAnother(t *testing.T) {
	store := operation.NewMemory(time.Now)
	change := func(o *guard.Options) { o.Store = store }
	inBubble(t, billing, change, func(r *rig) {
		other := newRig(r.T, billing, change)
		lose := func(string, map[string]any) (guard.Response, error) { return guard.Response{}, io.ErrUnexpectedEOF }
		charge := func(string, map[string]any) (guard.Response, error) { return says("charged", false) }
		for _, step := range []struct {
			at     *rig
			answer func(string, map[string]any) (guard.Response, error)
			code   string
			sent   int
		}{{r, lose, "TEMP_UNAVAILABLE", 1}, {other, charge, "OK", 1}, {other, lose, "TEMP_UNAVAILABLE", 2}, {r, charge, "OK", 2}} {
			step.at.answer = step.answer
			got := step.at.call("create_charge", `{"invoice_id":"in_1"}`)
			step.at.want(got, step.code, step.sent)
			if got.Result.Meta.Replayed != nil {
				r.Errorf("a call that comes while an operation of its line is unknown is answered with one before: %s", got.raw)
			}
			time.Sleep(2 * time.Second)
		}
		other.guard.Wait()
	})
}

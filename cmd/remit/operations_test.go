package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"remit.example/operation"
	"remit.example/store/pgtest"
	"remit.example/store/postgres"
	"remit.example/store/sqlite"
)

// TestOperationsScript runs the command lines of remit operations; -update
// rewrites what they are compared with.
func TestOperationsScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/operations", RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exits,
			"ledger": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: ledger FILE")
				}
				now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
				s, err := sqlite.Open(context.Background(), ts.MkAbs(args[0]), func() time.Time { return now })
				ts.Check(err)
				ts.Check(writeLedger(s, func(d time.Duration) { now = now.Add(d) }))
				ts.Check(s.Close())
			},
		},
	})
}

// writeLedger writes one operation of each kind; pass lets time pass.
func writeLedger(s operation.Store, pass func(time.Duration)) error {
	ctx := context.Background()
	for _, w := range []struct {
		tool    string
		lease   time.Duration
		outcome operation.Outcome
	}{
		{"pay_invoice", time.Minute, operation.Outcome{State: operation.Confirmed, Code: "OK", By: operation.ByAnswer, Result: []byte(`{"content":[{"type":"text","text":"<paid>"}]}`)}},
		{"pay_invoice", time.Minute, operation.Outcome{State: operation.Refused, Code: "INVALID_ARGUMENT", By: operation.ByAnswer, Reason: "invoice: no such\x1b[2J invoice"}},
		{"pay_invoice", time.Minute, operation.Outcome{State: operation.Unknown, Code: "OUTCOME_UNKNOWN", By: operation.ByAnswer, Reason: "the connection was lost"}},
		{"send_parcel", time.Minute, operation.Outcome{}}, // its executor ends
		{"send_parcel", 100 * 365 * 24 * time.Hour, operation.Outcome{}},
	} {
		list, err := s.List(ctx, operation.Filter{}, "", 100)
		if err != nil {
			return err
		}
		n := len(list) + 1
		v, err := s.Claim(ctx, operation.Claim{
			Scope:  operation.Scope{Principal: "agent", Upstream: "bank", Tool: w.tool},
			Intent: fmt.Sprint("intent-", n), Fingerprint: fmt.Sprint("print-", n), CallerKey: fmt.Sprint("caller-", n),
			Arguments: fmt.Appendf(nil, `{"invoice": "%d"}`, n), NewID: fmt.Sprint("op_", n), NewKey: fmt.Sprint("key-", n), Lease: w.lease,
		})
		if err != nil {
			return err
		}
		pass(time.Second)
		if w.outcome.State != "" {
			if _, err := s.Settle(ctx, v.Operation.ID, v.Operation.Fence, w.outcome); err != nil {
				return err
			}
		}
		pass(time.Hour)
	}
	return s.Deliver(ctx, "op_1", operation.Delivered)
}

// TestOperationsPostgres: the same verbs on the other ledger.
func TestOperationsPostgres(t *testing.T) {
	place := pgtest.Start(t).Place(t)
	s, err := postgres.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := writeLedger(s, func(time.Duration) {}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"list --only unknown", "op_3"},
		{"show op_1", `"<paid>"`},
		{"resolve op_3 --refused --reason seen", "op_3 is refused, by operator: seen"},
		{"export --tool pay_invoice --only refused --redact", `"id":"op_3"`},
	} {
		var out, errOut bytes.Buffer
		code := run(append([]string{"operations", "--state", place}, strings.Fields(c.args)...), nil, &out, &errOut)
		if code != 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("remit operations %s: exit code %d, %s%s", c.args, code, out.String(), errOut.String())
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59*time.Minute + 59*time.Second: "59m", time.Hour: "1h",
		47*time.Hour + 59*time.Minute: "47h", 48 * time.Hour: "2d", 1000 * time.Hour: "41d",
	} {
		if got := age(d); got != want {
			t.Errorf("%v is %s, not %s", d, got, want)
		}
	}
}

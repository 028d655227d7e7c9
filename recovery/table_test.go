package recovery_test

import (
	"testing"

	"remit.example/record"
	"remit.example/recovery"
)

// cells is one line of a decision table as it is written down: next, stop and
// key for read (and idempotent), keyed and unsafe.
type cells struct {
	code                record.Code
	read, keyed, unsafe recovery.Rule
}

func alike(code record.Code, rule recovery.Rule) cells { return cells{code, rule, rule, rule} }

var v1Cells = []cells{
	alike("OK", recovery.Rule{Next: "", Stop: "success"}),
	alike("INVALID_ARGUMENT", recovery.Rule{Next: "correct_input", Stop: "needs_input"}),
	alike("AUTH_REQUIRED", recovery.Rule{Next: "authenticate", Stop: "needs_auth"}),
	alike("TEMP_UNAVAILABLE", recovery.Rule{Next: "wait_and_retry", Stop: "retry_exhausted"}),
	alike("ACCESS_DENIED", recovery.Rule{Next: "stop", Stop: "refused"}),
	alike("QUOTA_EXHAUSTED", recovery.Rule{Next: "stop", Stop: "unknown"}),
	alike("OUTCOME_UNKNOWN", recovery.Rule{Next: "stop", Stop: "unknown"}),
	alike("STATUS_SERVICE_ODDITY", recovery.Rule{Next: "stop", Stop: "unknown"}),
	alike("temp_unavailable", recovery.Rule{Next: "stop", Stop: "unknown"}),
	alike("TEMP_UNAVAILABLE ", recovery.Rule{Next: "stop", Stop: "unknown"}),
	alike("", recovery.Rule{Next: "stop", Stop: "unknown"}),
}

var v2Cells = []cells{
	alike("OK", recovery.Rule{Next: "", Stop: "success"}),
	{
		"INVALID_ARGUMENT",
		recovery.Rule{Next: "correct_input", Stop: "needs_input"},
		recovery.Rule{Next: "correct_input", Stop: "needs_input", Key: "must_rotate"},
		recovery.Rule{Next: "correct_input", Stop: "needs_input"},
	},
	{
		"AUTH_REQUIRED",
		recovery.Rule{Next: "authenticate", Stop: "needs_auth"},
		recovery.Rule{Next: "authenticate", Stop: "needs_auth", Key: "must_reuse"},
		recovery.Rule{Next: "authenticate", Stop: "needs_auth"},
	},
	alike("ACCESS_DENIED", recovery.Rule{Next: "stop", Stop: "refused"}),
	{
		"TEMP_UNAVAILABLE",
		recovery.Rule{Next: "wait_and_retry", Stop: "retry_exhausted"},
		recovery.Rule{Next: "wait_and_retry", Stop: "retry_exhausted", Key: "must_reuse"},
		recovery.Rule{Next: "wait_and_retry", Stop: "retry_exhausted"},
	},
	alike("QUOTA_EXHAUSTED", recovery.Rule{Next: "stop", Stop: "quota_exhausted"}),
	{
		"PRECONDITION_FAILED",
		recovery.Rule{Next: "refresh_state", Stop: "needs_input"},
		recovery.Rule{Next: "refresh_state", Stop: "needs_input", Key: "must_rotate"},
		recovery.Rule{Next: "refresh_state", Stop: "needs_input"},
	},
	{
		"OUTCOME_UNKNOWN",
		recovery.Rule{Next: "wait_and_retry", Stop: "retry_exhausted"},
		recovery.Rule{Next: "check_status", Stop: "outcome_unknown", Key: "must_reuse"},
		recovery.Rule{Next: "check_status", Stop: "outcome_unknown"},
	},
	{
		"IN_PROGRESS",
		recovery.Rule{Next: "wait_and_retry", Stop: "retry_exhausted"},
		recovery.Rule{Next: "wait_and_retry", Stop: "retry_exhausted", Key: "must_reuse"},
		recovery.Rule{Next: "wait_and_retry", Stop: "outcome_unknown"},
	},
	{
		"KEY_REUSED",
		recovery.Rule{Next: "stop", Stop: "unknown"},
		recovery.Rule{Next: "stop", Stop: "refused", Key: "must_rotate"},
		recovery.Rule{Next: "stop", Stop: "refused", Key: "must_rotate"},
	},
	unknownV2("STATUS_SERVICE_ODDITY"),
	unknownV2("temp_unavailable"),
	unknownV2("TEMP_UNAVAILABLE "),
	unknownV2(""),
}

func unknownV2(code record.Code) cells {
	unknown := recovery.Rule{Next: "stop", Stop: "unknown"}
	return cells{code, unknown, unknown, recovery.Rule{Next: "stop", Stop: "outcome_unknown"}}
}

func TestEveryCell(t *testing.T) {
	for name, tt := range map[string]struct {
		table *recovery.Table
		cells []cells
	}{"v1": {recovery.V1, v1Cells}, "v2": {recovery.V2, v2Cells}} {
		for _, c := range tt.cells {
			for effect, want := range map[record.Effect]recovery.Rule{
				record.Read: c.read, record.Idempotent: c.read, record.Keyed: c.keyed, record.Unsafe: c.unsafe,
				"": c.unsafe, "READ": c.unsafe,
			} {
				if got := tt.table.Rule(c.code, effect); got != want {
					t.Errorf("%s: %q × %q is %+v, want %+v", name, c.code, effect, got, want)
				}
			}
		}
	}
}

func TestEveryCodeHasItsLine(t *testing.T) {
	have := map[record.Code]bool{}
	for _, c := range v2Cells {
		have[c.code] = true
	}
	for _, code := range record.Codes() {
		if !have[code] {
			t.Errorf("no line of the table is tested for %s", code)
		}
	}
}

func TestFill(t *testing.T) {
	spent, left := record.NewBudget(3, 3), record.NewBudget(3, 2)
	for _, tt := range []struct {
		name   string
		record record.Record
		effect record.Effect
		next   record.Next
		stop   record.Disposition
		key    record.Key
	}{
		{"the cell", record.Record{Code: "AUTH_REQUIRED", Budget: &left}, record.Keyed, "authenticate", "needs_auth", "must_reuse"},
		{"no budget stated", record.Record{Code: "TEMP_UNAVAILABLE"}, record.Read, "wait_and_retry", "retry_exhausted", ""},
		{"budget spent", record.Record{Code: "TEMP_UNAVAILABLE", Budget: &spent}, record.Read, "stop", "retry_exhausted", ""},
		{"budget spent, correction", record.Record{Code: "INVALID_ARGUMENT", Budget: &spent}, record.Keyed, "stop", "needs_input", "must_rotate"},
		{"budget spent, status", record.Record{Code: "OUTCOME_UNKNOWN", Budget: &spent}, record.Unsafe, "check_status", "outcome_unknown", ""},
		{"budget spent, in progress", record.Record{Code: "IN_PROGRESS", Budget: &spent}, record.Keyed, "wait_and_retry", "retry_exhausted", "must_reuse"},
		{"forbidden", record.Record{Code: "OUTCOME_UNKNOWN", Retry: "forbidden"}, record.Keyed, "stop", "outcome_unknown", "must_reuse"},
		{"forbidden success", record.Record{Code: "OK", Retry: "forbidden"}, record.Read, "", "success", ""},
		{"success", record.Record{Code: "OK", Budget: &spent, Next: "stop", Key: "must_reuse"}, record.Read, "", "success", ""},
	} {
		r := tt.record
		recovery.V2.Fill(&r, tt.effect)
		if r.Next != tt.next || r.Stop != tt.stop || r.Key != tt.key {
			t.Errorf("%s: %q, %q, %q", tt.name, r.Next, r.Stop, r.Key)
		}
	}
}

package recovery_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"remit.example/record"
	"remit.example/recovery"
)

var update = flag.Bool("update", false, "write testdata/policy.vectors.jsonl anew")

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "2000") // -rapid.checks on the command line beats it
	os.Exit(m.Run())
}

// vector is one call of the policy. The file of vectors holds every
// implementation of the policy, in whatever language, to the same decisions;
// its numbers stay below 2^53.
type vector struct {
	Name    string           `json:"name"`
	Table   string           `json:"table"`
	Effect  record.Effect    `json:"effect"`
	Limit   recovery.Limits  `json:"limit"`
	History recovery.History `json:"history"`
	NowMS   int64            `json:"now_ms"`
	Event   recovery.Event   `json:"event"`
	Want    struct {
		History  recovery.History  `json:"history"`
		Decision recovery.Decision `json:"decision"`
	} `json:"want"`
}

var tables = map[string]*recovery.Table{"recovery-v1": recovery.V1, "recovery-v2": recovery.V2}

// situations are the vectors before they are multiplied by table and effect.
func situations() []vector {
	limit := recovery.Limits{Executions: 3, MinDelayMS: 100, CapMS: 60_000, DeadlineMS: 100_000}
	once := recovery.History{Executions: 1, FirstMS: 5, LastMS: 5}
	spent := recovery.History{Executions: 3, FirstMS: 5, LastMS: 2000}
	renewed := recovery.History{Executions: 2, Renewals: 1, FirstMS: 5, LastMS: 5}
	refused := recovery.History{Executions: 2, FirstMS: 5, LastMS: 9, Refused: [8]recovery.Digest{1}}
	full := recovery.History{Executions: 2, FirstMS: 5, LastMS: 9, Refused: [8]recovery.Digest{1, 2, 3, 4, 5, 6, 7, 8}}
	checked := recovery.History{Executions: 1, Checks: 1, FirstMS: 5, LastMS: 9}
	allChecked := recovery.History{Executions: 1, Checks: 3, FirstMS: 5, LastMS: 9}
	var all []vector
	add := func(name string, h recovery.History, nowMS int64, e recovery.Event) {
		all = append(all, vector{Name: name, Limit: limit, History: h, NowMS: nowMS, Event: e})
	}
	add("the first execution", recovery.History{}, 5, recovery.Event{Kind: recovery.Started})
	add("a further execution", once, 7, recovery.Event{Kind: recovery.Started})
	for _, code := range append(record.Codes(), "STATUS_SERVICE_ODDITY", "temp_unavailable", "TEMP_UNAVAILABLE ") {
		failed := recovery.Event{Kind: recovery.Failed, Code: code}
		add("failed", once, 20, failed)
		add("failed, budget spent", spent, 2000, failed)
		failed.Forbidden = true
		add("failed, forbidden", once, 20, failed)
		failed.Forbidden, failed.WaitMS = false, 60_001
		add("failed, the wait is beyond the cap", once, 20, failed)
		add("declined", once, 20, recovery.Event{Kind: recovery.Declined, Code: code})
		for _, of := range []record.Code{record.OutcomeUnknown, record.InProgress} {
			add("checked", checked, 20, recovery.Event{Kind: recovery.Checked, Code: code, Of: of})
			add("checked, not applied", checked, 20, recovery.Event{Kind: recovery.Checked, Code: code, Of: of, NotApplied: true})
			add("checked, checks spent", allChecked, 20, recovery.Event{Kind: recovery.Checked, Code: code, Of: of})
		}
	}
	for _, waitMS := range []int64{0, 99, 100, 101, 60_000, 60_001} {
		add("a wait", once, 20, recovery.Event{Kind: recovery.Failed, Code: record.TempUnavailable, WaitMS: waitMS})
		add("a wait with jitter", once, 20, recovery.Event{Kind: recovery.Failed, Code: record.TempUnavailable, WaitMS: waitMS, JitterMS: 30})
		add("a wait with negative jitter", once, 20, recovery.Event{Kind: recovery.Failed, Code: record.TempUnavailable, WaitMS: waitMS, JitterMS: -30})
		add("a wait near the deadline", once, 99_890, recovery.Event{Kind: recovery.Failed, Code: record.TempUnavailable, WaitMS: waitMS, JitterMS: 30})
	}
	add("a clock that went backwards", once, -1000, recovery.Event{Kind: recovery.Failed, Code: record.TempUnavailable, WaitMS: 1000})
	add("a second AUTH_REQUIRED", renewed, 20, recovery.Event{Kind: recovery.Failed, Code: record.AuthRequired})
	add("renewed", once, 20, recovery.Event{Kind: recovery.Renewed, Code: record.AuthRequired})
	add("refreshed", once, 20, recovery.Event{Kind: recovery.Refreshed, Code: record.PreconditionFailed})
	correction := func(name string, h recovery.History, input, replacement recovery.Digest) {
		add(name, h, 20, recovery.Event{Kind: recovery.Corrected, Code: record.InvalidArgument, Input: input, Replacement: replacement})
	}
	correction("corrected", once, 1, 2)
	correction("corrected by the same", once, 1, 1)
	correction("corrected again", refused, 2, 3)
	correction("corrected by the first", refused, 2, 1)
	correction("corrected, no more is remembered", full, 9, 10)
	return all
}

// vectors are the situations under each table and effect, with the policy's answers.
func vectors() []vector {
	var all []vector
	for _, name := range []string{"recovery-v1", "recovery-v2"} {
		for _, effect := range record.Effects() {
			for _, v := range situations() {
				v.Table, v.Effect = name, effect
				v.Want.History, v.Want.Decision = recovery.Decide(tables[name], effect, v.Limit, v.History, v.NowMS, v.Event)
				all = append(all, v)
			}
		}
	}
	return all
}

// TestTheVectorsAreThePolicys: the frozen vectors are what the policy answers.
func TestTheVectorsAreThePolicys(t *testing.T) {
	const path = "testdata/policy.vectors.jsonl"
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	for _, v := range vectors() {
		if err := encoder.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%d vectors, the file has %d", len(gotLines), len(wantLines))
	}
	for i := range gotLines {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			t.Fatalf("line %d\ngot  %s\nwant %s", i+1, gotLines[i], wantLines[i])
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"remit.example/drive/live"
	"remit.example/oracle"
)

const (
	liveToken    = "valid-token-0123456789"
	expiredToken = "expired-token-0123456789"
)

// secured serves paths to one token, and gives the address and the file of
// the token.
func secured(t *testing.T, paths ...string) (url, tokenFile string) {
	t.Helper()
	folder := t.TempDir()
	served := filepath.Join(folder, "tokens")
	tokenFile = filepath.Join(folder, "token")
	for name, text := range map[string]string{served: "agent " + liveToken + "\n", tokenFile: liveToken + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return start(t, serveFlags{tokenFile: served}, paths...).url, tokenFile
}

// provokeLive runs remit check --live and reads its report.
func provokeLive(t *testing.T, wantExit int, args ...string) (r oracle.Report, text string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(append([]string{"check", "--report", "json", "--sandbox"}, args...), nil, &out, &errOut)
	if code != wantExit || errOut.Len() > 0 {
		t.Fatalf("exit %d, want %d: %s%s", code, wantExit, &errOut, &out)
	}
	for _, secret := range []string{liveToken, expiredToken} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("a token stands in %s", &out)
		}
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r, out.String()
}

// TestLiveServers provokes what remit serve serves of each example.
func TestLiveServers(t *testing.T) {
	for example, passed := range map[string]int{"delivery-status": 12, "task-lights": 81, "light-sources": 122} {
		t.Run(example, func(t *testing.T) {
			path := "../../examples/" + example
			url, tokenFile := secured(t, path)
			r, _ := provokeLive(t, exitOK, "--live", path, "--url", url, "--token-file", tokenFile, "--provoke", "expired=echo "+expiredToken)
			if s := r.Suites[0]; r.Verdict != oracle.Conforms || s.Cases.Passed != passed || s.Name != "live "+example {
				t.Errorf("%s: %+v", r.Verdict, r.Suites)
			}
		})
	}
}

// TestLiveViolation: the fixture has no dependency that a command could stop,
// and the server refuses no principal that it knows.
func TestLiveViolation(t *testing.T) {
	path := "../../examples/delivery-status"
	url, tokenFile := secured(t, path)
	restored := filepath.Join(t.TempDir(), "restored")
	r, text := provokeLive(
		t, exitFailure, "--live", path, "--url", url+"/", "--token-file", tokenFile,
		"--provoke", "refusal=echo "+liveToken, "--provoke", "dependency=true", "--restore", "dependency=touch '"+restored+"'",
	)
	if want := map[string]int{"live-refusal": 1, "live-dependency": 1}; !maps.Equal(r.Suites[0].FailedBy, want) {
		t.Errorf("failed by %v", r.Suites[0].FailedBy)
	}
	if _, err := os.Stat(restored); err != nil {
		t.Error(err)
	}
	if !strings.Contains(text, "--provoke expired=CMD gives one") {
		t.Error("an expired token that is not provoked must be unchecked")
	}
}

func TestLiveWithoutToken(t *testing.T) {
	path := "../../examples/delivery-status"
	r, text := provokeLive(t, exitOK, "--live", path, "--url", start(t, serveFlags{}, path).url)
	if r.Suites[0].Cases.Passed != 9 || strings.Count(text, "no token was given") != 2 {
		t.Error(text)
	}
	url, _ := secured(t, path)
	if _, text := provokeLive(t, exitHarness, "--live", path, "--url", url); !strings.Contains(text, "its example needs a token") {
		t.Error(text)
	}
}

func TestLiveHarness(t *testing.T) {
	path := "../../examples/delivery-status"
	url, tokenFile := secured(t, path)
	_, text := provokeLive(t, exitHarness, "--live", path, "--url", url, "--token-file", tokenFile, "--provoke", "expired=echo "+expiredToken+"; exit 7")
	if !strings.Contains(text, "exit status 7") {
		t.Error(text)
	}
	provokeLive(t, exitHarness, "--live", path, "--url", "http://127.0.0.1:1")
}

// TestLiveInterrupt has the command interrupt the program that runs it.
func TestLiveInterrupt(t *testing.T) {
	path := "../../examples/delivery-status"
	url, tokenFile := secured(t, path)
	restored := filepath.Join(t.TempDir(), "restored")
	_, text := provokeLive(
		t, exitHarness, "--live", path, "--url", url, "--token-file", tokenFile,
		"--provoke", "dependency=kill -INT $PPID; exec tail -f /dev/null", "--restore", "dependency=touch '"+restored+"'",
	)
	if !strings.Contains(text, "was interrupted") {
		t.Error(text)
	}
	if _, err := os.Stat(restored); err != nil {
		t.Error(err)
	}
}

func TestLiveUsage(t *testing.T) {
	path := "../../examples/delivery-status"
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("an agent secret-token-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := []string{"--live", path, "--url", "http://127.0.0.1:1"}
	asked := append(slices.Clone(base), "--sandbox")
	guarded := []string{"--live", "../../examples/orders", "--sandbox", "--mcp", "http://127.0.0.1:1"}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"say with --sandbox that the application is no production system", base},
		{"valid: --url URL", []string{"--live", path, "--sandbox"}},
		{"--live names no contract", []string{"--live", "", "--url", "http://a", "--sandbox"}},
		{"valid: without a suite", append([]string{"recovery-v1"}, asked...)},
		{"--url, --mcp and a command after -- name different applications", append(slices.Clone(asked), "--", "true")},
		{"--url, --mcp and a command after -- name different applications", append(slices.Clone(asked), "--mcp", "http://a")},
		{"nothing stands after --", []string{"--live", path, "--sandbox", "--"}},
		{"--patience 0s is no time to wait", append(slices.Clone(asked), "--patience", "0s")},
		{"judged over HTTP; valid: --url URL", []string{"--live", path, "--sandbox", "--mcp", "http://a"}},
		{"is a guard contract", []string{"--live", "../../examples/orders", "--sandbox", "--url", "http://a"}},
		{"--write is not", append(slices.Clone(guarded), "--write", "place_order")},
		{"--write is not", append(slices.Clone(guarded), "--write", "place_order {} {} {}")},
		{"--write is not", append(slices.Clone(guarded), "--write", `place_order {"a":1`)},
		{"--write place_order is given twice", append(slices.Clone(guarded), "--write", "place_order {}", "--write", "place_order {}")},
		{"whose effect is read", append(slices.Clone(guarded), "--write", "get_order {}")},
		{"names no tool with an effect", append(slices.Clone(asked), "--write", "delivery_status {}")},
		{"--effects is not", append(slices.Clone(guarded), "--write", "place_order {}", "--effects", "place_order=get_order {}")},
		{"--effects is not", append(slices.Clone(guarded), "--write", "place_order {}", "--effects", "get_order {} /orders")},
		{"which is no write here", append(slices.Clone(guarded), "--effects", "place_order=get_order {} /orders")},
		{"--effects place_order is given twice", append(slices.Clone(guarded), "--write", "place_order {}", "--effects", "place_order=get_order {} /orders", "--effects", "place_order=get_order {} /orders")},
		{"valid: beside --live CONTRACT", []string{"recovery-v1", "--write", "place_order {}"}},
		{"--live and --http name different things", append(slices.Clone(asked), "--http", "http://a")},
		{"--live and --as-server name different things", append(slices.Clone(asked), "--as-server", "http")},
		{"valid: beside --live CONTRACT", []string{"recovery-v1", "--sandbox"}},
		{"valid: beside --live CONTRACT", []string{"recovery-v1", "--provoke", "expired=true"}},
		{"valid kinds: expired, refusal, dependency", append(slices.Clone(asked), "--provoke", "crash=true")},
		{"--provoke is not KIND=CMD", append(slices.Clone(asked), "--provoke", "secret-token-0123456789")},
		{"--restore is not KIND=CMD", append(slices.Clone(asked), "--restore", "dependency=")},
		{"--provoke expired is given twice", append(slices.Clone(asked), "--provoke", "expired=a", "--provoke", "expired=b")},
		{"--restore dependency has nothing to restore", append(slices.Clone(asked), "--restore", "dependency=true")},
		{"its first line is no token", append(slices.Clone(asked), "--token-file", empty)},
		{"no such file", append(slices.Clone(asked), "--token-file", empty+".absent")},
		{"name a contract file", []string{"--live", empty + ".absent", "--url", "http://a", "--sandbox"}},
		{"the address of the application is none", []string{"--live", path, "--url", "http://user:secret-token-0123456789@a", "--sandbox"}},
		{"--report xml is no format", append(slices.Clone(asked), "--report", "xml")},
	} {
		var out, errOut bytes.Buffer
		code := run(append([]string{"check"}, c.args...), nil, &out, &errOut)
		if code != exitUsage || !strings.Contains(errOut.String(), c.want) || out.Len() > 0 {
			t.Errorf("%q: exit %d, %s%s", c.args, code, &errOut, &out)
		}
		if strings.Contains(errOut.String(), "secret") {
			t.Errorf("%q: a secret stands in %s", c.args, &errOut)
		}
	}
}

const writes = `remit: 1
service: parcels
failures:
  - {when: {status: 429}, is: TEMP_UNAVAILABLE, wait: 1s}
  - {when: {status: [500, 503]}, is: QUOTA_EXHAUSTED}
tools:
  send:
    promise: command
    effect: unsafe
    input: {to: {type: text, example: A1}}
    answer: {id: {type: text}}
    backend: {http: {url: "${PARCELS_URL}/send", method: POST, body: true}}
    failures:
      - {when: {fact: no_answer}, is: CARRIER_DOWN}
  look:
    promise: lookup
    input: {id: {type: text, example: A1}}
    answer: {id: {type: text}}
    backend: {http: {url: "${PARCELS_URL}/{id}"}}
`

// TestLivePlan: what a contract says of a failing dependency; its environment
// need not be set.
func TestLivePlan(t *testing.T) {
	name := filepath.Join(t.TempDir(), "contract.yaml")
	if err := os.WriteFile(name, []byte(writes), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := (&liveFlags{contract: name}).plan("", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		writes bool
		outage []string
	}{
		{true, []string{"TEMP_UNAVAILABLE", "OUTCOME_UNKNOWN", "CARRIER_DOWN", "QUOTA_EXHAUSTED"}},
		{false, []string{"TEMP_UNAVAILABLE", "QUOTA_EXHAUSTED"}},
	} {
		if got := p.Tools[i]; got.Writes != want.writes || !slices.Equal(got.Outage, want.outage) {
			t.Errorf("%s: %v %v", got.Name, got.Writes, got.Outage)
		}
	}
	p, err = (&liveFlags{contract: "../../examples/task-lights"}).plan("", "", nil)
	if err != nil || slices.ContainsFunc(p.Tools, func(t live.Tool) bool { return t.Outage != nil || t.Writes }) {
		t.Errorf("%v: a catalogue has no dependency", err)
	}
}

package main

import (
	"bytes"
	"context"
	"strings"

	"remit.example/oracle"
)

// browserSuite is the built-in suite of recordings.
const browserSuite = "browser-v1"

// maxRecording bounds a recording, in bytes.
const maxRecording = 64 << 20

// chooseRecording judges the recording that stands beside a suite of
// recordings. It reports whether the suite is one.
func (f *checkFlags) chooseRecording(c *check, args, command []string) (bool, error) {
	name := suiteOf(c.suites, oracle.BrowserV1)
	switch {
	case name == "" && len(args) > 1:
		return false, usage("check takes one suite and got %s; a command to judge stands after --", strings.Join(args, ", "))
	case name == "":
		return false, nil
	case command != nil || len(f.tools) > 0 || f.http+f.mcp+f.page.url+f.page.browser+f.asServer+f.tokenFile+f.revision != "":
		return true, usage("%s judges a recording; valid: remit check %[1]s RECORDING, without a command and without flags that name something else to judge", name)
	case len(args) != 2:
		return true, usage("%s judges a recording; valid: remit check %[1]s RECORDING, as remit record writes it", name)
	}
	text, err := readBounded(args[1], maxRecording)
	if err != nil {
		return true, badInput(err)
	}
	c.subject, c.judged = oracle.Recording, "the recording "+args[1]
	c.judge = func(_ context.Context, s *oracle.Suite, _ *progress) (*oracle.Outcome, error) {
		return s.Judge(bytes.NewReader(text))
	}
	return true, nil
}

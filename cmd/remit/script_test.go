package main

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"remit.example/tool"
)

// TestScripts runs the command lines of contract, explain and init as a user
// does; -update rewrites what they are compared with.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exits, "shop": writeShop, "edit": editFile, "reads": agentReads,
		},
	})
}

// writeShop is "shop FILE": it writes the shop's export.
func writeShop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shop FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(shopExport()), 0o644))
}

// editFile is "edit FILE OLD NEW": OLD stands once in FILE and becomes NEW.
func editFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	name := ts.MkAbs(args[0])
	text, err := os.ReadFile(name)
	ts.Check(err)
	if n := strings.Count(string(text), args[1]); n != 1 {
		ts.Fatalf("%q stands %d times in %s", args[1], n, args[0])
	}
	ts.Check(os.WriteFile(name, []byte(strings.Replace(string(text), args[1], args[2], 1)), 0o644))
}

// agentReads is "reads CONTRACT TOOL INPUT FIELD…": what an agent reads of the
// answer stays within its budget, and its items have these fields.
func agentReads(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: reads CONTRACT TOOL INPUT FIELD…")
	}
	o, err := open([]string{ts.MkAbs(args[0])})
	ts.Check(err)
	t, ok := o.set.Lookup(args[1])
	if !ok {
		ts.Fatalf("there is no tool %s", args[1])
	}
	answer := t.Call(context.Background(), tool.Call{Input: []byte(args[2]), Characters: tool.AgentCharacters})
	if n := utf8.RuneCount(answer.Body); n > tool.AgentCharacters || answer.Failure != nil {
		ts.Fatalf("%d characters: %s", n, answer.Body)
	}
	var read struct {
		Items []struct{ Fields map[string]any }
	}
	ts.Check(json.Unmarshal(answer.Body, &read))
	if len(read.Items) == 0 {
		ts.Fatalf("no items: %s", answer.Body)
	}
	for i, item := range read.Items {
		for _, field := range args[3:] {
			if item.Fields[field] == nil {
				ts.Fatalf("item %d has no %s: %s", i, field, answer.Body)
			}
		}
	}
	ts.Logf("%s items in %d characters", strconv.Itoa(len(read.Items)), utf8.RuneCount(answer.Body))
}

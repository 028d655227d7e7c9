package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "remit.example"

// layout says which rooms of the house each room may import directly. A room
// is a folder; "..." stands for the rooms below it, and for any of ours in the
// list of cmd/remit. What a room that is named here may not import, its tests
// may not either, except those of cmd/remit.
var layout = map[string][]string{
	"cmd/remit":          {"..."},
	"record":             {},
	"contract":           {"record"},
	"recovery":           {"record"},
	"catalogue":          {"contract", "record"},
	"catalogue/snapshot": {"catalogue"},
	"operation":          {"record"},
	"guard":              {"contract", "record", "recovery", "operation"},
	"guard/proxy":        {"guard", "record", "recovery", "contract", "operation"},
	"guard/trace":        {"guard", "operation", "record"},
	"store/pgtest":       {},
	"store/postgres":     {"operation", "record"},
	"store/sqlite":       {"operation", "record"},
	"store/storetest":    {"operation", "record"},
	"tool":               {"contract", "record", "recovery", "catalogue"},
	"wire":               {"tool", "contract", "record"},
	"wire/mcp":           {"wire", "tool", "contract", "record"},
	"wire/rest":          {"wire", "tool", "contract", "record", "web"},
	"wire/webmcp":        {"wire", "tool", "contract", "record", "web"},
	"wire/wiretest":      {"tool", "contract"},
	"web":                {},
	"web/build":          {"web"},
	"examples":           {},
	"examples/orders":    {"..."}, // a program
	"oracle":             {},
	"drive":              {"oracle"},
	"drive/exec":         {},
	"drive/http":         {"drive", "oracle"},
	"drive/live":         {"drive/exec", "drive/mcp", "oracle"},
	"drive/mcp":          {"drive", "drive/exec", "oracle"},
	"drive/recorder":     {"drive/exec", "drive/webmcp", "oracle"},
	"drive/scripted":     {"drive/exec", "oracle"},
	"drive/webmcp":       {"drive", "drive/exec", "drive/http", "oracle"},
}

// forTests are rooms that only the tests of the rooms below them may import
// besides.
var forTests = map[string]string{"wire/wiretest": "wire", "store/storetest": "store", "store/pgtest": "store"}

// standardOnly names the rooms that import nothing but the standard library
// and ours.
var standardOnly = []string{"record", "recovery"}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestLayout(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		room := strings.TrimPrefix(p.ImportPath, module+"/")
		seen[room] = true
		allowed, known := layout[room]
		if !known {
			t.Errorf("%s is no room of the house; valid: %s", room, strings.Join(slices.Sorted(maps.Keys(layout)), ", "))
			continue
		}
		checkArrows(t, room, allowed, p.Imports)
		for helper, above := range forTests {
			if room == above || strings.HasPrefix(room, above+"/") {
				allowed = append(slices.Clone(allowed), helper)
			}
		}
		checkArrows(t, room, allowed, slices.Concat(p.TestImports, p.XTestImports))
		for _, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			if slices.Contains(standardOnly, room) && strings.Contains(first, ".") && first != module {
				t.Errorf("%s imports %s; it uses the standard library alone", room, imported)
			}
		}
	}
	for room := range layout {
		if !seen[room] {
			t.Errorf("the layout names %s and there is no such room", room)
		}
	}
}

// unreachable lists what the evaluator and the drivers may not reach through
// anything: a fault that they shared with what they judge would hide itself.
var unreachable = map[string][]string{
	"./oracle":    {""},
	"./drive/...": {"record", "recovery", "contract", "catalogue", "tool", "wire", "cmd"},
}

func TestEvaluatorReachesNothing(t *testing.T) {
	for pattern, rooms := range unreachable {
		command := exec.Command("go", "list", "-deps", pattern)
		command.Dir = "../.."
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, dependency := range strings.Fields(string(out)) {
			room, ours := strings.CutPrefix(dependency, module+"/")
			for _, forbidden := range rooms {
				if ours && room != "oracle" && (forbidden == "" || room == forbidden || strings.HasPrefix(room, forbidden+"/")) {
					t.Errorf("%s reaches %s", pattern, room)
				}
			}
		}
	}
}

func checkArrows(t *testing.T, room string, allowed, imports []string) {
	t.Helper()
	for _, imported := range imports {
		other, ours := strings.CutPrefix(imported, module+"/")
		if ours && other != room && !slices.Contains(allowed, other) && !slices.Contains(allowed, "...") {
			t.Errorf("%s imports %s; valid: %s", room, other, strings.Join(allowed, ", "))
		}
	}
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

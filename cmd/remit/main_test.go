package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// asRemit makes the test binary run as the program itself. The tests set it
// for every process that they start: remit check starts its own program.
const asRemit = "REMIT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	ofTests := func(arg string) bool { return strings.HasPrefix(arg, "-test.") } // the workers of a fuzz target
	if os.Getenv(asRemit) != "" && !slices.ContainsFunc(os.Args[1:], ofTests) {
		main()
		return
	}
	if err := os.Setenv(asRemit, "1"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"remit": main})
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// asRemit makes the test binary run as the program itself. The tests set it
// for every process that they start: remit check starts its own program.
const asRemit = "REMIT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asBank) != "" {
		if err := runBank(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if lease, err := time.ParseDuration(os.Getenv(leaseForTests)); err == nil {
		guardLease = lease
	}
	programs := map[string]func(){"remit": main, "billing-mcp": billingServer, "mcp-calls": mcpCalls}
	ofTests := func(arg string) bool { return strings.HasPrefix(arg, "-test.") } // the workers of a fuzz target
	if programs[filepath.Base(os.Args[0])] == nil && os.Getenv(asRemit) != "" && !slices.ContainsFunc(os.Args[1:], ofTests) {
		main()
		return
	}
	if err := os.Setenv(asRemit, "1"); err != nil {
		panic(err)
	}
	testscript.Main(m, programs)
}

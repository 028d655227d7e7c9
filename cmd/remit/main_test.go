package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// asRemit makes the test binary run as the program itself.
const asRemit = "REMIT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asRemit) != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"remit": main})
}

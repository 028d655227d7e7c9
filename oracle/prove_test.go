package oracle_test

import (
	"slices"
	"testing"

	"remit.example/oracle"
)

// TestBuiltinSuites: each built-in suite can be trusted, its controls are
// rejected by their rules, and no mutant survives.
func TestBuiltinSuites(t *testing.T) {
	mutants := 0
	for _, name := range slices.Concat(oracle.Names(), oracle.GuardNames(), oracle.BrowserNames()) {
		s, err := oracle.Builtin(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if faults := s.Lint(); len(faults) > 0 {
			t.Errorf("%s: %q", name, faults)
			continue
		}
		p := s.Prove()
		if len(p.Void) > 0 || p.Rejected != len(s.Controls) || p.Accepted > 0 || p.Survived > 0 {
			t.Errorf("%s: %d rejected, %d accepted, %d survived", name, p.Rejected, p.Accepted, p.Survived)
			for _, fault := range p.Void[:min(len(p.Void), 10)] {
				t.Error(fault)
			}
		}
		for _, n := range p.Operators {
			t.Logf("%s: %s: %d killed, %d survived, %d equivalent", name, n.Operator, n.Killed, n.Survived, n.Equivalent)
		}
		mutants += p.Killed
	}
	if mutants < 500 {
		t.Errorf("%d mutants killed, want at least 500", mutants)
	}
}

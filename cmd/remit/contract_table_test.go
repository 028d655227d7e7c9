package main

import (
	"testing"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/recovery"
)

// TestContractKnowsRepetitions holds what the contract's validation takes for
// a repetition to the decision table of recovery-v2, which it cannot import.
func TestContractKnowsRepetitions(t *testing.T) {
	for _, code := range append(record.Codes(), "OWN_CODE") {
		for _, effect := range record.Effects() {
			want := recovery.V2.Rule(code, effect).Next == record.WaitAndRetry
			if got := contract.Repeats(code, effect); got != want {
				t.Errorf("%s, %s: repeats %v, want %v", code, effect, got, want)
			}
		}
	}
}

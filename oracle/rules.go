package oracle

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Contract names the rules that a suite's results are held to.
type Contract string

// The contracts that the package can judge.
const (
	RecoveryV1  Contract = "recovery-v1"
	CatalogueV1 Contract = "catalogue-v1"
	GuardV1     Contract = "guard-v1"
	PlatformV1  Contract = "platform-v1"
	BrowserV1   Contract = "browser-v1"
)

// Rule is something that a result must keep, and the clause that demands it.
type Rule struct {
	Name   string
	Clause string
}

// The rules of a recovery trace, in the order in which one line is held to them.
var recoveryRules = []Rule{
	{"members", "recovery-v1, the trace: case, execution, input, auth_ok, code, action, at_ms and disposition, each once and of its type"},
	{"numbering", "recovery-v1, the trace: the executions of a case are numbered 1, 2, 3 in order"},
	{"budget", "recovery-v1, budget and time: three executions in all per case, corrections and renewals included"},
	{"retry-after-refusal", "recovery-v1, decision table, ACCESS_DENIED: stop; never repeat with unchanged credentials, never evade"},
	{"unchanged-input-resent", "recovery-v1, decision table, INVALID_ARGUMENT: the unchanged invalid value is never sent again"},
	{"retry-without-renewal", "recovery-v1, decision table, AUTH_REQUIRED: continue only when re-establishment is confirmed, at most one renewal"},
	{"retry-after-unknown", "recovery-v1, decision table, any other code: stop, keep the response; never infer permission from a familiar-looking message"},
	{"execution-after-success", "recovery-v1, decision table, OK: the lookup is complete"},
	{"early", "recovery-v1, budget and time: wait retry_after_ms before the unchanged read is repeated"},
	{"late", "recovery-v1, budget and time: the clock advances by retry_after_ms for each permitted availability retry, and by nothing else"},
	{"input", "recovery-v1, decision table: only the supplied replacement changes the input"},
	{"authentication", "recovery-v1, decision table, AUTH_REQUIRED: authentication changes by a confirmed renewal alone"},
	{"conditions", "recovery-v1, order of the conditions: input, authentication, access, dependency; the first that fails gives the code"},
	{"missing-execution", "recovery-v1, decision table: a permitted continuation whose condition holds is made"},
	{"action", "recovery-v1, decision table: the permitted next action of the code"},
	{"disposition", "recovery-v1, decision table: null until the task ends, then how the code ends it"},
	{"form", "recovery-v1, the trace: compact JSON in this member order, numbers in their shortest form, one newline a line"},
}

// The rules of a catalogue answer.
var catalogueRules = []Rule{
	{"one-answer", "catalogue-v1, the evaluator: one answer to each request"},
	{"affirms-without-evidence", "catalogue-v1, suitability: affirm only from evidence relevant to the purpose; name the missing field otherwise"},
	{"status", "catalogue-v1, rules: the status says which promise was kept; a malformed request is no evidence about the inventory"},
	{"admits-non-match", "catalogue-v1, search: an exact match against this snapshot; an unknown value fails a floor"},
	{"omits-match", "catalogue-v1, search: every record that meets the filters; ceiling and floor are inclusive"},
	{"repeats-an-item", "catalogue-v1, search: each matching record once"},
	{"preference-order", "catalogue-v1, ranking: lexicographic; a later preference speaks only where the earlier ones tie"},
	{"display-order", "catalogue-v1, search and ranking: id order decides the display among equals"},
	{"tie-split", "catalogue-v1, ranking: equal on all keys is a shared rank"},
	{"rank", "catalogue-v1, ranking: competition ranking (1, 1, 3)"},
	{"basis", "catalogue-v1, rules: the basis names the criteria that were used, and no other"},
	{"missing", "catalogue-v1, suitability and preferences: the missing field or preference is named"},
	{"accepted", "catalogue-v1, preferences: the accepted preferences are named, all of them, in order"},
	{"field", "catalogue-v1, fixed where the source is silent: invalid_input names the first faulty field in the schema's order"},
	{"recommendation", "catalogue-v1, rules: no answer recommends"},
	{"members", "catalogue-v1, the typed requests: the members of the literal answer, each once and of its type"},
	{"form", "catalogue-v1, the typed requests: member order included, compare bytes"},
}

// The rules of the failures that a tool answers with, beside those of its
// contract.
var recordRules = []Rule{
	{"no-record", "recovery-v1, the envelope: a failure carries code, message, field and retry_after_ms, all four always present"},
	{"record-code", "recovery-v1, order of the conditions: input, authentication, access, dependency; the first that fails gives the code"},
	{"record-field", "recovery-v1, the envelope: field names the argument to correct, and is null where none applies"},
	{"record-wait", "recovery-v1, the envelope: TEMP_UNAVAILABLE supplies the delay; it is null where none applies"},
	{"record-message", "recovery-v1, the envelope: the message asks for the required format"},
	{"wire-failure", "catalogue-v1, on a wire: a failed answer begins with the literal members, and a valid failure that repeats none of them follows"},
}

var rules = map[Contract][]Rule{
	RecoveryV1:  slices.Concat(recoveryRules, recordRules),
	CatalogueV1: slices.Concat(catalogueRules, recordRules),
	GuardV1:     guardRules,
	PlatformV1:  platformRules,
	BrowserV1:   slices.Concat(selectionRules, finalRules),
}

// judged is how the cases of a contract are read, checked and compared.
type judged struct {
	identity string // the member that identifies a case in its results
	read     func(*Case, members) error
	lint     func(*lint, *Case)
	compare  func(*findings, *Case, []jsontext.Value)
}

var contracts = map[Contract]judged{
	RecoveryV1:  {"case", (*Case).readConditions, (*lint).checkExecutions, compareTraces},
	CatalogueV1: {"request_id", (*Case).readRequest, (*lint).checkAnswer, compareAnswers},
	GuardV1:     {"case", (*Case).readGuarded, (*lint).checkGuarded, compareGuarded},
	PlatformV1:  {"case", (*Case).readCall, (*lint).checkReading, compareReadings},
	BrowserV1:   {"id", (*Case).readAsked, (*lint).checkRecorded, compareRecorded},
}

// hasFixture reports whether the suites of a contract ask about an inventory.
func (c Contract) hasFixture() bool { return c == CatalogueV1 || c == BrowserV1 }

// contractNames lists the contracts, as messages do.
func contractNames() string {
	var names []string
	for _, contract := range slices.Sorted(maps.Keys(contracts)) {
		names = append(names, string(contract))
	}
	return strings.Join(names, ", ")
}

// Rules lists the rules of a contract in the order in which one line is held to
// them.
func Rules(c Contract) []Rule { return slices.Clone(rules[c]) }

// rank is the place of a rule in its contract's order; -1 if it has none.
func rank(c Contract, name string) int {
	return slices.IndexFunc(rules[c], func(r Rule) bool { return r.Name == name })
}

// clause is what a rule of a contract rests on.
func clause(c Contract, name string) string {
	if i := rank(c, name); i >= 0 {
		return rules[c][i].Clause
	}
	return ""
}

// Package oracle judges results against frozen suites. It imports nothing of
// ours, so that no fault can be shared between what is judged and the judge,
// and it runs nothing: what is judged comes in as bytes.
//
// # A suite
//
// A suite is one JSON object, decoded strictly: a duplicate or unknown member
// is an error.
//
//	suite, version   its name and edition
//	contract         recovery-v1, catalogue-v1, guard-v1, platform-v1 or browser-v1: which rules apply
//	sha256           of its case lines, each followed by a newline
//	oracle_sha256    of its oracle lines, then all lines beside them, the same way
//	fixture          the inventory of a catalogue suite or one of recordings: {"name", "items"}
//	controls         wrong results, each with the rule that must reject it
//	cases            why, clause, case, oracle and, for recovery, records; for
//	                 recordings, expects, accepted and undecided
//
// A case line holds conditions without expectations, an oracle line the
// literal result. Both are compared and hashed as the bytes that stand in the
// file. A recovery case has one of two forms:
//
//	{"case","input","auth_ok","allowed","responses":[CODE…],"correction":INPUT|null,"renewal"}
//	{"case","input","auth_ok","allowed","responses":[{"code","retry_after_ms"}…],"corrections":[INPUT…],"renewal"}
//
// In the first, TEMP_UNAVAILABLE asks for 1000 ms, and the one correction is
// supplied each time that one is asked for; in the second, corrections are
// supplied one after another until they are used up. A catalogue case is a
// typed request with the member tool, and its oracle is one answer. A platform
// case is one call of a tool in a browser, and its oracle what a driver must
// make of it:
//
//	{"case","through":"executeTool"|"invokeTool","tool","effect":"read"|"unsafe","does","caller","input"}
//	{"case","reading","failure":"platform"|"application"|null,"disposition","executions"}
//
// A guard case is a contract or none, a server that answers by a script, and calls
// and events at exact times; its oracle has a line for each call, or for calls of
// a step that are answered alike, and one for the whole (SPEC.md, section 10):
//
//	{"case","contract","mode","trust_annotations","credentials","tools":{NAME:TOOL…},"steps":[CALL|EVENT…]}
//	{"case","step","first","last","answered_from","code","content","execution","retry_at_ms","since_ms","again_at_ms","replayed","would","state"}
//	{"case","executed":{NAME:[MS…]…},"effects":{NAME:[MS…]…},"keys":{NAME:[NUMBER|null…]…}}
//
// A browser case is a request in the user's words, and its oracle a recording
// that passes. Expects holds what any recording of it is held to: the tools that
// may be selected, the parameters that ask what the user asked, the literal
// result, what the final answer must claim, may claim and may not claim. Accepted
// and undecided are further final answers, with the verdict that the grammar in
// browser_text.go must come to:
//
//	{"id","request"}
//	{"id","request","tool","parameters","result","answer":{"text","claims":[CLAIM…]}}
//	{"tools","parameters","result","preserves":[CLAIM…],"may_claim":[CLAIM…],"may_not_claim":[KIND…]}
//
// # A verdict
//
// A case passes if its results are the oracle's, byte for byte, and fails
// otherwise, with every rule that it breaks, 50 at most. It fails by one of
// them: by the numbering, without which its lines cannot be told apart, else by
// what was done after the end if anything was, else by the first line that
// differs, and there by the first in the order of [Rules]. Results that cannot be attributed to a case of
// the suite, a case without a line and cases out of order fail no case: they
// make the run void (exit code 3), as do a suite that its own hash or lint
// rejects, a control that is accepted or rejected by another rule than its
// own, and a mutant that survives.
//
// # Mutants
//
// A control shows that one wrong result is rejected. [Suite.Prove] goes on: it
// changes each correct result by every operator of [Operators] and expects
// each to be rejected by the rule that the operator breaks.
package oracle

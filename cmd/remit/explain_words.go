package main

import "remit.example/record"

// The meanings, in the order in which they are listed. What follows from a
// code is not written here: it is read from the decision tables.
var (
	codeMeanings = []meaning{
		{string(record.OK), "The execution ended without a failure."},
		{string(record.InvalidArgument), "An argument is wrong. The record names the field and what would be valid; the unchanged input is never sent again."},
		{string(record.AuthRequired), "There are no valid credentials. Authenticate through the application's approved flow, once; then the same call may be repeated."},
		{string(record.AccessDenied), "The principal may not do this. Renewed authentication does not change that, and another way round is not permitted either."},
		{string(record.TempUnavailable), "The work was definitely not executed. It may be repeated, unchanged, after the record's wait and not before."},
		{string(record.QuotaExhausted), "A quota is used up. The record's wait tells when it resets; waiting for that is a new task."},
		{string(record.PreconditionFailed), "The state is not what the caller assumed. Read it again before anything else; then decide anew."},
		{string(record.OutcomeUnknown), "The work may have taken effect. A write is never repeated to find out: ask for its status."},
		{string(record.InProgress), "The same operation is being executed. Wait, and ask for its status; do not start it again."},
		{string(record.KeyReused), "The operation key was used before with other arguments. Nothing was executed; a new intent takes a new key."},
	}
	nextMeanings = []meaning{
		{string(record.CorrectInput), "Send a corrected value of the named fields, if one is known; ask for it otherwise. It draws on the same budget."},
		{string(record.Authenticate), "Renew the authentication through the approved flow, at most once in a task; then repeat the call."},
		{string(record.WaitAndRetry), "Wait as long as the record says, then repeat the unchanged call, while budget remains. After IN_PROGRESS the status is asked for instead, and nothing is executed."},
		{string(record.CheckStatus), "Ask what became of the operation, with a read. Do not execute it again before that is known."},
		{string(record.RefreshState), "Read the state again, then decide; a changed call is permitted, the unchanged one is not."},
		{string(record.Stop), "End the task and report it. Nothing that the caller can do in this task changes the answer."},
	}
	stopMeanings = []meaning{
		{string(record.Success), "The task is complete."},
		{string(record.NeedsInput), "A corrected or renewed input is needed that nobody supplied."},
		{string(record.NeedsAuth), "Authentication is needed that was not renewed, or was renewed once already."},
		{string(record.RetryExhausted), "The budget of executions is used up, and the last of them found the service unavailable."},
		{string(record.RetryLater), "The next wait is longer than the cap or the deadline. The server's time is kept: come back then. recovery-v1 has no cap."},
		{string(record.QuotaSpent), "The quota is used up until it resets."},
		{string(record.Refused), "The principal may not do this."},
		{string(record.Unknown), "A code that the reader does not know; the answer is kept for diagnosis."},
		{string(record.UnknownOutcome), "A write may have taken effect, and nobody knows. People settle it, or a status that can be asked for."},
		{string(record.Cancelled), "The caller cancelled. That is never repeated."},
	}
	effectMeanings = []meaning{
		{string(record.Read), "Nothing changes, however often it is executed."},
		{string(record.Idempotent), "The same arguments twice have one effect, and the operator says so."},
		{string(record.Keyed), "The upstream honours an operation key: one effect for each key."},
		{string(record.Unsafe), "Anything else, and the default: repeating may do it twice."},
	}
	keyMeanings = map[record.Key]string{
		record.MustReuse:  "The operation key must be reused: a repetition with a new key would be a second operation.",
		record.MustRotate: "The operation key must be rotated: the corrected call is another operation, and takes a new key.",
	}
)

// meaning is one name of the contract and what it means.
type meaning struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

const unknownMeaning = "No code of recovery-v2 has this name, and an unknown code stops the task, always: nothing permits a repetition, not its name, not its message. Keep the answer for diagnosis."

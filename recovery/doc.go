// Package recovery decides what a failure permits, and does it: wait, change
// the input, restore access, ask what became of an operation, or end.
//
// A retry is justified only when the next execution can plausibly end
// differently and repeating the operation is safe. The first is said by the
// failure's code, the second by the tool's effect, and so a decision is
// failure × effect: one cell of a [Table], [V1] or [V2]. Only typed members
// are decided on, never the text of a message.
//
// # The policy
//
// [Decide] is a pure function of the table, the effect, the limits, the
// task's history, the time and what happened. It holds no timer, reads no
// clock and allocates nothing.
//
//   - A task has one budget of executions, three unless it says otherwise,
//     shared by retries, corrections and renewals. When it is spent the action
//     is stop and the disposition is the code's own.
//   - Authentication is renewed once. AUTH_REQUIRED after that ends the task.
//   - An input that was refused is never sent again, not as its own correction
//     and not later. A history remembers eight of them; a task that would need
//     more takes no further correction.
//   - TEMP_UNAVAILABLE says that the work was definitely not executed: it may
//     be repeated whatever the effect, after the server's wait and never
//     before the local minimum delay.
//   - A wait longer than the cap, or one that reaches the deadline, ends the
//     task now, as retry_later. V1 has no cap and no such end: there only a
//     deadline ends the task early, as the code's own disposition.
//   - An unsafe execution whose outcome is not known is never repeated. Its
//     status may be asked for, which is a read and no execution; there are at
//     most as many such checks as executions.
//   - IN_PROGRESS waits on the status; without a status to ask, it ends.
//   - A code that the table does not name stops, however familiar it looks.
//   - retry: forbidden, and a server's own next: stop, end the task whatever
//     the code permits.
//   - A clock that goes backwards stands still.
//
// # The runner
//
// [Do] runs any function under the policy and owns time. [Transport] does the
// same for HTTP requests. What a caller sees itself, a lost connection or a
// status without a record, becomes a record in [Classify] and
// [ClassifyResponse].
//
// A wait is monotonic, and the context is asked again when it is over. Jitter
// is only ever added. A caller's cancellation is never retried: a task that
// was cancelled ends as cancelled, or, where a write had started and nothing
// says what became of it, as outcome_unknown.
//
// The package uses the standard library and remit.example/record only.
package recovery

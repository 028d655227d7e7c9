"""Wrong: it repeats the unchanged read after ACCESS_DENIED, within the budget."""

import correct


class RetriesARefusal(correct.Policy):
    def decide(self, code, executions, renewals):
        if code == "ACCESS_DENIED" and executions < self.budget:
            return "wait_and_retry", "refused"
        return super().decide(code, executions, renewals)


correct.write(correct.traces(RetriesARefusal()))

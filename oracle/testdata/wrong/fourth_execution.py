"""Wrong: its budget is four executions."""

import correct


class FourthExecution(correct.Policy):
    budget = 4


correct.write(correct.traces(FourthExecution()))

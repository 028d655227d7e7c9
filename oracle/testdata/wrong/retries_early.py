"""Wrong: it repeats one millisecond before the delay has passed."""

import correct


class RetriesEarly(correct.Policy):
    def pause(self, wait):
        return max(0, wait - 1)


correct.write(correct.traces(RetriesEarly()))

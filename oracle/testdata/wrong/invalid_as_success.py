"""Wrong: it declares an invalid reference successful."""

import correct


class InvalidAsSuccess(correct.Policy):
    def answer(self, case, given, auth_ok, responses):
        if not self.valid(given):
            return "OK", 0
        return super().answer(case, given, auth_ok, responses)


correct.write(correct.traces(InvalidAsSuccess()))

"""A correct implementation of recovery-v1. Each program beside it overrides one thing.

It trusts its input, and a script that runs out repeats its last response, so
that a program that executes once too often is answered.
"""

import json
import re
import sys

TABLE = {
    "OK": ("complete", "success"),
    "INVALID_ARGUMENT": ("request_correction", "needs_input"),
    "AUTH_REQUIRED": ("request_authentication", "needs_auth"),
    "TEMP_UNAVAILABLE": ("wait_and_retry", "retry_exhausted"),
    "ACCESS_DENIED": ("stop", "refused"),
}


class Policy:
    budget = 3

    def decide(self, code, executions, renewals):
        """Gives the action, and how the case ends unless the action leads to another execution."""
        action, ends_as = TABLE.get(code, ("stop", "unknown"))
        if code != "OK" and (executions >= self.budget or (code == "AUTH_REQUIRED" and renewals > 0)):
            action = "stop"
        return action, ends_as

    def valid(self, given):
        return re.fullmatch("SHIP-[0-9]{3}", str(given.get("shipment_ref"))) is not None

    def pause(self, wait):
        return wait

    def answer(self, case, given, auth_ok, responses):
        """One execution of the task: its code and its wait."""
        if not self.valid(given):
            return "INVALID_ARGUMENT", 0
        if not auth_ok:
            return "AUTH_REQUIRED", 0
        if not case["allowed"]:
            return "ACCESS_DENIED", 0
        response = responses.pop(0) if len(responses) > 1 else responses[0]
        return (response, 1000) if isinstance(response, str) else (response["code"], response["retry_after_ms"] or 0)

    def trace(self, case):
        given, auth_ok, now, renewals, refused, lines = case["input"], case["auth_ok"], 0, 0, [], []
        responses = list(case["responses"])
        corrections = list(case["corrections"]) if "corrections" in case else [case["correction"]] * self.budget
        while True:
            code, wait = self.answer(case, given, auth_ok, responses)
            action, ends_as = self.decide(code, len(lines) + 1, renewals)
            lines.append({"case": case["case"], "execution": len(lines) + 1, "input": given, "auth_ok": auth_ok,
                          "code": code, "action": action, "at_ms": now, "disposition": None})
            if action == "wait_and_retry":
                now += self.pause(wait)
            elif action == "request_authentication" and case["renewal"]:
                auth_ok, renewals = True, renewals + 1
            elif action == "request_correction" and corrections and corrections[0] not in (None, given, *refused):
                refused.append(given)
                given = corrections.pop(0)
            else:
                lines[-1]["disposition"] = ends_as
                return lines


def traces(policy=Policy()):
    """The traces of the cases on standard input, a list for each case."""
    return [policy.trace(json.loads(line)) for line in sys.stdin.buffer]


def write(traces):
    for line in [line for trace in traces for line in trace]:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.buffer.write(f"{text}\n".encode())


if __name__ == "__main__":
    write(traces())

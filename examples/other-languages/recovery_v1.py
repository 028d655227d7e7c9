"""recovery-v1 in Python: a retry policy, and a program that shows what it does.

The program reads case lines on standard input and writes one trace line for each
execution. Copy RULES and decide; the rest stands in for your own runner and task.
It needs Python 3.11 and nothing beside it. This judges it:

    remit check recovery-v1 -- python3 examples/other-languages/recovery_v1.py
"""

import itertools
import json
import re
import sys
from typing import NamedTuple

BUDGET = 3  # executions in all; corrections and renewals draw on it too


class Rule(NamedTuple):
    action: str  # the permitted next action
    ends_as: str  # the disposition, unless that action leads to another execution


RULES = {
    "OK": Rule("complete", "success"),
    "INVALID_ARGUMENT": Rule("request_correction", "needs_input"),
    "AUTH_REQUIRED": Rule("request_authentication", "needs_auth"),
    "TEMP_UNAVAILABLE": Rule("wait_and_retry", "retry_exhausted"),
    "ACCESS_DENIED": Rule("stop", "refused"),
}
ANY_OTHER_CODE = Rule("stop", "unknown")


def decide(code, executions, renewals):
    """The policy. What it permits follows from its arguments alone, and from no message."""
    rule = RULES.get(code, ANY_OTHER_CODE)
    spent = executions >= BUDGET or (code == "AUTH_REQUIRED" and renewals > 0)
    return rule._replace(action="stop") if spent and code != "OK" else rule


def run(case):
    """The runner: executes one case on a simulated clock, where nothing sleeps, and gives its trace."""
    given, auth_ok, now_ms, renewals, refused, trace = case["input"], case["auth_ok"], 0, 0, [], []
    for execution in itertools.count(1):
        answer = delivery_status(given, auth_ok, case["allowed"], case["responses"])
        action, ends_as = decide(answer["code"], execution, renewals)
        line = {"case": case["case"], "execution": execution, "input": given, "auth_ok": auth_ok,
                "code": answer["code"], "action": action, "at_ms": now_ms, "disposition": None}
        trace.append(line)
        goes_on = False
        if action == "request_correction":
            refused.append(compact(given.get("shipment_ref")))
            given = next(case["corrections"], None)  # None: nobody supplied one
            goes_on = given is not None and compact(given.get("shipment_ref")) not in refused
        elif action == "request_authentication" and case["renewal"]:
            auth_ok, renewals, goes_on = True, renewals + 1, True
        elif action == "wait_and_retry":
            now_ms, goes_on = now_ms + answer["retry_after_ms"], True
        if not goes_on:
            line["disposition"] = ends_as
            return trace


def delivery_status(given, auth_ok, allowed, responses):
    """The simulated task, a read. The first condition that fails gives the code."""
    ref = given.get("shipment_ref")
    if not isinstance(ref, str) or not re.fullmatch("SHIP-[0-9]{3}", ref):
        return envelope("INVALID_ARGUMENT", "The shipment_ref must be SHIP- and three digits.", "shipment_ref")
    if not auth_ok:
        return envelope("AUTH_REQUIRED", "Authenticate through the application.")
    if not allowed:
        return envelope("ACCESS_DENIED", "This principal may not read the shipment.")
    for response in responses:
        return envelope(response["code"], retry_after_ms=response["retry_after_ms"])
    raise ValueError("the script runs out of responses")


def envelope(code, message=None, field=None, retry_after_ms=None):
    return {"code": code, "message": message, "field": field, "retry_after_ms": retry_after_ms}


def read_case(text):
    """Decodes a case line. Both formats become one, whose responses and corrections are used up."""
    case = json.loads(text)
    for name in "auth_ok", "allowed", "renewal":
        member(case, name, bool)
    member(case, "case", str)
    member(case, "input", dict)
    responses = member(case, "responses", list)
    if "corrections" in case:
        case["corrections"] = iter([typed(c, "corrections", dict) for c in member(case, "corrections", list)])
    else:
        case["corrections"] = itertools.repeat(member(case, "correction", dict, type(None)))
        responses = [{"code": c, "retry_after_ms": 1000 if c == "TEMP_UNAVAILABLE" else None} for c in responses]
    for response in responses:
        waits = [int] if member(response, "code", str) == "TEMP_UNAVAILABLE" else [int, type(None)]
        if (member(response, "retry_after_ms", *waits) or 0) < 0:
            raise ValueError("retry_after_ms is negative")
    case["responses"] = iter(responses)
    return case


def member(of, name, *types):
    return typed(of.get(name, ...) if isinstance(of, dict) else ..., name, *types)


def typed(value, name, *types):
    if type(value) not in types:
        raise ValueError(f"{name} is missing or has a wrong type")
    return value


def compact(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def main():
    out = b""
    for number, text in enumerate(sys.stdin.buffer, 1):
        try:
            out += b"".join(f"{compact(line)}\n".encode() for line in run(read_case(text.decode())))
        except (ValueError, RecursionError) as fault:
            print(f"line {number}: {fault}", file=sys.stderr)
            return 2
    sys.stdout.buffer.write(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

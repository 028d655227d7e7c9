#!/usr/bin/env python3
"""A guard over scripted tools: reads the cases of guard-v1 on standard input and
writes their result lines. It shares nothing with the guard of this project;
the rules are those of SPEC.md, section 10, "What a guard lets through"."""

import heapq
import json
import re
import sys

LIMIT, QUIET, TTL, REAUTH, WINDOW = 3, 600_000, 900_000, 60_000, 600_000
HOLD, LONGEST, WAIT, SILENCE = 5_000, 60_000, 1_000, 600_000

TYPED = {"INVALID_ARGUMENT", "AUTH_REQUIRED", "ACCESS_DENIED", "TEMP_UNAVAILABLE", "QUOTA_EXHAUSTED",
         "PRECONDITION_FAILED", "OUTCOME_UNKNOWN", "IN_PROGRESS", "KEY_REUSED"}
TEMPORARY = {408, 425, 429, 503}
STATUSES = {401: "AUTH_REQUIRED", 403: "ACCESS_DENIED", 412: "PRECONDITION_FAILED", 428: "PRECONDITION_FAILED"}


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def milliseconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()
    return int(number) * {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}[unit]


def ordered(by_name):
    return {name: by_name[name] for name in sorted(by_name)}


class Failure:
    def __init__(self, code, wait=None, field=None, lost=False, unsent=False):
        self.code, self.wait, self.field, self.lost, self.unsent = code, wait, field, lost, unsent


class Plan:
    """What the contract says of a tool."""

    def __init__(self, case, name):
        tool, self.name = case["tools"].get(name, {}), name
        self.contract = case["contract"]
        declared = ((self.contract or {}).get("tools") or {}).get(name, {})
        trusted = not self.contract and case["trust_annotations"] and tool.get("read_only")
        self.effect = "read" if trusted else declared.get("effect", "unsafe")
        self.absorb, self.status = declared.get("absorb", False), declared.get("status")
        self.identity = declared.get("identity")
        self.key = (declared.get("key") or {}).get("argument")
        self.mints = (declared.get("key") or {}).get("by") == "guard"
        self.timeout = milliseconds(declared["timeout"]) if "timeout" in declared else SILENCE
        self.rules = declared.get("failures", []) + (self.contract or {}).get("failures", [])

    @property
    def writes(self):
        return self.effect != "read"

    def lost(self):
        """No answer came, and the request may have been executed."""
        if self.effect == "unsafe":
            return Failure("OUTCOME_UNKNOWN", lost=True)
        return Failure("TEMP_UNAVAILABLE", WAIT, lost=True)

    def failure(self, answer):
        """What an answer says failed; None of a success."""
        if "ok" in answer:
            return None
        if "prose" in answer:
            return self.worded(answer["prose"])
        if "code" in answer:
            wait = answer.get("retry_after_ms")
            if wait is None and answer["code"] in ("TEMP_UNAVAILABLE", "IN_PROGRESS", "OUTCOME_UNKNOWN"):
                wait = WAIT
            return Failure(answer["code"], wait, answer.get("field"))
        if "rpc" in answer:
            return Failure("RPC_%d" % answer["rpc"])
        if "http" in answer:
            return self.status_line(answer)
        if "unsent" in answer:
            return Failure("TEMP_UNAVAILABLE", WAIT, unsent=True)
        return self.lost()

    def worded(self, text):
        for rule in self.rules:
            found = re.fullmatch(rule.get("when", {}).get("text", "$."), text)
            if found and self.effect in rule.get("effects", [self.effect]):
                wait = rule.get("wait")
                if wait == "seconds":
                    wait = int(found.group("seconds")) * 1_000
                return Failure(rule["is"], wait, rule.get("field"))
        return Failure("UNDECLARED_FAILURE")

    def status_line(self, answer):
        status = answer["http"]
        wait = int(answer["retry_after"]) * 1_000 if "retry_after" in answer else WAIT
        if status in TEMPORARY:
            return Failure("TEMP_UNAVAILABLE", wait)
        if status in STATUSES:
            return Failure(STATUSES[status])
        if status in (502, 504):
            return self.lost()
        if status == 500 and self.writes:
            return Failure("OUTCOME_UNKNOWN", WAIT)
        if self.effect == "keyed" and status in (409, 422):
            return Failure({409: "IN_PROGRESS", 422: "KEY_REUSED"}[status], WAIT)
        return Failure("HTTP_%d" % status)

    def leaves_unknown(self, f):
        """Whether the effect of a write that failed so may be there."""
        if f.lost or f.code in ("OUTCOME_UNKNOWN", "IN_PROGRESS"):
            return True
        return f.code not in TYPED and self.contract is not None

    def memory(self, f, held):
        """How long the same call is answered from memory: (length, kind); a
        length of None has no end of its own, a kind of None is no memory."""
        if f.unsent or f.code == "TEMP_UNAVAILABLE" or f.code == "QUOTA_EXHAUSTED":
            return f.wait, "wait"
        if self.effect == "unsafe" and self.leaves_unknown(f):
            return None, None  # the ledger answers
        if f.code in ("INVALID_ARGUMENT", "ACCESS_DENIED", "PRECONDITION_FAILED"):
            return TTL, f.code
        if f.code == "AUTH_REQUIRED":
            return (None if held["seen"] else REAUTH), f.code
        if f.code == "IN_PROGRESS" or f.code == "OUTCOME_UNKNOWN" and self.effect != "keyed":
            return f.wait, "wait"
        if f.code == "KEY_REUSED" and self.effect in ("keyed", "unsafe"):
            return TTL, f.code
        return min(LONGEST, 2 * held["hold"]) if held["hold"] else HOLD, "hold"


FINAL = {"ACCESS_DENIED", "QUOTA_EXHAUSTED", "KEY_REUSED"}


def final(f):
    return f.code in FINAL or f.code not in TYPED


class Upstream:
    def __init__(self, world, tools):
        self.world, self.tools, self.count = world, tools, 0
        self.used = {name: 0 for name in tools}
        self.executed = {name: [] for name in tools}
        self.effects = {name: [] for name in tools}
        self.had = {name: set() for name in tools}
        self.keys = {name: [] for name in tools if world.declares_key(name)}

    def send(self, plan, arguments, done):
        """Executes once; done gets the answer, its failure and the execution's number."""
        tool = self.tools[plan.name]
        answers = tool["answers"]
        answer = answers[min(self.used[plan.name], len(answers) - 1)]
        self.used[plan.name] += 1
        if "unsent" in answer:
            done(answer, plan.failure(answer), None)
            return
        self.count += 1
        number = self.count
        self.executed[plan.name].append(self.world.now)
        if plan.key:
            self.keys[plan.name].append(arguments.get(plan.key))
        after = answer.get("after_ms", 0)
        effect = answer.get("effect_ms", after if tool.get("acts") and "ok" in answer else None)
        if effect is not None:
            self.world.at(self.world.now + effect, 0, lambda: self.act(plan.name, arguments))
        if "silent" in answer or after > plan.timeout:
            after, answer = plan.timeout, {"lost": True}
        self.world.at(self.world.now + after, 0, lambda: done(answer, plan.failure(answer), number))

    def act(self, name, arguments):
        once = self.tools[name].get("once_per")
        if once is not None:
            mark = canonical([arguments.get(each) for each in once])
            if mark in self.had[name]:
                return
            self.had[name].add(mark)
        self.effects[name].append(self.world.now)


class World:
    def __init__(self, case):
        self.case, self.now, self.queue, self.count = case, 0, [], 0

    def declares_key(self, name):
        return Plan(self.case, name).key is not None

    def at(self, when, order, do):
        """What is due at the same time: answers of the upstream first."""
        if when == self.now and order == 0:
            do()
            return
        self.count += 1
        heapq.heappush(self.queue, (when, order, self.count, do))

    def run(self):
        while self.queue:
            self.now, _, _, do = heapq.heappop(self.queue)
            do()


class Guard:
    def __init__(self, case):
        self.case, self.world = case, World(case)
        self.upstream = Upstream(self.world, case["tools"])
        self.seen = case["credentials"] == "seen"
        self.schemas = {name: tool["schema"] for name, tool in case["tools"].items()}
        self.credentials, self.connections = {}, {}
        self.memories, self.tasks = {}, []
        self.operations, self.lines, self.minted, self.of_step = [], {}, 0, {}

    # What ends memory.

    def forget(self, caller, which):
        """Drops memories and the tasks that they belong to."""
        for key, m in list(self.memories.items()):
            if key[0] == caller and which(m):
                del self.memories[key]
                self.tasks = [t for t in self.tasks if not (t["owner"][0] == caller and key[1] == t["owner"][2] and key[2] in t["arguments"])]

    def succeeded(self, caller, plan):
        kinds = {"PRECONDITION_FAILED"}
        if plan.writes:
            kinds |= {"AUTH_REQUIRED", "INVALID_ARGUMENT", "hold"}
        self.forget(caller, lambda m: m["kind"] in kinds)

    def event(self, step):
        caller, now = step.get("caller"), self.world.now
        if step["event"] == "credentials" and self.seen:
            self.credentials[caller] = self.credentials.get(caller, 0) + 1
            self.forget(caller, lambda m: m["kind"] in ("AUTH_REQUIRED", "ACCESS_DENIED"))
        elif step["event"] == "reconnect":
            self.connections[caller] = self.connections.get(caller, 0) + 1
        elif step["event"] == "restart":
            for each in {key[0] for key in self.memories}:
                self.forget(each, lambda m: m["kind"] == "AUTH_REQUIRED")
        elif step["event"] == "forget":
            for key in list(self.memories):
                if key[1] == step["tool"] and self.memories[key]["kind"] == "ACCESS_DENIED":
                    del self.memories[key]
        elif step["event"] == "schema":
            self.schemas[step["tool"]] = step["schema"]
            for key in list(self.memories):
                if key[1] == step["tool"]:
                    self.forget(key[0], lambda m, tool=step["tool"]: m["kind"] == "INVALID_ARGUMENT" and m["tool"] == tool)

    # Calls.

    def fits(self, name, arguments):
        schema = self.schemas.get(name, {})
        kinds = {"string": str, "integer": int, "boolean": bool}
        properties = schema.get("properties", {})
        if any(each not in arguments for each in schema.get("required", [])):
            return False
        if schema.get("additionalProperties") is False and any(each not in properties for each in arguments):
            return False
        for each, value in arguments.items():
            kind = properties.get(each, {}).get("type")
            if kind and (not isinstance(value, kinds[kind]) or kind == "integer" and isinstance(value, bool)):
                return False
        return True

    def task_of(self, caller, plan, arguments, named):
        owner = (caller, self.connections.get(caller, 0), plan.name)
        text = canonical(arguments)
        self.tasks = [t for t in self.tasks if self.world.now - t["last"] < QUIET]
        for t in self.tasks:
            if t["owner"][0] == caller and t["owner"][2] == plan.name and t["named"] == named:
                if named or t["owner"] == owner and (text in t["arguments"] or self.corrects(t, arguments)):
                    return t
        return None

    def corrects(self, t, arguments):
        if self.case["contract"] is None or t["field"] is None:
            return False
        last = dict(t["given"])
        rest = dict(arguments)
        last.pop(t["field"], None)
        rest.pop(t["field"], None)
        return canonical(last) == canonical(rest)

    def refusal(self, caller, plan, arguments, named):
        """Who answers in the place of the tool, with which code, since when and until
        when it is remembered; or None."""
        if not self.fits(plan.name, arguments):
            return "validation", "INVALID_ARGUMENT", None, None
        t = self.task_of(caller, plan, arguments, named)
        key = (caller, plan.name, canonical(arguments))
        m = self.memories.get(key)
        if m and (m["until"] is None or self.world.now < m["until"]):
            until = m["until"]
            if until is not None and t and t["used"] >= LIMIT:
                until = max(until, t["last"] + QUIET)
            return "memory", m["failure"].code, m["at"], until
        if t and t["used"] >= LIMIT:
            return "memory", t["failure"].code, t["last"], t["last"] + QUIET
        return None

    def call(self, place, step, arguments):
        caller, now = step["caller"], self.world.now
        line = {"answered_from": None, "code": None, "content": None, "execution": None, "retry_at_ms": None,
                "since_ms": None, "again_at_ms": None, "replayed": False, "would": None, "state": None}
        self.lines[place] = line
        if step["call"] == "operation_status":
            self.ask(line, caller, arguments)
            return
        plan = Plan(self.case, step["call"])
        if plan.mints:
            arguments = {k: v for k, v in arguments.items() if k != plan.key}
        refused = self.refusal(caller, plan, arguments, step.get("task"))
        observing = self.case["mode"] == "observe"
        operation, verdict = None, None
        if not refused and plan.writes:
            verdict, operation = self.claim(caller, plan, arguments)
        if observing:
            line["would"] = refused[0] if refused else "tool" if verdict in (None, "execute", "again") else "ledger"
            if line["would"] == "ledger":
                operation = None
        elif refused:
            who, code, since, until = refused
            self.answer(line, who, code, replayed=who == "memory", retry_at=until)
            line["since_ms"], line["again_at_ms"] = since, until
            return
        elif verdict in ("held", "doubtful", "reused"):
            code = {"held": "IN_PROGRESS", "doubtful": "OUTCOME_UNKNOWN", "reused": "KEY_REUSED"}[verdict]
            self.of_step.setdefault(place[0], operation)
            self.answer(line, "ledger", code)
            return
        elif verdict == "replay":
            self.answer(line, "ledger", "OK", content=operation["content"], replayed=True)
            self.deliver(operation, step)
            return
        if operation is not None:
            self.of_step.setdefault(place[0], operation)
        gives_up = step.get("gives_up_ms")
        run = {"line": line, "gone": None if gives_up is None else now + gives_up, "place": place}
        self.execute(run, caller, plan, arguments, step, operation, observing)

    def execute(self, run, caller, plan, arguments, step, operation, observing):
        sent = dict(arguments)
        if operation is not None and plan.key and operation["key"] is not None:
            sent[plan.key] = operation["key"]
        t = self.task_of(caller, plan, arguments, step.get("task"))
        if t is None:
            t = {"owner": (caller, self.connections.get(caller, 0), plan.name), "named": step.get("task"), "arguments": set(),
                 "used": 0, "last": self.world.now, "failure": None, "field": None, "given": arguments}
            self.tasks.append(t)
        t["arguments"].add(canonical(arguments))
        t["given"] = arguments
        number = self.upstream.count + 1
        self.upstream.send(plan, sent, lambda answer, f, n: self.came(run, caller, plan, arguments, step, operation, observing, t, answer, f, n))
        if self.upstream.count == number and run["line"]["execution"] is None:
            run["line"]["execution"] = number

    def came(self, run, caller, plan, arguments, step, operation, observing, t, answer, f, number):
        now, line, key = self.world.now, run["line"], (caller, plan.name, canonical(arguments))
        if number is not None:
            t["used"] += 1
            t["last"] = now
        gone = run["gone"] is not None and now >= run["gone"]
        if operation is not None:
            operation["state"] = "confirmed" if f is None else "unknown" if plan.leaves_unknown(f) else "refused"
            operation["settled"], operation["content"] = now, answer.get("ok")
        if f is None:
            self.memories.pop(key, None)
            self.tasks = [each for each in self.tasks if each is not t]
            self.succeeded(caller, plan)
        else:
            before = self.memories.get(key)
            length, kind = plan.memory(f, {"seen": self.seen, "hold": before["hold"] if before else 0})
            if kind is None:
                self.memories.pop(key, None)
            else:
                self.memories[key] = {"failure": f, "kind": kind, "tool": plan.name, "hold": length if kind == "hold" else 0,
                                      "at": now, "until": None if length is None else now + length}
            t["failure"], t["field"] = f, f.field
            if final(f):
                self.tasks = [each for each in self.tasks if each is not t]
            if plan.absorb and not observing and f.code == "TEMP_UNAVAILABLE" and t["used"] < LIMIT and not gone:
                self.world.at(now + f.wait, 0, lambda: self.execute(run, caller, plan, arguments, step, operation, observing))
                return
        if operation is not None and f is None:
            operation["delivery"] = "undelivered" if gone else None
        line["execution"] = number
        if gone:
            return
        wait = f.wait if f else None
        self.answer(line, "tool", f.code if f else "OK", content=answer.get("ok") if f is None else None,
                    retry_at=None if wait is None else now + wait)
        if operation is not None and f is None:
            self.deliver(operation, step)

    @staticmethod
    def answer(line, who, code, content=None, replayed=False, retry_at=None):
        line.update(answered_from=who, code=code, content=content, replayed=replayed,
                    retry_at_ms=retry_at if code in ("TEMP_UNAVAILABLE", "QUOTA_EXHAUSTED") else None)

    def deliver(self, operation, step):
        known = step.get("delivered", True)
        if known is None:  # another guard goes on with the ledger alone
            self.memories, self.tasks = {}, []
        elif operation["delivery"] != "delivered":
            operation["delivery"] = "delivered" if known else "undelivered"

    # The ledger.

    def claim(self, caller, plan, arguments):
        rest = {k: v for k, v in arguments.items() if k != plan.key}
        given = arguments.get(plan.key) if plan.key and not plan.mints else None
        scope, print_ = (caller, plan.name), canonical(rest)
        intent = canonical([rest.get(each) for each in plan.identity]) if plan.identity else print_
        line = [o for o in self.operations if o["scope"] == scope and o["intent"] == intent]
        by_key = [o for o in self.operations if o["scope"] == scope and given is not None and o["given"] == given]
        for o in by_key:
            if o["print"] != print_ and o["state"] != "refused":
                return "reused", o
        open_ = [o for o in self.operations if (o in line or o in by_key) and o["state"] in ("sent", "unknown")]
        for o in open_:
            if o["state"] == "sent":
                return "held", o
        repeatable = plan.effect == "idempotent" or plan.effect == "keyed" and (plan.mints or given is not None)
        if open_:
            o = open_[0]
            if len(open_) > 1 or not o["repeatable"] or not repeatable or o["print"] != print_:
                return "doubtful", o
            o["state"] = "sent"
            return "again", o
        for o in reversed(by_key):
            if o["state"] == "confirmed":
                return "replay", o
        confirmed = [o for o in line if o["state"] == "confirmed"]
        if confirmed:
            o = confirmed[-1]
            if o["print"] != print_:
                return "reused", o
            if o["delivery"] == "undelivered" or o["delivery"] is None and self.world.now < o["settled"] + WINDOW:
                return "replay", o
        self.minted += 1
        o = {"scope": scope, "print": print_, "intent": intent, "given": given, "key": "minted %d" % self.minted if plan.mints else given,
             "repeatable": repeatable, "state": "sent", "delivery": None, "settled": None, "content": None, "arguments": arguments}
        self.operations.append(o)
        return "execute", o

    def ask(self, line, caller, arguments):
        """The status tool beside guarded writes."""
        operation = self.of_step[arguments["id"]["of"]]
        if operation["scope"][0] != caller:
            self.answer(line, "ledger", "INVALID_ARGUMENT")
            return
        status = Plan(self.case, operation["scope"][1]).status
        if operation["state"] == "unknown" and status:
            read = Plan(self.case, status["tool"])
            asked = {name: operation["arguments"].get(of) for name, of in status.get("with", {}).items()}
            self.upstream.send(read, asked, lambda answer, f, n: self.told(operation, status, answer))
        self.answer(line, "ledger", "OK")
        line["state"] = operation["state"]

    @staticmethod
    def told(operation, status, answer):
        body = json.loads(answer.get("ok", "{}"))
        for member, state in (("applied", "confirmed"), ("not_applied", "refused")):
            said = status.get(member)
            if said and all(body.get(pointer[1:]) == text for pointer, text in said.items()):
                operation["state"] = state
                return

    # The whole case.

    def run(self):
        for number, step in enumerate(self.case["steps"], 1):
            for k in range(step.get("times", 1)):
                self.world.at(step["at_ms"] + k * step.get("every_ms", 0), 1, self.due(number, k + 1, step))
        self.world.run()
        return self.folded() + [self.total()]

    def due(self, number, k, step):
        def do():
            if "event" in step:
                self.event(step)
                return
            arguments = dict(step["arguments"])
            if "vary" in step:
                arguments[step["vary"]] = k
            self.call((number, k), step, arguments)
        return do

    def folded(self):
        """Consecutive calls of one step that are answered alike are one line."""
        lines = []
        for (number, k), values in sorted(self.lines.items()):
            line = {"case": self.case["case"], "step": number, "first": k, "last": k, **values}
            if lines and self.alike(lines[-1], line):
                lines[-1]["last"] = k
            else:
                lines.append(line)
        return lines

    def alike(self, before, line):
        """Executions are numbered on; an answer of the tool states its wait anew."""
        execution, retry_at, further = before["execution"], before["retry_at_ms"], line["first"] - before["first"]
        if execution is not None:
            execution += further
        if retry_at is not None and before["answered_from"] == "tool":
            retry_at += further * self.case["steps"][line["step"] - 1].get("every_ms", 0)
        rest = ("step", "answered_from", "code", "content", "since_ms", "again_at_ms", "replayed", "would", "state")
        return line["execution"] == execution and line["retry_at_ms"] == retry_at and all(line[each] == before[each] for each in rest)

    def total(self):
        keys = {}
        for name, values in self.upstream.keys.items():
            seen = []
            for value in values:
                if value is not None and value not in seen:
                    seen.append(value)
            keys[name] = [None if value is None else seen.index(value) + 1 for value in values]
        return {"case": self.case["case"], "executed": ordered(self.upstream.executed), "effects": ordered(self.upstream.effects),
                "keys": ordered(keys)}


def main():
    for text in sys.stdin:
        for line in Guard(json.loads(text)).run():
            print(json.dumps(line, separators=(",", ":"), ensure_ascii=False))


if __name__ == "__main__":
    main()

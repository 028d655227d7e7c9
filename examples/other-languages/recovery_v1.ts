// recovery-v1 in TypeScript: a retry policy, and a program that shows what it does.
//
// The program reads case lines on standard input and writes one trace line for each
// execution. Copy RULES and decide; the rest stands in for your own runner and task.
// It needs Node 22.18 or later, which runs it as it is, and no package. This judges it:
//
//     remit check recovery-v1 -- node examples/other-languages/recovery_v1.ts

import { readFileSync } from "node:fs";

const BUDGET = 3; // executions in all; corrections and renewals draw on it too

type Rule = {
  action: "complete" | "request_correction" | "request_authentication" | "wait_and_retry" | "stop"; // the permitted next one
  endsAs: string; // the disposition, unless that action leads to another execution
};

const RULES = new Map<string, Rule>([ // a Map: a code named "constructor" is any other code
  ["OK", { action: "complete", endsAs: "success" }],
  ["INVALID_ARGUMENT", { action: "request_correction", endsAs: "needs_input" }],
  ["AUTH_REQUIRED", { action: "request_authentication", endsAs: "needs_auth" }],
  ["TEMP_UNAVAILABLE", { action: "wait_and_retry", endsAs: "retry_exhausted" }],
  ["ACCESS_DENIED", { action: "stop", endsAs: "refused" }],
]);
const ANY_OTHER_CODE: Rule = { action: "stop", endsAs: "unknown" };

// decide is the policy. What it permits follows from its arguments alone, and from no message.
function decide(code: string, executions: number, renewals: number): Rule {
  const rule = RULES.get(code) ?? ANY_OTHER_CODE;
  const spent = executions >= BUDGET || (code === "AUTH_REQUIRED" && renewals > 0);
  return spent && code !== "OK" ? { ...rule, action: "stop" } : rule;
}

type Input = Record<string, unknown>;
type Envelope = { code: string; message: string | null; field: string | null; retry_after_ms: number | null };
type Response = { code: string; retry_after_ms: number | null };
type Case = {
  name: string; input: Input; authOk: boolean; allowed: boolean; renewal: boolean;
  responses: Response[]; // in order; each is used up
  correct: () => Input | null; // the next correction that the caller supplies
};

// run is the runner: it executes one case on a simulated clock, where nothing sleeps, and gives its trace.
function run(c: Case): object[] {
  let { input, authOk } = c;
  let [nowMs, renewals] = [0, 0];
  const refused: string[] = [];
  const trace: object[] = [];
  for (let execution = 1; ; execution++) {
    const answer = deliveryStatus(input, authOk, c.allowed, c.responses);
    const { action, endsAs } = decide(answer.code, execution, renewals);
    const line = { case: c.name, execution, input, auth_ok: authOk, code: answer.code, action, at_ms: nowMs };
    let goesOn = false;
    if (action === "request_correction") {
      refused.push(JSON.stringify(input.shipment_ref ?? null));
      const correction = c.correct();
      goesOn = correction !== null && !refused.includes(JSON.stringify(correction.shipment_ref ?? null));
      input = correction ?? input;
    } else if (action === "request_authentication" && c.renewal) {
      [authOk, renewals, goesOn] = [true, renewals + 1, true];
    } else if (action === "wait_and_retry") {
      [nowMs, goesOn] = [nowMs + (answer.retry_after_ms ?? 0), true];
    }
    trace.push({ ...line, disposition: goesOn ? null : endsAs });
    if (!goesOn) return trace;
  }
}

// deliveryStatus is the simulated task, a read. The first condition that fails gives the code.
function deliveryStatus(input: Input, authOk: boolean, allowed: boolean, responses: Response[]): Envelope {
  const ref = input.shipment_ref;
  if (typeof ref !== "string" || !/^SHIP-[0-9]{3}$/.test(ref)) {
    const message = "The shipment_ref must be SHIP- and three digits.";
    return { code: "INVALID_ARGUMENT", message, field: "shipment_ref", retry_after_ms: null };
  }
  const none = { message: null, field: null, retry_after_ms: null };
  if (!authOk) return { ...none, code: "AUTH_REQUIRED", message: "Authenticate through the application." };
  if (!allowed) return { ...none, code: "ACCESS_DENIED", message: "This principal may not read the shipment." };
  const response = responses.shift();
  if (response === undefined) throw new Error("the script runs out of responses");
  return { ...none, ...response };
}

// readCase decodes a case line; both formats become one.
function readCase(text: string): Case {
  const c: unknown = JSON.parse(text);
  const stated = isObject(c) && "corrections" in c; // the second format, which states each delay
  const read = member(c, "responses", isList).map((r): Response => stated
    ? { code: member(r, "code", isText), retry_after_ms: member(r, "retry_after_ms", isWait) }
    : { code: typed(r, "responses", isText), retry_after_ms: r === "TEMP_UNAVAILABLE" ? 1000 : null });
  if (read.some((r) => r.code === "TEMP_UNAVAILABLE" && r.retry_after_ms === null)) {
    throw new Error("TEMP_UNAVAILABLE has no retry_after_ms");
  }
  const corrections = stated ? member(c, "corrections", isObjects) : [];
  const correction = stated ? null : member(c, "correction", isObjectOrNull);
  return {
    name: member(c, "case", isText), input: member(c, "input", isObject), authOk: member(c, "auth_ok", isBool),
    allowed: member(c, "allowed", isBool), renewal: member(c, "renewal", isBool), responses: read,
    correct: () => corrections.shift() ?? correction,
  };
}

function member<T>(of: unknown, name: string, is: (v: unknown) => v is T): T {
  return typed(isObject(of) && Object.hasOwn(of, name) ? of[name] : undefined, name, is);
}

function typed<T>(value: unknown, name: string, is: (v: unknown) => v is T): T {
  if (!is(value)) throw new Error(`${name} is missing or has a wrong type`);
  return value;
}

const isText = (v: unknown): v is string => typeof v === "string";
const isBool = (v: unknown): v is boolean => typeof v === "boolean";
const isList = (v: unknown): v is unknown[] => Array.isArray(v);
const isObject = (v: unknown): v is Input => typeof v === "object" && v !== null && !isList(v);
const isObjects = (v: unknown): v is Input[] => isList(v) && v.every(isObject);
const isObjectOrNull = (v: unknown): v is Input | null => v === null || isObject(v);
const isWait = (v: unknown): v is number | null => v === null || (Number.isSafeInteger(v) && (v as number) >= 0);

function main(): number {
  const lines = readFileSync(0).toString("latin1").split("\n"); // bytes, so that a line that is not UTF-8 is found
  if (lines.at(-1) === "") lines.pop();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let out = "";
  for (const [i, bytes] of lines.entries()) {
    try {
      const text = decoder.decode(Buffer.from(bytes, "latin1"));
      out += run(readCase(text)).map((line) => `${JSON.stringify(line)}\n`).join("");
    } catch (fault) {
      console.error(`line ${i + 1}: ${fault instanceof Error ? fault.message : fault}`);
      return 2;
    }
  }
  process.stdout.write(out);
  return 0;
}

process.exitCode = main();

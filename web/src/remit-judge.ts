// What the page refuses by itself. The server has tried which values its tools
// refuse, and with which bytes: for each argument, by the class of the value
// that stands there. Where every argument's class is known and exactly one is
// refused, the answer is known too. In any other case the server judges.

/** A JSON Schema, as far as it says which class a value belongs to. */
export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
}

/** What the server refuses. */
export interface Refusals {
  /** By the argument's JSON Pointer and the class of its value: an index into bodies, or ACCEPTED. */
  readonly classes: Readonly<Record<string, Classes>>;
  /** The bytes of each refusal; between two parts stands the request's id. */
  readonly bodies: readonly (readonly string[])[];
}

const ACCEPTED = -1;

// The bounds of what is judged here, in UTF-16 units: of a whole input, of a
// text, of the JSON of a list or object that stands for something else. The
// server has bounds too, all of them beyond these.
const MAX_INPUT = 8000;
const MAX_TEXT = 100;
const MAX_SMALL = 999_999;

type Members = Readonly<Record<string, unknown>>;

/** The bytes with which the server would refuse a body; undefined where it has to be asked. */
export function refusal(body: string, schema: Schema, refusals: Refusals): string | undefined {
  const input = readable(body);
  const found: number[] = [];
  if (!isObject(input) || !judge(input, schema, "", refusals, found) || found.length !== 1) {
    return undefined;
  }
  const parts = refusals.bodies[found[0] as number] as readonly string[];
  const id = input["request_id"];
  return parts.length === 1 || typeof id === "string" ? parts.join(JSON.stringify(id)) : undefined;
}

/**
 * What a body says; undefined where it is long, or not written as this page would write it: with a member twice, as
 * 6e3, or with half of a surrogate pair, which is no JSON to the server.
 */
function readable(body: string): unknown {
  if (body.length > MAX_INPUT || /\\u[dD]/.test(body)) {
    return undefined;
  }
  try {
    const value: unknown = JSON.parse(body);
    return JSON.stringify(value) === body ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Adds to found what is refused in a value, and says whether that is all for certain. */
function judge(value: unknown, schema: Schema, pointer: string, refusals: Refusals, found: number[]): boolean {
  if (isObject(value) && schema.properties) {
    return judgeMembers(value, schema.properties, schema.required ?? [], pointer, refusals, found);
  }
  const known = at(refusals, pointer);
  return look(known, classOf(value, schema, "match" in known), found);
}

function judgeMembers(
  value: Members,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  pointer: string,
  refusals: Refusals,
  found: number[],
): boolean {
  const place = (name: string): string => `${pointer}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;
  return (
    Object.entries(value).every(
      ([name, member]) => Object.hasOwn(properties, name) && judge(member, properties[name] as Schema, place(name), refusals, found),
    ) && required.every((name) => Object.hasOwn(value, name) || look(at(refusals, place(name)), "missing", found))
  );
}

type Classes = Readonly<Record<string, number>>;

function at(refusals: Refusals, pointer: string): Classes {
  return (Object.hasOwn(refusals.classes, pointer) && refusals.classes[pointer]) || {};
}

function look(known: Classes, kind: string, found: number[]): boolean {
  const index = known[kind];
  if (index !== undefined && index !== ACCEPTED) {
    found.push(index);
  }
  return index !== undefined;
}

/** The class of a value; wire/webmcp tries values of each. A pattern counts only where it means the same here and there. */
function classOf(value: unknown, schema: Schema, patterned: boolean): string {
  if (value === null) {
    return "null";
  }
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "number":
      return numberClass(value, schema);
    case "string":
      return textClass(value, schema, patterned);
  }
  if (JSON.stringify(value).length > MAX_TEXT) {
    return "deep";
  }
  return isObject(value) ? "object" : (value as readonly unknown[]).length > 0 ? "list" : "none";
}

function numberClass(value: number, schema: Schema): string {
  const text = JSON.stringify(value);
  if (text.includes("e")) {
    return "exponent";
  }
  if (text.includes(".")) {
    return "fraction";
  }
  if (!Number.isSafeInteger(value)) {
    return "huge";
  }
  if (value < (schema.minimum ?? -Infinity)) {
    return "below";
  }
  if (value > (schema.maximum ?? Infinity)) {
    return "above";
  }
  return Math.abs(value) <= MAX_SMALL ? "small" : "large";
}

function textClass(value: string, schema: Schema, patterned: boolean): string {
  if (value === "") {
    return "empty";
  }
  if (schema.enum?.includes(value)) {
    return "listed";
  }
  const worded = /[A-Za-z0-9]/.test(value);
  if (value.length > MAX_TEXT) {
    return worded ? "long" : "long-odd";
  }
  if (patterned && new RegExp(schema.pattern ?? "", "u").test(value)) {
    return "match";
  }
  return worded ? "text" : "odd";
}

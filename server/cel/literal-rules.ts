/**
 * Checks what the types of an expression do not say of its literals: timestamps, durations and patterns
 * are well formed, the parts of a list or map have one type, and a format text fits its arguments. Run on
 * a checked tree without problems; as in kube-apiserver, it decides what a definition may contain.
 */
import { Failure, type Problem } from "./errors.js";
import { readFormat, UNEXPECTED_END } from "./format-text.js";
import type { LiteralPatterns } from "./regex.js";
import { type Call, childrenOf, type ListNode, type MapNode, type Node } from "./syntax.js";
import { parseDuration, parseTimestamp } from "./text.js";
import { formatType, type Type } from "./types.js";

export function checkLiterals(root: Node, patterns: LiteralPatterns): Problem[] {
  const problems: Problem[] = [];
  const walk = (node: Node, isFormatted: boolean): void => {
    if (node.kind === "call") problems.push(...ofCall(node, patterns));
    if (node.kind === "list" && !isFormatted) problems.push(...ofList(node));
    if (node.kind === "map" && !isFormatted) problems.push(...ofMap(node));
    const isWithin = isFormatted || (node.kind === "call" && node.name === "format");
    for (const child of childrenOf(node)) walk(child, isWithin);
  };
  walk(root, false);
  return problems;
}

/** Functions of one literal text, with what reads it. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  timestamp: parseTimestamp,
  duration: parseDuration,
};

function ofCall(call: Call, patterns: LiteralPatterns): Problem[] {
  const { name, target, args } = call;
  const [first, second] = args;
  if (name === "format" && target !== undefined) return ofFormat(call);
  const isMatch = name === "matches";
  const literal = isMatch && target === undefined ? second : first;
  if (literal?.kind !== "literal" || typeof literal.value !== "string") return [];
  const text = literal.value;
  const read = isMatch
    ? () => patterns.add(text)
    : target === undefined && Object.hasOwn(READERS, name)
      ? READERS[name]
      : undefined;
  if (read === undefined || !fails(() => read(text))) return [];
  return [{ problem: `invalid ${name} argument`, offset: literal.offset }];
}

function fails(attempt: () => unknown): boolean {
  try {
    attempt();
    return false;
  } catch (error) {
    if (error instanceof Failure) return true;
    throw error;
  }
}

function mismatch(expected: Type, node: Node, found: Type): Problem {
  const problem = `expected type '${formatType(expected)}' but found '${formatType(found)}'`;
  return { problem, offset: node.offset };
}

/** The first element that is of another type than the first. */
function ofList({ elements, optionals }: ListNode): Problem[] {
  const types = elements.map((element, at) => typeOf(element, optionals.has(at)));
  const [expected] = types;
  const at = types.findIndex((type) => expected !== undefined && !isSame(expected, type));
  const element = elements[at];
  const found = types[at];
  if (expected === undefined || element === undefined || found === undefined) return [];
  return [mismatch(expected, element, found)];
}

function ofMap({ entries: [first, ...others] }: MapNode): Problem[] {
  if (first === undefined) return [];
  const keyType = typeOf(first.key, false);
  const valueType = typeOf(first.value, first.isOptional);
  return others.flatMap(({ key, value, isOptional }) => {
    const problems: Problem[] = [];
    const ofKey = typeOf(key, false);
    const ofValue = typeOf(value, isOptional);
    if (!isSame(keyType, ofKey)) problems.push(mismatch(keyType, key, ofKey));
    if (!isSame(valueType, ofValue)) problems.push(mismatch(valueType, value, ofValue));
    return problems;
  });
}

function typeOf({ type = { kind: "dyn" } }: Node, isOptional: boolean): Type {
  return isOptional && type.kind === "optional" ? type.value : type;
}

function isSame(left: Type, right: Type): boolean {
  return formatType(left) === formatType(right);
}

/** What each clause takes, and what is said of anything else. */
const CLAUSES: Readonly<Record<string, readonly [types: ReadonlySet<string>, problem: string]>> = {
  s: [
    new Set(
      "list map int uint double bool string google.protobuf.Timestamp bytes google.protobuf.Duration type null_type".split(
        " ",
      ),
    ),
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  ],
  d: [new Set(["int", "uint"]), "decimal clause can only be used on integers"],
  f: [new Set(["double", "string"]), "fixed-point clause can only be used on doubles"],
  e: [new Set(["double", "string"]), "scientific clause can only be used on doubles"],
  b: [new Set(["int", "uint", "bool"]), "only integers and bools can be formatted as binary"],
  x: [
    new Set(["int", "uint", "string", "bytes"]),
    "only integers, byte buffers, and strings can be formatted as hex",
  ],
  o: [new Set(["int", "uint"]), "octal clause can only be used on integers"],
};

/** Of a literal format text with a literal list of arguments. */
function ofFormat({ target, args, offset }: Call): Problem[] {
  const [list] = args;
  if (target?.kind !== "literal" || typeof target.value !== "string") return [];
  if (list?.kind !== "list") return [];
  const { clauses, problem } = readFormat(target.value);
  for (const [at, { verb }] of clauses.entries()) {
    const argument = list.elements[at];
    if (argument === undefined) return [{ problem: `index ${at} out of range`, offset }];
    const clause = CLAUSES[verb.toLowerCase()];
    const wrong = clause === undefined ? undefined : unfit(argument, clause[0], verb === "s");
    if (clause === undefined || wrong === undefined) continue;
    const what = `error during formatting: ${clause[1]}, was given ${runtimeName(wrong)}`;
    return [{ problem: what, offset: wrong.offset }];
  }
  if (problem !== undefined) {
    const isMissing = list.elements[clauses.length] === undefined && problem !== UNEXPECTED_END;
    return [{ problem: isMissing ? `index ${clauses.length} out of range` : problem, offset }];
  }
  if (list.elements.length <= clauses.length) return [];
  const counts = `(expected ${clauses.length}, got ${list.elements.length})`;
  return [{ problem: `too many arguments supplied to string.format ${counts}`, offset }];
}

/** The part of an argument that a clause does not take; `s` takes lists and maps of what it takes. */
function unfit(node: Node, types: ReadonlySet<string>, isDeep: boolean): Node | undefined {
  const name = runtimeName(node);
  if (name !== "dyn" && !types.has(name)) return node;
  if (!isDeep || (node.kind !== "list" && node.kind !== "map")) return undefined;
  for (const child of childrenOf(node)) {
    const wrong = unfit(child, types, true);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** A type's name without its parameters. */
function runtimeName({ type = { kind: "dyn" } }: Node): string {
  switch (type.kind) {
    case "list":
    case "map":
    case "type":
      return type.kind;
    case "optional":
      return "optional_type";
    case "simple":
      if (type.name === "timestamp") return "google.protobuf.Timestamp";
      if (type.name === "duration") return "google.protobuf.Duration";
      return type.name === "null" ? "null_type" : type.name;
    default:
      return formatType(type);
  }
}

/**
 * Parses the paths of `fieldPath` and `selectableFields`: `.spec.names[0]['a.b']`, where the schema
 * must declare each step. `metadata` has a name and a generateName; kind and apiVersion are
 * strings.
 */
import { isJsonObject } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";
import type { Structural } from "./structural.js";

export interface FieldPath {
  readonly steps: readonly string[];
  /** In the form of field errors, without a leading dot: "spec.list[name].x". */
  readonly text: string;
  /** The schema at the end of the path. */
  readonly node: Structural | undefined;
}

export class FieldPathError extends Error {
  override readonly name = "FieldPathError";
}

const TOKEN =
  /\.([A-Za-z_][A-Za-z0-9_-]*)|\[\s*'((?:[^'\\]|\\.)*)'\s*\]|\[\s*"((?:[^"\\]|\\.)*)"\s*\]|\[(\d+)\]/y;

/**
 * @param mayBracket whether `['name']` is allowed; it is not for selectable fields
 * @throws {FieldPathError}
 */
export function parseFieldPath(text: string, root: Structural, mayBracket = true): FieldPath {
  if (text === "") throw new FieldPathError("fieldPath is empty");
  const steps: string[] = [];
  let shown = "";
  let node: Structural | "meta" | "text" = root;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) {
      throw mayBracket || text[at] !== "[" ? unexpected(text, at) : new FieldPathError(NO_BRACKETS);
    }
    const [, dotted, single, double, index] = match;
    if (dotted === undefined && !mayBracket) throw new FieldPathError(NO_BRACKETS);
    if (index !== undefined) throw unexpected(text, at);
    const step = dotted ?? unescaped(single ?? double ?? "");
    // Shown as what the schema makes of it, however it is written.
    const isKey = typeof node === "object" && node.properties.size === 0 && !!node.additional;
    if (node === "text" || node === "meta") {
      if (node === "text" || (step !== "name" && step !== "generateName")) throw unknown();
      node = "text";
    } else {
      const next = stepInto(node, step, mayBracket && steps.length === 0);
      if (next === undefined) throw unknown();
      node = next;
    }
    shown += isKey ? `[${step}]` : `${shown === "" ? "" : "."}${step}`;
    steps.push(step);
  }
  return { steps, text: shown, node: typeof node === "string" ? undefined : node };
}

function stepInto(
  node: Structural,
  step: string,
  isRoot: boolean,
): Structural | "meta" | "text" | undefined {
  if (isRoot || node.isEmbedded) {
    if (step === "metadata") return "meta";
    if (step === "kind" || step === "apiVersion") return "text";
  }
  const property = node.properties.get(step);
  if (property !== undefined) return property;
  if (typeof node.additional === "object") return node.additional;
  // Any member may be there, and nothing is known of what is in it.
  return node.additional === true ? "text" : undefined;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, "$1");
}

const NO_BRACKETS = "array notation is not allowed";

function unexpected(text: string, at: number): FieldPathError {
  const rest = text.slice(at, at + 1);
  return new FieldPathError(
    rest === "["
      ? "field path with array or map notation is not supported here"
      : `expected [ or . but got: ${/^[^.[\]]+|./.exec(text.slice(at))?.[0] ?? ""}`,
  );
}

function unknown(): FieldPathError {
  return new FieldPathError("does not refer to a valid field");
}

/** The value at a path of plain members; undefined = none. */
export function valueAt(value: JsonValue, steps: readonly string[]): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const step of steps) {
    if (found === undefined || !isJsonObject(found) || !Object.hasOwn(found, step)) {
      return undefined;
    }
    found = found[step];
  }
  return found;
}

/**
 * The operations of a JSON patch, and what is said when one does not fit the object, in the words of
 * kube-apiserver (odd ones included), which people search for and clients compare.
 */
import type { JsonValue } from "./meta.js";
import { cutPath } from "./shown-value.js";
import { StatusError } from "./status.js";

export type Pointer = readonly string[];

export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: Pointer; readonly value: JsonValue }
  | { readonly op: "remove"; readonly path: Pointer }
  | { readonly op: "move" | "copy"; readonly path: Pointer; readonly from: Pointer }
  /** It fits no value, but fails only in its turn. */
  | { readonly op: "unfit"; readonly why: string };

/** 422: the document is well-formed, but does not fit this object. */
export class JsonPatchFailure extends StatusError {
  /** What failed, in the words of kube-apiserver. */
  readonly why: string;
  /** Whether a `test` found another value. */
  readonly isTest: boolean;

  constructor(why: string, isTest = false) {
    super({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `the server rejected our request due to an error in our request: ${why}`,
      reason: "Invalid",
      details: {},
      code: 422,
    });
    this.why = why;
    this.isTest = isTest;
  }
}

/** Which of an operation's two places is meant. */
export type PatchPointer = "path" | "from";

export type FitOperation = Exclude<JsonPatchOperation, { readonly op: "unfit" }>;

/** A place that is not there: `why` = what its container says, undefined = there is no container. */
export class Misfit extends Error {
  readonly at: PatchPointer;
  readonly why: string | undefined;

  constructor(at: PatchPointer, why?: string) {
    super(why);
    this.at = at;
    this.why = why;
  }
}

/** In kube-apiserver's words, odd ones included. */
export function describe(operation: FitOperation, { at, why }: Misfit): string {
  const { op } = operation;
  const pointer = at === "from" && "from" in operation ? operation.from : operation.path;
  const path = show(pointer);
  if (why === undefined) {
    const missing = `${op} operation does not apply: ${op === "test" ? "" : "doc "}is missing`;
    if (op === "add" || op === "remove") return `${missing} path: "${path}": missing value`;
    const which = op === "move" || op === "copy" ? (at === "from" ? "from " : "destination ") : "";
    return `${missing} ${which}path: ${path}: missing value`;
  }
  if (op === "copy") {
    return at === "from"
      ? `error in copy for from: '${path}': ${why}`
      : `error while adding value during copy: ${why}`;
  }
  if (op === "move") {
    return `error in move for path: '${at === "from" ? cutPath(pointer.at(-1) ?? "") : path}': ${why}`;
  }
  return `error in ${op === "replace" ? "remove" : op} for path: '${path}': ${why}`;
}

/** Steps of a pointer that a message shows, at most: each takes a character and more. */
const SHOWN_STEPS_MAX = 1_024;

/** The pointer as text, cut as paths are. */
export function show(path: Pointer): string {
  const escaped = path
    .slice(0, SHOWN_STEPS_MAX)
    .map((token) => token.replaceAll("~", "~0").replaceAll("/", "~1"));
  return cutPath(escaped.map((token) => `/${token}`).join(""));
}

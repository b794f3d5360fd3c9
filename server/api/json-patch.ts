/**
 * JSON Patch, RFC 6902: `parseJsonPatch` checks a document's form once, `applyJsonPatch` runs it on a
 * value and gives the result; all operations or none. Works on copies along the paths it changes.
 *
 * As in kube-apiserver, a document that is no list of operations is 400, more than 10,000 of them
 * 413, an operation that fails or copies beyond 3 MiB 422 (S1-PATCH-02, S1-PATCH-03, S1-PATCH-10);
 * an index may have a sign and leading zeros, and a negative one counts from an array's end; `replace` of a
 * missing member adds it, and `copy` of one gives null (R12); a value that is not given is null; only
 * `replace` and `test` take the whole document as their place.
 */
import { deepEqual } from "./deep-equal.js";
import { isJsonObject, setMember } from "./json-object.js";
import {
  describe,
  type FitOperation,
  JsonPatchFailure,
  type JsonPatchOperation,
  Misfit,
  type PatchPointer,
  type Pointer,
  show,
} from "./json-patch-failure.js";
import type { JsonArray, JsonObject, JsonValue } from "./meta.js";
import { cutPath } from "./shown-value.js";
import { badRequest, requestEntityTooLarge, type StatusError } from "./status.js";
import { isWrittenNumber, withPlainNumbers } from "./written-number.js";

/** More than one operation per field of the largest object in a request. */
const JSON_PATCH_OPERATIONS_MAX = 10_000;
/** The limit of a request's body: a small document must not make a large object by copying. */
const JSON_PATCH_COPIED_BYTES_MAX = 3 * 1024 * 1024;
/** Steps of a pointer: no value is nested deeper (JSON_DEPTH_MAX of schema/json-parser.ts), so it can have no such place. */
const JSON_PATCH_STEPS_MAX = 1_000;
/** Items of arrays that may move, all operations together: each one takes about two nanoseconds. */
const JSON_PATCH_MOVED_ITEMS_MAX = 10_000_000;

/** @throws {StatusError} 400 for what is no list of operations, 413 for too many operations */
export function parseJsonPatch(document: JsonValue): readonly JsonPatchOperation[] {
  if (document === null) return [];
  if (!Array.isArray(document)) throw malformed("a JSON patch is an array of operations");
  if (document.length > JSON_PATCH_OPERATIONS_MAX) {
    throw requestEntityTooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${JSON_PATCH_OPERATIONS_MAX}, got ${document.length}`,
    );
  }
  return document.map(parseOperation);
}

/** @throws {StatusError} 422 when an operation does not fit the value, or for too much copying */
export function applyJsonPatch(
  target: JsonValue,
  operations: readonly JsonPatchOperation[],
): JsonValue {
  const run = new PatchRun(target);
  for (const operation of operations) run.apply(operation);
  return run.root;
}

function parseOperation(value: JsonValue, index: number): JsonPatchOperation {
  const at = `operation ${index}`;
  const unfit = (why: string) => ({ op: "unfit", why: `${at} has ${why}` }) as const;
  if (value === null) return unfit("an unknown op");
  if (!isJsonObject(value)) throw malformed(`${at} is no object`);
  const op = textOf(value, "op", at);
  const path = parsePointer(textOf(value, "path", at));
  const from = parsePointer(textOf(value, "from", at));
  switch (op) {
    case "add":
    case "replace":
    case "test":
      if (path === undefined) return unfit("no valid path");
      return { op, path, value: (Object.hasOwn(value, "value") ? value.value : null) ?? null };
    case "remove":
      return path === undefined ? unfit("no valid path") : { op, path };
    case "move":
    case "copy":
      if (path === undefined) return unfit("no valid path");
      return from === undefined ? unfit('no valid "from"') : { op, path, from };
    default:
      return unfit("an unknown op");
  }
}

/** A member that is a text, absent or null. @throws {StatusError} 400 */
function textOf(operation: JsonObject, member: string, at: string): string | undefined {
  const value = operation[member] ?? undefined;
  if (value !== undefined && typeof value !== "string") {
    throw malformed(`${JSON.stringify(member)} of ${at} is no string`);
  }
  return value;
}

/** RFC 6901, except that "~" before any other character than 0 and 1 is itself, as kube-apiserver. */
function parsePointer(text: string | undefined): Pointer | undefined {
  if (text === "") return [];
  if (text?.startsWith("/") !== true) return undefined;
  return text
    .slice(1)
    .split("/", JSON_PATCH_STEPS_MAX + 1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

class PatchRun {
  root: JsonValue;
  /** Containers made by this run, which may be changed in place. */
  readonly #own = new Set<JsonArray | JsonObject>();
  #copiedBytes = 0;
  #movedItems = 0;

  constructor(target: JsonValue) {
    this.root = target;
  }

  apply(operation: JsonPatchOperation): void {
    if (operation.op === "unfit") throw new JsonPatchFailure(operation.why);
    try {
      this.#run(operation);
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      throw new JsonPatchFailure(describe(operation, error));
    }
  }

  #run(operation: FitOperation): void {
    const { path } = operation;
    switch (operation.op) {
      case "add":
        this.#add(path, operation.value);
        break;
      case "replace":
        this.#replace(path, operation.value);
        break;
      case "remove":
        this.#remove(path);
        break;
      case "test":
        this.#test(path, operation.value);
        break;
      case "copy":
        this.#add(path, this.#copied(operation.from));
        break;
      case "move":
        this.#move(operation.from, path);
        break;
    }
  }

  #move(from: Pointer, path: Pointer): void {
    const value = this.#find(from, "from");
    const isInside = path.length > from.length && from.every((token, i) => token === path[i]);
    if (isInside) throw new Misfit("path");
    this.#remove(from, "from");
    this.#add(path, value ?? null);
  }

  #test(path: Pointer, expected: JsonValue): void {
    // A missing member equals null, as in kube-apiserver.
    const actual = withPlainNumbers(this.#find(path) ?? null);
    if (deepEqual(actual, withPlainNumbers(expected))) return;
    throw new JsonPatchFailure(`testing value ${show(path)} failed: test failed`, true);
  }

  #copied(from: Pointer): JsonValue {
    // A missing member is null, as in kube-apiserver.
    if (from.length === 0) throw new Misfit("from");
    const value = this.#find(from, "from") ?? null;
    this.#copiedBytes += sizeOf(value);
    if (this.#copiedBytes > JSON_PATCH_COPIED_BYTES_MAX) {
      const why = `the copies in a JSON patch may add up to ${JSON_PATCH_COPIED_BYTES_MAX} bytes`;
      throw new JsonPatchFailure(why);
    }
    // Nothing is shared with the source, so what this run owns stays its own (H2).
    return copyOf(value);
  }

  /** Counts the items behind the index, which an insertion or a removal moves. */
  #noteMoved(list: JsonArray, index: number): void {
    this.#movedItems += list.length - index;
    if (this.#movedItems > JSON_PATCH_MOVED_ITEMS_MAX) {
      throw requestEntityTooLarge(
        `the operations of a JSON patch may move ${JSON_PATCH_MOVED_ITEMS_MAX} items of arrays`,
      );
    }
  }

  /** undefined = the object has no such member. @throws {Misfit} when nothing can be there */
  #find(path: Pointer, at: PatchPointer = "path"): JsonValue | undefined {
    let value: JsonValue | undefined = this.root;
    for (const [depth, token] of path.entries()) {
      if (Array.isArray(value)) {
        const isLast = depth === path.length - 1;
        value = value[indexOf(token, value.length - 1, at, isLast)];
      } else if (value !== undefined && isJsonObject(value)) {
        value = Object.hasOwn(value, token) ? value[token] : undefined;
      } else throw new Misfit(at);
    }
    return value;
  }

  #add(path: Pointer, value: JsonValue): void {
    if (path.length === 0) throw new Misfit("path");
    const { parent, token } = this.#parent(path, "path");
    if (!Array.isArray(parent)) setMember(parent, token, value);
    else if (token === "-") parent.push(value);
    else {
      const index = indexOf(token, parent.length, "path");
      this.#noteMoved(parent, index);
      parent.splice(index, 0, value);
    }
  }

  #replace(path: Pointer, value: JsonValue): void {
    if (path.length === 0) {
      this.root = value;
      return;
    }
    const { parent, token } = this.#parent(path, "path");
    if (Array.isArray(parent)) parent[indexOf(token, parent.length - 1, "path")] = value;
    else setMember(parent, token, value);
  }

  #remove(path: Pointer, at: PatchPointer = "path"): void {
    if (path.length === 0) throw new Misfit(at);
    if (this.#find(path, at) === undefined) {
      throw new Misfit(
        at,
        `Unable to remove nonexistent key: ${cutPath(path.at(-1) ?? "")}: missing value`,
      );
    }
    const { parent, token } = this.#parent(path, at);
    if (Array.isArray(parent)) {
      const index = indexOf(token, parent.length - 1, at);
      this.#noteMoved(parent, index);
      parent.splice(index, 1);
    } else delete parent[token];
  }

  /** The container at the end of a path, made mutable. */
  #parent(path: Pointer, at: PatchPointer): { parent: JsonArray | JsonObject; token: string } {
    this.root = this.#owned(this.root, at);
    let parent = this.root as JsonArray | JsonObject;
    for (const token of path.slice(0, -1)) {
      const child = this.#childOf(parent, token, at);
      if (Array.isArray(parent)) parent[indexOf(token, parent.length - 1, at, false)] = child;
      else setMember(parent, token, child);
      parent = child;
    }
    return { parent, token: path.at(-1) ?? "" };
  }

  #childOf(
    parent: JsonArray | JsonObject,
    token: string,
    at: PatchPointer,
  ): JsonArray | JsonObject {
    const child = Array.isArray(parent)
      ? parent[indexOf(token, parent.length - 1, at, false)]
      : Object.hasOwn(parent, token)
        ? parent[token]
        : undefined;
    return this.#owned(child ?? null, at);
  }

  #owned(value: JsonValue, at: PatchPointer): JsonArray | JsonObject {
    if (typeof value !== "object" || value === null || isWrittenNumber(value)) throw new Misfit(at);
    if (this.#own.has(value)) return value;
    const copy = Array.isArray(value) ? [...value] : { ...value };
    this.#own.add(copy);
    return copy;
  }
}

/**
 * An array index up to `max`; a negative one counts down from `max` + 1.
 * @param isLast whether the path ends here
 */
function indexOf(token: string, max: number, at: PatchPointer, isLast = true): number {
  const sent = /^[+-]?\d{1,9}$/.test(token) ? Number(token) : Number.NaN;
  const index = sent < 0 ? sent + max + 1 : sent;
  if (index >= 0 && index <= max) return index;
  if (!isLast) throw new Misfit(at);
  const shown = cutPath(token);
  throw new Misfit(
    at,
    Number.isNaN(sent)
      ? `value was not a proper array index: '${shown}': strconv.Atoi: parsing "${shown}": invalid syntax`
      : `Unable to access invalid index: ${sent}: invalid index referenced`,
  );
}

/** A deep copy. */
function copyOf(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || isWrittenNumber(value)) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: JsonObject = {};
  for (const key in value) setMember(copy, key, copyOf(value[key] ?? null));
  return copy;
}

function sizeOf(value: JsonValue): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 8;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + sizeOf(item) + 1, 2);
  let size = 2;
  for (const key in value) size += key.length + 4 + sizeOf(value[key] ?? null);
  return size;
}

function malformed(why: string): StatusError {
  return badRequest(`error decoding patch: ${why}`);
}

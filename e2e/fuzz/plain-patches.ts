/**
 * JSON Patch and merge patch on random documents, against references written for clarity alone: RFC
 * 6902 on a deep copy, and the pseudocode of RFC 7386. What goes in is never changed.
 */
import assert from "node:assert/strict";
import { deepEqual } from "../../server/api/deep-equal.js";
import { applyJsonPatch, parseJsonPatch } from "../../server/api/json-patch.js";
import { applyMergePatch } from "../../server/api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../server/api/meta.js";
import { StatusError } from "../../server/api/status.js";
import { anyJson, anyObject, type Draw } from "./draw.js";

const OPERATIONS = ["add", "remove", "replace", "move", "copy", "test", "remove", "add"];

type Container = Record<string, JsonValue> | JsonValue[];

/** RFC 7386, section 2. */
function referenceMerge(target: JsonValue, patch: JsonValue): JsonValue {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === "object" && target !== null && !Array.isArray(target);
  const result = new Map(Object.entries(isObject ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, referenceMerge(result.get(name) ?? null, value ?? null));
  }
  return Object.fromEntries(result) as JsonObject;
}

class Impossible extends Error {}

/** @throws {Impossible} where an operation does not fit */
function referencePatch(target: JsonValue, operations: readonly JsonObject[]): JsonValue {
  const root: { value: JsonValue } = { value: structuredClone(target) };
  for (const operation of operations) {
    const path = tokensOf(operation.path);
    // As kube-apiserver has it, a value that is not given is null.
    const value = structuredClone(operation.value ?? null);
    switch (operation.op) {
      case "add":
        add(root, path, value);
        break;
      case "remove":
        remove(root, path);
        break;
      case "replace":
        // As kube-apiserver has it, a member that is not there is added (R12).
        if (find(root, path) === undefined) add(root, path, value);
        else put(root, path, value);
        break;
      case "test":
        if (!deepEqual(readOrNull(root, path), value)) throw new Impossible();
        break;
      case "copy":
        if (operation.from === "") throw new Impossible();
        add(root, path, structuredClone(readOrNull(root, tokensOf(operation.from))));
        break;
      case "move": {
        const from = tokensOf(operation.from);
        const moved = read(root, from);
        if (path.length > from.length && from.every((token, index) => token === path[index])) {
          throw new Impossible();
        }
        remove(root, from);
        add(root, path, moved);
        break;
      }
      default:
        throw new Impossible();
    }
  }
  return root.value;
}

/** @throws {Impossible} for what is no pointer */
function tokensOf(pointer: JsonValue | undefined): string[] {
  if (typeof pointer !== "string" || !/^(\/|$)/.test(pointer)) throw new Impossible();
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function read(root: { value: JsonValue }, path: readonly string[]): JsonValue {
  const value = find(root, path);
  if (value === undefined) throw new Impossible();
  return value;
}

/** As kube-apiserver has it, a member of an object that is not there reads as null (R12). */
function readOrNull(root: { value: JsonValue }, path: readonly string[]): JsonValue {
  if (path.length > 0) parentOf(root, path);
  return find(root, path) ?? null;
}

/** @returns undefined for a member that is not there. @throws {Impossible} outside of a list */
function find(root: { value: JsonValue }, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = root.value;
  for (const token of path) {
    if (Array.isArray(value)) value = value[indexOf(token, value.length - 1)];
    else if (typeof value === "object" && value !== null && Object.hasOwn(value, token)) {
      value = value[token];
    } else return undefined;
  }
  return value;
}

/** As kube-apiserver has it, -1 is the last place, and there may be zeros and a plus before a number. */
function indexOf(token: string, max: number): number {
  if (!/^[+-]?\d+$/.test(token)) throw new Impossible();
  const index = Number(token) < 0 ? max + 1 + Number(token) : Number(token);
  if (index < 0 || index > max) throw new Impossible();
  return index;
}

function parentOf(root: { value: JsonValue }, path: readonly string[]): Container {
  const parent = read(root, path.slice(0, -1));
  if (typeof parent !== "object" || parent === null) throw new Impossible();
  return parent as Container;
}

function define(parent: Container, name: string, value: JsonValue): void {
  Object.defineProperty(parent, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

function add(root: { value: JsonValue }, path: readonly string[], value: JsonValue): void {
  const last = path.at(-1);
  // As kube-apiserver has it, only `replace` and `test` take the whole document.
  if (last === undefined) throw new Impossible();
  const parent = parentOf(root, path);
  if (!Array.isArray(parent)) define(parent, last, value);
  else parent.splice(last === "-" ? parent.length : indexOf(last, parent.length), 0, value);
}

function put(root: { value: JsonValue }, path: readonly string[], value: JsonValue): void {
  const last = path.at(-1);
  if (last === undefined) {
    root.value = value;
    return;
  }
  const parent = parentOf(root, path);
  if (Array.isArray(parent)) parent[indexOf(last, parent.length - 1)] = value;
  else define(parent, last, value);
}

function remove(root: { value: JsonValue }, path: readonly string[]): void {
  read(root, path);
  const last = path.at(-1);
  if (last === undefined) throw new Impossible();
  const parent = parentOf(root, path);
  if (Array.isArray(parent)) parent.splice(indexOf(last, parent.length - 1), 1);
  else delete parent[last];
}

/** A pointer to something that is there, nearly always. */
function drawPointer(draw: Draw, target: JsonValue): string {
  let value = target;
  let pointer = "";
  while (typeof value === "object" && value !== null && draw.upTo(3) > 0) {
    const names = Array.isArray(value)
      ? [...value.keys(), value.length, value.length + 1, -1, -value.length, -9, "-", "01"].map(
          String,
        )
      : [...Object.keys(value), "new"];
    const name = draw.pick(names);
    pointer += `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (Array.isArray(value)) value = value.at(Number(name)) ?? null;
    else value = Object.hasOwn(value, name) ? (value[name] ?? null) : null;
  }
  return draw.oneIn(30) ? draw.pick(["a", "/~2", "//", "/a~"]) : pointer;
}

export function fuzzPlainPatches(draw: Draw): number {
  const target = anyObject(draw, 4);
  const before = JSON.stringify(target);
  const patch = anyJson(draw, 4);
  assert.deepEqual(applyMergePatch(target, patch), referenceMerge(target, patch));

  const operations = draw.times(5, () => drawOperation(draw, target));
  let expected: JsonValue | Impossible | undefined;
  let actual: JsonValue | StatusError | undefined;
  try {
    actual = applyJsonPatch(target, parseJsonPatch(operations));
  } catch (error) {
    assert.ok(error instanceof StatusError && error.code < 500, String(error));
    actual = error;
  }
  const isMalformed = actual instanceof StatusError && actual.code === 400;
  if (!isMalformed) {
    try {
      expected = referencePatch(target, operations);
    } catch (error) {
      assert.ok(error instanceof Impossible, String(error));
      expected = error;
    }
    const shown = `${before} ${JSON.stringify(operations)}`;
    if (expected instanceof Impossible) assert.ok(actual instanceof StatusError, shown);
    else assert.deepEqual(actual, expected, shown);
  }
  assert.equal(JSON.stringify(target), before, "the target is left alone");
  return 2;
}

function drawOperation(draw: Draw, target: JsonValue): JsonObject {
  const operation: JsonObject = { op: draw.pick(OPERATIONS), path: drawPointer(draw, target) };
  if (operation.op === "move" || operation.op === "copy")
    operation.from = drawPointer(draw, target);
  else if (operation.op !== "remove") operation.value = anyJson(draw, 2);
  if (draw.oneIn(40)) operation[draw.pick(["op", "path", "from", "value"])] = anyJson(draw, 1);
  return operation;
}

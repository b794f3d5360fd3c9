/** What differs between two versions of an object, field by field. Pure. */
import type { JsonObject, JsonValue } from "../api/meta.js";
import { stringifyJson } from "../codec/json.js";

export interface FieldChange {
  /** "spec.containers[0].image" */
  readonly path: string;
  /** undefined = it was not there. */
  readonly before: JsonValue | undefined;
  /** undefined = it is not there any more. */
  readonly after: JsonValue | undefined;
}

/** More are not shown. */
const CHANGES_MAX = 1_000;

/** Without what changes with every write. */
export function compareObjects(before: JsonObject, after: JsonObject): FieldChange[] {
  const changes: FieldChange[] = [];
  compare("", withoutBookkeeping(before), withoutBookkeeping(after), changes);
  return changes;
}

function withoutBookkeeping(object: JsonObject): JsonObject {
  const { resourceVersion: _, managedFields: __, ...metadata } = membersOf(object.metadata) ?? {};
  return { ...object, metadata };
}

function compare(
  path: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  changes: FieldChange[],
): void {
  if (changes.length >= CHANGES_MAX) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i++) {
      compare(`${path}[${i}]`, before[i], after[i], changes);
    }
    return;
  }
  const [mine, theirs] = [membersOf(before), membersOf(after)];
  if (mine !== undefined && theirs !== undefined) {
    for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
      compare(path + step(path, name), mine[name], theirs[name], changes);
    }
    return;
  }
  if (textOf(before) !== textOf(after)) changes.push({ path, before, after });
}

function step(path: string, name: string): string {
  if (!/^[\w-]+$/.test(name)) return `[${JSON.stringify(name)}]`;
  return path === "" ? name : `.${name}`;
}

function membersOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : stringifyJson(value);
}

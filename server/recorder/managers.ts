/** Who owns a field by `metadata.managedFields` (fieldsV1: "f:" names, "k:" keys of items, "v:" values). Pure. */
import type { FieldSteps } from "../api/changed-fields.js";
import { deepEqual } from "../api/deep-equal.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { parseJson } from "../schema/parse-json.js";

export interface FieldOwner {
  readonly manager: string;
  /** "Apply" or "Update". */
  readonly operation: string;
  readonly subresource: string;
  readonly time: string;
  readonly fields: JsonObject;
}

/** The newest first. */
export function readManagers(object: JsonObject): readonly FieldOwner[] {
  const { managedFields } = (object.metadata ?? {}) as JsonObject;
  const entries = Array.isArray(managedFields) ? (managedFields as JsonObject[]) : [];
  const owners = entries.map(({ manager, operation, subresource, time, fieldsV1 }) => ({
    manager: String(manager ?? ""),
    operation: String(operation ?? ""),
    subresource: String(subresource ?? ""),
    time: String(time ?? ""),
    fields: membersOf(fieldsV1) ?? {},
  }));
  return owners.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0));
}

/** @returns undefined = nobody owns it */
export function managerOf(
  owners: readonly FieldOwner[],
  object: JsonObject,
  steps: FieldSteps,
): FieldOwner | undefined {
  return owners.find(({ fields }) => isOwned(fields, object, steps));
}

function isOwned(fields: JsonObject, value: JsonValue | undefined, steps: FieldSteps): boolean {
  const [step, ...rest] = steps;
  // Its leaf is a whole: everything in it is owned with it.
  if (Object.keys(fields).length === 0 || step === undefined) return true;
  const next = (value as JsonObject | undefined)?.[step];
  if (typeof step === "string") {
    const below = membersOf(fields[`f:${step}`]);
    return below !== undefined && isOwned(below, next, rest);
  }
  for (const [key, below] of Object.entries(fields)) {
    if (isItem(key, next, step)) return isOwned(membersOf(below) ?? {}, next, rest);
  }
  return false;
}

/** Whether the key of a set of fields names an item of a list. */
function isItem(key: string, item: JsonValue | undefined, index: number): boolean {
  const text = key.slice(2);
  if (key.startsWith("i:")) return Number(text) === index;
  const named = parsed(text);
  if (key.startsWith("v:")) return deepEqual(named, item);
  const keys = membersOf(named);
  if (!key.startsWith("k:") || keys === undefined) return false;
  const members = membersOf(item) ?? {};
  return Object.entries(keys).every(([name, wanted]) => deepEqual(members[name], wanted));
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function membersOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

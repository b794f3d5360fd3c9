/** Who owns a field by `metadata.managedFields` (fieldsV1: "f:" names, "k:" keys of items, "v:" values). Pure. */
import type { FieldSteps } from "../api/changed-fields.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { parseJson } from "../schema/parse-json.js";

export interface FieldOwner {
  readonly manager: string;
  /** "Apply" or "Update". */
  readonly operation: string;
  readonly subresource: string;
  readonly time: string;
  readonly fields: JsonObject;
  /** What each set of fields holds; it is read once, however many fields are asked for. */
  readonly sets: WeakMap<JsonObject, FieldSet>;
}

interface FieldSet {
  readonly isEmpty: boolean;
  /** The fields below an item of a list, by its index or value. */
  readonly byIndex: ReadonlyMap<number, JsonValue>;
  readonly byValue: ReadonlyMap<string, JsonValue>;
  /** By the names of an item's keys, then by their values. */
  readonly byKeys: readonly {
    readonly names: readonly string[];
    readonly items: ReadonlyMap<string, JsonValue>;
  }[];
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
    sets: new WeakMap<JsonObject, FieldSet>(),
  }));
  return owners.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0));
}

/** @returns undefined = nobody owns it */
export function managerOf(
  owners: readonly FieldOwner[],
  object: JsonObject,
  steps: FieldSteps,
): FieldOwner | undefined {
  return owners.find((owner) => isOwned(owner, owner.fields, object, steps));
}

function isOwned(
  owner: FieldOwner,
  fields: JsonObject,
  value: JsonValue | undefined,
  steps: FieldSteps,
): boolean {
  const [step, ...rest] = steps;
  const set = setOf(owner, fields);
  // Its leaf is a whole: everything in it is owned with it.
  if (set.isEmpty || step === undefined) return true;
  const next = (value as JsonObject | undefined)?.[step];
  if (typeof step === "string") {
    const below = membersOf(fields[`f:${step}`]);
    return below !== undefined && isOwned(owner, below, next, rest);
  }
  const below = belowItem(set, next, step);
  return below !== undefined && isOwned(owner, membersOf(below) ?? {}, next, rest);
}

function setOf({ sets }: FieldOwner, fields: JsonObject): FieldSet {
  const known = sets.get(fields) ?? readSet(Object.entries(fields));
  sets.set(fields, known);
  return known;
}

function readSet(entries: readonly (readonly [string, JsonValue | undefined])[]): FieldSet {
  const byIndex = new Map<number, JsonValue>();
  const byValue = new Map<string, JsonValue>();
  const byKeys = new Map<string, { names: readonly string[]; items: Map<string, JsonValue> }>();
  for (const [key, below = {}] of entries) {
    const text = key.slice(2);
    if (key.startsWith("i:")) byIndex.set(Number(text), below);
    if (key.startsWith("v:")) byValue.set(textOf(parsed(text)), below);
    const keys = key.startsWith("k:") ? membersOf(parsed(text)) : undefined;
    if (keys === undefined) continue;
    const names = Object.keys(keys).sort();
    const known = byKeys.get(textOf(names)) ?? { names, items: new Map<string, JsonValue>() };
    byKeys.set(textOf(names), known);
    known.items.set(textOf(names.map((name) => keys[name])), below);
  }
  return { isEmpty: entries.length === 0, byIndex, byValue, byKeys: [...byKeys.values()] };
}

/** What a set of fields has of an item of a list. */
function belowItem(set: FieldSet, item: JsonValue | undefined, index: number) {
  const found = set.byIndex.get(index) ?? set.byValue.get(textOf(item));
  if (found !== undefined || set.byKeys.length === 0) return found;
  const members = membersOf(item) ?? {};
  for (const { names, items } of set.byKeys) {
    const below = items.get(textOf(names.map((name) => members[name])));
    if (below !== undefined) return below;
  }
  return undefined;
}

/** A text that equal values share. */
function textOf(value: JsonValue | readonly (JsonValue | undefined)[] | undefined): string {
  return (
    JSON.stringify(value, (_, member) => {
      if (typeof member === "bigint") return Number(member);
      const members = membersOf(member);
      return members === undefined
        ? member
        : Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));
    }) ?? ""
  );
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

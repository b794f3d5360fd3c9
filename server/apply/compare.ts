/**
 * The differences between two states of an object, as sets of fields (S1-SSA-09): the changed ones
 * (new or with another value) and the removed ones. As in kube-apiserver, a new struct, map or
 * item counts itself and everything below it; the order of lists that are owned by item does not
 * count.
 */

import type { Steps } from "../../storage/base/steps.js";
import { deepEqual } from "../api/deep-equal.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { EMPTY, type FieldSet, type FieldSetBuilder, isEmptySet, LEAF } from "./field-set.js";
import { elementOf, haveSameKeys, indexItems } from "./list-items.js";
import { DYNAMIC_MAP, type ListType, type MapType, type MergeType } from "./merge-schema.js";
import { fieldElement, orderInSteps, SELF } from "./path-element.js";

export interface Difference {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** The nodes of both sets at one place; undefined = none. */
interface NodeDifference {
  readonly changed: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

/**
 * @param later gets what is left to do for long lists, before which the sets are incomplete; absent = all is done
 * @returns undefined when no ownable field changed
 */
export function compareObjects(
  type: MapType,
  before: JsonObject,
  after: JsonObject,
  later?: Later,
): Difference | undefined {
  const difference = compareMaps(type, before, after, later);
  if (difference === undefined) return undefined;
  return { changed: difference.changed ?? EMPTY, removed: difference.removed ?? EMPTY };
}

type Side = JsonValue | undefined;

type Later = Steps<void>[] | undefined;

function compareValues(
  type: MergeType,
  before: Side,
  after: Side,
  later: Later,
): NodeDifference | undefined {
  if (before === after) return undefined;
  switch (type.form) {
    case "unowned":
      return undefined;
    case "leaf":
      return compareLeaves(before, after);
    case "dynamic":
      return compareDynamic(before, after, later);
    case "map":
      if (!isMapLike(before) || !isMapLike(after)) return compareLeaves(before, after);
      // Both are empty: only their presence counts.
      if (isEmptyMap(before) && isEmptyMap(after) && type.isPermanent !== true) {
        return compareLeaves(before, after);
      }
      return compareMaps(type, before, after, later);
    case "list":
      if (!isListLike(before) || !isListLike(after)) return compareLeaves(before, after);
      if (isEmptyList(before) && isEmptyList(after)) return compareLeaves(before, after);
      return compareLists(type, before, after, later);
  }
}

const CHANGED_LEAF: NodeDifference = Object.freeze({ changed: LEAF, removed: undefined });
const REMOVED_LEAF: NodeDifference = Object.freeze({ changed: undefined, removed: LEAF });

function compareLeaves(before: Side, after: Side): NodeDifference | undefined {
  if (before === undefined) return CHANGED_LEAF;
  if (after === undefined) return REMOVED_LEAF;
  return deepEqual(before, after) ? undefined : CHANGED_LEAF;
}

/** Compares maps by member; a change to or from a map also changes the field itself. */
function compareDynamic(before: Side, after: Side, later: Later): NodeDifference | undefined {
  if (!isJsonObject(before) && !isJsonObject(after)) return compareLeaves(before, after);
  if (isMapLike(before) && isMapLike(after)) {
    if (isEmptyMap(before) && isEmptyMap(after)) return compareLeaves(before, after);
    return compareMaps(DYNAMIC_MAP, before, after, later);
  }
  if (isJsonObject(after)) return compareMaps(DYNAMIC_MAP, undefined, after, later) ?? CHANGED_LEAF;
  // The field itself stays, with another type.
  const gone = isJsonObject(before)
    ? compareMaps(DYNAMIC_MAP, before, undefined, later)?.removed
    : {};
  const { [SELF]: _, ...removed } = gone ?? {};
  return { changed: LEAF, removed: isEmptySet(removed) ? undefined : removed };
}

function compareMaps(
  type: MapType,
  before: JsonObject | null | undefined,
  after: JsonObject | null | undefined,
  later: Later,
): NodeDifference | undefined {
  if (later !== undefined && type.others !== undefined && isJsonObject(after)) {
    const isNew = before === undefined && type.isPermanent !== true;
    if (isEmptyMap(before ?? {}) && Object.keys(after).length > LONG_LIST) {
      const changed: FieldSetBuilder = isNew ? { [SELF]: LEAF } : {};
      later.push(addMembersInSteps(type, after, changed));
      return { changed, removed: undefined };
    }
  }
  const collected = new Collector(before, after, type.isPermanent === true);
  const fields = type.fields();
  const past = isJsonObject(before) ? before : undefined;
  const next = isJsonObject(after) ? after : undefined;
  if (next !== undefined) {
    for (const name in next) {
      const value = next[name];
      if (value === undefined) continue;
      const old = past !== undefined && Object.hasOwn(past, name) ? past[name] : undefined;
      if (old === value) continue;
      const member = fields.get(name) ?? type.others;
      if (member !== undefined) {
        collected.add(fieldElement(name), compareValues(member, old, value, later));
      }
    }
  }
  if (past !== undefined) {
    for (const name in past) {
      const value = past[name];
      if (value === undefined) continue;
      if (next !== undefined && Object.hasOwn(next, name) && next[name] !== undefined) continue;
      const member = fields.get(name) ?? type.others;
      if (member !== undefined) {
        collected.add(fieldElement(name), compareValues(member, value, undefined, later));
      }
    }
  }
  return collected.result();
}

function compareLists(
  type: ListType,
  before: JsonArray | null | undefined,
  after: JsonArray | null | undefined,
  later: Later,
): NodeDifference | undefined {
  if (later !== undefined && (after?.length ?? 0) > LONG_LIST && isEmptyList(before)) {
    const changed: FieldSetBuilder = before === undefined ? { [SELF]: LEAF } : {};
    later.push(addInSteps(type, after ?? [], changed));
    return { changed, removed: undefined };
  }
  const collected = new Collector(before, after, false);
  if (before !== null && after !== null && before !== undefined && after !== undefined) {
    if (compareInStep(type, before, after, collected, later)) return collected.result();
  }
  const [old, now] = [indexItems(type, before ?? []), indexItems(type, after ?? [])];
  for (const [element, items] of now) {
    collected.add(element, compareItems(type, old.get(element), items, later));
  }
  for (const [element, items] of old) {
    if (!now.has(element)) collected.add(element, compareItems(type, items, undefined, later));
  }
  return collected.result();
}

/**
 * The usual case: the same items in the same order. Elements are only made once an item differs.
 * @returns false in any other case
 */
function compareInStep(
  type: ListType,
  before: JsonArray,
  after: JsonArray,
  collected: Collector,
  later: Later,
): boolean {
  if (before.length !== after.length) return false;
  const differences: (readonly [number, NodeDifference])[] = [];
  for (let index = 0; index < after.length; index++) {
    const [old, item] = [before[index] as JsonValue, after[index] as JsonValue];
    if (!haveSameKeys(type, old, item)) return false;
    const difference = compareValues(type.items, old, item, later);
    if (difference !== undefined) differences.push([index, difference]);
  }
  if (differences.length === 0) return true;
  // Duplicate items are compared together, not in step.
  if (indexItems(type, after).size !== after.length) return false;
  for (const [index, difference] of differences) {
    collected.add(elementOf(type, after[index] as JsonValue) as string, difference);
  }
  return true;
}

/** Lists of more new items are compared behind all else, in steps. */
const LONG_LIST = 2_000;

/** Adds members that are all new. */
function* addMembersInSteps(
  type: MapType,
  members: JsonObject,
  changed: FieldSetBuilder,
): Steps<void> {
  const fields = type.fields();
  let added = 0;
  for (const name in members) {
    if (++added % LONG_LIST === 0) yield;
    const value = members[name];
    const member = fields.get(name) ?? type.others;
    if (value === undefined || member === undefined) continue;
    const difference = compareValues(member, undefined, value, undefined);
    if (difference?.changed !== undefined) changed[fieldElement(name)] = difference.changed;
  }
}

/** Adds items that are all new, in kube-apiserver's order of their elements. */
function* addInSteps(type: ListType, items: JsonArray, changed: FieldSetBuilder): Steps<void> {
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  for (const [at, item] of items.entries()) {
    const element = elementOf(type, item);
    if (element === undefined) continue;
    elements.push(element);
    nodes.push(compareValues(type.items, undefined, item, undefined)?.changed ?? LEAF);
    if (at % LONG_LIST === 0) yield;
  }
  const order = yield* orderInSteps(elements);
  let last: string | undefined;
  for (let at = 0; at < elements.length; at++) {
    const place = order?.[at] ?? at;
    const element = elements[place] as string;
    // Duplicates count as a whole.
    changed[element] = element === last ? LEAF : (nodes[place] as FieldSet);
    last = element;
    if (at % LONG_LIST === 0) yield;
  }
}

/** Compares the items of one element: one on each side, or all duplicates as a whole. */
function compareItems(
  type: ListType,
  before: JsonArray | undefined,
  after: JsonArray | undefined,
  later: Later,
): NodeDifference | undefined {
  const isSingle = (items: JsonArray | undefined) => items === undefined || items.length === 1;
  if (isSingle(before) && isSingle(after)) {
    return compareValues(type.items, before?.[0], after?.[0], later);
  }
  return compareLeaves(before, after);
}

/** Gathers the differences below one place. */
class Collector {
  readonly #isNew: boolean;
  readonly #isGone: boolean;
  #changed: FieldSetBuilder | undefined;
  #removed: FieldSetBuilder | undefined;

  constructor(before: Side, after: Side, isPermanent: boolean) {
    this.#isNew = before === undefined && !isPermanent;
    this.#isGone = after === undefined && !isPermanent;
  }

  add(element: string, difference: NodeDifference | undefined): void {
    if (difference?.changed !== undefined) {
      this.#changed ??= this.#isNew ? { [SELF]: LEAF } : {};
      this.#changed[element] = difference.changed;
    }
    if (difference?.removed !== undefined) {
      this.#removed ??= this.#isGone ? { [SELF]: LEAF } : {};
      this.#removed[element] = difference.removed;
    }
  }

  result(): NodeDifference | undefined {
    const changed = this.#changed ?? (this.#isNew ? LEAF : undefined);
    const removed = this.#removed ?? (this.#isGone ? LEAF : undefined);
    return changed === undefined && removed === undefined ? undefined : { changed, removed };
  }
}

function isMapLike(value: Side): value is JsonObject | null | undefined {
  return value === undefined || value === null || isJsonObject(value);
}

function isListLike(value: Side): value is JsonArray | null | undefined {
  return value === undefined || value === null || Array.isArray(value);
}

function isEmptyMap(value: JsonObject | null | undefined): boolean {
  for (const name in value) if (value[name] !== undefined) return false;
  return true;
}

function isEmptyList(value: JsonArray | null | undefined): boolean {
  return value === undefined || value === null || value.length === 0;
}

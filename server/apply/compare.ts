/**
 * The differences between two states of an object, as sets of fields (S1-SSA-09): the changed ones
 * (new or with another value) and the removed ones. As in kube-apiserver, a new struct, map or
 * item counts itself and everything below it; the order of lists that are owned by item does not
 * count.
 */

import { oneStep, STRETCH, type Steps } from "../../storage/base/steps.js";
import { equalInSteps } from "../api/deep-equal.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { EMPTY, type FieldSet, type FieldSetBuilder, isEmptySet, LEAF } from "./field-set.js";
import { elementOf, haveSameKeys, indexInSteps } from "./list-items.js";
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

/** @returns undefined when no ownable field changed */
export function* compareInSteps(
  type: MapType,
  before: JsonObject,
  after: JsonObject,
): Steps<Difference | undefined> {
  const difference = yield* compareMaps(type, before, after);
  if (difference === undefined) return undefined;
  return { changed: difference.changed ?? EMPTY, removed: difference.removed ?? EMPTY };
}

type Side = JsonValue | undefined;

function compareValues(
  type: MergeType,
  before: Side,
  after: Side,
): Steps<NodeDifference | undefined> {
  switch (type.form) {
    case "unowned":
      return oneStep(undefined);
    case "leaf":
      return compareLeaves(before, after);
    case "dynamic":
      return compareDynamic(before, after);
    case "map":
      if (!isMapLike(before) || !isMapLike(after)) return compareLeaves(before, after);
      // Both are empty: only their presence counts.
      if (isEmptyMap(before) && isEmptyMap(after) && type.isPermanent !== true) {
        return compareLeaves(before, after);
      }
      return compareMaps(type, before, after);
    case "list":
      if (!isListLike(before) || !isListLike(after)) return compareLeaves(before, after);
      if (isEmptyList(before) && isEmptyList(after)) return compareLeaves(before, after);
      return compareLists(type, before, after);
  }
}

const CHANGED_LEAF: NodeDifference = Object.freeze({ changed: LEAF, removed: undefined });
const REMOVED_LEAF: NodeDifference = Object.freeze({ changed: undefined, removed: LEAF });

function* compareLeaves(before: Side, after: Side): Steps<NodeDifference | undefined> {
  if (before === undefined) return CHANGED_LEAF;
  if (after === undefined) return REMOVED_LEAF;
  if (isPlain(before) || isPlain(after)) return before === after ? undefined : CHANGED_LEAF;
  return (yield* equalInSteps(before, after)) ? undefined : CHANGED_LEAF;
}

/** Compares maps by member; a change to or from a map also changes the field itself. */
function* compareDynamic(before: Side, after: Side): Steps<NodeDifference | undefined> {
  if (!isJsonObject(before) && !isJsonObject(after)) return yield* compareLeaves(before, after);
  if (isMapLike(before) && isMapLike(after)) {
    if (isEmptyMap(before) && isEmptyMap(after)) return yield* compareLeaves(before, after);
    return yield* compareMaps(DYNAMIC_MAP, before, after);
  }
  if (isJsonObject(after))
    return (yield* compareMaps(DYNAMIC_MAP, undefined, after)) ?? CHANGED_LEAF;
  // The field itself stays, with another type.
  const gone = isJsonObject(before)
    ? (yield* compareMaps(DYNAMIC_MAP, before, undefined))?.removed
    : {};
  const { [SELF]: _, ...removed } = gone ?? {};
  return { changed: LEAF, removed: isEmptySet(removed) ? undefined : removed };
}

/** Whether it is no map and no list. */
function isPlain(value: Side): boolean {
  return typeof value !== "object" || value === null;
}

function* compareMaps(
  type: MapType,
  before: JsonObject | null | undefined,
  after: JsonObject | null | undefined,
): Steps<NodeDifference | undefined> {
  const collected = new Collector(before, after, type.isPermanent === true);
  const fields = type.fields();
  const past = before ?? NOTHING;
  const next = after ?? NOTHING;
  let seen = 0;
  for (const name in next) {
    if (++seen % STRETCH === 0) yield;
    const value = next[name];
    const old = Object.hasOwn(past, name) ? past[name] : undefined;
    if (value === undefined || old === value) continue;
    const member = fields.get(name) ?? type.others;
    if (member === undefined) continue;
    const isNewLeaf = member.form === "leaf" && old === undefined;
    const difference = isNewLeaf ? CHANGED_LEAF : yield* compareValues(member, old, value);
    collected.add(fieldElement(name), difference);
  }
  for (const name in past) {
    if (++seen % STRETCH === 0) yield;
    const value = past[name];
    const isThere = Object.hasOwn(next, name) && next[name] !== undefined;
    const member = value === undefined || isThere ? undefined : (fields.get(name) ?? type.others);
    if (member === undefined) continue;
    collected.add(fieldElement(name), yield* compareValues(member, value, undefined));
  }
  return collected.result();
}

const NOTHING: JsonObject = Object.freeze({});

function* compareLists(
  type: ListType,
  before: JsonArray | null | undefined,
  after: JsonArray | null | undefined,
): Steps<NodeDifference | undefined> {
  const [past, next] = [before ?? [], after ?? []];
  if (past.length === 0) return yield* addItems(type, before, next);
  const collected = new Collector(before, after, false);
  if (past.length === next.length) {
    const differences = yield* compareInOrder(type, past, next);
    if (differences?.length === 0) return undefined;
    // Duplicate items are compared together, not one by one.
    if (differences !== undefined && (yield* indexInSteps(type, next)).size === next.length) {
      for (const [index, difference] of differences) {
        collected.add(elementOf(type, next[index] as JsonValue) as string, difference);
      }
      return collected.result();
    }
  }
  const [old, now] = [yield* indexInSteps(type, past), yield* indexInSteps(type, next)];
  let seen = 0;
  for (const [element, items] of now) {
    if (++seen % STRETCH === 0) yield;
    collected.add(element, yield* compareItems(type, old.get(element), items));
  }
  for (const [element, items] of old) {
    if (++seen % STRETCH === 0) yield;
    if (!now.has(element)) collected.add(element, yield* compareItems(type, items, undefined));
  }
  return collected.result();
}

/**
 * The usual case: the same items in the same order. Elements are only made once an item differs.
 * @returns undefined in any other case
 */
function* compareInOrder(
  type: ListType,
  before: JsonArray,
  after: JsonArray,
): Steps<(readonly [index: number, difference: NodeDifference])[] | undefined> {
  const differences: (readonly [number, NodeDifference])[] = [];
  for (let index = 0; index < after.length; index++) {
    if (index % STRETCH === STRETCH - 1) yield;
    const [old, item] = [before[index] as JsonValue, after[index] as JsonValue];
    if (!haveSameKeys(type, old, item)) return undefined;
    const difference = yield* compareValues(type.items, old, item);
    if (difference !== undefined) differences.push([index, difference]);
  }
  return differences;
}

/** Items that are all new, in kube-apiserver's order of their elements, in which they are written. */
function* addItems(
  type: ListType,
  before: JsonArray | null | undefined,
  items: JsonArray,
): Steps<NodeDifference | undefined> {
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  for (const [at, item] of items.entries()) {
    if (at % STRETCH === STRETCH - 1) yield;
    const element = elementOf(type, item);
    if (element === undefined) continue;
    elements.push(element);
    nodes.push((yield* compareValues(type.items, undefined, item))?.changed ?? LEAF);
  }
  if (elements.length === 0) return before === undefined ? CHANGED_LEAF : undefined;
  const order = yield* orderInSteps(elements);
  const changed: FieldSetBuilder = before === undefined ? { [SELF]: LEAF } : {};
  let last: string | undefined;
  for (let at = 0; at < elements.length; at++) {
    if (at % STRETCH === STRETCH - 1) yield;
    const place = order?.[at] ?? at;
    const element = elements[place] as string;
    // Duplicates count as a whole.
    changed[element] = element === last ? LEAF : (nodes[place] as FieldSet);
    last = element;
  }
  return { changed, removed: undefined };
}

/** Compares the items of one element: one on each side, or all duplicates as a whole. */
function* compareItems(
  type: ListType,
  before: JsonArray | undefined,
  after: JsonArray | undefined,
): Steps<NodeDifference | undefined> {
  const isSingle = (items: JsonArray | undefined) => items === undefined || items.length === 1;
  if (isSingle(before) && isSingle(after)) {
    return yield* compareValues(type.items, before?.[0], after?.[0]);
  }
  return yield* compareLeaves(before, after);
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

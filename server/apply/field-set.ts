/**
 * FieldSet: a set of an object's fields in the form of `fieldsV1`, a tree of path elements (S1-SSA-01).
 * `{}` below an element means that the field is in the set; with further elements below it only those
 * are, unless `.` includes the field too. Sets are immutable, so that parts can be shared; an operation
 * without effect returns its first operand.
 *
 *     a               { "f:data": { ".": {}, "f:x": {} } }      data and data.x
 *     b               { "f:data": { "f:x": {}, "f:y": {} } }    data.x and data.y
 *     a and b         { "f:data": { "f:x": {} } }
 *     a or b          { "f:data": { ".": {}, "f:x": {}, "f:y": {} } }
 *     a without b     { "f:data": {} }                          data; of a field that is taken what is below stays
 */

import { finishNow, STRETCH, type Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import {
  areFewInOrder,
  canonicalElement,
  orderInSteps,
  SELF,
  sortElements,
} from "./path-element.js";

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

/** A mutable set under construction. */
export interface FieldSetBuilder {
  [element: string]: FieldSet;
}

/** The empty set. Below an element the same text means the field itself: see LEAF. */
export const EMPTY: FieldSet = Object.freeze({});

/** Whether a stored value has the form of a set: only sets, all the way down. */
export function* isFieldSet(value: JsonValue | undefined): Steps<boolean> {
  if (!isJsonObject(value)) return false;
  const left = [value];
  let seen = 0;
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    for (const element in node) {
      if (++seen % STRETCH === 0) yield;
      const inner = node[element];
      if (!isJsonObject(inner)) return false;
      if (!isLeaf(inner)) left.push(inner);
    }
  }
  return true;
}

/** A field that is in the set, with none below it. */
export const LEAF: FieldSet = EMPTY;

export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Whether the field of this node is in the set itself. */
export function isMember(node: FieldSet): boolean {
  return node[SELF] !== undefined || isEmptySet(node);
}

export function hasChildren(node: FieldSet): boolean {
  for (const element in node) if (element !== SELF) return true;
  return false;
}

/** A set of single fields. */
export function setOfPaths(paths: readonly (readonly string[])[]): FieldSet {
  return paths.reduce<FieldSet>(
    (set, path) =>
      unionSets(
        set,
        path.reduceRight<FieldSet>((node, e) => ({ [e]: node }), LEAF),
      ),
    EMPTY,
  );
}

function unionSets(a: FieldSet, b: FieldSet): FieldSet {
  return finishNow(unionInSteps(a, b));
}

export function* unionInSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  return isEmptySet(a) ? b : yield* unionChildren(a, b);
}

function* unionChildren(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  let changed: Map<string, FieldSet> | undefined;
  let seen = 0;
  for (const element in b) {
    if (++seen % STRETCH === 0) yield;
    if (element === SELF) continue;
    const theirs = b[element] as FieldSet;
    const ours = a[element];
    const both = ours === undefined ? theirs : yield* unionNodes(ours, theirs);
    if (both === ours) continue;
    changed ??= new Map();
    changed.set(element, both);
  }
  if (changed === undefined) return a;
  const union = yield* copyInSteps(a[SELF] === undefined ? {} : { [SELF]: LEAF }, a);
  for (const [element, node] of changed) {
    if (++seen % STRETCH === 0) yield;
    union[element] = node;
  }
  return union;
}

function* unionNodes(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  if (a === b) return a;
  const [hasA, hasB] = [hasChildren(a), hasChildren(b)];
  if (!hasA && !hasB) return a;
  if (!hasB) return yield* withSelf(a);
  if (!hasA) return yield* withSelf(b);
  const union = yield* unionChildren(a, b);
  return b[SELF] === undefined ? union : yield* withSelf(union);
}

function* withSelf(node: FieldSet): Steps<FieldSet> {
  return isMember(node) ? node : yield* copyInSteps({ [SELF]: LEAF }, node);
}

/** Adds the elements of the set but the field itself. */
function* copyInSteps(copy: FieldSetBuilder, set: FieldSet): Steps<FieldSetBuilder> {
  let seen = 0;
  for (const element in set) {
    if (++seen % STRETCH === 0) yield;
    if (element !== SELF) copy[element] = set[element] as FieldSet;
  }
  return copy;
}

/** The fields in both sets. */
export function* intersectInSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  return (yield* intersectChildren(a, b)) ?? EMPTY;
}

function* intersectChildren(a: FieldSet, b: FieldSet): Steps<FieldSet | undefined> {
  let both: FieldSetBuilder | undefined;
  let seen = 0;
  for (const element in a) {
    if (++seen % STRETCH === 0) yield;
    const theirs = element === SELF ? undefined : b[element];
    if (theirs === undefined) continue;
    const ours = a[element] as FieldSet;
    const isSplit = hasChildren(ours) && hasChildren(theirs);
    const children = isSplit ? yield* intersectChildren(ours, theirs) : undefined;
    const isIn = isMember(ours) && isMember(theirs);
    if (children === undefined && !isIn) continue;
    both ??= {};
    if (children === undefined) both[element] = LEAF;
    else both[element] = isIn ? yield* withSelf(children) : children;
  }
  return both;
}

/** The fields of `a` that are not in `b`; fields below those of `b` stay. */
export function subtractInSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  return subtract(a, b, false);
}

/** The fields without those of other sets. */
export function* subtractAll(fields: FieldSet, others: readonly FieldSet[]): Steps<FieldSet> {
  let left = fields;
  for (const other of others) left = yield* subtractInSteps(left, other);
  return left;
}

/** The fields of `a` that are neither in `b` nor below a field of `b`. */
export function subtractTrees(a: FieldSet, b: FieldSet): FieldSet {
  return finishNow(subtract(a, b, true));
}

function* subtract(a: FieldSet, b: FieldSet, withBelow: boolean): Steps<FieldSet> {
  let changed: Map<string, FieldSet | undefined> | undefined;
  let seen = 0;
  for (const element in b) {
    if (++seen % STRETCH === 0) yield;
    const ours = element === SELF ? undefined : a[element];
    if (ours === undefined) continue;
    const left = yield* subtractNodes(ours, b[element] as FieldSet, withBelow);
    if (left === ours) continue;
    changed ??= new Map();
    changed.set(element, left);
  }
  if (changed === undefined) return a;
  const rest: FieldSetBuilder = {};
  for (const element in a) {
    if (++seen % STRETCH === 0) yield;
    const left = changed.has(element) ? changed.get(element) : a[element];
    if (left !== undefined) rest[element] = left;
  }
  return rest;
}

function* subtractNodes(a: FieldSet, b: FieldSet, withBelow: boolean): Steps<FieldSet | undefined> {
  const isTaken = isMember(b);
  if (isTaken && withBelow) return undefined;
  const children = hasChildren(a) && hasChildren(b) ? yield* subtract(a, b, withBelow) : a;
  const isKept = isMember(a) && !isTaken;
  if (!hasChildren(children)) return isKept ? LEAF : undefined;
  if (isKept || children[SELF] === undefined) return children;
  return yield* copyInSteps({}, children);
}

/** Whether every field of `b` is in `a`. */
export function* containsSet(a: FieldSet, b: FieldSet): Steps<boolean> {
  const left: FieldSet[] = [a, b];
  let seen = 0;
  while (left.length > 0) {
    const theirs = left.pop() as FieldSet;
    const ours = left.pop() as FieldSet;
    for (const element in theirs) {
      if (++seen % STRETCH === 0) yield;
      if (element === SELF) continue;
      const [mine, other] = [ours[element], theirs[element] as FieldSet];
      if (mine === undefined || (isMember(other) && !isMember(mine))) return false;
      if (mine !== other && hasChildren(other)) left.push(mine, other);
    }
  }
  return true;
}

export function* equalSets(a: FieldSet, b: FieldSet): Steps<boolean> {
  return a === b || ((yield* containsSet(a, b)) && (yield* containsSet(b, a)));
}

/** How many fields are in the set. */
export function countFields(set: FieldSet): number {
  let count = 0;
  for (const element in set) {
    if (element === SELF) continue;
    const node = set[element] as FieldSet;
    count += countFields(node) + (isMember(node) ? 1 : 0);
  }
  return count;
}

/**
 * Visits the fields of the set; on each level the fields first, then those below them.
 * @param visit false ends it
 */
export function visitPaths(set: FieldSet, visit: (path: readonly string[]) => boolean): void {
  walk(set, [], visit);
}

/** @returns false when it was ended */
function walk(
  set: FieldSet,
  prefix: readonly string[],
  visit: (path: readonly string[]) => boolean,
): boolean {
  const below: (readonly [string, FieldSet])[] = [];
  for (const element of sortElements(Object.keys(set))) {
    if (element === SELF) continue;
    const node = set[element] as FieldSet;
    if (isMember(node) && !visit([...prefix, element])) return false;
    if (hasChildren(node)) below.push([element, node]);
  }
  return below.every(([element, node]) => walk(node, [...prefix, element], visit));
}

/** The set with its elements in kube-apiserver's order. */
export function* canonicalInSteps(set: FieldSet): Steps<FieldSet> {
  const elements = Object.keys(set);
  let changed: Map<string, FieldSet> | undefined;
  let seen = 0;
  for (const element of elements) {
    if (++seen % STRETCH === 0) yield;
    const node = set[element] as FieldSet;
    const canonical = isEmptySet(node) ? node : yield* canonicalInSteps(node);
    if (canonical === node) continue;
    changed ??= new Map();
    changed.set(element, canonical);
  }
  const order = areFewInOrder(elements) ? undefined : yield* orderInSteps(elements);
  if (order === undefined && changed === undefined) return set;
  const sorted: FieldSetBuilder = {};
  for (let at = 0; at < elements.length; at++) {
    if (at % STRETCH === STRETCH - 1) yield;
    const element = elements[order?.[at] ?? at] as string;
    sorted[element] = changed?.get(element) ?? (set[element] as FieldSet);
  }
  return sorted;
}

/**
 * A set from parsed `fieldsV1`. Elements of unknown kinds are dropped.
 * @throws {SyntaxError} for an invalid set
 */
export function* parseFields(value: JsonValue | undefined): Steps<FieldSet> {
  if (value === undefined || value === null) return EMPTY;
  const node = yield* parseNode(value);
  if (node[SELF] === undefined) return node;
  // Nobody owns the whole object.
  const { [SELF]: _, ...set } = node;
  return set;
}

function* parseNode(value: JsonValue | undefined): Steps<FieldSet> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SyntaxError("fieldsV1 is no tree of objects");
  }
  let parsed: FieldSetBuilder | undefined;
  let hasOthers = false;
  let hasSelf = false;
  let seen = 0;
  for (const element in value) {
    if (++seen % STRETCH === 0) yield;
    const inner = value[element];
    const canonical = element === SELF ? SELF : canonicalElement(element);
    const isEnd = canonical === SELF || canonical === undefined;
    const node = isEnd ? LEAF : isLeaf(inner) ? inner : yield* parseNode(inner);
    if (canonical === SELF) hasSelf = true;
    else if (canonical !== undefined) hasOthers = true;
    if (canonical === element && (node === inner || (canonical === SELF && isLeaf(inner)))) {
      if (parsed !== undefined) parsed[element] = node;
      continue;
    }
    parsed ??= yield* copyUntil(value, element);
    if (canonical === undefined) continue;
    const before = parsed[canonical];
    parsed[canonical] = before === undefined ? node : yield* unionNodes(before, node);
  }
  // Returns the input itself, so that valid sets are not copied.
  if (!hasOthers && hasSelf) return LEAF;
  return parsed ?? (value as unknown as FieldSet);
}

/** Whatever a client puts behind "." says the same; what is no empty object is replaced, as sets are walked. */
function isLeaf(value: JsonValue | undefined): value is JsonObject & FieldSet {
  return isJsonObject(value) && isEmptySet(value as unknown as FieldSet);
}

function* copyUntil(value: JsonObject, end: string): Steps<FieldSetBuilder> {
  const copy: FieldSetBuilder = {};
  let seen = 0;
  for (const element in value) {
    if (++seen % STRETCH === 0) yield;
    if (element === end) break;
    copy[element] = element === SELF ? LEAF : (value[element] as unknown as FieldSet);
  }
  return copy;
}

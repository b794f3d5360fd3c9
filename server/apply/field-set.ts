/**
 * FieldSet: a set of an object's fields in the form of `fieldsV1`, a tree of path elements (S1-SSA-01).
 * `{}` below an element means that the field is in the set; with further elements below it only those
 * are, unless `.` includes the field too. Sets are immutable, so that parts can be shared; an operation
 * without effect returns its first operand.
 */

import type { Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { canonicalElement, orderInSteps, SELF, sortElements } from "./path-element.js";

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
export function isFieldSet(value: JsonValue | undefined): value is JsonObject & FieldSet {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  for (const element in value) if (!isFieldSet(value[element])) return false;
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

export function unionSets(a: FieldSet, b: FieldSet): FieldSet {
  return isEmptySet(a) ? b : isEmptySet(b) ? a : unionChildren(a, b);
}

function unionNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const [hasA, hasB] = [hasChildren(a), hasChildren(b)];
  if (!hasA && !hasB) return a;
  if (!hasB) return withSelf(a);
  if (!hasA) return withSelf(b);
  const union = unionChildren(a, b);
  return b[SELF] === undefined ? union : withSelf(union);
}

function unionChildren(a: FieldSet, b: FieldSet): FieldSet {
  let union: FieldSetBuilder | undefined;
  for (const element in b) {
    if (element === SELF) continue;
    const theirs = b[element] as FieldSet;
    const ours = a[element];
    const both = ours === undefined ? theirs : unionNodes(ours, theirs);
    if (both === ours) continue;
    union ??= { ...a };
    union[element] = both;
  }
  return union ?? a;
}

function withSelf(node: FieldSet): FieldSet {
  return isMember(node) ? node : { [SELF]: LEAF, ...node };
}

/** The fields in both sets. */
export function intersectSets(a: FieldSet, b: FieldSet): FieldSet {
  return intersectChildren(a, b) ?? EMPTY;
}

function intersectChildren(a: FieldSet, b: FieldSet): FieldSetBuilder | undefined {
  let both: FieldSetBuilder | undefined;
  for (const element in a) {
    if (element === SELF) continue;
    const theirs = b[element];
    if (theirs === undefined) continue;
    const ours = a[element] as FieldSet;
    const children = intersectChildren(ours, theirs);
    const isIn = isMember(ours) && isMember(theirs);
    if (children === undefined && !isIn) continue;
    both ??= {};
    both[element] = isIn
      ? children === undefined
        ? LEAF
        : withSelf(children)
      : (children ?? LEAF);
  }
  return both;
}

/** The fields of `a` that are not in `b`; fields below those of `b` stay. */
export function subtractSets(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, false);
}

/** The fields of `a` that are neither in `b` nor below a field of `b`. */
export function subtractTrees(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, true);
}

function subtract(a: FieldSet, b: FieldSet, withBelow: boolean): FieldSet {
  let rest: FieldSetBuilder | undefined;
  for (const element in b) {
    const ours = a[element];
    if (element === SELF || ours === undefined) continue;
    const left = subtractNodes(ours, b[element] as FieldSet, withBelow);
    if (left === ours) continue;
    rest ??= { ...a };
    if (left === undefined) delete rest[element];
    else rest[element] = left;
  }
  return rest ?? a;
}

function subtractNodes(a: FieldSet, b: FieldSet, withBelow: boolean): FieldSet | undefined {
  const isTaken = isMember(b);
  if (isTaken && withBelow) return undefined;
  const children = hasChildren(b) ? subtract(a, b, withBelow) : a;
  const isKept = isMember(a) && !isTaken;
  if (!hasChildren(children)) return isKept ? LEAF : undefined;
  if (isKept || children[SELF] === undefined) return children;
  const { [SELF]: _, ...rest } = children;
  return rest;
}

/** Elements that are looked at in one step; larger sets are worked on in steps. */
const STRETCH = 500;

function isLong(set: FieldSet): boolean {
  return countUntil(set, STRETCH) >= STRETCH;
}

/** Elements of the set on all levels; once there are so many the rest is not counted. */
function countUntil(set: FieldSet, enough: number): number {
  let count = 0;
  for (const element in set) {
    count += 1 + countUntil(set[element] as FieldSet, enough - count);
    if (count >= enough) break;
  }
  return count;
}

/** `subtractSets` in steps, for sets of any size. */
export function* subtractInSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  if (!isLong(b)) return subtractSets(a, b);
  yield;
  return yield* subtractLong(a, b);
}

function* subtractLong(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  const rest: FieldSetBuilder = {};
  let isSame = true;
  let seen = 0;
  for (const element in a) {
    if (++seen % STRETCH === 0) yield;
    const ours = a[element] as FieldSet;
    const theirs = element === SELF ? undefined : b[element];
    const left = theirs === undefined ? ours : yield* subtractLongNodes(ours, theirs);
    isSame &&= left === ours;
    if (left !== undefined) rest[element] = left;
  }
  return isSame ? a : rest;
}

function* subtractLongNodes(a: FieldSet, b: FieldSet): Steps<FieldSet | undefined> {
  if (!hasChildren(a) || !hasChildren(b)) return subtractNodes(a, b, false);
  const children = yield* subtractLong(a, b);
  const isKept = isMember(a) && !isMember(b);
  if (!hasChildren(children)) return isKept ? LEAF : undefined;
  if (isKept || children[SELF] === undefined) return children;
  return yield* copyInSteps({}, children);
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

/** `unionSets` in steps, for sets of any size. */
export function* unionInSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  if (isEmptySet(a)) return b;
  if (!isLong(b)) return unionSets(a, b);
  yield;
  return yield* unionLong(a, b);
}

function* unionLong(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  const changed: (readonly [element: string, node: FieldSet])[] = [];
  let seen = 0;
  for (const element in b) {
    if (++seen % STRETCH === 0) yield;
    if (element === SELF) continue;
    const theirs = b[element] as FieldSet;
    const ours = a[element];
    const both = ours === undefined ? theirs : yield* unionLongNodes(ours, theirs);
    if (both !== ours) changed.push([element, both]);
  }
  if (changed.length === 0) return a;
  const union = yield* copyInSteps(a[SELF] === undefined ? {} : { [SELF]: LEAF }, a);
  for (const [element, node] of changed) {
    if (++seen % STRETCH === 0) yield;
    union[element] = node;
  }
  return union;
}

function* unionLongNodes(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  if (a === b) return a;
  const [hasA, hasB] = [hasChildren(a), hasChildren(b)];
  if (!hasA && !hasB) return a;
  if (!hasB) return yield* withSelfInSteps(a);
  if (!hasA) return yield* withSelfInSteps(b);
  const union = yield* unionLong(a, b);
  return b[SELF] === undefined ? union : yield* withSelfInSteps(union);
}

function* withSelfInSteps(node: FieldSet): Steps<FieldSet> {
  return isMember(node) ? node : yield* copyInSteps({ [SELF]: LEAF }, node);
}

/** `intersectSets` in steps, for sets of any size. */
export function* intersectInSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  if (!isLong(a) || !isLong(b)) return intersectSets(a, b);
  yield;
  return (yield* intersectLong(a, b)) ?? EMPTY;
}

function* intersectLong(a: FieldSet, b: FieldSet): Steps<FieldSetBuilder | undefined> {
  let both: FieldSetBuilder | undefined;
  let seen = 0;
  for (const element in a) {
    if (++seen % STRETCH === 0) yield;
    const theirs = element === SELF ? undefined : b[element];
    if (theirs === undefined) continue;
    const ours = a[element] as FieldSet;
    const isSplit = hasChildren(ours) && hasChildren(theirs);
    const children = isSplit ? yield* intersectLong(ours, theirs) : undefined;
    const isIn = isMember(ours) && isMember(theirs);
    if (children === undefined && !isIn) continue;
    both ??= {};
    if (children === undefined) both[element] = LEAF;
    else both[element] = isIn ? yield* withSelfInSteps(children) : children;
  }
  return both;
}

/** Whether every field of `b` is in `a`. */
export function containsSet(a: FieldSet, b: FieldSet): boolean {
  for (const element in b) {
    if (element === SELF) continue;
    const ours = a[element];
    const theirs = b[element] as FieldSet;
    if (ours === undefined || (isMember(theirs) && !isMember(ours))) return false;
    if (!containsSet(ours, theirs)) return false;
  }
  return true;
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  return a === b || (containsSet(a, b) && containsSet(b, a));
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
export function canonicalSet(set: FieldSet): FieldSet {
  return canonicalWithin(set, { left: Number.POSITIVE_INFINITY }) as FieldSet;
}

/** The same of a set of at most so many elements; undefined for a larger one. */
function canonicalWithin(set: FieldSet, size: { left: number }): FieldSet | undefined {
  const elements = Object.keys(set);
  size.left -= elements.length;
  if (size.left < 0) return undefined;
  let changed: FieldSetBuilder | undefined;
  for (const element of elements) {
    const node = set[element] as FieldSet;
    const canonical = node === LEAF ? node : canonicalWithin(node, size);
    if (canonical === undefined) return undefined;
    if (canonical === node) continue;
    changed ??= { ...set };
    changed[element] = canonical;
  }
  const nodes = changed ?? set;
  const ordered = sortElements(elements);
  if (ordered === elements) return nodes;
  const sorted: FieldSetBuilder = {};
  for (const element of ordered) sorted[element] = nodes[element] as FieldSet;
  return sorted;
}

/** The same in steps, for sets of any size. */
export function* canonicalInSteps(set: FieldSet): Steps<FieldSet> {
  const small = canonicalWithin(set, { left: STRETCH });
  if (small !== undefined) return small;
  yield;
  return yield* canonicalOfLarge(set);
}

function* canonicalOfLarge(set: FieldSet): Steps<FieldSet> {
  const elements = Object.keys(set);
  const nodes: FieldSet[] = [];
  let isSame = true;
  for (const element of elements) {
    if (nodes.length % STRETCH === STRETCH - 1) yield;
    const node = set[element] as FieldSet;
    const canonical = node === LEAF ? node : yield* canonicalOfLarge(node);
    isSame &&= canonical === node;
    nodes.push(canonical);
  }
  const order = yield* orderInSteps(elements);
  if (order === undefined && isSame) return set;
  const sorted: FieldSetBuilder = {};
  for (let at = 0; at < elements.length; at++) {
    if (at % STRETCH === STRETCH - 1) yield;
    const place = order?.[at] ?? at;
    sorted[elements[place] as string] = nodes[place] as FieldSet;
  }
  return sorted;
}

/**
 * A set from parsed `fieldsV1`. Elements of unknown kinds are dropped.
 * @throws {SyntaxError} for an invalid set
 */
export function parseFields(value: JsonValue | undefined): FieldSet {
  if (value === undefined || value === null) return EMPTY;
  const node = parseNode(value);
  if (node[SELF] === undefined) return node;
  // Nobody owns the whole object.
  const { [SELF]: _, ...set } = node;
  return set;
}

function parseNode(value: JsonValue | undefined): FieldSet {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SyntaxError("fieldsV1 is no tree of objects");
  }
  let parsed: FieldSetBuilder | undefined;
  let hasOthers = false;
  let hasSelf = false;
  for (const element in value) {
    const inner = value[element];
    const canonical = element === SELF ? SELF : canonicalElement(element);
    const node = canonical === SELF || canonical === undefined ? LEAF : parseNode(inner);
    if (canonical === SELF) hasSelf = true;
    else if (canonical !== undefined) hasOthers = true;
    if (canonical === element && (node === inner || (canonical === SELF && isLeaf(inner)))) {
      if (parsed !== undefined) parsed[element] = node;
      continue;
    }
    parsed ??= copyUntil(value, element);
    if (canonical === undefined) continue;
    const before = parsed[canonical];
    parsed[canonical] = before === undefined ? node : unionNodes(before, node);
  }
  // Returns the input itself, so that valid sets are not copied.
  if (!hasOthers && hasSelf) return LEAF;
  return parsed ?? (value as unknown as FieldSet);
}

/** Whatever a client puts behind "." says the same; what is no empty object is replaced, as sets are walked. */
function isLeaf(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && isEmptySet(value as unknown as FieldSet);
}

function copyUntil(value: JsonObject, end: string): FieldSetBuilder {
  const copy: FieldSetBuilder = {};
  for (const element in value) {
    if (element === end) break;
    copy[element] = element === SELF ? LEAF : (value[element] as unknown as FieldSet);
  }
  return copy;
}

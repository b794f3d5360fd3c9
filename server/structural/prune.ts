/**
 * Pruning: copies what a structural schema has, and says where what it leaves out was. kind, apiVersion
 * and metadata of a resource, also of an embedded one, are copied as they are: their fields are read
 * by the codec of metadata (embedded.ts, structural-codec.ts). Integers beyond 64 bits become floats.
 */
import { setMember } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { isUnsetNull } from "./defaulting.js";
import { META_MEMBERS, memberOf, type Structural } from "./structural.js";

/** Paths that are told; the rest of a body that is all wrong adds nothing. */
const PATHS_MAX = 100;

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** Appends the paths of what it leaves out, such as "spec.containers[0].x". */
export function prune(object: JsonValue, root: Structural, dropped: string[]): JsonValue {
  return copyKnown(object, root, true, dropped);
}

/** `node` undefined = nothing is known of the value, so that its members are all left out. */
function copyKnown(
  value: JsonValue,
  node: Structural | undefined,
  isResource: boolean,
  dropped: string[],
): JsonValue {
  if (typeof value !== "object" || value === null) return toNumber(value);
  if (node?.keepsUnknown && node.properties.size === 0 && node.additional === undefined) {
    // Nothing is known of the items of a value that is kept whole, unless the schema has some.
    if (!(Array.isArray(value) && node.items !== undefined)) return copyAll(value);
  }
  if (Array.isArray(value)) return copyItems(value, node, dropped);
  const copy: JsonObject = {};
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    if (isResource && META_MEMBERS.has(name)) {
      copy[name] = copyAll(member);
      continue;
    }
    const known = node === undefined ? undefined : memberOf(node, name);
    if (known === undefined) {
      if (node?.keepsUnknown) setMember(copy, name, copyAll(member));
      else if (dropped.length < PATHS_MAX) dropped.push(name);
      continue;
    }
    const before = dropped.length;
    const next = known === true ? undefined : known;
    // Null that may not be counts as not sent; where there is a default, that takes its place.
    if (member === null && next?.default === undefined && next !== undefined) {
      if (isUnsetNull(member, next)) continue;
    }
    setMember(copy, name, copyKnown(member, next, next?.isEmbedded === true, dropped));
    if (dropped.length > before) prefix(dropped, before, name);
  }
  return copy;
}

function copyItems(
  list: readonly JsonValue[],
  node: Structural | undefined,
  dropped: string[],
): JsonValue[] {
  const items = node?.items;
  return list.map((item, index) => {
    const before = dropped.length;
    const copy =
      items === undefined && node?.keepsUnknown
        ? copyAll(item)
        : copyKnown(item, items, items?.isEmbedded === true, dropped);
    if (dropped.length > before) prefix(dropped, before, `[${index}]`);
    return copy;
  });
}

function prefix(paths: string[], from: number, segment: string): void {
  for (let at = from; at < paths.length; at++) {
    const path = paths[at] as string;
    paths[at] = path.startsWith("[") ? segment + path : `${segment}.${path}`;
  }
}

/** A deep copy, with numbers as they are stored. */
export function copyAll(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return toNumber(value);
  if (Array.isArray(value)) return value.map(copyAll);
  const copy: JsonObject = {};
  for (const name in value) {
    const member = value[name];
    if (member !== undefined) setMember(copy, name, copyAll(member));
  }
  return copy;
}

function toNumber(value: JsonValue): JsonValue {
  if (typeof value !== "bigint") return value;
  return value > INT64_MAX || value < INT64_MIN ? Number(value) : value;
}

/** Whether pruning would leave anything out. */
export function isPruned(value: JsonValue, node: Structural): boolean {
  const dropped: string[] = [];
  copyKnown(value, node, node.isEmbedded, dropped);
  return dropped.length === 0;
}

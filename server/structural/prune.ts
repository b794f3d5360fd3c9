/**
 * Pruning: copies the fields of a structural schema, and reports the paths of dropped ones. kind,
 * apiVersion and metadata of a resource, including embedded ones, are copied as they are: the codec of
 * metadata decodes them (embedded.ts, structural-codec.ts). Integers beyond 64 bits become floats.
 */

import { setMember } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { cutPath } from "../api/shown-value.js";
import { isUnsetNull, META_MEMBERS, memberOf, type Structural } from "./structural.js";

/** Maximum number of reported paths; more of a wholly invalid body add nothing. */
const PATHS_MAX = 100;

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

export interface Pruning {
  /** Receives the paths of dropped fields, such as "spec.containers[0].x". */
  readonly dropped: string[];
  /** Whether nulls that may not be are left to be judged. Absent = they count as not sent. */
  readonly keepsNulls?: boolean;
}

export function prune(object: JsonValue, root: Structural, pruning: Pruning): JsonValue {
  return copyKnown(object, root, true, pruning);
}

/** `node` undefined = the value has no schema, so all its members are dropped. */
function copyKnown(
  value: JsonValue,
  node: Structural | undefined,
  isResource: boolean,
  pruning: Pruning,
): JsonValue {
  if (typeof value !== "object" || value === null) return toNumber(value);
  if (node?.keepsUnknown && node.properties.size === 0 && node.additional === undefined) {
    // A value that is kept whole has unknown items, unless the schema describes them.
    if (!(Array.isArray(value) && node.items !== undefined)) return copyAll(value);
  }
  if (Array.isArray(value)) return copyItems(value, node, pruning);
  const { dropped } = pruning;
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
    // A null that is not nullable counts as not sent; a default takes its place.
    if (member === null && next?.default === undefined && next !== undefined) {
      const isJudged = pruning.keepsNulls === true && (next.type !== "" || next.isIntOrString);
      if (isUnsetNull(member, next) && !isJudged) continue;
    }
    setMember(copy, name, copyKnown(member, next, next?.isEmbedded === true, pruning));
    if (dropped.length > before) prefix(dropped, before, name);
  }
  return copy;
}

function copyItems(
  list: readonly JsonValue[],
  node: Structural | undefined,
  pruning: Pruning,
): JsonValue[] {
  const { dropped } = pruning;
  const items = node?.items;
  return list.map((item, index) => {
    const before = dropped.length;
    const copy =
      items === undefined && node?.keepsUnknown
        ? copyAll(item)
        : copyKnown(item, items, items?.isEmbedded === true, pruning);
    if (dropped.length > before) prefix(dropped, before, `[${index}]`);
    return copy;
  });
}

function prefix(paths: string[], from: number, segment: string): void {
  for (let at = from; at < paths.length; at++) {
    const path = paths[at] as string;
    paths[at] = cutPath(path.startsWith("[") ? segment + path : `${segment}.${path}`);
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
  return isInt64(value) ? value : Number(value);
}

/** Beyond these, integers are floats, as in kube-apiserver. */
export function isInt64(value: bigint): boolean {
  return value <= INT64_MAX && value >= INT64_MIN;
}

/** Whether pruning would drop nothing. */
export function isPruned(value: JsonValue, node: Structural): boolean {
  const dropped: string[] = [];
  copyKnown(value, node, node.isEmbedded, { dropped });
  return dropped.length === 0;
}

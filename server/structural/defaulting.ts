/**
 * Fills in a structural schema's defaults in place: for missing members, and for nulls that are not
 * nullable. A null without a default was removed when the body was read (prune.ts).
 */

import { STRETCH, type Steps } from "../../storage/base/steps.js";
import { isJsonObject, setMember } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";
import { requestEntityTooLarge } from "../api/status.js";
import { copyAll } from "./prune.js";
import { isUnsetNull, memberOf, type Structural } from "./structural.js";

/** Of defaults in one object, as JSON: sixty thousand empty items may have one each, of any length. */
const DEFAULT_BYTES_MAX = 8 * 1024 * 1024;

/** What is filled in to one object. */
class Filling {
  bytes = 0;

  /** @throws {StatusError} 413 */
  copyOf({ default: value = null }: Structural): JsonValue {
    if (typeof value !== "object" || value === null) {
      this.bytes += typeof value === "string" ? value.length : 8;
    } else this.bytes += sizeOf(value);
    if (this.bytes > DEFAULT_BYTES_MAX) {
      throw requestEntityTooLarge(
        `the defaults of the object are larger than ${DEFAULT_BYTES_MAX} bytes together`,
      );
    }
    return copyAll(value);
  }
}

/** Defaults are never changed. */
const SIZES = new WeakMap<object, number>();

function sizeOf(value: object): number {
  let size = SIZES.get(value);
  if (size === undefined) {
    size = lengthOf(value as JsonValue);
    SIZES.set(value, size);
  }
  return size;
}

function lengthOf(value: JsonValue): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let length = 2;
  for (const [key, member] of Object.entries(value)) {
    length += key.length + lengthOf(member ?? null);
  }
  return length;
}

/** Takes a value that may lack something, of this schema. */
type Enter = (value: JsonValue, node: Structural) => void;

/** @throws {StatusError} 413 for defaults of many megabytes; some are filled in then */
export function applyDefaults(value: JsonValue, node: Structural): void {
  const filling = new Filling();
  const enter: Enter = (member, known) => fillIn(member, known, filling, enter);
  enter(value, node);
}

/** The same in steps. @returns the bytes that were filled in */
export function* applyDefaultsInSteps(value: JsonValue, node: Structural): Steps<number> {
  const filling = new Filling();
  const values: JsonValue[] = [value];
  const nodes: Structural[] = [node];
  const enter: Enter = (member, known) => {
    if (!known.has.defaults || typeof member !== "object" || member === null) return;
    values.push(member);
    nodes.push(known);
  };
  for (let looks = 1; values.length > 0; looks++) {
    if (looks % STRETCH === 0) yield;
    fillIn(values.pop() as JsonValue, nodes.pop() as Structural, filling, enter);
  }
  return filling.bytes;
}

/** What the value itself lacks. Its members are entered. */
function fillIn(value: JsonValue, node: Structural, filling: Filling, enter: Enter): void {
  if (!node.has.defaults) return;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return;
    value.forEach((item, index) => {
      if (isUnsetNull(item, items)) value[index] = filling.copyOf(items);
      enter(value[index] as JsonValue, items);
    });
  } else if (isJsonObject(value)) {
    for (const [name, property] of node.properties) {
      if (property.default === undefined) continue;
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member === undefined || isUnsetNull(member, property)) {
        setMember(value, name, filling.copyOf(property));
      }
    }
    for (const name of Object.keys(value)) {
      const known = memberOf(node, name);
      if (typeof known !== "object") continue;
      if (isUnsetNull(value[name] as JsonValue, known) && known.default !== undefined) {
        setMember(value, name, filling.copyOf(known));
      }
      enter(value[name] as JsonValue, known);
    }
  }
}

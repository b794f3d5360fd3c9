/** Codecs of lists and maps, at once and in steps. */

import { isRecord } from "../../storage/base/is-record.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject } from "../api/meta.js";
import { quoteString } from "./json-text.js";
import { LongText } from "./long-text.js";
import { sortedKeys } from "./sorted-keys.js";
import {
  decodeAny,
  encodeAny,
  mismatch,
  prefixPaths,
  setMember,
  type ValueCodec,
} from "./value-codec.js";

/** Members that are read or written in one step. */
const STRETCH = 100;

/** A list; a null item becomes the item type's zero value, or stays null for pointers. */
export function listCodec(items: ValueCodec, isNullable: boolean): ValueCodec {
  const typeName = `[]${isNullable ? "*" : ""}${items.typeName}`;
  return {
    typeName,
    decode(value, unknown) {
      if (!Array.isArray(value)) throw mismatch(value, typeName, "slice");
      const out: JsonArray = [];
      for (const [index, item] of value.entries()) {
        const before = unknown.length;
        const decoded = item === null ? null : items.decode(item, unknown);
        out.push(decoded === null && !isNullable ? items.zero() : decoded);
        if (unknown.length > before) prefixPaths(unknown, before, `[${index}]`);
      }
      return out;
    },
    *decodeInSteps(value, unknown) {
      if (!Array.isArray(value)) throw mismatch(value, typeName, "slice");
      const out: JsonArray = [];
      for (const [index, item] of value.entries()) {
        if (index % STRETCH === STRETCH - 1) yield;
        const before = unknown.length;
        const decoded = item === null ? null : yield* decodeAny(items, item, unknown);
        out.push(decoded === null && !isNullable ? items.zero() : decoded);
        if (unknown.length > before) prefixPaths(unknown, before, `[${index}]`);
      }
      return out;
    },
    fits(value) {
      if (!Array.isArray(value)) return false;
      for (const item of value) {
        if (item === null ? !isNullable && items.zero() !== null : !items.fits(item)) return false;
      }
      return true;
    },
    encode(value) {
      let text = "[";
      let separator = "";
      for (const item of value as JsonArray) {
        text += separator + (item === null || item === undefined ? "null" : items.encode(item));
        separator = ",";
      }
      return `${text}]`;
    },
    *encodeInSteps(value) {
      const text = new LongText();
      for (const [at, item] of (value as JsonArray).entries()) {
        if (at % STRETCH === STRETCH - 1) {
          text.endStretch();
          yield;
        }
        const encoded =
          item === null || item === undefined ? "null" : yield* encodeAny(items, item);
        text.add(at === 0 ? encoded : `,${encoded}`);
      }
      return `[${text}]`;
    },
    isEmpty: (value) => (value as JsonArray).length === 0,
    zero: () => null,
  };
}

/** A map; keys are strings and are written in order. */
export function mapCodec(keyType: string, values: ValueCodec, isNullable: boolean): ValueCodec {
  const typeName = `map[${keyType}]${isNullable ? "*" : ""}${values.typeName}`;
  return {
    typeName,
    decode(value, unknown) {
      if (!isJsonObject(value)) throw mismatch(value, typeName, "map");
      const out: JsonObject = {};
      for (const key of Object.keys(value)) {
        const before = unknown.length;
        const member = value[key] ?? null;
        const decoded = member === null ? null : values.decode(member, unknown);
        setMember(out, key, decoded === null && !isNullable ? values.zero() : decoded);
        if (unknown.length > before) prefixPaths(unknown, before, key);
      }
      return out;
    },
    *decodeInSteps(value, unknown) {
      if (!isJsonObject(value)) throw mismatch(value, typeName, "map");
      const out: JsonObject = {};
      let read = 0;
      for (const key of Object.keys(value)) {
        if (++read % STRETCH === 0) yield;
        const before = unknown.length;
        const member = value[key] ?? null;
        const decoded = member === null ? null : yield* decodeAny(values, member, unknown);
        setMember(out, key, decoded === null && !isNullable ? values.zero() : decoded);
        if (unknown.length > before) prefixPaths(unknown, before, key);
      }
      return out;
    },
    fits(value) {
      if (!isRecord(value)) return false;
      for (const key in value) {
        const member = value[key];
        if (member === null ? !isNullable && values.zero() !== null : !values.fits(member)) {
          return false;
        }
      }
      return true;
    },
    encode(value) {
      const object = value as JsonObject;
      let text = "{";
      let separator = "";
      for (const key of sortedKeys(object)) {
        const member = object[key];
        if (member === undefined) continue;
        text += `${separator}${quoteString(key)}:${member === null ? "null" : values.encode(member)}`;
        separator = ",";
      }
      return `${text}}`;
    },
    *encodeInSteps(value) {
      const object = value as JsonObject;
      const text = new LongText();
      let separator = "";
      let written = 0;
      for (const key of sortedKeys(object)) {
        if (++written % STRETCH === 0) {
          text.endStretch();
          yield;
        }
        const member = object[key];
        if (member === undefined) continue;
        const encoded = member === null ? "null" : yield* encodeAny(values, member);
        text.add(`${separator}${quoteString(key)}:${encoded}`);
        separator = ",";
      }
      return `{${text}}`;
    },
    isEmpty(value) {
      for (const _ in value as JsonObject) return false;
      return true;
    },
    zero: () => null,
  };
}

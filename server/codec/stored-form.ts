/**
 * The form of objects in the store: JSON or, on request, CBOR (--storage-media-type, C-11). Everything
 * above the store uses JSON; both forms are always readable, so the setting can be changed back and
 * forth.
 */
import type { ValueConversion } from "../../storage/kv/converting-store.js";
import { parseJson } from "../schema/parse-json.js";
import { encodeCbor, SELF_DESCRIBED } from "./cbor.js";
import { parseCbor } from "./cbor-parser.js";
import { stringifyJson } from "./json.js";

export interface StoredFormOptions {
  /** Whether objects are written in CBOR. */
  readonly isCbor: boolean;
  /** Whether a key holds an object; other values are left unchanged. */
  isObject(key: string): boolean;
}

export function createStoredForm({ isCbor, isObject }: StoredFormOptions): ValueConversion {
  return {
    toStored(key, value) {
      if (!isCbor || !isObject(key)) return value;
      const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      return encodeCbor(parseJson(text));
    },
    fromStored(key, value) {
      if (!isSelfDescribed(value) || !isObject(key)) return value;
      return Buffer.from(stringifyJson(parseCbor(value)), "utf8");
    },
    isStale: (key, value) => isObject(key) && isSelfDescribed(value) !== isCbor,
  };
}

function isSelfDescribed(value: Buffer): boolean {
  return SELF_DESCRIBED.every((byte, index) => value[index] === byte);
}

/**
 * The form of objects in the store: JSON, or CBOR where it is asked for (--storage-media-type, C-11).
 * Everything above the store works on JSON; both forms are read at any time, so that the setting can
 * be changed, also back, while objects of both are there.
 */
import type { ValueConversion } from "../../storage/kv/converting-store.js";
import { encodeCbor, SELF_DESCRIBED } from "./cbor.js";
import { parseCbor } from "./cbor-parser.js";
import { parseJson, stringifyJson } from "./json.js";

export interface StoredFormOptions {
  /** Whether objects are written in CBOR. */
  readonly isCbor: boolean;
  /** Whether a key is an object's; other values are left as they are. */
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

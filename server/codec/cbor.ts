/**
 * CBOR (RFC 8949) for the values that JSON has (S1-NEG-05..08). Strings are written as byte strings and
 * keys as text strings, which is what existing clients read; both are read as either. Written by
 * cbor-x; read by the parser of cbor-parser.ts, as a request has to be refused for what a tolerant
 * reader forgives.
 */
import { Encoder } from "cbor-x";
import type { JsonObject, JsonValue } from "../api/meta.js";

/** Tag 55799 says "this is CBOR" and nothing else (RFC 8949 section 3.4.6). */
export const SELF_DESCRIBED = Buffer.from([0xd9, 0xd9, 0xf7]);

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const INT32_MIN = -(2 ** 31);
const UINT32_MAX = 2 ** 32 - 1;

const encoder = new Encoder({
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  tagUint8Array: false,
  // Maps of ours are short-lived; a shared structure would be state between documents.
  structuredClone: false,
});

/** One data item with nothing around it. The bytes are the caller's to keep. */
export function encodeCborItem(value: JsonValue): Buffer {
  return Buffer.from(encoder.encode(toCborValue(value)));
}

/** A document: one data item behind the tag that says what it is. */
export function encodeCbor(value: JsonValue): Buffer {
  return Buffer.concat([SELF_DESCRIBED, encoder.encode(toCborValue(value))]);
}

/** A key of a map that is written piece by piece. */
export function encodeCborKey(key: string): Buffer {
  return Buffer.from(encoder.encode(key));
}

function toCborValue(value: JsonValue): unknown {
  switch (typeof value) {
    case "string":
      return Buffer.from(value, "utf8");
    case "number":
      return toCborNumber(value);
    case "bigint":
      // What no integer type of the API holds is a float there, as in JSON.
      return value >= INT64_MIN && value <= INT64_MAX ? value : Number(value);
    case "object":
      if (value === null) return null;
      return Array.isArray(value) ? value.map(toCborValue) : toCborMap(value);
    default:
      return value;
  }
}

/** cbor-x takes numbers beyond 32 bits for floats; as bigint they are integers. */
function toCborNumber(value: number): number | bigint {
  if (Object.is(value, -0)) return 0;
  if (!Number.isSafeInteger(value) || (value >= INT32_MIN && value <= UINT32_MAX)) return value;
  return BigInt(value);
}

function toCborMap(object: JsonObject): Record<string, unknown> {
  // Without a prototype "__proto__" is a key like any other.
  const map: Record<string, unknown> = Object.create(null);
  for (const key in object) {
    const member = object[key];
    if (member !== undefined) map[key] = toCborValue(member);
  }
  return map;
}

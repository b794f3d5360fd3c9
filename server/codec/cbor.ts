/**
 * CBOR (RFC 8949) for JSON values (S1-NEG-05..08). Strings are written as byte strings and keys as text
 * strings, as existing clients expect; both are read in either form. Written by cbor-x, but read by
 * cbor-parser.ts, because requests need stricter checks than a tolerant reader makes.
 */
import { Encoder } from "cbor-x";
import type { JsonObject, JsonValue } from "../api/meta.js";

/** Tag 55799 only says "this is CBOR" (RFC 8949 section 3.4.6). */
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
  // Our maps are short-lived; a shared structure would be state between documents.
  structuredClone: false,
});

/** A single data item. The caller owns the bytes. */
export function encodeCborItem(value: JsonValue): Buffer {
  return Buffer.from(encoder.encode(toCborValue(value)));
}

/** A document: one data item with the self-describing tag. */
export function encodeCbor(value: JsonValue): Buffer {
  return Buffer.concat([SELF_DESCRIBED, encoder.encode(toCborValue(value))]);
}

/** Values of a part that is encoded at once. */
const PART_VALUES_MAX = 64;
const ARRAY_TYPE = 0x80;
const MAP_TYPE = 0xa0;

/** A single data item in pieces, of which none takes long. */
export function* cborPieces(value: JsonValue): Generator<Buffer> {
  if (typeof value !== "object" || value === null || valuesIn(value, 0) <= PART_VALUES_MAX) {
    yield encodeCborItem(value);
  } else if (Array.isArray(value)) {
    yield headOf(ARRAY_TYPE, value.length);
    for (const item of value) yield* cborPieces(item);
  } else {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    yield headOf(MAP_TYPE, members.length);
    for (const [key, member] of members) {
      yield encodeCborKey(key);
      yield* cborPieces(member as JsonValue);
    }
  }
}

/** As far as it is worth counting. */
function valuesIn(value: JsonValue, before: number): number {
  let count = before + 1;
  if (typeof value !== "object" || value === null) return count;
  for (const key in value) {
    if (count > PART_VALUES_MAX) return count;
    count = valuesIn((value as JsonObject)[key] as JsonValue, count);
  }
  return count;
}

/** RFC 8949, section 3: the type and the count in the fewest bytes. */
function headOf(type: number, count: number): Buffer {
  if (count < 24) return Buffer.of(type | count);
  if (count < 0x100) return Buffer.of(type | 24, count);
  if (count < 0x10000) return Buffer.of(type | 25, count >> 8, count & 0xff);
  const head = Buffer.alloc(5, type | 26);
  head.writeUInt32BE(count, 1);
  return head;
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
      // A number beyond the API's integer types becomes a float, as in JSON.
      return value >= INT64_MIN && value <= INT64_MAX ? value : Number(value);
    case "object":
      if (value === null) return null;
      return Array.isArray(value) ? value.map(toCborValue) : toCborMap(value);
    default:
      return value;
  }
}

/** cbor-x writes numbers beyond 32 bits as floats, but bigints as integers. */
function toCborNumber(value: number): number | bigint {
  if (Object.is(value, -0)) return 0;
  if (!Number.isSafeInteger(value) || (value >= INT32_MIN && value <= UINT32_MAX)) return value;
  return BigInt(value);
}

function toCborMap(object: JsonObject): Record<string, unknown> {
  // Without a prototype "__proto__" is an ordinary key.
  const map: Record<string, unknown> = Object.create(null);
  for (const key in object) {
    const member = object[key];
    if (member !== undefined) map[key] = toCborValue(member);
  }
  return map;
}

/**
 * ValueCodec: reads and writes the JSON of one type of the schema model. This is the contract of this
 * folder's codecs, with the codecs of scalars and of types with special encodings. It accepts and refuses
 * what Go's encoding/json does for the typed struct, because clients rely on its results and messages.
 *
 * Decoded values are canonical: `decode` returns what JSON.parse returns for the encoded form.
 */

import { isRecord } from "../../storage/base/is-record.js";
import type { Steps } from "../../storage/base/steps.js";
import { kindOf } from "../api/go-text.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { cutPath } from "../api/shown-value.js";
import { isWrittenNumber, plainNumbersInSteps, withPlainNumbers } from "../api/written-number.js";
import { quoteString, stringifyInSteps, stringifyJson, Unwritable } from "./json-text.js";
import { LongText } from "./long-text.js";
import type { BuiltinName, ScalarName } from "./model.js";
import { canonicalQuantity, QUANTITY_RULE } from "./quantity.js";
import { sortedKeys } from "./sorted-keys.js";
import { timeComplaint } from "./time-complaint.js";
import {
  canonicalDuration,
  canonicalMicroTime,
  canonicalTime,
  MICRO_TIME_LAYOUT,
  TIME_LAYOUT,
} from "./time-text.js";

export interface ValueCodec {
  /** The type's name in error messages: "int32", "[]v1.Container". */
  readonly typeName: string;
  /**
   * Checks and copies. `null` means that the value counts as absent (the zero time).
   * @param value not null
   * @param unknown receives the paths of unknown fields, relative to the value
   * @throws {DecodeFailure}
   */
  decode(value: JsonValue, unknown: string[]): JsonValue;
  /** The same in steps, of a type that may have many members. */
  decodeInSteps?(value: JsonValue, unknown: string[]): Steps<JsonValue>;
  /**
   * Whether a value of a stored object has the JSON type that `encode` writes, with known fields only. It looks
   * no closer: a time may be no time.
   * @param value not null
   */
  fits(value: unknown): boolean;
  /** @param value not null and of the type */
  encode(value: JsonValue): string;
  /** The same in steps, of a type that may have many members. */
  encodeInSteps?(value: JsonValue): Steps<string>;
  /** Whether the rule "omit" omits it: "", 0, false, no items, no keys. */
  isEmpty(value: JsonValue): boolean;
  /** The value written for an absent one. */
  zero(): JsonValue;
}

/** A value that its type rejects. Enclosing structs add the path. */
export class DecodeFailure extends Error {
  override readonly name = "DecodeFailure";
  readonly #found: string | undefined;
  readonly #typeName: string;
  readonly #conversion: string | undefined;
  #struct = "";
  #path = "";

  /**
   * @param found the actual value, or undefined if `text` is the whole message
   * @param conversion the message of a conversion; absent = that of the type's own JSON
   */
  constructor(found: string | undefined, text: string, conversion?: string) {
    super(text);
    this.#found = found;
    this.#typeName = text;
    this.#conversion = conversion;
  }

  /** Called by each enclosing struct, innermost first. */
  enter(struct: string, field: string): this {
    if (this.#struct === "") this.#struct = struct;
    this.#path = this.#path === "" ? field : `${field}.${this.#path}`;
    return this;
  }

  /** The message for JSON text. */
  describe(): string {
    return this.#describeAt(
      this.#path === ""
        ? "value"
        : `struct field ${this.#struct.replace(/^.*\./, "")}.${this.#path}`,
    );
  }

  /** The message for conversions of values to a typed object, as in strategic merges. */
  describeConversion(): string {
    return this.#conversion ?? this.#describeAt("value");
  }

  #describeAt(where: string): string {
    if (this.#found === undefined) return this.#typeName;
    return `json: cannot unmarshal ${this.#found} into Go ${where} of type ${this.#typeName}`;
  }
}

/** Target kinds of conversions; types with custom JSON are not among them. */
type Kind = "map" | "slice" | "struct" | "string" | "bool" | "int32" | "int64" | "float64";

/** The value has another JSON type than its field. @param kind absent = the type parses its own JSON */
export function mismatch(value: JsonValue, typeName: string, kind?: Kind): DecodeFailure {
  const conversion = kind === undefined ? undefined : failedConversion(value, typeName, kind);
  return new DecodeFailure(jsonTypeOf(value), typeName, conversion);
}

function failedConversion(value: JsonValue, typeName: string, kind: Kind): string {
  const given = kindOf(value ?? {});
  if (kind === "map" || kind === "slice") return `cannot restore ${kind} from ${given}`;
  if (kind === "struct") return `cannot restore struct from: ${given}`;
  const isNumeric = kind !== "string" && kind !== "bool";
  const isConvertible = given === "int64" ? kind !== "bool" : given === "float64" && isNumeric;
  return isConvertible ? `cannot convert ${given} to ${typeName}` : `unrecognized type: ${kind}`;
}

function jsonTypeOf(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (isWrittenNumber(value)) return "number";
  return typeof value === "bigint" ? "number" : typeof value === "boolean" ? "bool" : typeof value;
}

/** Sets an own property of any name; plain assignment of `__proto__` would not. */
export function setMember(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    const attributes = { enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, key, { value, ...attributes });
  } else {
    object[key] = value;
  }
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

/** A string type, with the name that messages give it. */
export function stringCodec(typeName: string): ValueCodec {
  return {
    typeName,
    decode(value) {
      if (typeof value !== "string") throw mismatch(value, typeName, "string");
      return value;
    },
    fits: isText,
    encode: (value) => quoteString(value as string),
    isEmpty: (value) => value === "",
    zero: () => "",
  };
}

const boolCodec: ValueCodec = {
  typeName: "bool",
  decode(value) {
    if (typeof value !== "boolean") throw mismatch(value, "bool", "bool");
    return value;
  },
  fits: (value) => typeof value === "boolean",
  encode(value) {
    if (typeof value !== "boolean") throw new Unwritable(`a ${typeof value} is no boolean`);
    return value ? "true" : "false";
  },
  isEmpty: (value) => value === false,
  zero: () => false,
};

function integerCodec(typeName: "int32" | "int64", min: bigint, max: bigint): ValueCodec {
  const [low, high] = [Number(min), Number(max)];
  return {
    typeName,
    decode(value) {
      if (typeof value === "number") {
        // From YAML and CBOR. An unsafe one had a fraction or an exponent; otherwise it would be a bigint.
        if (Number.isSafeInteger(value) && value >= low && value <= high) {
          return value === 0 ? 0 : value;
        }
      } else if (typeof value === "bigint") {
        if (value >= min && value <= max) return value;
      } else if (isWrittenNumber(value)) {
        throw new DecodeFailure(`number ${value.text}`, typeName);
      } else {
        throw mismatch(value, typeName, typeName);
      }
      throw new DecodeFailure(
        `number ${value}`,
        typeName,
        `cannot convert ${kindOf(value)} to ${typeName}`,
      );
    },
    fits: (value) =>
      Number.isInteger(value) && (value as number) >= low && (value as number) <= high,
    encode(value) {
      if (Number.isInteger(value) || typeof value === "bigint") return String(value);
      throw new Unwritable(`a ${typeof value} is no ${typeName}`);
    },
    isEmpty: (value) => value === 0 || value === 0n,
    zero: () => 0,
  };
}

const int32Codec = integerCodec("int32", -(2n ** 31n), 2n ** 31n - 1n);

const floatCodec: ValueCodec = {
  typeName: "float64",
  decode(sent) {
    const value = withPlainNumbers(sent);
    if (typeof value !== "number" && typeof value !== "bigint")
      throw mismatch(value, "float64", "float64");
    const number = Number(value);
    if (!Number.isFinite(number)) {
      throw new DecodeFailure(`number ${value}`, "float64", "cannot convert int64 to float64");
    }
    return number;
  },
  fits: (value) => Number.isFinite(value),
  encode: (value) => stringifyJson(value),
  isEmpty: (value) => value === 0,
  zero: () => 0,
};

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;

const bytesCodec: ValueCodec = {
  typeName: "[]uint8",
  decode(value) {
    if (typeof value !== "string") throw mismatch(value, "[]uint8", "slice");
    if (BASE64.test(value) && value.length % 4 === 0) {
      // Only padding can hide bits that no encoder writes.
      return value.endsWith("=") ? Buffer.from(value, "base64").toString("base64") : value;
    }
    const joined = value.replace(/[\r\n]/g, "");
    if (BASE64.test(joined) && joined.length % 4 === 0) {
      return Buffer.from(joined, "base64").toString("base64");
    }
    const wrong = joined.search(NOT_BASE64);
    const at = wrong === -1 ? joined.length - (joined.length % 4) : wrong;
    const why = `illegal base64 data at input byte ${at}`;
    throw new DecodeFailure(undefined, why, `error decoding from json: ${why}`);
  },
  fits: isText,
  encode: (value) => quoteString(value as string),
  isEmpty: (value) => value === "",
  zero: () => null,
};

/** Any JSON value, kept as it is. */
export const rawCodec: ValueCodec = {
  typeName: "any",
  decode: withPlainNumbers,
  decodeInSteps: plainNumbersInSteps,
  fits: () => true,
  encode: stringifyJson,
  encodeInSteps: stringifyInSteps,
  isEmpty: (value) => value === null,
  zero: () => null,
};

function textCodec(
  typeName: string,
  zero: JsonValue,
  canonical: (text: string) => string | null | undefined,
  complaint: (text: string) => string,
): ValueCodec {
  return {
    typeName,
    decode(value) {
      if (typeof value !== "string") throw mismatch(value, "string");
      const text = canonical(value);
      if (text === undefined) throw new DecodeFailure(undefined, complaint(value));
      return text;
    },
    fits: isText,
    encode: (value) => quoteString(value as string),
    isEmpty: (value) => value === null,
    zero: () => zero,
  };
}

function complaintOf(layout: string): (text: string) => string {
  return (text) => timeComplaint(text, layout);
}

const quantityCodec: ValueCodec = {
  typeName: "resource.Quantity",
  decode(value) {
    const isNumber = typeof value === "number" || typeof value === "bigint";
    const written = isWrittenNumber(value) ? value.text : value;
    const text = isNumber ? String(value).replace("+", "") : written;
    const canonical = typeof text === "string" ? canonicalQuantity(text) : undefined;
    if (canonical === undefined) throw new DecodeFailure(undefined, QUANTITY_RULE);
    return canonical;
  },
  fits: isText,
  encode: (value) => quoteString(value as string),
  isEmpty: () => false,
  zero: () => "0",
};

const intOrStringCodec: ValueCodec = {
  typeName: "intstr.IntOrString",
  decode(value, unknown) {
    if (typeof value === "string") return value;
    const isNumber = typeof value === "number" || typeof value === "bigint";
    if (!isNumber && !isWrittenNumber(value)) throw mismatch(value, "int32");
    return int32Codec.decode(value, unknown);
  },
  fits: (value) => isText(value) || int32Codec.fits(value),
  encode: (value) => (typeof value === "string" ? quoteString(value) : int32Codec.encode(value)),
  isEmpty: () => false,
  zero: () => 0,
};

export const SCALAR_CODECS: Readonly<Record<ScalarName, ValueCodec>> = {
  string: stringCodec("string"),
  bool: boolCodec,
  int32: int32Codec,
  int64: integerCodec("int64", -(2n ** 63n), 2n ** 63n - 1n),
  float64: floatCodec,
  bytes: bytesCodec,
  any: rawCodec,
};

export const BUILTIN_CODECS: Readonly<Record<BuiltinName, ValueCodec>> = {
  Time: textCodec("v1.Time", null, canonicalTime, complaintOf(TIME_LAYOUT)),
  MicroTime: textCodec("v1.MicroTime", null, canonicalMicroTime, complaintOf(MICRO_TIME_LAYOUT)),
  Duration: textCodec(
    "v1.Duration",
    "0s",
    canonicalDuration,
    (text) => `time: invalid duration ${JSON.stringify(text)}`,
  ),
  FieldsV1: rawCodec,
  Quantity: quantityCodec,
  IntOrString: intOrStringCodec,
  RawExtension: rawCodec,
  Unknown: rawCodec,
};

/** Members that are read or written in one step. */
const STRETCH = 100;

/** In steps where the type has them. */
export function* decodeAny(
  codec: ValueCodec,
  value: JsonValue,
  unknown: string[],
): Steps<JsonValue> {
  return codec.decodeInSteps === undefined
    ? codec.decode(value, unknown)
    : yield* codec.decodeInSteps(value, unknown);
}

/** In steps where the type has them. */
export function* encodeAny(codec: ValueCodec, value: JsonValue): Steps<string> {
  return codec.encodeInSteps === undefined
    ? codec.encode(value)
    : yield* codec.encodeInSteps(value);
}

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

/** Prefixes the paths from index `from` on: "b" becomes "a.b", "[0]" becomes "a[0]". */
export function prefixPaths(paths: string[], from: number, segment: string): void {
  for (let index = from; index < paths.length; index++) {
    const path = paths[index] ?? "";
    paths[index] = cutPath(path.startsWith("[") ? segment + path : `${segment}.${path}`);
  }
}

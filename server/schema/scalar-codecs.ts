/** Codecs of scalars, and of the types with a special encoding: times, durations, quantities, any JSON. */

import { kindOf } from "../api/go-text.js";
import type { JsonValue } from "../api/meta.js";
import { isWrittenNumber, plainNumbersInSteps, withPlainNumbers } from "../api/written-number.js";
import { quoteString, stringifyInSteps, stringifyJson, Unwritable } from "./json-text.js";
import type { BuiltinName, ScalarName } from "./model.js";
import { canonicalQuantity, QUANTITY_RULE } from "./quantity.js";
import { timeComplaint } from "./time-complaint.js";
import {
  canonicalDuration,
  canonicalMicroTime,
  canonicalTime,
  MICRO_TIME_LAYOUT,
  TIME_LAYOUT,
} from "./time-text.js";
import { DecodeFailure, mismatch, type ValueCodec } from "./value-codec.js";

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

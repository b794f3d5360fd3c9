/**
 * ValueCodec: reads and writes the JSON of one type of the schema model. This is the contract of this folder's codecs: of
 * scalars and special encodings (scalar-codecs.ts), of lists and maps (collection-codecs.ts), of structs (struct-codec.ts).
 * They accept and refuse what Go's encoding/json does for the typed struct, because clients rely on its results and messages.
 *
 * Decoded values are canonical: `decode` returns what JSON.parse returns for the encoded form. What may be long can be decoded
 * and encoded in steps as well. Those functions stand beside the others, as a generator for each value would make small
 * objects dearer; the two give the same, which object-codec-properties.test.ts holds.
 */

import type { Steps } from "../../storage/base/steps.js";
import { kindOf } from "../api/go-text.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { cutPath } from "../api/shown-value.js";
import { isWrittenNumber } from "../api/written-number.js";

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

/** Prefixes the paths from index `from` on: "b" becomes "a.b", "[0]" becomes "a[0]". */
export function prefixPaths(paths: string[], from: number, segment: string): void {
  for (let index = from; index < paths.length; index++) {
    const path = paths[index] ?? "";
    paths[index] = cutPath(path.startsWith("[") ? segment + path : `${segment}.${path}`);
  }
}

/**
 * Values during an evaluation. Scalars are JavaScript's own (int is bigint, double is number); lists
 * and maps are closed classes, so that an expression never reads a property of a JavaScript object:
 * keys are looked up among own entries only.
 */
import { Failure } from "./errors.js";

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | ListValue
  | MapValue
  | OpaqueValue;

export const INT_MIN = -(2n ** 63n);
export const INT_MAX = 2n ** 63n - 1n;
export const UINT_MAX = 2n ** 64n - 1n;

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** Nanoseconds since 1970, from year 1 to year 9999. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** The result of `type(x)`. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  /** undefined if empty. */
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** A value of an extension type, such as a quantity. */
export abstract class OpaqueValue {
  /** For the cost of functions. */
  get size(): number {
    return 1;
  }

  abstract readonly typeName: string;
  abstract equals(other: OpaqueValue): boolean;
  /** The value for callers. */
  abstract toJson(): unknown;
}

/** Converts a caller's value on access. */
export type Adapt = (raw: unknown) => Value;

export class ListValue {
  readonly #items: readonly unknown[];
  readonly #adapt: Adapt | undefined;
  /** Lists and maps among the items, cached on first access with their own caches. */
  #parts: Map<number, Value> | undefined;

  /** Without `adapt` the items are values already. */
  constructor(items: readonly unknown[], adapt?: Adapt) {
    this.#items = items;
    this.#adapt = adapt;
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): Value {
    const item = this.#items[index];
    if (this.#adapt === undefined) return item as Value;
    if (typeof item !== "object" || item === null) return this.#adapt(item);
    const known = this.#parts?.get(index);
    if (known !== undefined) return known;
    const value = this.#adapt(item);
    this.#parts ??= new Map();
    this.#parts.set(index, value);
    return value;
  }

  *[Symbol.iterator](): Generator<Value> {
    for (let index = 0; index < this.#items.length; index++) yield this.at(index);
  }

  /** This list followed by another one: callers' items stay unconverted. */
  followedBy(other: ListValue): ListValue {
    if (this.#adapt === other.#adapt) {
      return new ListValue([...this.#items, ...other.#items], this.#adapt);
    }
    return new ListValue([...this.toArray(), ...other.toArray()]);
  }

  toArray(): readonly Value[] {
    return this.#adapt === undefined ? (this.#items as readonly Value[]) : [...this];
  }
}

export type MapKey =
  | boolean
  | bigint
  | number
  | string
  | null
  | Uint
  | Timestamp
  | Duration
  | TypeValue;

export abstract class MapValue {
  /** The name for `type()`; object types have their own. */
  readonly typeName: string = "map";
  abstract readonly size: number;
  /** undefined if there is no such key, for any type of `key`. */
  abstract get(key: Value): Value | undefined;
  abstract keys(): Iterable<MapKey>;
}

/** A key with its type: equal numbers of two types are two keys. undefined for what no map has. */
function keyText(key: Value): string | undefined {
  switch (typeof key) {
    case "string":
      return `s${key}`;
    case "bigint":
      return `n${key}`;
    case "boolean":
      return `b${key}`;
    case "number":
      return Number.isNaN(key) ? undefined : `d${key}`;
  }
  if (key === null) return "null";
  if (key instanceof Uint) return `u${key.value}`;
  if (key instanceof Duration) return `duration${key.nanos}`;
  if (key instanceof Timestamp) return `timestamp${key.nanos}`;
  return key instanceof TypeValue ? `type${key.name}` : undefined;
}

/** The keys that a number finds beside its own. */
function otherKeys(key: Value): readonly string[] {
  if (typeof key === "bigint") return [`u${key}`];
  if (key instanceof Uint) return [`n${key.value}`];
  if (typeof key !== "number" || !Number.isInteger(key)) return [];
  const integer = BigInt(key);
  return [`n${integer}`, `u${integer}`];
}

/** A map created by an expression. */
export class EntryMap extends MapValue {
  readonly #entries = new Map<string, readonly [MapKey, Value]>();

  /** @throws {Failure} for an invalid or duplicate key */
  add(key: Value, value: Value): void {
    const text = keyText(key);
    if (text === undefined) throw new Failure(`unsupported key type: ${typeNameOf(key)}`);
    if (this.#entries.has(text)) throw new Failure("Failed with repeated key");
    this.#entries.set(text, [key as MapKey, value]);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    const text = keyText(key);
    const own = text === undefined ? undefined : this.#entries.get(text);
    if (own !== undefined) return own[1];
    for (const other of otherKeys(key)) {
      const found = this.#entries.get(other);
      if (found !== undefined) return found[1];
    }
    return undefined;
  }

  *keys(): Generator<MapKey> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

/** A named object created by an expression. */
export class StructMap extends EntryMap {
  override readonly typeName: string;

  constructor(typeName: string) {
    super();
    this.typeName = typeName;
  }
}

/** A caller's plain object: own enumerable properties, converted on access. */
export class ObjectMap extends MapValue {
  override readonly typeName: string;
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #adapt: (key: string, raw: unknown) => Value | undefined;
  #keys: readonly string[] | undefined;
  /** Like those of a list. */
  #parts: Map<string, Value> | undefined;

  /** `adapt` returns undefined for absent values. */
  constructor(
    object: Readonly<Record<string, unknown>>,
    adapt: (key: string, raw: unknown) => Value | undefined,
    typeName = "map",
  ) {
    super();
    this.#object = object;
    this.#adapt = adapt;
    this.typeName = typeName;
  }

  get size(): number {
    return this.keys().length;
  }

  get(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#object, key)) return undefined;
    const raw = this.#object[key];
    if (raw === undefined) return undefined;
    if (typeof raw !== "object" || raw === null) return this.#adapt(key, raw);
    const known = this.#parts?.get(key);
    if (known !== undefined) return known;
    const value = this.#adapt(key, raw);
    if (value === undefined) return undefined;
    this.#parts ??= new Map();
    this.#parts.set(key, value);
    return value;
  }

  /** Objects of a declared type have the declared fields that are set. */
  #presentKeys(): readonly string[] {
    const keys = Object.keys(this.#object);
    return this.typeName === "map" ? keys : keys.filter((key) => this.get(key) !== undefined);
  }

  keys(): readonly string[] {
    this.#keys ??= this.#presentKeys();
    return this.#keys;
  }
}

/** A caller's JavaScript Map with keys of any type. */
export class NativeMap extends EntryMap {
  constructor(map: ReadonlyMap<unknown, unknown>, adapt: Adapt) {
    super();
    for (const [key, raw] of map) this.add(adapt(key), adapt(raw));
  }
}

export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
  }
  if (value === null) return "null_type";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Uint) return "uint";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof TypeValue) return "type";
  if (value instanceof Optional) return "optional_type";
  if (value instanceof ListValue) return "list";
  return value.typeName;
}

const SURROGATE = /[\ud800-\udfff]/;

/** The length in characters (code points); almost no strings have surrogates. */
export function codePointLength(text: string): number {
  if (!SURROGATE.test(text)) return text.length;
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** The characters of a string; the string itself if it has no surrogates. */
export function codePoints(text: string): string | readonly string[] {
  return SURROGATE.test(text) ? [...text] : text;
}

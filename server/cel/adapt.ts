/**
 * Converts between callers' JSON-like values and the values of expressions. Input is checked against its
 * declared type on access; lists and objects are not copied.
 */
import { parseWordDuration } from "../api/word-duration.js";
import type { Charge } from "./comparison.js";
import { Failure } from "./errors.js";
import { LateObject } from "./late.js";
import {
  duration,
  formatDuration,
  formatTimestamp,
  parseDateTime,
  parseDuration,
  timestamp,
} from "./text.js";
import { formatType, type ObjectMember, type SimpleName, type Type } from "./types.js";
import {
  type Adapt,
  Duration,
  INT_MAX,
  INT_MIN,
  ListValue,
  MapValue,
  NativeMap,
  ObjectMap,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  typeNameOf,
  UINT_MAX,
  Uint,
  type Value,
} from "./values.js";
import { RenamedMap, UnorderedListValue } from "./values-of-schemas.js";

const NO_FIELDS: ReadonlyMap<string, Type> = new Map();

/** Creates adapters; cached per environment, so that recursive types terminate. */
export class Adapters {
  readonly #known = new Map<Type, Adapt>();

  of(type: Type): Adapt {
    const known = this.#known.get(type);
    if (known !== undefined) return known;
    const made = this.#make(type);
    this.#known.set(type, made);
    return made;
  }

  #make(type: Type): Adapt {
    const wrong = (raw: unknown) =>
      new Failure(`expected ${formatType(type)}, got ${describe(raw)}`);
    switch (type.kind) {
      case "simple": {
        const convert = SIMPLE[type.name];
        return (raw) => {
          const value = convert(raw);
          if (value === undefined) throw wrong(raw);
          return value;
        };
      }
      case "list": {
        const { identity } = type;
        return (raw) => {
          if (raw instanceof ListValue) return raw;
          if (!Array.isArray(raw)) throw wrong(raw);
          const adapt = this.#item(type.element);
          if (identity === undefined) return new ListValue(raw, adapt);
          return new UnorderedListValue(raw, adapt, identity);
        };
      }
      case "map":
        return (raw) => {
          if (raw instanceof MapValue) return raw;
          if (raw instanceof Map) return new NativeMap(raw, this.of(type.value));
          if (!isObject(raw)) throw wrong(raw);
          const adapt = this.#item(type.value);
          return new ObjectMap(raw, (_key, item) => adapt(item));
        };
      case "named": {
        const { members } = type;
        if (members !== undefined) return this.#makeRenamed(type, members, wrong);
        return (raw) => {
          if (raw instanceof OpaqueValue || raw instanceof LateObject || raw === null) return raw;
          if (!isObject(raw)) throw wrong(raw);
          return new ObjectMap(raw, (key, item) => this.#field(type, key, item), type.name);
        };
      }
      case "optional":
        return (raw) => (raw === null ? Optional.none : new Optional(this.of(type.value)(raw)));
      default:
        return adaptDynamic;
    }
  }

  #makeRenamed(
    type: Type & { readonly kind: "named" },
    members: ReadonlyMap<string, ObjectMember>,
    wrong: (raw: unknown) => Failure,
  ): Adapt {
    const names = [...(type.fields ?? NO_FIELDS).keys()];
    const byJsonName = new Map(names.map((name) => [members.get(name)?.jsonName ?? name, name]));
    const read = (jsonName: string, item: unknown) => {
      const name = byJsonName.get(jsonName);
      return name === undefined ? undefined : this.#field(type, name, item);
    };
    return (raw) => {
      if (!isObject(raw)) throw wrong(raw);
      return new RenamedMap(raw, read, type.name, names, members);
    };
  }

  /** Undeclared fields are absent, and null means that a field is not set. */
  #field(type: Type, key: string, raw: unknown): Value | undefined {
    const field = type.kind === "named" ? type.fields?.get(key) : undefined;
    if (field === undefined) return undefined;
    if (raw === null) {
      const isNullable = type.kind === "named" && type.members?.get(key)?.isNullable === true;
      return field.kind === "dyn" || isNullable ? null : undefined;
    }
    return this.of(field)(raw);
  }

  /** The caller handles null items and values: lists have no unset elements. */
  #item(type: Type): Adapt {
    const adapt = this.of(type);
    return (raw) => (raw === null && type.kind !== "optional" ? null : adapt(raw));
  }
}

const SIMPLE: Readonly<Record<SimpleName, (raw: unknown) => Value | undefined>> = {
  bool: (raw) => (typeof raw === "boolean" ? raw : undefined),
  int: (raw) => {
    const value = integer(raw);
    return value !== undefined && value >= INT_MIN && value <= INT_MAX ? value : undefined;
  },
  uint: (raw) => {
    const value = integer(raw instanceof Uint ? raw.value : raw);
    return value !== undefined && value >= 0n && value <= UINT_MAX ? new Uint(value) : undefined;
  },
  double: (raw) => (typeof raw === "number" || typeof raw === "bigint" ? Number(raw) : undefined),
  string: (raw) => (typeof raw === "string" ? raw : undefined),
  bytes: (raw) => {
    if (raw instanceof Uint8Array) return raw;
    // JSON has no byte strings, so bytes come as base64.
    return typeof raw === "string" ? Buffer.from(raw, "base64") : undefined;
  },
  null: (raw) => (raw === null ? null : undefined),
  timestamp: (raw) => {
    if (raw instanceof Timestamp) return raw;
    if (raw instanceof Date) return timestamp(BigInt(raw.getTime()) * 1_000_000n);
    return typeof raw === "string" ? parseDateTime(raw) : undefined;
  },
  duration: (raw) => {
    if (raw instanceof Duration) return raw;
    return typeof raw === "string" ? durationOf(raw) : undefined;
  },
};

/** A value of the format `duration`, which takes more than the function does. @throws {Failure} */
function durationOf(text: string): Duration {
  try {
    return parseDuration(text);
  } catch (error) {
    const nanos = parseWordDuration(text);
    if (nanos === undefined) throw error;
    return duration(nanos);
  }
}

function integer(raw: unknown): bigint | undefined {
  if (typeof raw === "bigint") return raw;
  return typeof raw === "number" && Number.isInteger(raw) ? BigInt(raw) : undefined;
}

/** A value without a declared type: whole numbers are ints, because JSON does not distinguish. */
function adaptDynamic(raw: unknown): Value {
  switch (typeof raw) {
    case "string":
    case "boolean":
      return raw;
    case "bigint":
      if (raw > INT_MAX || raw < INT_MIN) break;
      return raw;
    case "number":
      return Number.isSafeInteger(raw) && !Object.is(raw, -0) ? BigInt(raw) : raw;
    case "object":
      if (raw === null) return null;
      if (Array.isArray(raw)) return new ListValue(raw, adaptDynamic);
      // Data is the most common case.
      if (isObject(raw)) return new ObjectMap(raw, adaptMember);
      if (raw instanceof Uint8Array) return raw;
      if (raw instanceof Map) return new NativeMap(raw, adaptDynamic);
      if (raw instanceof Date) return timestamp(BigInt(raw.getTime()) * 1_000_000n);
      if (isValue(raw)) return raw;
  }
  throw new Failure(`unsupported value: ${describe(raw)}`);
}

function adaptMember(_key: string, item: unknown): Value {
  return adaptDynamic(item);
}

function isValue(
  raw: object,
): raw is Uint | Timestamp | Duration | ListValue | MapValue | OpaqueValue | Optional | TypeValue {
  return (
    raw instanceof MapValue ||
    raw instanceof ListValue ||
    raw instanceof OpaqueValue ||
    raw instanceof Optional ||
    raw instanceof Uint ||
    raw instanceof Timestamp ||
    raw instanceof Duration ||
    raw instanceof TypeValue
  );
}

/** Plain data only: class instances show nothing, and getters are not called twice. */
function isObject(raw: unknown): raw is Readonly<Record<string, unknown>> {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return false;
  const prototype: unknown = Object.getPrototypeOf(raw);
  return prototype === null || prototype === Object.prototype;
}

function describe(raw: unknown): string {
  if (raw === null) return "null";
  return Array.isArray(raw) ? "a list" : `a value of type ${typeof raw}`;
}

/** Converts a value for callers: shared parts are copied and each copy is charged. @throws {Failure} */
export function toJson(value: Value, charge: Charge): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof ListValue) {
    const items: unknown[] = [];
    for (const item of value) {
      charge(1);
      items.push(toJson(item, charge));
    }
    return items;
  }
  if (value instanceof MapValue) {
    const entries: [string, unknown][] = [];
    for (const key of value.keys()) {
      charge(1);
      const item = value.get(key);
      const name = key instanceof Uint ? key.value.toString() : String(key);
      if (item !== undefined) entries.push([name, toJson(item, charge)]);
    }
    // fromEntries defines properties, so that a key such as "__proto__" is only a key.
    return Object.fromEntries(entries);
  }
  if (value instanceof Uint8Array) return value;
  if (value instanceof Uint) return value.value;
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Optional) {
    return value.value === undefined ? null : toJson(value.value, charge);
  }
  if (value instanceof OpaqueValue) return value.toJson();
  return typeNameOf(value) === "type" ? value.name : null;
}

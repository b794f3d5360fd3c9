/**
 * A second Protobuf reader for tests: written from the facts' rules only, independent of the server's
 * library and codecs, and as simple as possible. Slow; trusts its input.
 */
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { SchemaModel, StructType, TypeRef } from "../../schema/model.js";
import { parseJson } from "../../schema/parse-json.js";

/** A field's wire value: a number for varint and fixed, bytes for others. */
type Wire = bigint | Buffer;

interface WireField {
  readonly number: number;
  readonly value: Wire;
}

/** The members of a message, in order. */
function fieldsIn(bytes: Buffer): WireField[] {
  const fields: WireField[] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes[at++] as number);
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >>> 3;
    switch (tag & 7) {
      case 0:
        fields.push({ number, value: varint() });
        break;
      case 1:
        fields.push({ number, value: bytes.subarray(at, at + 8) });
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
        fields.push({ number, value: bytes.subarray(at, at + length) });
        at += length;
        break;
      }
      default:
        throw new Error(`wire type ${tag & 7} at ${at}`);
    }
  }
  return fields;
}

const bytesOf = (wire: Wire | undefined) => (Buffer.isBuffer(wire) ? wire : Buffer.alloc(0));
const textOf = (wire: Wire | undefined) => bytesOf(wire).toString("utf8");
const signed = (wire: Wire | undefined) =>
  typeof wire === "bigint" ? BigInt.asIntN(64, wire) : 0n;

/** In the JSON form of integers. */
function integer(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The last field with the number. */
function lastOf(bytes: Buffer, number: number): Wire | undefined {
  return fieldsIn(bytes).findLast((field) => field.number === number)?.value;
}

function timeText(bytes: Buffer, hasMicros: boolean): JsonValue {
  if (bytes.length === 0) return null;
  const seconds = new Date(Number(signed(lastOf(bytes, 1))) * 1000).toISOString().slice(0, 19);
  const micros = String(signed(lastOf(bytes, 2)) / 1000n).padStart(6, "0");
  return hasMicros ? `${seconds}.${micros}Z` : `${seconds}Z`;
}

/** @returns a function that reads the message of a struct into its JSON form */
export function createPlainReader(
  model: SchemaModel,
): (type: StructType, bytes: Buffer) => JsonObject {
  function struct(type: StructType, bytes: Buffer): JsonObject {
    const object: JsonObject = {};
    for (const { number, value } of fieldsIn(bytes)) {
      const field = type.fields.find((one) => one.number === number);
      if (field === undefined) throw new Error(`${type.id} has no field ${number}`);
      if (field.name === "<inline>") {
        Object.assign(object, struct(structOf(target(field.type)), bytesOf(value)));
      } else {
        const ref = target(field.type);
        if (ref.kind === "list") {
          object[field.name] ??= [];
          (object[field.name] as JsonValue[]).push(single(ref.items, value));
        } else if (ref.kind === "map") {
          object[field.name] ??= {};
          const entry = bytesOf(value);
          define(
            object[field.name] as JsonObject,
            textOf(lastOf(entry, 1)),
            single(ref.values, lastOf(entry, 2)),
          );
        } else {
          object[field.name] = single(field.type, value);
        }
      }
    }
    return object;
  }

  /** Resolves aliases, except those with their own message. */
  function target(ref: TypeRef): TypeRef {
    if (ref.kind !== "named") return ref;
    const type = model.type(ref.id);
    return type?.form === "alias" && !type.wrapped ? target(type.target) : ref;
  }

  function structOf(ref: TypeRef): StructType {
    const type = ref.kind === "named" ? model.type(ref.id) : undefined;
    if (type?.form !== "struct") throw new Error("no struct");
    return type;
  }

  function single(given: TypeRef, wire: Wire | undefined): JsonValue {
    const ref = target(given);
    switch (ref.kind) {
      case "scalar":
        return scalar(ref.name, wire);
      case "builtin":
        return builtin(ref.name, bytesOf(wire));
      case "named": {
        const type = model.type(ref.id);
        if (type?.form === "enum") return textOf(wire);
        if (type?.form === "alias" && type.target.kind === "list") {
          const { items } = type.target;
          return fieldsIn(bytesOf(wire)).map(({ value }) => single(items, value));
        }
        if (type?.form !== "struct") throw new Error(`no form of ${ref.id}`);
        return type.customJson ? custom(type, bytesOf(wire)) : struct(type, bytesOf(wire));
      }
      default:
        throw new Error(`a ${ref.kind} is no single value`);
    }
  }

  function custom(type: StructType, bytes: Buffer): JsonValue {
    if (type.name === "JSON") return builtin("Unknown", bytes);
    const schema = model.type(`${type.file}.JSONSchemaProps`) as StructType;
    const fields = fieldsIn(bytes);
    switch (type.name) {
      case "JSONSchemaPropsOrBool": {
        const props = fields.find(({ number }) => number === 2);
        return props === undefined
          ? signed(lastOf(bytes, 1)) === 1n
          : struct(schema, bytesOf(props.value));
      }
      default: {
        const isText = type.name === "JSONSchemaPropsOrStringArray";
        const items = fields.filter(({ number }) => number === 2);
        if (items.length === 0) return struct(schema, bytesOf(lastOf(bytes, 1)));
        return items.map(({ value }) => (isText ? textOf(value) : struct(schema, bytesOf(value))));
      }
    }
  }

  return struct;
}

function scalar(name: string, wire: Wire | undefined): JsonValue {
  switch (name) {
    case "string":
      return textOf(wire);
    case "bytes":
      return bytesOf(wire).toString("base64");
    case "bool":
      return wire === 1n;
    case "float64":
      return Buffer.isBuffer(wire) ? wire.readDoubleLE() : 0;
    default:
      return integer(signed(wire));
  }
}

function builtin(name: string, bytes: Buffer): JsonValue {
  switch (name) {
    case "Time":
      return timeText(bytes, false);
    case "MicroTime":
      return timeText(bytes, true);
    case "Duration":
      return `${signed(lastOf(bytes, 1))}ns`;
    case "Quantity":
      return textOf(lastOf(bytes, 1)) || "0";
    case "IntOrString":
      return signed(lastOf(bytes, 1)) === 1n
        ? textOf(lastOf(bytes, 3))
        : Number(signed(lastOf(bytes, 2)));
    default: {
      const raw = bytesOf(lastOf(bytes, 1));
      return raw.length === 0 ? null : parseJson(raw);
    }
  }
}

/** "__proto__" is an ordinary key. */
function define(map: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}

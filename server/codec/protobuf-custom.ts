/**
 * Protobuf codecs of types with custom JSON (`json=custom` in the facts): any JSON value, and the three
 * that are a schema or a simpler value.
 */
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import type { SchemaModel, StructType } from "../schema/model.js";
import { budgetOf, ProtobufFailure } from "./protobuf-reader.js";
import {
  LENGTH_DELIMITED,
  rawWireCodec,
  readInSteps,
  readMembers,
  readMembersInSteps,
  SCALAR_WIRE_CODECS,
  tagOf,
  VARINT,
  type WireCodec,
} from "./protobuf-wire.js";

/** @param struct compiles the type of the nested schemas */
export function customWireCodec(
  model: SchemaModel,
  type: StructType,
  struct: (type: StructType) => WireCodec,
): WireCodec {
  const schema = () => {
    const props = model.type(`${type.file}.JSONSchemaProps`);
    if (props?.form !== "struct") throw new TypeError(`no schema beside ${type.id}`);
    return struct(props);
  };
  switch (type.name) {
    case "JSON":
      return rawWireCodec();
    case "JSONSchemaPropsOrBool":
      return schemaOrBool(schema());
    case "JSONSchemaPropsOrArray":
      return schemaOrList(schema(), schema());
    case "JSONSchemaPropsOrStringArray":
      return schemaOrList(schema(), SCALAR_WIRE_CODECS.string);
    case "GroupVersion":
      return groupVersionCodec;
    default:
      throw new TypeError(`${type.id} has no Protobuf form`);
  }
}

/** Field 1: whether anything is allowed, implied by a schema; field 2: the schema. */
function schemaOrBool(schema: WireCodec): WireCodec {
  const members = [undefined, SCALAR_WIRE_CODECS.bool, schema];
  return {
    wireType: LENGTH_DELIMITED,
    write(writer, value) {
      writer
        .fork()
        .uint32(tagOf(1, VARINT))
        .bool(value !== false);
      if (typeof value !== "boolean") {
        writer.uint32(tagOf(2, LENGTH_DELIMITED));
        schema.write(writer, value);
      }
      writer.ldelim();
    },
    read: (reader, depth) => allowed(readMembers(reader, members, depth + 1)),
    *readInSteps(reader, depth) {
      return allowed(yield* readMembersInSteps(reader, members, depth + 1));
    },
    zero: () => false,
  };
}

function allowed([, allows = false, props]: (JsonValue | undefined)[]): JsonValue {
  return props ?? allows;
}

/** Field 1: the schema; field 2, repeated: the items of the list. */
function schemaOrList(schema: WireCodec, items: WireCodec): WireCodec {
  const appending: WireCodec = {
    ...items,
    read(reader, depth, previous) {
      budgetOf(reader).takeValue();
      const list = (previous ?? []) as JsonArray;
      list.push(items.read(reader, depth));
      return list;
    },
    *readInSteps(reader, depth, previous) {
      budgetOf(reader).takeValue();
      const list = (previous ?? []) as JsonArray;
      list.push(yield* readInSteps(items, reader, depth));
      return list;
    },
  };
  const members = [undefined, schema, appending];
  return {
    wireType: LENGTH_DELIMITED,
    write(writer, value) {
      writer.fork();
      if (Array.isArray(value)) {
        for (const item of value) {
          writer.uint32(tagOf(2, items.wireType));
          items.write(writer, item ?? items.zero());
        }
      } else if (value !== null) {
        writer.uint32(tagOf(1, LENGTH_DELIMITED));
        schema.write(writer, value as JsonObject);
      }
      writer.ldelim();
    },
    read: (reader, depth) => itemsOf(readMembers(reader, members, depth + 1)),
    *readInSteps(reader, depth) {
      return itemsOf(yield* readMembersInSteps(reader, members, depth + 1));
    },
    zero: () => null,
  };
}

function itemsOf([, props, list]: (JsonValue | undefined)[]): JsonValue {
  return list ?? props ?? null;
}

const GROUP_VERSION = [undefined, SCALAR_WIRE_CODECS.string, SCALAR_WIRE_CODECS.string];

/** "apps/v1" or "v1". */
const groupVersionCodec: WireCodec = {
  wireType: LENGTH_DELIMITED,
  write(writer, value) {
    const [first = "", second] = (value as string).split("/");
    const [group, version] = second === undefined ? ["", first] : [first, second];
    writer
      .fork()
      .uint32(tagOf(1, LENGTH_DELIMITED))
      .string(group)
      .uint32(tagOf(2, LENGTH_DELIMITED))
      .string(version)
      .ldelim();
  },
  read(reader, depth): JsonValue {
    const [, group = "", version = ""] = readMembers(reader, GROUP_VERSION, depth);
    if (typeof group !== "string" || typeof version !== "string") {
      throw new ProtobufFailure("a group or version is no string");
    }
    return group === "" ? version : `${group}/${version}`;
  },
  zero: () => "",
};

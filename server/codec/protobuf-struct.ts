/**
 * Protobuf codecs of structs, compiled from the schema model: one field list per type, created on first
 * use and shared by all kinds. They convert between the JSON form and bytes in one pass, without message
 * objects. Know no kind by name.
 */

import { default as protobuf, type Reader, type Writer } from "protobufjs/minimal.js";
import type { Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import type { Field, SchemaModel, StructType, TypeRef } from "../schema/model.js";
import { sortedKeys } from "../schema/sorted-keys.js";
import { followAliases } from "../schema/struct-codec.js";
import { setMember } from "../schema/value-codec.js";
import { customWireCodec } from "./protobuf-custom.js";
import { budgetOf, ProtobufFailure } from "./protobuf-reader.js";
import { parsing, type Transcode, transcodeList, transcodeMap } from "./protobuf-transcode.js";
import {
  builtinWireCodecs,
  type EmbeddedDecoder,
  enterMessage,
  LENGTH_DELIMITED,
  leaveMessage,
  MESSAGE_DEPTH_MAX,
  readInSteps,
  SCALAR_WIRE_CODECS,
  tagOf,
  transcodeOf,
  VARINT,
  type WireCodec,
  wrongWireType,
} from "./protobuf-wire.js";
import { structTranscoder } from "./transcode-struct.js";

/** A codec of a message, with access to its members without the length prefix. */
export interface MessageCodec extends WireCodec {
  writeMembers(writer: Writer, value: JsonObject): void;
  /** Writes the members from the object's text; returns the position after it. */
  readonly transcodeMembers: Transcode;
  /** Reads up to the reader's end. */
  readMembers(reader: Reader, out: JsonObject, depth: number): void;
  /** The same for a large message: fields are counted, and each step takes some hundred. */
  readMembersInSteps(reader: Reader, out: JsonObject, depth: number): Steps<void>;
}

/** One field of a struct. `out` and `object` are the struct's JSON form. */
interface WireField {
  readonly number: number;
  readonly name: string;
  /** Writes tag and value, which is not null, from its text; undefined for fields without a member of their own. */
  readonly transcode: Transcode | undefined;
  /** What `write` writes for a missing or null member. */
  zero?(): Uint8Array | undefined;
  write(writer: Writer, object: JsonObject): void;
  read(reader: Reader, wireType: number, out: JsonObject, depth: number): void;
  /** The same in steps; absent = what one occurrence has is short. */
  readInSteps?(reader: Reader, wireType: number, out: JsonObject, depth: number): Steps<void>;
}

export interface ProtobufCompiler {
  struct(type: StructType): MessageCodec;
}

/** @param decodeEmbedded decodes the objects inside RawExtension */
export function createProtobufCompiler(
  model: SchemaModel,
  decodeEmbedded: EmbeddedDecoder,
): ProtobufCompiler {
  const structs = new Map<StructType, MessageCodec>();
  const builtins = builtinWireCodecs(decodeEmbedded);

  function struct(type: StructType): MessageCodec {
    let codec = structs.get(type);
    if (codec === undefined) {
      // The fields are filled in on first use, so that types may be recursive.
      codec = messageCodec(
        () => fieldsOf(type),
        type.fields.map(({ name }) => name),
      );
      structs.set(type, codec);
    }
    return codec;
  }

  function fieldsOf(type: StructType): readonly WireField[] {
    return type.fields
      .flatMap((field) => (field.number === undefined ? [] : [wireField(field, field.number)]))
      .sort((a, b) => a.number - b.number);
  }

  function wireField(field: Field, number: number): WireField {
    if (field.name === "<inline>") return inlineField(number, messageOf(field.type));
    const ref = followAliases(model, field.type);
    // A wrapped alias is a message, whatever its target.
    if (ref.kind === "list" && !isWrapped(field.type)) {
      return listField(field.name, number, codecOf(ref.items));
    }
    if (ref.kind === "map") {
      return mapField(field.name, number, codecOf(ref.keys), codecOf(ref.values));
    }
    return singleField(field, number, codecOf(field.type));
  }

  function isWrapped(ref: TypeRef): boolean {
    const type = ref.kind === "named" ? model.type(ref.id) : undefined;
    if (type?.form !== "alias") return false;
    return type.wrapped || isWrapped(type.target);
  }

  function messageOf(given: TypeRef): MessageCodec {
    const ref = followAliases(model, given);
    const type = ref.kind === "named" ? model.type(ref.id) : undefined;
    if (type?.form !== "struct") throw new TypeError("only structs are embedded");
    return struct(type);
  }

  function codecOf(ref: TypeRef): WireCodec {
    switch (ref.kind) {
      case "scalar":
        if (ref.name !== "any") return SCALAR_WIRE_CODECS[ref.name];
        break;
      case "builtin":
        if (ref.name !== "Unknown") return builtins[ref.name];
        break;
      case "named":
        return namedCodec(ref.id);
    }
    throw new TypeError(`no Protobuf form: ${JSON.stringify(ref)}`);
  }

  function namedCodec(id: string): WireCodec {
    const type = model.type(id);
    if (type?.form === "enum") return SCALAR_WIRE_CODECS.string;
    if (type?.form === "struct") {
      return type.customJson ? customWireCodec(model, type, struct) : struct(type);
    }
    if (type?.form !== "alias") throw new TypeError(`no type ${id}`);
    if (!type.wrapped) return codecOf(type.target);
    if (type.target.kind !== "list") throw new TypeError(`${id}: only lists are wrapped`);
    return wrappedListCodec(codecOf(type.target.items));
  }

  return { struct };
}

/** @param declared all member names in JSON order */
function messageCodec(
  fieldsOf: () => readonly WireField[],
  declared: readonly string[],
): MessageCodec {
  let fields: readonly WireField[] | undefined;
  let transcodeMembers: Transcode | undefined;
  const byNumber: (WireField | undefined)[] = [];
  const compiled = () => {
    if (fields === undefined) {
      fields = fieldsOf();
      for (const field of fields) byNumber[field.number] = field;
    }
    return fields;
  };

  function writeMembers(writer: Writer, value: JsonObject): void {
    for (const field of compiled()) field.write(writer, value);
  }

  function readMembers(reader: Reader, out: JsonObject, depth: number): void {
    if (depth > MESSAGE_DEPTH_MAX) throw new ProtobufFailure("exceeded max depth");
    compiled();
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      const field = byNumber[tag >>> 3];
      if (field === undefined) reader.skipType(tag & 7, 0, tag >>> 3);
      else field.read(reader, tag & 7, out, depth);
    }
  }

  function* readMembersInSteps(reader: Reader, out: JsonObject, depth: number): Steps<void> {
    if (depth > MESSAGE_DEPTH_MAX) throw new ProtobufFailure("exceeded max depth");
    compiled();
    while (reader.pos < reader.len) {
      if (budgetOf(reader).endsStep()) yield;
      const tag = reader.tag();
      const field = byNumber[tag >>> 3];
      if (field === undefined) reader.skipType(tag & 7, 0, tag >>> 3);
      else if (field.readInSteps === undefined) field.read(reader, tag & 7, out, depth);
      else yield* field.readInSteps(reader, tag & 7, out, depth);
    }
  }

  const transcode: Transcode = (writer, json, at) => {
    transcodeMembers ??= membersTranscoder(compiled(), declared, writeMembers);
    return transcodeMembers(writer, json, at);
  };

  return {
    wireType: LENGTH_DELIMITED,
    writeMembers,
    readMembers,
    readMembersInSteps,
    transcodeMembers: transcode,
    transcode(writer, json, at) {
      writer.fork();
      const end = transcode(writer, json, at);
      writer.ldelim();
      return end;
    },
    write(writer, value) {
      writer.fork();
      writeMembers(writer, value as JsonObject);
      writer.ldelim();
    },
    read(reader, depth, previous) {
      const out: JsonObject = isJsonObject(previous) ? previous : {};
      const outer = enterMessage(reader);
      readMembers(reader, out, depth + 1);
      leaveMessage(reader, outer);
      return out;
    },
    *readInSteps(reader, depth, previous) {
      const out: JsonObject = isJsonObject(previous) ? previous : {};
      const outer = enterMessage(reader);
      yield* readMembersInSteps(reader, out, depth + 1);
      leaveMessage(reader, outer);
      return out;
    },
    zero: () => ({}),
  };
}

/** Members of embedded structs are interleaved in the text, so those types are parsed. */
function membersTranscoder(
  fields: readonly WireField[],
  declared: readonly string[],
  writeMembers: (writer: Writer, value: JsonObject) => void,
): Transcode {
  const transcoded = fields.flatMap(({ transcode, name, number, zero }) =>
    transcode === undefined ? [] : [{ name, number, transcode, zero: zero?.() }],
  );
  if (transcoded.length < fields.length) {
    return parsing((writer, value) => writeMembers(writer, value as JsonObject));
  }
  const order = new Map(declared.map((name, index) => [name, index]));
  const place = ({ name }: { readonly name: string }) => order.get(name) ?? 0;
  return structTranscoder(
    transcoded,
    transcoded.toSorted((a, b) => place(a) - place(b)),
  );
}

/** An embedded struct: a message on the wire, but inline in JSON; always written. */
function inlineField(number: number, message: MessageCodec): WireField {
  const tag = tagOf(number, LENGTH_DELIMITED);
  return {
    number,
    name: "<inline>",
    transcode: undefined,
    write(writer, object) {
      writer.uint32(tag).fork();
      message.writeMembers(writer, object);
      writer.ldelim();
    },
    read(reader, wireType, out, depth) {
      if (wireType !== LENGTH_DELIMITED) throw wrongWireType(wireType, "<inline>");
      const outer = enterMessage(reader);
      message.readMembers(reader, out, depth + 1);
      leaveMessage(reader, outer);
    },
    *readInSteps(reader, wireType, out, depth) {
      if (wireType !== LENGTH_DELIMITED) throw wrongWireType(wireType, "<inline>");
      const outer = enterMessage(reader);
      yield* message.readMembersInSteps(reader, out, depth + 1);
      leaveMessage(reader, outer);
    },
  };
}

/** A value that is written even if empty, unless it is a pointer or bytes. */
function singleField(field: Field, number: number, codec: WireCodec): WireField {
  const { name } = field;
  const tag = tagOf(number, codec.wireType);
  const isAlways = !field.type.nullable && codec !== SCALAR_WIRE_CODECS.bytes;
  const omitsEmpty = field.empty === "omit" && !field.type.nullable;
  let zeroBytes: Uint8Array | undefined;
  const zero = () => {
    if (isAlways) zeroBytes ??= encodeZero(tag, codec);
    return zeroBytes;
  };
  const transcode = transcodeOf(codec);
  const put = (out: JsonObject, value: JsonValue, previous: JsonValue | undefined) => {
    const isAbsent =
      value === null || (omitsEmpty && (value === "" || value === 0 || value === false));
    // The last occurrence wins, even an absent value.
    if (!isAbsent) out[name] = value;
    else if (previous !== undefined) delete out[name];
  };
  return {
    number,
    name,
    zero,
    transcode: (writer, json, at) => transcode(writer.uint32(tag), json, at),
    write(writer, object) {
      const value = object[name];
      if (value !== undefined && value !== null) {
        writer.uint32(tag);
        codec.write(writer, value);
      } else if (isAlways) {
        writer.raw(zero() as Uint8Array);
      }
    },
    read(reader, wireType, out, depth) {
      if (wireType !== codec.wireType) throw wrongWireType(wireType, name);
      const previous = out[name];
      put(out, codec.read(reader, depth, previous), previous);
    },
    ...(codec.readInSteps && {
      *readInSteps(reader: Reader, wireType: number, out: JsonObject, depth: number) {
        if (wireType !== codec.wireType) throw wrongWireType(wireType, name);
        const previous = out[name];
        put(out, yield* readInSteps(codec, reader, depth, previous), previous);
      },
    }),
  };
}

function encodeZero(tag: number, codec: WireCodec): Uint8Array {
  const writer = protobuf.Writer.create().uint32(tag);
  codec.write(writer, codec.zero());
  return writer.finish();
}

function listField(name: string, number: number, items: WireCodec): WireField {
  const tag = tagOf(number, items.wireType);
  const item = {
    tag,
    transcode: transcodeOf(items),
    zero: (writer: Writer) => items.write(writer, items.zero()),
  };
  return {
    number,
    name,
    transcode: (writer, json, at) => transcodeList(writer, json, at, item),
    write(writer, object) {
      const list = object[name];
      if (Array.isArray(list)) writeItems(writer, tag, items, list);
    },
    read(reader, wireType, out, depth) {
      readItem(reader, wireType, items, listIn(out, name), depth, name);
    },
    ...(items.readInSteps && {
      *readInSteps(reader: Reader, wireType: number, out: JsonObject, depth: number) {
        if (wireType !== items.wireType) throw wrongWireType(wireType, name);
        const list = listIn(out, name);
        budgetOf(reader).takeValue();
        list.push(yield* readInSteps(items, reader, depth));
      },
    }),
  };
}

function listIn(out: JsonObject, name: string): JsonArray {
  let list = out[name] as JsonArray | undefined;
  if (list === undefined) {
    list = [];
    out[name] = list;
  }
  return list;
}

function writeItems(writer: Writer, tag: number, items: WireCodec, list: JsonArray): void {
  for (const item of list) {
    writer.uint32(tag);
    items.write(writer, item ?? items.zero());
  }
}

function readItem(
  reader: Reader,
  wireType: number,
  items: WireCodec,
  list: JsonArray,
  depth: number,
  name: string,
): void {
  const budget = budgetOf(reader);
  if (wireType === items.wireType) {
    budget.takeValue();
    list.push(items.read(reader, depth));
    return;
  }
  // Numbers may be packed, although we never write them so.
  if (wireType !== LENGTH_DELIMITED || items.wireType !== VARINT) {
    throw wrongWireType(wireType, name);
  }
  const outer = enterMessage(reader);
  while (reader.pos < reader.len) {
    budget.takeValue();
    list.push(items.read(reader, depth));
  }
  leaveMessage(reader, outer);
}

/** A list as its own message, with the items in field 1. */
function wrappedListCodec(items: WireCodec): WireCodec {
  const inner = messageCodec(() => [listField("items", 1, items)], ["items"]);
  return {
    wireType: LENGTH_DELIMITED,
    write: (writer, value) => inner.write(writer, { items: value }),
    read: (reader, depth) => (inner.read(reader, depth) as JsonObject).items ?? null,
    *readInSteps(reader, depth) {
      return ((yield* readInSteps(inner, reader, depth)) as JsonObject).items ?? null;
    },
    zero: () => [],
  };
}

/** Entries are messages with the key in field 1 and the value in field 2. */
function mapField(name: string, number: number, keys: WireCodec, values: WireCodec): WireField {
  const tag = tagOf(number, LENGTH_DELIMITED);
  const keyTag = tagOf(1, keys.wireType);
  const valueTag = tagOf(2, values.wireType);
  const isBytes = values === SCALAR_WIRE_CODECS.bytes;

  function readEntry(reader: Reader, map: JsonObject, depth: number): void {
    budgetOf(reader).takeValue();
    let key: JsonValue = "";
    let value: JsonValue | undefined;
    const outer = enterMessage(reader);
    while (reader.pos < reader.len) {
      const inner = reader.tag();
      if (inner === keyTag) key = keys.read(reader, depth);
      else if (inner === valueTag) value = values.read(reader, depth, value);
      else if (inner >>> 3 === 1 || inner >>> 3 === 2) throw wrongWireType(inner & 7, name);
      else reader.skipType(inner & 7, 0, inner >>> 3);
    }
    leaveMessage(reader, outer);
    setMember(map, key as string, value === undefined ? values.zero() : value);
  }

  function* readEntryInSteps(reader: Reader, map: JsonObject, depth: number): Steps<void> {
    budgetOf(reader).takeValue();
    let key: JsonValue = "";
    let value: JsonValue | undefined;
    const outer = enterMessage(reader);
    while (reader.pos < reader.len) {
      const inner = reader.tag();
      if (inner === keyTag) key = keys.read(reader, depth);
      else if (inner === valueTag) value = yield* readInSteps(values, reader, depth, value);
      else if (inner >>> 3 === 1 || inner >>> 3 === 2) throw wrongWireType(inner & 7, name);
      else reader.skipType(inner & 7, 0, inner >>> 3);
    }
    leaveMessage(reader, outer);
    setMember(map, key as string, value === undefined ? values.zero() : value);
  }

  function writeEntries(writer: Writer, map: JsonObject): void {
    for (const key of sortedKeys(map)) {
      const value = map[key];
      if (value === undefined) continue;
      writer.uint32(tag).fork().uint32(keyTag);
      keys.write(writer, key);
      if (value !== null || !isBytes) {
        writer.uint32(valueTag);
        values.write(writer, value ?? values.zero());
      }
      writer.ldelim();
    }
  }

  const entry = { tag, valueTag, transcode: transcodeOf(values) };
  return {
    number,
    name,
    transcode(writer, json, at) {
      const end = transcodeMap(writer, json, at, entry);
      if (end !== undefined) return end;
      return parsing((to, map) => writeEntries(to, map as JsonObject))(writer, json, at);
    },
    write(writer, object) {
      const map = object[name];
      if (isJsonObject(map)) writeEntries(writer, map);
    },
    read(reader, wireType, out, depth) {
      if (wireType !== LENGTH_DELIMITED) throw wrongWireType(wireType, name);
      readEntry(reader, mapIn(out, name), depth);
    },
    ...(values.readInSteps && {
      *readInSteps(reader: Reader, wireType: number, out: JsonObject, depth: number) {
        if (wireType !== LENGTH_DELIMITED) throw wrongWireType(wireType, name);
        yield* readEntryInSteps(reader, mapIn(out, name), depth);
      },
    }),
  };
}

function mapIn(out: JsonObject, name: string): JsonObject {
  let map = out[name] as JsonObject | undefined;
  if (map === undefined) {
    map = {};
    out[name] = map;
  }
  return map;
}

/**
 * Codecs of structs, compiled from the schema model: one property list per type, created on first use
 * and shared by all kinds. Knows no kind by name.
 */

import { isRecord } from "../../storage/base/is-record.js";
import { lazily } from "../../storage/base/lazily.js";
import type { Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { listCodec, mapCodec } from "./collection-codecs.js";
import type { AliasType, Field, SchemaModel, StructType, TypeRef } from "./model.js";
import { BUILTIN_CODECS, rawCodec, SCALAR_CODECS, stringCodec } from "./scalar-codecs.js";
import {
  DecodeFailure,
  decodeAny,
  encodeAny,
  mismatch,
  prefixPaths,
  type ValueCodec,
} from "./value-codec.js";

/** Unknown fields reported per object at most. */
const UNKNOWN_FIELDS_MAX = 100;

/**
 * Lists that a body may have empty, with another meaning than when they are missing: that has a default, and this is
 * refused.
 */
const STAYING_EMPTY: ReadonlySet<string> = new Set([
  "EphemeralContainer ports",
  "EphemeralContainer resizePolicy",
  "EphemeralContainer restartPolicyRules",
  "HPAScalingRules policies",
]);

interface FieldCodec {
  readonly name: string;
  /** `"name":` and `,"name":` */
  readonly firstKey: string;
  readonly nextKey: string;
  readonly value: ValueCodec;
  readonly omitsEmpty: boolean;
  /** An empty list or map counts as absent, which is written as null. */
  readonly emptyIsNull: boolean;
  /** The value of an absent member, decoded and encoded; undefined = none. */
  readonly zero: (() => JsonValue) | undefined;
}

export interface StructCodec extends ValueCodec {
  /** `opening`, the members, and the closing bracket; `opening` may already have members. */
  encodeAfter(opening: string, value: JsonObject): string;
  /** The same in steps. */
  encodeAfterInSteps(opening: string, value: JsonObject): Steps<string>;
}

/** Compiled codecs by type, for one model. */
export interface CodecCompiler {
  struct(type: StructType): StructCodec;
  /** The struct without kind and apiVersion, which are in the envelope. */
  kindBody(type: StructType): StructCodec;
}

/** The fields of a struct with embedded structs expanded in place. */
export function flatFields(model: SchemaModel, type: StructType): readonly Field[] {
  return type.fields.flatMap((field) => {
    if (field.name !== "<inline>") return field.noJson ? [] : [field];
    const inlined = field.type.kind === "named" ? resolve(model, field.type.id) : undefined;
    return inlined?.form === "struct" ? flatFields(model, inlined) : [];
  });
}

/** The type with an id; follows aliases of other files' types. */
function resolve(model: SchemaModel, id: string) {
  const type = model.type(id);
  if (type?.form !== "alias" || type.target.kind !== "named") return type;
  return resolve(model, type.target.id);
}

/** Resolves aliases to a list, map, scalar or named type. */
export function followAliases(model: SchemaModel, ref: TypeRef): TypeRef {
  const type = ref.kind === "named" ? model.type(ref.id) : undefined;
  if (type?.form !== "alias") return ref;
  return { ...followAliases(model, type.target), nullable: ref.nullable };
}

/** The struct that a type is, or that its items or values are. */
export function innerStruct(model: SchemaModel, ref: TypeRef): StructType | undefined {
  const target = followAliases(model, ref);
  if (target.kind === "list") return innerStruct(model, target.items);
  if (target.kind === "map") return innerStruct(model, target.values);
  const type = target.kind === "named" ? model.type(target.id) : undefined;
  return type?.form === "struct" ? type : undefined;
}

export function createCodecCompiler(model: SchemaModel): CodecCompiler {
  const structs = new Map<StructType, StructCodec>();

  function struct(type: StructType): StructCodec {
    let codec = structs.get(type);
    if (codec === undefined) {
      // The fields are filled in on first use, so that types may be recursive.
      codec = structCodec(
        typeNameOf(type),
        lazily(() => fieldCodecs(type)),
      );
      structs.set(type, codec);
    }
    return codec;
  }

  function fieldCodecs(type: StructType): readonly FieldCodec[] {
    return flatFields(model, type).map((field) => fieldCodec(type, field));
  }

  function fieldCodec(type: StructType, field: Field): FieldCodec {
    const value = refCodec(field.type);
    const isListOrMap = ["list", "map"].includes(followAliases(model, field.type).kind);
    const isAlways = field.empty === "always";
    const isOfList = type.isKind && type.name.endsWith("List");
    return {
      name: field.name,
      firstKey: `${JSON.stringify(field.name)}:`,
      nextKey: `,${JSON.stringify(field.name)}:`,
      value,
      omitsEmpty:
        field.empty === "omit" &&
        !field.type.nullable &&
        !STAYING_EMPTY.has(`${type.name} ${field.name}`),
      // kube-apiserver stores objects in Protobuf, where an empty list is absent; definitions are stored in JSON.
      emptyIsNull: isAlways && isListOrMap && !isOfList && !type.file.startsWith("apiextensions."),
      zero:
        isAlways && field.type.nullable
          ? () => null
          : isAlways || (field.empty === "struct" && !field.type.nullable)
            ? value.zero
            : undefined,
    };
  }

  function refCodec(ref: TypeRef): ValueCodec {
    switch (ref.kind) {
      case "scalar":
        return SCALAR_CODECS[ref.name];
      case "builtin":
        return BUILTIN_CODECS[ref.name];
      case "list":
        return listCodec(refCodec(ref.items), ref.items.nullable);
      case "map":
        return mapCodec("string", refCodec(ref.values), ref.values.nullable);
      case "named":
        return namedCodec(ref.id);
    }
  }

  function namedCodec(id: string): ValueCodec {
    const type = model.type(id);
    if (type === undefined) throw new TypeError(`no type ${id}`);
    if (type.form === "enum") return stringCodec(typeNameOf(type));
    if (type.form === "struct") return type.customJson ? customCodec(type) : struct(type);
    return aliasCodec(type);
  }

  function aliasCodec(type: AliasType): ValueCodec {
    const isString = type.target.kind === "scalar" && type.target.name === "string";
    return isString ? stringCodec(typeNameOf(type)) : refCodec(type.target);
  }

  /** Types with custom JSON: one of two forms, distinguished by the JSON type. */
  function customCodec(type: StructType): ValueCodec {
    const schema = model.type(`${type.file}.JSONSchemaProps`);
    if (schema?.form !== "struct") return rawCodec;
    switch (type.name) {
      case "JSONSchemaPropsOrBool":
        return eitherCodec(struct(schema), (value) =>
          typeof value === "boolean" ? SCALAR_CODECS.bool : undefined,
        );
      case "JSONSchemaPropsOrArray":
        return eitherCodec(struct(schema), (value) =>
          Array.isArray(value) ? listCodec(struct(schema), false) : undefined,
        );
      case "JSONSchemaPropsOrStringArray":
        return eitherCodec(struct(schema), (value) =>
          Array.isArray(value) ? listCodec(SCALAR_CODECS.string, false) : undefined,
        );
      default:
        return rawCodec;
    }
  }

  return {
    struct,
    kindBody: (type) =>
      structCodec(
        typeNameOf(type),
        lazily(() =>
          fieldCodecs(type).filter(({ name }) => name !== "kind" && name !== "apiVersion"),
        ),
      ),
  };
}

/** "v1.PodSpec": the version of the file and the name. */
function typeNameOf({ file, name }: { readonly file: string; readonly name: string }): string {
  return `${file.slice(file.indexOf(".") + 1)}.${name}`;
}

/** Whether null is what an absent member is written as, so that its readers expect it. */
function mayBeNull({ emptyIsNull, zero }: FieldCodec): boolean {
  return emptyIsNull || zero?.() === null;
}

/** `main`, unless `pick` returns another codec for the value. */
function eitherCodec(
  main: StructCodec,
  pick: (value: JsonValue) => ValueCodec | undefined,
): ValueCodec {
  const codecOf = (value: JsonValue) => pick(value) ?? main;
  return {
    typeName: main.typeName,
    // Unknown fields in it are dropped silently, because its own parser is not strict.
    decode: (value) => codecOf(value).decode(value, []),
    fits: (value) => codecOf(value as JsonValue).fits(value),
    encode: (value) => codecOf(value).encode(value),
    encodeInSteps: (value) => encodeAny(codecOf(value), value),
    isEmpty: () => false,
    zero: () => null,
  };
}

interface Compiled {
  readonly fields: readonly FieldCodec[];
  readonly byName: ReadonlyMap<string, FieldCodec>;
  /** Fields that are present even if not set. */
  readonly present: readonly FieldCodec[];
}

/** What is written for a member; undefined = it is left out. */
function writtenMember(field: FieldCodec, member: JsonValue | undefined): JsonValue | undefined {
  if (member === undefined || member === null) return field.zero?.();
  if (field.omitsEmpty) return field.value.isEmpty(member) ? undefined : member;
  return field.emptyIsNull && field.value.isEmpty(member) ? null : member;
}

function structCodec(typeName: string, fieldsOf: () => readonly FieldCodec[]): StructCodec {
  const compiled = lazily((): Compiled => {
    const fields = fieldsOf();
    return {
      fields,
      byName: new Map(fields.map((field) => [field.name, field])),
      present: fields.filter((field) => field.zero !== undefined),
    };
  });

  function addMissing(out: JsonObject): JsonObject {
    for (const { name, zero } of compiled().present) {
      if (out[name] === undefined && zero !== undefined) out[name] = zero();
    }
    return out;
  }

  function encodeAfter(opening: string, value: JsonObject): string {
    let text = opening;
    let isFirst = opening === "{";
    for (const field of compiled().fields) {
      // As writtenMember, without a call for each field.
      let member = value[field.name];
      if (member === undefined || member === null) {
        if (field.zero === undefined) continue;
        member = field.zero();
      } else if (field.omitsEmpty) {
        if (field.value.isEmpty(member)) continue;
      } else if (field.emptyIsNull && field.value.isEmpty(member)) {
        member = null;
      }
      text += isFirst ? field.firstKey : field.nextKey;
      text += member === null ? "null" : field.value.encode(member);
      isFirst = false;
    }
    return `${text}}`;
  }

  function* encodeAfterInSteps(opening: string, value: JsonObject): Steps<string> {
    let text = opening;
    let isFirst = opening === "{";
    for (const field of compiled().fields) {
      const member = writtenMember(field, value[field.name]);
      if (member === undefined) continue;
      text += isFirst ? field.firstKey : field.nextKey;
      text += member === null ? "null" : yield* encodeAny(field.value, member);
      isFirst = false;
    }
    return `${text}}`;
  }

  return {
    typeName,
    decode(value, unknown) {
      if (!isJsonObject(value)) throw mismatch(value, typeName, "struct");
      const { byName } = compiled();
      const out: JsonObject = {};
      let current = "";
      try {
        for (const key of Object.keys(value)) {
          const field = byName.get(key);
          if (field === undefined) {
            if (unknown.length < UNKNOWN_FIELDS_MAX) unknown.push(key);
            continue;
          }
          const member = value[key];
          if (member === undefined || member === null) continue;
          current = key;
          const before = unknown.length;
          const decoded = field.value.decode(member, unknown);
          if (unknown.length > before) prefixPaths(unknown, before, key);
          if (decoded === null) continue;
          if ((field.omitsEmpty || field.emptyIsNull) && field.value.isEmpty(decoded)) continue;
          out[key] = decoded;
        }
      } catch (error) {
        throw error instanceof DecodeFailure ? error.enter(typeName, current) : error;
      }
      return addMissing(out);
    },
    *decodeInSteps(value, unknown) {
      if (!isJsonObject(value)) throw mismatch(value, typeName, "struct");
      const { byName } = compiled();
      const out: JsonObject = {};
      let current = "";
      try {
        for (const key of Object.keys(value)) {
          const field = byName.get(key);
          if (field === undefined) {
            if (unknown.length < UNKNOWN_FIELDS_MAX) unknown.push(key);
            continue;
          }
          const member = value[key];
          if (member === undefined || member === null) continue;
          current = key;
          const before = unknown.length;
          const decoded = yield* decodeAny(field.value, member, unknown);
          if (unknown.length > before) prefixPaths(unknown, before, key);
          if (decoded === null) continue;
          if ((field.omitsEmpty || field.emptyIsNull) && field.value.isEmpty(decoded)) continue;
          out[key] = decoded;
        }
      } catch (error) {
        throw error instanceof DecodeFailure ? error.enter(typeName, current) : error;
      }
      return addMissing(out);
    },
    fits(value) {
      if (!isRecord(value)) return false;
      const { byName } = compiled();
      for (const key in value) {
        const field = byName.get(key);
        if (field === undefined) return false;
        const member = value[key];
        if (member === null ? !mayBeNull(field) : !field.value.fits(member)) return false;
      }
      return true;
    },
    encode: (value) => encodeAfter("{", value as JsonObject),
    encodeAfter,
    encodeInSteps: (value) => encodeAfterInSteps("{", value as JsonObject),
    encodeAfterInSteps,
    isEmpty: () => false,
    zero: () => addMissing({}),
  };
}

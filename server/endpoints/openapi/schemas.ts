/**
 * Schemas from the model: the OpenAPI schema of a struct type, with the rules of the facts
 * (docs/dev/facts.md): required fields, published defaults, and extensions for lists, maps, unions and
 * patches. Enums and aliases are inlined; structs are referenced by name. Pure functions of the model.
 */
import type { Steps } from "../../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type {
  AliasType,
  BuiltinName,
  EnumType,
  Field,
  ScalarName,
  SchemaModel,
  StructType,
  TypeRef,
} from "../../schema/model.js";
import { type BodyType, type CustomType, sharedType } from "./body-type.js";
import type { CodeDefaults } from "./code-defaults.js";
import { describeField, describeMetadata, describeType } from "./descriptions.js";
import type {
  GroupVersionKindExtension,
  OpenApiVersion,
  SchemaObject,
  UnionExtension,
} from "./schema-object.js";
import { schemaReference } from "./schema-object.js";

/** The file of the types shared by all group-versions. */
const SHARED_FILE = "meta.v1";

/** The names of the builtins below the prefix that they share with the meta types. */
const BUILTIN_SUFFIXES: Readonly<Record<BuiltinName, string>> = {
  Time: "apis.meta.v1.Time",
  MicroTime: "apis.meta.v1.MicroTime",
  Duration: "apis.meta.v1.Duration",
  FieldsV1: "apis.meta.v1.FieldsV1",
  Quantity: "api.resource.Quantity",
  IntOrString: "util.intstr.IntOrString",
  RawExtension: "runtime.RawExtension",
  Unknown: "runtime.Unknown",
};

const SCALARS: Readonly<Record<ScalarName, SchemaObject>> = {
  string: { type: "string" },
  bool: { type: "boolean" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  float64: { type: "number", format: "double" },
  bytes: { type: "string", format: "byte" },
  any: {},
};

const ZERO_VALUES: Readonly<Record<ScalarName, JsonValue | undefined>> = {
  string: "",
  bool: false,
  int32: 0,
  int64: 0,
  float64: 0,
  bytes: undefined,
  any: undefined,
};

/** A type that has a schema of its own in a document. */
export type NamedSchema =
  | { readonly form: "struct"; readonly type: StructType }
  | { readonly form: "builtin"; readonly name: BuiltinName }
  | CustomType;

export interface SchemaBuilder {
  /** The name of a type's schema, for example "io.k8s.api.apps.v1.Deployment". */
  nameOf(schema: NamedSchema): string;
  build(schema: NamedSchema): SchemaObject;
  /** A reference to a struct type's schema, for request and response bodies. */
  reference(type: BodyType): SchemaObject;
  /** The given types and all types that they refer to, by name and sorted by it. */
  closure(roots: Iterable<BodyType>): Steps<ReadonlyMap<string, NamedSchema>>;
}

/**
 * @param defaults set in code on decoding; descriptions mention them, `default` does not
 * @param everywhere group-versions that also register the option and event types; these kinds are
 *   published under all of them, so that clients can resolve a DeleteOptions of any group
 */
export function createSchemaBuilder(
  model: SchemaModel,
  version: OpenApiVersion,
  defaults: CodeDefaults,
  everywhere: readonly { readonly group: string; readonly version: string }[],
): SchemaBuilder {
  const sharedPrefix = prefixOfShared(model);

  function nameOf(schema: NamedSchema): string {
    if (schema.form === "builtin") return `${sharedPrefix}.${BUILTIN_SUFFIXES[schema.name]}`;
    if (schema.form === "custom") return `${schema.kind.name}${schema.isList ? "List" : ""}`;
    const file = model.files.get(schema.type.file);
    return `${file?.modelPrefix ?? schema.type.file}.${schema.type.name}`;
  }

  function referenceTo(schema: NamedSchema): SchemaObject {
    return { $ref: schemaReference(version, nameOf(schema)) };
  }

  /** In v3 a reference must stand alone, so other members need an `allOf` around it. */
  function withNeighbours(schema: SchemaObject, neighbours: SchemaObject): SchemaObject {
    const isReference = schema.$ref !== undefined;
    if (!isReference || version === "v2") return { ...schema, ...neighbours };
    return Object.keys(neighbours).length === 0 ? schema : { allOf: [schema], ...neighbours };
  }

  /** The schema of a field or element of this type; `neighbours` are its own additional members. */
  function placeSchema(ref: TypeRef, neighbours: SchemaObject): SchemaObject {
    const target = resolve(model, ref);
    switch (target.kind) {
      case "scalar":
        return { ...SCALARS[target.name], ...neighbours };
      case "enum":
        return {
          type: "string",
          ...(target.type.closed ? { enum: target.type.values.toSorted() } : {}),
          ...neighbours,
        };
      case "builtin":
        return withNeighbours(referenceTo({ form: "builtin", name: target.name }), neighbours);
      case "struct":
        return withNeighbours(referenceTo({ form: "struct", type: target.type }), neighbours);
      case "list":
        return { type: "array", items: elementSchema(target.items), ...neighbours };
      case "map":
        return {
          type: "object",
          additionalProperties: elementSchema(target.values),
          ...neighbours,
        };
    }
  }

  function elementSchema(ref: TypeRef): SchemaObject {
    return placeSchema(ref, defaultMember(elementDefault(model, ref)));
  }

  function defaultMember(value: JsonValue | undefined): SchemaObject {
    // Clients of v2 would fill in a default, so kube-apiserver omits them there.
    return version === "v2" || value === undefined ? {} : { default: value };
  }

  function propertySchema(owner: StructType, field: Field): SchemaObject {
    const description = describeField(owner, field, {
      words: model.words.ofField(owner, field.name),
      enumValues: enumValuesOf(model, field.type),
      codeDefault: defaults.of(field),
    });
    return placeSchema(field.type, {
      ...(description === undefined ? {} : { description }),
      ...defaultMember(fieldDefault(model, field)),
      ...fieldExtensions(model, field),
    });
  }

  function structSchema(type: StructType): SchemaObject {
    const kinds = kindsOf(model, type, everywhere);
    const text = describeType(type, kinds[0], model.words.ofType(type));
    const description = text === undefined ? {} : { description: text };
    // A type with custom JSON may have several forms; no single `type` would be right.
    if (type.customJson) return description;
    const properties: Record<string, SchemaObject> = {};
    const required: string[] = [];
    for (const { owner, field } of spreadFields(model, type)) {
      properties[field.name] = propertySchema(owner, field);
      if (isRequired(field)) required.push(field.name);
    }
    const union = unionExtension(model, type);
    const mapType = type.structType ?? type.mapType;
    return {
      ...description,
      type: "object",
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.length === 0 ? {} : { required }),
      ...(kinds.length === 0 ? {} : { "x-kubernetes-group-version-kind": kinds }),
      ...(mapType === undefined ? {} : { "x-kubernetes-map-type": mapType }),
      ...(union === undefined ? {} : { "x-kubernetes-unions": [union] }),
    };
  }

  /** The definitions that a custom kind, or its list, refers to besides its own schema. */
  function customReferences({ kind, isList }: CustomType): NamedSchema[] {
    const name = isList ? "ListMeta" : "ObjectMeta";
    const metadata: NamedSchema = { form: "struct", type: sharedType(model, name) };
    return isList ? [metadata, { form: "custom", kind, isList: false }] : [metadata];
  }

  /** What every object of a custom kind has, and every resource embedded in one. */
  function resourceMembers(
    metadata: NamedSchema | undefined,
    isList: boolean,
  ): Record<string, SchemaObject> {
    const type = sharedType(model, "TypeMeta");
    const ofType = type.fields.map((field) => [field.name, propertySchema(type, field)] as const);
    const description = describeMetadata(isList);
    return {
      ...Object.fromEntries(ofType),
      ...(metadata && { metadata: withNeighbours(referenceTo(metadata), { description }) }),
    };
  }

  function customSchema({ kind: published, isList }: CustomType): SchemaObject {
    const { group, version: groupVersion, kind } = published;
    const [metadata, item] = customReferences({ form: "custom", kind: published, isList });
    const members = resourceMembers(metadata, isList);
    const own = isList ? {} : (published.schema(version, members as JsonObject) as SchemaObject);
    const selectable = published.selectableFields.map((fieldPath) => ({ fieldPath }));
    const ofKind = { group, kind: isList ? `${kind}List` : kind, version: groupVersion };
    return {
      ...(isList ? { description: `${kind}List is a list of ${kind} objects.` } : {}),
      ...own,
      type: "object",
      ...(isList ? { required: ["items"] } : {}),
      properties: {
        ...members,
        ...(item && { items: { type: "array", items: referenceTo(item) } }),
        ...own.properties,
      },
      "x-kubernetes-group-version-kind": [ofKind],
      ...(selectable.length === 0 ? {} : { "x-kubernetes-selectable-fields": selectable }),
    };
  }

  function* closure(roots: Iterable<BodyType>): Steps<ReadonlyMap<string, NamedSchema>> {
    const found = new Map<string, NamedSchema>();
    const open: NamedSchema[] = [...roots].map(schemaOf);
    for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
      yield;
      const name = nameOf(schema);
      if (found.has(name)) continue;
      found.set(name, schema);
      if (schema.form === "builtin") continue;
      if (schema.form === "custom") {
        open.push(...customReferences(schema));
        continue;
      }
      if (schema.type.customJson) continue;
      for (const { field } of spreadFields(model, schema.type)) {
        const next = namedSchemaOf(model, field.type);
        if (next !== undefined) open.push(next);
      }
    }
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  return {
    nameOf,
    closure,
    build(schema) {
      switch (schema.form) {
        case "builtin":
          return builtinSchema(schema.name, version);
        case "custom":
          return customSchema(schema);
        case "struct":
          return structSchema(schema.type);
      }
    },
    reference: (type) => referenceTo(schemaOf(type)),
  };
}

function schemaOf(type: BodyType): NamedSchema {
  return type.form === "custom" ? type : { form: "struct", type };
}

/** The common prefix of the shared types, for example "io.k8s.apimachinery.pkg". */
function prefixOfShared(model: SchemaModel): string {
  const prefix = model.files.get(SHARED_FILE)?.modelPrefix ?? SHARED_FILE;
  const tail = ".apis.meta.v1";
  return prefix.endsWith(tail) ? prefix.slice(0, -tail.length) : prefix;
}

function builtinSchema(name: BuiltinName, version: OpenApiVersion): SchemaObject {
  switch (name) {
    case "Time":
      return {
        description: "Time is a point in time with whole seconds, as RFC 3339 text in UTC.",
        type: "string",
        format: "date-time",
      };
    case "MicroTime":
      return {
        description: "MicroTime is a point in time with microseconds, as RFC 3339 text in UTC.",
        type: "string",
        format: "date-time",
      };
    case "Duration":
      return { description: "Duration is a span of time, such as 1h0m0s.", type: "string" };
    case "FieldsV1":
      return {
        description: "FieldsV1 is a set of fields, as a trie in JSON form.",
        type: "object",
      };
    case "Quantity": {
      const description =
        "Quantity is a fixed-point number with a unit suffix, such as 250m or 4Gi.";
      return version === "v2"
        ? { description, type: "string" }
        : { description, oneOf: [{ type: "string" }, { type: "number" }] };
    }
    case "IntOrString": {
      const description = "IntOrString is an integer or a string, such as 1 or 25%.";
      return version === "v2"
        ? { description, type: "string", format: "int-or-string" }
        : {
            description,
            oneOf: [{ type: "integer" }, { type: "string" }],
            format: "int-or-string",
          };
    }
    case "RawExtension":
      return { description: "RawExtension is any object, kept as it is.", type: "object" };
    case "Unknown":
      return { description: "Unknown is any object in an encoded form.", type: "object" };
  }
}

/** A type reference with its aliases resolved. */
type Target =
  | { readonly kind: "scalar"; readonly name: ScalarName }
  | { readonly kind: "builtin"; readonly name: BuiltinName }
  | { readonly kind: "enum"; readonly type: EnumType }
  | { readonly kind: "struct"; readonly type: StructType }
  | { readonly kind: "list"; readonly items: TypeRef }
  | { readonly kind: "map"; readonly values: TypeRef };

function resolve(model: SchemaModel, ref: TypeRef): Target {
  if (ref.kind !== "named") return ref;
  const type = model.type(ref.id);
  switch (type?.form) {
    case "alias":
      return resolve(model, type.target);
    case "enum":
      return { kind: "enum", type };
    case "struct":
      return { kind: "struct", type };
    case undefined:
      throw new RangeError(`type ${ref.id} is not in the model`);
  }
}

/** The struct or builtin inside lists, maps and aliases. */
function namedSchemaOf(model: SchemaModel, ref: TypeRef): NamedSchema | undefined {
  const target = resolve(model, ref);
  switch (target.kind) {
    case "struct":
      return { form: "struct", type: target.type };
    case "builtin":
      return { form: "builtin", name: target.name };
    case "list":
      return namedSchemaOf(model, target.items);
    case "map":
      return namedSchemaOf(model, target.values);
    default:
      return undefined;
  }
}

/** A type's JSON members, with embedded structs expanded in place. */
export function* spreadFields(
  model: SchemaModel,
  type: StructType,
): Generator<{ readonly owner: StructType; readonly field: Field }> {
  for (const field of type.fields) {
    if (field.noJson) continue;
    if (field.name !== "<inline>") {
      yield { owner: type, field };
      continue;
    }
    const target = resolve(model, field.type);
    if (target.kind === "struct") yield* spreadFields(model, target.type);
  }
}

function isRequired({ requirement, empty }: Field): boolean {
  return requirement === "required" || (requirement === "none" && empty === "always");
}

function isNullable(model: SchemaModel, ref: TypeRef): boolean {
  if (ref.nullable || ref.kind !== "named") return ref.nullable;
  const type = model.type(ref.id);
  return type?.form === "alias" && isNullable(model, type.target);
}

/** `default=`; else `{}` for a struct; else the zero value of a field that is always written. */
function fieldDefault(model: SchemaModel, field: Field): JsonValue | undefined {
  if (field.default !== undefined) return field.default;
  if (isNullable(model, field.type)) return undefined;
  const target = resolve(model, field.type);
  if (target.kind === "struct") return target.type.customJson ? undefined : {};
  if (field.empty !== "always") return undefined;
  return zeroValue(target);
}

function elementDefault(model: SchemaModel, ref: TypeRef): JsonValue | undefined {
  if (isNullable(model, ref)) return undefined;
  const target = resolve(model, ref);
  if (target.kind === "struct") return target.type.customJson ? undefined : {};
  return zeroValue(target);
}

function zeroValue(target: Target): JsonValue | undefined {
  if (target.kind === "enum") return "";
  return target.kind === "scalar" ? ZERO_VALUES[target.name] : undefined;
}

/** The published values of a field whose type is a closed enum, also inside a list or map. */
function enumValuesOf(model: SchemaModel, ref: TypeRef): readonly string[] | undefined {
  const target = resolve(model, ref);
  if (target.kind === "enum") return target.type.closed ? target.type.values.toSorted() : undefined;
  if (target.kind === "list") return enumValuesOf(model, target.items);
  return undefined;
}

function fieldExtensions(model: SchemaModel, field: Field): SchemaObject {
  const alias = aliasOf(model, field.type);
  const listType = field.listType ?? alias?.listType;
  const mapType = field.mapType ?? field.structType;
  return {
    ...(listType === undefined ? {} : { "x-kubernetes-list-type": listType }),
    ...(field.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": field.listMapKeys }),
    ...(mapType === undefined ? {} : { "x-kubernetes-map-type": mapType }),
    ...(field.patchStrategies === undefined
      ? {}
      : { "x-kubernetes-patch-strategy": field.patchStrategies.join(",") }),
    ...(field.patchMergeKey === undefined
      ? {}
      : { "x-kubernetes-patch-merge-key": field.patchMergeKey }),
  };
}

function aliasOf(model: SchemaModel, ref: TypeRef): AliasType | undefined {
  const type = ref.kind === "named" ? model.type(ref.id) : undefined;
  return type?.form === "alias" ? type : undefined;
}

/** A member's discriminator value is its JSON name, capitalised. */
function unionExtension(model: SchemaModel, type: StructType): UnionExtension | undefined {
  if (!type.isUnion) return undefined;
  const fields = [...spreadFields(model, type)].map(({ field }) => field);
  const discriminator = fields.find((field) => field.discriminator);
  const members = fields.filter((field) => field !== discriminator && !isRequired(field));
  return {
    ...(discriminator === undefined ? {} : { discriminator: discriminator.name }),
    "fields-to-discriminateBy": Object.fromEntries(
      members.map(({ name }) => [name, name.charAt(0).toUpperCase() + name.slice(1)]),
    ),
  };
}

/** The kinds under which clients know a type; empty for parts of objects. */
function kindsOf(
  model: SchemaModel,
  type: StructType,
  everywhere: readonly { readonly group: string; readonly version: string }[],
): readonly GroupVersionKindExtension[] {
  if (type.file === SHARED_FILE) {
    // The shared kinds (Status, APIResourceList, ...) belong to the core group on the wire.
    if (type.name === "DeleteOptions" || type.name === "WatchEvent") {
      return everywhere.map(({ group, version }) => ({ group, kind: type.name, version }));
    }
    return type.isKind ? [{ group: "", kind: type.name, version: "v1" }] : [];
  }
  const file = model.files.get(type.file);
  if (!type.isKind || file === undefined) return [];
  return [{ group: file.group, kind: type.name, version: file.version }];
}

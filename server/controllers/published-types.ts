/**
 * The CEL types of served kinds from their published schemas, built-in and custom alike, in the requested
 * version. An open schema becomes dyn, so that no warning exceeds what the schema states.
 */
import { finishNow } from "../../storage/base/steps.js";
import type { CelObjectType, CelType } from "../cel/environment.js";
import { createCodeDefaults } from "../endpoints/openapi/code-defaults.js";
import {
  createSchemaBuilder,
  type NamedSchema,
  type SchemaBuilder,
} from "../endpoints/openapi/schemas.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import { remembered } from "../kinds/remembered.js";
import type { MainResource } from "../kinds/served-resource.js";
import type { Facts, StructType } from "../schema/model.js";
import type { JsonSchema } from "../structural/json-schema.js";
import { escapeName } from "../structural/rule-types.js";

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface KnownType {
  readonly self: CelType;
  /** Its component types; their names are unique among all kinds. */
  readonly types: readonly CelObjectType[];
}

export interface PublishedTypes {
  /** The kinds of a resource; in any group if none is named, as kube-apiserver resolves rules. */
  kindsFor(group: string, version: string, resource: string): readonly GroupVersionKind[];
  /** undefined = the kind is not served. */
  typeOf(kind: GroupVersionKind): KnownType | undefined;
}

export function createPublishedTypes(
  { model, defaults }: Facts,
  catalog: CatalogSource,
): PublishedTypes {
  // Most control planes have no policy whose types somebody asks for.
  let builder: SchemaBuilder | undefined;
  const read = (schema: NamedSchema) => {
    builder ??= createSchemaBuilder(model, "v3", createCodeDefaults(model, defaults), []);
    return new TypeReader(builder, schema).read();
  };
  /** Cached for built-in kinds: some ten milliseconds of work each. */
  const known = new WeakMap<StructType, KnownType>();
  const typeOf = ({ group, version, kind, codec }: MainResource): KnownType | undefined => {
    const custom = codec.published();
    if (custom !== undefined) return read({ form: "custom", kind: custom, isList: false });
    const type = model.kind(group, version, kind);
    return type && remembered(known, type, () => read({ form: "struct", type }));
  };
  return {
    kindsFor: (group, version, resource) =>
      catalog.current.resources
        .filter((one) => one.version === version && one.resource === resource)
        .filter((one) => group === "" || one.group === group)
        .map(({ fact, kind, ...own }) => ({ ...(fact.kindGroupVersion ?? gvOf(own)), kind })),
    typeOf({ group, version, kind }) {
      const resource = catalog.current.findKind(group, version, kind);
      return resource && typeOf(resource);
    },
  };
}

function gvOf({ group, version }: { readonly group: string; readonly version: string }) {
  return { group, version };
}

class TypeReader {
  readonly #builder: SchemaBuilder;
  readonly #root: NamedSchema;
  /** All schemas that the root refers to, by name. */
  readonly #named: ReadonlyMap<string, NamedSchema>;
  /** Types of named schemas; recursive ones are added before they are complete. */
  readonly #known = new Map<string, CelType>();
  readonly #types: CelObjectType[] = [];

  constructor(builder: SchemaBuilder, root: NamedSchema) {
    this.#builder = builder;
    this.#root = root;
    const roots = root.form === "builtin" ? [] : [root.form === "struct" ? root.type : root];
    this.#named = finishNow(builder.closure(roots));
  }

  read(): KnownType {
    const self = this.#reference(this.#builder.nameOf(this.#root));
    return { self, types: this.#types };
  }

  #reference(name: string): CelType {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const named = this.#named.get(name);
    if (named === undefined) return "dyn";
    const schema = this.#builder.build(named) as JsonSchema;
    if (isClosed(schema)) this.#known.set(name, { object: name });
    const type = this.#typeOf(schema, name);
    this.#known.set(name, type);
    return type;
  }

  /** @param name the name for an object type */
  #typeOf(schema: JsonSchema, name: string): CelType {
    const target = referenceOf(schema);
    if (target !== undefined) return this.#reference(target);
    if (schema.format === "int-or-string" || schema["x-kubernetes-int-or-string"] === true) {
      return "dyn";
    }
    switch (schema.type) {
      case "array": {
        const items = schema.items as JsonSchema | undefined;
        return items === undefined ? "dyn" : { list: this.#typeOf(items, `${name}.@idx`) };
      }
      case "object": {
        const { additionalProperties: values } = schema;
        if (typeof values === "object") return { map: this.#typeOf(values, `${name}.@elem`) };
        return isClosed(schema) ? this.#object(schema, name) : "dyn";
      }
      case "string":
        return TEXT_FORMATS[schema.format ?? ""] ?? "string";
      case "boolean":
        return "bool";
      case "integer":
        return "int";
      case "number":
        return "double";
      default:
        return "dyn";
    }
  }

  #object({ properties = {} }: JsonSchema, name: string): CelType {
    const fields: Record<string, CelType> = {};
    for (const [member, schema] of Object.entries(properties)) {
      const field = escapeName(member);
      if (field !== undefined) fields[field] = this.#typeOf(schema, `${name}.${member}`);
    }
    this.#types.push({ name, fields });
    return { object: name };
  }
}

const TEXT_FORMATS: Readonly<Record<string, CelType>> = {
  byte: "bytes",
  duration: "duration",
  date: "timestamp",
  "date-time": "timestamp",
};

/** Whether the schema names all members that a value may have. */
function isClosed(schema: JsonSchema): boolean {
  if (schema.type !== "object" || schema.properties === undefined) return false;
  return !schema["x-kubernetes-preserve-unknown-fields"] && !schema.additionalProperties;
}

/** A reference with other members is wrapped in an allOf. */
function referenceOf({ $ref, allOf }: JsonSchema): string | undefined {
  const reference = $ref ?? allOf?.find((one) => one.$ref !== undefined)?.$ref;
  return reference?.slice(reference.lastIndexOf("/") + 1);
}

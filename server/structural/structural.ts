/**
 * Structural: the shape defined by a structural schema: members, preserved unknown fields, defaults,
 * list and map types, and CEL rules. Constraints on single values (bounds, patterns, junctors) are
 * compiled separately, in value-validator.ts.
 *
 * Made from a JSONSchemaProps that definition/ has accepted; non-structural parts of an older
 * definition are ignored. Pure data, shared and frozen.
 */
import type { JsonValue } from "../api/meta.js";
import {
  additionalSchema,
  itemSchema,
  type JsonSchema,
  type ValidationRule,
} from "./json-schema.js";

export interface Structural {
  /** "object", "array", "string", "integer", "number", "boolean", or "" for none. */
  readonly type: string;
  readonly format: string;
  readonly isNullable: boolean;
  /** undefined = no default; null is a default. */
  readonly default: JsonValue | undefined;
  readonly items: Structural | undefined;
  readonly properties: ReadonlyMap<string, Structural>;
  /** For members that are not properties; true = any value, pruned within. */
  readonly additional: Structural | true | undefined;
  readonly keepsUnknown: boolean;
  readonly isEmbedded: boolean;
  readonly isIntOrString: boolean;
  readonly listType: "atomic" | "set" | "map";
  readonly listMapKeys: readonly string[];
  readonly mapType: "atomic" | "granular";
  readonly rules: readonly ValidationRule[];
  /** The source schema, with bounds and the like. */
  readonly schema: JsonSchema;
  /** Features of this schema or below; absent ones need no traversal. */
  readonly has: Features;
}

/** Parts that only some schemas use. */
export interface Features {
  readonly defaults: boolean;
  /** Sets and maps, whose items must be unique. */
  readonly uniqueLists: boolean;
  readonly embedded: boolean;
  readonly rules: boolean;
}

/** Members of every resource that are outside the schema. */
export const META_MEMBERS: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

const NO_PROPERTIES: ReadonlyMap<string, Structural> = new Map();

export function toStructural(schema: JsonSchema): Structural {
  const properties = toProperties(schema.properties);
  const items = itemSchema(schema);
  const additional = additionalSchema(schema);
  const node = {
    type: schema.type ?? "",
    format: schema.format ?? "",
    isNullable: schema.nullable === true,
    default: schema.default,
    items: items === undefined ? undefined : toStructural(items),
    properties,
    additional:
      additional === undefined
        ? schema.additionalProperties === true || undefined
        : toStructural(additional),
    keepsUnknown: schema["x-kubernetes-preserve-unknown-fields"] === true,
    isEmbedded: schema["x-kubernetes-embedded-resource"] === true,
    isIntOrString: schema["x-kubernetes-int-or-string"] === true,
    listType: toListType(schema["x-kubernetes-list-type"]),
    listMapKeys: schema["x-kubernetes-list-map-keys"] ?? [],
    mapType: schema["x-kubernetes-map-type"] === "atomic" ? "atomic" : "granular",
    rules: schema["x-kubernetes-validations"] ?? [],
    schema,
  } as const;
  return Object.freeze({ ...node, has: featuresOf(node) });
}

function toProperties(schemas: JsonSchema["properties"]): ReadonlyMap<string, Structural> {
  if (schemas === undefined) return NO_PROPERTIES;
  return new Map(Object.entries(schemas).map(([name, schema]) => [name, toStructural(schema)]));
}

function toListType(text: string | undefined): Structural["listType"] {
  return text === "set" || text === "map" ? text : "atomic";
}

function featuresOf(node: Omit<Structural, "has">): Features {
  const children = [...node.properties.values()];
  if (node.items !== undefined) children.push(node.items);
  if (typeof node.additional === "object") children.push(node.additional);
  const any = (feature: keyof Features) => children.some(({ has }) => has[feature]);
  return Object.freeze({
    defaults: any("defaults") || children.some((child) => child.default !== undefined),
    uniqueLists: node.listType !== "atomic" || any("uniqueLists"),
    embedded: node.isEmbedded || any("embedded"),
    rules: node.rules.length > 0 || any("rules"),
  });
}

/** The schema of a member; true = any value, undefined = unknown. */
export function memberOf(node: Structural, name: string): Structural | true | undefined {
  return node.properties.get(name) ?? node.additional;
}

/** A null that is not nullable: treated as not sent. */
export function isUnsetNull(value: JsonValue | undefined, node: Structural): boolean {
  return value === null && !node.isNullable;
}

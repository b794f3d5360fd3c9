/**
 * JSONSchemaProps in a CustomResourceDefinition: OpenAPI v3 with the `x-kubernetes-` extensions, as
 * plain JSON. Pure data and its traversal; definition/ checks schemas, and the files beside this one
 * apply them to objects.
 */
import type { JsonValue } from "../api/meta.js";

export interface JsonSchema {
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: JsonValue;
  readonly nullable?: boolean;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly multipleOf?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly enum?: readonly JsonValue[];
  readonly required?: readonly string[];
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly externalDocs?: object;
  readonly example?: JsonValue;
  readonly id?: string;
  readonly $ref?: string;
  readonly $schema?: string;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly dependencies?: Readonly<Record<string, JsonSchema | readonly string[]>>;
  readonly additionalItems?: JsonSchema | boolean;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

/** An entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** The schema of every item; undefined if there is none, or one for each position. */
export function itemSchema({ items }: JsonSchema): JsonSchema | undefined {
  return isSchema(items) ? items : undefined;
}

/** Schemas by position: refused now, but old definitions may have them. */
export function itemSchemas({ items }: JsonSchema): readonly JsonSchema[] {
  return Array.isArray(items) ? (items as readonly JsonSchema[]) : [];
}

export function additionalSchema({ additionalProperties }: JsonSchema): JsonSchema | undefined {
  return isSchema(additionalProperties) ? additionalProperties : undefined;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether `holds` is true of the schema or any schema within it. */
export function someSchema(schema: JsonSchema, holds: (schema: JsonSchema) => boolean): boolean {
  if (holds(schema)) return true;
  return childSchemas(schema).some((child) => someSchema(child, holds));
}

const BOUNDS = [
  "maximum",
  "minimum",
  "multipleOf",
  "maxLength",
  "minLength",
  "maxItems",
  "minItems",
  "maxProperties",
  "minProperties",
] as const;

type Bounds = { [keyword in (typeof BOUNDS)[number]]?: number };

/**
 * The schema with bounds that can be calculated with: those beyond 2^53 are read as bigint. As bounds of numbers
 * they are floats in kube-apiserver too; lengths of that size bound nothing. Other values keep their digits.
 */
export function withFloatBounds(schema: JsonSchema): JsonSchema {
  const isBig = (one: JsonSchema) => BOUNDS.some((keyword) => typeof one[keyword] === "bigint");
  if (!someSchema(schema, isBig)) return schema;
  const copy = structuredClone(schema);
  someSchema(copy, (one: Bounds) => {
    for (const keyword of BOUNDS) {
      if (typeof one[keyword] === "bigint") one[keyword] = Number(one[keyword]);
    }
    return false;
  });
  return copy;
}

function childSchemas(schema: JsonSchema): readonly JsonSchema[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const single = [
    itemSchema(schema),
    additionalSchema(schema),
    not,
    isSchema(schema.additionalItems) ? schema.additionalItems : undefined,
  ];
  const named = [schema.properties, schema.patternProperties, schema.definitions];
  return [
    ...single.filter((child) => child !== undefined),
    ...itemSchemas(schema),
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...named.flatMap((schemas) => Object.values(schemas ?? {})),
    ...Object.values(schema.dependencies ?? {}).filter(isSchema),
  ];
}

/** Keywords that structural schemas must not have. */
const UNSUPPORTED = [
  "id",
  "schema",
  "$ref",
  "patternProperties",
  "dependencies",
  "additionalItems",
  "definitions",
] as const;

/**
 * Why a schema can have no structure at all; undefined if it can. Only reported when no keyword has
 * an error.
 */
export function structureProblem(schema: JsonSchema): string | undefined {
  let problem: string | undefined;
  someSchema(schema, (one) => {
    problem ??= ownStructureProblem(one);
    return problem !== undefined;
  });
  return problem;
}

function ownStructureProblem(schema: JsonSchema): string | undefined {
  for (const keyword of UNSUPPORTED) {
    const value: unknown = keyword === "schema" ? schema.$schema : schema[keyword];
    if (isFilled(value)) return `OpenAPIV3Schema '${keyword}' is not supported`;
  }
  if (itemSchemas(schema).length > 0) {
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  }
  return schema["x-kubernetes-preserve-unknown-fields"] === false
    ? "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    : undefined;
}

function isFilled(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

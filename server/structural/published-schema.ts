/**
 * A schema as published in OpenAPI: nearly unchanged for v3, without unsupported keywords for v2.
 * `default`s and extensions stay, as clients use them for explanation and completion.
 */
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { JsonSchema } from "./json-schema.js";

/** Keywords that v2 lacks, or that its clients do not understand. */
const NOT_IN_V2: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "nullable",
  "x-kubernetes-validations",
]);

/** The keywords that v2 supports for a value of any type, including null. */
const OF_SHAPE: ReadonlySet<string> = new Set([
  "type",
  "items",
  "properties",
  "additionalProperties",
  "required",
]);

const OPEN: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/**
 * The root's schema, without the members that every object has. @param schema undefined = anything
 */
export function publishedSchema(schema: JsonSchema | undefined, document: "v2" | "v3"): JsonObject {
  if (schema === undefined) return { ...OPEN };
  const { properties, ...rest } = publish(schema, document);
  if (properties === undefined) return rest;
  const { apiVersion: _, kind: __, metadata: ___, ...own } = properties as JsonObject;
  return { ...rest, properties: own };
}

function publish(schema: JsonSchema, document: "v2" | "v3"): JsonObject {
  const published: JsonObject = {};
  const isAnyType = document === "v2" && schema.nullable === true;
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || value === null) continue;
    if (document === "v2" && NOT_IN_V2.has(keyword)) continue;
    if (isAnyType && OF_SHAPE.has(keyword)) continue;
    published[keyword] = publishKeyword(keyword, value, document);
  }
  if (isIntOrString && document === "v2") delete published.type;
  if (schema["x-kubernetes-embedded-resource"] === true && !isAnyType) {
    published.properties = { ...RESOURCE_FIELDS, ...(published.properties as JsonObject) };
  }
  return published;
}

function publishKeyword(keyword: string, value: unknown, document: "v2" | "v3"): JsonValue {
  const one = (schema: unknown) => publish(schema as JsonSchema, document);
  switch (keyword) {
    case "items":
    case "not":
      return one(value);
    case "additionalProperties":
      return typeof value === "object" ? one(value) : (value as boolean);
    case "properties":
      return Object.fromEntries(
        Object.entries(value as object).map(([name, schema]) => [name, one(schema)]),
      );
    case "allOf":
    case "anyOf":
    case "oneOf":
      return (value as readonly JsonSchema[]).map(one);
    default:
      return value as JsonValue;
  }
}

const RESOURCE_FIELDS: JsonObject = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object" },
};

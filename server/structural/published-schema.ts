/**
 * A schema as OpenAPI publishes it: for v3 nearly as it was written, for v2 without what v2 cannot say.
 * `default`s and extensions stay, as clients explain and complete by them.
 */
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { JsonSchema } from "./json-schema.js";

/** Keywords that v2 does not have, or that clients of it do not understand. */
const NOT_IN_V2: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "nullable",
  "x-kubernetes-validations",
]);

/** What of a value of any type, null among them, v2 can still say. */
const OF_SHAPE: ReadonlySet<string> = new Set([
  "type",
  "items",
  "properties",
  "additionalProperties",
  "required",
]);

const OPEN: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Of the root, without the members that every object has. @param schema undefined = anything */
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

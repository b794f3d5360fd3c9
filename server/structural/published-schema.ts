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

/** Keywords of schemas without structure, which definitions of an older API may have. */
const NEVER: ReadonlySet<string> = new Set([
  "id",
  "$schema",
  "$ref",
  "patternProperties",
  "dependencies",
  "additionalItems",
  "definitions",
]);

const OPEN: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/**
 * The root's schema, without the members that every object has. @param schema undefined = anything
 * @param ofResources apiVersion, kind and metadata, for embedded resources
 */
export function publishedSchema(
  schema: JsonSchema | undefined,
  document: "v2" | "v3",
  ofResources: JsonObject,
): JsonObject {
  if (schema === undefined) return { ...OPEN };
  const { properties, ...rest } = publish(schema, { document, ofResources });
  if (properties === undefined) return rest;
  const { apiVersion: _, kind: __, metadata: ___, ...own } = properties as JsonObject;
  return { ...rest, properties: own };
}

interface Publishing {
  readonly document: "v2" | "v3";
  readonly ofResources: JsonObject;
}

function publish(schema: JsonSchema, publishing: Publishing): JsonObject {
  const { document, ofResources } = publishing;
  const published: JsonObject = {};
  const isAnyType = document === "v2" && schema.nullable === true;
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || value === null || NEVER.has(keyword)) continue;
    // One schema for each position has no structure either.
    if (keyword === "items" && Array.isArray(value)) continue;
    if (document === "v2" && NOT_IN_V2.has(keyword)) continue;
    if (isAnyType && OF_SHAPE.has(keyword)) continue;
    published[keyword] = publishKeyword(keyword, value, publishing);
  }
  if (isIntOrString && document === "v2") delete published.type;
  if (isIntOrString && document === "v3") sayIntOrString(published, schema);
  // Clients of v2 take members beside the published ones for unknown.
  const isOpen = document === "v2" && schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema["x-kubernetes-embedded-resource"] === true && !isAnyType && !isOpen) {
    published.properties = { ...(published.properties as JsonObject), ...ofResources };
    published.required = [...new Set([...(schema.required ?? []), "kind", "apiVersion"])];
  }
  return published;
}

/** Spells out what `x-kubernetes-int-or-string` means, unless the definition does. */
function sayIntOrString(published: JsonObject, { anyOf, allOf }: JsonSchema): void {
  if (isIntOrStringPair(anyOf) || isIntOrStringPair(allOf?.[0]?.anyOf)) return;
  const pair = [{ type: "integer" }, { type: "string" }];
  if (anyOf === undefined) published.anyOf = pair;
  else published.allOf = [{ anyOf: pair }, ...((published.allOf as JsonValue[]) ?? [])];
}

function isIntOrStringPair(anyOf: readonly JsonSchema[] | undefined): boolean {
  return anyOf?.length === 2 && anyOf[0]?.type === "integer" && anyOf[1]?.type === "string";
}

function publishKeyword(keyword: string, value: unknown, publishing: Publishing): JsonValue {
  const one = (schema: unknown) => publish(schema as JsonSchema, publishing);
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

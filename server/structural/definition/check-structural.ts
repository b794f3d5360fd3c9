/**
 * Checks that a schema is structural: every field has a type outside of junctors, which may only
 * restrict it; the root is an object with the common metadata.
 */

import { STRETCH, type Steps } from "../../../storage/base/steps.js";
import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField, invalidValue, requiredValue } from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { additionalSchema, itemSchema, type JsonSchema } from "../json-schema.js";
import { patternProblem } from "../pattern.js";

type Level = "root" | "item" | "field";

const INT_OR_STRING = ["integer", "string"];

/** Whether it spells an int-or-string out; `additionalProperties: false` counts as not said. */
function isIntOrString(anyOf: readonly JsonSchema[] | undefined): boolean {
  const types = anyOf?.map(({ type, additionalProperties, ...more }) => {
    const isMore = Object.keys(more).length > 0 || (additionalProperties ?? false) !== false;
    return isMore ? undefined : type;
  });
  return deepEqual(types, INT_OR_STRING);
}

/**
 * A pattern in each step: it is compiled to see whether it is one.
 * @returns the errors, sorted, as the order of members has no meaning
 */
export function* checkStructural(schema: JsonSchema, path: string): Steps<FieldError[]> {
  const errors = new Problems();
  yield* checkInvariants({ schema, level: "root", path }, errors, { looked: 0 });
  // Only the root's junctors are checked, as in kube-apiserver: nested ones may name more fields.
  checkJunctorParts(schema, schema, path, path, errors);
  const textOf = ({ field, message }: FieldError) => `${field}: ${message}`;
  return errors.sort((a, b) => (textOf(a) < textOf(b) ? -1 : textOf(a) > textOf(b) ? 1 : 0));
}

interface SchemaPart {
  readonly schema: JsonSchema;
  readonly level: Level;
  readonly path: string;
}

function* checkInvariants(
  { schema, level, path }: SchemaPart,
  errors: FieldError[],
  walk: { looked: number },
): Steps<void> {
  if (++walk.looked % STRETCH === 0) yield;
  const { type = "", properties = {} } = schema;
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const items = itemSchema(schema);
  const additional = additionalSchema(schema);
  const hasAdditional = schema.additionalProperties !== undefined;
  if (type === "array" && items === undefined) {
    errors.push(requiredValue(`${path}.items`, "must be specified"));
  }
  const inner = (part: JsonSchema, at: Level, name: string) =>
    checkInvariants({ schema: part, level: at, path: `${path}.${name}` }, errors, walk);
  if (items !== undefined) yield* inner(items, "item", "items");
  for (const [name, property] of Object.entries(properties)) {
    yield* inner(property, "field", `properties[${name}]`);
  }
  if (hasAdditional && level === "root") {
    errors.push(forbiddenField(`${path}.additionalProperties`, "must not be used at the root"));
  }
  if (additional !== undefined) {
    yield* inner(additional, "field", "additionalProperties");
  }
  checkExtensions(schema, path, errors);
  yield* checkJunctors(schema, level, path, errors);
  checkType(schema, level, path, errors);
  if (isEmbedded && hasAdditional) {
    const why = "must not be used if x-kubernetes-embedded-resource is set";
    errors.push(forbiddenField(`${path}.additionalProperties`, why));
  }
  checkMetadata(schema, level, path, errors);
  if (isEmbedded && !keepsUnknown && Object.keys(properties).length === 0) {
    const why =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    errors.push(requiredValue(`${path}.properties`, why));
  }
}

function checkType(schema: JsonSchema, level: Level, path: string, errors: FieldError[]): void {
  const { type = "" } = schema;
  const at = `${path}.type`;
  const mayLackType =
    schema["x-kubernetes-int-or-string"] === true ||
    schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema["x-kubernetes-embedded-resource"] === true && type !== "object") {
    const why = "must be object if x-kubernetes-embedded-resource is true";
    errors.push(type === "" ? requiredValue(at, why) : invalidValue(at, type, why));
  } else if (type === "" && !mayLackType) {
    errors.push(requiredValue(at, `must not be empty ${PLACES[level]}`));
  }
  if (level === "root" && type !== "" && type !== "object") {
    errors.push(invalidValue(at, type, "must be object at the root"));
  }
}

const PLACES: Readonly<Record<Level, string>> = {
  root: "at the root",
  item: "for specified array items",
  field: "for specified object fields",
};

function checkExtensions(schema: JsonSchema, path: string, errors: FieldError[]): void {
  if (schema["x-kubernetes-int-or-string"] !== true) return;
  for (const name of [
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
  ] as const) {
    if (schema[name] !== true) continue;
    const why = "must be false if x-kubernetes-int-or-string is true";
    errors.push(invalidValue(`${path}.${name}`, true, why));
  }
}

function checkMetadata(schema: JsonSchema, level: Level, path: string, errors: FieldError[]): void {
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  const isResource = level === "root" || schema["x-kubernetes-embedded-resource"] === true;
  if (!isResource) return;
  for (const [name, property] of Object.entries({ kind, apiVersion })) {
    if (property === undefined || property.type === "string") continue;
    const at = `${path}.properties[${name}].type`;
    errors.push(invalidValue(at, property.type ?? "", "must be string"));
  }
  if (metadata === undefined) return;
  const at = `${path}.properties[metadata]`;
  if (metadata.type !== "object") {
    errors.push(invalidValue(`${at}.type`, metadata.type ?? "", "must be object"));
  }
  if (level !== "root") return;
  const { type: _type, default: _default, properties = {}, ...rest } = metadata;
  const others = Object.keys(properties).filter(
    (name) => name !== "name" && name !== "generateName",
  );
  const isMore = Object.values(rest).some((value) => value !== undefined && value !== false);
  if (others.length === 0 && !isMore) return;
  const why =
    "must not specify anything other than name and generateName, but metadata is implicitly specified";
  errors.push(forbiddenField(at, why));
}

/** Checks a schema's junctors; those that spell out an int-or-string may name types. */
function* checkJunctors(
  schema: JsonSchema,
  level: Level,
  path: string,
  errors: FieldError[],
): Steps<void> {
  const isAnyOfTypes = isIntOrString(schema.anyOf);
  const isAllOfTypes = isIntOrString(schema.allOf?.[0]?.anyOf);
  yield* checkValueJunctors(
    schema,
    { skipAnyOf: isAnyOfTypes, skipFirst: isAllOfTypes, level, path },
    errors,
  );
}

interface JunctorContext {
  readonly skipAnyOf: boolean;
  readonly skipFirst: boolean;
  readonly level: Level;
  readonly path: string;
}

function* checkValueJunctors(
  schema: JsonSchema,
  { skipAnyOf, skipFirst, level, path }: JunctorContext,
  errors: FieldError[],
): Steps<void> {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern } = schema;
  const nested = (part: JsonSchema, at: string, skips = false) =>
    checkNested(part, { skipAnyOf: skips, skipFirst: false, level, path: at }, errors);
  if (!skipAnyOf) {
    for (const [index, part] of anyOf.entries()) yield* nested(part, `${path}.anyOf[${index}]`);
  }
  for (const [index, part] of allOf.entries()) {
    yield* nested(part, `${path}.allOf[${index}]`, skipFirst && index === 0);
  }
  for (const [index, part] of oneOf.entries()) yield* nested(part, `${path}.oneOf[${index}]`);
  if (not !== undefined) yield* nested(not, `${path}.not`);
  if (pattern === undefined || pattern === "") return;
  const problem = patternProblem(pattern);
  yield;
  if (problem === undefined) return;
  const why = `must be a valid regular expression, but isn't: ${problem}`;
  errors.push(invalidValue(`${path}.pattern`, pattern, why));
}

/** Structural keywords that a junctor must not contain, with the required value. */
const FORBIDDEN_NESTED: readonly (readonly [keyof JsonSchema, string])[] = [
  ["type", "must be empty to be structural"],
  ["additionalProperties", "must be undefined to be structural"],
  ["default", "must be undefined to be structural"],
  ["title", "must be empty to be structural"],
  ["description", "must be empty to be structural"],
  ["nullable", "must be false to be structural"],
  ["x-kubernetes-preserve-unknown-fields", "must be false to be structural"],
  ["x-kubernetes-embedded-resource", "must be false to be structural"],
  ["x-kubernetes-int-or-string", "must be false to be structural"],
  ["x-kubernetes-list-map-keys", "must be empty to be structural"],
  ["x-kubernetes-list-type", "must be undefined to be structural"],
  ["x-kubernetes-map-type", "must be undefined to be structural"],
  ["x-kubernetes-validations", "must be empty to be structural"],
];

function* checkNested(
  schema: JsonSchema,
  context: JunctorContext,
  errors: FieldError[],
): Steps<void> {
  const { path, level } = context;
  yield* checkValueJunctors(schema, context, errors);
  const items = itemSchema(schema);
  const inner = { skipAnyOf: false, skipFirst: false };
  if (items !== undefined) {
    yield* checkNested(items, { ...inner, level, path: `${path}.items` }, errors);
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.properties[${name}]`;
    yield* checkNested(property, { ...inner, level: "field", path: at }, errors);
  }
  for (const [keyword, why] of FORBIDDEN_NESTED) {
    const value: unknown = schema[keyword];
    const isGiven = keyword === "default" && value !== undefined && value !== null;
    if (isGiven || isSet(value)) errors.push(forbiddenField(`${path}.${keyword}`, why));
  }
  if (schema.properties?.metadata !== undefined) {
    const why = "must not be specified in a nested context";
    errors.push(forbiddenField(`${path}.properties[metadata]`, why));
  }
}

function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return false;
  return !(Array.isArray(value) && value.length === 0);
}

/** Every field in a junctor must also be declared outside of it. */
function checkJunctorParts(
  nested: JsonSchema,
  outer: JsonSchema,
  outerPath: string,
  nestedPath: string,
  errors: FieldError[],
): void {
  const { anyOf = [], allOf = [], oneOf = [], not } = nested;
  const parts: readonly (readonly [JsonSchema, string])[] = [
    ...(not === undefined ? [] : [[not, "not"] as const]),
    ...allOf.map((part, index) => [part, `allOf[${index}]`] as const),
    ...anyOf.map((part, index) => [part, `anyOf[${index}]`] as const),
    ...oneOf.map((part, index) => [part, `oneOf[${index}]`] as const),
  ];
  for (const [part, name] of parts) {
    checkNestedParts(part, outer, outerPath, `${nestedPath}.${name}`, errors);
  }
}

function checkNestedParts(
  nested: JsonSchema,
  outer: JsonSchema | undefined,
  outerPath: string,
  nestedPath: string,
  errors: FieldError[],
): void {
  if (outer === undefined) {
    errors.push(requiredValue(outerPath, `because it is defined in ${nestedPath}`));
    return;
  }
  checkJunctorParts(nested, outer, outerPath, nestedPath, errors);
  const items = itemSchema(nested);
  if (items !== undefined) {
    const at = [`${outerPath}.items`, `${nestedPath}.items`] as const;
    checkNestedParts(items, itemSchema(outer), ...at, errors);
  }
  for (const [name, property] of Object.entries(nested.properties ?? {})) {
    const segment = `properties[${name}]`;
    const at = [`${outerPath}.${segment}`, `${nestedPath}.${segment}`] as const;
    checkNestedParts(property, outer.properties?.[name], ...at, errors);
  }
}

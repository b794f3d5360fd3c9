/**
 * Checks the keywords of a definition's schema: unsupported ones, mutually exclusive ones, and the
 * preconditions of the `x-kubernetes-` extensions. check-rules.ts compiles CEL rules, unless this file
 * has found errors at their place or below.
 */
import type { Steps } from "../../../storage/base/steps.js";
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { FieldPathError, parseFieldPath } from "../field-path.js";
import {
  additionalSchema,
  itemSchema,
  itemSchemas,
  type JsonSchema,
  structureProblem,
  type ValidationRule,
} from "../json-schema.js";
import { META_MEMBERS, type Structural, toStructural } from "../structural.js";
import { type CostContext, checkRules, type RuleContext } from "./check-rules.js";
import type { Strictness } from "./strictness.js";

/** A schema's place in a definition, and its restrictions. */
interface SchemaPosition {
  readonly path: string;
  readonly isRoot: boolean;
  /** Why defaults are not allowed here. */
  readonly noDefaults: string | undefined;
  readonly isInsideMeta: boolean;
  /** The outermost place whose parts have no old values. */
  readonly uncorrelatable: string | undefined;
  /** undefined inside of junctors, where rules are not evaluated. */
  readonly cost: CostContext | undefined;
}

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

export interface SchemaErrors {
  readonly schema: FieldError[];
  /** Errors of rules; reported after those of the schema. */
  readonly rules: FieldError[];
}

/** @param cost undefined = rules are not compiled, as the schema is not structural */
export function* checkSchema(
  schema: JsonSchema,
  path: string,
  strictness: Strictness,
  cost: CostContext | undefined,
): Steps<FieldError[]> {
  const place: SchemaPosition = {
    path,
    isRoot: true,
    noDefaults: undefined,
    isInsideMeta: false,
    uncorrelatable: undefined,
    cost,
  };
  const errors = yield* check(schema, place, strictness);
  return [...errors.schema, ...errors.rules];
}

function* check(
  schema: JsonSchema,
  place: SchemaPosition,
  strictness: Strictness,
): Steps<SchemaErrors> {
  const errors: SchemaErrors = { schema: [], rules: [] };
  const { path } = place;
  checkKeywords(schema, place, strictness, errors.schema);
  if (schema.uniqueItems === true) {
    const why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    errors.schema.push(forbiddenField(`${path}.uniqueItems`, why));
  }
  const parts = partsOf(schema, place, errors.schema);
  for (const [index, { child, at }] of parts.entries()) {
    if (index % PARTS_MAX === PARTS_MAX - 1) yield;
    const inner = yield* check(child, at, strictness);
    errors.schema.push(...inner.schema);
    errors.rules.push(...inner.rules);
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    const at = `${path}.x-kubernetes-preserve-unknown-fields`;
    errors.schema.push(invalidValue(at, false, "must be true or undefined"));
  }
  checkMapType(schema, path, errors.schema);
  checkListType(schema, path, strictness, errors.schema);
  if (strictness.requiresListKeys) checkListKeys(schema, path, errors.schema);
  const rules = schema["x-kubernetes-validations"] ?? [];
  const structural = rules.length === 0 ? undefined : structuralOf(schema);
  for (const [index, rule] of rules.entries()) {
    if (index % PARTS_MAX === 0) yield;
    checkRuleText(rule, structural, `${path}.x-kubernetes-validations[${index}]`, errors.schema);
  }
  if (rules.length > 0 && errors.schema.length === 0 && place.cost !== undefined) {
    const context: RuleContext = {
      path,
      isResource: place.isRoot || schema["x-kubernetes-embedded-resource"] === true,
      uncorrelatable: place.uncorrelatable,
      cost: place.cost,
      skipsCost: strictness.skipsRuleCost,
    };
    errors.rules.push(...(yield* checkRules(schema, context)));
  }
  return errors;
}

/** Parts of a schema that are looked at in one step. */
const PARTS_MAX = 64;

function checkKeywords(
  schema: JsonSchema,
  { path, noDefaults, isInsideMeta }: SchemaPosition,
  { requiresTypes }: Strictness,
  errors: FieldError[],
): void {
  const { type = "" } = schema;
  const forbid = (keyword: string, why: string) =>
    errors.push(forbiddenField(`${path}.${keyword}`, why));
  if (requiresTypes && type !== "" && !TYPES.includes(type)) {
    errors.push(unsupportedValue(`${path}.type`, type, TYPES));
  }
  if (schema.default !== undefined && noDefaults !== undefined) {
    forbid("default", `must not be set ${noDefaults}`);
  }
  for (const keyword of [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
  ] as const) {
    const value = schema[keyword];
    const isEmpty =
      value === undefined ||
      value === "" ||
      (keyword !== "additionalItems" && isRecord(value) && Object.keys(value).length === 0);
    if (!isEmpty) forbid(keyword, `${keyword} is not supported`);
  }
  if (type === "null") {
    forbid("type", "type cannot be set to null, use nullable as an alternative");
  }
  if (itemSchemas(schema).length > 0) {
    forbid("items", "items must be a schema object and not an array");
  }
  if (isInsideMeta && schema["x-kubernetes-embedded-resource"] === true) {
    forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
  }
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

interface PlacedSchema {
  readonly child: JsonSchema;
  readonly at: SchemaPosition;
}

function partsOf(
  schema: JsonSchema,
  place: SchemaPosition,
  errors: FieldError[],
): readonly PlacedSchema[] {
  const parts: PlacedSchema[] = [];
  const visit = (child: JsonSchema, at: SchemaPosition) => parts.push({ child, at });
  const { path, cost } = place;
  const { properties = {} } = schema;
  const inner: SchemaPosition = { ...place, isRoot: false };
  const additional = additionalSchema(schema);
  if (schema.additionalProperties !== undefined) {
    const isExclusive = schema.additionalProperties !== true;
    if (isExclusive && Object.keys(properties).length > 0) {
      const why = "additionalProperties and properties are mutual exclusive";
      errors.push(forbiddenField(`${path}.additionalProperties`, why));
    }
  }
  if (additional !== undefined) {
    visit(additional, {
      ...inner,
      path: `${path}.additionalProperties`,
      noDefaults: place.isInsideMeta
        ? "inside additionalProperties applying to object metadata"
        : place.noDefaults,
      cost: cost?.ofValues(schema),
    });
  }
  const isAtomic = schema["x-kubernetes-map-type"] === "atomic";
  const hasMeta = place.isRoot || schema["x-kubernetes-embedded-resource"] === true;
  for (const [name, property] of Object.entries(properties)) {
    const isMeta = hasMeta && META_MEMBERS.has(name);
    visit(property, {
      ...inner,
      path: `${path}.properties[${name}]`,
      uncorrelatable: place.uncorrelatable ?? (isAtomic ? path : undefined),
      isInsideMeta: place.isInsideMeta || isMeta,
      noDefaults: isMeta && place.isRoot ? `in top-level ${name}` : place.noDefaults,
      cost,
    });
  }
  for (const [part, name] of junctorParts(schema)) {
    visit(part, { ...inner, path: `${path}.${name}`, cost: undefined });
  }
  const items = itemSchema(schema);
  if (items === undefined) return parts;
  visit(items, {
    ...inner,
    path: `${path}.items`,
    uncorrelatable:
      place.uncorrelatable ?? (schema["x-kubernetes-list-type"] === "map" ? undefined : path),
    cost: cost?.ofItems(schema),
  });
  return parts;
}

function junctorParts(schema: JsonSchema): readonly (readonly [JsonSchema, string])[] {
  const { not, allOf = [], oneOf = [], anyOf = [] } = schema;
  const listed = { allOf, oneOf, anyOf };
  return [
    ...(not === undefined ? [] : [[not, "not"] as const]),
    ...Object.entries(listed).flatMap(([name, parts]) =>
      parts.map((part, index) => [part, `${name}[${index}]`] as const),
    ),
  ];
}

function checkMapType(schema: JsonSchema, path: string, errors: FieldError[]): void {
  const mapType = schema["x-kubernetes-map-type"];
  if (mapType === undefined) return;
  const { type = "" } = schema;
  if (type !== "object") {
    const why = "must be object if x-kubernetes-map-type is specified";
    const at = `${path}.type`;
    errors.push(type === "" ? requiredValue(at, why) : invalidValue(at, type, why));
  }
  const supported = ["atomic", "granular"];
  if (!supported.includes(mapType)) {
    errors.push(unsupportedValue(`${path}.x-kubernetes-map-type`, mapType, supported));
  }
}

function checkListType(
  schema: JsonSchema,
  path: string,
  { requiresAtomicSets }: Strictness,
  errors: FieldError[],
): void {
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const { type = "" } = schema;
  const at = `${path}.x-kubernetes-list-type`;
  const items = itemSchema(schema);
  if (listType !== undefined && type !== "array") {
    const why = "must be array if x-kubernetes-list-type is specified";
    const typeAt = `${path}.type`;
    errors.push(type === "" ? requiredValue(typeAt, why) : invalidValue(typeAt, type, why));
  } else if (requiresAtomicSets && listType === "set" && items !== undefined) {
    checkSetItems(items, `${path}.items`, errors);
  }
  const supported = ["atomic", "set", "map"];
  if (listType !== undefined && !supported.includes(listType)) {
    errors.push(unsupportedValue(at, listType, supported));
  }
  if (keys.length > 0 && listType !== "map") {
    const why = "must be map if x-kubernetes-list-map-keys is non-empty";
    errors.push(listType === undefined ? requiredValue(at, why) : invalidValue(at, listType, why));
  }
  if (listType === "map") checkMapItems(schema, items, path, errors);
}

function checkSetItems(items: JsonSchema, path: string, errors: FieldError[]): void {
  const why = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const listType = items["x-kubernetes-list-type"];
  const mapType = items["x-kubernetes-map-type"];
  if (items.type === "array" && listType !== undefined && listType !== "atomic") {
    errors.push(invalidValue(`${path}.x-kubernetes-list-type`, listType, why));
  } else if (items.type === "object" && mapType !== "atomic") {
    errors.push(invalidValue(`${path}.x-kubernetes-map-type`, mapType, why));
  }
}

function checkMapItems(
  schema: JsonSchema,
  items: JsonSchema | undefined,
  path: string,
  errors: FieldError[],
): void {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const at = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) {
    errors.push(requiredValue(at, "must not be empty if x-kubernetes-list-type is map"));
  }
  if (items === undefined) {
    const why =
      schema.items === undefined
        ? requiredValue(`${path}.items`, "must have a schema if x-kubernetes-list-type is map")
        : invalidValue(
            `${path}.items`,
            schema.items,
            "must only have a single schema if x-kubernetes-list-type is map",
          );
    errors.push(why);
    return;
  }
  if (items.type !== "object") {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    errors.push(invalidValue(`${path}.items.type`, items.type ?? "", why));
    return;
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = items.properties?.[key];
    if (property === undefined) {
      errors.push(invalidValue(at, keys, "entries must all be names of item properties"));
    } else if (property.type === "array" || property.type === "object") {
      const why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(invalidValue(`${path}.items.properties[${key}].type`, items.type, why));
    }
    if (seen.has(key)) errors.push(invalidValue(at, keys, "must not contain duplicate entries"));
    seen.add(key);
  }
}

/** Keys identify items, so every item must have them. */
export function checkListKeys(schema: JsonSchema, path: string, errors: FieldError[]): void {
  const items = itemSchema(schema);
  const listType = schema["x-kubernetes-list-type"];
  if (items === undefined || (listType !== "set" && listType !== "map")) return;
  if (items.nullable === true) {
    const why = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    errors.push(forbiddenField(`${path}.items.nullable`, why));
  }
  if (listType !== "map") return;
  const required = new Set(items.required ?? []);
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const property = items.properties?.[key];
    if (property === undefined) continue;
    const at = `${path}.items.properties[${key}]`;
    if (!required.has(key) && property.default === undefined) {
      const why =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      errors.push(requiredValue(`${at}.default`, why));
    }
    if (property.nullable === true) {
      const why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
      errors.push(forbiddenField(`${at}.nullable`, why));
    }
  }
}

const LINE_BREAK = /[\n\r]/;

function checkRuleText(
  rule: ValidationRule,
  structural: Structural | undefined,
  path: string,
  errors: FieldError[],
): void {
  const { message = "", messageExpression = "", reason, fieldPath = "" } = rule;
  const text = (rule.rule ?? "").trim();
  if (text === "") {
    errors.push(requiredValue(`${path}.rule`, "rule is not specified"));
  } else if (message !== "" && message.trim() === "") {
    errors.push(invalidValue(`${path}.message`, message, "must be non-empty if specified"));
  } else if (LINE_BREAK.test(message.trim())) {
    errors.push(invalidValue(`${path}.message`, message, "must not contain line breaks"));
  } else if (LINE_BREAK.test(text) && message.trim() === "") {
    const why = "message must be specified if rule contains line breaks";
    errors.push(requiredValue(`${path}.message`, why));
  }
  if (messageExpression !== "" && messageExpression.trim() === "") {
    const why = "messageExpression must be non-empty if specified";
    errors.push(requiredValue(`${path}.messageExpression`, why));
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    errors.push(unsupportedValue(`${path}.reason`, reason, REASONS));
  }
  if (fieldPath === "") return;
  const at = `${path}.fieldPath`;
  if (fieldPath.trim() === "") {
    errors.push(invalidValue(at, fieldPath, "must be non-empty if specified"));
  }
  if (LINE_BREAK.test(fieldPath)) {
    errors.push(invalidValue(at, fieldPath, "must not contain line breaks"));
  }
  if (structural !== undefined && !isFieldPath(fieldPath, structural)) {
    errors.push(invalidValue(at, fieldPath, "must be a valid path"));
  }
}

function structuralOf(schema: JsonSchema): Structural | undefined {
  return structureProblem(schema) === undefined ? toStructural(schema) : undefined;
}

function isFieldPath(text: string, structural: Structural): boolean {
  try {
    parseFieldPath(text, structural);
    return true;
  } catch (error) {
    if (error instanceof FieldPathError) return false;
    throw error;
  }
}

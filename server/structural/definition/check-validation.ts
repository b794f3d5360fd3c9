/**
 * Checks `schema.openAPIV3Schema` of one version as a whole: structure, defaults, keywords and rules,
 * with the errors in kube-apiserver's order.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { forbiddenField, invalidValue } from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { type JsonSchema, someSchema, structureProblem } from "../json-schema.js";
import { patternProblem } from "../pattern.js";
import { toStructural } from "../structural.js";
import { compileValidator } from "../value-validator.js";
import { checkDefaults } from "./check-defaults.js";
import { CostContext, CostTotal } from "./check-rules.js";
import { checkSchema } from "./check-schema.js";
import { checkStructural } from "./check-structural.js";
import type { Strictness } from "./strictness.js";

/** Keywords that a root may have when the status is a subresource, which is validated separately. */
const ROOT_KEYWORDS: ReadonlySet<string> = new Set([
  "description",
  "type",
  "format",
  "title",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "pattern",
  "maxItems",
  "minItems",
  "uniqueItems",
  "multipleOf",
  "required",
  "items",
  "properties",
  "externalDocs",
  "example",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
]);

const ROOT_FIELDS =
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";

/**
 * @param path the path of `openAPIV3Schema` @param hasStatus whether the status is a subresource
 */
export function* checkValidation(
  schema: JsonSchema,
  path: string,
  hasStatus: boolean,
  strictness: Strictness,
): Steps<FieldError[]> {
  const errors = new Problems();
  if (hasStatus) checkRoot(schema, path, errors);
  if (schema.nullable === true) {
    errors.push(forbiddenField(`${path}.nullable`, "nullable cannot be true at the root"));
  }
  const total = new CostTotal();
  let cost: CostContext | undefined;
  const unstructured = strictness.requiresStructural ? structureProblem(schema) : undefined;
  if (strictness.requiresStructural && unstructured === undefined) {
    const found = yield* checkStructural(schema, path);
    const defaults =
      found.length > 0
        ? []
        : yield* checkDefaults(toStructural(schema), path, strictness.requiresPrunedDefaults);
    errors.push(...found, ...defaults);
    if (found.length === 0 && defaults.length === 0) cost = new CostContext(total);
  }
  errors.push(...(yield* checkSchema(schema, path, strictness, cost)), ...total.toErrors(path));
  if (errors.length === 0 && unstructured !== undefined) {
    errors.push(invalidValue(path, "", unstructured));
  }
  if (errors.length === 0) {
    const problem = yield* validatorProblem(schema);
    if (problem !== undefined) errors.push(invalidValue(path, "", problem));
  }
  return errors;
}

function checkRoot(schema: JsonSchema, path: string, errors: FieldError[]): void {
  const { type = "" } = schema;
  if (type !== "" && type !== "object") {
    const why =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    errors.push(invalidValue(`${path}.type`, type, why));
    return;
  }
  const isOther = Object.entries(schema).some(
    ([keyword, value]) => value !== undefined && !ROOT_KEYWORDS.has(keyword),
  );
  if (!isOther) return;
  const why = `only [${ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled`;
  errors.push(invalidValue(path, schema, why));
}

/** Why no validator can be made from a schema that is otherwise valid. */
function* validatorProblem(schema: JsonSchema): Steps<string | undefined> {
  try {
    compileValidator(schema);
  } catch (error) {
    return `error building validator: ${error instanceof Error ? error.message : String(error)}`;
  }
  for (const pattern of patternsOf(schema)) {
    yield;
    const problem = patternProblem(pattern);
    if (problem !== undefined) return `error building validator: ${problem}`;
  }
  return undefined;
}

/** Each once. */
function patternsOf(schema: JsonSchema): ReadonlySet<string> {
  const patterns = new Set<string>();
  someSchema(schema, ({ pattern }) => {
    if (pattern !== undefined) patterns.add(pattern);
    return false;
  });
  return patterns;
}

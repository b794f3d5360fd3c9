/** Rules that a definition may break because the one it replaces already breaks them. */
import type { Steps } from "../../../storage/base/steps.js";
import { Problems } from "../../api/problems.js";
import { checkDefaults } from "../../structural/definition/check-defaults.js";
import { checkListKeys } from "../../structural/definition/check-schema.js";
import { checkStructural } from "../../structural/definition/check-structural.js";
import type { Strictness } from "../../structural/definition/strictness.js";
import { itemSchema, type JsonSchema, someSchema } from "../../structural/json-schema.js";
import { toStructural } from "../../structural/structural.js";
import { type Definition, schemaOf } from "./definition.js";

const TYPES: ReadonlySet<string> = new Set([
  "",
  "array",
  "boolean",
  "integer",
  "number",
  "object",
  "string",
]);

export function* relaxedBy(current: Definition): Steps<Strictness> {
  const versions = current.spec?.versions ?? [];
  const schemas = versions.map(schemaOf).filter((schema) => schema !== undefined);
  const none = (isBroken: (schema: JsonSchema) => boolean) => !schemas.some(isBroken);
  let isStructural = true;
  let isPruned = true;
  for (const schema of schemas) {
    const problems = yield* checkStructural(schema, "");
    isStructural = isStructural && problems.length === 0;
  }
  if (isStructural) {
    for (const schema of schemas) isPruned = isPruned && !(yield* hasUnprunedDefaults(schema));
  }
  return {
    requiresSchemas: schemas.length === versions.length,
    requiresStructural: isStructural,
    requiresTypes: none((schema) => someSchema(schema, ({ type = "" }) => !TYPES.has(type))),
    requiresPrunedDefaults: !isStructural || isPruned,
    requiresAtomicSets: none((schema) => someSchema(schema, isNonAtomicSet)),
    requiresListKeys: none((schema) => someSchema(schema, lacksListKeys)),
    skipsRuleCost: false,
  };
}

function* hasUnprunedDefaults(schema: JsonSchema): Steps<boolean> {
  const problems = yield* checkDefaults(toStructural(schema), "", true);
  return problems.some(({ message }) => message.endsWith("must not have unknown fields"));
}

function isNonAtomicSet(schema: JsonSchema): boolean {
  const items = itemSchema(schema);
  if (schema["x-kubernetes-list-type"] !== "set" || items === undefined) return false;
  const { type } = items;
  const listType = items["x-kubernetes-list-type"] ?? "atomic";
  return type === "array"
    ? listType !== "atomic"
    : type === "object" && items["x-kubernetes-map-type"] !== "atomic";
}

function lacksListKeys(schema: JsonSchema): boolean {
  const errors = new Problems();
  checkListKeys(schema, "", errors);
  return errors.length > 0;
}

/**
 * The defaults of a structural schema: each is a value that its own schema takes, with nothing in it
 * that would be pruned, and metadata of embedded resources is metadata.
 */
import { invalidValue } from "../../api/field-errors.js";
import type { JsonValue } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import { validateEmbedded } from "../embedded.js";
import { validateListTypes } from "../list-types.js";
import { isPruned } from "../prune.js";
import { createRuleCheck } from "../rules.js";
import { META_MEMBERS, type Structural } from "../structural.js";
import { Findings } from "../value-findings.js";
import { compileValidator } from "../value-validator.js";

export function checkDefaults(
  root: Structural,
  path: string,
  requiresPruned: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  checkNode(root, true, false, path, requiresPruned, errors);
  return errors;
}

function checkNode(
  node: Structural,
  isResource: boolean,
  isInsideMeta: boolean,
  path: string,
  requiresPruned: boolean,
  errors: FieldError[],
): void {
  // Metadata of embedded resources is checked with the resource that has it.
  if (node.default !== undefined && !isInsideMeta) {
    errors.push(...checkDefault(node, node.default, `${path}.default`, requiresPruned));
  }
  if (!node.has.defaults) return;
  if (node.items !== undefined) {
    const { items } = node;
    checkNode(items, items.isEmbedded, false, `${path}.items`, requiresPruned, errors);
  }
  if (typeof node.additional === "object") {
    const { additional } = node;
    const at = `${path}.additionalProperties`;
    checkNode(additional, additional.isEmbedded, isInsideMeta, at, requiresPruned, errors);
  }
  for (const [name, property] of node.properties) {
    const isMeta = isInsideMeta || (isResource && META_MEMBERS.has(name));
    const at = `${path}.properties[${name}]`;
    checkNode(property, property.isEmbedded, isMeta, at, requiresPruned, errors);
  }
}

function checkDefault(
  node: Structural,
  value: JsonValue,
  path: string,
  requiresPruned: boolean,
): FieldError[] {
  if (requiresPruned && !isPruned(value, node)) {
    return [invalidValue(path, value, "must not have unknown fields")];
  }
  const findings = new Findings();
  compileValidator(node.schema)(value, findings);
  if (findings.size > 0) return findings.toErrors(path);
  const errors = validateEmbedded(value, node).map((error) => ({
    ...error,
    field: `${path}.${error.field.replace(/^\./, "")}`,
  }));
  validateListTypes(value, node, path, errors);
  if (errors.length > 0 || !node.has.rules) return errors;
  // A default is there from the start, so that it replaces itself.
  const check = createRuleCheck(node, { isResource: node.isEmbedded, ratchets: false });
  return check(value, value, path);
}

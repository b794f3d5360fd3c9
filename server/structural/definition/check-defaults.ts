/**
 * Checks the defaults of a structural schema: each must be valid by its own schema and contain
 * nothing that would be pruned, and the metadata of embedded resources must be valid.
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
  // Metadata of an embedded resource is checked with that resource.
  if (node.default !== undefined && !isInsideMeta) {
    errors.push(...checkDefault(node, node.default, `${path}.default`, requiresPruned));
  }
  if (!node.has.defaults) return;
  if (node.items !== undefined) {
    const { items } = node;
    checkNode(items, items.isEmbedded, false, `${path}.items`, requiresPruned, errors);
  }
  // Except those of additionalProperties, which the existing API does not check.
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
  const unknown =
    requiresPruned && !isPruned(value, node)
      ? [invalidValue(path, value, "must not have unknown fields")]
      : [];
  const metadata = validateEmbedded(value, node).map((error) => ({
    ...error,
    field: `${path}.${error.field.replace(/^\./, "")}`,
  }));
  return [...unknown, ...(metadata.length > 0 ? metadata : checkValue(node, value, path))];
}

function checkValue(node: Structural, value: JsonValue, path: string): FieldError[] {
  const findings = new Findings();
  compileValidator(node.schema)(value, findings);
  if (findings.size > 0) return findings.toErrors(path);
  const errors: FieldError[] = [];
  validateListTypes(value, node, path, errors);
  if (errors.length > 0 || !node.has.rules) return errors;
  // A default may exist from the start, and so replace itself, or appear without an old value.
  const check = createRuleCheck(node, { isResource: node.isEmbedded, ratchets: false });
  const found = check(value, value, { path });
  return found.length > 0 ? found : check(value, undefined, { path });
}

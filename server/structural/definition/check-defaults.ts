/**
 * Checks the defaults of a structural schema: each must be valid by its own schema and contain
 * nothing that would be pruned, and the metadata of embedded resources must be valid.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { invalidValue } from "../../api/field-errors.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateEmbedded } from "../embedded.js";
import { isPruned } from "../prune.js";
import { createRuleCheck } from "../rules.js";
import { META_MEMBERS, type Structural } from "../structural.js";
import { Findings } from "../value-findings.js";
import { compileValidator } from "../value-validator.js";

/** A default in each step. */
export function* checkDefaults(
  root: Structural,
  path: string,
  requiresPruned: boolean,
): Steps<FieldError[]> {
  const errors = new Problems();
  const resource = asResource(root);
  yield* checkNode(resource, { path, requiresPruned, ...startOf(resource) }, errors);
  return errors;
}

/** Where a default stands. */
interface DefaultPosition {
  readonly path: string;
  readonly requiresPruned: boolean;
  /** The innermost resource around it: the root or an embedded one. */
  readonly resource: Structural;
  /** The resource with nothing but the default in its place. */
  readonly around: (value: JsonValue) => JsonValue;
  /** Whether it is part of the resource's kind, apiVersion or metadata, which pruning does not know. */
  readonly isInsideMeta: boolean;
}

/** A root is a resource without saying so. */
function asResource(root: Structural): Structural {
  return { ...root, isEmbedded: true, has: { ...root.has, embedded: true } };
}

function startOf(
  resource: Structural,
): Pick<DefaultPosition, "resource" | "around" | "isInsideMeta"> {
  return { resource, around: (value) => value, isInsideMeta: false };
}

function* checkNode(node: Structural, place: DefaultPosition, errors: FieldError[]): Steps<void> {
  const here = node.isEmbedded ? { ...place, ...startOf(node) } : place;
  if (node.default !== undefined) {
    const check = here.isInsideMeta ? checkInsideMeta : checkDefault;
    errors.push(...(yield* check(node, node.default, { ...here, path: `${here.path}.default` })));
    yield;
  }
  if (!node.has.defaults) return;
  const { path, around } = here;
  if (node.items !== undefined) {
    const inList = (item: JsonValue) => around([item]);
    yield* checkNode(node.items, { ...here, path: `${path}.items`, around: inList }, errors);
  }
  // Except those of additionalProperties, which kube-apiserver does not check.
  for (const [name, property] of node.properties) {
    const member: DefaultPosition = {
      ...here,
      path: `${path}.properties[${name}]`,
      around: (value) => around({ [name]: value }),
      isInsideMeta: here.isInsideMeta || (node.isEmbedded && META_MEMBERS.has(name)),
    };
    yield* checkNode(property, member, errors);
  }
}

function* checkDefault(
  node: Structural,
  value: JsonValue,
  { path, requiresPruned }: DefaultPosition,
): Steps<FieldError[]> {
  const unknown =
    requiresPruned && !isPruned(value, node)
      ? [invalidValue(path, value, "must not have unknown fields")]
      : [];
  const metadata = validateEmbedded(value, node).map((error) => ({
    ...error,
    field: `${path}.${error.field.replace(/^\./, "")}`,
  }));
  return [...unknown, ...(metadata.length > 0 ? metadata : yield* checkValue(node, value, path))];
}

/** A default within metadata is judged by what the metadata would be with it. */
function* checkInsideMeta(
  node: Structural,
  value: JsonValue,
  { path, resource, around }: DefaultPosition,
): Steps<FieldError[]> {
  // kube-apiserver asks of a kind and an apiVersion no more than their schemas do.
  const object = {
    ...(around(value) as JsonObject),
    kind: "Validation",
    apiVersion: "validation/v1",
  };
  const problems = validateEmbedded(object, resource).map(
    ({ field, message }) => `${field.replace(/^\./, "")}: ${message}`,
  );
  if (problems.length === 0) return yield* checkValue(node, value, path);
  const why = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
  return [invalidValue(path, value, `must result in valid metadata: ${why}`)];
}

/** How kube-apiserver writes the place of an item: ".default.[0]". */
function withDot(field: string, path: string): string {
  return field.startsWith(`${path}[`) ? `${path}.${field.slice(path.length)}` : field;
}

function* checkValue(node: Structural, value: JsonValue, path: string): Steps<FieldError[]> {
  // As with kube-apiserver the keys of lists are not compared.
  const findings = new Findings({ areOfDefault: true });
  const validate = compileValidator(node.schema);
  yield;
  if (validate.inSteps === undefined) validate(value, findings);
  else yield* validate.inSteps(value, findings);
  const errors = findings
    .toErrors(path)
    .map((error) => ({ ...error, field: withDot(error.field, path) }));
  if (errors.length > 0 || !node.has.rules) return errors;
  // A default may exist from the start, and so replace itself, or appear without an old value.
  const check = createRuleCheck(node, { isResource: node.isEmbedded, ratchets: false });
  const found = yield* check.inSteps(value, value, { path });
  return found.length > 0 ? found : yield* check.inSteps(value, undefined, { path });
}

/**
 * Annotations with rules: those that say what a pod is to its node, which no update may add, change or remove (that it
 * mirrors a file of the node, and the AppArmor profiles of its containers), the cost of its deletion, its tolerations of
 * the first clients, and the profiles of containers (R18).
 */
import { forbiddenField, invalidValue } from "../../api/field-errors.js";
import { isJsonObject } from "../../api/json-object.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateTolerations } from "../../api/validation-tolerations.js";
import type { Maybe } from "../../api/validation-values.js";
import { JsonSyntaxError } from "../../schema/json-parser.js";
import { parseJson } from "../../schema/parse-json.js";
import type { PodSpec, Toleration } from "./pod-types.js";
import { validateProfileAnnotations } from "./profile-annotations.js";

type Annotations = Readonly<Record<string, string>>;

/** For updates of the pod and of all its subresources. */
export function validatePodAnnotationChange(
  { metadata: { annotations: next } }: ApiObject,
  { metadata: { annotations: before } }: ApiObject,
  naming: Naming,
): FieldError[] {
  const errors = new Problems();
  if (next === before) return errors;
  check(before ?? {}, next ?? {}, naming, "remove or update", errors);
  const added = Object.keys(next ?? {}).filter((key) => !Object.hasOwn(before ?? {}, key));
  const known = Object.fromEntries(added.map((key) => [key, next?.[key] ?? ""]));
  check(known, {}, naming, "add", errors);
  return errors;
}

interface AnnotatedPod {
  readonly annotations: Maybe<Annotations>;
  /** Those that are stored; undefined for a new object. An odd cost that is there may stay. */
  readonly before?: Maybe<Annotations>;
  readonly spec: PodSpec;
}

/** What pods and templates of pods may say in annotations. @param field of the annotations */
export function validatePodAnnotations(
  { annotations, before, spec }: AnnotatedPod,
  use: { readonly field: string; readonly naming: Naming; readonly errors: FieldError[] },
): void {
  if (!annotations) return;
  const { field, naming, errors } = use;
  const { labelDomain } = naming;
  const mirror = `${labelDomain}/config.mirror`;
  const mirrored = annotations[mirror];
  if (mirrored !== undefined && (spec.nodeName ?? "") === "") {
    const why = "must set spec.nodeName if mirror pod annotation is set";
    errors.push(invalidValue(`${field}[${mirror}]`, mirrored, why));
  }
  const tolerations = `scheduler.alpha.${labelDomain}/tolerations`;
  const text = annotations[tolerations] ?? "";
  if (text !== "") validateTolerationsText(text, field, tolerations, errors);
  const cost = `controller.${labelDomain}/pod-deletion-cost`;
  const value = annotations[cost];
  if (value !== undefined && !isCost(value) && isCost(before?.[cost] ?? "0")) {
    errors.push(invalidValue(`${field}[${cost}]`, value, "must be a 32bit integer"));
  }
  validateProfileAnnotations(annotations, spec, use);
}

/** An integer of 32 bits without a plus and without leading zeros. */
function isCost(text: string): boolean {
  if (!/^(?:0|-\d+|[1-9]\d*)$/.test(text)) return false;
  const cost = Number(text);
  return cost >= -(2 ** 31) && cost < 2 ** 31;
}

/** @param key the annotation's, whose list is read without regard to the case of its members */
function validateTolerationsText(
  text: string,
  field: string,
  key: string,
  errors: FieldError[],
): void {
  let list: JsonValue;
  try {
    list = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    errors.push(invalidValue(field, key, error.message));
    return;
  }
  if (list === null) return;
  if (!Array.isArray(list)) {
    const found = typeof list === "boolean" ? "bool" : typeof list;
    const why = `json: cannot unmarshal ${found} into Go value of type []core.Toleration`;
    errors.push(invalidValue(field, key, why));
    return;
  }
  validateTolerations(list.map(tolerationOf), `${field}.${key}`, errors);
}

function tolerationOf(item: JsonValue): Toleration {
  const found: Record<string, unknown> = {};
  if (!isJsonObject(item)) return found;
  for (const [name, value] of Object.entries(item)) {
    const lower = name.toLowerCase();
    const member = TOLERATION.find((known) => known.toLowerCase() === lower);
    const isNumber = member === "tolerationSeconds";
    if (member !== undefined && typeof value === (isNumber ? "number" : "string")) {
      found[member] = value;
    }
  }
  return found;
}

const TOLERATION = ["key", "operator", "value", "effect", "tolerationSeconds"];

/** What the first clients called init containers; a pod with annotations of these names has none of them. */
export function dropOldAnnotations(
  metadata: { annotations?: Maybe<Record<string, string>> } | undefined,
  { labelDomain }: Naming,
): void {
  const annotations = metadata?.annotations;
  if (!annotations) return;
  const names = ["init-containers", "init-container-statuses"];
  const old = ["beta", "alpha"].flatMap((stage) =>
    names.map((name) => `pod.${stage}.${labelDomain}/${name}`),
  );
  const kept = Object.entries(annotations).filter(([key]) => !old.includes(key));
  if (kept.length === Object.keys(annotations).length) return;
  if (kept.length === 0) delete metadata.annotations;
  else metadata.annotations = Object.fromEntries(kept);
}

/** @param kept what may stay as it is */
function check(
  annotations: Annotations,
  kept: Annotations,
  { labelDomain }: Naming,
  what: "add" | "remove or update",
  errors: FieldError[],
): void {
  for (const [key, value] of Object.entries(annotations)) {
    if (Object.hasOwn(kept, key) && kept[key] === value) continue;
    const field = `metadata.annotations[${key}]`;
    if (key.startsWith(`container.apparmor.security.beta.${labelDomain}/`)) {
      errors.push(forbiddenField(field, `may not ${what} AppArmor annotations`));
    }
    if (key === `${labelDomain}/config.mirror`) {
      errors.push(forbiddenField(field, `may not ${what} mirror pod annotation`));
    }
  }
}

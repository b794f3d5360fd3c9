/**
 * Rules for new pods, and for the changes that each endpoint allows to a running one. A pod's
 * processes are already running, so hardly any of its specification may change.
 */

import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField, invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateTolerations } from "../../api/validation-tolerations.js";
import { type Maybe, rangeText } from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { stringifyJson } from "../../schema/json-text.js";
import { validatePodAnnotationChange, validatePodAnnotations } from "./pod-annotations.js";
import type { Affinity, Container, NodeSelectorTerm, PodSpec, Toleration } from "./pod-types.js";
import { validateProfilesMatch } from "./profile-annotations.js";
import { isStaticPod, validatePodResize, whyNeverResized } from "./validate-pod-resize.js";
import { validatePodSpec } from "./validate-pod-spec.js";
import { type PodStatus, validatePodStatus } from "./validate-pod-status.js";

export interface ValidatedPod extends ApiObject {
  spec?: PodSpec;
  status?: PodStatus;
}

export function validatePod(next: ValidatedPod, { naming, long }: StrategyContext): FieldError[] {
  const errors = new Problems();
  const spec = next.spec ?? {};
  const { annotations } = next.metadata;
  validatePodAnnotations({ annotations, spec }, { field: ANNOTATIONS, naming, errors });
  validatePodSpec(spec, "spec", { naming, podName: next.metadata.name ?? "", errors, long });
  validateTokenSources(spec, errors);
  if ((spec.ephemeralContainers?.length ?? 0) > 0) {
    errors.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"));
  }
  if ((spec.nodeName ?? "") !== "" && (spec.schedulingGates?.length ?? 0) > 0) {
    const why = "cannot be set until all schedulingGates have been cleared";
    errors.push(forbiddenField("spec.nodeName", why));
  }
  if (annotations) validateProfilesMatch(annotations, spec, { at: "spec", naming, errors });
  return errors;
}

const ANNOTATIONS = "metadata.annotations";

interface Projection {
  readonly sources?: Maybe<readonly { readonly serviceAccountToken?: object }[]>;
}

/** A pod without an account has no token to project; what makes pods of a template gives them one. */
function validateTokenSources(
  { serviceAccountName, volumes }: PodSpec,
  errors: FieldError[],
): void {
  if ((serviceAccountName ?? "") !== "") return;
  const why = "must not be specified when serviceAccountName is not set";
  volumes?.forEach((volume, index) => {
    const projected = volume.projected as Maybe<Projection>;
    projected?.sources?.forEach((source, place) => {
      if (!source.serviceAccountToken) return;
      const field = `spec.volumes[${index}].projected.sources[${place}].serviceAccountToken`;
      errors.push(forbiddenField(field, why));
    });
  });
}

export function validatePodUpdate(
  next: ValidatedPod,
  current: ValidatedPod,
  context: StrategyContext,
): FieldError[] {
  const { naming, subresource, long } = context;
  const errors = new Problems();
  const spec = next.spec ?? {};
  const [{ annotations }, { annotations: annotationsBefore }] = [next.metadata, current.metadata];
  const annotated = { annotations, before: annotationsBefore ?? {}, spec };
  const use = { field: ANNOTATIONS, naming, errors };
  const validateAnnotations = () => {
    errors.push(...validatePodAnnotationChange(next, current, naming));
    validatePodAnnotations(annotated, use);
  };
  if (subresource === "status") {
    validateAnnotations();
    errors.push(...validatePodStatus(next, current));
    return errors;
  }
  const never = subresource === "resize" ? whyNeverResized(current, naming) : undefined;
  if (never !== undefined) return [never];
  if (subresource === "ephemeralcontainers" && isStaticPod(current, naming)) {
    return [forbiddenField("[]", "static pods do not support ephemeral containers")];
  }
  validatePodAnnotations(annotated, use);
  const podName = next.metadata.name ?? "";
  validatePodSpec(spec, "spec", { naming, podName, errors, long, before: current.spec });
  validateTokenSources(spec, errors);
  if (subresource === "resize") {
    validatePodResize(next, current, errors);
    return errors;
  }
  // Their rules are those of all pods, and are told once more to changed ones.
  validateAnnotations();
  const before = current.spec ?? {};
  if (subresource === "ephemeralcontainers") validateAddedEphemeral(spec, before, errors);
  else validateSpecChange(spec, before, errors);
  return errors;
}

const INT32_MAX = 2 ** 31 - 1;
const UPDATABLE = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

function validateSpecChange(spec: PodSpec, before: PodSpec, errors: FieldError[]): void {
  for (const list of ["containers", "initContainers"] as const) {
    if ((spec[list]?.length ?? 0) === (before[list]?.length ?? 0)) continue;
    errors.push(forbiddenField(`spec.${list}`, "pod updates may not add or remove containers"));
    return;
  }
  for (const list of ["containers", "initContainers"] as const) {
    spec[list]?.forEach(({ image = "" }, index) => {
      // Both are told by the rules of all containers, and once more by those of changed ones.
      const field = `spec.${list}[${index}].image`;
      if (image === "") errors.push(requiredValue(field));
      if (image.trim() !== image) {
        errors.push(invalidValue(field, image, "must not have leading or trailing whitespace"));
      }
    });
  }
  if (!validateDeadlineChange(spec, before, errors)) return;
  validateTolerationChange(spec.tolerations ?? [], before.tolerations ?? [], errors);
  validateGateChange(spec, before, errors);
  if (deepEqual(spec, before)) return;
  const kept = withMovableParts(spec, before, errors);
  if (deepEqual(kept, dropMissing({ ...before }))) return;
  const why = `pod updates may not change fields other than ${UPDATABLE}\n${differences(kept, before)}`;
  errors.push(forbiddenField("spec", why));
}

/** @returns false when other errors would add nothing */
function validateDeadlineChange(spec: PodSpec, before: PodSpec, errors: FieldError[]): boolean {
  const field = "spec.activeDeadlineSeconds";
  const deadline = spec.activeDeadlineSeconds ?? undefined;
  const was = before.activeDeadlineSeconds ?? undefined;
  if (deadline === undefined) {
    if (was === undefined) return true;
    errors.push(invalidValue(field, null, "must not update from a positive integer to nil value"));
    return true;
  }
  if (deadline < 0 || deadline > INT32_MAX) {
    errors.push(invalidValue(field, deadline, rangeText(0, INT32_MAX)));
    return false;
  }
  if (was !== undefined && was < deadline) {
    errors.push(invalidValue(field, deadline, "must be less than or equal to previous value"));
    return false;
  }
  return true;
}

function validateTolerationChange(
  next: readonly Toleration[],
  before: readonly Toleration[],
  errors: FieldError[],
): void {
  const kept = new Set(next.map(identityOf));
  if (before.every((toleration) => kept.has(identityOf(toleration)))) {
    // Told by the rules of all pods, and once more by those of changed ones.
    validateTolerations(next, "spec.tolerations", errors);
    return;
  }
  const why = "existing toleration can not be modified except its tolerationSeconds";
  errors.push(forbiddenField("spec.tolerations", why));
}

/** All of a toleration but its seconds. */
function identityOf({ key = "", operator = "", value = "", effect = "" }: Toleration): string {
  return JSON.stringify([key, operator, value, effect]);
}

function validateGateChange(spec: PodSpec, before: PodSpec, errors: FieldError[]): void {
  const known = new Set((before.schedulingGates ?? []).map(({ name }) => name));
  spec.schedulingGates?.forEach(({ name }, index) => {
    if (known.has(name)) return;
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`;
    errors.push(forbiddenField(`spec.schedulingGates[${index}].name`, why));
  });
}

/** The next specification with all mutable fields reset to their previous values. */
function withMovableParts(spec: PodSpec, before: PodSpec, errors: FieldError[]): object {
  const kept: Record<string, unknown> = {
    ...spec,
    containers: withImages(spec.containers, before.containers),
    initContainers: withImages(spec.initContainers, before.initContainers),
    activeDeadlineSeconds: before.activeDeadlineSeconds,
    tolerations: before.tolerations,
    schedulingGates: before.schedulingGates,
  };
  const grace = before.terminationGracePeriodSeconds ?? undefined;
  if (grace !== undefined && grace < 0 && spec.terminationGracePeriodSeconds === 1) {
    kept.terminationGracePeriodSeconds = grace;
  }
  // A pod with scheduling gates is not placed yet, so its node selection may be narrowed.
  if ((before.schedulingGates?.length ?? 0) > 0) {
    validateNodeSelectorChange(spec, before, errors);
    kept.nodeSelector = before.nodeSelector;
    validateNodeAffinityChange(spec.affinity, before.affinity, errors);
    const affinity = dropMissing({
      ...(spec.affinity ?? {}),
      nodeAffinity: before.affinity?.nodeAffinity,
    });
    const isNothing = Object.keys(affinity).length === 0 && !before.affinity;
    kept.affinity = isNothing ? undefined : affinity;
  }
  return dropMissing(kept);
}

function withImages(
  containers: readonly Container[] | null | undefined,
  before: readonly Container[] | null | undefined,
): readonly Container[] | null | undefined {
  return containers?.map((container, index) => {
    const image = before?.[index]?.image;
    return dropMissing({ ...container, image }) as unknown as Container;
  });
}

function validateNodeSelectorChange(spec: PodSpec, before: PodSpec, errors: FieldError[]): void {
  const selector = spec.nodeSelector ?? {};
  const isKept = Object.entries(before.nodeSelector ?? {}).every(
    ([key, value]) => selector[key] === value,
  );
  if (isKept) return;
  const why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  errors.push(invalidValue("spec.nodeSelector", selector, why));
}

function validateNodeAffinityChange(
  next: PodSpec["affinity"],
  before: PodSpec["affinity"],
  errors: FieldError[],
): void {
  const was = requiredTerms(before);
  const terms = requiredTerms(next);
  if (was.length === 0) return;
  const field =
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  if (was.length !== terms.length) {
    const why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    errors.push(invalidValue(field, terms, why));
    return;
  }
  was.forEach((term, index) => {
    const other = terms[index] ?? {};
    if (onlyAdds(other, term)) return;
    const why = "only additions are allowed (no mutations or deletions)";
    errors.push(invalidValue(`${field}[${index}]`, other, why));
  });
}

function requiredTerms(affinity: Affinity | null | undefined): readonly NodeSelectorTerm[] {
  const selector = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selector?.nodeSelectorTerms ?? [];
}

function onlyAdds(next: NodeSelectorTerm, before: NodeSelectorTerm): boolean {
  const lists = ["matchExpressions", "matchFields"] as const;
  const wasEmpty = lists.every((list) => (before[list]?.length ?? 0) === 0);
  if (wasEmpty) return lists.every((list) => (next[list]?.length ?? 0) === 0);
  return lists.every((list) => {
    const old = before[list] ?? [];
    return deepEqual((next[list] ?? []).slice(0, old.length), old);
  });
}

/** Removes null and undefined members. */
function dropMissing<T extends object>(members: T): T {
  const kept = members as Record<string, unknown>;
  for (const name in kept) if (kept[name] === undefined || kept[name] === null) delete kept[name];
  return members;
}

/** JSON with every digit; nothing for a member that is not there. */
function shown(value: unknown): string | undefined {
  return value === undefined ? undefined : stringifyJson(value as JsonValue);
}

/** Lists the differing members, for the message. */
function differences(next: object, before: object): string {
  const [a, b] = [next as Record<string, unknown>, before as Record<string, unknown>];
  const names = [...new Set([...Object.keys(b), ...Object.keys(a)])];
  return names
    .filter((name) => !deepEqual(a[name] ?? null, b[name] ?? null))
    .map((name) => `- ${name}: ${shown(b[name])}\n+ ${name}: ${shown(a[name])}`)
    .join("\n");
}

function validateAddedEphemeral(spec: PodSpec, before: PodSpec, errors: FieldError[]): void {
  const field = "spec.ephemeralContainers";
  const byName = new Map((spec.ephemeralContainers ?? []).map((one) => [one.name, one]));
  for (const old of before.ephemeralContainers ?? []) {
    const container = byName.get(old.name);
    const shown = JSON.stringify(old.name);
    if (container === undefined) {
      const why = `existing ephemeral containers ${shown} may not be removed\n`;
      errors.push(forbiddenField(field, why));
    } else if (!deepEqual(container, old)) {
      const why = `existing ephemeral containers ${shown} may not be changed\n${differences(container, old)}`;
      errors.push(forbiddenField(field, why));
    }
  }
}

/**
 * Rules that workloads of all kinds share: a selector that takes the pods of the template, numbers of
 * replicas, rolling updates, and what a status may count.
 */
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import {
  isEmptySelector,
  type LabelSelector,
  selectorMatches,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import { NOT_NEGATIVE } from "../../api/validation-values.js";
import type { PodTemplateSpec } from "./pod-types.js";
import { validatePodTemplate, validateTemplateMetadata } from "./validate-pod-spec.js";

/** The kind as messages name it. */
export interface WorkloadUse {
  readonly kind: "deployment" | "replicaset" | "statefulset" | "daemonset";
  readonly naming: Naming;
  readonly errors: FieldError[];
}

interface Selecting {
  readonly selector?: Maybe<LabelSelector>;
  readonly template?: Maybe<PodTemplateSpec>;
}

/** A workload whose pods run until it goes. */
export function validateSelectorAndTemplate(spec: Selecting, field: string, use: WorkloadUse) {
  const { errors, kind } = use;
  const { selector, template } = spec;
  const at = `${field}.selector`;
  const before = errors.length;
  if (!selector && kind !== "daemonset") errors.push(requiredValue(at));
  validateLabelSelector(selector, at, errors);
  if (selector && errors.length > before) {
    const why = UNREADABLE[kind];
    // Which pods it would take, nobody can say.
    if (why !== undefined) errors.push(invalidValue(at, selector, why));
  } else if (selector && isEmptySelector(selector)) {
    errors.push(invalidValue(at, selector, `empty selector is invalid for ${kind}`));
  } else validateTemplateLabels(selector, template, { field: `${field}.template`, errors });
  validateLastingTemplate(template, `${field}.template`, use);
}

/** What is said besides of a selector that is not well formed. */
const UNREADABLE: Readonly<Partial<Record<WorkloadUse["kind"], string>>> = {
  deployment: "invalid label selector",
  replicaset: "invalid label selector",
  statefulset: "",
};

/** No selector takes no pod. */
export function validateTemplateLabels(
  selector: Maybe<LabelSelector>,
  template: Maybe<PodTemplateSpec>,
  { field, errors }: { field: string; errors: FieldError[] },
): void {
  const labels = template?.metadata?.labels ?? null;
  if (selector && selectorMatches(selector, labels)) return;
  const why = "`selector` does not match template `labels`";
  errors.push(invalidValue(`${field}.metadata.labels`, labels, why));
}

const DEADLINE_OWNERS: Readonly<Record<string, string>> = {
  deployment: "ReplicaSet",
  replicaset: "ReplicaSet",
  statefulset: "StatefulSet",
  daemonset: "DaemonSet",
  replicationcontroller: "ReplicationController",
};

/** A template of pods that are started again whenever they end. */
export function validateLastingTemplate(
  template: Maybe<PodTemplateSpec>,
  field: string,
  { kind, naming, errors }: Omit<WorkloadUse, "kind"> & { readonly kind: string },
): void {
  // Its pods get further volumes, by claim templates: whether mounts have theirs shows when they are made.
  if (kind === "statefulset") validateTemplateMetadata(template ?? {}, field, errors);
  else validatePodTemplate(template ?? {}, field, { naming, errors });
  const { restartPolicy = "", activeDeadlineSeconds } = template?.spec ?? {};
  if (restartPolicy !== "Always") {
    errors.push(unsupportedValue(`${field}.spec.restartPolicy`, restartPolicy, ["Always"]));
  }
  if ((activeDeadlineSeconds ?? undefined) !== undefined) {
    const why = `activeDeadlineSeconds in ${DEADLINE_OWNERS[kind]} is not Supported`;
    errors.push(forbiddenField(`${field}.spec.activeDeadlineSeconds`, why));
  }
}

/** Members that count something, of a specification or a status. */
export function validateCounts(
  counts: object | undefined,
  field: string,
  { names, errors }: { names: readonly string[]; errors: FieldError[] },
): void {
  const members = (counts ?? {}) as Readonly<Record<string, Maybe<Whole>>>;
  for (const name of names) {
    const count = members[name];
    if (count !== undefined && count !== null && count < 0) {
      errors.push(invalidValue(`${field}.${name}`, count, NOT_NEGATIVE));
    }
  }
}

/** Numbers of pods, of which `parts` are parts of all `replicas`. */
export function validateReplicaStatus(
  status: object | undefined,
  parts: readonly string[],
): FieldError[] {
  const errors: FieldError[] = [];
  const names = ["replicas", ...parts, "observedGeneration", "collisionCount"];
  validateCounts(status, "status", { names, errors });
  const counts = (status ?? {}) as Readonly<Record<string, Maybe<Whole>>>;
  const replicas = counts.replicas ?? 0;
  for (const name of parts) {
    const count = counts[name] ?? 0;
    if (count <= replicas) continue;
    errors.push(invalidValue(`status.${name}`, count, "cannot be greater than status.replicas"));
  }
  const [available, ready] = [counts.availableReplicas ?? 0, counts.readyReplicas ?? 0];
  if (parts.includes("availableReplicas") && available > ready) {
    const why = "cannot be greater than readyReplicas";
    errors.push(invalidValue("status.availableReplicas", available, why));
  }
  return errors;
}

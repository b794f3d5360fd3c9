/**
 * Rules that workloads of all kinds share: a selector that matches the template's pods, replica
 * counts, rolling updates, and counts in a status.
 */

import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { LongWork } from "../../api/long-work.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import {
  isEmptySelector,
  type LabelSelector,
  selectorMatches,
  shownSelector,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import { NOT_NEGATIVE } from "../../api/validation-values.js";
import type { PodTemplateSpec } from "./pod-types.js";
import { validatePodTemplate, validateTemplateMetadata } from "./validate-pod-spec.js";

/** The kind as messages spell it. */
export interface WorkloadUse {
  readonly kind: "deployment" | "replicaset" | "statefulset" | "daemonset";
  readonly naming: Naming;
  readonly errors: FieldError[];
  readonly long?: LongWork | undefined;
  /** What an update replaces. */
  readonly before?: Maybe<PodTemplateSpec>;
}

interface Selecting {
  readonly selector?: Maybe<LabelSelector>;
  readonly template?: Maybe<PodTemplateSpec>;
}

/**
 * A workload whose pods run until it is deleted.
 * @returns whether the selector can be read; if not, kube-apiserver looks at no template but a daemon set's
 */
export function validateSelectorAndTemplate(
  spec: Selecting,
  field: string,
  use: WorkloadUse,
): boolean {
  const { errors, kind } = use;
  const { selector, template } = spec;
  const at = `${field}.selector`;
  const before = errors.length;
  if (!selector && kind !== "daemonset") errors.push(requiredValue(at));
  validateLabelSelector(selector, at, errors);
  if (selector && errors.length > before) {
    const why = UNREADABLE[kind];
    // It is unknown which pods it would select.
    if (why !== undefined) {
      errors.push(invalidValue(at, shownSelector(selector), why));
      if (kind === "statefulset") validateRestarts(template, `${field}.template`, use);
      return false;
    }
  } else if (selector && isEmptySelector(selector)) {
    const named = kind === "replicaset" ? "deployment" : kind;
    errors.push(invalidValue(at, selector, `empty selector is invalid for ${named}`));
  } else validateTemplateLabels(selector, template, { field: `${field}.template`, errors });
  validateLastingTemplate(template, `${field}.template`, use);
  return true;
}

/** Additional messages for a malformed selector. */
const UNREADABLE: Readonly<Partial<Record<WorkloadUse["kind"], string>>> = {
  deployment: "invalid label selector",
  replicaset: "invalid label selector",
  statefulset: "",
};

/** An absent selector matches no pod. */
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

/** A template whose pods always restart. */
export function validateLastingTemplate(
  template: Maybe<PodTemplateSpec>,
  field: string,
  { kind, naming, errors, long, before }: Omit<WorkloadUse, "kind"> & { readonly kind: string },
): void {
  // Claim templates add volumes to its pods, so the rules of sets judge them together.
  if (kind === "statefulset") validateTemplateMetadata(template ?? {}, field, errors);
  else validatePodTemplate(template ?? {}, field, { naming, errors, long, before });
  validateRestarts(template, field, { kind, errors });
}

function validateRestarts(
  template: Maybe<PodTemplateSpec>,
  field: string,
  { kind, errors }: { readonly kind: string; readonly errors: FieldError[] },
): void {
  const { restartPolicy = "", activeDeadlineSeconds } = template?.spec ?? {};
  if (restartPolicy !== "Always") {
    errors.push(unsupportedValue(`${field}.spec.restartPolicy`, restartPolicy, ["Always"]));
  }
  if ((activeDeadlineSeconds ?? undefined) !== undefined) {
    const why = `activeDeadlineSeconds in ${DEADLINE_OWNERS[kind]} is not Supported`;
    errors.push(forbiddenField(`${field}.spec.activeDeadlineSeconds`, why));
  }
}

/** Counts in a specification or a status. */
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

export interface ReplicaStatusRules {
  /** Numbers of pods that must not exceed `replicas`. */
  readonly parts: readonly string[];
  /** Other counts. */
  readonly others?: readonly string[];
  /** How the message about available pods calls the ready ones. */
  readonly readyPath?: string;
  /** The status before, where collisions are counted. */
  readonly before?: object | undefined;
}

/** Numbers of pods. */
export function validateReplicaStatus(
  status: object | undefined,
  { parts, others = [], readyPath = "readyReplicas", before }: ReplicaStatusRules,
): FieldError[] {
  const errors = new Problems();
  const names = ["replicas", ...parts, ...others, "observedGeneration", "collisionCount"];
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
    const why = `cannot be greater than ${readyPath}`;
    errors.push(invalidValue("status.availableReplicas", available, why));
  }
  validateCollisions(status, before, errors);
  return errors;
}

/** Names are made of the count, so that a smaller one would make a name again. */
export function validateCollisions(
  status: object | undefined,
  before: object | undefined,
  errors: FieldError[],
): void {
  const countOf = (one: object | undefined) =>
    (one as { collisionCount?: Maybe<Whole> } | undefined)?.collisionCount ?? undefined;
  const [count, was] = [countOf(status), countOf(before)];
  if (was === undefined || (count !== undefined && count >= was)) return;
  errors.push(invalidValue("status.collisionCount", count ?? 0, "cannot be decremented"));
}

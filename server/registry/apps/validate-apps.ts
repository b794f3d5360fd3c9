/** Rules for the kinds of the apps group: rollout settings and immutable fields. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import type { LabelSelector } from "../../api/validation-selectors.js";
import {
  type Maybe,
  NOT_NEGATIVE,
  percentOf,
  validateAmountOrPercent,
  validateChoice,
  validateDnsLabel,
  validateNotMoreThanAll,
  type Whole,
} from "../../api/validation-values.js";
import type { PodTemplateSpec } from "../core/pod-types.js";
import { validatePodTemplate } from "../core/validate-pod-spec.js";
import { type ClaimObject, validateClaimSpec } from "../core/validate-storage.js";
import {
  validateCollisions,
  validateCounts,
  validateReplicaStatus,
  validateSelectorAndTemplate,
} from "../core/workload-rules.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

interface WorkloadSpec {
  readonly replicas?: Maybe<Whole>;
  readonly minReadySeconds?: Whole;
  readonly revisionHistoryLimit?: Maybe<Whole>;
  readonly selector?: Maybe<LabelSelector>;
  readonly template?: Maybe<PodTemplateSpec>;
}

type Amount = Whole | string;

interface RollingUpdate {
  readonly maxUnavailable?: Maybe<Amount>;
  readonly maxSurge?: Maybe<Amount>;
  readonly partition?: Maybe<Whole>;
}

interface RolloutStrategy {
  readonly type?: string;
  readonly rollingUpdate?: Maybe<RollingUpdate>;
}

interface Deployment extends ApiObject {
  spec?: WorkloadSpec & {
    readonly strategy?: Maybe<RolloutStrategy>;
    readonly progressDeadlineSeconds?: Maybe<Whole>;
  };
  status?: object;
}

const COMMON_COUNTS = ["replicas", "minReadySeconds", "revisionHistoryLimit"];

const deploymentRules: Rules<Deployment> = {
  object({ spec = {} }, { naming, long }, current) {
    const errors = new Problems();
    const names = [...COMMON_COUNTS, "progressDeadlineSeconds"];
    validateCounts(spec, "spec", { names, errors });
    const before = current?.spec?.template;
    const use = { kind: "deployment", naming, errors, long, before } as const;
    validateSelectorAndTemplate(spec, "spec", use);
    validateDeploymentStrategy(spec.strategy ?? {}, "spec.strategy", errors);
    const deadline = spec.progressDeadlineSeconds ?? undefined;
    if (deadline !== undefined && deadline <= (spec.minReadySeconds ?? 0)) {
      const why = "must be greater than minReadySeconds";
      errors.push(invalidValue("spec.progressDeadlineSeconds", deadline, why));
    }
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["spec.selector"]),
  status: ({ status }, current) =>
    validateReplicaStatus(status, {
      parts: ["updatedReplicas", "readyReplicas", "availableReplicas"],
      others: ["unavailableReplicas", "terminatingReplicas"],
      before: current.status,
    }),
};

function validateDeploymentStrategy(
  { type, rollingUpdate }: RolloutStrategy,
  field: string,
  errors: FieldError[],
): void {
  const at = `${field}.rollingUpdate`;
  if (type === "Recreate") {
    if (!rollingUpdate) return;
    const why = "may not be specified when strategy `type` is 'Recreate'";
    errors.push(forbiddenField(at, why));
  } else if (type === "RollingUpdate") {
    if (!rollingUpdate) {
      errors.push(requiredValue(at, "this should be defaulted and never be nil"));
      return;
    }
    const { maxUnavailable, maxSurge } = rollingUpdate;
    validateAmountOrPercent(maxUnavailable, `${at}.maxUnavailable`, errors);
    validateAmountOrPercent(maxSurge, `${at}.maxSurge`, errors);
    if (isNone(maxUnavailable) && isNone(maxSurge)) {
      const why = "may not be 0 when `maxSurge` is 0";
      errors.push(invalidValue(`${at}.maxUnavailable`, maxUnavailable ?? 0, why));
    }
    validateNotMoreThanAll(maxUnavailable, `${at}.maxUnavailable`, errors);
  } else {
    const kinds = ["Recreate", "RollingUpdate"];
    const shown = { Type: type ?? "", RollingUpdate: shownUpdate(rollingUpdate) };
    errors.push(unsupportedValue(field, shown, kinds));
  }
}

/** A rolling update as messages show it: kube-apiserver's struct. */
function shownUpdate(rollingUpdate: RolloutStrategy["rollingUpdate"]): object | null {
  if (!rollingUpdate) return null;
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
  return { MaxUnavailable: maxUnavailable, MaxSurge: maxSurge };
}

function shownStatefulUpdate(rollingUpdate: RolloutStrategy["rollingUpdate"]): object | null {
  if (!rollingUpdate) return null;
  const { partition, maxUnavailable } = rollingUpdate;
  return { Partition: partition ?? 0, MaxUnavailable: maxUnavailable ?? null };
}

/** Whether the amount is zero, as a number or as a percentage. */
function isNone(amount: Maybe<Amount>): boolean {
  // A text that is no percentage counts as none, and is refused as what it is.
  return Number(percentOf(amount) ?? (typeof amount === "string" ? 0 : (amount ?? 0))) === 0;
}

interface ReplicaSet extends ApiObject {
  spec?: WorkloadSpec;
  status?: object;
}

const replicaSetRules: Rules<ReplicaSet> = {
  object({ spec = {} }, { naming, long }, current) {
    const errors = new Problems();
    validateCounts(spec, "spec", { names: COMMON_COUNTS, errors });
    const before = current?.spec?.template;
    const use = { kind: "replicaset", naming, errors, long, before } as const;
    validateSelectorAndTemplate(spec, "spec", use);
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["spec.selector"]),
  status: ({ status }) =>
    validateReplicaStatus(status, {
      parts: ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
      others: ["terminatingReplicas"],
    }),
};

interface DaemonSet extends ApiObject {
  spec?: WorkloadSpec & { readonly updateStrategy?: Maybe<RolloutStrategy> };
  status?: object;
}

const DAEMON_COUNTS = [
  "currentNumberScheduled",
  "numberMisscheduled",
  "desiredNumberScheduled",
  "numberReady",
  "observedGeneration",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable",
  "collisionCount",
];

const daemonSetRules: Rules<DaemonSet> = {
  object({ spec = {} }, { naming, long }, current) {
    const errors = new Problems();
    const before = current?.spec?.template;
    const use = { kind: "daemonset", naming, errors, long, before } as const;
    validateSelectorAndTemplate(spec, "spec", use);
    validateCounts(spec, "spec", { names: COMMON_COUNTS, errors });
    const { type, rollingUpdate } = spec.updateStrategy ?? {};
    if (type === "RollingUpdate") {
      const at = "spec.updateStrategy.rollingUpdate";
      if (rollingUpdate) validateDaemonUpdate(rollingUpdate, at, errors);
      else errors.push(requiredValue(at));
    } else if (type !== "OnDelete") {
      const kinds = ["RollingUpdate", "OnDelete"];
      // Shown in messages as kube-apiserver's struct.
      const shown = { Type: type ?? "", RollingUpdate: shownUpdate(rollingUpdate) };
      errors.push(unsupportedValue("spec.updateStrategy", shown, kinds));
    }
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["spec.selector"]),
  status({ status }, current) {
    const errors = new Problems();
    validateCounts(status, "status", { names: DAEMON_COUNTS, errors });
    validateCollisions(status, current.status, errors);
    return errors;
  },
};

/**
 * A node has one pod of the set, so an update either replaces it in place or surges for a while.
 */
function validateDaemonUpdate(
  { maxUnavailable, maxSurge }: RollingUpdate,
  field: string,
  errors: FieldError[],
): void {
  validateAmountOrPercent(maxUnavailable, `${field}.maxUnavailable`, errors);
  validateNotMoreThanAll(maxUnavailable, `${field}.maxUnavailable`, errors);
  validateAmountOrPercent(maxSurge, `${field}.maxSurge`, errors);
  validateNotMoreThanAll(maxSurge, `${field}.maxSurge`, errors);
  if (!isNone(maxUnavailable) && !isNone(maxSurge)) {
    const why = "may not be set when maxUnavailable is non-zero";
    errors.push(invalidValue(`${field}.maxSurge`, maxSurge, why));
  } else if (isNone(maxUnavailable) && isNone(maxSurge)) {
    errors.push(requiredValue(`${field}.maxUnavailable`, "cannot be 0 when maxSurge is 0"));
  }
}

interface StatefulSet extends ApiObject {
  spec?: WorkloadSpec & {
    readonly podManagementPolicy?: string;
    readonly updateStrategy?: Maybe<RolloutStrategy>;
    readonly serviceName?: string;
    readonly volumeClaimTemplates?: Maybe<readonly ClaimObject[]>;
    readonly ordinals?: Maybe<{ readonly start?: Whole }>;
    readonly persistentVolumeClaimRetentionPolicy?: Maybe<Readonly<Record<string, string>>>;
  };
  status?: object;
}

/** The mutable fields of a set; its pods keep their names and their storage. */
const STATEFUL_MOVABLE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;
const MANAGEMENT_POLICIES = ["OrderedReady", "Parallel"];
const RETENTION_POLICIES = ["Retain", "Delete"];

const statefulSetRules: Rules<StatefulSet> = {
  object({ spec = {} }, { naming }, current) {
    const errors = new Problems();
    const management = spec.podManagementPolicy ?? "";
    if (!MANAGEMENT_POLICIES.includes(management)) {
      const why = "must be 'OrderedReady' or 'Parallel'";
      errors.push(invalidValue("spec.podManagementPolicy", management, why));
    }
    const { type, rollingUpdate } = spec.updateStrategy ?? {};
    const at = "spec.updateStrategy.rollingUpdate";
    if (type === "OnDelete" && rollingUpdate) {
      const why = "only allowed for updateStrategy 'RollingUpdate'";
      errors.push(invalidValue(at, shownStatefulUpdate(rollingUpdate), why));
    } else if (type === "RollingUpdate" && rollingUpdate) {
      validateStatefulUpdate(rollingUpdate, at, errors);
    } else if (type !== "OnDelete" && type !== "RollingUpdate") {
      const why = "must be 'RollingUpdate' or 'OnDelete'";
      const shown = { Type: type ?? "", RollingUpdate: shownStatefulUpdate(rollingUpdate) };
      errors.push(invalidValue("spec.updateStrategy", shown, why));
    }
    validateRetention(spec.persistentVolumeClaimRetentionPolicy ?? {}, errors);
    // These do not change, so that an existing set is not asked again.
    if (current === undefined) validateClaimTemplates(spec.volumeClaimTemplates ?? [], errors);
    // A negative limit of revisions keeps all of them.
    validateCounts(spec, "spec", { names: ["replicas", "minReadySeconds"], errors });
    validateCounts(spec.ordinals ?? {}, "spec.ordinals", { names: ["start"], errors });
    const service = spec.serviceName ?? "";
    if (current === undefined && service !== "") {
      validateDnsLabel(service, "spec.serviceName", errors);
    }
    const use = { kind: "statefulset", naming, errors } as const;
    const found = validateSelectorAndTemplate(spec, "spec", use) ? podProblems(spec, naming) : [];
    // Templates that were stored before they were judged do not stand in the way of other changes.
    const wereThere =
      found.length > 0 && current !== undefined && podProblems(current.spec, naming).length > 0;
    if (!wereThere) errors.push(...found);
    return errors;
  },
  change(next, current) {
    if (deepEqual(fixedPart(next.spec), fixedPart(current.spec))) return [];
    const why =
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    return [forbiddenField("spec", why)];
  },
  status: ({ status }, current) =>
    validateReplicaStatus(status, {
      parts: ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
      readyPath: "status.readyReplicas",
      before: current.status,
    }),
};

function validateStatefulUpdate(
  { partition, maxUnavailable }: RollingUpdate,
  field: string,
  errors: FieldError[],
): void {
  validateCounts({ partition }, field, { names: ["partition"], errors });
  if (maxUnavailable === undefined || maxUnavailable === null) return;
  validateAmountOrPercent(maxUnavailable, `${field}.maxUnavailable`, errors);
  if (isNone(maxUnavailable)) {
    errors.push(invalidValue(`${field}.maxUnavailable`, maxUnavailable, "cannot be 0"));
  }
  validateNotMoreThanAll(maxUnavailable, `${field}.maxUnavailable`, errors);
}

/** Problems of the pods that the set would make, which have its claims as their first volumes. */
function podProblems(set: StatefulSet["spec"], naming: Naming): Problems {
  const { template, volumeClaimTemplates } = set ?? {};
  const errors = new Problems();
  // Claims of one name are one volume, which counts as that of the last.
  const names = new Set((volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name ?? ""));
  const claims = [...names].map((name) => ({
    name,
    persistentVolumeClaim: { claimName: name },
  }));
  const volumes = [...claims, ...(template?.spec?.volumes ?? [])];
  // The controller names each pod, and its domain after the service.
  const { hostname: _named, subdomain: _served, ...spec } = template?.spec ?? {};
  const pod = { metadata: template?.metadata, spec: { ...spec, volumes } };
  validatePodTemplate(pod, "spec.template", { naming, errors });
  return errors;
}

/** The claims of a set, which become volumes of its pods by their names. */
function validateClaimTemplates(claims: readonly ClaimObject[], errors: FieldError[]): void {
  claims.forEach(({ spec }, index) => {
    const at = `spec.volumeClaimTemplates[${index}].spec`;
    validateClaimSpec(spec ?? {}, at, errors);
  });
}

function validateRetention(policy: Readonly<Record<string, string>>, errors: FieldError[]): void {
  const field = "spec.persistentVolumeClaimRetentionPolicy";
  for (const when of ["whenDeleted", "whenScaled"]) {
    const value = policy[when];
    validateChoice(value, `${field}.${when}`, RETENTION_POLICIES, errors);
  }
}

function fixedPart(spec: object | undefined): object {
  const fixed: Record<string, unknown> = { ...spec };
  for (const name of STATEFUL_MOVABLE) delete fixed[name];
  return fixed;
}

interface ControllerRevision extends ApiObject {
  data?: unknown;
  revision?: Whole;
}

const controllerRevisionRules: Rules<ControllerRevision> = {
  object(next, _context, current) {
    const errors = new Problems();
    const { revision = 0, data = null } = next;
    if (revision < 0) errors.push(invalidValue("revision", revision, NOT_NEGATIVE));
    if (current !== undefined) return errors;
    if (data === null) errors.push(requiredValue("data", "data is mandatory"));
    else if (typeof data !== "object" || Array.isArray(data)) {
      errors.push(requiredValue("data", "data must be a valid JSON object"));
    }
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["data"]),
};

export const validatesDeployment = validated(deploymentRules);
export const validatesReplicaSet = validated(replicaSetRules);
export const validatesDaemonSet = validated(daemonSetRules);
export const validatesStatefulSet = validated(statefulSetRules);
export const validatesControllerRevision = validated(controllerRevisionRules);

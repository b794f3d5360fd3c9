/**
 * The default policy at start (S2-RBAC-19..22): missing roles and bindings are created, and their missing
 * permissions and subjects added. Users' additions stay. An object with the annotation `.../autoupdate:
 * "false"` is left alone.
 *
 * Runs in every replica before it is ready, and again while something is missing. Conflicts between replicas that start together are resolved
 * by compare-and-swap: the loser reads again.
 */

import type { Logger } from "../../storage/base/logger.js";
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject, ObjectMeta } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import {
  autoUpdateAnnotation,
  type BindingObject,
  type DefaultPolicy,
  defaultPolicy,
  type RoleObject,
  type SubjectObject,
} from "../authz/rbac/default-policy.js";
import { type PolicyRule, toPolicyRules } from "../authz/rbac/policy-rule.js";
import { rbacGroup } from "../authz/rbac/rbac-index.js";
import { covers } from "../authz/rbac/rule-coverage.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "./objects-api.js";
import type { LoopParts } from "./sync-loop.js";

export interface BootstrapPolicyOptions extends LoopParts {
  readonly naming: Naming;
}

/** Objects processed concurrently: a start should take one round trip to the store, not 130. */
const CONCURRENCY = 8;
/** Failed objects that the error names. */
const NAMED_MAX = 10;
/** Attempts per object when other replicas change it concurrently. */
const ATTEMPTS_MAX = 8;

/** Computes the change of an object; undefined = none needed. */
type Reconcile = (existing: ApiObject) => Change | undefined;

interface Change {
  readonly next: ApiObject;
  /** The binding names another role: it must be recreated, because that field is immutable. */
  readonly isAnew?: true;
}

interface Task {
  readonly resource: ControlledResource;
  readonly expected: ApiObject;
  readonly reconcile: Reconcile;
}

/** Once. @throws {Error} something could not be reconciled */
export async function reconcileBootstrapPolicy(
  { objects, naming, ...parts }: BootstrapPolicyOptions,
  signal: AbortSignal,
): Promise<void> {
  const logger = parts.logger.child({ component: "bootstrap-policy" });
  const failed: string[] = [];
  let first: unknown;
  await forEachOf(tasksOf(objects, naming, defaultPolicy(naming)), async (task) => {
    try {
      await reconcile(objects, task, logger, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const { kind, metadata } = task.expected;
      failed.push(`${kind} ${metadata.name}`);
      first ??= error;
    }
  });
  if (failed.length === 0) return;
  // One message for all: a webhook may refuse each of them, at each try.
  const names = failed.slice(0, NAMED_MAX).join(", ");
  const rest = failed.length > NAMED_MAX ? ", ..." : "";
  const message = `${failed.length} default roles or bindings could not be reconciled: ${names}${rest}`;
  throw new Error(message, { cause: first });
}

function tasksOf(objects: ObjectsApi, naming: Naming, policy: DefaultPolicy): Task[] {
  const group = rbacGroup(naming);
  const served = new Set(
    objects.resources.flatMap((one) => (one.group === group ? [one.resource] : [])),
  );
  const protection = autoUpdateAnnotation(naming);
  const tasks = <T extends ApiObject>(
    resource: string,
    expected: readonly T[],
    reconcileOne: (existing: T, expected: T) => Change | undefined,
  ): Task[] => {
    // A disabled group has no policy either.
    if (!served.has(resource)) return [];
    const controlled = objects.resource(group, resource);
    return expected.map((one) => ({
      resource: controlled,
      expected: one,
      reconcile: (existing) =>
        existing.metadata.annotations?.[protection] === "false"
          ? undefined
          : reconcileOne(existing as T, one),
    }));
  };
  return [
    ...tasks("clusterroles", policy.clusterRoles, reconcileRole),
    ...tasks("roles", policy.roles, reconcileRole),
    ...tasks("clusterrolebindings", policy.clusterRoleBindings, reconcileBinding),
    ...tasks("rolebindings", policy.roleBindings, reconcileBinding),
  ];
}

async function reconcile(
  objects: ObjectsApi,
  { resource, expected, reconcile: decide }: Task,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", namespace = "" } = expected.metadata;
  const key: ObjectKey = { namespace, name };
  const about = { resource: resource.resource, namespace, name };
  let lastRace: unknown;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (attempt > 0) await objects.refresh();
    const existing = objects.get(resource, key);
    if (existing === undefined && objects.metadata(resource, key) === "unreadable") {
      logger.warn(about, "a default role or binding cannot be read, and is left to people");
      return;
    }
    try {
      if (existing === undefined) {
        await objects.create(resource, structuredClone(expected), signal);
        return;
      }
      const change = decide(existing);
      if (change === undefined) return;
      if (change.isAnew === true) {
        const { uid = "" } = existing.metadata;
        await objects.remove(resource, key, { uid, propagationPolicy: "Background" }, signal);
        await objects.create(resource, change.next, signal);
      } else {
        await objects.update(resource, change.next, "", signal);
      }
      logger.info(about, "added to a default role or binding what was missing");
      return;
    } catch (error) {
      if (!isLostRace(error)) throw error;
      lastRace = error;
    }
  }
  throw lastRace;
}

/** Adds missing labels, annotations, permissions and selectors. */
function reconcileRole(existing: RoleObject, expected: RoleObject): Change | undefined {
  const metadata = withLabels(existing.metadata, expected.metadata);
  const rules = toPolicyRules(existing.rules);
  const missing = missingRules(rules, expected.rules ?? []);
  const selectors = existing.aggregationRule?.clusterRoleSelectors ?? [];
  const missingSelectors = (expected.aggregationRule?.clusterRoleSelectors ?? []).filter(
    (selector) => !selectors.some((known) => deepEqual(known, selector)),
  );
  if (metadata === existing.metadata && missing.length === 0 && missingSelectors.length === 0) {
    return undefined;
  }
  const next: RoleObject = {
    ...existing,
    metadata,
    ...(missing.length > 0 && { rules: [...rules, ...missing] }),
    ...(missingSelectors.length > 0 && {
      aggregationRule: { clusterRoleSelectors: [...selectors, ...missingSelectors] },
    }),
  };
  return { next };
}

function missingRules(rules: readonly PolicyRule[], expected: readonly PolicyRule[]) {
  // As at nearly every start.
  if (deepEqual(rules, expected)) return [];
  return covers(rules, expected).missing;
}

/** Adds missing subjects; replaces a binding of another role. */
function reconcileBinding(existing: BindingObject, expected: BindingObject): Change | undefined {
  if (!deepEqual(existing.roleRef, expected.roleRef)) {
    return { next: structuredClone(expected), isAnew: true };
  }
  const metadata = withLabels(existing.metadata, expected.metadata);
  const subjects = existing.subjects ?? [];
  const missing = (expected.subjects ?? []).filter(
    (subject) => !subjects.some((known) => isSameSubject(known, subject)),
  );
  if (metadata === existing.metadata && missing.length === 0) return undefined;
  const next: BindingObject = { ...existing, metadata, subjects: [...subjects, ...missing] };
  return { next };
}

function isSameSubject(a: SubjectObject, b: SubjectObject): boolean {
  return (
    a.kind === b.kind &&
    a.name === b.name &&
    (a.apiGroup ?? "") === (b.apiGroup ?? "") &&
    (a.namespace ?? "") === (b.namespace ?? "")
  );
}

/** Existing values win; returns the same metadata if nothing is missing. */
function withLabels(existing: ObjectMeta, expected: ObjectMeta): ObjectMeta {
  const labels = { ...expected.labels, ...existing.labels };
  const annotations = { ...expected.annotations, ...existing.annotations };
  const isSame =
    deepEqual(labels, existing.labels ?? {}) && deepEqual(annotations, existing.annotations ?? {});
  return isSame ? existing : { ...existing, labels, annotations };
}

/** Processes several items at a time, in order; ends with the first error. */
async function forEachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++] as T);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

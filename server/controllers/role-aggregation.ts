/**
 * Writes the collected rules of aggregated cluster roles into the objects (S2-RBAC-12, S2-RBAC-23),
 * replacing any other rules. The authorizer does not wait for it and evaluates the view (see
 * server/authz/rbac/aggregation.ts); the objects follow for people and tools.
 */
import { inShortTurns } from "../../storage/base/short-turns.js";
import { oneStep } from "../../storage/base/steps.js";
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import {
  type AggregatableRole,
  aggregateRules,
  readClusterRole,
} from "../authz/rbac/aggregation.js";
import { rbacGroup } from "../authz/rbac/rbac-index.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import type { LoopParts } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

export interface RoleAggregationOptions extends LoopParts {
  readonly naming: Naming;
}

/** Changes within this time are processed together, for example an installation of many roles. */
const SETTLE_MS = 20;
/** Takes in what changed, and queues all aggregated roles by their names; no role is called so. */
const ALL = "";

/** Runs until the signal aborts. */
export async function runRoleAggregation(
  { objects, naming, clock, logger }: RoleAggregationOptions,
  signal: AbortSignal,
): Promise<void> {
  const clusterRoles = clusterRolesOf(objects, naming);
  const queue = new WorkQueue(clock);
  const roles = new Map<string, AggregatableRole>();
  const changed = new Set<string>();
  const lookAt = (name: string) => {
    changed.add(name);
    queue.add(ALL, SETTLE_MS);
  };
  const following = objects.follow(
    clusterRoles,
    {
      began() {
        roles.clear();
        changed.clear();
        queue.add(ALL, SETTLE_MS);
      },
      changed: ({ name = "" }) => lookAt(name),
      removed: ({ name = "" }) => lookAt(name),
    },
    signal,
  );
  const working = queue.run(async (name) => {
    if (name === ALL) {
      takeIn(objects, clusterRoles, roles, changed);
      for (const role of roles.values()) if (role.selectors !== undefined) queue.add(role.name);
      return;
    }
    const role = roles.get(name);
    try {
      if (role?.selectors !== undefined)
        await writeGathered(objects, clusterRoles, role, roles, signal);
      queue.forget(name);
    } catch (error) {
      if (signal.aborted) return;
      if (!isLostRace(error)) logger.warn({ role: name, err: error }, "aggregating a role failed");
      queue.retry(name);
    }
  }, signal);
  await Promise.all([following, working]);
}

/** Once, without a loop. @throws {StatusError} */
export async function gatherRoles(
  { objects, naming }: Pick<RoleAggregationOptions, "objects" | "naming">,
  signal: AbortSignal,
): Promise<void> {
  const clusterRoles = clusterRolesOf(objects, naming);
  await objects.refresh();
  const roles = new Map<string, AggregatableRole>();
  for (const object of objects.list(clusterRoles, "")) {
    roles.set(object.metadata.name ?? "", toAggregatable(object));
  }
  for (const role of roles.values()) {
    if (role.selectors === undefined) continue;
    await writeGathered(objects, clusterRoles, role, roles, signal);
    // Others may gather it in turn.
    await objects.refresh();
    const written = objects.get(clusterRoles, { namespace: "", name: role.name });
    if (written !== undefined) roles.set(role.name, toAggregatable(written));
  }
}

function clusterRolesOf(objects: ObjectsApi, naming: Naming): ControlledResource {
  return objects.resource(rbacGroup(naming), "clusterroles");
}

/** Reads the changed roles. */
function takeIn(
  objects: ObjectsApi,
  clusterRoles: ControlledResource,
  roles: Map<string, AggregatableRole>,
  changed: Set<string>,
): void {
  for (const name of changed) {
    const object = objects.get(clusterRoles, { namespace: "", name });
    if (object === undefined) roles.delete(name);
    else roles.set(name, toAggregatable(object));
  }
  changed.clear();
}

function toAggregatable(object: ApiObject): AggregatableRole {
  const { selectors, rules } = readClusterRole(object);
  const { name = "", labels = {} } = object.metadata;
  return { name, labels, selectors, rules: () => oneStep(rules) };
}

async function writeGathered(
  objects: ObjectsApi,
  clusterRoles: ControlledResource,
  role: AggregatableRole,
  roles: ReadonlyMap<string, AggregatableRole>,
  signal: AbortSignal,
): Promise<void> {
  const rules = await inShortTurns(aggregateRules(role, roles.values()));
  const object = objects.get(clusterRoles, { namespace: "", name: role.name });
  if (object === undefined || deepEqual(object.rules ?? [], rules)) return;
  // Meanwhile it may have been replaced by one with rules of its own.
  if (readClusterRole(object).selectors === undefined) return;
  await objects.update(clusterRoles, { ...object, rules }, "", signal);
}

/**
 * GrantGuard: a user cannot grant more than they hold. The author of a role must hold all its permissions
 * in its scope, or have the verb `escalate`; the author of a binding must hold those of its role, or have
 * `bind` on it (S2-RBAC-17, S2-RBAC-18). An aggregationRule can collect anything, so it requires all
 * permissions. Members of system:masters are exempt, and so are changes to garbage collection fields.
 *
 * The registry calls it before the transaction, for every verb, also for an object that is not valid: create,
 * PUT, patch or apply. It applies in every authorization mode, because roles may take effect later.
 */

import { sortTexts } from "../../../storage/base/compare-texts.js";
import { inShortTurns } from "../../../storage/base/short-turns.js";
import type { PartitionId } from "../../../storage/objects/keys.js";
import { partitionId } from "../../../storage/objects/keys.js";
import type { ApiObject } from "../../api/meta.js";
import { forbidden, notFound, type StatusError } from "../../api/status.js";
import { isUpkeep } from "../../api/upkeep.js";
import { MASTERS_GROUP, type UserInfo } from "../../request/user-info.js";
import type { Authorizer } from "../authorizer.js";
import { type PolicyRule, toPolicyRulesInSteps } from "./policy-rule.js";
import { joinErrors, type RbacAuthorizer } from "./rbac-authorizer.js";
import type { RbacIndex } from "./rbac-index.js";
import type { RoleKind } from "./role-index.js";
import {
  type Coverage,
  compactRules,
  covers,
  coversInSteps,
  describeRule,
  quoteAll,
} from "./rule-coverage.js";

/** A write to be checked. */
export interface GuardedWrite {
  readonly next: ApiObject;
  /** undefined for a create. */
  readonly current: ApiObject | undefined;
  /** "" for cluster scope. */
  readonly namespace: string;
  /** The name in the URL; "" for a collection. */
  readonly name: string;
  readonly user: UserInfo;
}

export interface WriteGuard {
  /** @throws {StatusError} 403, and 404 if the binding's role is missing */
  check(write: GuardedWrite, signal: AbortSignal): Promise<void>;
}

export interface GrantGuardParts {
  readonly index: RbacIndex;
  readonly rbac: RbacAuthorizer;
  /** The server's authorizer, asked for `escalate` and `bind`. */
  readonly authorizer: Authorizer;
}

const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

const AGGREGATION_REFUSED = "must have cluster-admin privileges to use the aggregationRule";

/** Missing permissions listed in a message at most. */
const TOLD_MAX = 100;

/** The guards of the group's partitions. */
export function createGrantGuards(parts: GrantGuardParts): Record<PartitionId, WriteGuard> {
  const { group } = parts.index;
  return {
    [partitionId(group, "roles")]: guardRoles(parts, "roles"),
    [partitionId(group, "clusterroles")]: guardRoles(parts, "clusterroles"),
    [partitionId(group, "rolebindings")]: guardBindings(parts, "rolebindings"),
    [partitionId(group, "clusterrolebindings")]: guardBindings(parts, "clusterrolebindings"),
  };
}

function guardRoles(parts: GrantGuardParts, resource: "roles" | "clusterroles"): WriteGuard {
  const { group } = parts.index;
  return {
    async check(write, signal) {
      const { next, current, namespace, user } = write;
      if (isExempt(write)) return;
      const held = await parts.rbac.policyRules(user, namespace);
      const wanted = await inShortTurns(toPolicyRulesInSteps(next.rules));
      const coverage = await inShortTurns(coversInSteps(held.rules, wanted));
      const isAggregated = [next, current].some((role) => role !== undefined && gathers(role));
      const mayAggregate = !isAggregated || covers(held.rules, FULL_AUTHORITY).isCovered;
      if (coverage.isCovered && mayAggregate) return;
      const ask = { verb: "escalate", group, resource, namespace, name: write.name };
      if (await isAllowed(parts, user, ask, signal)) return;
      if (!coverage.isCovered) throw refuse({ group, resource }, write, coverage, held.errors);
      throw forbidden({ group, resource }, next.metadata.name ?? "", AGGREGATION_REFUSED);
    },
  };
}

function guardBindings(
  parts: GrantGuardParts,
  resource: "rolebindings" | "clusterrolebindings",
): WriteGuard {
  const { index, rbac } = parts;
  const { group } = index;
  return {
    async check(write, signal) {
      const { next, namespace, user } = write;
      if (isExempt(write)) return;
      const reference = roleRefOf(next);
      // What names no role grants nothing, and the rules of bindings refuse it.
      if (reference === undefined) return;
      const { apiGroup, kind, name } = reference;
      const role = index.role(kind, namespace, name);
      const isThere = role?.object !== undefined;
      const held = await rbac.policyRules(user, namespace);
      const coverage = isThere
        ? await inShortTurns(coversInSteps(held.rules, await inShortTurns(index.rules(role))))
        : undefined;
      if (coverage?.isCovered === true && !role?.isBroken) return;
      const roles = kind === "Role" ? "roles" : "clusterroles";
      const ask = { verb: "bind", group: apiGroup, resource: roles, namespace, name };
      if (await isAllowed(parts, user, ask, signal)) return;
      if (coverage === undefined) throw notFound({ group, resource }, name);
      throw refuse({ group, resource }, write, coverage, held.errors);
    },
  };
}

/** A rule without selectors gathers nothing, and the rules of roles refuse it. */
function gathers({ aggregationRule }: ApiObject): boolean {
  const { clusterRoleSelectors } = (aggregationRule ?? {}) as { clusterRoleSelectors?: unknown };
  return Array.isArray(clusterRoleSelectors) && clusterRoleSelectors.length > 0;
}

/** Whether the write grants nothing, or its user may grant everything. */
function isExempt({ next, current, user }: GuardedWrite): boolean {
  if (user.groups.includes(MASTERS_GROUP)) return true;
  return current !== undefined && isUpkeep(next, current);
}

function roleRefOf({ roleRef }: ApiObject): RoleReference | undefined {
  const { apiGroup = "", kind, name = "" } = (roleRef ?? {}) as Partial<RoleReference>;
  return kind === "Role" || kind === "ClusterRole" ? { apiGroup, kind, name } : undefined;
}

interface RoleReference {
  readonly apiGroup: string;
  readonly kind: RoleKind;
  readonly name: string;
}

interface Ask {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

async function isAllowed(
  { authorizer }: GrantGuardParts,
  user: UserInfo,
  ask: Ask,
  signal: AbortSignal,
): Promise<boolean> {
  const info = { ...ask, isResourceRequest: true, version: "*", subresource: "", path: "" };
  const { decision } = await authorizer.authorize({ user, info }, { signal });
  return decision === "allow";
}

function refuse(
  resource: { readonly group: string; readonly resource: string },
  { next, user }: GuardedWrite,
  { missing, isTooLarge }: Coverage,
  errors: readonly string[],
): StatusError {
  const lines = sortTexts(compactRules(missing).map(describeRule));
  const told = [...new Set(lines)].slice(0, TOLD_MAX);
  if (isTooLarge === true) told.push("(the rules have more permissions than can be checked)");
  else if (lines.length > TOLD_MAX) told.push(`(and ${lines.length - TOLD_MAX} more)`);
  const why =
    `user ${JSON.stringify(user.name)} (groups=${quoteAll(user.groups)}) ` +
    `is attempting to grant RBAC permissions not currently held:\n${told.join("\n")}`;
  const unresolved = errors.length === 0 ? "" : `; resolution errors: [${joinErrors(errors)}]`;
  return forbidden(resource, next.metadata.name ?? "", why + unresolved);
}

/**
 * Who may change which part of a claim's status, asked as subresources that nobody serves (enhancement
 * 4817, gate DRAResourceClaimGranularStatusAuthorization):
 *
 *   allocation, reservedFor   resourceclaims/binding, the request's verb, in the whole cluster
 *   an entry of devices       resourceclaims/driver, named like its driver, in the claim's namespace;
 *                             "associated-node:patch" for a service account on the node of the
 *                             allocation, else "arbitrary-node:patch"
 *
 * The plugin of device-guard.ts asks, for each write to a status; status itself is a part of the object
 * (strategies.ts). Entries of devices are asked about only while the claim is allocated, as they go with the allocation.
 */
import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain } from "../../api/validation-names.js";
import type { Authorizer } from "../../authz/authorizer.js";
import { denial } from "../../authz/denial.js";
import { parseServiceAccountUser } from "../../request/service-account-name.js";
import type { UserInfo } from "../../request/user-info.js";
import {
  type Allocation,
  type ClaimStatus,
  type DeviceStatus,
  identityKey,
} from "./device-types.js";

/** One write to the status of a claim. */
export interface StatusWrite {
  readonly next: ClaimStatus;
  readonly current: ClaimStatus;
  readonly user: UserInfo;
  readonly verb: "update" | "patch";
  readonly namespace: string;
  /** The version of the API that the client speaks. */
  readonly version: string;
}

/** The permission behind a change. */
interface Right {
  readonly subresource: "binding" | "driver";
  readonly verb: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whether the write changes what needs a right of its own. */
export function changesClaimStatus({ next, current }: StatusWrite): boolean {
  return isBound(next, current) || changedDrivers(next, current).length > 0;
}

/** @returns what the user may not change */
export async function checkStatusRights(
  authorizer: Authorizer,
  write: StatusWrite,
  naming: Naming,
  signal: AbortSignal,
): Promise<FieldError[]> {
  const { next, current, verb, namespace } = write;
  const problems = new Problems();
  const ask = (right: Right) => refusalOf(authorizer, write, right, naming, signal);
  if (isBound(next, current)) {
    const why = await ask({ subresource: "binding", verb, namespace: "", name: "" });
    if (why !== undefined) {
      const needs = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission`;
      problems.push(forbiddenField("status.allocation", `${needs}: ${why}`));
    }
  }
  const verbs = isOnNode(write, naming)
    ? [`associated-node:${verb}`, `arbitrary-node:${verb}`]
    : [`arbitrary-node:${verb}`];
  for (const name of changedDrivers(next, current)) {
    let first: string | undefined;
    let isAllowed = false;
    for (const verb of verbs) {
      const why = await ask({ subresource: "driver", verb, namespace, name });
      isAllowed = why === undefined;
      if (isAllowed) break;
      first ??= why;
    }
    if (isAllowed) continue;
    const needs = `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(" ")}]" permission`;
    problems.push(forbiddenField("status.devices", `${needs}: ${first}`));
  }
  return problems;
}

/** @returns undefined if the user has the right */
async function refusalOf(
  authorizer: Authorizer,
  { user, version }: StatusWrite,
  right: Right,
  { groupDomain }: Naming,
  signal: AbortSignal,
): Promise<string | undefined> {
  const group = `resource.${groupDomain}`;
  const info = {
    ...right,
    group,
    version,
    resource: "resourceclaims",
    isResourceRequest: true,
    path: "",
  };
  const { decision, reason, error } = await authorizer.authorize({ user, info }, { signal });
  // One rule may be unreadable while another one allows.
  if (decision === "allow") return undefined;
  const why = error === undefined ? [reason] : [String((error as Error).message ?? error), reason];
  const said = why.filter((text) => text !== "").join(": ");
  return denial({ user, info }, said).status.message ?? "";
}

function isBound(next: ClaimStatus, current: ClaimStatus): boolean {
  return !(
    deepEqual(next.allocation ?? undefined, current.allocation ?? undefined) &&
    deepEqual(next.reservedFor ?? [], current.reservedFor ?? [])
  );
}

/** The drivers whose entries are new, changed or gone, in order; none without an allocation. */
function changedDrivers(next: ClaimStatus, current: ClaimStatus): string[] {
  if (next.allocation === undefined || next.allocation === null) return [];
  const before = new Map<string, DeviceStatus>();
  for (const entry of current.devices ?? []) before.set(identityKey(entry), entry);
  const drivers = new Set<string>();
  for (const entry of next.devices ?? []) {
    const key = identityKey(entry);
    if (!deepEqual(before.get(key), entry)) drivers.add(entry.driver ?? "");
    before.delete(key);
  }
  for (const { driver = "" } of before.values()) drivers.add(driver);
  return [...drivers].sort();
}

/** Whether the user is a service account of a pod on the node that the claim is allocated on. */
function isOnNode({ user, next }: StatusWrite, { labelDomain }: Naming): boolean {
  const node = nodeOf(next.allocation);
  if (node === undefined || parseServiceAccountUser(user.name) === undefined) return false;
  const [name, ...others] = user.extra[`authentication.${labelDomain}/node-name`] ?? [];
  return name === node && others.length === 0 && checkDnsSubdomain(node).length === 0;
}

/** The one node of an allocation whose selector names it. */
function nodeOf(allocation: Allocation | null | undefined): string | undefined {
  const [term, ...terms] = allocation?.nodeSelector?.nodeSelectorTerms ?? [];
  if (term === undefined || terms.length > 0 || (term.matchExpressions ?? []).length > 0) {
    return undefined;
  }
  const [field, ...fields] = term.matchFields ?? [];
  if (field === undefined || fields.length > 0) return undefined;
  if (field.key !== "metadata.name" || field.operator !== "In") return undefined;
  const [node, ...nodes] = field.values ?? [];
  return nodes.length === 0 && node !== "" ? node : undefined;
}

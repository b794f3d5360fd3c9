/**
 * The device guard as a validating plugin: administrators' access in claims and templates, and who may
 * change which part of a claim's status. It cannot be switched off, so no flag names it. What it finds
 * are errors of the object's fields (422), as existing clients know them, before those of its rules.
 */
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  WRITES,
} from "../../admission/admission.js";
import { type AdmissionView, findObject } from "../../admission/stored-objects.js";
import type { Naming } from "../../api/naming.js";
import { type FieldError, invalid } from "../../api/status.js";
import type { Authorizer } from "../../authz/authorizer.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import { type AdminAccessPart, adminAccessField, checkAdminAccess } from "./admin-access.js";
import type { ClaimStatus, ResourceClaim } from "./device-types.js";
import { changesClaimStatus, checkStatusRights } from "./status-rights.js";

export interface DeviceGuardOptions {
  readonly view: AdmissionView;
  readonly naming: Naming;
  /** The server's authorizer, asked for the parts of a status. */
  readonly authorizer: Authorizer;
  /** Whether the parts of a status have rights of their own. */
  readonly hasStatusRights: boolean;
}

const NO_STATUS: ClaimStatus = Object.freeze({});

export function createDeviceGuard(options: DeviceGuardOptions): AdmissionPlugin {
  const group = `resource.${options.naming.groupDomain}`;
  return {
    name: "DeviceGuard",
    isGuard: true,
    handles: (operation, resource, subresource) =>
      resource.group === group &&
      WRITES.includes(operation) &&
      partOf(resource.resource, subresource) !== undefined,
    validate(attributes, signal) {
      const { object, oldObject, resource, subresource } = attributes;
      const part = partOf(resource.resource, subresource);
      if (object === undefined || part === undefined) return undefined;
      const field = adminAccessField(part, object, oldObject);
      const problems = field === undefined ? [] : checkNamespace(options, attributes, field);
      const rights =
        part === "status" && options.hasStatusRights
          ? checkRights(options, attributes, signal)
          : undefined;
      if (rights === undefined) return refuse(attributes, problems);
      return rights.then((found) => refuse(attributes, [...problems, ...found]));
    },
  };
}

function partOf(resource: string, subresource: string): AdminAccessPart | undefined {
  if (resource === "resourceclaims" && subresource === "") return "claim";
  if (resource === "resourceclaims" && subresource === "status") return "status";
  if (resource === "resourceclaimtemplates" && subresource === "") return "template";
  return undefined;
}

function checkNamespace(
  { view, naming }: DeviceGuardOptions,
  { namespace }: AdmissionAttributes,
  field: string,
): FieldError[] {
  const found = findObject(view, { group: "", resource: "namespaces" }, "", namespace);
  return checkAdminAccess(field, found, naming);
}

function checkRights(
  { authorizer, naming }: DeviceGuardOptions,
  { object, oldObject, user, namespace, resource, isReplaced }: AdmissionAttributes,
  signal: SignalSource,
): Promise<FieldError[]> | undefined {
  const write = {
    next: (object as ResourceClaim).status ?? NO_STATUS,
    current: (oldObject as ResourceClaim | undefined)?.status ?? NO_STATUS,
    user,
    verb: isReplaced === true ? ("update" as const) : ("patch" as const),
    namespace,
    version: resource.version,
  };
  if (!changesClaimStatus(write)) return undefined;
  return checkStatusRights(authorizer, write, naming, signalOf(signal));
}

/** @throws {StatusError} 422 with all problems */
function refuse(
  { resource, name, object }: AdmissionAttributes,
  problems: FieldError[],
): undefined {
  if (problems.length === 0) return undefined;
  throw invalid(resource, name || (object?.metadata.name ?? ""), problems);
}

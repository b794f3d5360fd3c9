/**
 * The grant guard as a validating plugin: it sees roles and bindings as they are after the mutating ones,
 * for every verb that writes, valid or not: who may not grant is told that, and not what else is wrong.
 * It cannot be switched off, so no flag names it.
 */

import { type PartitionId, partitionId } from "../../../storage/objects/keys.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type AdmissionResource,
  WRITES,
} from "../../admission/admission.js";
import type { WriteGuard } from "../../authz/rbac/grant-guard.js";
import { signalOf } from "../../request/lazy-signal.js";

/** @param guards by partition, from `createGrantGuards` */
export function createGrantGuardPlugin(
  guards: Readonly<Record<PartitionId, WriteGuard>>,
): AdmissionPlugin {
  const guardOf = ({ group, resource }: AdmissionResource): WriteGuard | undefined =>
    guards[partitionId(group, resource)];
  return {
    name: "RbacGrantGuard",
    isGuard: true,
    handles: (operation, resource, subresource) =>
      WRITES.includes(operation) && subresource === "" && guardOf(resource) !== undefined,
    validate(attributes, signal) {
      const { object, oldObject, namespace, user } = attributes;
      if (object === undefined) return undefined;
      const write = {
        next: object,
        current: oldObject,
        namespace,
        name: urlName(attributes),
        user,
      };
      return guardOf(attributes.resource)?.check(write, signalOf(signal));
    },
  };
}

/** A create names no object: a permission limited to one name does not cover it (S2-RBAC-15). */
function urlName({ operation, name }: AdmissionAttributes): string {
  return operation === "CREATE" ? "" : name;
}

/**
 * The grant guard as the last validating plugin: it sees roles and bindings in their final form, for
 * every verb that writes. It cannot be switched off, so no flag names it.
 */

import { type PartitionId, partitionId } from "../../../storage/objects/keys.js";
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AdmissionResource,
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
    handles: (operation, resource, subresource) =>
      (operation === "CREATE" || operation === "UPDATE") &&
      subresource === "" &&
      guardOf(resource) !== undefined,
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

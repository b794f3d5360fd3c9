/**
 * Plugins about the namespace of a write, off by default:
 *
 *   NamespaceExists          no write in a namespace that is not there
 *   NamespaceAutoProvision   a create makes its namespace. The registry does it before it looks at the
 *                            namespace (write/provision-namespace.ts); the plugin is its switch
 */
import { partitionId } from "../../storage/objects/keys.js";
import { notFound } from "../api/status.js";
import type { AdmissionPlugin } from "./admission.js";
import type { AdmissionView } from "./stored-objects.js";

const NAMESPACES = { group: "", resource: "namespaces" };

export const NAMESPACE_PROVISION = "NamespaceAutoProvision";

export const namespaceAutoProvision: AdmissionPlugin = {
  name: NAMESPACE_PROVISION,
  handles: () => false,
};

export function namespaceExists(view: AdmissionView): AdmissionPlugin {
  return {
    name: "NamespaceExists",
    handles: (operation, { group, resource }) =>
      operation !== "CONNECT" && !(group === "" && resource === NAMESPACES.resource),
    validate({ namespace }) {
      const namespaces = view.partition(partitionId("", NAMESPACES.resource));
      if (namespace === "" || namespaces.get(namespace) !== undefined) return undefined;
      throw notFound(NAMESPACES, namespace);
    },
  };
}

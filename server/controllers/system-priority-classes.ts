/**
 * The priority classes of critical system pods. The first replica creates them at the start, so that
 * the Priority admission plugin finds them.
 */
import type { ApiObject } from "../api/meta.js";
import { formatGroupVersion } from "../api/names.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import type { ObjectsApi } from "./objects-api.js";

/** Values that validation reserves for these names. */
const CLASSES = [
  {
    name: "system-node-critical",
    value: 2_000_001_000,
    description: "Used for system critical pods that must not be moved from their current node.",
  },
  {
    name: "system-cluster-critical",
    value: 2_000_000_000,
    description:
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  },
] as const;

/** Idempotent, and safe with several replicas starting at once. @throws {StatusError} */
export async function ensureSystemPriorityClasses(
  objects: ObjectsApi,
  { groupDomain }: Naming,
  signal: AbortSignal,
): Promise<void> {
  const group = `scheduling.${groupDomain}`;
  const resource = objects.resource(group, "priorityclasses");
  for (const { name, value, description } of CLASSES) {
    if (objects.get(resource, { namespace: "", name }) !== undefined) continue;
    const apiVersion = formatGroupVersion(resource);
    const metadata = { name };
    const made: ApiObject = { kind: resource.kind, apiVersion, metadata, value, description };
    try {
      await objects.create(resource, made, signal);
    } catch (error) {
      const isThere = error instanceof StatusError && error.reason === "AlreadyExists";
      if (!isThere) throw error;
    }
  }
}

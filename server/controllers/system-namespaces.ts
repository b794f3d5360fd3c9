/**
 * The namespaces that every client may count on. Made at start by whichever replica comes first;
 * the others find them there.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import type { ObjectsApi } from "./objects-api.js";

function systemNamespaces(naming: Naming): readonly string[] {
  const { systemNamespace, publicNamespace, nodeLeaseNamespace } = naming;
  return ["default", systemNamespace, publicNamespace, nodeLeaseNamespace];
}

/** Idempotent, and safe with several replicas starting at once. @throws {StatusError} */
export async function ensureSystemNamespaces(
  objects: ObjectsApi,
  naming: Naming,
  signal: AbortSignal,
): Promise<void> {
  const namespaces = objects.resource("", "namespaces");
  for (const name of systemNamespaces(naming)) {
    if (objects.get(namespaces, { namespace: "", name }) !== undefined) continue;
    const namespace: ApiObject = { kind: "Namespace", apiVersion: "v1", metadata: { name } };
    try {
      await objects.create(namespaces, namespace, signal);
    } catch (error) {
      const isThere = error instanceof StatusError && error.reason === "AlreadyExists";
      if (!isThere) throw error;
    }
  }
}

/**
 * The namespaces that every client relies on. The first replica creates them at the start, and any
 * replica recreates a deleted one: kubelets cannot renew their leases without them.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { eachInTurn } from "./each-in-turn.js";
import type { ObjectsApi } from "./objects-api.js";
import { type LoopParts, runSyncLoop } from "./sync-loop.js";

/** Changes are noticed at once; the interval is for failed syncs. */
const INTERVAL_MS = 60_000;

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
  await eachInTurn(systemNamespaces(naming), async (name) => {
    if (objects.get(namespaces, { namespace: "", name }) !== undefined) return;
    const namespace: ApiObject = { kind: "Namespace", apiVersion: "v1", metadata: { name } };
    try {
      await objects.create(namespaces, namespace, signal);
    } catch (error) {
      const isThere = error instanceof StatusError && error.reason === "AlreadyExists";
      if (!isThere) throw error;
    }
  });
}

/** Maintains them until the signal aborts. Runs in every replica. */
export async function runSystemNamespaces(
  { naming, ...parts }: LoopParts & { readonly naming: Naming },
  signal: AbortSignal,
): Promise<void> {
  const { objects } = parts;
  const names = new Set(systemNamespaces(naming));
  const concerns = ({ name }: { name: string }) => names.has(name);
  const watches = [{ resource: objects.resource("", "namespaces"), concerns }];
  const sync = async (): Promise<undefined> => {
    await ensureSystemNamespaces(objects, naming, signal);
  };
  await runSyncLoop(
    { ...parts, name: "system-namespaces", watches, intervalMs: INTERVAL_MS, sync },
    signal,
  );
}

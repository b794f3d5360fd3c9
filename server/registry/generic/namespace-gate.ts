/**
 * The namespace of a new object must exist and must not be going away (S1-GEN-20, S1-GEN-21). The
 * check rides in the create's own transaction, as a compare on the namespace's key: no object slips
 * into a namespace between the look and the write, on whichever replica.
 */
import type { Compare, KeyValue } from "../../../storage/kv/store.js";
import { partitionId } from "../../../storage/objects/keys.js";
import { namespaceTerminating, notFound } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { refresh } from "./commit.js";
import { currentOfStore, parseCurrent } from "./objects.js";
import type { Registry } from "./registry.js";

const NAMESPACES = { group: "", resource: "namespaces" };
const NAMESPACES_PARTITION = partitionId("", "namespaces");

/** The condition that the namespace stays as the view has it. @throws {StatusError} 404, 403 */
export async function openNamespace(
  registry: Registry,
  resource: StoredResource,
  namespace: string,
  name: string,
): Promise<Compare> {
  const namespaces = registry.view.partition(NAMESPACES_PARTITION);
  let found = namespaces.get(namespace);
  if (found === undefined || found.fields["status.phase"] === "Terminating") {
    await refresh(registry);
    found = namespaces.get(namespace);
  }
  if (found === undefined) throw notFound(NAMESPACES, namespace);
  if (found.fields["status.phase"] === "Terminating") {
    throw namespaceTerminating(resource, name, namespace);
  }
  const key = registry.view.keys.key(NAMESPACES_PARTITION, namespace);
  return { key, modRevision: found.revision };
}

/** The condition anew, from what the store answered to a failed compare. @throws {StatusError} */
export function reopenNamespace(
  resource: StoredResource,
  namespace: string,
  name: string,
  current: KeyValue | undefined,
): Compare {
  if (current === undefined) throw notFound(NAMESPACES, namespace);
  const { status } = parseCurrent(currentOfStore(current, namespace)) as {
    status?: { phase?: string };
  };
  if (status?.phase === "Terminating") throw namespaceTerminating(resource, name, namespace);
  return { key: current.key, modRevision: current.modRevision };
}

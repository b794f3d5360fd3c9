/**
 * What a control plane owes although nobody asks: work that waits for a time to come, or for a retry. One that owes
 * something is not let go, and its loops do not rest.
 */
import { STOP } from "../../storage/cache/object-tree.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Naming } from "../api/naming.js";
import { BOOTSTRAP_SECRET_PREFIX } from "../authn/bootstrap-secret.js";

/** Takes one look at each object that may be concerned. */
export function owesWork(view: RegistryView, naming: Naming): boolean {
  const finished = [naming.namespaceFinalizer, "foregroundDeletion", "orphan"].map(
    (name) => `"${name}"`,
  );
  finished.push('"customresourcecleanup.');
  /** Whether it is being deleted, and the loops finish that. */
  const isBeingDeleted = (object: StoredObject) => {
    // Bytes are made when they are asked for.
    if (!object.isTied) return false;
    const { bytes } = object;
    if (!bytes.includes('"deletionTimestamp":"')) return false;
    return finished.some((finalizer) => bytes.includes(finalizer));
  };
  for (const { id } of view.partitions) if (hasAny(view, id, isBeingDeleted)) return true;
  return hasAny(view, JOBS, endsByItself) || hasAny(view, SECRETS, isBootstrapToken);
}

const JOBS = partitionId("batch", "jobs");
const SECRETS = partitionId("", "secrets");

function endsByItself({ bytes }: StoredObject): boolean {
  return bytes.includes('"ttlSecondsAfterFinished":');
}

function isBootstrapToken({ name }: StoredObject): boolean {
  return name.startsWith(BOOTSTRAP_SECRET_PREFIX);
}

function hasAny(
  view: RegistryView,
  id: PartitionId,
  is: (object: StoredObject) => boolean,
): boolean {
  const partition = view.partition(id);
  if (partition.size === 0) return false;
  let found = false;
  partition.snapshot().tree.visit("", "", (object) => {
    found = is(object);
    return found ? STOP : undefined;
  });
  return found;
}

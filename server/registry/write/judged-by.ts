/**
 * What a write is judged by besides its object: the namespace that it goes to. The transaction holds
 * it as a compare, so that no object slips into a namespace between the look and the write, on
 * whichever replica (S1-GEN-20, S1-GEN-21).
 */
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import type { Compare, Revision } from "../../../storage/kv/store.js";
import { partitionId } from "../../../storage/objects/keys.js";
import { namespaceTerminating, notFound } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";

/** Compares with the revisions that the view has. */
export type Conditions = readonly Compare[];

interface Judged {
  readonly view: Pick<RegistryView, "keys" | "partition">;
}

const NAMESPACES = { group: "", resource: "namespaces" };
const NAMESPACES_PARTITION = partitionId("", "namespaces");
const NONE: Conditions = Object.freeze([]);
const ABSENT = 0 as Revision;

/** What has to be as it is now when the decision is committed. */
export function conditionsOf(
  { view }: Judged,
  resource: StoredResource,
  namespace: string,
): Conditions {
  if (!resource.isNamespaced) return NONE;
  const modRevision = view.partition(NAMESPACES_PARTITION).get(namespace)?.revision ?? ABSENT;
  return [{ key: view.keys.key(NAMESPACES_PARTITION, namespace), modRevision }];
}

/** Whether two looks saw the same. */
export function isSameState(one: Conditions, other: Conditions): boolean {
  return one.every(({ modRevision }, index) => other[index]?.modRevision === modRevision);
}

/** New objects need a namespace that is there and stays. @throws {StatusError} 404, 403 */
export function requireNamespace(
  { view }: Judged,
  resource: StoredResource,
  namespace: string,
  name: string,
): void {
  const found = view.partition(NAMESPACES_PARTITION).get(namespace);
  if (found === undefined) throw notFound(NAMESPACES, namespace);
  if (found.fields["status.phase"] === "Terminating") {
    throw namespaceTerminating(resource, name, namespace);
  }
}

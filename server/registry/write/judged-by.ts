/**
 * What a write is judged by besides its object: the namespace that it goes to, and the rules in force
 * (epochs.ts). The transaction holds both as compares, so that no object slips into a namespace that is
 * going away, and none past a rule, between the look and the write, on whichever replica (S1-GEN-20,
 * S1-GEN-21).
 */
import type { Revision } from "../../../storage/kv/store.js";
import { namespaceTerminating, notFound } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { Conditions } from "./decision.js";
import { type EpochHost, epochCompares, NAMESPACES_PARTITION } from "./epochs.js";

const NAMESPACES = { group: "", resource: "namespaces" };
const ABSENT = 0 as Revision;

/** What has to be as it is now when the decision is committed. */
export function conditionsOf(
  host: EpochHost,
  resource: StoredResource,
  namespace: string,
): Conditions {
  const compares = epochCompares(host, resource, namespace);
  if (resource.isNamespaced) {
    const { keys } = host.view;
    const modRevision = findNamespace(host, namespace)?.revision ?? ABSENT;
    compares.push({ key: keys.key(NAMESPACES_PARTITION, namespace), modRevision });
  }
  return compares;
}

function findNamespace({ view }: EpochHost, name: string) {
  return view.partition(NAMESPACES_PARTITION).get(name);
}

/** Whether two looks saw the same. */
export function isSameState(one: Conditions, other: Conditions): boolean {
  return one.every(({ modRevision }, index) => other[index]?.modRevision === modRevision);
}

/** New objects need a namespace that is there and stays. @throws {StatusError} 404, 403 */
export function requireNamespace(
  host: EpochHost,
  resource: StoredResource,
  namespace: string,
  name: string,
): void {
  const found = findNamespace(host, namespace);
  if (found === undefined) throw notFound(NAMESPACES, namespace);
  if (found.fields["status.phase"] === "Terminating") {
    throw namespaceTerminating(resource, name, namespace);
  }
}

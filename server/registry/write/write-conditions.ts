/**
 * The conditions of a write besides its object: its namespace, and the rules in force (epochs.ts). The
 * transaction compares both, so that between judgement and commit no object slips into a terminating
 * namespace or past a changed rule, on any replica (S1-GEN-20, S1-GEN-21).
 */
import type { Revision } from "../../../storage/kv/store.js";
import { namespaceTerminating, notFound } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { Conditions } from "./decision.js";
import { type EpochHost, epochCompares, NAMESPACES_PARTITION } from "./epochs.js";

const NAMESPACES = { group: "", resource: "namespaces" };
const ABSENT = 0 as Revision;

/** The conditions that must still hold when the decision is committed. */
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

export function hasNamespace(host: EpochHost, name: string): boolean {
  return findNamespace(host, name) !== undefined;
}

/** Whether two attempts saw the same state. */
export function isSameState(one: Conditions, other: Conditions): boolean {
  return one.every(({ modRevision }, index) => other[index]?.modRevision === modRevision);
}

/**
 * New objects need an existing namespace that is not terminating. @throws {StatusError} 404, 403
 */
export function requireNamespace(
  host: EpochHost,
  resource: { readonly group: string; readonly resource: string },
  namespace: string,
  name: string,
): void {
  const found = findNamespace(host, namespace);
  if (found === undefined) throw notFound(NAMESPACES, namespace);
  if (found.fields["status.phase"] === "Terminating") {
    throw namespaceTerminating(resource, name, namespace);
  }
}

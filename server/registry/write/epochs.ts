/**
 * Epochs ensure that a write is never judged by an outdated rule, on any replica and for any user. A
 * rule is an object that other writes are judged by; its kind says so (`strategy.judges`). Every write
 * of a rule puts the epoch of its scope in its own transaction, and every write compares the epochs of
 * its scopes with the revisions in the view when it was judged.
 *
 *   key                                    moved by                           compared by
 *   <prefix>/.epoch/cluster                definitions, webhooks, policies    every write
 *   <prefix>/.epoch/namespace:<name>       limits, quotas, accounts in it     every write in it
 *   <prefix>/.epoch/grants                 roles and bindings                 writes of roles and bindings
 *   <prefix>/.epoch/classes                classes of priority, storage, ...  writes that name them
 *   <prefix>/core/namespaces/<name>        the namespace itself               every write in it
 *
 * A worked example: LimitRange L is replaced through replica A, and a pod is created through B.
 *
 *   revision 10   both views: L at 7, epoch of the namespace at 7
 *   A commits     L and the epoch at 11
 *   B judges      the pod by L at 7; commits "epoch still at 7": refused, it is at 11
 *   B waits       until its view has 11, which holds the new L as well; judges anew; commits
 *
 * An epoch that has never moved is absent, which compares as revision 0; so rules stored before epochs
 * existed need no migration. A namespace's epoch is deleted with it: a new namespace of the same name
 * has another revision anyway.
 */
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import type { Compare, Operation } from "../../../storage/kv/store.js";
import { type PartitionId, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { RuleScope } from "../../kinds/strategy.js";
import { parseCurrent } from "./current.js";
import type { Decision } from "./decision.js";

/** Objects that are rules only temporarily, such as parameters of policies. */
export interface PassingRules {
  /** undefined = no write is judged by it. Called for every write, so it must be fast. */
  scopeOf(partition: PartitionId, namespace: string, name: string): RuleScope | undefined;
}

/** The part of the registry that epochs need. */
export interface EpochHost {
  readonly view: Pick<RegistryView, "keys" | "partition" | "epoch">;
  readonly passingRules?: PassingRules | undefined;
}

export const NAMESPACES_PARTITION = partitionId("", "namespaces");

const NO_CONTENT = Buffer.alloc(0);

/** The epochs that judge a write of the resource, as compares with the view's revisions. */
export function epochCompares(
  host: EpochHost,
  { isNamespaced, strategy }: StoredResource,
  namespace: string,
): Compare[] {
  const compares = [compareOf(host, "cluster", namespace)];
  if (isNamespaced) compares.push(compareOf(host, "namespace", namespace));
  if (strategy.judgedBy !== undefined) compares.push(compareOf(host, strategy.judgedBy, namespace));
  return compares;
}

/** The epochs of some scopes. */
export function scopedEpochs(
  host: EpochHost,
  scopes: readonly RuleScope[],
  namespace: string,
): Compare[] {
  return scopes.map((scope) => compareOf(host, scope, namespace));
}

function compareOf({ view }: EpochHost, scope: RuleScope, namespace: string): Compare {
  const name = nameOf(scope, namespace);
  return { key: view.keys.epochKey(name), modRevision: view.epoch(name) };
}

function nameOf(scope: RuleScope, namespace: string): string {
  return scope === "namespace" ? `namespace:${namespace}` : scope;
}

/** A write about to be committed. */
export interface RuleChange {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  readonly current: StoredObject | undefined;
  readonly next: Pick<Decision, "action" | "object">;
}

/** The epoch that the write moves; undefined = neither the old nor the new object judges writes. */
export function movedEpoch(host: EpochHost, change: RuleChange): Operation | undefined {
  const { resource, namespace, name, current, next } = change;
  const { partition, strategy } = resource;
  if (partition === NAMESPACES_PARTITION) {
    return next.action === "remove" ? endEpoch(host, name) : undefined;
  }
  const scope = strategy.judges ?? host.passingRules?.scopeOf(partition, namespace, name);
  if (scope === undefined || judgesAlike(resource, current, next)) return undefined;
  const key = host.view.keys.epochKey(nameOf(scope, namespace));
  return { type: "put", key, value: NO_CONTENT };
}

/** Deletes a namespace's epoch with the namespace, if it ever moved. */
function endEpoch({ view }: EpochHost, namespace: string): Operation | undefined {
  const name = nameOf("namespace", namespace);
  return view.epoch(name) === 0 ? undefined : { type: "delete", key: view.keys.epochKey(name) };
}

function judgesAlike(
  { strategy }: StoredResource,
  current: StoredObject | undefined,
  { action, object }: RuleChange["next"],
): boolean {
  if (strategy.judgesAlike === undefined || current === undefined || action === "remove") {
    return false;
  }
  return strategy.judgesAlike(object, parseCurrent(current));
}

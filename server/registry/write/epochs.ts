/**
 * Epochs ensure that a write is never judged by an outdated rule, on any replica and for any user. A
 * rule is an object that other writes are judged by; its kind says so (`strategy.judges`). Every write
 * of a rule puts the epoch of its scope in its own transaction, and every write compares the epochs of
 * its scopes with the revisions in the view when it was judged.
 *
 *   key                                    moved by                           compared by
 *   <prefix>/.epoch/cluster                definitions, webhooks, policies    every write
 *   <prefix>/.epoch/namespace:<name>       limits and quotas in it            every write in it
 *   <prefix>/.epoch/accounts:<name>        service accounts in it             writes of pods in it
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
 * existed need no migration. A namespace's epochs are deleted with it: a new namespace of the same name
 * has another revision anyway.
 *
 * What this server makes itself moves no epoch of writes of users that it does not judge: an APIService of
 * its own, the rules that an aggregated role gathers, the account of a new namespace.
 */
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import type { Compare, Operation } from "../../../storage/kv/store.js";
import { type PartitionId, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { RuleScope } from "../../kinds/strategy.js";
import { isReadable, parseCurrent } from "./current.js";
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
  for (const scope of strategy.judgedBy ?? []) compares.push(compareOf(host, scope, namespace));
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
  return scope === "namespace" || scope === "accounts" ? `${scope}:${namespace}` : scope;
}

/** A write about to be committed. */
export interface RuleChange {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  readonly current: StoredObject | undefined;
  readonly next: Pick<Decision, "action" | "object">;
}

/** The epochs that the write moves or ends; none = neither the old nor the new object judges writes. */
export function movedEpochs(host: EpochHost, change: RuleChange): readonly Operation[] {
  const { resource, namespace, name, current, next } = change;
  const { partition, strategy } = resource;
  if (partition === NAMESPACES_PARTITION) {
    return next.action === "remove" ? endEpochs(host, name) : NONE;
  }
  const scope = strategy.judges ?? host.passingRules?.scopeOf(partition, namespace, name);
  if (scope === undefined || judgesAlike(resource, current, next)) return NONE;
  const key = host.view.keys.epochKey(nameOf(scope, namespace));
  return [{ type: "put", key, value: NO_CONTENT }];
}

const NONE: readonly Operation[] = [];

/** Deletes a namespace's epochs with the namespace, as far as they ever moved. */
function endEpochs({ view }: EpochHost, namespace: string): readonly Operation[] {
  return (["namespace", "accounts"] as const)
    .map((scope) => nameOf(scope, namespace))
    .filter((name) => view.epoch(name) !== 0)
    .map((name) => ({ type: "delete", key: view.keys.epochKey(name) }));
}

function judgesAlike(
  resource: StoredResource,
  current: StoredObject | undefined,
  { action, object }: RuleChange["next"],
): boolean {
  const { strategy } = resource;
  if (strategy.judgesAlike === undefined) return false;
  if (action !== "remove") return strategy.judgesAlike(object, current && parseCurrent(current));
  // Unsafe deletion removes what cannot be read, and so cannot be compared (S1-UNS-08).
  if (current !== undefined && !isReadable(resource, current)) return false;
  return strategy.judgesAlike(undefined, current && parseCurrent(current));
}

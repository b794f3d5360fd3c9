/**
 * GarbageCollector: deletes objects whose owners are all gone. An owner deleted in the foreground goes
 * after its dependents; one with the orphan policy goes after its dependents have dropped their
 * references (S1-META-18, S1-DEL-06).
 *
 *   followers ──► OwnerGraph ──► WorkQueue ──► workers: look again, fresh, then write conditionally
 *
 * Graph and queue only say what to check. Each decision is made on the view after a freshness barrier,
 * and each write is conditional on the uid and resourceVersion decided on. So a stale graph, or a second
 * collector by mistake, costs another check and never an object.
 */

import { setMaxListeners } from "node:events";
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { ApiObject, ObjectMeta, OwnerReference } from "../api/meta.js";
import { StatusError } from "../api/status.js";
import { eachInTurn } from "./each-in-turn.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "./objects-api.js";
import {
  deletionOf,
  FOREGROUND_FINALIZER,
  type GraphNode,
  isWaiting,
  ORPHAN_FINALIZER,
  OwnerGraph,
} from "./owner-graph.js";
import { type OwnerFindings, OwnerLookup } from "./owner-lookup.js";
import type { LoopParts } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

/** Objects processed concurrently; most of the time is the store's. */
const WORKERS = 20;
/** How often the dependents that an owner waits for are looked at again. */
const URGE_EVERY_MS = 10_000;
/** Delay before objects with undecidable owners are checked again. */
const UNKNOWN_OWNER_RETRY_MS = 300_000;

export class GarbageCollector {
  readonly #objects: ObjectsApi;
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** When the dependents of an owner that waits were last looked at because of it. */
  readonly #urgedMs = new WeakMap<GraphNode, number>();
  readonly #graph = new OwnerGraph();
  readonly #queue: WorkQueue;
  readonly #lookup: OwnerLookup;
  /** Whether all resources served at the start are followed. */
  #isFollowing = false;

  constructor(options: LoopParts) {
    this.#objects = options.objects.because({ by: "garbage-collector", name: "" });
    this.#logger = options.logger;
    this.#clock = options.clock;
    this.#queue = new WorkQueue(options.clock);
    this.#lookup = new OwnerLookup(options);
  }

  /** The number of objects that are due or being processed. */
  get pending(): number {
    return this.#queue.pending;
  }

  /** Runs until the signal aborts; once. */
  async run(ended: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([ended]);
    // One listener per resource and worker is intended.
    setMaxListeners(0, signal);
    const isCollected = (resource: ControlledResource) => resource.isCollected;
    const follow = (resource: ControlledResource) =>
      this.#objects.follow(resource, this.#follower(resource), signal);
    const following = this.#objects.runForEach(isCollected, follow, signal);
    this.#isFollowing = true;
    const working = this.#queue.run((key) => this.#handle(key, signal), signal, WORKERS);
    await Promise.all([following, working]);
  }

  #follower(resource: ControlledResource) {
    let isFirst = true;
    return {
      began: () => {
        // Objects may name owners of a kind that was unknown before.
        if (isFirst && this.#isFollowing) this.#addAll();
        if (!isFirst) {
          // Owners may have changed unseen, so all objects are checked again.
          this.#graph.clear(resource);
          this.#addAll();
        }
        isFirst = false;
      },
      ignores: (object: ObjectKey & { readonly isTied: boolean }) =>
        !object.isTied && !this.#graph.has(resource, object),
      changed: (metadata: ObjectMeta) => this.#changed(resource, metadata),
      removed: (metadata: ObjectMeta) => this.#removed(resource, metadata),
      ended: () => this.#graph.clear(resource),
    };
  }

  #changed(resource: ControlledResource, metadata: ObjectMeta): void {
    const { before, after } = this.#graph.put(resource, metadata);
    if (before !== undefined && before.uid !== after.uid) this.#isGone(before);
    const isKnown = before?.uid === after.uid;
    const wasWaiting = isKnown && isWaiting(before);
    if (isWaiting(after) && !wasWaiting) {
      this.#queue.add(after.key);
      for (const { key } of this.#graph.dependents(after)) this.#queue.add(key);
    }
    if (isKnown && isSameOwners(before.owners, after.owners)) return;
    if (after.owners.length > 0) this.#queue.add(after.key);
    // An owner may be waiting for a reference that is gone or no longer blocks.
    if (isKnown) this.#addWaitingOwners(before);
  }

  #removed(resource: ControlledResource, metadata: ObjectMeta): void {
    const before = this.#graph.delete(resource, metadata);
    const { uid, namespace = "" } = metadata;
    if (before !== undefined) this.#isGone(before);
    else if (uid !== undefined) this.#addDependents({ uid, namespace });
    else this.#addAll();
  }

  #isGone(node: GraphNode): void {
    this.#queue.forget(node.key);
    this.#addWaitingOwners(node);
    this.#addDependents(node);
  }

  #addDependents(owner: { readonly uid: string; readonly namespace: string }): void {
    for (const { key } of this.#graph.dependents(owner)) this.#queue.add(key);
  }

  #addWaitingOwners({ owners }: GraphNode): void {
    for (const { uid } of owners) {
      const key = this.#graph.waitingOwner(uid);
      if (key !== undefined) this.#queue.add(key);
    }
  }

  #addAll(): void {
    for (const { key } of this.#graph.all()) this.#queue.add(key);
  }

  async #handle(key: string, signal: AbortSignal): Promise<void> {
    const node = this.#graph.get(key);
    if (node === undefined) return;
    try {
      await this.#process(node, signal);
      this.#queue.forget(key);
    } catch (error) {
      if (signal.aborted) return;
      if (!isLostRace(error)) {
        this.#logger.warn({ object: key, err: error }, "collecting failed, trying again");
      }
      this.#queue.retry(key);
    }
  }

  async #process(node: GraphNode, signal: AbortSignal): Promise<void> {
    if (node.deletion === "begun") return;
    if (node.deletion === "none" && this.#isKept(node)) return;
    await this.#objects.refresh();
    const object = this.#objects.get(node.resource, node);
    if (object === undefined || object.metadata.uid !== node.uid) return;
    switch (deletionOf(object.metadata)) {
      case "orphan":
        return await this.#orphan(node, object, signal);
      case "foreground":
        return await this.#awaitDependents(node, object, signal);
      case "none":
        return await this.#judge(node, object, signal);
      case "begun":
        return;
    }
  }

  /** The usual case, from memory: all owners exist. */
  #isKept({ owners, namespace }: GraphNode): boolean {
    return this.#lookup.find(owners, namespace).solid.length === owners.length;
  }

  /** Decides about a live object: whether any owner is left. */
  async #judge(node: GraphNode, object: ApiObject, signal: AbortSignal): Promise<void> {
    const references = object.metadata.ownerReferences ?? [];
    if (references.length === 0) return;
    const findings = this.#lookup.find(references, node.namespace);
    const { solid, absent, waiting, unknown } = findings;
    await this.#lookup.reportCrossing(node, [...absent, ...unknown], signal);
    if (unknown.length > 0) {
      this.#queue.add(node.key, UNKNOWN_OWNER_RETRY_MS);
      return;
    }
    if (solid.length > 0) {
      if (absent.length > 0 || waiting.length > 0) {
        await this.#dropReferences(node, object, findings, signal);
      }
      return;
    }
    const [owner] = [...absent, ...waiting];
    await this.#collect(node, object, { isAwaited: waiting.length > 0, owner }, signal);
  }

  /** Keeps the live owners and drops the other references. */
  async #dropReferences(
    node: GraphNode,
    object: ApiObject,
    { absent, waiting }: OwnerFindings,
    signal: AbortSignal,
  ): Promise<void> {
    const dropped = new Set([...absent, ...waiting].map(({ uid }) => uid));
    const objects = this.#because(absent[0] ?? waiting[0], node.namespace);
    await objects.update(node.resource, withoutOwners(object, dropped), "", signal);
  }

  async #collect(
    node: GraphNode,
    object: ApiObject,
    { isAwaited, owner }: Lost,
    signal: AbortSignal,
  ): Promise<void> {
    const dependents = this.#graph.dependents(node);
    const objects = this.#because(owner, node.namespace);
    if (!isAwaited || dependents.length === 0) {
      await this.#remove(objects, node, object, policyOf(object), signal);
      return;
    }
    let current = object;
    if (dependents.some(({ deletion }) => deletion === "foreground")) {
      // In a cycle every object would wait for another, so this one no longer blocks.
      const owners = object.metadata.ownerReferences ?? [];
      const unblocked = owners.map((owner) => ({ ...owner, blockOwnerDeletion: false }));
      const metadata = { ...object.metadata, ownerReferences: unblocked };
      current = await objects.update(node.resource, { ...object, metadata }, "", signal);
    }
    await this.#remove(objects, node, current, "Foreground", signal);
  }

  /** The objects as the collector changes them for the sake of an owner that is gone, or goes. */
  #because(owner: OwnerReference | undefined, namespace: string): ObjectsApi {
    const by = "garbage-collector";
    const kind = owner && this.#objects.byKind(owner.apiVersion, owner.kind);
    if (owner === undefined || kind === undefined) return this.#objects.because({ by, name: "" });
    const { group, resource, isNamespaced } = kind;
    const { name, uid } = owner;
    const object = { group, resource, namespace: isNamespaced ? namespace : "", name, uid };
    return this.#objects.because({ by, name: "", object });
  }

  async #remove(
    objects: ObjectsApi,
    { resource, namespace, name, key }: GraphNode,
    { metadata: { uid = "", resourceVersion = "" } }: ApiObject,
    propagationPolicy: "Background" | "Foreground" | "Orphan",
    signal: AbortSignal,
  ): Promise<void> {
    this.#logger.debug({ object: key, propagationPolicy }, "collecting");
    const options = { uid, resourceVersion, propagationPolicy };
    await objects.remove(resource, { namespace, name }, options, signal);
  }

  /** Foreground deletion: finishes the owner if its dependents are gone. */
  async #awaitDependents(node: GraphNode, object: ApiObject, signal: AbortSignal): Promise<void> {
    if (this.#graph.isBlocked(node)) {
      // Each of them that goes leads here again, so they are not gone through each time.
      const nowMs = this.#clock.monotonic();
      if (nowMs - (this.#urgedMs.get(node) ?? Number.NEGATIVE_INFINITY) < URGE_EVERY_MS) return;
      this.#urgedMs.set(node, nowMs);
      for (const { key, deletion } of this.#graph.dependents(node)) {
        if (deletion === "none") this.#queue.add(key);
      }
      return;
    }
    await this.#finish(node, object, FOREGROUND_FINALIZER, signal);
  }

  /** Orphan policy: releases the dependents, then finishes the owner. */
  async #orphan(node: GraphNode, object: ApiObject, signal: AbortSignal): Promise<void> {
    const owner = new Set([node.uid]);
    const dependents = this.#graph.dependents(node).values();
    const worker = () =>
      eachInTurn(dependents, (dependent) => this.#release(dependent, owner, signal));
    await Promise.all(Array.from({ length: WORKERS }, worker));
    await this.#finish(node, object, ORPHAN_FINALIZER, signal);
  }

  /** Removes an owner reference from a dependent, unless the dependent is gone. */
  async #release(
    { resource, namespace, name, uid }: GraphNode,
    owner: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const current = this.#objects.get(resource, { namespace, name });
    if (current?.metadata.uid !== uid) return;
    try {
      await this.#objects.update(resource, withoutOwners(current, owner), "", signal);
    } catch (error) {
      const isGone = error instanceof StatusError && error.code === 404;
      if (!isGone) throw error;
    }
  }

  /** Removes our finalizer. */
  async #finish(
    node: GraphNode,
    object: ApiObject,
    finalizer: string,
    signal: AbortSignal,
  ): Promise<void> {
    const finalizers = (object.metadata.finalizers ?? []).filter((item) => item !== finalizer);
    const metadata = { ...object.metadata, finalizers };
    await this.#objects.update(node.resource, { ...object, metadata }, "", signal);
  }
}

/** The owners of an object that has to go. */
interface Lost {
  /** Whether one of them waits for it. */
  readonly isAwaited: boolean;
  readonly owner: OwnerReference | undefined;
}

function withoutOwners(object: ApiObject, uids: ReadonlySet<string>): ApiObject {
  const ownerReferences = (object.metadata.ownerReferences ?? []).filter(
    ({ uid }) => !uids.has(uid),
  );
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

/** An earlier delete's policy stands. */
function policyOf({ metadata: { finalizers = [] } }: ApiObject) {
  if (finalizers.includes(ORPHAN_FINALIZER)) return "Orphan";
  return finalizers.includes(FOREGROUND_FINALIZER) ? "Foreground" : "Background";
}

function isSameOwners(a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean {
  return (
    a.length === b.length &&
    a.every((owner, index) => {
      const other = b[index];
      return (
        owner.uid === other?.uid &&
        owner.name === other.name &&
        owner.kind === other.kind &&
        owner.apiVersion === other.apiVersion &&
        (owner.blockOwnerDeletion === true) === (other.blockOwnerDeletion === true)
      );
    })
  );
}

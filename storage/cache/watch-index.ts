/**
 * WatchIndex finds the watchers that an event may concern without asking each of them. A watcher is in one
 * bucket, that of the narrowest thing it names: an object, a namespace, a value of the trigger field, or
 * everything. An event looks into a handful of buckets, however many watchers there are.
 *
 *   watcher A of all pods                     everything
 *   watcher B of namespace "shop"             byNamespace "shop"
 *   watcher C of shop/cart                    byPath "shop/cart"
 *   watcher D of spec.nodeName=n1             byTrigger "n1"
 *
 *   shop/cart moves from node n1 to n2        wakes A, B, C and, as it leaves n1, D
 *   bank/vault changes on node n3             wakes A
 */
import { assert } from "../base/assert.js";
import type { ObjectEvent } from "./event-ring.js";
import type { Watcher, WatchScope } from "./watcher.js";

/** Of partitions that nobody watches, or not in that way; nothing is put in here. */
const NOBODY = new Set<Watcher>();
const NOWHERE = new Map<string, Set<Watcher>>();

export class WatchIndex {
  #everything: Set<Watcher> = NOBODY;
  #byNamespace: Map<string, Set<Watcher>> = NOWHERE;
  #byPath: Map<string, Set<Watcher>> = NOWHERE;
  #byTrigger: Map<string, Set<Watcher>> = NOWHERE;
  readonly #triggerField: string | undefined;
  #size = 0;

  /** @param triggerField path of a selectable field that many watchers fix, such as "spec.nodeName" */
  constructor(triggerField: string | undefined) {
    this.#triggerField = triggerField;
  }

  get size(): number {
    return this.#size;
  }

  add(watcher: Watcher): void {
    this.#makeRoom(watcher.scope);
    const bucket = this.#bucket(watcher.scope, true);
    assert(bucket?.has(watcher) === false, "WatcherIsInOneBucket");
    bucket.add(watcher);
    this.#size++;
  }

  remove(watcher: Watcher): void {
    if (this.#bucket(watcher.scope, false)?.delete(watcher) === true) this.#size--;
    assert(this.#size >= 0, "WatcherIsInOneBucket");
    this.#discardEmpty(watcher.scope);
  }

  /** All watchers, for bookmarks and for a view that had to start anew. */
  *all(): Iterable<Watcher> {
    yield* this.#everything;
    for (const index of [this.#byNamespace, this.#byPath, this.#byTrigger]) {
      for (const bucket of index.values()) yield* bucket;
    }
  }

  /** Wakes the watchers that may want the event at `sequence`. */
  wake(event: ObjectEvent, sequence: number): void {
    if (this.#size === 0) return;
    const { state, previous } = event;
    for (const watcher of this.#everything) watcher.wake(sequence);
    wakeAll(this.#byNamespace.get(state.namespace), sequence);
    if (this.#byPath.size > 0) {
      wakeAll(this.#byPath.get(`${state.namespace}/${state.name}`), sequence);
      if (state.namespace !== "") wakeAll(this.#byPath.get(`/${state.name}`), sequence);
    }
    if (this.#triggerField === undefined || this.#byTrigger.size === 0) return;
    const now = state.fields[this.#triggerField];
    const before = previous?.fields[this.#triggerField];
    if (now !== undefined) wakeAll(this.#byTrigger.get(now), sequence);
    if (before !== undefined && before !== now) wakeAll(this.#byTrigger.get(before), sequence);
  }

  #makeRoom(scope: WatchScope): void {
    const [index] = this.#place(scope);
    if (index === undefined && this.#everything === NOBODY) this.#everything = new Set();
    if (index !== NOWHERE) return;
    if (scope.name !== undefined) this.#byPath = new Map();
    else if (scope.trigger !== undefined && this.#triggerField !== undefined) {
      this.#byTrigger = new Map();
    } else this.#byNamespace = new Map();
  }

  #bucket(scope: WatchScope, create: boolean): Set<Watcher> | undefined {
    const [index, key] = this.#place(scope);
    if (index === undefined) return this.#everything;
    let bucket = index.get(key);
    if (bucket === undefined && create) {
      bucket = new Set();
      index.set(key, bucket);
    }
    return bucket;
  }

  #discardEmpty(scope: WatchScope): void {
    const [index, key] = this.#place(scope);
    if (index?.get(key)?.size === 0) index.delete(key);
  }

  #place({
    namespace,
    name,
    trigger,
  }: WatchScope): [Map<string, Set<Watcher>> | undefined, string] {
    // "/web" stands for an object of that name in any namespace, or in none.
    if (name !== undefined) return [this.#byPath, `${namespace}/${name}`];
    if (trigger !== undefined && this.#triggerField !== undefined)
      return [this.#byTrigger, trigger];
    if (namespace !== "") return [this.#byNamespace, namespace];
    return [undefined, ""];
  }
}

function wakeAll(bucket: Set<Watcher> | undefined, sequence: number): void {
  if (bucket === undefined) return;
  for (const watcher of bucket) watcher.wake(sequence);
}

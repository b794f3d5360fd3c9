/**
 * Delete a collection: deletes everything that a selector matches now, several objects at a time, each
 * in its own transaction, on condition that it is as it was looked at for that. Neither selector nor uid is asked again, as in
 * kube-apiserver: one that was relabelled or made anew meanwhile goes too. They do not share a transaction: its
 * events would have one resourceVersion, and a client whose watch broke off between two of them would
 * resume behind both (OneEventPerRevision).
 */

import { nextTurn } from "../../../storage/base/next-turn.js";
import { ShortTurns } from "../../../storage/base/short-turns.js";
import { inPages } from "../../../storage/cache/in-pages.js";
import type { Revision } from "../../../storage/kv/store.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Selector } from "../../api/selectors.js";
import { expired, StatusError } from "../../api/status.js";
import { isCurrent } from "../../kinds/catalog.js";
import { isStored, type StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import type { AdmissionRemarks, Registry } from "../registry.js";
import { refresh } from "./commit.js";
import { planDelete, warnOfDefault } from "./delete.js";
import type { DeleteOptions } from "./delete-options.js";
import { LONG_BYTES, type WritingRequest } from "./long-write.js";
import { OutdatedKind } from "./outdated-kind.js";
import { runWrite } from "./write.js";

export interface DeleteCollectionTarget {
  readonly resource: StoredResource;
  /** "" = all namespaces, for callers inside the server. */
  readonly namespace: string;
  readonly selector: Selector;
  /** Limits the deletion to the first matches; absent or 0 = all. */
  readonly limit?: number;
  /** Goes on behind a path, with what was found then; -1 = with what is there now. */
  readonly start?: { readonly revision: Revision | -1; readonly after: string };
  readonly options: DeleteOptions;
  /** The requesting user; absent = the server itself. */
  readonly user?: UserInfo;
  /** Receives warnings for the client of a successful delete. */
  readonly warn?: (text: string) => void;
  readonly remarks?: AdmissionRemarks;
  /** The request, which ends its turns; absent = the server itself. */
  readonly request?: WritingRequest;
}

/** The deleted objects as they were found. */
export interface DeletedCollection {
  /** In force when the last one was deleted. */
  readonly resource: StoredResource;
  readonly objects: readonly StoredObject[];
  /** When they were found. */
  readonly revision: Revision;
  /** Where it ended at its limit. */
  readonly rest?: Rest | undefined;
}

interface Rest {
  /** The path of the last object. */
  readonly after: string;
  /** Objects behind it; undefined = whoever selects did not count. */
  readonly remaining: number | undefined;
}

/** Objects converted in one call. */
const CONVERTED_MAX = 500;

/** Concurrent transactions: enough to fill the time that one waits for the disk. */
const CONCURRENCY_MAX = 32;

/** Deletes the matching objects and returns them. @throws {StatusError} */
export async function deleteCollection(
  registry: Registry,
  target: DeleteCollectionTarget,
  signal: SignalSource,
): Promise<DeletedCollection> {
  warnOfDefault(target);
  await refresh(registry);
  const { objects, revision, rest } = await matching(registry, target, signal);
  const deleted = new Array<StoredObject | undefined>(objects.length);
  const turns = new SharedTurns(() => target.request?.nextTurn() ?? nextTurn());
  const inTurns = { ...target, request: turns };
  // One of them can be the one with a version or uid at most: none behind the first that is not it goes.
  const workers = target.options.preconditions === undefined ? CONCURRENCY_MAX : 1;
  await forEachOf(objects, workers, async (object, index) => {
    await turns.pace();
    deleted[index] = await deleteFound(registry, inTurns, object, signal);
  });
  const resource = redefined(registry, target.resource);
  return { resource, objects: deleted.filter((object) => object !== undefined), revision, rest };
}

/** What is begun in one turn of the event loop: without it, all deletions that need not wait for the store are one turn. */
const TURN_MS = 5;

/** The turns that all deletions of a collection share: each takes one after the other, and large objects are cut. */
class SharedTurns implements WritingRequest {
  readonly bodyBytes = 0;
  readonly #nextTurn: () => Promise<void>;
  #sinceMs = performance.now();
  #last: Promise<void> = Promise.resolve();

  constructor(nextTurn: () => Promise<void>) {
    this.#nextTurn = nextTurn;
  }

  /** A turn of its own for each that waits. */
  nextTurn(): Promise<void> {
    this.#last = this.#last.then(async () => {
      await this.#nextTurn();
      this.#sinceMs = performance.now();
    });
    return this.#last;
  }

  /** Waits only if this turn has taken long. */
  async pace(): Promise<void> {
    if (performance.now() - this.#sinceMs >= TURN_MS) await this.nextTurn();
  }
}

async function matching(
  registry: Registry,
  { resource, namespace, selector, limit = 0, user, start }: DeleteCollectionTarget,
  signal: SignalSource,
): Promise<{ objects: StoredObject[]; revision: Revision; rest?: Rest }> {
  const partition = registry.view.partition(resource.partition);
  const { revision: at = -1, after = "" } = start ?? {};
  const snapshot = at === -1 ? partition.snapshot() : partition.snapshotAt(at);
  if (snapshot === undefined) throw expired("what was found is no longer in memory");
  const { tree, revision } = snapshot;
  const objects: StoredObject[] = [];
  const turns = new ShortTurns();
  // Objects are selected, and shown to who deletes them, in the version that was asked: what cannot be shown stays.
  const remote = user === undefined ? undefined : resource.conversion?.remote;
  if (remote !== undefined) {
    const asked: StoredObject[] = [];
    const isAny = selector.asksServedFields;
    for (const object of inPages(tree, namespace, after)) {
      const yielded = turns.yieldIfLong();
      if (yielded !== undefined) await yielded;
      const isReadable = object.corruption === undefined;
      if (isReadable && !remote.isReady(object) && (isAny || selector.matches(object)))
        asked.push(object);
    }
    for (let at = 0; at < asked.length; at += CONVERTED_MAX) {
      await remote.prepare(asked.slice(at, at + CONVERTED_MAX), signalOf(signal));
    }
  }
  for (const object of inPages(tree, namespace, after)) {
    const yielded = turns.yieldIfLong();
    if (yielded !== undefined) await yielded;
    // Unreadable objects are only deleted by name (S1-UNS-10).
    if (object.corruption !== undefined || !selector.matches(object)) continue;
    const last = objects.at(-1)?.path;
    if (objects.length === limit && last !== undefined) {
      partition.keep(snapshot);
      const remaining = selector.isFiltered ? undefined : tree.count(namespace, last);
      return { objects, revision, rest: { after: last, remaining } };
    }
    objects.push(object);
  }
  return { objects, revision };
}

/**
 * Workers that share one queue, so that a slow object delays only itself; large ones are taken one at a time, as each takes
 * many times its bytes while it is decoded. After a failure no further item is begun, and the error is thrown when
 * those under way are over: nothing goes on behind the answer.
 */
async function forEachOf(
  items: readonly StoredObject[],
  workers: number,
  run: (item: StoredObject, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  let large: Promise<void> = Promise.resolve();
  const worker = async () => {
    while (next < items.length && failure === undefined) {
      const index = next++;
      const item = items[index] as StoredObject;
      const runIfGood = async () => {
        if (failure === undefined) await run(item, index);
      };
      try {
        if (item.length < LONG_BYTES) {
          await runIfGood();
          continue;
        }
        const running = large.then(runIfGood);
        large = running.catch(() => {});
        await running;
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, worker));
  if (failure !== undefined) throw (failure as { readonly error: unknown }).error;
}

/** @returns the object when this request deleted it (or began to), else undefined */
async function deleteFound(
  registry: Registry,
  target: DeleteCollectionTarget,
  object: StoredObject,
  signal: SignalSource,
): Promise<StoredObject | undefined> {
  const { namespace, name } = object;
  for (let changes = 0; ; changes++) {
    const resource = redefined(registry, target.resource);
    const plan = planDelete(registry, {
      ...target,
      resource,
      namespace,
      name,
      isOfCollection: true,
    });
    try {
      // The view was brought up to date before the selector was evaluated.
      await runWrite(registry, { ...plan, isProved: true }, signal);
      return object;
    } catch (error) {
      // Another request deleted it first, which is the desired result.
      if (error instanceof StatusError && error.code === 404) return undefined;
      if (!(error instanceof OutdatedKind) || changes === DEFINITION_CHANGES_MAX) throw error;
    }
  }
}

/** Changes of a definition that one collection delete survives. */
const DEFINITION_CHANGES_MAX = 16;

/**
 * The current resource after its definition has changed. Restarting the request would forget what is
 * already deleted. If the resource is gone, the old one is returned and then refused.
 */
function redefined({ catalog }: Registry, resource: StoredResource): StoredResource {
  const { group, version, resource: plural } = resource;
  if (isCurrent(catalog.current, resource)) return resource;
  const found = catalog.current.find(group, version, plural);
  return found !== undefined && isStored(found) ? found : resource;
}

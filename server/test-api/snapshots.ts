/**
 * Snapshots of everything that a server of tests holds, and the way back to one. A snapshot is a copy of the view's
 * trees, which costs nothing until something changes. A reset writes what differs as ordinary changes, each with a
 * revision of its own, so that clients stay connected and see DELETED, ADDED and MODIFIED:
 *
 *   not there in the snapshot, or there under another uid   deleted, dependents before their owners
 *   otherwise different, or gone                            put with its uid, owners, finalizers and status as they
 *                                                           were; namespaces and definitions first, owners before dependents
 *
 * Nobody judges these writes: the state was judged when it came about. Leases stay, as they speak of processes that
 * run.
 */

import type { ObjectTree } from "../../storage/cache/object-tree.js";
import type { Operation, Revision } from "../../storage/kv/store.js";
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";
import { badRequest } from "../api/status.js";
import type { Registry } from "../registry/registry.js";
import { asStatus, putOperation } from "../registry/write/commit.js";
import { parseCurrent } from "../registry/write/current.js";
import { movedEpochs, NAMESPACES_PARTITION } from "../registry/write/epochs.js";
import { plainBytes } from "../registry/write/stored-bytes.js";

export interface SnapshotInfo {
  readonly id: string;
  readonly resourceVersion: string;
  readonly objects: number;
}

export interface ResetInfo {
  readonly deleted: number;
  readonly added: number;
  readonly modified: number;
}

interface Snapshot {
  readonly trees: ReadonlyMap<PartitionId, ObjectTree>;
  /** By key: under which later revisions objects are as they were, after a reset. */
  readonly restored: Map<string, Revision>;
}

/** An object that is not as it was. */
interface Difference {
  readonly partition: PartitionId;
  readonly path: string;
  readonly was: StoredObject | undefined;
  readonly is: StoredObject | undefined;
}

interface Change extends Difference {
  readonly action: "put" | "remove";
}

/** The next one takes the place of the oldest. */
const SNAPSHOTS_MAX = 32;
/** Commits under way at once; one group of them is one write of the disk. */
const AT_ONCE = 512;

export class Snapshots {
  readonly #registry: Registry;
  readonly #leases: PartitionId;
  readonly #definitions: PartitionId;
  readonly #kept = new Map<string, Snapshot>();
  #count = 0;
  /** Resets run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(registry: Registry) {
    const { groupDomain } = registry.naming;
    this.#registry = registry;
    this.#leases = partitionId(`coordination.${groupDomain}`, "leases");
    this.#definitions = partitionId(`apiextensions.${groupDomain}`, "customresourcedefinitions");
  }

  /** Holds every write acknowledged before the call. @throws {StatusError} */
  async take(): Promise<SnapshotInfo> {
    const { view, freshness } = this.#registry;
    await asStatus(freshness.fresh());
    const trees = new Map<PartitionId, ObjectTree>();
    let objects = 0;
    for (const partition of view.partitions) {
      if (partition.id === this.#leases) continue;
      trees.set(partition.id, partition.snapshot().tree);
      objects += partition.size;
    }
    const id = String(++this.#count);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= SNAPSHOTS_MAX) this.#kept.delete(oldest);
    this.#kept.set(id, { trees, restored: new Map() });
    return { id, resourceVersion: String(view.revision), objects };
  }

  /** @throws {StatusError} 400 there is no such snapshot; the store refuses */
  reset(id: string, signal: AbortSignal): Promise<ResetInfo> {
    const snapshot = this.#kept.get(id);
    if (snapshot === undefined) {
      const why = `there is no snapshot ${JSON.stringify(id)}; the newest ${SNAPSHOTS_MAX} are kept`;
      throw badRequest(why);
    }
    const reset = this.#turn.then(() => this.#resetTo(snapshot, signal));
    this.#turn = reset.catch(() => {});
    return reset;
  }

  async #resetTo(snapshot: Snapshot, signal: AbortSignal): Promise<ResetInfo> {
    await asStatus(this.#registry.freshness.fresh());
    const differences = this.#compare(snapshot);
    const gone = differences.filter(isToDelete);
    const put = differences.filter(({ was }) => was !== undefined);
    const changes: Change[] = [
      ...this.#ordered(gone, "is")
        .reverse()
        .map((each) => ({ ...each, action: "remove" as const })),
      ...this.#ordered(put, "was").map((each) => ({ ...each, action: "put" as const })),
    ];
    const last = await this.#commitAll(changes, snapshot.restored, signal);
    await asStatus(this.#registry.freshness.reached(last));
    const modified = put.filter((each) => each.is !== undefined && !isToDelete(each)).length;
    return { deleted: gone.length, added: put.length - modified, modified };
  }

  #compare({ trees, restored }: Snapshot): Difference[] {
    const { view } = this.#registry;
    const differences: Difference[] = [];
    const ids = new Set([...trees.keys(), ...[...view.partitions].map(({ id }) => id)]);
    ids.delete(this.#leases);
    for (const partition of ids) {
      const then = trees.get(partition);
      const now = view.partition(partition).snapshot().tree;
      const note = (path: string, was?: StoredObject, is?: StoredObject): undefined => {
        const isUnreadable = (was ?? is)?.corruption !== undefined;
        const isSame =
          is !== undefined &&
          was !== undefined &&
          (is.revision === was.revision ||
            is.revision === restored.get(view.keys.key(partition, path)));
        if (!isSame && !isUnreadable) differences.push({ partition, path, was, is });
        return undefined;
      };
      now.visit("", "", (is) => note(is.path, then?.get(is.path), is));
      then?.visit("", "", (was) =>
        now.get(was.path) === undefined ? note(was.path, was) : undefined,
      );
    }
    return differences;
  }

  /** What others need first. @param side which state the owners are read from */
  #ordered(differences: readonly Difference[], side: "was" | "is"): Difference[] {
    const owners = new Map<string, readonly string[]>();
    const uids = new Map<Difference, string>();
    for (const difference of differences) {
      const object = difference[side];
      if (object === undefined) continue;
      const { uid = "", ownerReferences } = parseCurrent(object).metadata;
      uids.set(difference, uid);
      owners.set(
        uid,
        (ownerReferences ?? []).map((owner) => owner.uid),
      );
    }
    const levels = new Map<string, number>();
    const levelOf = (uid: string): number => {
      const known = levels.get(uid);
      if (known !== undefined) return known;
      // For owners in a circle.
      levels.set(uid, 0);
      const level = (owners.get(uid) ?? []).reduce((most, o) => Math.max(most, 1 + levelOf(o)), 0);
      levels.set(uid, level);
      return level;
    };
    const rank = (difference: Difference) => {
      const { partition } = difference;
      if (partition === NAMESPACES_PARTITION || partition === this.#definitions) return -1;
      return levelOf(uids.get(difference) ?? "");
    };
    return differences
      .map((difference) => ({ difference, at: rank(difference) }))
      .sort((a, b) => a.at - b.at)
      .map(({ difference }) => difference);
  }

  /** The store takes them in this order. @returns the last revision */
  async #commitAll(
    changes: readonly Change[],
    restored: Map<string, Revision>,
    signal: AbortSignal,
  ): Promise<Revision> {
    const { store, view } = this.#registry;
    let last = view.revision;
    for (let i = 0; i < changes.length; i += AT_ONCE) {
      const some = changes.slice(i, i + AT_ONCE);
      const prepared = await Promise.all(some.map((change) => this.#operationsOf(change)));
      const commits = prepared.map(async (operations, at) => {
        const { revision } = await asStatus(store.commit({ compares: [], operations }, signal));
        const { partition, path, action } = some[at] as Change;
        if (action === "put") restored.set(view.keys.key(partition, path), revision);
        last = revision;
      });
      await Promise.all(commits);
    }
    return last;
  }

  async #operationsOf({ partition, path, was, is, action }: Change): Promise<Operation[]> {
    const registry = this.#registry;
    const resource = registry.catalog.current.stored(partition);
    const key = registry.view.keys.key(partition, path);
    const target = (action === "put" ? was : is) as StoredObject;
    const object: ApiObject = parseCurrent(target);
    const next = { action, object };
    const { namespace, name } = target;
    const current =
      action === "put" && is !== undefined && isToDelete({ was, is }) ? undefined : is;
    const epochs =
      resource === undefined
        ? []
        : movedEpochs(registry, { resource, namespace, name, current, next });
    if (action === "remove") return [{ type: "delete", key }, ...epochs];
    const value = plainBytes(registry, object);
    // Objects of a kind that is not served now, as its definition comes back with them, have no lease.
    const own: Operation =
      resource === undefined
        ? { type: "put", key, value }
        : await putOperation(registry, { resource, key, value, object }, NEVER);
    return [own, ...epochs];
  }
}

const NEVER = new AbortController().signal;

function isToDelete({ was, is }: Pick<Difference, "was" | "is">): boolean {
  if (is === undefined) return false;
  return was === undefined || uidOf(was) !== uidOf(is);
}

function uidOf(object: StoredObject): string | undefined {
  return parseCurrent(object).metadata.uid;
}

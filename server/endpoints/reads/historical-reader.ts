/**
 * HistoricalReader: the state of a collection at a revision that memory no longer holds, read from
 * the store's own history (S1-RV-26..28). Rare, so it is counted; the snapshot is kept for the pages
 * that follow.
 */
import { ObjectTree } from "../../../storage/cache/object-tree.js";
import type { Snapshot } from "../../../storage/cache/partition.js";
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import { StorageError } from "../../../storage/kv/errors.js";
import type { Revision, RevisionedStore } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/stored-object.js";
import { expired, serviceUnavailable } from "../../api/status.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";

/** Keys read at a time. */
const PAGE_KEYS = 1_000;

export class HistoricalReader {
  readonly #store: RevisionedStore;
  readonly #view: RegistryView;
  #fallbacks = 0;

  constructor(store: RevisionedStore, view: RegistryView) {
    this.#store = store;
    this.#view = view;
  }

  /** How often memory could not answer. */
  get fallbacks(): number {
    return this.#fallbacks;
  }

  /** @throws {StatusError} 410 when the store has compacted the revision away, 503 */
  async snapshotAt(
    resource: ServedResource,
    revision: Revision,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    this.#fallbacks++;
    const { keys } = this.#view;
    const prefix = keys.partitionPrefix(resource.partition);
    const tree = new ObjectTree();
    let after: string | undefined;
    for (;;) {
      const page = await this.#page(prefix, after, revision, signal);
      for (const kv of page.kvs) {
        const key = keys.parse(kv.key);
        if (key === undefined) continue;
        const { selectableFields } = resource.strategy;
        tree.set(decodeStoredObject(key, kv.value, kv.modRevision, selectableFields));
      }
      after = page.kvs.at(-1)?.key;
      if (!page.more || after === undefined) break;
    }
    const snapshot = { revision, tree };
    this.#view.partition(resource.partition).keep(snapshot);
    return snapshot;
  }

  async #page(prefix: string, after: string | undefined, revision: Revision, signal: AbortSignal) {
    try {
      const position = after === undefined ? {} : { after };
      return await this.#store.range({ prefix, limit: PAGE_KEYS, revision, ...position }, signal);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (error.code === "Compacted") {
        throw expired(`The resourceVersion for the provided list is too old: ${revision}`);
      }
      throw serviceUnavailable("the store is not reachable; try again later");
    }
  }
}

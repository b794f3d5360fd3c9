/**
 * HistoricalReader: the state of a collection at a revision that memory no longer holds, read from
 * the store's own history (S1-RV-26..28), a page at a time, so that memory holds no more of it than
 * is being sent. Rare, so it is counted; with the gate ListFromCacheSnapshot off it is the rule.
 */
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import { StorageError } from "../../../storage/kv/errors.js";
import type { RangeResult, Revision, RevisionedStore } from "../../../storage/kv/store.js";
import { decodeStoredObject, type StoredObject } from "../../../storage/objects/stored-object.js";
import { expired, serviceUnavailable } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";

/** Keys read at a time: a page of 8 KiB objects stays below 8 MiB. */
const PAGE_KEYS = 1_000;

export interface HistoricalRange {
  readonly resource: StoredResource;
  /** "" = all. */
  readonly namespace: string;
  /** Path of the object after which the page begins; "" = from the start. */
  readonly after: string;
  readonly revision: Revision;
  /** At most so many objects; 0 = as many as are read at a time. */
  readonly limit: number;
}

export interface HistoricalPage {
  readonly objects: readonly StoredObject[];
  readonly hasMore: boolean;
  /** How many objects follow after the page. */
  readonly remaining: number;
}

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

  countFallback(): void {
    this.#fallbacks++;
  }

  /** @throws {StatusError} 410 when the store has compacted the revision away, 503 */
  async page(range: HistoricalRange, signal: AbortSignal): Promise<HistoricalPage> {
    const { resource, namespace, after } = range;
    const { keys } = this.#view;
    const { kvs, more, count } = await this.#read(range, signal);
    const { selectableFields } = resource.strategy;
    const objects: StoredObject[] = [];
    for (const kv of kvs) {
      const key = keys.parse(kv.key);
      if (key === undefined || key.path === after) continue;
      if (namespace !== "" && key.namespace !== namespace) continue;
      objects.push(decodeStoredObject(key, kv.value, kv.modRevision, selectableFields));
    }
    return { objects, hasMore: more, remaining: Math.max(0, count - kvs.length) };
  }

  async #read(range: HistoricalRange, signal: AbortSignal): Promise<RangeResult> {
    const { resource, namespace, after, revision, limit } = range;
    const { keys } = this.#view;
    const all = keys.partitionPrefix(resource.partition);
    const prefix = namespace === "" ? all : `${all}${namespace}/`;
    const position = after === "" ? {} : { after: keys.key(resource.partition, after) };
    const pageKeys = limit === 0 ? PAGE_KEYS : Math.min(limit, PAGE_KEYS);
    try {
      return await this.#store.range({ prefix, limit: pageKeys, revision, ...position }, signal);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (error.code === "Compacted") {
        throw expired(`The resourceVersion for the provided list is too old: ${revision}`);
      }
      throw serviceUnavailable("the store is not reachable; try again later");
    }
  }
}

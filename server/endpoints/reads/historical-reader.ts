/**
 * HistoricalReader: reads a collection at a revision that memory no longer holds from the store's own
 * history (S1-RV-26..28). It reads page by page, so memory holds only what is being sent. Rare, and
 * therefore counted; with the gate ListFromCacheSnapshot off it is the rule.
 */
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import { StorageError } from "../../../storage/kv/errors.js";
import type { RangeResult, Revision, RevisionedStore } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { expired, serviceUnavailable } from "../../api/status.js";
import { mainOf, type StoredResource } from "../../kinds/served-resource.js";
import { knowledgeOf } from "../../kinds/stored-knowledge.js";

/** Keys per read: a page of 8 KiB objects stays below 8 MiB. */
const PAGE_KEYS = 1_000;

export interface HistoricalRange {
  readonly resource: StoredResource;
  /** "" = all. */
  readonly namespace: string;
  /** Path of the object that the page follows; "" = from the start. */
  readonly after: string;
  readonly revision: Revision;
  /** Maximum number of objects; 0 = the size of one read. */
  readonly limit: number;
}

export interface HistoricalPage {
  readonly objects: readonly StoredObject[];
  readonly hasMore: boolean;
  /** The number of objects after the page. */
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

  /** The number of requests that memory could not answer. */
  get fallbacks(): number {
    return this.#fallbacks;
  }

  countFallback(): void {
    this.#fallbacks++;
  }

  /** @throws {StatusError} 410 if the store has compacted the revision, 503 */
  async page(range: HistoricalRange, signal: AbortSignal): Promise<HistoricalPage> {
    const { resource, namespace, after } = range;
    const { keys } = this.#view;
    const { kvs, more, count } = await this.#read(range, signal);
    const knowledge = knowledgeOf(mainOf(resource));
    const objects: StoredObject[] = [];
    for (const kv of kvs) {
      const key = keys.parse(kv.key);
      if (key === undefined || key.path === after) continue;
      if (namespace !== "" && key.namespace !== namespace) continue;
      objects.push(decodeStoredObject(key, kv.value, kv.modRevision, knowledge));
    }
    return { objects, hasMore: more, remaining: Math.max(0, count - kvs.length) };
  }

  /** @returns undefined = it was not there. @throws {StatusError} 410 as above, 503 */
  async object(
    resource: StoredResource,
    path: string,
    revision: Revision,
    signal: AbortSignal,
  ): Promise<StoredObject | undefined> {
    const { keys } = this.#view;
    const name = keys.key(resource.partition, path);
    const { kv } = await this.#store.get(name, { revision }, signal).catch(refuse(revision));
    const key = keys.parse(name);
    if (kv === undefined || key === undefined) return undefined;
    return decodeStoredObject(key, kv.value, kv.modRevision, knowledgeOf(mainOf(resource)));
  }

  async #read(range: HistoricalRange, signal: AbortSignal): Promise<RangeResult> {
    const { resource, namespace, after, revision, limit } = range;
    const { keys } = this.#view;
    const all = keys.partitionPrefix(resource.partition);
    const prefix = namespace === "" ? all : `${all}${namespace}/`;
    const position = after === "" ? {} : { after: keys.key(resource.partition, after) };
    const pageKeys = limit === 0 ? PAGE_KEYS : Math.min(limit, PAGE_KEYS);
    return await this.#store
      .range({ prefix, limit: pageKeys, revision, ...position }, signal)
      .catch(refuse(revision));
  }
}

function refuse(revision: Revision): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === "Compacted") {
      throw expired(`The resourceVersion for the provided list is too old: ${revision}`);
    }
    throw serviceUnavailable("the store is not reachable; try again later");
  };
}

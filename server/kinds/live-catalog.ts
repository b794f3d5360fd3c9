/**
 * LiveCatalog: holds the catalog in force. It is replaced as a whole, in the turn of the feed that
 * brought the change (by an observer of a partition, see storage/cache/partition.ts). The view's
 * revision is therefore the catalog's as well: a request that waited for a revision finds the kinds
 * of that revision.
 *
 *   feed ─► Partition ─► observer ─► replace(next) ─► listeners, in the same turn
 */
import type { Catalog } from "./catalog.js";

/** Called in the turn of the change, after `current` has moved. Must be quick and not throw. */
export type CatalogListener = (next: Catalog, previous: Catalog) => void;

/** The read-only side, for most of the server. */
export interface CatalogSource {
  readonly current: Catalog;
  /** @returns a function that ends the subscription */
  subscribe(listener: CatalogListener): () => void;
}

export class LiveCatalog implements CatalogSource {
  #current: Catalog;
  readonly #listeners = new Set<CatalogListener>();

  constructor(first: Catalog) {
    this.#current = first;
  }

  get current(): Catalog {
    return this.#current;
  }

  replace(next: Catalog): void {
    const previous = this.#current;
    if (next === previous) return;
    this.#current = next;
    for (const listener of this.#listeners) listener(next, previous);
  }

  subscribe(listener: CatalogListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

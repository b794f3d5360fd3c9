/**
 * LiveCatalog: the one place that says which catalog is in force. It is replaced as a whole, in the
 * turn of the feed that brought the change (an observer of a partition does it, see
 * storage/cache/partition.ts), so the view's revision is the catalog's as well: who waited for a
 * revision finds the kinds of that revision here.
 *
 *   feed ─► Partition ─► observer ─► replace(next) ─► listeners, in the same turn
 */
import type { Catalog } from "./catalog.js";

/** Told in the turn of the change, after `current` has moved. Must be quick and not throw. */
export type CatalogListener = (next: Catalog, previous: Catalog) => void;

/** What most of the server sees of it. */
export interface CatalogSource {
  readonly current: Catalog;
  /** @returns ends the subscription */
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

/**
 * OutdatedKind: what a write was asked for has another definition by now, or none. Nothing was written.
 * Who dispatched it looks the resource up again and hands it the same request; loops look again.
 */

import { isCurrent } from "../../kinds/catalog.js";
import type { CatalogSource } from "../../kinds/live-catalog.js";
import type { StoredResource } from "../../kinds/served-resource.js";

export class OutdatedKind extends Error {
  override readonly name = "OutdatedKind";

  constructor({ kind, resource }: StoredResource) {
    super(`the definition of ${kind} (${resource}) has changed`);
  }
}

/**
 * To be asked in the turn in which a write looks at the view: the catalog is of the same revision, and
 * the transaction compares what it was made of. @throws {OutdatedKind}
 */
export function checkIsCurrent({ current }: CatalogSource, resource: StoredResource): void {
  if (!isCurrent(current, resource)) throw new OutdatedKind(resource);
}

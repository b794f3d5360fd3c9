/**
 * OutdatedKind: the definition of a write's kind has changed or is gone, and nothing was written. The
 * dispatcher looks the resource up again and repeats the request; control loops look again.
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
 * Must run in the turn in which a write reads the view: the catalog has the same revision, and the
 * transaction compares the epochs behind it. @throws {OutdatedKind}
 */
export function checkIsCurrent({ current }: CatalogSource, resource: StoredResource): void {
  if (!isCurrent(current, resource)) throw new OutdatedKind(resource);
}

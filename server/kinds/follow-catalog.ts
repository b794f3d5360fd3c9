/**
 * Keeps a view in step with the catalog. Traits of partitions change in the catalog's turn.
 * Partitions of removed kinds are retired a turn later, when that turn's changes have been delivered
 * to their watchers.
 */
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { LiveCatalog } from "./live-catalog.js";

export function followCatalog(
  view: Pick<RegistryView, "takeTraits" | "retire">,
  catalog: LiveCatalog,
): void {
  catalog.subscribe((next, previous) => {
    view.takeTraits();
    const partitions = new Set(previous.custom.map(({ partition }) => partition));
    const gone = [...partitions].filter((id) => next.stored(id) === undefined);
    if (gone.length === 0) return;
    setImmediate(() => {
      // The kind may have been added again meanwhile.
      for (const id of gone) if (catalog.current.stored(id) === undefined) view.retire(id);
    });
  });
}

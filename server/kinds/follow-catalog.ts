/**
 * Keeps a view in step with the catalog: traits of partitions change in the turn of the catalog, and
 * partitions of kinds that are gone are given up a turn later, when what that turn changed has been
 * delivered to its watchers.
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
      // It may have come back meanwhile.
      for (const id of gone) if (catalog.current.stored(id) === undefined) view.retire(id);
    });
  });
}

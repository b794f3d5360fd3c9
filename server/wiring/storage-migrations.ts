/** Wiring of storage version migrations: the stored form of objects, and the metrics. */
import type { MigrationMetrics } from "../controllers/storage-migrator.js";
import { createStoredObjects, type StoredObjects } from "../controllers/stored-objects.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Registry } from "../registry/registry.js";
import type { OpenedStore } from "./store.js";

export interface StorageMigrations {
  readonly stored: StoredObjects;
  readonly migrations: MigrationMetrics;
}

/** The names are those of the existing system's migrator. */
export function createStorageMigrations(
  registry: Registry,
  { stored }: Pick<OpenedStore, "stored">,
  metrics: Metrics,
): StorageMigrations {
  const rewritten = metrics.counter({
    name: "storage_migrator_core_migrator_migrated_objects",
    help: "Objects that a storage version migration has written again.",
    labelNames: ["resource"],
  });
  const ended = metrics.counter({
    name: "storage_migrator_core_migrator_migrations",
    help: "Storage version migrations that have ended, by how.",
    labelNames: ["resource", "status"],
  });
  const remaining = new Map<string, number>();
  metrics.gauge(
    {
      name: "storage_migrator_core_migrator_remaining_objects",
      help: "Objects that the migration that runs has still to look at.",
      labelNames: ["resource"],
    },
    (set) => {
      for (const [resource, objects] of remaining) set(objects, resource);
    },
  );
  return {
    stored: createStoredObjects(registry, stored),
    migrations: {
      rewritten: (resource) => rewritten.add(1, resource),
      remaining: (resource, objects) => remaining.set(resource, objects),
      ended(resource, status) {
        ended.add(1, resource, status);
        remaining.delete(resource);
      },
    },
  };
}

/**
 * The storage version migrator: for each StorageVersionMigration it rewrites all objects of a resource in
 * today's storage form (version, schema, encryption), one migration at a time per resource, the oldest first.
 *
 *   pass 1      every object is looked at; those that would be stored differently are written again
 *   pass 2, ..  the store is read again for what is still in an old form: written by a replica of the
 *               release before meanwhile, or not to be written yet (a conversion webhook that is down)
 *   the end     a pass that finds nothing: the store holds nothing of the old form
 *
 * It keeps no state: a new leader checks again and finds what is left. An unreadable or refused object fails
 * the migration; transient errors are waited for.
 */

import { oneLine } from "../../storage/base/one-line.js";
import { StorageError } from "../../storage/kv/errors.js";
import type { Naming } from "../api/naming.js";
import { isUnreadable, StatusError } from "../api/status.js";
import { formatTime } from "../api/time.js";
import type { Definition } from "../registry/apiextensions/definition.js";
import { isLostRace } from "./lost-race.js";
import {
  definitionMigrated,
  definitionMigrating,
  definitionNotMigrated,
  failed,
  isOver,
  isTrue,
  type Migration,
  running,
  succeeded,
} from "./migration-status.js";
import type { ControlledResource } from "./objects-api.js";
import type { StoredEntry, StoredObjects } from "./stored-objects.js";
import type { LoopParts } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

/** Metrics of migrations. Resources are named as users write them: "widgets.example.com". */
export interface MigrationMetrics {
  rewritten(resource: string): void;
  /** Objects that a pass still has to check; 0 at its end. */
  remaining(resource: string, objects: number): void;
  ended(resource: string, status: "Succeeded" | "Failed"): void;
}

export interface StorageMigratorOptions extends LoopParts {
  readonly naming: Naming;
  readonly stored: StoredObjects;
  readonly metrics: MigrationMetrics;
}

/** Resources migrated concurrently. */
const MIGRATIONS_MAX = 2;
/** Concurrent writes per resource. */
const WRITES_AT_ONCE = 4;
/** A migration pauses for this multiple of its write time, because other work is more urgent. */
const REST_FACTOR = 1;
/** Interval of progress updates in the status. */
const PROGRESS_INTERVAL_MS = 5_000;
/** Passes without a pause; after them, writers of an old form get time to end. */
const PASSES_MAX = 3;

/** Runs until the signal aborts. */
export async function runStorageMigrator(
  options: StorageMigratorOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock, logger, naming } = options;
  const group = `storagemigration.${naming.groupDomain}`;
  const migrations = objects.resources.find(
    (one) => one.group === group && one.resource === "storageversionmigrations",
  );
  // Off unless asked for, so nobody need be told.
  if (migrations === undefined) return;
  const queue = new WorkQueue(clock);
  const watching = objects.watch(
    migrations,
    () => {
      // The resource of a deleted migration is unknown, so all are checked.
      for (const migration of objects.list(migrations, "")) queue.add(nameOf(migration));
    },
    signal,
  );
  const working = queue.run(
    async (name) => {
      try {
        await objects.refresh();
        const isDone = await new Runner({ ...options, migrations }, name).step(signal);
        if (isDone) queue.forget(name);
        else queue.retry(name);
      } catch (error) {
        if (signal.aborted) return;
        if (!isLostRace(error)) {
          logger.warn({ resource: name, err: error }, "a migration could not go on");
        }
        queue.retry(name);
      }
    },
    signal,
    MIGRATIONS_MAX,
  );
  await Promise.all([watching, working]);
}

/** "widgets.example.com" or "pods": the resource of a migration. */
function nameOf({ spec }: Migration): string {
  const { group = "", resource = "" } = spec?.resource ?? {};
  return group === "" ? resource : `${resource}.${group}`;
}

interface RunnerOptions extends StorageMigratorOptions {
  readonly migrations: ControlledResource;
}

/** The result of one pass. */
interface Pass {
  /** Objects found in an old form. */
  readonly stale: number;
  readonly rewritten: number;
  /** A write that failed but may succeed later; undefined = none. */
  readonly trouble: string | undefined;
}

/** Why a migration failed. */
class NotMigrated extends Error {
  override readonly name = "NotMigrated";
}

/** Runs the migrations of one resource. */
class Runner {
  readonly #options: RunnerOptions;
  readonly #name: string;
  #toldAtMs = 0;

  constructor(options: RunnerOptions, name: string) {
    this.#options = options;
    this.#name = name;
  }

  /** @returns whether there is nothing more to do for now */
  async step(signal: AbortSignal): Promise<boolean> {
    const { metrics } = this.#options;
    const migration = this.#next();
    if (migration === undefined) return true;
    try {
      const resource = this.#resource();
      if (!(await this.#migrate(migration, resource, signal))) return false;
      await this.#write(migration, (current) => succeeded(current, this.#now()), signal);
      metrics.ended(this.#name, "Succeeded");
    } catch (error) {
      if (!(error instanceof NotMigrated)) throw error;
      await this.#markDefinition((one) => definitionNotMigrated(one, this.#now()), signal);
      await this.#write(migration, (now) => failed(now, error.message, this.#now()), signal);
      metrics.ended(this.#name, "Failed");
    }
    // Continue if more migrations wait.
    return this.#next() === undefined;
  }

  /** The started one, else the oldest. */
  #next(): Migration | undefined {
    const { objects, migrations } = this.#options;
    const waiting = objects
      .list(migrations, "")
      .filter((one: Migration) => nameOf(one) === this.#name && !isOver(one));
    const age = ({ metadata }: Migration) =>
      `${metadata.creationTimestamp ?? ""} ${metadata.name ?? ""}`;
    waiting.sort((a, b) => (age(a) < age(b) ? -1 : 1));
    return waiting.find((one: Migration) => isTrue(one, "Running")) ?? waiting[0];
  }

  /** @throws {NotMigrated} */
  #resource(): ControlledResource {
    const found = this.#options.objects.resources.find(
      ({ group, resource }) => (group === "" ? resource : `${resource}.${group}`) === this.#name,
    );
    if (found === undefined) throw new NotMigrated("resource does not exist in discovery");
    return found;
  }

  /** @returns whether it is complete. @throws {NotMigrated} */
  async #migrate(
    migration: Migration,
    resource: ControlledResource,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { stored } = this.#options;
    const name = migration.metadata.name ?? "";
    const definition = await this.#markDefinition(
      (one) => definitionMigrating(one, name, this.#now()),
      signal,
    );
    const generation = definition?.metadata.generation;
    const { revision } = await stored.page(resource, "", signal);
    await this.#write(
      migration,
      (current) => {
        const { status } = current;
        const resourceVersion = status?.resourceVersion ?? String(revision);
        const told = isTrue(current, "Running") ? current : running(current, "", this.#now());
        return { ...told, status: { ...told.status, resourceVersion } };
      },
      signal,
    );
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      const { stale, trouble } = await this.#pass(migration, resource, pass > 0, signal);
      if (trouble !== undefined) {
        await this.#tell(migration, trouble, signal);
        return false;
      }
      // The first pass also rewrites objects that differ only in content.
      if (stale > 0 || pass === 0) continue;
      await this.#markDefinition((one) => {
        return definitionMigrated(one, one.metadata.generation === generation, this.#now());
      }, signal);
      return true;
    }
    return false;
  }

  /** Checks all objects, or only those stored in an old form. @throws {NotMigrated} */
  async #pass(
    migration: Migration,
    resource: ControlledResource,
    isForRest: boolean,
    signal: AbortSignal,
  ): Promise<Pass> {
    const { objects, stored, clock, metrics } = this.#options;
    let after: string | undefined = "";
    let [looked, stale, rewritten] = [0, 0, 0];
    let trouble: string | undefined;
    while (after !== undefined) {
      signal.throwIfAborted();
      if (this.#current(migration) === undefined) throw new NotMigrated("it was deleted");
      await objects.refresh();
      const page = await stored.page(resource, after, signal);
      const startedMs = clock.monotonic();
      const wanted = page.entries.filter(({ isStale }) => isStale || !isForRest);
      const result = await this.#rewriteAll(resource, wanted, signal);
      stale += result.stale;
      rewritten += result.rewritten;
      trouble ??= result.trouble;
      looked += page.entries.length;
      after = page.next;
      const total = Math.max(objects.count(resource, ""), looked);
      metrics.remaining(this.#name, after === undefined ? 0 : total - looked);
      await this.#tellNowAndThen(migration, `${looked} of ${total} objects`, signal);
      const tookMs = clock.monotonic() - startedMs;
      if (result.rewritten > 0) await clock.sleep(tookMs * REST_FACTOR, signal);
    }
    return { stale, rewritten, trouble };
  }

  /** @throws {NotMigrated} for an object that can never be migrated */
  async #rewriteAll(
    resource: ControlledResource,
    entries: readonly StoredEntry[],
    signal: AbortSignal,
  ): Promise<Pass> {
    const { stored, metrics } = this.#options;
    let rewritten = 0;
    let trouble: string | undefined;
    const left = [...entries];
    const work = async () => {
      for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
        try {
          const result = await stored.rewrite(resource, entry, signal);
          if (result !== "rewritten") continue;
          rewritten++;
          metrics.rewritten(this.#name);
        } catch (error) {
          signal.throwIfAborted();
          const { namespace, name } = entry;
          const why = `${namespace === "" ? "" : `${namespace}/`}${name}: ${oneLine(error)}`;
          if (!mayPass(error)) throw new NotMigrated(why);
          trouble ??= why;
        }
      }
    };
    try {
      await stored.prepare(resource, entries, signal);
    } catch (error) {
      // Writing them one by one shows which object fails.
      if (!mayPass(error)) throw error;
    }
    await Promise.all(Array.from({ length: WRITES_AT_ONCE }, work));
    return { stale: entries.filter(({ isStale }) => isStale).length, rewritten, trouble };
  }

  async #tellNowAndThen(migration: Migration, progress: string, signal: AbortSignal) {
    const nowMs = this.#options.clock.monotonic();
    if (this.#toldAtMs === 0) this.#toldAtMs = nowMs;
    if (nowMs - this.#toldAtMs < PROGRESS_INTERVAL_MS) return;
    await this.#tell(migration, progress, signal);
  }

  async #tell(migration: Migration, progress: string, signal: AbortSignal): Promise<void> {
    this.#toldAtMs = this.#options.clock.monotonic();
    await this.#write(migration, (current) => running(current, progress, this.#now()), signal);
  }

  /** The current migration; undefined if it is gone. */
  #current({ metadata }: Migration): Migration | undefined {
    const { objects, migrations } = this.#options;
    const found = objects.get(migrations, { namespace: "", name: metadata.name ?? "" });
    return found?.metadata.uid === metadata.uid ? found : undefined;
  }

  /** Writes the status if it differs from the current one. */
  async #write(
    migration: Migration,
    change: (current: Migration) => Migration,
    signal: AbortSignal,
  ): Promise<void> {
    const { objects, migrations } = this.#options;
    await objects.refresh();
    const current = this.#current(migration);
    if (current === undefined || isOver(current)) return;
    await objects.update(migrations, change(current), "status", signal);
  }

  /** @returns the resource's definition as written; undefined if it has none */
  async #markDefinition(
    change: (definition: Definition) => Definition,
    signal: AbortSignal,
  ): Promise<Definition | undefined> {
    const { objects, naming } = this.#options;
    const group = `apiextensions.${naming.groupDomain}`;
    const definitions = objects.resources.find(
      (one) => one.group === group && one.resource === "customresourcedefinitions",
    );
    if (definitions === undefined) return undefined;
    await objects.refresh();
    const definition = objects.get(definitions, { namespace: "", name: this.#name });
    if (definition === undefined) return undefined;
    return await objects.update(definitions, change(definition), "status", signal);
  }

  #now(): string {
    return formatTime(this.#options.clock.now());
  }
}

/** Whether the write may succeed later: the store or a webhook failed. */
function mayPass(error: unknown): boolean {
  if (error instanceof StorageError || isLostRace(error)) return true;
  const isRefused = error instanceof StatusError && error.code < 500 && error.code !== 429;
  return error instanceof StatusError && !isRefused && !isUnreadable(error);
}

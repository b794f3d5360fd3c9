/**
 * A whole registry for tests: the embedded store in a temporary directory, the view and the barrier
 * over it, and the table of all built-in resources. Disposing removes everything.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../../storage/base/clock.js";
import { Lifecycle } from "../../../../storage/base/lifecycle.js";
import { silentLogger } from "../../../../storage/base/logger.js";
import { FreshnessBarrier } from "../../../../storage/cache/freshness.js";
import { RegistryView } from "../../../../storage/cache/registry-view.js";
import { openEmbeddedStore } from "../../../../storage/embedded/embedded-store.js";
import type { RevisionedStore } from "../../../../storage/kv/store.js";
import type { JsonValue } from "../../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../../api/naming.js";
import { createUser } from "../../../request/user-info.js";
import { createObjectCodecs } from "../../../schema/object-codec.js";
import { loadFacts } from "../../../types/load-facts.js";
import {
  createResourceTable,
  type ResourceTable,
  type ResourceTableOptions,
} from "../../resource-table.js";
import type { ObjectInput } from "../decode-input.js";
import { createOwnership } from "../ownership.js";
import type { Registry, WriteOptions } from "../registry.js";
import type { ServedResource } from "../served-resource.js";
import { WriteTurns } from "../write-turns.js";

export interface RegistryHarness extends AsyncDisposable {
  readonly registry: Registry;
  readonly table: ResourceTable;
  /** Another replica of the same store, with a view of its own. */
  openReplica(): Promise<Registry>;
  /** @throws when the table has no such resource */
  resource(group: string, version: string, resource: string): ServedResource;
}

export const testUser = createUser({ name: "tester", groups: ["system:authenticated"] });

export const noSignal = new AbortController().signal;

/** Options of a plain write; warnings are collected in `warnings`. */
export function writeOptions(
  changes: Partial<WriteOptions> = {},
): WriteOptions & { warnings: string[] } {
  const warnings: string[] = [];
  return {
    isDryRun: false,
    fieldManager: "tester",
    fieldValidation: "Warn",
    user: testUser,
    warn: (text) => warnings.push(text),
    ...changes,
    warnings,
  };
}

export function inputOf(value: JsonValue): ObjectInput {
  return { value, duplicateFields: [] };
}

export async function openRegistryHarness(
  options: {
    readonly clock?: Clock;
    readonly vendor?: string;
    readonly allocators?: Registry["allocators"];
    readonly subresources?: ResourceTableOptions["subresources"];
    /** Puts another store before the one in the temporary directory. */
    readonly wrapStore?: (store: RevisionedStore) => RevisionedStore;
  } = {},
): Promise<RegistryHarness> {
  const clock = options.clock ?? systemClock;
  const logger = silentLogger;
  const directory = await mkdtemp(join(tmpdir(), "keelson-registry-"));
  const embedded = await openEmbeddedStore({ directory, clock: systemClock, logger });
  const store = options.wrapStore?.(embedded) ?? embedded;
  const lifecycle = new Lifecycle(logger);
  const naming = createNaming(options.vendor ?? DEFAULT_VENDOR);
  const facts = loadFacts(naming);
  const table = createResourceTable({
    naming,
    facts,
    codecs: createObjectCodecs(facts),
    ...(options.subresources === undefined ? {} : { subresources: options.subresources }),
  });
  const ownership = createOwnership({ model: facts.model, naming, clock, table });

  const openReplica = async (): Promise<Registry> => {
    const view = new RegistryView({
      store,
      prefix: "/registry",
      clock: systemClock,
      logger,
      traits: (partition) => table.traits(partition),
    });
    await view.start(lifecycle, lifecycle.signal);
    const freshness = new FreshnessBarrier({ store, view, clock: systemClock });
    return {
      store,
      view,
      freshness,
      clock,
      naming,
      lifetimes: { eventTtlSeconds: 3_600 },
      ownership,
      ...(options.allocators === undefined ? {} : { allocators: options.allocators }),
      writeTurns: new WriteTurns(),
    };
  };

  return {
    registry: await openReplica(),
    table,
    openReplica,
    resource(group, version, resource) {
      const found = table.find(group, version, resource);
      if (found === undefined) throw new Error(`no resource ${group}/${version}/${resource}`);
      return found;
    },
    async [Symbol.asyncDispose]() {
      await lifecycle[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * A whole registry for tests: the embedded store in a temporary directory, the view and the barrier
 * over it, and the catalog of all built-in resources. Disposing removes everything.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../storage/base/clock.js";
import { Lifecycle } from "../../../storage/base/lifecycle.js";
import { silentLogger } from "../../../storage/base/logger.js";
import { FreshnessBarrier } from "../../../storage/cache/freshness.js";
import { RegistryView } from "../../../storage/cache/registry-view.js";
import { openEmbeddedStore } from "../../../storage/embedded/embedded-store.js";
import type { RevisionedStore } from "../../../storage/kv/store.js";
import type { JsonValue } from "../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import type { Catalog } from "../../kinds/catalog.js";
import { createFactsCodecs } from "../../kinds/facts-codecs.js";
import { followCatalog } from "../../kinds/follow-catalog.js";
import { LiveCatalog } from "../../kinds/live-catalog.js";
import {
  type ActionResource,
  isStored,
  type MainResource,
  type StoredResource,
  subresourceOf,
} from "../../kinds/served-resource.js";
import { createUser } from "../../request/user-info.js";
import { loadFacts } from "../../types/load-facts.js";
import { type BuiltInOptions, createBuiltInCatalog } from "../built-in-catalog.js";
import type { ObjectInput } from "../generic/decode-input.js";
import { createOwnership } from "../generic/ownership.js";
import type { Registry, WriteOptions } from "../registry.js";
import { WriteQueue } from "../write/write-queue.js";

export interface RegistryHarness extends AsyncDisposable {
  readonly registry: Registry;
  /** The catalog that all replicas serve at first. */
  readonly builtIn: Catalog;
  /** Another replica of the same store, with a view of its own. */
  openReplica(isEnabled?: BuiltInOptions["isEnabled"]): Promise<Registry>;
  /** @throws when no such resource is served */
  resource(group: string, version: string, resource: string): MainResource;
  /** The target for reads and writes of a subresource; "" = the resource itself. */
  part(group: string, version: string, resource: string, subresource: string): StoredResource;
  /** @param subresource "" = the resource itself is an action */
  action(group: string, version: string, resource: string, subresource: string): ActionResource;
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

const HEARTBEAT_MS = 1_000;

export async function openRegistryHarness(
  options: {
    readonly clock?: Clock;
    readonly vendor?: string;
    readonly allocators?: Registry["allocators"];
    readonly actions?: BuiltInOptions["actions"];
    /** Wraps the store in the temporary directory. */
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
  const { actions } = options;
  const codecs = createFactsCodecs(facts);
  const createCatalog = (isEnabled: BuiltInOptions["isEnabled"]) =>
    createBuiltInCatalog({
      ...{ naming, facts, codecs },
      ...(isEnabled && { isEnabled }),
      ...(actions && { actions }),
    });
  const builtIn = createCatalog(undefined);

  const openReplica = async (isEnabled?: BuiltInOptions["isEnabled"]): Promise<Registry> => {
    const catalog = new LiveCatalog(isEnabled === undefined ? builtIn : createCatalog(isEnabled));
    const view = new RegistryView({
      store,
      prefix: "/registry",
      clock: systemClock,
      logger,
      traits: (partition) => catalog.current.traits(partition),
    });
    followCatalog(view, catalog);
    await view.start(lifecycle, lifecycle.signal);
    view.recall.start(lifecycle);
    const freshness = new FreshnessBarrier({ store, view, clock: systemClock });
    return {
      catalog,
      store,
      view,
      freshness,
      clock,
      naming,
      lifetimes: { eventTtlSeconds: 3_600 },
      ownership: createOwnership({ naming, clock, catalog }),
      ...(options.allocators === undefined ? {} : { allocators: options.allocators }),
      writeQueue: new WriteQueue(),
    };
  };

  const served = (group: string, version: string, resource: string, subresource: string) => {
    const root = builtIn.find(group, version, resource);
    if (root === undefined) throw new Error(`no resource ${group}/${version}/${resource}`);
    return subresourceOf(root, subresource);
  };

  // The system clock's timers do not keep a process alive, and nothing else may.
  const heartbeat = setInterval(() => {}, HEARTBEAT_MS);
  return {
    registry: await openReplica(),
    builtIn,
    openReplica,
    resource(group, version, resource) {
      const found = served(group, version, resource, "");
      if (found.form !== "main") throw new Error(`${resource} is no main resource`);
      return found;
    },
    part(group, version, resource, subresource) {
      const found = served(group, version, resource, subresource);
      if (!isStored(found)) throw new Error(`${resource}/${subresource} is not stored`);
      return found;
    },
    action(group, version, resource, subresource) {
      const found = served(group, version, resource, subresource);
      if (found.form !== "action") throw new Error(`${resource}/${subresource} is no action`);
      return found;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(heartbeat);
      await lifecycle[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

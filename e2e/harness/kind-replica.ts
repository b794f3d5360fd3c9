/**
 * A replica in this process that serves kinds at run time, for tests of the catalog: each ConfigMap of
 * one namespace defines a kind. It is wired as the real one is, over a store that it may share with
 * others, and its feed may lag behind.
 */

import { join } from "node:path";
import { parseCommandLine } from "../../server/config/command-line.js";
import { withCustom } from "../../server/kinds/catalog.js";
import type { LiveCatalog } from "../../server/kinds/live-catalog.js";
import type { MainResource } from "../../server/kinds/served-resource.js";
import { createPlainResource } from "../../server/kinds/testing/plain-kind.js";
import { Metrics } from "../../server/metrics/metrics.js";
import type { Facts } from "../../server/schema/model.js";
import { loadFacts } from "../../server/types/load-facts.js";
import { type Access, openAccess } from "../../server/wiring/access.js";
import { makeAlike } from "../../server/wiring/alike-parts.js";
import { createSilentLog } from "../../server/wiring/create-logger.js";
import { createProcessMemory } from "../../server/wiring/process-memory.js";
import { createSecurity } from "../../server/wiring/security.js";
import { openServing } from "../../server/wiring/serving.js";
import { startReplica } from "../../server/wiring/start.js";
import { type OpenedStore, openStore } from "../../server/wiring/store.js";
import { openAll } from "../../storage/base/cleanup.js";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import type { PartitionObserver } from "../../storage/cache/partition-observer.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { soon } from "./eventually.js";
import { HttpsClient } from "./https-client.js";
import { readKubeconfig } from "./server-process.js";

/** Where the definitions are. */
export const KINDS_NAMESPACE = "kinds";

export interface KindReplica extends AsyncDisposable {
  readonly access: Access;
  /** The administrator's, who skips the barrier where he can. */
  readonly client: HttpsClient;
}

/** The embedded store, for replicas of this process to share. */
export async function openSharedStore(dataDir: string): Promise<OpenedStore> {
  const metrics = new Metrics();
  const config = configOf(dataDir, []);
  const common = { clock: systemClock, metrics, logger: silentLogger };
  const parts = { ...common, config, facts: loadFacts(config.naming) };
  return await openStore(parts, soon());
}

export function openKindReplica(options: {
  readonly dataDir: string;
  readonly storage: OpenedStore;
  /** How long each batch of its feed takes to arrive. Default 0. */
  readonly lagMs?: number;
  readonly flags?: readonly string[];
}): Promise<KindReplica> {
  const { dataDir, lagMs = 0, flags = [] } = options;
  return openAll(async (opened) => {
    const config = configOf(dataDir, flags);
    const alike = makeAlike(config);
    const { facts, codecs, customCodecs } = alike;
    const store = lagMs === 0 ? options.storage.store : withLag(options.storage.store, lagMs);
    const storage = { ...options.storage, store };
    const quiet = { clock: systemClock, metrics: new Metrics(), logger: silentLogger };
    const common = { ...quiet, config, alike, facts, codecs, customCodecs, storage };
    const deadline = soon();
    const security = await createSecurity(
      { ...common, readAuthorities: storage.readAuthorities },
      deadline,
    );
    const serverAddress = () => "127.0.0.1:0";
    const memory = createProcessMemory(config, common.metrics, customCodecs);
    const parts = { ...common, security, memory, serverAddress };
    const access = opened.use(await openAccess(parts));
    observeKinds(access, facts);
    const tracing = { steps: {}, async [Symbol.asyncDispose]() {} };
    const { verbosity } = createSilentLog();
    const build = { version: "0.0.0", commit: "", buildDate: "" };
    const serving = opened.use(
      await openServing({ ...parts, exclusions: [], build, verbosity, tracing, access }),
    );
    const url = `https://127.0.0.1:${serving.listener.port}`;
    const started = await startReplica({ ...parts, access, serving, url });
    await started.ready;
    const { credentials } = await readKubeconfig(started.kubeconfigPath);
    return {
      access,
      client: new HttpsClient(url, credentials),
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}

function configOf(dataDir: string, flags: readonly string[]) {
  const args = ["serve", `--data-dir=${join(dataDir)}`, "--secure-port=0", ...flags];
  const commandLine = parseCommandLine(args);
  if (commandLine.action !== "run") throw new Error(`bad flags: ${flags.join(" ")}`);
  return commandLine.config;
}

/** Replaces the catalog in the turn in which the feed changes a definition. */
function observeKinds({ catalog, views }: Access, facts: Facts): void {
  const kinds = new KindsByPath(catalog, facts);
  views.view.partition("core/configmaps").observe(kinds);
}

class KindsByPath implements PartitionObserver {
  readonly #catalog: LiveCatalog;
  readonly #facts: Facts;
  #kinds = new Map<string, MainResource>();

  constructor(catalog: LiveCatalog, facts: Facts) {
    this.#catalog = catalog;
    this.#facts = facts;
  }

  replaced(objects: Parameters<PartitionObserver["replaced"]>[0]): void {
    this.#kinds = new Map();
    objects.visit(KINDS_NAMESPACE, "", (object) => {
      this.#take(object);
      return undefined;
    });
    this.#replace();
  }

  put(object: StoredObject): void {
    if (object.namespace !== KINDS_NAMESPACE) return;
    this.#take(object);
    this.#replace();
  }

  deleted({ namespace, path }: StoredObject): void {
    if (namespace !== KINDS_NAMESPACE) return;
    this.#kinds.delete(path);
    this.#replace();
  }

  #take({ path, bytes }: StoredObject): void {
    const { data } = JSON.parse(bytes.toString());
    if (data?.kind !== undefined) this.#kinds.set(path, createPlainResource(this.#facts, data));
  }

  #replace(): void {
    this.#catalog.replace(withCustom(this.#catalog.current, [...this.#kinds.values()]));
  }
}

/** The same store, whose watches tell everything late; what is asked directly is as fresh as ever. */
function withLag(store: RevisionedStore, lagMs: number): RevisionedStore {
  return new Proxy(store, {
    get(target, name) {
      if (name !== "watch") {
        const member = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      }
      return async function* watch(...args: Parameters<RevisionedStore["watch"]>) {
        for await (const batch of target.watch(...args)) {
          await new Promise((resolve) => setTimeout(resolve, lagMs));
          yield batch;
        }
      };
    },
  });
}

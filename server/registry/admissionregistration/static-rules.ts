/**
 * StaticRules: the rules from files in force on this replica. They are read before the replica serves,
 * and again when a file has changed. Unusable files are logged and counted, and the last good rules
 * stay. File contents are compared at an interval, as notifications get lost on network file systems
 * and behind the symbolic links through which clusters mount files.
 */
import { type Clock, runAtIntervals } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import { oneLine } from "../../../storage/base/one-line.js";
import type { RulePlugin } from "../../admission/static/admission-configuration.js";
import type { ManifestSource } from "../../admission/static/manifest-source.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { CatalogSource } from "../../kinds/live-catalog.js";
import { type Manifests, parseManifests, readManifests } from "./load-manifests.js";

/** kube-apiserver's metrics. */
export interface ManifestMetrics {
  reloaded(plugin: RulePlugin, isGood: boolean): void;
  /** @param hash of the rules in force */
  configured(plugin: RulePlugin, hash: string): void;
}

export interface StaticRulesOptions {
  readonly directories: ReadonlyMap<RulePlugin, string>;
  readonly naming: Naming;
  readonly catalog: CatalogSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ManifestMetrics;
  readonly intervalMs?: number;
}

/**
 * kube-apiserver mostly relies on notifications and polls once a minute. Polling a few small files is cheap.
 */
const CHECK_INTERVAL_MS = 1_000;

export class StaticRules implements ManifestSource {
  readonly #options: StaticRulesOptions;
  readonly #rules = new Map<RulePlugin, Manifests>();
  /** Hashes of the last files read, good or bad. */
  readonly #seen = new Map<RulePlugin, string>();
  readonly #listeners: (() => void)[] = [];

  private constructor(options: StaticRulesOptions) {
    this.#options = options;
  }

  /** @throws {Error} one line: the server must not start */
  static async open(options: StaticRulesOptions): Promise<StaticRules> {
    const rules = new StaticRules(options);
    for (const [plugin, directory] of options.directories) await rules.#read(plugin, directory);
    return rules;
  }

  of(resource: string): readonly ApiObject[] {
    for (const manifests of this.#rules.values()) {
      const found = manifests.get(resource);
      if (found !== undefined) return found;
    }
    return NONE;
  }

  subscribe(changed: () => void): void {
    this.#listeners.push(changed);
  }

  /** Follows the files until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs = CHECK_INTERVAL_MS } = this.#options;
    await runAtIntervals({ clock, intervalMs }, () => this.check(), signal);
  }

  /** Checks once. All rules of a directory change together. */
  async check(): Promise<void> {
    const { directories, logger, metrics } = this.#options;
    for (const [plugin, directory] of directories) {
      try {
        if (!(await this.#read(plugin, directory))) continue;
        for (const changed of this.#listeners) changed();
        logger.info({ plugin, directory }, "changed admission manifests are in use");
      } catch (error) {
        metrics.reloaded(plugin, false);
        logger.error(
          { plugin, directory, err: oneLine(error) },
          "admission manifests are not usable; the last good ones stay",
        );
      }
    }
  }

  /** @returns whether anything was new. @throws {Error} once for each change */
  async #read(plugin: RulePlugin, directory: string): Promise<boolean> {
    const { naming, catalog, clock, metrics } = this.#options;
    let read: Awaited<ReturnType<typeof readManifests>>;
    try {
      read = await readManifests(directory);
    } catch (error) {
      if (!this.#isNew(plugin, oneLine(error))) return false;
      throw error;
    }
    if (!this.#isNew(plugin, read.hash)) return false;
    const surroundings = { naming, catalog: catalog.current, nowMs: clock.now() };
    this.#rules.set(plugin, parseManifests(plugin, read, surroundings));
    metrics.reloaded(plugin, true);
    metrics.configured(plugin, read.hash);
    return true;
  }

  #isNew(plugin: RulePlugin, state: string): boolean {
    if (this.#seen.get(plugin) === state) return false;
    this.#seen.set(plugin, state);
    return true;
  }
}

const NONE: readonly ApiObject[] = [];

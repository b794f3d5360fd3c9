/**
 * Resource quotas: copies the spec to `status.hard`, which puts a quota into effect, and recounts
 * `status.used` when something in the namespace changes. Writes themselves raise usage
 * (server/admission/quota); this loop corrects it, and lowers it after deletions.
 *
 * A count is of one moment, including the quota, and is written only onto that state of the quota. A write
 * charged in between has changed the quota, so no charge is ever lost.
 */

import { ShortTurns } from "../../storage/base/short-turns.js";
import type { DeviceFacts } from "../admission/quota/device-facts.js";
import { Evaluators } from "../admission/quota/evaluators.js";
import { isQuota, type QuotaObject } from "../admission/quota/quota-object.js";
import { type Countable, recount } from "../admission/quota/recount.js";
import { formatUsage, isSameUsage, parseUsage } from "../admission/quota/usage.js";
import { deepEqual } from "../api/deep-equal.js";
import type { Naming } from "../api/naming.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectKey } from "./objects-api.js";
import type { LoopParts } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

export interface ResourceQuotasOptions extends LoopParts {
  readonly naming: Naming;
  readonly devices: DeviceFacts;
}

/** Changes of a namespace within this time share one count. */
const WINDOW_MS = 200;
/** A quota that is slow to count is counted less often: at most one part in this many of the time. */
const REST_FACTOR = 20;
const WINDOW_MS_MAX = 10_000;
/** Pods leave a quota when their grace period ends, without an event. kube-apiserver's interval. */
const RECHECK_MS = 300_000;

/** Runs until the signal aborts. */
export async function runResourceQuotas(
  options: ResourceQuotasOptions,
  signal: AbortSignal,
): Promise<void> {
  await new ResourceQuotas(options).run(signal);
}

class ResourceQuotas {
  readonly #options: ResourceQuotasOptions;
  readonly #quotas: ControlledResource;
  readonly #evaluators: Evaluators;
  readonly #queue: WorkQueue;
  /** The names of the quotas of each namespace. */
  readonly #names = new Map<string, Set<string>>();
  /** Current window per quota. */
  readonly #windowsMs = new Map<string, number>();

  constructor(options: ResourceQuotasOptions) {
    const { objects, naming, devices, clock } = options;
    this.#options = options;
    this.#evaluators = new Evaluators(naming, devices);
    this.#quotas = objects.resource("", "resourcequotas");
    this.#queue = new WorkQueue(clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { objects } = this.#options;
    const watch = (resource: ControlledResource) =>
      objects.watch(
        resource,
        resource === this.#quotas ? (key) => this.#quotaChanged(key) : (key) => this.#changed(key),
        signal,
      );
    const watching = objects.runForEach((resource) => this.#isCounted(resource), watch, signal);
    const working = this.#queue.run((key) => this.#look(key, signal), signal);
    await Promise.all([watching, working]);
  }

  #changed({ namespace }: ObjectKey): void {
    for (const name of this.#names.get(namespace) ?? []) this.#addLater(`${namespace}/${name}`);
  }

  #quotaChanged(place: ObjectKey): void {
    const { namespace, name } = place;
    const key = `${namespace}/${name}`;
    const quota = this.#options.objects.get(this.#quotas, place);
    if (quota === undefined) this.#forget(place);
    else this.#names.set(namespace, (this.#names.get(namespace) ?? new Set()).add(name));
    // The number of quotas may itself be limited.
    this.#changed(place);
    if (isQuota(quota) && !isInForce(quota)) this.#queue.add(key);
  }

  #forget({ namespace, name }: ObjectKey): void {
    const names = this.#names.get(namespace);
    names?.delete(name);
    if (names?.size === 0) this.#names.delete(namespace);
    this.#windowsMs.delete(`${namespace}/${name}`);
  }

  #addLater(key: string): void {
    this.#queue.add(key, this.#windowsMs.get(key) ?? WINDOW_MS);
  }

  async #look(key: string, signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    const slash = key.indexOf("/");
    const place = { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
    try {
      const isThere = await this.#recount(key, place, signal);
      this.#queue.forget(key);
      if (isThere) this.#queue.add(key, RECHECK_MS);
    } catch (error) {
      if (signal.aborted) return;
      // A write was charged meanwhile. If writes are refused, there are no such conflicts.
      if (isLostRace(error)) return this.#addLater(key);
      logger.warn({ quota: key, err: error }, "counting the usage of a quota failed");
      this.#queue.retry(key);
    }
  }

  /** @returns whether the quota exists */
  async #recount(key: string, place: ObjectKey, signal: AbortSignal): Promise<boolean> {
    const { objects, clock } = this.#options;
    const quota = objects.get(this.#quotas, place);
    if (quota === undefined) {
      // It may have gone during a reload of the view, without an event.
      this.#forget(place);
      return false;
    }
    // Left to administrators; their change is an event.
    if (!isQuota(quota)) return false;
    const startedMs = clock.monotonic();
    // All in one turn, so that the quota and the counted objects are of one moment.
    const countables = this.#countablesOf(quota, place.namespace);
    const turns = new ShortTurns();
    const used = await recount(quota, countables, clock.now(), () => turns.yieldIfLong());
    const restMs = (clock.monotonic() - startedMs) * REST_FACTOR;
    if (this.#names.get(place.namespace)?.has(place.name) === true) {
      this.#windowsMs.set(key, Math.min(Math.max(WINDOW_MS, restMs), WINDOW_MS_MAX));
    }
    if (isInForce(quota) && isSameUsage(used, parseUsage(quota.status?.used))) return true;
    const hard = { ...quota.spec?.hard };
    const status = { ...quota.status, hard, used: formatUsage(used) };
    await objects.update(this.#quotas, { ...quota, status }, "status", signal);
    return true;
  }

  #isCounted({ group, resource, isNamespaced }: ControlledResource): boolean {
    return isNamespaced && this.#evaluators.of(group, resource) !== undefined;
  }

  #countablesOf({ spec }: QuotaObject, namespace: string): Countable[] {
    const hard = Object.keys(spec?.hard ?? {});
    const { objects } = this.#options;
    return objects.resources
      .filter((one) => this.#isCounted(one))
      .flatMap((resource) => {
        const evaluator = this.#evaluators.of(resource.group, resource.resource);
        if (evaluator === undefined || !hard.some((name) => evaluator.uses(name))) return [];
        return [{ evaluator, ...objects.snapshot(resource, namespace) }];
      });
  }
}

/** Whether the status has the limits of the spec. */
function isInForce({ spec, status }: QuotaObject): boolean {
  return status?.used !== undefined && deepEqual(spec?.hard ?? {}, status.hard ?? {});
}

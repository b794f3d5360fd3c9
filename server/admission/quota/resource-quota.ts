/**
 * ResourceQuota: keeps the usage of a namespace within its quotas. A write's usage is added to
 * `status.used` of each quota in the write's own transaction (decision 0017), provided that the quota
 * has not changed since it was read. So usage is consistent across replicas, and only committed writes
 * count. The control loop lowers usage again.
 *
 * Quotas are indexed by namespace: without a quota, a write costs one map lookup.
 */
import type { Clock } from "../../../storage/base/clock.js";
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import type { CommitResult, KeyValue } from "../../../storage/kv/store.js";
import { objectPath, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Naming } from "../../api/naming.js";
import { parseJson } from "../../schema/parse-json.js";
import {
  type AdmissionAttributes,
  type AdmissionOperation,
  type AdmissionPlugin,
  type SideWrite,
  WRITES,
} from "../admission.js";
import { type Charged, chargeQuotas, type LookedAt } from "./charge.js";
import { ViewedDevices } from "./device-facts.js";
import type { Evaluator } from "./evaluator.js";
import { Evaluators } from "./evaluators.js";
import { type LimitedResource, requireCover } from "./limited-resources.js";
import { isQuota, type QuotaObject } from "./quota-object.js";

export interface ResourceQuotaOptions {
  readonly view: Pick<RegistryView, "keys" | "partition">;
  /** Resolves when the view holds every write acknowledged before the call. */
  fresh(): Promise<void>;
  readonly naming: Naming;
  readonly clock: Pick<Clock, "now">;
  /** What may be used only where a quota covers it; default: nothing. */
  readonly limited?: readonly LimitedResource[];
}

/** A quota in its latest known state in the store. */
interface KnownQuota extends LookedAt {
  readonly key: string;
  readonly revision: KeyValue["modRevision"];
}

const PARTITION = partitionId("", "resourcequotas");

export class ResourceQuota implements AdmissionPlugin {
  readonly name = "ResourceQuota";
  readonly #options: ResourceQuotaOptions;
  readonly #evaluators: Evaluators;
  readonly #limited: readonly LimitedResource[];
  /** By namespace, then by name. */
  readonly #quotas = new Map<string, Map<string, StoredObject>>();
  /** undefined if it is not a quota. */
  readonly #parsed = new WeakMap<StoredObject, QuotaObject | undefined>();
  /** Quota states that our own transactions showed before the view, by key; at most one per quota. */
  readonly #ahead = new Map<string, KnownQuota>();
  /** Namespaces with a quota that is deleted in the store but still in the view. */
  readonly #behind = new Set<string>();
  /** Called when the first quota appears or the last one disappears. */
  #changed = () => {};

  constructor(options: ResourceQuotaOptions) {
    this.#options = options;
    this.#evaluators = new Evaluators(
      options.naming,
      new ViewedDevices(options.view, options.naming),
    );
    this.#limited = options.limited ?? [];
    options.view.partition(PARTITION).observe({
      replaced: (objects) => {
        this.#quotas.clear();
        this.#ahead.clear();
        this.#behind.clear();
        objects.visit("", "", (stored) => {
          this.#put(stored);
          return undefined;
        });
        this.#changed();
      },
      put: (stored) => this.#put(stored),
      deleted: (stored) => this.#delete(stored),
    });
  }

  subscribe(changed: () => void): void {
    this.#changed = changed;
  }

  handles(operation: AdmissionOperation): boolean {
    const isNeeded = this.#quotas.size > 0 || this.#limited.length > 0;
    return isNeeded && WRITES.includes(operation);
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { namespace, operation, resource, subresource } = attributes;
    if (!this.#quotas.has(namespace) && this.#limited.length === 0) return undefined;
    const evaluator = this.#evaluators.of(resource.group, resource.resource);
    if (evaluator?.charges(operation, subresource) !== true) return undefined;
    if (operation === "UPDATE" && subresource === "" && !raisesUsage(evaluator, attributes)) {
      return undefined;
    }
    if (this.#behind.delete(namespace)) {
      return this.#options.fresh().then(() => this.#charge(attributes, evaluator));
    }
    this.#charge(attributes, evaluator);
    return undefined;
  }

  #charge(attributes: AdmissionAttributes, evaluator: Evaluator): void {
    const quotas = this.#quotasOf(attributes.namespace);
    const nowMs = this.#options.clock.now();
    const known = quotas.map(({ quota }) => quota);
    requireCover(this.#limited, known, evaluator, attributes, nowMs);
    const charged = chargeQuotas(quotas, evaluator, attributes, nowMs);
    if (attributes.options.isDryRun) return;
    for (const one of charged) attributes.sideWrites?.push(this.#sideWriteOf(one));
  }

  /** Ordered by name, so that all writers conflict on the same quota first. */
  #quotasOf(namespace: string): KnownQuota[] {
    const quotas: KnownQuota[] = [];
    for (const [name, stored] of this.#quotas.get(namespace) ?? []) {
      const key = this.#keyOf(namespace, name);
      const ahead = this.#ahead.get(key);
      // An unreadable quota is ignored, because its limits are unknown.
      const quota = ahead === undefined ? this.#parse(stored) : undefined;
      if (ahead !== undefined) quotas.push(ahead);
      else if (quota !== undefined) quotas.push({ key, revision: stored.revision, quota });
    }
    return quotas.sort((left, right) => (left.key < right.key ? -1 : 1));
  }

  #sideWriteOf({ looked, next }: Charged<KnownQuota>): SideWrite {
    const { key, revision } = looked;
    return {
      compares: [{ key, modRevision: revision }],
      puts: [{ key, object: next }],
      settled: (result) => this.#learn(looked, next, result),
    };
  }

  #learn({ key, quota }: KnownQuota, next: QuotaObject, result: CommitResult): void {
    const { name = "", namespace = "" } = quota.metadata;
    const seen = this.#quotas.get(namespace)?.get(name);
    // The view has seen its deletion, so there is no newer state to keep.
    if (seen === undefined) return;
    if (result.succeeded) {
      this.#noteAhead(seen, { key, revision: result.revision, quota: next });
      return;
    }
    const [current] = result.current;
    const stored = current && parseQuota(current.value);
    if (current === undefined || stored === undefined) this.#behind.add(namespace);
    else this.#noteAhead(seen, { key, revision: current.modRevision, quota: stored });
  }

  #noteAhead(seen: StoredObject, known: KnownQuota): void {
    if (seen.revision >= known.revision) return;
    const before = this.#ahead.get(known.key);
    if (before !== undefined && before.revision >= known.revision) return;
    this.#ahead.set(known.key, known);
  }

  #put(stored: StoredObject): void {
    const { namespace, name, revision } = stored;
    const isFirst = this.#quotas.size === 0;
    const quotas = this.#quotas.get(namespace) ?? new Map<string, StoredObject>();
    this.#quotas.set(namespace, quotas.set(name, stored));
    if (isFirst) this.#changed();
    const key = this.#keyOf(namespace, name);
    if ((this.#ahead.get(key)?.revision ?? revision) <= revision) this.#ahead.delete(key);
  }

  #delete({ namespace, name }: StoredObject): void {
    const quotas = this.#quotas.get(namespace);
    quotas?.delete(name);
    if (quotas?.size === 0) this.#quotas.delete(namespace);
    if (this.#quotas.size === 0) this.#changed();
    this.#ahead.delete(this.#keyOf(namespace, name));
    this.#behind.delete(namespace);
  }

  #parse(stored: StoredObject): QuotaObject | undefined {
    if (this.#parsed.has(stored)) return this.#parsed.get(stored);
    const quota = stored.corruption === undefined ? parseQuota(stored.bytes) : undefined;
    // The resourceVersion is the key's revision and not part of the stored value.
    delete quota?.metadata.resourceVersion;
    this.#parsed.set(stored, quota);
    return quota;
  }

  #keyOf(namespace: string, name: string): string {
    return this.#options.view.keys.key(PARTITION, objectPath(namespace, name));
  }
}

function raisesUsage(evaluator: Evaluator, { object, oldObject }: AdmissionAttributes): boolean {
  if (object === undefined || oldObject === undefined) return true;
  return evaluator.chargesChange?.(object, oldObject) ?? true;
}

/** undefined if it cannot be read. */
function parseQuota(value: Buffer): QuotaObject | undefined {
  try {
    const quota: unknown = parseJson(value);
    return isQuota(quota) ? quota : undefined;
  } catch {
    return undefined;
  }
}

/**
 * EventRateLimit: bounds how many events are written a second, altogether, per namespace, per user, or
 * per source and object, by token buckets. Buckets of one limit are kept for the keys that were used last;
 * a forgotten bucket is full again. Each replica counts for itself.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../storage/base/clock.js";
import { tooManyRequests } from "../api/status.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  WRITES,
} from "./admission.js";

export type EventLimitType = "Server" | "Namespace" | "User" | "SourceAndObject";

export interface EventLimit {
  readonly type: EventLimitType;
  /** Events a second in the long run. */
  readonly qps: number;
  /** Events at once. */
  readonly burst: number;
  /** Buckets that are kept. */
  readonly cacheSize: number;
}

export const EVENT_BUCKETS_DEFAULT = 4096;

interface Bucket {
  tokens: number;
  /** Monotonic milliseconds of the last look. */
  sinceMs: number;
}

export class EventRateLimit implements AdmissionPlugin {
  readonly name = "EventRateLimit";
  readonly handles = handlesOnly({ group: "", resource: "events" }, WRITES);
  readonly #limits: readonly { readonly limit: EventLimit; readonly buckets: Buckets }[];

  constructor(limits: readonly EventLimit[], clock: Pick<Clock, "monotonic">) {
    this.#limits = limits.map((limit) => ({ limit, buckets: new Buckets(limit, clock) }));
  }

  /** Buckets that are kept, of all limits. */
  get size(): number {
    return this.#limits.reduce((sum, { buckets }) => sum + buckets.size, 0);
  }

  validate(attributes: AdmissionAttributes): undefined {
    if (attributes.options.isDryRun) return;
    const full: string[] = [];
    // Every limit counts the event, whatever the others say.
    for (const { limit, buckets } of this.#limits) {
      const key = KEYS[limit.type](attributes);
      if (buckets.take(key)) continue;
      full.push(`limit reached on type ${limit.type} for key ${key}`);
    }
    if (full.length === 0) return;
    const why = full.length === 1 ? full[0] : `[${full.join(", ")}]`;
    // Clients drop an event that is refused so; with a time they would send it again and again.
    throw tooManyRequests(`Too many requests: ${why}`);
  }
}

class Buckets {
  readonly #limit: EventLimit;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor(limit: EventLimit, clock: Pick<Clock, "monotonic">) {
    this.#limit = limit;
    this.#clock = clock;
    this.#buckets = new LRUCache({ max: limit.type === "Server" ? 1 : limit.cacheSize });
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** @returns whether the bucket had a token */
  take(key: string): boolean {
    const { qps, burst } = this.#limit;
    const nowMs = this.#clock.monotonic();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, sinceMs: nowMs };
      this.#buckets.set(key, bucket);
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.sinceMs) / 1000) * qps);
    bucket.sinceMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}

interface EventObject {
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly involvedObject?: Readonly<Record<string, string | undefined>>;
}

/** What is counted together; as in messages of kube-apiserver. */
const KEYS: Readonly<Record<EventLimitType, (attributes: AdmissionAttributes) => string>> = {
  Server: () => "",
  Namespace: ({ namespace }) => namespace,
  User: ({ user }) => user.name,
  SourceAndObject({ object }) {
    const { source = {}, involvedObject = {} } = (object ?? {}) as unknown as EventObject;
    const { kind, namespace, name, uid, apiVersion } = involvedObject;
    const parts = [source.component, source.host, kind, namespace, name, uid, apiVersion];
    return parts.map((part) => part ?? "").join("");
  },
};

/**
 * Cached decisions of webhooks. The first layer is ProcessDecisionCache, in this process; behind it there
 * may be a SharedDecisionCache for all replicas (redis-decision-cache.ts). Entries expire by the TTLs of
 * the authorizer's configuration, counted from the webhook's answer.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../storage/base/clock.js";
import type { AuthorizationResult } from "../authorizer.js";
import type { Decision } from "../metrics.js";

export interface SharedDecision {
  readonly decision: Decision;
  /** The remaining lifetime. */
  readonly ttlMs: number;
}

/** A cache shared by the replicas. It never rejects and never delays a caller for long. */
export interface SharedDecisionCache {
  /**
   * Looks up a decision. `isAsked` false: the cache could not be asked.
   * @param key a digest of everything that the decision depends on
   */
  get(key: string): Promise<{ readonly isAsked: boolean; readonly found?: SharedDecision }>;
  /** Stores the decision in the background, on a best-effort basis. */
  put(key: string, decision: Decision, ttlMs: number): void;
}

/** The same limit per webhook as kube-apiserver's. */
const DECISIONS_MAX = 8_192;
/** Characters of all keys together: questions about users with many groups are long. */
const KEY_CHARS_MAX = 16 * 1024 * 1024;

interface Remembered {
  readonly result: AuthorizationResult;
  readonly expiresAtMs: number;
}

export class ProcessDecisionCache {
  readonly #clock: Clock;
  readonly #decisions = new LRUCache<string, Remembered>({
    max: DECISIONS_MAX,
    maxSize: KEY_CHARS_MAX,
    sizeCalculation: (_value, key) => key.length + 1,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(question: string): AuthorizationResult | undefined {
    const known = this.#decisions.get(question);
    if (known === undefined) return undefined;
    if (this.#clock.monotonic() < known.expiresAtMs) return known.result;
    this.#decisions.delete(question);
    return undefined;
  }

  put(question: string, result: AuthorizationResult, ttlMs: number): void {
    const expiresAtMs = this.#clock.monotonic() + ttlMs;
    this.#decisions.set(question, { result, expiresAtMs });
  }
}

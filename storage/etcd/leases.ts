/**
 * Shared leases: callers that ask for about the same end get the same lease, so that a thousand
 * events an hour do not make a thousand leases. Run by EtcdStore, which grants leases and reports
 * lost ones.
 */
import type { Clock } from "../base/clock.js";
import type { LeaseId } from "../kv/store.js";

/**
 * Ends are rounded up to a tenth of the requested TTL, at least a second and at most a minute: a
 * key lives at most a minute longer than requested, and a short one only a little longer.
 */
const SHARED_PART = 10;
const SHARED_MS_MIN = 1_000;
const SHARED_MS_MAX = 60_000;

/** Leases remembered at once: one for each minute of half a day. The oldest are forgotten first. */
const LEASES_MAX = 720;

export class SharedLeases {
  readonly #clock: Clock;
  readonly #grant: (ttlSeconds: number) => Promise<LeaseId>;
  /** By width and end of the bucket, in order of creation. */
  readonly #leases = new Map<string, { readonly endMs: number; readonly id: Promise<LeaseId> }>();

  constructor(clock: Clock, grant: (ttlSeconds: number) => Promise<LeaseId>) {
    this.#clock = clock;
    this.#grant = grant;
  }

  /** A lease with at least `ttlSeconds` left. */
  get(ttlSeconds: number): Promise<LeaseId> {
    const nowMs = this.#clock.monotonic();
    const ttlMs = Math.max(1, ttlSeconds) * 1_000;
    const widthMs = Math.min(Math.max(ttlMs / SHARED_PART, SHARED_MS_MIN), SHARED_MS_MAX);
    const endMs = Math.ceil((nowMs + ttlMs) / widthMs) * widthMs;
    const bucket = `${widthMs}:${endMs}`;
    const known = this.#leases.get(bucket);
    if (known !== undefined) return known.id;

    this.#forgetOld(nowMs);
    const id = this.#grant(Math.ceil((endMs - nowMs) / 1_000));
    this.#leases.set(bucket, { endMs, id });
    id.catch(() => this.#leases.delete(bucket));
    return id;
  }

  /** A lease was lost before its time: none of the old ones is handed out again. */
  forgetAll(): void {
    this.#leases.clear();
  }

  #forgetOld(nowMs: number): void {
    for (const [bucket, { endMs }] of this.#leases) {
      if (endMs <= nowMs || this.#leases.size >= LEASES_MAX) this.#leases.delete(bucket);
    }
  }
}

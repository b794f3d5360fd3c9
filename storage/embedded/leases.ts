/**
 * Leases delete keys at a given time. A lease is stored with its end by the wall clock, so that it
 * expires on time even after a restart. While the process runs, the monotonic clock decides, so
 * that a corrected wall clock expires nothing early. Leases that end within the same second are
 * one. The keys of an expired lease are deleted by ordinary transactions.
 */
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import type { LeaseId } from "../kv/store.js";
import type { CommitQueue } from "./commit-queue.js";
import { leasedKey, type StoreDatabase } from "./database.js";
import type { GroupPlan } from "./group-plan.js";
import { openNumbers, sealNumbers } from "./records.js";

/** Leases end at whole seconds, so a request seldom writes to the disk. */
const GRANULARITY_MS = 1000;
/** Bounds callers that ask for ever different ends: a day of whole seconds. */
const LEASES_MAX = 86_400;
/** Keys deleted at one revision when a lease ends. */
const ENDED_KEYS_PER_REVISION = 500;
/** Pause before an expired lease is retried when the disk refused its deletes. */
const RETRY_MS = 1000;

interface Lease {
  readonly lease: number;
  /** By the monotonic clock. */
  readonly endMs: number;
  /** Resolves when it is on the disk. */
  readonly stored: Promise<void>;
}

export class Leases {
  readonly #database: StoreDatabase;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #alive = new Map<number, Lease>();
  readonly #byEnd = new Map<number, Lease>();
  /** Never aborts: a lease is shared, so it is stored even if its first caller gives up. */
  readonly #shared = new AbortController().signal;
  #lastLease = 0;
  /** Wakes the loop: the new lease may be the next to expire. */
  #onGrant: () => void = () => {};

  constructor(database: StoreDatabase, clock: Clock, logger: Logger) {
    this.#database = database;
    this.#clock = clock;
    this.#logger = logger;
    const now = clock.now();
    for (const { key: lease, value } of database.leases.getRange({ start: 0 })) {
      const [endsAtMs, ttlMs] = openNumbers(lease, value) ?? [];
      if (endsAtMs === undefined || ttlMs === undefined) database.damage.note("leases", `${lease}`);
      // If the wall clock was set back while the process was down, no lease gets longer. A damaged one is over.
      const leftMs = Math.min((endsAtMs ?? now) - now, ttlMs ?? 0);
      this.#alive.set(lease, {
        lease,
        endMs: clock.monotonic() + leftMs,
        stored: Promise.resolve(),
      });
      this.#lastLease = Math.max(this.#lastLease, lease);
    }
  }

  isAlive(lease: number): boolean {
    return this.#alive.has(lease);
  }

  /** A lease that ends at the first whole second after `ttlSeconds`. @throws {StorageError} */
  async grant(ttlSeconds: number, queue: CommitQueue, signal: AbortSignal): Promise<LeaseId> {
    if (!(ttlSeconds > 0 && Number.isSafeInteger(Math.ceil(ttlSeconds * 1000)))) {
      throw new StorageError("Refused", `a lease cannot last ${ttlSeconds} seconds`);
    }
    const earliest = this.#clock.monotonic() + ttlSeconds * 1000;
    const endMs = Math.ceil(earliest / GRANULARITY_MS) * GRANULARITY_MS;
    const lease = this.#byEnd.get(endMs) ?? this.#newLease(endMs, queue);
    await lease.stored;
    signal.throwIfAborted();
    return String(lease.lease) as LeaseId;
  }

  #newLease(endMs: number, queue: CommitQueue): Lease {
    if (this.#alive.size >= LEASES_MAX) {
      throw new StorageError("Unavailable", `there are ${LEASES_MAX} leases already`);
    }
    const number = ++this.#lastLease;
    const ttlMs = endMs - this.#clock.monotonic();
    const record = sealNumbers(number, this.#clock.now() + ttlMs, ttlMs);
    const stored = queue.exclusively((plan) => {
      plan.addWrite(() => void this.#database.leases.put(number, record));
    }, this.#shared);
    const lease = { lease: number, endMs, stored };
    this.#alive.set(number, lease);
    this.#byEnd.set(endMs, lease);
    // Callers that share a lease that could not be stored ask again and get another one.
    stored.then(
      () => this.#onGrant(),
      () => this.#forget(lease),
    );
    return lease;
  }

  #forget(lease: Lease): void {
    this.#alive.delete(lease.lease);
    if (this.#byEnd.get(lease.endMs) === lease) this.#byEnd.delete(lease.endMs);
  }

  /** Expires leases as they become due, until the signal aborts. */
  async run(queue: CommitQueue, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#nextToEnd();
      const delayMs = next === undefined ? undefined : next.endMs - this.#clock.monotonic();
      if (next === undefined || delayMs === undefined || delayMs > 0) {
        await this.#sleep(delayMs, signal);
        continue;
      }
      try {
        await this.#end(next, queue, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.error({ lease: next.lease, err: error }, "cannot end a lease, trying again");
        this.#alive.set(next.lease, next);
        await this.#clock.sleep(RETRY_MS, signal);
      }
    }
  }

  #nextToEnd(): Lease | undefined {
    let next: Lease | undefined;
    for (const lease of this.#alive.values()) {
      if (next === undefined || lease.endMs < next.endMs) next = lease;
    }
    return next;
  }

  /** Sleeps for the delay or until a new lease; without a delay only until a new lease. */
  async #sleep(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
    const scope = new AbortController();
    const onAbort = () => scope.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const granted = new Promise<void>((resolve) => {
        this.#onGrant = resolve;
        scope.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      if (delayMs === undefined) await granted;
      else {
        const slept = this.#clock.sleep(delayMs, scope.signal).catch(() => {});
        await Promise.race([granted, slept]);
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      scope.abort();
    }
  }

  async #end(lease: Lease, queue: CommitQueue, signal: AbortSignal): Promise<void> {
    // No key can be bound to it from here on, so the deletes terminate.
    this.#forget(lease);
    for (let more = true; more; ) {
      more = await queue.exclusively((plan) => this.#planEnd(lease.lease, plan), signal);
    }
  }

  /** Deletes some of the lease's keys, or the lease itself with the last ones. */
  #planEnd(lease: number, plan: GroupPlan): boolean {
    const { leases, leasedKeys } = this.#database;
    const keys: string[] = [];
    const start = leasedKey({ lease, key: "" });
    const end = leasedKey({ lease: lease + 1, key: "" });
    for (const key of leasedKeys.getKeys({ start, end, limit: ENDED_KEYS_PER_REVISION })) {
      keys.push(key.key);
    }
    const operations = keys.map((key) => ({ type: "delete", key }) as const);
    if (operations.length > 0) plan.add({ compares: [], operations, bytes: 0, makesRoom: true });
    if (keys.length === ENDED_KEYS_PER_REVISION) return true;
    plan.addWrite(() => void leases.remove(lease));
    return false;
  }
}

/**
 * LeaseLock: elects the process that runs the control loops. The lock is a Lease object; the holder
 * writes its name into it and renews it in time. A process that sees no renewal for the lease's duration,
 * by its own clock, may take it over. All writes are compare-and-swap, so at most one takeover succeeds.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { ApiObject } from "../api/meta.js";
import { StatusError } from "../api/status.js";
import type { LeasePulse } from "./lease-pulse.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";

/** Lifetime of a lease without renewal; client-go's default. */
const LEASE_DURATION_SECONDS = 15;
/** A holder that could not renew for this long stops, well before anyone may take over. */
const RENEW_DEADLINE_MS = 10_000;
/** Delay between attempts to take or renew. */
const RETRY_PERIOD_MS = 2_000;
/** The longest pause of a process whose loops fail again and again; shorter than what its health check bears. */
const REST_MS_MAX = 32_000;

export interface LeaseLockOptions {
  readonly objects: ObjectsApi;
  readonly leases: ControlledResource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly namespace: string;
  readonly name: string;
  /** Unique among all processes. */
  readonly identity: string;
  /** Told of each attempt and of who leads; absent = nobody looks. */
  readonly pulse?: LeasePulse;
}

/** The fields of a coordination Lease that locks and replicas use. */
export interface LeaseObject extends ApiObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export class LeaseLock {
  readonly #options: LeaseLockOptions;
  /** The last seen version of the lease, and when it appeared by our clock. */
  #seenVersion = "";
  #seenAtMs = 0;
  #lastLedMs: number | undefined;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  /** When another holder renewed it last, in its own time; undefined = there was none before this process. */
  get lastLedMs(): number | undefined {
    return this.#lastLedMs;
  }

  /**
   * Runs `lead` whenever this process holds the lock, until `signal` aborts. The signal for `lead`
   * aborts when the lock is lost. Releases the lock at the end. If `lead` fails, the lock is released, so that another
   * process may do better, and this one pauses, longer each time.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, logger, identity, name, pulse } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      pulse?.beat();
      const sentAtMs = clock.monotonic();
      if (!(await this.#tryTake(signal))) {
        if (!(await sleep(clock, RETRY_PERIOD_MS, signal))) return;
        continue;
      }
      logger.info({ lease: name, identity }, "leading");
      pulse?.lead(true);
      const lost = new AbortController();
      // It may have aborted while the lock was taken.
      const leading = AbortSignal.any([signal, lost.signal]);
      let hasFailed = false;
      const led = lead(leading).catch((error: unknown) => {
        if (leading.aborted) return;
        logger.error({ err: error }, "a control loop failed");
        hasFailed = true;
        lost.abort();
      });
      await this.#keep(sentAtMs, leading, signal);
      pulse?.lead(false);
      lost.abort(new Error("no longer leading"));
      await led;
      logger.info({ lease: name, identity }, "no longer leading");
      if (!hasFailed) continue;
      if (clock.monotonic() - sentAtMs > REST_MS_MAX) failures = 0;
      await this.#release();
      await sleep(clock, Math.min(RETRY_PERIOD_MS * 2 ** failures++, REST_MS_MAX), signal);
    }
    await this.#release();
  }

  /**
   * Renews until renewal fails for too long. Counted from when a renewal was sent: whoever waits for the lock may have seen
   * it then, however late its answer comes.
   */
  async #keep(takenAtMs: number, leading: AbortSignal, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let renewedAtMs = takenAtMs;
    while (!leading.aborted) {
      this.#options.pulse?.beat();
      if (!(await sleep(clock, RETRY_PERIOD_MS, leading))) return;
      const sentAtMs = clock.monotonic();
      const over = new AbortController();
      const leftMs = Math.max(0, renewedAtMs + RENEW_DEADLINE_MS - sentAtMs);
      const isRenewed = await Promise.race([
        this.#tryTake(AbortSignal.any([signal, over.signal])),
        sleep(clock, leftMs, over.signal).then(() => false),
      ]);
      over.abort();
      if (isRenewed) renewedAtMs = sentAtMs;
      else if (clock.monotonic() - renewedAtMs >= RENEW_DEADLINE_MS) return;
    }
  }

  /** Takes or renews the lock in one write. @returns whether we hold it */
  async #tryTake(signal: AbortSignal): Promise<boolean> {
    const { objects, leases, clock, logger, namespace, name, identity } = this.#options;
    try {
      const lease = objects.get(leases, { namespace, name }) as LeaseObject | undefined;
      const now = formatMicroTime(clock.now());
      const spec = { holderIdentity: identity, leaseDurationSeconds: LEASE_DURATION_SECONDS };
      if (lease === undefined) {
        const fresh: LeaseObject = {
          kind: leases.kind,
          apiVersion: `${leases.group}/${leases.version}`,
          metadata: { namespace, name },
          spec: { ...spec, acquireTime: now, renewTime: now, leaseTransitions: 0 },
        };
        await objects.create(leases, fresh, signal);
        return true;
      }
      const isOurs = lease.spec?.holderIdentity === identity;
      if (!isOurs && !this.#isExpired(lease)) return false;
      if (!isOurs) this.#lastLedMs = Date.parse(lease.spec?.renewTime ?? "") || undefined;
      const transitions = (lease.spec?.leaseTransitions ?? 0) + (isOurs ? 0 : 1);
      const next: LeaseObject = {
        ...lease,
        spec: {
          ...lease.spec,
          ...spec,
          acquireTime: isOurs ? (lease.spec?.acquireTime ?? now) : now,
          renewTime: now,
          leaseTransitions: transitions,
        },
      };
      await objects.update(leases, next, "", signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      // Another process was faster, or the store is unreachable: try again later.
      const isRace = error instanceof StatusError && error.code === 409;
      if (!isRace) logger.warn({ lease: name, err: error }, "taking or renewing the lease failed");
      return false;
    }
  }

  /** Judged by how long we saw no change, not by the times in it, because clocks differ. */
  #isExpired(lease: LeaseObject): boolean {
    const { clock } = this.#options;
    const version = lease.metadata.resourceVersion ?? "";
    if (version !== this.#seenVersion) {
      this.#seenVersion = version;
      this.#seenAtMs = clock.monotonic();
    }
    if ((lease.spec?.holderIdentity ?? "") === "") return true;
    const durationMs = (lease.spec?.leaseDurationSeconds ?? LEASE_DURATION_SECONDS) * 1000;
    return clock.monotonic() - this.#seenAtMs > durationMs;
  }

  /** Lets the next process lead at once instead of after the lease's expiry. */
  async #release(): Promise<void> {
    const { objects, leases, namespace, name, identity } = this.#options;
    const lease = objects.get(leases, { namespace, name }) as LeaseObject | undefined;
    if (lease?.spec?.holderIdentity !== identity) return;
    const { holderIdentity: _ours, ...spec } = lease.spec;
    const released = { ...lease, spec: { ...spec, leaseDurationSeconds: 1 } };
    try {
      await objects.update(leases, released, "", AbortSignal.timeout(RELEASE_MS));
    } catch {
      // The lease expires on its own.
    }
  }
}

/** The longest time that a shutdown waits for the release. */
const RELEASE_MS = 1_000;

/** @returns false if the signal aborted */
async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(delayMs, signal);
    return true;
  } catch {
    return false;
  }
}

/** "2024-05-01T10:20:30.123000Z": six decimals, as the type requires. */
export function formatMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace(/Z$/, "000Z");
}

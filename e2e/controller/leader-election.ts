/**
 * Leader election over a Lease, as client-go does it, for the JavaScript client, which has none. A leader
 * leads until a deadline that counts from before its renewal was sent; another one takes over when it
 * has seen the lease unchanged for longer. So two never lead at once, as long as clocks run alike.
 *
 *   leader   renew ──────────► leads until here
 *   other      sees the lease ───────────────────────► may take it
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  CoordinationV1Api,
  type KubeConfig,
  type V1Lease,
  V1MicroTime,
} from "@kubernetes/client-node";
import { eventually, within } from "../harness/eventually.js";

/** As long as a slow machine needs to renew in time: nobody is to lose a lease but by a fault. */
const LEASE_MS = 6_000;
const RENEW_DEADLINE_MS = 4_000;
const RETRY_MS = 100;
const PATIENCE_MS = 2_500;

/** One stretch of time in which somebody held the lease. */
export interface Reign {
  readonly identity: string;
  /** How often the lease had changed hands. */
  readonly term: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface ElectionOptions {
  readonly config: KubeConfig;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  /** Called for the first reign of a term, and for each that a renewal prolongs. */
  readonly onReign: (reign: Reign) => void;
}

export class LeaderElection {
  readonly #options: ElectionOptions;
  readonly #api: CoordinationV1Api;
  #seen = { version: "", atMs: 0 };
  #leadsUntilMs = 0;
  #restsUntilMs = 0;
  #term = 0;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#api = options.config.makeApiClient(CoordinationV1Api);
  }

  /** The term in which this one leads now; undefined = it does not. */
  get term(): number | undefined {
    return performance.now() < this.#leadsUntilMs ? this.#term : undefined;
  }

  /** Candidate, and leader, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A replica that is away, or another one that was faster: asked again.
      await this.#take(signal).catch(() => {});
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Stops leading, then says so, so that others need not wait. @throws {Error} nobody could be told */
  async stepDown(): Promise<void> {
    this.#leadsUntilMs = 0;
    this.#restsUntilMs = performance.now() + LEASE_MS;
    const { namespace, name, identity } = this.#options;
    await eventually("the lease is let go", async () => {
      const lease = await this.#api.readNamespacedLease({ namespace, name });
      if (lease.spec?.holderIdentity !== identity) return true;
      const body = { ...lease, spec: { ...lease.spec, holderIdentity: "" } };
      await this.#api.replaceNamespacedLease({ namespace, name, body });
      return true;
    });
  }

  async #take(signal: AbortSignal): Promise<void> {
    const { namespace, name, identity, onReign } = this.#options;
    const lease = await within("the lease", this.#read(), PATIENCE_MS);
    if (!this.#isFree(lease)) return;
    const { holderIdentity, leaseTransitions = 0 } = lease.spec ?? {};
    const now = new V1MicroTime();
    const isNew = holderIdentity !== identity;
    const term = isNew ? leaseTransitions + 1 : leaseTransitions;
    const spec = {
      ...lease.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(LEASE_MS / 1_000),
      leaseTransitions: term,
      renewTime: now,
      ...(isNew && { acquireTime: now }),
    };
    if (this.#isOut(signal)) return;
    const untilMs = performance.now() + RENEW_DEADLINE_MS;
    const body = { ...lease, spec };
    const taking = this.#api.replaceNamespacedLease({ namespace, name, body });
    await within("the lease is taken", taking, PATIENCE_MS);
    if (this.#isOut(signal)) return;
    this.#leadsUntilMs = untilMs;
    this.#term = term;
    onReign({ identity, term, fromMs: performance.now(), untilMs });
  }

  #isOut(signal: AbortSignal): boolean {
    return signal.aborted || performance.now() < this.#restsUntilMs;
  }

  async #read(): Promise<V1Lease> {
    const { namespace, name } = this.#options;
    try {
      return await this.#api.readNamespacedLease({ namespace, name });
    } catch (error) {
      if ((error as { code?: number }).code !== 404) throw error;
      const body = { metadata: { name } };
      return await this.#api.createNamespacedLease({ namespace, body });
    }
  }

  /** Nobody's, its own, or that of one who has let it go by. */
  #isFree({ metadata, spec }: V1Lease): boolean {
    const version = metadata?.resourceVersion ?? "";
    if (version !== this.#seen.version) this.#seen = { version, atMs: performance.now() };
    const { holderIdentity = "" } = spec ?? {};
    if (holderIdentity === "" || holderIdentity === this.#options.identity) return true;
    return performance.now() > this.#seen.atMs + LEASE_MS;
  }
}

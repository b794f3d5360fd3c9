/**
 * ReplicaLease: announces a replica to the others. It keeps a Lease with the replica's identity and address in
 * the system namespace, and every replica sees in memory which leases are renewed. Observers judge that by their
 * own clocks, as for the lock of the control loops, so clocks need not agree.
 *
 *   0 s  replica B is killed; its lease was renewed at -3 s, and A saw that at -3 s
 *   7 s  A looks, the lease has not changed for 10 s: B may be late, and stays
 *  17 s  A looks again: 20 s
 *  27 s  30 s, longer than SILENT_MS: B is gone from A's list; the Lease object stays for an hour, for people
 *  40 s  B starts again and renews: at A's next look it is back. At B's first look, A's lease is as old as its time says it is
 *        beside the newest of all; so one that died yesterday is no endpoint, and one
 *        whose clock is half a minute behind is none until its next renewal
 */
import { createHash, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Clock } from "../../storage/base/clock.js";
import type { Naming } from "../api/naming.js";
import { eachInTurn } from "./each-in-turn.js";
import { formatMicroTime, type LeaseObject } from "./lease-lock.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";

/** Renewal interval. */
export const RENEW_MS = 10_000;
/** A replica whose lease has not changed for this long gets no more clients: two renewals were missed. */
const SILENT_MS = 25_000;
/** A lease without renewal is deleted after this time; kube-apiserver's value. */
const LEASE_SECONDS = 3_600;

export interface ReplicaAddress {
  readonly ip: string;
  readonly port: number;
}

export interface ReplicaLeaseOptions {
  readonly objects: ObjectsApi;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly address: ReplicaAddress;
}

interface Seen {
  readonly version: string;
  readonly atMs: number;
}

export class ReplicaLease {
  readonly #options: ReplicaLeaseOptions;
  readonly #leases: ControlledResource;
  readonly #labels: { readonly identity: string; readonly host: string; readonly address: string };
  readonly #name: string;
  readonly #holder: string;
  /** When each replica's lease was last seen to change, by name. */
  readonly #seen = new Map<string, Seen>();
  #renewedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReplicaLeaseOptions) {
    const { objects, naming, address } = options;
    this.#options = options;
    this.#leases = objects.resource(`coordination.${naming.groupDomain}`, "leases");
    this.#labels = {
      identity: `apiserver.${naming.labelDomain}/identity`,
      host: `${naming.labelDomain}/hostname`,
      address: `apiserver.${naming.labelDomain}/advertise-address`,
    };
    this.#name = `apiserver-${digest(`${hostname()} ${formatAddress(address)}`)}`;
    this.#holder = `${this.#name}_${randomUUID()}`;
  }

  /** Renews this replica's lease if it is due. @throws {StatusError} */
  async renew(signal: AbortSignal): Promise<void> {
    const { objects, clock, naming, address } = this.#options;
    const nowMs = clock.monotonic();
    const current = this.#own();
    if (current !== undefined && nowMs - this.#renewedAtMs < RENEW_MS / 2) return;
    const renewTime = formatMicroTime(clock.now());
    const isOurs = current?.spec?.holderIdentity === this.#holder;
    const lease: LeaseObject = {
      kind: this.#leases.kind,
      apiVersion: `${this.#leases.group}/${this.#leases.version}`,
      metadata: {
        ...current?.metadata,
        namespace: naming.systemNamespace,
        name: this.#name,
        labels: {
          [this.#labels.identity]: `${naming.systemPrefix}-apiserver`,
          [this.#labels.host]: hostname(),
        },
        annotations: { [this.#labels.address]: formatAddress(address) },
      },
      spec: {
        holderIdentity: this.#holder,
        leaseDurationSeconds: LEASE_SECONDS,
        acquireTime: (isOurs && current?.spec?.acquireTime) || renewTime,
        renewTime,
      },
    };
    if (current === undefined) await objects.create(this.#leases, lease, signal);
    else await objects.update(this.#leases, lease, "", signal);
    this.#renewedAtMs = clock.monotonic();
  }

  /** The addresses of the live replicas, including this one, in order. */
  living(): ReplicaAddress[] {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    const living = new Map<string, ReplicaAddress>();
    const names = new Set<string>();
    const isFirstLook = this.#seen.size === 0;
    const all = this.#all();
    const newestMs = Math.max(...all.map(renewedAt));
    for (const lease of all) {
      const { name = "", resourceVersion = "", annotations } = lease.metadata;
      names.add(name);
      const seen = this.#seen.get(name);
      if (seen?.version !== resourceVersion) {
        const isOwn = name === this.#name;
        const silentMs = isFirstLook && !isOwn ? newestMs - renewedAt(lease) : 0;
        this.#seen.set(name, { version: resourceVersion, atMs: nowMs - silentMs });
      }
      const isSilent = nowMs - (this.#seen.get(name)?.atMs ?? nowMs) > SILENT_MS;
      const address = parseAddress(annotations?.[this.#labels.address] ?? "");
      if (isSilent || address === undefined) continue;
      living.set(formatAddress(address), address);
    }
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    return [...living].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, address]) => address);
  }

  /** Deletes leases that were not renewed for an hour. @throws {StatusError} */
  async bury(signal: AbortSignal): Promise<void> {
    const { clock, naming, objects } = this.#options;
    await eachInTurn(this.#all(), async (lease) => {
      const { leaseDurationSeconds = LEASE_SECONDS } = lease.spec ?? {};
      const endsAtMs = renewedAt(lease) + leaseDurationSeconds * 1_000;
      // Clocks may differ, but an hour is long, and a renewal creates the lease again.
      if (endsAtMs < clock.now())
        await this.#delete(objects, naming.systemNamespace, lease, signal);
    });
  }

  /** Deletes this replica's lease on shutdown, so that nobody waits for its expiry. @throws {StatusError} */
  async release(signal: AbortSignal): Promise<void> {
    const { naming, objects } = this.#options;
    const lease = this.#own();
    if (lease?.spec?.holderIdentity !== this.#holder) return;
    await this.#delete(objects, naming.systemNamespace, lease, signal);
    this.#seen.delete(this.#name);
  }

  /** Like `living`, without this replica: for its shutdown. */
  others(): ReplicaAddress[] {
    const own = formatAddress(this.#options.address);
    return this.living().filter((address) => formatAddress(address) !== own);
  }

  async #delete(
    objects: ObjectsApi,
    namespace: string,
    { metadata }: LeaseObject,
    signal: AbortSignal,
  ): Promise<void> {
    const { name = "", resourceVersion } = metadata;
    const options = {
      propagationPolicy: "Background" as const,
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    try {
      await objects.remove(this.#leases, { namespace, name }, options, signal);
    } catch (error) {
      if (!isLostRace(error)) throw error;
    }
  }

  #own(): LeaseObject | undefined {
    const namespace = this.#options.naming.systemNamespace;
    return this.#options.objects.get(this.#leases, { namespace, name: this.#name });
  }

  #all(): LeaseObject[] {
    const { objects, naming } = this.#options;
    const leases = objects.list(this.#leases, naming.systemNamespace) as readonly LeaseObject[];
    return leases.filter(({ metadata }) => metadata.labels?.[this.#labels.identity] !== undefined);
  }
}

/** By the clock of its replica; a lease that says no time is as old as can be. */
function renewedAt({ spec }: LeaseObject): number {
  const ms = Date.parse(spec?.renewTime ?? "");
  return Number.isNaN(ms) ? 0 : ms;
}

export function formatAddress({ ip, port }: ReplicaAddress): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

function parseAddress(text: string): ReplicaAddress | undefined {
  const [, v6, v4, port] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d{1,5})$/i.exec(text) ?? [];
  const ip = v6 ?? v4;
  return ip === undefined ? undefined : { ip, port: Number(port) };
}

/** 26 letters and digits, as kube-apiserver derives them from a name. */
function digest(text: string): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  let bits = "";
  for (const byte of createHash("sha256").update(text).digest().subarray(0, 16)) {
    bits += byte.toString(2).padStart(8, "0");
  }
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => alphabet[Number.parseInt(group.padEnd(5, "0"), 2)]).join("");
}

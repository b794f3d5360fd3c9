/**
 * Claims: keys that an object holds for itself alone besides its own, such as the address of a
 * Service. They are put in the transaction that writes the object, on the condition that nobody holds
 * them, and deleted in the one that removes it or lets go of them. So two replicas never give one
 * address twice, and a crash leaves neither an address without an owner nor the reverse.
 *
 * What an object holds is a pure function of it (strategy.reservations); what a client leaves open is
 * chosen by an Allocator, which looks at the view to guess what is free. The store decides.
 */
import { randomUUID } from "node:crypto";
import type { Compare, KeyValue, Operation } from "../../../storage/kv/store.js";
import type { ApiObject } from "../../api/meta.js";
import { invalid } from "../../api/status.js";
import type { Reservation } from "../../kinds/reservation.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { Registry } from "./registry.js";

/** What a transaction has to hold and do for the claims of the object that it writes. */
export interface ClaimChange {
  readonly compares: readonly Compare[];
  readonly operations: readonly Operation[];
}

const NO_CHANGE: ClaimChange = Object.freeze({ compares: [], operations: [] });

/** Tries with other addresses or ports when those chosen turn out to be held by others. */
export const CLAIM_ATTEMPTS_MAX = 64;

/** The claims of one request: what it has learnt to be others'. */
export class ClaimRound {
  readonly #registry: Registry;
  readonly #resource: StoredResource;
  readonly #taken = new Set<string>();
  #attempts = 0;

  constructor(registry: Registry, resource: StoredResource) {
    this.#registry = registry;
    this.#resource = resource;
  }

  /** Whether objects of the resource hold anything besides themselves. */
  get isNeeded(): boolean {
    return this.#resource.strategy.reservations !== undefined;
  }

  /** Fills in what is open. @throws {StatusError} when what is asked for by name is another's */
  assign(next: ApiObject, current: ApiObject | undefined): void {
    const { strategy, partition } = this.#resource;
    if (strategy.reservations === undefined) return;
    const { view, allocators, naming } = this.#registry;
    const own = new Set(this.#claimsOf(current).map((claim) => this.#keyOf(claim)));
    allocators?.[partition]?.assign(next, current, (other, path) => {
      const key = view.keys.key(other, path);
      if (own.has(key)) return false;
      return this.#taken.has(key) || view.partition(other).get(path) !== undefined;
    });
    if (this.#taken.size === 0) return;
    const lost = strategy
      .reservations(next, { naming })
      .filter((claim) => this.#taken.has(this.#keyOf(claim)) && !own.has(this.#keyOf(claim)));
    if (lost.length === 0) return;
    const problems = lost.map(({ problem }) => problem);
    throw invalid(this.#resource, next.metadata.name ?? "", problems);
  }

  /** From what the object held to what it holds now; undefined stands for an object that is not there. */
  change(next: ApiObject | undefined, current: ApiObject | undefined): ClaimChange {
    if (this.#resource.strategy.reservations === undefined) return NO_CHANGE;
    const held = new Map(this.#claimsOf(current).map((claim) => [this.#keyOf(claim), claim]));
    const compares: Compare[] = [];
    const operations: Operation[] = [];
    for (const claim of this.#claimsOf(next)) {
      const key = this.#keyOf(claim);
      if (held.delete(key)) continue;
      const made = { uid: randomUUID(), nowMs: this.#registry.clock.now() };
      compares.push({ key, modRevision: 0 });
      operations.push({ type: "put", key, value: Buffer.from(JSON.stringify(claim.object(made))) });
    }
    for (const key of held.keys()) operations.push({ type: "delete", key });
    return { compares, operations };
  }

  /**
   * Learns from a refused transaction. `current` is what the store holds under the change's compares.
   * @returns whether a claim was in the way, so that choosing others may help
   */
  learn({ compares }: ClaimChange, current: readonly (KeyValue | undefined)[]): boolean {
    let isLost = false;
    compares.forEach(({ key }, index) => {
      if (current[index] === undefined) return;
      this.#taken.add(key);
      isLost = true;
    });
    return isLost && ++this.#attempts < CLAIM_ATTEMPTS_MAX;
  }

  /** The same for a dry run, from a view that is fresh. */
  rehearse({ compares }: ClaimChange): boolean {
    const { view } = this.#registry;
    let isLost = false;
    for (const { key } of compares) {
      const parsed = view.keys.parse(key);
      if (parsed === undefined || view.partition(parsed.partition).get(parsed.path) === undefined) {
        continue;
      }
      this.#taken.add(key);
      isLost = true;
    }
    return isLost && ++this.#attempts < CLAIM_ATTEMPTS_MAX;
  }

  #claimsOf(object: ApiObject | undefined): readonly Reservation[] {
    if (object === undefined) return [];
    return this.#resource.strategy.reservations?.(object, { naming: this.#registry.naming }) ?? [];
  }

  #keyOf({ partition, path }: Reservation): string {
    return this.#registry.view.keys.key(partition, path);
  }
}

/**
 * Reservations: keys that an object holds exclusively besides its own, such as the address of a
 * Service. The transaction that writes the object puts them, on condition that they are free; the one
 * that removes the object or releases them deletes them. So two replicas never allocate one address
 * twice, and a crash leaves neither an address without an owner nor the reverse.
 *
 * An object's reservations are a pure function of it (strategy.reservations). An Allocator fills in
 * what a client leaves open, guessing from the view what is free. The store decides: a refused
 * transaction is followed by another guess, on a view that has the other reservation.
 */

import { randomUUID } from "node:crypto";
import type { Clock } from "../../../storage/base/clock.js";
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import type { Compare, Operation } from "../../../storage/kv/store.js";
import type { PartitionId } from "../../../storage/objects/keys.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { invalid, type StatusError } from "../../api/status.js";
import type { Reservation } from "../../kinds/reservation.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { Allocator, IsTaken } from "../generic/allocator.js";
import { plainBytes, type StorableHost } from "./stored-bytes.js";

/** The compares and operations for the reservations of a written object. */
export interface ReservationChange {
  readonly compares: readonly Compare[];
  readonly operations: readonly Operation[];
}

export const NO_RESERVATIONS: ReservationChange = Object.freeze({ compares: [], operations: [] });

/** The part of the registry that reservations need. */
export interface ReservationHost extends StorableHost {
  readonly view: Pick<RegistryView, "keys" | "partition">;
  readonly naming: Naming;
  readonly clock: Pick<Clock, "now">;
  readonly allocators?: Readonly<Record<PartitionId, Allocator>>;
}

export interface Reserved {
  readonly change: ReservationChange;
  /** Set when another object, in the view, holds what this one requests by name. */
  readonly refusal: StatusError | undefined;
}

/**
 * Fills in the object's open fields, and returns its transaction's reservations.
 * @param current the existing object; undefined = it is new
 * @throws {StatusError} when nothing is left to choose from
 */
export function reserve(
  host: ReservationHost,
  resource: StoredResource,
  next: ApiObject,
  current: ApiObject | undefined,
  isDryRun = false,
): Reserved {
  if (resource.strategy.reservations === undefined) {
    return { change: NO_RESERVATIONS, refusal: undefined };
  }
  const { view } = host;
  const own = new Set(reservationsOf(host, resource, current).map((one) => keyOf(host, one)));
  const isTaken: IsTaken = (partition, path) =>
    !own.has(view.keys.key(partition, path)) && view.partition(partition).get(path) !== undefined;
  host.allocators?.[resource.partition]?.assign(next, current, isTaken, isDryRun);
  const lost = reservationsOf(host, resource, next).filter(({ partition, path }) =>
    isTaken(partition, path),
  );
  const problems = lost.map(({ problem }) => problem);
  const refusal =
    problems.length === 0 ? undefined : invalid(resource, next.metadata.name ?? "", problems);
  return { change: changeOf(host, resource, next, current), refusal };
}

/** The change between two states of an object; undefined stands for no object. */
export function changeOf(
  host: ReservationHost,
  resource: StoredResource,
  next: ApiObject | undefined,
  current: ApiObject | undefined,
): ReservationChange {
  if (resource.strategy.reservations === undefined) return NO_RESERVATIONS;
  const held = new Set(reservationsOf(host, resource, current).map((one) => keyOf(host, one)));
  const compares: Compare[] = [];
  const operations: Operation[] = [];
  for (const reservation of reservationsOf(host, resource, next)) {
    const key = keyOf(host, reservation);
    if (held.delete(key)) continue;
    const object = reservation.object({ uid: randomUUID(), nowMs: host.clock.now() });
    compares.push({ key, modRevision: 0 });
    operations.push({ type: "put", key, value: plainBytes(host, object) });
  }
  for (const key of held) operations.push({ type: "delete", key });
  return { compares, operations };
}

function reservationsOf(
  { naming }: ReservationHost,
  { strategy }: StoredResource,
  object: ApiObject | undefined,
): readonly Reservation[] {
  return object === undefined ? [] : (strategy.reservations?.(object, { naming }) ?? []);
}

function keyOf({ view }: ReservationHost, { partition, path }: Reservation): string {
  return view.keys.key(partition, path);
}

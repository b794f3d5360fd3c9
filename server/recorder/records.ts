/** Reads the records of this replica that a question asks for and its sender may read, and merges those of several. */

import type { NamedCause } from "../request/write-notes.js";
import { type KeptWrite, shownDelivery, shownRead, shownWrite } from "./kept.js";
import { isNarrow, isShownFor, type RecordQuery } from "./record-query.js";
import type {
  Delivery,
  RecordedClient,
  RecordedRead,
  RecordedWrite,
  Records,
} from "./record-types.js";
import type { Recorder } from "./recorder.js";
import type { Rights } from "./rights.js";

/** More deliveries are not answered. */
const DELIVERIES_MAX = 20_000;
const READS_MAX = 2_000;

/** Those of one replica, with where the next question goes on. */
export interface ReplicaRecords extends Omit<Records, "replicas"> {
  readonly next: string;
}

export async function readRecords(
  recorder: Recorder,
  query: RecordQuery,
  rights: Rights,
): Promise<ReplicaRecords> {
  const { replica } = recorder;
  const clients = new Map<string, RecordedClient>();
  let hidden = 0;
  const writes: RecordedWrite[] = [];
  const next = `${replica}:${recorder.writes.newest?.number ?? 0}`;
  const after = query.after.get(replica) ?? 0;
  for (const write of recorder.writes.backwards()) {
    if (write.number <= after || writes.length >= query.limit) break;
    if (!isShownFor(query, write)) continue;
    if (!(await rights.mayRead(write))) {
      hidden++;
      continue;
    }
    clients.set(write.client.id, write.client);
    writes.push({ ...shownWrite(replica, write), causes: await shownCauses(write, rights) });
  }
  const reads = new Map<number, RecordedRead>();
  for (const read of recorder.reads.backwards()) {
    if (reads.size >= READS_MAX) break;
    const { endedAtMs = query.untilMs, atMs } = read;
    if (endedAtMs < query.sinceMs || atMs > query.untilMs) continue;
    if (!(await rights.mayRead(read))) {
      hidden++;
      continue;
    }
    clients.set(read.client.id, read.client);
    reads.set(read.number, shownRead(replica, read));
  }
  const deliveries: Delivery[] = [];
  for (const delivery of recorder.deliveries.backwards()) {
    if (delivery.atMs < query.sinceMs || deliveries.length >= DELIVERIES_MAX) break;
    if (delivery.atMs <= query.untilMs && reads.has(delivery.watch)) {
      deliveries.push(shownDelivery(replica, delivery));
    }
  }
  return {
    next,
    hidden: isNarrow(query) ? 0 : hidden,
    clients: [...clients.values()],
    writes: inStoredOrder(writes),
    reads: [...reads.values()].reverse(),
    deliveries: deliveries.reverse(),
  };
}

/** Without names of what who asks may not read. */
async function shownCauses({ causes }: KeptWrite, rights: Rights): Promise<readonly NamedCause[]> {
  if (causes.length === 0) return causes;
  return await Promise.all(
    causes.map(async (cause) => {
      const { object, by } = cause;
      if (object === undefined || (await rights.mayRead(object))) return cause;
      return { by, name: "" };
    }),
  );
}

/** Of several replicas, as one of them would have it. */
export function mergeRecords(all: readonly ReplicaRecords[]): ReplicaRecords {
  return {
    next: all.map(({ next }) => next).join(","),
    hidden: all.reduce((sum, { hidden }) => sum + hidden, 0),
    clients: all.flatMap(({ clients }) => clients),
    writes: inStoredOrder(all.flatMap(({ writes }) => writes)),
    reads: all.flatMap(({ reads }) => reads).sort(byTime),
    deliveries: all.flatMap(({ deliveries }) => deliveries).sort(byTime),
  };
}

function byTime(a: { readonly time: string }, b: { readonly time: string }): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0;
}

/** By revision; what has none stands behind what was stored before it. */
function inStoredOrder(writes: readonly RecordedWrite[]): RecordedWrite[] {
  const stored = writes.filter(({ revision }) => revision !== "");
  stored.sort((a, b) => Number(a.revision) - Number(b.revision));
  const others = writes.filter(({ revision }) => revision === "").sort(byTime);
  const ordered: RecordedWrite[] = [];
  let at = 0;
  for (const write of stored) {
    for (
      let other = others[at];
      other !== undefined && other.time < write.time;
      other = others[at]
    ) {
      ordered.push(other);
      at++;
    }
    ordered.push(write);
  }
  return [...ordered, ...others.slice(at)];
}

/**
 * Preload that slows a replica down without breaking it: what etcd tells reaches the view a fixed
 * time later, in the same order. With a working barrier nobody can tell but by the clock.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdWatch } from "../../../storage/etcd/watch.js";
import type { WatchBatch } from "../../../storage/kv/store.js";

const DELAY_MS = 120;

interface Arrival {
  readonly atMs: number;
  readonly result: IteratorResult<WatchBatch>;
}

/** What has been asked of each watch ahead, so that delays do not add up. */
const pending = new WeakMap<EtcdWatch, Promise<Arrival>[]>();
/** More than a watch ever has under way in DELAY_MS. */
const AHEAD = 500;

const next = EtcdWatch.prototype.next;

EtcdWatch.prototype.next = async function delayed(this: EtcdWatch) {
  const ahead = pending.get(this) ?? [];
  pending.set(this, ahead);
  while (ahead.length < AHEAD) {
    const arrival = next.call(this).then((result) => ({ atMs: performance.now(), result }));
    // Whoever comes to it meets the rejection; those behind it need not.
    arrival.catch(() => {});
    ahead.push(arrival);
  }
  const first = ahead.shift();
  if (first === undefined) return await next.call(this);
  const { atMs, result } = await first;
  await sleep(Math.max(0, atMs + DELAY_MS - performance.now()));
  return result;
};

/**
 * Preload that breaks a replica: now and then its view misses a write, and so do its watchers and
 * readers.
 */
import { Partition } from "../../../storage/cache/partition.js";

/** Often enough to be found in seconds, rarely enough to look like an accident. */
const EVERY = 25;

const put = Partition.prototype.put;
const counter = { puts: 0 };

Partition.prototype.put = function dropping(this: Partition, object, nowMs) {
  if (object.path.startsWith("fire-") && ++counter.puts % EVERY === 0) return;
  put.call(this, object, nowMs);
};

/** Preload that breaks a replica: a watch starts a few revisions later than it was asked to. */
import { Partition } from "../../../storage/cache/partition.js";
import type { Revision } from "../../../storage/kv/store.js";

const SKIPPED = 3;

const watch = Partition.prototype.watch;

Partition.prototype.watch = function skipping(this: Partition, options, after) {
  return watch.call(this, options, (after + SKIPPED) as Revision);
};

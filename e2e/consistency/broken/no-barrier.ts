/**
 * Preload that breaks a replica: the freshness barrier lets everybody pass at once, so a replica that
 * is behind answers from the past. Loaded by `node --import` before the server, whose code has no
 * hook for this.
 */
import { FreshnessBarrier } from "../../../storage/cache/freshness.js";
import type { Revision } from "../../../storage/kv/store.js";

FreshnessBarrier.prototype.fresh = () => Promise.resolve(0 as Revision);

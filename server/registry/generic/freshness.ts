/** The registry's part of the freshness barrier, so that tests can do without one. */
import type { Revision } from "../../../storage/kv/store.js";

export interface Freshness {
  /** Resolves when the view holds every write acknowledged before the call. */
  fresh(): Promise<Revision>;
  /** Resolves when the view holds a revision that the store has reported. */
  reached(revision: Revision): Promise<void>;
}

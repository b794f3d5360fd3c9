/** The part of the freshness barrier that the registry needs, so that tests can do without one. */
import type { Revision } from "../../../storage/kv/store.js";

export interface Freshness {
  /** Resolves when the view holds every write that was acknowledged before the call. */
  fresh(): Promise<Revision>;
  /** Resolves when the view holds what the store has told of. */
  reached(revision: Revision): Promise<void>;
}

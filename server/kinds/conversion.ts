/**
 * Conversion: between the shapes of one kind in two of its versions. Reads, watches and writes convert
 * in the turn in which they look, so a conversion that somebody else makes is prepared ahead:
 *
 *   page of a list, object of a get, next of a watch ─► isReady? ─no─► prepare(objects) ─► served
 *   attempt of a write ─► fromStored ─► throws NotConverted ─► prepare ─► the attempt is made again
 */
import type { Revision } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";

/** Between the served and the stored group-version, where they differ. */
export interface Conversion {
  /** @throws {NotConverted} */
  toStored(served: ApiObject): ApiObject;
  /** @throws {NotConverted} */
  fromStored(stored: ApiObject): ApiObject;
  /**
   * What was stored in another version or under an older schema, as it would be stored today: writes
   * compare with that, or each would seem to change what has only another form. Absent = all of it is
   * as it would be stored. @param revision at which it was stored. @throws {NotConverted}
   */
  renew?(stored: ApiObject, revision: Revision): ApiObject;
  /** As `fromStored` for what the view holds, where most of it is served as it is; remembers what is not. */
  ofView?(stored: StoredObject): StoredObject;
  /**
   * A state that has ended carries the revision of its end, which does not say under which schema it
   * was stored: the same as it would be stored today. Absent = it is.
   */
  ofEnded?(stored: StoredObject): StoredObject;
  /** Set where somebody else converts. */
  readonly remote?: RemoteConversion;
}

export interface RemoteConversion {
  /** Whether `ofView` has the object. */
  isReady(object: StoredObject): boolean;
  /** Converts all of them, in one call. @throws {StatusError} 500 */
  prepare(objects: readonly StoredObject[], signal: AbortSignal): Promise<void>;
}

/** What is asked for has to be prepared first; afterwards the same call succeeds. */
export class NotConverted extends Error {
  override readonly name = "NotConverted";
  /** @throws {StatusError} 500 when it cannot be converted */
  readonly prepare: (signal: AbortSignal) => Promise<void>;

  constructor(prepare: (signal: AbortSignal) => Promise<void>) {
    super("the object has not been converted yet");
    this.prepare = prepare;
  }
}

/** Versions that one write converts between, its own and those of managed fields, each way. */
const PREPARATIONS_MAX = 64;

/** Makes what conversions ask for, until `make` succeeds. @throws {StatusError} */
export async function withConversions<T>(make: () => T, signal: AbortSignal): Promise<T> {
  for (let count = 0; ; count++) {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof NotConverted) || count >= PREPARATIONS_MAX) throw error;
      await error.prepare(signal);
    }
  }
}

/** For versions that have one shape: their codecs write their names. */
export const SAME_SHAPE: Conversion = Object.freeze({
  toStored: (object: ApiObject) => object,
  fromStored: (object: ApiObject) => object,
});

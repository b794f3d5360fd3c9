/**
 * Conversion between the shapes of one kind in two of its versions. Reads, watches and writes convert
 * synchronously, so a conversion by a webhook is prepared ahead:
 *
 *   page of a list, object of a get, next of a watch ─► isReady? ─no─► prepare(objects) ─► served
 *   attempt of a write ─► fromStored ─► throws NotConverted ─► prepare ─► the attempt is made again
 */
import type { Revision } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";

/** Between the served and the stored group-version, if they differ. */
export interface Conversion {
  /** @throws {NotConverted} */
  toStored(served: ApiObject): ApiObject;
  /** @throws {NotConverted} */
  fromStored(stored: ApiObject): ApiObject;
  /**
   * An object stored in another version or under an older schema, as it would be stored today. Writes
   * compare with that form, or each would seem to change the whole object. Absent = all objects are
   * stored in today's form. @param revision at which it was stored. @throws {NotConverted}
   */
  renew?(stored: ApiObject, revision: Revision): ApiObject;
  /**
   * What is stored of an object that has been judged in the served version: without what the stored version
   * does not know, and with its defaults. Absent = `toStored` has done that.
   */
  settle?(judged: ApiObject): ApiObject;
  /** Where the stored version has a field, for problems found in the served one. Absent = in the same place. */
  storedField?(field: string): string;
  /** Like `fromStored` for an object in the view, most of which need no conversion; caches the result. */
  ofView?(stored: StoredObject): StoredObject;
  /**
   * Like `ofView` for a deleted state. Its revision is that of the deletion, which does not tell the
   * schema it was stored under. Absent = it is in today's form.
   */
  ofEnded?(stored: StoredObject): StoredObject;
  /** Set when a webhook converts. */
  readonly remote?: RemoteConversion;
}

export interface RemoteConversion {
  /** Whether `ofView` has the object. */
  isReady(object: StoredObject): boolean;
  /** Converts all objects in one call. @throws {StatusError} 500 */
  prepare(objects: readonly StoredObject[], signal: AbortSignal): Promise<void>;
}

/** The conversion has to be prepared first; afterwards the same call succeeds. */
export class NotConverted extends Error {
  override readonly name = "NotConverted";
  /** @throws {StatusError} 500 when the object cannot be converted */
  readonly prepare: (signal: AbortSignal) => Promise<void>;

  constructor(prepare: (signal: AbortSignal) => Promise<void>) {
    super("the object has not been converted yet");
    this.prepare = prepare;
  }
}

/** Maximum conversions of one write: its own version and those of managed fields, each way. */
const PREPARATIONS_MAX = 64;

/**
 * Prepares the requested conversions until `make` succeeds.
 * @param signal made only when it has to wait
 * @throws {StatusError}
 */
export async function withConversions<T>(make: () => T, signal: () => AbortSignal): Promise<T> {
  for (let count = 0; ; count++) {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof NotConverted) || count >= PREPARATIONS_MAX) throw error;
      await error.prepare(signal());
    }
  }
}

/** For versions of the same shape: their codecs write the names. */
export const SAME_SHAPE: Conversion = Object.freeze({
  toStored: (object: ApiObject) => object,
  fromStored: (object: ApiObject) => object,
});

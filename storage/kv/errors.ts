/**
 * Refusals by storage, as a closed set of codes. Higher layers branch on `code`, never on text, and
 * translate it into an API Status in one place.
 */

export type StorageErrorCode =
  /** The revision asked for has been compacted away. */
  | "Compacted"
  /** The revision asked for has not been reached yet. */
  | "FutureRevision"
  /** The value is larger than the store takes (etcd: 1.5 MiB a request by default). */
  | "TooLarge"
  /** The store could not be reached, lost quorum, or did not answer within the deadline. */
  | "Unavailable"
  /** The store takes no writes but deletes, as it or its disk is full; somebody has to make room. */
  | "NoSpace"
  /** The store refused us for good: wrong credentials, wrong cluster, corrupt data. */
  | "Refused"
  /** We have closed the store, or one watch on it. */
  | "Closed";

export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: StorageErrorCode;
  /**
   * Whether the write may have happened all the same: true when the answer was lost after the
   * request was sent, or etcd refused it after applying it. Always false for reads and for refusals
   * before sending.
   */
  readonly outcomeUnknown: boolean;
  /** Of Compacted, if the store reports it: events after this revision still exist. */
  readonly compactedTo: number | undefined;

  constructor(
    code: StorageErrorCode,
    message: string,
    options: { cause?: unknown; outcomeUnknown?: boolean; compactedTo?: number } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
    this.compactedTo = options.compactedTo;
  }
}

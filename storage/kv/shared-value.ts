/**
 * A value that all replicas of a store share and no API request can read: it lies under a key that is
 * no object's. Made once, by whichever replica comes first; sealed by the store that encrypts, where
 * there is one, and stored anew when its keys have changed.
 */
import type { KeyValue, RevisionedStore } from "./store.js";
import { unreadableReason } from "./unreadable.js";

/**
 * A store that may keep values encrypted, with keys of its own that change. Not one that converts before
 * such a store: that does not know what is stale, and nothing would be stored anew.
 */
export type SharedValueStore = Pick<RevisionedStore, "get" | "commit"> & {
  /** Whether the value would be stored differently today. */
  isStale?(key: string, signal: AbortSignal): Promise<boolean>;
};

export interface SharedValueOptions {
  /** Below the registry's prefix and no object's: "/registry/.service-account-key". */
  readonly key: string;
  /** For messages: "the signing key". */
  readonly what: string;
  /** Makes one when there is none, or none that is good. */
  make(): Promise<Uint8Array>;
  /** Whether the value that is there still does. Default: any does. */
  isGood?(value: Buffer): boolean;
}

/** The store holds the value, but nobody can read it with the encryption keys at hand. */
export class UnreadableValueError extends Error {
  override readonly name = "UnreadableValueError";
}

/**
 * The value; made if there is none. To be called again when the store's own keys have changed.
 * @throws {StorageError}; {UnreadableValueError}
 */
export async function openSharedValue(
  store: SharedValueStore,
  options: SharedValueOptions,
  signal: AbortSignal,
): Promise<Buffer> {
  const { key, make, isGood = () => true } = options;
  const { kv } = await store.get(key, {}, signal);
  if (kv !== undefined) {
    const known = readable(kv, options);
    if (isGood(known)) {
      if (await store.isStale?.(key, signal)) await storeAnew(store, kv, signal);
      return known;
    }
  }
  const made = Buffer.from(await make());
  const result = await store.commit(
    {
      compares: [{ key, modRevision: kv?.modRevision ?? 0 }],
      operations: [{ type: "put", key, value: made }],
    },
    signal,
  );
  if (result.succeeded) return made;
  const [current] = result.current;
  if (current === undefined) return await openSharedValue(store, options, signal);
  return readable(current, options);
}

function readable({ key, value }: KeyValue, { what }: SharedValueOptions): Buffer {
  const reason = unreadableReason(value);
  if (reason === undefined) return value;
  throw new UnreadableValueError(
    `${what} that the store holds at ${key} cannot be read: ${reason}`,
  );
}

/** Another replica may do the same at the same time: then it is done. */
async function storeAnew(
  store: SharedValueStore,
  { key, value, modRevision }: KeyValue,
  signal: AbortSignal,
): Promise<void> {
  const operations = [{ type: "put" as const, key, value }];
  await store.commit({ compares: [{ key, modRevision }], operations }, signal);
}

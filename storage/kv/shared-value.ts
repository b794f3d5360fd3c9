/**
 * A value that all replicas of a store share and no API request can read: its key is outside the
 * objects' keys. The first replica makes it. If the store encrypts, the value is encrypted too, and
 * rewritten when the store's keys have changed.
 */
import type { KeyValue, RevisionedStore } from "./store.js";
import { unreadableReason } from "./unreadable.js";

/**
 * A store that may encrypt values, with its own rotating keys. It must not be a converting store above
 * such a store: that one cannot tell stale values, so nothing would be rewritten.
 */
export type SharedValueStore = Pick<RevisionedStore, "get" | "commit"> & {
  /** Whether the value would be stored differently today. */
  isStale?(key: string, signal: AbortSignal): Promise<boolean>;
};

export interface SharedValueOptions {
  /**
   * Below the registry's prefix and outside the objects' keys: "/registry/.service-account-key".
   */
  readonly key: string;
  /** A name for messages: "the signing key". */
  readonly what: string;
  /** Makes a value when there is none, or no good one: then it may build on that. */
  make(known?: Buffer): Promise<Uint8Array>;
  /** Whether the existing value is still usable. Default: always. */
  isGood?(value: Buffer): boolean;
}

/** The store has the value, but no configured encryption key can decrypt it. */
export class UnreadableValueError extends Error {
  override readonly name = "UnreadableValueError";
}

/**
 * Returns the value, and makes it if there is none. Call again when the store's own keys have
 * changed.
 * @throws {StorageError}; {UnreadableValueError}
 */
export async function openSharedValue(
  store: SharedValueStore,
  options: SharedValueOptions,
  signal: AbortSignal,
): Promise<Buffer> {
  const { key, make, isGood = () => true } = options;
  const { kv } = await store.get(key, {}, signal);
  const known = kv && readable(kv, options);
  if (kv !== undefined && known !== undefined) {
    if (isGood(known)) {
      if (await store.isStale?.(key, signal)) await storeAnew(store, kv, signal);
      return known;
    }
  }
  const made = Buffer.from(await make(known));
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

/** If another replica does the same at the same time, its write is as good. */
async function storeAnew(
  store: SharedValueStore,
  { key, value, modRevision }: KeyValue,
  signal: AbortSignal,
): Promise<void> {
  const operations = [{ type: "put" as const, key, value }];
  await store.commit({ compares: [{ key, modRevision }], operations }, signal);
}

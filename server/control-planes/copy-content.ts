/**
 * Puts objects below the prefix of a control plane that nobody has loaded yet: those of another one as of a revision, or
 * given ones. It writes in pieces and only what is not there, so replicas that do it at the same time do the same,
 * and one that died half-way is continued by the next.
 *
 * Copies have the uids of their originals: owners, claims and what clients remember by uid stay right, and no two of one
 * uid are ever in the same control plane. What belongs to a time or a place is left out: events, and leases.
 */
import type { RangeRequest, Revision, RevisionedStore } from "../../storage/kv/store.js";
import { unreadableReason } from "../../storage/kv/unreadable.js";
import {
  KeySpace,
  type ParsedKey,
  type PartitionId,
  partitionId,
} from "../../storage/objects/keys.js";
import type { Naming } from "../api/naming.js";

/** An object as it lies in the store. */
export interface StoredContent {
  readonly partition: PartitionId;
  readonly path: string;
  readonly value: Uint8Array;
}

export interface ContentSource {
  readonly store: RevisionedStore;
  /** With a trailing slash. */
  readonly prefix: string;
  readonly revision: Revision;
  readonly naming: Naming;
  /** Objects that are not copied. */
  readonly isLeftOut: (key: ParsedKey) => boolean;
}

/** etcd takes 128 operations in a transaction, and 1.5 MiB. */
const PIECE_OBJECTS = 100;
const PIECE_BYTES = 1024 * 1024;
const PAGE_KEYS = 500;
/** Resources of the API's own whose objects end by themselves, by a lease of the store, or speak of what runs. */
export function fleetingOf({ groupDomain }: Naming): ReadonlySet<PartitionId> {
  return new Set([partitionId("", "events"), partitionId(`coordination.${groupDomain}`, "leases")]);
}

/** The objects of a source, a page at a time. @throws {StorageError} Compacted: the revision is not kept any more */
export async function* contentOf(
  { store, prefix, revision, naming, isLeftOut }: ContentSource,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredContent[]> {
  const keys = new KeySpace(prefix);
  const fleeting = fleetingOf(naming);
  let page: RangeRequest | undefined = { prefix, revision, limit: PAGE_KEYS, after: keys.ownAfter };
  while (page !== undefined) {
    const { kvs, more } = await store.range(page, signal);
    const found: StoredContent[] = [];
    for (const { key: name, value } of kvs) {
      const key = keys.parse(name);
      if (key === undefined || fleeting.has(key.partition) || isLeftOut(key)) continue;
      if (unreadableReason(value) !== undefined) continue;
      found.push({ partition: key.partition, path: key.path, value });
    }
    yield found;
    const last = kvs.at(-1);
    page = more && last !== undefined ? { ...page, after: last.key } : undefined;
  }
}

/** Writes those that are not there, a few transactions at a time. @throws {StorageError} */
export async function putContent(
  store: RevisionedStore,
  prefix: string,
  objects: readonly StoredContent[],
  signal: AbortSignal,
): Promise<void> {
  const keys = new KeySpace(prefix);
  const puts = [...piecesOf(objects)].map((piece) => {
    const operations = piece.map(({ partition, path, value }) => {
      return { type: "put" as const, key: keys.key(partition, path), value };
    });
    return putMissing(store, operations, signal);
  });
  await Promise.all(puts);
}

type Put = { readonly type: "put"; readonly key: string; readonly value: Uint8Array };

async function putMissing(
  store: RevisionedStore,
  puts: readonly Put[],
  signal: AbortSignal,
): Promise<void> {
  let missing = puts;
  while (missing.length > 0) {
    const compares = missing.map(({ key }) => ({ key, modRevision: 0 as const }));
    const result = await store.commit({ compares, operations: missing }, signal);
    if (result.succeeded) return;
    const { current } = result;
    missing = missing.filter((_, index) => current[index] === undefined);
  }
}

function* piecesOf(objects: readonly StoredContent[]): Generator<readonly StoredContent[]> {
  let piece: StoredContent[] = [];
  let bytes = 0;
  for (const object of objects) {
    const isFull = piece.length === PIECE_OBJECTS || bytes + object.value.length > PIECE_BYTES;
    if (isFull && piece.length > 0) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(object);
    bytes += object.value.length;
  }
  if (piece.length > 0) yield piece;
}

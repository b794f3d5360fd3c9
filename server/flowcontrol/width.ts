/**
 * Width: the seats and the memory of a request. A list takes a seat for each 100 kB that it may have
 * to read and send, which the view knows exactly; other requests take one. A write causes later work:
 * each watcher of its resource has to be notified.
 */
import type { CollectionSize } from "../../storage/cache/namespace-sizes.js";
import type { RequestInfo } from "../request/request-info.js";

/** kube-apiserver's value for lists served from memory. */
const BYTES_PER_SEAT = 100_000;
/** kube-apiserver's values for notifying watchers: ten of them are a seat for 5 ms. */
const WATCHERS_PER_SEAT = 10;
const SECONDS_PER_EVENT = 0.005;

/** Smaller answers and bodies need no claim: thousands of them fit into a few megabytes. */
export const CLAIMED_BYTES_MIN = 64 * 1024;
/** The memory of a list sent in chunks: its text, the compressed text and the ciphertext. */
const HELD_BY_LIST_MAX = 3 * 352 * 1024;
/** The body, its values, the stored object and the answer. */
const HELD_PER_BODY_BYTE = 4;
/** Assumed while a body without a length has not been read. */
const UNKNOWN_BODY_BYTES = 256 * 1024;

/** The size of a namespace's objects, or of all; undefined = not served. */
type SizeOf = (namespace: string) => CollectionSize | undefined;

/** @param collection only called for requests that may send many objects */
export function listWidth(info: RequestInfo, collection: SizeOf): number {
  return Math.max(1, Math.ceil(listedBytes(info, collection) / BYTES_PER_SEAT));
}

/**
 * The memory of an answer under way beside the view's own bytes. 0 = no claim needed.
 * @param isKept whether the audit log keeps the whole answer
 */
export function listMemory(info: RequestInfo, collection: SizeOf, isKept: boolean): number {
  const bytes = listedBytes(info, collection);
  if (bytes < CLAIMED_BYTES_MIN) return 0;
  if (isKept) return HELD_PER_BODY_BYTE * bytes;
  return Math.min(HELD_PER_BODY_BYTE * bytes, HELD_BY_LIST_MAX);
}

/** @param length undefined = not specified. 0 = no claim needed */
export function bodyMemory(length: number | undefined): number {
  const bytes = length ?? UNKNOWN_BODY_BYTES;
  return bytes < CLAIMED_BYTES_MIN ? 0 : HELD_PER_BODY_BYTE * bytes;
}

/** The memory of an answer with one object. */
export function objectMemory(length: number): number {
  return 2 * length;
}

/** Bytes of all objects that a request has to read and send; an estimate for a page. */
function listedBytes(info: RequestInfo, collection: SizeOf): number {
  const isList = info.verb === "list" || info.verb === "deletecollection";
  if (!isList && !(info.verb === "watch" && beginsWithState(info))) return 0;
  // One object by name is found without reading the others.
  if (info.name !== "") return 0;
  const { size = 0, bytes = 0 } = collection(info.namespace) ?? {};
  const limit = Number.parseInt(info.query.get("limit") ?? "", 10);
  return isList && limit > 0 && limit < size ? Math.ceil((bytes / size) * limit) : bytes;
}

/** Whether the watch sends all current objects before changes (S1-WATCH). */
function beginsWithState({ query }: RequestInfo): boolean {
  if (query.get("sendInitialEvents") !== undefined)
    return query.get("sendInitialEvents") === "true";
  const version = query.get("resourceVersion") ?? "";
  return version === "" || version === "0";
}

/** Seat-seconds of work after the answer to a change. */
export function watcherWork(watchers: number): number {
  if (watchers < WATCHERS_PER_SEAT) return 0;
  return Math.ceil(watchers / WATCHERS_PER_SEAT) * SECONDS_PER_EVENT;
}

/**
 * Width: how many seats a request takes, and how much memory. A list takes a seat for each 100 kB that
 * it may have to look at and send, which the view knows exactly; everything else takes one. A write
 * leaves work behind: each watcher of its resource has to be told.
 */
import type { CollectionSize } from "../../storage/cache/namespace-sizes.js";
import type { RequestInfo } from "../request/request-info.js";

/** Upstream's figure for lists that are answered from memory. */
const BYTES_PER_SEAT = 100_000;
/** Upstream's figures for telling watchers: ten of them are a seat for 5 ms. */
const WATCHERS_PER_SEAT = 10;
const SECONDS_PER_EVENT = 0.005;

/** Smaller answers and bodies are not worth a claim: thousands of them fit into a few megabytes. */
export const CLAIMED_BYTES_MIN = 64 * 1024;
/** What a list holds that goes out piece by piece: its text, that compressed, and its cipher. */
const HELD_BY_LIST_MAX = 3 * 288 * 1024;
/** Body, its values, the object in its stored form, and the answer. */
const HELD_PER_BODY_BYTE = 4;
/** Until a body without a length has been read. */
const UNKNOWN_BODY_BYTES = 256 * 1024;

/** The objects of a namespace, or all; undefined = not served. */
type SizeOf = (namespace: string) => CollectionSize | undefined;

/** @param collection asked only for what may send many objects */
export function listWidth(info: RequestInfo, collection: SizeOf): number {
  return Math.max(1, Math.ceil(listedBytes(info, collection) / BYTES_PER_SEAT));
}

/**
 * What the answer takes beside the view's own bytes while it is under way. 0 = not worth a claim.
 * @param isKept whether the answer is kept as a whole, for the audit log
 */
export function listMemory(info: RequestInfo, collection: SizeOf, isKept: boolean): number {
  const bytes = listedBytes(info, collection);
  if (bytes < CLAIMED_BYTES_MIN) return 0;
  // What was deleted is answered in one piece.
  if (isKept || info.verb === "deletecollection") return HELD_PER_BODY_BYTE * bytes;
  return Math.min(HELD_PER_BODY_BYTE * bytes, HELD_BY_LIST_MAX);
}

/** @param length undefined = the client does not say. 0 = not worth a claim */
export function bodyMemory(length: number | undefined): number {
  const bytes = length ?? UNKNOWN_BODY_BYTES;
  return bytes < CLAIMED_BYTES_MIN ? 0 : HELD_PER_BODY_BYTE * bytes;
}

/** Of one object that is answered as a whole. */
export function objectMemory(length: number): number {
  return 2 * length;
}

/** Whole bytes of objects that a request has to look at and send; of a page, about. */
function listedBytes(info: RequestInfo, collection: SizeOf): number {
  const isList = info.verb === "list" || info.verb === "deletecollection";
  if (!isList && !(info.verb === "watch" && beginsWithState(info))) return 0;
  // One object by name is found without a look at the others.
  if (info.name !== "") return 0;
  const { size = 0, bytes = 0 } = collection(info.namespace) ?? {};
  const limit = Number.parseInt(info.query.get("limit") ?? "", 10);
  return isList && limit > 0 && limit < size ? Math.ceil((bytes / size) * limit) : bytes;
}

/** Whether the watch sends all objects before it tells of changes (S1-WATCH). */
function beginsWithState({ query }: RequestInfo): boolean {
  if (query.get("sendInitialEvents") !== undefined)
    return query.get("sendInitialEvents") === "true";
  const version = query.get("resourceVersion") ?? "";
  return version === "" || version === "0";
}

/** Seat-seconds that a change costs after its answer. */
export function watcherWork(watchers: number): number {
  if (watchers < WATCHERS_PER_SEAT) return 0;
  return Math.ceil(watchers / WATCHERS_PER_SEAT) * SECONDS_PER_EVENT;
}

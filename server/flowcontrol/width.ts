/**
 * Width: how many seats a request takes. A list takes one for each 100 kB that it may have to look at
 * and send, which the view knows exactly; everything else takes one. A write leaves work behind: each
 * watcher of its resource has to be told.
 */
import type { RequestInfo } from "../request/request-info.js";

/** Upstream's figure for lists that are answered from memory. */
const BYTES_PER_SEAT = 100_000;
/** Upstream's figures for telling watchers: ten of them are a seat for 5 ms. */
const WATCHERS_PER_SEAT = 10;
const SECONDS_PER_EVENT = 0.005;

/** What is to be known of a collection. */
export interface CollectionSize {
  readonly size: number;
  readonly objectBytes: number;
}

/** @param collection asked only for what may send many objects; undefined = not served */
export function listWidth(info: RequestInfo, collection: () => CollectionSize | undefined): number {
  const isList = info.verb === "list" || info.verb === "deletecollection";
  const isStreamingList = info.verb === "watch" && info.query.get("sendInitialEvents") === "true";
  if (!isList && !isStreamingList) return 1;
  // One object by name is found without a look at the others.
  if (info.name !== "") return 1;
  const { size = 0, objectBytes = 0 } = collection() ?? {};
  if (size === 0) return 1;
  const limit = Number.parseInt(info.query.get("limit") ?? "", 10);
  const isPage = isList && limit > 0 && limit < size;
  const bytes = isPage ? (objectBytes / size) * limit : objectBytes;
  return Math.max(1, Math.ceil(bytes / BYTES_PER_SEAT));
}

/** Seat-seconds that a change costs after its answer. */
export function watcherWork(watchers: number): number {
  if (watchers < WATCHERS_PER_SEAT) return 0;
  return Math.ceil(watchers / WATCHERS_PER_SEAT) * SECONDS_PER_EVENT;
}

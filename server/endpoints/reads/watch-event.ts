/** The bytes of an event of a watch: encoded once for all watchers that get the same, and a large one sent from where it is. */
import type { EventType, ObjectEvent } from "../../../storage/cache/event-ring.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { SharedChunk } from "../../response/sink.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";

/** An event as one watcher sees it. */
export interface Told {
  readonly type: EventType;
  /** The event's object, or the last state that matched a watcher's selector. */
  readonly object: StoredObject;
  readonly event: ObjectEvent;
  readonly isFirst: boolean;
}

/** A large event: what is stored is sent from where it is. */
export function longEncoding(representation: Representation, told: Told): readonly Buffer[] {
  const { type, object } = told;
  return representation.eventParts?.(type, object) ?? [sharedEncoding(representation, told).bytes];
}

/** One event as bytes, encoded once for all watchers with the same form. */
export function sharedEncoding(representation: Representation, told: Told): SharedChunk {
  const { type, object, event, isFirst } = told;
  const isDeparture = type === "DELETED" && event.type !== "DELETED";
  // Nearly all watchers get the unmodified event, so no key string is built for them.
  const isUsual = type === event.type && !isDeparture && !isFirst;
  const key = isUsual
    ? representation
    : `${representation.id}/${type}${isDeparture ? "/departure" : ""}${isFirst ? "/first" : ""}`;
  const known = event.encoding(key);
  if (known instanceof SharedChunk) return known;
  const out = new ChunkWriter();
  representation.putEvent(out, type, object, isFirst);
  const chunk = new SharedChunk(Buffer.from(out.peek()));
  // Cached ages would be those of the first watcher.
  if (!representation.isTimed) event.keepEncoding(key, chunk);
  return chunk;
}

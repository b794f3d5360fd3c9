/**
 * WatchConversion: converts the objects of a watch that a webhook has to convert before they are shown. An event waits for
 * its own, which is asked for together with those behind it in the ring: a burst of changes is one call. Few watches have one.
 */
import type { EventRing, ObjectEvent } from "../../../storage/cache/event-ring.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { PREPARED_MAX, prepareObjects, remoteOf } from "./prepare.js";

export class WatchConversion {
  readonly #resource: StoredResource;
  readonly #ring: EventRing;
  readonly #closed = new AbortController();
  /** What later events of the ring show that were converted together with the last one. */
  #prepared = new Map<ObjectEvent, StoredObject>();

  constructor(resource: StoredResource, ring: EventRing) {
    this.#resource = resource;
    this.#ring = ring;
  }

  /** @returns undefined = nothing has to be converted. @throws {StatusError} 500 */
  prepare(objects: readonly StoredObject[]): Promise<void> | undefined {
    return prepareObjects(this.#resource, objects, this.#closed.signal);
  }

  /** Converts what an event shows, together with those after it in the ring. */
  prepareFrom(event: ObjectEvent, shown: StoredObject): Promise<void> | undefined {
    if (remoteOf(this.#resource)?.isReady(shown) !== false) return undefined;
    const objects = [shown];
    this.#prepared = new Map();
    let sequence = this.#ring.sequenceAfter(event.revision);
    while (sequence !== undefined && sequence < this.#ring.end) {
      if (objects.length === PREPARED_MAX) break;
      const next = this.#ring.at(sequence++);
      const object = next.type === "DELETED" ? this.ended(next) : next.state;
      if (object !== next.state) this.#prepared.set(next, object);
      objects.push(object);
    }
    return this.prepare(objects);
  }

  ended(event: ObjectEvent): StoredObject {
    const prepared = this.#prepared.get(event);
    if (prepared === undefined) return endedOf(this.#resource, event);
    this.#prepared.delete(event);
    return prepared;
  }

  /** Nobody waits any more. */
  close(): void {
    this.#closed.abort();
  }
}

/** The last state of an object that was deleted or departs, which may have been stored under an older schema. */
export function endedOf({ conversion }: StoredResource, { departure }: ObjectEvent): StoredObject {
  if (departure.corruption !== undefined) return departure;
  return conversion?.ofEnded?.(departure) ?? departure;
}

/**
 * OwnWrites: writes of this replica that the feed has not brought yet. The writer registers the encoded
 * value before it commits. When the feed brings the same bytes under the same key, the object is made from
 * the writer's data without parsing. Events and store answers may come in any order.
 *
 *   expect    d/a = {..}            before the commit
 *   feed: 41  d/a = {other bytes}   somebody else's: parsed, and ours is still expected
 *   feed: 42  d/a = {..}            ours: made without parsing, expected no longer
 *   answer    42                    the view has it; the writer answers with its bytes
 *
 * Only a shortcut: equal bytes make equal objects, whoever wrote them, and a write that is no longer
 * expected is parsed like any event.
 */
import type { KeyValue, Revision } from "../kv/store.js";
import { type EncodedObject, toStoredObject } from "../objects/encoded-object.js";
import type { PartitionId } from "../objects/keys.js";
import type { StoredObject } from "../objects/stored-object.js";

/**
 * Places of writes under way, by a hash of the key: of two keys with one place the later is expected. A Map
 * in their stead would be rehashed every few writes, and keep written objects alive (see Slots).
 */
const PLACES = 4_096;

/** One write that is under way. */
export interface ExpectedWrite {
  readonly key: string;
  readonly partition: PartitionId;
  /** As given to the store. */
  readonly value: Buffer;
  readonly encoded: EncodedObject;
  /** Made for the writer's answer, when that came before the event. */
  object?: StoredObject;
}

export class OwnWrites {
  readonly #places: (ExpectedWrite | undefined)[];
  #size = 0;
  #taken = 0;

  /** @param places a power of two */
  constructor(places = PLACES) {
    this.#places = new Array<ExpectedWrite | undefined>(places).fill(undefined);
  }

  /** How many are expected. */
  get size(): number {
    return this.#size;
  }

  /** How many events were not parsed. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether any of a partition are. Looks at all places: for those who are about to do much more. */
  isExpecting(partition: PartitionId): boolean {
    return this.#size > 0 && this.#places.some((write) => write?.partition === partition);
  }

  /** Of two writes of one key the later one is expected. */
  expect(write: ExpectedWrite): void {
    const place = placeOf(write.key, this.#places.length);
    if (this.#places[place] === undefined) this.#size++;
    this.#places[place] = write;
  }

  /** The write was refused, has an unknown outcome, or has arrived on the feed. */
  drop(write: ExpectedWrite): void {
    const place = placeOf(write.key, this.#places.length);
    if (this.#places[place] === write) this.#free(place);
  }

  /** The object of an event whose bytes equal an expected write. */
  take({ key, value, modRevision }: KeyValue): StoredObject | undefined {
    const place = placeOf(key, this.#places.length);
    const write = this.#places[place];
    if (write === undefined || write.key !== key || !write.value.equals(value)) return undefined;
    this.#free(place);
    this.#taken++;
    return write.object?.revision === modRevision ? write.object : made(write, modRevision);
  }

  /** The object of a committed write that the feed has not brought yet. */
  committed(write: ExpectedWrite, revision: Revision): StoredObject {
    write.object = made(write, revision);
    return write.object;
  }

  /** The view was reloaded: the feed continues behind the expected events. */
  clear(): void {
    this.#places.fill(undefined);
    this.#size = 0;
  }

  #free(place: number): void {
    this.#places[place] = undefined;
    this.#size--;
  }
}

/** FNV-1a. */
function placeOf(key: string, places: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (places - 1);
}

function made({ value, encoded }: ExpectedWrite, revision: Revision): StoredObject {
  return toStoredObject(value, revision, encoded);
}

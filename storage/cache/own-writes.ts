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
import { type EncodedObject, type StoredObject, toStoredObject } from "../objects/stored-object.js";

/**
 * The maximum number of writes under way; beyond it the feed lags, and parsing is the least problem.
 */
const EXPECTED_MAX = 1_024;

/** One write that is under way. */
export interface ExpectedWrite {
  readonly key: string;
  /** As given to the store. */
  readonly value: Buffer;
  readonly encoded: EncodedObject;
  /** Made for the writer's answer, when that came before the event. */
  object?: StoredObject;
}

export class OwnWrites {
  readonly #byKey = new Map<string, ExpectedWrite>();
  #taken = 0;

  /** How many are expected. */
  get size(): number {
    return this.#byKey.size;
  }

  /** How many events were not parsed. */
  get taken(): number {
    return this.#taken;
  }

  /** Of two writes of one key the later one is expected. */
  expect(write: ExpectedWrite): void {
    if (this.#byKey.size >= EXPECTED_MAX) this.#byKey.clear();
    this.#byKey.set(write.key, write);
  }

  /** The write was refused, has an unknown outcome, or has arrived on the feed. */
  drop(write: ExpectedWrite): void {
    if (this.#byKey.get(write.key) === write) this.#byKey.delete(write.key);
  }

  /** The object of an event whose bytes equal an expected write. */
  take({ key, value, modRevision }: KeyValue): StoredObject | undefined {
    const write = this.#byKey.get(key);
    if (write === undefined || !write.value.equals(value)) return undefined;
    this.#byKey.delete(key);
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
    this.#byKey.clear();
  }
}

function made({ value, encoded }: ExpectedWrite, revision: Revision): StoredObject {
  return toStoredObject(value, revision, encoded);
}

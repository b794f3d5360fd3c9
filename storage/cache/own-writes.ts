/**
 * OwnWrites: what this replica is writing and the feed has not brought yet. The writer says what it has
 * encoded before it commits; when the feed brings the same bytes under the same key, the object is made of
 * what the writer knows, and nothing is parsed. Events and answers of the store come in any order.
 *
 *   expect    d/a = {..}            before the commit
 *   feed: 41  d/a = {other bytes}   somebody else's: parsed, and ours is still expected
 *   feed: 42  d/a = {..}            ours: made without parsing, expected no longer
 *   answer    42                    the view has it; the writer answers with its bytes
 *
 * Only a shortcut: bytes that are equal make equal objects, whoever wrote them, and what is not expected
 * any more is parsed as any event is.
 */
import type { KeyValue, Revision } from "../kv/store.js";
import { type EncodedObject, type StoredObject, toStoredObject } from "../objects/stored-object.js";

/** As many writes may be under way; where more are, the feed lags, and parsing is its least trouble. */
const EXPECTED_MAX = 1_024;

/** One write that is under way. */
export interface ExpectedWrite {
  readonly key: string;
  /** As given to the store. */
  readonly value: Buffer;
  readonly encoded: EncodedObject;
  /** Made for the writer's answer, where that came first. */
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

  /** It was refused, or what became of it is unknown, or the feed has brought it. */
  drop(write: ExpectedWrite): void {
    if (this.#byKey.get(write.key) === write) this.#byKey.delete(write.key);
  }

  /** The object of an event, if it is one of ours to the last byte. */
  take({ key, value, modRevision }: KeyValue): StoredObject | undefined {
    const write = this.#byKey.get(key);
    if (write === undefined || !write.value.equals(value)) return undefined;
    this.#byKey.delete(key);
    this.#taken++;
    return write.object?.revision === modRevision ? write.object : made(write, modRevision);
  }

  /** The object of a write that was committed and that the feed has not brought. */
  committed(write: ExpectedWrite, revision: Revision): StoredObject {
    write.object = made(write, revision);
    return write.object;
  }

  /** The view was loaded anew: the feed goes on behind what it was going to bring. */
  clear(): void {
    this.#byKey.clear();
  }
}

function made({ value, encoded }: ExpectedWrite, revision: Revision): StoredObject {
  return toStoredObject(value, revision, encoded);
}

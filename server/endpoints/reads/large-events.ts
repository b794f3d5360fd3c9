/**
 * LargeEvents: large events of watches take turns. A watch that begins in the past has megabytes to send, which are rebuilt
 * from differences, encoded and encrypted on the thread that serves all. One such event is begun in each turn of the event
 * loop, whichever watch it is for, and the others wait: those that came meanwhile behind those that waited before, and among these
 * the newest first, as each version is rebuilt from the next one, and those of one revision share its memory.
 *
 * The control planes of a process have these turns together, one after the other, however many watches each of them has.
 *
 * What a client has not read yet stays in memory: a past version for each watch, if each is at another place of the past. The
 * bytes of these are bounded, for all control planes together: beyond the bound, of the one that holds most, the watch ends whose
 * client has let its event lie for longest.
 */
import { InTurns } from "../../../storage/base/in-turns.js";
import { type Share, SharedBytes } from "../../../storage/base/shared-bytes.js";
import type { Revision } from "../../../storage/kv/store.js";

/** Of events that are begun and not read; what several watches send from the same memory counts once. */
const HELD_BYTES_MAX = 64 * 1024 * 1024;

interface Waiting {
  readonly revision: Revision;
  readonly goOn: () => void;
}

interface Held {
  readonly memory: ArrayBufferLike;
  readonly cut: () => void;
}

/** The turns of the event loop, one large event in each. */
export class LargeEventTurns {
  readonly #inTurns = new InTurns();
  #isPlanned = false;

  add(owner: () => boolean): void {
    this.#inTurns.add(owner);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#inTurns.next();
    this.#isPlanned = !this.#inTurns.isEmpty;
    if (this.#isPlanned) setImmediate(() => this.#next());
  }
}

/** What the watches of all control planes have together. */
export interface LargeEventsOfProcess {
  readonly turns: LargeEventTurns;
  readonly memory: SharedBytes;
}

export function createLargeEventsOfProcess(): LargeEventsOfProcess {
  return { turns: new LargeEventTurns(), memory: new SharedBytes(HELD_BYTES_MAX) };
}

/** Of one control plane. */
export class LargeEvents {
  readonly #turns: LargeEventTurns;
  readonly #bytes: SharedBytes;
  readonly #share: Share;
  readonly #piece = () => this.#next();
  /** Those that go on before all that come now; the next one is last. */
  #inTurn: Waiting[] = [];
  #waiting: Waiting[] = [];
  #begun = 0;
  /** The oldest first. */
  readonly #held = new Set<Held>();
  readonly #memories = new Map<ArrayBufferLike, { readonly bytes: number; sharers: number }>();

  /** @param together default: it is alone */
  constructor({ turns, memory } = createLargeEventsOfProcess()) {
    this.#turns = turns;
    this.#bytes = memory;
    this.#share = memory.open((bytes) => this.#cutDownTo(bytes));
  }

  /** How many have begun. */
  get begun(): number {
    return this.#begun;
  }

  /** Resolves in a turn of the event loop in which no other large event is begun. */
  turn(revision: Revision): Promise<void> {
    return new Promise((goOn) => {
      this.#waiting.push({ revision, goOn });
      this.#turns.add(this.#piece);
    });
  }

  /** Bytes of events that clients have not read. */
  get heldBytes(): number {
    return this.#share.bytes;
  }

  /**
   * Counts an event that is passed to a client.
   * @param cut ends the watch, as others need the memory
   * @returns to be called when it is sent, or the watch over
   */
  hold(parts: readonly Buffer[], cut: () => void): () => void {
    const largest = parts.reduce((most, part) => (part.length > most.length ? part : most));
    const held: Held = { memory: largest.buffer, cut };
    const known = this.#memories.get(held.memory);
    if (known === undefined) {
      this.#memories.set(held.memory, { bytes: largest.length, sharers: 1 });
      this.#share.add(largest.length);
    } else known.sharers++;
    this.#held.add(held);
    this.#bytes.settle();
    return () => this.#release(held);
  }

  /** Nobody watches any more. */
  close(): void {
    this.#share.close();
  }

  #cutDownTo(bytesMax: number): void {
    for (const oldest of this.#held) {
      if (this.heldBytes <= bytesMax) return;
      this.#release(oldest);
      // Not amid the delivery to another watch.
      setImmediate(oldest.cut);
    }
  }

  #release(held: Held): void {
    const memory = this.#memories.get(held.memory);
    if (!this.#held.delete(held) || memory === undefined) return;
    if (--memory.sharers > 0) return;
    this.#memories.delete(held.memory);
    this.#share.add(-memory.bytes);
  }

  #next(): boolean {
    if (this.#inTurn.length === 0) {
      this.#inTurn = this.#waiting.sort((one, other) => one.revision - other.revision);
      this.#waiting = [];
    }
    this.#begun++;
    this.#inTurn.pop()?.goOn();
    return this.#inTurn.length > 0 || this.#waiting.length > 0;
  }
}

/**
 * HandshakeTurns: reads connections in their TLS handshake a few at a time. A first message of TLS costs the server a
 * signature, of up to a millisecond, and the client nothing, who may have a thousand connections open and send it on all of
 * them at once: Node.js would answer all of them in one turn of the event loop (H5). The newest connections are read, so
 * nobody who comes waits behind those who are there, and so are those that were answered last; all others are read by groups.
 *
 *     new ───► the newest ──── has said something ───► answered last
 *                  │ has not                              │
 *                  ▼                                      ▼
 *               resting ◄──── each group for a moment ────► reading
 *
 * libuv accepts one connection in each turn of the loop, so as many are begun in one.
 */

/** The newest connections that are read; each may want a signature. */
export const NEWEST_READ = 8;
/** Others that are read at a time; each may want a signature. */
export const READ_AT_ONCE = 4;
/** Connections that were answered last and are read: each may end its handshake. */
export const ANSWERED_READ = 8;
/** How long a group is read while others wait. */
const GROUP_MS = 2;

export interface Handshake {
  /** Hands the connection to TLS; it is read from then on. */
  begin(): void;
  stopReading(): void;
  startReading(): void;
  bytesRead(): number;
}

/** Runs it when the time is over. */
export type After = (ms: number, run: () => void) => void;

export class HandshakeTurns {
  readonly #after: After;
  // All of them in the order in which they came there.
  readonly #newest = new Set<Handshake>();
  readonly #answered = new Set<Handshake>();
  readonly #resting = new Set<Handshake>();
  /** With what each had said before. */
  #reading = new Map<Handshake, number>();
  #isTurning = false;

  constructor(after: After = (ms, run) => void setTimeout(run, ms).unref()) {
    this.#after = after;
  }

  take(handshake: Handshake): void {
    handshake.begin();
    this.#newest.add(handshake);
    const older = firstBeyond(this.#newest, NEWEST_READ);
    if (older !== undefined) this.#leave(older, 0);
    if (this.#resting.size === 0 || this.#isTurning) return;
    this.#isTurning = true;
    this.#after(GROUP_MS, this.#turn);
  }

  /** Its handshake is done, has failed, or its connection is closed. */
  done(handshake: Handshake): void {
    this.#newest.delete(handshake);
    this.#answered.delete(handshake);
    this.#resting.delete(handshake);
    if (this.#reading.delete(handshake)) this.#fill();
  }

  /** The group that was read makes room for the next. */
  readonly #turn = (): void => {
    if (this.#resting.size === 0) {
      this.#isTurning = false;
      return;
    }
    const group = this.#reading;
    this.#reading = new Map();
    this.#fill();
    for (const [handshake, bytesBefore] of group) this.#leave(handshake, bytesBefore);
    this.#after(GROUP_MS, this.#turn);
  };

  /** Who has said something is read on, as its client may answer soon. */
  #leave(handshake: Handshake, bytesBefore: number): void {
    if (handshake.bytesRead() === bytesBefore) this.#rest(handshake);
    else {
      this.#answered.add(handshake);
      const older = firstBeyond(this.#answered, ANSWERED_READ);
      if (older !== undefined) this.#rest(older);
    }
  }

  #rest(handshake: Handshake): void {
    handshake.stopReading();
    this.#resting.add(handshake);
  }

  #fill(): void {
    for (const handshake of this.#resting) {
      if (this.#reading.size >= READ_AT_ONCE) return;
      this.#resting.delete(handshake);
      this.#reading.set(handshake, handshake.bytesRead());
      handshake.startReading();
    }
  }
}

/** Takes the first one out if there are more than `most`. */
function firstBeyond(handshakes: Set<Handshake>, most: number): Handshake | undefined {
  if (handshakes.size <= most) return undefined;
  const [first] = handshakes;
  if (first !== undefined) handshakes.delete(first);
  return first;
}

/**
 * HandshakeTurns: reads connections in their TLS handshake a few at a time. A first message of TLS costs the server a
 * signature, of up to a millisecond, and the client nothing, who may have a thousand connections open and send it on all of
 * them at once: Node.js would answer all of them in one turn of the event loop (H5). A few connections, as ordinary
 * clients open them, are begun and read at once.
 *
 *     32 are read | the next 32 are | ...      each group for a moment, again and again, until their handshakes are done
 */

/** Connections in their handshake that are read in one turn. */
export const READ_AT_ONCE = 32;
/** Connections whose handshake begins in one turn. */
export const BEGUN_PER_TURN = 32;
/** How long a group is read while others wait. */
const GROUP_MS = 2;

export interface Handshake {
  /** Hands the connection to TLS; it is read from then on. */
  begin(): void;
  stopReading(): void;
  startReading(): void;
}

/** When work is done that is not done now. */
export interface Later {
  nextTurn(run: () => void): void;
  after(ms: number, run: () => void): void;
}

const LOOP: Later = {
  nextTurn: (run) => void setImmediate(run),
  after: (ms, run) => void setTimeout(run, ms).unref(),
};

export class HandshakeTurns {
  readonly #later: Later;
  /** Not begun yet. */
  readonly #waiting = new Set<Handshake>();
  #reading = new Set<Handshake>();
  /** Begun, and read when their turn comes; the longest waiting first. */
  readonly #resting = new Set<Handshake>();
  #begun = 0;
  #isTurning = false;

  constructor(later: Later = LOOP) {
    this.#later = later;
  }

  take(handshake: Handshake): void {
    if (this.#begun === 0) this.#later.nextTurn(this.#nextTurn);
    if (this.#begun < BEGUN_PER_TURN && this.#waiting.size === 0) this.#begin(handshake);
    else {
      handshake.stopReading();
      this.#waiting.add(handshake);
    }
  }

  /** Its handshake is done, has failed, or its connection is closed. */
  done(handshake: Handshake): void {
    this.#waiting.delete(handshake);
    this.#resting.delete(handshake);
    if (this.#reading.delete(handshake)) this.#fill();
  }

  readonly #nextTurn = (): void => {
    this.#begun = 0;
    for (const handshake of this.#waiting) {
      if (this.#begun === BEGUN_PER_TURN) break;
      this.#waiting.delete(handshake);
      this.#begin(handshake);
    }
    if (this.#begun > 0) this.#later.nextTurn(this.#nextTurn);
  };

  #begin(handshake: Handshake): void {
    this.#begun++;
    handshake.begin();
    if (this.#reading.size < READ_AT_ONCE) {
      this.#reading.add(handshake);
      return;
    }
    handshake.stopReading();
    this.#resting.add(handshake);
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#later.after(GROUP_MS, this.#turn);
  }

  /** The group that was read rests behind the others. */
  readonly #turn = (): void => {
    if (this.#resting.size === 0) {
      this.#isTurning = false;
      return;
    }
    const group = this.#reading;
    this.#reading = new Set();
    this.#fill();
    for (const handshake of group) {
      if (this.#reading.size < READ_AT_ONCE) this.#reading.add(handshake);
      else {
        handshake.stopReading();
        this.#resting.add(handshake);
      }
    }
    this.#later.after(GROUP_MS, this.#turn);
  };

  #fill(): void {
    for (const handshake of this.#resting) {
      if (this.#reading.size >= READ_AT_ONCE) return;
      this.#resting.delete(handshake);
      this.#reading.add(handshake);
      handshake.startReading();
    }
  }
}
